//! The one place where errors of the library become Python exceptions.

use std::io;

use m3svm::Error;
use pyo3::exceptions::{PyMemoryError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;

/// The exception of an error: `ValueError`, but an `OSError` of the right kind where a file is the problem, and a `MemoryError` where
/// there is not enough of it.
pub(crate) fn exception(error: Error) -> PyErr {
    let message = error.to_string();
    match error {
        Error::Io { source, .. } => io::Error::new(source.kind(), message).into(),
        Error::Param { name, value, must } => invalid(format!("`{}` must {must}, found {value}", parameter(name))),
        Error::Memory { .. } => PyMemoryError::new_err(format!("{message} (m3svm.set_memory_budget)")),
        // scikit-learn's own checks look for these words.
        Error::TooFewClasses { only: Some(only), .. } => {
            invalid(format!("at least two classes are needed, found only one class (`{only}`)"))
        }
        _ => invalid(message),
    }
}

/// The exception of an error in X, with the words that scikit-learn has for it, and those that people search for.
pub(crate) fn refused(error: Error) -> PyErr {
    match &error {
        Error::NotFinite { value, .. } if value == "NaN" => invalid(format!("Input X contains NaN: {error}")),
        Error::NotFinite { .. } => invalid(format!("Input X contains infinity: {error}")),
        _ => exception(error),
    }
}

/// `ValueError` with a message.
pub(crate) fn invalid(message: impl Into<String>) -> PyErr {
    PyValueError::new_err(message.into())
}

/// What no input should be able to cause.
pub(crate) fn internal(message: &str) -> PyErr {
    PyRuntimeError::new_err(format!("internal error of m3svm: {message}"))
}

/// The library names settings as they are typed on the command line; Python has its own spelling.
fn parameter(name: &str) -> String {
    match name {
        "lambda" => "lam".into(),
        other => other.replace('-', "_"),
    }
}
