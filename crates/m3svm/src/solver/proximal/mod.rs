//! Proximal Newton for the lasso: exact zeros, and a proof.
//!
//! Each step minimises the quadratic model of the loss plus λ‖W‖₁ over the weights that are not zero or press to leave it, by coordinate
//! descent and, once the signs have settled, by factoring the matrix of the non-zeros. A search along the step makes it a
//! descent. λ comes down to its value over several steps, from where all weights are zero: so few weights join that vanish again, and the
//! model holds over whole steps. Losses with a sharp bend (the smooth hinge) are first rounded off widely, as on the path
//! of [`super::Newton`].

mod bends;
mod descent;
mod face;
mod gram;
mod scores;
mod working;

use serde::{Deserialize, Serialize};

use self::bends::Bends;
use self::descent::{Descent, Point, solve};
use self::gram::Gram;
use self::scores::Scores;
use self::working::{Coordinate, Working};
use super::line_search::{Found, search};
use super::newton::shrink;
use super::{Limits, Progress, Solution, Stop, Watch, certified, confirmed};
use crate::certificate::Certificate;
use crate::columns::Columns;
use crate::error::{Error, Result};
use crate::kernel::axpy;
use crate::loss::{Loss, Shape};
use crate::objective::Objective;
use crate::risk::Risk;

/// The solver of the lasso. It has nothing to set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Proximal {}

/// The first λ, as a share of the one from which on all weights are zero.
const FIRST: f64 = 0.5;

/// How far λ comes down after a step that failed.
const DOWN: f64 = 0.4;

/// Up to so many coordinates the matrix of the model is cheap.
const FEW: usize = 300;

/// Beyond so many it does not fit.
const MOST: usize = 8000;

/// Smoothing of the loss is never taken below this.
const FINEST: f64 = 1e-14;

impl Proximal {
    /// Minimises from `start`. The penalty must be a lasso.
    pub fn minimize(
        &self,
        risk: &Risk<'_>,
        start: Vec<f64>,
        limits: &Limits,
        watch: &mut Watch<'_>,
    ) -> Result<Solution> {
        super::AnySolver::Proximal(*self).suits(risk.loss, risk.penalty)?;
        let mut start = start;
        if let Some(certificate) = certified(risk, &mut start)
            && certificate.relative_gap().is_some_and(|gap| gap <= limits.tol)
        {
            return Ok(Solution::at_start(start, certificate));
        }
        let mut run = Run::new(risk, start);
        loop {
            run.evaluate();
            if !run.value.is_finite() {
                return Err(Error::Diverged { iteration: run.iterations });
            }
            let gap = run.best.relative_gap();
            if gap.is_some_and(|gap| gap <= limits.tol) && run.confirm(limits.tol) {
                return Ok(run.finish(Stop::Converged));
            }
            if !limits.proof && run.is_near(limits.tol) {
                return Ok(run.finish(Stop::Converged));
            }
            let progress = Progress {
                iteration: run.iterations,
                evaluations: run.evaluations,
                objective: run.best.objective,
                relative_gap: gap,
                inner: false,
            };
            if watch(&progress).is_break() {
                return Ok(run.finish(Stop::Interrupted));
            }
            if run.iterations >= limits.max_iter {
                return Ok(run.finish(Stop::IterationLimit));
            }
            let mut stopped = false;
            let moved = run.step(&mut || {
                stopped = stopped || watch(&Progress { inner: true, ..progress }).is_break();
                !stopped
            });
            if stopped {
                run.evaluate();
                return Ok(run.finish(Stop::Interrupted));
            }
            if !moved {
                return Ok(run.finish(Stop::NoProgress));
            }
        }
    }
}

/// One minimisation.
struct Run<'a> {
    risk: &'a Risk<'a>,
    lambda: f64,
    /// The λ of the current step, on its way down to `lambda`.
    level: f64,
    /// Current smoothing of the loss, and the loss it makes.
    mu: f64,
    loss: Option<Box<dyn Loss>>,
    theta: Vec<f64>,
    z: Vec<f64>,
    row_dual: Vec<f64>,
    h: Vec<f64>,
    loss_grad: Vec<f64>,
    value: f64,
    /// What the model promised the last step would gain.
    decrement: f64,
    columns: Columns<'a>,
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
    /// Failed searches in a row.
    failed: usize,
    best: Certificate,
    best_theta: Vec<f64>,
    iterations: usize,
    evaluations: usize,
}

impl<'a> Run<'a> {
    fn new(risk: &'a Risk<'a>, mut theta: Vec<f64>) -> Self {
        risk.centre(&mut theta);
        let (n, c) = (risk.terms(), risk.classes);
        let mut z = vec![0.0; n * c];
        risk.scores(&theta, &mut z);
        let mut run = Self {
            risk,
            lambda: risk.penalty.threshold().unwrap_or(0.0),
            level: f64::INFINITY,
            mu: 1.0,
            loss: None,
            row_dual: vec![0.0; n * risk.loss.dual_len(c)],
            h: vec![0.0; n * risk.loss.shape().len(c)],
            loss_grad: vec![0.0; theta.len()],
            value: f64::INFINITY,
            decrement: f64::INFINITY,
            columns: Columns::new(risk.x),
            damping: 0.0,
            trusted: false,
            unsolved: f64::INFINITY,
            last: Vec::new(),
            write_out: false,
            failed: 0,
            best: Certificate { objective: f64::INFINITY, lower_bound: None },
            best_theta: theta.clone(),
            iterations: 0,
            evaluations: 0,
            theta,
            z,
        };
        run.relax(1.0);
        run
    }

    fn relax(&mut self, mu: f64) {
        self.mu = mu.max(FINEST);
        self.loss = self.risk.loss.relaxed(self.mu);
    }

    /// Value, gradient and certificate at the current point.
    fn evaluate(&mut self) {
        let risk = self.risk;
        let loss: &dyn Loss = self.loss.as_deref().unwrap_or(risk.loss);
        // Far from the optimum the next step corrects the intercept as well as this can.
        if self.iterations == 0 || self.decrement < 0.1 * self.value {
            risk.polish_intercept(loss, 0.0, &mut self.theta, &mut self.z);
        }
        self.loss_grad.fill(0.0);
        let sums = risk.loss_pass(loss, &self.z, true, &mut self.loss_grad);
        self.evaluations += 1;
        let rest = risk.penalty_value(risk.penalty, &self.theta);
        self.value = sums.value + rest;
        let mut objective = self.value;
        if self.loss.is_some() {
            objective = rest + risk.loss_at(risk.loss, &self.z, None);
            self.evaluations += 1;
        }
        if self.level.is_infinite() {
            let top = self.loss_grad[..risk.weights_len()].iter().fold(0.0f64, |top, s| top.max(s.abs()));
            self.level = if self.lambda > 0.0 { (FIRST * top).max(self.lambda) } else { 0.0 };
        }
        // On the way down a bound says nothing.
        if self.level <= self.lambda {
            let found = Certificate::at(risk, objective, sums, risk.penalty, &self.theta, &self.loss_grad, &[]);
            self.best.lower_bound = self.best.lower_bound.into_iter().chain(found.lower_bound).reduce(f64::max);
        }
        if objective < self.best.objective {
            self.best.objective = objective;
            self.best_theta.copy_from_slice(&self.theta);
        }
    }

    /// A guess at whether the value is within such a relative distance of the optimum. Without a proof to follow, stay on the safe side:
    /// the last step was taken as its model of the objective says, promised little, had a model that was solved well (what is
    /// left of violations gains no more than their size times the weights, and λ times those is a part of the value), and has not
    /// made zeros press that it knew nothing of.
    fn is_near(&self, distance: f64) -> bool {
        const SAFE: f64 = 0.3;
        if self.unsolved.is_nan() || self.unsolved.max(self.decrement / self.value) > SAFE * distance {
            return false;
        }
        let mut known = vec![false; self.theta.len()];
        self.last.iter().for_each(|at| known[*at] = true);
        let mut others = (0..self.risk.weights_len()).filter(|at| !known[*at]);
        others.all(|at| self.loss_grad[at].abs() <= (1.0 + distance) * self.lambda)
    }

    /// Whether the best point is as good as it seems. If not, the run goes on from fresh scores.
    fn confirm(&mut self, tol: f64) -> bool {
        self.evaluations += 1;
        let confirmed = confirmed(self.risk, &mut self.best, &self.best_theta, tol);
        if !confirmed {
            self.risk.scores(&self.theta, &mut self.z);
        }
        confirmed
    }

    /// One step; `false` if none lowers the objective.
    fn step(&mut self, go_on: &mut dyn FnMut() -> bool) -> bool {
        let (risk, c) = (self.risk, self.risk.classes);
        let loss: &dyn Loss = self.loss.as_deref().unwrap_or(risk.loss);
        let working = Working::choose(risk, self.level, &self.theta, &self.loss_grad);
        risk.curvature(loss, &self.z, &self.row_dual, &mut self.h);
        let damping = self.damping.min((working.violation / self.level.max(f64::MIN_POSITIVE)).powi(2));
        damp(risk, loss.shape(), damping, &mut self.h);
        let bends = Bends::new(risk, loss.shape(), &self.h);
        self.columns.fetch(risk.x, working.coordinates.iter().map(|a| a.feature()));
        // Loose while far from the optimum, then ever tighter: convergence stays quadratic.
        let share = (working.violation / self.level.max(f64::MIN_POSITIVE)).clamp(1e-4, 0.1);
        // A matrix that was dear to write out is made the most of.
        let share = if self.writes_out(&working) { 0.3 * share } else { share };
        let target = share * working.violation * 0.1f64.powi(self.failed as i32);
        let mut point = Point {
            thresholds: &working.thresholds,
            values: working.coordinates.iter().map(|a| self.theta[a.place(c)]).collect(),
        };
        let solved = self.solve_model(&bends, &working, &mut point, target, go_on);
        let slow = solved.residual > target;
        // A sweep costs as much as a pass over the scores of the working set; count whole passes.
        self.evaluations += solved.sweeps;
        let mut step = vec![0.0; self.theta.len()];
        for (a, u) in working.coordinates.iter().zip(&point.values) {
            step[a.place(c)] = u - self.theta[a.place(c)];
        }
        let mut step_z = vec![0.0; self.z.len()];
        risk.scores(&step, &mut step_z);
        let line = Line::new(&working, &self.theta, &step, risk);
        let before = self.level_value();
        let found = line.search(risk, loss, &self.z, &step_z, before);
        self.decrement = line.promise();
        self.iterations += 1;
        let taken = found.as_ref().map_or(0.0, |found| found.step);
        self.trusted = taken >= 1.0;
        let smoothed = self.loss.is_some() && self.mu > FINEST;
        let own = self.level <= self.lambda && damping == 0.0 && working.is_whole && !smoothed;
        self.unsolved = if own && taken == 1.0 { solved.residual / self.lambda } else { f64::INFINITY };
        self.last = working.coordinates.iter().map(|a| a.place(c)).collect();
        self.damping = match taken {
            t if t < 0.1 => (10.0 * self.damping).clamp(1e-3, 1.0),
            t if t >= 1.0 && self.damping < 1e-3 => 0.0,
            t if t >= 1.0 => 0.25 * self.damping,
            _ => (2.0 * self.damping).min(1.0),
        };
        self.write_out |= slow && self.trusted && self.level <= self.lambda;
        let Some(found) = found else {
            // The model may have been solved too loosely, or rounding blocks this level of smoothing.
            self.failed += 1;
            self.write_out = true;
            if self.loss.is_some() || self.level > self.lambda {
                self.relax(self.mu * 0.1);
                self.lower(DOWN);
                return true;
            }
            return self.failed < 4;
        };
        self.failed = if found.value < before { 0 } else { self.failed + 1 };
        self.evaluations += found.evaluations;
        risk.move_dual(loss, &self.z, &step_z, found.step, &mut self.row_dual);
        for (a, u) in working.coordinates.iter().zip(&point.values) {
            let w = &mut self.theta[a.place(c)];
            // Not `w + (u − w)`, which may miss a zero.
            *w = if found.step == 1.0 { *u } else { *w + found.step * step[a.place(c)] };
        }
        axpy(found.step, &step_z, &mut self.z);
        // Flat but for ε, and so out of reach for the model: a shift of all classes, which the scores need not follow.
        risk.centre(&mut self.theta);
        if self.loss.is_some() && found.step > 0.3 {
            self.relax(self.mu * shrink(self.decrement / self.value));
        }
        if found.step > 0.3 {
            self.lower(shrink(self.decrement / before).max(1.0 - found.step));
        }
        self.failed < 6
    }

    fn lower(&mut self, share: f64) {
        self.level = (share * self.level).max(self.lambda);
    }

    /// The value with the λ of the current step.
    fn level_value(&self) -> f64 {
        let norm: f64 = self.theta[..self.risk.weights_len()].iter().map(|w| w.abs()).sum();
        self.value + (self.level - self.lambda) * norm
    }

    fn solve_model(
        &self,
        bends: &Bends<'_>,
        working: &Working,
        point: &mut Point<'_>,
        target: f64,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Descent {
        let size = working.coordinates.len();
        let ridge = 2.0 * self.risk.epsilon;
        let slopes = working.slopes.clone();
        if size <= FEW || self.writes_out(working) {
            let mut gram = Gram::new(bends, &self.columns, &working.coordinates, slopes, ridge);
            return solve(&mut gram, point, target, 10 + size / 60, 20, go_on);
        }
        // A model that does not hold over a whole step is not worth more than a few sweeps.
        let (sweeps, rounds) = match self.trusted {
            false => (10, 1),
            true if self.fits(working) => (10 + size / 100, 1),
            true => (20, 8),
        };
        let mut scores = Scores::new(bends, &self.columns, &working.coordinates, slopes, ridge);
        solve(&mut scores, point, target, sweeps, rounds, go_on)
    }

    /// Whether the matrix of the model is written out although it is not small.
    fn writes_out(&self, working: &Working) -> bool {
        working.coordinates.len() > FEW && self.write_out && self.fits(working)
    }

    /// Whether writing the matrix of the model out costs less than some two hundred sweeps, and fits the memory.
    fn fits(&self, working: &Working) -> bool {
        let size = working.coordinates.len();
        let stored: usize = working.coordinates.iter().map(|a| self.columns.get(a.feature()).stored()).sum();
        size <= MOST && (self.risk.x.rows() * size).saturating_mul(size) < 8000 * stored
    }

    fn finish(mut self, stop: Stop) -> Solution {
        if self.best.lower_bound.is_none() {
            self.best = self.risk.certify(&mut self.best_theta);
            self.evaluations += 1;
        }
        Solution {
            theta: self.best_theta,
            certificate: Certificate::new(self.best.objective, self.best.lower_bound),
            stop,
            iterations: self.iterations,
            evaluations: self.evaluations,
        }
    }
}

/// Adds a share of the largest curvature that a softmax can have to every row.
fn damp(risk: &Risk<'_>, shape: Shape, share: f64, h: &mut [f64]) {
    if share == 0.0 {
        return;
    }
    let c = risk.classes;
    for (i, h) in h.chunks_exact_mut(shape.len(c)).enumerate() {
        let (weight, y) = (risk.weight(i), risk.y[i] as usize);
        match shape {
            Shape::Simplex | Shape::SimplexAndLine => {
                h[..c].iter_mut().for_each(|h| *h = (1.0 - share) * *h + share * weight / c as f64);
            }
            Shape::Star => (0..c).filter(|k| *k != y).for_each(|k| h[k] += 0.25 * share * weight),
            Shape::Dense => (0..c * c).for_each(|at| {
                let own = if at / c == at % c { 1.0 } else { 0.0 };
                h[at] += 0.5 * share * weight * (own - 1.0 / c as f64);
            }),
        }
    }
}

/// The objective along a step, which moves the working coordinates only: all others are zero.
struct Line {
    /// (λ, start, step) of every coordinate.
    moves: Vec<(f64, f64, f64)>,
    /// Derivative of loss and ε-term along the step.
    smooth: f64,
    epsilon: f64,
}

impl Line {
    fn new(working: &Working, theta: &[f64], step: &[f64], risk: &Risk<'_>) -> Self {
        let places = working.coordinates.iter().map(|a| a.place(risk.classes));
        let moves = working.thresholds.iter().zip(places).map(|(l, at)| (*l, theta[at], step[at])).collect();
        let slopes = working.slopes.iter().zip(&working.coordinates);
        let smooth = slopes.map(|(slope, a)| slope * step[a.place(risk.classes)]).sum();
        Self { moves, smooth, epsilon: risk.epsilon }
    }

    /// What the first-order model says the whole step gains.
    fn promise(&self) -> f64 {
        -self.smooth - self.moves.iter().map(|(l, w, d)| l * ((w + d).abs() - w.abs())).sum::<f64>()
    }

    /// Penalty and ε-term at t with their slope; where a weight is zero on the way, half of its kink.
    fn penalty(&self, t: f64) -> (f64, f64) {
        let (mut value, mut slope) = (0.0, 0.0);
        for (lambda, w, d) in &self.moves {
            let u = w + t * d;
            let sign = if u == 0.0 { 0.0 } else { u.signum() };
            value += lambda * u.abs() + self.epsilon * u * u;
            slope += d * (lambda * sign + 2.0 * self.epsilon * u);
        }
        (value, slope)
    }

    fn search(&self, risk: &Risk<'_>, loss: &dyn Loss, z: &[f64], step_z: &[f64], value: f64) -> Option<Found> {
        let kinks = |(l, w, d): &(f64, f64, f64)| if *w == 0.0 { l * d.abs() } else { l * d * w.signum() };
        let slope = self.smooth + self.moves.iter().map(kinks).sum::<f64>();
        if !(slope < 0.0) {
            return None;
        }
        search(value, slope, 1.0, |t| {
            let (loss_value, loss_slope) = risk.loss_along(loss, z, step_z, t);
            let (rest, rest_slope) = self.penalty(t);
            (loss_value + rest, loss_slope + rest_slope)
        })
    }
}
