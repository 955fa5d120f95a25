//! Everything that is measured where scores of rows are known, and not their classes alone.

use super::{Metrics, RankingAreas, accuracy_interval, calibration_error, log_loss};
use crate::error::Result;
use crate::model::argmax;

/// Rows with their scores, probabilities and classes.
#[derive(Clone, Copy, Debug)]
pub struct Judged<'a> {
    /// n×c.
    pub scores: &'a [f64],
    /// n×c, where there are any.
    pub probabilities: Option<&'a [f64]>,
    /// Classes by number.
    pub truth: &'a [u32],
    /// Weights of rows.
    pub weights: Option<&'a [f64]>,
    /// Numbers of rows that belong together.
    pub groups: Option<&'a [u32]>,
    /// How many classes there are.
    pub classes: usize,
}

/// How well a model does on some rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Quality {
    /// What is counted.
    pub metrics: Metrics,
    /// Accuracies that what was found is compatible with, at 95 %.
    pub interval: (f64, f64),
    /// The accuracy of always guessing the most frequent class of these rows.
    pub majority: f64,
    /// How well probabilities, or scores where there are none, rank rows.
    pub areas: RankingAreas,
    /// Mean −ln of the probability of the true class.
    pub log_loss: Option<f64>,
    /// Expected calibration error.
    pub calibration_error: Option<f64>,
}

impl Quality {
    /// Measures everything.
    pub fn new(rows: &Judged<'_>) -> Result<Self> {
        let Judged { scores, probabilities, truth, weights, groups, classes } = *rows;
        super::check_scores(scores, truth, weights, classes)?;
        let predicted: Vec<u32> = scores.chunks_exact(classes).map(argmax).collect();
        let right: Vec<bool> = predicted.iter().zip(truth).map(|(a, b)| a == b).collect();
        let metrics = Metrics::new(truth, &predicted, weights, classes)?;
        Ok(Self {
            interval: accuracy_interval(&right, weights, groups),
            majority: metrics.majority(),
            areas: RankingAreas::new(probabilities.unwrap_or(scores), truth, weights, classes)?,
            log_loss: probabilities.map(|p| log_loss(p, truth, weights, classes)).transpose()?,
            calibration_error: probabilities.map(|p| calibration_error(p, truth, weights, classes)).transpose()?,
            metrics,
        })
    }
}
