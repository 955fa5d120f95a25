//! How much memory one step of the work may take, asked before anything large is allocated.
//!
//! A step is what a caller asks for at once: a table read from a file, a fit, the scores of some rows. What it is going to hold is
//! counted where its size is decided: an estimate of the large pieces, not a count of every byte. The budget belongs to the
//! process, as memory does; `docs/decisions/014-memory-budget.md` says why it is no argument of every call.
//!
//! ```
//! use m3svm::memory;
//!
//! memory::set_budget(Some(memory::parse("2GB")?));
//! let refused = memory::check("the fit", 12_000_000_000).unwrap_err();
//! assert_eq!(refused.to_string(), "the fit needs about 12 GB, and the memory budget is 2 GB");
//! # memory::set_budget(None);
//! # Ok::<(), m3svm::Error>(())
//! ```

mod fit;
mod free;

use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Error, Result};
use crate::text::digits;

pub(crate) use fit::{bytes_of_fit, check_fit};

/// The budget that was set.
static SET: AtomicU64 = AtomicU64::new(NONE);
/// What stands for no budget of one's own.
const NONE: u64 = u64::MAX;
/// So much may always be taken where no budget was set: asking the system costs more than a small fit.
const ALWAYS: u64 = 1 << 24;
/// Steps in which what the process holds is counted, as parts of the budget.
const HELD: u64 = 8;
/// The default budget where the system does not say what is free.
const UNKNOWN: u64 = 16_000_000_000;

/// Sets the budget of this process in bytes; `None` is the default again: four fifths of what is free when a step begins.
pub fn set_budget(bytes: Option<u64>) {
    SET.store(bytes.unwrap_or(NONE), Ordering::Relaxed);
}

/// What a step that begins now may take, in bytes.
pub fn budget() -> u64 {
    budget_beside(0)
}

/// The part of a budget that was set which the process has not taken yet, code and all; a quarter at least, or nothing could be done with little.
/// What is free is not the process's own anyway. In steps, since it decides how rows are cut into blocks: what is held and what is free is never
/// quite the same, and the bits of a result are to be.
pub(crate) fn budget_left() -> u64 {
    match SET.load(Ordering::Relaxed) {
        NONE => 1 << budget().max(1).ilog2(),
        set => {
            let step = (set / HELD).max(1);
            set.saturating_sub(free::held().div_ceil(step).saturating_mul(step)).max(set / 4)
        }
    }
}

/// The budget of a step that has taken some of it already.
fn budget_beside(held: u64) -> u64 {
    match SET.load(Ordering::Relaxed) {
        NONE => free::bytes().map_or(UNKNOWN, |free| free / 5 * 4).saturating_add(held),
        set => set,
    }
}

/// What needs no question.
fn always() -> u64 {
    match SET.load(Ordering::Relaxed) {
        NONE => ALWAYS,
        set => set,
    }
}

/// Refuses a step that is going to take more than the budget. `what` begins the sentence "… needs about 12 GB".
pub fn check(what: &str, bytes: u64) -> Result<()> {
    if bytes <= always() {
        return Ok(());
    }
    let budget = budget();
    if bytes <= budget { Ok(()) } else { Err(too_much(what, Some(bytes), budget)) }
}

fn too_much(what: &str, needed: Option<u64>, budget: u64) -> Error {
    Error::Memory { what: what.into(), needed, budget }
}

/// The memory of a step whose size shows only as it goes on, such as the reading of a compressed file.
#[derive(Clone, Debug)]
pub struct Meter {
    what: &'static str,
    held: u64,
    limit: u64,
    asked: bool,
}

impl Meter {
    /// Begins a step.
    pub fn new(what: &'static str) -> Self {
        Self { what, held: 0, limit: always(), asked: false }
    }

    /// So many bytes more are held, or are just about to be; an error if that is beyond the budget.
    pub fn add(&mut self, bytes: u64) -> Result<()> {
        self.expect(bytes, None)?;
        self.held += bytes;
        Ok(())
    }

    /// So many bytes more are going to be held: the same question, before it is known whether they will come.
    pub fn foresee(&mut self, bytes: u64) -> Result<()> {
        self.expect(bytes, Some(self.held.saturating_add(bytes)))
    }

    /// So many bytes are given back.
    pub fn release(&mut self, bytes: u64) {
        self.held = self.held.saturating_sub(bytes);
    }

    /// Makes room for so many elements more. A vector that grows by itself ends the program where the system refuses, and it asks for
    /// twice of what it holds: that may be refused long before the budget is used up.
    pub fn reserve<T>(&self, values: &mut Vec<T>, more: usize) -> Result<()> {
        values.try_reserve(more).map_err(|_| too_much(self.what, None, budget_beside(self.held)))
    }

    fn expect(&mut self, bytes: u64, needed: Option<u64>) -> Result<()> {
        let total = self.held.saturating_add(bytes);
        if total > self.limit && !self.asked {
            (self.limit, self.asked) = (budget_beside(self.held), true);
        }
        if total <= self.limit { Ok(()) } else { Err(too_much(self.what, needed, self.limit)) }
    }
}

/// The bytes of so many numbers of 8 bytes in each of so many rows; what no machine could count is the largest number.
pub fn numbers(rows: usize, columns: usize) -> u64 {
    (rows as u64).saturating_mul(columns as u64).saturating_mul(8)
}

/// Units by their names in lower case.
const UNITS: [(&str, u64); 10] = [
    ("kib", 1 << 10),
    ("mib", 1 << 20),
    ("gib", 1 << 30),
    ("tib", 1 << 40),
    ("kb", 1_000),
    ("mb", 1_000_000),
    ("gb", 1_000_000_000),
    ("tb", 1_000_000_000_000),
    ("b", 1),
    ("", 1),
];

/// A number of bytes as it is typed: `2GB`, `1.5 GiB`, `500000`.
pub fn parse(typed: &str) -> Result<u64> {
    let wrong =
        || Error::param("memory", format!("`{typed}`"), "be a number of bytes such as 2GB, 512MiB or 2000000000");
    let text = typed.trim().to_ascii_lowercase();
    let (number, unit) =
        UNITS.iter().find_map(|(name, unit)| Some((text.strip_suffix(name)?, *unit))).ok_or_else(wrong)?;
    let number: f64 = number.trim().parse().map_err(|_| wrong())?;
    let bytes = number * unit as f64;
    if bytes >= 0.0 && bytes < NONE as f64 { Ok(bytes as u64) } else { Err(wrong()) }
}

/// A number of bytes as people write it: 12 GB.
pub fn shown(bytes: u64) -> String {
    const NAMES: [&str; 6] = ["KB", "MB", "GB", "TB", "PB", "EB"];
    if bytes < 1000 {
        return format!("{bytes} byte{}", if bytes == 1 { "" } else { "s" });
    }
    let mut value = bytes as f64 / 1e3;
    let mut unit = 0;
    // 999.6 would be written as 1000.
    while value >= 999.5 && unit + 1 < NAMES.len() {
        (value, unit) = (value / 1e3, unit + 1);
    }
    let text = digits(value, 3);
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text} {}", NAMES[unit])
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_and_written_as_people_write_them() {
        for (typed, bytes) in [
            ("2GB", 2_000_000_000),
            (" 1.5 gib ", 3 << 29),
            ("512MiB", 512 << 20),
            ("3kb", 3_000),
            ("7B", 7),
            ("500000", 500_000),
            ("1e9", 1_000_000_000),
            ("0", 0),
        ] {
            assert_eq!(parse(typed).unwrap(), bytes, "{typed}");
        }
        for wrong in ["", "GB", "-1GB", "nan", "inf", "1e30TB", "2 apples", "2G"] {
            let text = parse(wrong).unwrap_err().to_string();
            assert!(text.starts_with("`memory` must be a number of bytes"), "{wrong}: {text}");
        }
        for (bytes, text) in [
            (0, "0 bytes"),
            (1, "1 byte"),
            (999, "999 bytes"),
            (1_000, "1 KB"),
            (12_000_000_000, "12 GB"),
            (1_550_000, "1.55 MB"),
            (999_700_000, "1 GB"),
            (100_000, "100 KB"),
            (u64::MAX, "18.4 EB"),
        ] {
            assert_eq!(shown(bytes), text);
        }
    }

    #[test]
    fn what_no_machine_has_is_refused_and_little_is_not() {
        assert!(check("a fit", 1000).is_ok());
        let refused = check("a fit", u64::MAX).unwrap_err().to_string();
        assert!(refused.starts_with("a fit needs about 18.4 EB, and the memory budget is "), "{refused}");
        let mut meter = Meter::new("the table");
        meter.add(1000).unwrap();
        assert!(meter.foresee(1 << 62).unwrap_err().to_string().starts_with("the table needs about 4.61 EB"));
        assert!(
            meter.add(u64::MAX).unwrap_err().to_string().starts_with("the table needs more than the memory budget of ")
        );
        meter.release(1000);
        meter.add(1000).unwrap();
        let mut values = vec![1.0];
        meter.reserve(&mut values, 10).unwrap();
        assert!(values.capacity() > 10);
        let refused = meter.reserve(&mut values, 1 << 59).unwrap_err().to_string();
        assert!(refused.starts_with("the table needs more than the memory budget of "), "{refused}");
    }
}
