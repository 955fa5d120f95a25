//! The Newton matrix written out and factored by Cholesky.
//!
//! With a shift-invariant loss the matrix is a graph Laplacian over the classes, one d×d block per pair: block (k, l) is −E with
//! `E = Σᵢ hᵢ(k,l) x̃ᵢx̃ᵢᵀ + Bₖₗ`, and the diagonal blocks are sums of the same E. Only the pairs are formed. The last class is left
//! out (steps are found for it = 0 and centred afterwards), which makes the matrix (c−1)/c as large.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt;
use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::{Accum, MatMut, MatRef, Par};
use rayon::prelude::*;

use super::Matrix;
use crate::loss::Shape;

/// Degree of parallelism of the factorisation. A constant, not the number of threads: the split of the work, and with it the
/// rounding, must not depend on the machine.
const SPLIT: usize = 8;

/// Rows with less than this share of the largest weight are left out. It must be far below what looks negligible: where λ and ε are
/// small, the tails of thousands of far rows are all that holds the flat directions, and cutting at 1e-6 stalls the path.
const NEGLIGIBLE: f64 = 1e-14;

/// Buffers for forming and factoring, kept between steps.
pub(crate) struct Dense {
    /// Rows of each class.
    members: Vec<Vec<u32>>,
    matrix: Vec<f64>,
    rhs: Vec<f64>,
}

impl Dense {
    pub(crate) fn new(y: &[u32], classes: usize) -> Self {
        let mut members = vec![Vec::new(); classes];
        y.iter().enumerate().for_each(|(i, k)| members[*k as usize].push(i as u32));
        Self { members, matrix: Vec::new(), rhs: Vec::new() }
    }

    /// Solves for the step; `false` if the matrix is not positive definite within rounding.
    pub(crate) fn solve(&mut self, a: &Matrix<'_>, grad: &[f64], step: &mut [f64]) -> bool {
        let c = a.risk.classes;
        let width = grad.len() / c;
        let size = width * (c - 1);
        self.form(a, width);
        // Class-major: entry (class k, feature j) sits at k·width + j.
        self.rhs.clear();
        self.rhs.resize(size, 0.0);
        for (j, row) in grad.chunks_exact(c).enumerate() {
            (0..c - 1).for_each(|k| self.rhs[k * width + j] = -row[k]);
        }
        if !factor(&mut self.matrix, size) {
            return false;
        }
        solve_factored(&self.matrix, size, &mut self.rhs);
        for (j, row) in step.chunks_exact_mut(c).enumerate() {
            (0..c - 1).for_each(|k| row[k] = self.rhs[k * width + j]);
            row[c - 1] = 0.0;
        }
        a.risk.centre(step);
        step.iter().all(|s| s.is_finite())
    }

    fn form(&mut self, a: &Matrix<'_>, width: usize) {
        let c = a.risk.classes;
        let size = width * (c - 1);
        self.matrix.clear();
        self.matrix.resize(size * size, 0.0);
        let cut = NEGLIGIBLE * a.h.iter().copied().fold(0.0, f64::max);
        let mut list = Vec::new();
        crate::penalty::pairs(c, |pair, k, l| list.push((pair, k, l)));
        // In batches, to bound the memory of finished blocks.
        for batch in list.chunks(16) {
            let work = |&(pair, k, l): &(usize, usize, usize)| self.pair_block(a, pair, k, l, width, cut);
            let blocks: Vec<Vec<f64>> = if width * a.risk.x.rows() < 1 << 14 {
                batch.iter().map(work).collect()
            } else {
                batch.par_iter().map(work).collect()
            };
            for (&(_, k, l), block) in batch.iter().zip(&blocks) {
                scatter(&mut self.matrix, size, block, width, k, l, c);
            }
        }
        // ρ and ε act on centred steps: Tᵀ(ρI)T = ρ(I − 11ᵀ/c).
        let ridge = |j: usize| 2.0 * a.risk.epsilon + if j < a.risk.x.cols() { a.penalty.ridge } else { 0.0 };
        for k in 0..c - 1 {
            for l in k..c - 1 {
                for j in 0..width {
                    let share = f64::from(u8::from(k == l)) - 1.0 / c as f64;
                    self.matrix[(k * width + j) * size + l * width + j] += share * ridge(j);
                }
            }
        }
    }

    /// E of one pair: lower triangle, column-major width×width.
    fn pair_block(&self, a: &Matrix<'_>, pair: usize, k: usize, l: usize, width: usize, cut: f64) -> Vec<f64> {
        let (c, len) = (a.risk.classes, a.shape.len(a.risk.classes));
        let mut block = vec![0.0; width * width];
        let mut sum = Outer::new(width, &mut block);
        let mut add = |i: usize, weight: f64| {
            if weight > cut {
                sum.push(weight.sqrt(), |out| a.risk.fill_row(i, out));
            }
        };
        match a.shape {
            Shape::Star => {
                self.members[k].iter().for_each(|&i| add(i as usize, a.h[i as usize * c + l]));
                self.members[l].iter().for_each(|&i| add(i as usize, a.h[i as usize * c + k]));
            }
            shape => {
                for i in 0..a.risk.x.rows() {
                    let h = &a.h[i * len..(i + 1) * len];
                    let weight = shape.pair(h, a.risk.y[i] as usize, k, l) * a.risk.outside_weight(shape, i);
                    add(i, weight);
                }
            }
        }
        sum.finish();
        a.penalty.add_pair(pair, k, l, &mut block, width);
        block
    }
}

/// Accumulates Σ s²·xxᵀ into a lower triangle, a panel of rows at a time.
struct Outer<'b> {
    width: usize,
    filled: usize,
    panel: Vec<f64>,
    block: &'b mut [f64],
}

impl<'b> Outer<'b> {
    const ROWS: usize = 128;

    fn new(width: usize, block: &'b mut [f64]) -> Self {
        Self { width, filled: 0, panel: vec![0.0; width * Self::ROWS], block }
    }

    fn push(&mut self, scale: f64, fill: impl Fn(&mut [f64])) {
        let row = &mut self.panel[self.filled * self.width..(self.filled + 1) * self.width];
        fill(row);
        row.iter_mut().for_each(|x| *x *= scale);
        self.filled += 1;
        if self.filled == Self::ROWS {
            self.finish();
        }
    }

    fn finish(&mut self) {
        if self.filled == 0 {
            return;
        }
        let rows = &self.panel[..self.filled * self.width];
        let panel = MatRef::from_row_major_slice(rows, self.filled, self.width);
        triangular::matmul(
            MatMut::from_column_major_slice_mut(self.block, self.width, self.width),
            BlockStructure::TriangularLower,
            Accum::Add,
            panel.transpose(),
            BlockStructure::Rectangular,
            panel,
            BlockStructure::Rectangular,
            1.0,
            Par::Seq,
        );
        self.filled = 0;
    }
}

/// Adds E to the diagonal blocks of k and l and subtracts it from block (l, k), in the lower triangle of the matrix.
fn scatter(matrix: &mut [f64], size: usize, block: &[f64], width: usize, k: usize, l: usize, classes: usize) {
    for m in [k, l] {
        if m + 1 < classes {
            for j in 0..width {
                let at = (m * width + j) * size + m * width;
                let out = &mut matrix[at + j..at + width];
                out.iter_mut().zip(&block[j * width + j..(j + 1) * width]).for_each(|(o, e)| *o += e);
            }
        }
    }
    if l + 1 < classes {
        for j in 0..width {
            let at = (k * width + j) * size + l * width;
            for i in 0..width {
                let e = if i >= j { block[j * width + i] } else { block[i * width + j] };
                matrix[at + i] -= e;
            }
        }
    }
}

fn parallelism(size: usize) -> Par {
    if size < 256 { Par::Seq } else { Par::rayon(SPLIT) }
}

/// Cholesky of the lower triangle in place; `false` if the matrix is not positive definite within rounding.
pub(super) fn factor(matrix: &mut [f64], size: usize) -> bool {
    let par = parallelism(size);
    let scale = (0..size).map(|j| matrix[j * size + j]).fold(0.0, f64::max);
    let view = MatMut::from_column_major_slice_mut(matrix, size, size);
    let params = Default::default();
    let mut buffer = MemBuffer::new(llt::factor::cholesky_in_place_scratch::<f64>(size, par, params));
    let regularization = llt::factor::LltRegularization {
        dynamic_regularization_delta: f64::EPSILON * scale,
        dynamic_regularization_epsilon: 1e-2 * f64::EPSILON * f64::EPSILON * scale,
    };
    llt::factor::cholesky_in_place(view, regularization, par, MemStack::new(&mut buffer), params).is_ok()
}

/// Both triangular solves with a matrix from [`factor`].
pub(super) fn solve_factored(matrix: &[f64], size: usize, rhs: &mut [f64]) {
    let par = parallelism(size);
    let mut buffer = MemBuffer::new(llt::solve::solve_in_place_scratch::<f64>(size, 1, par));
    let view = MatRef::from_column_major_slice(matrix, size, size);
    llt::solve::solve_in_place(
        view,
        MatMut::from_column_major_slice_mut(rhs, size, 1),
        par,
        MemStack::new(&mut buffer),
    );
}
