//! Where a path is: value and gradient, what they prove, and how much is left.

use crate::certificate::Certificate;
use crate::engine::{LossSums, Rows};
use crate::intercept::polish;
use crate::penalty::Penalty;
use crate::plan::SystemPlan;
use crate::problem::Problem;
use crate::solver::continuation::{Continuation, join};
use crate::solver::driver::Iterate;
use crate::solver::incumbent::Incumbent;
use crate::solver::path_tuning::PATH;
use crate::solver::system::NewtonSystem;
use crate::solver::{Limits, Progress, Solution, Stop, confirmed};

use super::tuning::NEWTON;

/// One run along the path.
pub(super) struct Path<'a> {
    pub(super) problem: &'a Problem<'a>,
    pub(super) rows: &'a mut dyn Rows,
    /// Current smoothing, whether it changes the loss, and the penalty it makes.
    pub(super) smoothing: Continuation,
    pub(super) smooths_loss: bool,
    pub(super) penalty: Option<Box<dyn Penalty>>,
    /// Nothing is rounded off beyond what the objective itself asks for.
    pub(super) at_end: bool,
    pub(super) theta: Vec<f64>,
    pub(super) pair_dual: Vec<f64>,
    loss_grad: Vec<f64>,
    pub(super) grad: Vec<f64>,
    pub(super) step: Vec<f64>,
    pub(super) value: f64,
    /// What rounding off costs at this point.
    pub(super) smoothing_cost: f64,
    /// What the last step promised.
    pub(super) decrement: f64,
    /// How far the last step was from doing to the value what its quadratic model said; infinite where it was no whole step at the end
    /// of the path.
    pub(super) surprise: f64,
    /// The last step was taken as it was.
    pub(super) whole: bool,
    /// The least share that cuts may leave of the smoothing.
    pub(super) boldest: f64,
    /// So near the optimum that bounds are computed.
    pub(super) closing: bool,
    pub(super) system: NewtonSystem,
    best: Incumbent,
    pub(super) iterations: usize,
    pub(super) evaluations: usize,
    pub(super) tol: f64,
    pub(super) proof: bool,
}

impl<'a> Path<'a> {
    pub(super) fn new(
        problem: &'a Problem<'a>,
        rows: &'a mut dyn Rows,
        system: SystemPlan,
        mut theta: Vec<f64>,
        limits: &Limits,
    ) -> Self {
        problem.centre(&mut theta);
        rows.begin();
        rows.place(&theta);
        let mut path = Self {
            problem,
            smoothing: Continuation::new(),
            smooths_loss: false,
            penalty: None,
            at_end: false,
            pair_dual: vec![0.0; problem.penalty.dual_len(problem.features, problem.classes)],
            loss_grad: vec![0.0; theta.len()],
            grad: vec![0.0; theta.len()],
            step: vec![0.0; theta.len()],
            value: 0.0,
            smoothing_cost: 0.0,
            decrement: f64::INFINITY,
            surprise: f64::INFINITY,
            whole: false,
            boldest: 0.0,
            closing: false,
            system: NewtonSystem::new(problem, rows, system),
            best: Incumbent::new(&theta),
            iterations: 0,
            evaluations: 0,
            tol: limits.tol,
            proof: limits.proof,
            theta,
            rows,
        };
        path.relax(1.0);
        path
    }

    /// Joins the path at a point that was good for a similar problem: with smoothing only as wide as it costs `little` there, and with the
    /// duals that belong to the point; without its duals the first steps are short.
    pub(super) fn join(&mut self, little: f64) {
        let exact = self.objective();
        let mu = if little.is_finite() {
            join(|mu| {
                self.relax(mu);
                let cost = self.rows.value() + self.problem.penalty_value(self.penalty(), &self.theta) - exact;
                self.at_end || !(cost > little * exact)
            })
        } else {
            1.0
        };
        self.relax(mu);
        let m = self.problem.weights_len();
        let penalty: &dyn Penalty = self.penalty.as_deref().unwrap_or(self.problem.penalty);
        // A step of length 0 moves the duals to the point and nothing else.
        let no_step = vec![0.0; m];
        for _ in 0..PATH.settling {
            self.rows.settle_duals();
            penalty.move_dual(&self.theta[..m], self.problem.classes, &no_step, &mut self.pair_dual);
        }
    }

    pub(super) fn relax(&mut self, mu: f64) {
        self.smoothing.set(mu);
        let mu = self.smoothing.mu();
        self.rows.relax(Some(mu));
        self.smooths_loss = self.problem.loss.relaxed(mu).is_some();
        self.penalty = self.problem.penalty.relaxed(mu);
        self.at_end = self.is_finest();
    }

    /// Whether there is nothing left to refine.
    pub(super) fn is_finest(&self) -> bool {
        !self.is_smoothed() || self.smoothing.is_finest()
    }

    fn is_smoothed(&self) -> bool {
        self.smooths_loss || self.penalty.is_some()
    }

    pub(super) fn penalty(&self) -> &dyn Penalty {
        self.penalty.as_deref().unwrap_or(self.problem.penalty)
    }

    /// Value, gradient and, near the optimum, bounds at the current point.
    fn look_and_prove(&mut self) {
        let within = |share: f64| self.proof && self.decrement <= (share * self.tol.sqrt()).min(PATH.near) * self.value;
        let (near, hopeful) = (within(PATH.near), within(NEWTON.hopeful));
        let bounded = near || (self.proof && !self.at_end && self.decrement <= PATH.on_the_way * self.value);
        self.closing = bounded;
        let provable = self.problem.penalty.convex();
        // The dual state follows a whole step, while the scores carry what the step did not foresee into the gradient, and at tiny
        // smoothing their rounding: it is often good enough one step earlier. Where passes are dear, the scores come first once they
        // are likely to do.
        let state_first = if bounded { self.rows.sizes().is_small } else { hopeful };
        let state_first = state_first && provable && self.whole && self.rows.has_duals();
        if state_first {
            let (objective, _) = self.look(false);
            let bound = self.state_bound(objective);
            self.remember(objective, bound);
            if !bounded || self.best.is_proven(self.tol) {
                return;
            }
        }
        if near && self.at_end {
            let enough = PATH.polish * self.tol * self.value;
            polish(self.problem, self.rows, enough, &mut self.theta);
        }
        let bounded = bounded && provable;
        let (objective, sums) = self.look(bounded);
        let bound = bounded.then(|| self.bound_at(objective, sums, &self.loss_grad)).flatten();
        self.remember(objective, bound);
        if bounded && !state_first && !self.best.is_proven(self.tol) {
            let bound = self.state_bound(objective);
            self.remember(objective, bound);
        }
    }

    /// Value and gradient, the objective without the smoothing, and what a bound needs if it is asked for.
    fn look(&mut self, with_dual: bool) -> (f64, LossSums) {
        self.loss_grad.fill(0.0);
        let sums = self.rows.evaluate(with_dual, &mut self.loss_grad);
        self.evaluations += 1;
        self.grad.copy_from_slice(&self.loss_grad);
        let penalty: &dyn Penalty = self.penalty.as_deref().unwrap_or(self.problem.penalty);
        self.value = sums.value + self.problem.penalty_grad(penalty, &self.theta, &mut self.grad);
        let objective = if self.is_smoothed() {
            self.evaluations += 1;
            self.objective()
        } else {
            self.value
        };
        // Once smoothing costs far less than the tolerance, finer is only harder. Asked anew at every point: away from the path few rows are
        // near a kink, and the cost looks smaller than it will be.
        self.smoothing_cost = self.value - objective;
        self.at_end = self.is_finest() || self.smoothing_cost <= PATH.end * self.tol * objective;
        (objective, sums)
    }

    /// The objective without the smoothing.
    fn objective(&self) -> f64 {
        self.rows.exact_value() + self.problem.penalty_value(self.problem.penalty, &self.theta)
    }

    /// Keeps the best point and, separately, the best bound; neither from passes that an interruption may have cut.
    fn remember(&mut self, objective: f64, bound: Option<f64>) {
        if !self.problem.heed.is_stopped() {
            self.best.raise(bound);
            self.best.offer(objective, &self.theta);
        }
    }

    /// The bound of the dual state itself, or of the slopes that the last step promised where those are more exact.
    fn state_bound(&mut self, objective: f64) -> Option<f64> {
        let mut grad = vec![0.0; self.theta.len()];
        let sums = self.rows.dual_sums(&mut grad)?;
        self.bound_at(objective, sums, &grad)
    }

    /// The bound of slopes with these sums and this gradient; with pairs as they are or as the dual state says, whichever is better.
    fn bound_at(&self, objective: f64, sums: LossSums, grad: &[f64]) -> Option<f64> {
        let (problem, penalty, rounding) = (self.problem, self.penalty(), self.rows.rounding());
        let bound = |pair_dual: &[f64]| {
            Certificate::at(problem, rounding, objective, sums, penalty, &self.theta, grad, pair_dual).lower_bound
        };
        let plain = bound(&[]);
        if self.pair_dual.is_empty()
            || Certificate::new(objective, plain).relative_gap().is_some_and(|gap| gap <= self.tol)
        {
            return plain;
        }
        plain.into_iter().chain(bound(&self.pair_dual)).reduce(f64::max)
    }
}

impl Iterate for Path<'_> {
    fn evaluate(&mut self) {
        self.look_and_prove();
        // Rounding off widely what is steep can cost more than a number holds.
        while !self.value.is_finite() && !self.is_finest() && !self.problem.heed.is_stopped() {
            self.relax(PATH.refinement * self.smoothing.mu());
            self.look_and_prove();
        }
    }

    fn value(&self) -> f64 {
        self.value
    }

    fn best(&self) -> &Incumbent {
        &self.best
    }

    /// Never after a step that failed. So much was left before the last step, roughly; what its model did not foresee is more than is left
    /// after it, unless by chance. Without a proof to follow, stay on the safe side.
    fn is_near(&self, limits: &Limits) -> bool {
        let distance = limits.tol * self.value.abs();
        if !self.at_end || (self.proof && self.problem.penalty.convex()) {
            return false;
        }
        if self.proof {
            return self.decrement <= distance;
        }
        if !self.smoothing.is_moving() {
            return false;
        }
        let guess = self.decrement.min(self.surprise.max(NEWTON.surprise * self.decrement));
        // What the next step would promise, were the matrix still that of the last one: twice as much as is left. Only after whole steps at
        // the end of the path, which leave the matrix much as it was.
        let promised = || self.system.decrement(self.problem, &self.grad).is_some_and(|left| left <= distance);
        guess <= PATH.safe * distance || (self.surprise.is_finite() && promised())
    }

    /// If it is not, the path goes on from fresh scores.
    fn confirm(&mut self, limits: &Limits) -> bool {
        self.evaluations += 1;
        let confirmed = confirmed(self.problem, self.rows, &mut self.best, limits.tol);
        if !confirmed {
            self.rows.place(&self.theta);
            self.look(false);
        }
        confirmed
    }

    fn step(&mut self) -> bool {
        self.take_step()
    }

    fn is_interrupted(&self) -> bool {
        self.problem.heed.is_stopped()
    }

    fn progress(&self) -> Progress {
        self.best.progress(self.iterations, self.evaluations)
    }

    fn finish(self, stop: Stop) -> Solution {
        // Stopped before a bound of the best point was worth its price.
        let unproven = stop != Stop::Converged && self.problem.penalty.convex();
        self.best.ended(self.problem, self.rows, stop, unproven, (self.iterations, self.evaluations))
    }
}
