//! Training from Python: the work on threads of its own, while the calling thread looks for Ctrl-C and reports progress.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use m3svm::{Dataset, Model, Progress, Spec};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use rayon::ThreadPool;

use crate::error::{exception, internal};
use crate::matrix::{Matrix, slice};
use crate::model::PyModel;
use crate::pool::pool;
use crate::settings::from_dict;

/// How often the calling thread takes the interpreter to look for signals.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Trains a model; `y` are positions in `classes`. Returns it with the rows that support a margin (`None` if the loss has no margin).
///
/// `progress(iteration, objective, relative_gap)` is called now and then. An exception from it, or Ctrl-C, ends the training and is
/// raised, unless `keep_interrupted` asks for the model so far after Ctrl-C.
#[pyfunction]
#[pyo3(signature = (x, y, classes, settings, *, sample_weight=None, feature_names=None, start=None, n_threads=None, progress=None, keep_interrupted=false))]
pub(crate) fn fit<'py>(
    py: Python<'py>,
    x: Matrix<'py>,
    y: PyReadonlyArray1<'py, u32>,
    classes: Vec<String>,
    settings: &Bound<'py, PyDict>,
    sample_weight: Option<PyReadonlyArray1<'py, f64>>,
    feature_names: Option<Vec<String>>,
    start: Option<&Bound<'py, PyModel>>,
    n_threads: Option<usize>,
    progress: Option<Py<PyAny>>,
    keep_interrupted: bool,
) -> PyResult<(PyModel, Option<Bound<'py, PyArray1<u32>>>)> {
    let (spec, pool) = (from_dict(settings)?, pool(n_threads)?);
    let mut data = Dataset::new(x.features()?, slice(y.as_slice())?, classes).map_err(exception)?;
    if let Some(weights) = &sample_weight {
        data = data.with_weights(slice(weights.as_slice())?).map_err(exception)?;
    }
    if let Some(names) = feature_names {
        data = data.with_feature_names(names).map_err(exception)?;
    }
    let start = start.map(|model| model.get().inner());
    let (model, support) = py.detach(|| {
        let job = Job { spec: &spec, data: &data, start, pool: &pool };
        let model = job.run(progress.as_ref(), keep_interrupted)?;
        let support = pool.install(|| model.support_vectors(&data)).map_err(exception)?;
        PyResult::Ok((model, support.map(|rows| rows.all())))
    })?;
    Ok((PyModel::new(model), support.map(|rows| PyArray1::from_vec(py, rows))))
}

/// What is to be trained, on what, by whom.
struct Job<'a> {
    spec: &'a Spec,
    data: &'a Dataset<'a>,
    start: Option<&'a Model>,
    pool: &'a ThreadPool,
}

impl Job<'_> {
    /// Called without the interpreter. Only the calling thread ever takes it: signals are delivered to the main thread alone.
    fn run(&self, progress: Option<&Py<PyAny>>, keep_interrupted: bool) -> PyResult<Model> {
        let (stop, latest) = (AtomicBool::new(false), Mutex::new(None));
        let watch = |at: &Progress| {
            *latest.lock().unwrap_or_else(PoisonError::into_inner) = Some(*at);
            if stop.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let mut raised = None;
        let outcome = std::thread::scope(|scope| {
            let (done, finished) = mpsc::channel::<()>();
            let worker = scope.spawn(move || {
                // Dropped at the end, whatever the end is; that wakes the calling thread.
                let _done = done;
                self.pool.install(|| self.spec.fit_watched(self.data, self.start, &mut { watch }))
            });
            while finished.recv_timeout(LOOK_EVERY) == Err(RecvTimeoutError::Timeout) {
                let at = latest.lock().unwrap_or_else(PoisonError::into_inner).take();
                if raised.is_none()
                    && let Err(problem) = look(progress, at)
                {
                    stop.store(true, Ordering::Relaxed);
                    raised = Some(problem);
                }
            }
            worker.join()
        });
        let model = outcome.map_err(|_| internal("the training ended without a result"))?;
        match raised {
            Some(problem) if !(keep_interrupted && is_interrupt(&problem)) => Err(problem),
            _ => model.map_err(exception),
        }
    }
}

/// Handles signals that have arrived, and tells how far the training is.
fn look(progress: Option<&Py<PyAny>>, at: Option<Progress>) -> PyResult<()> {
    Python::attach(|py| {
        py.check_signals()?;
        if let Some((report, at)) = progress.zip(at) {
            report.call1(py, (at.iteration, at.objective, at.relative_gap))?;
        }
        Ok(())
    })
}

fn is_interrupt(problem: &PyErr) -> bool {
    Python::attach(|py| problem.is_instance_of::<PyKeyboardInterrupt>(py))
}
