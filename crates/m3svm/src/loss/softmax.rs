//! Cross-entropy of the softmax: with the pairwise penalty this is ISM3, with ridge multinomial logistic regression.

use serde::{Deserialize, Serialize};

use super::{Loss, Shape};

/// ```text
/// ℓ(z, y) = log Σₖ exp(zₖ) − z_y
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Softmax {}

/// Turns scores into probabilities in place; returns log Σ exp(z).
fn normalise(z: &mut [f64]) -> f64 {
    let top = z.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut sum = 0.0;
    for z in z.iter_mut() {
        *z = (*z - top).exp();
        sum += *z;
    }
    z.iter_mut().for_each(|z| *z /= sum);
    top + sum.ln()
}

impl Loss for Softmax {
    fn value_grad(&self, z: &[f64], y: usize, dz: &mut [f64]) -> f64 {
        dz.copy_from_slice(z);
        let log_sum = normalise(dz);
        dz[y] -= 1.0;
        (log_sum - z[y]).max(0.0)
    }

    fn hess_vec(&self, z: &[f64], y: usize, v: &[f64], out: &mut [f64]) {
        let mut q = z.to_vec();
        normalise(&mut q);
        out.fill(0.0);
        Shape::Simplex.apply(&q, y, v, out);
    }

    fn describe(&self) -> String {
        "softmax".into()
    }

    fn shape(&self) -> Shape {
        Shape::Simplex
    }

    fn curvature_rows(&self, z: &[f64], y: &[u32], _dual: &[f64], h: &mut [f64]) {
        h.copy_from_slice(z);
        h.chunks_exact_mut(z.len() / y.len().max(1)).for_each(|row| {
            normalise(row);
        });
    }

    /// The entropy of the predicted probabilities, without the cancellation of `value − ⟨dz, z⟩` at confident rows.
    fn dual_value(&self, _z: &[f64], y: usize, _value: f64, dz: &[f64]) -> f64 {
        let entropy = |q: f64| if q > 0.0 { -q * q.ln() } else { 0.0 };
        dz.iter().enumerate().map(|(k, g)| entropy(if k == y { g + 1.0 } else { *g })).sum()
    }

    fn probabilities(&self, z: &mut [f64]) -> bool {
        normalise(z);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand_and_without_overflow() {
        let mut dz = [0.0; 2];
        let value = Softmax {}.value_grad(&[0.0, 3f64.ln()], 0, &mut dz);
        assert!((value - 4f64.ln()).abs() < 1e-15 && (dz[0] + 0.75).abs() < 1e-15 && (dz[1] - 0.75).abs() < 1e-15);
        let value = Softmax {}.value_grad(&[1e4, -1e4], 0, &mut dz);
        assert_eq!((value, dz), (0.0, [0.0, 0.0]));
        let value = Softmax {}.value_grad(&[1e4, -1e4], 1, &mut dz);
        assert_eq!((value, dz), (2e4, [1.0, -1.0]));
    }
}
