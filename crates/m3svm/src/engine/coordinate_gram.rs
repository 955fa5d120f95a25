//! The curvature of the loss in some parameters, written out.

use rayon::prelude::*;

use super::class_curvature::ClassCurvature;
use super::coordinate::Coordinate;
use crate::columns::FetchedColumns;
use crate::linalg::cross_add;
use crate::loss::Shape;

/// Rows that are multiplied at a time: two blocks of them fit the cache.
const PRODUCT_ROWS: usize = 256;

/// The lower triangle, row-major; coordinates are ordered by class.
pub(super) fn coordinate_gram(
    curvature: &ClassCurvature<'_>,
    columns: &FetchedColumns<'_>,
    coordinates: &[Coordinate],
) -> Vec<f64> {
    let size = coordinates.len();
    let mut matrix = vec![0.0; size * size];
    let ends: Vec<usize> = (0..=curvature.classes).map(|k| coordinates.partition_point(|a| a.class() < k)).collect();
    // One strip of rows per class, each filled by one thread: the sums do not depend on how many there are.
    let mut strips = Vec::new();
    let mut rest = &mut matrix[..];
    for k in 0..curvature.classes {
        let (strip, tail) = rest.split_at_mut((ends[k + 1] - ends[k]) * size);
        strips.push((k, strip));
        rest = tail;
    }
    let parts = Strip { curvature, columns, coordinates, ends: &ends };
    // Later classes have longer rows: they begin first.
    strips.into_par_iter().rev().for_each(|(k, strip)| parts.fill(k, strip));
    matrix
}

/// A strip of rows of the matrix: the blocks (k, l) with l ≤ k, each `X_kᵀ D(H_kl) X_l` over the columns of both classes.
struct Strip<'a> {
    curvature: &'a ClassCurvature<'a>,
    columns: &'a FetchedColumns<'a>,
    coordinates: &'a [Coordinate],
    /// Where the coordinates of each class begin.
    ends: &'a [usize],
}

impl Strip<'_> {
    fn fill(&self, k: usize, strip: &mut [f64]) {
        let own = self.of_class(k);
        if own.is_empty() {
            return;
        }
        let (mut left, mut scaled) = (vec![0.0; own.len() * PRODUCT_ROWS], vec![0.0; own.len() * PRODUCT_ROWS]);
        let (mut right, mut weights) = (Vec::new(), vec![0.0; PRODUCT_ROWS]);
        for first in (0..self.curvature.rows).step_by(PRODUCT_ROWS).take_while(|_| self.curvature.heed.go_on()) {
            let rows = PRODUCT_ROWS.min(self.curvature.rows - first);
            let (left, scaled) = (&mut left[..own.len() * rows], &mut scaled[..own.len() * rows]);
            let weights = &mut weights[..rows];
            self.gather(own, first, rows, left);
            if self.curvature.shape == Shape::Simplex {
                // H = D(q) − qqᵀ: the second part, over all classes at once, is a product of two matrices.
                let others = &self.coordinates[..self.ends[k + 1]];
                right.resize(others.len() * rows, 0.0);
                self.gather(others, first, rows, &mut right);
                for (a, row) in others.iter().zip(right.chunks_exact_mut(rows)) {
                    let q = &self.curvature.h[a.class() * self.curvature.rows + first..][..rows];
                    row.iter_mut().zip(q).for_each(|(x, q)| *x *= q);
                }
                let q = &self.curvature.h[k * self.curvature.rows + first..][..rows];
                weights
                    .iter_mut()
                    .zip(q.iter().zip(&self.curvature.weights[first..]))
                    .for_each(|(w, (q, s))| *w = -q * s);
                scale(left, weights, scaled);
                cross_add(scaled, &right, rows, self.coordinates.len(), 0, strip);
                weights.iter_mut().for_each(|w| *w = -*w);
                scale(left, weights, scaled);
                cross_add(scaled, left, rows, self.coordinates.len(), self.ends[k], strip);
                continue;
            }
            for l in 0..=k {
                let others = self.of_class(l);
                self.curvature.fill(k, l, first, weights);
                if others.is_empty() || weights.iter().all(|w| *w == 0.0) {
                    continue;
                }
                right.resize(others.len() * rows, 0.0);
                self.gather(others, first, rows, &mut right);
                scale(left, weights, scaled);
                cross_add(scaled, &right, rows, self.coordinates.len(), self.ends[l], strip);
            }
        }
    }

    fn of_class(&self, k: usize) -> &[Coordinate] {
        &self.coordinates[self.ends[k]..self.ends[k + 1]]
    }

    /// The columns of coordinates, cut to a block of rows, one after the other.
    fn gather(&self, coordinates: &[Coordinate], first: usize, rows: usize, out: &mut [f64]) {
        for (a, out) in coordinates.iter().zip(out.chunks_exact_mut(rows)) {
            self.columns.get(a.feature()).write_rows(first, out);
        }
    }
}

/// Multiplies every row of a matrix by the weights, entry by entry.
fn scale(from: &[f64], weights: &[f64], to: &mut [f64]) {
    for (to, from) in to.chunks_exact_mut(weights.len()).zip(from.chunks_exact(weights.len())) {
        to.iter_mut().zip(from.iter().zip(weights)).for_each(|(to, (x, w))| *to = x * w);
    }
}
