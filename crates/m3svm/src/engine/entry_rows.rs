//! The rows that the entries of the preconditioner belong to, copied out.

use std::borrow::Cow;
use std::ops::Range;

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};
use rayon::prelude::*;

use crate::features::Features;

/// In double precision, or in single precision where a few digits are enough.
pub(crate) enum EntryRows {
    Double(Features<'static>),
    Single(RowsF32<'static>),
}

/// Rows and their inner products (those right of the diagonal suffice), row-major.
pub(crate) struct HeavyRows {
    pub(crate) rows: EntryRows,
    pub(crate) gram: HeavyGram,
    /// Whether the inner products have the digits of single precision only.
    pub(crate) is_rough: bool,
}

/// Inner products in the precision in which they were made or kept.
pub(crate) enum HeavyGram {
    F64(Vec<f64>),
    F32(Vec<f32>),
}

impl EntryRows {
    pub(crate) fn empty() -> Self {
        Self::Double(Features::empty())
    }

    pub(crate) fn rows(&self) -> usize {
        match self {
            Self::Double(x) => x.rows(),
            Self::Single(x) => x.rows(),
        }
    }

    /// `z += X·w`, row-major with `c` columns.
    pub(crate) fn mul_add(&self, w: &[f64], c: usize, z: &mut [f64]) {
        match self {
            Self::Double(x) => x.mul_add(0..x.rows(), w, c, z),
            Self::Single(x) => x.product(false, w, c, z),
        }
    }

    /// `w += Xᵀ·g`.
    pub(crate) fn t_mul_add(&self, g: &[f64], c: usize, w: &mut [f64]) {
        match self {
            Self::Double(x) => x.t_mul_add(0..x.rows(), g, c, w),
            Self::Single(x) => x.product(true, g, c, w),
        }
    }
}

/// Dense rows in single precision.
pub(crate) struct RowsF32<'x> {
    x: Cow<'x, [f32]>,
    cols: usize,
}

impl<'x> RowsF32<'x> {
    /// Of a row-major matrix.
    pub(super) fn new(x: impl Into<Cow<'x, [f32]>>, cols: usize) -> Self {
        Self { x: x.into(), cols }
    }

    /// Some of the rows.
    pub(super) fn take(&self, rows: &[u32]) -> RowsF32<'static> {
        let (cols, mut taken) = (self.cols, Vec::with_capacity(rows.len() * self.cols));
        rows.iter().for_each(|&i| taken.extend_from_slice(&self.x[i as usize * cols..(i as usize + 1) * cols]));
        RowsF32 { x: taken.into(), cols }
    }

    fn rows(&self) -> usize {
        self.x.len() / self.cols.max(1)
    }

    pub(super) fn view(&self, rows: Range<usize>) -> MatRef<'_, f32> {
        MatRef::from_row_major_slice(&self.x[rows.start * self.cols..rows.end * self.cols], rows.len(), self.cols)
    }

    /// `out += X·v`, or `Xᵀ·v`. Numbers of any size fit into single precision after scaling.
    fn product(&self, transposed: bool, v: &[f64], c: usize, out: &mut [f64]) {
        let scale = v.iter().fold(f64::MIN_POSITIVE, |top, v| top.max(v.abs()));
        let narrow: Vec<f32> = v.iter().map(|v| (v / scale) as f32).collect();
        let mut product = vec![0.0f32; out.len()];
        let x = self.view(0..self.rows());
        let x = if transposed { x.transpose() } else { x };
        let right = MatRef::from_row_major_slice(&narrow, v.len() / c, c);
        let to = MatMut::from_row_major_slice_mut(&mut product, out.len() / c, c);
        matmul(to, Accum::Replace, x, right, 1.0f32, Par::Seq);
        out.iter_mut().zip(&product).for_each(|(o, p)| *o += scale * f64::from(*p));
    }

    /// Inner products of rows, row-major; those right of the diagonal only.
    pub(super) fn upper_gram(&self) -> Vec<f32> {
        // Rows per task: the product repacks the other rows for each task, so few large ones beat many small ones.
        const BLOCK: usize = 128;
        let n = self.rows();
        let mut out = vec![0.0f32; n * n];
        out.par_chunks_mut(BLOCK * n.max(1)).enumerate().for_each(|(block, out)| {
            let (first, rows) = (block * BLOCK, out.len() / n);
            let all = MatMut::from_row_major_slice_mut(out, rows, n).get_mut(.., first..);
            let left = self.view(first..first + rows);
            matmul(all, Accum::Replace, left, self.view(first..n).transpose(), 1.0f32, Par::Seq);
        });
        out
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn single_precision_agrees_with_double_to_six_digits_at_any_scale() {
        // More rows than a block of the Gram matrix.
        let (n, d, c) = (300, 7, 3);
        let number = |i: usize| ((i * i) as f64 * 0.37).sin();
        let all: Vec<f64> = (0..(n + 1) * d).map(number).collect();
        let used: Vec<u32> = (1..=n as u32).collect();
        let narrow = RowsF32::new(all.iter().map(|v| *v as f32).collect::<Vec<_>>(), d).take(&used);
        let wide = Features::dense(&all[d..], n, d).unwrap().take_rows(&(0..n as u32).collect::<Vec<_>>());
        let (gram, upper) = (wide.gram(), narrow.upper_gram());
        for (i, j) in (0..n).flat_map(|i| (i..n).map(move |j| (i, j))) {
            assert!((gram[i * n + j] - f64::from(upper[i * n + j])).abs() < 1e-5, "{i} {j}");
        }
        let (narrow, wide) = (EntryRows::Single(narrow), EntryRows::Double(wide));
        assert_eq!((narrow.rows(), wide.rows()), (n, n));
        for scale in [1.0, 1e-200, 1e200] {
            let v: Vec<f64> = (0..n * c).map(|i| scale * number(i + 5)).collect();
            let (mut z, mut exact) = (vec![scale; n * c], vec![scale; n * c]);
            narrow.mul_add(&v[..d * c], c, &mut z);
            wide.mul_add(&v[..d * c], c, &mut exact);
            let (mut w, mut exact_w) = (vec![scale; d * c], vec![scale; d * c]);
            narrow.t_mul_add(&v, c, &mut w);
            wide.t_mul_add(&v, c, &mut exact_w);
            for (a, b) in z.iter().chain(&w).zip(exact.iter().chain(&exact_w)) {
                assert!((a - b).abs() < 1e-5 * scale, "{a} {b}");
            }
        }
    }
}
