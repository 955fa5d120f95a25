//! The Newton matrix of one problem, `X̃ᵀ diag(h) X̃ + 2(λ + ε)` (2ε for the intercept), inverted exactly or nearly so.
//!
//! * Through rows: near the optimum few rows carry weight. With the others lumped into a multiple of the identity, a system of the number
//!   of those few does, and all its numbers are products of rows, which all problems share.
//! * Through features: the matrix written out, the heavy rows one by one and the light ones as the mean of all.
//!
//! Whatever promises to be cheapest is taken. Where what was left out matters, conjugate gradients mend it.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::SharedTerms;
use super::path::BinaryPath;
use super::tuning::IN_STEP;
use crate::engine::OuterProducts;
use crate::features::Features;
use crate::linalg::axpy;
use crate::solver::system::{LowRankUpdate, SYSTEM, factor, factor_lifted, solve_factored};

/// What problems share, made when first needed.
pub(super) struct Common<'a> {
    pub(super) shared: &'a SharedTerms<'a>,
    /// Mean square of a number in X.
    spread: f64,
    /// Whether XXᵀ is made and kept: where it costs less than the parts of it that are needed on the way.
    keeps_gram: bool,
    gram: Option<Vec<f64>>,
    /// Mean x̃x̃ᵀ, lower triangle.
    mean: Option<Vec<f64>>,
    /// The matrix of rows that all weigh the same, factored, by [`size_class`] of their weight: early on the weights of problems are much
    /// alike. Kept for one step.
    even: BTreeMap<i32, Arc<Vec<f64>>>,
}

/// An inverse, or nearly.
pub(super) struct Inverse {
    way: Way,
    /// What was left out does not matter.
    pub(super) exact: bool,
}

enum Way {
    Rows(ThroughRows),
    Features { factor: Arc<Vec<f64>> },
}

/// A diagonal and some rows.
struct ThroughRows {
    x: Features<'static>,
    factor: Vec<f64>,
    /// One over the diagonal, for weights and for the intercept.
    weights: f64,
    intercept: f64,
}

/// A way to invert a matrix.
pub(super) struct InversePlan {
    /// Rows with weight, the heaviest first.
    order: Vec<u32>,
    /// So many of them are treated one by one.
    rows: usize,
    by_rows: bool,
    exact: bool,
    /// What the others weigh.
    rest: f64,
    /// Estimated multiplications.
    cost: f64,
}

#[cfg(test)]
impl InversePlan {
    /// Every row on its own.
    pub(super) fn all(h: &[f64], by_rows: bool) -> Self {
        let order: Vec<u32> = (0..h.len() as u32).collect();
        Self { rows: order.len(), order, by_rows, exact: true, rest: 0.0, cost: 0.0 }
    }
}

impl<'a> Common<'a> {
    pub(super) fn new(shared: &'a SharedTerms<'a>, problems: usize) -> Self {
        let (n, d) = (shared.x.rows(), shared.x.cols());
        let mut square = 0.0;
        shared.x.for_each_row(|_, row| row.for_each(|_, v| square += v * v));
        // About 16 systems per problem; the rows of one are at most half as many as features.
        let needed = IN_STEP.gram_serves * problems * n.min(d).pow(2);
        Self {
            shared,
            spread: square / (n * d).max(1) as f64,
            keeps_gram: n <= IN_STEP.most_rows && n * n <= needed,
            gram: None,
            mean: None,
            even: BTreeMap::new(),
        }
    }

    /// How many problems may have an inverse at the same time.
    pub(super) fn at_a_time(&self) -> usize {
        let (n, width) = (self.shared.x.rows(), self.shared.width());
        // More rows than twice the features are never the cheaper way.
        let largest = if width > IN_STEP.widest { n.min(IN_STEP.most_rows) } else { width.max(n.min(2 * width)) };
        (IN_STEP.room / largest.pow(2).max(1)).max(IN_STEP.at_a_time)
    }

    /// Begins another step.
    pub(super) fn forget(&mut self) {
        self.even.clear();
    }

    /// The cheapest way to invert the matrix of the current curvature, if it is one of `problems`.
    pub(super) fn plan(&self, path: &BinaryPath, problems: usize) -> InversePlan {
        let h = &path.h;
        let mut order: Vec<u32> = (0..h.len() as u32).filter(|&i| h[i as usize] > 0.0).collect();
        order.sort_unstable_by(|a, b| h[*b as usize].total_cmp(&h[*a as usize]).then(a.cmp(b)));
        let total: f64 = order.iter().map(|&i| h[i as usize]).sum();
        let mut plan = self.cheapest(&order, h, total, problems as f64);
        plan.rest = order[plan.rows..].iter().map(|&i| h[i as usize]).sum();
        plan.order = order;
        plan
    }

    /// Makes what the plans share. Not on the way: threads that wait for each other there could wait for ever.
    pub(super) fn prepare(&mut self, plans: &[InversePlan]) {
        if self.keeps_gram && self.gram.is_none() && plans.iter().any(|plan| plan.by_rows && plan.rows > 0) {
            self.gram = Some(self.shared.x.gram());
        }
        for plan in plans.iter().filter(|plan| !plan.by_rows && !plan.exact) {
            if self.mean.is_none() {
                self.mean = Some(self.mean_product());
            }
            let class = size_class(plan.rest);
            if plan.rows == 0
                && !self.even.contains_key(&class)
                && let Some((factor, _)) = self.written_out(&[], &[], size_of(class), false)
            {
                self.even.insert(class, Arc::new(factor));
            }
        }
    }

    /// Inverts the matrix of the current curvature as planned.
    pub(super) fn invert(&self, path: &BinaryPath, plan: &InversePlan) -> Inverse {
        let heavy = &plan.order[..plan.rows];
        let mut rows = heavy.to_vec();
        rows.sort_unstable();
        if plan.by_rows {
            if let Some(way) = self.through_rows(&rows, &path.h, plan.rest) {
                return Inverse { way, exact: plan.exact };
            }
        } else if let (0, false, Some(factor)) = (plan.rows, plan.exact, self.even.get(&size_class(plan.rest))) {
            return Inverse { way: Way::Features { factor: factor.clone() }, exact: false };
        }
        let exact = plan.exact && !plan.by_rows;
        if self.shared.width() <= IN_STEP.widest
            && let Some((factor, unlifted)) = self.written_out(&rows, &path.h, plan.rest, exact)
        {
            return Inverse { way: Way::Features { factor: Arc::new(factor) }, exact: exact && unlifted };
        }
        // Rounding has won: the penalty alone, and as many conjugate gradients as it takes.
        let (x, penalty) = (self.shared.x.take_rows(&[]), self.shared.terms.lambda + self.shared.terms.epsilon);
        let (weights, intercept) = (0.5 / penalty, 0.5 / self.shared.terms.epsilon);
        let way = Way::Rows(ThroughRows { x, factor: Vec::new(), weights, intercept });
        Inverse { way, exact: false }
    }

    /// The cheapest way. `order` has the rows by falling weight.
    fn cheapest(&self, order: &[u32], h: &[f64], total: f64, problems: f64) -> InversePlan {
        let x = self.shared.x;
        let (w, entries) = (self.shared.width() as f64, x.stored() as f64);
        let ridge = 2.0 * (self.shared.terms.lambda + self.shared.terms.epsilon);
        // What rows of so much weight add to the penalty, at most.
        let share = |weight: f64| weight * self.spread * x.cols() as f64 / ridge;
        let (all, most) = (order.len(), order.len().min(IN_STEP.most_rows));
        let mut plan =
            InversePlan { order: Vec::new(), rows: 0, by_rows: true, exact: false, rest: 0.0, cost: f64::INFINITY };
        let mut offer = |cost: f64, rows: usize, by_rows: bool, spoilt: f64| {
            let exact = spoilt <= IN_STEP.negligible;
            let steps = if exact { 0.0 } else { 1.0 + spoilt.sqrt() };
            let cost = cost + steps * (IN_STEP.step * entries + if by_rows { (rows * rows) as f64 } else { w * w });
            if cost < plan.cost {
                (plan.cost, plan.rows, plan.by_rows, plan.exact) = (cost, rows, by_rows, exact);
            }
        };
        let gram = if self.keeps_gram { IN_STEP.kept } else { entries / x.rows().max(1) as f64 };
        let mut left = total;
        for rows in 0..=all {
            let spoilt = share(left);
            // A dozen numbers of rows between none and all, and the first that is exact.
            let first_exact = spoilt <= IN_STEP.negligible;
            if first_exact || rows == all || is_round(rows) {
                let m = rows as f64;
                if rows <= most {
                    offer(m.powi(3) / 6.0 + gram * m * m, rows, true, spoilt);
                }
                if self.shared.width() <= IN_STEP.widest {
                    // The mean of light rows stands for each of them, as far as their weights are alike.
                    let heaviest = order.get(rows).map_or(0.0, |&i| h[i as usize]);
                    let uneven = heaviest * (all - rows) as f64 / left.max(f64::MIN_POSITIVE);
                    let spoilt = if first_exact || rows == all { 0.0 } else { spoilt.min(uneven) };
                    let factor = w.powi(3) / 6.0 / if rows == 0 { problems } else { 1.0 };
                    offer(m * w * w / 2.0 + factor, rows, false, spoilt);
                }
            }
            if first_exact || rows == all {
                break;
            }
            left = (left - h[order[rows] as usize]).max(0.0);
        }
        plan
    }

    /// (B + X̃ᵀDX̃)⁻¹ = B⁻¹ − B⁻¹X̃ᵀ(D⁻¹ + X̃B⁻¹X̃ᵀ)⁻¹X̃B⁻¹ with a diagonal B.
    fn through_rows(&self, rows: &[u32], h: &[f64], rest: f64) -> Option<Way> {
        let (shared, m, n) = (self.shared, rows.len(), self.shared.x.rows());
        let weights = 1.0 / (2.0 * (shared.terms.lambda + shared.terms.epsilon) + rest * self.spread);
        let intercept = if shared.terms.intercept { 1.0 / (2.0 * shared.terms.epsilon + rest) } else { 0.0 };
        let x = shared.x.take_double(rows);
        let mut matrix = match &self.gram {
            _ if m == 0 => Vec::new(),
            None => x.gram(),
            Some(gram) => {
                let mut matrix = vec![0.0; m * m];
                for (column, &i) in matrix.chunks_exact_mut(m).zip(rows) {
                    let from = &gram[i as usize * n..(i as usize + 1) * n];
                    column.iter_mut().zip(rows).for_each(|(out, &j)| *out = from[j as usize]);
                }
                matrix
            }
        };
        for (at, column) in matrix.chunks_exact_mut(m.max(1)).enumerate() {
            column.iter_mut().for_each(|v| *v = weights * *v + intercept);
            column[at] += 1.0 / h[rows[at] as usize];
        }
        let done = factor(&mut matrix, m, shared.heed);
        done.then_some(Way::Rows(ThroughRows { x, factor: matrix, weights, intercept }))
    }

    /// The matrix of some rows one by one and of the rest as the mean of all, factored; and whether rounding left it as it is: curvature of
    /// 1/μ next to penalties that are small spans more digits than there are.
    fn written_out(&self, rows: &[u32], h: &[f64], rest: f64, exact: bool) -> Option<(Vec<f64>, bool)> {
        let (shared, width, mut matrix) = (self.shared, self.shared.width(), Vec::new());
        let lift = factor_lifted(&mut matrix, width, &SYSTEM.lifts, shared.heed, |matrix| {
            let mut sum = OuterProducts::new(width);
            for (number, &i) in rows.iter().enumerate() {
                if number % IN_STEP.ask_every == 0 && !shared.heed.go_on() {
                    break;
                }
                sum.push_with(|row| {
                    row[width - 1] = 1.0;
                    shared.x.whole().write_rows(&[i], width, row);
                    row.iter_mut().for_each(|x| *x *= h[i as usize].sqrt());
                });
            }
            *matrix = sum.into_block();
            if let (false, Some(mean)) = (exact, &self.mean) {
                axpy(rest, mean, matrix);
            }
            for j in 0..width {
                let ridge = shared.terms.epsilon + if j < shared.x.cols() { shared.terms.lambda } else { 0.0 };
                matrix[j * width + j] += 2.0 * ridge;
            }
        })?;
        Some((matrix, lift == 0.0))
    }

    fn mean_product(&self) -> Vec<f64> {
        let mut sum = OuterProducts::new(self.shared.width());
        let scale = (1.0 / self.shared.x.rows() as f64).sqrt();
        let mut wanted = true;
        self.shared.x.for_each_row(|i, row| {
            wanted = wanted && (i % IN_STEP.ask_every > 0 || self.shared.heed.go_on());
            if !wanted {
                return;
            }
            sum.push_with(|out| {
                out.fill(0.0);
                out[self.shared.x.cols()..].fill(scale);
                row.for_each(|j, x| out[j] += scale * x);
            });
        });
        sum.into_block()
    }
}

/// Weights that differ by less than a fifth or so, as one number.
fn size_class(weight: f64) -> i32 {
    (2.0 * weight.max(f64::MIN_POSITIVE).log2()).round() as i32
}

/// The weight in the middle of a [`size_class`].
fn size_of(class: i32) -> f64 {
    (0.5 * f64::from(class)).exp2()
}

/// 0, 32, 48, 64, 96, 128, 192 and so on.
fn is_round(rows: usize) -> bool {
    let half = rows >> rows.trailing_zeros().min(63);
    rows == 0 || (rows >= IN_STEP.least_rows && (half == 1 || half == 3))
}

impl Inverse {
    /// `out = A⁻¹·r`.
    pub(super) fn apply(&mut self, r: &[f64], out: &mut [f64]) {
        match &mut self.way {
            Way::Features { factor } => {
                out.copy_from_slice(r);
                solve_factored(factor, out.len(), out);
            }
            Way::Rows(rows) => {
                rows.base(r, out);
                if rows.x.rows() > 0 {
                    rows.update(out, &mut Default::default());
                }
            }
        }
    }
}

impl LowRankUpdate for ThroughRows {
    fn base(&self, r: &[f64], out: &mut [f64]) {
        let d = self.x.cols();
        out[..d].iter_mut().zip(&r[..d]).for_each(|(out, r)| *out = r * self.weights);
        out[d..].iter_mut().zip(&r[d..]).for_each(|(out, r)| *out = r * self.intercept);
    }

    fn gather(&mut self, w: &[f64]) -> Vec<f64> {
        let (d, m) = (self.x.cols(), self.x.rows());
        let mut small = vec![w.get(d).copied().unwrap_or(0.0); m];
        self.x.mul_add(0..m, &w[..d], 1, &mut small);
        small
    }

    fn solve_small(&self, rhs: &mut [f64]) {
        solve_factored(&self.factor, rhs.len(), rhs);
    }

    fn spread(&mut self, small: &[f64], out: &mut [f64]) {
        let (w, b) = out.split_at_mut(self.x.cols());
        self.x.t_mul_add(0..small.len(), small, 1, w);
        b.iter_mut().for_each(|b| *b = small.iter().sum());
    }
}
