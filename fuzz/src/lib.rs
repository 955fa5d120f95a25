//! What is thrown at m3svm to break it: one function per reader and parser. Each must survive any bytes within limits of memory and
//! time, and must not let through what the library promises to refuse.
//!
//! The first byte of an input chooses options (see [`Control`]), the others are the content. `tests/short.rs` throws seeds with random
//! damage, `src/bin/libfuzzer.rs` inputs that are guided by the code they reach.

mod allocation;
mod control;
mod journal;
mod model;
mod mutate;
mod readers;
mod repair;
mod rows;
mod settings;

use std::fmt::Display;
use std::time::{Duration, Instant};

pub use allocation::Watched;
pub use control::Control;
pub use journal::finished as finished_journal;
pub use mutate::Mutator;
pub use rows::written as written_rows;

/// Most memory that one input may take. Inputs have a few thousand bytes.
pub const MOST_MEMORY: usize = 256 << 20;
/// Longest that one input may take.
pub const MOST_TIME: Duration = Duration::from_secs(10);
/// Longest input.
pub const MOST_BYTES: usize = 4096;

/// Takes an input; says whether it was accepted. Panics where a promise is broken.
pub type Target = fn(&[u8]) -> bool;

/// All targets by name.
pub const TARGETS: [(&str, Target); 16] = [
    ("csv", readers::csv),
    ("libsvm", readers::libsvm),
    ("parquet", readers::parquet),
    ("arrow", readers::arrow),
    ("arrow-stream", readers::arrow_stream),
    ("npy", readers::npy),
    ("npz", readers::npz),
    ("mat", readers::mat),
    ("jsonl", readers::jsonl),
    ("gzip", readers::gzip),
    ("zstd", readers::zstd),
    ("detect", readers::detect),
    ("model", model::model),
    ("journal", journal::journal),
    ("rows", rows::rows),
    ("settings", settings::settings),
];

/// The target of a name.
pub fn target(name: &str) -> Option<Target> {
    TARGETS.iter().find(|(known, _)| *known == name).map(|(_, target)| *target)
}

/// Throws one input at a target, within the limits. Memory is watched where [`Watched`] is the allocator.
pub fn throw(target: Target, input: &[u8]) -> bool {
    // Less than the limit: what the library counts is not every byte.
    m3svm::memory::set_budget(Some(MOST_MEMORY as u64 / 4));
    let started = Instant::now();
    let accepted = allocation::limited(MOST_MEMORY, || target(input));
    let seconds = started.elapsed();
    assert!(seconds <= MOST_TIME, "{} bytes took {seconds:?}", input.len());
    accepted
}

/// Every refusal is one line, and steers no terminal.
fn refused(error: &impl Display) -> bool {
    let text = error.to_string();
    assert!(!text.is_empty() && !text.contains(m3svm::text::steers), "not one harmless line: {text:?}");
    false
}
