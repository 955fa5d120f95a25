//! How sure an accuracy is.

use std::collections::HashMap;

/// The quantile of the normal distribution that leaves 2.5 % on either side.
const NORMAL_975: f64 = 1.959_963_984_540_054;

/// About which accuracies are compatible with what was found on rows, at 95 %: Wilson's interval for the number of rows that says as much. Rows that
/// differ in weight say less than as many equal ones, and so do rows of a group, which tend to be right or wrong together.
///
/// ```
/// use m3svm::metrics::accuracy_interval;
///
/// let right: Vec<bool> = (0..100).map(|i| i < 90).collect();
/// let (low, high) = accuracy_interval(&right, None, None);
/// assert!((low - 0.8256).abs() < 1e-4 && (high - 0.9448).abs() < 1e-4);
/// ```
pub fn accuracy_interval(right: &[bool], weights: Option<&[f64]>, groups: Option<&[u32]>) -> (f64, f64) {
    let weight = |i: usize| weights.map_or(1.0, |w| w[i]);
    // Rows that belong together are one unit: its weight, and how much of it is right.
    let mut units: Vec<(f64, f64)> = Vec::new();
    let mut known: HashMap<u32, usize> = HashMap::new();
    for (i, &right) in right.iter().enumerate() {
        let at = match groups.and_then(|g| g.get(i)) {
            Some(group) => *known.entry(*group).or_insert(units.len()),
            None => units.len(),
        };
        if at == units.len() {
            units.push((0.0, 0.0));
        }
        units[at].0 += weight(i);
        units[at].1 += if right { weight(i) } else { 0.0 };
    }
    let total: f64 = units.iter().map(|u| u.0).sum();
    if total <= 0.0 {
        return (0.0, 1.0);
    }
    let p = units.iter().map(|u| u.1).sum::<f64>() / total;
    // The variance of a quotient of sums over units, and the number of equal rows that would have it.
    let variance: f64 = units.iter().map(|(weight, right)| ((right - p * weight) / total).powi(2)).sum();
    let by_weights = 1.0 / units.iter().map(|(weight, _)| (weight / total).powi(2)).sum::<f64>();
    let n = if variance > 0.0 { (p * (1.0 - p) / variance).min(right.len() as f64) } else { by_weights };
    let z2 = NORMAL_975 * NORMAL_975;
    let middle = (p + z2 / (2.0 * n)) / (1.0 + z2 / n);
    let half = NORMAL_975 / (1.0 + z2 / n) * (p * (1.0 - p) / n + z2 / (4.0 * n * n)).sqrt();
    ((middle - half).max(0.0), (middle + half).min(1.0))
}
