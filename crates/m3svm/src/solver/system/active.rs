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
use super::cholesky::{Rough, factor, solve_factored};
use super::chosen::Chosen;
use super::entries::{Entries, Entry, count};
use super::over_classes::{centred_inverse, of_penalty, trace};
use super::single::Single;
use crate::kernel::{axpy, dot};
use crate::loss::Shape;
use crate::risk::Risk;

/// Fewest entries that the small system is allowed.
const LEAST: usize = 450;

/// Most entries that hard systems are given: the small one then takes 100 MB, and as much again while it is made.
const HARDEST: usize = 3600;

/// Entries in the small system to begin with. More save products with the matrix but cost more to factor: tried from 300 to 2,600 on ORL
/// and ISOLET, 450 was fastest or nearly so on both. Products with large sparse data are slow next to a factorisation, so more
/// entries pay there.
fn most_entries(risk: &Risk<'_>) -> usize {
    const MOST: usize = 1400;
    if !risk.x.is_sparse() {
        return LEAST;
    }
    // A factorisation that costs about as much as a few products, flop for flop some 30 times slower.
    let flops = 4.0 * risk.x.stored() as f64 * risk.classes as f64;
    ((30.0 * flops).cbrt() as usize).clamp(LEAST, MOST)
}

/// Up to so many rows the Gram matrix of all is made once and kept; beyond, that of the active rows is made for each system.
const KEPT_ROWS: usize = 2000;

/// Size from which on a factor is made in single precision: smaller ones cost little either way.
const WIDE: usize = 256;

/// What the entries must leave of the inverse without them, along the gradient, or it is the rounding of single precision. They take nearly
/// all of it away where the penalty is small.
const LEFT: f64 = f32::EPSILON as f64;

/// Products in one system that put the precision of the preconditioner in doubt.
const DOUBTFUL: usize = 40;

/// Bytes of features that caches hold.
const CACHED: usize = 8 << 20;

/// Features whose mean squares differ by less than this factor count as equal.
const ALIKE: f64 = 10.0;

/// Numbers from which on vectors are worth two threads.
const WORTH: usize = 1 << 17;

pub(crate) struct Active {
    /// ‖xᵢ‖²/d averaged over rows: what a dropped row adds per feature.
    spread: f64,
    /// The mean square of each feature; empty where all are alike.
    squares: Vec<f64>,
    /// 1/√q for each feature; empty where Q is the identity.
    narrow: Vec<f64>,
    /// XXᵀ, made when first needed; right of the diagonal at least.
    gram: Vec<f64>,
    /// Whether it has the digits of single precision only.
    gram_is_rough: bool,
    /// How many entries there may be.
    most: usize,
    entries: Entries,
    /// The rows that entries belong to, copied out (times 1/√q); entries count in these.
    rows: Chosen,
    /// Inverses of M for the weights and for the intercept, c×c.
    inverse: Vec<f64>,
    inverse_bias: Vec<f64>,
    factor: Vec<f64>,
    /// The factor in single precision, where that is used in its place.
    rough: Option<Rough>,
    /// Whether single precision has not been in doubt so far.
    rough_will_do: bool,
    /// Whether all digits were wanted last. Steep kinks are, and they need far more entries than wide ones.
    exactly: bool,
    scores: Vec<f64>,
    scaled: Vec<f64>,
    pulled: Vec<f64>,
    back: Vec<f64>,
}

impl Active {
    pub(crate) fn new(risk: &Risk<'_>) -> Self {
        let (n, d) = (risk.x.rows(), risk.x.cols());
        let mut squares = vec![0.0; d];
        risk.x.for_each_row(|_, row| row.for_each(|j, v| squares[j] += v * v / n as f64));
        let spread = squares.iter().sum::<f64>() / d.max(1) as f64;
        let alike = squares.iter().all(|s| *s == 0.0 || (spread / ALIKE..spread * ALIKE).contains(s));
        Self {
            spread,
            squares: if alike { Vec::new() } else { squares },
            narrow: Vec::new(),
            gram: Vec::new(),
            gram_is_rough: false,
            most: most_entries(risk),
            entries: Entries::default(),
            rows: Chosen::empty(),
            inverse: Vec::new(),
            inverse_bias: Vec::new(),
            factor: Vec::new(),
            rough: None,
            rough_will_do: true,
            exactly: false,
            scores: Vec::new(),
            scaled: Vec::new(),
            pulled: Vec::new(),
            back: Vec::new(),
        }
    }

    /// Chooses entries and factors the small system, in double precision where all digits are wanted (`exactly`).
    pub(crate) fn prepare(&mut self, a: &Matrix<'_>, single: Option<&Single>, exactly: bool) {
        let single = single.filter(|_| !exactly && self.rough_will_do);
        if single.is_none() && self.gram_is_rough {
            self.gram.clear();
            self.gram_is_rough = false;
        }
        let c = a.risk.classes;
        let ridge = 2.0 * a.risk.epsilon;
        self.exactly = exactly;
        let rest = self.entries.choose(a, self.most, self.light(a));
        let mut base = of_penalty(a);
        self.follow_features(trace(&rest, c), trace(&base, c) + c as f64 * (ridge + a.penalty.ridge));
        base.iter_mut().zip(&rest).for_each(|(b, r)| *b += r * self.spread);
        self.inverse = centred_inverse(base, c, ridge + a.penalty.ridge);
        self.inverse_bias = centred_inverse(rest, c, ridge);
        self.factor_entries(a, single, exactly);
    }

    /// The weight of a row that bends less than a hundredth of what the penalty does. Lines (the top-k hinge) gained nothing by it.
    fn light(&self, a: &Matrix<'_>) -> f64 {
        if a.shape == Shape::SimplexAndLine || !self.exactly {
            return f64::INFINITY;
        }
        let penalty = 2.0 * a.risk.epsilon + a.penalty.least();
        0.01 * penalty / (self.spread * a.risk.x.cols() as f64).max(f64::MIN_POSITIVE)
    }

    /// Allows more entries where iterating has cost more than factoring a system of twice the size will, and fewer where it was the
    /// other way round: exact hinges with small penalties have thousands of entries that matter, and a small share of them helps little.
    /// Whether there may be more now. `easy`: systems will not become harder.
    pub(crate) fn adapt(&mut self, a: &Matrix<'_>, products: usize, product: f64, easy: bool) -> bool {
        // Where harder systems come, entries that were let go are missed.
        let share = if easy { 0.2 } else { 0.025 };
        let before = self.most;
        // Many products may be due to rounding in the preconditioner.
        self.rough_will_do = self.rough_will_do && products <= DOUBTFUL;
        let single = matches!(self.rows, Chosen::Single(_));
        let (spent, few) = (spent(products, product), self.prices(a, single).1);
        // A row of a simplex has one entry less than heavy classes.
        let full = 4 * self.entries.list.len() > self.most;
        if products > few && full {
            let (now, light) = (self.entries.list.len(), self.light(a));
            self.allow_more(a, spent, single, |most| count(a, most, light).max(now));
        } else if spent < share * self.factored(a, self.entries.list.len(), single) {
            self.most = (self.most / 2).max(LEAST);
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
        if super::many_rows(a.risk) {
            return;
        }
        while 2 * self.most <= HARDEST && spent > self.factored(a, entries(2 * self.most), single) {
            self.most *= 2;
        }
    }

    /// How many flops of a factorisation, of rows in single precision or not, take as long as one of a product, and how many products
    /// are no reason for more entries.
    fn prices(&self, a: &Matrix<'_>, single: bool) -> (f64, usize) {
        // Flops of a factorisation run some three times as fast as those of products that wait for memory. Products with data that stay in
        // the caches or have single precision are as fast, and entries must save more of them than they cost. Products with sparse
        // data are slow everywhere.
        let cached = a.risk.x.stored() * std::mem::size_of::<f64>() <= CACHED;
        if a.risk.x.is_sparse() && self.exactly {
            (10.0, 5)
        } else if cached {
            (0.5, 12)
        } else if single {
            (1.0, 12)
        } else {
            (3.0, 5)
        }
    }

    /// What it costs to factor a system of so many entries.
    fn factored(&self, a: &Matrix<'_>, entries: usize, single: bool) -> f64 {
        let (m, d) = (entries as f64, a.risk.x.stored() as f64 / a.risk.x.rows().max(1) as f64);
        let gram = if a.risk.x.rows() > KEPT_ROWS { m * m * d } else { 0.0 };
        (m.powi(3) / 3.0 + gram) / self.prices(a, single).0
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

    fn factor_entries(&mut self, a: &Matrix<'_>, single: Option<&Single>, exactly: bool) {
        self.rough = None;
        if self.entries.list.is_empty() {
            self.rows = Chosen::empty();
            return;
        }
        let used = self.number_rows();
        let n = a.risk.x.rows();
        let single = single.filter(|_| self.narrow.is_empty());
        self.rows = match single {
            Some(single) => Chosen::Single(single.rows().take(&used)),
            None if self.narrow.is_empty() => Chosen::Double(a.risk.x.take_rows(&used)),
            None => Chosen::Double(a.risk.x.take_rows(&used).map_columns(|j, v| v * self.narrow[j])),
        };
        if n <= KEPT_ROWS && self.narrow.is_empty() {
            if self.gram.is_empty() {
                let rough = |single: &Single| single.rows().upper_gram().into_iter().map(f64::from).collect();
                self.gram = single.map_or_else(|| a.risk.x.gram(), rough);
                self.gram_is_rough = single.is_some();
            }
            let rows = used.iter().map(|&i| &self.gram[i as usize * n..(i as usize + 1) * n]);
            let gram: Vec<f64> = rows.flat_map(|row| used.iter().map(|&j| row[j as usize])).collect();
            return self.factor_with(a, &gram, exactly);
        }
        match &self.rows {
            Chosen::Double(rows) => self.factor_with(a, &rows.gram(), exactly),
            Chosen::Single(rows) => self.factor_with(a, &rows.upper_gram(), exactly),
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
        let with_bias = a.risk.intercept;
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
        if self.rough_will_do && !exactly && size >= WIDE {
            self.rough = Rough::of(size, column);
        }
        if self.rough.is_some() {
            return;
        }
        self.factor.clear();
        self.factor.resize(size * size, 0.0);
        self.factor.par_chunks_mut(size).enumerate().for_each(|(j, to)| {
            column(j, &mut to[j..]);
        });
        if !factor(&mut self.factor, size) {
            self.entries.list.clear();
        }
    }

    /// No more single precision; whether the last system had some.
    pub(crate) fn distrust(&mut self) -> bool {
        self.rough_will_do = false;
        self.is_rough()
    }

    fn is_rough(&self) -> bool {
        self.rough.is_some() || self.gram_is_rough || matches!(self.rows, Chosen::Single(_))
    }

    /// `out = M⁻¹·r`, the preconditioner; `false` where single precision has left nothing of it.
    pub(crate) fn apply(&mut self, a: &Matrix<'_>, r: &[f64], out: &mut [f64]) -> bool {
        let (c, m) = (a.risk.classes, a.risk.weights_len());
        if self.narrow.is_empty() {
            return self.apply_narrowed(a, r, out);
        }
        let mut scaled = std::mem::take(&mut self.scaled);
        scaled.clear();
        scaled.extend_from_slice(r);
        self.narrow_rows(&mut scaled[..m], c);
        let good = self.apply_narrowed(a, &scaled, out);
        self.narrow_rows(&mut out[..m], c);
        self.scaled = scaled;
        good
    }

    fn narrow_rows(&self, w: &mut [f64], c: usize) {
        w.chunks_exact_mut(c).zip(&self.narrow).for_each(|(w, n)| w.iter_mut().for_each(|w| *w *= n));
    }

    /// The same for weights that are measured in units of 1/√q.
    fn apply_narrowed(&mut self, a: &Matrix<'_>, r: &[f64], out: &mut [f64]) -> bool {
        let (c, m) = (a.risk.classes, a.risk.weights_len());
        self.base(r, c, m, out);
        if self.entries.list.is_empty() {
            return true;
        }
        let before = dot(r, out);
        let rows = self.rows.rows();
        self.scores.clear();
        self.scores.resize(rows * c, 0.0);
        let (w, bias) = out.split_at(m);
        if !bias.is_empty() {
            self.scores.chunks_exact_mut(c).for_each(|row| row.copy_from_slice(bias));
        }
        self.rows.mul_add(w, c, &mut self.scores);
        let row = |e: &Entry| e.row as usize * c..(e.row as usize + 1) * c;
        let (entries, z) = (&self.entries, &self.scores);
        let mut small: Vec<f64> = entries.list.iter().map(|e| entries.dot(e, &z[row(e)])).collect();
        match &self.rough {
            Some(rough) => rough.solve(&mut small),
            None => solve_factored(&self.factor, small.len(), &mut small),
        }
        self.scores.fill(0.0);
        entries.list.iter().zip(&small).for_each(|(e, q)| entries.add(e, *q, &mut self.scores[row(e)]));
        self.pulled.clear();
        self.pulled.resize(r.len(), 0.0);
        let (w, bias) = self.pulled.split_at_mut(m);
        self.rows.t_mul_add(&self.scores, c, w);
        if !bias.is_empty() {
            self.scores.chunks_exact(c).for_each(|row| axpy(1.0, row, bias));
        }
        let mut back = std::mem::take(&mut self.back);
        back.resize(r.len(), 0.0);
        self.base(&self.pulled, c, m, &mut back);
        axpy(-1.0, &back, out);
        self.back = back;
        !self.is_rough() || dot(r, out) >= LEFT * before
    }

    /// Multiplies every parameter row by the inverse of M.
    fn base(&self, r: &[f64], c: usize, m: usize, out: &mut [f64]) {
        let block = |inverse: &[f64], r: &[f64], out: &mut [f64]| {
            out.fill(0.0);
            crate::kernel::mul_add(r, c, inverse, c, out);
        };
        let multiply = |inverse: &[f64], r: &[f64], out: &mut [f64]| {
            if r.len() < WORTH {
                return block(inverse, r, out);
            }
            let size = c * (WORTH / 8 / c).max(1);
            out.par_chunks_mut(size).zip(r.par_chunks(size)).for_each(|(out, r)| block(inverse, r, out));
        };
        multiply(&self.inverse, &r[..m], &mut out[..m]);
        if r.len() > m {
            multiply(&self.inverse_bias, &r[m..], &mut out[m..]);
        }
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
    use crate::features::Features;
    use crate::loss::{Loss, SmoothHinge, TopKHinge};
    use crate::penalty::{Penalty, Ridge};
    use crate::{Dataset, Objective};

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
            let mut h = vec![0.0; n * shape.len(c)];
            loss.hessian_rows(&z, data.y(), &mut h);
            let penalty = ridge.curvature(&vec![0.0; d * c], c, &[]);
            let a = Matrix { risk: &risk, shape, h: &h, penalty: &penalty };
            let mut v: Vec<f64> = (0..risk.dim()).map(|i| (i * 13 % 17) as f64 - 8.0).collect();
            risk.centre(&mut v);
            let (mut product, mut back) = (vec![0.0; v.len()], vec![0.0; v.len()]);
            a.apply(&v, &mut product);
            let mut active = Active::new(&risk);
            active.prepare(&a, None, true);
            assert!(active.entries.list.len() >= n * (c - 1), "{shape:?}: {}", active.entries.list.len());
            assert!(active.apply(&a, &product, &mut back));
            for most in [3, 9, 20, 1000] {
                active.entries.choose(&a, most, 0.1);
                assert_eq!(count(&a, most, 0.1), active.entries.list.len(), "{shape:?} {most}");
            }
            let worst = v.iter().zip(&back).fold(0.0f64, |m, (v, b)| m.max((v - b).abs()));
            assert!(worst < 1e-9, "{shape:?}: {worst:e}");
        }
    }
}
