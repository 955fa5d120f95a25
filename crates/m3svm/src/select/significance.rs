//! Whether one method is better than another: on the same folds, and over several data sets.

use statrs::distribution::{ChiSquared, ContinuousCDF, StudentsT};

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

/// Accuracies closer than this are equal: means of the same numbers differ by their rounding.
const EQUAL: f64 = 1e-12;

/// Methods compared by their ranks on several data sets, as Demšar (2006) recommends.
#[derive(Clone, Debug, PartialEq)]
pub struct Friedman {
    /// Mean rank of every method, 1 for the best; equal accuracies share the mean of their ranks.
    pub average_ranks: Vec<f64>,
    /// How likely ranks that differ so much are if all methods are equally good (χ² with the correction for ties).
    pub p_value: f64,
}

/// The Friedman test of accuracies by data set and method. `None` without two sets and two methods, or where the sets do not
/// have the same number of methods.
pub fn friedman(accuracies: &[Vec<f64>]) -> Option<Friedman> {
    let (n, k) = (accuracies.len(), accuracies.first()?.len());
    if n < 2 || k < 2 || accuracies.iter().any(|set| set.len() != k) {
        return None;
    }
    let mut average_ranks = vec![0.0; k];
    let mut ties = 0.0;
    for set in accuracies {
        for (rank, own) in average_ranks.iter_mut().zip(set) {
            let better = set.iter().filter(|other| **other > own + EQUAL).count() as f64;
            let equal = set.iter().filter(|other| (**other - own).abs() <= EQUAL).count() as f64;
            *rank += (better + (equal + 1.0) / 2.0) / n as f64;
            // Summed over the members of a group of t equals: t³ − t.
            ties += equal * equal - 1.0;
        }
    }
    let (sets, methods) = (n as f64, k as f64);
    let spread: f64 = average_ranks.iter().map(|rank| (rank - (methods + 1.0) / 2.0).powi(2)).sum();
    let untied = 1.0 - ties / (sets * methods * (methods * methods - 1.0));
    let statistic = if untied > 0.0 { 12.0 * sets / (methods * (methods + 1.0)) * spread / untied } else { 0.0 };
    let p_value = ChiSquared::new(methods - 1.0).ok()?.sf(statistic);
    Some(Friedman { average_ranks, p_value })
}

/// P-values of several comparisons, each corrected for the number of them by Holm's method: what stays below a level there is clear
/// though it was looked for in many places.
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|&a, &b| p_values[a].total_cmp(&p_values[b]));
    let mut corrected = vec![0.0; p_values.len()];
    let mut largest = 0.0f64;
    for (position, &i) in order.iter().enumerate() {
        largest = largest.max((p_values.len() - position) as f64 * p_values[i]).min(1.0);
        corrected[i] = largest;
    }
    corrected
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn ranks_share_ties_and_the_test_corrects_for_them() {
        // Ranks by hand: (1, 2.5, 2.5), (1, 2, 3), (1.5, 1.5, 3), (2, 1, 3). Σ (rank sum − 8)² = 2.5² + 1² + 3.5², so the plain statistic is
        // 12/(4·3·4)·19.5 = 4.875; two pairs of equals divide it by 1 − 12/96. With 2 degrees of freedom p = exp(−statistic/2).
        let sets = [vec![0.9, 0.8, 0.8], vec![0.9, 0.8, 0.7], vec![0.9, 0.9, 0.8], vec![0.8, 0.9, 0.7]];
        let found = friedman(&sets).unwrap();
        assert_eq!(found.average_ranks, [1.375, 1.75, 2.875]);
        let statistic = 4.875 / (1.0 - 12.0 / 96.0);
        assert!((found.p_value - f64::exp(-statistic / 2.0)).abs() < 1e-12, "{found:?}");
    }

    #[test]
    fn methods_that_are_all_alike_are_not_told_apart() {
        let found = friedman(&[vec![0.5; 3], vec![0.7; 3]]).unwrap();
        assert_eq!(found, Friedman { average_ranks: vec![2.0; 3], p_value: 1.0 });
        assert_eq!(friedman(&[vec![0.5, 0.6]]), None);
        assert_eq!(friedman(&[vec![0.5, 0.6], vec![0.5]]), None);
    }

    #[test]
    fn holm_multiplies_the_smallest_by_all_and_keeps_the_order() {
        let corrected = holm(&[0.04, 0.01, 0.03, 0.9]);
        let expected = [0.09, 0.04, 0.09, 0.9];
        assert!(corrected.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{corrected:?}");
        assert_eq!(holm(&[0.6, 0.7]), [1.0, 1.0]);
    }

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
