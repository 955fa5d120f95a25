//! A joint problem with an exact hinge and squared lengths as penalty: its dual, one row at a time.
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
//! An intercept, which only ε penalises, all but fixes the sums of slopes: moves of one row at a time would get nowhere. It is held near
//! where it was at the beginning of the pass instead, as if it were one more feature, and let go after each ([`Hold`]); what is left of the
//! sums is moved to rows that hardly mind before anything is proven ([`balance()`]).
//!
//! Near the end the dual value hardly changes, while the weights still sway with the order of the rows, and it is they that keep the gap
//! open. What they sway around is much better: the mean of the slopes over the last passes is a dual point like any other.

mod balance;
mod contenders;
mod crowd;
mod mean;
#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests;
mod weights;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use serde::{Deserialize, Serialize};

use balance::balance;
use contenders::Contenders;
use mean::Mean;
use weights::AscentWeights;

use super::driver::{self, Iterate};
use super::hold::Hold;
use super::incumbent::Incumbent;
use super::{AnySolver, Limits, Progress, Solution, Stop, Watch, certified};
use crate::certificate::Certificate;
use crate::engine::InMemory;
use crate::error::{Error, Result};
use crate::features::BlockRoom;
use crate::linalg::dot;
use crate::objective::Objective;
use crate::plan;
use crate::risk::Risk;
use crate::tuning::tuning;

tuning! {
    /// Ascent row by row.
    ASCENT: AscentTuning {
        /// Most passes.
        most_passes: usize = 6000, "passes over all rows", "by hand";
        /// Where more are to be expected, a first attempt gives up, ...
        many: usize = 2000, "passes over all rows", "as dear as Newton on news20";
        /// ... within so many passes: what has gone on for longer goes on.
        patient: usize = 100, "passes over all rows", "by hand";
        /// Passes before the first look.
        first_look: usize = 16, "passes over all rows", "by hand";
        /// Looks are due where this much of the tolerance is left of the gap that visits have seen, ...
        near: f64 = 0.7, "tolerances", "by hand";
        /// ... and at the mean of the slopes already where so many are: it is a few times better than the last point, at best.
        mean_near: f64 = 5.0, "tolerances", "docs/decisions/010";
        /// A row that does not move, or has less of the gap, is left alone for a while, ...
        little: f64 = 0.3, "mean gaps of a row", "docs/decisions/010";
        /// ... which doubles each time up to so many passes.
        longest_rest: u32 = 4, "passes", "by hand";
        /// How much longer the part of the passes is that a mean may be taken over, each time a new one begins.
        longer: f64 = 1.4, "passes", "the last third to half of them: docs/decisions/010";
        /// The gap is expected to fall with this power of the passes.
        power: f64 = 3.0, "powers", "on news20 it falls with 2.6";
        /// Length of the shortest row, squared. Empty ones have any slopes they like.
        shortest: f64 = 1e-9, "strengths of the penalty", "by hand";
        /// How far rows move on their own while their slopes are balanced: one part in so many of what each would go alone.
        stiff: f64 = 64.0, "reaches", "4 to 100 tried on news20";
        /// Most steps towards that.
        prices: usize = 200, "steps of L-BFGS", "by hand";
        /// What the bound may pay for slopes that are not quite balanced.
        unbalanced: f64 = 0.03, "tolerances", "by hand";
        /// So many classes are passed over side by side: lists of some of them would save nothing.
        few_classes: usize = 32, "classes", "four vectors";
        /// Lists have one in so many of the classes at most: what is read in any order costs so much more than what is read side by side.
        listed: usize = 4, "classes", "by hand";
        /// Wrong classes whose scores are so far below those that a row pays for are looked at all the same.
        near_margins: f64 = 0.2, "margins", "by hand";
        /// Dense rows whose scores for all classes are made together, with the weights that are behind by as many visits.
        screened: usize = 64, "rows", "by hand";
        /// Passes among contenders that may follow a pass over all classes, ...
        partial: usize = 20, "passes", "by hand";
        /// ... unless they have left less of its gap.
        settled: f64 = 0.1, "gaps of a pass over all classes", "by hand";
        /// Rows between two looks at the clock.
        ask_every: usize = 16, "rows", "microseconds each";
    }
}

/// Dual coordinate ascent, row by row. It has nothing to set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DualCoordinate {}

impl DualCoordinate {
    /// Minimises a risk with an exact hinge and a ridge. It begins with dual variables of 0, wherever the start is.
    pub fn minimize(
        &self,
        risk: &Risk<'_>,
        start: Vec<f64>,
        limits: &Limits,
        watch: &mut Watch<'_>,
    ) -> Result<Solution> {
        if let Err(obstacle) = plan::can_ascend(&risk.problem) {
            return Err(refused(obstacle.what));
        }
        super::interruptible(risk, watch, |risk, watch| {
            climb(risk, start, limits, 0, watch)?.settled(limits.tol, limits.proof)
        })
    }
}

/// It has been asked to solve what it cannot.
pub(crate) fn refused(what: &'static str) -> Error {
    Error::Unsuited { solver: AnySolver::Dual(DualCoordinate {}).name(), what, instead: "use auto" }
}

/// Minimises a risk that [`plan::ascends`] has chosen it for. `None` where that takes too long, which mostly shows soon.
pub(crate) fn attempt(
    risk: &Risk<'_>,
    start: Vec<f64>,
    limits: &Limits,
    watch: &mut Watch<'_>,
) -> Result<Option<Solution>> {
    let limits = Limits { max_iter: ASCENT.most_passes, ..*limits };
    let found = climb(risk, start, &limits, ASCENT.patient, watch)?;
    Ok(Some(found).filter(|found| matches!(found.stop, Stop::Converged | Stop::Interrupted)))
}

/// Passes until the gap is proven. From the pass `patient` on nothing but the number of passes ends it; before that, it ends where more than
/// [`ASCENT`] allows are to be expected.
fn climb(
    risk: &Risk<'_>,
    mut start: Vec<f64>,
    limits: &Limits,
    patient: usize,
    watch: &mut Watch<'_>,
) -> Result<Solution> {
    let known = certified(&risk.problem, &mut InMemory::new(risk), &mut start).filter(|_| limits.proof);
    if let Some(certificate) = known.filter(|known| known.relative_gap().is_some_and(|gap| gap <= limits.tol)) {
        return Ok(Solution::at_start(start, certificate));
    }
    let mut ascent = Ascent::new(risk, limits, patient);
    // It cannot begin at the start, but need not fall behind it.
    if let Some(certificate) = known {
        ascent.best.offer(certificate.objective, &start);
        ascent.best.raise(certificate.lower_bound);
    }
    driver::attempt(ascent, limits, watch)
}

/// The dual point on its way up.
struct Ascent<'a> {
    risk: &'a Risk<'a>,
    /// s.
    bend: f64,
    /// hᵢ.
    reach: Vec<f64>,
    slopes: Vec<f64>,
    w: AscentWeights,
    /// Whether its weights lie class by class.
    is_by_class: bool,
    /// The intercept, where there is one.
    hold: Option<Hold>,
    rests: Vec<Pause>,
    /// What a row had of the loss, and of the gap, when it was last visited.
    losses: Vec<f64>,
    gaps: Vec<f64>,
    /// Where classes are many: those that count in each row, ...
    contenders: Option<Contenders>,
    /// ... what rows have of the gap among them, ...
    part_gaps: Vec<f64>,
    /// ... and passes since the last one over all classes.
    partial: usize,
    passes: usize,
    looks: usize,
    /// Whether the last pass ended with a look, and when the next one is due: at the earliest, and at the latest.
    looked: bool,
    soonest: usize,
    next_look: usize,
    /// Whether it may still end within the passes that a first attempt has.
    is_hopeful: bool,
    patient: usize,
    mean: Mean,
    random: ChaCha8Rng,
    best: Incumbent,
    limits: Limits,
}

/// Room for the numbers of one row.
struct VisitRoom {
    z: Vec<f64>,
    slopes: Vec<f64>,
    tops: Vec<f64>,
    block: BlockRoom,
}

/// How long a row was left alone the last time, and the pass in which it is visited again.
#[derive(Clone, Copy, Default)]
struct Pause {
    passes: u32,
    until: u32,
}

impl<'a> Ascent<'a> {
    fn new(risk: &'a Risk<'a>, limits: &Limits, patient: usize) -> Self {
        let (n, c) = (risk.terms(), risk.problem.classes);
        let bend = 2.0 * (risk.problem.penalty.ridge(c).unwrap_or(0.0) + risk.problem.epsilon);
        let lengths = risk.lengths();
        let hold = risk.problem.intercept.then(|| Hold::new(c, risk.problem.epsilon, bend, lengths));
        let beside = hold.as_ref().map_or(0.0, Hold::reach);
        let contenders = Contenders::of(n, c);
        let is_by_class = contenders.is_some() && !risk.x.is_sparse();
        let reach = |(i, length): (usize, &f64)| risk.weight(i) * (length * length / bend + beside);
        Self {
            risk,
            bend,
            reach: lengths.iter().enumerate().map(|row| reach(row).max(ASCENT.shortest)).collect(),
            hold,
            slopes: vec![0.0; n * c],
            w: AscentWeights::zeros(risk.x.cols(), c, is_by_class),
            is_by_class,
            rests: vec![Pause::default(); n],
            losses: vec![0.0; n],
            gaps: vec![0.0; n],
            contenders,
            part_gaps: vec![0.0; n],
            partial: 0,
            passes: 0,
            looks: 0,
            looked: false,
            soonest: 2,
            next_look: ASCENT.first_look,
            is_hopeful: true,
            patient,
            mean: Mean::new(n * c),
            // Always the same: no seed should change what is found, not even in its last digits.
            random: ChaCha8Rng::seed_from_u64(0),
            limits: *limits,
            best: Incumbent::new(&vec![0.0; risk.problem.dim()]),
        }
    }

    /// Moves the slopes of all rows that are not left alone, in random order.
    fn pass(&mut self) {
        self.passes += 1;
        let (now, c) = (self.passes as u32, self.risk.problem.classes);
        let is_part = self.is_next_partial();
        self.partial = if is_part { self.partial + 1 } else { 0 };
        // A pass over all classes says what gap is left: where it is rare, it leaves out no row.
        let takes_all = self.contenders.is_some() && !is_part;
        let takes = |i: &u32| takes_all || self.rests[*i as usize].until <= now;
        let mut rows: Vec<u32> = (0..self.rests.len() as u32).filter(takes).collect();
        rows.shuffle(&mut self.random);
        let gaps = if is_part { &self.part_gaps } else { &self.gaps };
        let little = ASCENT.little * gaps.iter().sum::<f64>() / gaps.len() as f64;
        let mut room =
            VisitRoom { z: vec![0.0; c], slopes: vec![0.0; c], tops: vec![0.0; c], block: BlockRoom::default() };
        // Rows that are visited before the scores of the next ones are made.
        let together = if takes_all && self.is_by_class { ASCENT.screened } else { ASCENT.ask_every };
        for rows in rows.chunks(together) {
            if !self.risk.problem.heed.go_on() {
                return;
            }
            let scores = (takes_all && self.is_by_class).then(|| self.screen(rows, &mut room));
            for (number, i) in rows.iter().map(|i| *i as usize).enumerate() {
                let (moved, gap) = match &scores {
                    Some(z) => (self.visit_screened(i, &z[number * c..(number + 1) * c], &mut room), self.gaps[i]),
                    None if is_part => (self.visit_contenders(i, &mut room), self.part_gaps[i]),
                    None => (self.visit(i, &mut room), self.gaps[i]),
                };
                // Before every row has been moved, no gap is what it seems.
                let stays = moved && (now < 4 || gap > little);
                let passes = if stays { 0 } else { (2 * self.rests[i].passes).clamp(1, ASCENT.longest_rest) };
                self.rests[i] = Pause { passes, until: now + 1 + passes };
            }
        }
    }

    /// Moves one row to its best slopes; whether they are others than before.
    fn visit(&mut self, i: usize, room: &mut VisitRoom) -> bool {
        let (risk, c, y) = (self.risk, self.risk.problem.classes, self.risk.y[i] as usize);
        let (h, weight) = (self.reach[i], risk.weight(i));
        let VisitRoom { z, slopes: room, tops, block } = room;
        let row = risk.x.block(i..i + 1, block);
        z.fill(0.0);
        if let Some(hold) = &self.hold {
            z.copy_from_slice(hold.intercept());
        }
        self.w.add_scores(&row, z);
        let slopes = &mut self.slopes[i * c..(i + 1) * c];
        // ωᵢ(ℓ(z) − Σ_{j≠y} αⱼ − zᵀα): over all rows, that is the gap.
        let loss = risk.problem.loss.sum_rows(z, &risk.y[i..=i], room);
        self.losses[i] = weight * loss;
        self.gaps[i] = weight * (loss + slopes[y] - dot(z, slopes));
        for ((top, z), slope) in room.iter_mut().zip(&*z).zip(&*slopes) {
            *top = slope + (z + 1.0) / h;
        }
        room[y] -= 1.0 / h;
        if self.contenders.is_some() {
            tops.copy_from_slice(room);
        }
        risk.problem.loss.nearest_slopes(y, room);
        if let Some(contenders) = &mut self.contenders {
            contenders.find(i, y, tops, room, slopes, h);
        }
        let mut moved = false;
        for (new, slope) in room.iter_mut().zip(slopes) {
            let step = *new - *slope;
            (*slope, *new) = (*new, weight * step);
            moved |= step != 0.0;
        }
        if moved {
            if let Some(hold) = &mut self.hold {
                hold.pull(room);
            }
            room.iter_mut().for_each(|step| *step /= -self.bend);
            self.w.add(&row, room);
        }
        moved
    }

    /// The gap as a share of the objective, as far as visits have seen it.
    fn gap_seen(&self) -> f64 {
        let value = self.value_seen();
        if value > 0.0 { self.gaps.iter().sum::<f64>() / value } else { 0.0 }
    }

    fn value_seen(&self) -> f64 {
        self.losses.iter().sum::<f64>() + 0.5 * self.bend * self.w.square()
    }

    /// Proves what some slopes are worth, and keeps the best point and the best bound.
    fn look(&mut self, mut slopes: Vec<f64>) {
        let (risk, m) = (self.risk, self.risk.problem.weights_len());
        self.looks += 1;
        let mut theta = vec![0.0; risk.dim()];
        if let Some(hold) = &self.hold {
            let enough = ASCENT.unbalanced * self.limits.tol * self.value_seen();
            let found = balance(risk, self.bend, &self.reach, hold.intercept(), enough, &mut slopes);
            theta[m..].copy_from_slice(&found);
        }
        let mut grad = vec![0.0; theta.len()];
        let sums = risk.slopes_pass(&slopes, &mut grad);
        theta[..m].iter_mut().zip(&grad).for_each(|(w, g)| *w = -g / self.bend);
        let objective = risk.value(&theta);
        if risk.problem.heed.is_stopped() {
            return;
        }
        let found =
            Certificate::at(&risk.problem, risk.rounding(), objective, sums, risk.problem.penalty, &theta, &grad, &[]);
        self.best.raise(found.lower_bound);
        self.best.offer(objective, &theta);
    }

    /// Looks at the mean of the slopes, where visits say that it may do, and at the last ones.
    fn look_where_it_pays(&mut self, gap: f64) {
        let tol = self.limits.tol;
        let is_last = self.passes >= self.limits.max_iter;
        if is_last || gap <= ASCENT.mean_near * tol {
            self.look(self.mean.slopes());
        }
        if is_last || (gap <= ASCENT.near * tol && !self.best.is_proven(tol)) {
            self.look(self.slopes.clone());
        }
    }
}

impl Iterate for Ascent<'_> {
    /// A pass, and a look at what it has led to where one is due.
    fn evaluate(&mut self) {
        self.pass();
        if let Some(hold) = &mut self.hold {
            hold.let_go();
        }
        self.mean.add(&self.slopes, self.contenders.as_ref(), self.passes);
        let (passes, tol, gap) = (self.passes, self.limits.tol, self.gap_seen());
        // Among contenders nothing is seen of the other classes.
        let sees = self.partial == 0;
        let due = sees && (passes >= self.next_look || (gap <= ASCENT.near * tol && passes >= self.soonest));
        self.looked = due || passes >= self.limits.max_iter;
        if !self.looked {
            return;
        }
        self.look_where_it_pays(gap);
        let gap = self.best.relative_gap().map_or(gap, |best| best.min(gap));
        let expected = passes as f64 * (gap / tol).max(1.0).powf(1.0 / ASCENT.power);
        self.is_hopeful = passes > self.patient || expected <= ASCENT.many as f64;
        self.soonest = passes + 2 + passes / 64;
        self.next_look = (expected as usize).clamp(self.soonest, self.soonest + passes / 2);
    }

    /// As far as visits have seen it.
    fn value(&self) -> f64 {
        self.value_seen()
    }

    fn best(&self) -> &Incumbent {
        &self.best
    }

    fn is_interrupted(&self) -> bool {
        self.risk.problem.heed.is_stopped()
    }

    fn progress(&self) -> Progress {
        let inner = !self.looked || self.looks == 0;
        Progress { inner, ..self.best.progress(self.passes, self.passes + self.looks) }
    }

    fn step(&mut self) -> bool {
        self.is_hopeful
    }

    fn finish(mut self, stop: Stop) -> Solution {
        if stop == Stop::Interrupted && self.best.objective().is_infinite() {
            let b = self.hold.as_ref().map_or(&[][..], Hold::intercept);
            self.best.place(f64::INFINITY, &[&self.w.by_feature(), b].concat());
        }
        let counts = (self.passes, self.passes + self.looks);
        self.best.ended(&self.risk.problem, &mut InMemory::new(self.risk), stop, false, counts)
    }
}
