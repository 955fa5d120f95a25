//! Products of X with one vector per problem, made for all of them in one pass over X.
//!
//! Vectors belong to problems and lie on their own; only here they are put side by side, because reading X is what costs.

use std::ops::Range;
use std::sync::OnceLock;

use super::Shared;
use crate::features::{Block, Features, Room};
use crate::kernel::axpy;
use crate::partition::Partition;

/// X, and Xᵀ where that is worth having.
pub(super) struct Products<'a> {
    shared: &'a Shared<'a>,
    transposed: OnceLock<Option<Features<'static>>>,
}

impl<'a> Products<'a> {
    pub(super) fn new(shared: &'a Shared<'a>) -> Self {
        Self { shared, transposed: OnceLock::new() }
    }

    /// X·w + b for every θ = (w, b), n×q.
    pub(super) fn scores(&self, thetas: &[&[f64]]) -> Vec<f64> {
        let (x, q) = (self.shared.x, thetas.len());
        let (theta, partition) = (side_by_side(thetas), self.partition(q));
        let mut z = vec![0.0; x.rows() * q];
        partition.map_mut(&mut z, q, |range, z| {
            let mut room = Room::default();
            for block in partition.blocks(range.clone()) {
                let at = (block.start - range.start) * q;
                let len = block.len() * q;
                self.block_scores(&x.block(block, &mut room), &theta, q, &mut z[at..at + len]);
            }
        });
        z
    }

    /// X̃ᵀ·g for every g.
    pub(super) fn pull(&self, slopes: &[&[f64]]) -> Vec<Vec<f64>> {
        let q = slopes.len();
        let fill = |block: Range<usize>, _: &Block<'_>, out: &mut [f64]| {
            for (k, slopes) in slopes.iter().enumerate() {
                let column = out.iter_mut().skip(k).step_by(q);
                column.zip(&slopes[block.clone()]).for_each(|(out, slope)| *out = *slope);
            }
        };
        self.pull_back(q, fill)
    }

    /// X̃ᵀ diag(h) X̃ v for every v with its own h.
    pub(super) fn bend(&self, weights: &[&[f64]], vectors: &[&[f64]]) -> Vec<Vec<f64>> {
        let q = vectors.len();
        let theta = side_by_side(vectors);
        let fill = |block: Range<usize>, x: &Block<'_>, out: &mut [f64]| {
            self.block_scores(x, &theta, q, out);
            for (k, h) in weights.iter().enumerate() {
                out.iter_mut().skip(k).step_by(q).zip(&h[block.clone()]).for_each(|(out, h)| *out *= h);
            }
        };
        self.pull_back(q, fill)
    }

    fn block_scores(&self, x: &Block<'_>, theta: &[f64], q: usize, z: &mut [f64]) {
        let (w, b) = theta.split_at(self.shared.x.cols() * q);
        if self.shared.intercept {
            crate::kernel::repeat_row(b, z);
        } else {
            z.fill(0.0);
        }
        x.mul_add(w, q, z);
    }

    /// X̃ᵀ·G, where `fill` writes the rows of G block by block.
    fn pull_back(&self, q: usize, fill: impl Fn(Range<usize>, &Block<'_>, &mut [f64]) + Sync) -> Vec<Vec<f64>> {
        let (x, partition) = (self.shared.x, self.partition(q));
        let mut sum = vec![0.0; self.shared.width() * q];
        let weights = x.cols() * q;
        if let Some(columns) = self.transposed(q) {
            let mut all = vec![0.0; x.rows() * q];
            partition.map_mut(&mut all, q, |range, all| {
                let mut room = Room::default();
                for block in partition.blocks(range.clone()) {
                    let at = (block.start - range.start) * q;
                    let len = block.len() * q;
                    fill(block.clone(), &x.block(block, &mut room), &mut all[at..at + len]);
                }
            });
            let (w, b) = sum.split_at_mut(weights);
            if self.shared.intercept {
                crate::kernel::add_rows(&all, b);
            }
            let by_columns = Partition::new(columns.rows(), columns.stored() / columns.rows().max(1) + q, 1);
            by_columns.map_mut(w, q, |range, w| columns.mul_add(range, &all, q, w));
            return apart(&sum, q);
        }
        let parts = partition.map(|range| {
            let mut part = vec![0.0; sum.len()];
            let (mut g, mut room) = (vec![0.0; partition.block() * q], Room::default());
            for block in partition.blocks(range) {
                let g = &mut g[..block.len() * q];
                let rows = x.block(block.clone(), &mut room);
                fill(block, &rows, g);
                let (w, b) = part.split_at_mut(weights);
                rows.t_mul_add(g, q, w);
                if self.shared.intercept {
                    crate::kernel::add_rows(g, b);
                }
            }
            part
        });
        parts.iter().for_each(|part| axpy(1.0, part, &mut sum));
        apart(&sum, q)
    }

    /// Additions that a row goes through at most in a sum over all rows, for q vectors.
    pub(super) fn depth(&self, q: usize) -> usize {
        if self.transposed(q).is_some() { self.shared.x.rows() } else { self.partition(q).depth() }
    }

    fn partition(&self, q: usize) -> Partition {
        let x = self.shared.x;
        Partition::new(x.rows(), x.stored() / x.rows().max(1) + 4 * q, self.shared.width() * q)
    }

    /// Sums of their own for every group of rows would cost more than the product where sparse data have many columns.
    fn transposed(&self, q: usize) -> Option<&Features<'static>> {
        let x = self.shared.x;
        if 16 * self.shared.width() * q < x.stored() + 4 * x.rows() * q {
            return None;
        }
        self.transposed.get_or_init(|| x.transposed()).as_ref()
    }
}

/// Vectors as the columns of a row-major matrix.
fn side_by_side(vectors: &[&[f64]]) -> Vec<f64> {
    let q = vectors.len();
    let mut out = vec![0.0; vectors.first().map_or(0, |v| v.len()) * q];
    for (k, vector) in vectors.iter().enumerate() {
        out.iter_mut().skip(k).step_by(q).zip(*vector).for_each(|(out, v)| *out = *v);
    }
    out
}

/// The columns of a row-major matrix as vectors.
fn apart(matrix: &[f64], q: usize) -> Vec<Vec<f64>> {
    (0..q).map(|k| matrix.iter().skip(k).step_by(q).copied().collect()).collect()
}
