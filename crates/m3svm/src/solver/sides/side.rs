//! One two-class problem on its way along the path: what Newton in `newton.rs` keeps for a joint problem, for a single scorer.
//!
//! Everything is written in the margins `γᵢ = 1 − sᵢ(wᵀxᵢ + b)`, since the hinge sees nothing else.

use super::Shared;
use crate::certificate::Certificate;
use crate::kernel::{axpy, dot, vectorised};
use crate::loss::Hinge;
use crate::risk::LossSums;
use crate::solver::line_search::search;
use crate::solver::newton::{FINEST, shrink};
use crate::solver::{Progress, Solution, Stop};

pub(super) struct Side {
    /// +1 for rows that the scorer speaks for, −1 for the others.
    signs: Vec<f64>,
    pub(super) theta: Vec<f64>,
    gamma: Vec<f64>,
    /// One dual number per row, an estimate of γ/√(γ² + μ²).
    dual: Vec<f64>,
    /// Curvature of every row, sample weights included.
    pub(super) h: Vec<f64>,
    /// ∂F/∂z of every row, sample weights included.
    pub(super) slopes: Vec<f64>,
    loss_grad: Vec<f64>,
    pub(super) grad: Vec<f64>,
    pub(super) step: Vec<f64>,
    /// Smoothing, as in [`crate::solver::Newton`].
    mu: f64,
    /// Nothing is rounded off beyond what the tolerance allows.
    at_end: bool,
    pub(super) value: f64,
    pub(super) decrement: f64,
    /// What loss and slopes of all rows add up to.
    sums: LossSums,
    bounded: bool,
    pub(super) best: Certificate,
    pub(super) best_theta: Vec<f64>,
    pub(super) iterations: usize,
    pub(super) evaluations: usize,
    stalled: usize,
    /// Set when it has ended.
    pub(super) stop: Option<Stop>,
}

impl Side {
    pub(super) fn new(shared: &Shared<'_>, signs: Vec<f64>, theta: Vec<f64>) -> Self {
        let (n, dim) = (signs.len(), theta.len());
        Self {
            signs,
            gamma: vec![1.0; n],
            dual: vec![0.0; n],
            h: vec![0.0; n],
            slopes: vec![0.0; n],
            loss_grad: vec![0.0; dim],
            grad: vec![0.0; dim],
            step: vec![0.0; dim],
            mu: 1.0,
            at_end: shared.terms.delta >= 1.0,
            value: 0.0,
            decrement: f64::INFINITY,
            sums: LossSums::default(),
            bounded: false,
            best: Certificate { objective: f64::INFINITY, lower_bound: None },
            best_theta: theta.clone(),
            iterations: 0,
            evaluations: 0,
            stalled: 0,
            stop: None,
            theta,
        }
    }

    pub(super) fn progress(&self) -> Progress {
        Progress {
            iteration: self.iterations,
            evaluations: self.evaluations,
            objective: self.best.objective,
            relative_gap: self.best.relative_gap(),
            inner: false,
        }
    }

    pub(super) fn solution(self) -> Solution {
        Solution {
            theta: self.best_theta,
            certificate: Certificate::new(self.best.objective, self.best.lower_bound),
            stop: self.stop.unwrap_or(Stop::Interrupted),
            iterations: self.iterations,
            evaluations: self.evaluations,
        }
    }

    /// Whether the last step says that there is at most such a share of the value left to gain.
    pub(super) fn is_near(&self, share: f64) -> bool {
        // A step that failed says nothing.
        self.at_end && self.stalled == 0 && self.decrement <= share * self.value.abs()
    }

    pub(super) fn is_proven(&self, shared: &Shared<'_>) -> bool {
        self.best.relative_gap().is_some_and(|gap| gap <= shared.tol)
    }

    /// Margins of given scores: column `number` of `columns`.
    pub(super) fn take_scores(&mut self, scores: &[f64], number: usize, columns: usize) {
        self.gamma = self.margins(scores, number, columns);
    }

    fn margins(&self, scores: &[f64], number: usize, columns: usize) -> Vec<f64> {
        self.signs.iter().zip(scores.iter().skip(number).step_by(columns)).map(|(s, z)| 1.0 - s * z).collect()
    }

    /// The objective of the best point from fresh scores: margins that were moved along with it have gathered the rounding of every step.
    pub(super) fn confirm(&mut self, shared: &Shared<'_>, scores: &[f64], number: usize, columns: usize) {
        let fresh = self.margins(scores, number, columns);
        self.best.objective = loss(shared, &fresh, shared.terms.delta) + shared.terms.penalty(&self.best_theta);
        self.evaluations += 1;
        if self.theta == self.best_theta {
            self.gamma = fresh;
        }
    }

    /// The width that the hinge has now.
    fn width(&self, shared: &Shared<'_>) -> f64 {
        self.mu.max(shared.terms.delta)
    }

    fn is_smoothed(&self, shared: &Shared<'_>) -> bool {
        self.mu > shared.terms.delta
    }

    fn is_finest(&self, shared: &Shared<'_>) -> bool {
        !self.is_smoothed(shared) || self.mu <= FINEST
    }

    fn relax(&mut self, shared: &Shared<'_>, mu: f64) {
        self.mu = mu.max(FINEST);
        self.at_end = self.is_finest(shared);
    }

    /// Whether the point is so short that one of twice its length is as good, or nearly. Such is the optimum of a far larger λ. Its duals
    /// know nothing of the rows that will matter, and a path from 0 is shorter.
    pub(super) fn is_too_short(&self, shared: &Shared<'_>) -> bool {
        // One-vs-rest on Vehicle: optima of the same λ were 15 % better than twice themselves, or more. Those of a λ a hundred times larger
        // were from 12 % better to 14 % worse.
        const NEARLY: f64 = 1.05;
        let twice: Vec<f64> = self.gamma.iter().map(|gamma| 2.0 * gamma - 1.0).collect();
        let (penalty, width) = (shared.terms.penalty(&self.theta), shared.terms.delta);
        loss(shared, &twice, width) + 4.0 * penalty < NEARLY * (loss(shared, &self.gamma, width) + penalty)
    }

    /// Forgets the point to start from.
    pub(super) fn start_cold(&mut self) {
        self.theta.fill(0.0);
        self.gamma.fill(1.0);
    }

    /// Joins the path at a point that was good for a similar problem, see [`crate::solver::Newton`].
    pub(super) fn join(&mut self, shared: &Shared<'_>) {
        const LITTLE: f64 = 0.1;
        const PASSES: usize = 4;
        let penalty = shared.terms.penalty(&self.theta);
        let exact = loss(shared, &self.gamma, shared.terms.delta) + penalty;
        while !self.at_end && loss(shared, &self.gamma, self.width(shared)) + penalty - exact > LITTLE * exact {
            self.relax(shared, 0.5 * self.mu);
        }
        let hinge = Hinge::new(self.width(shared));
        for _ in 0..PASSES {
            for (v, gamma) in self.dual.iter_mut().zip(&self.gamma) {
                *v = hinge.moved_dual(*gamma, 0.0, false, *v);
            }
        }
    }

    /// Loss and slopes at the current point, polished first where that pays. What is left to do is the gradient.
    pub(super) fn look(&mut self, shared: &Shared<'_>, lengths: &[f64]) {
        let width = self.width(shared);
        // The same thresholds as for joint problems: farther away than this a bound is not worth its price.
        let near = (0.03 * shared.tol.sqrt()).min(0.03) * self.value;
        if self.at_end && self.decrement < near {
            self.polish_intercept(shared, width, 0.01 * shared.tol * self.value);
        }
        self.bounded = self.decrement <= near || (!self.at_end && self.decrement <= 1e-3 * self.value);
        self.fill_slopes(shared, lengths, width);
        self.evaluations += 1;
    }

    fn fill_slopes(&mut self, shared: &Shared<'_>, lengths: &[f64], width: f64) {
        let hinge = Hinge::new(width);
        let mut values = vec![0.0; self.gamma.len()];
        let (slopes, gammas) = (&mut self.slopes, &self.gamma);
        vectorised(
            #[inline(always)]
            || {
                for ((value, slope), gamma) in values.iter_mut().zip(slopes.iter_mut()).zip(gammas) {
                    (*value, *slope) = hinge.value_slope(*gamma);
                }
            },
        );
        let value = dot(&values, &shared.terms.weights);
        self.sums = LossSums { value, ..shared.terms.dual_sums(lengths, &self.slopes) };
        self.sign_slopes(shared);
    }

    /// From α = g′(γ) to ∂F/∂z.
    fn sign_slopes(&mut self, shared: &Shared<'_>) {
        let rows = self.slopes.iter_mut().zip(&self.signs).zip(shared.terms.weights.iter());
        rows.for_each(|((slope, s), weight)| *slope *= -s * weight);
    }

    /// The gradient of the loss at the point that [`Side::look`] has looked at: value, bound and what is best so far.
    pub(super) fn take_gradient(&mut self, shared: &Shared<'_>, loss_grad: Vec<f64>, depth: usize) {
        self.loss_grad = loss_grad;
        self.grad.copy_from_slice(&self.loss_grad);
        shared.terms.add_bend(&self.theta, &mut self.grad);
        let penalty = shared.terms.penalty(&self.theta);
        self.value = self.sums.value + penalty;
        let mut objective = self.value;
        if self.is_smoothed(shared) {
            self.evaluations += 1;
            objective = loss(shared, &self.gamma, shared.terms.delta) + penalty;
        }
        self.at_end = self.is_finest(shared) || self.value - objective <= 0.05 * shared.tol * objective;
        if self.bounded {
            self.keep_bound(shared.terms.bound(&self.sums, &self.loss_grad, depth));
        }
        if objective < self.best.objective {
            self.best.objective = objective;
            self.best_theta.copy_from_slice(&self.theta);
        }
    }

    fn keep_bound(&mut self, bound: f64) {
        self.best.lower_bound = self.best.lower_bound.into_iter().chain([bound]).reduce(f64::max);
    }

    /// Whether the bound at the scores is not good enough: it may be spoilt by their rounding.
    pub(super) fn wants_dual_bound(&self, shared: &Shared<'_>) -> bool {
        self.bounded && self.is_smoothed(shared) && self.best.relative_gap().is_none_or(|gap| gap > shared.tol)
    }

    /// Replaces the slopes by those that the dual numbers stand for, moved so that the intercept has no gradient.
    pub(super) fn look_at_duals(&mut self, shared: &Shared<'_>, lengths: &[f64]) {
        self.slopes.iter_mut().zip(&self.dual).for_each(|(slope, v)| *slope = 0.5 * (1.0 + v));
        if shared.terms.intercept {
            shared.terms.balance(&self.signs, self.theta[shared.x.cols()], &mut self.slopes);
        }
        self.sums = shared.terms.dual_sums(lengths, &self.slopes);
        self.sign_slopes(shared);
    }

    /// The gradient that belongs to [`Side::look_at_duals`].
    pub(super) fn take_dual_gradient(&mut self, shared: &Shared<'_>, loss_grad: &[f64], depth: usize) {
        self.keep_bound(shared.terms.bound(&self.sums, loss_grad, depth));
    }

    /// Proof for the current point with the loss as it is, in place of whatever was known.
    pub(super) fn look_exactly(&mut self, shared: &Shared<'_>, lengths: &[f64]) {
        self.polish_intercept(shared, shared.terms.delta, 0.0);
        self.fill_slopes(shared, lengths, shared.terms.delta);
        self.evaluations += 1;
    }

    /// The gradient that belongs to [`Side::look_exactly`].
    pub(super) fn take_exact_gradient(&mut self, shared: &Shared<'_>, loss_grad: &[f64], depth: usize) {
        self.best.objective = self.sums.value + shared.terms.penalty(&self.theta);
        self.best_theta.copy_from_slice(&self.theta);
        self.keep_bound(shared.terms.bound(&self.sums, loss_grad, depth));
    }

    /// Goes back to the best point, to have it proven.
    pub(super) fn go_to_best(&mut self) {
        self.theta.copy_from_slice(&self.best_theta);
    }

    /// Curvature of every row for the next step.
    pub(super) fn fill_curvature(&mut self, shared: &Shared<'_>) {
        let hinge = Hinge::new(self.width(shared));
        let (h, gammas, duals, weights) = (&mut self.h, &self.gamma, &self.dual, &shared.terms.weights);
        vectorised(
            #[inline(always)]
            || {
                let rows = h.iter_mut().zip(gammas).zip(duals.iter().zip(weights.iter()));
                rows.for_each(|((h, gamma), (v, weight))| *h = weight * hinge.weight(*gamma, *v));
            },
        );
    }

    /// How exactly the next system is to be solved: loosely while far from the path.
    pub(super) fn forcing(&self) -> f64 {
        (self.decrement / self.value).abs().sqrt().clamp(1e-3, 0.1)
    }

    /// How large the square of the gradient in w that a system leaves over may be. Only bounds care: the duals of a step that leaves much of
    /// it prove nothing, however good the point.
    pub(super) fn most_left(&self, shared: &Shared<'_>) -> f64 {
        let enough = 0.02 * shared.tol * self.value;
        if self.bounded { 4.0 * (shared.terms.lambda + shared.terms.epsilon) * enough } else { f64::INFINITY }
    }

    /// Goes along the step, whose scores are column `number` of `columns`; `false` if none lowers the objective.
    pub(super) fn go(&mut self, shared: &Shared<'_>, scores: &[f64], number: usize, columns: usize) -> bool {
        let slope = dot(&self.grad, &self.step);
        self.decrement = -slope;
        self.iterations += 1;
        let scores = scores.iter().skip(number).step_by(columns);
        let moved: Vec<f64> = scores.zip(&self.signs).map(|(z, s)| -s * z).collect();
        let hinge = Hinge::new(self.width(shared));
        let along = if slope < 0.0 { self.search(shared, hinge, slope, &moved) } else { None };
        let Some((t, value)) = along else {
            // Rounding blocks this level of smoothing; the next one may still gain.
            self.stalled += 1;
            if self.is_finest(shared) || self.stalled > 5 {
                return false;
            }
            self.relax(shared, 0.1 * self.mu);
            return true;
        };
        // The duals take the whole step, see [`crate::solver::Newton`].
        let (duals, gammas, short) = (&mut self.dual, &mut self.gamma, t < 0.2);
        vectorised(
            #[inline(always)]
            || {
                let rows = duals.iter_mut().zip(gammas.iter_mut()).zip(&moved);
                rows.for_each(|((v, gamma), moved)| {
                    *v = hinge.moved_dual(*gamma, *moved, short, *v);
                    *gamma += t * moved;
                });
            },
        );
        axpy(t, &self.step, &mut self.theta);
        self.stalled = if value >= self.value { self.stalled + 1 } else { 0 };
        if self.stalled > 5 {
            if self.is_finest(shared) {
                return false;
            }
            self.stalled = 0;
            self.relax(shared, 0.1 * self.mu);
        }
        if t > 0.3 && !self.at_end {
            self.relax(shared, self.mu * shrink(self.decrement / self.value).max(1.0 - t));
        }
        true
    }

    /// The step length, and the value there.
    fn search(&mut self, shared: &Shared<'_>, hinge: Hinge, slope: f64, moved: &[f64]) -> Option<(f64, f64)> {
        let mut values = vec![0.0; moved.len()];
        let mut slopes = vec![0.0; moved.len()];
        let (start, linear, square) = (
            shared.terms.penalty(&self.theta),
            shared.terms.penalty_product(&self.theta, &self.step),
            shared.terms.penalty(&self.step),
        );
        let gammas = &self.gamma;
        let found = search(self.value, slope, 1.0, |t| {
            vectorised(
                #[inline(always)]
                || {
                    let out = values.iter_mut().zip(slopes.iter_mut());
                    for ((value, slope), (gamma, moved)) in out.zip(gammas.iter().zip(moved)) {
                        (*value, *slope) = hinge.value_slope(gamma + t * moved);
                        *slope *= moved;
                    }
                },
            );
            let penalty = start + t * (2.0 * linear + t * square);
            let value = dot(&values, &shared.terms.weights) + penalty;
            (value, dot(&slopes, &shared.terms.weights) + 2.0 * (linear + t * square))
        })?;
        self.evaluations += found.evaluations;
        Some((found.step, found.value))
    }

    /// Moves the intercept to its optimum for the current weights until a bound pays at most `enough` for what is left of its gradient:
    /// a function of one number, whose slope rises.
    fn polish_intercept(&mut self, shared: &Shared<'_>, width: f64, enough: f64) {
        if !shared.terms.intercept {
            return;
        }
        let hinge = Hinge::new(width);
        let start = self.theta[shared.x.cols()];
        let slope_bend = |t: f64| {
            let (mut slope, mut bend) = (2.0 * shared.terms.epsilon * (start + t), 2.0 * shared.terms.epsilon);
            for ((gamma, s), weight) in self.gamma.iter().zip(&self.signs).zip(shared.terms.weights.iter()) {
                let (rise, curve) = hinge.slope_bend(gamma - s * t);
                slope -= weight * s * rise;
                bend += weight * curve;
            }
            (slope, bend)
        };
        let (mut t, mut best, mut least) = (0.0, 0.0, f64::INFINITY);
        let (mut low, mut high) = (f64::NEG_INFINITY, f64::INFINITY);
        for _ in 0..60 {
            let (slope, bend) = slope_bend(t);
            if slope.abs() < least {
                (best, least) = (t, slope.abs());
            }
            if slope * slope <= 4.0 * shared.terms.epsilon * enough || slope == 0.0 {
                break;
            }
            if slope > 0.0 {
                high = t
            } else {
                low = t
            }
            // Newton where it stays between the bounds, half way elsewhere.
            let next = t - slope / bend;
            t = if next > low && next < high { next.clamp(t - 2.0, t + 2.0) } else { 0.5 * (low + high) };
            if t == low || t == high || !t.is_finite() {
                break;
            }
        }
        if best != 0.0 {
            self.theta[shared.x.cols()] += best;
            self.gamma.iter_mut().zip(&self.signs).for_each(|(gamma, s)| *gamma -= s * best);
        }
    }
}

/// Σ ω g(γ) of a given width.
fn loss(shared: &Shared<'_>, gammas: &[f64], width: f64) -> f64 {
    let hinge = Hinge::new(width);
    let mut values = vec![0.0; gammas.len()];
    vectorised(
        #[inline(always)]
        || values.iter_mut().zip(gammas).for_each(|(value, gamma)| *value = hinge.value_slope(*gamma).0),
    );
    dot(&values, &shared.terms.weights)
}
