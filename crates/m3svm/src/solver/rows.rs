//! A joint problem with an exact hinge, squared lengths as penalty and no intercept, on sparse rows: its dual, one row at a time.
//!
//! With s = 2(λ + ε) the weights are W = −Σᵢ ωᵢxᵢαᵢᵀ/s, where αᵢ are slopes that the loss of row i can have, and the dual problem is
//!
//! ```text
//! max Σᵢ ωᵢ Σ_{j≠y} αᵢⱼ − s‖W‖²/2
//! ```
//!
//! Along one αᵢ that is a paraboloid, as wide in all directions, with its top at αᵢ + (Wᵀxᵢ + 1 − e_y)/hᵢ where hᵢ = ωᵢ‖xᵢ‖²/s. So the best αᵢ
//! is the nearest to that top among all slopes (Keerthi and others, KDD 2008). On text a pass over all rows costs as much as one product
//! with X, of which Newton's systems take hundreds each.
//!
//! Near the end the dual value hardly changes, while the weights still sway with the order of the rows, and it is they that keep the gap
//! open. What they sway around is much better: the mean of the slopes over the last passes is a dual point like any other.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use super::{Limits, Progress, Solution, Stop, Watch, certified};
use crate::certificate::Certificate;
use crate::features::Room;
use crate::kernel::{axpy, dot};
use crate::objective::Objective;
use crate::risk::Risk;

/// Most passes. Where more than `MANY` are to be expected, it gives up within the first `FEW`; what has gone on for longer goes on.
const MOST_PASSES: usize = 6000;
const MANY: usize = 2000;
const FEW: usize = 100;

/// Passes before the first look.
const FIRST_LOOK: usize = 16;

/// The largest share of entries that are stored. With more of them a pass is no longer cheap, and rows are alike.
const SPARSE: f64 = 0.1;

/// A row that does not move, or has less than this share of the mean gap, is left alone for a while, which doubles each time up to so many
/// passes.
const LITTLE: f64 = 0.3;
const LONGEST_REST: u32 = 4;

/// How much longer the part of the passes is that a mean may be taken over, each time a new one begins.
const LONGER: f64 = 1.4;

/// The gap is expected to fall with this power of the passes. On news20 it falls with 2.6.
const POWER: f64 = 3.0;

/// Length of the shortest row, squared and next to s. Empty ones have any slopes they like.
const SHORTEST: f64 = 1e-9;

/// Whether the problem is of this kind.
pub(crate) fn suits(risk: &Risk<'_>) -> bool {
    let strength = risk.penalty.ridge(risk.classes).map(|lambda| lambda + risk.epsilon);
    let is_sparse =
        risk.x.is_sparse() && risk.x.stored() as f64 <= SPARSE * risk.x.rows() as f64 * risk.x.cols() as f64;
    let is_plain = !risk.intercept && is_sparse && strength.is_some_and(|s| s > 0.0);
    is_plain && risk.loss.nearest_slopes(0, &mut vec![0.0; risk.classes])
}

/// Minimises a risk that [`suits`]. `None` where that takes too long, which mostly shows soon.
pub(crate) fn minimize(
    risk: &Risk<'_>,
    mut start: Vec<f64>,
    limits: &Limits,
    watch: &mut Watch<'_>,
) -> Option<Solution> {
    if limits.proof
        && let Some(certificate) = certified(risk, &mut start)
        && certificate.relative_gap().is_some_and(|gap| gap <= limits.tol)
    {
        return Some(Solution::at_start(start, certificate));
    }
    // Always the same: no seed should change what is found, not even in its last digits.
    let mut random = ChaCha8Rng::seed_from_u64(0);
    let mut ascent = Ascent::new(risk);
    let mut mean = Mean::new(&ascent.slopes);
    let (mut soonest, mut next_look) = (2, FIRST_LOOK);
    loop {
        ascent.pass(&mut random);
        mean.add(&ascent.slopes, ascent.passes);
        let passes = ascent.passes;
        let gap = ascent.gap_seen();
        let near = gap <= 0.7 * limits.tol;
        let due = passes >= next_look || (near && passes >= soonest);
        let mut proven = false;
        if due {
            // The mean is a few times better than the last point, at best.
            if gap <= 5.0 * limits.tol {
                ascent.look(&mean.slopes());
                proven = ascent.is_proven(limits.tol);
            }
            if near && !proven {
                ascent.look(&ascent.slopes.clone());
                proven = ascent.is_proven(limits.tol);
            }
            let gap = ascent.best.relative_gap().map_or(gap, |best| best.min(gap));
            let expected = passes as f64 * (gap / limits.tol).max(1.0).powf(1.0 / POWER);
            let is_hopeful = passes > FEW || expected <= MANY as f64;
            if !proven && (passes > MOST_PASSES || !is_hopeful) {
                return None;
            }
            soonest = passes + 2 + passes / 64;
            next_look = (expected as usize).clamp(soonest, soonest + passes / 2);
        }
        let stopped = watch(&ascent.progress(due)).is_break();
        if proven || stopped {
            return Some(ascent.finish(if proven { Stop::Converged } else { Stop::Interrupted }));
        }
    }
}

/// The dual point on its way up.
struct Ascent<'a> {
    risk: &'a Risk<'a>,
    /// s.
    bend: f64,
    /// hᵢ.
    reach: Vec<f64>,
    slopes: Vec<f64>,
    w: Vec<f64>,
    rests: Vec<Rest>,
    /// What a row had of the loss, and of the gap, when it was last visited.
    losses: Vec<f64>,
    gaps: Vec<f64>,
    passes: usize,
    looks: usize,
    best: Certificate,
    best_theta: Vec<f64>,
}

/// How long a row was left alone the last time, and the pass in which it is visited again.
#[derive(Clone, Copy, Default)]
struct Rest {
    passes: u32,
    until: u32,
}

impl<'a> Ascent<'a> {
    fn new(risk: &'a Risk<'a>) -> Self {
        let (n, c) = (risk.terms(), risk.classes);
        let bend = 2.0 * (risk.penalty.ridge(c).unwrap_or(0.0) + risk.epsilon);
        let lengths = risk.x.lengths().into_iter().enumerate();
        Self {
            risk,
            bend,
            reach: lengths.map(|(i, length)| (risk.weight(i) * length * length / bend).max(SHORTEST)).collect(),
            slopes: vec![0.0; n * c],
            w: vec![0.0; risk.weights_len()],
            rests: vec![Rest::default(); n],
            losses: vec![0.0; n],
            gaps: vec![0.0; n],
            passes: 0,
            looks: 0,
            best: Certificate { objective: f64::INFINITY, lower_bound: None },
            best_theta: vec![0.0; risk.weights_len()],
        }
    }

    /// Moves the slopes of all rows that are not left alone, in random order.
    fn pass(&mut self, random: &mut ChaCha8Rng) {
        self.passes += 1;
        let (now, c) = (self.passes as u32, self.risk.classes);
        let mut rows: Vec<u32> =
            (0..self.rests.len() as u32).filter(|i| self.rests[*i as usize].until <= now).collect();
        rows.shuffle(random);
        let little = LITTLE * self.gaps.iter().sum::<f64>() / self.gaps.len() as f64;
        let (mut z, mut room) = (vec![0.0; c], vec![0.0; c]);
        for i in rows.into_iter().map(|i| i as usize) {
            let moved = self.visit(i, &mut z, &mut room);
            // Before every row has been moved, no gap is what it seems.
            let stays = moved && (now < 4 || self.gaps[i] > little);
            let passes = if stays { 0 } else { (2 * self.rests[i].passes).clamp(1, LONGEST_REST) };
            self.rests[i] = Rest { passes, until: now + 1 + passes };
        }
    }

    /// Moves one row to its best slopes; whether they are others than before.
    fn visit(&mut self, i: usize, z: &mut [f64], room: &mut [f64]) -> bool {
        let (risk, c, y) = (self.risk, self.risk.classes, self.risk.y[i] as usize);
        let (h, weight, mut empty) = (self.reach[i], risk.weight(i), Room::default());
        let row = risk.x.block(i..i + 1, &mut empty);
        z.fill(0.0);
        row.mul_add(&self.w, c, z);
        let slopes = &mut self.slopes[i * c..(i + 1) * c];
        // ωᵢ(ℓ(z) − Σ_{j≠y} αⱼ − zᵀα): over all rows, that is the gap.
        let loss = risk.loss.sum_rows(z, &risk.y[i..=i], room);
        self.losses[i] = weight * loss;
        self.gaps[i] = weight * (loss + slopes[y] - dot(z, slopes));
        for ((top, z), slope) in room.iter_mut().zip(&*z).zip(&*slopes) {
            *top = slope + (z + 1.0) / h;
        }
        room[y] -= 1.0 / h;
        risk.loss.nearest_slopes(y, room);
        let mut moved = false;
        for (new, slope) in room.iter_mut().zip(slopes) {
            let step = *new - *slope;
            (*slope, *new) = (*new, -weight * step / self.bend);
            moved |= step != 0.0;
        }
        if moved {
            row.t_mul_add(room, c, &mut self.w);
        }
        moved
    }

    /// The gap as a share of the objective, as far as visits have seen it.
    fn gap_seen(&self) -> f64 {
        let value = self.losses.iter().sum::<f64>() + 0.5 * self.bend * dot(&self.w, &self.w);
        if value > 0.0 { self.gaps.iter().sum::<f64>() / value } else { 0.0 }
    }

    /// Proves what some slopes are worth, and keeps the best point and the best bound.
    fn look(&mut self, slopes: &[f64]) {
        let risk = self.risk;
        self.looks += 1;
        let mut grad = vec![0.0; self.w.len()];
        let sums = risk.slopes_pass(slopes, &mut grad);
        let theta: Vec<f64> = grad.iter().map(|g| -g / self.bend).collect();
        let objective = risk.value(&theta);
        let found = Certificate::at(risk, objective, sums, risk.penalty, &theta, &grad, &[]);
        let bound = self.best.lower_bound.into_iter().chain(found.lower_bound).reduce(f64::max);
        if objective < self.best.objective {
            (self.best.objective, self.best_theta) = (objective, theta);
        }
        self.best.lower_bound = bound;
    }

    fn is_proven(&self, tol: f64) -> bool {
        self.best.relative_gap().is_some_and(|gap| gap <= tol)
    }

    fn progress(&self, looked: bool) -> Progress {
        Progress {
            iteration: self.passes,
            evaluations: self.passes + self.looks,
            objective: self.best.objective,
            relative_gap: self.best.relative_gap(),
            inner: !looked || self.looks == 0,
        }
    }

    fn finish(mut self, stop: Stop) -> Solution {
        if self.looks == 0 {
            self.look(&self.slopes.clone());
        }
        let Self { best, best_theta: theta, passes: iterations, looks, .. } = self;
        let certificate = Certificate::new(best.objective, best.lower_bound);
        Solution { theta, certificate, stop, iterations, evaluations: iterations + looks }
    }
}

/// The mean of the slopes over the last passes: between a third and a half of all.
struct Mean {
    /// Sums over the passes before and after the last beginning.
    before: Vec<f64>,
    after: Vec<f64>,
    counts: [usize; 2],
    /// The pass after which the next sum begins.
    end: f64,
}

impl Mean {
    fn new(slopes: &[f64]) -> Self {
        Self { before: vec![0.0; slopes.len()], after: vec![0.0; slopes.len()], counts: [0, 0], end: 4.0 }
    }

    fn add(&mut self, slopes: &[f64], pass: usize) {
        if pass as f64 > self.end {
            std::mem::swap(&mut self.before, &mut self.after);
            self.after.fill(0.0);
            self.counts = [self.counts[1], 0];
            self.end *= LONGER;
        }
        axpy(1.0, slopes, &mut self.after);
        self.counts[1] += 1;
    }

    fn slopes(&self) -> Vec<f64> {
        let share = 1.0 / (self.counts[0] + self.counts[1]).max(1) as f64;
        self.before.iter().zip(&self.after).map(|(before, after)| share * (before + after)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_is_that_of_the_last_third_to_half_of_the_passes() {
        let mut mean = Mean::new(&[0.0]);
        for pass in 1..=1000 {
            mean.add(&[pass as f64], pass);
            if pass >= 20 {
                // The mean of the numbers from first to pass is halfway between them.
                let first = 2.0 * mean.slopes()[0] - pass as f64;
                assert!((0.45..0.73).contains(&(first / pass as f64)), "{first} {pass}");
                assert!((first - first.round()).abs() < 1e-6, "{first} {pass}");
            }
        }
    }
}
