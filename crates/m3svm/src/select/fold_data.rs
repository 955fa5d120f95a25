//! The rows of one fold, made ready once for all the fits on it.

use std::ops::ControlFlow;

use super::folds::Fold;
use super::path::FitsSettings;
use super::search::Control;
use crate::dataset::Dataset;
use crate::engine::SharedProducts;
use crate::error::{Error, Result};
use crate::features::Features;
use crate::interrupt::Interrupt;
use crate::kernel::KernelRows;
use crate::metrics::{Criterion, log_loss};
use crate::model::{class_scores, raw_scores};
use crate::scale::Scaler;
use crate::scheme::Scheme;
use crate::solver::{Solution, Stop};
use crate::spec::Spec;

/// Training and test rows, scaled by what the training rows say, and in their row space where there are more features than rows.
pub(super) struct FoldData {
    pub(super) train: Dataset<'static>,
    x: Features<'static>,
    /// Numbers of the test rows.
    rows: Vec<u32>,
    y: Vec<u32>,
    weights: Option<Vec<f64>>,
    shared: SharedProducts,
}

impl FoldData {
    /// `None` if the watcher has put an end to it.
    pub(super) fn new(spec: &Spec, data: &Dataset<'_>, fold: &Fold, control: &Control<'_>) -> Result<Option<Self>> {
        let mut train = fold.train_rows(spec.kernel, data)?;
        let pick = |rows: &[u32]| rows.iter().map(|&i| data.y()[i as usize]).collect();
        let weights = data.weights().map(|w| fold.test.iter().map(|&i| w[i as usize]).collect::<Vec<f64>>());
        if weights.as_ref().is_some_and(|w| w.iter().all(|w| *w == 0.0)) {
            return Err(Error::NoWeight { of: "the test rows of a fold" });
        }
        let x = fold.test_features(spec.kernel, data, &train)?;
        let scaler = Scaler::of_data(spec.scaling(), &train);
        let mut x = scaler.apply(x)?;
        let scaled = scaler.apply(train.take_x())?;
        train = train.with_x(scaled);
        if !spec.kernel.is_linear() {
            let mut watch = |_: &_| if control.go_on() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) };
            let Some(rows) = KernelRows::of(spec, &train, &Interrupt::new(&mut watch))? else { return Ok(None) };
            x = rows.factor.project(&rows.centres, &x)?;
            train = train.with_x(rows.factor.features);
        } else if let Some(reduction) = spec.reduction(&train)? {
            x = reduction.rotate(&x)?;
            train = train.with_x(reduction.into_features());
        }
        let (rows, y) = (fold.test.clone(), pick(&fold.test));
        Ok(Some(Self { train, x, rows, y, weights, shared: SharedProducts::default() }))
    }

    /// Fits the training rows; `None` if the watcher has put an end to it.
    pub(super) fn fit(&self, spec: &Spec, start: Vec<f64>, control: &Control<'_>) -> Result<Option<Solution>> {
        let mut watch = |_: &_| if control.go_on() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) };
        let (found, _) = spec.solve_one_of_many(&self.train, start, &self.shared, &mut watch)?;
        Ok(Some(found).filter(|found| found.stop != Stop::Interrupted))
    }

    /// Classes of the test rows.
    pub(super) fn y(&self) -> &[u32] {
        &self.y
    }

    /// What the test rows weigh, if not all the same.
    pub(super) fn weights(&self) -> Option<&[f64]> {
        self.weights.as_deref()
    }

    /// How well parameters predict the test rows: the accuracy, the log-loss where the loss defines probabilities, and what is gone by.
    pub(super) fn score(&self, spec: &Spec, theta: &[f64], by: Criterion) -> Result<(f64, Option<f64>, f64)> {
        let (c, z) = (self.train.classes().len(), self.scores(spec, theta)?);
        let (y, weights) = (&self.y[..], self.weights.as_deref());
        let accuracy = Criterion::Accuracy.of(&z, None, y, weights, c)?;
        let loss = spec.loss.as_dyn();
        let own = (spec.scheme == Scheme::Joint && loss.has_probabilities()).then(|| {
            let mut own = z.clone();
            own.chunks_exact_mut(c).for_each(|row| loss.probabilities(row));
            own
        });
        let lost = own.as_deref().map(|own| log_loss(own, y, weights, c)).transpose()?;
        let value = match by {
            Criterion::Accuracy => accuracy,
            other => other.of(&z, own.as_deref(), y, weights, c)?,
        };
        Ok((accuracy, lost, value))
    }

    /// Scores of the test rows, class by class.
    pub(super) fn scores(&self, spec: &Spec, theta: &[f64]) -> Result<Vec<f64>> {
        let c = self.train.classes().len();
        let scorers = spec.scheme.scorers(c);
        let (weights, intercept) = theta.split_at(self.x.cols() * scorers);
        let none = vec![0.0; scorers];
        let intercept = if intercept.is_empty() { &none } else { intercept };
        let raw = raw_scores(&self.x, weights, intercept).map_err(|error| match error {
            Error::Score { row, value } => Error::Score { row: self.rows[row] as usize, value },
            other => other,
        })?;
        Ok(class_scores(spec.scheme, raw, c))
    }
}

impl FitsSettings for FoldData {
    fn origin(&self, spec: &Spec) -> Vec<f64> {
        spec.origin(&self.train)
    }

    fn fit(&self, spec: &Spec, start: Vec<f64>, control: &Control<'_>) -> Result<Option<Solution>> {
        self.fit(spec, start, control)
    }

    fn score(&self, spec: &Spec, theta: &[f64], by: Criterion) -> Result<(f64, Option<f64>, f64)> {
        self.score(spec, theta, by)
    }
}
