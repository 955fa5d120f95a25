//! Training from Python, and the choice of λ and p before it.

use m3svm::select::{Fold, Grid, GridValues, Outcome, Rule, Search, Setting};
use m3svm::solver::AdamState;
use m3svm::{Dataset, Progress};
use numpy::PyArray1;
use pyo3::prelude::*;

use crate::error::{exception, invalid};
use crate::matrix::{Matrix, slice};
use crate::model::{PyModel, Step, Trace};
use crate::pool::{Threads, pool};
use crate::settings::{from_dict, named};
use crate::typed::{Callback, InArray1, List, OutArray1, Settings, Typed, X};
use crate::watched::{Watch, kept, run};

/// Rows with class numbers (positions in `classes`) and perhaps weights, as Python holds them.
struct Rows<'py> {
    x: X<'py>,
    y: InArray1<'py, u32>,
    classes: Vec<String>,
    sample_weight: Option<InArray1<'py, f64>>,
}

impl Rows<'_> {
    /// All of it; with the table that features are made of where parts of it will have to be prepared anew.
    fn dataset(&self, keep: bool) -> PyResult<Dataset<'_>> {
        if let Matrix::Frame(frame) = &self.x.0 {
            let weights = self.sample_weight.as_ref().map(|w| slice(w.0.as_slice())).transpose()?;
            let y = slice(self.y.0.as_slice())?;
            return frame.get().dataset(y, self.classes.clone(), weights, keep).map_err(exception);
        }
        let data = Dataset::new(self.x.0.features()?, slice(self.y.0.as_slice())?, self.classes.clone());
        self.weighted(data.map_err(exception)?)
    }

    fn batch(&self) -> PyResult<Dataset<'_>> {
        let data = Dataset::batch(self.x.0.features()?, slice(self.y.0.as_slice())?, self.classes.clone());
        self.weighted(data.map_err(exception)?)
    }

    fn weighted<'a>(&'a self, data: Dataset<'a>) -> PyResult<Dataset<'a>> {
        match &self.sample_weight {
            Some(weights) => data.with_weights(slice(weights.0.as_slice())?).map_err(exception),
            None => Ok(data),
        }
    }
}

/// Trains a model; `y` are positions in `classes`. Returns it with the rows that support a margin (`None` if the loss has no margin).
///
/// `progress(iteration, objective, relative_gap)` is called now and then. An exception from it, or Ctrl-C, ends the training and is
/// raised, unless `keep_interrupted` asks for the model so far after Ctrl-C.
#[pyfunction]
#[pyo3(signature = (x, y, classes, settings, *, sample_weight=None, feature_names=None, start=None, n_threads=None, progress=None, keep_interrupted=false))]
pub(crate) fn fit<'py>(
    py: Python<'py>,
    x: X<'py>,
    y: InArray1<'py, u32>,
    classes: List<String>,
    settings: Settings<'py>,
    sample_weight: Option<InArray1<'py, f64>>,
    feature_names: Option<List<String>>,
    start: Option<&Bound<'py, PyModel>>,
    n_threads: Option<Threads>,
    progress: Option<Callback<Step>>,
    keep_interrupted: bool,
) -> PyResult<(PyModel, Option<OutArray1<'py, u32>>)> {
    let (spec, pool) = (from_dict(&settings)?, pool(n_threads)?);
    let rows = Rows { x, y, classes: classes.0, sample_weight };
    let mut data = rows.dataset(false)?;
    if let Some(Typed(names)) = feature_names {
        data = data.with_feature_names(names).map_err(exception)?;
    }
    let start = start.map(|model| model.get().inner());
    let report = |py: Python<'_>, at: Progress| match &progress {
        Some(report) => report.call(py, (at.iteration, at.objective, at.relative_gap)),
        None => Ok(()),
    };
    let mut trace = Trace::new();
    let (outcome, support) = py.detach(|| {
        let outcome = run(&pool, report, |watch| {
            let mut step = |at: &Progress| {
                if !at.inner {
                    trace.push((at.iteration, at.objective, at.relative_gap));
                }
                watch(*at)
            };
            spec.fit_watched(&data, start, &mut step)
        });
        // Who pressed Ctrl-C and gets no model need not wait for this.
        let model = outcome.result.as_ref().ok().filter(|_| outcome.raised.is_none() || keep_interrupted);
        let support = model.map(|model| pool.install(|| model.support_vectors(&data)));
        (outcome, support)
    });
    if let Some(problem) = outcome.raised.filter(|problem| !kept(py, problem, keep_interrupted)) {
        return Err(problem);
    }
    let support = support.transpose().map_err(exception)?.flatten();
    Ok((PyModel::new(outcome.result?, trace), support.map(|rows| Typed(PyArray1::from_vec(py, rows.all())))))
}

/// Goes over a batch once by Adam, from where `before` and `moments` have left off. Returns the model and the moments for the next batch.
#[pyfunction]
#[pyo3(signature = (x, y, classes, settings, *, before=None, moments=None, sample_weight=None, feature_names=None, n_threads=None))]
pub(crate) fn fit_batch<'py>(
    py: Python<'py>,
    x: X<'py>,
    y: InArray1<'py, u32>,
    classes: List<String>,
    settings: Settings<'py>,
    before: Option<&Bound<'py, PyModel>>,
    moments: Option<(InArray1<'py, f64>, InArray1<'py, f64>, u64)>,
    sample_weight: Option<InArray1<'py, f64>>,
    feature_names: Option<List<String>>,
    n_threads: Option<Threads>,
) -> PyResult<(PyModel, Moments<'py>)> {
    let (spec, pool) = (from_dict(&settings)?, pool(n_threads)?);
    let rows = Rows { x, y, classes: classes.0, sample_weight };
    let mut data = rows.batch()?;
    if let Some(Typed(names)) = feature_names {
        data = data.with_feature_names(names).map_err(exception)?;
    }
    let before = before.map(|model| model.get().inner());
    let mut state = match &moments {
        Some((first, second, steps)) => AdamState {
            first: slice(first.0.as_slice())?.to_vec(),
            second: slice(second.0.as_slice())?.to_vec(),
            steps: *steps,
        },
        None => AdamState::default(),
    };
    let outcome = py.detach(|| {
        let state = &mut state;
        let train = |watch: Watch<'_, ()>| spec.fit_batch_watched(&data, before, state, &mut || watch(()));
        run(&pool, |_, ()| Ok(()), train)
    });
    if let Some(problem) = outcome.raised {
        return Err(problem);
    }
    let array = |numbers| Typed(PyArray1::from_vec(py, numbers));
    let moments = (array(state.first), array(state.second), state.steps);
    Ok((PyModel::new(outcome.result?, Vec::new()), moments))
}

/// What Adam remembers: the means of gradients and of their squares, and the number of steps.
type Moments<'py> = (OutArray1<'py, f64>, OutArray1<'py, f64>, u64);

/// The values of λ and p that a search with such settings tries, in its order: those given, or the library's usual ones for `None`.
#[pyfunction]
#[pyo3(signature = (settings, *, lams=None, ps=None))]
pub(crate) fn grid(settings: Settings<'_>, lams: Option<List<f64>>, ps: Option<List<f64>>) -> PyResult<Vec<Pair>> {
    let search = search_over(&settings, lams, ps)?;
    search.check().map_err(exception)?;
    Ok(search.grid.settings().into_iter().map(|setting| (setting.lambda, setting.p)).collect())
}

/// Tries all `lams` with all `ps` on splits (row numbers to train and to test on); `None` stands for the library's usual values.
///
/// Returns λ, p and the accuracies by split of every setting. `progress(done, planned)` is called now and then.
#[pyfunction]
#[pyo3(signature = (x, y, classes, settings, splits, *, lams=None, ps=None, tol=None, sample_weight=None, n_threads=None, progress=None))]
pub(crate) fn search<'py>(
    py: Python<'py>,
    x: X<'py>,
    y: InArray1<'py, u32>,
    classes: List<String>,
    settings: Settings<'py>,
    splits: List<(InArray1<'py, u32>, InArray1<'py, u32>)>,
    lams: Option<List<f64>>,
    ps: Option<List<f64>>,
    tol: Option<f64>,
    sample_weight: Option<InArray1<'py, f64>>,
    n_threads: Option<Threads>,
    progress: Option<Callback<(usize, usize)>>,
) -> PyResult<Vec<Tried>> {
    let (mut search, pool) = (search_over(&settings, lams, ps)?, pool(n_threads)?);
    search.tol = tol.unwrap_or(search.tol);
    let rows = |all: &InArray1<'_, u32>| slice(all.0.as_slice()).map(<[u32]>::to_vec);
    let fold = |(train, test): &(_, _)| Ok(Fold { train: rows(train)?, test: rows(test)? });
    let splits: Vec<Fold> = splits.0.iter().map(fold).collect::<PyResult<_>>()?;
    let rows = Rows { x, y, classes: classes.0, sample_weight };
    let data = rows.dataset(true)?;
    let report = |py: Python<'_>, (done, planned): (usize, usize)| match &progress {
        Some(report) => report.call(py, (done, planned)),
        None => Ok(()),
    };
    let outcome =
        py.detach(|| run(&pool, report, |watch| search.run_on(&data, &splits, &|at| watch((at.done, at.planned)))));
    if let Some(problem) = outcome.raised {
        return Err(problem);
    }
    Ok(outcome.result?.outcomes.into_iter().map(|o| (o.setting.lambda, o.setting.p, o.scores)).collect())
}

/// The values of λ and p to try next, after some of the usual ones: those beyond the end where the best λ is.
#[pyfunction]
pub(crate) fn further(tried: List<Tried>) -> Vec<Pair> {
    let further = Grid { extends: true, ..Grid::default() }.further(&outcomes(tried));
    further.into_iter().map(|setting| (setting.lambda, setting.p)).collect()
}

/// The position of the setting that a rule chooses, by its scores on every split, of which more is better.
#[pyfunction]
pub(crate) fn choose(tried: List<Tried>, rule: &str) -> PyResult<usize> {
    named("rule", RULES, rule)?.choose(&outcomes(tried)).ok_or_else(|| invalid("there is no setting to choose"))
}

fn outcomes(tried: List<Tried>) -> Vec<Outcome> {
    let outcome = |(lambda, p, scores)| Outcome::of_scores(Setting { lambda, p, gamma: None }, scores);
    tried.0.into_iter().map(outcome).collect()
}

fn search_over(settings: &Settings<'_>, lams: Option<List<f64>>, ps: Option<List<f64>>) -> PyResult<Search> {
    let mut search = Search::new(from_dict(settings)?);
    search.grid.extends = lams.is_none();
    let values = |given: Option<List<f64>>, usual| given.map_or(Ok(usual), |Typed(v)| GridValues::new(v).map(Some));
    search.grid.lambdas = values(lams, search.grid.lambdas).map_err(exception)?;
    search.grid.ps = values(ps, search.grid.ps).map_err(exception)?;
    Ok(search)
}

/// λ, p, and the score on every split.
pub(crate) type Tried = (Option<f64>, Option<f64>, Vec<f64>);
/// λ and p.
type Pair = (Option<f64>, Option<f64>);

const RULES: [(&str, Rule); 2] = [("best-mean", Rule::BestMean), ("one-standard-error", Rule::OneStandardError)];
