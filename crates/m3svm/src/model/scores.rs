//! Scores, predictions and probabilities of rows.

use std::ops::Range;

use super::Model;
use crate::error::{Error, Result};
use crate::features::{BlockRoom, Features};
use crate::linalg::repeat_row;
use crate::memory;
use crate::partition::Partition;
use crate::scale::Scaler;
use crate::scheme::{Scheme, votes};
use crate::temperature::tempered;

/// Scores that are held at a time: 16 MB, which allocators keep for the next ones. One-vs-one of 500 classes has 125,000 for every row.
pub(super) const AT_A_TIME: usize = 1 << 21;

impl Model {
    /// Decision scores, n×c row-major: f(x), or votes with a share below one half that breaks ties for one-vs-one.
    pub fn scores(&self, x: &Features<'_>) -> Result<Vec<f64>> {
        if self.spec.scheme == Scheme::OneVsOne && self.expansion.is_none() {
            return self.votes(x);
        }
        Ok(class_scores(self.spec.scheme, self.raw_scores(x)?, self.classes.len()))
    }

    /// Votes, without all that pairs say at once.
    fn votes(&self, x: &Features<'_>) -> Result<Vec<f64>> {
        self.check_width(x)?;
        let (n, c, scorers) = (x.rows(), self.classes.len(), self.scorers());
        memory::check(&format!("{} scores", n.saturating_mul(c)), memory::numbers(n.saturating_mul(c), 1))?;
        let (weights, intercept) = self.unscaled();
        let (mut out, step) = (Vec::with_capacity(n * c), (AT_A_TIME / scorers.max(1)).max(1));
        for first in (0..n).step_by(step) {
            let raw = raw_scores_between(x, first..(first + step).min(n), &weights, &intercept)?;
            out.extend(class_scores(self.spec.scheme, raw, c));
        }
        Ok(out)
    }

    /// What the scorers say, n×m row-major. Differs from [`Model::scores`] only for one-vs-one, where the columns are the pairs
    /// (0,1), (0,2), … (1,2), … and positive speaks for the first class.
    pub fn raw_scores(&self, x: &Features<'_>) -> Result<Vec<f64>> {
        self.check_width(x)?;
        let scores = x.rows().saturating_mul(self.scorers());
        memory::check(&format!("{scores} scores"), memory::numbers(scores, 1))?;
        self.raw_scores_of(x, Some(&self.scaler))
    }

    /// What the scorers say of rows that are to be scaled, or are already: the one place where models score.
    fn raw_scores_of(&self, x: &Features<'_>, scaler: Option<&Scaler>) -> Result<Vec<f64>> {
        match (&self.expansion, scaler) {
            (Some(expansion), _) => expansion.scores(x, scaler, &self.intercept),
            (None, None) => raw_scores(x, &self.weights, &self.intercept),
            (None, Some(scaler)) if scaler.far_feature().is_some() => {
                let mut all = Vec::with_capacity(x.rows() * self.scorers());
                scaler.for_each_part(x, |first, scaled| {
                    let z = raw_scores(scaled, &self.weights, &self.intercept).map_err(|error| match error {
                        Error::Score { row, value } => Error::Score { row: first + row, value },
                        other => other,
                    })?;
                    all.extend(z);
                    Ok(())
                })?;
                Ok(all)
            }
            (None, Some(_)) => {
                let (weights, intercept) = self.unscaled();
                raw_scores(x, &weights, &intercept)
            }
        }
    }

    /// Class numbers; [`Model::classes`] has the names. Ties go to the first class.
    pub fn predict(&self, x: &Features<'_>) -> Result<Vec<u32>> {
        Ok(self.scores(x)?.chunks_exact(self.classes.len()).map(argmax).collect())
    }

    /// Class numbers of rows that are scaled already, as [`crate::Spec::fit_owned`] hands them back.
    pub fn predict_scaled(&self, x: &Features<'_>) -> Result<Vec<u32>> {
        self.check_width(x)?;
        let c = self.classes.len();
        let z = class_scores(self.spec.scheme, self.raw_scores_of(x, None)?, c);
        Ok(z.chunks_exact(c).map(argmax).collect())
    }

    fn check_width(&self, x: &Features<'_>) -> Result<()> {
        match x.cols() == self.features() {
            true => Ok(()),
            false => Err(Error::Shape { what: "features", expected: self.features(), found: x.cols() }),
        }
    }

    /// Class probabilities, n×c; `None` if the loss does not define them and there is no temperature.
    pub fn probabilities(&self, x: &Features<'_>) -> Result<Option<Vec<f64>>> {
        let mut z = self.scores(x)?;
        if !self.has_probabilities() {
            return Ok(None);
        }
        if let Some(temperature) = self.temperature {
            return Ok(Some(tempered(z, temperature, self.classes.len())));
        }
        let loss = self.spec.loss.as_dyn();
        z.chunks_exact_mut(self.classes.len()).for_each(|row| {
            loss.probabilities(row);
        });
        Ok(Some(z))
    }

    /// Whether [`Model::probabilities`] gives any.
    pub fn has_probabilities(&self) -> bool {
        self.temperature.is_some() || self.defines_probabilities()
    }

    /// Whether the loss does.
    pub(crate) fn defines_probabilities(&self) -> bool {
        self.spec.scheme == Scheme::Joint && self.spec.loss.as_dyn().has_probabilities()
    }
}

/// X·W + 1bᵀ, block by block in parallel. Scores that are not finite are refused: among them no class would be the best.
pub(crate) fn raw_scores(x: &Features<'_>, weights: &[f64], intercept: &[f64]) -> Result<Vec<f64>> {
    raw_scores_between(x, 0..x.rows(), weights, intercept)
}

/// The same of some consecutive rows.
pub(super) fn raw_scores_between(
    x: &Features<'_>,
    rows: Range<usize>,
    weights: &[f64],
    intercept: &[f64],
) -> Result<Vec<f64>> {
    let (c, first) = (intercept.len(), rows.start);
    let mut z = vec![0.0; rows.len() * c];
    let partition = Partition::new(rows.len(), x.stored() / x.rows().max(1) + c, 1);
    let finite = partition.map_mut(&mut z, c, |range, z| {
        repeat_row(intercept, z);
        let (mut room, mut finite) = (BlockRoom::default(), true);
        for block in partition.blocks(range.clone()) {
            let at = (block.start - range.start) * c;
            let z = &mut z[at..at + block.len() * c];
            x.block(first + block.start..first + block.end, &mut room).mul_add(weights, c, z);
            // While they are in the cache, and without a branch for each.
            finite &= z.iter().fold(true, |all, z| all & z.is_finite());
        }
        finite
    });
    if finite.contains(&false)
        && let Some(at) = z.iter().position(|z| !z.is_finite())
    {
        return Err(Error::Score { row: first + at / c, value: z[at] });
    }
    Ok(z)
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

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::{Dataset, Method};

    fn model(method: Method) -> Model {
        let x = vec![1.0, 0.2, 2.0, -0.3, 0.5, 3.0, 0.1, 4.0, -2.0, 0.7, -3.0, 0.1];
        let data = Dataset::from_labels(Features::dense(x, 6, 2).unwrap(), &["a", "a", "b", "b", "c", "c"]).unwrap();
        method.spec().with_usual_lambda().fit(&data).unwrap()
    }

    #[test]
    fn a_row_without_finite_scores_has_no_class() {
        for method in Method::ALL {
            let mut model = model(method);
            model.weights.iter_mut().for_each(|w| *w *= 1e10);
            let scaled = Features::dense(vec![1.0, 1.0, 1e290, -1e290], 2, 2).unwrap();
            for (row, x) in [(2, [vec![0.0; 4], vec![1e305, -1e305]].concat()), (0, vec![-1.7e308, 1.7e308])] {
                let x = Features::dense(x.clone(), x.len() / 2, 2).unwrap();
                let errors = [
                    model.predict(&x).unwrap_err(),
                    model.scores(&x).unwrap_err(),
                    model.raw_scores(&x).unwrap_err(),
                    model.probabilities(&x).unwrap_err(),
                ];
                for error in errors {
                    assert!(matches!(error, Error::Score { row: found, .. } if found == row), "{error}");
                    let begins = format!("row {}: a score is ", row + 1);
                    assert!(error.to_string().starts_with(&begins), "{error}");
                }
            }
            assert!(model.predict_scaled(&scaled).is_ok());
            model.weights.iter_mut().for_each(|w| *w *= 1e20);
            assert!(matches!(model.predict_scaled(&scaled), Err(Error::Score { row: 1, .. })));
        }
    }

    #[test]
    fn margins_of_very_small_and_very_large_weights_are_no_zeros() {
        for method in Method::ALL {
            let plain = model(method);
            for size in [1e-200, 1e200] {
                let mut model = plain.clone();
                model.weights.iter_mut().for_each(|w| *w *= size);
                let (margin, expected) = (model.min_margin(), plain.min_margin());
                assert!((margin.0 * size / expected.0 - 1.0).abs() < 1e-12, "{margin:?} {expected:?}");
            }
        }
    }
}
