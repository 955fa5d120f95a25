//! Multi-class support vector machine with maximised minimum margin (M³SVM), solved to a certified optimum.
//!
//! ```text
//! min over W, b of   Σᵢ ωᵢ ℓ(Wᵀxᵢ + b, yᵢ) + λ Σ_{k<l} ‖wₖ − wₗ‖ᵖ + ε(‖W‖² + ‖b‖²)
//! ```
//!
//! One linear scorer per class, trained jointly; the class with the highest score wins. The default loss is a smoothed hinge on
//! every pair of the true class with another one, `ℓ(z, y) = Σ_{k≠y} g(1 − (z_y − zₖ))` with `g(x) = (x + √(x² + δ²))/2`. The margin
//! between two classes is 2/‖wₖ − wₗ‖, and the penalty lifts the smallest one as p grows. ε is tiny; it makes the optimum unique.
//!
//! ```
//! use m3svm::{Dataset, Features, Spec};
//!
//! let petals = vec![1.4, 0.2, 1.3, 0.3, 4.5, 1.5, 4.1, 1.3, 5.9, 2.1, 5.6, 2.4]; // six rows of length and width
//! let species = ["setosa", "setosa", "versicolor", "versicolor", "virginica", "virginica"];
//! let data = Dataset::from_labels(Features::dense(petals, 6, 2)?, &species)?;
//! let model = Spec::default().fit(&data)?;
//! let found = model.predict(&Features::dense(vec![1.5, 0.4], 1, 2)?)?;
//! assert_eq!(model.classes()[found[0] as usize], "setosa");
//! assert!(model.certificate().relative_gap().is_some_and(|gap| gap <= 1e-8));
//! # Ok::<(), m3svm::Error>(())
//! ```
//!
//! [`Spec`] has every setting, [`Model`] the result, [`Certificate`] the proof. [`Risk`] takes a [`Loss`] or [`Penalty`] of your own.
//!
//! # What the certificate says
//!
//! `lower_bound ≤ min F ≤ objective`. The bound follows from Fenchel duality and holds whatever the solver did, within rounding of f64
//! sums. A fit has converged when the gap between the two, relative to the objective, is at most [`Spec::tol`]. A fit that
//! stops earlier is no error: its model carries the gap that is left. For p < 1 the problem is not convex and there is no bound.
//!
//! # The scale of λ
//!
//! Losses are *summed* over samples (not averaged), distances over *unordered* pairs k < l, and nothing is halved. So λ has to grow with
//! the number of rows to keep the same balance. Other programs scale differently. In what follows c is the number of classes, and
//! ε is neglected; it adds to a ridge λ, so for an exact match of W subtract it there.
//!
//! | Theirs                                                   | [`Ridge`](penalty::Ridge) λ | [`Pairwise`](penalty::Pairwise) λ, p = 2 |
//! |----------------------------------------------------------|-----------------------------|------------------------------------------|
//! | ½‖W‖² + C Σ loss, one vector per class                   | 1/(2C)                      | 1/(2Cc)                                  |
//! | ½‖w‖² + C Σ loss, two classes that share one vector      | 1/C                         | 1/(2C)                                   |
//!
//! Both columns have the same minimum, because `Σ_{k<l} ‖wₖ − wₗ‖² = c‖W‖²` for class vectors that sum to zero, as they do at the
//! optimum. In the second line w = w₁ − w₀, hence ‖W‖² = ½‖w‖².
//!
//! * **scikit-learn**: `LogisticRegression(C=C)` with three or more classes is [`Softmax`](loss::Softmax) by the first line, with two classes
//!   by the second. Its intercept is free, ours is free but for ε. `SVC(kernel="linear", C=C)` with two classes is
//!   [`SmoothHinge`](loss::SmoothHinge) with δ = 0 by the second line. With `l1_ratio=1` and three or more classes it is
//!   [`Lasso`](penalty::Lasso) with λ = 1/C, since nothing is halved there.
//! * **LIBLINEAR**: the same C. Two classes with the hinge (`-s 3`) are δ = 0 by the second line. Its bias is the weight of an appended
//!   constant feature and so part of the penalty; without a bias on either side the problems are equal. With more classes it solves
//!   other problems (one class against the rest, or Crammer and Singer's), and C only compares the order of magnitude.
//! * **The script of the paper's authors** minimises `−(1/(nc)) Σᵢ log softmax(zᵢ)_{yᵢ} + (λₛ/N) Σ_{k≠l} ‖wₖ − wₗ‖ᵖ`: the softmax
//!   loss, ordered pairs, no ε, n training rows and N rows in all. Multiplied by nc, with the training share s = n/N, this is
//!   `λ = 2·c·s·λₛ` for any p.
//!
//! Scaling of features changes what λ means as much as any of these: [`Scaling::None`] is what to compare with programs that do not scale.

mod certificate;
mod columns;
mod dataset;
mod design;
mod engine;
mod error;
mod features;
mod forecast;
mod hard_margin;
mod intercept;
mod interrupt;
mod journal_file;
mod kernel;
mod label_kind;
mod lanes;
mod linalg;
pub mod loss;
pub mod memory;
mod method;
pub mod metrics;
mod model;
mod model_file;
mod objective;
mod output_file;
mod parameter;
mod partition;
pub mod penalty;
mod plan;
mod prepare;
mod problem;
mod reduce;
mod remote_fit;
mod risk;
mod rounding;
mod row_cache;
mod row_source;
mod scale;
mod scheme;
pub mod select;
mod separable;
pub mod solver;
mod spec;
mod stream;
mod streamed_fit;
mod support;
mod temperature;
mod temporary;
pub mod text;
mod tile;
mod tuning;
mod workspace;

pub use certificate::Certificate;
pub use dataset::Dataset;
pub use engine::{PartCarrier, RowPart};
pub use error::{Error, Result};
pub use features::{Column, Features, Values};
pub use forecast::Forecast;
pub use journal_file::{JournalFile, JournalLine, claim_folder};
pub use kernel::{Expansion, Gamma, Kernel};
pub use label_kind::LabelKind;
pub use loss::{AnyLoss, Loss};
pub use method::Method;
pub use model::{Model, Training};
pub use objective::Objective;
pub use output_file::{check_apart, check_writable, open_log, same_file, write_file, write_or_keep};
pub use parameter::{Parameter, Parameters};
pub use penalty::{AnyPenalty, Penalty};
pub use plan::{Decision, Plan};
pub use prepare::{
    ColumnStatistics, Encoding, Kind, LeftOut, Missing, PassingColumns, PlainNumbers, Preparation, Prepared,
    PreparedColumn, Preprocessor, ReadyRows, Reason, Statistics, TimePart, column_keys, column_numbers,
};
pub use remote_fit::{PartDescription, RemoteFit};
pub use risk::Risk;
pub use row_cache::{AboutRows, CachePlace, GatheredRows, RowGatherer};
pub use row_source::{RowBatch, RowSource};
pub use scale::{Scaler, Scaling};
pub use scheme::Scheme;
pub use separable::{CrossingRow, PairVerdict, Separability, Verdict};
pub use solver::{AnySolver, Progress, Stop, Watch};
pub use spec::{ClassWeight, Spec};
pub use streamed_fit::Fit;
pub use support::SupportVectors;
pub use temperature::temperature;

/// The recipes for contributors are run, so that they stay true.
#[cfg(doctest)]
#[doc = include_str!("../../../CONTRIBUTING.md")]
struct Recipes;
