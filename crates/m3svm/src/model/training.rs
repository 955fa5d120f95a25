//! How a model came about.

use serde::{Deserialize, Serialize};

use crate::select::LambdaChoice;
use crate::solver::Stop;

/// How a model came about. The time that it took makes no difference between two of them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Training {
    /// Rows it was trained on.
    pub rows: usize,
    /// Problems that were solved: 1, or one per scorer for one-vs-rest and one-vs-one.
    #[serde(default = "one")]
    pub problems: usize,
    /// The solver that ran (never `auto`).
    pub solver: String,
    /// Why the solver ended.
    pub stop: Stop,
    /// Iterations of the solver.
    pub iterations: usize,
    /// Evaluations of the loss over all rows.
    pub evaluations: usize,
    /// How often all rows were read, where they did not fit into memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passes: Option<usize>,
    /// How λ was chosen, where nobody had set it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lambda: Option<LambdaChoice>,
    /// Wall time of the fit, scaling included; `None` for models from files, where it is left out: equal fits give equal files.
    #[serde(default, skip_serializing)]
    pub seconds: Option<f64>,
}

impl PartialEq for Training {
    fn eq(&self, other: &Self) -> bool {
        let all =
            |Self { rows, problems, solver, stop, iterations, evaluations, passes, lambda, seconds: _ }: &Self| {
                (*rows, *problems, solver.clone(), *stop, *iterations, *evaluations, *passes, lambda.clone())
            };
        all(self) == all(other)
    }
}

/// Model files that do not say so come from one problem.
fn one() -> usize {
    1
}
