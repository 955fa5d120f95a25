//! What a dual point of one problem with the exact hinge proves.

use super::Terms;
use crate::certificate::Certificate;
use crate::features::Features;

/// The weights that belong to β = ωsα, with their objective and the bound. Rows are those of all parts, one after another.
pub(super) fn prove(
    terms: &Terms<'_>,
    lengths: &[f64],
    beta: &[f64],
    intercept: f64,
    parts: &[&Features<'_>],
    signs: &[f64],
) -> (Certificate, Vec<f64>) {
    // Moves leave rounding beyond the bounds. What is proven must be one point within them.
    let within = |((beta, s), weight): ((&f64, &f64), &f64)| s * (s * beta).clamp(0.0, *weight);
    let beta: Vec<f64> = beta.iter().zip(signs).zip(terms.weights.iter()).map(within).collect();
    let mut pulled = vec![0.0; parts.first().map_or(0, |x| x.cols())];
    let mut at = 0;
    for x in parts {
        x.t_mul_add(0..x.rows(), &beta[at..at + x.rows()], 1, &mut pulled);
        at += x.rows();
    }
    let mut theta: Vec<f64> = pulled.iter().map(|sum| 0.5 * sum / (terms.lambda + terms.epsilon)).collect();
    let mut scores = vec![intercept; signs.len()];
    let mut at = 0;
    for x in parts {
        x.mul_add(0..x.rows(), &theta, 1, &mut scores[at..at + x.rows()]);
        at += x.rows();
    }
    let rows = scores.iter().zip(signs).zip(terms.weights.iter());
    let loss: f64 = rows.map(|((z, s), weight)| weight * (1.0 - s * z).max(0.0)).sum();
    let mut loss_grad: Vec<f64> = pulled.iter().map(|sum| -sum).collect();
    if terms.intercept {
        theta.push(intercept);
        loss_grad.push(-beta.iter().sum::<f64>());
    }
    let share = |(beta, weight): (&f64, &f64)| if *weight > 0.0 { beta.abs() / weight } else { 0.0 };
    let alphas: Vec<f64> = beta.iter().zip(terms.weights.iter()).map(share).collect();
    let bound = terms.bound(&terms.dual_sums(lengths, &alphas), &loss_grad, signs.len());
    (Certificate::new(loss + terms.penalty(&theta), Some(bound)), theta)
}
