//! One two-class problem on its way along the path: what Newton in `newton/` keeps for a joint problem, for a single scorer.
//!
//! Everything is written in the margins `γᵢ = 1 − sᵢ(wᵀxᵢ + b)`, since the hinge sees nothing else.

use super::SharedTerms;
use super::tuning::IN_STEP;
use crate::engine::LossSums;
use crate::linalg::{axpy, dot, vectorised};
use crate::loss::Hinge;
use crate::solver::continuation::{Continuation, Stalled, forcing, join};
use crate::solver::incumbent::Incumbent;
use crate::solver::line_search::search;
use crate::solver::path_tuning::PATH;
use crate::solver::{Progress, Solution, Stop};

pub(super) struct BinaryPath {
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
    /// As in [`crate::solver::Newton`].
    smoothing: Continuation,
    /// Nothing is rounded off beyond what the tolerance allows.
    at_end: bool,
    pub(super) value: f64,
    pub(super) decrement: f64,
    /// What loss and slopes of all rows add up to.
    sums: LossSums,
    bounded: bool,
    pub(super) best: Incumbent,
    pub(super) iterations: usize,
    pub(super) evaluations: usize,
    /// Set when it has ended.
    pub(super) stop: Option<Stop>,
}

impl BinaryPath {
    pub(super) fn new(shared: &SharedTerms<'_>, signs: Vec<f64>, theta: Vec<f64>) -> Self {
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
            smoothing: Continuation::new(),
            at_end: shared.terms.delta >= 1.0,
            value: 0.0,
            decrement: f64::INFINITY,
            sums: LossSums::default(),
            bounded: false,
            best: Incumbent::new(&theta),
            iterations: 0,
            evaluations: 0,
            stop: None,
            theta,
        }
    }

    pub(super) fn progress(&self) -> Progress {
        self.best.progress(self.iterations, self.evaluations)
    }

    pub(super) fn solution(self) -> Solution {
        self.best.solution(self.stop.unwrap_or(Stop::Interrupted), self.iterations, self.evaluations)
    }

    /// Whether the last step says that there is at most such a share of the value left to gain.
    pub(super) fn is_near(&self, share: f64) -> bool {
        // A step that failed says nothing.
        self.at_end && self.smoothing.is_moving() && self.decrement <= share * self.value.abs()
    }

    pub(super) fn is_proven(&self, shared: &SharedTerms<'_>) -> bool {
        self.best.is_proven(shared.tol)
    }

    /// Margins of given scores: column `number` of `columns`.
    pub(super) fn take_scores(&mut self, scores: &[f64], number: usize, columns: usize) {
        self.gamma = self.margins(scores, number, columns);
    }

    fn margins(&self, scores: &[f64], number: usize, columns: usize) -> Vec<f64> {
        self.signs.iter().zip(scores.iter().skip(number).step_by(columns)).map(|(s, z)| 1.0 - s * z).collect()
    }

    /// The objective of the best point from fresh scores: margins that were moved along with it have gathered the rounding of every step.
    pub(super) fn confirm(&mut self, shared: &SharedTerms<'_>, scores: &[f64], number: usize, columns: usize) {
        let fresh = self.margins(scores, number, columns);
        self.best.correct(loss(shared, &fresh, shared.terms.delta) + shared.terms.penalty(self.best.theta()));
        self.evaluations += 1;
        if self.theta == self.best.theta() {
            self.gamma = fresh;
        }
    }

    /// The width that the hinge has now.
    fn width(&self, shared: &SharedTerms<'_>) -> f64 {
        self.smoothing.mu().max(shared.terms.delta)
    }

    fn is_smoothed(&self, shared: &SharedTerms<'_>) -> bool {
        self.smoothing.mu() > shared.terms.delta
    }

    fn is_finest(&self, shared: &SharedTerms<'_>) -> bool {
        !self.is_smoothed(shared) || self.smoothing.is_finest()
    }

    fn relax(&mut self, shared: &SharedTerms<'_>, mu: f64) {
        self.smoothing.set(mu);
        self.at_end = self.is_finest(shared);
    }

    /// Whether the point is so short that one of twice its length is as good, or nearly. Such is the optimum of a far larger λ. Its duals
    /// know nothing of the rows that will matter, and a path from 0 is shorter.
    pub(super) fn is_too_short(&self, shared: &SharedTerms<'_>) -> bool {
        let twice: Vec<f64> = self.gamma.iter().map(|gamma| 2.0 * gamma - 1.0).collect();
        let (penalty, width) = (shared.terms.penalty(&self.theta), shared.terms.delta);
        loss(shared, &twice, width) + 4.0 * penalty < IN_STEP.too_short * (loss(shared, &self.gamma, width) + penalty)
    }

    /// Forgets the point to start from.
    pub(super) fn start_cold(&mut self) {
        self.theta.fill(0.0);
        self.gamma.fill(1.0);
    }

    /// Joins the path at a point that was good for a similar problem, see [`crate::solver::Newton`].
    pub(super) fn join(&mut self, shared: &SharedTerms<'_>) {
        let penalty = shared.terms.penalty(&self.theta);
        let exact = loss(shared, &self.gamma, shared.terms.delta) + penalty;
        let mu = join(|mu| {
            self.relax(shared, mu);
            let cost = loss(shared, &self.gamma, self.width(shared)) + penalty - exact;
            self.at_end || !(cost > PATH.little * exact)
        });
        self.relax(shared, mu);
        let hinge = Hinge::new(self.width(shared));
        for _ in 0..PATH.settling {
            for (v, gamma) in self.dual.iter_mut().zip(&self.gamma) {
                *v = hinge.moved_dual(*gamma, 0.0, false, *v);
            }
        }
    }

    /// Loss and slopes at the current point, polished first where that pays. What is left to do is the gradient.
    pub(super) fn look(&mut self, shared: &SharedTerms<'_>, lengths: &[f64]) {
        let width = self.width(shared);
        let near = (PATH.near * shared.tol.sqrt()).min(PATH.near) * self.value;
        if self.at_end && self.decrement < near {
            self.polish_intercept(shared, width, PATH.polish * shared.tol * self.value);
        }
        self.bounded = self.decrement <= near || (!self.at_end && self.decrement <= PATH.on_the_way * self.value);
        self.fill_slopes(shared, lengths, width);
        self.evaluations += 1;
    }

    fn fill_slopes(&mut self, shared: &SharedTerms<'_>, lengths: &[f64], width: f64) {
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
    fn sign_slopes(&mut self, shared: &SharedTerms<'_>) {
        let rows = self.slopes.iter_mut().zip(&self.signs).zip(shared.terms.weights.iter());
        rows.for_each(|((slope, s), weight)| *slope *= -s * weight);
    }

    /// The gradient of the loss at the point that [`BinaryPath::look`] has looked at: value, bound and what is best so far.
    pub(super) fn take_gradient(&mut self, shared: &SharedTerms<'_>, loss_grad: Vec<f64>, depth: usize) {
        self.loss_grad = loss_grad;
        self.grad.copy_from_slice(&self.loss_grad);
        shared.terms.add_curvature(&self.theta, &mut self.grad);
        let penalty = shared.terms.penalty(&self.theta);
        self.value = self.sums.value + penalty;
        let mut objective = self.value;
        if self.is_smoothed(shared) {
            self.evaluations += 1;
            objective = loss(shared, &self.gamma, shared.terms.delta) + penalty;
        }
        self.at_end = self.is_finest(shared) || self.value - objective <= PATH.end * shared.tol * objective;
        if self.bounded {
            self.keep_bound(shared.terms.bound(&self.sums, &self.loss_grad, depth));
        }
        self.best.offer(objective, &self.theta);
    }

    /// Takes the objective from the best point if that is the origin; whether it is.
    pub(super) fn take_origin(&mut self, shared: &SharedTerms<'_>) -> bool {
        let is_origin = self.best.theta().iter().all(|t| *t == 0.0);
        if is_origin {
            self.best.correct(loss(shared, &vec![1.0; self.signs.len()], shared.terms.delta));
        }
        is_origin
    }

    pub(super) fn keep_bound(&mut self, bound: f64) {
        self.best.raise(Some(bound));
    }

    /// Whether the bound at the scores is not good enough: it may be spoilt by their rounding.
    pub(super) fn wants_dual_bound(&self, shared: &SharedTerms<'_>) -> bool {
        self.bounded && self.is_smoothed(shared) && !self.is_proven(shared)
    }

    /// Replaces the slopes by those that the dual numbers stand for, moved so that the intercept has no gradient.
    pub(super) fn look_at_duals(&mut self, shared: &SharedTerms<'_>, lengths: &[f64]) {
        self.slopes.iter_mut().zip(&self.dual).for_each(|(slope, v)| *slope = 0.5 * (1.0 + v));
        if shared.terms.intercept {
            shared.terms.balance(&self.signs, self.theta[shared.x.cols()], &mut self.slopes);
        }
        self.sums = shared.terms.dual_sums(lengths, &self.slopes);
        self.sign_slopes(shared);
    }

    /// The gradient that belongs to [`BinaryPath::look_at_duals`].
    pub(super) fn take_dual_gradient(&mut self, shared: &SharedTerms<'_>, loss_grad: &[f64], depth: usize) {
        self.keep_bound(shared.terms.bound(&self.sums, loss_grad, depth));
    }

    /// Proof for the current point with the loss as it is, in place of whatever was known.
    pub(super) fn look_exactly(&mut self, shared: &SharedTerms<'_>, lengths: &[f64]) {
        self.polish_intercept(shared, shared.terms.delta, 0.0);
        self.fill_slopes(shared, lengths, shared.terms.delta);
        self.evaluations += 1;
    }

    /// The gradient that belongs to [`BinaryPath::look_exactly`].
    pub(super) fn take_exact_gradient(&mut self, shared: &SharedTerms<'_>, loss_grad: &[f64], depth: usize) {
        self.best.place(self.sums.value + shared.terms.penalty(&self.theta), &self.theta);
        self.keep_bound(shared.terms.bound(&self.sums, loss_grad, depth));
    }

    /// Goes back to the best point, to have it proven.
    pub(super) fn go_to_best(&mut self) {
        self.theta.copy_from_slice(self.best.theta());
    }

    /// Curvature of every row for the next step.
    pub(super) fn fill_curvature(&mut self, shared: &SharedTerms<'_>) {
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
        forcing(self.decrement / self.value)
    }

    /// How large the square of the gradient in w that a system leaves over may be. Only bounds care: the duals of a step that leaves much of
    /// it prove nothing, however good the point.
    pub(super) fn most_left(&self, shared: &SharedTerms<'_>) -> f64 {
        let enough = PATH.left_over * shared.tol * self.value;
        if self.bounded { 4.0 * (shared.terms.lambda + shared.terms.epsilon) * enough } else { f64::INFINITY }
    }

    /// Goes along the step, whose scores are column `number` of `columns`; `false` if none lowers the objective.
    pub(super) fn go(&mut self, shared: &SharedTerms<'_>, scores: &[f64], number: usize, columns: usize) -> bool {
        let slope = dot(&self.grad, &self.step);
        self.decrement = -slope;
        self.iterations += 1;
        let scores = scores.iter().skip(number).step_by(columns);
        let moved: Vec<f64> = scores.zip(&self.signs).map(|(z, s)| -s * z).collect();
        let hinge = Hinge::new(self.width(shared));
        let along = if slope < 0.0 { self.search(shared, hinge, slope, &moved) } else { None };
        let Some((t, value)) = along else {
            // Rounding blocks this level of smoothing; the next one may still gain.
            let finer = self.smoothing.after_failure(self.is_finest(shared));
            finer.into_iter().for_each(|mu| self.relax(shared, mu));
            return finer.is_some();
        };
        // The duals take the whole step, see [`crate::solver::Newton`].
        let (duals, gammas, short) = (&mut self.dual, &mut self.gamma, t < IN_STEP.short);
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
        match self.smoothing.after_step(value < self.value, self.is_finest(shared)) {
            Stalled::No => {}
            Stalled::Refine(mu) => self.relax(shared, mu),
            Stalled::ForGood => return false,
        }
        if !self.at_end
            && let Some(mu) = self.smoothing.cut(self.decrement / self.value, t, 0.0)
        {
            self.relax(shared, mu);
        }
        true
    }

    /// The step length, and the value there.
    fn search(&mut self, shared: &SharedTerms<'_>, hinge: Hinge, slope: f64, moved: &[f64]) -> Option<(f64, f64)> {
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
    fn polish_intercept(&mut self, shared: &SharedTerms<'_>, width: f64, enough: f64) {
        if !shared.terms.intercept {
            return;
        }
        let hinge = Hinge::new(width);
        let start = self.theta[shared.x.cols()];
        let slope_curvature = |t: f64| {
            let (mut slope, mut curvature) = (2.0 * shared.terms.epsilon * (start + t), 2.0 * shared.terms.epsilon);
            for ((gamma, s), weight) in self.gamma.iter().zip(&self.signs).zip(shared.terms.weights.iter()) {
                let (rise, curve) = hinge.slope_curvature(gamma - s * t);
                slope -= weight * s * rise;
                curvature += weight * curve;
            }
            (slope, curvature)
        };
        let (mut t, mut best, mut least) = (0.0, 0.0, f64::INFINITY);
        let (mut low, mut high) = (f64::NEG_INFINITY, f64::INFINITY);
        for _ in 0..IN_STEP.polishes {
            let (slope, curvature) = slope_curvature(t);
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
            let next = t - slope / curvature;
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
fn loss(shared: &SharedTerms<'_>, gammas: &[f64], width: f64) -> f64 {
    let hinge = Hinge::new(width);
    let mut values = vec![0.0; gammas.len()];
    vectorised(
        #[inline(always)]
        || values.iter_mut().zip(gammas).for_each(|(value, gamma)| *value = hinge.value_slope(*gamma).0),
    );
    dot(&values, &shared.terms.weights)
}
