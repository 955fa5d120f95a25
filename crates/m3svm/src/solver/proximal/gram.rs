//! The quadratic model with its matrix written out: for few coordinates, or where descent along coordinates alone is slow.
//!
//! A move of one coordinate then costs the number of coordinates instead of the number of rows, and once the signs have settled
//! one factorisation of the non-zeros gives the exact minimum.

use super::active_set::walk;
use super::descent::{Point, Quadratic, Steps};
use crate::interrupt::Heed;
use crate::linalg::axpy;
use crate::solver::system::{factor, solve_factored};

pub(super) struct Gram<'a> {
    heed: Heed<'a>,
    size: usize,
    /// H, both triangles.
    matrix: Vec<f64>,
    slopes: Vec<f64>,
}

impl<'a> Gram<'a> {
    /// From the lower triangle of the curvature of the loss, and first derivatives at the start. `ridges`: second derivatives of what the
    /// weights pay in squares.
    pub(super) fn new(mut matrix: Vec<f64>, slopes: Vec<f64>, ridges: &[f64], heed: Heed<'a>) -> Self {
        let size = slopes.len();
        for a in 0..size {
            matrix[a * size + a] += ridges[a];
            (0..a).for_each(|b| matrix[b * size + a] = matrix[a * size + b]);
        }
        Self { heed, size, matrix, slopes }
    }
}

impl Quadratic for Gram<'_> {
    fn second_derivative(&self, a: usize) -> f64 {
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
        if m == 0 || !factor(&mut part, m, self.heed) {
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
