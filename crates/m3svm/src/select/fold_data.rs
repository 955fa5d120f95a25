//! The rows of one fold, made ready once for all the fits on it.

use std::ops::ControlFlow;

use super::folds::Fold;
use super::search::Control;
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::features::Features;
use crate::model::{argmax, class_scores, raw_scores};
use crate::scale::Scaler;
use crate::scheme::Scheme;
use crate::solver::{Shared, Solution, Stop};
use crate::spec::Spec;

/// Probabilities below this count as this: one confident mistake shall not make the log-loss infinite.
const LEAST_PROBABILITY: f64 = 1e-15;

/// Training and test rows, scaled by what the training rows say, and in their row space where there are more features than rows.
pub(super) struct FoldData {
    pub(super) train: Dataset<'static>,
    x: Features<'static>,
    y: Vec<u32>,
    weights: Option<Vec<f64>>,
    shared: Shared,
}

impl FoldData {
    pub(super) fn new(spec: &Spec, data: &Dataset<'_>, fold: &Fold) -> Result<Self> {
        let mut train = data.take_rows(&fold.train)?;
        let pick = |rows: &[u32]| rows.iter().map(|&i| data.y()[i as usize]).collect();
        let weights = data.weights().map(|w| fold.test.iter().map(|&i| w[i as usize]).collect::<Vec<f64>>());
        if weights.as_ref().is_some_and(|w| w.iter().all(|w| *w == 0.0)) {
            return Err(Error::NoWeight { of: "the test rows of a fold" });
        }
        let scaler = Scaler::fit(spec.scaling, train.x(), train.weights());
        let mut x = scaler.apply(data.x().take_rows(&fold.test))?;
        let scaled = scaler.apply(train.take_x())?;
        train = train.with_x(scaled);
        if let Some(reduction) = spec.reduction(&train)? {
            x = reduction.rotate(&x)?;
            train = train.with_x(reduction.into_features());
        }
        Ok(Self { train, x, y: pick(&fold.test), weights, shared: Shared::default() })
    }

    /// Fits the training rows; `None` if the watcher has put an end to it.
    pub(super) fn fit(&self, spec: &Spec, start: Vec<f64>, control: &Control<'_>) -> Result<Option<Solution>> {
        let mut watch = |_: &_| if control.go_on() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) };
        let (found, _) = spec.solve_one_of_many(&self.train, start, &self.shared, &mut watch)?;
        Ok(Some(found).filter(|found| found.stop != Stop::Interrupted))
    }

    /// The classes that parameters predict for the test rows.
    pub(super) fn predict(&self, spec: &Spec, theta: &[f64]) -> Vec<u32> {
        self.scores(spec, theta).chunks_exact(self.train.classes().len()).map(argmax).collect()
    }

    /// How well parameters predict the test rows.
    pub(super) fn score(&self, spec: &Spec, theta: &[f64]) -> (f64, Option<f64>) {
        let (c, mut z) = (self.train.classes().len(), self.scores(spec, theta));
        let weight = |i: usize| self.weights.as_ref().map_or(1.0, |w| w[i]);
        let total: f64 = (0..self.y.len()).map(weight).sum();
        let (mut right, mut lost, mut known) = (0.0, 0.0, spec.scheme == Scheme::Joint);
        for (i, (z, &y)) in z.chunks_exact_mut(c).zip(&self.y).enumerate() {
            right += if argmax(z) == y { weight(i) } else { 0.0 };
            known = known && spec.loss.as_dyn().probabilities(z);
            lost -= weight(i) * z[y as usize].max(LEAST_PROBABILITY).ln();
        }
        (right / total, known.then_some(lost / total))
    }

    /// Scores of the test rows, class by class.
    fn scores(&self, spec: &Spec, theta: &[f64]) -> Vec<f64> {
        let c = self.train.classes().len();
        let scorers = spec.scheme.scorers(c);
        let (weights, intercept) = theta.split_at(self.x.cols() * scorers);
        let none = vec![0.0; scorers];
        let intercept = if intercept.is_empty() { &none } else { intercept };
        class_scores(spec.scheme, raw_scores(&self.x, weights, intercept), c)
    }
}
