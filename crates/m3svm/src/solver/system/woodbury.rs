//! A preconditioner for many parameters: the Newton matrix of the entries that carry weight, inverted exactly.
//!
//! An entry is a sample with a vector over classes (mostly its own and a wrong one), see [`Entries`]. Near the optimum a few per cent of them
//! hold nearly all weight. With the rest and the penalty replaced by a c×c matrix M (times the identity
//! over features),
//!
//! ```text
//! (M ⊗ I + V D Vᵀ)⁻¹ = M⁻¹ − M⁻¹ V (D⁻¹ + Vᵀ M⁻¹ V)⁻¹ Vᵀ M⁻¹
//! ```
//!
//! needs a system of the number of entries, not of d·c, and all its inner products come from the Gram matrix of their rows.
//!
//! Where features differ much in size, as counts of words do, the identity over features becomes a diagonal Q that follows
//! them. With `x/√q` in place of x and `√q·w` in place of w nothing else changes.

use rayon::prelude::*;

use super::Matrix;
use super::cholesky::{CholeskyF32, factor, solve_factored};
use super::low_rank::LowRankUpdate;
use super::over_classes::{centred_inverse, of_penalty, trace};
use super::tuning::SYSTEM;
use crate::engine::{Entries, Entry, EntryRows, HeavyGram, HeavyRows, Rows, Sizes};
use crate::linalg::{axpy, dot};
use crate::loss::Shape;
use crate::plan::{PLAN, many_rows};
use crate::problem::Problem;

pub(crate) struct Woodbury {
    /// ‖xᵢ‖²/d averaged over rows: what a dropped row adds per feature.
    spread: f64,
    /// The mean square of each feature; empty where all are alike.
    squares: Vec<f64>,
    /// 1/√q for each feature; empty where Q is the identity.
    narrow: Vec<f64>,
    sizes: Sizes,
    /// Whether inner products of rows have the digits of single precision only.
    gram_is_rough: bool,
    /// How many entries there may be now, and ever.
    most: usize,
    hardest: usize,
    entries: Entries,
    /// The rows that entries belong to, copied out (times 1/√q); entries count in these.
    rows: EntryRows,
    /// Inverses of M for the weights and for the intercept, c×c.
    inverse: Vec<f64>,
    inverse_bias: Vec<f64>,
    factor: Vec<f64>,
    /// The factor in single precision, where that is used in its place.
    rough: Option<CholeskyF32>,
    /// Whether single precision has not been in doubt so far.
    rough_will_do: bool,
    /// Whether all digits were wanted last. Steep kinks are, and they need far more entries than wide ones.
    exactly: bool,
    scores: Vec<f64>,
    scaled: Vec<f64>,
    room: [Vec<f64>; 2],
    classes: usize,
    /// How many parameters are weights.
    weights: usize,
}

impl Woodbury {
    /// With so many entries to begin with, and at most.
    pub(crate) fn new(problem: &Problem<'_>, rows: &dyn Rows, most: usize, hardest: usize) -> Self {
        let (d, sizes, squares) = (problem.features, rows.sizes(), rows.mean_squares());
        let spread = squares.iter().sum::<f64>() / d.max(1) as f64;
        let alike = squares.iter().all(|s| *s == 0.0 || (spread / SYSTEM.alike..spread * SYSTEM.alike).contains(s));
        Self {
            spread,
            squares: if alike { Vec::new() } else { squares },
            narrow: Vec::new(),
            sizes,
            gram_is_rough: false,
            most,
            hardest,
            entries: Entries::default(),
            rows: EntryRows::empty(),
            inverse: Vec::new(),
            inverse_bias: Vec::new(),
            factor: Vec::new(),
            rough: None,
            rough_will_do: true,
            exactly: false,
            scores: Vec::new(),
            scaled: Vec::new(),
            room: Default::default(),
            classes: problem.classes,
            weights: problem.weights_len(),
        }
    }

    /// Chooses entries and factors the small system, with all digits where they are wanted (`exactly`), and otherwise with rows in `single`
    /// precision.
    pub(crate) fn prepare(&mut self, a: &mut Matrix<'_>, single: bool, exactly: bool) {
        let single = single && !exactly && self.rough_will_do;
        self.gram_is_rough = self.gram_is_rough && single;
        let c = a.problem.classes;
        let ridge = 2.0 * a.problem.epsilon;
        self.exactly = exactly;
        let light = self.light(a);
        let rest = a.rows.heaviest(self.most, light, &mut self.entries);
        let mut base = of_penalty(a);
        self.follow_features(trace(&rest, c), trace(&base, c) + c as f64 * (ridge + a.penalty.ridge));
        base.iter_mut().zip(&rest).for_each(|(b, r)| *b += r * self.spread);
        self.inverse = centred_inverse(base, c, ridge + a.penalty.ridge, a.problem.heed);
        self.inverse_bias = centred_inverse(rest, c, ridge, a.problem.heed);
        if a.problem.heed.go_on() {
            self.factor_entries(a, single, exactly);
        }
    }

    /// The weight of a row that bends next to nothing of what the penalty does. Lines (the top-k hinge) gained nothing by it.
    fn light(&self, a: &Matrix<'_>) -> f64 {
        if a.shape() == Shape::SimplexAndLine || !self.exactly {
            return f64::INFINITY;
        }
        let penalty = 2.0 * a.problem.epsilon + a.penalty.least();
        SYSTEM.light * penalty / (self.spread * a.problem.features as f64).max(f64::MIN_POSITIVE)
    }

    /// Allows more entries where iterating has cost more than factoring a system of twice the size will, and fewer where it was the
    /// other way round: exact hinges with small penalties have thousands of entries that matter, and a small share of them helps little.
    /// Whether there may be more now. `easy`: systems will not become harder.
    pub(crate) fn adapt(&mut self, a: &Matrix<'_>, products: usize, product: f64, easy: bool) -> bool {
        let share = if easy { SYSTEM.fewer.1 } else { SYSTEM.fewer.0 };
        let before = self.most;
        // Many products may be due to rounding in the preconditioner.
        self.rough_will_do = self.rough_will_do && products <= SYSTEM.doubtful;
        let single = matches!(self.rows, EntryRows::Single(_));
        let (spent, few) = (spent(products, product), self.prices(single).1);
        // A row of a simplex has one entry less than heavy classes.
        let full = 4 * self.entries.list.len() > self.most;
        if products > few && full {
            let (now, light) = (self.entries.list.len(), self.light(a));
            self.allow_more(a, spent, single, |most| a.rows.count_heaviest(most, light).max(now));
        } else if spent < share * self.factored(self.entries.list.len(), single) {
            self.most = (self.most / 2).max(PLAN.entries.0);
        }
        self.most > before
    }

    /// Allows as many entries for the first system as seem worth it after one that took so many products without them.
    pub(crate) fn begin(&mut self, a: &Matrix<'_>, products: usize, product: f64, single: bool) {
        // While all entries weigh the same, none are counted as heavy.
        self.allow_more(a, spent(products, product), single, |most| most);
    }

    /// `entries`: how many there will be if so many are allowed.
    fn allow_more(&mut self, a: &Matrix<'_>, spent: f64, single: bool, entries: impl Fn(usize) -> usize) {
        if many_rows(a.problem, &self.sizes) {
            return;
        }
        while 2 * self.most <= self.hardest && spent > self.factored(entries(2 * self.most), single) {
            self.most *= 2;
        }
    }

    /// How many flops of a factorisation, of rows in single precision or not, take as long as one of a product, and how many products
    /// are no reason for more entries.
    fn prices(&self, single: bool) -> (f64, usize) {
        let cached = self.sizes.stored * std::mem::size_of::<f64>() <= SYSTEM.cached;
        if self.sizes.is_sparse && self.exactly {
            SYSTEM.sparse_price
        } else if cached {
            SYSTEM.cached_price
        } else if single {
            SYSTEM.single_price
        } else {
            SYSTEM.price
        }
    }

    /// What it costs to factor a system of so many entries.
    fn factored(&self, entries: usize, single: bool) -> f64 {
        let (m, d) = (entries as f64, self.sizes.stored as f64 / self.sizes.rows.max(1) as f64);
        let gram = if self.sizes.keeps_gram { 0.0 } else { m * m * d };
        (m.powi(3) / 3.0 + gram) / self.prices(single).0
    }

    /// Q: what dropped rows and the penalty weigh in each feature, relative to the mean over features.
    fn follow_features(&mut self, rows: f64, penalty: f64) {
        let mean = self.spread * rows + penalty;
        self.narrow.clear();
        self.narrow.extend(self.squares.iter().map(|s| (mean / (s * rows + penalty)).sqrt()));
        if self.narrow.iter().any(|n| !n.is_finite()) {
            self.narrow.clear();
        }
    }

    fn factor_entries(&mut self, a: &mut Matrix<'_>, single: bool, exactly: bool) {
        self.rough = None;
        if self.entries.list.is_empty() {
            self.rows = EntryRows::empty();
            return;
        }
        let used = self.number_rows();
        let HeavyRows { rows, gram, is_rough } = a.rows.take(&used, &self.narrow, single);
        (self.rows, self.gram_is_rough) = (rows, is_rough);
        match gram {
            HeavyGram::F64(gram) => self.factor_with(a, &gram, exactly),
            HeavyGram::F32(gram) => self.factor_with(a, &gram, exactly),
        }
    }

    /// Lets entries count rows in the order of the list; the rows that they were.
    fn number_rows(&mut self) -> Vec<u32> {
        let mut used: Vec<u32> = Vec::new();
        for e in &mut self.entries.list {
            if used.last() != Some(&e.row) {
                used.push(e.row);
            }
            e.row = used.len() as u32 - 1;
        }
        used
    }

    /// Makes and factors the small system, given the inner products of rows (those right of the diagonal suffice).
    fn factor_with<T: Copy + Into<f64> + Sync>(&mut self, a: &Matrix<'_>, gram: &[T], exactly: bool) {
        let (size, n) = (self.entries.list.len(), self.rows.rows());
        let (entries, inverse, bias) = (&self.entries, &self.inverse, &self.inverse_bias);
        let with_bias = a.problem.intercept;
        // Column j from the diagonal on, as far as there is room.
        let column = |j: usize, out: &mut [f64]| {
            let e = &entries.list[j];
            let gram = &gram[e.row as usize * n..(e.row as usize + 1) * n];
            // M⁻¹u once per column.
            let (w, b) = (entries.times(e, inverse), entries.times(e, bias));
            for (out, f) in out.iter_mut().zip(&entries.list[j..]) {
                *out = gram[f.row as usize].into() * entries.dot(f, &w) + e.coupling(f);
                if with_bias {
                    *out += entries.dot(f, &b);
                }
            }
            out[0] += e.inverse;
        };
        if self.rough_will_do && !exactly && size >= SYSTEM.wide {
            self.rough = CholeskyF32::of(size, a.problem.heed, column);
        }
        if self.rough.is_some() {
            return;
        }
        self.factor.clear();
        self.factor.resize(size * size, 0.0);
        self.factor.par_chunks_mut(size).enumerate().for_each(|(j, to)| {
            column(j, &mut to[j..]);
        });
        if !factor(&mut self.factor, size, a.problem.heed) {
            self.entries.list.clear();
        }
    }

    /// No more single precision; whether the last system had some.
    pub(crate) fn distrust(&mut self) -> bool {
        self.rough_will_do = false;
        self.is_rough()
    }

    fn is_rough(&self) -> bool {
        self.rough.is_some() || self.gram_is_rough || matches!(self.rows, EntryRows::Single(_))
    }

    /// `out = M⁻¹·r`, the preconditioner; `false` where single precision has left nothing of it.
    pub(crate) fn apply(&mut self, a: &Matrix<'_>, r: &[f64], out: &mut [f64]) -> bool {
        let (c, m) = (a.problem.classes, a.problem.weights_len());
        if self.narrow.is_empty() {
            return self.apply_narrowed(r, out);
        }
        let mut scaled = std::mem::take(&mut self.scaled);
        scaled.clear();
        scaled.extend_from_slice(r);
        self.narrow_rows(&mut scaled[..m], c);
        let good = self.apply_narrowed(&scaled, out);
        self.narrow_rows(&mut out[..m], c);
        self.scaled = scaled;
        good
    }

    fn narrow_rows(&self, w: &mut [f64], c: usize) {
        w.chunks_exact_mut(c).zip(&self.narrow).for_each(|(w, n)| w.iter_mut().for_each(|w| *w *= n));
    }

    /// The same for weights that are measured in units of 1/√q.
    fn apply_narrowed(&mut self, r: &[f64], out: &mut [f64]) -> bool {
        self.base(r, out);
        if self.entries.list.is_empty() {
            return true;
        }
        let before = dot(r, out);
        let mut room = std::mem::take(&mut self.room);
        self.update(out, &mut room);
        self.room = room;
        !self.is_rough() || dot(r, out) >= SYSTEM.left * before
    }

    /// The scores of the row of an entry.
    fn row(&self, e: &Entry) -> std::ops::Range<usize> {
        e.row as usize * self.classes..(e.row as usize + 1) * self.classes
    }
}

impl LowRankUpdate for Woodbury {
    /// Multiplies every parameter row by the inverse of M.
    fn base(&self, r: &[f64], out: &mut [f64]) {
        let (c, m) = (self.classes, self.weights);
        let block = |inverse: &[f64], r: &[f64], out: &mut [f64]| {
            out.fill(0.0);
            crate::linalg::mul_add(r, c, inverse, c, out);
        };
        let multiply = |inverse: &[f64], r: &[f64], out: &mut [f64]| {
            if r.len() < SYSTEM.parallel {
                return block(inverse, r, out);
            }
            let size = c * (SYSTEM.parallel / 8 / c).max(1);
            out.par_chunks_mut(size).zip(r.par_chunks(size)).for_each(|(out, r)| block(inverse, r, out));
        };
        multiply(&self.inverse, &r[..m], &mut out[..m]);
        if r.len() > m {
            multiply(&self.inverse_bias, &r[m..], &mut out[m..]);
        }
    }

    fn gather(&mut self, w: &[f64]) -> Vec<f64> {
        let (w, bias) = w.split_at(self.weights);
        self.scores.clear();
        self.scores.resize(self.rows.rows() * self.classes, 0.0);
        if !bias.is_empty() {
            self.scores.chunks_exact_mut(self.classes).for_each(|row| row.copy_from_slice(bias));
        }
        self.rows.mul_add(w, self.classes, &mut self.scores);
        self.entries.list.iter().map(|e| self.entries.dot(e, &self.scores[self.row(e)])).collect()
    }

    fn solve_small(&self, rhs: &mut [f64]) {
        match &self.rough {
            Some(rough) => rough.solve(rhs),
            None => solve_factored(&self.factor, rhs.len(), rhs),
        }
    }

    fn spread(&mut self, small: &[f64], out: &mut [f64]) {
        let mut scores = std::mem::take(&mut self.scores);
        scores.fill(0.0);
        for (e, q) in self.entries.list.iter().zip(small) {
            self.entries.add(e, *q, &mut scores[self.row(e)]);
        }
        let (w, bias) = out.split_at_mut(self.weights);
        self.rows.t_mul_add(&scores, self.classes, w);
        if !bias.is_empty() {
            scores.chunks_exact(self.classes).for_each(|row| axpy(1.0, row, bias));
        }
        self.scores = scores;
    }
}

/// What so many products with the matrix cost. The preconditioner doubles their price.
fn spent(products: usize, product: f64) -> f64 {
    2.0 * product * products as f64
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::engine::{InMemory, Rows};
    use crate::features::Features;
    use crate::loss::{Loss, SmoothHinge, TopKHinge};
    use crate::penalty::{Penalty, Ridge};
    use crate::{Dataset, Objective, Risk};

    /// With room for all entries and a penalty that is the same for all features, nothing is approximate.
    #[test]
    fn inverts_the_matrix_of_few_rows_exactly() {
        let (n, d, c) = (7, 9, 5);
        let x: Vec<f64> = (0..n * d).map(|i| (i * 37 % 101) as f64 / 50.0 - 1.0).collect();
        let y: Vec<String> = (0..n).map(|i| (i % c).to_string()).collect();
        let data = Dataset::from_labels(Features::dense(x, n, d).unwrap(), &y).unwrap();
        let (one, two) = (TopKHinge { k: 1, delta: 0.3 }, TopKHinge { k: 2, delta: 0.3 });
        let losses: [(&dyn Loss, Shape); 3] =
            [(&SmoothHinge { delta: 0.3 }, Shape::Star), (&one, Shape::Simplex), (&two, Shape::SimplexAndLine)];
        for (loss, shape) in losses {
            let ridge = Ridge { lambda: 0.2 };
            let risk = Risk::new(&data, loss, &ridge, 1e-3, true);
            let z: Vec<f64> = (0..n * c).map(|i| (i * 29 % 31) as f64 / 40.0).collect();
            let mut rows = InMemory::new(&risk);
            rows.begin();
            loss.hessian_rows(&z, data.y(), rows.curvature());
            let mut active = Woodbury::new(&risk.problem, &rows, PLAN.entries.0, PLAN.most_entries);
            let penalty = ridge.curvature(&vec![0.0; d * c], c, &[]);
            let mut a = Matrix { problem: &risk.problem, rows: &mut rows, penalty: &penalty };
            let mut v: Vec<f64> = (0..risk.dim()).map(|i| (i * 13 % 17) as f64 - 8.0).collect();
            risk.problem.centre(&mut v);
            let (mut product, mut back) = (vec![0.0; v.len()], vec![0.0; v.len()]);
            a.apply(&v, &mut product);
            active.prepare(&mut a, false, true);
            assert!(active.entries.list.len() >= n * (c - 1), "{shape:?}: {}", active.entries.list.len());
            assert!(active.apply(&a, &product, &mut back));
            for most in [3, 9, 20, 1000] {
                a.rows.heaviest(most, 0.1, &mut active.entries);
                assert_eq!(a.rows.count_heaviest(most, 0.1), active.entries.list.len(), "{shape:?} {most}");
            }
            let worst = v.iter().zip(&back).fold(0.0f64, |m, (v, b)| m.max((v - b).abs()));
            assert!(worst < 1e-9, "{shape:?}: {worst:e}");
        }
    }
}
