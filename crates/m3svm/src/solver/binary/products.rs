//! Products of X with one vector per problem, made for all of them in one pass over X.
//!
//! Vectors belong to problems and lie on their own; only here they are put side by side, because reading X is what costs.

use std::ops::Range;

use super::SharedTerms;
use crate::design::Design;
use crate::features::Block;
use crate::interrupt::Heed;

/// X̃ for some vectors at a time.
pub(super) struct BinaryProducts<'a> {
    design: Design<'a>,
    rows: usize,
    heed: Heed<'a>,
}

impl<'a> BinaryProducts<'a> {
    pub(super) fn new(shared: &'a SharedTerms<'a>) -> Self {
        let design = Design::new(shared.x, shared.terms.intercept).heeding(shared.heed);
        Self { design, rows: shared.x.rows(), heed: shared.heed }
    }

    /// Products that are whole whatever has happened.
    pub(super) fn deaf(shared: &'a SharedTerms<'a>) -> Self {
        let design = Design::used_once(shared.x, shared.terms.intercept);
        Self { design, rows: shared.x.rows(), heed: Heed::default() }
    }

    /// Whether an interruption may have cut what has been made.
    pub(super) fn are_cut(&self) -> bool {
        self.heed.is_stopped()
    }

    /// X·w + b for every θ = (w, b), n×q.
    pub(super) fn scores(&self, thetas: &[&[f64]]) -> Vec<f64> {
        let q = thetas.len();
        let mut z = vec![0.0; self.rows * q];
        self.design.scores(&self.design.partition(q), &side_by_side(thetas), q, &mut z);
        z
    }

    /// X̃ᵀ·g for every g.
    pub(super) fn pull(&self, slopes: &[&[f64]]) -> Vec<Vec<f64>> {
        let q = slopes.len();
        self.pull_back(q, |block, _, out| {
            for (k, slopes) in slopes.iter().enumerate() {
                let column = out.iter_mut().skip(k).step_by(q);
                column.zip(&slopes[block.clone()]).for_each(|(out, slope)| *out = *slope);
            }
        })
    }

    /// X̃ᵀ diag(h) X̃ v for every v with its own h.
    pub(super) fn curvature_products(&self, weights: &[&[f64]], vectors: &[&[f64]]) -> Vec<Vec<f64>> {
        let q = vectors.len();
        let theta = side_by_side(vectors);
        self.pull_back(q, |block, x, out| {
            self.design.block_scores(x, &theta, q, out);
            for (k, h) in weights.iter().enumerate() {
                out.iter_mut().skip(k).step_by(q).zip(&h[block.clone()]).for_each(|(out, h)| *out *= h);
            }
        })
    }

    /// X̃ᵀ·G, where `fill` writes the rows of G block by block.
    fn pull_back(&self, q: usize, fill: impl Fn(Range<usize>, &Block<'_>, &mut [f64]) + Sync) -> Vec<Vec<f64>> {
        let mut sum = vec![0.0; self.design.width() * q];
        let fill = |block: Range<usize>, x: &Block<'_>, (): &mut (), g: &mut [f64]| fill(block, x, g);
        self.design.pull_back(&self.design.partition(q), q, &mut sum, fill);
        apart(&sum, q)
    }

    /// Additions that a row goes through at most in a sum over all rows, for q vectors.
    pub(super) fn depth(&self, q: usize) -> usize {
        self.design.depth(&self.design.partition(q), q)
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
