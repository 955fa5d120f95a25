//! What to search, and how the search is watched.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use serde::Serialize;

use super::extend::MOST_STEPS;
use super::folds::Fold;
use super::grid::Grid;
use super::held_out::Validation;
use super::journal::Journal;
use super::path::Score;
use super::result::{Rule, SearchResult};
use super::work::Work;
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::memory;
use crate::metrics::Criterion;
use crate::spec::Spec;

/// Bytes of the score of one fit.
const SCORE: u128 = std::mem::size_of::<Score>() as u128;

/// A cross-validated search over λ and p.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Search {
    /// Everything but λ and p. Its tolerance is that of the final model, its seed decides the folds.
    pub spec: Spec,
    /// The values to try.
    pub grid: Grid,
    /// Parts into which the rows are divided; each is the test part once per repeat.
    pub folds: usize,
    /// How often the rows are divided anew.
    pub repeats: usize,
    /// Which setting is chosen in the end.
    pub rule: Rule,
    /// What settings are judged by.
    #[serde(skip_serializing_if = "is_accuracy")]
    pub criterion: Criterion,
    /// Whether settings that are clearly behind after some of the repeats are dropped.
    pub discard: bool,
    /// How near to the optimum fits on folds come, relative to the objective; coarser than for a final model, because accuracy hardly
    /// depends on it. The solver's own estimate of the distance suffices where a proof would take more steps.
    pub tol: f64,
    /// Whether fits start from their neighbours. Only the time depends on it.
    pub warm_starts: bool,
}

/// Journals and results that do not say so go by accuracy.
fn is_accuracy(by: &Criterion) -> bool {
    *by == Criterion::Accuracy
}

/// How far a search is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SearchProgress {
    /// Fits done, those from a journal included.
    pub done: usize,
    /// Fits in all, as far as is known: discarded settings need fewer.
    pub planned: usize,
}

/// Called during every fit, perhaps from several threads at once. `Break` ends the search with what is finished.
pub type SearchWatch<'a> = dyn Fn(&SearchProgress) -> ControlFlow<()> + Sync + 'a;

impl Search {
    /// Five folds once over the usual values for this method.
    pub fn new(spec: Spec) -> Self {
        let grid = Grid::for_spec(&spec);
        let rule = Rule::default();
        let criterion = Criterion::default();
        Self { spec, grid, folds: 5, repeats: 1, rule, criterion, discard: true, tol: 1e-3, warm_starts: true }
    }

    /// The same with fewer values where a fit takes long, unless somebody has chosen the values: [`Grid::coarse`].
    pub fn suited_to(self, data: &Dataset<'_>) -> Self {
        let is_quick = matches!(Validation::Auto.resolved(&self.spec.with_usual_lambda(), data), Validation::Folds(_));
        let is_usual = self.grid == Grid::for_spec(&self.spec);
        if is_usual && !is_quick { Self { grid: Grid::coarse(&self.spec), ..self } } else { self }
    }

    /// Refuses settings outside their range.
    pub fn check(&self) -> Result<()> {
        if self.repeats == 0 {
            return Err(Error::param("repeats", 0, "be at least 1"));
        }
        if !(self.tol.is_finite() && self.tol > 0.0) {
            return Err(Error::param("search-tol", self.tol, "be a finite number greater than 0"));
        }
        self.grid.check(&self.spec)
    }

    /// The same, and refuses data that the method cannot learn from.
    pub(super) fn check_for(&self, data: &Dataset<'_>) -> Result<()> {
        self.check()?;
        self.spec.check_for(data.classes().len())?;
        // Fits on the parts of the rows are under way on all threads at once.
        let at_once = self.folds.saturating_mul(self.repeats).min(rayon::current_num_threads());
        let (fit, what) = memory::bytes_of_fit(&self.spec, data);
        memory::check(&format!("a search with {at_once} times {what}"), fit.saturating_mul(at_once as u64))?;
        let scores = self.grid.settings().len() as u128 * self.folds as u128 * self.repeats as u128;
        let bytes = scores.saturating_mul(SCORE).min(u64::MAX.into()) as u64;
        memory::check(&format!("a search of {scores} fits"), bytes)
    }

    /// Tries all settings. `groups` has one number per row; rows with the same number are never divided between training and test.
    pub fn run(
        &self,
        data: &Dataset<'_>,
        groups: Option<&[u32]>,
        journal: &Journal,
        watch: &SearchWatch<'_>,
    ) -> Result<SearchResult> {
        self.check_for(data)?;
        let control = Control::new(watch);
        control.plan(self.most_fits());
        Work { search: self, data, groups, splits: None, journal, control: &control, scope: 0 }.run()
    }

    /// Tries all settings on splits that the caller has made; `folds`, `repeats` and `discard` mean nothing then.
    pub fn run_on(&self, data: &Dataset<'_>, splits: &[Fold], watch: &SearchWatch<'_>) -> Result<SearchResult> {
        let search = Self { folds: splits.len(), repeats: 1, discard: false, ..self.clone() };
        search.check_for(data)?;
        if splits.is_empty() {
            return Err(Error::param("splits", 0, "be at least 1"));
        }
        splits.iter().try_for_each(|split| split.check(data.rows()))?;
        let (control, journal, splits) = (Control::new(watch), Journal::none(), Some(splits));
        control.plan(search.most_fits());
        Work { search: &search, data, groups: None, splits, journal: &journal, control: &control, scope: 0 }.run()
    }

    /// Settings if the range is extended as far as that goes.
    pub(super) fn most_settings(&self) -> usize {
        let Grid { lambdas, extends, .. } = &self.grid;
        let (given, each) = (self.grid.settings().len(), lambdas.as_ref().map_or(1, |values| values.as_slice().len()));
        if *extends { given + MOST_STEPS * (given / each) } else { given }
    }

    /// Fits if nothing is discarded, and the range is not extended.
    pub(super) fn most_fits(&self) -> usize {
        self.grid.settings().len() * self.folds * self.repeats
    }
}

/// Counts fits and passes on the wish to stop.
pub(crate) struct Control<'a> {
    watch: &'a SearchWatch<'a>,
    done: AtomicUsize,
    planned: AtomicUsize,
    stopped: AtomicBool,
}

impl<'a> Control<'a> {
    pub(crate) fn new(watch: &'a SearchWatch<'a>) -> Self {
        Self { watch, done: AtomicUsize::new(0), planned: AtomicUsize::new(0), stopped: AtomicBool::new(false) }
    }

    pub(super) fn plan(&self, fits: usize) {
        self.planned.fetch_add(fits, Ordering::Relaxed);
    }

    pub(super) fn cancel(&self, fits: usize) {
        self.planned.fetch_sub(fits, Ordering::Relaxed);
    }

    pub(super) fn finish(&self, fits: usize) {
        self.done.fetch_add(fits, Ordering::Relaxed);
    }

    /// Fits done so far.
    pub(super) fn done(&self) -> usize {
        self.done.load(Ordering::Relaxed)
    }

    /// Tells the watcher where things stand and asks whether to go on.
    pub(super) fn go_on(&self) -> bool {
        let (done, planned) = (self.done.load(Ordering::Relaxed), self.planned.load(Ordering::Relaxed));
        if !self.stopped() && (self.watch)(&SearchProgress { done, planned }).is_break() {
            self.stopped.store(true, Ordering::Relaxed);
        }
        !self.stopped()
    }

    pub(super) fn stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }
}
