//! A problem with the exact hinge and no intercept on sparse rows: its dual, one row at a time.
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
//! thousands: all that are between their bounds then leap together, by one system of equations.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use super::Terms;
use super::leap::{Room, leap};
use super::proof::prove;
use crate::features::{self, Block, Features};
use crate::solver::{Solution, Stop};

/// Most work, in passes over all rows. Where this fails, it has cost a fraction of the Newton steps that must follow.
const MOST_PASSES: usize = 400;

/// Passes between two looks at the gap: at least the first, at most the second, and in between until they cost as much as the look.
const ROUND: [usize; 2] = [3, 40];

/// A round that leaves more than this of the gap is slow.
const SLOW: f64 = 0.7;

/// Most rows that leap together, whose products take 50 MB.
const WIDEST_LEAP: usize = 2500;

/// Most bounds that one leap may meet.
const LEAPS: usize = 6;

/// Solves one problem. It may end without a proof, and does when `go_on` says no.
pub(crate) fn solve(
    x: &Features<'_>,
    lengths: &[f64],
    signs: &[f64],
    terms: &Terms<'_>,
    tol: f64,
    go_on: &dyn Fn() -> bool,
) -> Solution {
    let mut room = features::Room::default();
    let mut descent = Descent::new(x.block(0..x.rows(), &mut room), x.cols(), signs, terms, lengths);
    // Always the same: no seed should change what is found, not even in its last digits.
    let mut random = ChaCha8Rng::seed_from_u64(0);
    let found = |descent: &Descent<'_>| {
        let beta: Vec<f64> = descent.a.iter().zip(signs).map(|(a, s)| a * s).collect();
        let (certificate, theta) = prove(terms, lengths, &beta, 0.0, &[x], signs);
        let proven = certificate.relative_gap().is_some_and(|gap| gap <= tol);
        let stop = if proven { Stop::Converged } else { Stop::NoProgress };
        Solution { theta, certificate, stop, iterations: descent.passes, evaluations: descent.looks }
    };
    let within = descent.climb(0.5 * tol, &mut random, go_on);
    let part = found(&descent);
    if part.stop == Stop::Converged || !within {
        return part;
    }
    // Rounding that a bound takes off may leave it a little short of the gap that the passes have seen.
    descent.climb(0.05 * tol, &mut random, go_on);
    found(&descent)
}

struct Descent<'d> {
    x: Block<'d>,
    /// c.
    bend: f64,
    /// c/‖xᵢ‖².
    reach: Vec<f64>,
    weights: &'d [f64],
    signs: &'d [f64],
    a: Vec<f64>,
    w: Vec<f64>,
    /// Rows that may still move.
    active: Vec<u32>,
    /// The steepest slope of the last pass that was not held by a bound.
    worst: f64,
    /// What is left of the work that may be done, in rows.
    left: usize,
    passes: usize,
    looks: usize,
}

impl<'d> Descent<'d> {
    fn new(x: Block<'d>, cols: usize, signs: &'d [f64], terms: &'d Terms<'_>, lengths: &[f64]) -> Self {
        let (bend, rows) = (2.0 * (terms.lambda + terms.epsilon), signs.len());
        Self {
            x,
            bend,
            // Empty rows go to their bounds at once.
            reach: lengths.iter().map(|length| (bend / (length * length)).min(f64::MAX)).collect(),
            weights: &terms.weights,
            signs,
            a: vec![0.0; rows],
            w: vec![0.0; cols],
            active: (0..rows as u32).collect(),
            worst: f64::INFINITY,
            left: MOST_PASSES * rows,
            passes: 0,
            looks: 0,
        }
    }

    /// Goes on until the gap is within a share of the objective, or that takes too long; whether it is.
    fn climb(&mut self, share: f64, random: &mut ChaCha8Rng, go_on: &dyn Fn() -> bool) -> bool {
        let (mut before, mut saved) = (f64::INFINITY, 0);
        loop {
            let rows = self.signs.len();
            let mut spent = 0;
            for pass in 0..ROUND[1] {
                if pass >= ROUND[0] && spent >= rows {
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
            // Most rows get there without it, so that a leap must not cost more than it can save.
            let leap = if gap > SLOW * before { self.leap(saved / 2) } else { 0 };
            saved = if leap > 0 { 0 } else { saved };
            self.left = self.left.saturating_sub(spent + leap);
            if self.left == 0 || !go_on() {
                return false;
            }
            before = gap;
        }
    }

    /// Moves the duals of all active rows, in random order, and leaves out those that will hardly move again.
    fn pass(&mut self, random: &mut ChaCha8Rng) {
        let mut rows = std::mem::take(&mut self.active);
        rows.shuffle(random);
        let mut worst = 0.0f64;
        rows.retain(|&i| {
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
    }

    /// How steep the dual is along one number.
    fn slope(&self, i: usize) -> f64 {
        let mut z = 0.0;
        self.x.row(i).for_each(|j, x| z += x * self.w[j]);
        1.0 - self.signs[i] * z
    }

    /// Whether a bound is in the way.
    fn is_held(&self, i: usize, slope: f64) -> bool {
        if slope > 0.0 { self.a[i] >= self.weights[i] } else { self.a[i] <= 0.0 }
    }

    /// Gives a row another number.
    fn go(&mut self, i: usize, new: f64) {
        let step = self.signs[i] * (new - self.a[i]) / self.bend;
        self.a[i] = new;
        if step != 0.0 {
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
        let bent = self.bend * self.w.iter().map(|w| w * w).sum::<f64>();
        let (value, gap) = (loss + 0.5 * bent, loss - dual + bent);
        if value > 0.0 { gap / value } else { 0.0 }
    }

    /// Rows between their bounds.
    fn free(&self) -> Vec<usize> {
        (0..self.a.len()).filter(|&i| self.a[i] > 0.0 && self.a[i] < self.weights[i]).collect()
    }

    /// Moves all rows between their bounds at once, to the best place with the others fixed, or on the way there as far as the bounds
    /// allow; again without those that have met theirs. Not where that is more work than allowed. Returns the work, in rows.
    fn leap(&mut self, most: usize) -> usize {
        let mut free = self.free();
        // Factors in rows of some machine, with a hundred entries each.
        let factor_work = |size: usize| size.pow(3) / 5000;
        let mut work = free.len().pow(2) / 2;
        if free.is_empty() || free.len() > WIDEST_LEAP || work + factor_work(free.len()) > most {
            return 0;
        }
        let products = self.products(&free);
        let (all, mut at): (usize, Vec<usize>) = (free.len(), (0..free.len()).collect());
        for _ in 0..LEAPS {
            let size = free.len();
            work += factor_work(size);
            let mut matrix = vec![0.0; size * size];
            for (column, &i) in matrix.chunks_exact_mut(size.max(1)).zip(&at) {
                column.iter_mut().zip(&at).for_each(|(out, &j)| *out = products[i * all + j]);
            }
            let slopes = free.iter().map(|&i| self.slope(i)).collect();
            let rooms: Vec<Room> =
                free.iter().map(|&i| Room { above: self.weights[i] - self.a[i], below: self.a[i] }).collect();
            let Some(leap) = leap(matrix, slopes, &rooms) else { break };
            let mut kept = Vec::new();
            for (n, (&i, step)) in free.iter().zip(&leap.steps).enumerate() {
                let top = self.weights[i];
                // A number next to its bound would cut the next leap short.
                let near = 1e-12 * top;
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
            if leap.whole {
                break;
            }
            at = kept.iter().map(|&n| at[n]).collect();
            free = kept.iter().map(|&n| free[n]).collect();
        }
        work
    }

    /// sᵢsⱼxᵢᵀxⱼ/c of some rows.
    fn products(&self, rows: &[usize]) -> Vec<f64> {
        let size = rows.len();
        let mut out = vec![0.0; size * size];
        let mut dense = vec![0.0; self.w.len()];
        for (n, &i) in rows.iter().enumerate() {
            let row = self.x.row(i);
            row.for_each(|j, x| dense[j] += self.signs[i] * x / self.bend);
            for (m, &k) in rows.iter().enumerate().take(n + 1) {
                let mut sum = 0.0;
                self.x.row(k).for_each(|j, x| sum += x * dense[j]);
                let product = self.signs[k] * sum;
                (out[n * size + m], out[m * size + n]) = (product, product);
            }
            row.for_each(|j, _| dense[j] = 0.0);
        }
        out
    }
}
