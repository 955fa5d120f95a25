//! The intercept alone: a c-dimensional Newton over given scores, without a product with X.
//!
//! The lower bound pays ‖∂F/∂b‖²/(4ε) for what is left of the gradient in b. With ε = 1e-6 that drowns a point that is optimal to
//! twelve digits, so b is made exact before a bound is computed.

use crate::kernel::{add_rows, axpy, dot, unrolled};
use crate::loss::{Loss, Shape};
use crate::risk::Risk;

/// Loss and gradient as functions of a shift of all scores.
struct Shifted {
    value: f64,
    grad: Vec<f64>,
}

impl Risk<'_> {
    /// Moves the intercept to its optimum for the current weights, in `theta` and in the scores `z`, until a bound pays at most
    /// `enough` for what is left of its gradient, or rounding ends it.
    pub(crate) fn polish_intercept(&self, loss: &dyn Loss, enough: f64, theta: &mut [f64], z: &mut [f64]) {
        let (c, m) = (self.classes, self.weights_len());
        if !self.intercept || !loss.shift_invariant() {
            return;
        }
        let objective = |b: &[f64], at: &Shifted| at.value + self.epsilon * dot(b, b);
        let mut b = theta[m..].to_vec();
        let mut shift = vec![0.0; c];
        let mut at = self.shifted(loss, z, &shift);
        for _ in 0..30 {
            let grad: Vec<f64> = at.grad.iter().zip(&b).map(|(g, b)| g + 2.0 * self.epsilon * b).collect();
            if dot(&grad, &grad) <= 4.0 * self.epsilon * enough {
                break;
            }
            let Some(step) = centred_newton(&self.shifted_hessian(loss, z, &shift), &grad, 2.0 * self.epsilon) else {
                break;
            };
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
                let next = self.shifted(loss, z, &next_shift);
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
        theta[m..].copy_from_slice(&b);
        z.chunks_exact_mut(c).for_each(|row| row.iter_mut().zip(&shift).for_each(|(z, s)| *z += s));
    }

    fn shifted(&self, loss: &dyn Loss, z: &[f64], shift: &[f64]) -> Shifted {
        let c = self.classes;
        let parts = self.partition().map(|range| {
            let mut out = Shifted { value: 0.0, grad: vec![0.0; c] };
            let room = self.partition().block();
            let (mut at, mut g, mut values) = (vec![0.0; room * c], vec![0.0; room * c], Vec::with_capacity(room));
            for block in self.partition().blocks(range) {
                let len = block.len() * c;
                let (at, g) = (&mut at[..len], &mut g[..len]);
                shift_rows(&z[block.start * c..block.end * c], shift, at);
                out.value += self.block_loss(loss, block, at, false, &mut values, g).value;
                add_rows(g, &mut out.grad);
            }
            out
        });
        parts.into_iter().fold(Shifted { value: 0.0, grad: vec![0.0; c] }, |mut sum, part| {
            sum.value += part.value;
            axpy(1.0, &part.grad, &mut sum.grad);
            sum
        })
    }

    /// The Hessian at a shift: lower triangle and diagonal.
    fn shifted_hessian(&self, loss: &dyn Loss, z: &[f64], shift: &[f64]) -> Vec<f64> {
        let (c, shape) = (self.classes, loss.shape());
        let len = shape.len(c);
        let parts = self.partition().map(|range| {
            let mut pairs = vec![0.0; c * c];
            let room = self.partition().block();
            let (mut at, mut h) = (vec![0.0; room * c], vec![0.0; room * len]);
            for block in self.partition().blocks(range) {
                let rows = block.len();
                let (at, h) = (&mut at[..rows * c], &mut h[..rows * len]);
                shift_rows(&z[block.start * c..block.end * c], shift, at);
                loss.hessian_rows(at, &self.y[block.clone()], h);
                for (h, i) in h.chunks_exact(len).zip(block) {
                    add_row(shape, h, self.y[i] as usize, self.weight(i), c, &mut pairs);
                }
            }
            pairs
        });
        let mut pairs = vec![0.0; c * c];
        parts.iter().for_each(|part| axpy(1.0, part, &mut pairs));
        laplacian(&pairs, c)
    }
}

/// `out = z + shift` in every row.
fn shift_rows(z: &[f64], shift: &[f64], out: &mut [f64]) {
    unrolled(
        shift.len(),
        #[inline(always)]
        |c| {
            let shift = &shift[..c];
            for (out, z) in out.chunks_exact_mut(c).zip(z.chunks_exact(c)) {
                (0..c).for_each(|k| out[k] = z[k] + shift[k]);
            }
        },
    );
}

/// Adds the curvature of one row, as pair weights: entry (k, l) is what classes k and l weigh on each other, one way or the other.
fn add_row(shape: Shape, h: &[f64], y: usize, weight: f64, c: usize, pairs: &mut [f64]) {
    match shape {
        Shape::Star => pairs[y * c..(y + 1) * c].iter_mut().zip(h).for_each(|(p, h)| *p += weight * h),
        Shape::Simplex => {
            // Every pair from both sides.
            let total = shape.total(h);
            pairs.chunks_exact_mut(c).zip(h).for_each(|(pairs, own)| axpy(0.5 * weight * (own / total), h, pairs));
        }
        _ => {
            let total = shape.total(h);
            crate::penalty::pairs(c, |_, k, l| pairs[k * c + l] += weight * shape.pair(h, total, y, k, l));
        }
    }
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

/// −(H + ridge)⁻¹g on the centred subspace, by Cholesky without the last class; `None` if rounding has made H indefinite.
fn centred_newton(hess: &[f64], grad: &[f64], ridge: f64) -> Option<Vec<f64>> {
    let c = grad.len();
    let n = c - 1;
    let mut l = vec![0.0; n * n];
    for i in 0..n {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_heavy_row_without_curvature_adds_nothing() {
        let mut pairs = vec![0.0; 9];
        add_row(Shape::Simplex, &[0.0; 3], 1, 1e3, 3, &mut pairs);
        assert_eq!(pairs, [0.0; 9]);
    }
}
