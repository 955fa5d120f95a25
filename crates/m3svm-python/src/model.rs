//! A trained model as a Python object.

use std::path::PathBuf;

use m3svm::{Features, Model};
use m3svm_export::{Format, Labels, Options, Precision, export};
use numpy::{PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error::{exception, invalid};
use crate::pool::pool;
use crate::settings::{named, to_dict};
use crate::typed::{List, OutArray1, OutArray2, Settings, Typed, X};

/// Iteration, objective and relative gap (where it was computed) of a step of a training.
pub(crate) type Step = (usize, f64, Option<f64>);
/// Those of all steps.
pub(crate) type Trace = Vec<Step>;

/// A trained linear classifier, with the way it took if it was trained here. Immutable; its pickle is its model file and that way.
#[pyclass(frozen, name = "Model", module = "m3svm._core")]
pub(crate) struct PyModel(Model, Trace);

impl PyModel {
    pub(crate) fn new(model: Model, trace: Trace) -> Self {
        Self(model, trace)
    }

    pub(crate) fn inner(&self) -> &Model {
        &self.0
    }

    /// Runs `f` on features without holding the interpreter.
    fn without_interpreter<T: Send>(
        &self,
        py: Python<'_>,
        x: &X<'_>,
        n_threads: Option<usize>,
        f: impl Fn(&Model, &Features<'_>) -> m3svm::Result<T> + Sync,
    ) -> PyResult<T> {
        let (pool, x) = (pool(n_threads)?, x.0.features()?);
        py.detach(|| pool.install(|| f(&self.0, &x))).map_err(exception)
    }
}

#[pymethods]
impl PyModel {
    /// Scores per row and class.
    #[pyo3(signature = (x, n_threads=None))]
    fn scores<'py>(&self, py: Python<'py>, x: X<'py>, n_threads: Option<usize>) -> PyResult<OutArray2<'py, f64>> {
        let scores = self.without_interpreter(py, &x, n_threads, |model, x| model.scores(x))?;
        table(py, scores, self.0.classes().len())
    }

    /// What the scorers say: as `scores`, but one column per pair of classes for one-vs-one.
    #[pyo3(signature = (x, n_threads=None))]
    fn raw_scores<'py>(&self, py: Python<'py>, x: X<'py>, n_threads: Option<usize>) -> PyResult<OutArray2<'py, f64>> {
        let scores = self.without_interpreter(py, &x, n_threads, |model, x| model.raw_scores(x))?;
        table(py, scores, self.0.scorers())
    }

    /// Probabilities per row and class; `None` if the loss does not define them.
    #[pyo3(signature = (x, n_threads=None))]
    fn probabilities<'py>(
        &self,
        py: Python<'py>,
        x: X<'py>,
        n_threads: Option<usize>,
    ) -> PyResult<Option<OutArray2<'py, f64>>> {
        let probabilities = self.without_interpreter(py, &x, n_threads, |model, x| model.probabilities(x))?;
        probabilities.map(|all| table(py, all, self.0.classes().len())).transpose()
    }

    /// The position of the class of every row.
    #[pyo3(signature = (x, n_threads=None))]
    fn predict<'py>(&self, py: Python<'py>, x: X<'py>, n_threads: Option<usize>) -> PyResult<OutArray1<'py, u32>> {
        let classes = self.without_interpreter(py, &x, n_threads, |model, x| model.predict(x))?;
        Ok(Typed(PyArray1::from_vec(py, classes)))
    }

    /// Class names, in the order of the columns of scores.
    #[getter]
    fn classes(&self) -> Vec<String> {
        self.0.classes().to_vec()
    }

    #[getter]
    fn feature_names(&self) -> Option<Vec<String>> {
        self.0.feature_names().map(<[String]>::to_vec)
    }

    #[getter]
    fn n_features(&self) -> usize {
        self.0.features()
    }

    /// The vectors of the scorers, one per row, for features as they come.
    #[getter]
    fn coef<'py>(&self, py: Python<'py>) -> PyResult<OutArray2<'py, f64>> {
        let (weights, _) = self.0.unscaled();
        let (d, m) = (self.0.features(), self.0.scorers());
        let by_scorer = (0..m).flat_map(|k| (0..d).map(move |j| (j, k))).map(|(j, k)| weights[j * m + k]).collect();
        table(py, by_scorer, d)
    }

    /// The intercepts of the scorers, for features as they come.
    #[getter]
    fn intercept<'py>(&self, py: Python<'py>) -> OutArray1<'py, f64> {
        Typed(PyArray1::from_vec(py, self.0.unscaled().1))
    }

    /// Margins of all pairs of classes, infinite on the diagonal; in scaled features.
    #[getter]
    fn margins<'py>(&self, py: Python<'py>) -> PyResult<OutArray2<'py, f64>> {
        table(py, self.0.margins(), self.0.classes().len())
    }

    #[getter]
    fn min_margin(&self) -> f64 {
        self.0.min_margin().0
    }

    #[getter]
    fn objective(&self) -> f64 {
        self.0.certificate().objective
    }

    /// How far above the optimum the objective can be at most; `None` where the problem is not convex.
    #[getter]
    fn relative_gap(&self) -> Option<f64> {
        self.0.certificate().relative_gap()
    }

    #[getter]
    fn iterations(&self) -> usize {
        self.0.training().iterations
    }

    /// The solver that ran; never `auto`.
    #[getter]
    fn solver(&self) -> &str {
        &self.0.training().solver
    }

    /// Why it ended: converged, iteration-limit, no-progress or interrupted.
    #[getter]
    fn stop(&self) -> &'static str {
        self.0.training().stop.name()
    }

    /// Iteration, objective and relative gap (where it was computed) of every step; empty if the model comes from a file.
    #[getter]
    fn trace(&self) -> Trace {
        self.1.clone()
    }

    #[getter]
    fn has_probabilities(&self) -> bool {
        self.0.has_probabilities()
    }

    /// The settings it was trained with, as `fit` takes them.
    #[getter]
    fn settings<'py>(&self, py: Python<'py>) -> PyResult<Settings<'py>> {
        to_dict(py, self.0.spec())
    }

    /// Writes the model file.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| self.0.save(path)).map_err(exception)
    }

    /// Reads a model file.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        py.detach(|| Model::load(path)).map(|model| Self(model, Trace::new())).map_err(exception)
    }

    /// The content of the model file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.0.to_bytes().map_err(exception)?))
    }

    /// The model in the content of a model file, with the trace of its training if it is known.
    #[staticmethod]
    #[pyo3(signature = (content, trace=None))]
    fn from_bytes(content: &[u8], trace: Option<List<Step>>) -> PyResult<Self> {
        Model::from_bytes(content)
            .map(|model| Self(model, trace.map(|Typed(all)| all).unwrap_or_default()))
            .map_err(exception)
    }

    /// The model in another format: onnx, c, json or liblinear.
    #[pyo3(signature = (format, *, single=true, text_labels=false, name=None, temperature=None))]
    fn export<'py>(
        &self,
        py: Python<'py>,
        format: &str,
        single: bool,
        text_labels: bool,
        name: Option<String>,
        temperature: Option<f64>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let format = named("format", Format::ALL.map(|f| (f.name(), f)), format)?;
        let options = Options {
            precision: if single { Precision::Single } else { Precision::Double },
            labels: if text_labels { Labels::Text } else { Labels::Natural },
            prefix: name.unwrap_or(Options::default().prefix),
            temperature,
        };
        let content = py.detach(|| export(&self.0, format, &options)).map_err(|e| invalid(e.to_string()))?;
        Ok(PyBytes::new(py, &content))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Pickled<'py>> {
        Ok((slf.getattr("from_bytes")?, (slf.get().to_bytes(slf.py())?, slf.get().trace())))
    }

    fn __eq__(&self, other: &Bound<'_, Self>) -> bool {
        self.0 == other.get().0
    }

    fn __repr__(&self) -> String {
        format!("<m3svm model of {} classes and {} features>", self.0.classes().len(), self.0.features())
    }
}

/// What makes a model again, and of what.
type Pickled<'py> = (Bound<'py, PyAny>, (Bound<'py, PyBytes>, Trace));

/// Numbers as a matrix with so many columns, without a copy.
fn table(py: Python<'_>, numbers: Vec<f64>, columns: usize) -> PyResult<OutArray2<'_, f64>> {
    let rows = numbers.len() / columns.max(1);
    PyArray1::from_vec(py, numbers).reshape([rows, columns]).map(Typed)
}
