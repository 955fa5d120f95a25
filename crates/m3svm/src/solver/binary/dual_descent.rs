//! A problem with the exact hinge on sparse rows: its dual, one row at a time.
//!
//! With c = 2(λ + ε) the weights are w = Σᵢ sᵢaᵢxᵢ/c, and the dual problem is
//!
//! ```text
//! max Σᵢ aᵢ − c‖w‖²/2        where 0 ≤ aᵢ ≤ ωᵢ
//! ```
//!
//! Along one aᵢ that is a parabola with its top at aᵢ + c(1 − sᵢwᵀxᵢ)/‖xᵢ‖². Going there, or as far as the bounds allow, reads the entries of
//! one row twice, and rows that stay at their bounds are left out of most passes (Hsieh and others, ICML 2008). On text, where rows have a
//! hundred entries of thirty thousand, hundreds of passes cost less than a few Newton steps. Rows that are much alike would take
//! thousands: all that are between their bounds, the free set, then move together, by one system of equations.
//!
//! An intercept is held during a pass and let go after it ([`Hold`]). What it has not come to yet is moved to rows between their bounds
//! before anything is proven ([`Terms::balance`]).

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use super::Terms;
use super::free_set::{Slack, free_set_step};
use super::proof::prove;
use super::tuning::DESCENT;
use crate::features::{self, Block, Features};
use crate::interrupt::Heed;
use crate::linalg::dot;
use crate::solver::hold::Hold;
use crate::solver::{Solution, Stop};

/// How long descent may go on.
#[derive(Clone, Copy)]
pub(crate) struct Effort {
    passes: usize,
    /// Rows that are read, those of looks and free sets included.
    work: usize,
}

impl Effort {
    /// Where Newton follows.
    pub(crate) fn attempt(rows: usize) -> Self {
        Self { passes: usize::MAX, work: DESCENT.most_passes.saturating_mul(rows) }
    }

    /// Where nothing does, and passes are counted.
    pub(crate) fn asked(passes: usize) -> Self {
        Self { passes, work: usize::MAX }
    }
}

/// Solves one problem. It may end without a proof, and does when the fit is interrupted.
pub(crate) fn solve(
    x: &Features<'_>,
    lengths: &[f64],
    signs: &[f64],
    terms: &Terms<'_>,
    tol: f64,
    effort: Effort,
    heed: Heed<'_>,
) -> Solution {
    let mut room = features::BlockRoom::default();
    let mut descent = DualDescent::new(x.block(0..x.rows(), &mut room), x.cols(), signs, terms, lengths, effort, heed);
    // Always the same: no seed should change what is found, not even in its last digits.
    let mut random = ChaCha8Rng::seed_from_u64(0);
    let found = |descent: &DualDescent<'_>| {
        let intercept = descent.intercept();
        let numbers = if terms.intercept { terms.balanced(signs, intercept, &descent.a) } else { descent.a.clone() };
        let beta: Vec<f64> = numbers.iter().zip(signs).map(|(a, s)| a * s).collect();
        let (certificate, theta) = prove(terms, lengths, &beta, intercept, &[x], signs);
        let proven = certificate.relative_gap().is_some_and(|gap| gap <= tol);
        let stop = match proven {
            true => Stop::Converged,
            false if heed.is_stopped() => Stop::Interrupted,
            false if descent.is_spent() => Stop::IterationLimit,
            false => Stop::NoProgress,
        };
        Solution { theta, certificate, stop, iterations: descent.passes, evaluations: descent.looks }
    };
    let within = descent.climb(DESCENT.goals[0] * tol, &mut random);
    let part = found(&descent);
    if part.stop == Stop::Converged || !within {
        return part;
    }
    descent.climb(DESCENT.goals[1] * tol, &mut random);
    found(&descent)
}

struct DualDescent<'d> {
    x: Block<'d>,
    /// c.
    curvature: f64,
    /// c/‖xᵢ‖², less with an intercept.
    reach: Vec<f64>,
    weights: &'d [f64],
    signs: &'d [f64],
    a: Vec<f64>,
    w: Vec<f64>,
    /// The intercept, where there is one; what pulls at it is −sᵢaᵢ.
    hold: Option<Hold>,
    /// Rows that may still move.
    active: Vec<u32>,
    /// The steepest slope of the last pass that was not held by a bound.
    worst: f64,
    /// What is left of it.
    effort: Effort,
    passes: usize,
    looks: usize,
    heed: Heed<'d>,
}

impl<'d> DualDescent<'d> {
    fn new(
        x: Block<'d>,
        cols: usize,
        signs: &'d [f64],
        terms: &'d Terms<'_>,
        lengths: &[f64],
        effort: Effort,
        heed: Heed<'d>,
    ) -> Self {
        let (curvature, rows) = (2.0 * (terms.lambda + terms.epsilon), signs.len());
        let hold = terms.intercept.then(|| Hold::new(1, terms.epsilon, curvature, lengths));
        let reach = |length: &f64| match &hold {
            None => curvature / (length * length),
            Some(hold) => (length * length / curvature + hold.reach()).recip(),
        };
        Self {
            x,
            curvature,
            // Empty rows go to their bounds at once.
            reach: lengths.iter().map(|length| reach(length).min(f64::MAX)).collect(),
            hold,
            weights: &terms.weights,
            signs,
            a: vec![0.0; rows],
            w: vec![0.0; cols],
            active: (0..rows as u32).collect(),
            worst: f64::INFINITY,
            effort,
            passes: 0,
            looks: 0,
            heed,
        }
    }

    /// Goes on until the gap is within a share of the objective, or that takes too long; whether it is.
    fn climb(&mut self, share: f64, random: &mut ChaCha8Rng) -> bool {
        let (mut before, mut saved) = (f64::INFINITY, 0);
        loop {
            let rows = self.signs.len();
            let mut spent = 0;
            for pass in 0..DESCENT.round.1 {
                let enough = pass >= DESCENT.round.0 && spent >= rows;
                if enough || self.passes >= self.effort.passes || self.heed.is_stopped() {
                    break;
                }
                spent += self.active.len();
                self.pass(random);
            }
            let gap = self.look();
            if gap <= share {
                return true;
            }
            spent += rows;
            saved += spent;
            // Most rows get there without it, so that a step of the free set must not cost more than it can save.
            let paid = if gap > DESCENT.slow * before { self.step_free_set(saved / DESCENT.free_set_share) } else { 0 };
            saved = if paid > 0 { 0 } else { saved };
            self.effort.work = self.effort.work.saturating_sub(spent + paid);
            if self.is_spent() || !self.heed.go_on() {
                return false;
            }
            before = gap;
        }
    }

    fn is_spent(&self) -> bool {
        self.effort.work == 0 || self.passes >= self.effort.passes
    }

    /// Moves the duals of all active rows, in random order, and leaves out those that will hardly move again.
    fn pass(&mut self, random: &mut ChaCha8Rng) {
        let mut rows = std::mem::take(&mut self.active);
        rows.shuffle(random);
        let (mut worst, mut number, mut wanted) = (0.0f64, 0, true);
        rows.retain(|&i| {
            number += 1;
            wanted = wanted && (number % DESCENT.ask_every > 0 || self.heed.go_on());
            if !wanted {
                return true;
            }
            let i = i as usize;
            let slope = self.slope(i);
            if self.is_held(i, slope) {
                return slope.abs() <= self.worst;
            }
            worst = worst.max(slope.abs());
            let new = (self.a[i] + slope * self.reach[i]).clamp(0.0, self.weights[i]);
            self.go(i, new);
            true
        });
        (self.active, self.worst) = (rows, worst);
        self.passes += 1;
        self.let_go();
    }

    fn intercept(&self) -> f64 {
        self.hold.as_ref().map_or(0.0, |hold| hold.intercept()[0])
    }

    fn let_go(&mut self) {
        if let Some(hold) = &mut self.hold {
            hold.let_go();
        }
    }

    /// How steep the dual is along one number.
    fn slope(&self, i: usize) -> f64 {
        let mut z = self.intercept();
        self.x.row(i).for_each(|j, x| z += x * self.w[j]);
        1.0 - self.signs[i] * z
    }

    /// Whether a bound is in the way.
    fn is_held(&self, i: usize, slope: f64) -> bool {
        if slope > 0.0 { self.a[i] >= self.weights[i] } else { self.a[i] <= 0.0 }
    }

    /// Gives a row another number.
    fn go(&mut self, i: usize, new: f64) {
        let change = self.signs[i] * (new - self.a[i]);
        let step = change / self.curvature;
        self.a[i] = new;
        if step != 0.0 {
            if let Some(hold) = &mut self.hold {
                hold.pull(&[-change]);
            }
            self.x.row(i).for_each(|j, x| self.w[j] += x * step);
        }
    }

    /// The gap as a share of the objective. Rows that were left out and can move after all are active again.
    fn look(&mut self) -> f64 {
        self.looks += 1;
        self.active.clear();
        let (mut loss, mut dual) = (0.0, 0.0);
        for i in 0..self.signs.len() {
            let slope = self.slope(i);
            loss += self.weights[i] * slope.max(0.0);
            dual += self.a[i];
            if !self.is_held(i, slope) || slope.abs() <= self.worst {
                self.active.push(i as u32);
            }
        }
        let curved = self.curvature * self.w.iter().map(|w| w * w).sum::<f64>();
        // As if slopes and intercept went with each other: they are made to before anything is proven.
        let beside = self.hold.as_ref().map_or(0.0, |hold| dot(hold.intercept(), hold.pulled()));
        let (value, gap) = (loss + 0.5 * curved, loss - dual + curved - beside);
        if value > 0.0 { gap / value } else { 0.0 }
    }

    /// Rows between their bounds.
    fn free(&self) -> Vec<usize> {
        (0..self.a.len()).filter(|&i| self.a[i] > 0.0 && self.a[i] < self.weights[i]).collect()
    }

    /// Moves all rows between their bounds at once, to the best place with the others fixed, or on the way there as far as the bounds
    /// allow; again without those that have met theirs. Not where that is more work than allowed. Returns the work, in rows.
    fn step_free_set(&mut self, most: usize) -> usize {
        let mut free = self.free();
        let factor_work = |size: usize| size.pow(3) / DESCENT.factor;
        let mut work = free.len().pow(2) / 2;
        if free.is_empty() || free.len() > DESCENT.largest_free_set || work + factor_work(free.len()) > most {
            return 0;
        }
        let products = self.products(&free);
        let (all, mut at): (usize, Vec<usize>) = (free.len(), (0..free.len()).collect());
        for _ in 0..DESCENT.free_set_steps {
            let size = free.len();
            work += factor_work(size);
            let mut matrix = vec![0.0; size * size];
            for (column, &i) in matrix.chunks_exact_mut(size.max(1)).zip(&at) {
                column.iter_mut().zip(&at).for_each(|(out, &j)| *out = products[i * all + j]);
            }
            let slopes = free.iter().map(|&i| self.slope(i)).collect();
            let slacks: Vec<Slack> =
                free.iter().map(|&i| Slack { above: self.weights[i] - self.a[i], below: self.a[i] }).collect();
            let Some(found) = free_set_step(matrix, slopes, &slacks) else { break };
            let mut kept = Vec::new();
            for (n, (&i, step)) in free.iter().zip(&found.steps).enumerate() {
                let top = self.weights[i];
                let near = DESCENT.near * top;
                let new = match self.a[i] + step {
                    new if new <= near => 0.0,
                    new if new >= top - near => top,
                    new => new,
                };
                self.go(i, new);
                if new > 0.0 && new < top {
                    kept.push(n);
                }
            }
            if found.is_whole {
                break;
            }
            at = kept.iter().map(|&n| at[n]).collect();
            free = kept.iter().map(|&n| free[n]).collect();
        }
        self.let_go();
        work
    }

    /// sᵢsⱼxᵢᵀxⱼ/c of some rows, with what comes from the intercept.
    fn products(&self, rows: &[usize]) -> Vec<f64> {
        let size = rows.len();
        let mut out = vec![0.0; size * size];
        let mut dense = vec![0.0; self.w.len()];
        let beside = self.hold.as_ref().map_or(0.0, Hold::reach);
        for (n, &i) in rows.iter().enumerate() {
            let row = self.x.row(i);
            row.for_each(|j, x| dense[j] += self.signs[i] * x / self.curvature);
            for (m, &k) in rows.iter().enumerate().take(n + 1) {
                let mut sum = beside * self.signs[i];
                self.x.row(k).for_each(|j, x| sum += x * dense[j]);
                let product = self.signs[k] * sum;
                (out[n * size + m], out[m * size + n]) = (product, product);
            }
            row.for_each(|j, _| dense[j] = 0.0);
        }
        out
    }
}
