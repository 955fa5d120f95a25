//! The course of a search: rounds of repeats, folds side by side, and losers dropped between the rounds.
//!
//! What is done depends on results alone and is decided between rounds, in a fixed order. So neither the number of threads nor an
//! interruption changes the outcome.

use std::ops::Range;

use rayon::prelude::*;

use super::early_discard::hopeless;
use super::extend::MOST_STEPS;
use super::fold_data::FoldData;
use super::folds::{Fold, folds};
use super::grid::Setting;
use super::journal::{ChainPlace, Journal};
use super::path::{Score, follow};
use super::result::{Outcome, SearchResult};
use super::search::{Control, Search};
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::spec::Spec;

/// Most settings in one chain of warm starts. Longer chains save cold starts, shorter ones keep more threads busy.
const CHAIN: usize = 40;
/// Most repeats in one round.
const MOST_REPEATS: usize = 16;
/// Most bytes for the rows of folds that are under way at the same time, per thread: machines with more of one have more of the other.
const MOST_BYTES: usize = 1 << 29;
/// Threads beyond this get no more: a share of a large machine may have little memory.
const MOST_SHARES: usize = 16;

/// One search over all rows, or over those of one outer fold.
pub(super) struct Work<'a> {
    pub(super) search: &'a Search,
    pub(super) data: &'a Dataset<'a>,
    pub(super) groups: Option<&'a [u32]>,
    /// Splits to use for the one repeat, instead of folds of our own.
    pub(super) splits: Option<&'a [Fold]>,
    pub(super) journal: &'a Journal,
    pub(super) control: &'a Control<'a>,
    pub(super) scope: usize,
}

/// What is known of one setting.
struct WorkItem {
    setting: Setting,
    /// By fold, repeat after repeat.
    scores: Vec<Score>,
    discarded_after: Option<usize>,
}

impl Work<'_> {
    pub(super) fn run(&self) -> Result<SearchResult> {
        let Search { folds, repeats, .. } = *self.search;
        let entry = |setting| WorkItem { setting, scores: Vec::new(), discarded_after: None };
        let mut entries: Vec<WorkItem> = self.search.grid.settings().into_iter().map(entry).collect();
        self.try_all(&mut entries, 0)?;
        let mut steps = 0;
        while steps < MOST_STEPS && !self.control.stopped() {
            let outcome = |e: &WorkItem| Outcome::new(e.setting, &e.scores, e.discarded_after);
            let further = self.search.grid.further(&entries.iter().map(outcome).collect::<Vec<_>>());
            if further.is_empty() {
                break;
            }
            self.control.plan(further.len() * folds * repeats);
            let known = entries.len();
            entries.extend(further.into_iter().map(entry));
            self.try_all(&mut entries, known)?;
            steps += 1;
        }
        let scores: Vec<Score> = entries.iter().flat_map(|e| &e.scores).copied().collect();
        // What came later stands where it belongs: γ by γ, p by p, and from the largest λ to the smallest.
        let place = |e: &WorkItem| (e.setting.gamma, e.setting.p, e.setting.lambda.map(|lambda| -lambda));
        entries.sort_by(|a, b| place(a).partial_cmp(&place(b)).unwrap_or(std::cmp::Ordering::Equal));
        let outcomes = entries.iter().filter(|e| !e.scores.is_empty());
        let outcomes = outcomes.map(|e| Outcome::new(e.setting, &e.scores, e.discarded_after)).collect();
        let found = SearchResult::new(outcomes, &scores, self.control.stopped()).ok_or(Error::Interrupted)?;
        Ok(SearchResult { steps, ..found })
    }

    /// All repeats for the entries from `first` on.
    fn try_all(&self, entries: &mut [WorkItem], first: usize) -> Result<()> {
        let Search { folds, repeats, discard, .. } = *self.search;
        let mut done = 0;
        while done < repeats && !self.control.stopped() {
            // Rounds of 1, 1, 2, 4, … repeats: early verdicts save most, later ones need more evidence.
            let round = if discard { done.clamp(1, MOST_REPEATS) } else { MOST_REPEATS }.min(repeats - done);
            let is_alive = |s: &usize| entries[*s].discarded_after.is_none();
            let alive: Vec<usize> = (first..entries.len()).filter(is_alive).collect();
            for scores in self.round(done..done + round, entries, &alive)?.into_iter().flatten() {
                alive.iter().zip(scores).for_each(|(&s, score)| entries[s].scores.push(score));
            }
            done += round;
            // Verdicts are about settings of one range, tried on the same folds so far.
            if discard && first == 0 && done < repeats && !self.control.stopped() {
                let dropped = self.drop_losers(entries, &alive, done);
                self.control.cancel(dropped * folds * (repeats - done));
            }
        }
        Ok(())
    }

    /// Marks what is not worth more repeats; says how many that are.
    fn drop_losers(&self, entries: &mut [WorkItem], alive: &[usize], done: usize) -> usize {
        let values = |s: &usize| entries[*s].scores.iter().map(Score::value).collect();
        let values: Vec<Vec<f64>> = alive.iter().map(values).collect();
        let row = self.search.folds as f64 / self.data.rows() as f64;
        let lost: Vec<usize> =
            alive.iter().zip(hopeless(&values, row)).filter(|(_, lost)| *lost).map(|(s, _)| *s).collect();
        lost.iter().for_each(|&s| entries[s].discarded_after = Some(done));
        lost.len()
    }

    /// Scores of the settings on every fold of some repeats; `None` for folds that were not finished.
    fn round(&self, repeats: Range<usize>, entries: &[WorkItem], alive: &[usize]) -> Result<Vec<Option<Vec<Score>>>> {
        let mut all: Vec<(usize, usize, Fold)> = Vec::new();
        for repeat in repeats {
            let split = match self.splits {
                Some(given) => given.to_vec(),
                None => folds(self.data.y(), self.groups, self.search.folds, self.search.spec.seed, repeat)?,
            };
            all.extend((0..).zip(split).map(|(number, fold)| (repeat, number, fold)));
        }
        let chains = chains(alive, |s| entries[s].setting.gamma);
        let mut results = Vec::new();
        for some in all.chunks(at_once(self.search, self.data)) {
            let done: Vec<Result<_>> = some.par_iter().map(|fold| self.fold(fold, entries, alive, &chains)).collect();
            results.extend(done);
        }
        results.into_iter().collect()
    }

    /// Scores in the order of `alive`.
    fn fold(
        &self,
        (repeat, number, fold): &(usize, usize, Fold),
        entries: &[WorkItem],
        alive: &[usize],
        chains: &[Vec<usize>],
    ) -> Result<Option<Vec<Score>>> {
        let place = |chain: &Vec<usize>| ChainPlace {
            scope: self.scope,
            repeat: *repeat,
            fold: *number,
            settings: chain.clone(),
        };
        let places: Vec<ChainPlace> = chains.iter().map(place).collect();
        let known: Vec<Option<Vec<Score>>> = places.iter().map(|place| self.journal.find(place)).collect();
        let spec = Spec { tol: self.search.tol, ..self.search.spec.clone() };
        let mut parts: Vec<Result<Option<Vec<Score>>>> = Vec::with_capacity(places.len());
        // One after the other: of every γ there are features of their own, made once for all chains of it.
        let gamma = |place: &ChainPlace| place.settings.first().and_then(|&s| entries[s].setting.gamma);
        let mut known = known.into_iter();
        for places in places.chunk_by(|a, b| gamma(a) == gamma(b)) {
            let known: Vec<Option<Vec<Score>>> = known.by_ref().take(places.len()).collect();
            let spec = Setting { gamma: gamma(&places[0]), ..Setting::default() }.apply(&spec);
            let missing = known.iter().any(Option::is_none) && !self.control.stopped();
            let data = missing.then(|| FoldData::new(&spec, self.data, fold, self.control)).transpose()?.flatten();
            let chain = |(place, known): (&ChainPlace, Option<Vec<Score>>)| -> Result<Option<Vec<Score>>> {
                if known.is_some() {
                    self.control.finish(place.settings.len());
                    return Ok(known);
                }
                let Some(data) = &data else { return Ok(None) };
                let how = (self.search.warm_starts, self.search.criterion);
                let settings: Vec<Setting> = place.settings.iter().map(|&s| entries[s].setting).collect();
                let Some(scores) = follow(&spec, data, &settings, how, self.control)? else {
                    return Ok(None);
                };
                self.journal.add(place, &scores)?;
                Ok(Some(scores))
            };
            parts.par_extend(places.par_iter().zip(known).map(chain));
        }
        let mut scores = vec![None; entries.len()];
        for (chain, part) in chains.iter().zip(parts) {
            chain.iter().zip(part?.into_iter().flatten()).for_each(|(&s, score)| scores[s] = Some(score));
        }
        Ok(alive.iter().map(|&s| scores[s]).collect())
    }
}

/// How many searches over most of the rows may be under way, each with folds of its own: one more than
/// keep all threads busy, because the last fold of a search leaves some without work.
pub(super) fn searches_at_once(search: &Search, data: &Dataset<'_>) -> usize {
    let folds = search.folds * search.repeats.min(MOST_REPEATS);
    let busy = rayon::current_num_threads().div_ceil(folds) + 1;
    (at_once(search, data) / (1 + folds)).clamp(1, busy)
}

/// How many copies of the rows there may be.
fn at_once(search: &Search, data: &Dataset<'_>) -> usize {
    let rows = data.rows();
    // With a kernel the rows are those of its factor.
    let width = if search.spec.kernel.is_linear() { 0 } else { search.spec.rank.unwrap_or(rows).min(rows) };
    let bytes = data.x().stored().max(rows.saturating_mul(width)).saturating_mul(std::mem::size_of::<f64>());
    (MOST_BYTES * rayon::current_num_threads().min(MOST_SHARES) / bytes.max(1)).max(1)
}

/// Cuts the settings into chains of neighbours, each of one γ.
fn chains(alive: &[usize], gamma: impl Fn(usize) -> Option<f64>) -> Vec<Vec<usize>> {
    let alike = alive.chunk_by(|a, b| gamma(*a) == gamma(*b));
    alike
        .flat_map(|alive| {
            let count = alive.len().div_ceil(CHAIN).max(1);
            alive.chunks(alive.len().div_ceil(count).max(1)).map(<[usize]>::to_vec)
        })
        .collect()
}
