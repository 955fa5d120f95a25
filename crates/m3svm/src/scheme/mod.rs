//! One joint problem, or many problems of two classes.
//!
//! A two-class problem with one scorer w is the joint problem of two classes with w = w₁ − w₀, so every part can be an ordinary
//! [`crate::Risk`] with two columns. Hinges with a ridge, which is what the named methods have, are solved side by side instead.

mod hinges;

use std::borrow::Cow;
use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::certificate::Certificate;
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::features::Features;
use crate::interrupt::{Heed, Interrupt};
use crate::loss::Loss;
use crate::penalty::{Penalty, pairs};
use crate::solver::{AnySolver, DualCoordinate, Progress, Solution, Stop, Watch};
use crate::spec::{Spec, Task};
use hinges::Hinges;

/// From so many problems on, the watcher is told of them no more often than this.
const MANY_PROBLEMS: usize = 1000;
const SELDOM: Duration = Duration::from_millis(50);

/// How many classes are told apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scheme {
    /// All scorers at once; the highest score wins.
    #[default]
    Joint,
    /// One scorer per class against all the others; the highest score wins.
    OneVsRest,
    /// One scorer per pair of classes; most votes win, equal votes are decided by the sum of the pair scores, equal sums by the order of
    /// the classes.
    OneVsOne,
}

impl Scheme {
    /// Number of scorers, the columns of W.
    pub fn scorers(self, classes: usize) -> usize {
        match self {
            Self::Joint | Self::OneVsRest => classes,
            Self::OneVsOne => classes * (classes - 1) / 2,
        }
    }

    /// Number of separate problems.
    pub fn problems(self, classes: usize) -> usize {
        if self == Self::Joint { 1 } else { self.scorers(classes) }
    }

    /// The two sides of every scorer: the class it speaks for, and the one it speaks against (`None`: all others).
    pub(crate) fn sides(self, classes: usize) -> Vec<(usize, Option<usize>)> {
        let mut sides = Vec::new();
        match self {
            Self::Joint | Self::OneVsRest => sides.extend((0..classes).map(|k| (k, None))),
            Self::OneVsOne => pairs(classes, |_, k, l| sides.push((k, Some(l)))),
        }
        sides
    }
}

/// Turns the scores of the pairs (in the order (0,1), (0,2), … (1,2), …) into one score per class: its votes, plus less than a third for the
/// sum of its pair scores. So the class with most votes is highest, equal votes are decided by the sum, and equal sums by the order of
/// the classes.
pub(crate) fn votes(pair_scores: &[f64], out: &mut [f64]) {
    let c = out.len();
    let (mut votes, mut sums, mut rest) = (vec![0.0; c], vec![0.0; c], pair_scores);
    for k in 0..c {
        let (own, others) = rest.split_at(c - k - 1);
        let (mut won, mut sum) = (0.0, sums[k]);
        for ((score, votes), sums) in own.iter().zip(&mut votes[k + 1..]).zip(&mut sums[k + 1..]) {
            let wins = if *score >= 0.0 { 1.0 } else { 0.0 };
            won += wins;
            *votes += 1.0 - wins;
            sum += score;
            *sums -= score;
        }
        votes[k] += won;
        sums[k] = sum;
        rest = others;
    }
    for (k, out) in out.iter_mut().enumerate() {
        *out = standing(votes[k], sums[k]);
    }
}

/// The score of a class with so many votes and such a sum of its pair scores.
fn standing(votes: f64, sum: f64) -> f64 {
    // Sums may overflow where no score does.
    let sum = sum.clamp(-1e300, 1e300);
    votes + sum / (3.0 * (sum.abs() + 1.0))
}

/// How one class does among all others, as [`votes`] would say, pair by pair in their order.
pub(crate) struct Standing {
    class: usize,
    heard: usize,
    lost: usize,
    sum: f64,
}

impl Standing {
    pub(crate) fn of(class: usize) -> Self {
        Self { class, heard: 0, lost: 0, sum: 0.0 }
    }

    /// Takes what the pair with another class says for this one. Of equals the first class wins.
    pub(crate) fn hear(&mut self, other: usize, said: f64) {
        let wins = said > 0.0 || (said == 0.0 && self.class < other);
        self.heard += 1;
        self.lost += usize::from(!wins);
        self.sum += said;
    }

    /// Votes that went to others.
    pub(crate) fn lost(&self) -> usize {
        self.lost
    }

    /// Whether it wins over another one that has heard all pairs. If it has not, what it has lost must say so.
    pub(crate) fn is_above(&self, other: &Self) -> bool {
        if self.lost != other.lost {
            return self.lost < other.lost;
        }
        let value = |it: &Self| standing((it.heard - it.lost) as f64, it.sum);
        let (own, theirs) = (value(self), value(other));
        own > theirs || (own == theirs && self.class < other.class)
    }
}

/// Solves all two-class problems, side by side. `start` and the solution have one column per scorer.
pub(crate) fn solve(
    spec: &Spec,
    data: &Dataset<'_>,
    weights: Option<&[f64]>,
    start: &[f64],
    proof: bool,
    interrupt: &Interrupt<'_>,
) -> Result<(Solution, &'static str)> {
    let sides = spec.scheme.sides(data.classes().len());
    let columns = sides.len();
    let tally = Mutex::new(Tally::new(spec, data, weights, &sides, interrupt));
    let parts: Vec<Result<(Solution, &'static str)>> = match Hinges::of(spec, data, weights, proof, interrupt.heed()) {
        Some(hinges) => hinges.solve(&sides, start, &tally)?.into_iter().map(Ok).collect(),
        None => sides
            .par_iter()
            .enumerate()
            .map(|(number, side)| {
                let own: Vec<f64> = start.iter().skip(number).step_by(columns).copied().collect();
                let mut report = |at: &Progress| tally.lock().unwrap_or_else(PoisonError::into_inner).step(number, at);
                solve_side(spec, data, weights, *side, &own, proof, interrupt.heed(), &mut report)
            })
            .collect(),
    };
    let mut all = Solution::none(start.len());
    debug_assert_eq!(parts.len(), columns);
    let mut solver = spec.solver.name();
    for (number, part) in parts.into_iter().enumerate() {
        let (part, ran) = part?;
        all.join(part, number, columns);
        // Descent may leave some problems to Newton, which then did most of the work.
        if number == 0 || solver == AnySolver::Dual(DualCoordinate {}).name() {
            solver = ran;
        }
    }
    Ok((all, solver))
}

/// The objective at given parameters, the sum over all problems.
pub(crate) fn value(spec: &Spec, data: &Dataset<'_>, weights: Option<&[f64]>, theta: &[f64]) -> Result<f64> {
    if spec.hard_margin {
        return Ok(spec.hard_value(data, weights, theta));
    }
    if spec.scheme == Scheme::Joint {
        let task = spec.joint_task(data)?;
        return Ok(spec.risk(&task, task.x).value(theta));
    }
    let sides = spec.scheme.sides(data.classes().len());
    let parts: Vec<Result<f64>> = sides
        .par_iter()
        .enumerate()
        .map(|(number, side)| {
            let own: Vec<f64> = theta.iter().skip(number).step_by(sides.len()).copied().collect();
            let Some(rows) = SideRows::of(data, weights, *side) else { return Ok(0.0) };
            let (penalty, two) = (penalty_of_scorer(spec)?, two_columns(&own));
            let task = rows.task(spec, penalty.as_ref(), true, Heed::default());
            Ok(spec.risk(&task, task.x).value(&two))
        })
        .collect();
    parts.into_iter().sum()
}

/// The rows that a scorer is trained on: those of its two sides.
struct SideRows<'a> {
    x: Cow<'a, Features<'a>>,
    y: Vec<u32>,
    weights: Option<Vec<f64>>,
}

impl<'a> SideRows<'a> {
    /// `None` if there are none.
    fn of(data: &'a Dataset<'_>, weights: Option<&[f64]>, (k, against): (usize, Option<usize>)) -> Option<Self> {
        let takes_part = |y: u32| against.is_none_or(|l| y as usize == k || y as usize == l);
        let rows: Vec<u32> = (0..data.rows() as u32).filter(|&i| takes_part(data.y()[i as usize])).collect();
        if rows.is_empty() {
            return None;
        }
        let x: Cow<'_, Features<'_>> = match against {
            None => Cow::Borrowed(data.x()),
            Some(_) => Cow::Owned(data.x().take_rows(&rows)),
        };
        let y = rows.iter().map(|&i| u32::from(data.y()[i as usize] as usize == k)).collect();
        let weights = weights.map(|w| rows.iter().map(|&i| w[i as usize]).collect());
        Some(Self { x, y, weights })
    }

    /// The problem of two classes.
    fn task<'t>(&'t self, spec: &Spec, penalty: &'t dyn Penalty, proof: bool, heed: Heed<'t>) -> Task<'t> {
        let (x, y, weights, shared) = (&*self.x, &self.y[..], self.weights.as_deref().map(Cow::Borrowed), None);
        // Two columns ±w/2 have half the square of w.
        Task { x, y, classes: 2, names: &[], weights, penalty, epsilon: 2.0 * spec.epsilon, shared, proof, heed }
    }
}

/// What one vector w pays, as the two columns ±w/2.
fn penalty_of_scorer(spec: &Spec) -> Result<Box<dyn Penalty>> {
    spec.penalty.as_dyn().for_scorer().ok_or(Error::Unsuited {
        solver: "of two-class problems",
        what: "a penalty that does not say what one scorer pays",
        instead: "train all classes jointly",
    })
}

fn two_columns(w: &[f64]) -> Vec<f64> {
    w.iter().flat_map(|w| [-0.5 * w, 0.5 * w]).collect()
}

/// Trains one scorer; the parameters are those of w and b.
fn solve_side(
    spec: &Spec,
    data: &Dataset<'_>,
    weights: Option<&[f64]>,
    side: (usize, Option<usize>),
    start: &[f64],
    proof: bool,
    heed: Heed<'_>,
    watch: &mut Watch<'_>,
) -> Result<(Solution, &'static str)> {
    let Some(rows) = SideRows::of(data, weights, side) else {
        let certificate = Certificate { objective: 0.0, lower_bound: Some(0.0) };
        let nothing = vec![0.0; start.len()];
        let found = Solution { theta: nothing, certificate, stop: Stop::Converged, iterations: 0, evaluations: 0 };
        return Ok((found, spec.solver.name()));
    };
    let penalty = penalty_of_scorer(spec)?;
    let task = rows.task(spec, penalty.as_ref(), proof, heed);
    let (mut found, solver) = spec.solve_task(&task, two_columns(start), watch)?;
    found.theta = found.theta.chunks_exact(2).map(|pair| pair[1] - pair[0]).collect();
    Ok((found, solver))
}

impl Solution {
    /// The solution of no problem, with so many parameters.
    pub(crate) fn none(dim: usize) -> Self {
        let certificate = Certificate { objective: 0.0, lower_bound: Some(0.0) };
        Self { theta: vec![0.0; dim], certificate, stop: Stop::Converged, iterations: 0, evaluations: 0 }
    }

    /// Adds the solution of the problem of one scorer of several.
    pub(crate) fn join(&mut self, part: Self, number: usize, scorers: usize) {
        let column = self.theta.iter_mut().skip(number).step_by(scorers);
        column.zip(&part.theta).for_each(|(all, own)| *all = *own);
        let bounds = self.certificate.lower_bound.zip(part.certificate.lower_bound);
        self.certificate.lower_bound = bounds.map(|(a, b)| a + b);
        self.certificate.objective += part.certificate.objective;
        self.iterations += part.iterations;
        self.evaluations += part.evaluations;
        self.stop = worse(self.stop, part.stop);
    }
}

/// The less satisfying of two outcomes.
fn worse(a: Stop, b: Stop) -> Stop {
    let rank = |stop| match stop {
        Stop::Converged => 0,
        Stop::NoProgress => 1,
        Stop::IterationLimit => 2,
        Stop::Interrupted => 3,
    };
    if rank(b) > rank(a) { b } else { a }
}

/// Adds up the progress of all problems for one watcher.
struct Tally<'t, 'w> {
    interrupt: &'t Interrupt<'w>,
    parts: Vec<Progress>,
    /// When the watcher was last told.
    told: Option<Instant>,
}

impl<'t, 'w> Tally<'t, 'w> {
    /// Problems that have not begun count with their loss at W = 0.
    fn new(
        spec: &Spec,
        data: &Dataset<'_>,
        weights: Option<&[f64]>,
        sides: &[(usize, Option<usize>)],
        interrupt: &'t Interrupt<'w>,
    ) -> Self {
        let mut mass = vec![0.0; data.classes().len()];
        data.y().iter().enumerate().for_each(|(i, &k)| mass[k as usize] += weights.map_or(1.0, |w| w[i]));
        let total: f64 = mass.iter().sum();
        let loss: &dyn Loss = spec.loss.as_dyn();
        let at_zero = loss.value_grad(&[0.0, 0.0], 0, &mut [0.0, 0.0]);
        let part = |&(k, against): &(usize, Option<usize>)| Progress {
            iteration: 0,
            evaluations: 0,
            objective: at_zero * against.map_or(total, |l| mass[k] + mass[l]),
            relative_gap: None,
            inner: false,
            passes: None,
        };
        Self { interrupt, parts: sides.iter().map(part).collect(), told: None }
    }

    /// One problem has got on.
    fn step(&mut self, number: usize, at: &Progress) -> ControlFlow<()> {
        self.parts[number] = *at;
        self.report(at.inner)
    }

    /// Some problems have got on together.
    fn step_all(&mut self, numbers: &[usize], parts: &[Progress]) -> ControlFlow<()> {
        numbers.iter().zip(parts).for_each(|(number, part)| self.parts[*number] = *part);
        self.report(parts.iter().any(|part| part.inner))
    }

    /// Whether the watcher has asked to stop.
    fn is_stopped(&self) -> bool {
        self.interrupt.heed().is_stopped()
    }

    fn report(&mut self, inner: bool) -> ControlFlow<()> {
        // Adding up very many parts takes longer than some of them do themselves.
        if self.parts.len() > MANY_PROBLEMS && self.told.is_some_and(|told| told.elapsed() < SELDOM) {
            return if self.is_stopped() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
        }
        self.told = Some(Instant::now());
        let mut sum =
            Progress { iteration: 0, evaluations: 0, objective: 0.0, relative_gap: Some(0.0), inner, passes: None };
        let mut gap = Some(0.0);
        for part in &self.parts {
            sum.iteration += part.iteration;
            sum.evaluations += part.evaluations;
            sum.objective += part.objective;
            gap = gap.zip(part.relative_gap).map(|(sum, gap)| sum + gap * part.objective);
        }
        sum.relative_gap = gap.map(|gap| if sum.objective > 0.0 { gap / sum.objective } else { 0.0 });
        self.interrupt.report(&sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_votes_win_then_the_larger_sum_then_the_first_class() {
        let class = |pair_scores: &[f64], c: usize| {
            let mut out = vec![0.0; c];
            votes(pair_scores, &mut out);
            crate::model::argmax(&out)
        };
        // Class 2 beats both others by a hair, class 0 wins its one vote by far.
        assert_eq!(class(&[9.0, -0.1, -0.1], 3), 2);
        // A circle: one vote each; 1 beats 2 more clearly than the others win.
        assert_eq!(class(&[1.0, -1.0, 5.0], 3), 1);
        assert_eq!(class(&[1.0, -1.0, 1.0], 3), 0);
        // Sums that overflow are still numbers.
        let mut out = [0.0; 3];
        votes(&[-1.5e308, -1.5e308, -1.5e308], &mut out);
        assert!(out.iter().all(|z| z.is_finite()) && crate::model::argmax(&out) == 2, "{out:?}");
    }
}
