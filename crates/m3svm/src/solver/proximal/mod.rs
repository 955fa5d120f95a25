//! Proximal Newton for the lasso and the elastic net: exact zeros, and a proof.
//!
//! Each step minimises the quadratic model of the loss plus λ‖W‖₁ (and squares, if the penalty has some) over the weights that are not zero or press to leave it, by coordinate
//! descent and, once the signs have settled, by factoring the matrix of the non-zeros. A search along the step makes it a
//! descent. λ comes down to its value over several steps, from where all weights are zero: so few weights join that vanish again, and the
//! model holds over whole steps. Losses with a sharp bend (the smooth hinge) are first rounded off widely, as on the path
//! of [`super::Newton`].

mod active_set;
mod descent;
mod gram;
mod kinked_line;
mod tuning;
mod working;

use serde::{Deserialize, Serialize};

use self::descent::{Descended, solve};
pub(crate) use self::descent::{Point, Quadratic, Steps};
use self::gram::Gram;
use self::kinked_line::KinkedLine;
use self::tuning::PROXIMAL;
use self::working::Working;
use super::continuation::{Continuation, Stalled, cut};
use super::driver::{Iterate, drive};
use super::incumbent::Incumbent;
use super::line_search::Found;
use super::path_tuning::PATH;
use super::{Limits, Progress, Solution, Stop, Watch, certified, confirmed};
use crate::certificate::Certificate;
use crate::engine::{InMemory, Rows};
use crate::error::Result;
use crate::intercept::polish;
use crate::problem::Problem;
use crate::risk::Risk;

/// The solver of the lasso and the elastic net. It has nothing to set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Proximal {}

impl Proximal {
    /// Minimises from `start`. The penalty must be [`separable`](crate::Penalty::separable).
    pub fn minimize(
        &self,
        risk: &Risk<'_>,
        start: Vec<f64>,
        limits: &Limits,
        watch: &mut Watch<'_>,
    ) -> Result<Solution> {
        super::AnySolver::Proximal(*self).suits(risk.problem.loss, risk.problem.penalty)?;
        super::interruptible(risk, watch, |risk, watch| {
            self.walk(&risk.problem, &mut InMemory::new(risk), start, limits, watch)
        })
    }

    /// The same over rows wherever they are.
    pub(crate) fn walk(
        &self,
        problem: &Problem<'_>,
        rows: &mut dyn Rows,
        mut start: Vec<f64>,
        limits: &Limits,
        watch: &mut Watch<'_>,
    ) -> Result<Solution> {
        if let Some(certificate) = certified(problem, rows, &mut start)
            && certificate.relative_gap().is_some_and(|gap| gap <= limits.tol)
        {
            return Ok(Solution::at_start(start, certificate));
        }
        drive(ProximalRun::new(problem, rows, start), limits, watch)
    }
}

/// One minimisation.
struct ProximalRun<'a> {
    problem: &'a Problem<'a>,
    rows: &'a mut dyn Rows,
    lambda: f64,
    /// The λ of the current step, on its way down to `lambda`.
    level: f64,
    /// Current smoothing of the loss, and whether it changes it.
    smoothing: Continuation,
    smooths_loss: bool,
    theta: Vec<f64>,
    loss_grad: Vec<f64>,
    value: f64,
    /// What the model promised the last step would gain.
    decrement: f64,
    /// Curvature that is lent to every row, because rows that the loss is nearly done with have next to none and would be moved too far.
    damping: f64,
    /// The last step was taken in full.
    trusted: bool,
    /// Largest violation that was met in the last sweep over the model of the last step, in units of λ. Infinite where that was not the
    /// objective's own model with all weights that press, or the step was not taken as it says.
    unsolved: f64,
    /// Places of the weights that took part in it.
    last: Vec<usize>,
    /// Descent along coordinates alone has proven slow.
    write_out: bool,
    best: Incumbent,
    iterations: usize,
    evaluations: usize,
}

/// The way to the minimum of a quadratic model.
struct ModelStep {
    working: Working,
    /// Where it leads the weights that take part, and the same as a step of all.
    values: Vec<f64>,
    step: Vec<f64>,
    /// The violation that the model keeps there, and whether that is more than was wanted.
    residual: f64,
    is_slow: bool,
    /// The curvature that was lent to every row.
    damping: f64,
}

impl<'a> ProximalRun<'a> {
    fn new(problem: &'a Problem<'a>, rows: &'a mut dyn Rows, mut theta: Vec<f64>) -> Self {
        problem.centre(&mut theta);
        rows.begin();
        rows.place(&theta);
        let mut run = Self {
            problem,
            lambda: problem.penalty.separable().map_or(0.0, |parts| parts.threshold),
            level: f64::INFINITY,
            smoothing: Continuation::new(),
            smooths_loss: false,
            loss_grad: vec![0.0; theta.len()],
            value: f64::INFINITY,
            decrement: f64::INFINITY,
            damping: 0.0,
            trusted: false,
            unsolved: f64::INFINITY,
            last: Vec::new(),
            write_out: false,
            best: Incumbent::new(&theta),
            iterations: 0,
            evaluations: 0,
            theta,
            rows,
        };
        run.relax(1.0);
        run
    }

    fn relax(&mut self, mu: f64) {
        self.smoothing.set(mu);
        self.rows.relax(Some(self.smoothing.mu()));
        self.smooths_loss = self.problem.loss.relaxed(self.smoothing.mu()).is_some();
    }

    /// Whether nothing is rounded off beyond what the objective itself asks for, and λ has its value.
    fn is_finest(&self) -> bool {
        (!self.smooths_loss || self.smoothing.is_finest()) && self.level <= self.lambda
    }

    /// Goes on with finer smoothing and a smaller λ where no step of any length lowers the value, or without, a few times, with a model that is
    /// solved more exactly.
    fn go_on_after_failure(&mut self) -> bool {
        let finer = self.smoothing.after_failure(self.is_finest());
        if self.is_finest() {
            return self.smoothing.stalled() < PROXIMAL.failures;
        }
        match finer {
            Some(mu) => self.refine(mu),
            // It has failed so often that there is no way but the objective itself.
            None => (self.level, _) = (self.lambda, self.relax(0.0)),
        }
        true
    }

    fn refine(&mut self, mu: f64) {
        self.relax(mu);
        self.level = (PROXIMAL.down * self.level).max(self.lambda);
    }

    /// Smoothing and λ of the next step, after one that began at the value `before`; `false` if nothing moves any more.
    fn schedule(&mut self, found: &Found, before: f64) -> bool {
        match self.smoothing.after_step(found.value < before, self.is_finest()) {
            Stalled::No => {}
            Stalled::Refine(mu) => self.refine(mu),
            Stalled::ForGood => return false,
        }
        if self.smooths_loss
            && let Some(mu) = self.smoothing.cut(self.decrement / self.value, found.step, 0.0)
        {
            self.relax(mu);
        }
        if let Some(level) = cut(self.level, self.decrement / before, found.step, 0.0) {
            self.level = level.max(self.lambda);
        }
        true
    }

    /// The value with the λ of the current step.
    fn level_value(&self) -> f64 {
        let norm: f64 = self.theta[..self.problem.weights_len()].iter().map(|w| w.abs()).sum();
        self.value + (self.level - self.lambda) * norm
    }

    /// Minimises the quadratic model over the weights that take part; `None` if that is interrupted.
    fn direction(&mut self) -> Option<ModelStep> {
        let (problem, c) = (self.problem, self.problem.classes);
        let working = Working::choose(problem, self.level, &self.theta, &self.loss_grad);
        let violation = working.violation / self.level.max(f64::MIN_POSITIVE);
        self.rows.update_curvature();
        let damping = self.damping.min(violation.powi(2));
        self.rows.damp(damping);
        let (least, most) = PROXIMAL.target;
        let share = violation.clamp(least, most);
        let share = if self.writes_out(&working) { PROXIMAL.dear * share } else { share };
        let target = share * working.violation * PROXIMAL.tighter.powi(self.smoothing.stalled() as i32);
        let mut point = Point {
            thresholds: &working.thresholds,
            values: working.coordinates.iter().map(|a| self.theta[a.place(c)]).collect(),
        };
        let solved = self.solve_model(&working, &mut point, target);
        if problem.heed.is_stopped() {
            return None;
        }
        // A sweep costs as much as a pass over the scores of the working set; count whole passes.
        self.evaluations += solved.sweeps;
        let (values, mut step) = (point.values, vec![0.0; self.theta.len()]);
        for (a, u) in working.coordinates.iter().zip(&values) {
            step[a.place(c)] = u - self.theta[a.place(c)];
        }
        Some(ModelStep { step, values, residual: solved.residual, is_slow: solved.residual > target, damping, working })
    }

    /// How far to go along the step.
    fn length(&mut self, model: &ModelStep, before: f64) -> Option<Found> {
        self.rows.direct(&model.step);
        let line = KinkedLine::new(&model.working, &self.theta, &model.step, self.problem.classes);
        let found = line.search(self.rows, before);
        self.decrement = line.promise();
        self.iterations += 1;
        self.evaluations += found.as_ref().map_or(0, |found| found.evaluations);
        found
    }

    /// What a step of which so much has been taken says of its model, and of how the next one is to be solved.
    fn judge(&mut self, model: &ModelStep, taken: f64) {
        self.trusted = taken >= 1.0;
        let smoothed = self.smooths_loss && !self.smoothing.is_finest();
        let own = self.level <= self.lambda && model.damping == 0.0 && model.working.is_whole && !smoothed;
        self.unsolved = if own && taken == 1.0 { model.residual / self.lambda } else { f64::INFINITY };
        self.last = model.working.coordinates.iter().map(|a| a.place(self.problem.classes)).collect();
        self.damping = match taken {
            t if t < PROXIMAL.damped => (PROXIMAL.more_damping.0 * self.damping).clamp(PROXIMAL.damping, 1.0),
            t if t >= 1.0 && self.damping < PROXIMAL.damping => 0.0,
            t if t >= 1.0 => PROXIMAL.less_damping * self.damping,
            _ => (PROXIMAL.more_damping.1 * self.damping).min(1.0),
        };
        self.write_out |= model.is_slow && self.trusted && self.level <= self.lambda;
    }

    /// Moves the point.
    fn advance(&mut self, model: &ModelStep, taken: f64) {
        self.rows.advance(taken, false);
        for (a, u) in model.working.coordinates.iter().zip(&model.values) {
            let at = a.place(self.problem.classes);
            // Not `w + (u − w)`, which may miss a zero.
            self.theta[at] = if taken == 1.0 { *u } else { self.theta[at] + taken * model.step[at] };
        }
        // Flat but for ε, and so out of reach for the model: a shift of all classes, which the scores need not follow.
        self.problem.centre(&mut self.theta);
    }

    fn solve_model(&mut self, working: &Working, point: &mut Point<'_>, target: f64) -> Descended {
        let (heed, coordinates) = (self.problem.heed, &working.coordinates);
        let (size, ridges) = (coordinates.len(), &working.ridges);
        let fits = self.fits(working);
        // A model that does not hold over a whole step is not worth more than a few sweeps.
        let (sweeps, rounds) = match self.trusted {
            false => (PROXIMAL.doubted, 1),
            true if fits => (PROXIMAL.doubted + size / PROXIMAL.per_sweep.0, 1),
            true => PROXIMAL.sweeps,
        };
        if size > PROXIMAL.few
            && !(self.write_out && fits)
            && let Some(mut scores) = self.rows.implicit_gram(coordinates, working.slopes.clone(), ridges)
        {
            return solve(scores.as_mut(), point, target, sweeps, rounds, heed);
        }
        let matrix = self.rows.coordinate_gram(coordinates);
        let mut gram = Gram::new(matrix, working.slopes.clone(), ridges, heed);
        let sweeps = PROXIMAL.doubted + size / PROXIMAL.per_sweep.1;
        solve(&mut gram, point, target, sweeps, PROXIMAL.tries, heed)
    }

    /// Whether the matrix of the model is written out although it is not small.
    fn writes_out(&mut self, working: &Working) -> bool {
        working.coordinates.len() > PROXIMAL.few && self.write_out && self.fits(working)
    }

    /// Whether writing the matrix of the model out does not cost too much, and fits the memory.
    fn fits(&mut self, working: &Working) -> bool {
        let size = working.coordinates.len();
        let stored = self.rows.stored_in(&working.coordinates);
        let cost = (self.rows.sizes().rows * size).saturating_mul(size);
        size <= PROXIMAL.most && cost < PROXIMAL.written * stored
    }
}

impl Iterate for ProximalRun<'_> {
    fn evaluate(&mut self) {
        let problem = self.problem;
        if self.iterations == 0 || self.decrement < PROXIMAL.polish * self.value {
            polish(problem, self.rows, 0.0, &mut self.theta);
        }
        self.loss_grad.fill(0.0);
        let sums = self.rows.evaluate(true, &mut self.loss_grad);
        self.evaluations += 1;
        if problem.heed.is_stopped() {
            return;
        }
        let rest = problem.penalty_value(problem.penalty, &self.theta);
        self.value = sums.value + rest;
        let mut objective = self.value;
        if self.smooths_loss {
            objective = rest + self.rows.exact_value();
            self.evaluations += 1;
            if problem.heed.is_stopped() {
                return;
            }
        }
        if self.level.is_infinite() {
            let top = self.loss_grad[..problem.weights_len()].iter().fold(0.0f64, |top, s| top.max(s.abs()));
            self.level = if self.lambda > 0.0 { (PROXIMAL.first * top).max(self.lambda) } else { 0.0 };
        }
        // On the way down a bound says nothing.
        if self.level <= self.lambda {
            let rounding = self.rows.rounding();
            let found =
                Certificate::at(problem, rounding, objective, sums, problem.penalty, &self.theta, &self.loss_grad, &[]);
            self.best.raise(found.lower_bound);
        }
        self.best.offer(objective, &self.theta);
    }

    fn value(&self) -> f64 {
        self.value
    }

    fn best(&self) -> &Incumbent {
        &self.best
    }

    /// Without a proof to follow, stay on the safe side:
    /// the last step was taken as its model of the objective says, promised little, had a model that was solved well (what is
    /// left of violations gains no more than their size times the weights, and λ times those is a part of the value), and has not
    /// made zeros press that it knew nothing of.
    fn is_near(&self, limits: &Limits) -> bool {
        let distance = limits.tol;
        if limits.proof
            || self.unsolved.is_nan()
            || self.unsolved.max(self.decrement / self.value) > PATH.safe * distance
        {
            return false;
        }
        let mut known = vec![false; self.theta.len()];
        self.last.iter().for_each(|at| known[*at] = true);
        let mut others = (0..self.problem.weights_len()).filter(|at| !known[*at]);
        others.all(|at| self.loss_grad[at].abs() <= (1.0 + distance) * self.lambda)
    }

    /// If it is not, the run goes on from fresh scores.
    fn confirm(&mut self, limits: &Limits) -> bool {
        self.evaluations += 1;
        let confirmed = confirmed(self.problem, self.rows, &mut self.best, limits.tol);
        if !confirmed {
            self.rows.place(&self.theta);
        }
        confirmed
    }

    fn step(&mut self) -> bool {
        let Some(model) = self.direction() else { return false };
        let before = self.level_value();
        let found = self.length(&model, before);
        self.judge(&model, found.as_ref().map_or(0.0, |found| found.step));
        let Some(found) = found else {
            // The model may have been solved too loosely, or rounding blocks this level.
            self.write_out = true;
            return self.go_on_after_failure();
        };
        self.advance(&model, found.step);
        self.schedule(&found, before)
    }

    fn is_interrupted(&self) -> bool {
        self.problem.heed.is_stopped()
    }

    fn progress(&self) -> Progress {
        self.best.progress(self.iterations, self.evaluations)
    }

    fn finish(self, stop: Stop) -> Solution {
        let unproven = self.best.lower_bound().is_none();
        self.best.ended(self.problem, self.rows, stop, unproven, (self.iterations, self.evaluations))
    }
}
