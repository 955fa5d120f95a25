//! The fitted classifier: f(x) = Wᵀx + b, predicts argmaxₖ fₖ(x), or by votes where every pair of classes has its own f. There is no
//! unfitted model.

mod build;
mod margins;
mod outcome;
mod pair_judge;
mod scores;
mod start;
mod training;

use std::collections::HashMap;

pub(crate) use build::{FitOutcome, Named};
pub(crate) use scores::{argmax, class_scores, raw_scores};
pub use training::Training;

use crate::certificate::Certificate;
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::kernel::Expansion;
use crate::label_kind::LabelKind;
use crate::prepare::Preprocessor;
use crate::scale::{Scaler, Scaling};
use crate::scheme::Scheme;
use crate::spec::Spec;
use crate::support::{SupportVectors, pair_number, slopes_of_rivals};
use pair_judge::PairJudge;

/// A classifier with everything needed to use, check and explain it.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    pub(crate) spec: Spec,
    pub(crate) classes: Vec<String>,
    pub(crate) feature_names: Option<Vec<String>>,
    /// What makes features of the columns of a table.
    pub(crate) preprocessor: Option<Preprocessor>,
    pub(crate) scaler: Scaler,
    /// d×m row-major for m scorers, for scaled features; empty with a kernel.
    pub(crate) weights: Vec<f64>,
    /// What there is instead of weights with a kernel.
    pub(crate) expansion: Option<Expansion>,
    pub(crate) intercept: Vec<f64>,
    pub(crate) certificate: Certificate,
    pub(crate) training: Training,
    pub(crate) train_accuracy: f64,
    /// Support vectors per pair (c×c counts), for losses with a margin.
    pub(crate) support: Option<Vec<usize>>,
    /// Rows that support at least one margin.
    pub(crate) support_rows: Option<usize>,
    /// What the class names stand for, if anyone has said so.
    pub(crate) label_kind: Option<LabelKind>,
    /// T of probabilities for losses that define none.
    pub(crate) temperature: Option<f64>,
}

impl Model {
    /// Says what the class names stand for; refused where one of them cannot be that.
    pub fn with_label_kind(mut self, kind: LabelKind) -> Result<Self> {
        if let Some(name) = kind.misfit(&self.classes) {
            return Err(Error::param("labels", name, kind.must()));
        }
        self.label_kind = Some(kind);
        Ok(self)
    }

    /// Gives a model whose loss defines no probabilities the temperature of some, see [`crate::temperature()`].
    pub fn with_temperature(mut self, temperature: f64) -> Result<Self> {
        if !(temperature.is_finite() && temperature > 0.0) {
            return Err(Error::param("temperature", temperature, "be a finite number greater than 0"));
        }
        if self.defines_probabilities() {
            return Err(Error::param("temperature", temperature, "be left out where the loss defines probabilities"));
        }
        self.temperature = Some(temperature);
        Ok(self)
    }

    /// The settings it was trained with.
    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    /// Class names, in the order of the score columns.
    pub fn classes(&self) -> &[String] {
        &self.classes
    }

    /// What the class names stand for, if it is known.
    pub fn label_kind(&self) -> Option<LabelKind> {
        self.label_kind
    }

    /// The temperature of probabilities that the loss does not define.
    pub fn temperature(&self) -> Option<f64> {
        self.temperature
    }

    /// Names of the feature columns, if known.
    pub fn feature_names(&self) -> Option<&[String]> {
        self.feature_names.as_deref()
    }

    /// What makes its features of the columns of a table, if it was trained on one.
    pub fn preprocessor(&self) -> Option<&Preprocessor> {
        self.preprocessor.as_ref()
    }

    /// What prepares columns of a table for it: its preprocessor, or for a model of numbers one that takes them as they are and fills gaps
    /// by the means that the scaling has learnt. `None` if it has learnt none.
    pub fn column_preprocessor(&self) -> Option<Preprocessor> {
        let means = || (self.spec.scaling == Scaling::Standard && self.scaler.shifts()).then_some(&self.scaler.shift);
        self.preprocessor.clone().or_else(|| Some(Preprocessor::of_numbers(self.feature_names(), means()?)))
    }

    /// Number of features.
    pub fn features(&self) -> usize {
        self.scaler.shift.len()
    }

    /// Number of scorers, the columns of W: one per class, or one per pair of classes for one-vs-one.
    pub fn scorers(&self) -> usize {
        self.intercept.len()
    }

    /// What the scores are made of with a kernel; `None` for linear scores.
    pub fn expansion(&self) -> Option<&Expansion> {
        self.expansion.as_ref()
    }

    /// W (d×m for m scorers, row-major), for scaled features; empty with a kernel.
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

    /// W and b for features as they come, with the scaling folded in; with a kernel there is no W, and b is as it is.
    pub fn unscaled(&self) -> (Vec<f64>, Vec<f64>) {
        let (mut weights, mut intercept) = (self.weights.clone(), self.intercept.clone());
        if self.expansion.is_some() {
            return (weights, intercept);
        }
        self.scaler.fold_into(&mut weights, &mut intercept);
        (weights, intercept)
    }

    /// The features with the largest weights of a class (by absolute value, for scaled features; means over its pairs for one-vs-one),
    /// at most `count` of them.
    pub fn largest_weights(&self, class: usize, count: usize) -> Vec<(usize, f64)> {
        // A kernel has no weights of features.
        let rows = self.weights.chunks_exact(self.scorers());
        let mut all: Vec<(usize, f64)> = rows.map(|w| self.class_weight(w, class)).enumerate().collect();
        all.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
        all.truncate(count);
        all
    }

    /// The weight of a class in one row of W: its own, or the mean over its pairs for one-vs-one.
    fn class_weight(&self, row: &[f64], class: usize) -> f64 {
        if self.spec.scheme != Scheme::OneVsOne {
            return row[class];
        }
        let c = self.classes.len();
        let others = (0..c).filter(|&l| l != class);
        let sum: f64 = others.map(|l| if class < l { 1.0 } else { -1.0 } * row[pair_number(c, class, l)]).sum();
        sum / (c - 1) as f64
    }

    /// Features with a weight other than zero for at least one scorer. Only the lasso leaves any out; a kernel uses them all.
    pub fn surviving_features(&self) -> usize {
        if self.expansion.is_some() {
            return self.features();
        }
        self.weights.chunks_exact(self.scorers()).filter(|row| row.iter().any(|w| *w != 0.0)).count()
    }

    /// Weights other than zero.
    pub fn nonzero_weights(&self) -> usize {
        self.weights.iter().filter(|w| **w != 0.0).count()
    }

    /// The rows of a data set that hold up the margin, per class pair; `None` if the loss has no margin.
    pub fn support_vectors(&self, data: &Dataset<'_>) -> Result<Option<SupportVectors>> {
        let (y, c) = (self.class_numbers(data)?, self.classes.len());
        if self.expansion.is_none() {
            let (weights, intercept) = self.unscaled();
            if let Some(judge) = PairJudge::for_model(&self.spec, &weights, &intercept, c) {
                let rivals = judge.rivals(data.x(), &y)?;
                let slopes = slopes_of_rivals(&self.spec, &rivals, &y, c);
                return Ok(slopes.map(|slopes| SupportVectors::from_slopes(&slopes, &y, c)));
            }
        }
        let raw = self.raw_scores(data.x())?;
        Ok(SupportVectors::from_scores(&self.spec, &raw, &y, c))
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
}
