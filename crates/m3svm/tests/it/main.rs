//! The library seen from outside, as one test binary.
#![expect(clippy::unwrap_used, clippy::print_stderr, reason = "tests")]

mod agreement;
mod attack;
mod common;
mod compare;
mod conic;
mod convergence;
mod custom;
mod descent;
mod exact;
mod gradients;
mod hard_margin;
mod interrupt;
mod invariance;
mod kernel;
mod lambda;
mod large;
mod largest;
mod lasso;
mod memory;
mod metrics;
mod paper;
mod program;
mod range;
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
