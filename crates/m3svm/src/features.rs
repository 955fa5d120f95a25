//! The feature matrix `X` (n×d): the only type that knows whether data is dense or sparse, f32 or f64.
//!
//! Values stay in the precision and storage they came in. Products are computed in f64: a block of f32 rows is widened
//! in a cache-sized buffer on its way into the kernel, so single-precision data costs half the memory traffic and no
//! accuracy. Everything is checked when built (lengths, indices in range, finite values); nothing downstream checks again.

use std::borrow::Cow;
use std::ops::Range;

use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::kernel;

/// Feature values in single or double precision, borrowed from the caller or owned.
#[derive(Clone, Debug)]
pub enum Values<'a> {
    /// Single precision.
    F32(Cow<'a, [f32]>),
    /// Double precision.
    F64(Cow<'a, [f64]>),
}

impl Values<'_> {
    fn len(&self) -> usize {
        match self {
            Self::F32(v) => v.len(),
            Self::F64(v) => v.len(),
        }
    }

    fn get(&self, i: usize) -> f64 {
        match self {
            Self::F32(v) => f64::from(v[i]),
            Self::F64(v) => v[i],
        }
    }

    fn first_not_finite(&self) -> Option<usize> {
        match self {
            Self::F32(v) => v.iter().position(|x| !x.is_finite()),
            Self::F64(v) => v.iter().position(|x| !x.is_finite()),
        }
    }

    /// Replaces every value by `f(position, value)`, without a copy where the values are owned.
    fn map(self, f: impl Fn(usize, f64) -> f64) -> Values<'static> {
        match self {
            Self::F32(v) => {
                let mut v = v.into_owned();
                v.iter_mut().enumerate().for_each(|(i, x)| *x = f(i, f64::from(*x)) as f32);
                Values::F32(Cow::Owned(v))
            }
            Self::F64(v) => {
                let mut v = v.into_owned();
                v.iter_mut().enumerate().for_each(|(i, x)| *x = f(i, *x));
                Values::F64(Cow::Owned(v))
            }
        }
    }

    /// The same for rows of `cols` numbers, with the position in the row.
    fn map_rows(self, cols: usize, f: impl Fn(usize, f64) -> f64) -> Values<'static> {
        match self {
            Self::F64(v) => {
                let mut v = v.into_owned();
                let rows = v.chunks_exact_mut(cols.max(1));
                rows.for_each(|row| row.iter_mut().enumerate().for_each(|(j, x)| *x = f(j, *x)));
                Values::F64(Cow::Owned(v))
            }
            narrow => narrow.map(|i, x| f(i % cols, x)),
        }
    }

    fn as_ref(&self) -> Slice<'_> {
        match self {
            Self::F32(v) => Slice::F32(v),
            Self::F64(v) => Slice::F64(v),
        }
    }
}

#[derive(Clone, Copy)]
enum Slice<'a> {
    F32(&'a [f32]),
    F64(&'a [f64]),
}

impl<'a> From<&'a [f32]> for Values<'a> {
    fn from(v: &'a [f32]) -> Self {
        Self::F32(Cow::Borrowed(v))
    }
}
impl<'a> From<&'a [f64]> for Values<'a> {
    fn from(v: &'a [f64]) -> Self {
        Self::F64(Cow::Borrowed(v))
    }
}
impl From<Vec<f32>> for Values<'static> {
    fn from(v: Vec<f32>) -> Self {
        Self::F32(Cow::Owned(v))
    }
}
impl From<Vec<f64>> for Values<'static> {
    fn from(v: Vec<f64>) -> Self {
        Self::F64(Cow::Owned(v))
    }
}

/// `X` (n×d), row-major dense or compressed sparse rows.
#[derive(Clone, Debug)]
pub struct Features<'a> {
    rows: usize,
    cols: usize,
    store: Store<'a>,
}

#[derive(Clone, Debug)]
enum Store<'a> {
    Dense(Values<'a>),
    Csr { indptr: Cow<'a, [usize]>, indices: Cow<'a, [u32]>, values: Values<'a> },
}

impl<'a> Features<'a> {
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
        Ok(Self { rows, cols, store: Store::Dense(values) })
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
        Ok(Self { rows: indptr.len() - 1, cols, store: Store::Csr { indptr, indices, values } })
    }

    pub(crate) fn empty() -> Self {
        Self { rows: 0, cols: 0, store: Store::Dense(Vec::<f64>::new().into()) }
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

    /// Stored entries: rows × columns if dense, the non-zeros if sparse.
    pub fn stored(&self) -> usize {
        match &self.store {
            Store::Dense(v) => v.len(),
            Store::Csr { values, .. } => values.len(),
        }
    }

    /// The value at a row and column.
    pub fn get(&self, row: usize, column: usize) -> f64 {
        match &self.store {
            Store::Dense(v) => v.get(row * self.cols + column),
            Store::Csr { indptr, indices, values } => {
                (indptr[row]..indptr[row + 1]).filter(|&e| indices[e] as usize == column).map(|e| values.get(e)).sum()
            }
        }
    }

    /// The same matrix, borrowed.
    pub fn view(&self) -> Features<'_> {
        fn values<'b>(v: &'b Values<'_>) -> Values<'b> {
            match v {
                Values::F32(v) => Values::F32(Cow::Borrowed(v)),
                Values::F64(v) => Values::F64(Cow::Borrowed(v)),
            }
        }
        let store = match &self.store {
            Store::Dense(v) => Store::Dense(values(v)),
            Store::Csr { indptr, indices, values: v } => {
                Store::Csr { indptr: Cow::Borrowed(indptr), indices: Cow::Borrowed(indices), values: values(v) }
            }
        };
        Features { rows: self.rows, cols: self.cols, store }
    }

    /// A copy of the chosen rows, in the order given.
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
        Features { rows: rows.len(), cols: self.cols, store }
    }

    /// Replaces every stored value by `f(column, value)`, in place where the values are owned.
    pub(crate) fn map_columns(self, f: impl Fn(usize, f64) -> f64) -> Features<'static> {
        let (rows, cols) = (self.rows, self.cols);
        let store = match self.store {
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
        Features { rows, cols, store }
    }

    /// Calls `f(column, value)` for every stored entry of one row.
    #[inline]
    pub(crate) fn for_each_in_row(&self, i: usize, mut f: impl FnMut(usize, f64)) {
        match &self.store {
            Store::Dense(v) => {
                let row = i * self.cols..(i + 1) * self.cols;
                match v.as_ref() {
                    Slice::F64(v) => v[row].iter().enumerate().for_each(|(j, x)| f(j, *x)),
                    Slice::F32(v) => v[row].iter().enumerate().for_each(|(j, x)| f(j, f64::from(*x))),
                }
            }
            Store::Csr { indptr, indices, values } => {
                (indptr[i]..indptr[i + 1]).for_each(|e| f(indices[e] as usize, values.get(e)));
            }
        }
    }

    /// `z += X[rows]·W`; `w` is d×c and `z` is |rows|×c, both row-major.
    pub fn mul_add(&self, rows: Range<usize>, w: &[f64], classes: usize, z: &mut [f64]) {
        debug_assert_eq!((w.len(), z.len()), (self.cols * classes, rows.len() * classes));
        match &self.store {
            Store::Dense(v) => match v.as_ref() {
                Slice::F64(v) => {
                    kernel::mul_add(&v[rows.start * self.cols..rows.end * self.cols], self.cols, w, classes, z)
                }
                Slice::F32(v) => widened(v, self.cols, rows, |first, block| {
                    let m = block.len() / self.cols.max(1);
                    kernel::mul_add(block, self.cols, w, classes, &mut z[first * classes..(first + m) * classes]);
                }),
            },
            Store::Csr { indptr, indices, values } => match values.as_ref() {
                Slice::F64(v) => kernel::csr_mul_add(&indptr[rows.start..=rows.end], indices, v, w, classes, z),
                Slice::F32(v) => kernel::csr_mul_add(&indptr[rows.start..=rows.end], indices, v, w, classes, z),
            },
        }
    }

    /// `w += X[rows]ᵀ·G`; `g` is |rows|×c and `w` is d×c, both row-major.
    pub fn t_mul_add(&self, rows: Range<usize>, g: &[f64], classes: usize, w: &mut [f64]) {
        debug_assert_eq!((w.len(), g.len()), (self.cols * classes, rows.len() * classes));
        match &self.store {
            Store::Dense(v) => match v.as_ref() {
                Slice::F64(v) => {
                    kernel::t_mul_add(&v[rows.start * self.cols..rows.end * self.cols], self.cols, g, classes, w)
                }
                Slice::F32(v) => widened(v, self.cols, rows, |first, block| {
                    let m = block.len() / self.cols.max(1);
                    kernel::t_mul_add(block, self.cols, &g[first * classes..(first + m) * classes], classes, w);
                }),
            },
            Store::Csr { indptr, indices, values } => match values.as_ref() {
                Slice::F64(v) => kernel::csr_t_mul_add(&indptr[rows.start..=rows.end], indices, v, g, classes, w),
                Slice::F32(v) => kernel::csr_t_mul_add(&indptr[rows.start..=rows.end], indices, v, g, classes, w),
            },
        }
    }

    /// Writes row `i` times `scale` into `out` (d numbers).
    pub(crate) fn write_row(&self, i: usize, scale: f64, out: &mut [f64]) {
        if let Store::Dense(Values::F64(v)) = &self.store {
            out.iter_mut().zip(&v[i * self.cols..(i + 1) * self.cols]).for_each(|(o, x)| *o = scale * x);
            return;
        }
        out.fill(0.0);
        self.add_row(i, scale, out);
    }

    /// Adds row `i` times `scale` to `out` (d numbers).
    pub(crate) fn add_row(&self, i: usize, scale: f64, out: &mut [f64]) {
        match &self.store {
            Store::Dense(v) => match v.as_ref() {
                Slice::F64(v) => {
                    out.iter_mut().zip(&v[i * self.cols..(i + 1) * self.cols]).for_each(|(o, x)| *o += scale * x);
                }
                Slice::F32(v) => {
                    out.iter_mut()
                        .zip(&v[i * self.cols..(i + 1) * self.cols])
                        .for_each(|(o, x)| *o += scale * f64::from(*x));
                }
            },
            Store::Csr { indptr, indices, values } => {
                (indptr[i]..indptr[i + 1]).for_each(|e| out[indices[e] as usize] += scale * values.get(e));
            }
        }
    }

    /// The n×n matrix of inner products of rows.
    pub(crate) fn gram(&self) -> Vec<f64> {
        // Rows per task: the product repacks the other rows for each task, so few large ones beat many small ones.
        const BLOCK: usize = 256;
        let n = self.rows;
        let mut out = vec![0.0; n * n];
        if let Store::Csr { indptr, indices, values } = &self.store {
            // Row i meets row j in the columns they share: through lists of the rows of each column, not by trying all pairs.
            let columns = self.rows_of_columns();
            out.par_chunks_mut(n).enumerate().for_each(|(i, row)| {
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
        out.par_chunks_mut(BLOCK * n).enumerate().for_each(|(block, part)| {
            let first = block * BLOCK;
            let rows = part.len() / n;
            let mut left = vec![0.0; rows * self.cols];
            left.chunks_exact_mut(self.cols.max(1)).enumerate().for_each(|(i, row)| self.add_row(first + i, 1.0, row));
            match &self.store {
                Store::Dense(Values::F64(v)) => {
                    kernel::cross_add(&left, &v[..(first + rows) * self.cols], self.cols, n, 0, part)
                }
                _ => {
                    let mut right = vec![0.0; self.cols];
                    for j in 0..n {
                        right.fill(0.0);
                        self.add_row(j, 1.0, &mut right);
                        (0..rows).for_each(|i| {
                            part[i * n + j] = kernel::dot(&left[i * self.cols..(i + 1) * self.cols], &right);
                        });
                    }
                }
            }
        });
        mirror(&mut out, n);
        out
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
        Some(Features { rows: self.cols, cols: self.rows, store })
    }

    /// For each column of a sparse matrix its rows, ascending, with their values.
    fn rows_of_columns(&self) -> Vec<Vec<(u32, f64)>> {
        let mut columns = vec![Vec::new(); self.cols];
        for i in 0..self.rows {
            self.for_each_in_row(i, |j, v| columns[j].push((i as u32, v)));
        }
        columns
    }
}

/// Copies the lower triangle of an n×n matrix to the upper one.
pub(crate) fn mirror(m: &mut [f64], n: usize) {
    for i in 0..n {
        (0..i).for_each(|j| m[j * n + i] = m[i * n + j]);
    }
}

/// Widens f32 rows to f64 a cache-sized block at a time and hands on (first row of the block, block).
fn widened(v: &[f32], cols: usize, rows: Range<usize>, mut f: impl FnMut(usize, &[f64])) {
    const BLOCK: usize = 8192;
    let step = (BLOCK / cols.max(1)).max(4);
    let mut buffer = Vec::with_capacity(step.min(rows.len()) * cols);
    let mut at = rows.start;
    while at < rows.end {
        let end = (at + step).min(rows.end);
        buffer.clear();
        buffer.extend(v[at * cols..end * cols].iter().map(|x| f64::from(*x)));
        f(at - rows.start, &buffer);
        at = end;
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    /// [[1, 0, 2], [0, 3, 0]] in the four storages.
    fn all() -> [Features<'static>; 4] {
        let d64 = vec![1.0, 0.0, 2.0, 0.0, 3.0, 0.0];
        let d32: Vec<f32> = d64.iter().map(|x| *x as f32).collect();
        let (ptr, idx) = (vec![0usize, 2, 3], vec![2u32, 0, 1]);
        [
            Features::dense(d64, 2, 3).unwrap(),
            Features::dense(d32, 2, 3).unwrap(),
            Features::csr(ptr.clone(), idx.clone(), vec![2.0f64, 1.0, 3.0], 3).unwrap(),
            Features::csr(ptr, idx, vec![2.0f32, 1.0, 3.0], 3).unwrap(),
        ]
    }

    #[test]
    fn products_agree_with_hand_computation_in_every_storage() {
        for x in all() {
            let w = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]; // 3×2
            let mut z = vec![1.0; 4];
            x.mul_add(0..2, &w, 2, &mut z);
            assert_eq!(z, [12.0, 15.0, 10.0, 13.0]);
            let mut back = vec![0.0; 6];
            x.t_mul_add(0..2, &[1.0, -1.0, 2.0, 0.5], 2, &mut back);
            assert_eq!(back, [1.0, -1.0, 6.0, 1.5, 2.0, -2.0]);
            let taken = x.take_rows(&[1, 0, 1]);
            assert_eq!((taken.rows(), taken.get(0, 1), taken.get(1, 2), taken.get(2, 0)), (3, 3.0, 2.0, 0.0));
            if let Some(back) = x.transposed() {
                let places = (0..2).flat_map(|i| (0..3).map(move |j| (i, j)));
                assert_eq!((back.rows(), back.cols()), (3, 2));
                places.for_each(|(i, j)| assert_eq!(back.get(j, i), x.get(i, j)));
            }
            assert_eq!(x.is_sparse(), x.transposed().is_some());
        }
    }

    #[test]
    fn broken_matrices_are_refused_with_the_place() {
        let e = Features::dense(vec![1.0, f64::NAN], 2, 1).unwrap_err().to_string();
        assert_eq!(e, "row 2, feature 1: the value is NaN, expected a finite number");
        let e = Features::dense(vec![1.0], 2, 1).unwrap_err().to_string();
        assert_eq!(e, "feature values (rows times columns): expected 2, found 1");
        let e = Features::csr(vec![0, 1], vec![7], vec![1.0], 3).unwrap_err().to_string();
        assert_eq!(e, "sparse matrix: column index 7 is outside the 3 columns");
        let e = Features::csr(vec![0, 2, 1], vec![0], vec![1.0], 3).unwrap_err().to_string();
        assert_eq!(e, "sparse matrix: row pointers must start at 0 and never fall");
    }
}
