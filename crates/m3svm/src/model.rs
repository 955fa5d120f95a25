//! The fitted classifier: f(x) = Wᵀx + b, predicts argmaxₖ fₖ(x), or by votes where every pair of classes has its own f. There is no
//! unfitted model.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::certificate::Certificate;
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::features::{Features, Room};
use crate::kernel::repeat_row;
use crate::partition::Partition;
use crate::scale::Scaler;
use crate::scheme::{Scheme, votes};
use crate::solver::{Solution, Stop};
use crate::spec::Spec;
use crate::support::{SupportVectors, pair_number};

/// How a model came about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Training {
    /// Rows it was trained on.
    pub rows: usize,
    /// Problems that were solved: 1, or one per scorer for one-vs-rest and one-vs-one.
    #[serde(default = "one")]
    pub problems: usize,
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

/// Model files that do not say so come from one problem.
fn one() -> usize {
    1
}

/// A linear classifier with everything needed to use, check and explain it.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    pub(crate) spec: Spec,
    pub(crate) classes: Vec<String>,
    pub(crate) feature_names: Option<Vec<String>>,
    pub(crate) scaler: Scaler,
    /// d×m row-major for m scorers, for scaled features.
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
        let scorers = spec.scheme.scorers(c);
        let mut intercept = weights.split_off(data.x().cols() * scorers);
        intercept.resize(scorers, 0.0);
        let raw = raw_scores(data.x(), &weights, &intercept);
        let support = SupportVectors::from_scores(&spec, &raw, data.y(), c);
        let z = class_scores(spec.scheme, raw, c);
        let hits = z.chunks_exact(c).zip(data.y()).enumerate();
        let weight = |i: usize| data.weights().map_or(1.0, |w| w[i]);
        let right: f64 = hits.filter(|(_, (z, y))| argmax(z) == **y).map(|(i, _)| weight(i)).sum();
        let total: f64 = (0..data.rows()).map(weight).sum();
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
        self.weights.len() / self.scorers()
    }

    /// Number of scorers, the columns of W: one per class, or one per pair of classes for one-vs-one.
    pub fn scorers(&self) -> usize {
        self.intercept.len()
    }

    /// W (d×m for m scorers, row-major), for scaled features.
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

    /// Decision scores, n×c row-major: f(x), or votes with a share below one half that breaks ties for one-vs-one.
    pub fn scores(&self, x: &Features<'_>) -> Result<Vec<f64>> {
        Ok(class_scores(self.spec.scheme, self.raw_scores(x)?, self.classes.len()))
    }

    /// What the scorers say, n×m row-major. Differs from [`Model::scores`] only for one-vs-one, where the columns are the pairs
    /// (0,1), (0,2), … (1,2), … and positive speaks for the first class.
    pub fn raw_scores(&self, x: &Features<'_>) -> Result<Vec<f64>> {
        self.check_width(x)?;
        let (weights, intercept) = self.unscaled();
        Ok(raw_scores(x, &weights, &intercept))
    }

    /// Class numbers; [`Model::classes`] has the names. Ties go to the first class.
    pub fn predict(&self, x: &Features<'_>) -> Result<Vec<u32>> {
        Ok(self.scores(x)?.chunks_exact(self.classes.len()).map(argmax).collect())
    }

    /// Class numbers of rows that are scaled already, as [`Spec::fit_owned`] hands them back.
    pub fn predict_scaled(&self, x: &Features<'_>) -> Result<Vec<u32>> {
        self.check_width(x)?;
        let c = self.classes.len();
        let z = class_scores(self.spec.scheme, raw_scores(x, &self.weights, &self.intercept), c);
        Ok(z.chunks_exact(c).map(argmax).collect())
    }

    fn check_width(&self, x: &Features<'_>) -> Result<()> {
        match x.cols() == self.features() {
            true => Ok(()),
            false => Err(Error::Shape { what: "features", expected: self.features(), found: x.cols() }),
        }
    }

    /// Class probabilities, n×c; `None` if the loss does not define them.
    pub fn probabilities(&self, x: &Features<'_>) -> Result<Option<Vec<f64>>> {
        let mut z = self.scores(x)?;
        if !self.has_probabilities() {
            return Ok(None);
        }
        let loss = self.spec.loss.as_dyn();
        z.chunks_exact_mut(self.classes.len()).for_each(|row| {
            loss.probabilities(row);
        });
        Ok(Some(z))
    }

    /// The distance between the two sides of the margin of a pair, in scaled features; ∞ where its vector is 0.
    ///
    /// It is 2/‖wₖ − wₗ‖ where the scores of the two classes shall differ by 1, 4/‖wₖ − wₗ‖ for one-vs-rest, where they shall differ
    /// by 2 (1 and −1), and 2/‖wₖₗ‖ for one-vs-one.
    pub fn margin(&self, k: usize, l: usize) -> f64 {
        let columns = self.weights.chunks_exact(self.scorers());
        let (k, l) = (k.min(l), k.max(l));
        let pair = if k == l { 0 } else { pair_number(self.classes.len(), k, l) };
        let square: f64 = match self.spec.scheme {
            _ if k == l => 0.0,
            Scheme::Joint => columns.map(|w| (w[k] - w[l]).powi(2)).sum(),
            Scheme::OneVsRest => columns.map(|w| (0.5 * (w[k] - w[l])).powi(2)).sum(),
            Scheme::OneVsOne => columns.map(|w| w[pair].powi(2)).sum(),
        };
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

    /// The features with the largest weights of a class (by absolute value, for scaled features; means over its pairs for one-vs-one),
    /// at most `count` of them.
    pub fn largest_weights(&self, class: usize, count: usize) -> Vec<(usize, f64)> {
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

    /// Features with a weight other than zero for at least one scorer. Only the lasso leaves any out.
    pub fn surviving_features(&self) -> usize {
        self.weights.chunks_exact(self.scorers()).filter(|row| row.iter().any(|w| *w != 0.0)).count()
    }

    /// Weights other than zero.
    pub fn nonzero_weights(&self) -> usize {
        self.weights.iter().filter(|w| **w != 0.0).count()
    }

    /// Whether [`Model::probabilities`] gives any.
    pub fn has_probabilities(&self) -> bool {
        let mut scores = vec![0.0; self.classes.len()];
        self.spec.scheme == Scheme::Joint && self.spec.loss.as_dyn().probabilities(&mut scores)
    }

    /// The rows of a data set that hold up the margin, per class pair; `None` if the loss has no margin.
    pub fn support_vectors(&self, data: &Dataset<'_>) -> Result<Option<SupportVectors>> {
        let y = self.class_numbers(data)?;
        let raw = self.raw_scores(data.x())?;
        Ok(SupportVectors::from_scores(&self.spec, &raw, &y, self.classes.len()))
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

    /// Parameters from which a fit on (scaled) data can start. Scorers that this model does not know start at 0.
    pub(crate) fn start_for(&self, data: &Dataset<'_>, scaler: &Scaler, spec: &Spec) -> Result<Vec<f64>> {
        let d = data.x().cols();
        if d != self.features() {
            return Err(Error::Shape { what: "features of the warm start", expected: d, found: self.features() });
        }
        if (self.spec.scheme == Scheme::OneVsOne) != (spec.scheme == Scheme::OneVsOne) {
            let must = "come from a model with as many scorers (one-vs-one has one per pair, all others one per class)";
            return Err(Error::param("warm-start", self.scorers(), must));
        }
        if !data.classes().iter().any(|name| self.classes.contains(name)) {
            // Zeros would do as well, and no one means that.
            let must = "be a model of at least one class of the data";
            return Err(Error::param("warm-start", format!("one of {}", self.classes.join(", ")), must));
        }
        let (weights, mut intercept) = self.unscaled();
        // Back from raw features into the new scaling: w = w_raw/f, b = b_raw + s·w_raw.
        for (j, row) in weights.chunks_exact(self.scorers()).enumerate() {
            row.iter().zip(&mut intercept).for_each(|(w, b)| *b += w * scaler.shift[j]);
        }
        let sides = spec.scheme.sides(data.classes().len());
        let m = sides.len();
        let mut theta = vec![0.0; (d + usize::from(spec.intercept)) * m];
        for (new, (k, against)) in sides.into_iter().enumerate() {
            let against = against.map(|l| data.classes()[l].as_str());
            let Some((old, sign)) = self.scorer_of(&data.classes()[k], against) else { continue };
            for j in 0..d {
                theta[j * m + new] = sign * weights[j * self.scorers() + old] / scaler.factor[j];
            }
            if spec.intercept {
                theta[d * m + new] = sign * intercept[old];
            }
        }
        Ok(theta)
    }

    /// The scorer that speaks for a class (and against another), with −1 if it does so with the opposite sign.
    fn scorer_of(&self, class: &str, against: Option<&str>) -> Option<(usize, f64)> {
        let number = |name: &str| self.classes.iter().position(|c| c == name);
        let k = number(class)?;
        match against {
            None => Some((k, 1.0)),
            Some(other) => {
                let l = number(other)?;
                Some((pair_number(self.classes.len(), k, l), if k < l { 1.0 } else { -1.0 }))
            }
        }
    }
}

/// X·W + 1bᵀ, block by block in parallel.
pub(crate) fn raw_scores(x: &Features<'_>, weights: &[f64], intercept: &[f64]) -> Vec<f64> {
    let c = intercept.len();
    let mut z = vec![0.0; x.rows() * c];
    let partition = Partition::new(x.rows(), x.stored() / x.rows().max(1) + c, 1);
    partition.map_mut(&mut z, c, |range, z| {
        repeat_row(intercept, z);
        let mut room = Room::default();
        for block in partition.blocks(range.clone()) {
            let at = (block.start - range.start) * c;
            let len = block.len() * c;
            x.block(block, &mut room).mul_add(weights, c, &mut z[at..at + len]);
        }
    });
    z
}

/// Scores per class from what the scorers say.
pub(crate) fn class_scores(scheme: Scheme, raw: Vec<f64>, classes: usize) -> Vec<f64> {
    if scheme != Scheme::OneVsOne {
        return raw;
    }
    let scorers = scheme.scorers(classes);
    let mut z = vec![0.0; raw.len() / scorers * classes];
    z.chunks_exact_mut(classes).zip(raw.chunks_exact(scorers)).for_each(|(z, raw)| votes(raw, z));
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
