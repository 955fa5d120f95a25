//! Fits over rows that come in batches: in memory where they fit, else from a cache on disk.

use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use crate::dataset::Dataset;
use crate::engine::{InMemory, Rows, Sizes, Streamed, StreamedRoom};
use crate::error::{Error, Result};
use crate::interrupt::Interrupt;
use crate::memory;
use crate::model::{FitOutcome, Model, Named, Training, argmax, class_scores, raw_scores};
use crate::penalty::Penalty;
use crate::plan::SystemPlan;
use crate::problem::Problem;
use crate::risk::Risk;
use crate::row_cache::{
    CachePlace, Gathered, GatheredRows, RowCache, RowGatherer, Sample, View, blocks_at_once, gather,
};
use crate::row_source::RowSource;
use crate::scale::Scaler;
use crate::scheme::Scheme;
use crate::select::{Control, LAMBDA, LambdaChoice};
use crate::solver::{AnySolver, Limits, Newton, Progress, Proximal, Solution, Watch};
use crate::spec::Spec;
use crate::support::SupportCounts;

/// The share of the memory that a block of rows may take: three are held at once, and each is copied in pieces while it is worked on.
const BLOCK: u64 = 32;
/// Larger blocks gain nothing.
const LARGEST_BLOCK: u64 = 1 << 24;
/// The share that rows which have been read may take before they go to disk. The fit takes as much again and more.
const HELD: u64 = 3;
/// The share of the sample that the path is joined from, with all that its fit takes.
const SAMPLE: u64 = 4;
/// How often the rows of a sample are there while λ is chosen: parts of them in every fold.
const COPIES: usize = 8;
/// How near the optimum of a sample is worth looking for, next to how far it is from that of all rows.
pub(crate) const SAMPLE_TOL: f64 = 1e-3;
/// Fewer rows of a sample per parameter say too little: its systems are as large as those of all rows.
pub(crate) const SAMPLE_ROWS: usize = 4;

/// How rows are to be had for a fit that may be larger than memory.
#[derive(Clone, Debug)]
pub struct Fit {
    /// Where rows go that do not fit.
    pub place: CachePlace,
    /// Most bytes to take. Below that all is as if the rows had come at once. It decides how rows are cut into blocks and what is held of
    /// them, and with that the last bits of the result.
    pub memory: u64,
}

impl Default for Fit {
    /// What the budget of the process leaves, and the system's folder for temporary files.
    fn default() -> Self {
        Self { place: CachePlace::default(), memory: memory::budget_left() }
    }
}

impl Fit {
    /// Trains on all rows of a source.
    pub fn of_source<S: RowSource + ?Sized>(
        &self,
        spec: &Spec,
        source: &mut S,
    ) -> std::result::Result<Model, S::Error> {
        self.of_source_watched(spec, source, None, &mut |_| ControlFlow::Continue(()))
    }

    /// The same with a warm start and a watcher, which is asked while rows are read, too.
    pub fn of_source_watched<S: RowSource + ?Sized>(
        &self,
        spec: &Spec,
        source: &mut S,
        warm: Option<&Model>,
        watch: &mut Watch<'_>,
    ) -> std::result::Result<Model, S::Error> {
        spec.check()?;
        let begin = Progress::BEGIN;
        let rows = self.gather(source, &mut || watch(&begin).is_continue())?;
        Ok(self.of_rows(spec, rows, warm, watch)?)
    }

    /// Reads a source to its end, for [`Fit::of_rows`]. `go_on` is asked between batches.
    pub fn gather<S: RowSource + ?Sized>(
        &self,
        source: &mut S,
        go_on: &mut dyn FnMut() -> bool,
    ) -> std::result::Result<GatheredRows, S::Error> {
        gather(source, self.gatherer(), go_on)
    }

    /// Refuses settings that need all rows at hand.
    pub fn check(spec: &Spec) -> Result<()> {
        spec.check()?;
        check_passes(spec, ON_DISK)
    }

    /// What takes the rows for [`Fit::of_rows`], batch by batch. It makes a new cache.
    pub fn gatherer(&self) -> RowGatherer {
        RowGatherer::new(self.place.clone(), self.block(), (self.memory / HELD) as usize)
    }

    fn block(&self) -> usize {
        (self.memory / BLOCK).min(LARGEST_BLOCK) as usize
    }

    /// Trains on rows that have been gathered.
    pub fn of_rows(
        &self,
        spec: &Spec,
        rows: GatheredRows,
        warm: Option<&Model>,
        watch: &mut Watch<'_>,
    ) -> Result<Model> {
        spec.check()?;
        match rows.0 {
            // Rows that fit may still leave no room for the fit.
            Gathered::Memory(data)
                if memory::check_fit(spec, &data).is_err() && check_passes(spec, ON_DISK).is_ok() =>
            {
                let cache = RowCache::of(data, &self.place, self.block())?;
                self.of_cache(spec, &cache, warm, watch)
            }
            Gathered::Memory(data) => Ok(spec.fit_owned(data, warm, watch)?.0),
            Gathered::Disk(cache) => self.of_cache(spec, &cache, warm, watch),
        }
    }

    fn of_cache(&self, spec: &Spec, cache: &RowCache, warm: Option<&Model>, watch: &mut Watch<'_>) -> Result<Model> {
        let started = Instant::now();
        spec.check_for(cache.classes().len())?;
        check_passes(spec, ON_DISK)?;
        let (d, c) = (cache.cols(), cache.classes().len());
        let vectors = memory::numbers(d + 1, c * VECTORS);
        memory::check(
            &format!("the fit of {d} features for {c} scorers"),
            vectors.saturating_add((blocks_at_once() * cache.largest_block()) as u64),
        )?;
        if spec.chooses_lambda() {
            let choice = self.choose_lambda(spec, cache, watch)?;
            let mut model = self.of_cache(&spec.with_lambda(choice.lambda), cache, warm, watch)?;
            model.training.lambda = Some(choice);
            model.training.passes = model.training.passes.map(|passes| passes + 1);
            model.training.seconds = Some(started.elapsed().as_secs_f64());
            return Ok(model);
        }
        let mut scaler = Scaler::of_stats(spec.scaling(), cache.stats(), cache.is_sparse());
        scaler.leave(cache.preprocessor());
        let class_weights = spec.each_class(cache.classes(), || cache.mass())?;
        let view = View { scaler: &scaler, class_weights, speaks_for: None, fold: None };
        let start = match warm {
            Some(model) => {
                model.check_columns(cache.preprocessor())?;
                Some(model.start_for(d, cache.classes(), &scaler, spec)?)
            }
            None => None,
        };
        let interrupt = Interrupt::new(watch);
        let mut passes = 0;
        let found = self.of_view(spec, cache, &view, start, &interrupt, &mut passes)?;
        let found = found.settled(spec.tol, true)?;
        let (outcome, more) = outcome(spec, cache, &view, &found)?;
        let training = Training {
            rows: cache.rows(),
            problems: spec.scheme.problems(c),
            solver: passing_solver(spec).name().into(),
            stop: found.stop,
            iterations: found.iterations,
            evaluations: found.evaluations,
            passes: Some(passes + more),
            lambda: None,
            seconds: Some(started.elapsed().as_secs_f64()),
        };
        let feature_names = cache.feature_names().map(<[String]>::to_vec);
        let named =
            Named { classes: cache.classes().to_vec(), feature_names, preprocessor: cache.preprocessor().cloned() };
        Model::of_solution(spec.clone(), named, scaler, found, training, outcome)
    }

    /// The solution for rows as a view shows them.
    pub(crate) fn seen(
        &self,
        spec: &Spec,
        cache: &RowCache,
        view: &View<'_>,
        start: Option<Vec<f64>>,
        interrupt: &Interrupt<'_>,
    ) -> Result<Solution> {
        self.of_view(spec, cache, view, start, interrupt, &mut 0)
    }

    fn of_view(
        &self,
        spec: &Spec,
        cache: &RowCache,
        view: &View<'_>,
        start: Option<Vec<f64>>,
        interrupt: &Interrupt<'_>,
        passes: &mut usize,
    ) -> Result<Solution> {
        let c = cache.classes().len();
        match spec.scheme {
            Scheme::Joint => {
                let penalty = spec.penalty.as_dyn();
                self.solve(spec, cache, view.clone(), penalty, spec.epsilon, c, start, interrupt, passes)
            }
            _ => self.one_by_one(spec, cache, view, start.as_deref(), interrupt, passes),
        }
    }

    /// By a sample, as it would be by a sample of as many rows in memory.
    fn choose_lambda(&self, spec: &Spec, cache: &RowCache, watch: &mut Watch<'_>) -> Result<LambdaChoice> {
        let per_row = 8 * cache.stored() / cache.rows().max(1);
        let count = LAMBDA.rows_for(per_row / 8).min((self.memory / SAMPLE) as usize / (COPIES * per_row.max(1)));
        let share = count as f64 / cache.rows().max(1) as f64;
        let least = LAMBDA.least_of_class as f64;
        // Classes with few rows are rather there than not.
        let shares: Vec<f64> = cache.mass().iter().map(|mass| share.max(least / mass.max(1.0)).min(1.0)).collect();
        let at = Progress::BEGIN;
        let asked = Mutex::new(watch);
        let ask = || {
            let mut watch = asked.lock().unwrap_or_else(PoisonError::into_inner);
            (*watch)(&at)
        };
        let Sample { x, y, weights } = cache.sample_by_content(&shares, &|| ask().is_continue())?;
        let sample = Dataset::batch(x, y, cache.classes().to_vec())?.with_weights(weights)?;
        let choice = spec.choose(&sample, &Control::new(&|_: &_| ask()))?;
        Ok(LambdaChoice { rows: cache.rows(), ..choice })
    }

    /// Minimises one objective over all rows.
    fn solve(
        &self,
        spec: &Spec,
        cache: &RowCache,
        view: View<'_>,
        penalty: &dyn Penalty,
        epsilon: f64,
        classes: usize,
        start: Option<Vec<f64>>,
        interrupt: &Interrupt<'_>,
        passes: &mut usize,
    ) -> Result<Solution> {
        let (loss, intercept, features, heed) = (spec.loss.as_dyn(), spec.intercept, cache.cols(), interrupt.heed());
        let problem = Problem { loss, penalty, epsilon, intercept, classes, features, heed };
        let max_iter = spec.max_iter.unwrap_or(passing_solver(spec).default_max_iter());
        let limits = Limits { tol: spec.tol, max_iter, seed: spec.seed, proof: true };
        let start = match start {
            Some(start) => start,
            None => self.start(&problem, cache, &view, &limits, interrupt, passes)?,
        };
        let room = StreamedRoom::of(self.memory, &problem, cache);
        let mut rows = Streamed::new(&problem, cache, view, room)?;
        let mut watch = |at: &Progress| interrupt.report(at);
        let found = match penalty.separable() {
            Some(_) => Proximal {}.walk(&problem, &mut rows, start, &limits, &mut watch),
            None => {
                let system = SystemPlan::of(&problem, &rows.sizes());
                Newton {}.walk(&problem, &mut rows, system, start, &limits, &mut watch)
            }
        };
        *passes += rows.passes();
        match rows.failure() {
            Some(failure) => Err(failure),
            None => found,
        }
    }

    /// The optimum of as many rows as fit into memory: all of them need few steps from there.
    fn start(
        &self,
        problem: &Problem<'_>,
        cache: &RowCache,
        view: &View<'_>,
        limits: &Limits,
        interrupt: &Interrupt<'_>,
        passes: &mut usize,
    ) -> Result<Vec<f64>> {
        let (c, shape, origin) = (problem.classes, problem.loss.shape(), vec![0.0; problem.dim()]);
        let kept = 3 * c + problem.loss.dual_len(c) + shape.len(c);
        let value = if cache.is_sparse() { 8 } else { 4 };
        let per_row = value * cache.stored() / cache.rows().max(1) + 8 * kept;
        let count = ((self.memory / SAMPLE) as usize / per_row.max(1)).min(cache.rows() / 4);
        if count < SAMPLE_ROWS * problem.dim() {
            return Ok(origin);
        }
        *passes += 1;
        let sample = cache.sample(view, count, limits.seed, problem.heed)?;
        if problem.heed.is_stopped() {
            return Ok(origin);
        }
        let Problem { loss, penalty, epsilon, intercept, heed, .. } = *problem;
        let weights = Some(sample.weights.into());
        let risk = Risk::from_parts(&sample.x, &sample.y, c, weights, loss, penalty, epsilon, intercept).heeding(heed);
        let limits = Limits { tol: SAMPLE_TOL.max(limits.tol), proof: false, ..*limits };
        let report = &mut |at: &Progress| interrupt.report(&Progress { inner: true, relative_gap: None, ..*at });
        let found = match passing_solver_of(penalty) {
            AnySolver::Newton(newton) => {
                let mut rows = InMemory::new(&risk);
                let matrix_room = (self.memory / SAMPLE) as f64;
                let system = SystemPlan::of(&risk.problem, &Sizes { matrix_room, ..rows.sizes() });
                newton.walk(&risk.problem, &mut rows, system, origin.clone(), &limits, report)
            }
            other => other.minimize(&risk, origin.clone(), &limits, report),
        };
        match found {
            Ok(found) => Ok(found.theta),
            // All rows together may be better behaved.
            Err(Error::Diverged { .. }) => Ok(origin),
            Err(other) => Err(other),
        }
    }

    /// One class against all others, one after the other.
    fn one_by_one(
        &self,
        spec: &Spec,
        cache: &RowCache,
        view: &View<'_>,
        start: Option<&[f64]>,
        interrupt: &Interrupt<'_>,
        passes: &mut usize,
    ) -> Result<Solution> {
        let columns = cache.classes().len();
        let Some(penalty) = spec.penalty.as_dyn().for_scorer() else {
            return Err(Error::Unsuited {
                solver: "of two-class problems",
                what: "a penalty that does not say what one scorer pays",
                instead: "train all classes jointly",
            });
        };
        let mut all = Solution::none((cache.cols() + usize::from(spec.intercept)) * columns);
        for class in 0..columns {
            let view = View { speaks_for: Some(class as u32), ..view.clone() };
            // One vector w as the two columns ±w/2, which have half its square.
            let own = start
                .map(|start| start.iter().skip(class).step_by(columns).flat_map(|w| [-0.5 * w, 0.5 * w]).collect());
            let epsilon = 2.0 * spec.epsilon;
            let mut part = self.solve(spec, cache, view, penalty.as_ref(), epsilon, 2, own, interrupt, passes)?;
            part.theta = part.theta.chunks_exact(2).map(|pair| pair[1] - pair[0]).collect();
            all.join(part, class, columns);
        }
        Ok(all)
    }
}

/// Vectors as long as W that are held at once.
const VECTORS: usize = 14;

/// Who minimises what is asked in passes.
pub(crate) fn passing_solver(spec: &Spec) -> AnySolver {
    passing_solver_of(spec.penalty.as_dyn())
}

fn passing_solver_of(penalty: &dyn Penalty) -> AnySolver {
    match penalty.separable() {
        Some(_) => AnySolver::Proximal(Proximal {}),
        None => AnySolver::Newton(Newton {}),
    }
}

const ON_DISK: &str = "of rows on disk";

/// Refuses settings that need all rows at hand.
pub(crate) fn check_passes(spec: &Spec, solver: &'static str) -> Result<()> {
    let refuse = |what, instead| Err(Error::Unsuited { solver, what, instead });
    if !matches!(spec.solver, AnySolver::Auto | AnySolver::Newton(_) | AnySolver::Proximal(_)) {
        return refuse("by other means than Newton's", "use the solver auto, or more memory");
    }
    if !spec.kernel.is_linear() {
        return refuse("a kernel", "use the linear one, or more memory");
    }
    if spec.hard_margin {
        return refuse("a hard margin", "allow slack, or take more memory");
    }
    if spec.scheme == Scheme::OneVsOne {
        return refuse("a problem for every pair of classes", "train all classes jointly, or take more memory");
    }
    Ok(())
}

/// How well a solution does on all rows; and how many passes that took.
fn outcome(spec: &Spec, cache: &RowCache, view: &View<'_>, found: &Solution) -> Result<(FitOutcome, usize)> {
    let (c, d) = (cache.classes().len(), cache.cols());
    let (weights, intercept) = found.theta.split_at(d * c);
    let mut intercept = intercept.to_vec();
    intercept.resize(c, 0.0);
    // Class weights are for training alone.
    let view = View { class_weights: None, speaks_for: None, ..view.clone() };
    let (mut right, mut total, mut top, mut failed) = (0.0, 0.0, 0.0f64, None);
    let mut counts = SupportCounts::new(spec, c);
    let mut before = 0;
    cache.for_each_block(&view, true, |block| {
        let raw = match raw_scores(&block.x.features(), weights, &intercept) {
            Ok(raw) => raw,
            Err(Error::Score { row, value }) => {
                failed = Some(Error::Score { row: before + row, value });
                return ControlFlow::Break(());
            }
            Err(other) => {
                failed = Some(other);
                return ControlFlow::Break(());
            }
        };
        top = counts.iter().fold(top, |top, counts| top.max(counts.largest(&raw, &block.y)));
        let z = class_scores(spec.scheme, raw, c);
        for (i, (z, y)) in z.chunks_exact(c).zip(&block.y).enumerate() {
            let weight = block.weights.get(i).copied().unwrap_or(1.0);
            total += weight;
            right += if argmax(z) == *y { weight } else { 0.0 };
        }
        before += block.y.len();
        ControlFlow::Continue(())
    })?;
    if let Some(failed) = failed {
        return Err(failed);
    }
    let Some(counts) = &mut counts else {
        return Ok((FitOutcome { train_accuracy: right / total, support: None, support_rows: None }, 1));
    };
    cache.for_each_block(&view, true, |block| {
        if let Ok(raw) = raw_scores(&block.x.features(), weights, &intercept) {
            counts.add(&raw, &block.y, top);
        }
        ControlFlow::Continue(())
    })?;
    let (support, rows) = counts.counts();
    Ok((FitOutcome { train_accuracy: right / total, support: Some(support), support_rows: Some(rows) }, 2))
}

#[cfg(test)]
#[path = "streamed_fit_tests.rs"]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests;
