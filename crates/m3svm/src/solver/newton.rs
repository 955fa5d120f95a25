//! Primal-dual Newton with continuation in the smoothing.
//!
//! The hinge (and the kink of the penalty below p = 2) is first rounded off widely and then ever less: the central path of an
//! interior-point method. One dual number per (sample, wrong class) keeps the curvature honest when the rounding becomes
//! tiny, so 15 to 45 steps suffice at any δ where plain Newton stalls.

use serde::{Deserialize, Serialize};

use super::line_search::{Found, search, takes_first};
use super::system::{Matrix, Rest, System};
use super::{Limits, Progress, Solution, Stop, Watch, certified, confirmed};
use crate::certificate::Certificate;
use crate::error::{Error, Result};
use crate::kernel::{axpy, dot};
use crate::loss::{Loss, Shape};
use crate::objective::Objective;
use crate::penalty::Penalty;
use crate::risk::{LossSums, Risk};

/// The default solver. It has nothing to set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Newton {}

/// Smoothing is never taken below this: squares of it must not underflow.
pub(super) const FINEST: f64 = 1e-14;

/// Smoothing below which systems are solved in double precision throughout: weights of rows go up to 1/μ.
const PRECISE: f64 = 1e-3;

/// A tolerance for which matrices from sums in single precision are good enough. Who asks for a tighter one wants weights of more digits than
/// a last step from such a matrix leaves.
const LOOSE: f64 = 1e-7;

/// A step that was cut to less than this share has lost the path, which is then looked for where it is so much wider, and not left again
/// in cuts of the smoothing below `CAREFUL`.
const LOST: f64 = 0.05;
const WIDER: f64 = 3.0;
const CAREFUL: f64 = 0.3;

/// The share of the objective that smoothing may cost where a warm start joins the path, if it is not known to be better than that.
const LITTLE: f64 = 0.1;

/// A warm start with a gap of this or more, as that of a model of other rows, may be anywhere. It joins the path where that is widest: with
/// narrow smoothing a point off the path makes hard systems and short steps. (Without a proof no gap is known. The starts of searches are
/// neighbours.)
const VAIN: f64 = 0.9;

impl Newton {
    /// Minimises from `start`.
    pub fn minimize(
        &self,
        risk: &Risk<'_>,
        start: Vec<f64>,
        limits: &Limits,
        watch: &mut Watch<'_>,
    ) -> Result<Solution> {
        let mut start = start;
        let warm = start.iter().any(|t| *t != 0.0);
        let mut little = LITTLE;
        if limits.proof
            && let Some(certificate) = certified(risk, &mut start)
            && let Some(gap) = certificate.relative_gap()
        {
            if gap <= limits.tol {
                return Ok(Solution::at_start(start, certificate));
            }
            little = if gap < VAIN { little.min(gap) } else { f64::INFINITY };
        }
        let mut path = Path::new(risk, start, limits);
        if warm {
            path.join(little);
        }
        loop {
            path.evaluate();
            if !path.value.is_finite() {
                return Err(Error::Diverged { iteration: path.iterations });
            }
            let gap = path.best_gap();
            let near = path.at_end && path.is_near(limits.tol * path.value.abs());
            let settled = match gap {
                Some(gap) => gap <= limits.tol,
                None if limits.proof && risk.penalty.convex() => false,
                _ => near,
            };
            if settled && (!limits.proof || path.confirm()) {
                return Ok(path.finish(Stop::Converged));
            }
            let progress = Progress {
                iteration: path.iterations,
                evaluations: path.evaluations,
                objective: path.best.objective,
                relative_gap: gap,
                inner: false,
            };
            if watch(&progress).is_break() {
                return Ok(path.finish(Stop::Interrupted));
            }
            if path.iterations >= limits.max_iter {
                return Ok(path.finish(Stop::IterationLimit));
            }
            // Large systems take long: ask in between, too.
            let mut stopped = false;
            let moved = path.step(&mut || {
                stopped = stopped || watch(&Progress { inner: true, ..progress }).is_break();
                !stopped
            });
            if stopped {
                path.evaluate();
                return Ok(path.finish(Stop::Interrupted));
            }
            if !moved {
                return Ok(path.finish(Stop::NoProgress));
            }
        }
    }
}

/// By how much to cut the smoothing, given the Newton decrement relative to the value: the closer to the path, the bolder.
pub(super) fn shrink(decrement: f64) -> f64 {
    match decrement {
        d if d < 0.02 => 0.1,
        d if d < 0.1 => 0.2,
        d if d < 0.3 => 0.4,
        d if d < 1.0 => 0.6,
        _ => 1.0,
    }
}

/// One run along the path.
struct Path<'a> {
    risk: &'a Risk<'a>,
    /// Current smoothing and the loss and penalty it makes.
    mu: f64,
    loss: Option<Box<dyn Loss>>,
    penalty: Option<Box<dyn Penalty>>,
    /// Nothing is rounded off beyond what the objective itself asks for.
    at_end: bool,
    theta: Vec<f64>,
    z: Vec<f64>,
    row_dual: Vec<f64>,
    pair_dual: Vec<f64>,
    h: Vec<f64>,
    /// The slopes of all rows, which go with `h`; only of small problems without weights.
    slopes: Vec<f64>,
    /// `h` and `slopes` are those of this point.
    fresh: bool,
    loss_grad: Vec<f64>,
    grad: Vec<f64>,
    step: Vec<f64>,
    step_z: Vec<f64>,
    value: f64,
    /// What rounding off costs at this point.
    smoothing: f64,
    decrement: f64,
    /// How far the last step was from doing to the value what its quadratic model said; infinite where it was no whole step at the end
    /// of the path.
    surprise: f64,
    /// The last step was taken as it was.
    whole: bool,
    /// The least share that cuts may leave of the smoothing.
    boldest: f64,
    /// So near the optimum that bounds are computed.
    closing: bool,
    system: System,
    best: Certificate,
    best_theta: Vec<f64>,
    iterations: usize,
    evaluations: usize,
    stalled: usize,
    tol: f64,
    proof: bool,
}

impl<'a> Path<'a> {
    fn new(risk: &'a Risk<'a>, mut theta: Vec<f64>, limits: &Limits) -> Self {
        risk.centre(&mut theta);
        let (n, c) = (risk.terms(), risk.classes);
        let mut path = Self {
            risk,
            mu: 1.0,
            loss: None,
            penalty: None,
            at_end: false,
            z: vec![0.0; n * c],
            row_dual: vec![0.0; n * risk.loss.dual_len(c)],
            pair_dual: vec![0.0; risk.penalty.dual_len(risk.x.cols(), c)],
            h: vec![0.0; n * risk.loss.shape().len(c)],
            slopes: if risk.is_small() { vec![0.0; n * c] } else { Vec::new() },
            fresh: false,
            loss_grad: vec![0.0; theta.len()],
            grad: vec![0.0; theta.len()],
            step: vec![0.0; theta.len()],
            step_z: vec![0.0; n * c],
            value: 0.0,
            smoothing: 0.0,
            decrement: f64::INFINITY,
            surprise: f64::INFINITY,
            whole: false,
            boldest: 0.0,
            closing: false,
            system: System::new(risk),
            best: Certificate { objective: f64::INFINITY, lower_bound: None },
            best_theta: theta.clone(),
            iterations: 0,
            evaluations: 0,
            stalled: 0,
            tol: limits.tol,
            proof: limits.proof,
            theta,
        };
        path.risk.scores(&path.theta, &mut path.z);
        path.relax(1.0);
        path
    }

    /// Joins the path at a point that was good for a similar problem: with smoothing only as wide as it costs `little` there, and with the
    /// duals that belong to the point. Wider would throw away what the point knows; without its duals the first steps are short.
    fn join(&mut self, little: f64) {
        // Halvings that are tried at most: as good as none is left of the smoothing after them.
        const LEVELS: i32 = 32;
        // Each pass leaves little of the distance to the duals of the point.
        const PASSES: usize = 4;
        let exact = self.value_of(self.risk.loss, self.risk.penalty);
        let cost = |path: &Self| {
            let loss: &dyn Loss = path.loss.as_deref().unwrap_or(path.risk.loss);
            path.value_of(loss, path.penalty.as_deref().unwrap_or(path.risk.penalty)) - exact
        };
        // The widest of the halved widths, by bisection between one that costs too much and one that does not.
        let (mut wide, mut narrow) = (-1, if little.is_finite() { LEVELS } else { 0 });
        while narrow - wide > 1 {
            let middle = (wide + narrow) / 2;
            self.relax(0.5f64.powi(middle));
            if !self.at_end && cost(self) > little * exact { wide = middle } else { narrow = middle }
        }
        self.relax(0.5f64.powi(narrow));
        let m = self.risk.weights_len();
        let loss: &dyn Loss = self.loss.as_deref().unwrap_or(self.risk.loss);
        let penalty: &dyn Penalty = self.penalty.as_deref().unwrap_or(self.risk.penalty);
        // A step of length 0 moves the duals to the point and nothing else.
        let (no_step, no_change) = (vec![0.0; m], vec![0.0; self.z.len()]);
        for _ in 0..PASSES {
            self.risk.move_dual(loss, &self.z, &no_change, 1.0, &mut self.row_dual);
            penalty.move_dual(&self.theta[..m], self.risk.classes, &no_step, &mut self.pair_dual);
        }
    }

    fn relax(&mut self, mu: f64) {
        self.mu = mu.max(FINEST);
        self.loss = self.risk.loss.relaxed(self.mu);
        self.penalty = self.risk.penalty.relaxed(self.mu);
        self.at_end = self.is_finest();
    }

    /// Whether there is nothing left to refine.
    fn is_finest(&self) -> bool {
        (self.loss.is_none() && self.penalty.is_none()) || self.mu <= FINEST
    }

    /// Value, gradient and certificate at the current point.
    fn evaluate(&mut self) {
        // The next step squares the distance to the optimum, roughly: farther away than this a bound is not worth its price yet.
        let within = |share: f64| self.proof && self.decrement <= (share * self.tol.sqrt()).min(0.03) * self.value;
        let (near, hopeful) = (within(0.03), within(0.05));
        // On the way, bounds are asked for earlier: the smoothing itself may be what keeps the gap open.
        let bounded = near || (self.proof && !self.at_end && self.decrement <= 1e-3 * self.value);
        self.closing = bounded;
        let provable = self.risk.penalty.convex();
        // The dual state follows a whole step, while the scores carry what the step did not foresee into the gradient, and at tiny
        // smoothing their rounding: it is often good enough one step earlier. Where passes are dear, the scores come first once they
        // are likely to do.
        let state_first = if bounded { !self.slopes.is_empty() } else { hopeful };
        let state_first = state_first && provable && self.whole && !self.row_dual.is_empty();
        if state_first {
            let (objective, _) = self.look(false);
            self.remember(objective, self.state_bound(objective));
            if !bounded || self.is_proven() {
                return;
            }
        }
        if near && self.at_end {
            let loss: &dyn Loss = self.loss.as_deref().unwrap_or(self.risk.loss);
            // A hundredth of the gap that ends the path: more digits would be worth nothing.
            let enough = 0.01 * self.tol * self.value;
            self.risk.polish_intercept(loss, enough, &mut self.theta, &mut self.z);
        }
        let bounded = bounded && provable;
        let (objective, sums) = self.look(bounded);
        let bound = bounded.then(|| self.bound_at(objective, sums, &self.loss_grad)).flatten();
        self.remember(objective, bound);
        if bounded && !state_first && !self.is_proven() {
            self.remember(objective, self.state_bound(objective));
        }
    }

    fn is_proven(&self) -> bool {
        self.best_gap().is_some_and(|gap| gap <= self.tol)
    }

    /// Value and gradient, the objective without the smoothing, and what a bound needs if it is asked for.
    fn look(&mut self, with_dual: bool) -> (f64, LossSums) {
        let loss: &dyn Loss = self.loss.as_deref().unwrap_or(self.risk.loss);
        let penalty: &dyn Penalty = self.penalty.as_deref().unwrap_or(self.risk.penalty);
        self.loss_grad.fill(0.0);
        self.fresh = !with_dual && !self.slopes.is_empty();
        let sums = if self.fresh {
            let (z, dual, grad) = (&self.z, &self.row_dual, &mut self.loss_grad);
            let value = self.risk.newton_pass(loss, z, dual, grad, &mut self.slopes, &mut self.h);
            LossSums { value, ..LossSums::default() }
        } else {
            self.risk.loss_pass(loss, &self.z, with_dual, &mut self.loss_grad)
        };
        self.evaluations += 1;
        self.grad.copy_from_slice(&self.loss_grad);
        self.value = sums.value + self.risk.penalty_grad(penalty, &self.theta, &mut self.grad);
        let objective = if self.loss.is_none() && self.penalty.is_none() { self.value } else { self.exact_value() };
        // Once smoothing costs far less than the tolerance, finer is only harder. Asked anew at every point: away from the path few rows are
        // near a kink, and the cost looks smaller than it will be.
        self.smoothing = self.value - objective;
        self.at_end = self.is_finest() || self.smoothing <= 0.05 * self.tol * objective;
        (objective, sums)
    }

    fn exact_value(&mut self) -> f64 {
        self.evaluations += 1;
        self.value_of(self.risk.loss, self.risk.penalty)
    }

    /// The objective with another loss and penalty, at the current point.
    fn value_of(&self, loss: &dyn Loss, penalty: &dyn Penalty) -> f64 {
        self.risk.value_at(loss, penalty, &self.theta, &self.z)
    }

    /// Whether the best point is as good as it seems. If not, the path goes on from fresh scores.
    fn confirm(&mut self) -> bool {
        self.evaluations += 1;
        let confirmed = confirmed(self.risk, &mut self.best, &self.best_theta, self.tol);
        if !confirmed {
            self.risk.scores(&self.theta, &mut self.z);
            self.look(false);
        }
        confirmed
    }

    /// Keeps the best point and, separately, the best bound.
    fn remember(&mut self, objective: f64, bound: Option<f64>) {
        self.best.lower_bound = self.best.lower_bound.into_iter().chain(bound).reduce(f64::max);
        if objective < self.best.objective {
            self.best.objective = objective;
            self.best_theta.copy_from_slice(&self.theta);
        }
    }

    /// The bound of the dual state itself.
    fn state_bound(&self, objective: f64) -> Option<f64> {
        let mut grad = vec![0.0; self.theta.len()];
        let sums = self.risk.dual_pass(&self.row_dual, &mut grad)?;
        self.bound_at(objective, sums, &grad)
    }

    /// The bound of slopes with these sums and this gradient; with pairs as they are or as the dual state says, whichever is better.
    fn bound_at(&self, objective: f64, sums: LossSums, grad: &[f64]) -> Option<f64> {
        let penalty: &dyn Penalty = self.penalty.as_deref().unwrap_or(self.risk.penalty);
        let bound = |pair_dual: &[f64]| {
            Certificate::at(self.risk, objective, sums, penalty, &self.theta, grad, pair_dual).lower_bound
        };
        let plain = bound(&[]);
        if self.pair_dual.is_empty()
            || Certificate::new(objective, plain).relative_gap().is_some_and(|gap| gap <= self.tol)
        {
            return plain;
        }
        plain.into_iter().chain(bound(&self.pair_dual)).reduce(f64::max)
    }

    /// A guess at whether the value is within such a distance of the optimum, never after a step that failed. So much was left before the
    /// last step, roughly; what its model did not foresee is more than is left after it, unless by chance. Without a proof to follow, stay
    /// on the safe side.
    fn is_near(&self, distance: f64) -> bool {
        const SAFE: f64 = 0.3;
        if self.proof {
            return self.decrement <= distance;
        }
        if self.stalled > 0 {
            return false;
        }
        let guess = self.decrement.min(self.surprise.max(0.1 * self.decrement));
        // What the next step would promise, were the matrix still that of the last one: twice as much as is left. Only after whole steps at
        // the end of the path, which leave the matrix much as it was.
        let promised = || self.system.decrement(self.risk, &self.grad).is_some_and(|left| left <= distance);
        guess <= SAFE * distance || (self.surprise.is_finite() && promised())
    }

    /// How far from the path the last step began, from 0 to 1: what it promised, next to what smoothing costs. Farther away than smoothing
    /// can hide, a narrower path is no nearer to the optimum, and duals that do not find back to it prove nothing. Where nothing is to be
    /// proven, as in searches, bolder cuts save steps.
    fn distance(&self) -> f64 {
        const FAR: f64 = 2.0;
        let distance = self.decrement / (FAR * self.smoothing);
        if self.proof && self.risk.penalty.convex() && !distance.is_nan() { distance.clamp(0.0, 1.0) } else { 0.0 }
    }

    fn best_gap(&self) -> Option<f64> {
        self.best.relative_gap()
    }

    /// One Newton step; `false` if none lowers the objective.
    fn step(&mut self, go_on: &mut dyn FnMut() -> bool) -> bool {
        let risk = self.risk;
        let m = risk.weights_len();
        let loss: &dyn Loss = self.loss.as_deref().unwrap_or(risk.loss);
        let penalty: &dyn Penalty = self.penalty.as_deref().unwrap_or(risk.penalty);
        if !self.fresh {
            risk.curvature(loss, &self.z, &self.row_dual, &mut self.h);
        }
        let curvature = penalty.curvature(&self.theta[..m], risk.classes, &self.pair_dual);
        let matrix = Matrix { risk, shape: loss.shape(), h: &self.h, penalty: &curvature };
        // Loose while far from the path, tight at the end: an inexact step costs a Newton step later.
        let forcing = (self.decrement / self.value).abs().sqrt().clamp(1e-3, 0.1);
        // At tiny smoothing the gradient is mostly rounding of scores. The step takes it away again, and its duals prove nothing unless it
        // takes away all. (Where slopes are products of two duals, they do not follow a step exactly, however exact it is.)
        let exactly = self.closing && matches!(loss.shape(), Shape::Star | Shape::Simplex);
        let most = if exactly { 0.02 * self.tol * self.value } else { f64::INFINITY };
        let fine = self.mu < PRECISE;
        let (precise, roughly) = (exactly || fine, !fine && self.tol >= LOOSE);
        let rest = Rest { most, precise, roughly, easy: !self.proof };
        let Some(solve) = self.system.solve(&matrix, &self.grad, forcing, &rest, &mut self.step, go_on) else {
            return self.retry();
        };
        self.evaluations += solve.products;
        let slope = dot(&self.grad, &self.step);
        self.decrement = -slope;
        risk.scores(&self.step, &mut self.step_z);
        let (value, theta, step, z, step_z) = (self.value, &self.theta, &self.step, &self.z, &self.step_z);
        let mut trial = theta.clone();
        let mut grad = vec![0.0; theta.len()];
        axpy(1.0, step, &mut trial);
        let whole = risk.loss_at(loss, z, Some((1.0, step_z))) + risk.penalty_value(penalty, &trial);
        self.evaluations += 1;
        let found = if takes_first(value, slope, 1.0, whole) && risk.penalty.convex() {
            Some(Found { step: 1.0, value: whole, evaluations: 0 })
        } else if slope < 0.0 {
            search(value, slope, 1.0, |t| {
                trial.copy_from_slice(theta);
                axpy(t, step, &mut trial);
                grad.fill(0.0);
                let (loss_value, loss_slope) = risk.loss_along(loss, z, step_z, t);
                let value = loss_value + risk.penalty_grad(penalty, &trial, &mut grad);
                (value, loss_slope + dot(&grad, step))
            })
        } else {
            None
        };
        self.iterations += 1;
        self.whole = false;
        let Some(found) = found else {
            if self.retry() {
                return true;
            }
            // Rounding blocks this level of smoothing; the next one may still gain.
            self.stalled += 1;
            if self.is_finest() || self.stalled > 5 {
                return false;
            }
            self.relax(self.mu * 0.1);
            return true;
        };
        self.evaluations += found.evaluations;
        let t = found.step;
        if t < LOST {
            self.system.distrust_sums();
        }
        self.whole = t == 1.0;
        self.surprise = if self.whole && self.at_end {
            (self.value - found.value - 0.5 * self.decrement).abs()
        } else {
            f64::INFINITY
        };
        // The duals take the whole step, clipped entry by entry, even where the point takes a part of it: tied to a short step
        // they would stay stale and keep the next ones short.
        let follow =
            self.fresh && t == 1.0 && loss.follow_rows(&self.slopes, &self.h, risk.y, &self.step_z, &mut self.row_dual);
        if !follow {
            risk.move_dual(loss, &self.z, &self.step_z, t, &mut self.row_dual);
        }
        penalty.move_dual(&self.theta[..m], risk.classes, &self.step[..m], &mut self.pair_dual);
        axpy(t, &self.step, &mut self.theta);
        axpy(t, &self.step_z, &mut self.z);
        if found.value >= self.value {
            self.stalled += 1
        } else {
            self.stalled = 0
        }
        if self.stalled > 5 {
            // Finer smoothing is the last resort where rounding off still hides the gap.
            if self.is_finest() {
                return false;
            }
            self.stalled = 0;
            self.relax(self.mu * 0.1);
        }
        if t > 0.3 && !self.at_end {
            // A step that had to be shortened has not come back to the path yet.
            let left = shrink(self.decrement / self.value).max(1.0 - t);
            self.relax(self.mu * left.max(self.boldest).max(self.distance()));
        }
        let nested = self.loss.as_ref().is_some_and(|loss| loss.shape() == Shape::SimplexAndLine);
        if t < LOST && nested && WIDER * self.mu <= 1.0 {
            // Cut too boldly: the path is out of reach, and steps along the kinks lead nowhere. Back to where it was wider. (Kinks within
            // kinks need this. Others find back by themselves, as fast.)
            self.boldest = CAREFUL;
            self.relax(WIDER * self.mu);
        }
        true
    }

    /// Whether the next step from here will have more digits than one that failed, of which nothing is to be remembered then.
    fn retry(&mut self) -> bool {
        let again = self.system.distrust();
        if again {
            self.decrement = f64::INFINITY;
        }
        again
    }

    fn finish(mut self, stop: Stop) -> Solution {
        if stop != Stop::Converged && self.risk.penalty.convex() {
            // Stopped before a bound of the best point was worth its price.
            let known = self.best.lower_bound;
            self.best = self.risk.certify(&mut self.best_theta);
            self.best.lower_bound = self.best.lower_bound.into_iter().chain(known).reduce(f64::max);
            self.evaluations += 1;
        }
        // Steps without a bound cannot tell an optimum that rounding hides from a dead end.
        let proven = !self.proof && stop == Stop::NoProgress && self.best_gap().is_some_and(|gap| gap <= self.tol);
        let stop = if proven { Stop::Converged } else { stop };
        Solution {
            theta: self.best_theta,
            certificate: Certificate::new(self.best.objective, self.best.lower_bound),
            stop,
            iterations: self.iterations,
            evaluations: self.evaluations,
        }
    }
}

#[cfg(test)]
#[path = "newton_tests.rs"]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests;
