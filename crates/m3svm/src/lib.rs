//! Multi-class support vector machine with maximised minimum margin (M³SVM), solved to a certified optimum.
//!
//! ```text
//! min over W, b of   Σᵢ ωᵢ ℓ(Wᵀxᵢ + b, yᵢ) + λ Σ_{k<l} ‖wₖ − wₗ‖ᵖ + ε(‖W‖² + ‖b‖²)
//! ```
//!
//! One linear scorer per class, trained jointly. The penalty lifts the smallest margin 2/‖wₖ − wₗ‖ as p grows.

mod certificate;
mod dataset;
mod error;
mod features;
mod intercept;
mod kernel;
pub mod loss;
pub mod metrics;
mod model;
mod model_file;
mod objective;
mod output_file;
mod partition;
pub mod penalty;
mod reduce;
mod risk;
mod scale;
pub mod solver;
mod spec;
mod support;

pub use certificate::Certificate;
pub use dataset::Dataset;
pub use error::{Error, Result};
pub use features::{Features, Values};
pub use loss::{AnyLoss, Loss};
pub use model::{Model, Training};
pub use objective::Objective;
pub use output_file::{check_writable, write_file};
pub use penalty::{AnyPenalty, Penalty};
pub use risk::Risk;
pub use scale::{Scaler, Scaling};
pub use solver::{AnySolver, Progress, Stop, Watch};
pub use spec::{ClassWeight, Method, Spec};
pub use support::SupportVectors;
