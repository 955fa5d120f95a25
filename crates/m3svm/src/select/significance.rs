//! Whether one method is better than another on the same folds.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// Differences with a p-value below this are called clear.
pub const CLEAR: f64 = 0.05;

/// Two-sided p-value of the mean difference of paired accuracies from repeated cross-validation: Student's t with the variance of Nadeau
/// and Bengio (2003). Folds share training rows, so the plain variance is too small; theirs is `(1/m + test/train)·s²` for m
/// folds. Equal accuracies in every fold give 1.
pub fn corrected_t_test(a: &[f64], b: &[f64], test_share: f64) -> Option<f64> {
    let m = a.len();
    if m < 2 || b.len() != m || !(test_share > 0.0 && test_share < 1.0) {
        return None;
    }
    let difference: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
    let mean = difference.iter().sum::<f64>() / m as f64;
    let variance = difference.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / (m - 1) as f64;
    if variance == 0.0 {
        return Some(if mean == 0.0 { 1.0 } else { 0.0 });
    }
    let ratio = test_share / (1.0 - test_share);
    let t = mean / ((1.0 / m as f64 + ratio) * variance).sqrt();
    let student = StudentsT::new(0.0, 1.0, (m - 1) as f64).ok()?;
    Some((2.0 * student.cdf(-t.abs())).min(1.0))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        // Differences 0.01, 0.03, 0.02, 0.04, 0.00: mean 0.02, s² = 2.5e-4, t = 0.02/√(0.45·2.5e-4) = 1.885618 with 4 degrees of freedom.
        let b = [0.9, 0.9, 0.9, 0.9, 0.9];
        let a = [0.91, 0.93, 0.92, 0.94, 0.90];
        let p = corrected_t_test(&a, &b, 0.2).unwrap();
        assert!((p - 0.132_418_922).abs() < 1e-8, "{p}");
        assert_eq!(corrected_t_test(&b, &b, 0.2), Some(1.0));
        assert_eq!(corrected_t_test(&a[..1], &b[..1], 0.2), None);
    }
}
