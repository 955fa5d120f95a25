//! The loop that Newton, the solver of the lasso and L-BFGS run in: look, prove, report, stop or step.

use super::incumbent::Incumbent;
use super::{Limits, Progress, Solution, Stop, Watch};
use crate::error::{Error, Result};

/// What a solver does between two looks at the clock.
pub(super) trait Iterate {
    /// Evaluates the current point, and keeps it if it is the best, and what it proves.
    fn evaluate(&mut self);

    /// The value that steps are to lower.
    fn value(&self) -> f64;

    fn best(&self) -> &Incumbent;

    /// Whether what has just been computed may be in pieces, because nobody waits for it any more.
    fn is_interrupted(&self) -> bool;

    fn progress(&self) -> Progress;

    /// Whether the point is near enough by the solver's own estimate, where nothing is (or can be) proven.
    fn is_near(&self, _limits: &Limits) -> bool {
        false
    }

    /// Whether the best point is as good as it seems, with everything computed afresh.
    fn confirm(&mut self, _limits: &Limits) -> bool {
        true
    }

    /// Moves on; `false` if nothing lowers the value.
    fn step(&mut self) -> bool;

    /// Ends here.
    fn finish(self, stop: Stop) -> Solution;
}

/// Runs a solver until the gap is proven, or something comes before that.
pub(super) fn drive(solver: impl Iterate, limits: &Limits, watch: &mut Watch<'_>) -> Result<Solution> {
    attempt(solver, limits, watch)?.settled(limits.tol, limits.proof)
}

/// The same of a solver that may end before it has any point to show for it.
pub(super) fn attempt(mut solver: impl Iterate, limits: &Limits, watch: &mut Watch<'_>) -> Result<Solution> {
    let stop = loop {
        solver.evaluate();
        if solver.is_interrupted() {
            break Stop::Interrupted;
        }
        let iteration = solver.progress().iteration;
        let ends = verdict(solver.value(), iteration, limits, || is_done(&mut solver, limits))?;
        if ends == Some(Stop::Converged) {
            break Stop::Converged;
        }
        if watch(&solver.progress()).is_break() {
            break Stop::Interrupted;
        }
        if let Some(stop) = ends {
            break stop;
        }
        let moved = solver.step();
        if solver.is_interrupted() {
            break Stop::Interrupted;
        }
        if !moved {
            break Stop::NoProgress;
        }
    };
    Ok(solver.finish(stop))
}

/// Why a run ends after it has looked at a point, if it does.
pub(super) fn verdict(
    value: f64,
    iteration: usize,
    limits: &Limits,
    is_done: impl FnOnce() -> bool,
) -> Result<Option<Stop>> {
    if !value.is_finite() {
        return Err(Error::diverged(value, iteration));
    }
    if is_done() {
        return Ok(Some(Stop::Converged));
    }
    Ok((iteration >= limits.max_iter).then_some(Stop::IterationLimit))
}

/// Whether the gap is proven, or without a proof to follow the solver says that it is near. What looks proven is confirmed first.
fn is_done(solver: &mut impl Iterate, limits: &Limits) -> bool {
    if solver.best().is_proven(limits.tol) {
        return solver.confirm(limits);
    }
    solver.is_near(limits) && (!limits.proof || solver.confirm(limits))
}
