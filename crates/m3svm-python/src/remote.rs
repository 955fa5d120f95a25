//! Rows in other processes: what workers answer, and fits that ask them by way of a carrier written in Python.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use m3svm::{Error, Forecast, PartCarrier, PartDescription, Progress, RemoteFit, RowPart};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

use crate::error::{exception, refused};
use crate::matrix::slice;
use crate::model::{PassingStep, PyModel, Trace};
use crate::pool::{Threads, pool};
use crate::settings::from_dict;
use crate::typed::{Callback, InArray1, List, Settings, X};
use crate::watched::{kept, run};

/// Seconds to wait for answers before looking for Ctrl-C.
const LOOK_EVERY: f64 = 0.1;

/// How long Ctrl-C may be on its way.
const MOMENT: Duration = Duration::from_millis(60);
const MOMENTS: usize = 5;

/// What a fit has to know of some rows before it begins, as text that can be sent.
#[pyfunction]
#[pyo3(signature = (x, sample_weight=None))]
pub(crate) fn describe_part<'py>(
    py: Python<'py>,
    x: X<'py>,
    sample_weight: Option<InArray1<'py, f64>>,
) -> PyResult<String> {
    let x = x.0.features()?;
    let weights = sample_weight.as_ref().map(|w| slice(w.0.as_slice())).transpose()?;
    py.detach(|| PartDescription::of(&x, weights).and_then(|part| part.to_json())).map_err(refused)
}

/// What a worker keeps of one part of the rows between the messages of a fit. It can be thrown away at any time.
#[pyclass(frozen, name = "RowPart", module = "m3svm._core")]
pub(crate) struct PyRowPart(Mutex<RowPart>);

#[pymethods]
impl PyRowPart {
    #[new]
    fn new() -> Self {
        Self(Mutex::default())
    }

    /// Answers a message of `fit_parts` about these rows; `y` are positions in its `classes`.
    #[pyo3(signature = (x, y, message, *, sample_weight=None, n_threads=None))]
    fn answer<'py>(
        &self,
        py: Python<'py>,
        x: X<'py>,
        y: InArray1<'py, u32>,
        message: &[u8],
        sample_weight: Option<InArray1<'py, f64>>,
        n_threads: Option<Threads>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let (pool, x, y) = (pool(n_threads)?, x.0.features()?, slice(y.0.as_slice())?);
        let weights = sample_weight.as_ref().map(|w| slice(w.0.as_slice())).transpose()?;
        let answer = py.detach(|| {
            // Within the pool: who holds the part stays on one thread.
            pool.install(|| self.0.lock().unwrap_or_else(PoisonError::into_inner).answer(&x, y, weights, message))
        });
        Ok(PyBytes::new(py, &answer.map_err(exception)?))
    }
}

/// A carrier written in Python: `send(parts, message)` begins a round, `receive(seconds)` gives the answers or `None` if there are none yet,
/// and `cancel()` ends the round. What it raises is kept.
struct PyCarrier {
    object: Py<PyAny>,
    parts: usize,
    raised: Mutex<Option<PyErr>>,
}

impl PyCarrier {
    fn round(&self, py: Python<'_>, parts: &[usize], message: &[u8], go_on: &dyn Fn() -> bool) -> PyResult<Answers> {
        let object = self.object.bind(py);
        object.call_method1("send", (PyList::new(py, parts)?, PyBytes::new(py, message)))?;
        loop {
            let answers = object.call_method1("receive", (LOOK_EVERY,))?;
            if !answers.is_none() {
                return answers.extract().map(Some);
            }
            if !go_on() {
                object.call_method0("cancel")?;
                return Ok(None);
            }
        }
    }
}

/// Whether the work is still wanted a moment later.
fn goes_on(go_on: &dyn Fn() -> bool) -> bool {
    (0..MOMENTS).all(|_| {
        std::thread::sleep(MOMENT);
        go_on()
    })
}

/// Answers of parts; none if nobody wants them any more.
type Answers = Option<Vec<Vec<u8>>>;

impl PartCarrier for PyCarrier {
    fn parts(&self) -> usize {
        self.parts
    }

    fn ask(&self, parts: &[usize], message: &[u8], go_on: &dyn Fn() -> bool) -> m3svm::Result<Vec<Vec<u8>>> {
        match Python::attach(|py| self.round(py, parts, message, go_on)) {
            Ok(answers) => answers.ok_or(Error::Interrupted),
            // An engine that hears of Ctrl-C itself cancels its work, and that may be known here sooner than why.
            Err(_) if !goes_on(go_on) => Err(Error::Interrupted),
            Err(problem) => {
                let what = problem.to_string();
                *self.raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(problem);
                Err(Error::Engine { what })
            }
        }
    }
}

/// Trains on rows in parts, with one description each, by way of a carrier. `mass` is the weight of the rows of each class.
///
/// `progress(iteration, objective, relative_gap, passes, seconds_left)` is called now and then. An exception from it or from the carrier, or Ctrl-C, ends the
/// training and is raised, unless `keep_interrupted` asks for the model so far after Ctrl-C.
#[pyfunction]
#[pyo3(signature = (carrier, descriptions, classes, mass, settings, *, feature_names=None, start=None, n_threads=None, progress=None, keep_interrupted=false))]
pub(crate) fn fit_parts<'py>(
    py: Python<'py>,
    carrier: Py<PyAny>,
    descriptions: List<String>,
    classes: List<String>,
    mass: List<f64>,
    settings: Settings<'py>,
    feature_names: Option<List<String>>,
    start: Option<&Bound<'py, PyModel>>,
    n_threads: Option<Threads>,
    progress: Option<Callback<PassingStep>>,
    keep_interrupted: bool,
) -> PyResult<PyModel> {
    let (spec, pool) = (from_dict(&settings)?, pool(n_threads)?);
    let parts: Vec<PartDescription> = descriptions
        .0
        .iter()
        .map(|text| PartDescription::from_json(text))
        .collect::<Result<_, _>>()
        .map_err(exception)?;
    let carrier = PyCarrier { object: carrier, parts: parts.len(), raised: Mutex::new(None) };
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
        let fit = RemoteFit {
            carrier: &carrier,
            descriptions: &parts,
            classes: classes.0,
            mass: mass.0,
            feature_names: feature_names.map(|names| names.0),
        };
        run(&pool, report, |watch| {
            let mut step = |at: &Progress| {
                if !at.inner {
                    trace.push((at.iteration, at.objective, at.relative_gap));
                }
                watch(*at)
            };
            fit.fit(&spec, start, &mut step)
        })
    });
    if let Some(problem) = outcome.raised.filter(|problem| !kept(py, problem, keep_interrupted)) {
        return Err(problem);
    }
    if let Some(problem) = carrier.raised.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(problem);
    }
    Ok(PyModel::new(outcome.result?, trace))
}
