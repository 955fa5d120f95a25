//! Some consecutive rows of X in the form that kernels take, and products with them.
//!
//! This is where storages become alike. Dense f64 and compressed rows are used where they lie. Rows of columns are gathered into a
//! [`BlockRoom`] first, dense f32 is widened into it, and then they are rows like all others: they give the same bits.

use std::ops::Range;

use super::values::Slice;
use super::{Features, Store, Values};
use crate::linalg::{self, Csr};

/// Most numbers of single precision that are widened together: a block of rows has at most a quarter of them unless rows are very long.
const WIDENED: usize = 1 << 17;

/// Room for the rows of one block. Keep it from block to block.
#[derive(Default)]
pub(crate) struct BlockRoom {
    double: Vec<f64>,
    single: Vec<f32>,
}

/// Consecutive rows.
pub(crate) struct Block<'b> {
    cols: usize,
    rows: BlockStorage<'b>,
}

enum BlockStorage<'b> {
    Double(&'b [f64]),
    Single(&'b [f32]),
    Csr { indptr: &'b [usize], indices: &'b [u32], values: Slice<'b> },
}

/// One row.
#[derive(Clone, Copy)]
pub(crate) enum Row<'b> {
    Double(&'b [f64]),
    Single(&'b [f32]),
    Sparse(&'b [u32], Slice<'b>),
}

impl Row<'_> {
    /// Calls `f(column, value)` for every stored entry.
    #[inline]
    pub(crate) fn for_each(self, mut f: impl FnMut(usize, f64)) {
        match self {
            Self::Double(row) => row.iter().enumerate().for_each(|(j, x)| f(j, *x)),
            Self::Single(row) => row.iter().enumerate().for_each(|(j, x)| f(j, f64::from(*x))),
            Self::Sparse(indices, Slice::F64(values)) => {
                indices.iter().zip(values).for_each(|(j, x)| f(*j as usize, *x));
            }
            Self::Sparse(indices, Slice::F32(values)) => {
                indices.iter().zip(values).for_each(|(j, x)| f(*j as usize, f64::from(*x)));
            }
        }
    }
}

impl Features<'_> {
    /// A range of rows, ready for products. Only rows of columns need the room, all of it: ask for blocks, not for everything.
    pub(crate) fn block<'b>(&'b self, rows: Range<usize>, room: &'b mut BlockRoom) -> Block<'b> {
        let cols = self.cols;
        let span = rows.start * cols..rows.end * cols;
        let rows = match &self.store {
            Store::Dense(values) => match values.as_ref() {
                Slice::F64(v) => BlockStorage::Double(&v[span]),
                // Widened once for all that is done with the block, unless it is no block but nearly everything.
                Slice::F32(v) if span.len() <= WIDENED => {
                    room.double.clear();
                    room.double.extend(v[span].iter().map(|x| f64::from(*x)));
                    BlockStorage::Double(&room.double)
                }
                Slice::F32(v) => BlockStorage::Single(&v[span]),
            },
            Store::Csr { indptr, indices, values } => {
                BlockStorage::Csr { indptr: &indptr[rows.start..=rows.end], indices, values: values.as_ref() }
            }
            Store::Columns(columns) if columns.is_single() => {
                room.single.resize(span.len(), 0.0);
                columns.write_range(rows, cols, &mut room.single);
                if room.single.len() <= WIDENED {
                    room.double.clear();
                    room.double.extend(room.single.iter().map(|x| f64::from(*x)));
                    BlockStorage::Double(&room.double)
                } else {
                    BlockStorage::Single(&room.single)
                }
            }
            Store::Columns(columns) => {
                room.double.resize(span.len(), 0.0);
                columns.write_range(rows, cols, &mut room.double);
                BlockStorage::Double(&room.double)
            }
        };
        Block { cols, rows }
    }

    /// Calls `f(i, row)` for all rows in order.
    pub(crate) fn for_each_row(&self, mut f: impl FnMut(usize, Row<'_>)) {
        self.for_each_block(|rows, block| rows.clone().for_each(|i| f(i, block.row(i - rows.start))));
    }

    /// Calls `f` with all rows in order, many at a time.
    pub(crate) fn for_each_block(&self, mut f: impl FnMut(Range<usize>, &Block<'_>)) {
        // Columns are gathered, and single precision is widened, in blocks that stay in the cache.
        let step = match &self.store {
            Store::Columns(_) | Store::Dense(Values::F32(_)) => rows_in_cache(self.cols),
            _ => self.rows.max(1),
        };
        let mut room = BlockRoom::default();
        for first in (0..self.rows).step_by(step) {
            let rows = first..(first + step).min(self.rows);
            f(rows.clone(), &self.block(rows, &mut room));
        }
    }

    /// Whether rows have to be gathered from columns.
    pub(crate) fn is_by_columns(&self) -> bool {
        matches!(self.store, Store::Columns(_))
    }

    /// All values row by row, where they are stored so in single precision.
    pub(crate) fn singles(&self) -> Option<&[f32]> {
        match &self.store {
            Store::Dense(Values::F32(values)) => Some(values),
            _ => None,
        }
    }

    /// ‖xᵢ‖ of every row.
    pub(crate) fn lengths(&self) -> Vec<f64> {
        let mut squares = vec![0.0; self.rows];
        self.for_each_block(|rows, block| match block.doubles() {
            Some(values) => {
                let rows = squares[rows].iter_mut().zip(values.chunks_exact(self.cols));
                rows.for_each(|(square, row)| *square = linalg::dot(row, row));
            }
            None => rows.clone().for_each(|i| block.row(i - rows.start).for_each(|_, v| squares[i] += v * v)),
        });
        squares.into_iter().map(f64::sqrt).collect()
    }

    /// `z += X[rows]·W`; `w` is d×c and `z` is |rows|×c, both row-major. Rows of columns are gathered, all of them at once.
    pub fn mul_add(&self, rows: Range<usize>, w: &[f64], classes: usize, z: &mut [f64]) {
        self.block(rows, &mut BlockRoom::default()).mul_add(w, classes, z);
    }

    /// `w += X[rows]ᵀ·G`; `g` is |rows|×c and `w` is d×c, both row-major. Rows of columns are gathered, all of them at once.
    pub fn t_mul_add(&self, rows: Range<usize>, g: &[f64], classes: usize, w: &mut [f64]) {
        self.block(rows, &mut BlockRoom::default()).t_mul_add(g, classes, w);
    }
}

impl Block<'_> {
    /// A row, counted from the first of the block.
    #[inline]
    pub(crate) fn row(&self, i: usize) -> Row<'_> {
        let span = i * self.cols..(i + 1) * self.cols;
        match self.rows {
            BlockStorage::Double(v) => Row::Double(&v[span]),
            BlockStorage::Single(v) => Row::Single(&v[span]),
            BlockStorage::Csr { indptr, indices, values } => {
                let span = indptr[i]..indptr[i + 1];
                Row::Sparse(&indices[span.clone()], values.slice(span))
            }
        }
    }

    /// All values row by row, where they are doubles and there are any.
    pub(crate) fn doubles(&self) -> Option<&[f64]> {
        match self.rows {
            BlockStorage::Double(values) if self.cols > 0 => Some(values),
            _ => None,
        }
    }

    /// `z += X·W` for the rows of the block; `w` is d×c and `z` has a row for each of them.
    pub(crate) fn mul_add(&self, w: &[f64], classes: usize, z: &mut [f64]) {
        let cols = self.cols;
        debug_assert_eq!(w.len(), cols * classes);
        match self.rows {
            BlockStorage::Double(v) => linalg::mul_add(v, cols, w, classes, z),
            BlockStorage::Single(v) => widened(v, cols, |first, block| {
                let m = block.len() / cols.max(1);
                linalg::mul_add(block, cols, w, classes, &mut z[first * classes..(first + m) * classes]);
            }),
            BlockStorage::Csr { indptr, indices, values } => match values {
                Slice::F64(v) => Csr { indptr, indices, values: v }.mul_add(w, classes, z),
                Slice::F32(v) => Csr { indptr, indices, values: v }.mul_add(w, classes, z),
            },
        }
    }

    /// `w += Xᵀ·G` for the rows of the block; `g` has a row for each of them and `w` is d×c.
    pub(crate) fn t_mul_add(&self, g: &[f64], classes: usize, w: &mut [f64]) {
        let cols = self.cols;
        debug_assert_eq!(w.len(), cols * classes);
        match self.rows {
            BlockStorage::Double(v) => linalg::t_mul_add(v, cols, g, classes, w),
            BlockStorage::Single(v) => widened(v, cols, |first, block| {
                let m = block.len() / cols.max(1);
                linalg::t_mul_add(block, cols, &g[first * classes..(first + m) * classes], classes, w);
            }),
            BlockStorage::Csr { indptr, indices, values } => match values {
                Slice::F64(v) => Csr { indptr, indices, values: v }.t_mul_add(g, classes, w),
                Slice::F32(v) => Csr { indptr, indices, values: v }.t_mul_add(g, classes, w),
            },
        }
    }
}

/// Rows of so many numbers that make a cache-sized block.
fn rows_in_cache(cols: usize) -> usize {
    const BLOCK: usize = 8192;
    (BLOCK / cols.max(1)).max(4)
}

/// Widens f32 rows to f64 a cache-sized block at a time and hands on (first row of the block, block).
fn widened(v: &[f32], cols: usize, mut f: impl FnMut(usize, &[f64])) {
    if cols == 0 {
        return;
    }
    let step = rows_in_cache(cols);
    let mut buffer = Vec::with_capacity((step * cols).min(v.len()));
    for (block, v) in v.chunks(step * cols).enumerate() {
        buffer.clear();
        buffer.extend(v.iter().map(|x| f64::from(*x)));
        f(block * step, &buffer);
    }
}
