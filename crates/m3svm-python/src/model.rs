//! A trained model as a Python object.

use std::path::PathBuf;

use m3svm::{Features, LabelKind, Model, Preprocessor};
use m3svm_export::{Format, Labels, Options, Precision, export};
use numpy::{PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error::{exception, invalid};
use crate::frame::{Note, PyFrame, PyPreparedFrame};
use crate::pool::{Threads, pool};
use crate::settings::{named, to_dict};
use crate::typed::{List, OutArray1, OutArray2, Settings, Typed, X};

/// Iteration, objective and relative gap (where it was computed) of a step of a training.
pub(crate) type Step = (usize, f64, Option<f64>);
/// The same of a fit whose rows are not in memory, with the passes over them and the seconds that it may still take.
pub(crate) type PassingStep = (usize, f64, Option<f64>, Option<usize>, Option<f64>);
/// Those of all steps.
pub(crate) type Trace = Vec<Step>;

/// Folds, rows, rows that took part and fits of a choice of λ.
type Counts = (usize, usize, usize, usize);
/// A value of λ with its folds, accuracy and log-loss.
pub(crate) type TriedLam = (f64, usize, f64, f64);

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
        n_threads: Option<Threads>,
        f: impl Fn(&Model, &Features<'_>) -> m3svm::Result<T> + Sync,
    ) -> PyResult<T> {
        let (pool, x) = (pool(n_threads)?, x.0.features_for(&self.0)?);
        py.detach(|| pool.install(|| f(&self.0, &x))).map_err(exception)
    }
}

#[pymethods]
impl PyModel {
    /// Scores per row and class.
    #[pyo3(signature = (x, n_threads=None))]
    fn scores<'py>(&self, py: Python<'py>, x: X<'py>, n_threads: Option<Threads>) -> PyResult<OutArray2<'py, f64>> {
        let scores = self.without_interpreter(py, &x, n_threads, |model, x| model.scores(x))?;
        table(py, scores, self.0.classes().len())
    }

    /// What the scorers say: as `scores`, but one column per pair of classes for one-vs-one.
    #[pyo3(signature = (x, n_threads=None))]
    fn raw_scores<'py>(&self, py: Python<'py>, x: X<'py>, n_threads: Option<Threads>) -> PyResult<OutArray2<'py, f64>> {
        let scores = self.without_interpreter(py, &x, n_threads, |model, x| model.raw_scores(x))?;
        table(py, scores, self.0.scorers())
    }

    /// Probabilities per row and class; `None` if the loss does not define them.
    #[pyo3(signature = (x, n_threads=None))]
    fn probabilities<'py>(
        &self,
        py: Python<'py>,
        x: X<'py>,
        n_threads: Option<Threads>,
    ) -> PyResult<Option<OutArray2<'py, f64>>> {
        let probabilities = self.without_interpreter(py, &x, n_threads, |model, x| model.probabilities(x))?;
        probabilities.map(|all| table(py, all, self.0.classes().len())).transpose()
    }

    /// The position of the class of every row.
    #[pyo3(signature = (x, n_threads=None))]
    fn predict<'py>(&self, py: Python<'py>, x: X<'py>, n_threads: Option<Threads>) -> PyResult<OutArray1<'py, u32>> {
        let classes = self.without_interpreter(py, &x, n_threads, |model, x| model.predict(x))?;
        Ok(Typed(PyArray1::from_vec(py, classes)))
    }

    /// A frame, with the columns of `column_names` in that order, as features; and what was filled or never seen. A model of numbers fills
    /// gaps by `means`, if there are any.
    #[pyo3(signature = (frame, means=None))]
    fn prepare(
        &self,
        py: Python<'_>,
        frame: &Bound<'_, PyFrame>,
        means: Option<List<f64>>,
    ) -> PyResult<(PyPreparedFrame, Vec<Note>)> {
        let numbers = means.map(|Typed(means)| Preprocessor::of_numbers(None, &means));
        let preprocessor = self.0.preprocessor().or(numbers.as_ref());
        let preprocessor = preprocessor.ok_or_else(|| invalid("the model was trained on numbers without gaps"))?;
        let frame = frame.get();
        let (x, notes) = py.detach(|| frame.prepared(preprocessor)).map_err(exception)?;
        Ok((PyPreparedFrame::new(x), notes))
    }

    /// Names of the columns that it makes its features of, `None` for those that have none; `None` if it was trained on features as they are.
    #[getter]
    fn column_names(&self) -> Option<Vec<Option<String>>> {
        Some(self.0.preprocessor()?.columns().iter().map(|column| column.name.clone()).collect())
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

    /// Numbers of the training rows that scores are sums over, with a kernel; `None` where scores are linear.
    #[getter]
    fn support<'py>(&self, py: Python<'py>) -> Option<OutArray1<'py, u32>> {
        let expansion = self.0.expansion()?;
        Some(Typed(PyArray1::from_slice(py, expansion.rows())))
    }

    /// How many of them are of each class.
    #[getter]
    fn support_counts(&self) -> Option<Vec<usize>> {
        Some(self.0.expansion()?.class_counts(self.0.classes().len()))
    }

    /// What they weigh, one row per scorer.
    #[getter]
    fn dual_coef<'py>(&self, py: Python<'py>) -> PyResult<Option<OutArray2<'py, f64>>> {
        let Some(expansion) = self.0.expansion() else { return Ok(None) };
        let (s, m, all) = (expansion.len(), self.0.scorers(), expansion.coefficients());
        let by_scorer = (0..m).flat_map(|k| (0..s).map(move |j| all[j * m + k])).collect();
        if s == 0 { table(py, Vec::new(), 0).map(Some) } else { table(py, by_scorer, s).map(Some) }
    }

    /// The rows themselves, as they came; `None` without a kernel, and with a precomputed one.
    #[getter]
    fn support_vectors<'py>(&self, py: Python<'py>) -> PyResult<Option<OutArray2<'py, f64>>> {
        let Some(expansion) = self.0.expansion() else { return Ok(None) };
        let (d, scaler) = (self.0.features(), self.0.scaler());
        let bytes = m3svm::memory::numbers(expansion.len(), d);
        m3svm::memory::check("the support vectors as an array", bytes).map_err(exception)?;
        let Some(mut rows) = expansion.dense_rows() else { return Ok(None) };
        for row in rows.chunks_exact_mut(d) {
            let scaled = row.iter_mut().zip(scaler.shift()).zip(scaler.factor());
            scaled.for_each(|((v, shift), factor)| *v = *v / factor + shift);
        }
        table(py, rows, d).map(Some)
    }

    /// Whether they were sparse.
    #[getter]
    fn support_is_sparse(&self) -> bool {
        self.0.expansion().and_then(m3svm::Expansion::features).is_some_and(|x| x.is_sparse())
    }

    /// The share of the trace of the kernel matrix that a low rank leaves out.
    #[getter]
    fn trace_left(&self) -> Option<f64> {
        self.0.expansion().map(m3svm::Expansion::trace_left)
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

    /// Evaluations of the loss over all rows.
    #[getter]
    fn evaluations(&self) -> usize {
        self.0.training().evaluations
    }

    /// How λ was chosen from the data: folds, rows, rows that took part, fits, evaluations of the loss in units of all rows, and for
    /// every value that was tried λ, folds, accuracy and log-loss. `None` if it was given.
    #[getter]
    fn lambda_choice(&self) -> Option<(Counts, f64, List<TriedLam>)> {
        let choice = self.0.training().lambda.as_ref()?;
        let tried = choice.tried.iter().map(|it| (it.lambda, it.folds, it.accuracy, it.log_loss)).collect();
        Some(((choice.folds, choice.rows, choice.used, choice.fits), choice.evaluations, Typed(tried)))
    }

    /// How often all rows were asked or read, where they were not in memory at once.
    #[getter]
    fn passes(&self) -> Option<usize> {
        self.0.training().passes
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

    /// What the class names stand for: text, integer, real or boolean; `None` if nobody has said so.
    #[getter]
    fn labels(&self) -> Option<&'static str> {
        self.0.label_kind().map(LabelKind::name)
    }

    /// The temperature of probabilities that the loss does not define.
    #[getter]
    fn temperature(&self) -> Option<f64> {
        self.0.temperature()
    }

    /// The same model with what its class names stand for, and with the temperature of its probabilities, for its file.
    #[pyo3(signature = (labels, temperature=None))]
    fn described(&self, labels: &str, temperature: Option<f64>) -> PyResult<Self> {
        let kind = named("labels", LabelKind::ALL.map(|kind| (kind.name(), kind)), labels)?;
        let model = self.0.clone().with_label_kind(kind).map_err(exception)?;
        let model = match temperature {
            Some(temperature) => model.with_temperature(temperature).map_err(exception)?,
            None => model,
        };
        Ok(Self(model, self.1.clone()))
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
