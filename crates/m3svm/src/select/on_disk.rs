//! A search over rows on disk: every fold is the same rows without those that it tests, which weigh nothing while they pass by.

use std::ops::ControlFlow;

use super::folds::tested_in;
use super::path::{FitsSettings, Score, follow};
use super::result::{Outcome, SearchResult};
use super::search::{Control, Search, SearchWatch};
use crate::dataset::check_sum;
use crate::error::{Error, Result};
use crate::interrupt::Interrupt;
use crate::memory;
use crate::metrics::{Criterion, Metrics, log_loss};
use crate::model::{argmax, class_scores, raw_scores};
use crate::row_cache::{Gathered, GatheredRows, LoadedBlock, OfFold, RowCache, View};
use crate::scale::{Scaler, Stats};
use crate::scheme::Scheme;
use crate::solver::{Solution, Stop};
use crate::spec::Spec;
use crate::streamed_fit::Fit;

/// Bytes per row for who belongs to which fold, while it is decided.
const PER_ROW: usize = 40;

impl Search {
    /// Tries all settings on rows that need not fit into memory: the folds are those of [`Search::run`], one after the other. Nothing is
    /// discarded on the way. What has become of columns of every kind was learnt from all rows.
    pub fn run_gathered(&self, fit: &Fit, rows: &GatheredRows, watch: &SearchWatch<'_>) -> Result<SearchResult> {
        let cache = match &rows.0 {
            Gathered::Memory(data) => return self.run(data, None, &super::Journal::none(), watch),
            Gathered::Disk(cache) => cache,
        };
        self.check()?;
        self.spec.check_for(cache.classes().len())?;
        Fit::check(&self.spec)?;
        if self.criterion == Criterion::LogLoss && !self.tells_probabilities() {
            return Err(Error::Unsuited {
                solver: "of rows on disk",
                what: "the log-loss of a loss without probabilities",
                instead: "choose by another metric, or take more memory",
            });
        }
        memory::check("the folds of all rows", (cache.rows() * PER_ROW) as u64)?;
        let control = Control::new(watch);
        control.plan(self.most_fits());
        let y = cache.labels()?;
        let settings = self.grid.settings();
        let mut scores: Vec<Vec<Score>> = vec![Vec::new(); settings.len()];
        let spec = Spec { tol: self.tol, ..self.spec.clone() };
        'all: for repeat in 0..self.repeats {
            let tested = tested_in(&y, self.folds, self.spec.seed, repeat)?;
            for fold in 0..self.folds {
                let Some(data) = FoldOnDisk::new(fit, cache, &spec, &tested, fold, &control)? else { break 'all };
                let how = (self.warm_starts, self.criterion);
                let Some(found) = follow(&spec, &data, &settings, how, &control)? else { break 'all };
                scores.iter_mut().zip(found).for_each(|(all, score)| all.push(score));
            }
        }
        let all: Vec<Score> = scores.iter().flatten().copied().collect();
        let tried = settings.into_iter().zip(&scores).filter(|(_, scores)| !scores.is_empty());
        let outcomes: Vec<Outcome> = tried.map(|(setting, scores)| Outcome::new(setting, scores, None)).collect();
        SearchResult::new(outcomes, &all, control.stopped()).ok_or(Error::Interrupted)
    }

    fn tells_probabilities(&self) -> bool {
        self.spec.scheme == Scheme::Joint && self.spec.loss.as_dyn().has_probabilities()
    }
}

/// One fold of rows on disk.
struct FoldOnDisk<'a> {
    fit: &'a Fit,
    cache: &'a RowCache,
    scaler: Scaler,
    class_weights: Option<Vec<f64>>,
    train: OfFold<'a>,
    test: OfFold<'a>,
}

impl<'a> FoldOnDisk<'a> {
    /// Learns from the training rows how to scale; `None` if the watcher has put an end to it.
    fn new(
        fit: &'a Fit,
        cache: &'a RowCache,
        spec: &Spec,
        tested_in: &'a [u16],
        fold: usize,
        control: &Control<'_>,
    ) -> Result<Option<Self>> {
        let fold = fold as u16;
        let (train, test) = (OfFold { tested_in, fold, tested: false }, OfFold { tested_in, fold, tested: true });
        let scaler = Scaler::none(cache.cols());
        let view = View { scaler: &scaler, class_weights: None, speaks_for: None, fold: Some(train) };
        let (mut stats, mut mass) = (Stats::default(), vec![0.0; cache.classes().len()]);
        cache.for_each_block(&view, true, |block| {
            block.y.iter().zip(&block.weights).for_each(|(y, w)| mass[*y as usize] += w);
            if block.weights.iter().any(|w| *w > 0.0) {
                stats.merge(Stats::of(&block.x.features(), Some(&block.weights)));
            }
            if control.go_on() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        if control.stopped() {
            return Ok(None);
        }
        if mass.iter().all(|m| *m == 0.0) {
            return Err(Error::NoWeight { of: "the training rows of a fold" });
        }
        check_sum("the training rows of a fold", &mass)?;
        let scaler = Scaler::of_stats(spec.scaling(), &stats, cache.is_sparse());
        let class_weights = spec.each_class(cache.classes(), || mass)?;
        Ok(Some(Self { fit, cache, scaler, class_weights, train, test }))
    }

    /// The test rows of a block: their scores class by class, labels and weights.
    fn tested(&self, spec: &Spec, theta: &[f64], block: &LoadedBlock) -> Result<(Vec<f64>, Vec<u32>, Vec<f64>)> {
        let c = self.cache.classes().len();
        let (weights, intercept) = theta.split_at(self.cache.cols() * c);
        let none = vec![0.0; c];
        let raw = raw_scores(&block.x.features(), weights, if intercept.is_empty() { &none } else { intercept })?;
        let z = class_scores(spec.scheme, raw, c);
        let rows = (0..block.y.len()).filter(|&i| block.weights[i] > 0.0);
        let mut some = (Vec::new(), Vec::new(), Vec::new());
        rows.for_each(|i| {
            some.0.extend_from_slice(&z[i * c..(i + 1) * c]);
            some.1.push(block.y[i]);
            some.2.push(block.weights[i]);
        });
        Ok(some)
    }
}

impl FitsSettings for FoldOnDisk<'_> {
    /// None: a sample of the rows says where to begin.
    fn origin(&self, _: &Spec) -> Vec<f64> {
        Vec::new()
    }

    fn fit(&self, spec: &Spec, start: Vec<f64>, control: &Control<'_>) -> Result<Option<Solution>> {
        let mut watch = |_: &_| if control.go_on() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) };
        let class_weights = self.class_weights.clone();
        let view = View { scaler: &self.scaler, class_weights, speaks_for: None, fold: Some(self.train) };
        let start = (!start.is_empty()).then_some(start);
        let found = self.fit.seen(spec, self.cache, &view, start, &Interrupt::new(&mut watch))?;
        Ok(Some(found.settled(spec.tol, true)?).filter(|found| found.stop != Stop::Interrupted))
    }

    fn score(&self, spec: &Spec, theta: &[f64], by: Criterion) -> Result<(f64, Option<f64>, f64)> {
        let c = self.cache.classes().len();
        let loss = spec.loss.as_dyn();
        let has_own = spec.scheme == Scheme::Joint && loss.has_probabilities();
        let (mut right, mut lost, mut mass) = (0.0, 0.0, 0.0);
        let (mut truth, mut predicted, mut weights) = (Vec::new(), Vec::new(), Vec::new());
        let view = View { scaler: &self.scaler, class_weights: None, speaks_for: None, fold: Some(self.test) };
        let mut failed = None;
        self.cache.for_each_block(&view, true, |block| {
            let mut add = || -> Result<()> {
                let (mut z, y, w) = self.tested(spec, theta, block)?;
                if y.is_empty() {
                    return Ok(());
                }
                let here: f64 = w.iter().sum();
                mass += here;
                right += here * Criterion::Accuracy.of(&z, None, &y, Some(&w), c)?;
                if !matches!(by, Criterion::Accuracy | Criterion::LogLoss) {
                    predicted.extend(z.chunks_exact(c).map(argmax));
                    truth.extend_from_slice(&y);
                    weights.extend_from_slice(&w);
                }
                if has_own {
                    z.chunks_exact_mut(c).for_each(|row| loss.probabilities(row));
                    lost += here * log_loss(&z, &y, Some(&w), c)?;
                }
                Ok(())
            };
            failed = add().err();
            if failed.is_none() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        if let Some(failed) = failed {
            return Err(failed);
        }
        if mass == 0.0 {
            return Err(Error::NoWeight { of: "the test rows of a fold" });
        }
        let (accuracy, lost) = (right / mass, has_own.then_some(lost / mass));
        let value = match by {
            Criterion::Accuracy => accuracy,
            Criterion::LogLoss => -lost.unwrap_or(f64::INFINITY),
            Criterion::Balanced => Metrics::new(&truth, &predicted, Some(&weights), c)?.balanced_accuracy(),
            Criterion::MacroF1 => Metrics::new(&truth, &predicted, Some(&weights), c)?.macro_average.f1,
        };
        Ok((accuracy, lost, value))
    }
}
