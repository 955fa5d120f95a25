//! The feature matrix `X` (n×d): the only type that knows whether data is dense or sparse, in rows or in columns, f32 or f64.
//!
//! Values stay in the precision and storage they came in. Products are computed in f64: a block of f32 rows is widened
//! in a cache-sized buffer on its way into the kernel, so single-precision data costs half the memory traffic and no
//! accuracy. Everything is checked when built (lengths, indices in range, finite values); nothing downstream checks again.

use std::borrow::Cow;
use std::ops::Range;

use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::linalg;

pub(crate) use block::{Block, BlockRoom, Row};
pub use column::Column;
use column::ColumnStore;
pub(crate) use raw_rows::{RawRows, RawStorage};
use values::Slice;
pub use values::Values;
pub(crate) use window::Window;

mod block;
mod column;
mod raw_rows;
#[cfg(test)]
mod tests;
mod values;
mod window;

/// Tables by columns with at most so many numbers are turned into rows: 4 MB.
const PACKED: usize = 1 << 19;

/// `X` (n×d): dense in rows or in columns, or compressed sparse rows.
#[derive(Clone, Debug)]
pub struct Features<'a> {
    rows: usize,
    cols: usize,
    store: Store<'a>,
    /// The largest length that a row had beside what is here, in directions of its own: 0 unless rows stand for others.
    lost: f64,
}

#[derive(Clone, Debug)]
enum Store<'a> {
    Dense(Values<'a>),
    Csr { indptr: Cow<'a, [usize]>, indices: Cow<'a, [u32]>, values: Values<'a> },
    Columns(ColumnStore<'a>),
}

impl<'a> Features<'a> {
    /// The values of dense rows, one row after the other.
    pub(crate) fn side_by_side(&self) -> Option<&Values<'a>> {
        match &self.store {
            Store::Dense(values) => Some(values),
            _ => None,
        }
    }

    /// A dense matrix in row-major order.
    pub fn dense(values: impl Into<Values<'a>>, rows: usize, cols: usize) -> Result<Self> {
        let values = values.into();
        let expected = rows.saturating_mul(cols);
        if values.len() != expected {
            return Err(Error::Shape { what: "feature values (rows times columns)", expected, found: values.len() });
        }
        if let Some(i) = values.first_not_finite() {
            return Err(Error::NotFinite { row: i / cols, column: i % cols, value: values.get(i).to_string() });
        }
        Ok(Self { rows, cols, store: Store::Dense(values), lost: 0.0 })
    }

    /// A dense matrix of columns, as data frames store it; columns may be of different types. Neither fits nor predictions copy it unless
    /// it is smaller than four megabytes: then it is turned into rows here, which costs less than to do so in every pass. Results are those
    /// of rows, in single precision if all columns are, else in double precision.
    ///
    /// ```
    /// use m3svm::Features;
    ///
    /// let (length, count) = ([1.5, 2.5, 0.5], [3i64, 1, 2]);
    /// let x = Features::columns(vec![length.as_slice().into(), count.as_slice().into()])?;
    /// assert_eq!((x.rows(), x.cols(), x.get(0, 1)), (3, 2, 3.0));
    /// # Ok::<(), m3svm::Error>(())
    /// ```
    pub fn columns(columns: Vec<Column<'a>>) -> Result<Self> {
        let cols = columns.len();
        Self::column_parts(vec![columns], cols)
    }

    /// As [`Features::columns`] for a table whose columns lie in several pieces: parts on top of each other, each with all `cols` columns.
    pub fn column_parts(parts: Vec<Vec<Column<'a>>>, cols: usize) -> Result<Self> {
        let x = Self::unpacked_columns(parts, cols)?;
        let x = if x.stored() <= PACKED { x.into_rows() } else { x };
        Ok(x)
    }

    fn unpacked_columns(parts: Vec<Vec<Column<'a>>>, cols: usize) -> Result<Self> {
        let (store, rows) = ColumnStore::new(parts, cols)?;
        Ok(Self { rows, cols, store: Store::Columns(store), lost: 0.0 })
    }

    /// A sparse matrix in compressed rows. Column indices may come in any order; repeated ones add up.
    pub fn csr(
        indptr: impl Into<Cow<'a, [usize]>>,
        indices: impl Into<Cow<'a, [u32]>>,
        values: impl Into<Values<'a>>,
        cols: usize,
    ) -> Result<Self> {
        let (indptr, indices, values) = (indptr.into(), indices.into(), values.into());
        let broken = |what: String| Err(Error::Sparse { what });
        if indptr.first() != Some(&0) || indptr.windows(2).any(|w| w[0] > w[1]) {
            return broken("row pointers must start at 0 and never fall".into());
        }
        let end = *indptr.last().unwrap_or(&0);
        if end != indices.len() || end != values.len() {
            return broken(format!(
                "row pointers end at {end}, but there are {} indices and {} values",
                indices.len(),
                values.len()
            ));
        }
        if let Some(i) = indices.iter().find(|i| **i as usize >= cols) {
            return broken(format!("column index {i} is outside the {cols} columns"));
        }
        if let Some(i) = values.first_not_finite() {
            let row = indptr.partition_point(|p| *p <= i) - 1;
            return Err(Error::NotFinite { row, column: indices[i] as usize, value: values.get(i).to_string() });
        }
        Ok(Self { rows: indptr.len() - 1, cols, store: Store::Csr { indptr, indices, values }, lost: 0.0 })
    }

    pub(crate) fn empty() -> Self {
        Self { rows: 0, cols: 0, store: Store::Dense(Vec::<f64>::new().into()), lost: 0.0 }
    }

    /// The same matrix as rows that stand for longer ones: each of them had at most so much more length, in directions that are not here.
    pub(crate) fn losing(self, lost: f64) -> Self {
        Self { lost, ..self }
    }

    /// The largest length that a row has beside what is here.
    pub(crate) fn lost(&self) -> f64 {
        self.lost
    }

    /// Number of rows (samples).
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns (features).
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Whether the matrix is stored in compressed rows.
    pub fn is_sparse(&self) -> bool {
        matches!(self.store, Store::Csr { .. })
    }

    /// How it is stored, where its rows are to be stored as they are.
    pub(crate) fn storage(&self) -> RawStorage {
        let is_single = match &self.store {
            Store::Dense(values) | Store::Csr { values, .. } => matches!(values, Values::F32(_)),
            Store::Columns(columns) => columns.is_single(),
        };
        RawStorage { is_sparse: self.is_sparse(), is_single }
    }

    /// A dense matrix of so many rows and columns without its numbers, for passes that do not look at them.
    pub(crate) fn absent(rows: usize, cols: usize) -> Self {
        Self { rows, cols, store: Store::Dense(Vec::<f64>::new().into()), lost: 0.0 }
    }

    /// Stored entries: rows × columns if dense, the non-zeros if sparse.
    pub fn stored(&self) -> usize {
        match &self.store {
            Store::Csr { values, .. } => values.len(),
            Store::Dense(_) | Store::Columns(_) => self.rows * self.cols,
        }
    }

    /// The value at a row and column.
    pub fn get(&self, row: usize, column: usize) -> f64 {
        match &self.store {
            Store::Dense(v) => v.get(row * self.cols + column),
            Store::Columns(columns) => columns.get(row, column),
            Store::Csr { indptr, indices, values } => {
                (indptr[row]..indptr[row + 1]).filter(|&e| indices[e] as usize == column).map(|e| values.get(e)).sum()
            }
        }
    }

    /// Whether the numbers are its own, so that they can be changed in place.
    pub(crate) fn is_owned(&self) -> bool {
        match &self.store {
            Store::Dense(values) | Store::Csr { values, .. } => match values {
                Values::F32(values) => matches!(values, Cow::Owned(_)),
                Values::F64(values) => matches!(values, Cow::Owned(_)),
            },
            Store::Columns(_) => false,
        }
    }

    /// The same matrix, borrowed.
    pub fn view(&self) -> Features<'_> {
        let store = match &self.store {
            Store::Dense(values) => Store::Dense(values.view()),
            Store::Csr { indptr, indices, values } => {
                Store::Csr { indptr: Cow::Borrowed(indptr), indices: Cow::Borrowed(indices), values: values.view() }
            }
            Store::Columns(columns) => Store::Columns(columns.view()),
        };
        Features { rows: self.rows, cols: self.cols, store, lost: self.lost }
    }

    /// A copy of the chosen rows, in the order given. Those of a table by columns come as rows.
    pub fn take_rows(&self, rows: &[u32]) -> Features<'static> {
        fn pick<T: Copy>(v: &[T], ranges: impl Iterator<Item = Range<usize>>) -> Vec<T> {
            let mut out = Vec::new();
            ranges.for_each(|r| out.extend_from_slice(&v[r]));
            out
        }
        fn values(v: &Values<'_>, ranges: impl Iterator<Item = Range<usize>>) -> Values<'static> {
            match v {
                Values::F32(v) => pick(v, ranges).into(),
                Values::F64(v) => pick(v, ranges).into(),
            }
        }
        let store = match &self.store {
            Store::Dense(v) => {
                Store::Dense(values(v, rows.iter().map(|&i| i as usize * self.cols..(i as usize + 1) * self.cols)))
            }
            Store::Columns(columns) if columns.is_single() => {
                let mut taken = vec![0.0f32; rows.len() * self.cols];
                columns.write_rows(rows, self.cols, &mut taken);
                Store::Dense(taken.into())
            }
            Store::Columns(columns) => {
                let mut taken = vec![0.0f64; rows.len() * self.cols];
                columns.write_rows(rows, self.cols, &mut taken);
                Store::Dense(taken.into())
            }
            Store::Csr { indptr, indices, values: v } => {
                let ranges = || rows.iter().map(|&i| indptr[i as usize]..indptr[i as usize + 1]);
                let mut ends = vec![0];
                ranges().for_each(|r| ends.push(ends[ends.len() - 1] + r.len()));
                Store::Csr {
                    indptr: Cow::Owned(ends),
                    indices: Cow::Owned(pick(indices, ranges())),
                    values: values(v, ranges()),
                }
            }
        };
        Features { rows: rows.len(), cols: self.cols, store, lost: self.lost }
    }

    /// A dense copy of the chosen columns, in the order given.
    pub(crate) fn take_columns(&self, columns: &[u32]) -> Features<'static> {
        let mut values = Vec::with_capacity(self.rows * columns.len());
        let mut gathered = vec![0.0; self.cols];
        self.for_each_row(|_, row| {
            gathered.fill(0.0);
            row.for_each(|j, v| gathered[j] += v);
            values.extend(columns.iter().map(|j| gathered[*j as usize]));
        });
        Features { rows: self.rows, cols: columns.len(), store: Store::Dense(values.into()), lost: self.lost }
    }

    /// A copy of the chosen rows, in double precision where they are dense.
    pub(crate) fn take_double(&self, rows: &[u32]) -> Features<'static> {
        if self.is_sparse() {
            return self.take_rows(rows);
        }
        let mut values = vec![0.0; rows.len() * self.cols];
        self.write_rows(rows, self.cols, &mut values);
        Features { rows: rows.len(), cols: self.cols, store: Store::Dense(values.into()), lost: self.lost }
    }

    /// A table by columns as a matrix of rows; all others as they are.
    fn into_rows(self) -> Self {
        let Store::Columns(columns) = &self.store else { return self };
        let values: Values<'_> = if columns.is_single() {
            let mut all = vec![0.0f32; self.stored()];
            columns.write_range(0..self.rows, self.cols, &mut all);
            all.into()
        } else {
            let mut all = vec![0.0f64; self.stored()];
            columns.write_range(0..self.rows, self.cols, &mut all);
            all.into()
        };
        Self { store: Store::Dense(values), ..self }
    }

    /// Replaces every stored value by `f(column, value)`, in place where the values are owned rows.
    pub(crate) fn map_columns(self, f: impl Fn(usize, f64) -> f64) -> Features<'static> {
        let (rows, cols) = (self.rows, self.cols);
        let store = match self.store {
            Store::Columns(_) => return self.into_rows().map_columns(f),
            Store::Dense(v) => Store::Dense(v.map_rows(cols, f)),
            Store::Csr { indptr, indices, values } => {
                let values = values.map(|e, x| f(indices[e] as usize, x));
                Store::Csr {
                    indptr: Cow::Owned(indptr.into_owned()),
                    indices: Cow::Owned(indices.into_owned()),
                    values,
                }
            }
        };
        Features { rows, cols, store, lost: 0.0 }
    }

    /// Writes rows into `out`, the i-th of them from i·stride on (d numbers).
    fn write_rows(&self, rows: &[u32], stride: usize, out: &mut [f64]) {
        let d = self.cols;
        let places = rows.iter().map(|&i| i as usize).zip(out.chunks_exact_mut(stride.max(1)));
        match &self.store {
            Store::Dense(values) => match values.as_ref() {
                Slice::F64(v) => places.for_each(|(i, out)| out[..d].copy_from_slice(&v[i * d..(i + 1) * d])),
                Slice::F32(v) => places.for_each(|(i, out)| {
                    out.iter_mut().zip(&v[i * d..(i + 1) * d]).for_each(|(o, x)| *o = f64::from(*x));
                }),
            },
            Store::Csr { indptr, indices, values } => places.for_each(|(i, out)| {
                out[..d].fill(0.0);
                (indptr[i]..indptr[i + 1]).for_each(|e| out[indices[e] as usize] += values.get(e));
            }),
            Store::Columns(columns) => columns.write_rows(rows, stride, out),
        }
    }

    /// All values of a column of dense data, a copy unless they lie in one piece.
    pub(crate) fn column(&self, j: usize) -> Cow<'_, [f64]> {
        match &self.store {
            Store::Columns(columns) => columns.column(j),
            _ => (0..self.rows).map(|i| self.get(i, j)).collect(),
        }
    }

    /// The n×n matrix of inner products of rows.
    pub(crate) fn gram(&self) -> Vec<f64> {
        // Rows per task: the product repacks the other rows for each task, so few large ones beat many small ones.
        const BLOCK: usize = 256;
        let n = self.rows;
        if let Store::Columns(_) = &self.store {
            // The result is as large as the copy: data with far more columns than rows are reduced before anybody asks for it.
            return self.view().into_rows().gram();
        }
        let mut out = vec![0.0; n * n];
        if let Store::Csr { indptr, indices, values } = &self.store {
            // Row i meets row j in the columns they share: through lists of the rows of each column, not by trying all pairs.
            let columns = self.rows_of_columns();
            out.par_chunks_mut(n.max(1)).enumerate().for_each(|(i, row)| {
                for e in indptr[i]..indptr[i + 1] {
                    let v = values.get(e);
                    let shared = &columns[indices[e] as usize];
                    shared.iter().take_while(|(j, _)| *j as usize <= i).for_each(|(j, w)| row[*j as usize] += v * w);
                }
            });
            mirror(&mut out, n);
            return out;
        }
        // Row blocks of the product, each on one thread; narrow storage is widened a block at a time.
        out.par_chunks_mut(BLOCK * n.max(1)).enumerate().for_each(|(block, part)| {
            let first = block * BLOCK;
            let rows = part.len() / n;
            let mut left = vec![0.0; rows * self.cols];
            let numbers: Vec<u32> = (first as u32..(first + rows) as u32).collect();
            self.write_rows(&numbers, self.cols, &mut left);
            match &self.store {
                Store::Dense(Values::F64(v)) => {
                    linalg::cross_add(&left, &v[..(first + rows) * self.cols], self.cols, n, 0, part)
                }
                _ => {
                    let mut right = vec![0.0; self.cols];
                    for j in 0..n {
                        self.write_rows(&[j as u32], self.cols, &mut right);
                        (0..rows).for_each(|i| {
                            part[i * n + j] = linalg::dot(&left[i * self.cols..(i + 1) * self.cols], &right);
                        });
                    }
                }
            }
        });
        mirror(&mut out, n);
        out
    }

    /// Adds the products of all rows with the rows of another matrix of the same storage to the columns from `first` of a matrix with rows
    /// of `stride`.
    pub(crate) fn cross(&self, other: &Self, stride: usize, first: usize, out: &mut [f64]) {
        let out = &mut out[..self.rows * stride];
        if let (Store::Dense(Values::F64(a)), Store::Dense(Values::F64(b))) = (&self.store, &other.store) {
            return linalg::cross_add(a, b, self.cols, stride, first, out);
        }
        // One row at a time is written out, and the others only read where they are not 0.
        let mut left = vec![0.0; self.cols];
        self.for_each_row(|i, row| {
            row.for_each(|j, v| left[j] += v);
            let out = &mut out[i * stride + first..];
            other.for_each_row(|k, other| other.for_each(|j, v| out[k] += v * left[j]));
            row.for_each(|j, _| left[j] = 0.0);
        });
    }

    /// Xᵀ of a sparse matrix, in compressed rows.
    pub(crate) fn transposed(&self) -> Option<Features<'static>> {
        let Store::Csr { indptr, indices, values } = &self.store else { return None };
        let mut ends = vec![0usize; self.cols + 1];
        indices.iter().for_each(|j| ends[*j as usize + 1] += 1);
        (0..self.cols).for_each(|j| ends[j + 1] += ends[j]);
        let mut next = ends.clone();
        let mut order = vec![0; indices.len()];
        let mut rows = vec![0u32; indices.len()];
        for i in 0..self.rows {
            for e in indptr[i]..indptr[i + 1] {
                let at = &mut next[indices[e] as usize];
                (order[*at], rows[*at]) = (e, i as u32);
                *at += 1;
            }
        }
        let values = match values {
            Values::F32(v) => order.iter().map(|&e| v[e]).collect::<Vec<_>>().into(),
            Values::F64(v) => order.iter().map(|&e| v[e]).collect::<Vec<_>>().into(),
        };
        let store = Store::Csr { indptr: Cow::Owned(ends), indices: Cow::Owned(rows), values };
        Some(Features { rows: self.cols, cols: self.rows, store, lost: 0.0 })
    }

    /// For each column of a sparse matrix its rows, ascending, with their values.
    fn rows_of_columns(&self) -> Vec<Vec<(u32, f64)>> {
        let mut columns = vec![Vec::new(); self.cols];
        self.for_each_row(|i, row| row.for_each(|j, v| columns[j].push((i as u32, v))));
        columns
    }
}

/// Copies the lower triangle of an n×n matrix to the upper one.
pub(crate) fn mirror(m: &mut [f64], n: usize) {
    for i in 0..n {
        (0..i).for_each(|j| m[j * n + i] = m[i * n + j]);
    }
}
