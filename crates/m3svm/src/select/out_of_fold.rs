//! Predictions of rows by models that have not seen them: for confusion matrices that flatter nobody.

use rayon::prelude::*;

use super::fold_data::FoldData;
use super::folds::{Fold, folds};
use super::grid::Setting;
use super::search::{Control, Search, SearchWatch};
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::metrics::Metrics;
use crate::spec::Spec;

/// What was predicted for rows that took no part in the training.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutOfFold {
    /// The rows, ascending. Those that are never tested, such as the only one of a class, are left out.
    pub rows: Vec<u32>,
    /// The class predicted for each.
    pub predicted: Vec<u32>,
}

impl OutOfFold {
    /// How good the predictions are.
    pub fn metrics(&self, data: &Dataset<'_>) -> Result<Metrics> {
        let truth: Vec<u32> = self.rows.iter().map(|&i| data.y()[i as usize]).collect();
        let weights: Option<Vec<f64>> = data.weights().map(|w| self.rows.iter().map(|&i| w[i as usize]).collect());
        Metrics::new(&truth, &self.predicted, weights.as_deref(), data.classes().len())
    }
}

impl Search {
    /// Fits one setting once per fold of the first repeat, to the tolerance of the search, and predicts the rows left out.
    pub fn out_of_fold(
        &self,
        setting: Setting,
        data: &Dataset<'_>,
        groups: Option<&[u32]>,
        watch: &SearchWatch<'_>,
    ) -> Result<OutOfFold> {
        self.check_for(data)?;
        let spec = Spec { tol: self.tol, ..setting.apply(&self.spec) };
        let control = Control::new(watch);
        control.plan(self.folds);
        let split = folds(data.y(), groups, self.folds, self.spec.seed, 0)?;
        let parts: Vec<Result<Vec<u32>>> = split.par_iter().map(|fold| predict(&spec, data, fold, &control)).collect();
        let mut all: Vec<(u32, u32)> = Vec::new();
        for (fold, part) in split.iter().zip(parts) {
            all.extend(fold.test.iter().copied().zip(part?));
        }
        all.sort_unstable();
        let (rows, predicted) = all.into_iter().unzip();
        Ok(OutOfFold { rows, predicted })
    }
}

/// The classes of the test rows of a fold.
fn predict(spec: &Spec, data: &Dataset<'_>, fold: &Fold, control: &Control<'_>) -> Result<Vec<u32>> {
    let rows = FoldData::new(spec, data, fold)?;
    let theta = rows.fit(spec, spec.origin(&rows.train), control)?.ok_or(Error::Interrupted)?.theta;
    control.finish(1);
    Ok(rows.predict(spec, &theta))
}
