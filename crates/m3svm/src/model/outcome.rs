//! What scorers say of the rows that they were found on, and what a model keeps of that.

use std::ops::Range;

use super::pair_judge::{PairJudge, PairVerdicts};
use super::scores::AT_A_TIME;
use super::{FitOutcome, Named, argmax, class_scores};
use crate::dataset::Dataset;
use crate::error::Result;
use crate::spec::Spec;
use crate::support::{SupportVectors, margin_slopes, slopes_of_rivals};

impl Named {
    pub(super) fn of(data: &Dataset<'_>) -> Self {
        Self {
            classes: data.classes().to_vec(),
            feature_names: data.feature_names().map(<[String]>::to_vec),
            preprocessor: data.preprocessor().cloned(),
        }
    }
}

impl FitOutcome {
    /// `said` tells what the scorers say of some rows, `judge` of pairs of classes only what is needed.
    pub(super) fn of(
        spec: &Spec,
        data: &Dataset<'_>,
        scorers: usize,
        judge: Option<&PairJudge<'_>>,
        said: impl Fn(Range<usize>) -> Result<Vec<f64>>,
    ) -> Result<Self> {
        let (n, c) = (data.rows(), data.classes().len());
        let weight = |i: usize| data.weights().map_or(1.0, |w| w[i]);
        let (mut right, mut slopes) = (0.0, Some(Vec::new()));
        if let Some(judge) = judge {
            let PairVerdicts { rivals, won } = judge.judge(data.x(), data.y())?;
            slopes = slopes_of_rivals(spec, &rivals, data.y(), c);
            right = (0..n).filter(|i| won[*i]).map(weight).sum();
            return Ok(Self::joined(data, right, slopes));
        }
        let step = (AT_A_TIME / scorers.max(1)).max(1);
        for first in (0..n).step_by(step) {
            let rows = first..(first + step).min(n);
            let (y, raw) = (&data.y()[rows.clone()], said(rows.clone())?);
            let found = margin_slopes(spec, &raw, y, c);
            slopes = slopes.zip(found).map(|(mut all, found)| {
                all.extend(found);
                all
            });
            let z = class_scores(spec.scheme, raw, c);
            let hits = rows.zip(z.chunks_exact(c)).zip(y);
            right = hits.filter(|((_, z), y)| argmax(z) == **y).fold(right, |sum, ((i, _), _)| sum + weight(i));
        }
        Ok(Self::joined(data, right, slopes))
    }

    /// From the weight of rows that are right, and how all rows pull.
    fn joined(data: &Dataset<'_>, right: f64, slopes: Option<Vec<f64>>) -> Self {
        let all = data.weights().map_or(data.rows() as f64, |weights| weights.iter().sum());
        let support = slopes.map(|slopes| SupportVectors::from_slopes(&slopes, data.y(), data.classes().len()));
        Self {
            train_accuracy: right / all,
            support_rows: support.as_ref().map(|s| s.all().len()),
            support: support.map(|s| s.counts()),
        }
    }
}
