//! Two-class hinge problems with a ridge, side by side: one-vs-rest and one-vs-one are made of them.
//!
//! ```text
//! Fₖ(w, b) = Σᵢ ωᵢ g(1 − sᵢₖ(wᵀxᵢ + b)) + (λ + ε)‖w‖² + εb²        for every scorer k
//! ```
//!
//! Each problem walks its own primal-dual path, with its own smoothing and step length ([`BinaryPath`]). But they walk in step: whatever reads X
//! does so once for all of them ([`BinaryProducts`]), where problems solved apart would each read all of it in every pass. The Newton
//! matrices are inverted apart ([`inverse`]), mostly through the few rows that carry weight, and share the products of rows.

mod cg;
pub(crate) mod dual_descent;
mod free_set;
mod inverse;
mod pair_gram;
mod path;
mod products;
mod proof;
mod smo;
#[cfg(test)]
mod tests;
mod tuning;

use std::borrow::Cow;
use std::ops::ControlFlow;

use rayon::prelude::*;

use super::driver::verdict;
use super::path_tuning::PATH;
use super::{Limits, Progress, Solution, Stop};
use crate::certificate::{Slopes, pay};
use crate::engine::LossSums;
use crate::error::Result;
use crate::features::Features;
use crate::interrupt::Heed;
use crate::linalg::dot;
use crate::penalty::DualTerms;
use crate::rounding::{length, of_sum};
use inverse::Common;
pub(crate) use pair_gram::Classes;
use path::BinaryPath;
use products::BinaryProducts;
use tuning::IN_STEP;

/// What all problems have in common.
pub(crate) struct SharedTerms<'a> {
    pub(crate) x: &'a Features<'a>,
    pub(crate) terms: Terms<'a>,
    pub(crate) tol: f64,
    pub(crate) heed: Heed<'a>,
}

/// Loss and penalty of problems on the same rows, and the bounds that belong to them.
pub(crate) struct Terms<'a> {
    /// One weight per row.
    pub(crate) weights: Cow<'a, [f64]>,
    /// Width of the hinge; 0 is the exact one.
    pub(crate) delta: f64,
    pub(crate) lambda: f64,
    pub(crate) epsilon: f64,
    pub(crate) intercept: bool,
    /// How exact the rows are, relative to their lengths: 0 unless they stand for others.
    pub(crate) inexact: f64,
    /// The largest length that a row has beside its features, see `Features::lost`.
    pub(crate) lost: f64,
}

/// Told where all problems stand after every step.
pub(crate) type WatchAll<'a> = dyn FnMut(&[Progress]) -> ControlFlow<()> + Send + 'a;

impl SharedTerms<'_> {
    /// Parameters of one problem.
    fn width(&self) -> usize {
        self.x.cols() + usize::from(self.terms.intercept)
    }
}

impl Terms<'_> {
    /// How many parameters are weights.
    fn features(&self, theta: &[f64]) -> usize {
        theta.len() - usize::from(self.intercept)
    }

    /// ⟨θ, A η⟩ for the penalty ⟨θ, A θ⟩.
    fn penalty_product(&self, theta: &[f64], other: &[f64]) -> f64 {
        let d = self.features(theta);
        (self.lambda + self.epsilon) * dot(&theta[..d], &other[..d]) + self.epsilon * dot(&theta[d..], &other[d..])
    }

    fn penalty(&self, theta: &[f64]) -> f64 {
        self.penalty_product(theta, theta)
    }

    /// Adds the Hessian of the penalty times `v`, which is its gradient at v as well.
    fn add_curvature(&self, v: &[f64], out: &mut [f64]) {
        let d = self.features(v);
        for (j, (out, v)) in out.iter_mut().zip(v).enumerate() {
            *out += 2.0 * (self.epsilon + if j < d { self.lambda } else { 0.0 }) * v;
        }
    }

    /// Σ ω (α + δ√(α(1 − α))), valid for any α in [0, 1], and how steep the rows of given lengths are.
    fn dual_sums(&self, lengths: &[f64], alphas: &[f64]) -> LossSums {
        let value = |a: f64| a + self.delta * (a * (1.0 - a)).max(0.0).sqrt();
        let mut sums = LossSums::default();
        for ((a, weight), length) in alphas.iter().zip(self.weights.iter()).zip(lengths) {
            let a = a.clamp(0.0, 1.0);
            sums.add_dual(*weight, value(a), a, *length);
        }
        sums
    }

    /// The lower bound where the loss has the gradient `loss_grad`, in whose sums no row goes
    /// through more than `depth` additions. What rounding may add to it is taken off, see `certificate.rs`.
    fn bound(&self, sums: &LossSums, loss_grad: &[f64], depth: usize) -> f64 {
        let error = of_sum(depth) + self.inexact;
        let dual = sums.dual - of_sum(self.weights.len()) * sums.size;
        let (w, b) = loss_grad.split_at(self.features(loss_grad));
        let strength = self.lambda + self.epsilon;
        let quadratic = pay(length(w), 0.0, strength) + pay(self.lost * sums.mass, 0.0, strength);
        let terms = DualTerms { quadratic, ridge: self.lambda, ..DualTerms::default() };
        let slopes = Slopes {
            dual,
            error: error * sums.reach,
            intercept: if self.intercept { pay(length(b), error * sums.mass, self.epsilon) } else { 0.0 },
            dearer: 1.0 + of_sum(w.len()),
        };
        slopes.bound(&terms, self.epsilon, f64::INFINITY)
    }

    /// Numbers from 0 to ω in the place of these, whose sum with their signs goes with the intercept.
    fn balanced(&self, signs: &[f64], intercept: f64, numbers: &[f64]) -> Vec<f64> {
        let share = |(a, weight): (&f64, &f64)| if *weight > 0.0 { (a / weight).clamp(0.0, 1.0) } else { 0.0 };
        let mut alphas: Vec<f64> = numbers.iter().zip(self.weights.iter()).map(share).collect();
        self.balance(signs, intercept, &mut alphas);
        alphas.iter().zip(self.weights.iter()).map(|(a, weight)| a * weight).collect()
    }

    /// Moves α so that Σ ωsα = 2εb, as at the optimum. Where α is neither 0 nor 1 the margin is 0 there, so that moving it costs next to
    /// nothing, while a bound pays for the rest of the sum divided by 4ε.
    fn balance(&self, signs: &[f64], intercept: f64, alphas: &mut [f64]) {
        for _ in 0..IN_STEP.balances {
            let (mut excess, mut room) = (-2.0 * self.epsilon * intercept, 0.0);
            for ((a, s), weight) in alphas.iter().zip(signs).zip(self.weights.iter()) {
                excess += weight * s * a;
                room += weight * a * (1.0 - a);
            }
            if excess == 0.0 || room <= 0.0 {
                return;
            }
            let share = excess / room;
            for (a, s) in alphas.iter_mut().zip(signs) {
                *a = (*a - (s * share).clamp(-0.5, 0.5) * *a * (1.0 - *a)).clamp(0.0, 1.0);
            }
        }
    }
}

/// Minimises all problems; `signs` has one vector per problem and `start` one column.
pub(crate) fn minimize(
    shared: &SharedTerms<'_>,
    signs: Vec<Vec<f64>>,
    start: &[f64],
    limits: &Limits,
    watch: &mut WatchAll<'_>,
) -> Result<Vec<Solution>> {
    let columns = signs.len();
    let paths = signs.into_iter().enumerate().map(|(number, signs)| {
        let theta = start.iter().skip(number).step_by(columns).copied().collect();
        BinaryPath::new(shared, signs, theta)
    });
    let mut walk = Walk {
        shared,
        lengths: shared.x.lengths(),
        products: BinaryProducts::new(shared),
        common: Common::new(shared, columns),
        paths: paths.collect(),
        small: shared.x.rows() * columns < IN_STEP.parallel,
    };
    walk.begin();
    let mut interrupted = shared.heed.is_stopped();
    while !interrupted && walk.paths.iter().any(|path| path.stop.is_none()) {
        walk.evaluate();
        if limits.proof {
            walk.confirm();
        }
        if shared.heed.is_stopped() {
            interrupted = true;
            break;
        }
        for path in walk.paths.iter_mut().filter(|path| path.stop.is_none()) {
            path.stop = verdict(path.value, path.iterations, limits, || {
                path.is_proven(shared) || (!limits.proof && path.is_near(PATH.safe * shared.tol))
            })?;
        }
        let progress: Vec<Progress> = walk.paths.iter().map(BinaryPath::progress).collect();
        interrupted = watch(&progress).is_break();
        if !interrupted && walk.paths.iter().any(|path| path.stop.is_none()) {
            walk.step();
            interrupted = shared.heed.is_stopped();
        }
    }
    if interrupted {
        walk.close();
    } else {
        walk.end();
    }
    Ok(walk.paths.into_iter().map(BinaryPath::solution).collect())
}

/// All problems on their way.
struct Walk<'a> {
    shared: &'a SharedTerms<'a>,
    /// ‖xᵢ‖ of every row.
    lengths: Vec<f64>,
    products: BinaryProducts<'a>,
    common: Common<'a>,
    paths: Vec<BinaryPath>,
    /// A second thread would cost more than it saves.
    small: bool,
}

impl Walk<'_> {
    /// Warm starts are looked at first: some may be proven already, others join the path in the middle.
    fn begin(&mut self) {
        let shared = self.shared;
        let mut warm: Vec<&mut BinaryPath> =
            self.paths.iter_mut().filter(|path| path.theta.iter().any(|t| *t != 0.0)).collect();
        prove(shared, &self.products, &self.lengths, &mut warm);
        if self.products.are_cut() {
            return;
        }
        for path in warm {
            if path.is_proven(shared) && path.best.objective().is_finite() {
                path.stop = Some(Stop::Converged);
            } else if path.is_too_short(shared) {
                path.start_cold();
            } else {
                path.join(shared);
            }
        }
    }

    /// What ended without a proof gets one for its best point.
    fn end(&mut self) {
        let mut open: Vec<&mut BinaryPath> =
            self.paths.iter_mut().filter(|path| path.stop != Some(Stop::Converged)).collect();
        open.iter_mut().for_each(|path| path.go_to_best());
        prove(self.shared, &self.products, &self.lengths, &mut open);
    }

    /// After an interruption: what has not ended keeps its best point, with a proof where that does not take long.
    fn close(&mut self) {
        let (shared, lengths) = (self.shared, &self.lengths);
        let mut open: Vec<&mut BinaryPath> =
            self.paths.iter_mut().filter(|path| path.stop != Some(Stop::Converged)).collect();
        open.iter_mut().for_each(|path| path.stop = None);
        let each = shared.x.stored() + IN_STEP.looks * shared.x.rows();
        if open.len() * each > IN_STEP.soon {
            open.iter_mut().for_each(|path| path.keep_bound(0.0));
            open.retain(|path| path.best.objective().is_infinite());
            open.retain_mut(|path| !path.take_origin(shared));
        }
        open.iter_mut().for_each(|path| path.go_to_best());
        prove(shared, &BinaryProducts::deaf(shared), lengths, &mut open);
    }

    /// Value, gradient and bound of all problems that have not ended.
    fn evaluate(&mut self) {
        let (shared, products, lengths) = (self.shared, &self.products, &self.lengths);
        let mut live: Vec<&mut BinaryPath> = self.paths.iter_mut().filter(|path| path.stop.is_none()).collect();
        each(self.small, shared.heed, &mut live, |_, path| path.look(shared, lengths));
        let mut pulled = products.pull(&slopes(&live));
        if products.are_cut() {
            return;
        }
        let give = pulled.iter_mut().map(std::mem::take);
        let depth = products.depth(live.len());
        live.iter_mut().zip(give).for_each(|(path, grad)| path.take_gradient(shared, grad, depth));
        live.retain(|path| path.wants_dual_bound(shared));
        if !live.is_empty() {
            each(self.small, shared.heed, &mut live, |_, path| path.look_at_duals(shared, lengths));
            let (pulled, depth) = (products.pull(&slopes(&live)), products.depth(live.len()));
            if products.are_cut() {
                return;
            }
            live.iter_mut().zip(&pulled).for_each(|(path, grad)| path.take_dual_gradient(shared, grad, depth));
        }
    }

    /// Looks again at what seems to be proven, with scores made afresh.
    fn confirm(&mut self) {
        let live = self.paths.iter_mut().filter(|path| path.stop.is_none());
        let mut proven: Vec<&mut BinaryPath> = live.filter(|path| path.is_proven(self.shared)).collect();
        if proven.is_empty() {
            return;
        }
        let scores = self.products.scores(&proven.iter().map(|path| path.best.theta()).collect::<Vec<_>>());
        let (shared, columns) = (self.shared, proven.len());
        if self.products.are_cut() {
            return;
        }
        each(self.small, shared.heed, &mut proven, |number, path| path.confirm(shared, &scores, number, columns));
    }

    /// One Newton step of all problems that have not ended.
    fn step(&mut self) {
        let shared = self.shared;
        let mut live: Vec<&mut BinaryPath> = self.paths.iter_mut().filter(|path| path.stop.is_none()).collect();
        each(self.small, shared.heed, &mut live, |_, path| path.fill_curvature(shared));
        self.common.forget();
        // Factors are large: not more of them at a time than fit.
        for some in live.chunks_mut(self.common.at_a_time()) {
            cg::directions(shared, &self.products, &mut self.common, self.small, some);
            if shared.heed.is_stopped() {
                return;
            }
        }
        let scores = self.products.scores(&live.iter().map(|path| &path.step[..]).collect::<Vec<_>>());
        let columns = live.len();
        if self.products.are_cut() {
            return;
        }
        each(self.small, shared.heed, &mut live, |number, path| {
            if !path.go(shared, &scores, number, columns) {
                path.stop = Some(Stop::NoProgress);
            }
        });
    }
}

/// Computes the objective and a bound at the current points, with the loss as it is. Leaves what is known if the products are cut.
fn prove(shared: &SharedTerms<'_>, products: &BinaryProducts<'_>, lengths: &[f64], paths: &mut [&mut BinaryPath]) {
    if paths.is_empty() {
        return;
    }
    let columns = paths.len();
    let scores = products.scores(&paths.iter().map(|path| &path.theta[..]).collect::<Vec<_>>());
    for (number, path) in paths.iter_mut().enumerate() {
        path.take_scores(&scores, number, columns);
        path.look_exactly(shared, lengths);
    }
    let (pulled, depth) = (products.pull(&slopes(paths)), products.depth(columns));
    if products.are_cut() {
        return;
    }
    paths.iter_mut().zip(&pulled).for_each(|(path, grad)| path.take_exact_gradient(shared, grad, depth));
}

fn slopes<'s>(paths: &'s [&mut BinaryPath]) -> Vec<&'s [f64]> {
    paths.iter().map(|path| &path.slopes[..]).collect()
}

/// Does something with every problem, on several threads unless the problems are small; not with all once the fit is interrupted.
fn each(small: bool, heed: Heed<'_>, paths: &mut [&mut BinaryPath], f: impl Fn(usize, &mut BinaryPath) + Sync) {
    let f = |number: usize, path: &mut BinaryPath| {
        if heed.go_on() {
            f(number, path);
        }
    };
    if small {
        paths.iter_mut().enumerate().for_each(|(number, path)| f(number, path));
    } else {
        paths.par_iter_mut().enumerate().for_each(|(number, path)| f(number, path));
    }
}
