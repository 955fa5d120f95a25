//! What a first-order solver sees: a function of a flat vector, nothing else.

use crate::certificate::Certificate;

/// A function to minimise.
pub trait Objective: Sync {
    /// Number of parameters.
    fn dim(&self) -> usize;

    /// Number of summed terms (samples); what a mini-batch samples from.
    fn terms(&self) -> usize;

    /// Returns f(θ) and writes ∇f(θ) into `grad`.
    fn eval(&self, theta: &[f64], grad: &mut [f64]) -> f64;

    /// The unbiased estimate of [`Objective::eval`] from some of the terms.
    fn eval_rows(&self, rows: &[u32], theta: &[f64], grad: &mut [f64]) -> f64;

    /// Whether whoever waits has asked to stop. From then on what has been computed may be in pieces; only [`Objective::certify`] is whole.
    fn is_interrupted(&self) -> bool {
        false
    }

    /// Proves how good θ is; may improve parameters that are cheap to improve (the intercept) on the way. Without a bound by default.
    fn certify(&self, theta: &mut [f64]) -> Certificate {
        let mut grad = vec![0.0; theta.len()];
        Certificate { objective: self.eval(theta, &mut grad), lower_bound: None }
    }
}
