//! Plain ridge.

use serde::{Deserialize, Serialize};

use super::{Curvature, DualTerms, Penalty};
use crate::error::{Error, Result};
use crate::kernel::dot;
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

pub(super) fn check_lambda(lambda: f64) -> Result<()> {
    if lambda.is_finite() && lambda >= 0.0 {
        return Ok(());
    }
    Err(Error::param("lambda", lambda, "be a finite number of at least 0"))
}

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

    fn check(&self) -> Result<()> {
        check_lambda(self.lambda)
    }

    fn ridge(&self, _classes: usize) -> Option<f64> {
        Some(self.lambda)
    }

    fn curvature(&self, w: &[f64], classes: usize, _dual: &[f64]) -> Curvature {
        Curvature::ridge(2.0 * self.lambda, w.len() / classes, classes)
    }

    fn dual_terms(&self, _w: &[f64], _classes: usize, loss_grad: &[f64], epsilon: f64, _dual: &[f64]) -> DualTerms {
        let square = dot(loss_grad, loss_grad);
        let quadratic = if square == 0.0 { 0.0 } else { square / (4.0 * (self.lambda + epsilon)) };
        DualTerms { quadratic, ridge: self.lambda, ..DualTerms::default() }
    }
}
