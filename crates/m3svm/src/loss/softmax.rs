//! Cross-entropy of the softmax: with the pairwise penalty this is ISM3, with ridge multinomial logistic regression.

use serde::{Deserialize, Serialize};

use super::{Loss, Shape};
use crate::rounding::of_sum;

/// ```text
/// ℓ(z, y) = log Σₖ exp(zₖ) − z_y
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Softmax {}

/// Turns scores into probabilities in place; returns the largest score and log Σ exp(z) − that, whose digits are kept where it is small.
fn normalise(z: &mut [f64]) -> (f64, f64) {
    let (mut first, mut top) = (0, f64::NEG_INFINITY);
    for (k, z) in z.iter().enumerate() {
        if *z > top {
            (first, top) = (k, *z);
        }
    }
    let mut others = 0.0;
    for (k, z) in z.iter_mut().enumerate() {
        *z = (*z - top).exp();
        others += if k == first { 0.0 } else { *z };
    }
    z.iter_mut().for_each(|z| *z /= 1.0 + others);
    (top, others.ln_1p())
}

/// −q ln q, and 0 where q is not above it.
pub(super) fn entropy(q: f64) -> f64 {
    if q > 0.0 { -q * q.ln() } else { 0.0 }
}

impl Loss for Softmax {
    fn value_grad(&self, z: &[f64], y: usize, dz: &mut [f64]) -> f64 {
        dz.copy_from_slice(z);
        let (top, above) = normalise(dz);
        // Not `q − 1`, which loses the digits of small slopes.
        dz[y] = 0.0;
        dz[y] = -dz.iter().sum::<f64>();
        (top - z[y]) + above
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
        let others: f64 = dz.iter().enumerate().filter(|(k, _)| *k != y).map(|(_, q)| entropy(*q)).sum();
        // What is left to the true class is rounded, which matters where it is small; there the entropy rises with it.
        let own = 1.0 + dz[y];
        others + if own < 0.25 { entropy(own - of_sum(dz.len())) } else { -own * dz[y].ln_1p() }
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
