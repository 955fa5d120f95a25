//! Rows that come to a fit batch by batch: in memory where they fit, else in a cache on disk.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use m3svm::{AboutRows, CachePlace, Fit, Forecast, GatheredRows, PassingColumns, Progress, RowBatch, RowGatherer};
use pyo3::prelude::*;

use crate::error::{exception, internal};
use crate::matrix::{Matrix, slice};
use crate::model::{PassingStep, PyModel, Trace};
use crate::pool::{Threads, pool};
use crate::settings::from_dict;
use crate::typed::{Callback, InArray1, List, Prepares, Settings, Typed, X};
use crate::watched::{kept, run};

/// Takes rows batch by batch, and trains on them once all have come.
#[pyclass(frozen, name = "GatheredRows", module = "m3svm._core")]
pub(crate) struct PyGatheredRows {
    fit: Fit,
    state: Mutex<State>,
}

struct State {
    gatherer: Option<RowGatherer>,
    rows: Option<GatheredRows>,
    passing: Option<PassingColumns>,
    /// Names of the columns that are looked at, once there were any.
    columns: Vec<String>,
}

impl PyGatheredRows {
    fn locked(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl PyGatheredRows {
    /// What does not fit into memory goes to the folder, or to that for temporary files.
    #[new]
    #[pyo3(signature = (folder=None))]
    fn new(folder: Option<PathBuf>) -> Self {
        let place = folder.map_or_else(CachePlace::default, |folder| CachePlace { folder, kept_as: None });
        let fit = Fit { place, ..Fit::default() };
        let gatherer = Some(fit.gatherer());
        Self { fit, state: Mutex::new(State { gatherer, rows: None, passing: None, columns: Vec::new() }) }
    }

    /// Adds a batch; `y` are positions in `labels`, of which there may be more than before. Columns of a data frame are prepared as `settings`
    /// say, or `None` says that only those are which are no numbers without gaps.
    #[pyo3(signature = (x, y, labels, *, sample_weight=None, settings=None))]
    fn push<'py>(
        &self,
        py: Python<'py>,
        x: X<'py>,
        y: InArray1<'py, u32>,
        labels: List<String>,
        sample_weight: Option<InArray1<'py, f64>>,
        settings: Option<Prepares<'py>>,
    ) -> PyResult<()> {
        let (y, weights) = (slice(y.0.as_slice())?, sample_weight.as_ref().map(|w| slice(w.0.as_slice())).transpose()?);
        let label = |k: &u32| labels.0.get(*k as usize).cloned().ok_or_else(|| internal("a label without a name"));
        let names = y.iter().map(label).collect::<PyResult<Vec<_>>>()?;
        let mut state = self.locked();
        let State { gatherer: Some(gatherer), passing, columns, .. } = &mut *state else {
            return Err(internal("a batch after the last one"));
        };
        let Matrix::Frame(frame) = &x.0 else {
            let x = x.0.features()?;
            let weights = weights.map(<[f64]>::to_vec);
            return py.detach(|| gatherer.push(&RowBatch { x, labels: names, weights })).map_err(exception);
        };
        let frame = frame.get();
        let passing = match passing {
            Some(passing) => passing,
            none => {
                *columns = frame.names();
                none.insert(frame.passing(settings.as_ref())?)
            }
        };
        let table = frame.table();
        py.detach(|| {
            let (mut labels, mut weights) = (names, weights.map(<[f64]>::to_vec));
            let Some((x, rows)) = passing.rows_or_batch(table, weights.as_deref())? else { return Ok(()) };
            if let Some(rows) = rows {
                labels = rows.iter().map(|&i| std::mem::take(&mut labels[i as usize])).collect();
                weights = weights.map(|all| rows.iter().map(|&i| all[i as usize]).collect());
            }
            gatherer.push(&RowBatch { x, labels, weights })
        })
        .map_err(exception)
    }

    /// All rows have come. Whether they are to come once more: what becomes of columns may be learnt from all rows first.
    fn pass_ended(&self) -> PyResult<bool> {
        let mut state = self.locked();
        let again = state.passing.as_mut().map_or(Ok(false), PassingColumns::pass_ended).map_err(exception)?;
        if again && let Some(gatherer) = &mut state.gatherer {
            gatherer.start_over();
        }
        Ok(again)
    }

    /// Nothing more will come.
    #[pyo3(signature = (*, text_labels, feature_names=None))]
    fn finish(&self, py: Python<'_>, text_labels: bool, feature_names: Option<List<String>>) -> PyResult<()> {
        let mut state = self.locked();
        let Some(gatherer) = state.gatherer.take() else { return Err(internal("rows that have been finished")) };
        let feature_names = match &state.passing {
            Some(passing) => passing.feature_names(&state.columns),
            None => feature_names.map(|Typed(names)| names),
        };
        let preprocessor = state.passing.as_ref().and_then(PassingColumns::preprocessor).cloned();
        let about = AboutRows { feature_names, preprocessor, unused_columns: 0, text_labels };
        state.rows = Some(py.detach(|| gatherer.finish(about)).map_err(exception)?);
        Ok(())
    }

    /// Whether features were made of columns, and are not columns as they are.
    #[getter]
    fn prepared(&self) -> bool {
        self.locked().passing.as_ref().is_some_and(|passing| passing.preprocessor().is_some())
    }

    /// Columns that are no features, and why.
    #[getter]
    fn left_out(&self) -> Vec<(String, String)> {
        let state = self.locked();
        let all = state.passing.as_ref().map_or(&[][..], PassingColumns::left_out);
        all.iter().map(|out| (out.column.clone(), out.reason.to_string())).collect()
    }

    /// The mean of every column of a frame of numbers without gaps.
    #[getter]
    fn means(&self) -> Option<Vec<f64>> {
        let state = self.locked();
        let statistics = state.passing.as_ref().filter(|passing| passing.preprocessor().is_none())?.statistics()?;
        Some(statistics.columns().iter().map(m3svm::ColumnStatistics::mean).collect())
    }

    /// Trains on all rows, which are gone afterwards.
    ///
    /// `progress(iteration, objective, relative_gap, passes, seconds_left)` is called now and then. An exception from it, or Ctrl-C, ends the training and is
    /// raised, unless `keep_interrupted` asks for the model so far after Ctrl-C.
    #[pyo3(signature = (settings, *, start=None, n_threads=None, progress=None, keep_interrupted=false))]
    fn fit<'py>(
        &self,
        py: Python<'py>,
        settings: Settings<'py>,
        start: Option<&Bound<'py, PyModel>>,
        n_threads: Option<Threads>,
        progress: Option<Callback<PassingStep>>,
        keep_interrupted: bool,
    ) -> PyResult<PyModel> {
        let (spec, pool) = (from_dict(&settings)?, pool(n_threads)?);
        let Some(rows) = self.locked().rows.take() else { return Err(internal("a fit without rows")) };
        let start = start.map(|model| model.get().inner());
        let forecast = Mutex::new(Forecast::new(spec.tol));
        let report = |py: Python<'_>, at: Progress| {
            let left = forecast.lock().unwrap_or_else(PoisonError::into_inner).seconds_left(&at);
            match &progress {
                Some(report) if at.objective.is_finite() => {
                    report.call(py, (at.iteration, at.objective, at.relative_gap, at.passes, left))
                }
                _ => Ok(()),
            }
        };
        let mut trace = Trace::new();
        let outcome = py.detach(|| {
            run(&pool, report, |watch| {
                let mut step = |at: &Progress| {
                    if !at.inner {
                        trace.push((at.iteration, at.objective, at.relative_gap));
                    }
                    watch(*at)
                };
                self.fit.of_rows(&spec, rows, start, &mut step)
            })
        });
        if let Some(problem) = outcome.raised.filter(|problem| !kept(py, problem, keep_interrupted)) {
            return Err(problem);
        }
        Ok(PyModel::new(outcome.result?, trace))
    }
}

/// Refuses settings that need all rows in memory.
#[pyfunction]
pub(crate) fn check_passing(settings: Settings<'_>) -> PyResult<()> {
    Fit::check(&from_dict(&settings)?).map_err(exception)
}
