//! Dropping settings that have no chance any more.
//!
//! Given the data, folds of further repeats are further draws from the same distribution of splits. A setting is dropped if a paired t-test
//! over the folds so far says that more of them will not bring its mean near to the best one. "Near" is one standard
//! error, so that the setting which the one-standard-error rule will choose also survives.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// Probability of an error in one comparison.
const LEVEL: f64 = 1e-2;

/// Which of the settings are to be dropped, given their accuracies on the same folds. `row`: how much one test row counts in an accuracy.
pub(super) fn hopeless(accuracies: &[Vec<f64>], row: f64) -> Vec<bool> {
    let none = vec![false; accuracies.len()];
    let Some(best) = (0..accuracies.len()).max_by(|&a, &b| mean(&accuracies[a]).total_cmp(&mean(&accuracies[b])))
    else {
        return none;
    };
    let folds = accuracies[best].len();
    let Some(quantile) = quantile(folds) else { return none };
    let near = deviation(&accuracies[best]) / (folds as f64).sqrt();
    let behind = |accuracies: &Vec<f64>, other: &[f64]| {
        let gaps: Vec<f64> = other.iter().zip(accuracies).map(|(a, b)| a - b).collect();
        // A few folds can agree by chance; they never know more than a row each.
        let error = deviation(&gaps).max(row) / (folds as f64).sqrt();
        mean(&gaps) - near > quantile * error
    };
    accuracies.iter().map(|own| behind(own, &accuracies[best])).collect()
}

/// The value that Student's t of so many folds exceeds with probability [`LEVEL`]; `None` for fewer than two.
fn quantile(folds: usize) -> Option<f64> {
    let t = StudentsT::new(0.0, 1.0, folds.checked_sub(1).filter(|f| *f > 0)? as f64).ok()?;
    Some(t.inverse_cdf(1.0 - LEVEL))
}

pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Standard deviation of a sample; 0 for fewer than two values.
pub(super) fn deviation(values: &[f64]) -> f64 {
    if values.len() < 2 {
        return 0.0;
    }
    let mean = mean(values);
    let square: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    (square / (values.len() - 1) as f64).sqrt()
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_tables() {
        assert_eq!(quantile(1), None);
        for (folds, expected) in [(2, 31.821), (5, 3.747), (10, 2.821), (50, 2.405)] {
            assert!((quantile(folds).unwrap() - expected).abs() < 1e-3 * expected, "{folds}");
        }
    }

    #[test]
    fn only_clear_losers_are_dropped() {
        let best = vec![0.90, 0.92, 0.91, 0.90, 0.92];
        let noisy = vec![0.80, 0.95, 0.70, 0.94, 0.80];
        let steady = best.iter().map(|a| a - 0.1).collect();
        // Within one standard error of the best (0.0045), however steadily.
        let near = best.iter().map(|a| a - 0.004).collect();
        assert_eq!(hopeless(&[noisy, best, steady, near], 0.005), [false, false, true, false]);
        // All agree that it is worse by one row: that is too little to know.
        let a_row_less = vec![0.49; 5];
        assert_eq!(hopeless(&[vec![0.5; 5], a_row_less], 0.01), [false, false]);
        assert_eq!(hopeless(&[vec![0.9], vec![0.1]], 0.01), [false, false]);
        assert_eq!(hopeless(&[], 0.01), [false; 0]);
    }
}
