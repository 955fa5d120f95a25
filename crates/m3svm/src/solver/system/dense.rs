//! The Newton matrix written out and factored by Cholesky.
//!
//! With a shift-invariant loss the matrix is a graph Laplacian over the classes, one d×d block per pair: block (k, l) is −E with
//! `E = Σᵢ hᵢ(k,l) x̃ᵢx̃ᵢᵀ + Bₖₗ`, and the diagonal blocks are sums of the same E. Only the pairs are formed. The last class is left
//! out (steps are found for it = 0 and centred afterwards), which makes the matrix (c−1)/c as large.

use std::ops::Range;

use rayon::prelude::*;

use super::cholesky::{factor, solve_factored};
use super::outer::{ClassSums, Outer};
use super::products::{PackedSums, fit_into_cache};
use super::{Matrix, Shared, heavy_pairs_stand_out};
use crate::features::Window;
use crate::kernel::{axpy, largest, vectorised};
use crate::lanes::Lanes;
use crate::loss::Shape;
use crate::risk::Risk;

/// Rows with less than this share of the largest weight are left out of an exact matrix. It must be far below what looks negligible:
/// where λ and ε are small, the tails of thousands of far rows are all that holds the flat directions, and cutting
/// at 1e-6 stalls the path.
const NEGLIGIBLE: f64 = 1e-14;

/// Shares of a sum in single precision below this are rounding.
const ROUNDED: f64 = 32.0 * f32::EPSILON as f64;

/// Buffers for forming and factoring, kept between steps.
pub(crate) struct Dense {
    /// Rows of each class.
    members: Vec<Vec<u32>>,
    /// Mean x̃x̃ᵀ of each class (lower triangles), where light rows are lumped together; empty where the matrix is exact.
    means: Vec<Vec<f64>>,
    matrix: Vec<f64>,
    /// One per class; empty where pairs are formed one by one.
    sums: Vec<ClassSums>,
    /// Whether the sums come from products that are kept; in either precision, made when they are first asked for.
    kept: bool,
    single: Option<PackedSums<f32>>,
    double: Option<PackedSums<f64>>,
    /// Single precision has failed.
    doubtful: bool,
    width: usize,
    /// What was added to the diagonal, relative to its largest entry, to make up for rounding.
    lift: f64,
}

impl Dense {
    /// With `lump`, only the heaviest entries are written out one by one; the others enter as the mean outer product of their
    /// class, and the matrix becomes a preconditioner.
    pub(crate) fn new(risk: &Risk<'_>, lump: bool) -> Self {
        let mut members = vec![Vec::new(); risk.classes];
        risk.y.iter().enumerate().for_each(|(i, k)| members[*k as usize].push(i as u32));
        let width = risk.x.cols() + usize::from(risk.intercept);
        let lump = lump && heavy_pairs_stand_out(risk);
        let means = if lump { means(risk, &members, width) } else { Vec::new() };
        let by_class = means.is_empty() && risk.loss.shape() == Shape::Star && width <= ClassSums::WIDEST;
        let sums = members.iter().filter(|_| by_class).map(|_| ClassSums::default()).collect();
        let kept = by_class && width > 0 && fit_into_cache(width, risk.x.rows());
        let matrix = Vec::new();
        Self { members, means, matrix, sums, kept, single: None, double: None, doubtful: false, width, lift: 0.0 }
    }

    /// No more sums in single precision; whether there have been any until now.
    pub(crate) fn distrust(&mut self) -> bool {
        !std::mem::replace(&mut self.doubtful, true) && self.single.is_some()
    }

    /// Whether there has been a system yet.
    pub(crate) fn is_factored(&self) -> bool {
        !self.matrix.is_empty()
    }

    /// Whether [`Dense::apply`] inverts the matrix exactly.
    pub(crate) fn is_exact(&self) -> bool {
        !self.is_lumped() && self.lift == 0.0
    }

    fn is_lumped(&self) -> bool {
        !self.means.is_empty()
    }

    /// Forms and factors the matrix, where a few digits are enough from sums in single precision; `false` if it is not positive
    /// definite within rounding.
    ///
    /// Curvature of 1/δ next to penalties that are small spans more digits than there are. Where the factorisation fails for that, a
    /// lifted diagonal makes the matrix a preconditioner.
    pub(crate) fn prepare(&mut self, a: &Matrix<'_>, roughly: bool) -> bool {
        let size = self.width * (a.risk.classes - 1);
        if roughly && self.kept && !self.doubtful {
            self.lift = 0.0;
            self.form(a, true);
            let diagonal: Vec<f64> = (0..size).map(|j| self.matrix[j * size + j]).collect();
            let done = factor(&mut self.matrix, size);
            // A pivot that is next to nothing of its diagonal entry is made of the rounding of the sums.
            let sound = |(j, entry): (usize, &f64)| self.matrix[j * size + j].powi(2) > ROUNDED * entry;
            if done && diagonal.iter().enumerate().all(sound) {
                return true;
            }
            self.doubtful = true;
        }
        [0.0, 1e-15, 1e-14, 1e-13, 1e-12].into_iter().any(|lift| {
            self.lift = lift;
            self.form(a, false);
            let top = (0..size).map(|j| self.matrix[j * size + j]).fold(0.0, f64::max);
            (0..size).for_each(|j| self.matrix[j * size + j] += lift * top);
            factor(&mut self.matrix, size)
        })
    }

    /// `out = A⁻¹·r` for a centred right-hand side.
    pub(crate) fn apply(&self, risk: &Risk<'_>, r: &[f64], out: &mut [f64]) {
        let (c, width) = (risk.classes, self.width);
        // Class-major: entry (class k, feature j) sits at k·width + j.
        let mut small = vec![0.0; width * (c - 1)];
        for (j, row) in r.chunks_exact(c).enumerate() {
            (0..c - 1).for_each(|k| small[k * width + j] = row[k]);
        }
        solve_factored(&self.matrix, small.len(), &mut small);
        for (j, row) in out.chunks_exact_mut(c).enumerate() {
            (0..c - 1).for_each(|k| row[k] = small[k * width + j]);
            row[c - 1] = 0.0;
        }
        risk.centre(out);
    }

    fn form(&mut self, a: &Matrix<'_>, roughly: bool) {
        let (c, width) = (a.risk.classes, self.width);
        let size = width * (c - 1);
        self.matrix.clear();
        self.matrix.resize(size * size, 0.0);
        let mut cut = NEGLIGIBLE * a.h.iter().copied().fold(0.0, f64::max);
        if self.is_lumped() {
            // As many entries one by one as cost a third of the factorisation; conjugate gradients mend the rest.
            let most = size.pow(3) / (9 * width * width);
            cut = cut.max(nth_largest(a.h.to_vec(), most));
        }
        if self.sums.is_empty() {
            self.add_pairs(a, cut)
        } else if self.kept {
            self.add_kept(a, roughly)
        } else {
            self.add_classes(a, cut)
        }
        // ρ and ε act on centred steps: Tᵀ(ρI)T = ρ(I − 11ᵀ/c).
        let ridge = |j: usize| 2.0 * a.risk.epsilon + if j < a.risk.x.cols() { a.penalty.ridge } else { 0.0 };
        for k in 0..c - 1 {
            for l in k..c - 1 {
                for j in 0..width {
                    let share = f64::from(u8::from(k == l)) - 1.0 / c as f64;
                    self.matrix[(k * width + j) * size + l * width + j] += share * ridge(j);
                }
            }
        }
    }

    /// The blocks of all pairs, one by one.
    fn add_pairs(&mut self, a: &Matrix<'_>, cut: f64) {
        let (c, width) = (a.risk.classes, self.width);
        let mut list = Vec::new();
        crate::penalty::pairs(c, |pair, k, l| list.push((pair, k, l)));
        // Pairs of wrong classes can weigh on each other with either sign.
        let passes = if a.shape != Shape::Star && a.shape.pairs_are_positive() { 1 } else { 2 };
        let totals: Vec<f64> = match a.shape {
            Shape::Star => Vec::new(),
            shape => a.h.chunks_exact(shape.len(c)).map(|h| shape.total(h)).collect(),
        };
        // Light rows that are not lumped are only left out.
        let columns = (a.shape == Shape::Simplex && !self.is_lumped()).then(|| Columns::new(a, &totals));
        let lists = Lists { members: &self.members, totals: &totals, columns: columns.as_ref() };
        // In batches, to bound the memory of finished blocks.
        for batch in list.chunks(16) {
            let mut blocks: Vec<PairBlock> = batch.iter().map(|&(_, k, l)| PairBlock::new(k, l, c, width)).collect();
            for pass in 0..passes {
                let mut add = |x: &Window<'_>| {
                    let add = |block: &mut PairBlock| block.add(a, &lists, pass, x, cut);
                    if self.is_small(a) {
                        blocks.iter_mut().for_each(add);
                    } else {
                        blocks.par_iter_mut().for_each(add);
                    }
                };
                if self.is_lumped() {
                    // Few rows count one by one.
                    add(&a.risk.x.whole());
                } else {
                    a.risk.x.for_each_window(add);
                }
            }
            for (&(pair, k, l), sum) in batch.iter().zip(blocks) {
                let light = sum.light;
                let mut block = sum.sum.into_block();
                let lumps = light.iter().zip(&self.means).filter(|(light, _)| **light > 0.0);
                lumps.for_each(|(light, mean)| axpy(*light, mean, &mut block));
                a.penalty.add_pair(pair, k, l, &mut block, width);
                scatter(&mut self.matrix, &block, width, width, k, l, c);
            }
        }
    }

    /// The same from the sums of each class, where rows are narrow.
    fn add_classes(&mut self, a: &Matrix<'_>, cut: f64) {
        let (c, width, stride) = (a.risk.classes, self.width, ClassSums::stride(self.width));
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
        crate::penalty::pairs(c, |pair, k, l| {
            let (before, after) = self.sums.split_at_mut(l);
            let (block, other) = (before[k].of(l), after[0].of(k));
            axpy(1.0, other, block);
            a.penalty.add_pair(pair, k, l, block, stride);
            scatter(&mut self.matrix, block, stride, width, k, l, c);
        });
    }

    /// The same from products that are kept.
    fn add_kept(&mut self, a: &Matrix<'_>, roughly: bool) {
        let (alone, shared) = (self.is_small(a), a.risk.shared);
        let Self { members, single, double, matrix, width, .. } = self;
        if roughly {
            let make = || PackedSums::new(a.risk, members, *width, shared.map(Shared::single));
            add_packed(single.get_or_insert_with(make), a, members, *width, alone, matrix);
        } else {
            let make = || PackedSums::new(a.risk, members, *width, shared.map(Shared::double));
            add_packed(double.get_or_insert_with(make), a, members, *width, alone, matrix);
        }
    }

    /// Whether a second thread would cost more than it saves.
    fn is_small(&self, a: &Matrix<'_>) -> bool {
        self.width * a.risk.x.rows() < 1 << 14
    }
}

/// Adds the blocks of all pairs, from sums of either precision.
fn add_packed<T: Lanes>(
    sums: &mut PackedSums<T>,
    a: &Matrix<'_>,
    members: &[Vec<u32>],
    width: usize,
    alone: bool,
    matrix: &mut [f64],
) {
    sums.fill(a, members, alone);
    let mut block = vec![0.0; width * width];
    crate::penalty::pairs(a.risk.classes, |pair, k, l| {
        sums.write_pair(k, l, width, &mut block);
        a.penalty.add_pair(pair, k, l, &mut block, width);
        scatter(matrix, &block, width, width, k, l, a.risk.classes);
    });
}

/// The mean x̃x̃ᵀ of the rows of each class.
fn means(risk: &Risk<'_>, members: &[Vec<u32>], width: usize) -> Vec<Vec<f64>> {
    let mut sums: Vec<Outer> = members.iter().map(|_| Outer::new(width)).collect();
    risk.x.for_each_window(|x| {
        sums.par_iter_mut().zip(members).for_each(|(sum, rows)| {
            let scale = (1.0 / rows.len() as f64).sqrt();
            x.of(rows).iter().for_each(|&i| sum.push(risk, x, i as usize, scale));
            sum.settle(risk, x);
        });
    });
    sums.into_par_iter().map(Outer::into_block).collect()
}

/// The part of E of one pair that comes from rows: lower triangle, column-major width×width.
struct PairBlock {
    k: usize,
    l: usize,
    sum: Outer,
    /// The weights of rows that were left out, by their class.
    light: Vec<f64>,
}

impl PairBlock {
    fn new(k: usize, l: usize, classes: usize, width: usize) -> Self {
        Self { k, l, sum: Outer::new(width), light: vec![0.0; classes] }
    }

    /// Adds the rows of a window. Two passes: over the members of either class, or for weights of either sign.
    fn add(&mut self, a: &Matrix<'_>, lists: &Lists<'_>, pass: usize, x: &Window<'_>, cut: f64) {
        let (c, k, l) = (a.risk.classes, self.k, self.l);
        if a.shape == Shape::Star {
            let (own, other) = if pass == 0 { (k, l) } else { (l, k) };
            for &i in x.of(&lists.members[own]) {
                let weight = a.h[i as usize * c + other];
                if weight > cut {
                    self.sum.push(a.risk, x, i as usize, weight.sqrt());
                } else {
                    self.light[own] += weight;
                }
            }
            return self.sum.settle(a.risk, x);
        }
        let sign = if pass == 0 { 1.0 } else { -1.0 };
        if sign != self.sum.sign {
            self.sum.finish();
            self.sum.sign = sign;
        }
        if let Some(columns) = lists.columns {
            self.add_heavy(a, columns, x, cut);
            return self.sum.settle(a.risk, x);
        }
        let len = a.shape.len(c);
        for i in x.rows() {
            let y = a.risk.y[i] as usize;
            let weight = sign * a.shape.pair(&a.h[i * len..(i + 1) * len], lists.totals[i], y, k, l);
            if weight > cut {
                self.sum.push(a.risk, x, i, weight.sqrt());
            } else {
                self.light[y] += weight;
            }
        }
        self.sum.settle(a.risk, x);
    }

    /// The rows of a simplex that weigh more than the cut, found by looking at many at a time. With kinks they are few.
    fn add_heavy(&mut self, a: &Matrix<'_>, columns: &Columns, x: &Window<'_>, cut: f64) {
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
            if top > cut {
                for (at, weight) in products.iter().enumerate().filter(|(_, weight)| **weight > cut) {
                    self.sum.push(a.risk, x, start + part * ROWS + at, weight.sqrt());
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
    columns: Option<&'a Columns>,
}

/// The weights of simplices by classes, and their shares in the totals of rows.
struct Columns {
    rows: usize,
    weights: Vec<f64>,
    shares: Vec<f64>,
}

impl Columns {
    fn new(a: &Matrix<'_>, totals: &[f64]) -> Self {
        // So many rows at a time that what is read and written stays in the cache.
        const ROWS: usize = 64;
        let (rows, c) = (totals.len(), a.risk.classes);
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

/// The value that at most `count` numbers exceed.
pub(super) fn nth_largest(mut values: Vec<f64>, count: usize) -> f64 {
    if count >= values.len() {
        return 0.0;
    }
    let at = values.len() - 1 - count;
    *values.select_nth_unstable_by(at, f64::total_cmp).1
}

/// Adds E (in columns `stride` apart) to the diagonal blocks of k and l and subtracts it from block (l, k), in the lower triangle of
/// the matrix.
fn scatter(matrix: &mut [f64], block: &[f64], stride: usize, width: usize, k: usize, l: usize, classes: usize) {
    let size = width * (classes - 1);
    for m in [k, l] {
        if m + 1 < classes {
            for j in 0..width {
                let at = (m * width + j) * size + m * width;
                let out = &mut matrix[at + j..at + width];
                out.iter_mut().zip(&block[j * stride + j..j * stride + width]).for_each(|(o, e)| *o += e);
            }
        }
    }
    if l + 1 < classes {
        for j in 0..width {
            let at = (k * width + j) * size + l * width;
            let (upper, lower) = matrix[at..at + width].split_at_mut(j);
            lower.iter_mut().zip(&block[j * stride + j..j * stride + width]).for_each(|(o, e)| *o -= e);
            upper.iter_mut().zip(block[j..].iter().step_by(stride)).for_each(|(o, e)| *o -= e);
        }
    }
}
