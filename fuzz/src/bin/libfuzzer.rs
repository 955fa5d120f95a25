//! The targets under libFuzzer; `M3SVM_FUZZ_TARGET` names one.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use m3svm_fuzz::{TARGETS, Target, Watched, target, throw};

#[global_allocator]
static ALLOCATOR: Watched = Watched;

static CHOSEN: LazyLock<Target> = LazyLock::new(|| {
    let name = std::env::var("M3SVM_FUZZ_TARGET").unwrap_or_default();
    let known = TARGETS.map(|(known, _)| known).join(", ");
    target(&name).unwrap_or_else(|| panic!("M3SVM_FUZZ_TARGET is `{name}`, expected one of {known}"))
});

fuzz_target!(|input: &[u8]| {
    throw(*CHOSEN, input);
});
