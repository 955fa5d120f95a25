//! Primal-dual Newton with continuation in the smoothing.
//!
//! The hinge (and the kink of the penalty below p = 2) is first rounded off widely and then ever less: the central path of an
//! interior-point method. One dual number per (sample, wrong class) keeps the curvature honest when the rounding becomes
//! tiny, so 15 to 45 steps suffice at any δ where plain Newton stalls.
//!
//! `path.rs` says what is known at a point and what it proves, `step.rs` how to get to the next one.

mod path;
mod step;
mod tuning;

use serde::{Deserialize, Serialize};

use super::driver::drive;
use super::path_tuning::PATH;
use super::{Limits, Solution, Watch, certified};
use crate::engine::{InMemory, Rows};
use crate::error::Result;
use crate::plan::SystemPlan;
use crate::problem::Problem;
use crate::risk::Risk;
use path::Path;
use tuning::NEWTON;

/// The default solver. It has nothing to set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Newton {}

impl Newton {
    /// Minimises from `start`.
    pub fn minimize(
        &self,
        risk: &Risk<'_>,
        start: Vec<f64>,
        limits: &Limits,
        watch: &mut Watch<'_>,
    ) -> Result<Solution> {
        super::interruptible(risk, watch, |risk, watch| {
            let mut rows = InMemory::new(risk);
            let system = SystemPlan::of(&risk.problem, &rows.sizes());
            self.walk(&risk.problem, &mut rows, system, start, limits, watch)
        })
    }

    /// The same over rows wherever they are, with systems solved as is planned.
    pub(crate) fn walk(
        &self,
        problem: &Problem<'_>,
        rows: &mut dyn Rows,
        system: SystemPlan,
        mut start: Vec<f64>,
        limits: &Limits,
        watch: &mut Watch<'_>,
    ) -> Result<Solution> {
        let warm = start.iter().any(|t| *t != 0.0);
        let mut little = PATH.little;
        if limits.proof
            && let Some(certificate) = certified(problem, rows, &mut start)
            && let Some(gap) = certificate.relative_gap()
        {
            if gap <= limits.tol {
                return Ok(Solution::at_start(start, certificate));
            }
            little = if gap < NEWTON.vain { little.min(gap) } else { f64::INFINITY };
        }
        let mut path = Path::new(problem, rows, system, start, limits);
        if warm {
            path.join(little);
        }
        drive(path, limits, watch)
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests;
