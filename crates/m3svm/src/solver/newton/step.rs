//! From one point of a path to the next: direction, length, duals, schedule.

use crate::linalg::{axpy, dot};
use crate::loss::Shape;
use crate::penalty::Penalty;
use crate::solver::continuation::{Stalled, forcing};
use crate::solver::line_search::{Found, search, takes_first};
use crate::solver::path_tuning::PATH;
use crate::solver::system::{Accuracy, Matrix};

use super::path::Path;
use super::tuning::NEWTON;

impl Path<'_> {
    /// One Newton step; `false` if none lowers the objective.
    pub(super) fn take_step(&mut self) -> bool {
        let Some(slope) = self.direction() else { return self.retry() };
        if self.problem.heed.is_stopped() {
            return false;
        }
        self.decrement = -slope;
        self.rows.direct(&self.step);
        // As `schedule` will have it, if the step is taken as it is.
        let next = self.cut(1.0).unwrap_or(self.smoothing.mu());
        self.rows.foresee(next);
        let found = self.length(slope);
        self.iterations += 1;
        self.whole = false;
        let Some(found) = found else { return self.retry() || self.refine() };
        self.advance(&found);
        self.schedule(&found)
    }

    /// Solves the Newton system; the slope along the step, or `None` if rounding prevents a descent direction.
    fn direction(&mut self) -> Option<f64> {
        let problem = self.problem;
        let m = problem.weights_len();
        self.rows.update_curvature();
        let curvature = self.penalty().curvature(&self.theta[..m], problem.classes, &self.pair_dual);
        let mut matrix = Matrix { problem, rows: self.rows, penalty: &curvature };
        let forcing = forcing(self.decrement / self.value);
        // At tiny smoothing the gradient is mostly rounding of scores. The step takes it away again, and its duals prove nothing unless it
        // takes away all.
        let exactly = self.closing && problem.loss.shape() != Shape::Dense;
        let most = if exactly { PATH.left_over * self.tol * self.value } else { f64::INFINITY };
        let fine = self.smoothing.mu() < NEWTON.precise;
        let (precise, roughly) = (exactly || fine, !fine && self.tol >= NEWTON.loose);
        let rest = Accuracy { most, precise, roughly, easy: !self.proof };
        let solve = self.system.solve(&mut matrix, &self.grad, forcing, &rest, &mut self.step)?;
        self.evaluations += solve.products;
        if let Some((along, strength)) = curvature.shared() {
            // (A − ggᵀ/s)⁻¹ by that of A: a second solve.
            let mut full = vec![0.0; self.grad.len()];
            full[..m].copy_from_slice(along);
            let mut back = vec![0.0; full.len()];
            if let Some(solve) = self.system.solve(&mut matrix, &full, forcing, &rest, &mut back) {
                self.evaluations += solve.products;
                let room = strength + dot(&full, &back);
                if room > NEWTON.singular * strength {
                    axpy(-dot(&full, &self.step) / room, &back, &mut self.step);
                }
            }
        }
        Some(dot(&self.grad, &self.step))
    }

    /// How far to go along the step.
    fn length(&mut self, slope: f64) -> Option<Found> {
        let (problem, value, theta, step, rows) = (self.problem, self.value, &self.theta, &self.step, &*self.rows);
        let penalty = self.penalty();
        let mut trial = theta.clone();
        axpy(1.0, step, &mut trial);
        let whole = rows.values_along(&[1.0])[0] + problem.penalty_value(penalty, &trial);
        let found = if takes_first(value, slope, 1.0, whole) && problem.penalty.convex() {
            Some(Found { step: 1.0, value: whole, evaluations: 0 })
        } else if slope < 0.0 {
            let mut grad = vec![0.0; theta.len()];
            search(value, slope, 1.0, |t| {
                trial.copy_from_slice(theta);
                axpy(t, step, &mut trial);
                grad.fill(0.0);
                let (loss_value, loss_slope) = rows.slopes_along(&[t])[0];
                let value = loss_value + problem.penalty_grad(penalty, &trial, &mut grad);
                (value, loss_slope + dot(&grad, step))
            })
        } else {
            None
        };
        self.evaluations += 1 + found.as_ref().map_or(0, |found| found.evaluations);
        found
    }

    /// Moves point and duals. The duals take the whole step, clipped entry by entry, even where the point takes a part of it: tied to a
    /// short step they would stay stale and keep the next ones short.
    fn advance(&mut self, found: &Found) {
        let (t, m) = (found.step, self.problem.weights_len());
        if t < NEWTON.lost {
            self.system.distrust_sums();
        }
        self.whole = t == 1.0;
        let promised = 0.5 * self.decrement;
        self.surprise =
            if self.whole && self.at_end { (self.value - found.value - promised).abs() } else { f64::INFINITY };
        let with_slopes = self.whole && self.proof && self.decrement <= NEWTON.promising * self.value;
        self.rows.advance(t, with_slopes);
        let penalty: &dyn Penalty = self.penalty.as_deref().unwrap_or(self.problem.penalty);
        penalty.move_dual(&self.theta[..m], self.problem.classes, &self.step[..m], &mut self.pair_dual);
        axpy(t, &self.step, &mut self.theta);
    }

    /// The smoothing of the next step; `false` if nothing moves any more.
    fn schedule(&mut self, found: &Found) -> bool {
        match self.smoothing.after_step(found.value < self.value, self.is_finest()) {
            Stalled::No => {}
            Stalled::Refine(mu) => self.relax(mu),
            Stalled::ForGood => return false,
        }
        if let Some(mu) = self.cut(found.step) {
            self.relax(mu);
        }
        let nested = self.smooths_loss && self.problem.loss.shape() == Shape::SimplexAndLine;
        let wider = NEWTON.wider * self.smoothing.mu();
        if found.step < NEWTON.lost && nested && wider <= 1.0 {
            // Cut too boldly: the path is out of reach, and steps along the kinks lead nowhere. Back to where it was wider. (Kinks within
            // kinks need this. Others find back by themselves, as fast.)
            self.boldest = NEWTON.careful;
            self.relax(wider);
        }
        true
    }

    /// The smoothing after a step of such a length, if that changes it.
    fn cut(&self, length: f64) -> Option<f64> {
        let promised = self.decrement / self.value;
        let cut = || self.smoothing.cut(promised, length, self.boldest.max(self.distance()));
        if self.at_end { None } else { cut().map(|mu| mu.max(PATH.finest)) }
    }

    /// How far from the path the last step began, from 0 to 1: what it promised, next to what smoothing costs. Farther away than smoothing
    /// can hide, a narrower path is no nearer to the optimum, and duals that do not find back to it prove nothing. Where nothing is to be
    /// proven, as in searches, bolder cuts save steps.
    fn distance(&self) -> f64 {
        let distance = self.decrement / (NEWTON.far * self.smoothing_cost);
        if self.proof && self.problem.penalty.convex() && !distance.is_nan() { distance.clamp(0.0, 1.0) } else { 0.0 }
    }

    /// Goes on with finer smoothing where no step of any length lowers the value.
    fn refine(&mut self) -> bool {
        match self.smoothing.after_failure(self.is_finest()) {
            Some(mu) => {
                self.relax(mu);
                true
            }
            None => false,
        }
    }

    /// Whether the next step from here will have more digits than one that failed, of which nothing is to be remembered then.
    fn retry(&mut self) -> bool {
        let again = self.system.distrust(self.rows);
        if again {
            self.decrement = f64::INFINITY;
        }
        again
    }
}
