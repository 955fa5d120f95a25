//! Preconditioned conjugate gradients, for one system or for several whose products are made together.

use super::tuning::SYSTEM;
use crate::linalg::{axpy, dot, xpay};

/// One system on its way. The step that it improves belongs to the caller.
pub(crate) struct ConjugateGradients {
    residual: Vec<f64>,
    scaled: Vec<f64>,
    direction: Vec<f64>,
    /// ⟨r, M⁻¹r⟩.
    rho: f64,
    goal: f64,
    /// Below this `rho` is rounding.
    rounding: f64,
}

impl ConjugateGradients {
    /// Begins with a residual and what the preconditioner makes of it. The goal is for ⟨r, M⁻¹r⟩, relative to its first value.
    pub(crate) fn new(residual: Vec<f64>, scaled: Vec<f64>, goal: impl FnOnce(f64) -> f64) -> Self {
        let rho = dot(&residual, &scaled);
        Self { residual, direction: scaled.clone(), scaled, rho, goal: goal(rho), rounding: SYSTEM.rounding * rho }
    }

    /// The goal that was set.
    pub(crate) fn goal(&self) -> f64 {
        self.goal
    }

    /// ⟨r, M⁻¹r⟩.
    pub(crate) fn rho(&self) -> f64 {
        self.rho
    }

    pub(crate) fn scaled(&self) -> &[f64] {
        &self.scaled
    }

    /// Whose product with the matrix is wanted next.
    pub(crate) fn direction(&self) -> &[f64] {
        &self.direction
    }

    /// Whether the goal has been met and the residual is `small`, or rounding has ended it.
    pub(crate) fn is_done(&self, small: impl FnOnce(&[f64]) -> bool) -> bool {
        let wanted = self.rho > self.goal || (self.rho > self.rounding && !small(&self.residual));
        !(wanted && self.rho > 0.0)
    }

    /// One step, given the product of the matrix with the direction.
    pub(crate) fn advance(&mut self, product: &[f64], step: &mut [f64], precondition: impl FnOnce(&[f64], &mut [f64])) {
        let curvature = dot(&self.direction, product);
        if curvature <= 0.0 || curvature.is_nan() {
            // Rounding has eaten the curvature: keep what there is, or go along the preconditioned gradient.
            if step.iter().all(|s| *s == 0.0) {
                step.copy_from_slice(&self.scaled);
            }
            self.rho = 0.0;
            return;
        }
        let t = self.rho / curvature;
        axpy(t, &self.direction, step);
        axpy(-t, product, &mut self.residual);
        precondition(&self.residual, &mut self.scaled);
        let next = dot(&self.residual, &self.scaled);
        let keep = next / self.rho;
        self.rho = next;
        xpay(&self.scaled, keep, &mut self.direction);
    }
}

/// How a solve went.
pub(crate) struct Done {
    pub(crate) products: usize,
    /// The goal that was set.
    pub(crate) goal: f64,
}

/// Goes on from `step`, whose residual is given, until ⟨r, M⁻¹r⟩ of the residual is down to a goal that is set by its first value and
/// the residual is `small`, or after `most` products.
pub(crate) fn conjugate_gradients(
    mut multiply: impl FnMut(&[f64], &mut [f64]),
    mut precondition: impl FnMut(&[f64], &mut [f64]),
    residual: Vec<f64>,
    goal: impl Fn(f64) -> f64,
    small: impl Fn(&[f64]) -> bool,
    most: usize,
    step: &mut [f64],
    go_on: &mut dyn FnMut() -> bool,
) -> Done {
    let (mut scaled, mut product) = (vec![0.0; step.len()], vec![0.0; step.len()]);
    precondition(&residual, &mut scaled);
    let mut system = ConjugateGradients::new(residual, scaled, goal);
    let mut products = 0;
    while products < most && !system.is_done(&small) && go_on() {
        multiply(system.direction(), &mut product);
        products += 1;
        system.advance(&product, step, &mut precondition);
    }
    Done { products, goal: system.goal() }
}
