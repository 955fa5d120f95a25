//! Fits of many settings on one fold, each from where its neighbour ended.

use serde::{Deserialize, Serialize};

use super::grid::Setting;
use super::search::Control;
use crate::error::Result;
use crate::metrics::Criterion;
use crate::solver::{Solution, Stop};
use crate::spec::Spec;

/// How one setting did on one fold.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// Share of the test rows (by weight) that are classified correctly.
    pub accuracy: f64,
    /// Mean −ln of the probability of the true class (by weight), where the loss defines probabilities.
    pub log_loss: Option<f64>,
    /// What the search goes by, if that is not the accuracy; more is better.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    /// Iterations of the solver.
    pub iterations: usize,
    /// Whether the fit reached its tolerance: that of the search, or of final models for what a search has chosen.
    pub converged: bool,
}

impl Score {
    /// What the search goes by; more is better.
    pub fn value(&self) -> f64 {
        self.value.unwrap_or(self.accuracy)
    }

    /// Whether a fit can have these numbers.
    pub(super) fn can_be(&self) -> bool {
        // −ln of a probability that is 1 may be rounded below 0; no fit takes billions of iterations, and sums must not overflow.
        (0.0..=1.0).contains(&self.accuracy)
            && self.log_loss.is_none_or(|loss| loss.is_finite() && loss >= -1e-9)
            && self.value.is_none_or(f64::is_finite)
            && self.iterations <= u32::MAX as usize
    }
}

/// The rows of a fold, on which settings are fitted and tested.
pub(super) trait FitsSettings {
    /// Where the first fit starts.
    fn origin(&self, spec: &Spec) -> Vec<f64>;

    /// Fits the training rows; `None` if the watcher has put an end to it.
    fn fit(&self, spec: &Spec, start: Vec<f64>, control: &Control<'_>) -> Result<Option<Solution>>;

    /// How well parameters predict the test rows: the accuracy, the log-loss where the loss defines probabilities, and what is gone by.
    fn score(&self, spec: &Spec, theta: &[f64], by: Criterion) -> Result<(f64, Option<f64>, f64)>;
}

/// Fits the settings one after the other and tests each; `None` if the watcher has put an end to it.
///
/// The order matters for speed alone: every fit reaches the same tolerance, wherever it starts. Within one p it starts at the last
/// solution, and a new p starts where the last one did.
pub(super) fn follow(
    spec: &Spec,
    fold: &impl FitsSettings,
    settings: &[Setting],
    (warm, by): (bool, Criterion),
    control: &Control<'_>,
) -> Result<Option<Vec<Score>>> {
    let mut scores = Vec::with_capacity(settings.len());
    let (mut last, mut first_of_p) = (fold.origin(spec), fold.origin(spec));
    for (number, setting) in settings.iter().enumerate() {
        // Settings of one call have one γ: features of another would be others.
        let new_p = number == 0 || setting.p != settings[number - 1].p;
        let start = match warm {
            true if new_p => first_of_p.clone(),
            true => last,
            false => fold.origin(spec),
        };
        let spec = setting.apply(spec);
        let Some(found) = fold.fit(&spec, start, control).map_err(|e| setting.blamed(e))? else { return Ok(None) };
        let (accuracy, log_loss, value) = fold.score(&spec, &found.theta, by).map_err(|e| setting.blamed(e))?;
        let converged = found.stop == Stop::Converged;
        let value = (by != Criterion::Accuracy).then_some(value);
        scores.push(Score { accuracy, log_loss, value, iterations: found.iterations, converged });
        control.finish(1);
        last = found.theta;
        if new_p {
            first_of_p.clone_from(&last);
        }
    }
    Ok(Some(scores))
}
