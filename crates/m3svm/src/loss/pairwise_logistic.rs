//! Logistic loss on every class pair that contains the true class (appendix A.3 of the paper).

use serde::{Deserialize, Serialize};

use super::exponential::{exp_of_negative, ln_1p_of_share};
use super::pairs::{FAR, beyond_own, value_grad_pairs};
use super::softmax::entropy;
use super::{Loss, Shape, Softmax, classes};
use crate::linalg::vectorised;
use crate::parameter::parameters;

/// ```text
/// ℓ(z, y) = Σ_{k≠y} log(1 + exp(zₖ − z_y))
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PairwiseLogistic {}

/// log(1 + exp(t)) and its slope, for any t.
#[inline(always)]
fn softplus(t: f64) -> (f64, f64) {
    let e = exp_of_negative(-t.abs());
    // Not `max`, which would make a number of what is none.
    let (above, share) = if t > 0.0 { (t, 1.0) } else { (0.0, e) };
    (above + ln_1p_of_share(e), share / (1.0 + e))
}

parameters!(PairwiseLogistic {});

impl Loss for PairwiseLogistic {
    fn describe(&self) -> String {
        "logistic loss of pairs".into()
    }

    fn value_grad(&self, z: &[f64], y: usize, dz: &mut [f64]) -> f64 {
        let (mut value, mut sum) = (0.0, 0.0);
        for k in (0..z.len()).filter(|&k| k != y) {
            let (v, slope) = softplus(z[k] - z[y]);
            value += v;
            sum += slope;
            dz[k] = slope;
        }
        dz[y] = -sum;
        value
    }

    fn value_grad_rows(&self, z: &[f64], y: &[u32], dz: &mut [f64], values: &mut [f64]) {
        value_grad_pairs(z, y, 0.0, dz, values, softplus);
    }

    fn hess_vec(&self, z: &[f64], y: usize, v: &[f64], out: &mut [f64]) {
        let mut h = vec![0.0; z.len()];
        self.curvature_rows(z, &[y as u32], &[], &mut h);
        Shape::Star.apply_rows(&h, &[y as u32], v, out);
    }

    fn shape(&self) -> Shape {
        Shape::Star
    }

    fn curvature_rows(&self, z: &[f64], y: &[u32], _dual: &[f64], h: &mut [f64]) {
        let c = classes(z, y);
        vectorised(
            #[inline(always)]
            || {
                beyond_own(z, y, c, (0.0, FAR), h);
                for h in h.iter_mut() {
                    let e = exp_of_negative(-h.abs());
                    *h = e / ((1.0 + e) * (1.0 + e));
                }
            },
        );
    }

    /// Σ of the binary entropies.
    fn dual_value(&self, _z: &[f64], y: usize, _value: f64, dz: &[f64]) -> f64 {
        // 1 − a has lost digits where a is small, but then ln(1 − a) needs none of them.
        let rest = |a: f64| if a < 0.5 { -(1.0 - a) * (-a).ln_1p() } else { entropy(1.0 - a) };
        dz.iter().enumerate().filter(|(k, _)| *k != y).map(|(_, a)| entropy(*a) + rest(*a)).sum()
    }

    fn has_probabilities(&self) -> bool {
        true
    }

    /// P(k | k or l) = 1/(1 + exp(zₗ − zₖ)) for every pair: the one distribution that fits is the softmax of the scores.
    fn probabilities(&self, z: &mut [f64]) {
        Softmax {}.probabilities(z);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand_and_without_overflow() {
        let mut dz = [0.0; 3];
        let value = PairwiseLogistic {}.value_grad(&[0.0, 3f64.ln(), 0.0], 0, &mut dz);
        assert!((value - 4f64.ln() - 2f64.ln()).abs() < 1e-15);
        assert!((dz[1] - 0.75).abs() < 1e-15 && (dz[2] - 0.5).abs() < 1e-15 && (dz[0] + 1.25).abs() < 1e-15);
        let value = PairwiseLogistic {}.value_grad(&[-1e4, 1e4, -2e4], 0, &mut dz);
        assert_eq!((value, dz), (2e4, [-1.0, 1.0, 0.0]));
    }
}
