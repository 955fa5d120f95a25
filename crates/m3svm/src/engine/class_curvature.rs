//! The curvature of the loss in the scores, laid out by class: what one class, or a pair of them, weighs in every row.

use super::in_memory::Curved;
use crate::interrupt::Heed;
use crate::loss::Shape;

/// The c×c curvature Hᵢ of every row, sample weights included.
pub(super) struct ClassCurvature<'a> {
    pub(super) shape: Shape,
    pub(super) y: &'a [u32],
    pub(super) rows: usize,
    pub(super) classes: usize,
    /// The numbers of `Risk::curvature`, transposed: all rows of the first number, then of the second. Those of a simplex are divided
    /// by their sum, so that H is w·(D(q) − qqᵀ).
    pub(super) h: Vec<f64>,
    /// w, the sum of the numbers of every row, for a simplex; empty for other shapes.
    pub(super) weights: Vec<f64>,
    /// Σₖ hₖ of every row, for stars.
    sums: Vec<f64>,
    pub(super) heed: Heed<'a>,
}

impl<'a> ClassCurvature<'a> {
    /// Of all rows.
    pub(super) fn new(a: &Curved<'a>) -> Self {
        let (risk, shape, by_row) = (a.risk, a.shape, a.h);
        let (n, c) = (risk.x.rows(), risk.problem.classes);
        let len = shape.len(c);
        let mut h = vec![0.0; n * len];
        let mut sums = vec![0.0; if shape == Shape::Star { n } else { 0 }];
        for (i, row) in by_row.chunks_exact(len).enumerate() {
            row.iter().enumerate().for_each(|(k, v)| h[k * n + i] = *v);
        }
        for (sum, row) in sums.iter_mut().zip(by_row.chunks_exact(len)) {
            *sum = row.iter().sum();
        }
        let mut weights = Vec::new();
        if shape == Shape::Simplex {
            weights.extend(by_row.chunks_exact(len).map(|row| row.iter().sum::<f64>()));
            h.chunks_exact_mut(n.max(1)).for_each(|class| {
                class.iter_mut().zip(&weights).for_each(|(h, w)| *h /= w.max(f64::MIN_POSITIVE));
            });
        }
        Self { shape, y: risk.y, rows: n, classes: c, h, weights, sums, heed: risk.problem.heed }
    }

    /// Entry (k, l) of Hᵢ.
    #[inline(always)]
    pub(super) fn entry(&self, i: usize, k: usize, l: usize) -> f64 {
        let (n, y) = (self.rows, self.y[i] as usize);
        match self.shape {
            Shape::Simplex => {
                let own = if k == l { 1.0 } else { 0.0 };
                self.weights[i] * self.h[k * n + i] * (own - self.h[l * n + i])
            }
            Shape::Star if k == l => {
                if y == k {
                    self.sums[i]
                } else {
                    self.h[k * n + i]
                }
            }
            Shape::Star if y == k => -self.h[l * n + i],
            Shape::Star if y == l => -self.h[k * n + i],
            Shape::Star => 0.0,
            Shape::SimplexAndLine => {
                let (c, at) = (self.classes, |k: usize| self.h[k * n + i]);
                let sum = (0..c).map(at).sum::<f64>().max(f64::MIN_POSITIVE);
                let own = if k == l { at(k) } else { 0.0 };
                own - at(k) * (at(l) / sum) + at(c + k) * (at(c + l) / at(2 * c).max(f64::MIN_POSITIVE))
            }
            Shape::Dense => self.h[(k * self.classes + l) * n + i],
        }
    }

    /// Entries (k, l) of the rows from `first`.
    pub(super) fn fill(&self, k: usize, l: usize, first: usize, out: &mut [f64]) {
        out.iter_mut().enumerate().for_each(|(at, w)| *w = self.entry(first + at, k, l));
    }
}
