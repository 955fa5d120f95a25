//! The penalty of Bredensteiner and Bennett's M-SVM: squared distances of class vectors and squared lengths together.

use serde::{Deserialize, Serialize};

use super::{Curvature, DualTerms, Penalty, by_class};
use crate::certificate::pay;
use crate::parameter::{STRENGTH, parameters};
use crate::rounding::{length, of_sum};
use crate::text::plain;

/// ```text
/// R(W) = λ (Σ_{k<l} ‖wₖ − wₗ‖² + Σₖ ‖wₖ‖²) = λ ((c + 1)‖W‖² − ‖Σₖ wₖ‖²)
/// ```
///
/// At the optimum of a loss that only sees score differences the class vectors sum to zero, so it has the minimum of
/// `Ridge { lambda: (c + 1)·λ }`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PairwiseRidge {
    /// Strength, at least 0.
    pub lambda: f64,
}

impl PairwiseRidge {
    /// Calls `f(entry, (c + 1)·v − Σ v of its row)` for every entry of a d×c matrix: half the gradient without λ.
    fn each(v: &[f64], classes: usize, mut f: impl FnMut(usize, f64)) {
        for (j, row) in v.chunks_exact(classes).enumerate() {
            let sum: f64 = row.iter().sum();
            row.iter().enumerate().for_each(|(k, v)| f(j * classes + k, (classes as f64 + 1.0) * v - sum));
        }
    }
}

parameters!(PairwiseRidge {
    lambda: f64, STRENGTH.0, STRENGTH.1, STRENGTH.2;
});

impl Penalty for PairwiseRidge {
    fn value_grad(&self, w: &[f64], classes: usize, grad: &mut [f64]) -> f64 {
        self.hess_vec(w, classes, w, grad);
        self.value(w, classes)
    }

    fn value(&self, w: &[f64], classes: usize) -> f64 {
        let mut sum = 0.0;
        Self::each(w, classes, |i, v| sum += w[i] * v);
        self.lambda * sum
    }

    fn hess_vec(&self, _w: &[f64], classes: usize, v: &[f64], out: &mut [f64]) {
        Self::each(v, classes, |i, v| out[i] += 2.0 * self.lambda * v);
    }

    fn describe(&self) -> String {
        format!("squared distances and lengths of class vectors, lambda {}", plain(self.lambda))
    }

    fn ridge(&self, classes: usize) -> Option<f64> {
        Some((classes as f64 + 1.0) * self.lambda)
    }

    fn for_scorer(&self) -> Option<Box<dyn Penalty>> {
        // As for squares of lengths alone: the distance of the two columns is a second thing that is charged.
        Some(Box::new(Self { lambda: 2.0 * self.lambda }))
    }

    fn curvature(&self, w: &[f64], classes: usize, _dual: &[f64]) -> Curvature {
        let count = classes * (classes - 1) / 2;
        let mut curvature =
            Curvature::pairs(by_class(w, classes), classes, vec![2.0 * self.lambda; count], vec![0.0; count]);
        curvature.ridge = 2.0 * self.lambda;
        curvature
    }

    /// The part of the gradient that sums to zero over the classes meets (c + 1)λ, the common part only λ.
    fn dual_terms(&self, _w: &[f64], classes: usize, loss_grad: &[f64], epsilon: f64, _dual: &[f64]) -> DualTerms {
        let (mut common, mut apart) = (Vec::new(), Vec::new());
        for row in loss_grad.chunks_exact(classes) {
            let mean = row.iter().sum::<f64>() / classes as f64;
            common.push((classes as f64).sqrt() * mean);
            apart.extend(row.iter().map(|g| g - mean));
        }
        let pay = |slope: &[f64], strength: f64| pay(length(slope), 0.0, strength + epsilon);
        let quadratic = pay(&common, self.lambda) + pay(&apart, (classes as f64 + 1.0) * self.lambda);
        // The mean of a row and the distances from it are rounded.
        let rounding = of_sum(classes) * length(loss_grad);
        DualTerms { quadratic, ridge: self.lambda, rounding, ..DualTerms::default() }
    }
}
