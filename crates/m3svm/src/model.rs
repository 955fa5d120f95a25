//! The fitted classifier: f(x) = Wᵀx + b, predicts argmaxₖ fₖ(x). There is no unfitted model.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::certificate::Certificate;
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::features::Features;
use crate::partition::Partition;
use crate::scale::Scaler;
use crate::solver::{Solution, Stop};
use crate::spec::Spec;
use crate::support::SupportVectors;

/// How a model came about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Training {
    /// Rows it was trained on.
    pub rows: usize,
    /// The solver that ran (never `auto`).
    pub solver: String,
    /// Why the solver ended.
    pub stop: Stop,
    /// Iterations of the solver.
    pub iterations: usize,
    /// Evaluations of the loss over all rows.
    pub evaluations: usize,
    /// Wall time of the fit, scaling included.
    pub seconds: f64,
}

/// A linear classifier with everything needed to use, check and explain it.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    pub(crate) spec: Spec,
    pub(crate) classes: Vec<String>,
    pub(crate) feature_names: Option<Vec<String>>,
    pub(crate) scaler: Scaler,
    /// d×c row-major, for scaled features.
    pub(crate) weights: Vec<f64>,
    pub(crate) intercept: Vec<f64>,
    pub(crate) certificate: Certificate,
    pub(crate) training: Training,
    pub(crate) train_accuracy: f64,
    /// Support vectors per pair (c×c counts), for losses with a margin.
    pub(crate) support: Option<Vec<usize>>,
    /// Rows that support at least one margin.
    pub(crate) support_rows: Option<usize>,
}

impl Model {
    /// Joins a solution with the (scaled) data it was found on.
    pub(crate) fn new(spec: Spec, data: &Dataset<'_>, scaler: Scaler, solution: Solution, training: Training) -> Self {
        let c = data.classes().len();
        let mut weights = solution.theta;
        let mut intercept = weights.split_off(data.x().cols() * c);
        intercept.resize(c, 0.0);
        let z = scores(data.x(), &weights, &intercept);
        let hits = z.chunks_exact(c).zip(data.y()).enumerate();
        let weight = |i: usize| data.weights().map_or(1.0, |w| w[i]);
        let right: f64 = hits.filter(|(_, (z, y))| argmax(z) == **y).map(|(i, _)| weight(i)).sum();
        let total: f64 = (0..data.rows()).map(weight).sum();
        let support = SupportVectors::from_scores(&spec.loss, &z, data.y(), c);
        Self {
            classes: data.classes().to_vec(),
            feature_names: data.feature_names().map(<[String]>::to_vec),
            scaler,
            weights,
            intercept,
            certificate: solution.certificate,
            training,
            train_accuracy: right / total,
            support_rows: support.as_ref().map(|s| s.all().len()),
            support: support.map(|s| s.counts()),
            spec,
        }
    }

    /// The settings it was trained with.
    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    /// Class names, in the order of the score columns.
    pub fn classes(&self) -> &[String] {
        &self.classes
    }

    /// Names of the feature columns, if known.
    pub fn feature_names(&self) -> Option<&[String]> {
        self.feature_names.as_deref()
    }

    /// Number of features.
    pub fn features(&self) -> usize {
        self.weights.len() / self.classes.len()
    }

    /// W (d×c, row-major), for scaled features.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// b, for scaled features; zeros without an intercept.
    pub fn intercept(&self) -> &[f64] {
        &self.intercept
    }

    /// The scaling that is applied to features first.
    pub fn scaler(&self) -> &Scaler {
        &self.scaler
    }

    /// Proof of optimality.
    pub fn certificate(&self) -> &Certificate {
        &self.certificate
    }

    /// How the fit went.
    pub fn training(&self) -> &Training {
        &self.training
    }

    /// Share of the training rows (by weight) that the model classifies correctly.
    pub fn train_accuracy(&self) -> f64 {
        self.train_accuracy
    }

    /// Support vectors per class pair, counted on the training rows (c×c, symmetric); `None` if the loss has no margin.
    pub fn support_counts(&self) -> Option<&[usize]> {
        self.support.as_deref()
    }

    /// Training rows that support at least one margin; `None` if the loss has no margin.
    pub fn support_rows(&self) -> Option<usize> {
        self.support_rows
    }

    /// W and b for features as they come, with the scaling folded in.
    pub fn unscaled(&self) -> (Vec<f64>, Vec<f64>) {
        let (mut weights, mut intercept) = (self.weights.clone(), self.intercept.clone());
        self.scaler.fold_into(&mut weights, &mut intercept);
        (weights, intercept)
    }

    /// Decision scores f(x), n×c row-major.
    pub fn scores(&self, x: &Features<'_>) -> Result<Vec<f64>> {
        if x.cols() != self.features() {
            return Err(Error::Shape { what: "features", expected: self.features(), found: x.cols() });
        }
        let (weights, intercept) = self.unscaled();
        Ok(scores(x, &weights, &intercept))
    }

    /// Class numbers; [`Model::classes`] has the names. Ties go to the first class.
    pub fn predict(&self, x: &Features<'_>) -> Result<Vec<u32>> {
        Ok(self.scores(x)?.chunks_exact(self.classes.len()).map(argmax).collect())
    }

    /// Class probabilities, n×c; `None` if the loss does not define them.
    pub fn probabilities(&self, x: &Features<'_>) -> Result<Option<Vec<f64>>> {
        let mut z = self.scores(x)?;
        let loss = self.spec.loss.as_dyn();
        let defined = z.chunks_exact_mut(self.classes.len()).all(|row| loss.probabilities(row));
        Ok(defined.then_some(z))
    }

    /// 2/‖wₖ − wₗ‖, the distance between the two sides of the margin, in scaled features; ∞ for equal class vectors.
    pub fn margin(&self, k: usize, l: usize) -> f64 {
        let square: f64 = self.weights.chunks_exact(self.classes.len()).map(|w| (w[k] - w[l]).powi(2)).sum();
        2.0 / square.sqrt()
    }

    /// All margins, c×c; ∞ on the diagonal.
    pub fn margins(&self) -> Vec<f64> {
        let c = self.classes.len();
        let mut out = vec![f64::INFINITY; c * c];
        crate::penalty::pairs(c, |_, k, l| {
            let margin = self.margin(k, l);
            (out[k * c + l], out[l * c + k]) = (margin, margin);
        });
        out
    }

    /// The smallest margin and its pair of classes.
    pub fn min_margin(&self) -> (f64, usize, usize) {
        let mut best = (f64::INFINITY, 0, 1);
        crate::penalty::pairs(self.classes.len(), |_, k, l| {
            let margin = self.margin(k, l);
            if margin < best.0 {
                best = (margin, k, l);
            }
        });
        best
    }

    /// The pairs of classes by ascending margin, at most `count` of them.
    pub fn smallest_margins(&self, count: usize) -> Vec<(f64, usize, usize)> {
        let mut all = Vec::new();
        crate::penalty::pairs(self.classes.len(), |_, k, l| {
            all.push((self.margin(k, l), k, l));
        });
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        all.truncate(count);
        all
    }

    /// The features with the largest weights of a class (by absolute value, for scaled features), at most `count` of them.
    pub fn largest_weights(&self, class: usize, count: usize) -> Vec<(usize, f64)> {
        let column = self.weights.chunks_exact(self.classes.len());
        let mut all: Vec<(usize, f64)> = column.map(|w| w[class]).enumerate().collect();
        all.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
        all.truncate(count);
        all
    }

    /// Whether [`Model::probabilities`] gives any.
    pub fn has_probabilities(&self) -> bool {
        let mut scores = vec![0.0; self.classes.len()];
        self.spec.loss.as_dyn().probabilities(&mut scores)
    }

    /// The rows of a data set that hold up the margin, per class pair; `None` if the loss has no margin.
    pub fn support_vectors(&self, data: &Dataset<'_>) -> Result<Option<SupportVectors>> {
        let y = self.class_numbers(data)?;
        let z = self.scores(data.x())?;
        Ok(SupportVectors::from_scores(&self.spec.loss, &z, &y, self.classes.len()))
    }

    /// The labels of a data set as class numbers of this model.
    pub fn class_numbers(&self, data: &Dataset<'_>) -> Result<Vec<u32>> {
        self.numbers_of(data.y().iter().map(|&k| data.classes()[k as usize].as_str()))
    }

    /// Labels as class numbers of this model.
    pub fn numbers_of<'l>(&self, labels: impl Iterator<Item = &'l str>) -> Result<Vec<u32>> {
        let known: HashMap<&str, u32> = (0..).zip(&self.classes).map(|(k, c)| (c.as_str(), k)).collect();
        labels
            .enumerate()
            .map(|(row, label)| {
                known.get(label).copied().ok_or_else(|| Error::UnknownClass {
                    row,
                    label: label.to_string(),
                    known: known.len(),
                })
            })
            .collect()
    }

    /// Parameters from which a fit on (scaled) data can start.
    pub(crate) fn start_for(&self, data: &Dataset<'_>, scaler: &Scaler, with_intercept: bool) -> Result<Vec<f64>> {
        if data.x().cols() != self.features() {
            return Err(Error::Shape {
                what: "features of the warm start",
                expected: data.x().cols(),
                found: self.features(),
            });
        }
        if !data.classes().iter().any(|name| self.classes.contains(name)) {
            // Zeros would do as well, and no one means that.
            let must = "be a model of at least one class of the data";
            return Err(Error::param("warm-start", format!("one of {}", self.classes.join(", ")), must));
        }
        let c = data.classes().len();
        let (weights, mut intercept) = self.unscaled();
        // Back from raw features into the new scaling: w = w_raw/f, b = b_raw + s·w_raw.
        let mut theta = vec![0.0; (data.x().cols() + usize::from(with_intercept)) * c];
        for (j, row) in weights.chunks_exact(self.classes.len()).enumerate() {
            row.iter().zip(&mut intercept).for_each(|(w, b)| *b += w * scaler.shift[j]);
        }
        for (k, name) in data.classes().iter().enumerate() {
            let Some(old) = self.classes.iter().position(|c| c == name) else {
                continue;
            };
            for j in 0..data.x().cols() {
                theta[j * c + k] = weights[j * self.classes.len() + old] / scaler.factor[j];
            }
            if with_intercept {
                theta[data.x().cols() * c + k] = intercept[old];
            }
        }
        Ok(theta)
    }
}

/// X·W + 1bᵀ, block by block in parallel.
fn scores(x: &Features<'_>, weights: &[f64], intercept: &[f64]) -> Vec<f64> {
    let c = intercept.len();
    let mut z = vec![0.0; x.rows() * c];
    let partition = Partition::new(x.rows(), x.stored() / x.rows().max(1) + c, 1);
    partition.map_mut(&mut z, c, |range, z| {
        z.chunks_exact_mut(c).for_each(|row| row.copy_from_slice(intercept));
        x.mul_add(range, weights, c, z);
    });
    z
}

/// Position of the largest score, the first of equals.
pub(crate) fn argmax(z: &[f64]) -> u32 {
    let mut best = 0;
    for k in 1..z.len() {
        if z[k] > z[best] {
            best = k;
        }
    }
    best as u32
}
