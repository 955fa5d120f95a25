//! The linear system of a Newton step: `(X̃ᵀ D(h) X̃ + ∇²R + 2εI) s = −g`, solved by whatever is cheapest.
//!
//! * [`Dense`]: the matrix written out and factored, where d·c is small.
//! * [`cg`]: conjugate gradients that only multiply by the matrix, preconditioned by [`Woodbury`]: few (sample, class) entries carry
//!   weight near the optimum, and the matrix of those alone is inverted exactly through a system of their number. Before that, while all
//!   rows carry weight, [`Kronecker`] knows better.

mod cg;
mod cholesky;
mod dense;
mod kronecker;
mod low_rank;
mod over_classes;
mod packed;
mod tuning;
mod woodbury;

use std::cell::Cell;

use crate::engine::Rows;
use crate::linalg::{axpy, dot};
use crate::loss::Shape;
use crate::penalty::Curvature;
use crate::plan::SystemPlan;
use crate::problem::Problem;

pub(crate) use cg::{ConjugateGradients, conjugate_gradients};
pub(super) use cholesky::{factor, factor_lifted, solve_factored};
use dense::Dense;
use kronecker::Kronecker;
pub(super) use low_rank::LowRankUpdate;
pub(super) use tuning::SYSTEM;
use woodbury::Woodbury;

/// A Newton matrix in factored form: the curvature of every row and of the penalty.
pub(crate) struct Matrix<'a> {
    pub(crate) problem: &'a Problem<'a>,
    pub(crate) rows: &'a mut dyn Rows,
    pub(crate) penalty: &'a Curvature,
}

impl Matrix<'_> {
    fn shape(&self) -> Shape {
        self.problem.loss.shape()
    }

    /// `out = A·v`.
    fn apply(&self, v: &[f64], out: &mut [f64]) {
        out.fill(0.0);
        self.rows.multiply(v, out);
        self.add_penalty(v, out);
    }

    /// The same to about six digits, where that is faster.
    fn apply_f32(&self, v: &[f64], out: &mut [f64]) {
        out.fill(0.0);
        self.rows.multiply_f32(v, out);
        self.add_penalty(v, out);
    }

    fn add_penalty(&self, v: &[f64], out: &mut [f64]) {
        let m = self.problem.weights_len();
        self.penalty.apply(&v[..m], &mut out[..m]);
        axpy(2.0 * self.problem.epsilon, v, out);
    }
}

/// Solves Newton systems of one problem, keeping buffers between steps.
pub(crate) struct NewtonSystem {
    plan: SystemPlan,
    /// Set once factoring is, or has become, cheaper than iterating.
    dense: Option<Dense>,
    woodbury: Option<Woodbury>,
    /// Set while it is to be preferred to that.
    kronecker: Option<Kronecker>,
    /// Set while products in single precision can be had and are good enough.
    in_f32: bool,
    /// How many systems in a row it solved without mending.
    trusted: usize,
}

/// What a solve may leave over of the gradient: so much that the lower bound of the duals after the step loses at most `most` by it.
pub(crate) struct Accuracy {
    pub(crate) most: f64,
    /// Whether single precision is out of the question for conjugate gradients, as where weights of rows differ by more than its digits.
    pub(crate) precise: bool,
    /// Whether a factored matrix may come from sums in single precision.
    pub(crate) roughly: bool,
    /// Whether no proof is to follow, whose systems would be harder than this one.
    pub(crate) easy: bool,
}

impl Accuracy {
    /// A quadratic penalty r ↦ ρ‖·‖²/2 charges ‖r‖²/(2ρ) for a gradient that is left over.
    fn allows(&self, a: &Matrix<'_>, residual: &[f64]) -> bool {
        if self.most.is_infinite() {
            return true;
        }
        let (w, b) = residual.split_at(a.problem.weights_len());
        let ridge = 2.0 * a.problem.epsilon;
        dot(w, w) / (2.0 * (ridge + a.penalty.least())) + dot(b, b) / (2.0 * ridge) <= self.most
    }
}

/// How a solve went.
pub(crate) struct Solve {
    /// Products with the matrix; none if it was factored.
    pub(crate) products: usize,
}

impl NewtonSystem {
    pub(crate) fn new(problem: &Problem<'_>, rows: &mut dyn Rows, plan: SystemPlan) -> Self {
        let mut system = Self { plan, dense: None, woodbury: None, kronecker: None, in_f32: false, trusted: 0 };
        if plan.writes_out {
            system.dense = Some(Dense::new(problem, plan.written));
        } else {
            system.woodbury = Some(Woodbury::new(problem, rows, plan.entries, plan.most_entries));
            system.in_f32 = rows.keep_f32(true);
            system.kronecker = plan.kronecker.then(Kronecker::new);
        }
        system
    }

    /// Solves for the step to a residual of `forcing` relative to the gradient, or as far as it gets before the fit is interrupted; `None` if
    /// rounding prevents a descent direction.
    ///
    /// Early systems are easy for conjugate gradients and late ones are not: where the matrix can be factored at all, that
    /// takes over as soon as a system needed more products than a factorisation costs.
    pub(crate) fn solve(
        &mut self,
        a: &mut Matrix<'_>,
        grad: &[f64],
        forcing: f64,
        rest: &Accuracy,
        step: &mut [f64],
    ) -> Option<Solve> {
        let products = match &mut self.dense {
            Some(dense) => solve_written_out(dense, a, grad, forcing, rest, step)?,
            None => self.solve_iteratively(a, grad, forcing, rest, step)?,
        };
        step.iter().all(|s| s.is_finite()).then_some(Solve { products })
    }

    /// The same by conjugate gradients, with a better preconditioner for the next system where this one was hard; the number of products.
    fn solve_iteratively(
        &mut self,
        a: &mut Matrix<'_>,
        grad: &[f64],
        forcing: f64,
        rest: &Accuracy,
        step: &mut [f64],
    ) -> Option<usize> {
        let (mut products, mut good) = self.iterate(a, grad, forcing, rest, step)?;
        let mut vain = 0;
        if !good && self.kronecker.is_some() {
            vain = products;
            self.begin_woodbury(a, vain);
            (products, good) = self.iterate(a, grad, forcing, rest, step)?;
        }
        if !good && self.woodbury.as_mut().is_some_and(Woodbury::distrust) {
            products += self.iterate(a, grad, forcing, rest, step)?.0;
        }
        if let Some(kronecker) = &mut self.kronecker {
            if !kronecker.adapt(products) {
                self.begin_woodbury(a, products);
            }
            return Some(products);
        }
        let more = self.woodbury.as_mut().is_some_and(|it| it.adapt(a, products, self.plan.product, rest.easy));
        // A better preconditioner is tried first.
        let price = if self.in_f32 { SYSTEM.single } else { 1.0 };
        if !more && price * products as f64 > self.plan.break_even {
            self.dense = Some(Dense::new(a.problem, self.plan.written));
            self.woodbury = None;
            self.in_f32 = a.rows.keep_f32(false);
        }
        Some(vain + products)
    }

    /// Leaves the first preconditioner to the second, after so many products.
    fn begin_woodbury(&mut self, a: &Matrix<'_>, products: usize) {
        self.kronecker = None;
        if let Some(woodbury) = &mut self.woodbury {
            woodbury.begin(a, products, self.plan.product, self.in_f32);
        }
    }

    /// gᵀA⁻¹g with the matrix of the last system, if that is at hand as a factor.
    pub(crate) fn decrement(&self, problem: &Problem<'_>, grad: &[f64]) -> Option<f64> {
        let dense = self.dense.as_ref().filter(|dense| dense.is_exact() && dense.is_factored())?;
        let mut step = vec![0.0; grad.len()];
        dense.apply(problem, grad, &mut step);
        Some(dot(grad, &step)).filter(|decrement| *decrement >= 0.0)
    }

    /// The last step led nowhere: if that was for want of digits, the next one shall have them. Whether it will have more.
    ///
    /// A preconditioner in single precision may even be indefinite: where the penalty is small, it is a tiny difference of large numbers.
    pub(crate) fn distrust(&mut self, rows: &mut dyn Rows) -> bool {
        if self.kronecker.take().is_some() {
            return true;
        }
        let dense = self.distrust_sums();
        let woodbury = self.woodbury.as_mut().is_some_and(Woodbury::distrust);
        let in_f32 = std::mem::replace(&mut self.in_f32, false);
        rows.keep_f32(false);
        dense || woodbury || in_f32
    }

    /// The same for factored matrices alone.
    pub(crate) fn distrust_sums(&mut self) -> bool {
        self.dense.as_mut().is_some_and(Dense::distrust)
    }

    /// Conjugate gradients with the preconditioner of the day; the number of products, and whether the preconditioner was good enough.
    fn iterate(
        &mut self,
        a: &mut Matrix<'_>,
        grad: &[f64],
        forcing: f64,
        rest: &Accuracy,
        step: &mut [f64],
    ) -> Option<(usize, bool)> {
        let woodbury = self.woodbury.as_mut()?;
        if rest.precise || !self.kronecker.as_mut().is_some_and(|kronecker| kronecker.prepare(a)) {
            self.kronecker = None;
            woodbury.prepare(a, self.in_f32, rest.precise);
        }
        let matrix = &*a;
        step.fill(0.0);
        let mut residual = negated(grad);
        let shaky = Cell::new(false);
        let kronecker = &mut self.kronecker;
        let mut invert = |r: &[f64], out: &mut [f64]| match kronecker {
            Some(kronecker) => shaky.set(!kronecker.apply(matrix, r, out) || shaky.get()),
            None => shaky.set(!woodbury.apply(matrix, r, out) || shaky.get()),
        };
        let go_on = &mut || !shaky.get() && matrix.problem.heed.go_on();
        let exact = |v: &[f64], out: &mut [f64]| matrix.apply(v, out);
        let goal = |rho| rho * forcing * forcing;
        let small = |residual: &[f64]| rest.allows(matrix, residual);
        let most = SYSTEM.products;
        if !self.in_f32 || rest.precise {
            let products = conjugate_gradients(exact, invert, residual, goal, small, most, step, go_on).products;
            return Some((products, !shaky.get()));
        }
        let multiply = |v: &[f64], out: &mut [f64]| matrix.apply_f32(v, out);
        let rough = conjugate_gradients(multiply, &mut invert, residual.clone(), goal, |_| true, most, step, go_on);
        if shaky.get() || (self.trusted >= SYSTEM.usual && forcing >= SYSTEM.two_digits) {
            return Some((rough.products, !shaky.get()));
        }
        let mut product = vec![0.0; step.len()];
        exact(step, &mut product);
        axpy(-1.0, &product, &mut residual);
        // Minus twice what the step does to the quadratic model. Where that does not fall, the step is worse than none.
        let gained = dot(step, &residual) - dot(step, grad);
        if gained.is_nan() || gained <= 0.0 {
            step.fill(0.0);
            residual = negated(grad);
        }
        let looser = |_| SYSTEM.slack * rough.goal;
        let mended = conjugate_gradients(exact, invert, residual, looser, small, most, step, go_on);
        if shaky.get() {
            return Some((rough.products + 1 + mended.products, false));
        }
        self.trusted = if mended.products == 0 { self.trusted + 1 } else { 0 };
        if 2 * mended.products > rough.products {
            self.in_f32 = a.rows.keep_f32(false);
        }
        Some((rough.products + 1 + mended.products, true))
    }
}

/// Solves with the matrix that is written out, as a factor or where that is not exact as a preconditioner; the number of products.
fn solve_written_out(
    dense: &mut Dense,
    a: &mut Matrix<'_>,
    grad: &[f64],
    forcing: f64,
    rest: &Accuracy,
    step: &mut [f64],
) -> Option<usize> {
    if !dense.prepare(a, rest.roughly) {
        return None;
    }
    if dense.is_exact() {
        dense.apply(a.problem, grad, step);
        step.iter_mut().for_each(|s| *s = -*s);
        return Some(0);
    }
    step.fill(0.0);
    let invert = |r: &[f64], out: &mut [f64]| dense.apply(a.problem, r, out);
    let multiply = |v: &[f64], out: &mut [f64]| a.apply(v, out);
    let goal = |rho| rho * forcing * forcing;
    let small = |residual: &[f64]| rest.allows(a, residual);
    let go_on = &mut || a.problem.heed.go_on();
    let most = SYSTEM.products;
    Some(conjugate_gradients(multiply, invert, negated(grad), goal, small, most, step, go_on).products)
}

fn negated(grad: &[f64]) -> Vec<f64> {
    grad.iter().map(|g| -g).collect()
}
