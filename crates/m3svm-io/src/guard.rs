//! Keeps panics of third-party decoders on hostile input inside: they become errors, and nothing is printed.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

use crate::error::Problem;
use crate::options::Format;

thread_local! {
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Runs a decoder; its panics are reported as a broken file.
pub(crate) fn quietly<T>(format: Format, decode: impl FnOnce() -> Result<T, Problem>) -> Result<T, Problem> {
    static HOOK: Once = Once::new();
    // The hook stays: taking it out again would race with other threads. It passes on every panic outside decoders.
    HOOK.call_once(|| {
        let previous = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !QUIET.get() {
                previous(info);
            }
        }));
    });
    let before = QUIET.replace(true);
    let result = panic::catch_unwind(AssertUnwindSafe(decode));
    QUIET.set(before);
    result.unwrap_or_else(|_| Err(Problem::Broken { format, what: "the content is damaged".into() }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_an_error() {
        let broken: Result<(), _> = quietly(Format::Mat, || panic!("boom"));
        let text = broken.map_err(|e| e.to_string());
        assert_eq!(text, Err("not a usable MATLAB file: the content is damaged".into()));
        assert!(!QUIET.get());
    }
}
