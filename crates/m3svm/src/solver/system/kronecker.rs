//! A preconditioner for the first systems of a fit, while the smoothing is wide and most rows carry weight: the Newton matrix as if the
//! features of all rows varied alike,
//!
//! ```text
//! L ⊗ G + B ⊗ I,    L = Σᵢ Hᵢ,    G = Σᵢ τᵢ x̃ᵢx̃ᵢᵀ / Σᵢ τᵢ,    B: the penalty over classes,
//! ```
//!
//! where τᵢ is what row i weighs in L. With B = CCᵀ, C⁻¹LC⁻ᵀ = QΛQᵀ and U = C⁻ᵀQ its inverse is `U (Λ ⊗ G + I)⁻¹ Uᵀ`: one system of d + 1
//! unknowns for each class. [`super::Woodbury`] knows nothing of correlations between features, and they are strong in pictures and signals:
//! with about as many products, first steps get further (after three of them the objective of usps is at 1,057 instead of 1,549, that of
//! hhar-recomputed at 366 instead of 861), and factors of the size of d cost little next to those of entries. Later, few rows carry
//! most of the weight, in other ways for every pair of classes. Then it is of no use.

use faer::diag::Diag;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::evd::{ComputeEigenvectors, self_adjoint_evd, self_adjoint_evd_scratch};
use faer::linalg::matmul::matmul;
use faer::linalg::triangular_solve::solve_lower_triangular_in_place;
use faer::{Accum, Mat, MatMut, MatRef, Par, Spec};
use rayon::prelude::*;

use super::Matrix;
use super::cholesky::{CholeskyF32, factor};
use super::over_classes::{make_definite, of_penalty};
use super::tuning::SYSTEM;
use crate::interrupt::Heed;
use crate::plan::PLAN;

pub(super) struct Kronecker {
    /// G: lower triangle, d̃×d̃.
    moments: Vec<f32>,
    /// Whether it was made for this system.
    fresh: bool,
    /// How often it was applied to this system.
    applied: usize,
    /// Whether weights have begun to move, so that every system needs its own.
    moving: bool,
    /// U, c×c.
    basis: Vec<f64>,
    /// Of λG + I for each λ.
    factors: Vec<CholeskyF32>,
    turned: Vec<f64>,
}

impl Kronecker {
    pub(super) fn new() -> Self {
        Self {
            moments: Vec::new(),
            fresh: false,
            applied: 0,
            moving: false,
            basis: Vec::new(),
            factors: Vec::new(),
            turned: Vec::new(),
        }
    }

    /// Whether it can be had for this matrix.
    pub(super) fn prepare(&mut self, a: &Matrix<'_>) -> bool {
        let c = a.problem.classes;
        self.applied = 0;
        self.fresh = self.moving || self.moments.is_empty();
        if self.fresh {
            let Some(moments) = a.rows.moments() else { return false };
            self.moments = moments.matrix;
        }
        let (mut penalty, ridge) = (of_penalty(a), 2.0 * a.problem.epsilon);
        make_definite(&mut penalty, c, ridge + a.penalty.ridge);
        let Some((basis, values)) = diagonalised(&a.rows.class_curvature(), penalty, c) else { return false };
        self.basis = basis;
        let (moments, width, features) = (&self.moments, a.problem.width(), a.problem.features);
        // First the room of the last ones.
        self.factors.clear();
        let factored = values.par_iter().enumerate().map(|(k, value)| {
            // The intercept is not penalised.
            let square: f64 = self.basis.iter().skip(k).step_by(c).map(|u| u * u).sum();
            CholeskyF32::lifted(width, SYSTEM.soft, a.problem.heed, |j, out| {
                out.iter_mut().zip(&moments[j * width + j..]).for_each(|(o, m)| *o = value * f64::from(*m));
                out[0] += if j < features { 1.0 } else { ridge * square };
            })
        });
        let Some(factors) = factored.collect() else { return false };
        self.factors = factors;
        true
    }

    /// Learns from how many products a system took; whether the next one will be worth it.
    pub(super) fn adapt(&mut self, products: usize) -> bool {
        self.moving = self.moving || products > PLAN.easy;
        !(self.fresh && products > SYSTEM.hard)
    }

    /// `out = M⁻¹·r`; `false` once that has been asked for too often.
    pub(super) fn apply(&mut self, a: &Matrix<'_>, r: &[f64], out: &mut [f64]) -> bool {
        self.applied += 1;
        let (c, width) = (a.problem.classes, a.problem.width());
        self.turned.resize(r.len(), 0.0);
        let basis = MatRef::from_row_major_slice(&self.basis, c, c);
        let columns = MatMut::from_column_major_slice_mut(&mut self.turned, width, c);
        matmul(columns, Accum::Replace, MatRef::from_row_major_slice(r, width, c), basis, 1.0, Par::Seq);
        self.turned.par_chunks_mut(width).zip(&self.factors).for_each(|(column, factor)| factor.solve(column));
        let columns = MatRef::from_column_major_slice(&self.turned, width, c);
        let out = MatMut::from_row_major_slice_mut(out, width, c);
        matmul(out, Accum::Replace, columns, basis.transpose(), 1.0, Par::Seq);
        !(self.fresh && self.applied > SYSTEM.hopeless)
    }
}

/// U and Λ with UᵀBU = I and UᵀLU = Λ.
fn diagonalised(sum: &[f64], mut base: Vec<f64>, c: usize) -> Option<(Vec<f64>, Vec<f64>)> {
    if !factor(&mut base, c, Heed::default()) {
        return None;
    }
    // One thread: sums of several would depend on their number.
    let par = Par::Seq;
    let product = |left: MatRef<'_, f64>, right: MatRef<'_, f64>| {
        let mut out = Mat::zeros(c, c);
        matmul(out.as_mut(), Accum::Replace, left, right, 1.0, par);
        out
    };
    let mut inverse = Mat::<f64>::identity(c, c);
    solve_lower_triangular_in_place(MatRef::from_column_major_slice(&base, c, c), inverse.as_mut(), par);
    let middle = product(inverse.as_ref(), MatRef::from_row_major_slice(sum, c, c));
    let middle = product(middle.as_ref(), inverse.transpose());
    let (mut values, mut vectors) = (Diag::zeros(c), Mat::zeros(c, c));
    let mut buffer = MemBuffer::new(self_adjoint_evd_scratch::<f64>(c, ComputeEigenvectors::Yes, par, Spec::default()));
    let (stack, to) = (MemStack::new(&mut buffer), Some(vectors.as_mut()));
    self_adjoint_evd(middle.as_ref(), values.as_mut(), to, par, stack, Spec::default()).ok()?;
    let basis = product(inverse.transpose(), vectors.as_ref());
    let values = values.column_vector().iter().map(|value| value.max(0.0)).collect();
    Some(((0..c * c).map(|at| basis[(at / c, at % c)]).collect(), values))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::super::{Accuracy, NewtonSystem, Woodbury};
    use super::*;
    use crate::engine::{InMemory, Rows};
    use crate::features::Features;
    use crate::linalg::{axpy, dot};
    use crate::loss::{Loss, SmoothHinge, TopKHinge};
    use crate::penalty::{Norm, Pairwise, Penalty, Ridge};
    use crate::plan::{PLAN, SystemPlan};
    use crate::{Dataset, Objective, Risk};

    /// Features of which each has something of the one before.
    fn data(n: usize, d: usize, classes: usize) -> Dataset<'static> {
        let mut x: Vec<f64> = (0..n * d).map(|i| ((i * i) as f64 * 0.37).sin()).collect();
        (1..n * d).filter(|i| i % d > 0).for_each(|i| x[i] += 0.5 * x[i - 1]);
        let y: Vec<String> = (0..n).map(|i| (i % classes).to_string()).collect();
        Dataset::from_labels(Features::dense(x, n, d).unwrap(), &y).unwrap()
    }

    /// Calls `f` with the matrix at some scores.
    fn at_some_scores(risk: &Risk<'_>, spread: f64, f: impl FnOnce(&Matrix<'_>)) {
        let (n, c, problem) = (risk.x.rows(), risk.problem.classes, &risk.problem);
        let z: Vec<f64> = (0..n * c).map(|i| spread * (i * 29 % 31) as f64 / 40.0).collect();
        let mut rows = InMemory::new(risk);
        rows.begin();
        problem.loss.hessian_rows(&z, risk.y, rows.curvature());
        let w: Vec<f64> = (0..problem.weights_len()).map(|i| (i as f64).cos()).collect();
        f(&Matrix { problem, rows: &mut rows, penalty: &problem.penalty.curvature(&w, c, &[]) })
    }

    /// Two classes have one pair, and all rows bend along it: nothing is left out then but for what is added on purpose.
    #[test]
    fn inverts_the_matrix_of_two_classes() {
        let data = data(300, 12, 2);
        let (loss, ridge) = (SmoothHinge { delta: 3.0 }, Ridge { lambda: 2.0 });
        let risk = Risk::new(&data, &loss, &ridge, 1e-3, true);
        at_some_scores(&risk, 1.0, |a| {
            let mut v: Vec<f64> = (0..risk.dim()).map(|i| (i * 13 % 17) as f64 - 8.0).collect();
            risk.problem.centre(&mut v);
            let (mut product, mut back) = (vec![0.0; v.len()], vec![0.0; v.len()]);
            a.apply(&v, &mut product);
            let mut correlated = Kronecker::new();
            assert!(correlated.prepare(a));
            correlated.apply(a, &product, &mut back);
            let worst = v.iter().zip(&back).fold(0.0f64, |m, (v, b)| m.max((v - b).abs()));
            assert!(worst < 8.0 * 2e-3, "{worst:e}");
        });
    }

    /// Few rows that weigh much, each along its own pair of classes, are what it knows nothing of, and what Woodbury's entries know all about.
    #[test]
    fn a_system_that_is_too_hard_is_left_to_others() {
        let random = |i: usize| ((i as f64 * 12.9898).sin() * 43758.5453).fract();
        let (n, d, c) = (200, 80, 3);
        let y: Vec<String> = (0..n).map(|i| (i % c).to_string()).collect();
        let x: Vec<f64> = (0..n * d).map(random).collect();
        let data = Dataset::from_labels(Features::dense(x, n, d).unwrap(), &y).unwrap();
        let (loss, ridge) = (SmoothHinge { delta: 0.01 }, Ridge { lambda: 1e-4 });
        let risk = Risk::new(&data, &loss, &ridge, 1e-6, true);
        let z: Vec<f64> = (0..n * c).map(random).collect();
        let mut rows = InMemory::new(&risk);
        rows.begin();
        loss.hessian_rows(&z, risk.y, rows.curvature());
        let penalty = ridge.curvature(&vec![0.0; d * c], c, &[]);
        let mut grad: Vec<f64> = (0..risk.dim()).map(random).collect();
        risk.problem.centre(&mut grad);
        let plan = SystemPlan::of(&risk.problem, &rows.sizes());
        let mut system = NewtonSystem::new(&risk.problem, &mut rows, plan);
        system.dense = None;
        system.woodbury = Some(Woodbury::new(&risk.problem, &rows, PLAN.entries.0, PLAN.most_entries));
        system.kronecker = Some(Kronecker::new());
        let rest = Accuracy { most: f64::INFINITY, precise: false, roughly: false, easy: true };
        let (mut step, mut left) = (vec![0.0; grad.len()], vec![0.0; grad.len()]);
        let mut a = Matrix { problem: &risk.problem, rows: &mut rows, penalty: &penalty };
        let solve = system.solve(&mut a, &grad, 1e-6, &rest, &mut step).unwrap();
        assert!((SYSTEM.hopeless..SYSTEM.hopeless + 8).contains(&solve.products), "{}", solve.products);
        assert!(system.kronecker.is_none());
        a.apply(&step, &mut left);
        axpy(1.0, &grad, &mut left);
        assert!(dot(&left, &left) <= 1e-6 * dot(&grad, &grad), "{:e}", dot(&left, &left) / dot(&grad, &grad));
    }

    /// Whatever it leaves out, conjugate gradients need it symmetric and positive.
    #[test]
    fn is_symmetric_and_positive() {
        let data = data(400, 9, 4);
        let (hinge, top) = (SmoothHinge { delta: 0.3 }, TopKHinge { k: 1, delta: 0.3 });
        let (ridge, pairs) = (Ridge { lambda: 0.2 }, Pairwise::new(Norm::L2, 1e-3, 4.0));
        let losses: [&dyn Loss; 2] = [&hinge, &top];
        let penalties: [&dyn Penalty; 2] = [&ridge, &pairs];
        for (loss, penalty) in losses.into_iter().flat_map(|loss| penalties.map(|penalty| (loss, penalty))) {
            let risk = Risk::new(&data, loss, penalty, 1e-6, true);
            at_some_scores(&risk, 3.0, |a| {
                let mut correlated = Kronecker::new();
                assert!(correlated.prepare(a));
                let mut apply = |r: &[f64]| {
                    let mut out = vec![0.0; r.len()];
                    correlated.apply(a, r, &mut out);
                    out
                };
                let vector = |seed: usize| {
                    let mut v: Vec<f64> = (0..risk.dim()).map(|i| ((i + seed) as f64 * 1.7).sin()).collect();
                    risk.problem.centre(&mut v);
                    v
                };
                let (r, s) = (vector(1), vector(50));
                let (of_r, of_s) = (apply(&r), apply(&s));
                let (rr, ss) = (dot(&r, &of_r), dot(&s, &of_s));
                assert!(rr > 0.0 && ss > 0.0);
                assert!((dot(&r, &of_s) - dot(&s, &of_r)).abs() < 1e-4 * (rr * ss).sqrt());
            });
        }
    }

    /// Easy systems share one G, harder ones get their own, and one that is hard even so is the last.
    #[test]
    fn gives_up_after_a_hard_system_with_fresh_moments() {
        let data = data(300, 5, 3);
        let (loss, ridge) = (SmoothHinge { delta: 0.3 }, Ridge { lambda: 0.2 });
        let risk = Risk::new(&data, &loss, &ridge, 1e-3, true);
        at_some_scores(&risk, 1.0, |a| {
            let mut correlated = Kronecker::new();
            assert!(correlated.prepare(a));
            assert!(correlated.fresh && correlated.adapt(PLAN.easy));
            assert!(correlated.prepare(a));
            assert!(!correlated.fresh && correlated.adapt(SYSTEM.hard + 1));
            assert!(correlated.prepare(a));
            assert!(correlated.fresh && !correlated.adapt(SYSTEM.hard + 1));
        });
    }
}
