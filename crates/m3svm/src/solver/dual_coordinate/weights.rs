//! The weights that ascent moves a row at a time.

use std::borrow::Cow;

use crate::features::{Block, Row};
use crate::linalg::{self, axpy, dot};

/// W, feature by feature (d×c) as everywhere, or class by class (c×d): rows that are dense and move few of many classes read and write whole
/// vectors then.
pub(super) struct AscentWeights {
    w: Vec<f64>,
    classes: usize,
    by_class: bool,
}

impl AscentWeights {
    pub(super) fn zeros(features: usize, classes: usize, by_class: bool) -> Self {
        Self { w: vec![0.0; features * classes], classes, by_class }
    }

    /// ‖W‖².
    pub(super) fn square(&self) -> f64 {
        dot(&self.w, &self.w)
    }

    /// W, feature by feature.
    pub(super) fn by_feature(&self) -> Vec<f64> {
        if !self.by_class {
            return self.w.clone();
        }
        let d = self.features();
        (0..d).flat_map(|j| self.w.iter().skip(j).step_by(d.max(1)).copied()).collect()
    }

    fn features(&self) -> usize {
        self.w.len() / self.classes.max(1)
    }

    /// Adds the scores of one row.
    pub(super) fn add_scores(&self, row: &Block<'_>, z: &mut [f64]) {
        if self.by_class {
            linalg::mul_add(&self.w, self.features(), &values(row.row(0)), 1, z);
        } else {
            row.mul_add(&self.w, self.classes, z);
        }
    }

    /// Adds the scores of some dense rows (m×d), where weights lie class by class.
    pub(super) fn add_scores_of_rows(&self, x: &[f64], z: &mut [f64]) {
        linalg::cross_add(x, &self.w, self.features(), self.classes, 0, z);
    }

    /// Adds the scores of one row for some classes.
    pub(super) fn add_scores_for(&self, row: &Block<'_>, classes: &[u32], z: &mut [f64]) {
        if self.by_class {
            let (d, x) = (self.features(), values(row.row(0)));
            z.iter_mut().zip(classes).for_each(|(z, &k)| *z += dot(&x, &self.w[k as usize * d..(k as usize + 1) * d]));
            return;
        }
        row.row(0).for_each(|j, x| {
            let w = &self.w[j * self.classes..(j + 1) * self.classes];
            z.iter_mut().zip(classes).for_each(|(z, &k)| *z += x * w[k as usize]);
        });
    }

    /// Adds a row, times a number for each class.
    pub(super) fn add(&mut self, row: &Block<'_>, steps: &[f64]) {
        if !self.by_class {
            return row.t_mul_add(steps, self.classes, &mut self.w);
        }
        let (d, x) = (self.features(), values(row.row(0)));
        for (step, w) in steps.iter().zip(self.w.chunks_exact_mut(d.max(1))).filter(|(step, _)| **step != 0.0) {
            axpy(*step, &x, w);
        }
    }

    /// The same for some classes.
    pub(super) fn add_for(&mut self, row: &Block<'_>, classes: &[u32], steps: &[f64]) {
        let (d, c) = (self.features(), self.classes);
        if self.by_class {
            let x = values(row.row(0));
            for (step, &k) in steps.iter().zip(classes).filter(|(step, _)| **step != 0.0) {
                axpy(*step, &x, &mut self.w[k as usize * d..(k as usize + 1) * d]);
            }
            return;
        }
        row.row(0).for_each(|j, x| {
            let w = &mut self.w[j * c..(j + 1) * c];
            steps.iter().zip(classes).for_each(|(step, &k)| w[k as usize] += x * step);
        });
    }
}

/// The numbers of a dense row.
fn values(row: Row<'_>) -> Cow<'_, [f64]> {
    match row {
        Row::Double(x) => Cow::Borrowed(x),
        Row::Single(x) => x.iter().map(|x| f64::from(*x)).collect(),
        Row::Sparse(..) => Cow::Borrowed(&[]),
    }
}
