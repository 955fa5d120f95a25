//! The quadratic model through the change of the scores: nothing but n numbers per class is kept, so there may be any number of
//! coordinates. A move costs one pass over a column.

use rayon::prelude::*;

use super::class_curvature::ClassCurvature;
use super::coordinate::Coordinate;
use super::tuning::ENGINE;
use crate::columns::{FetchedColumn, FetchedColumns};
use crate::linalg::{axpy, vectorised};
use crate::loss::Shape;
use crate::solver::{Point, Quadratic, Steps, conjugate_gradients};

pub(super) struct ImplicitGram<'a> {
    curvature: ClassCurvature<'a>,
    columns: &'a FetchedColumns<'a>,
    coordinates: &'a [Coordinate],
    /// First derivatives at the start, and what the ε-term has added since.
    slopes: Vec<f64>,
    diagonal: Vec<f64>,
    /// Second derivatives of what the weights pay in squares.
    ridges: &'a [f64],
    state: GramState,
}

enum GramState {
    /// Softmax: H·Δz = ω q∘(Δz − mean). Kept are Δz and the mean Σ q Δz of every row, so that a move touches one class only.
    Mean { moved: Vec<f64>, mean: Vec<f64>, weighted: Vec<f64> },
    /// Any other: H·Δz itself.
    Product(Vec<f64>),
}

impl<'a> ImplicitGram<'a> {
    pub(super) fn new(
        curvature: ClassCurvature<'a>,
        columns: &'a FetchedColumns<'a>,
        coordinates: &'a [Coordinate],
        slopes: Vec<f64>,
        ridges: &'a [f64],
    ) -> Self {
        let (n, c) = (curvature.rows, curvature.classes);
        let second = |(a, ridge): (&Coordinate, &f64)| {
            let (mut sum, k) = (0.0, a.class());
            if curvature.heed.go_on() {
                columns.get(a.feature()).for_each(|i, x| sum += x * x * curvature.entry(i, k, k));
            }
            sum + ridge
        };
        let diagonal = coordinates.par_iter().zip(ridges).with_min_len(64).map(second).collect();
        let state = if curvature.shape == Shape::Simplex {
            let weighted = curvature.h.iter().enumerate().map(|(at, q)| curvature.weights[at % n] * q).collect();
            GramState::Mean { moved: vec![0.0; n * c], mean: vec![0.0; n], weighted }
        } else {
            GramState::Product(vec![0.0; n * c])
        };
        Self { curvature, columns, coordinates, slopes, diagonal, ridges, state }
    }

    /// The change of the scores that a step makes, by class.
    fn scores_of(&self, step: &[f64]) -> Vec<f64> {
        let n = self.curvature.rows;
        let mut out = vec![0.0; n * self.curvature.classes];
        out.par_chunks_mut(n.max(1)).enumerate().for_each(|(k, out)| {
            let first = self.coordinates.partition_point(|a| a.class() < k);
            let own = self.coordinates[first..].iter().zip(&step[first..]).take_while(|(a, _)| a.class() == k);
            for (a, by) in own.filter(|(_, by)| **by != 0.0) {
                self.columns.get(a.feature()).for_each(|i, x| out[i] += by * x);
            }
        });
        out
    }

    /// H·Δz of every row, by class.
    fn curved(&self, moved: &[f64]) -> Vec<f64> {
        let (n, c) = (self.curvature.rows, self.curvature.classes);
        let mut out = vec![0.0; n * c];
        if let GramState::Mean { weighted, .. } = &self.state {
            let mut mean = vec![0.0; n];
            for (z, q) in moved.chunks_exact(n).zip(self.curvature.h.chunks_exact(n)) {
                mean.iter_mut().zip(z.iter().zip(q)).for_each(|(m, (z, q))| *m += q * z);
            }
            for ((out, z), w) in out.chunks_exact_mut(n).zip(moved.chunks_exact(n)).zip(weighted.chunks_exact(n)) {
                (0..n).for_each(|i| out[i] = w[i] * (z[i] - mean[i]));
            }
            return out;
        }
        for k in (0..c).take_while(|_| self.curvature.heed.go_on()) {
            for l in 0..c {
                (0..n).for_each(|i| out[k * n + i] += self.curvature.entry(i, k, l) * moved[l * n + i]);
            }
        }
        out
    }
}

impl Quadratic for ImplicitGram<'_> {
    fn second_derivative(&self, a: usize) -> f64 {
        self.diagonal[a]
    }

    fn slope(&self, a: usize) -> f64 {
        let (n, coordinate) = (self.curvature.rows, self.coordinates[a]);
        let class = coordinate.class() * n..(coordinate.class() + 1) * n;
        let column = self.columns.get(coordinate.feature());
        self.slopes[a]
            + match &self.state {
                GramState::Mean { moved, mean, weighted } => {
                    mean_product(column, &weighted[class.clone()], &moved[class], mean)
                }
                GramState::Product(product) => {
                    let (mut sum, product) = (0.0, &product[class]);
                    column.for_each(|i, x| sum += x * product[i]);
                    sum
                }
            }
    }

    fn shift(&mut self, a: usize, by: f64) {
        let (n, c, coordinate) = (self.curvature.rows, self.curvature.classes, self.coordinates[a]);
        let k = coordinate.class();
        self.slopes[a] += self.ridges[a] * by;
        let column = self.columns.get(coordinate.feature());
        match &mut self.state {
            GramState::Mean { moved, mean, .. } => {
                let (moved, q) = (&mut moved[k * n..(k + 1) * n], &self.curvature.h[k * n..(k + 1) * n]);
                move_mean(column, by, q, moved, mean);
            }
            GramState::Product(product) => column.for_each(|i, x| {
                if self.curvature.shape == Shape::Star && self.curvature.y[i] as usize != k {
                    // Only the class itself and the true one are coupled.
                    let change = by * x * self.curvature.entry(i, k, k);
                    product[k * n + i] += change;
                    product[self.curvature.y[i] as usize * n + i] -= change;
                } else {
                    (0..c).for_each(|l| product[l * n + i] += by * x * self.curvature.entry(i, k, l));
                }
            }),
        }
    }

    fn product(&self, step: &[f64]) -> Vec<f64> {
        let moved = self.scores_of(step);
        let product = self.curved(&moved);
        let n = self.curvature.rows;
        let along = |((a, by), ridge): ((&Coordinate, &f64), &f64)| {
            let (mut sum, product) = (0.0, &product[a.class() * n..(a.class() + 1) * n]);
            self.columns.get(a.feature()).for_each(|i, x| sum += x * product[i]);
            sum + ridge * by
        };
        self.coordinates.par_iter().zip(step).zip(self.ridges).with_min_len(64).map(along).collect()
    }

    fn advance(&mut self, step: &[f64], _product: &[f64]) {
        for ((slope, ridge), by) in self.slopes.iter_mut().zip(self.ridges).zip(step) {
            *slope += ridge * by;
        }
        let change = self.scores_of(step);
        match &mut self.state {
            GramState::Mean { moved, mean, .. } => {
                axpy(1.0, &change, moved);
                for (change, q) in change.chunks_exact(mean.len()).zip(self.curvature.h.chunks_exact(mean.len())) {
                    mean.iter_mut().zip(change.iter().zip(q)).for_each(|(m, (z, q))| *m += q * z);
                }
            }
            GramState::Product(_) => {
                let curved = self.curved(&change);
                if let GramState::Product(product) = &mut self.state {
                    axpy(1.0, &curved, product);
                }
            }
        }
    }

    /// Conjugate gradients with the diagonal as preconditioner.
    fn steps(&self, free: &[usize], wanted: &[f64], point: &Point<'_>) -> Option<Steps> {
        let mut held = vec![0.0; wanted.len()];
        free.iter().for_each(|a| held[*a] = 1.0 / self.diagonal[*a]);
        let lighten = |r: &[f64], out: &mut [f64]| out.iter_mut().zip(r).zip(&held).for_each(|((o, r), h)| *o = r * h);
        let mut step = vec![0.0; wanted.len()];
        let multiply = |v: &[f64], out: &mut [f64]| out.copy_from_slice(&self.product(v));
        let goal = |square| ENGINE.solved * ENGINE.solved * square;
        let go_on = &mut || self.curvature.heed.go_on();
        conjugate_gradients(multiply, lighten, wanted.to_vec(), goal, |_| true, ENGINE.products, &mut step, go_on);
        Some(Steps { signs_kept: point.stop_at_zero(&step), straight: step })
    }
}

/// Σᵢ xᵢ wᵢ (Δzᵢ − meanᵢ).
fn mean_product(column: FetchedColumn<'_>, weighted: &[f64], moved: &[f64], mean: &[f64]) -> f64 {
    let mut sum = 0.0;
    match column {
        FetchedColumn::Sparse(rows, values) => {
            for (i, x) in rows.iter().zip(values) {
                let i = *i as usize;
                sum += x * weighted[i] * (moved[i] - mean[i]);
            }
        }
        FetchedColumn::Dense(x) => vectorised(
            #[inline(always)]
            || {
                let mut lanes = [0.0; 16];
                let whole = x.len() / 16 * 16;
                for at in (0..whole).step_by(16) {
                    let (x, w) = (&x[at..at + 16], &weighted[at..at + 16]);
                    let (z, m) = (&moved[at..at + 16], &mean[at..at + 16]);
                    (0..16).for_each(|l| lanes[l] += x[l] * w[l] * (z[l] - m[l]));
                }
                sum = lanes.iter().sum();
                (whole..x.len()).for_each(|i| sum += x[i] * weighted[i] * (moved[i] - mean[i]));
            },
        ),
    }
    sum
}

/// Δz += by·x and mean += by·q∘x.
fn move_mean(column: FetchedColumn<'_>, by: f64, q: &[f64], moved: &mut [f64], mean: &mut [f64]) {
    match column {
        FetchedColumn::Sparse(rows, values) => {
            for (i, x) in rows.iter().zip(values) {
                let i = *i as usize;
                moved[i] += by * x;
                mean[i] += by * x * q[i];
            }
        }
        FetchedColumn::Dense(x) => vectorised(
            #[inline(always)]
            || {
                for ((x, q), (z, m)) in x.iter().zip(q).zip(moved.iter_mut().zip(mean.iter_mut())) {
                    let change = by * x;
                    *z += change;
                    *m += change * q;
                }
            },
        ),
    }
}
