//! Choosing λ and p by cross-validation.
//!
//! ```
//! use m3svm::select::{Journal, Search};
//! use m3svm::{Dataset, Features, Method, Spec};
//! # use std::ops::ControlFlow;
//!
//! # let x: Vec<f64> = (0..40).map(|i| f64::from(i % 4) + 0.3 * f64::from(i % 7)).collect();
//! # let y: Vec<u32> = (0..40).map(|i| i % 2).collect();
//! # let data = Dataset::new(Features::dense(x, 40, 1)?, y, vec!["a".into(), "b".into()])?;
//! let search = Search { folds: 4, ..Search::new(Method::Lr.spec()) };
//! let found = search.run(&data, None, &Journal::none(), &|_| ControlFlow::Continue(()))?;
//! let model = found.spec(&search).fit(&data)?;
//! # assert_eq!(model.classes(), ["a", "b"]);
//! # Ok::<(), m3svm::Error>(())
//! ```
//!
//! [`Search`] says what to try, [`SearchResult`] what came out, [`Nested`] how good the choice itself is, [`Comparison`] which method is best, and [`HeldOut`] what models say of rows that they
//! have not seen. Same data, same settings, same
//! seed: same result, for any number of threads, and whether or not a [`Journal`] was picked up half-way.

mod compare;
mod early_discard;
mod extend;
mod fold_data;
mod folds;
mod grid;
mod group_folds;
mod held_out;
mod journal;
mod lambda;
mod nested;
mod on_disk;
mod outer;
mod path;
mod result;
mod search;
mod significance;
mod work;

pub use compare::{Compared, Comparison};
pub use folds::{Fold, folds};
pub use grid::{Grid, GridValues, Setting};
pub use held_out::{HeldOut, Validation};
pub use journal::Journal;
pub(crate) use lambda::{LAMBDA, hashes};
pub use lambda::{LambdaChoice, TriedLambda};
pub use nested::Nested;
pub use outer::Outer;
pub use path::Score;
pub use result::{Outcome, Rule, SearchResult};
pub(crate) use search::Control;
pub use search::{Search, SearchProgress, SearchWatch};
pub use significance::{CLEAR, Friedman, corrected_t_test, friedman, holm};
