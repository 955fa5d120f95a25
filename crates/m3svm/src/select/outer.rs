//! A search judged by rows that it has never seen: it runs once per outer fold, on the rest of the rows.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use rayon::prelude::*;
use serde::Serialize;

use super::fold_data::FoldData;
use super::folds::Fold;
use super::grid::Setting;
use super::journal::{ChainPlace, Journal};
use super::path::{Score, follow};
use super::search::{Control, Search};
use super::work::{Work, searches_at_once};
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

/// A search and the outer folds around it.
pub(super) struct OuterFolds<'a> {
    pub(super) search: &'a Search,
    pub(super) data: &'a Dataset<'a>,
    pub(super) groups: Option<&'a [u32]>,
    pub(super) folds: &'a [Fold],
    pub(super) journal: &'a Journal,
    pub(super) control: &'a Control<'a>,
    /// The scope of the first fold in the journal; the others follow.
    pub(super) scope: usize,
}

impl OuterFolds<'_> {
    /// Tells the watcher how many fits there will be at most.
    pub(super) fn plan(search: &Search, folds: usize, control: &Control<'_>) {
        control.plan(folds * (search.most_fits() + 1));
    }

    /// All folds in their order, as many side by side as keep the threads busy and memory allows. Fewer after an interruption or an error, which is then among them.
    pub(super) fn run(&self) -> Vec<Result<Outer>> {
        let next = AtomicUsize::new(0);
        let failed = AtomicBool::new(false);
        // Each worker takes the next fold when it has one done: nobody waits for the slowest of a batch.
        let worker = |_| {
            let mut done = Vec::new();
            while !failed.load(Ordering::Relaxed) {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(fold) = self.folds.get(at) else { break };
                let outer = self.judge(self.scope + at, fold);
                failed.fetch_or(outer.is_err(), Ordering::Relaxed);
                done.push((at, outer));
            }
            done
        };
        let workers = searches_at_once(self.search, self.data);
        let mut done: Vec<_> = (0..workers).into_par_iter().with_max_len(1).flat_map_iter(worker).collect();
        done.sort_unstable_by_key(|(at, _)| *at);
        done.into_iter().map(|(_, outer)| outer).collect()
    }

    fn judge(&self, scope: usize, fold: &Fold) -> Result<Outer> {
        let Self { search, data, journal, control, .. } = *self;
        if control.stopped() {
            return Err(Error::Interrupted);
        }
        let train = fold.train_rows(search.spec.kernel, data)?;
        let groups: Option<Vec<u32>> = self.groups.map(|g| fold.train.iter().map(|&i| g[i as usize]).collect());
        let inner = Work { search, data: &train, groups: groups.as_deref(), splits: None, journal, control, scope };
        let found = inner.run()?;
        if found.interrupted {
            return Err(Error::Interrupted);
        }
        let setting = found.chosen(search.rule).setting;
        // In the journal this comes after the repeats of the search.
        let number = search.grid.settings().iter().position(|s| *s == setting);
        let place = ChainPlace { scope, repeat: search.repeats, fold: 0, settings: number.into_iter().collect() };
        if let Some(&[score]) = journal.find(&place).as_deref() {
            control.finish(1);
            return Ok(Outer { setting, score });
        }
        let spec = Setting { gamma: setting.gamma, ..Setting::default() }.apply(&search.spec);
        let rows = FoldData::new(&spec, data, fold, control)?.ok_or(Error::Interrupted)?;
        let scores = follow(&spec, &rows, &[setting], (false, search.criterion), control)?;
        let score = scores.and_then(|scores| scores.first().copied()).ok_or(Error::Interrupted)?;
        if number.is_some() {
            journal.add(&place, &[score])?;
        }
        Ok(Outer { setting, score })
    }
}
