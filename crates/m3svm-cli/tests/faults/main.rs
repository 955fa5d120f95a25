//! Faults at random moments: kills, signals, full disks, folders that cannot be written to, slow and broken pipes.
//!
//! After each fault every file is the old one or the new one, whole; journals lead to the result of an undisturbed run; the next run
//! leaves no temporary files behind; and exit codes are those that the README promises. Runs for a few seconds unless
//! `M3SVM_FAULT_MINUTES` says otherwise (`make faults MINUTES=10`); `M3SVM_FAULT_SEED` chooses other moments.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "tests")]
#![expect(clippy::print_stdout, reason = "the counts are what this is run for")]

mod disks;
mod kills;
mod lab;
mod streams;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use lab::Lab;

/// Random numbers by which a run can be repeated (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From 0 to below a number.
    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }

    /// A moment up to some time.
    fn moment(&mut self, most: Duration) -> Duration {
        most.mul_f64(self.below(1 << 20) as f64 / (1 << 20) as f64)
    }
}

/// How often something came out in some way.
type Counts = BTreeMap<(&'static str, &'static str), usize>;

/// A fault: it says what came of it, or why it could not be tried here.
type Fault = fn(&Lab, &mut Random) -> Result<&'static str, &'static str>;

const FAULTS: [(&str, Fault); 14] = [
    ("kill of train", kills::train),
    ("kill of train while it writes", kills::writing),
    ("kills of tune, then resumed", kills::tune),
    ("kills of compare, then resumed", kills::compare),
    ("kills of reproduce, then resumed", kills::reproduce),
    ("signal to train", kills::signal_train),
    ("signals to tune, then resumed", kills::signal_tune),
    ("limit of file size, train", disks::limited_train),
    ("limit of file size, tune, then resumed", disks::limited_tune),
    ("full disk", disks::full),
    ("read-only folder", disks::read_only),
    ("slow pipe as input", streams::slow),
    ("input that ends early", streams::cut),
    ("standard output closed or left", streams::closed),
];

#[test]
fn nothing_is_lost_to_faults_at_random_moments() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<f64>().ok());
    let minutes = number("M3SVM_FAULT_MINUTES").unwrap_or(0.05);
    let seed = number("M3SVM_FAULT_SEED").unwrap_or(1.0) as u64;
    let (mut random, started) = (Random(seed), Instant::now());
    let lab = Lab::new();
    let mut counts = Counts::new();
    let mut round = 0;
    // Every fault once, whatever that takes.
    while round == 0 || started.elapsed() < Duration::from_secs_f64(60.0 * minutes) {
        for (name, fault) in FAULTS {
            if round > 0 && started.elapsed() >= Duration::from_secs_f64(60.0 * minutes) {
                break;
            }
            let outcome = fault(&lab, &mut random).unwrap_or_else(|reason| reason);
            *counts.entry((name, outcome)).or_default() += 1;
            lab.check_next_run(name);
        }
        round += 1;
    }
    println!("\nFaults survived in {:.0} s, seed {seed}:", started.elapsed().as_secs_f64());
    for ((name, outcome), count) in &counts {
        println!("{count:6}  {name}: {outcome}");
    }
    println!("{:6}  in all", counts.values().sum::<usize>());
}
