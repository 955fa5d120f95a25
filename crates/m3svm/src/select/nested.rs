//! How good the choice is that a search makes: the search itself is cross-validated.
//!
//! The best mean of a search is too good to be true, because it is the best of many. Here rows that the search has never seen judge what it
//! has chosen.

use serde::Serialize;

use super::fold_data::FoldData;
use super::folds::{check_inner, folds};
use super::grid::Setting;
use super::journal::Journal;
use super::path::{Score, follow};
use super::race::{deviation, mean};
use super::search::{Control, Search, SearchWatch};
use super::work::Work;
use crate::dataset::Dataset;
use crate::error::{Error, Result};

/// One outer fold.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Outer {
    /// What the search on the other folds has chosen.
    pub setting: Setting,
    /// How that did here.
    pub score: Score,
}

/// The outcome of a cross-validated search.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Nested {
    /// By outer fold.
    pub outer: Vec<Outer>,
    /// Mean accuracy over the outer folds.
    pub mean: f64,
    /// Standard deviation over the outer folds.
    pub sd: f64,
    /// Whether the watcher put an end to it before all was done.
    pub interrupted: bool,
}

impl Search {
    /// Refuses data with too few rows for folds within folds.
    pub fn check_nested(&self, data: &Dataset<'_>, groups: Option<&[u32]>) -> Result<()> {
        self.check_for(data)?;
        let outer = folds(data.y(), groups, self.folds, self.spec.seed, 0)?;
        check_inner(&outer, data.y(), groups, self.folds, self.spec.seed)
    }

    /// Runs the whole search once per outer fold, without the rows of that fold, and tests what it chooses on them.
    pub fn nested(
        &self,
        data: &Dataset<'_>,
        groups: Option<&[u32]>,
        journal: &Journal,
        watch: &SearchWatch<'_>,
    ) -> Result<Nested> {
        self.check_nested(data, groups)?;
        let control = Control::new(watch);
        control.plan(self.folds * self.most_fits());
        let mut outer = Vec::new();
        for (number, fold) in folds(data.y(), groups, self.folds, self.spec.seed, 0)?.iter().enumerate() {
            let train = data.take_rows(&fold.train)?;
            let groups: Option<Vec<u32>> = groups.map(|g| fold.train.iter().map(|&i| g[i as usize]).collect());
            let groups = groups.as_deref();
            let inner = Work {
                search: self,
                data: &train,
                groups,
                splits: None,
                journal,
                control: &control,
                scope: number + 1,
            };
            let found = match inner.run() {
                Ok(found) if !found.interrupted => found,
                Ok(_) | Err(Error::Interrupted) => break,
                Err(error) => return Err(error),
            };
            let setting = found.chosen(self.rule).setting;
            let rows = FoldData::new(&self.spec, data, fold)?;
            let Some(scores) = follow(&self.spec, &rows, &[setting], false, &control)? else { break };
            outer.extend(scores.into_iter().map(|score| Outer { setting, score }));
        }
        if outer.is_empty() {
            return Err(Error::Interrupted);
        }
        let accuracies: Vec<f64> = outer.iter().map(|o| o.score.accuracy).collect();
        let (mean, sd) = (mean(&accuracies), deviation(&accuracies));
        Ok(Nested { outer, mean, sd, interrupted: control.stopped() })
    }
}
