//! Preconditioned conjugate gradients.

use super::Matrix;
use crate::kernel::{axpy, dot};

/// Most products per system; a step from a truncated solve is still a descent direction.
const MOST: usize = 250;

/// Solves `A·step = −grad` until the residual, measured by the preconditioner, has fallen by `forcing`. Returns the number of products.
pub(crate) fn solve(
    a: &Matrix<'_>,
    mut precondition: impl FnMut(&[f64], &mut [f64]),
    grad: &[f64],
    forcing: f64,
    step: &mut [f64],
    go_on: &mut dyn FnMut() -> bool,
) -> usize {
    step.fill(0.0);
    let mut residual: Vec<f64> = grad.iter().map(|g| -g).collect();
    let mut scaled = vec![0.0; grad.len()];
    let mut product = vec![0.0; grad.len()];
    precondition(&residual, &mut scaled);
    let mut direction = scaled.clone();
    let mut rho = dot(&residual, &scaled);
    let goal = rho * forcing * forcing;
    for count in 0..MOST {
        if !(rho > goal && rho > 0.0 && go_on()) {
            return count;
        }
        a.apply(&direction, &mut product);
        let bend = dot(&direction, &product);
        if bend <= 0.0 || bend.is_nan() {
            // Rounding has eaten the curvature: keep what there is, or go along the preconditioned gradient.
            if count == 0 {
                step.copy_from_slice(&scaled);
            }
            return count + 1;
        }
        let t = rho / bend;
        axpy(t, &direction, step);
        axpy(-t, &product, &mut residual);
        precondition(&residual, &mut scaled);
        let next = dot(&residual, &scaled);
        let keep = next / rho;
        rho = next;
        direction.iter_mut().zip(&scaled).for_each(|(d, s)| *d = s + keep * *d);
    }
    MOST
}
