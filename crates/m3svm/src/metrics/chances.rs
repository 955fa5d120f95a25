//! How good probabilities are.

use super::check_scores;
use crate::error::Result;

/// Probabilities below this count as this: one confident mistake shall not make the log-loss infinite.
const LEAST_PROBABILITY: f64 = f64::EPSILON;
/// Bins of [`calibration_error`].
const BINS: usize = 15;

/// Mean −ln of the probability of the true class (by weight), of probabilities n×c; at most −ln 2⁻⁵² ≈ 36.
///
/// ```
/// use m3svm::metrics::log_loss;
///
/// let loss = log_loss(&[0.5, 0.5, 0.25, 0.75], &[0, 1], None, 2)?;
/// assert!((loss - (2f64.ln() + (4f64 / 3.0).ln()) / 2.0).abs() < 1e-15);
/// # Ok::<(), m3svm::Error>(())
/// ```
pub fn log_loss(probabilities: &[f64], truth: &[u32], weights: Option<&[f64]>, classes: usize) -> Result<f64> {
    check_scores(probabilities, truth, weights, classes)?;
    let (mut lost, mut total) = (0.0, 0.0);
    for (i, (row, &y)) in probabilities.chunks_exact(classes).zip(truth).enumerate() {
        let weight = weights.map_or(1.0, |w| w[i]);
        lost -= weight * row[y as usize].max(LEAST_PROBABILITY).ln();
        total += weight;
    }
    Ok(super::ratio(lost, total))
}

/// By how much the probability of the predicted class differs from how often that is right: rows are put into 15 bins of equal width by that probability,
/// and the differences of the bins averaged by their weight (the expected calibration error).
///
/// ```
/// use m3svm::metrics::calibration_error;
///
/// // Sure of itself in both rows, right in one.
/// assert_eq!(calibration_error(&[1.0, 0.0, 1.0, 0.0], &[0, 1], None, 2)?, 0.5);
/// # Ok::<(), m3svm::Error>(())
/// ```
pub fn calibration_error(probabilities: &[f64], truth: &[u32], weights: Option<&[f64]>, classes: usize) -> Result<f64> {
    check_scores(probabilities, truth, weights, classes)?;
    // Right and promised, by bin.
    let mut bins = [(0.0, 0.0); BINS];
    let mut total = 0.0;
    for (i, (row, &y)) in probabilities.chunks_exact(classes).zip(truth).enumerate() {
        let weight = weights.map_or(1.0, |w| w[i]);
        let best = crate::model::argmax(row);
        let promised = row[best as usize];
        let bin = &mut bins[((promised * BINS as f64) as usize).min(BINS - 1)];
        bin.0 += if best == y { weight } else { 0.0 };
        bin.1 += weight * promised;
        total += weight;
    }
    let off: f64 = bins.iter().map(|(right, promised)| (right - promised).abs()).sum();
    Ok(super::ratio(off, total))
}
