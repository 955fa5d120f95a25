//! What settings are chosen by.

use serde::{Deserialize, Serialize};

use super::{Metrics, log_loss, top_k_accuracy};
use crate::error::Result;
use crate::temperature::{temperature, tempered};

/// What a search or a comparison goes by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Criterion {
    /// The share of rows that are classified correctly.
    #[default]
    Accuracy,
    /// The mean over classes of the share of their rows that are found: rare classes count as much as frequent ones.
    Balanced,
    /// The mean of F1 over classes.
    MacroF1,
    /// The mean −ln of the probability of the true class, of which less is better. Where the loss defines no probabilities, they are those of
    /// the temperature that suits the rows best.
    LogLoss,
}

impl Criterion {
    /// All there are.
    pub const ALL: [Self; 4] = [Self::Accuracy, Self::Balanced, Self::MacroF1, Self::LogLoss];

    /// The name, as it is typed.
    pub fn name(self) -> &'static str {
        match self {
            Self::Accuracy => "accuracy",
            Self::Balanced => "balanced",
            Self::MacroF1 => "macro-f1",
            Self::LogLoss => "log-loss",
        }
    }

    /// What it measures, in words.
    pub fn title(self) -> &'static str {
        match self {
            Self::Accuracy => "accuracy",
            Self::Balanced => "balanced accuracy",
            Self::MacroF1 => "macro F1",
            Self::LogLoss => "log-loss",
        }
    }

    /// Whether it is a share, between 0 and 1.
    pub fn is_share(self) -> bool {
        self != Self::LogLoss
    }

    /// A value as people read it: shares in per cent, a log-loss without its sign.
    pub fn readable(self, value: f64) -> f64 {
        if self.is_share() { 100.0 * value } else { -value }
    }

    /// The unit of that, for the title of a column or an axis.
    pub fn titled(self) -> String {
        if self.is_share() { format!("{} in %", self.title()) } else { self.title().into() }
    }

    /// A mean with a standard deviation.
    pub fn spread(self, mean: f64, sd: f64) -> String {
        match self.is_share() {
            true => format!("{:.2} % ± {:.2}", 100.0 * mean, 100.0 * sd),
            false => format!("{:.4} ± {:.4}", -mean, sd),
        }
    }

    /// The value of scores (n×c) of rows, and of their probabilities if the loss defines any; more is better, so a log-loss is negative.
    pub fn of(
        self,
        scores: &[f64],
        probabilities: Option<&[f64]>,
        truth: &[u32],
        weights: Option<&[f64]>,
        classes: usize,
    ) -> Result<f64> {
        if self == Self::LogLoss {
            return Ok(-match probabilities {
                Some(known) => log_loss(known, truth, weights, classes)?,
                None => {
                    let t = temperature(scores, truth, classes, weights)?;
                    log_loss(&tempered(scores.to_vec(), t, classes), truth, weights, classes)?
                }
            });
        }
        if self == Self::Accuracy {
            return top_k_accuracy(scores, truth, weights, classes, 1);
        }
        super::check_scores(scores, truth, weights, classes)?;
        let predicted: Vec<u32> = scores.chunks_exact(classes).map(crate::model::argmax).collect();
        let metrics = Metrics::new(truth, &predicted, weights, classes)?;
        Ok(match self {
            Self::MacroF1 => metrics.macro_average.f1,
            _ => metrics.balanced_accuracy(),
        })
    }
}
