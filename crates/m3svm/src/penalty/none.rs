//! No penalty.

use serde::{Deserialize, Serialize};

use super::{Curvature, DualTerms, Penalty, Ridge};
use crate::parameter::parameters;

/// R(W) = 0: only the ε-term keeps the weights finite.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoPenalty {}

parameters!(NoPenalty {});

impl Penalty for NoPenalty {
    fn describe(&self) -> String {
        "none".into()
    }

    fn value_grad(&self, _w: &[f64], _classes: usize, _grad: &mut [f64]) -> f64 {
        0.0
    }

    fn value(&self, _w: &[f64], _classes: usize) -> f64 {
        0.0
    }

    fn hess_vec(&self, _w: &[f64], _classes: usize, _v: &[f64], _out: &mut [f64]) {}

    fn for_scorer(&self) -> Option<Box<dyn Penalty>> {
        Some(Box::new(*self))
    }

    fn curvature(&self, w: &[f64], classes: usize, _dual: &[f64]) -> Curvature {
        Curvature::ridge(0.0, w.len() / classes, classes)
    }

    fn dual_terms(&self, w: &[f64], classes: usize, loss_grad: &[f64], epsilon: f64, dual: &[f64]) -> DualTerms {
        Ridge { lambda: 0.0 }.dual_terms(w, classes, loss_grad, epsilon, dual)
    }
}
