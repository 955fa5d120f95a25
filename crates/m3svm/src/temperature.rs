//! Probabilities for losses that define none: softmax(z/T) of the scores, with one temperature T for all classes.
//!
//! T is learnt from scores of rows that the model has not been trained on. Dividing by it changes no prediction.

use crate::dataset::check_sum;
use crate::error::{Error, Result};
use crate::loss::{Loss, Softmax};

/// Range of T in units of the spread of the scores; beyond it probabilities are flat, or 0 and 1, for all purposes.
const RANGE: f64 = 1e6;
/// Imagined rows of each class. A whole one, as in Platt's scaling, makes probabilities of a few hundred rows too timid, because it says of
/// some sure predictions that they are wrong; with none, scores without a mistake would ask for T = 0.
const IMAGINED: f64 = 0.1;
/// Scores of spreads and sizes outside of this are brought to about 1 first.
const SMALL: f64 = 1e-100;
const LARGE: f64 = 1e100;
/// Steps of Newton's method where a few digits suffice, and how far one may go.
const NEWTON_STEPS: usize = 12;
const NEWTON_REACH: f64 = 8.0;
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
    let total: f64 = (0..y.len()).map(|i| weights.map_or(1.0, |w| w[i])).sum();
    let spread = scores.chunks_exact(classes).map(half_spread_of).fold(0.0, f64::max);
    if !(spread > 0.0 && total > 0.0) {
        return Ok(1.0);
    }
    if (SMALL..LARGE).contains(&spread) && total < LARGE && scores.iter().all(|z| z.abs() < LARGE) {
        return Ok(best(scores, y, classes, weights, 2.0 * spread));
    }
    // Sums and quotients would overflow or vanish. Shifts of a row change nothing; halves have no difference that overflows.
    let shifted = |z: &[f64]| {
        let top = z.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        z.iter().map(|z| (0.5 * z - 0.5 * top) / spread).collect::<Vec<f64>>()
    };
    let unit: Vec<f64> = scores.chunks_exact(classes).flat_map(shifted).collect();
    // At most 1e6 spreads of at most the largest number.
    Ok((best(&unit, y, classes, weights, 1.0) * spread * 2.0).clamp(f64::MIN_POSITIVE, f64::MAX))
}

/// softmax(z/T) of scores n×c.
pub(crate) fn tempered(mut scores: Vec<f64>, temperature: f64, classes: usize) -> Vec<f64> {
    scores.iter_mut().for_each(|z| *z /= temperature);
    scores.chunks_exact_mut(classes).for_each(|row| {
        Softmax {}.probabilities(row);
    });
    scores
}

/// The same for scores with a spread that neither overflows nor vanishes.
fn best(scores: &[f64], y: &[u32], classes: usize, weights: Option<&[f64]>, spread: f64) -> f64 {
    let weight = |i: usize| weights.map_or(1.0, |w| w[i]);
    let total: f64 = (0..y.len()).map(weight).sum();
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
    (0.5 * (low + high)).exp()
}

/// Mean −ln of the probability of the true class at the temperature that suits the scores best, to the digits that a comparison needs.
pub(crate) fn calibrated_log_loss(scores: &[f64], y: &[u32], classes: usize, weights: &[f64]) -> f64 {
    let total: f64 = weights.iter().sum();
    let spread = scores.chunks_exact(classes).map(half_spread_of).fold(0.0, f64::max);
    if !(spread > 0.0 && spread.is_finite() && total > 0.0) {
        return (classes as f64).ln();
    }
    // Newton's method on the inverse temperature, in which the loss is convex; tops are taken off, as shifts change nothing.
    let mut inverse = 1.0 / spread;
    let mut share = vec![0.0; classes];
    for _ in 0..NEWTON_STEPS {
        let (mut slope, mut bend) = (0.0, 0.0);
        for ((z, &y), w) in scores.chunks_exact(classes).zip(y).zip(weights) {
            let top = z.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let (mut sum, mut mean, mut square, mut all) = (0.0, 0.0, 0.0, 0.0);
            for (share, z) in share.iter_mut().zip(z) {
                *share = (inverse * (z - top)).exp();
                sum += *share;
                mean += *share * (z - top);
                square += *share * (z - top) * (z - top);
                all += z - top;
            }
            let target = (IMAGINED * all + total * (z[y as usize] - top)) / (total + IMAGINED * classes as f64);
            slope += w * (mean / sum - target);
            bend += w * (square / sum - (mean / sum) * (mean / sum));
        }
        // Scores and weights may be so large that their products overflow: then the temperature stays where it is.
        if !(slope.is_finite() && bend.is_finite()) {
            break;
        }
        let step = if bend > 0.0 { slope / bend } else { 0.0 };
        inverse = (inverse - step).clamp(inverse / NEWTON_REACH, inverse * NEWTON_REACH);
        if step.abs() <= 1e-3 * inverse {
            break;
        }
    }
    let loss = |((z, &y), w): ((&[f64], &u32), &f64)| {
        let top = z.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = z.iter().map(|z| (inverse * (z - top)).exp()).sum();
        w * (sum.ln() - inverse * (z[y as usize] - top))
    };
    scores.chunks_exact(classes).zip(y).zip(weights).map(loss).sum::<f64>() / total
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
    check_sum("the rows", weights)?;
    if weights.len() != y.len() {
        return Err(Error::Shape { what: "sample weights (one per row)", expected: y.len(), found: weights.len() });
    }
    match weights.iter().position(|w| !(w.is_finite() && *w >= 0.0)) {
        Some(row) => Err(Error::Weight { place: format!("row {}", row + 1), value: weights[row] }),
        None => Ok(()),
    }
}

fn half_spread_of(z: &[f64]) -> f64 {
    let (low, high) = z.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), z| (l.min(*z), h.max(*z)));
    0.5 * high - 0.5 * low
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
    fn products_that_overflow_leave_a_number() {
        for size in [1e120, 1e160, 1e300] {
            let scores = [size, 0.0, -size, 0.5 * size, 0.0, size, -size, 0.0, 0.0];
            let loss = calibrated_log_loss(&scores, &[0, 1, 2], 3, &[1e200, 1e262, 1.0]);
            assert!(loss.is_finite() && loss >= 0.0, "{size}: {loss}");
        }
    }

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
    fn scores_of_any_size_have_a_temperature_of_their_size() {
        let y = [0, 1, 2, 2];
        let once = temperature(&SCORES, &y, 3, None).unwrap();
        for size in [1e-300, 1e-150, 1e150, 1e307] {
            let scaled: Vec<f64> = SCORES.iter().map(|z| size * z).collect();
            let found = temperature(&scaled, &y, 3, None).unwrap();
            assert!((found / size / once - 1.0).abs() < 1e-9, "{size}: {found}");
        }
        // A spread that vanishes next to the scores themselves.
        let found = temperature(&[1e300, 1e300 + 1e286, 1e300, 1e300], &[1, 0], 2, None).unwrap();
        assert!(found.is_finite() && found > 0.0);
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
