//! Fits over rows in parts that are elsewhere, by way of an engine that carries messages to them.

use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::engine::{PackedNumbers, PartCarrier, PartSample, PartSetup, RemoteRows, Rows, Sizes};
use crate::error::{Error, Result};
use crate::features::Features;
use crate::interrupt::Interrupt;
use crate::memory;
use crate::model::{FitOutcome, Model, Named, Training};
use crate::plan::SystemPlan;
use crate::problem::Problem;
use crate::risk::Risk;
use crate::scale::{Scaler, Stats};
use crate::scheme::Scheme;
use crate::solver::{AnySolver, Limits, Newton, Progress, Proximal, Solution, Watch};
use crate::spec::Spec;
use crate::streamed_fit::{SAMPLE_ROWS, SAMPLE_TOL, check_passes, passing_solver};

/// Most bytes that one part sends for the written-out matrix.
const LARGEST_MATRIX: u64 = 32 << 20;
/// What a round costs besides the answer, in multiply-adds: 0.1 s of one core.
const ROUND: f64 = 1e9;
/// Most bytes of rows that come as a sample, and the share of all rows that is worth solving on one machine first.
const LARGEST_SAMPLE: u64 = 64 << 20;
const SAMPLE_SHARE: f64 = 0.1;

/// What is to be known of a part of the rows before a fit begins.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PartDescription {
    rows: usize,
    cols: usize,
    stored: usize,
    is_sparse: bool,
    #[serde(default)]
    stats: Option<Stats>,
}

impl PartDescription {
    /// Looks at rows with their weights, and refuses what no fit could use.
    pub fn of(x: &Features<'_>, weights: Option<&[f64]>) -> Result<Self> {
        if let Some(weights) = weights {
            if weights.len() != x.rows() {
                return Err(Error::Shape { what: "weights", expected: x.rows(), found: weights.len() });
            }
            if let Some(row) = weights.iter().position(|w| !(w.is_finite() && *w >= 0.0)) {
                return Err(Error::Weight { place: format!("row {}", row + 1), value: weights[row] });
            }
        }
        // Without weight, a part has no moments.
        let counts = x.rows() > 0 && weights.is_none_or(|w| w.iter().any(|w| *w > 0.0));
        let stats = counts.then(|| Stats::of(x, weights));
        Ok(Self { rows: x.rows(), cols: x.cols(), stored: x.stored(), is_sparse: x.is_sparse(), stats })
    }

    /// As JSON, to be sent.
    pub fn to_json(&self) -> Result<String> {
        serde_json::to_string(self).map_err(|e| Error::Engine { what: e.to_string() })
    }

    /// From what was sent.
    pub fn from_json(text: &str) -> Result<Self> {
        serde_json::from_str(text).map_err(|e| Error::Engine { what: format!("a message is damaged: {e}") })
    }
}

/// All parts of the rows, and what they are about.
pub struct RemoteFit<'a> {
    /// What brings messages to the parts.
    pub carrier: &'a dyn PartCarrier,
    /// One per part, in the order of the parts.
    pub descriptions: &'a [PartDescription],
    /// Class names, by the numbers that parts have for labels.
    pub classes: Vec<String>,
    /// The weight of the rows of each class.
    pub mass: Vec<f64>,
    /// Names of the features.
    pub feature_names: Option<Vec<String>>,
}

impl std::fmt::Debug for RemoteFit<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RemoteFit").field("parts", &self.descriptions.len()).field("classes", &self.classes).finish()
    }
}

impl RemoteFit<'_> {
    /// Trains on the rows of all parts.
    pub fn fit(&self, spec: &Spec, warm: Option<&Model>, watch: &mut Watch<'_>) -> Result<Model> {
        let started = Instant::now();
        spec.check()?;
        let c = self.classes.len();
        if c < 2 {
            return Err(Error::TooFewClasses { found: c, only: self.classes.first().cloned() });
        }
        spec.check_for(c)?;
        check_passes(spec, "of rows on other machines")?;
        if spec.chooses_lambda() {
            return Err(Error::Unsuited {
                solver: "of rows on other machines",
                what: "a lambda that is chosen from the data",
                instead: "set lambda",
            });
        }
        if spec.scheme != Scheme::Joint {
            return Err(Error::Unsuited {
                solver: "of rows on other machines",
                what: "many problems of two classes",
                instead: "train all classes jointly",
            });
        }
        let (stats, sizes) = self.summary()?;
        let d = sizes.features;
        memory::check(&format!("the fit of {d} features for {c} scorers"), memory::numbers(d + 1, c * REMOTE_VECTORS))?;
        let scaler = Scaler::of_stats(spec.scaling, &stats, sizes.is_sparse);
        let each = spec.each_class(&self.classes, || self.mass.clone())?;
        let only = if scaler.is_identity() { Vec::new() } else { scaler.shift.clone() };
        let setup = PartSetup {
            spec: serde_json::to_string(spec).map_err(|e| Error::Engine { what: e.to_string() })?,
            classes: c,
            features: d,
            factor: PackedNumbers(if only.is_empty() { Vec::new() } else { scaler.factor.clone() }),
            shift: PackedNumbers(only),
            class_weights: PackedNumbers(each.unwrap_or_default()),
        };
        let interrupt = Interrupt::new(watch);
        let (loss, penalty, heed) = (spec.loss.as_dyn(), spec.penalty.as_dyn(), interrupt.heed());
        let (epsilon, intercept) = (spec.epsilon, spec.intercept);
        let problem = Problem { loss, penalty, epsilon, intercept, classes: c, features: d, heed };
        let max_iter = spec.max_iter.unwrap_or(passing_solver(spec).default_max_iter());
        let limits = Limits { tol: spec.tol, max_iter, seed: spec.seed, proof: true };
        let width = problem.width() as u64;
        let matrix = 4 * width * (width + 1) * (c * (c - 1) / 2) as u64;
        let matrix_room = if matrix <= LARGEST_MATRIX { f64::INFINITY } else { 0.0 };
        let sizes = Sizes { matrix_room, pass: ROUND, ..sizes };
        let mut rows = RemoteRows::new(&problem, self.carrier, setup, sizes, &stats);
        let start = match warm {
            Some(model) => Ok(model.start_for(d, &self.classes, &scaler, spec)?),
            None => start(&problem, &rows, &limits, &interrupt),
        };
        let failed = |rows: &RemoteRows<'_>, other: Error| rows.failure().unwrap_or(other);
        let start = start.map_err(|e| failed(&rows, e))?;
        let mut watch = |at: &Progress| interrupt.report(at);
        let found = match penalty.separable() {
            Some(_) => Proximal {}.walk(&problem, &mut rows, start, &limits, &mut watch),
            None => {
                let system = SystemPlan::of(&problem, &sizes);
                Newton {}.walk(&problem, &mut rows, system, start, &limits, &mut watch)
            }
        };
        if let Some(failure) = rows.failure() {
            return Err(failure);
        }
        let found = found?.settled(spec.tol, true)?;
        let has_margins = crate::support::SupportCounts::new(spec, c).is_some();
        let Some((train_accuracy, counts)) = rows.outcome(&found.theta, has_margins) else {
            return Err(failed(&rows, Error::Interrupted));
        };
        let (support, support_rows) = counts.unzip();
        let outcome = FitOutcome { train_accuracy, support, support_rows };
        let training = self.training(spec, sizes.rows, &found, rows.rounds(), started);
        let named =
            Named { classes: self.classes.clone(), feature_names: self.feature_names.clone(), preprocessor: None };
        Model::of_solution(spec.clone(), named, scaler, found, training, outcome)
    }

    fn training(&self, spec: &Spec, rows: usize, found: &Solution, rounds: usize, started: Instant) -> Training {
        Training {
            lambda: None,
            rows,
            problems: 1,
            solver: passing_solver(spec).name().into(),
            stop: found.stop,
            iterations: found.iterations,
            evaluations: found.evaluations,
            // What was found out before this fit is a pass, too.
            passes: Some(rounds + 1),
            seconds: Some(started.elapsed().as_secs_f64()),
        }
    }

    /// What all parts have together.
    fn summary(&self) -> Result<(Stats, Sizes)> {
        let mut stats = Stats::default();
        let first = self.descriptions.first().ok_or_else(|| Error::Engine { what: "there are no rows".into() })?;
        let mut sizes = Sizes::of(&Features::absent(0, first.cols));
        for part in self.descriptions {
            if part.cols != first.cols {
                let what = "features of a part of the rows";
                return Err(Error::Shape { what, expected: first.cols, found: part.cols });
            }
            if part.is_sparse != first.is_sparse {
                return Err(Error::Engine { what: "some parts of the rows are sparse, and some are not".into() });
            }
            sizes.rows += part.rows;
            sizes.stored += part.stored;
            sizes.is_sparse = part.is_sparse;
            if let Some(part) = &part.stats {
                stats.merge(part.clone());
            }
        }
        if stats.total == 0.0 {
            return Err(Error::NoWeight { of: "the rows" });
        }
        Ok((stats, sizes))
    }
}

/// Vectors as long as W that are held at once.
const REMOTE_VECTORS: usize = 20;

/// The optimum of some rows of all parts: all of them need few steps from there.
fn start(problem: &Problem<'_>, rows: &RemoteRows<'_>, limits: &Limits, interrupt: &Interrupt<'_>) -> Result<Vec<f64>> {
    let (origin, sizes) = (vec![0.0; problem.dim()], rows.sizes());
    let per_row = memory::numbers(sizes.stored / sizes.rows.max(1) + 1, 2);
    let most = (LARGEST_SAMPLE / per_row.max(1)) as f64;
    let share = SAMPLE_SHARE.min(most / sizes.rows as f64);
    if share * (sizes.rows as f64) < (SAMPLE_ROWS * problem.dim()) as f64 {
        return Ok(origin);
    }
    let Some(sample) = rows.sample(share, limits.seed) else { return Err(Error::Interrupted) };
    let PartSample { values, lengths, indices, y, weights } = sample;
    let x = if sizes.is_sparse {
        let ends = lengths.0.iter().scan(0, |end, length| {
            *end += *length as usize;
            Some(*end)
        });
        let starts: Vec<usize> = [0].into_iter().chain(ends).collect();
        Features::csr(starts, indices.0, values.0, sizes.features)?
    } else {
        Features::dense(values.0, y.0.len(), sizes.features)?
    };
    let Problem { loss, penalty, epsilon, intercept, classes, heed, .. } = *problem;
    let weights = Some(weights.0.into());
    let risk = Risk::from_parts(&x, &y.0, classes, weights, loss, penalty, epsilon, intercept).heeding(heed);
    let limits = Limits { tol: SAMPLE_TOL.max(limits.tol), proof: false, ..*limits };
    let report = &mut |at: &Progress| interrupt.report(&Progress { inner: true, relative_gap: None, ..*at });
    match AnySolver::Auto.minimize(&risk, origin.clone(), &limits, report) {
        Ok(found) => Ok(found.theta),
        // All rows together may be better behaved.
        Err(Error::Diverged { .. }) => Ok(origin),
        Err(other) => Err(other),
    }
}
