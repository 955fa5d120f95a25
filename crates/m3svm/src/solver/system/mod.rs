//! The linear system of a Newton step: `(X̃ᵀ D(h) X̃ + ∇²R + 2εI) s = −g`, solved by whatever is cheapest.
//!
//! * [`Dense`]: the matrix written out and factored, where d·c is small.
//! * [`cg`]: conjugate gradients that only multiply by the matrix, preconditioned by [`Active`]: few (sample, class) entries carry
//!   weight near the optimum, and the matrix of those alone is inverted exactly through a system of their number. Before that, while all
//!   rows carry weight, [`Correlated`] knows better.

mod active;
mod cg;
mod cholesky;
mod chosen;
mod correlated;
mod dense;
mod entries;
mod outer;
mod over_classes;
mod products;
mod single;

use std::cell::Cell;

use crate::kernel::{axpy, dot};
use crate::loss::Shape;
use crate::penalty::Curvature;
use crate::risk::Risk;

use active::Active;
pub(super) use cg::ROUNDING;
pub(super) use cholesky::{factor, solve_factored};
use correlated::Correlated;
use dense::Dense;
pub(super) use outer::Outer;
pub(crate) use products::Shared;
use single::Single;

/// A Newton matrix in factored form: the curvature of every row and of the penalty.
pub(crate) struct Matrix<'a> {
    pub(crate) risk: &'a Risk<'a>,
    pub(crate) shape: Shape,
    pub(crate) h: &'a [f64],
    pub(crate) penalty: &'a Curvature,
}

impl Matrix<'_> {
    /// `out = A·v`.
    fn apply(&self, v: &[f64], out: &mut [f64]) {
        let m = self.risk.weights_len();
        out.fill(0.0);
        self.risk.curvature_product(self.shape, self.h, v, out);
        self.penalty.apply(&v[..m], &mut out[..m]);
        axpy(2.0 * self.risk.epsilon, v, out);
    }
}

/// Solves Newton systems of one risk, keeping buffers between steps.
pub(crate) struct System {
    costs: Costs,
    /// Set once factoring is, or has become, cheaper than iterating.
    dense: Option<Dense>,
    active: Option<Active>,
    /// Set while it is to be preferred to the active entries.
    early: Option<Correlated>,
    /// Set while single precision is good enough for products.
    single: Option<Single>,
    /// How many systems in a row it solved without mending.
    trusted: usize,
}

/// What a solve may leave over of the gradient: so much that the lower bound of the duals after the step loses at most `most` by it.
pub(crate) struct Rest {
    pub(crate) most: f64,
    /// Whether single precision is out of the question for conjugate gradients, as where weights of rows differ by more than its digits.
    pub(crate) precise: bool,
    /// Whether a factored matrix may come from sums in single precision.
    pub(crate) roughly: bool,
    /// Whether no proof is to follow, whose systems would be harder than this one.
    pub(crate) easy: bool,
}

impl Rest {
    /// A quadratic penalty r ↦ ρ‖·‖²/2 charges ‖r‖²/(2ρ) for a gradient that is left over.
    fn allows(&self, a: &Matrix<'_>, residual: &[f64]) -> bool {
        if self.most.is_infinite() {
            return true;
        }
        let (w, b) = residual.split_at(a.risk.weights_len());
        let ridge = 2.0 * a.risk.epsilon;
        dot(w, w) / (2.0 * (ridge + a.penalty.least())) + dot(b, b) / (2.0 * ridge) <= self.most
    }
}

/// How a solve went.
pub(crate) struct Solve {
    /// Products with the matrix; none if it was factored.
    pub(crate) products: usize,
}

impl System {
    pub(crate) fn new(risk: &Risk<'_>) -> Self {
        let costs = Costs::of(risk);
        let mut system = Self { costs, dense: None, active: None, early: None, single: None, trusted: 0 };
        if system.costs.is_small() {
            system.dense = Some(Dense::new(risk, system.costs.lump));
        } else {
            system.active = Some(Active::new(risk));
            system.single = Single::of(risk);
            system.early = Correlated::pays(risk, system.costs.break_even()).then(Correlated::new);
        }
        system
    }

    /// Solves for the step to a residual of `forcing` relative to the gradient, or as far as it gets while `go_on` says so; `None` if rounding prevents a descent direction.
    ///
    /// Early systems are easy for conjugate gradients and late ones are not: where the matrix can be factored at all, that
    /// takes over as soon as a system needed more products than a factorisation costs.
    pub(crate) fn solve(
        &mut self,
        a: &Matrix<'_>,
        grad: &[f64],
        forcing: f64,
        rest: &Rest,
        step: &mut [f64],
        go_on: &mut dyn FnMut() -> bool,
    ) -> Option<Solve> {
        if let Some(dense) = &mut self.dense {
            if !dense.prepare(a, rest.roughly) {
                return None;
            }
            if !dense.is_exact() {
                step.fill(0.0);
                let invert = |r: &[f64], out: &mut [f64]| dense.apply(a.risk, r, out);
                let goal = |rho| rho * forcing * forcing;
                let multiply = |v: &[f64], out: &mut [f64]| a.apply(v, out);
                let small = |residual: &[f64]| rest.allows(a, residual);
                let products = cg::solve(multiply, invert, negated(grad), goal, small, step, go_on).products;
                return step.iter().all(|s| s.is_finite()).then_some(Solve { products });
            }
            dense.apply(a.risk, grad, step);
            step.iter_mut().for_each(|s| *s = -*s);
            return step.iter().all(|s| s.is_finite()).then_some(Solve { products: 0 });
        }
        let (mut products, mut good) = self.iterate(a, grad, forcing, rest, step, go_on)?;
        let mut vain = 0;
        if !good && self.early.take().is_some() {
            vain = products;
            let single = self.single.is_some();
            self.active.iter_mut().for_each(|active| active.begin(a, vain, self.costs.product, single));
            (products, good) = self.iterate(a, grad, forcing, rest, step, go_on)?;
        }
        if !good && self.active.as_mut().is_some_and(Active::distrust) {
            products += self.iterate(a, grad, forcing, rest, step, go_on)?.0;
        }
        if let Some(early) = &mut self.early {
            if !early.adapt(products) {
                self.early = None;
                let single = self.single.is_some();
                self.active.iter_mut().for_each(|active| active.begin(a, products, self.costs.product, single));
            }
            return step.iter().all(|s| s.is_finite()).then_some(Solve { products });
        }
        let more = self.active.as_mut().is_some_and(|active| active.adapt(a, products, self.costs.product, rest.easy));
        // Products in single precision cost half as much. A better preconditioner is tried first.
        let price = if self.single.is_some() { 0.5 } else { 1.0 };
        if !more && price * products as f64 > self.costs.break_even() {
            self.dense = Some(Dense::new(a.risk, self.costs.lump));
            self.active = None;
            self.single = None;
        }
        step.iter().all(|s| s.is_finite()).then_some(Solve { products: vain + products })
    }

    /// gᵀA⁻¹g with the matrix of the last system, if that is at hand as a factor.
    pub(crate) fn decrement(&self, risk: &Risk<'_>, grad: &[f64]) -> Option<f64> {
        let dense = self.dense.as_ref().filter(|dense| dense.is_exact() && dense.is_factored())?;
        let mut step = vec![0.0; grad.len()];
        dense.apply(risk, grad, &mut step);
        Some(dot(grad, &step)).filter(|decrement| *decrement >= 0.0)
    }

    /// The last step led nowhere: if that was for want of digits, the next one shall have them. Whether it will have more.
    ///
    /// A preconditioner in single precision may even be indefinite: where the penalty is small, it is a tiny difference of large numbers.
    pub(crate) fn distrust(&mut self) -> bool {
        if self.early.take().is_some() {
            return true;
        }
        let dense = self.distrust_sums();
        let active = self.active.as_mut().is_some_and(Active::distrust);
        let single = self.single.take().is_some();
        dense || active || single
    }

    /// The same for factored matrices alone.
    pub(crate) fn distrust_sums(&mut self) -> bool {
        self.dense.as_mut().is_some_and(Dense::distrust)
    }

    /// Conjugate gradients with the preconditioner of the day; the number of products, and whether the preconditioner was good enough.
    fn iterate(
        &mut self,
        a: &Matrix<'_>,
        grad: &[f64],
        forcing: f64,
        rest: &Rest,
        step: &mut [f64],
        go_on: &mut dyn FnMut() -> bool,
    ) -> Option<(usize, bool)> {
        // Single precision need not meet the goal to the last digit.
        const SLACK: f64 = 4.0;
        // Where so many systems went well, one that asks for two digits is not checked. A bad step would only be a short one.
        const USUAL: usize = 2;
        let active = self.active.as_mut()?;
        if rest.precise || !self.early.as_mut().is_some_and(|early| early.prepare(a)) {
            self.early = None;
            active.prepare(a, self.single.as_ref(), rest.precise);
        }
        step.fill(0.0);
        let mut residual = negated(grad);
        let shaky = Cell::new(false);
        let early = &mut self.early;
        let mut invert = |r: &[f64], out: &mut [f64]| match early {
            Some(early) => shaky.set(!early.apply(a, r, out) || shaky.get()),
            None => shaky.set(!active.apply(a, r, out) || shaky.get()),
        };
        let go_on = &mut || !shaky.get() && go_on();
        let exact = |v: &[f64], out: &mut [f64]| a.apply(v, out);
        let goal = |rho| rho * forcing * forcing;
        let small = |residual: &[f64]| rest.allows(a, residual);
        let Some(single) = self.single.as_ref().filter(|_| !rest.precise) else {
            let products = cg::solve(exact, invert, residual, goal, small, step, go_on).products;
            return Some((products, !shaky.get()));
        };
        let multiply = |v: &[f64], out: &mut [f64]| single.apply(a, v, out);
        let rough = cg::solve(multiply, &mut invert, residual.clone(), goal, |_| true, step, go_on);
        if shaky.get() || (self.trusted >= USUAL && forcing >= 1e-2) {
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
        let mended = cg::solve(exact, invert, residual, |_| SLACK * rough.goal, small, step, go_on);
        if shaky.get() {
            return Some((rough.products + 1 + mended.products, false));
        }
        self.trusted = if mended.products == 0 { self.trusted + 1 } else { 0 };
        if 2 * mended.products > rough.products {
            self.single = None;
        }
        Some((rough.products + 1 + mended.products, true))
    }
}

/// Whether there are so many more rows than parameters that room beside the data would be missed.
fn many_rows(risk: &Risk<'_>) -> bool {
    risk.x.rows() > 8 * risk.weights_len()
}

fn negated(grad: &[f64]) -> Vec<f64> {
    grad.iter().map(|g| -g).collect()
}

/// Whether it pays to treat the heaviest pairs of classes of single rows on their own. Their weights must be positive, or what is left
/// would not be, and few must carry most of it. Kinks see to that, softmax spreads its weight over all rows.
fn heavy_pairs_stand_out(risk: &Risk<'_>) -> bool {
    match risk.loss.shape() {
        Shape::Star => true,
        Shape::Simplex => !spreads_weight(risk),
        Shape::SimplexAndLine | Shape::Dense => false,
    }
}

/// Whether all rows carry weight and none stand out, as with softmax, which has no kinks.
fn spreads_weight(risk: &Risk<'_>) -> bool {
    risk.loss.shape() == Shape::Simplex && risk.loss.dual_len(risk.classes) == 0
}

/// Rough costs in flops that decide between the ways to go.
struct Costs {
    /// Forming and factoring the matrix; infinite where it cannot be done.
    factored: f64,
    /// One product with the matrix.
    product: f64,
    /// How many flops of forming and factoring cost as much as one of a product, with its share of the preconditioner.
    speed: f64,
    /// Forming costs more than half of factoring, so that it pays to form only what matters.
    lump: bool,
}

impl Costs {
    fn of(risk: &Risk<'_>) -> Self {
        let (n, c, d) = (risk.x.rows() as f64, risk.classes as f64, risk.x.cols() as f64);
        let pairs_per_row = if risk.loss.shape() == Shape::Star { c - 1.0 } else { c * (c - 1.0) / 2.0 };
        let size = (d + 1.0) * (c - 1.0);
        let possible = risk.loss.shift_invariant() && risk.penalty.centre_is_mean() && 8.0 * size * size < 2e9;
        let (form, factor) = (n * pairs_per_row * (d + 1.0).powi(2), size.powi(3) / 3.0);
        Self {
            factored: if possible { form + factor } else { f64::INFINITY },
            speed: if spreads_weight(risk) { (d / 40.0).clamp(1.0, 6.0) } else { 6.0 },
            lump: size > 500.0 && form > 0.5 * factor,
            product: 4.0 * risk.x.stored() as f64 * c + 8.0 * n * c + 4.0 * c * c * d,
        }
    }

    /// The number of products that cost as much as a factorisation.
    ///
    /// Flops of a factorisation run about three times as fast, and applying the preconditioner doubles the price of a product. Not so with
    /// softmax: without heavy entries there is little to apply, and each pair of classes takes all rows, weighted anew. Where rows are
    /// short that is hardly faster than products are: 1.1 times, flop for flop, with the 34 features of dermatology, and 1.5 times with the
    /// 64 of optdigits.
    fn break_even(&self) -> f64 {
        self.factored / (self.speed * self.product)
    }

    /// Whether a factorisation costs so little that products are not even tried.
    fn is_small(&self) -> bool {
        self.factored < 18.0 * self.product
    }
}

/// Whether Newton is expected to need less time than L-BFGS. It takes some 20 systems of 20 products (or a factorisation each), L-BFGS
/// thousands of evaluations, so only memory speaks against it: kinked penalties keep d numbers per class pair.
pub(crate) fn newton_is_cheaper(risk: &Risk<'_>) -> bool {
    risk.penalty.dual_len(risk.x.cols(), risk.classes) < 100_000_000
}
