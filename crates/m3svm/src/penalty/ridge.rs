//! Plain ridge.

use serde::{Deserialize, Serialize};

use super::{Curvature, DualTerms, Penalty};
use crate::certificate::pay;
use crate::linalg::dot;
use crate::parameter::{STRENGTH, parameters};
use crate::rounding::length;
use crate::text::plain;

/// ```text
/// R(W) = λ Σₖ ‖wₖ‖²
/// ```
///
/// By Theorem 5 of the paper `Ridge { lambda: c·λ }` has the same minimum as the pairwise penalty with p = 2 and λ.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ridge {
    /// Strength, at least 0.
    pub lambda: f64,
}

parameters!(Ridge {
    lambda: f64, STRENGTH.0, STRENGTH.1, STRENGTH.2;
});

impl Penalty for Ridge {
    fn value_grad(&self, w: &[f64], classes: usize, grad: &mut [f64]) -> f64 {
        grad.iter_mut().zip(w).for_each(|(g, w)| *g += 2.0 * self.lambda * w);
        self.value(w, classes)
    }

    fn value(&self, w: &[f64], _classes: usize) -> f64 {
        self.lambda * dot(w, w)
    }

    fn hess_vec(&self, _w: &[f64], _classes: usize, v: &[f64], out: &mut [f64]) {
        out.iter_mut().zip(v).for_each(|(o, v)| *o += 2.0 * self.lambda * v);
    }

    fn describe(&self) -> String {
        format!("ridge, lambda {}", plain(self.lambda))
    }

    fn ridge(&self, _classes: usize) -> Option<f64> {
        Some(self.lambda)
    }

    fn for_scorer(&self) -> Option<Box<dyn Penalty>> {
        // The columns ±w/2 have half the square of w.
        Some(Box::new(Self { lambda: 2.0 * self.lambda }))
    }

    fn curvature(&self, w: &[f64], classes: usize, _dual: &[f64]) -> Curvature {
        Curvature::ridge(2.0 * self.lambda, w.len() / classes, classes)
    }

    fn dual_terms(&self, _w: &[f64], _classes: usize, loss_grad: &[f64], epsilon: f64, _dual: &[f64]) -> DualTerms {
        let quadratic = pay(length(loss_grad), 0.0, self.lambda + epsilon);
        DualTerms { quadratic, ridge: self.lambda, ..DualTerms::default() }
    }
}
