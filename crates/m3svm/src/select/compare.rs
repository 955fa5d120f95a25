//! Which method is best on some data: every one is tuned by itself on the training part of each fold and judged on the rest.
//!
//! All methods see the same folds, so their accuracies can be compared pair by pair.

use std::ops::ControlFlow;
use std::time::Instant;

use serde::Serialize;

use super::early_discard::{deviation, mean};
use super::folds::{Fold, check_inner, folds};
use super::grid::{Grid, Setting};
use super::journal::Journal;
use super::outer::{Outer, OuterFolds};
use super::search::{Control, Search, SearchWatch};
use super::significance::corrected_t_test;
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::memory;
use crate::model::Model;
use crate::solver::Stop;
use crate::spec::Spec;

/// Bytes of what came out of a fold.
const OUTCOME: u128 = std::mem::size_of::<Outer>() as u128;

/// Methods to compare, and how.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// How each method is tuned on the training part of an outer fold.
    pub searches: Vec<Search>,
    /// Parts into which the rows are divided; each is the test part once per repeat.
    pub folds: usize,
    /// How often the rows are divided anew.
    pub repeats: usize,
    /// Seed of the outer folds.
    pub seed: u64,
}

/// How one method did.
#[derive(Clone, Debug)]
pub struct Compared {
    /// What the searches go by, on the test part of every outer fold, repeat after repeat; more is better.
    pub scores: Vec<f64>,
    /// What the search has chosen there.
    pub settings: Vec<Setting>,
    /// Their mean.
    pub mean: f64,
    /// Their standard deviation.
    pub sd: f64,
    /// The setting that was chosen most often (of equals the one with the stronger penalty).
    pub usual: Setting,
    /// Trained with it on all rows, to the full tolerance.
    pub model: Model,
    /// Time to predict all rows with it.
    pub predict_seconds: f64,
    /// Two-sided p-value against the method with the best mean; `None` for that one, and where nothing can be said.
    pub p_value: Option<f64>,
}

impl Comparison {
    /// All methods with the usual values: 5 outer folds around 3 inner ones.
    pub fn new(specs: impl IntoIterator<Item = Spec>) -> Self {
        let search = |spec: Spec| Search { grid: Grid::coarse(&spec), folds: 3, ..Search::new(spec) };
        let searches = specs.into_iter().map(search).collect();
        Self { searches, folds: 5, repeats: 10, seed: 0 }
    }

    /// Compares. The outcome has one entry per search, in their order; fewer if the watcher put an end to it.
    pub fn run(
        &self,
        data: &Dataset<'_>,
        groups: Option<&[u32]>,
        journal: &Journal,
        watch: &SearchWatch<'_>,
    ) -> Result<Vec<Compared>> {
        if self.repeats == 0 {
            return Err(Error::param("repeats", 0, "be at least 1"));
        }
        self.searches.iter().try_for_each(|search| search.check_for(data))?;
        let outer_folds = self.folds as u128 * self.repeats as u128;
        let bytes = outer_folds.saturating_mul(4 * data.rows() as u128 + OUTCOME);
        let what = format!("a comparison over {} folds in each of {} repeats", self.folds, self.repeats);
        memory::check(&what, bytes.min(u64::MAX.into()) as u64)?;
        let mut outer = Vec::new();
        for repeat in 0..self.repeats {
            outer.extend(folds(data.y(), groups, self.folds, self.seed, repeat)?);
        }
        let mut inner: Vec<(usize, u64)> = self.searches.iter().map(|s| (s.folds, s.spec.seed)).collect();
        inner.dedup();
        inner.iter().try_for_each(|(folds, seed)| check_inner(&outer, data.y(), groups, *folds, *seed))?;
        let control = Control::new(watch);
        self.searches.iter().for_each(|search| OuterFolds::plan(search, outer.len(), &control));
        let mut all = Vec::new();
        for (number, search) in self.searches.iter().enumerate() {
            match self.one(search, number, data, groups, &outer, journal, &control) {
                Ok(found) => all.push(found),
                Err(Error::Interrupted) => break,
                Err(error) => return Err(error),
            }
        }
        self.judge(&mut all, data.rows(), &outer);
        Ok(all)
    }

    fn one(
        &self,
        search: &Search,
        number: usize,
        data: &Dataset<'_>,
        groups: Option<&[u32]>,
        outer: &[Fold],
        journal: &Journal,
        control: &Control<'_>,
    ) -> Result<Compared> {
        let scope = 1 + number * outer.len();
        let outer = OuterFolds { search, data, groups, folds: outer, journal, control, scope }.run();
        let outer: Vec<Outer> = outer.into_iter().collect::<Result<_>>()?;
        let scores: Vec<f64> = outer.iter().map(|o| o.score.value()).collect();
        let settings: Vec<Setting> = outer.iter().map(|o| o.setting).collect();
        let usual = most_frequent(&settings);
        let mut watch = |_: &_| if control.go_on() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) };
        let model = usual.apply(&search.spec).fit_watched(data, None, &mut watch)?;
        if model.training().stop == Stop::Interrupted {
            return Err(Error::Interrupted);
        }
        let started = Instant::now();
        model.predict(data.x())?;
        let predict_seconds = started.elapsed().as_secs_f64();
        let (mean, sd) = (mean(&scores), deviation(&scores));
        Ok(Compared { scores, settings, mean, sd, usual, model, predict_seconds, p_value: None })
    }

    /// Tests every method against the best one.
    fn judge(&self, all: &mut [Compared], rows: usize, outer: &[Fold]) {
        let Some(best) = (0..all.len()).reduce(|a, b| if all[b].mean > all[a].mean { b } else { a }) else { return };
        let tested: usize = outer.iter().map(|fold| fold.test.len()).sum();
        let share = tested as f64 / (outer.len() * rows) as f64;
        let winner = all[best].scores.clone();
        for (_, compared) in all.iter_mut().enumerate().filter(|(number, _)| *number != best) {
            compared.p_value = corrected_t_test(&winner, &compared.scores, share);
        }
    }
}

/// The setting that occurs most often; of equals the one with the larger λ.
fn most_frequent(settings: &[Setting]) -> Setting {
    let count = |s: &Setting| settings.iter().filter(|other| *other == s).count();
    let better = |a: &Setting, b: &Setting| (count(a), a.lambda) > (count(b), b.lambda);
    settings.iter().copied().reduce(|a, b| if better(&b, &a) { b } else { a }).unwrap_or(Setting::default())
}
