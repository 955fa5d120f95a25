//! Probabilities of scores.

use numpy::PyUntypedArrayMethods;
use pyo3::prelude::*;

use crate::error::exception;
use crate::matrix::slice;
use crate::typed::{InArray1, InArray2};

/// The temperature T at which softmax(scores/T) describes known classes best.
#[pyfunction]
#[pyo3(signature = (scores, y, sample_weight=None))]
pub(crate) fn fit_temperature(
    scores: InArray2<'_, f64>,
    y: InArray1<'_, u32>,
    sample_weight: Option<InArray1<'_, f64>>,
) -> PyResult<f64> {
    let weights = sample_weight.as_ref().map(|weights| slice(weights.0.as_slice())).transpose()?;
    let (scores, classes) = (slice(scores.0.as_slice())?, scores.0.shape()[1]);
    m3svm::temperature(scores, slice(y.0.as_slice())?, classes, weights).map_err(exception)
}
