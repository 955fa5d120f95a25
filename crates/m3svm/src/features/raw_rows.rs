//! Rows in vectors that are filled, go to disk and come back, and are filled again.

use std::borrow::Cow;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::{Features, Store, Values};
use crate::linalg::vectorised;
use crate::scale::Scaler;

/// How rows are stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawStorage {
    /// Compressed rows; else dense ones.
    pub(crate) is_sparse: bool,
    /// Single precision; else double.
    pub(crate) is_single: bool,
}

impl RawStorage {
    /// Bytes of a value.
    pub(crate) fn value(self) -> usize {
        if self.is_single { 4 } else { 8 }
    }
}

/// Rows of either storage, in vectors of their own.
#[derive(Clone, Debug, Default)]
pub(crate) struct RawRows {
    storage: RawStorage,
    cols: usize,
    rows: usize,
    singles: Vec<f32>,
    doubles: Vec<f64>,
    /// Of sparse rows: how many entries each has, where they begin and end, and their columns.
    lengths: Vec<u32>,
    starts: Vec<usize>,
    indices: Vec<u32>,
}

impl RawRows {
    pub(crate) fn new(storage: RawStorage, cols: usize) -> Self {
        Self { storage, cols, starts: vec![0], ..Self::default() }
    }

    /// Stored numbers.
    pub(crate) fn entries(&self) -> usize {
        self.singles.len() + self.doubles.len()
    }

    /// Bytes that the rows take.
    pub(crate) fn bytes(&self) -> usize {
        self.entries() * self.storage.value() + 4 * self.indices.len() + 12 * self.lengths.len()
    }

    /// Bytes of one row.
    pub(crate) fn bytes_of(&self, row: usize) -> usize {
        match self.storage.is_sparse {
            true => self.lengths[row] as usize * (4 + self.storage.value()) + 12,
            false => self.cols * self.storage.value(),
        }
    }

    pub(crate) fn clear(&mut self) {
        self.rows = 0;
        self.singles.clear();
        self.doubles.clear();
        self.lengths.clear();
        self.starts.truncate(1);
        self.indices.clear();
    }

    /// There are so many columns.
    pub(crate) fn set_cols(&mut self, cols: usize) {
        self.cols = cols;
    }

    /// Leaves out the first columns of sparse rows, which have no entries.
    pub(crate) fn skip_columns(&mut self, first: u32) {
        self.indices.iter_mut().for_each(|j| *j -= first);
        self.cols -= first as usize;
    }

    /// Adds rows of a matrix with the same storage. Values in single precision fit into double precision; the other way digits would be lost,
    /// and the caller has seen to it that this is not asked for.
    pub(crate) fn append(&mut self, x: &Features<'_>, rows: Range<usize>) {
        self.rows += rows.len();
        let span = |values: &Values<'_>, span: Range<usize>, into: &mut Self| match values {
            Values::F32(v) if into.storage.is_single => into.singles.extend_from_slice(&v[span]),
            Values::F32(v) => into.doubles.extend(v[span].iter().map(|v| f64::from(*v))),
            Values::F64(v) if into.storage.is_single => into.singles.extend(v[span].iter().map(|v| *v as f32)),
            Values::F64(v) => into.doubles.extend_from_slice(&v[span]),
        };
        match &x.store {
            Store::Dense(values) => span(values, rows.start * x.cols..rows.end * x.cols, self),
            Store::Columns(columns) if self.storage.is_single => {
                let from = self.singles.len();
                self.singles.resize(from + rows.len() * x.cols, 0.0);
                columns.write_range(rows, x.cols, &mut self.singles[from..]);
            }
            Store::Columns(columns) => {
                let from = self.doubles.len();
                self.doubles.resize(from + rows.len() * x.cols, 0.0);
                columns.write_range(rows, x.cols, &mut self.doubles[from..]);
            }
            Store::Csr { indptr, indices, values } => {
                let first = self.indices.len();
                let entries = indptr[rows.start]..indptr[rows.end];
                self.lengths.extend(rows.clone().map(|i| (indptr[i + 1] - indptr[i]) as u32));
                self.starts.extend(rows.map(|i| first + indptr[i + 1] - entries.start));
                self.indices.extend_from_slice(&indices[entries.clone()]);
                span(values, entries, self);
            }
        }
    }

    /// The rows as a matrix. They have been checked before they were stored, and whoever reads them back compares a checksum.
    pub(crate) fn features(&self) -> Features<'_> {
        let values = match self.storage.is_single {
            true => Values::F32(Cow::Borrowed(&self.singles)),
            false => Values::F64(Cow::Borrowed(&self.doubles)),
        };
        let store = match self.storage.is_sparse {
            true => Store::Csr { indptr: Cow::Borrowed(&self.starts), indices: Cow::Borrowed(&self.indices), values },
            false => Store::Dense(values),
        };
        Features { rows: self.rows, cols: self.cols, store, lost: 0.0 }
    }

    /// The same, with the vectors.
    pub(crate) fn into_features(self) -> Features<'static> {
        let values: Values<'static> = if self.storage.is_single { self.singles.into() } else { self.doubles.into() };
        let store = match self.storage.is_sparse {
            true => Store::Csr { indptr: self.starts.into(), indices: self.indices.into(), values },
            false => Store::Dense(values),
        };
        Features { rows: self.rows, cols: self.cols, store, lost: 0.0 }
    }

    /// Scales all values as [`Scaler::apply`] does, to the same bits.
    pub(crate) fn scale(&mut self, scaler: &Scaler) {
        if scaler.is_identity() {
            return;
        }
        let (shift, factor) = (&scaler.shift, &scaler.factor);
        if self.storage.is_sparse {
            let columns = self.indices.iter().map(|j| *j as usize);
            let scaled = |v: f64, j: usize| (v - shift[j]) * factor[j];
            match self.storage.is_single {
                true => {
                    self.singles.iter_mut().zip(columns).for_each(|(v, j)| *v = scaled(f64::from(*v), j) as f32);
                }
                false => self.doubles.iter_mut().zip(columns).for_each(|(v, j)| *v = scaled(*v, j)),
            }
            return;
        }
        let cols = self.cols.max(1);
        let (singles, doubles) = (&mut self.singles, &mut self.doubles);
        vectorised(
            #[inline(always)]
            || {
                for row in singles.chunks_exact_mut(cols) {
                    let columns = row.iter_mut().zip(shift.iter().zip(factor));
                    columns.for_each(|(v, (s, f))| *v = ((f64::from(*v) - s) * f) as f32);
                }
                for row in doubles.chunks_exact_mut(cols) {
                    let columns = row.iter_mut().zip(shift.iter().zip(factor));
                    columns.for_each(|(v, (s, f))| *v = (*v - s) * f);
                }
            },
        );
    }

    /// The vectors as they lie on disk, one after the other.
    pub(crate) fn parts(&self) -> [&[u8]; 4] {
        [
            bytemuck::cast_slice(&self.lengths),
            bytemuck::cast_slice(&self.indices),
            bytemuck::cast_slice(&self.singles),
            bytemuck::cast_slice(&self.doubles),
        ]
    }

    /// Makes room for so many rows and entries; the parts are then to be filled in the order of [`RawRows::parts`].
    pub(crate) fn prepare(&mut self, storage: RawStorage, cols: usize, rows: usize, entries: usize) {
        (self.storage, self.cols, self.rows) = (storage, cols, rows);
        let of = |wanted: bool, count: usize| if wanted { count } else { 0 };
        self.lengths.resize(of(storage.is_sparse, rows), 0);
        self.indices.resize(of(storage.is_sparse, entries), 0);
        self.singles.resize(of(storage.is_single, entries), 0.0);
        self.doubles.resize(of(!storage.is_single, entries), 0.0);
    }

    pub(crate) fn parts_mut(&mut self) -> [&mut [u8]; 4] {
        [
            bytemuck::cast_slice_mut(&mut self.lengths),
            bytemuck::cast_slice_mut(&mut self.indices),
            bytemuck::cast_slice_mut(&mut self.singles),
            bytemuck::cast_slice_mut(&mut self.doubles),
        ]
    }

    /// What follows from parts that have been filled; `false` if they contradict each other or are no numbers. The first `unused` columns have
    /// no entries.
    pub(crate) fn complete(&mut self, unused: u32) -> bool {
        self.starts.clear();
        self.starts.push(0);
        let mut end = 0usize;
        self.starts.extend(self.lengths.iter().map(|length| {
            end += *length as usize;
            end
        }));
        let columns = unused..self.cols as u32;
        let sparse =
            !self.storage.is_sparse || (end == self.indices.len() && self.indices.iter().all(|j| columns.contains(j)));
        // No branches, so that it costs next to nothing beside the checksum.
        let finite = |all: bool, v: bool| all & v;
        sparse
            && self.singles.iter().map(|v| v.is_finite()).fold(true, finite)
            && self.doubles.iter().map(|v| v.is_finite()).fold(true, finite)
    }
}
