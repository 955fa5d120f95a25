//! A matrix in single precision of which only the lower half is kept, and its Cholesky factor in the same place: an eighth of the memory of a whole
//! one with all digits and a copy. For preconditioners, where memory is short.

use faer::linalg::matmul::matmul;
use faer::linalg::triangular_solve::{solve_lower_triangular_in_place, solve_upper_triangular_in_place};
use faer::{Accum, MatMut, MatRef, Par};

use super::cholesky::factor_panels;
use super::tuning::SYSTEM;
use crate::interrupt::Heed;

#[derive(Debug, Default)]
pub(super) struct PackedMatrix {
    size: usize,
    /// Some columns each, from the diagonal of the first on.
    panels: Vec<Vec<f32>>,
    /// One over the roots of the diagonal, with which it was scaled to 1 before it was factored.
    scales: Vec<f64>,
}

impl PackedMatrix {
    /// All zeros.
    pub(super) fn clear(&mut self, size: usize) {
        self.size = size;
        self.scales.clear();
        self.panels.resize_with(size.div_ceil(SYSTEM.panel), Vec::new);
        for (number, panel) in self.panels.iter_mut().enumerate() {
            let first = number * SYSTEM.panel;
            panel.clear();
            panel.resize((size - first) * SYSTEM.panel.min(size - first), 0.0);
        }
    }

    pub(super) fn is_factored(&self) -> bool {
        !self.scales.is_empty()
    }

    /// Some rows of a column, none of them above the diagonal.
    pub(super) fn column(&mut self, column: usize, rows: std::ops::Range<usize>) -> &mut [f32] {
        let (number, own) = (column / SYSTEM.panel, column % SYSTEM.panel);
        let first = number * SYSTEM.panel;
        let start = own * (self.size - first);
        &mut self.panels[number][start + rows.start - first..start + rows.end - first]
    }

    /// Replaces the matrix by its factor, with `lift` of the diagonal on top of it; `false` if that is not positive definite within rounding, or
    /// the fit is interrupted.
    pub(super) fn factor(&mut self, lift: f32, heed: Heed<'_>) -> bool {
        let scales: Vec<f64> = (0..self.size).map(|j| f64::from(self.column(j, j..j + 1)[0]).sqrt().recip()).collect();
        if !scales.iter().all(|s| s.is_finite() && *s > 0.0) {
            return false;
        }
        for j in 0..self.size {
            let column = self.column(j, j..self.size);
            column.iter_mut().zip(&scales[j..]).for_each(|(v, scale)| *v = (f64::from(*v) * scale * scales[j]) as f32);
            // Rounding must not make the matrix indefinite where it is nearly singular.
            column[0] = 1.0 + lift;
        }
        let size = self.size;
        let views = self.panels.iter_mut().enumerate().map(|(number, panel)| {
            let rows = size - number * SYSTEM.panel;
            MatMut::from_column_major_slice_mut(panel, rows, SYSTEM.panel.min(rows))
        });
        let done = factor_panels(&mut views.collect::<Vec<_>>(), lift, f32::EPSILON * f32::EPSILON, heed);
        // A replaced pivot can blow up what is left of the matrix.
        let done = done && (0..size).all(|j| self.column(j, j..j + 1)[0].is_finite());
        self.scales = if done { scales } else { Vec::new() };
        done
    }

    /// Replaces a right-hand side by the solution.
    pub(super) fn solve(&self, rhs: &mut [f64]) {
        rhs.iter_mut().zip(&self.scales).for_each(|(r, s)| *r *= s);
        // Residuals late in a fit may be smaller than single precision can tell from 0.
        let top = rhs.iter().fold(f64::MIN_POSITIVE, |top, r| top.max(r.abs()));
        let mut small: Vec<f32> = rhs.iter().map(|r| (r / top) as f32).collect();
        let all: Vec<(usize, MatRef<'_, f32>)> = self
            .panels
            .iter()
            .enumerate()
            .map(|(number, panel)| {
                let first = number * SYSTEM.panel;
                let rows = self.size - first;
                (first, MatRef::from_column_major_slice(panel, rows, SYSTEM.panel.min(rows)))
            })
            .collect();
        // One thread: these are bound by memory.
        let par = Par::Seq;
        for (first, panel) in &all {
            let (top, below) = panel.split_at_row(panel.ncols());
            let (own, rest) = small[*first..].split_at_mut(panel.ncols());
            let mut own = MatMut::from_column_major_slice_mut(own, panel.ncols(), 1);
            solve_lower_triangular_in_place(top, own.as_mut(), par);
            let rest = MatMut::from_column_major_slice_mut(rest, below.nrows(), 1);
            matmul(rest, Accum::Add, below, own.as_ref(), -1.0, par);
        }
        for (first, panel) in all.iter().rev() {
            let (top, below) = panel.split_at_row(panel.ncols());
            let (own, rest) = small[*first..].split_at_mut(panel.ncols());
            let mut own = MatMut::from_column_major_slice_mut(own, panel.ncols(), 1);
            let rest = MatRef::from_column_major_slice(rest, below.nrows(), 1);
            matmul(own.as_mut(), Accum::Add, below.transpose(), rest, -1.0, par);
            solve_upper_triangular_in_place(top.transpose(), own, par);
        }
        rhs.iter_mut().zip(small.iter().zip(&self.scales)).for_each(|(r, (x, s))| *r = top * f64::from(*x) * s);
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::super::{Accuracy, Matrix, NewtonSystem};
    use super::*;
    use crate::engine::{InMemory, Rows};
    use crate::linalg::{axpy, dot};
    use crate::loss::{AnyLoss, SmoothHinge, Softmax};
    use crate::penalty::{Penalty, Ridge};
    use crate::plan::{SystemPlan, Written};
    use crate::{Dataset, Features, Risk};

    /// Few rows have anything in the last features, and much, as with pixels at the rim of pictures after scaling. A preconditioner that has seen none of them knows
    /// nothing of these features but a penalty that is next to nothing.
    #[test]
    fn rows_that_stand_for_others_leave_no_feature_out() {
        let random = |i: usize| ((i as f64 * 12.9898).sin() * 43758.5453).fract();
        let (n, d, c) = (3000, 30, 4);
        let value = |at: usize| match (at / d, at % d) {
            (row, j) if j >= 20 => {
                if row % 300 == 7 * j % 300 {
                    17.0 * random(at)
                } else {
                    0.0
                }
            }
            _ => random(at) - 0.5,
        };
        let y: Vec<String> = (0..n).map(|i| (i % c).to_string()).collect();
        let x = Features::dense((0..n * d).map(value).collect::<Vec<_>>(), n, d).unwrap();
        let data = Dataset::from_labels(x, &y).unwrap();
        for loss in [AnyLoss::SmoothHinge(SmoothHinge { delta: 0.5 }), AnyLoss::Softmax(Softmax {})] {
            let (loss, ridge) = (loss.as_dyn(), Ridge { lambda: 1e-6 });
            let risk = Risk::new(&data, loss, &ridge, 1e-9, true);
            let z: Vec<f64> = (0..n * c).map(random).collect();
            let mut rows = InMemory::new(&risk);
            rows.begin();
            loss.hessian_rows(&z, risk.y, rows.curvature());
            let penalty = ridge.curvature(&vec![0.0; d * c], c, &[]);
            let mut grad: Vec<f64> = (0..risk.problem.dim()).map(random).collect();
            risk.problem.centre(&mut grad);
            let plan = SystemPlan::of(&risk.problem, &rows.sizes());
            let plan = SystemPlan { writes_out: true, written: Written::Packed, ..plan };
            let mut system = NewtonSystem::new(&risk.problem, &mut rows, plan);
            let rest = Accuracy { most: f64::INFINITY, precise: true, roughly: false, easy: true };
            let (mut step, mut left) = (vec![0.0; grad.len()], vec![0.0; grad.len()]);
            let mut a = Matrix { problem: &risk.problem, rows: &mut rows, penalty: &penalty };
            let solve = system.solve(&mut a, &grad, 1e-3, &rest, &mut step).unwrap();
            a.apply(&step, &mut left);
            axpy(1.0, &grad, &mut left);
            let left = (dot(&left, &left) / dot(&grad, &grad)).sqrt();
            assert!(solve.products <= 50 && left <= 0.05, "{loss:?}: {} {left:e}", solve.products);
        }
    }

    /// Of more than one panel, and with rows of very different sizes.
    #[test]
    fn a_packed_factor_solves_to_a_few_digits() {
        let size = 2 * SYSTEM.panel + 37;
        let unit = |j: usize| 10f64.powi(j as i32 % 9 - 4);
        let entry =
            |i: usize, j: usize| (if i == j { 3.0 } else { ((i * j) as f64).sin() / size as f64 }) * unit(i) * unit(j);
        let mut packed = PackedMatrix::default();
        packed.clear(size);
        for j in 0..size {
            packed.column(j, j..size).iter_mut().enumerate().for_each(|(at, v)| *v = entry(j + at, j) as f32);
        }
        assert!(
            !packed.is_factored() && packed.factor(SYSTEM.packed_lifts[0], Heed::default()) && packed.is_factored()
        );
        let solution: Vec<f64> = (0..size).map(|j| (1.0 + j as f64) / unit(j)).collect();
        let mut found: Vec<f64> =
            (0..size).map(|i| (0..size).map(|j| entry(i.max(j), i.min(j)) * solution[j]).sum()).collect();
        packed.solve(&mut found);
        for (found, wanted) in found.iter().zip(&solution) {
            assert!((found - wanted).abs() <= 1e-4 * wanted.abs(), "{found} {wanted}");
        }
        packed.clear(size);
        assert!(!packed.factor(SYSTEM.packed_lifts[0], Heed::default()) && !packed.is_factored());
    }
}
