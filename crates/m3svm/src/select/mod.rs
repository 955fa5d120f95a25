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
//! [`Search`] says what to try, [`SearchResult`] what came out, [`Nested`] how good the choice itself is, and [`Comparison`] which method is best. Same data, same settings, same
//! seed: same result, for any number of threads, and whether or not a [`Journal`] was picked up half-way.

mod compare;
mod fold_data;
mod folds;
mod grid;
mod group_folds;
mod journal;
mod nested;
mod out_of_fold;
mod outer;
mod path;
mod race;
mod result;
mod search;
mod significance;
mod work;

pub use compare::{Compared, Comparison};
pub use folds::{Fold, folds};
pub use grid::{Grid, Setting, Values};
pub use journal::Journal;
pub use nested::Nested;
pub use out_of_fold::OutOfFold;
pub use outer::Outer;
pub use path::Score;
pub use result::{Outcome, Rule, SearchResult};
pub use search::{Search, SearchProgress, SearchWatch};
pub use significance::{CLEAR, corrected_t_test};
