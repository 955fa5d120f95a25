//! Two-class hinge problems with a ridge, side by side: one-vs-rest and one-vs-one are made of them.
//!
//! ```text
//! Fₖ(w, b) = Σᵢ ωᵢ g(1 − sᵢₖ(wᵀxᵢ + b)) + (λ + ε)‖w‖² + εb²        for every scorer k
//! ```
//!
//! Each problem walks its own primal-dual path, with its own smoothing and step length ([`Side`]). But they walk in step: whatever reads X
//! does so once for all of them ([`Products`]), where problems solved apart would each read all of it in every pass. The Newton
//! matrices are inverted apart ([`inverse`]), mostly through the few rows that carry weight, and share the products of rows.

mod cg;
pub(crate) mod descent;
mod dual;
mod few;
mod inverse;
mod leap;
mod products;
mod proof;
mod side;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::ops::ControlFlow;

use rayon::prelude::*;

use super::{Limits, Progress, Solution, Stop};
use crate::certificate::pay;
use crate::error::{Error, Result};
use crate::features::Features;
use crate::kernel::dot;
use crate::risk::LossSums;
use crate::rounding::of_sum;
pub(crate) use few::Classes;
use inverse::Common;
use products::Products;
use side::Side;

/// What all problems have in common.
pub(crate) struct Shared<'a> {
    pub(crate) x: &'a Features<'a>,
    pub(crate) terms: Terms<'a>,
    pub(crate) tol: f64,
}

/// Loss and penalty of problems on the same rows, and the bounds that belong to them.
pub(crate) struct Terms<'a> {
    /// One weight per row.
    pub(crate) weights: Cow<'a, [f64]>,
    /// Width of the hinge; 0 is the exact one.
    pub(crate) delta: f64,
    pub(crate) lambda: f64,
    pub(crate) epsilon: f64,
    pub(crate) intercept: bool,
    /// How exact the rows are, relative to their lengths: 0 unless they stand for others.
    pub(crate) inexact: f64,
}

/// Told where all problems stand after every step.
pub(crate) type WatchAll<'a> = dyn FnMut(&[Progress]) -> ControlFlow<()> + Send + 'a;

impl Shared<'_> {
    /// Parameters of one problem.
    fn width(&self) -> usize {
        self.x.cols() + usize::from(self.terms.intercept)
    }
}

impl Terms<'_> {
    /// How many parameters are weights.
    fn features(&self, theta: &[f64]) -> usize {
        theta.len() - usize::from(self.intercept)
    }

    /// ⟨θ, A η⟩ for the penalty ⟨θ, A θ⟩.
    fn penalty_product(&self, theta: &[f64], other: &[f64]) -> f64 {
        let d = self.features(theta);
        (self.lambda + self.epsilon) * dot(&theta[..d], &other[..d]) + self.epsilon * dot(&theta[d..], &other[d..])
    }

    fn penalty(&self, theta: &[f64]) -> f64 {
        self.penalty_product(theta, theta)
    }

    /// Adds the Hessian of the penalty times `v`, which is its gradient at v as well.
    fn add_bend(&self, v: &[f64], out: &mut [f64]) {
        let d = self.features(v);
        for (j, (out, v)) in out.iter_mut().zip(v).enumerate() {
            *out += 2.0 * (self.epsilon + if j < d { self.lambda } else { 0.0 }) * v;
        }
    }

    /// Σ ω (α + δ√(α(1 − α))), valid for any α in [0, 1], and how steep the rows of given lengths are.
    fn dual_sums(&self, lengths: &[f64], alphas: &[f64]) -> LossSums {
        let value = |a: f64| a + self.delta * (a * (1.0 - a)).max(0.0).sqrt();
        let mut sums = LossSums::default();
        for ((a, weight), length) in alphas.iter().zip(self.weights.iter()).zip(lengths) {
            let a = a.clamp(0.0, 1.0);
            sums.add_dual(*weight, value(a), a, *length);
        }
        sums
    }

    /// The lower bound `t·dual − t²‖·‖²/4` at its best t in [0, 1], where the loss has the gradient `loss_grad`, in whose sums no row goes
    /// through more than `depth` additions. What rounding may add to it is taken off, see `certificate.rs`.
    fn bound(&self, sums: &LossSums, loss_grad: &[f64], depth: usize) -> f64 {
        let error = of_sum(depth) + self.inexact;
        let dual = sums.dual - of_sum(self.weights.len()) * sums.size;
        let (w, b) = loss_grad.split_at(self.features(loss_grad));
        let mut cost = pay(dot(w, w).sqrt(), error * sums.reach, self.lambda + self.epsilon);
        if self.intercept {
            cost += pay(dot(b, b).sqrt(), error * sums.mass, self.epsilon);
        }
        let cost = (1.0 + of_sum(w.len())) * cost;
        let t = if cost > 0.0 { (dual / (2.0 * cost)).clamp(0.0, 1.0) } else { 1.0 };
        let bound = t * dual - t * t * cost;
        // The objective is never negative.
        if bound.is_finite() { bound.max(0.0) } else { 0.0 }
    }

    /// Moves α so that Σ ωsα = 2εb, as at the optimum. Where α is neither 0 nor 1 the margin is 0 there, so that moving it costs next to
    /// nothing, while a bound pays for the rest of the sum divided by 4ε.
    fn balance(&self, signs: &[f64], intercept: f64, alphas: &mut [f64]) {
        for _ in 0..20 {
            let (mut excess, mut room) = (-2.0 * self.epsilon * intercept, 0.0);
            for ((a, s), weight) in alphas.iter().zip(signs).zip(self.weights.iter()) {
                excess += weight * s * a;
                room += weight * a * (1.0 - a);
            }
            if excess == 0.0 || room <= 0.0 {
                return;
            }
            let share = excess / room;
            for (a, s) in alphas.iter_mut().zip(signs) {
                *a = (*a - (s * share).clamp(-0.5, 0.5) * *a * (1.0 - *a)).clamp(0.0, 1.0);
            }
        }
    }
}

/// Minimises all problems; `signs` has one vector per problem and `start` one column.
pub(crate) fn minimize(
    shared: &Shared<'_>,
    signs: Vec<Vec<f64>>,
    start: &[f64],
    limits: &Limits,
    watch: &mut WatchAll<'_>,
) -> Result<Vec<Solution>> {
    let columns = signs.len();
    let sides = signs.into_iter().enumerate().map(|(number, signs)| {
        let theta = start.iter().skip(number).step_by(columns).copied().collect();
        Side::new(shared, signs, theta)
    });
    let mut walk = Walk {
        shared,
        lengths: shared.x.lengths(),
        products: Products::new(shared),
        common: Common::new(shared, columns),
        sides: sides.collect(),
        small: shared.x.rows() * columns < 1 << 13,
    };
    walk.begin();
    let mut interrupted = false;
    while !interrupted && walk.sides.iter().any(|side| side.stop.is_none()) {
        walk.evaluate();
        if limits.proof {
            walk.confirm();
        }
        for side in walk.sides.iter_mut().filter(|side| side.stop.is_none()) {
            if !side.value.is_finite() {
                return Err(Error::Diverged { iteration: side.iterations });
            }
            if side.is_proven(shared) || (!limits.proof && side.is_near(0.3 * shared.tol)) {
                side.stop = Some(Stop::Converged);
            } else if side.iterations >= limits.max_iter {
                side.stop = Some(Stop::IterationLimit);
            }
        }
        let mut progress: Vec<Progress> = walk.sides.iter().map(Side::progress).collect();
        interrupted = watch(&progress).is_break();
        if !interrupted && walk.sides.iter().any(|side| side.stop.is_none()) {
            progress.iter_mut().for_each(|part| part.inner = true);
            walk.step(&mut || {
                interrupted = interrupted || watch(&progress).is_break();
                !interrupted
            });
        }
    }
    walk.end();
    Ok(walk.sides.into_iter().map(Side::solution).collect())
}

/// All problems on their way.
struct Walk<'a> {
    shared: &'a Shared<'a>,
    /// ‖xᵢ‖ of every row.
    lengths: Vec<f64>,
    products: Products<'a>,
    common: Common<'a>,
    sides: Vec<Side>,
    /// A second thread would cost more than it saves.
    small: bool,
}

impl Walk<'_> {
    /// Warm starts are looked at first: some may be proven already, others join the path in the middle.
    fn begin(&mut self) {
        let shared = self.shared;
        let mut warm: Vec<&mut Side> =
            self.sides.iter_mut().filter(|side| side.theta.iter().any(|t| *t != 0.0)).collect();
        prove(shared, &self.products, &self.lengths, &mut warm);
        for side in warm {
            if side.is_proven(shared) && side.best.objective.is_finite() {
                side.stop = Some(Stop::Converged);
            } else if side.is_too_short(shared) {
                side.start_cold();
            } else {
                side.join(shared);
            }
        }
    }

    /// What ended without a proof gets one for its best point.
    fn end(&mut self) {
        let mut open: Vec<&mut Side> =
            self.sides.iter_mut().filter(|side| side.stop != Some(Stop::Converged)).collect();
        open.iter_mut().for_each(|side| side.go_to_best());
        prove(self.shared, &self.products, &self.lengths, &mut open);
    }

    /// Value, gradient and bound of all problems that have not ended.
    fn evaluate(&mut self) {
        let (shared, products, lengths) = (self.shared, &self.products, &self.lengths);
        let mut live: Vec<&mut Side> = self.sides.iter_mut().filter(|side| side.stop.is_none()).collect();
        each(self.small, &mut live, |_, side| side.look(shared, lengths));
        let mut pulled = products.pull(&slopes(&live));
        let give = pulled.iter_mut().map(std::mem::take);
        let depth = products.depth(live.len());
        live.iter_mut().zip(give).for_each(|(side, grad)| side.take_gradient(shared, grad, depth));
        live.retain(|side| side.wants_dual_bound(shared));
        if !live.is_empty() {
            each(self.small, &mut live, |_, side| side.look_at_duals(shared, lengths));
            let (pulled, depth) = (products.pull(&slopes(&live)), products.depth(live.len()));
            live.iter_mut().zip(&pulled).for_each(|(side, grad)| side.take_dual_gradient(shared, grad, depth));
        }
    }

    /// Looks again at what seems to be proven, with scores made afresh.
    fn confirm(&mut self) {
        let live = self.sides.iter_mut().filter(|side| side.stop.is_none());
        let mut proven: Vec<&mut Side> = live.filter(|side| side.is_proven(self.shared)).collect();
        if proven.is_empty() {
            return;
        }
        let scores = self.products.scores(&proven.iter().map(|side| &side.best_theta[..]).collect::<Vec<_>>());
        let (shared, columns) = (self.shared, proven.len());
        each(self.small, &mut proven, |number, side| side.confirm(shared, &scores, number, columns));
    }

    /// One Newton step of all problems that have not ended.
    fn step(&mut self, go_on: &mut dyn FnMut() -> bool) {
        let shared = self.shared;
        let mut live: Vec<&mut Side> = self.sides.iter_mut().filter(|side| side.stop.is_none()).collect();
        each(self.small, &mut live, |_, side| side.fill_curvature(shared));
        self.common.forget();
        // Factors are large: not more of them at a time than fit.
        for some in live.chunks_mut(self.common.at_a_time()) {
            if !cg::directions(shared, &self.products, &mut self.common, self.small, some, go_on) {
                return;
            }
        }
        let scores = self.products.scores(&live.iter().map(|side| &side.step[..]).collect::<Vec<_>>());
        let columns = live.len();
        each(self.small, &mut live, |number, side| {
            if !side.go(shared, &scores, number, columns) {
                side.stop = Some(Stop::NoProgress);
            }
        });
    }
}

/// Computes the objective and a bound at the current points, with the loss as it is.
fn prove(shared: &Shared<'_>, products: &Products<'_>, lengths: &[f64], sides: &mut [&mut Side]) {
    if sides.is_empty() {
        return;
    }
    let columns = sides.len();
    let scores = products.scores(&sides.iter().map(|side| &side.theta[..]).collect::<Vec<_>>());
    for (number, side) in sides.iter_mut().enumerate() {
        side.take_scores(&scores, number, columns);
        side.look_exactly(shared, lengths);
    }
    let (pulled, depth) = (products.pull(&slopes(sides)), products.depth(columns));
    sides.iter_mut().zip(&pulled).for_each(|(side, grad)| side.take_exact_gradient(shared, grad, depth));
}

fn slopes<'s>(sides: &'s [&mut Side]) -> Vec<&'s [f64]> {
    sides.iter().map(|side| &side.slopes[..]).collect()
}

/// Does something with every problem, on several threads unless the problems are small.
fn each(small: bool, sides: &mut [&mut Side], f: impl Fn(usize, &mut Side) + Sync) {
    if small {
        sides.iter_mut().enumerate().for_each(|(number, side)| f(number, side));
    } else {
        sides.par_iter_mut().enumerate().for_each(|(number, side)| f(number, side));
    }
}
