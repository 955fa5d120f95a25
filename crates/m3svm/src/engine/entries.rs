//! The parts of the curvature that carry most weight: vectors `v = x̃ᵢ ⊗ u`, one row and a vector u over classes each.
//!
//! * Where classes are compared with the true one, u = eₖ − e_y with weight hₖ.
//! * A simplex diag(h) − hhᵀ/Σh over m classes has rank m − 1. With r its heaviest class and the others as u = eₖ − e_r, the matrix
//!   D of their weights has the inverse `diag(1/hₖ) + 11ᵀ/hᵣ`: one entry per class, where pairs would need one for every two.
//! * A line ppᵀ/w is one entry with u = p and weight 1/w.

use super::in_memory::Curved;
use super::tuning::ENGINE;
use crate::linalg::{axpy, dot, t_mul_add};
use crate::loss::Shape;
use crate::penalty::add_pair;

/// Classes from which on the pairs of simplices are added up by blocks of rows: few are sooner done row by row.
const MANY_CLASSES: usize = 64;

/// One row and vector over classes.
#[derive(Clone, Copy)]
pub(crate) struct Entry {
    pub(crate) row: u32,
    vector: ClassVector,
    /// Its diagonal entry in D⁻¹.
    pub(crate) inverse: f64,
    /// Its entries in D⁻¹ with itself and the other pairs of the same row.
    shared: f64,
}

#[derive(Clone, Copy)]
enum ClassVector {
    /// eₖ − eₗ.
    Pair(u32, u32),
    /// The line of this number.
    Line(u32),
}

/// The heaviest entries of a matrix, by rows.
#[derive(Default)]
pub(crate) struct Entries {
    pub(crate) list: Vec<Entry>,
    /// c numbers each.
    lines: Vec<f64>,
    classes: usize,
}

impl Entries {
    /// Takes about `most` entries, none of them lighter than `light` (or than 1e-8 of the heaviest, if that is less), and returns the sum over rows of the curvature that they leave over,
    /// c×c.
    pub(super) fn choose(&mut self, a: &Curved<'_>, most: usize, light: f64) -> Vec<f64> {
        self.divide(a, cut(a, most, light))
    }

    /// Takes the entries above `cut`.
    fn divide(&mut self, a: &Curved<'_>, cut: f64) -> Vec<f64> {
        let (c, len) = (a.risk.problem.classes, a.shape.len(a.risk.problem.classes));
        self.list.clear();
        self.lines.clear();
        self.classes = c;
        let mut rest = vec![0.0; c * c];
        let has_simplex = matches!(a.shape, Shape::Simplex | Shape::SimplexAndLine);
        let none_heavy = a.shape == Shape::Simplex && cut.is_infinite();
        let by_blocks = none_heavy || (has_simplex && c >= MANY_CLASSES);
        if by_blocks {
            rest = light_simplices(a, cut);
        }
        if none_heavy {
            return rest;
        }
        // Simplices of many classes take long, row by row.
        let ask_every = 1 + 4096 / c;
        for (row, (h, y)) in a.h.chunks_exact(len).zip(a.risk.y).enumerate() {
            if row % ask_every == ask_every - 1 && !a.risk.problem.heed.go_on() {
                break;
            }
            let (row, y) = (row as u32, *y as usize);
            match a.shape {
                Shape::Star => self.star(row, h, y, cut, &mut rest),
                Shape::Simplex | Shape::SimplexAndLine => {
                    if !by_blocks {
                        self.light_pairs(&h[..c], cut, &mut rest);
                    }
                    self.simplex(row, &h[..c], cut);
                    if a.shape == Shape::Simplex {
                        continue;
                    }
                    self.line(row, &h[c..2 * c], h[2 * c], cut, &mut rest);
                }
                Shape::Dense => {
                    let total = a.shape.total(h);
                    crate::penalty::pairs(c, |_, k, l| {
                        add_pair(&mut rest, c, k, l, a.shape.pair(h, total, y, k, l).max(0.0));
                    });
                }
            }
        }
        rest
    }

    fn star(&mut self, row: u32, h: &[f64], y: usize, cut: f64, rest: &mut [f64]) {
        for (k, &weight) in h.iter().enumerate().filter(|(k, weight)| *k != y && **weight > 0.0) {
            if weight > cut {
                let vector = ClassVector::Pair(k as u32, y as u32);
                self.list.push(Entry { row, vector, inverse: 1.0 / weight, shared: 0.0 });
            } else {
                add_pair(rest, self.classes, k, y, weight);
            }
        }
    }

    /// The pairs of a simplex that are not both heavy are left over.
    fn light_pairs(&self, h: &[f64], cut: f64, rest: &mut [f64]) {
        let sum: f64 = h.iter().sum();
        if sum <= 0.0 {
            return;
        }
        for k in 0..h.len() {
            for l in k + 1..h.len() {
                if h[k].min(h[l]) <= cut {
                    add_pair(rest, self.classes, k, l, h[k] * h[l] / sum);
                }
            }
        }
    }

    /// The pairs of heavy classes become entries.
    fn simplex(&mut self, row: u32, h: &[f64], cut: f64) {
        let sum: f64 = h.iter().sum();
        if sum <= 0.0 {
            return;
        }
        let heavy = || h.iter().enumerate().filter(|(_, h)| **h > cut);
        let Some((first, &heaviest)) = heavy().reduce(|a, b| if b.1 > a.1 { b } else { a }) else { return };
        // So that the pairs of a simplex of heavy classes alone weigh what they weigh among all.
        let scale = heavy().map(|(_, h)| h).sum::<f64>() / sum;
        for (k, weight) in heavy().filter(|(k, _)| *k != first) {
            let vector = ClassVector::Pair(k as u32, first as u32);
            self.list.push(Entry { row, vector, inverse: 1.0 / (scale * weight), shared: 1.0 / (scale * heaviest) });
        }
    }

    fn line(&mut self, row: u32, p: &[f64], w: f64, cut: f64, rest: &mut [f64]) {
        if w <= 0.0 {
            return;
        }
        if line_weight(p, w) > cut {
            let vector = ClassVector::Line((self.lines.len() / self.classes) as u32);
            self.lines.extend_from_slice(p);
            self.list.push(Entry { row, vector, inverse: w, shared: 0.0 });
            return;
        }
        rest.chunks_exact_mut(self.classes).zip(p).for_each(|(rest, at)| axpy(at / w, p, rest));
    }

    /// uᵀv.
    pub(crate) fn dot(&self, entry: &Entry, v: &[f64]) -> f64 {
        match entry.vector {
            ClassVector::Pair(k, l) => v[k as usize] - v[l as usize],
            ClassVector::Line(number) => dot(self.line_of(number), v),
        }
    }

    /// `v += q·u`.
    pub(crate) fn add(&self, entry: &Entry, q: f64, v: &mut [f64]) {
        match entry.vector {
            ClassVector::Pair(k, l) => {
                v[k as usize] += q;
                v[l as usize] -= q;
            }
            ClassVector::Line(number) => axpy(q, self.line_of(number), v),
        }
    }

    /// M·u for a symmetric matrix over classes.
    pub(crate) fn times(&self, entry: &Entry, m: &[f64]) -> Vec<f64> {
        let (c, mut out) = (self.classes, vec![0.0; self.classes]);
        let mut add = |k: usize, u: f64| axpy(u, &m[k * c..(k + 1) * c], &mut out);
        match entry.vector {
            ClassVector::Pair(k, l) => {
                add(k as usize, 1.0);
                add(l as usize, -1.0);
            }
            ClassVector::Line(number) => self.line_of(number).iter().enumerate().for_each(|(k, u)| add(k, *u)),
        }
        out
    }

    fn line_of(&self, number: u32) -> &[f64] {
        &self.lines[number as usize * self.classes..(number as usize + 1) * self.classes]
    }
}

impl Entry {
    /// The entry of D⁻¹ with another one, or with itself but for `inverse`.
    pub(crate) fn coupling(&self, other: &Self) -> f64 {
        let pairs = matches!((self.vector, other.vector), (ClassVector::Pair(..), ClassVector::Pair(..)));
        if pairs && self.row == other.row { self.shared } else { 0.0 }
    }
}

/// How many entries [`Entries::choose`] would take. A simplex has one less than heavy classes, so that there are often far fewer than `most`.
pub(super) fn count(a: &Curved<'_>, most: usize, light: f64) -> usize {
    let (c, cut) = (a.risk.problem.classes, cut(a, most, light));
    let heavy = |h: &[f64]| h.iter().filter(|h| **h > cut).count();
    let simplex = |h: &[f64]| heavy(h).saturating_sub(1);
    let line = |h: &[f64]| usize::from(line_weight(&h[..c], h[c]) > cut);
    let rows = a.h.chunks_exact(a.shape.len(c));
    match a.shape {
        Shape::Star => heavy(a.h),
        Shape::Simplex => rows.map(simplex).sum(),
        Shape::SimplexAndLine => rows.map(|h| simplex(&h[..c]) + line(&h[c..])).sum(),
        Shape::Dense => 0,
    }
}

/// The sum of the curvature of all rows, c×c.
pub(super) fn sum(a: &Curved<'_>) -> Vec<f64> {
    Entries::default().divide(a, f64::INFINITY)
}

/// The sum over all rows of the pairs of their simplices that are not both heavier than `cut`. With h = a + b, the heavy and the light ones,
/// these are hhᵀ − aaᵀ = hbᵀ + baᵀ: products of blocks of rows, and nothing is taken away from anything.
fn light_simplices(a: &Curved<'_>, cut: f64) -> Vec<f64> {
    let (risk, c, len) = (a.risk, a.risk.problem.classes, a.shape.len(a.risk.problem.classes));
    let parts = risk.partition().map(|rows| {
        // To fill what nobody is going to believe takes seconds, with thousands of classes.
        if risk.problem.heed.is_stopped() {
            return Vec::new();
        }
        let mut part = vec![0.0; c * c];
        let (mut all, mut light, mut heavy) = (Vec::new(), Vec::new(), Vec::new());
        for block in risk.partition().blocks(rows) {
            all.clear();
            light.clear();
            heavy.clear();
            for h in a.h[block.start * len..block.end * len].chunks_exact(len).map(|h| &h[..c]) {
                let sum: f64 = h.iter().sum();
                let scale = if sum > 0.0 { 1.0 / sum } else { 0.0 };
                all.extend_from_slice(h);
                light.extend(h.iter().map(|h| if *h > cut { 0.0 } else { scale * h }));
                heavy.extend(h.iter().map(|h| if *h > cut { *h } else { 0.0 }));
            }
            t_mul_add(&all, c, &light, c, &mut part);
            if heavy.iter().any(|h| *h > 0.0) {
                t_mul_add(&light, c, &heavy, c, &mut part);
            }
        }
        part
    });
    let (mut pairs, mut rest) = (vec![0.0; c * c], vec![0.0; c * c]);
    if risk.problem.heed.is_stopped() {
        return rest;
    }
    parts.iter().for_each(|part| axpy(1.0, part, &mut pairs));
    // From the pairs, and not as what they leave of the diagonal, which is little where rows are sure of their class.
    crate::penalty::pairs(c, |_, k, l| add_pair(&mut rest, c, k, l, pairs[k * c + l]));
    rest
}

/// The weight above which there are about as many entries as wanted; infinite where few of them would not carry most of the weight.
/// Kinks see to it that they do, softmax spreads its weight over all rows.
fn cut(a: &Curved<'_>, most: usize, light: f64) -> f64 {
    let (c, len) = (a.risk.problem.classes, a.shape.len(a.risk.problem.classes));
    let above = |weights: Vec<f64>| {
        let top = weights.iter().copied().fold(0.0, f64::max);
        nth_largest(weights, most).max(light.min(ENGINE.lightest * top))
    };
    match a.shape {
        Shape::Star => above(a.h.to_vec()),
        Shape::Simplex if a.risk.problem.loss.is_hinge() => above(a.h.to_vec()),
        Shape::SimplexAndLine => {
            let mut weights = Vec::with_capacity(a.h.len() / len * (c + 1));
            for h in a.h.chunks_exact(len) {
                weights.extend_from_slice(&h[..c]);
                weights.push(line_weight(&h[c..2 * c], h[2 * c]));
            }
            above(weights)
        }
        Shape::Simplex | Shape::Dense => f64::INFINITY,
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

/// The largest diagonal entry of ppᵀ/w.
fn line_weight(p: &[f64], w: f64) -> f64 {
    if w > 0.0 { p.iter().fold(0.0, |m: f64, p| m.max(p * p)) / w } else { 0.0 }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::features::Features;
    use crate::loss::{Loss, Softmax};
    use crate::penalty::Ridge;
    use crate::{Dataset, Risk};

    /// By blocks of rows or row by row, and with some of the classes of a row heavy, all or none.
    #[test]
    fn pairs_of_simplices_are_the_same_by_blocks_and_by_rows() {
        let (n, c) = (300, 7);
        let labels: Vec<String> = (0..n).map(|i| (i % c).to_string()).collect();
        let data = Dataset::from_labels(Features::dense(vec![1.0; n], n, 1).unwrap(), &labels).unwrap();
        let (loss, ridge) = (Softmax {}, Ridge { lambda: 1.0 });
        let risk = Risk::new(&data, &loss, &ridge, 1e-3, true);
        let h: Vec<f64> = (0..n * c).map(|i| if i < 2 * c { 0.0 } else { (i * 29 % 31) as f64 / 31.0 }).collect();
        let a = Curved { risk: &risk, shape: loss.shape(), h: &h };
        for cut in [-1.0, 0.0, 0.2, 0.7, 2.0, f64::INFINITY] {
            let (entries, mut rows) = (Entries { classes: c, ..Entries::default() }, vec![0.0; c * c]);
            h.chunks_exact(c).for_each(|h| entries.light_pairs(h, cut, &mut rows));
            for (one, other) in light_simplices(&a, cut).iter().zip(&rows) {
                assert!((one - other).abs() < 1e-10, "{cut}: {one} {other}");
            }
        }
    }

    #[test]
    fn what_softmax_leaves_over_is_the_sum_of_all_its_curvature() {
        let (n, c) = (700, 5);
        let labels: Vec<String> = (0..n).map(|i| (i % c).to_string()).collect();
        let data = Dataset::from_labels(Features::dense(vec![1.0; n], n, 1).unwrap(), &labels).unwrap();
        let (loss, ridge) = (Softmax {}, Ridge { lambda: 1.0 });
        let risk = Risk::new(&data, &loss, &ridge, 1e-3, true);
        let z: Vec<f64> = (0..n * c).map(|i| (i * 29 % 31) as f64 / 4.0).collect();
        let mut h = vec![0.0; n * c];
        loss.hessian_rows(&z, data.y(), &mut h);
        let a = Curved { risk: &risk, shape: loss.shape(), h: &h };
        let mut entries = Entries::default();
        let rest = entries.choose(&a, 10, 0.0);
        assert!(entries.list.is_empty());
        assert_eq!(rest, sum(&a));
        for k in 0..c {
            let unit: Vec<f64> = (0..c).map(|l| f64::from(u8::from(k == l))).collect();
            let mut column = vec![0.0; c];
            for (i, z) in z.chunks_exact(c).enumerate() {
                let mut out = vec![0.0; c];
                loss.hess_vec(z, data.y()[i] as usize, &unit, &mut out);
                axpy(1.0, &out, &mut column);
            }
            for l in 0..c {
                assert!((column[l] - rest[l * c + k]).abs() < 1e-10, "{k} {l}: {} {}", column[l], rest[l * c + k]);
            }
        }
    }
}
