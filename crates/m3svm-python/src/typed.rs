//! What Python calls the types that the generator of stubs does not know, or knows less well: arrays, X, settings, lists, and
//! functions that are called back.
//!
//! All other types it reads off the signatures; `python/m3svm/_core.pyi` is made of both (`make stubs`).

use std::marker::PhantomData;

use numpy::ndarray::Dimension;
use numpy::{Element, PyArray, PyArray1, PyArray2, PyReadonlyArray, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::inspect::PyStaticExpr;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use pyo3::{BoundObject, type_hint_identifier, type_hint_subscript};

use crate::frame::FrameColumn;
use crate::matrix::Matrix;
use crate::model::{PassingStep, Step, TriedLam};
use crate::training::Tried;

/// Numbers that come from Python.
pub(crate) type InArray1<'py, T> = Typed<PyReadonlyArray1<'py, T>>;
/// Rows of numbers that come from Python.
pub(crate) type InArray2<'py, T> = Typed<PyReadonlyArray2<'py, T>>;
/// Numbers that go to Python.
pub(crate) type OutArray1<'py, T> = Typed<Bound<'py, PyArray1<T>>>;
/// Rows of numbers that go to Python.
pub(crate) type OutArray2<'py, T> = Typed<Bound<'py, PyArray2<T>>>;
/// A list that comes from Python.
pub(crate) type List<T> = Typed<Vec<T>>;
/// Settings of a method, as a dictionary.
pub(crate) type Settings<'py> = Typed<Bound<'py, PyDict>>;
/// Features that come from Python.
pub(crate) type X<'py> = Typed<Matrix<'py>>;
/// Columns of a data frame.
pub(crate) type Columns<'py> = Typed<Vec<FrameColumn<'py>>>;
/// How the columns of a data frame are prepared, as a dictionary.
pub(crate) type Prepares<'py> = Typed<PreparationDict<'py>>;

/// The dictionary of that.
#[derive(FromPyObject)]
#[pyo3(transparent)]
pub(crate) struct PreparationDict<'py>(pub(crate) Bound<'py, PyDict>);

/// A value that converts as it always does, with the type that Python knows it by.
pub(crate) struct Typed<T>(pub(crate) T);

/// What Python calls a type.
pub(crate) trait PythonType {
    const NAME: PyStaticExpr;
}

impl<'a, 'py, T: FromPyObject<'a, 'py> + PythonType> FromPyObject<'a, 'py> for Typed<T> {
    type Error = T::Error;

    const INPUT_TYPE: PyStaticExpr = T::NAME;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> Result<Self, T::Error> {
        object.extract().map(Self)
    }
}

impl<'py, T: IntoPyObject<'py> + PythonType> IntoPyObject<'py> for Typed<T> {
    type Target = T::Target;
    type Output = T::Output;
    type Error = T::Error;

    const OUTPUT_TYPE: PyStaticExpr = T::NAME;

    fn into_pyobject(self, py: Python<'py>) -> Result<T::Output, T::Error> {
        self.0.into_pyobject(py)
    }
}

impl<T: Number, D: Dimension> PythonType for PyReadonlyArray<'_, T, D> {
    const NAME: PyStaticExpr = type_hint_subscript!(type_hint_identifier!("numpy.typing", "NDArray"), T::DTYPE);
}

impl<T: Number, D> PythonType for Bound<'_, PyArray<T, D>> {
    const NAME: PyStaticExpr = type_hint_subscript!(type_hint_identifier!("numpy.typing", "NDArray"), T::DTYPE);
}

/// What NumPy calls a number in an array.
pub(crate) trait Number: Element {
    const DTYPE: PyStaticExpr;
}

impl Number for f64 {
    const DTYPE: PyStaticExpr = type_hint_identifier!("numpy", "float64");
}

impl Number for i64 {
    const DTYPE: PyStaticExpr = type_hint_identifier!("numpy", "int64");
}

impl Number for u32 {
    const DTYPE: PyStaticExpr = type_hint_identifier!("numpy", "uint32");
}

impl<T: PythonType> PythonType for Vec<T> {
    const NAME: PyStaticExpr = type_hint_subscript!(type_hint_identifier!("builtins", "list"), T::NAME);
}

impl<A: PythonType, B: PythonType> PythonType for (Typed<A>, Typed<B>) {
    const NAME: PyStaticExpr = type_hint_subscript!(type_hint_identifier!("builtins", "tuple"), A::NAME, B::NAME);
}

impl PythonType for String {
    const NAME: PyStaticExpr = Self::OUTPUT_TYPE;
}

impl PythonType for f64 {
    const NAME: PyStaticExpr = Self::OUTPUT_TYPE;
}

impl PythonType for Step {
    const NAME: PyStaticExpr = Self::OUTPUT_TYPE;
}

impl PythonType for PassingStep {
    const NAME: PyStaticExpr = Self::OUTPUT_TYPE;
}

impl PythonType for Bound<'_, PyDict> {
    const NAME: PyStaticExpr = type_hint_identifier!("m3svm._settings", "Settings");
}

impl PythonType for PreparationDict<'_> {
    const NAME: PyStaticExpr = type_hint_identifier!("m3svm._settings", "Preparation");
}

/// Arrays and pairs.
impl PythonType for FrameColumn<'_> {
    const NAME: PyStaticExpr = type_hint_identifier!("typing", "Any");
}

impl PythonType for TriedLam {
    const NAME: PyStaticExpr = Self::OUTPUT_TYPE;
}

impl PythonType for Tried {
    const NAME: PyStaticExpr = Self::OUTPUT_TYPE;
}

/// Some matrices are told by their attributes.
impl PythonType for Matrix<'_> {
    const NAME: PyStaticExpr = type_hint_identifier!("typing", "Any");
}

/// A function that is called back with such arguments, for what it does and not for what it returns.
pub(crate) struct Callback<Arguments>(Py<PyAny>, PhantomData<fn(Arguments)>);

impl<Arguments: for<'py> IntoPyObject<'py, Target = PyTuple>> Callback<Arguments> {
    pub(crate) fn call(&self, py: Python<'_>, arguments: Arguments) -> PyResult<()> {
        let arguments = arguments.into_pyobject(py).map_err(Into::into)?.into_bound();
        self.0.bind(py).call1(arguments).map(drop)
    }
}

impl<'py, Arguments: IntoPyObject<'py, Target = PyTuple>> FromPyObject<'_, 'py> for Callback<Arguments> {
    type Error = PyErr;

    const INPUT_TYPE: PyStaticExpr = type_hint_subscript!(
        type_hint_identifier!("collections.abc", "Callable"),
        elements(Arguments::OUTPUT_TYPE),
        type_hint_identifier!("builtins", "object")
    );

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        Ok(Self(object.to_owned().unbind(), PhantomData))
    }
}

/// The types in that of a tuple. Runs while the crate is compiled.
const fn elements(tuple: PyStaticExpr) -> PyStaticExpr {
    match tuple {
        PyStaticExpr::Subscript { slice: PyStaticExpr::Tuple { elts }, .. } => PyStaticExpr::List { elts },
        _ => panic!("arguments are a tuple"),
    }
}
