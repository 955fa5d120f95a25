//! The curvature of all rows written out, pair of classes by pair of classes.
//!
//! With a shift-invariant loss the Newton matrix is a graph Laplacian over the classes, one d×d block `Σᵢ hᵢ(k,l) x̃ᵢx̃ᵢᵀ` per pair. Which way
//! to the blocks is fastest depends on how long rows are and whether their products can be kept.

use std::ops::Range;

use rayon::prelude::*;

use super::class_sums::ClassSums;
use super::entries::nth_largest;
use super::in_memory::Curved;
use super::outer::OuterProducts;
use super::packed::{PackedSums, SharedProducts, fit_into_cache};
use super::tuning::ENGINE;
use super::{AddBlock, ClassPair, WriteOut};
use crate::features::Window;
use crate::lanes::Lanes;
use crate::linalg::{axpy, largest, vectorised};
use crate::loss::Shape;
use crate::memory;
use crate::penalty::pairs;
use crate::risk::Risk;

/// Most blocks of pairs that are made at the same time.
const AT_ONCE: usize = 16;

/// Rows by class and sums over them, kept between steps.
pub(super) struct WrittenOut {
    width: usize,
    /// Rows of each class.
    members: Vec<Vec<u32>>,
    /// Mean x̃x̃ᵀ of each class (lower triangles), where light rows are lumped together; empty where nothing is left out.
    means: Vec<Vec<f64>>,
    /// One per class; empty where pairs are formed one by one.
    sums: Vec<ClassSums>,
    /// Blocks of pairs that are made at the same time.
    at_once: usize,
    /// Whether the sums come from products that are kept; in either precision, made when they are first asked for.
    kept: bool,
    single: Option<PackedSums<f32>>,
    double: Option<PackedSums<f64>>,
}

impl WrittenOut {
    /// With `lump`, only the heaviest entries are written out one by one; the others enter as the mean outer product of their class.
    pub(super) fn new(risk: &Risk<'_>, lump: bool) -> Self {
        let mut members = vec![Vec::new(); risk.problem.classes];
        risk.y.iter().enumerate().for_each(|(i, k)| members[*k as usize].push(i as u32));
        let width = risk.problem.width();
        let means = if lump { means(risk, &members, width) } else { Vec::new() };
        let by_class = means.is_empty() && risk.problem.loss.shape() == Shape::Star && width <= ENGINE.by_class;
        let sums = members.iter().filter(|_| by_class).map(|_| ClassSums::default()).collect();
        let kept = by_class && width > 0 && fit_into_cache(width, risk.x.rows());
        Self { width, members, means, sums, at_once: AT_ONCE, kept, single: None, double: None }
    }

    /// The same for rows that are asked once: products of them are not worth keeping.
    pub(super) fn once(risk: &Risk<'_>, lump: bool) -> Self {
        Self { kept: false, ..Self::new(risk, lump) }
    }

    /// The same with so many blocks at a time, which changes no sum.
    pub(super) fn at_once(self, blocks: usize) -> Self {
        Self { at_once: blocks.clamp(1, AT_ONCE), ..self }
    }

    /// Bytes that a block takes while it is made.
    pub(super) fn bytes_of_block(width: usize) -> u64 {
        memory::numbers(width, width + 2 * OuterProducts::<f64>::PANEL_ROWS)
    }

    pub(super) fn is_lumped(&self) -> bool {
        !self.means.is_empty()
    }

    /// Gives the blocks of all pairs; whether they come from sums in single precision.
    pub(super) fn blocks(&mut self, a: &Curved<'_>, how: WriteOut, add: &mut AddBlock<'_>) -> bool {
        let mut cut = ENGINE.negligible * a.h.iter().copied().fold(0.0, f64::max);
        // Narrow rows are cheap to sum up, all of them.
        let most = how.heaviest.filter(|_| self.sums.is_empty() && (self.is_lumped() || a.shape.pairs_are_positive()));
        let thins = most.is_some() && !self.is_lumped();
        if let Some(most) = most {
            cut = if thins { thinning(a, most) } else { cut.max(nth_largest(a.h.to_vec(), most)) };
        }
        if self.sums.is_empty() {
            self.pairs_one_by_one(a, cut, thins, add);
        } else if self.kept {
            self.by_kept_products(a, how.roughly, add);
            return how.roughly;
        } else {
            self.by_classes(a, cut, add);
        }
        false
    }

    /// The blocks of all pairs, one by one.
    fn pairs_one_by_one(&self, a: &Curved<'_>, cut: f64, thins: bool, add: &mut AddBlock<'_>) {
        let (c, width) = (a.risk.problem.classes, self.width);
        let mut list = Vec::new();
        pairs(c, |number, first, second| list.push(ClassPair { number, first, second }));
        // Pairs of wrong classes can weigh on each other with either sign.
        let passes = if a.shape != Shape::Star && a.shape.pairs_are_positive() { 1 } else { 2 };
        let totals: Vec<f64> = match a.shape {
            Shape::Star => Vec::new(),
            shape => a.h.chunks_exact(shape.len(c)).map(|h| shape.total(h)).collect(),
        };
        // Light rows that are not lumped are only left out.
        let columns = (a.shape == Shape::Simplex && !self.is_lumped()).then(|| SimplexColumns::new(a, &totals));
        let lengths: &[f64] = if thins { a.risk.lengths() } else { &[] };
        let lists = Lists { members: &self.members, totals: &totals, columns: columns.as_ref(), lengths };
        // In batches, to bound the memory of finished blocks.
        for batch in list.chunks(self.at_once).take_while(|_| a.risk.problem.heed.go_on()) {
            let mut blocks: Vec<PairBlock> =
                batch.iter().map(|pair| PairBlock::new(pair.first, pair.second, c, width, thins)).collect();
            for pass in 0..passes {
                let mut feed = |x: &Window<'_>| {
                    let feed = |block: &mut PairBlock| block.add(a, &lists, pass, x, cut);
                    if self.is_small(a) {
                        blocks.iter_mut().for_each(feed);
                    } else {
                        blocks.par_iter_mut().for_each(feed);
                    }
                };
                if self.is_lumped() {
                    // Few rows count one by one.
                    feed(&a.risk.x.whole());
                } else {
                    a.risk.x.for_each_window(feed);
                }
            }
            for (pair, sum) in batch.iter().zip(blocks).filter(|(_, sum)| !thins || sum.taken) {
                let (light, missing) = (sum.light, sum.missing);
                let mut block = sum.sum.into_block();
                for (j, missing) in missing.into_iter().enumerate() {
                    let entry = &mut block[j * width + j];
                    *entry += if missing > *entry { missing } else { 0.0 };
                }
                let lumps = light.iter().zip(&self.means).filter(|(light, _)| **light > 0.0);
                lumps.for_each(|(light, mean)| axpy(*light, mean, &mut block));
                add(*pair, &mut block, width);
            }
        }
    }

    /// The same from the sums of each class, where rows are narrow.
    fn by_classes(&mut self, a: &Curved<'_>, cut: f64, add: &mut AddBlock<'_>) {
        let (c, width, stride) = (a.risk.problem.classes, self.width, ClassSums::stride(self.width));
        let (small, members) = (self.is_small(a), &self.members);
        let each = |sums: &mut [ClassSums], work: &(dyn Fn(usize, &mut ClassSums) + Sync)| {
            if small {
                sums.iter_mut().enumerate().for_each(|(k, sums)| work(k, sums));
            } else {
                sums.par_iter_mut().enumerate().for_each(|(k, sums)| work(k, sums));
            }
        };
        let sums = &mut self.sums;
        each(sums, &|k, sums| sums.begin(c, k, width));
        a.risk.x.for_each_window(|x| each(sums, &|k, sums| sums.feed(a, x, &members[k], cut)));
        each(sums, &|_, sums| sums.end(c));
        pairs(c, |number, k, l| {
            let (before, after) = self.sums.split_at_mut(l);
            let (block, other) = (before[k].of(l), after[0].of(k));
            axpy(1.0, other, block);
            add(ClassPair { number, first: k, second: l }, block, stride);
        });
    }

    /// The same from products that are kept.
    fn by_kept_products(&mut self, a: &Curved<'_>, roughly: bool, add: &mut AddBlock<'_>) {
        let (alone, shared) = (self.is_small(a), a.risk.shared);
        let Self { members, single, double, width, .. } = self;
        if roughly {
            let make = || PackedSums::new(a.risk, members, *width, shared.map(SharedProducts::single));
            from_packed(single.get_or_insert_with(make), a, members, *width, alone, add);
        } else {
            let make = || PackedSums::new(a.risk, members, *width, shared.map(SharedProducts::double));
            from_packed(double.get_or_insert_with(make), a, members, *width, alone, add);
        }
    }

    /// Whether a second thread would cost more than it saves.
    fn is_small(&self, a: &Curved<'_>) -> bool {
        self.width * a.risk.x.rows() < 1 << 14
    }
}

/// The blocks of all pairs, from sums of either precision.
fn from_packed<T: Lanes>(
    sums: &mut PackedSums<T>,
    a: &Curved<'_>,
    members: &[Vec<u32>],
    width: usize,
    alone: bool,
    add: &mut AddBlock<'_>,
) {
    sums.fill(a, members, alone);
    let mut block = vec![0.0; width * width];
    pairs(a.risk.problem.classes, |number, first, second| {
        sums.write_pair(first, second, width, &mut block);
        add(ClassPair { number, first, second }, &mut block, width);
    });
}

/// The mean x̃x̃ᵀ of the rows of each class.
fn means(risk: &Risk<'_>, members: &[Vec<u32>], width: usize) -> Vec<Vec<f64>> {
    let mut sums: Vec<OuterProducts> = members.iter().map(|_| OuterProducts::new(width)).collect();
    risk.x.for_each_window(|x| {
        sums.par_iter_mut().zip(members).for_each(|(sum, rows)| {
            let scale = (1.0 / rows.len() as f64).sqrt();
            x.of(rows).iter().for_each(|&i| sum.push(risk, x, i as usize, scale));
            sum.settle(risk, x);
        });
    });
    sums.into_par_iter().map(OuterProducts::into_block).collect()
}

/// ‖x̃‖² of a row: a long one counts for more, as the only one of its direction may.
fn square(length: f64) -> f64 {
    1.0 + length * length
}

/// What a pair of a row must count for to be taken as it is, if about `most` are to be left and each one that counts for less is left as often as its
/// share of that.
fn thinning(a: &Curved<'_>, most: usize) -> f64 {
    /// Rows that are looked at.
    const ROWS: usize = 4096;
    let (c, len, lengths) = (a.risk.problem.classes, a.shape.len(a.risk.problem.classes), a.risk.lengths());
    let every = a.risk.y.len().div_ceil(ROWS).max(1);
    let mut counts = Vec::new();
    for ((h, y), length) in a.h.chunks_exact(len).zip(a.risk.y).zip(lengths).step_by(every) {
        let (total, y) = (a.shape.total(h), *y as usize);
        pairs(c, |_, k, l| counts.push(a.shape.pair(h, total, y, k, l) * square(*length)));
    }
    counts.retain(|count| *count > 0.0);
    counts.sort_unstable_by(|a, b| b.total_cmp(a));
    let most = most as f64 / every as f64;
    if counts.len() as f64 <= most {
        return 0.0;
    }
    let mut rest: f64 = counts.iter().sum();
    for (heavier, count) in counts.iter().enumerate() {
        let cut = rest / (most - heavier as f64);
        if heavier as f64 >= most || *count <= cut {
            return if cut.is_finite() && cut > 0.0 { cut } else { *count };
        }
        rest -= count;
    }
    0.0
}

/// The part of E of one pair that comes from rows: lower triangle, column-major width×width.
struct PairBlock {
    k: usize,
    l: usize,
    sum: OuterProducts,
    /// The weights of rows that were left out, by their class.
    light: Vec<f64>,
    /// Whether one of several light rows is taken in place of them all, and what those count that were left out since the last one.
    thins: bool,
    owed: f64,
    /// What is too little in the weights of rows, or too much; and what all that makes on the diagonal.
    rest: Vec<(u32, f64)>,
    missing: Vec<f64>,
    /// Whether any row has weight.
    taken: bool,
}

impl PairBlock {
    fn new(k: usize, l: usize, classes: usize, width: usize, thins: bool) -> Self {
        let (sum, light) = (OuterProducts::new(width), vec![0.0; classes]);
        // The first is taken where half of what it stands for has gone by.
        let missing = vec![0.0; if thins { width } else { 0 }];
        Self { k, l, sum, light, thins, owed: 0.5, rest: Vec::new(), missing, taken: false }
    }

    /// Takes a row of this weight if that is above the cut, or if it is its turn to stand for others; the weight that it then has.
    fn weigh(&mut self, row: usize, weight: f64, lists: &Lists<'_>, cut: f64) -> Option<f64> {
        if !self.thins {
            return (weight > cut).then_some(weight);
        }
        if weight <= 0.0 {
            return None;
        }
        self.taken = true;
        let counts = weight * square(lists.lengths[row]);
        if counts > cut {
            return Some(weight);
        }
        self.owed += counts / cut;
        let stands = if self.owed < 1.0 { 0.0 } else { weight * (cut / counts) };
        self.rest.push((row as u32, weight - stands));
        if stands == 0.0 {
            return None;
        }
        self.owed -= 1.0;
        Some(stands)
    }

    /// Reads the rows that were pushed or left out; to be called before their window closes.
    fn settle(&mut self, risk: &Risk<'_>, x: &Window<'_>) {
        const ROWS: usize = 32;
        self.sum.settle(risk, x);
        let width = self.missing.len();
        let mut read = vec![0.0; if self.rest.is_empty() { 0 } else { ROWS * width }];
        for part in self.rest.chunks(ROWS) {
            let rows: Vec<u32> = part.iter().map(|(row, _)| *row).collect();
            let read = &mut read[..rows.len() * width];
            risk.write_rows(x, &rows, width, read);
            for (row, (_, weight)) in read.chunks_exact(width).zip(part) {
                self.missing.iter_mut().zip(row).for_each(|(missing, v)| *missing += weight * v * v);
            }
        }
        self.rest.clear();
    }

    /// Adds the rows of a window. Two passes: over the members of either class, or for weights of either sign.
    fn add(&mut self, a: &Curved<'_>, lists: &Lists<'_>, pass: usize, x: &Window<'_>, cut: f64) {
        let (c, k, l) = (a.risk.problem.classes, self.k, self.l);
        if a.shape == Shape::Star {
            let (own, other) = if pass == 0 { (k, l) } else { (l, k) };
            for &i in x.of(&lists.members[own]) {
                let weight = a.h[i as usize * c + other];
                match self.weigh(i as usize, weight, lists, cut) {
                    Some(weight) => self.sum.push(a.risk, x, i as usize, weight.sqrt()),
                    None => self.light[own] += weight,
                }
            }
            return self.settle(a.risk, x);
        }
        let sign = if pass == 0 { 1.0 } else { -1.0 };
        if sign != self.sum.sign {
            self.sum.finish();
            self.sum.sign = sign;
        }
        if let Some(columns) = lists.columns {
            self.add_heavy(a, columns, lists, x, cut);
            return self.settle(a.risk, x);
        }
        let len = a.shape.len(c);
        for i in x.rows() {
            let y = a.risk.y[i] as usize;
            let weight = sign * a.shape.pair(&a.h[i * len..(i + 1) * len], lists.totals[i], y, k, l);
            match self.weigh(i, weight, lists, cut) {
                Some(weight) => self.sum.push(a.risk, x, i, weight.sqrt()),
                None => self.light[y] += weight,
            }
        }
        self.settle(a.risk, x);
    }

    /// The rows of a simplex that weigh more than the cut, found by looking at many at a time. With kinks they are few.
    fn add_heavy(&mut self, a: &Curved<'_>, columns: &SimplexColumns, lists: &Lists<'_>, x: &Window<'_>, cut: f64) {
        const ROWS: usize = 64;
        let start = x.rows().start;
        let (weights, shares) = columns.pair(self.k, self.l, x.rows());
        let mut room = [0.0; ROWS];
        for (part, (weights, shares)) in weights.chunks(ROWS).zip(shares.chunks(ROWS)).enumerate() {
            let products = &mut room[..weights.len()];
            let mut top = 0.0;
            vectorised(
                #[inline(always)]
                || {
                    for (product, (weight, share)) in products.iter_mut().zip(weights.iter().zip(shares)) {
                        *product = weight * share;
                    }
                    top = largest(products);
                },
            );
            if top > cut || self.thins {
                for (at, weight) in products.iter().enumerate() {
                    let row = start + part * ROWS + at;
                    if let Some(weight) = self.weigh(row, *weight, lists, cut) {
                        self.sum.push(a.risk, x, row, weight.sqrt());
                    }
                }
            }
        }
    }
}

/// What is known of rows before their pairs are added.
struct Lists<'a> {
    /// The rows of every class.
    members: &'a [Vec<u32>],
    /// [`Shape::total`] of every row; for stars none.
    totals: &'a [f64],
    /// For simplices, unless light rows are lumped.
    columns: Option<&'a SimplexColumns>,
    /// ‖x‖ of every row, where rows are thinned out.
    lengths: &'a [f64],
}

/// The weights of simplices by classes, and their shares in the totals of rows.
struct SimplexColumns {
    rows: usize,
    weights: Vec<f64>,
    shares: Vec<f64>,
}

impl SimplexColumns {
    fn new(a: &Curved<'_>, totals: &[f64]) -> Self {
        // So many rows at a time that what is read and written stays in the cache.
        const ROWS: usize = 64;
        let (rows, c) = (totals.len(), a.risk.problem.classes);
        let (mut weights, mut shares) = (vec![0.0; rows * c], vec![0.0; rows * c]);
        for start in (0..rows).step_by(ROWS) {
            let end = (start + ROWS).min(rows);
            for k in 0..c {
                let place = k * rows + start..k * rows + end;
                let numbers = weights[place.clone()].iter_mut().zip(&mut shares[place]);
                for (i, (weight, share)) in (start..end).zip(numbers) {
                    *weight = a.h[i * c + k];
                    *share = *weight / totals[i];
                }
            }
        }
        Self { rows, weights, shares }
    }

    /// The weights of one class and the shares of another in some rows.
    fn pair(&self, k: usize, l: usize, rows: Range<usize>) -> (&[f64], &[f64]) {
        let place = |class: usize| class * self.rows + rows.start..class * self.rows + rows.end;
        (&self.weights[place(k)], &self.shares[place(l)])
    }
}
