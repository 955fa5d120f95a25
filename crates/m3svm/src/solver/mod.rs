//! How the objective is minimised. [`Newton`] follows the primal-dual path and [`Proximal`] finds the zeros of the lasso; both use the
//! structure of [`crate::Risk`]. [`Lbfgs`] and [`Adam`] see an [`crate::Objective`] and nothing else. [`DualCoordinate`] climbs in the dual of
//! exact hinges, row by row. Which of them runs is said by a [`crate::Plan`].

mod adam;
pub(crate) mod binary;
mod continuation;
mod driver;
pub(crate) mod dual_coordinate;
mod hold;
mod incumbent;
mod lbfgs;
mod line_search;
mod newton;
mod path_tuning;
mod proximal;
mod system;

use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};

pub(crate) use adam::diverged;
pub use adam::{Adam, AdamState};
pub use dual_coordinate::DualCoordinate;
pub use lbfgs::Lbfgs;
pub use newton::Newton;
pub use proximal::Proximal;
pub(crate) use proximal::{Point, Quadratic, Steps};
pub(crate) use system::conjugate_gradients;

use crate::certificate::{Certificate, prove};
use crate::engine::Rows;
use crate::error::{Error, Result};
use crate::interrupt::Interrupt;
use crate::loss::Loss;
use crate::parameter::{Parameter, Parameters};
use crate::penalty::Penalty;
use crate::plan;
use crate::problem::Problem;
use crate::risk::Risk;
use incumbent::Incumbent;

/// Why a solver ended. None of these is an error: the point found is returned with its certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stop {
    /// The relative duality gap is at most the tolerance (below p = 1, where there is none: the steps became negligible; without
    /// [`Limits::proof`]: by the solver's own estimate).
    Converged,
    /// The iteration limit came first.
    IterationLimit,
    /// No step lowers the objective any more within rounding.
    NoProgress,
    /// The watcher asked to stop (Ctrl-C, a time limit).
    Interrupted,
}

impl Stop {
    /// The name in reports and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Converged => "converged",
            Self::IterationLimit => "iteration-limit",
            Self::NoProgress => "no-progress",
            Self::Interrupted => "interrupted",
        }
    }
}

/// Where a solver stands.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Iterations done.
    pub iteration: usize,
    /// Evaluations of the loss over all rows.
    pub evaluations: usize,
    /// Lowest value of the objective so far.
    pub objective: f64,
    /// Relative duality gap, where it has been computed.
    pub relative_gap: Option<f64>,
    /// Asked in the middle of an iteration, only to know whether to go on.
    pub inner: bool,
    /// Passes over all rows so far, where these are not in memory.
    pub passes: Option<usize>,
}

impl Progress {
    /// Before the first iteration.
    pub(crate) const BEGIN: Self =
        Self { iteration: 0, evaluations: 0, objective: f64::INFINITY, relative_gap: None, inner: true, passes: None };
}

/// Called once per iteration, and in the middle of long ones every 50 ms or so, on any thread: progress bar, log, time limit, Ctrl-C. `Break`
/// stops cleanly with the best point so far; it is not asked again then.
pub type Watch<'a> = dyn FnMut(&Progress) -> ControlFlow<()> + Send + 'a;

/// The outcome of a solver.
#[derive(Clone, Debug)]
pub struct Solution {
    /// The best parameters found.
    pub theta: Vec<f64>,
    /// Proof of how good they are.
    pub certificate: Certificate,
    /// Why it ended.
    pub stop: Stop,
    /// Iterations done.
    pub iterations: usize,
    /// Evaluations of the loss over all rows.
    pub evaluations: usize,
}

impl Solution {
    /// A start that is proven as it is.
    fn at_start(theta: Vec<f64>, certificate: Certificate) -> Self {
        Self { theta, certificate, stop: Stop::Converged, iterations: 0, evaluations: 1 }
    }

    /// What every solver's outcome goes through: a point whose objective is not finite is none, and whether it has converged is what its
    /// certificate says, whatever the last steps looked like. Without a proof to follow the solver's own estimate may say so, too.
    pub(crate) fn settled(mut self, tol: f64, proof: bool) -> Result<Self> {
        self.certificate.check(self.iterations)?;
        self.stop = match self.certificate.relative_gap() {
            Some(gap) if gap <= tol => Stop::Converged,
            Some(_) if proof && self.stop == Stop::Converged => Stop::NoProgress,
            _ => self.stop,
        };
        Ok(self)
    }
}

/// When to stop, whatever the solver.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Relative duality gap at which the fit has converged.
    pub tol: f64,
    /// Most iterations (Newton steps, L-BFGS steps, Adam epochs).
    pub max_iter: usize,
    /// Seed of everything random (mini-batches).
    pub seed: u64,
    /// Whether `tol` must be proven by a lower bound. If not, Newton computes no bounds, and it and the
    /// proximal solver stop where the last step, or the promise of the next one, says that so little is left.
    pub proof: bool,
}

/// A solver by name, with its settings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "kebab-case", deny_unknown_fields)]
pub enum AnySolver {
    /// Chosen from sizes and capabilities, see [`crate::Plan`].
    #[default]
    Auto,
    /// See [`Newton`].
    Newton(Newton),
    /// See [`Lbfgs`].
    Lbfgs(Lbfgs),
    /// See [`Adam`].
    Adam(Adam),
    /// See [`Proximal`].
    Proximal(Proximal),
    /// See [`DualCoordinate`].
    Dual(DualCoordinate),
}

impl Parameters for AnySolver {
    fn parameters(&self) -> &'static [Parameter] {
        match self {
            Self::Lbfgs(it) => it.parameters(),
            Self::Adam(it) => it.parameters(),
            Self::Auto | Self::Newton(_) | Self::Proximal(_) | Self::Dual(_) => &[],
        }
    }

    fn get(&self, name: &str) -> Option<f64> {
        match self {
            Self::Lbfgs(it) => it.get(name),
            Self::Adam(it) => it.get(name),
            Self::Auto | Self::Newton(_) | Self::Proximal(_) | Self::Dual(_) => None,
        }
    }

    fn set(&mut self, name: &str, value: f64) -> bool {
        match self {
            Self::Lbfgs(it) => it.set(name, value),
            Self::Adam(it) => it.set(name, value),
            Self::Auto | Self::Newton(_) | Self::Proximal(_) | Self::Dual(_) => false,
        }
    }
}

impl AnySolver {
    /// One of each, for test tables and help texts.
    pub fn examples() -> [Self; 6] {
        let (lbfgs, adam) = (Self::Lbfgs(Lbfgs::default()), Self::Adam(Adam::default()));
        [Self::Auto, Self::Newton(Newton {}), lbfgs, adam, Self::Proximal(Proximal {}), Self::Dual(DualCoordinate {})]
    }

    /// The name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Newton(_) => "newton",
            Self::Lbfgs(_) => "lbfgs",
            Self::Adam(_) => "adam",
            Self::Proximal(_) => "proximal",
            Self::Dual(_) => "dual",
        }
    }

    /// Iteration limit where the user sets none.
    pub fn default_max_iter(&self) -> usize {
        match self {
            Self::Auto | Self::Newton(_) | Self::Proximal(_) => 500,
            Self::Lbfgs(_) => 50_000,
            Self::Adam(_) => 500,
            Self::Dual(_) => dual_coordinate::ASCENT.most_passes,
        }
    }

    /// Refuses a loss or penalty that the solver cannot minimise.
    pub fn suits(&self, loss: &dyn Loss, penalty: &dyn Penalty) -> Result<()> {
        let lasso = penalty.separable().is_some();
        let refuse = |what, instead| Err(Error::Unsuited { solver: self.name(), what, instead });
        match self {
            Self::Proximal(_) if !lasso => refuse("a penalty without absolute values of weights", "use auto"),
            Self::Auto | Self::Proximal(_) if lasso && !loss.is_smooth() => Err(Error::Unsuited {
                solver: "proximal",
                what: "a loss with a kink under absolute values of weights",
                instead: "give the hinge a delta above 0",
            }),
            Self::Newton(_) | Self::Lbfgs(_) | Self::Adam(_) | Self::Dual(_) if lasso => {
                refuse("absolute values of weights", "use proximal or auto")
            }
            _ => Ok(()),
        }
    }

    /// Minimises the risk from `start`.
    pub fn minimize(
        &self,
        risk: &Risk<'_>,
        start: Vec<f64>,
        limits: &Limits,
        watch: &mut Watch<'_>,
    ) -> Result<Solution> {
        self.suits(risk.problem.loss, risk.problem.penalty)?;
        interruptible(risk, watch, |risk, watch| match plan::solver(self, &risk.problem).pick {
            Self::Proximal(s) => s.minimize(risk, start, limits, watch),
            Self::Lbfgs(s) => s.minimize(risk, start, limits, watch),
            Self::Adam(s) => s.minimize(risk, start, limits, watch),
            Self::Dual(s) => s.minimize(risk, start, limits, watch),
            Self::Newton(s) => s.minimize(risk, start, limits, watch),
            Self::Auto => Newton {}.minimize(risk, start, limits, watch),
        })
    }
}

/// Runs a solver on a risk whose inner loops ask the watcher, too.
fn interruptible(
    risk: &Risk<'_>,
    watch: &mut Watch<'_>,
    run: impl FnOnce(&Risk<'_>, &mut Watch<'_>) -> Result<Solution>,
) -> Result<Solution> {
    if risk.problem.heed.is_some() {
        return run(risk, watch);
    }
    let interrupt = Interrupt::new(watch);
    run(&risk.clone().heeding(interrupt.heed()), &mut |at| interrupt.report(at))
}

/// The certificate of a warm start: where it proves the point, a path would be walked again for nothing. `None` for a cold one, or if the
/// fit has been interrupted.
fn certified(problem: &Problem<'_>, rows: &mut dyn Rows, start: &mut [f64]) -> Option<Certificate> {
    if start.iter().all(|t| *t == 0.0) {
        return None;
    }
    let before = start.to_vec();
    let found = prove(problem, rows, start);
    if problem.heed.is_stopped() {
        start.copy_from_slice(&before);
        return None;
    }
    Some(found)
}

/// Whether the gap of the best point holds with scores made afresh: those that were moved along with it have gathered the rounding of every
/// step. Its objective becomes that of the fresh ones.
fn confirmed(problem: &Problem<'_>, rows: &dyn Rows, best: &mut Incumbent, tol: f64) -> bool {
    let value = rows.exact_value_at(best.theta()) + problem.penalty_value(problem.penalty, best.theta());
    if problem.heed.is_stopped() {
        return false;
    }
    best.correct(value);
    best.relative_gap().is_none_or(|gap| gap <= tol)
}
