//! Multi-class support vector machine with maximised minimum margin (M³SVM).

mod dataset;
mod error;
mod features;
mod kernel;
mod scale;

pub use dataset::Dataset;
pub use error::{Error, Result};
pub use features::{Features, Values};
pub use scale::{Scaler, Scaling};
