//! What a shift of the scores of all rows does to the loss, without a product with X.

use crate::linalg::{add_rows, axpy, unrolled};
use crate::loss::{Loss, Shape};
use crate::risk::Risk;

/// Loss and gradient as functions of a shift of all scores.
pub(crate) struct Shifted {
    pub(crate) value: f64,
    pub(crate) grad: Vec<f64>,
}

impl Risk<'_> {
    pub(super) fn shifted(&self, loss: &dyn Loss, z: &[f64], shift: &[f64]) -> Shifted {
        let c = self.problem.classes;
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

    /// The curvature at a shift, as weights of pairs of classes.
    pub(super) fn shifted_curvature(&self, loss: &dyn Loss, z: &[f64], shift: &[f64]) -> Vec<f64> {
        let (c, shape) = (self.problem.classes, loss.shape());
        let (len, heed) = (shape.len(c), self.problem.heed);
        // Rows between two looks at the clock: each adds a number for every two classes.
        let ask_every = 1 + (1 << 20) / (c * c);
        let parts = self.partition().map(|range| {
            // To fill what nobody is going to believe takes seconds, with thousands of classes.
            if heed.is_stopped() {
                return Vec::new();
            }
            let mut pairs = vec![0.0; c * c];
            let room = self.partition().block();
            let (mut at, mut h) = (vec![0.0; room * c], vec![0.0; room * len]);
            for block in self.partition().blocks(range) {
                let rows = block.len();
                let (at, h) = (&mut at[..rows * c], &mut h[..rows * len]);
                shift_rows(&z[block.start * c..block.end * c], shift, at);
                loss.hessian_rows(at, &self.y[block.clone()], h);
                for (h, i) in h.chunks_exact(len).zip(block) {
                    if i % ask_every == 0 && !heed.go_on() {
                        return pairs;
                    }
                    add_row(shape, h, self.y[i] as usize, self.weight(i), c, &mut pairs);
                }
            }
            pairs
        });
        let mut pairs = vec![0.0; c * c];
        if !heed.is_stopped() {
            parts.iter().for_each(|part| axpy(1.0, part, &mut pairs));
        }
        pairs
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
