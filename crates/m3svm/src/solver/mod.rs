//! How the objective is minimised. [`Newton`] follows the primal-dual path and [`Proximal`] finds the zeros of the lasso; both use the
//! structure of [`crate::Risk`]. [`Lbfgs`] and [`Adam`] see an [`crate::Objective`] and nothing else. Where a [`crate::Spec`] asks for
//! [`AnySolver::Auto`], exact hinges on sparse rows without an intercept are first tried by descent in the dual (`rows`, `sides`).

mod adam;
mod lbfgs;
mod line_search;
mod newton;
mod proximal;
pub(crate) mod rows;
pub(crate) mod sides;
mod system;

use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};

pub use adam::{Adam, AdamState};
pub use lbfgs::Lbfgs;
pub use newton::Newton;
pub use proximal::Proximal;
pub(crate) use system::Shared;

use crate::certificate::Certificate;
use crate::error::{Error, Result};
use crate::loss::Loss;
use crate::objective::Objective;
use crate::penalty::Penalty;
use crate::risk::Risk;

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

/// What reports call the descents in the dual that `auto` tries first where they are at their best.
pub(crate) const DESCENT: &str = "descent";

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
}

/// Called once per iteration, and in the middle of long ones: progress bar, log, time limit, Ctrl-C. `Break` stops cleanly with the best point so far.
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
    /// Chosen by a cost model, see [`AnySolver::resolve`].
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
}

impl AnySolver {
    /// One of each, for test tables and help texts.
    pub fn examples() -> [Self; 5] {
        let (lbfgs, adam) = (Self::Lbfgs(Lbfgs::default()), Self::Adam(Adam::default()));
        [Self::Auto, Self::Newton(Newton {}), lbfgs, adam, Self::Proximal(Proximal {})]
    }

    /// The name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Newton(_) => "newton",
            Self::Lbfgs(_) => "lbfgs",
            Self::Adam(_) => "adam",
            Self::Proximal(_) => "proximal",
        }
    }

    /// Refuses settings outside their range.
    pub fn check(&self) -> Result<()> {
        match self {
            Self::Auto | Self::Newton(_) | Self::Proximal(_) => Ok(()),
            Self::Lbfgs(s) => s.check(),
            Self::Adam(s) => s.check(),
        }
    }

    /// Iteration limit where the user sets none.
    pub fn default_max_iter(&self) -> usize {
        match self {
            Self::Auto | Self::Newton(_) | Self::Proximal(_) => 500,
            Self::Lbfgs(_) => 50_000,
            Self::Adam(_) => 500,
        }
    }

    /// Refuses a loss or penalty that the solver cannot minimise.
    pub fn suits(&self, loss: &dyn Loss, penalty: &dyn Penalty) -> Result<()> {
        let lasso = penalty.threshold().is_some();
        let refuse = |what, instead| Err(Error::Unsuited { solver: self.name(), what, instead });
        match self {
            Self::Proximal(_) if !lasso => refuse("a penalty other than the lasso", "use auto"),
            // What can be rounded off however finely has a kink.
            Self::Auto | Self::Proximal(_) if lasso && loss.relaxed(f64::MIN_POSITIVE).is_some() => {
                Err(Error::Unsuited {
                    solver: "proximal",
                    what: "a loss with a kink under the lasso penalty",
                    instead: "give the hinge a delta above 0",
                })
            }
            Self::Newton(_) | Self::Lbfgs(_) | Self::Adam(_) if lasso => {
                refuse("the lasso penalty", "use proximal or auto")
            }
            _ => Ok(()),
        }
    }

    /// Replaces `auto` by the solver that the cost model expects to be faster: Newton unless even its cheapest linear
    /// system costs more than the thousands of evaluations that L-BFGS takes. The lasso goes to its own solver.
    pub fn resolve(&self, risk: &Risk<'_>) -> Self {
        match self {
            Self::Auto if risk.penalty.threshold().is_some() => Self::Proximal(Proximal {}),
            Self::Auto if system::newton_is_cheaper(risk) => Self::Newton(Newton {}),
            Self::Auto => Self::Lbfgs(Lbfgs::default()),
            other => *other,
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
        self.suits(risk.loss, risk.penalty)?;
        match self.resolve(risk) {
            Self::Proximal(s) => s.minimize(risk, start, limits, watch),
            Self::Lbfgs(s) => s.minimize(risk, start, limits, watch),
            Self::Adam(s) => s.minimize(risk, start, limits, watch),
            Self::Newton(s) => s.minimize(risk, start, limits, watch),
            Self::Auto => Newton {}.minimize(risk, start, limits, watch),
        }
    }
}

/// The certificate of a warm start: where it proves the point, a path would be walked again for nothing. `None` for a cold one.
fn certified(risk: &Risk<'_>, start: &mut [f64]) -> Option<Certificate> {
    start.iter().any(|t| *t != 0.0).then(|| risk.certify(start))
}

/// Whether the gap of the best point holds with scores made afresh: those that were moved along with it have gathered the rounding of every
/// step. Its objective becomes that of the fresh ones.
fn confirmed(risk: &Risk<'_>, best: &mut Certificate, theta: &[f64], tol: f64) -> bool {
    best.objective = risk.value(theta);
    best.relative_gap().is_none_or(|gap| gap <= tol)
}
