//! The library seen from outside, as one test binary.
#![expect(clippy::unwrap_used, clippy::print_stderr, reason = "tests")]

mod agreement;
mod common;
mod compare;
mod conic;
mod convergence;
mod custom;
mod descent;
mod gradients;
mod invariance;
mod large;
mod lasso;
mod paper;
mod program;
mod rivals;
mod rounding;
mod rows;
mod schemes;
mod select;
mod select_folds;
mod select_journal;
mod splits;
mod stream;
mod threads;
mod top_k;
