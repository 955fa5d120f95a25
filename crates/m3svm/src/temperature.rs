//! Probabilities for losses that define none: softmax(z/T) of the scores, with one temperature T for all classes.
//!
//! T is learnt from scores of rows that the model has not been trained on. Dividing by it changes no prediction.

use crate::error::{Error, Result};

/// Range of T in units of the spread of the scores; beyond it probabilities are flat, or 0 and 1, for all purposes.
const RANGE: f64 = 1e6;
/// Imagined rows of each class. A whole one, as in Platt's scaling, makes probabilities of a few hundred rows too timid, because it says of
/// some sure predictions that they are wrong; with none, scores without a mistake would ask for T = 0.
const IMAGINED: f64 = 0.1;
/// Halvings of log T: enough for all digits of f64.
const HALVINGS: usize = 60;

/// The T > 0 at which softmax(z/T) gives known classes the highest likelihood.
///
/// ```text
/// max over T of   Σᵢ ωᵢ Σₖ tᵢₖ log softmax(zᵢ/T)ₖ,      tᵢₖ = (a + N·[k = yᵢ])/(N + a·c),   N = Σᵢ ωᵢ,   a = 0.1
/// ```
///
/// The targets t are the classes with a tenth of an imagined row of each class spread over all rows: without them, scores
/// that are all on the right side would ask for T = 0. Scores are n×c row-major.
pub fn temperature(scores: &[f64], y: &[u32], classes: usize, weights: Option<&[f64]>) -> Result<f64> {
    check(scores, y, classes, weights)?;
    let weight = |i: usize| weights.map_or(1.0, |w| w[i]);
    let total: f64 = (0..y.len()).map(weight).sum();
    let spread = scores.chunks_exact(classes).map(spread_of).fold(0.0, f64::max);
    if !(spread > 0.0 && total > 0.0) {
        return Ok(1.0);
    }
    // The likelihood is concave in 1/T; this is minus its slope there. It rises with 1/T.
    let slope = |t: f64| -> f64 {
        let rows = scores.chunks_exact(classes).zip(y).enumerate();
        rows.map(|(i, (z, &y))| {
            let sum: f64 = z.iter().sum();
            let target = (IMAGINED * sum + total * z[y as usize]) / (total + IMAGINED * classes as f64);
            weight(i) * (expectation(z, t) - target)
        })
        .sum()
    };
    let (mut low, mut high) = ((spread / RANGE).ln(), (spread * RANGE).ln());
    for _ in 0..HALVINGS {
        let middle = 0.5 * (low + high);
        if slope(middle.exp()) > 0.0 { low = middle } else { high = middle }
    }
    Ok((0.5 * (low + high)).exp())
}

fn check(scores: &[f64], y: &[u32], classes: usize, weights: Option<&[f64]>) -> Result<()> {
    let expected = y.len().saturating_mul(classes);
    if scores.len() != expected || classes == 0 {
        return Err(Error::Shape { what: "scores (rows times classes)", expected, found: scores.len() });
    }
    if let Some(i) = scores.iter().position(|z| !z.is_finite()) {
        return Err(Error::NotFinite { row: i / classes, column: i % classes, value: scores[i].to_string() });
    }
    if let Some(row) = y.iter().position(|k| *k as usize >= classes) {
        return Err(Error::UnknownClass { row, label: y[row].to_string(), known: classes });
    }
    let Some(weights) = weights else { return Ok(()) };
    if weights.len() != y.len() {
        return Err(Error::Shape { what: "sample weights (one per row)", expected: y.len(), found: weights.len() });
    }
    match weights.iter().position(|w| !(w.is_finite() && *w >= 0.0)) {
        Some(row) => Err(Error::Weight { place: format!("row {}", row + 1), value: weights[row] }),
        None => Ok(()),
    }
}

fn spread_of(z: &[f64]) -> f64 {
    let (low, high) = z.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), z| (l.min(*z), h.max(*z)));
    high - low
}

/// The mean of z under softmax(z/T).
fn expectation(z: &[f64], t: f64) -> f64 {
    let top = z.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let (mut sum, mut mean) = (0.0, 0.0);
    for z in z {
        let share = ((z - top) / t).exp();
        sum += share;
        mean += share * z;
    }
    mean / sum
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    /// Minus the likelihood, written down anew.
    fn cost(scores: &[f64], y: &[u32], weights: &[f64], t: f64) -> f64 {
        let total: f64 = weights.iter().sum();
        let rows = scores.chunks_exact(3).zip(y).zip(weights);
        rows.map(|((z, &y), w)| {
            let log_sum = z.iter().map(|z| (z / t).exp()).sum::<f64>().ln();
            let logs = z.iter().enumerate().map(|(k, z)| {
                let target = (0.1 + if k == y as usize { total } else { 0.0 }) / (total + 0.3);
                target * (log_sum - z / t)
            });
            w * logs.sum::<f64>()
        })
        .sum()
    }

    const SCORES: [f64; 12] = [2.0, 1.0, -1.0, 0.3, 0.9, 0.1, -0.5, 0.2, 0.1, 1.5, -2.0, 1.4];

    #[test]
    fn no_other_temperature_is_more_likely() {
        for (y, weights) in [([0, 1, 2, 2], [1.0; 4]), ([0, 1, 1, 0], [1.0; 4]), ([0, 0, 2, 2], [0.5, 3.0, 0.0, 2.0])] {
            let found = temperature(&SCORES, &y, 3, Some(&weights)).unwrap();
            let best = cost(&SCORES, &y, &weights, found);
            for factor in [0.5, 0.9, 0.999, 1.001, 1.1, 2.0] {
                assert!(best < cost(&SCORES, &y, &weights, factor * found), "{y:?}: {found} times {factor}");
            }
        }
    }

    #[test]
    fn it_scales_with_the_scores_and_counts_weights_as_repetition() {
        let y = [0, 1, 2, 2];
        let once = temperature(&SCORES, &y, 3, None).unwrap();
        let tenfold: Vec<f64> = SCORES.iter().map(|z| 10.0 * z).collect();
        assert!((temperature(&tenfold, &y, 3, None).unwrap() / once - 10.0).abs() < 1e-9);
        let weighted = temperature(&SCORES, &y, 3, Some(&[2.0; 4])).unwrap();
        let repeated = temperature(&[SCORES, SCORES].concat(), &[y, y].concat(), 3, None).unwrap();
        assert!((weighted / repeated - 1.0).abs() < 1e-9);
    }

    #[test]
    fn scores_without_information_and_broken_ones_do_no_harm() {
        assert_eq!(temperature(&[0.5; 6], &[0, 1], 3, None).unwrap(), 1.0);
        // Always wrong: probabilities become flat.
        assert!(temperature(&[1.0, 0.0, 0.0, 1.0], &[1, 0], 2, None).unwrap() > 1e5);
        assert!(temperature(&[1.0, f64::NAN], &[0], 2, None).is_err());
        assert!(temperature(&[1.0, 0.0], &[2], 2, None).is_err());
        assert!(temperature(&[1.0, 0.0], &[0], 3, None).is_err());
        assert!(temperature(&[1.0, 0.0], &[0], 2, Some(&[-1.0])).is_err());
    }
}
