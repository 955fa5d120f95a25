//! From a solution to a model.

use std::ops::Range;

use super::pair_judge::PairJudge;
use super::scores::raw_scores_between;
use super::{Model, Training};
use crate::certificate::Certificate;
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::kernel::{Expansion, Fitted};
use crate::prepare::Preprocessor;
use crate::scale::Scaler;
use crate::solver::Solution;
use crate::spec::Spec;

/// What a model is made of besides its settings.
struct Parts {
    weights: Vec<f64>,
    expansion: Option<Expansion>,
    intercept: Vec<f64>,
    certificate: Certificate,
}

/// What a model knows of the table it was trained on.
pub(crate) struct Named {
    pub(crate) classes: Vec<String>,
    pub(crate) feature_names: Option<Vec<String>>,
    pub(crate) preprocessor: Option<Preprocessor>,
}

/// How a solution does on the rows it was found on.
pub(crate) struct FitOutcome {
    pub(crate) train_accuracy: f64,
    pub(crate) support: Option<Vec<usize>>,
    pub(crate) support_rows: Option<usize>,
}

impl Model {
    /// Joins a solution with the (scaled) data it was found on.
    pub(crate) fn new(
        spec: Spec,
        data: &Dataset<'_>,
        scaler: Scaler,
        solution: Solution,
        training: Training,
    ) -> Result<Self> {
        let scorers = spec.scheme.scorers(data.classes().len());
        let mut weights = solution.theta;
        let mut intercept = weights.split_off(data.x().cols() * scorers);
        intercept.resize(scorers, 0.0);
        let fitted = Parts { weights, expansion: None, intercept, certificate: solution.certificate };
        let said = |rows| raw_scores_between(data.x(), rows, &fitted.weights, &fitted.intercept);
        let judge = PairJudge::for_model(&spec, &fitted.weights, &fitted.intercept, data.classes().len());
        let outcome = FitOutcome::of(&spec, data, scorers, judge.as_ref(), said)?;
        Self::assemble(spec, Named::of(data), scaler, fitted, training, outcome)
    }

    /// The same with a kernel.
    pub(crate) fn with_kernel(
        spec: Spec,
        data: &Dataset<'_>,
        scaler: Scaler,
        fitted: Fitted,
        training: Training,
    ) -> Result<Self> {
        let Fitted { mut solution, expansion, raw, .. } = fitted;
        let scorers = spec.scheme.scorers(data.classes().len());
        let mut intercept = solution.theta.split_off(solution.theta.len() - if spec.intercept { scorers } else { 0 });
        intercept.resize(scorers, 0.0);
        let (weights, certificate) = (Vec::new(), solution.certificate);
        let parts = Parts { weights, expansion: Some(expansion), intercept, certificate };
        let said = |rows: Range<usize>| Ok(raw[rows.start * scorers..rows.end * scorers].to_vec());
        let outcome = FitOutcome::of(&spec, data, scorers, None, said)?;
        Self::assemble(spec, Named::of(data), scaler, parts, training, outcome)
    }

    /// Joins a solution with what is known of the rows it was found on, wherever they are.
    pub(crate) fn of_solution(
        spec: Spec,
        named: Named,
        scaler: Scaler,
        solution: Solution,
        training: Training,
        outcome: FitOutcome,
    ) -> Result<Self> {
        let scorers = spec.scheme.scorers(named.classes.len());
        let mut weights = solution.theta;
        let mut intercept = weights.split_off(scaler.factor.len() * scorers);
        intercept.resize(scorers, 0.0);
        let parts = Parts { weights, expansion: None, intercept, certificate: solution.certificate };
        Self::assemble(spec, named, scaler, parts, training, outcome)
    }

    fn assemble(
        spec: Spec,
        named: Named,
        scaler: Scaler,
        parts: Parts,
        training: Training,
        outcome: FitOutcome,
    ) -> Result<Self> {
        let model = Self {
            classes: named.classes,
            feature_names: named.feature_names,
            preprocessor: named.preprocessor,
            scaler,
            weights: parts.weights,
            expansion: parts.expansion,
            intercept: parts.intercept,
            certificate: parts.certificate,
            training,
            train_accuracy: outcome.train_accuracy,
            support: outcome.support,
            support_rows: outcome.support_rows,
            label_kind: None,
            temperature: None,
            spec,
        };
        match model.overflowing() {
            Some(feature) => Err(Error::Unscaled { feature }),
            None => Ok(model),
        }
    }

    /// The first feature whose weights without the scaling, or what these add to the intercepts, are not finite: no row could be predicted.
    pub(crate) fn overflowing(&self) -> Option<usize> {
        if self.expansion.is_some() {
            return None;
        }
        let (weights, intercept) = self.unscaled();
        let m = self.scorers();
        let infinite = |j: &usize| {
            let row = &weights[j * m..(j + 1) * m];
            row.iter().any(|w| !(w * self.scaler.shift[*j]).is_finite() || !w.is_finite())
        };
        let found = (0..self.features()).find(infinite);
        found.or(intercept.iter().any(|b| !b.is_finite()).then_some(0))
    }
}
