//! The memory budget of the process.

use pyo3::prelude::*;

use crate::error::exception;

/// What a step that begins now may take, in bytes.
#[pyfunction]
pub(crate) fn memory_budget() -> u64 {
    m3svm::memory::budget()
}

/// Sets the budget as it is typed; `None` is the default again.
#[pyfunction]
#[pyo3(signature = (size))]
pub(crate) fn set_memory_budget(size: Option<&str>) -> PyResult<()> {
    let bytes = size.map(m3svm::memory::parse).transpose().map_err(exception)?;
    m3svm::memory::set_budget(bytes);
    Ok(())
}
