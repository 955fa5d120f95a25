//! The extension module `m3svm._core`: arrays and settings in, a trained model out.
//!
//! It translates and decides nothing. What scikit-learn expects of an estimator is in `python/m3svm`, what a setting means in
//! the library. Values of X are never copied on the way in, and the interpreter is free while numbers are crunched.

mod calibration;
mod error;
mod frame;
mod gathered;
mod matrix;
mod memory;
mod model;
mod pool;
mod remote;
mod settings;
mod training;
mod typed;
mod watched;

use pyo3::prelude::*;

/// The part of m3svm that is written in Rust. Its types (`_core.pyi`) are made from there by `make stubs`.
#[pymodule]
mod _core {
    #[pymodule_export]
    use crate::calibration::fit_temperature;
    #[pymodule_export]
    use crate::frame::PyFrame;
    #[pymodule_export]
    use crate::frame::PyPreparedFrame;
    #[pymodule_export]
    use crate::gathered::PyGatheredRows;
    #[pymodule_export]
    use crate::gathered::check_passing;
    #[pymodule_export]
    use crate::memory::memory_budget;
    #[pymodule_export]
    use crate::memory::set_memory_budget;
    #[pymodule_export]
    use crate::model::PyModel;
    #[pymodule_export]
    use crate::remote::PyRowPart;
    #[pymodule_export]
    use crate::remote::describe_part;
    #[pymodule_export]
    use crate::remote::fit_parts;
    #[pymodule_export]
    use crate::settings::default_settings;
    #[pymodule_export]
    use crate::settings::methods;
    #[pymodule_export]
    use crate::training::choose;
    #[pymodule_export]
    use crate::training::fit;
    #[pymodule_export]
    use crate::training::fit_batch;
    #[pymodule_export]
    use crate::training::further;
    #[pymodule_export]
    use crate::training::grid;
    #[pymodule_export]
    use crate::training::search;

    #[pymodule_export]
    #[allow(non_upper_case_globals, reason = "the name that Python expects")]
    const __version__: &str = env!("CARGO_PKG_VERSION");

    /// What this module and the Python files agree on; see `python/m3svm/_border.py`, where it is written too.
    #[pymodule_export]
    const BORDER: u32 = 8;
}
