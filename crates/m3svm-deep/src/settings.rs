//! What to train and how: the options of the command line, stored with every result and checkpoint.

use anyhow::{Result, ensure};
use clap::{Args, Parser, ValueEnum};
use m3svm_burn::{Ism3LossConfig, SmoothHingeLossConfig};
use serde::{Deserialize, Serialize};

/// What a sample pays, and whether class vectors do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum LossName {
    /// Cross-entropy
    Softmax,
    /// Cross-entropy and the margin penalty
    Ism3,
    /// Smooth hinge of pairs and the margin penalty
    M3svm,
}

/// The network below the last layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum NetworkName {
    /// The paper's five convolutions
    Cnn,
    /// Three residual blocks with batch normalisation
    Resnet,
}

/// How the learning rate changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Schedule {
    /// Down to 0 along half a cosine
    Cosine,
    /// Always the same
    Constant,
}

/// Everything that decides the result of a training, apart from data and seed.
#[derive(Args, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Settings {
    /// The loss
    #[arg(long, value_enum, default_value = "ism3", help_heading = "Loss")]
    pub(crate) loss: LossName,
    /// Strength of the margin penalty, for losses averaged over samples (the linear model's lambda divided by the number of images)
    #[arg(long, default_value_t = 1e-4, help_heading = "Loss")]
    pub(crate) lambda: f64,
    /// Power of the margin penalty, at least 1
    #[arg(long, short, default_value_t = 4.0, help_heading = "Loss")]
    pub(crate) p: f64,
    /// Strength of the quadratic term on the last layer
    #[arg(long, default_value_t = 1e-6, help_heading = "Loss")]
    pub(crate) epsilon: f64,
    /// Width of the smooth hinge (m3svm)
    #[arg(long, default_value_t = 0.01, help_heading = "Loss")]
    pub(crate) delta: f64,
    /// Label smoothing (softmax and ism3), from 0 to 1
    #[arg(long, default_value_t = 0.0, help_heading = "Loss")]
    pub(crate) smoothing: f64,

    /// The network
    #[arg(long, value_enum, default_value = "cnn", help_heading = "Training")]
    pub(crate) network: NetworkName,
    /// Passes over the training images
    #[arg(long, default_value_t = 20, help_heading = "Training")]
    pub(crate) epochs: usize,
    /// Images per step
    #[arg(long, default_value_t = 128, help_heading = "Training")]
    pub(crate) batch: usize,
    /// Learning rate of Adam
    #[arg(long, default_value_t = 1e-3, help_heading = "Training")]
    pub(crate) rate: f64,
    /// How the learning rate changes
    #[arg(long, value_enum, default_value = "cosine", help_heading = "Training")]
    pub(crate) schedule: Schedule,
    /// Weight decay of all parameters (decoupled, as in AdamW)
    #[arg(long, default_value_t = 0.0, help_heading = "Training")]
    pub(crate) decay: f64,
    /// Shift every image by up to 4 pixels and mirror half of them, anew in every epoch
    #[arg(long, help_heading = "Training")]
    pub(crate) augment: bool,
    /// Share of the training images that is held out for validation
    #[arg(long, default_value_t = 0.0, help_heading = "Training")]
    pub(crate) validation: f64,
    /// Stop after so many epochs without a better validation accuracy, and keep the best weights; 0 never stops
    #[arg(long, default_value_t = 0, help_heading = "Training")]
    pub(crate) patience: usize,
}

impl Settings {
    /// Refuses settings outside their range.
    pub(crate) fn check(&self) -> Result<()> {
        self.penalty().check()?;
        self.hinge().check()?;
        ensure!((1..=100_000).contains(&self.epochs), "`epochs` must be from 1 to 100000, found {}", self.epochs);
        ensure!((1..=65_536).contains(&self.batch), "`batch` must be from 1 to 65536, found {}", self.batch);
        ensure!(self.rate.is_finite() && self.rate > 0.0, "`rate` must be greater than 0, found {}", self.rate);
        ensure!((0.0..=100.0).contains(&self.decay), "`decay` must be from 0 to 100, found {}", self.decay);
        ensure!((0.0..0.9).contains(&self.validation), "`validation` must be from 0 to 0.9, found {}", self.validation);
        ensure!(self.patience == 0 || self.validation > 0.0, "`patience` needs a part for `validation`");
        ensure!(
            self.smoothing == 0.0 || self.loss != LossName::M3svm,
            "`smoothing` is for softmax and ism3; the hinge has no labels to smooth"
        );
        Ok(())
    }

    /// The first setting in which two differ, with its value here and there.
    pub(crate) fn difference(&self, other: &Self) -> Result<Option<(String, String, String)>> {
        let [here, there] = [serde_json::to_value(self)?, serde_json::to_value(other)?];
        let plain = |value: &serde_json::Value| value.as_str().map_or_else(|| value.to_string(), String::from);
        let mut fields = here.as_object().into_iter().flatten();
        Ok(fields.find_map(|(name, value)| {
            let before = &there[name];
            (value != before).then(|| (name.clone(), plain(value), plain(before)))
        }))
    }

    /// Cross-entropy, with the penalty if the loss has one.
    pub(crate) fn penalty(&self) -> Ism3LossConfig {
        let smoothing = (self.smoothing != 0.0).then_some(self.smoothing as f32);
        Ism3LossConfig::new()
            .with_lambda(self.lambda)
            .with_p(self.p)
            .with_epsilon(self.epsilon)
            .with_smoothing(smoothing)
    }

    pub(crate) fn hinge(&self) -> SmoothHingeLossConfig {
        SmoothHingeLossConfig::new().with_delta(self.delta)
    }

    /// The learning rate of step `step` of `steps`.
    pub(crate) fn rate_at(&self, step: usize, steps: usize) -> f64 {
        match self.schedule {
            Schedule::Constant => self.rate,
            Schedule::Cosine => {
                let share = step as f64 / steps.max(1) as f64;
                self.rate * 0.5 * (1.0 + (std::f64::consts::PI * share).cos())
            }
        }
    }
}

impl Default for Settings {
    /// What the command line takes without options.
    fn default() -> Self {
        #[derive(Parser)]
        struct Line {
            #[command(flatten)]
            settings: Settings,
        }
        Line::parse_from(["settings"]).settings
    }
}

#[cfg(test)]
impl Settings {
    /// A training of seconds.
    pub(crate) fn small(loss: LossName) -> Self {
        Self { loss, epochs: 2, batch: 8, ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_outside_their_range_are_refused() {
        let good = Settings::small(LossName::Ism3);
        assert!(good.check().is_ok());
        for (bad, words) in [
            (Settings { p: 0.5, ..good.clone() }, "`p` must be at least 1"),
            (Settings { lambda: -1.0, ..good.clone() }, "`lambda` must"),
            (Settings { batch: 0, ..good.clone() }, "`batch` must"),
            (Settings { rate: f64::NAN, ..good.clone() }, "`rate` must"),
            (Settings { validation: 1.0, ..good.clone() }, "`validation` must"),
            (Settings { patience: 3, ..good.clone() }, "`patience` needs"),
            (Settings { smoothing: 2.0, ..good.clone() }, "`smoothing` must"),
            (Settings { smoothing: 0.1, loss: LossName::M3svm, ..good.clone() }, "`smoothing` is for"),
        ] {
            let message = bad.check().map_or_else(|e| e.to_string(), |()| String::new());
            assert!(message.starts_with(words), "{words}: {message}");
        }
    }

    #[test]
    fn a_cosine_goes_from_the_rate_to_nothing() {
        let settings = Settings { rate: 0.4, ..Settings::small(LossName::Ism3) };
        assert_eq!(settings.rate_at(0, 10), 0.4);
        assert!((settings.rate_at(5, 10) - 0.2).abs() < 1e-15);
        assert!(settings.rate_at(10, 10) < 1e-15);
        assert_eq!(Settings { schedule: Schedule::Constant, ..settings }.rate_at(9, 10), 0.4);
    }
}
