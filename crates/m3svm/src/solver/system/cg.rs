//! Preconditioned conjugate gradients.

use crate::kernel::{axpy, dot, xpay};

/// Most products per solve; a step from a truncated solve is still a descent direction.
const MOST: usize = 250;

/// How a solve went.
pub(crate) struct Done {
    pub(crate) products: usize,
    /// The goal that was set.
    pub(crate) goal: f64,
}

/// Relative to its first value, ⟨r, M⁻¹r⟩ is rounding below this.
pub(crate) const ROUNDING: f64 = 1e-18;

/// Goes on from `step`, whose residual is given, until ⟨r, M⁻¹r⟩ of the residual is down to a goal that is set by its first value and
/// the residual is `small`.
pub(crate) fn solve(
    mut multiply: impl FnMut(&[f64], &mut [f64]),
    mut precondition: impl FnMut(&[f64], &mut [f64]),
    mut residual: Vec<f64>,
    goal: impl Fn(f64) -> f64,
    small: impl Fn(&[f64]) -> bool,
    step: &mut [f64],
    go_on: &mut dyn FnMut() -> bool,
) -> Done {
    let mut scaled = vec![0.0; step.len()];
    let mut product = vec![0.0; step.len()];
    precondition(&residual, &mut scaled);
    let mut direction = scaled.clone();
    let mut rho = dot(&residual, &scaled);
    let (goal, rounding) = (goal(rho), ROUNDING * rho);
    for count in 0..MOST {
        let wanted = rho > goal || (rho > rounding && !small(&residual));
        if !(wanted && rho > 0.0 && go_on()) {
            return Done { products: count, goal };
        }
        multiply(&direction, &mut product);
        let bend = dot(&direction, &product);
        if bend <= 0.0 || bend.is_nan() {
            // Rounding has eaten the curvature: keep what there is, or go along the preconditioned gradient.
            if step.iter().all(|s| *s == 0.0) {
                step.copy_from_slice(&scaled);
            }
            return Done { products: count + 1, goal };
        }
        let t = rho / bend;
        axpy(t, &direction, step);
        axpy(-t, &product, &mut residual);
        precondition(&residual, &mut scaled);
        let next = dot(&residual, &scaled);
        let keep = next / rho;
        rho = next;
        xpay(&scaled, keep, &mut direction);
    }
    Done { products: MOST, goal }
}
