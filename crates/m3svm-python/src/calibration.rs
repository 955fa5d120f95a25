//! Probabilities of scores.

use numpy::{PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;

use crate::error::exception;
use crate::matrix::slice;

/// The temperature T at which softmax(scores/T) describes known classes best.
#[pyfunction]
#[pyo3(signature = (scores, y, sample_weight=None))]
pub(crate) fn fit_temperature(
    scores: PyReadonlyArray2<'_, f64>,
    y: PyReadonlyArray1<'_, u32>,
    sample_weight: Option<PyReadonlyArray1<'_, f64>>,
) -> PyResult<f64> {
    let weights = sample_weight.as_ref().map(|weights| slice(weights.as_slice())).transpose()?;
    let (scores, classes) = (slice(scores.as_slice())?, scores.shape()[1]);
    m3svm::temperature(scores, slice(y.as_slice())?, classes, weights).map_err(exception)
}
