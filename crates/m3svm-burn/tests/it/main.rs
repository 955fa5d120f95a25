//! The losses seen from outside: the same numbers as the linear library, on a CPU backend.
#![expect(clippy::unwrap_used, reason = "tests")]

mod common;
mod head;
mod losses;
mod penalty;
mod precision;
