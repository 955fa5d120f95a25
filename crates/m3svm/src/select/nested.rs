//! How good the choice is that a search makes: the search itself is cross-validated.
//!
//! The best mean of a search is too good to be true, because it is the best of many. Here rows that the search has never seen judge what it
//! has chosen.

use serde::Serialize;

use super::early_discard::{deviation, mean};
use super::folds::{check_inner, folds};
use super::journal::Journal;
use super::outer::{Outer, OuterFolds};
use super::search::{Control, Search, SearchWatch};
use crate::dataset::Dataset;
use crate::error::{Error, Result};

/// The outcome of a cross-validated search.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Nested {
    /// The outer folds that are finished, in their order.
    pub outer: Vec<Outer>,
    /// Mean over the outer folds of what the search goes by.
    pub mean: f64,
    /// Standard deviation over the outer folds.
    pub sd: f64,
    /// Fits of all searches and of what they chose.
    pub fits: usize,
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
        OuterFolds::plan(self, self.folds, &control);
        let folds = folds(data.y(), groups, self.folds, self.spec.seed, 0)?;
        let found =
            OuterFolds { search: self, data, groups, folds: &folds, journal, control: &control, scope: 1 }.run();
        // After an interruption, what is finished still counts.
        let finished = found.into_iter().filter(|outer| !matches!(outer, Err(Error::Interrupted)));
        let outer: Vec<Outer> = finished.collect::<Result<_>>()?;
        if outer.is_empty() {
            return Err(Error::Interrupted);
        }
        let values: Vec<f64> = outer.iter().map(|o| o.score.value()).collect();
        let (mean, sd) = (mean(&values), deviation(&values));
        Ok(Nested { outer, mean, sd, fits: control.done(), interrupted: control.stopped() })
    }
}
