//! Cholesky factors, in double precision for exact solutions and in single precision for preconditioners.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt;
use faer::linalg::matmul::matmul;
use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::linalg::triangular_solve::solve_lower_triangular_in_place;
use faer::prelude::{Reborrow, ReborrowMut};
use faer::traits::RealField;
use faer::{Accum, MatMut, MatRef, Par, Spec};
use rayon::prelude::*;

use super::tuning::SYSTEM;
use crate::interrupt::Heed;
use crate::linalg::split;

/// Cholesky of the lower triangle in place; `false` if the matrix is not positive definite within rounding, or the fit is interrupted.
pub(crate) fn factor(matrix: &mut [f64], size: usize, heed: Heed<'_>) -> bool {
    let scale = (0..size).map(|j| matrix[j * size + j]).fold(0.0, f64::max);
    let (delta, epsilon) = (f64::EPSILON * scale, 1e-2 * f64::EPSILON * f64::EPSILON * scale);
    factor_lifting(matrix, size, delta, epsilon, heed)
}

/// Forms a matrix and factors it in place, and again with ever more on its diagonal until it is positive definite: the first of `lifts`, in shares
/// of its largest entry, that does it.
pub(crate) fn factor_lifted(
    matrix: &mut Vec<f64>,
    size: usize,
    lifts: &[f64],
    heed: Heed<'_>,
    mut form: impl FnMut(&mut Vec<f64>),
) -> Option<f64> {
    lifts.iter().copied().find(|lift| {
        if heed.is_stopped() {
            return false;
        }
        form(matrix);
        let top = (0..size).map(|j| matrix[j * size + j]).fold(0.0, f64::max);
        (0..size).for_each(|j| matrix[j * size + j] += lift * top);
        factor(matrix, size, heed)
    })
}

/// [`factor`], where pivots below `epsilon` are replaced by `delta`.
fn factor_lifting<T: RealField + Copy + Into<f64>>(
    matrix: &mut [T],
    size: usize,
    delta: T,
    epsilon: T,
    heed: Heed<'_>,
) -> bool {
    let done = if size < SYSTEM.large {
        let view = MatMut::from_column_major_slice_mut(matrix, size, size);
        factor_whole(view, delta, epsilon)
    } else {
        factor_by_panels(matrix, size, delta, epsilon, heed)
    };
    // A replaced pivot can blow up what is left of the matrix.
    done && (0..size).all(|j| matrix[j * size + j].into().is_finite())
}

fn factor_whole<T: RealField + Copy>(view: MatMut<'_, T>, delta: T, epsilon: T) -> bool {
    let size = view.nrows();
    let par = if size < SYSTEM.threads { Par::Seq } else { split() };
    let mut params: Spec<llt::factor::LltParams, T> = Default::default();
    if (SYSTEM.short.0..SYSTEM.short.1).contains(&size) {
        params.recursion_threshold = SYSTEM.pieces;
    }
    let mut buffer = MemBuffer::new(llt::factor::cholesky_in_place_scratch::<T>(size, par, params));
    let regularization =
        llt::factor::LltRegularization { dynamic_regularization_delta: delta, dynamic_regularization_epsilon: epsilon };
    llt::factor::cholesky_in_place(view, regularization, par, MemStack::new(&mut buffer), params).is_ok()
}

/// The same panel by panel.
fn factor_by_panels<T: RealField + Copy>(matrix: &mut [T], size: usize, delta: T, epsilon: T, heed: Heed<'_>) -> bool {
    let panels = matrix.chunks_mut(SYSTEM.panel * size).enumerate().map(|(number, panel)| {
        let (first, columns) = (number * SYSTEM.panel, panel.len() / size);
        MatMut::from_column_major_slice_mut(panel, size, columns).subrows_mut(first, size - first)
    });
    factor_panels(&mut panels.collect::<Vec<_>>(), delta, epsilon, heed)
}

/// Factors a matrix of which each panel has some columns from the diagonal on. What a finished panel takes off the rest is done strip by strip.
pub(super) fn factor_panels<T: RealField + Copy>(
    panels: &mut [MatMut<'_, T>],
    delta: T,
    epsilon: T,
    heed: Heed<'_>,
) -> bool {
    let (par, minus) = (split(), -T::one_impl());
    for done in 1..=panels.len() {
        let (done, rest) = panels.split_at_mut(done);
        let Some(panel) = done.last_mut() else { return true };
        let width = panel.ncols();
        let (mut top, mut below) = panel.rb_mut().split_at_row_mut(width);
        if !factor_whole(top.rb_mut(), delta, epsilon) {
            return false;
        }
        solve_lower_triangular_in_place(top.rb(), below.rb_mut().transpose_mut(), par);
        let mut first = 0;
        for strip in rest {
            if !heed.go_on() {
                return false;
            }
            let columns = strip.ncols();
            let (mut square, mut under) = strip.rb_mut().split_at_row_mut(columns);
            let left = below.rb().subrows(first, below.nrows() - first);
            let (own, others) = left.split_at_row(columns);
            let (lower, whole) = (BlockStructure::TriangularLower, BlockStructure::Rectangular);
            let (add, across) = (Accum::Add, own.transpose());
            triangular::matmul(square.rb_mut(), lower, add, own, whole, across, whole, minus, par);
            matmul(under.rb_mut(), Accum::Add, others, across, minus, par);
            first += columns;
        }
    }
    true
}

/// Both triangular solves with a matrix from [`factor`].
pub(crate) fn solve_factored<T: RealField>(matrix: &[T], size: usize, rhs: &mut [T]) {
    let par = if size < SYSTEM.solve_threads { Par::Seq } else { split() };
    let mut buffer = MemBuffer::new(llt::solve::solve_in_place_scratch::<T>(size, 1, par));
    let view = MatRef::from_column_major_slice(matrix, size, size);
    llt::solve::solve_in_place(
        view,
        MatMut::from_column_major_slice_mut(rhs, size, 1),
        par,
        MemStack::new(&mut buffer),
    );
}

/// A factor in single precision: half the time of a double one to make and to apply. The diagonal is first scaled to 1, which saves the
/// digits that differences between features would cost.
pub(super) struct CholeskyF32 {
    matrix: Vec<f32>,
    /// One over the roots of the diagonal.
    scales: Vec<f64>,
}

impl CholeskyF32 {
    /// Of a matrix whose columns the function writes from the diagonal on, as far as there is room; `None` if it is not positive definite
    /// within the rounding of single precision.
    pub(super) fn of(size: usize, heed: Heed<'_>, column: impl Fn(usize, &mut [f64]) + Sync) -> Option<Self> {
        Self::lifted(size, SYSTEM.lift, heed, column)
    }

    /// The same with more on the diagonal: `lift` of what is there.
    pub(super) fn lifted(
        size: usize,
        lift: f32,
        heed: Heed<'_>,
        column: impl Fn(usize, &mut [f64]) + Sync,
    ) -> Option<Self> {
        let diagonal = |j: usize| {
            let mut first = [0.0];
            column(j, &mut first);
            first[0]
        };
        let scales: Vec<f64> = (0..size).map(|j| diagonal(j).sqrt().recip()).collect();
        if !scales.iter().all(|s| s.is_finite() && *s > 0.0) {
            return None;
        }
        let mut rough = vec![0.0; size * size];
        rough.par_chunks_mut(size).enumerate().for_each_init(
            || vec![0.0; size],
            |from, (j, to)| {
                let from = &mut from[j..];
                column(j, from);
                let below = to[j..].iter_mut().zip(from.iter().zip(&scales[j..]));
                below.for_each(|(to, (from, scale))| *to = (from * scale * scales[j]) as f32);
                // Rounding must not make the matrix indefinite where it is nearly singular.
                to[j] = 1.0 + lift;
            },
        );
        let epsilon = f32::EPSILON * f32::EPSILON;
        factor_lifting(&mut rough, size, lift, epsilon, heed).then_some(Self { matrix: rough, scales })
    }

    /// Replaces the right-hand side by the solution.
    pub(super) fn solve(&self, rhs: &mut [f64]) {
        rhs.iter_mut().zip(&self.scales).for_each(|(r, s)| *r *= s);
        // Residuals late in a fit may be smaller than single precision can tell from 0.
        let top = rhs.iter().fold(f64::MIN_POSITIVE, |top, r| top.max(r.abs()));
        let mut small: Vec<f32> = rhs.iter().map(|r| (r / top) as f32).collect();
        solve_factored(&self.matrix, small.len(), &mut small);
        rhs.iter_mut().zip(small.iter().zip(&self.scales)).for_each(|(r, (x, s))| *r = top * f64::from(*x) * s);
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    /// Of a matrix that is written out.
    fn rough(matrix: &[f64], size: usize) -> Option<CholeskyF32> {
        CholeskyF32::of(size, Heed::default(), |j, out| {
            let from = j * size + j;
            out.copy_from_slice(&matrix[from..from + out.len()]);
        })
    }

    /// Features in very different units, and right-hand sides that single precision cannot hold.
    #[test]
    fn a_rough_factor_solves_to_a_few_digits_at_any_scale() {
        let size = 40;
        let unit = |j: usize| 10f64.powi(j as i32 % 31 - 15);
        let entry = |i: usize, j: usize| (if i == j { 3.0 } else { ((i * j) as f64).sin() / 40.0 }) * unit(i) * unit(j);
        let matrix: Vec<f64> = (0..size * size).map(|at| entry(at % size, at / size)).collect();
        let rough = rough(&matrix, size).unwrap();
        for scale in [1.0, 1e-200, 1e200] {
            let solution: Vec<f64> = (0..size).map(|j| scale * (1.0 + j as f64) / unit(j)).collect();
            let mut found: Vec<f64> =
                (0..size).map(|i| (0..size).map(|j| entry(i, j) * solution[j]).sum::<f64>()).collect();
            rough.solve(&mut found);
            for (found, wanted) in found.iter().zip(&solution) {
                assert!((found - wanted).abs() <= 1e-4 * wanted.abs(), "{found} {wanted}");
            }
        }
        let mut zeros = vec![0.0; size];
        rough.solve(&mut zeros);
        assert!(zeros.iter().all(|z| *z == 0.0));
    }

    #[test]
    fn what_is_not_positive_has_no_rough_factor() {
        assert!(rough(&[0.0, 0.0, 0.0, 1.0], 2).is_none());
        assert!(rough(&[1.0, 0.0, 0.0, -1.0], 2).is_none());
        assert!(rough(&[1.0, 2.0, 2.0, f64::NAN], 2).is_none());
        assert!(rough(&[1.0, 0.0, 0.0, f64::INFINITY], 2).is_none());
    }
}
