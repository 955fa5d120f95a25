//! The quadratic model with its matrix written out: for few coordinates, or where descent along coordinates alone is slow.
//!
//! A move of one coordinate then costs the number of coordinates instead of the number of rows, and once the signs have settled
//! one factorisation of the non-zeros gives the exact minimum.

use rayon::prelude::*;

use super::Coordinate;
use super::bends::Bends;
use super::descent::{Point, Quadratic, Steps};
use super::face::walk;
use crate::columns::Columns;
use crate::kernel::{axpy, cross_add};
use crate::loss::Shape;
use crate::solver::system::{factor, solve_factored};

/// Rows that are multiplied at a time: two blocks of them fit the cache.
const BLOCK: usize = 256;

pub(super) struct Gram {
    size: usize,
    /// H, both triangles.
    matrix: Vec<f64>,
    slopes: Vec<f64>,
}

impl Gram {
    /// Coordinates are ordered by class; `slopes` are those at the start.
    pub(super) fn new(
        bends: &Bends<'_>,
        columns: &Columns<'_>,
        coordinates: &[Coordinate],
        slopes: Vec<f64>,
        ridge: f64,
    ) -> Self {
        let size = coordinates.len();
        let mut matrix = vec![0.0; size * size];
        let ends: Vec<usize> = (0..=bends.classes).map(|k| coordinates.partition_point(|a| a.class() < k)).collect();
        // One strip of rows per class, each filled by one thread: the sums do not depend on how many there are.
        let mut strips = Vec::new();
        let mut rest = &mut matrix[..];
        for k in 0..bends.classes {
            let (strip, tail) = rest.split_at_mut((ends[k + 1] - ends[k]) * size);
            strips.push((k, strip));
            rest = tail;
        }
        let parts = Strip { bends, columns, coordinates, ends: &ends };
        strips.into_par_iter().rev().for_each(|(k, strip)| parts.fill(k, strip));
        for a in 0..size {
            matrix[a * size + a] += ridge;
            (0..a).for_each(|b| matrix[b * size + a] = matrix[a * size + b]);
        }
        Self { size, matrix, slopes }
    }
}

impl Quadratic for Gram {
    fn bend(&self, a: usize) -> f64 {
        self.matrix[a * self.size + a]
    }

    fn slope(&self, a: usize) -> f64 {
        self.slopes[a]
    }

    fn shift(&mut self, a: usize, by: f64) {
        axpy(by, &self.matrix[a * self.size..(a + 1) * self.size], &mut self.slopes);
    }

    fn product(&self, step: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; self.size];
        for (a, by) in step.iter().enumerate().filter(|(_, by)| **by != 0.0) {
            axpy(*by, &self.matrix[a * self.size..(a + 1) * self.size], &mut out);
        }
        out
    }

    fn advance(&mut self, _step: &[f64], product: &[f64]) {
        axpy(1.0, product, &mut self.slopes);
    }

    fn steps(&self, free: &[usize], wanted: &[f64], point: &Point<'_>) -> Option<Steps> {
        let m = free.len();
        let mut part = vec![0.0; m * m];
        for (column, &b) in part.chunks_exact_mut(m.max(1)).zip(free) {
            column.iter_mut().zip(free).for_each(|(to, &a)| *to = self.matrix[b * self.size + a]);
        }
        if m == 0 || !factor(&mut part, m) {
            return None;
        }
        let start: Vec<f64> = free.iter().map(|&a| point.values[a]).collect();
        let mut straight: Vec<f64> = free.iter().map(|&a| wanted[a]).collect();
        solve_factored(&part, m, &mut straight);
        let held: Vec<bool> = free.iter().map(|&a| point.thresholds[a] > 0.0).collect();
        let all = |some: &[f64]| -> Vec<f64> {
            let mut all = vec![0.0; self.size];
            free.iter().zip(some).for_each(|(&a, s)| all[a] = *s);
            all
        };
        Some(Steps { signs_kept: all(&walk(&part, &start, &straight, &held)), straight: all(&straight) })
    }
}

/// A strip of rows of the matrix: the blocks (k, l) with l ≤ k, each `X_kᵀ D(H_kl) X_l` over the columns of both classes.
struct Strip<'a> {
    bends: &'a Bends<'a>,
    columns: &'a Columns<'a>,
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
        let (mut left, mut scaled) = (vec![0.0; own.len() * BLOCK], vec![0.0; own.len() * BLOCK]);
        let (mut right, mut weights) = (Vec::new(), vec![0.0; BLOCK]);
        for first in (0..self.bends.rows).step_by(BLOCK) {
            let rows = BLOCK.min(self.bends.rows - first);
            let (left, scaled) = (&mut left[..own.len() * rows], &mut scaled[..own.len() * rows]);
            let weights = &mut weights[..rows];
            self.gather(own, first, rows, left);
            if self.bends.shape == Shape::Simplex {
                // H = D(q) − qqᵀ: the second part, over all classes at once, is a product of two matrices.
                let others = &self.coordinates[..self.ends[k + 1]];
                right.resize(others.len() * rows, 0.0);
                self.gather(others, first, rows, &mut right);
                for (a, row) in others.iter().zip(right.chunks_exact_mut(rows)) {
                    let q = &self.bends.h[a.class() * self.bends.rows + first..][..rows];
                    row.iter_mut().zip(q).for_each(|(x, q)| *x *= q);
                }
                let q = &self.bends.h[k * self.bends.rows + first..][..rows];
                weights.iter_mut().zip(q.iter().zip(&self.bends.weights[first..])).for_each(|(w, (q, s))| *w = -q * s);
                scale(left, weights, scaled);
                cross_add(scaled, &right, rows, self.coordinates.len(), 0, strip);
                weights.iter_mut().for_each(|w| *w = -*w);
                scale(left, weights, scaled);
                cross_add(scaled, left, rows, self.coordinates.len(), self.ends[k], strip);
                continue;
            }
            for l in 0..=k {
                let others = self.of_class(l);
                self.bends.fill(k, l, first, weights);
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
