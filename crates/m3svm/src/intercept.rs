//! The intercept alone: a c-dimensional Newton over given scores, without a product with X.
//!
//! The lower bound pays ‖∂F/∂b‖²/(4ε) for what is left of the gradient in b. With ε = 1e-6 that drowns a point that is optimal to
//! twelve digits, so b is made exact before a bound is computed.

use crate::engine::{Rows, Shifted};
use crate::interrupt::Heed;
use crate::linalg::dot;
use crate::problem::Problem;

/// Moves the intercept to its optimum for the current weights, in `theta` and in the scores of all rows, until a bound pays at most
/// `enough` for what is left of its gradient, or rounding ends it.
pub(crate) fn polish(problem: &Problem<'_>, rows: &mut dyn Rows, enough: f64, theta: &mut [f64]) {
    let (c, m, epsilon) = (problem.classes, problem.weights_len(), problem.epsilon);
    if !problem.intercept || !problem.loss.shift_invariant() {
        return;
    }
    let objective = |b: &[f64], at: &Shifted| at.value + epsilon * dot(b, b);
    let mut b = theta[m..].to_vec();
    let mut shift = vec![0.0; c];
    let mut at = rows.shifted(&shift);
    for _ in 0..30 {
        if problem.heed.is_stopped() {
            break;
        }
        let grad: Vec<f64> = at.grad.iter().zip(&b).map(|(g, b)| g + 2.0 * epsilon * b).collect();
        if dot(&grad, &grad) <= 4.0 * epsilon * enough {
            break;
        }
        let hess = laplacian(&rows.shifted_curvature(&shift), c);
        let Some(step) = centred_newton(&hess, &grad, 2.0 * epsilon, problem.heed) else { break };
        let decrement = -dot(&grad, &step);
        let value = objective(&b, &at);
        let excess = decrement - 1e-18 * value;
        if excess <= 0.0 || excess.is_nan() {
            break;
        }
        let mut t = 1.0;
        let accepted = loop {
            let next_b: Vec<f64> = b.iter().zip(&step).map(|(b, s)| b + t * s).collect();
            let next_shift: Vec<f64> = shift.iter().zip(&step).map(|(b, s)| b + t * s).collect();
            let next = rows.shifted(&next_shift);
            if objective(&next_b, &next) <= value - 1e-4 * t * decrement {
                break Some((next_b, next_shift, next));
            }
            t *= 0.3;
            if t < 1e-4 {
                break None;
            }
        };
        let Some(next) = accepted else { break };
        (b, shift, at) = next;
    }
    if problem.heed.is_stopped() {
        return;
    }
    theta[m..].copy_from_slice(&b);
    rows.shift(&shift);
}

/// The Laplacian of pair weights: lower triangle and diagonal.
fn laplacian(pairs: &[f64], c: usize) -> Vec<f64> {
    let mut hess = vec![0.0; c * c];
    crate::penalty::pairs(c, |_, k, l| {
        let w = pairs[k * c + l] + pairs[l * c + k];
        hess[k * c + k] += w;
        hess[l * c + l] += w;
        hess[l * c + k] -= w;
    });
    hess
}

/// −(H + ridge)⁻¹g on the centred subspace, by Cholesky without the last class; `None` if rounding has made H indefinite, or the fit is
/// interrupted.
fn centred_newton(hess: &[f64], grad: &[f64], ridge: f64, heed: Heed<'_>) -> Option<Vec<f64>> {
    // Rows of the factor: few classes are done before that.
    const ASK_EVERY: usize = 32;
    let c = grad.len();
    let n = c - 1;
    let mut l = vec![0.0; n * n];
    for i in 0..n {
        if i % ASK_EVERY == ASK_EVERY - 1 && !heed.go_on() {
            return None;
        }
        for j in 0..=i {
            let ridge = ridge * (f64::from(u8::from(i == j)) - 1.0 / c as f64);
            let sum: f64 = (0..j).map(|k| l[i * n + k] * l[j * n + k]).sum();
            let rest = hess[i * c + j] + ridge - sum;
            if i == j {
                if rest <= 0.0 || rest.is_nan() {
                    return None;
                }
                l[i * n + i] = rest.sqrt();
            } else {
                l[i * n + j] = rest / l[j * n + j];
            }
        }
    }
    let mut x: Vec<f64> = grad[..n].iter().map(|g| -g).collect();
    for i in 0..n {
        let sum: f64 = (0..i).map(|k| l[i * n + k] * x[k]).sum();
        x[i] = (x[i] - sum) / l[i * n + i];
    }
    for i in (0..n).rev() {
        let sum: f64 = (i + 1..n).map(|k| l[k * n + i] * x[k]).sum();
        x[i] = (x[i] - sum) / l[i * n + i];
    }
    let mean = x.iter().sum::<f64>() / c as f64;
    x.push(0.0);
    x.iter_mut().for_each(|x| *x -= mean);
    Some(x)
}
