//! Folds that depend on what rows say, and neither on their order nor on how often they are there.
//!
//! A fit keeps the promise that a weight of 2 is the row twice and that the order of rows does not matter, so the choice of λ within it has
//! to. Rows are told apart by a hash of their entries in single precision: equal rows of a class are one unit, and units are dealt out in
//! the order of their hashes, class by class.

use std::collections::HashMap;

use crate::dataset::Dataset;
use crate::features::Features;
use crate::kernel::Kernel;
use crate::select::Fold;

/// Rows of a class that are equal.
struct Unit {
    hash: u64,
    rows: Vec<u32>,
}

/// The rows of a data set that weigh anything, as units by class in the order of their hashes.
pub(super) struct Units(Vec<Vec<Unit>>);

impl Units {
    /// `weights`: what rows weigh in all.
    pub(super) fn of(data: &Dataset<'_>, kernel: Kernel, weights: Option<&[f64]>) -> Self {
        let hashes = hashes(data.x(), kernel == Kernel::Precomputed);
        let mut classes: Vec<HashMap<u64, Vec<u32>>> = vec![HashMap::new(); data.classes().len()];
        for (i, &k) in data.y().iter().enumerate().filter(|(i, _)| weights.is_none_or(|w| w[*i] > 0.0)) {
            classes[k as usize].entry(hashes[i]).or_default().push(i as u32);
        }
        let sorted = |class: HashMap<u64, Vec<u32>>| {
            let mut units: Vec<Unit> = class.into_iter().map(|(hash, rows)| Unit { hash, rows }).collect();
            units.sort_unstable_by_key(|unit| unit.hash);
            units
        };
        Self(classes.into_iter().map(sorted).collect())
    }

    /// Number of units.
    pub(super) fn count(&self) -> usize {
        self.0.iter().map(Vec::len).sum()
    }

    /// About `most` of them, of every class the share that it has, but not fewer than `least`, if it has them.
    pub(super) fn thin_out(&mut self, most: usize, least: usize) {
        let all = self.count();
        if all <= most {
            return;
        }
        for class in &mut self.0 {
            let share = (class.len() as u128 * most as u128).div_ceil(all as u128) as usize;
            class.truncate(share.max(least));
        }
    }

    /// Number of rows.
    pub(super) fn rows(&self) -> usize {
        self.0.iter().flatten().map(|unit| unit.rows.len()).sum()
    }

    /// At most so many folds; none where there are too few rows for two, or where rows of one class alone could be tested: whoever always says
    /// that class would be right. Units that are alone in their class are always trained on, and so
    /// is whatever would be missing in a training part.
    pub(super) fn folds(&self, most: usize) -> Vec<Fold> {
        let tested = self.0.iter().map(|class| if class.len() > 1 { class.len() } else { 0 }).sum::<usize>();
        let count = most.min(tested);
        let told_apart = self.0.iter().filter(|class| class.len() > 1).count();
        if count < 2 || told_apart < 2 {
            return Vec::new();
        }
        let mut parts: Vec<Vec<u32>> = vec![Vec::new(); count];
        let (mut always, mut next) = (Vec::new(), 0);
        for class in &self.0 {
            for unit in class {
                match class.len() {
                    1 => always.extend_from_slice(&unit.rows),
                    _ => {
                        parts[next].extend_from_slice(&unit.rows);
                        next = (next + 1) % count;
                    }
                }
            }
        }
        let fold = |at: usize| {
            let others = parts.iter().enumerate().filter(|(part, _)| *part != at).flat_map(|(_, rows)| rows);
            let mut train: Vec<u32> = others.chain(&always).copied().collect();
            let mut test = parts[at].clone();
            train.sort_unstable();
            test.sort_unstable();
            Fold { train, test }
        };
        (0..count).map(fold).collect()
    }
}

/// A hash of every row. Entries may come in any order, and zeros may be stored or not. A row of a precomputed kernel is what its values are:
/// its columns have the order of the rows, and are there as often.
pub(crate) fn hashes(x: &Features<'_>, are_products: bool) -> Vec<u64> {
    let mut hashes = vec![0u64; x.rows()];
    let mut values = Vec::new();
    x.for_each_row(|i, row| {
        if are_products {
            values.clear();
            row.for_each(|_, value| values.push(bits(value)));
            values.sort_unstable();
            values.dedup();
            hashes[i] = values.iter().fold(0, |hash, value| mixed(hash ^ u64::from(*value)));
            return;
        }
        let mut hash = 0u64;
        row.for_each(|j, value| {
            let bits = bits(value);
            if bits != 0 {
                hash = hash.wrapping_add(mixed((j as u64) << 32 | u64::from(bits)));
            }
        });
        hashes[i] = mixed(hash);
    });
    hashes
}

/// A number in single precision, so that a table in either precision has the same folds; 0 for both zeros.
fn bits(value: f64) -> u32 {
    let single = value as f32;
    if single == 0.0 { 0 } else { single.to_bits() }
}

/// The finaliser of SplitMix64.
fn mixed(value: u64) -> u64 {
    let mut v = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    v = (v ^ (v >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    v = (v ^ (v >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    v ^ (v >> 31)
}
