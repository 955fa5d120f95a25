//! Splits that keep the rows of a group together: all recordings of a person, all images of an object.

use std::collections::HashMap;

use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use crate::error::{Error, Result};

/// One group of rows.
struct Group {
    rows: Vec<u32>,
    /// Rows by class.
    counts: Vec<f64>,
}

/// The fold in which each row is tested; `None` for groups that are always trained on, because the only rows of some class are theirs.
pub(super) fn assign(y: &[u32], groups: &[u32], folds: usize, random: &mut ChaCha8Rng) -> Result<Vec<Option<usize>>> {
    if groups.len() != y.len() {
        return Err(Error::Shape { what: "groups (one per row)", expected: y.len(), found: groups.len() });
    }
    let classes = y.iter().max().map_or(0, |k| *k as usize + 1);
    let mut all = gather(y, groups, classes);
    let mut homes = vec![0usize; classes];
    all.iter().for_each(|g| present(&g.counts).for_each(|k| homes[k] += 1));
    all.retain(|g| present(&g.counts).all(|k| homes[k] > 1));
    if folds > all.len() {
        return Err(Error::Folds { folds, most: all.len(), what: "groups that can be tested" });
    }
    // Large groups first, while there is room for the small ones to even things out. The shuffle decides among equals.
    all.shuffle(random);
    all.sort_by_key(|g| std::cmp::Reverse(g.rows.len()));
    let mut deal = Deal::new(&all, folds, homes);
    let mut tested_in = vec![None; y.len()];
    for (number, group) in all.iter().enumerate() {
        let fold = deal.place(group, all.len() - number);
        group.rows.iter().for_each(|&i| tested_in[i as usize] = fold);
    }
    match deal.sizes.iter().filter(|size| **size > 0).count() {
        full if full < folds => Err(Error::Folds { folds, most: full, what: "groups that can be tested" }),
        _ => Ok(tested_in),
    }
}

/// The groups in order of their first row.
fn gather(y: &[u32], groups: &[u32], classes: usize) -> Vec<Group> {
    let mut position = HashMap::new();
    let mut all: Vec<Group> = Vec::new();
    for (i, (&k, group)) in (0..).zip(y.iter().zip(groups)) {
        let at = *position.entry(*group).or_insert(all.len());
        if at == all.len() {
            all.push(Group { rows: Vec::new(), counts: vec![0.0; classes] });
        }
        all[at].rows.push(i);
        all[at].counts[k as usize] += 1.0;
    }
    all
}

/// The classes that occur.
fn present(counts: &[f64]) -> impl Iterator<Item = usize> + '_ {
    (0..counts.len()).filter(|&k| counts[k] > 0.0)
}

/// Folds that fill up.
struct Deal {
    /// Rows by fold and class.
    counts: Vec<Vec<f64>>,
    /// Groups by fold.
    sizes: Vec<usize>,
    /// Groups by fold and class.
    groups: Vec<Vec<usize>>,
    /// Groups by class, in all.
    homes: Vec<usize>,
    /// Rows by class.
    totals: Vec<f64>,
}

impl Deal {
    fn new(all: &[Group], folds: usize, homes: Vec<usize>) -> Self {
        let classes = homes.len();
        let totals = (0..classes).map(|k| all.iter().map(|g| g.counts[k]).sum()).collect();
        let counts = vec![vec![0.0; classes]; folds];
        Self { counts, sizes: vec![0; folds], groups: vec![vec![0; classes]; folds], homes, totals }
    }

    /// Puts a group where the classes become most even; `None` if every place would leave a class without training rows.
    fn place(&mut self, group: &Group, left: usize) -> Option<usize> {
        let empty = self.sizes.iter().filter(|size| **size == 0).count();
        let allowed = |fold: usize| {
            let full_house = present(&group.counts).any(|k| self.groups[fold][k] + 1 == self.homes[k]);
            !full_house && (left > empty || self.sizes[fold] == 0)
        };
        let places = (0..self.sizes.len()).filter(|&fold| allowed(fold));
        let fold = places.min_by(|&a, &b| self.cost(group, a).total_cmp(&self.cost(group, b)))?;
        self.sizes[fold] += 1;
        for k in present(&group.counts) {
            self.counts[fold][k] += group.counts[k];
            self.groups[fold][k] += 1;
        }
        Some(fold)
    }

    /// By how much the sum of squared shares grows: smallest where the classes of the group are rarest. A second term fills rows evenly.
    fn cost(&self, group: &Group, fold: usize) -> f64 {
        let rows: f64 = self.totals.iter().sum();
        let growth = |had: f64, more: f64, total: f64| {
            if total > 0.0 { (2.0 * had + more) * more / (total * total) } else { 0.0 }
        };
        let had: f64 = self.counts[fold].iter().sum();
        let classes: f64 =
            present(&group.counts).map(|k| growth(self.counts[fold][k], group.counts[k], self.totals[k])).sum();
        classes + growth(had, group.rows.len() as f64, rows)
    }
}
