//! One joint problem, or many problems of two classes.
//!
//! A two-class problem with one scorer w is the joint problem of two classes with w = w₁ − w₀, so every part can be an ordinary
//! [`crate::Risk`] with two columns. Hinges with a ridge, which is what the named methods have, are solved side by side instead.

mod hinges;

use std::borrow::Cow;
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::certificate::Certificate;
use crate::dataset::Dataset;
use crate::error::Result;
use crate::features::Features;
use crate::loss::Loss;
use crate::penalty::{AnyPenalty, pairs};
use crate::solver::{DESCENT, Progress, Solution, Stop, Watch};
use crate::spec::{Spec, Task};
use hinges::Hinges;

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
    let (mut votes, mut sums) = (vec![0.0; c], vec![0.0; c]);
    pairs(c, |pair, k, l| {
        let score = pair_scores[pair];
        votes[if score >= 0.0 { k } else { l }] += 1.0;
        sums[k] += score;
        sums[l] -= score;
    });
    for (k, out) in out.iter_mut().enumerate() {
        *out = votes[k] + sums[k] / (3.0 * (sums[k].abs() + 1.0));
    }
}

/// Solves all two-class problems, side by side. `start` and the solution have one column per scorer.
pub(crate) fn solve(
    spec: &Spec,
    data: &Dataset<'_>,
    weights: Option<&[f64]>,
    start: &[f64],
    proof: bool,
    watch: &mut Watch<'_>,
) -> Result<(Solution, &'static str)> {
    let sides = spec.scheme.sides(data.classes().len());
    let columns = sides.len();
    let tally = Mutex::new(Tally::new(spec, data, weights, &sides, watch));
    let parts: Vec<Result<(Solution, &'static str)>> = match Hinges::of(spec, data, weights, proof) {
        Some(hinges) => hinges.solve(&sides, start, &tally)?.into_iter().map(Ok).collect(),
        None => sides
            .par_iter()
            .enumerate()
            .map(|(number, side)| {
                let own: Vec<f64> = start.iter().skip(number).step_by(columns).copied().collect();
                let mut report = |at: &Progress| tally.lock().unwrap_or_else(PoisonError::into_inner).step(number, at);
                solve_side(spec, data, weights, *side, &own, proof, &mut report)
            })
            .collect(),
    };
    let mut all = Solution {
        theta: vec![0.0; start.len()],
        certificate: Certificate { objective: 0.0, lower_bound: Some(0.0) },
        stop: Stop::Converged,
        iterations: 0,
        evaluations: 0,
    };
    let mut solver = spec.solver.name();
    for (number, part) in parts.into_iter().enumerate() {
        let (part, ran) = part?;
        all.theta.iter_mut().skip(number).step_by(columns).zip(&part.theta).for_each(|(all, own)| *all = *own);
        let bounds = all.certificate.lower_bound.zip(part.certificate.lower_bound);
        all.certificate.lower_bound = bounds.map(|(a, b)| a + b);
        all.certificate.objective += part.certificate.objective;
        all.iterations += part.iterations;
        all.evaluations += part.evaluations;
        all.stop = worse(all.stop, part.stop);
        // Descent may leave some problems to Newton, which then did most of the work.
        if number == 0 || solver == DESCENT {
            solver = ran;
        }
    }
    // What is asked for is a proof for the sum; a part may fall a little short of its own.
    if all.certificate.relative_gap().is_some_and(|gap| gap <= spec.tol) {
        all.stop = Stop::Converged;
    }
    Ok((all, solver))
}

/// Trains one scorer; the parameters are those of w and b.
fn solve_side(
    spec: &Spec,
    data: &Dataset<'_>,
    weights: Option<&[f64]>,
    (speaks_for, against): (usize, Option<usize>),
    start: &[f64],
    proof: bool,
    watch: &mut Watch<'_>,
) -> Result<(Solution, &'static str)> {
    let takes_part = |k: u32| against.is_none_or(|l| k as usize == speaks_for || k as usize == l);
    let rows: Vec<u32> = (0..data.rows() as u32).filter(|&i| takes_part(data.y()[i as usize])).collect();
    let y: Vec<u32> = rows.iter().map(|&i| u32::from(data.y()[i as usize] as usize == speaks_for)).collect();
    if rows.is_empty() {
        let certificate = Certificate { objective: 0.0, lower_bound: Some(0.0) };
        let nothing = vec![0.0; start.len()];
        let found = Solution { theta: nothing, certificate, stop: Stop::Converged, iterations: 0, evaluations: 0 };
        return Ok((found, spec.solver.name()));
    }
    let x: Cow<'_, Features<'_>> = match against {
        None => Cow::Borrowed(data.x()),
        Some(_) => Cow::Owned(data.x().take_rows(&rows)),
    };
    let weights = weights.map(|w| rows.iter().map(|&i| w[i as usize]).collect::<Vec<f64>>().into());
    // λ and ε of one vector w: the two columns ±w/2 have half its square.
    let penalty = match spec.penalty {
        AnyPenalty::Ridge(_) | AnyPenalty::PairwiseRidge(_) => {
            spec.penalty.with_lambda(2.0 * spec.penalty.lambda().unwrap_or(0.0))
        }
        other => other,
    };
    let (penalty, epsilon, shared) = (penalty.as_dyn(), 2.0 * spec.epsilon, None);
    let task = Task { x: &x, y: &y, classes: 2, weights, penalty, epsilon, shared, proof };
    let two: Vec<f64> = start.iter().flat_map(|w| [-0.5 * w, 0.5 * w]).collect();
    let (mut found, solver) = spec.solve_task(&task, two, watch)?;
    found.theta = found.theta.chunks_exact(2).map(|pair| pair[1] - pair[0]).collect();
    Ok((found, solver))
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
    watch: &'t mut Watch<'w>,
    parts: Vec<Progress>,
    stopped: bool,
}

impl<'t, 'w> Tally<'t, 'w> {
    /// Problems that have not begun count with their loss at W = 0.
    fn new(
        spec: &Spec,
        data: &Dataset<'_>,
        weights: Option<&[f64]>,
        sides: &[(usize, Option<usize>)],
        watch: &'t mut Watch<'w>,
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
        };
        Self { watch, parts: sides.iter().map(part).collect(), stopped: false }
    }

    /// One problem has got on.
    fn step(&mut self, number: usize, at: &Progress) -> std::ops::ControlFlow<()> {
        self.parts[number] = *at;
        self.report(at.inner)
    }

    /// Some problems, from number `first` on, have got on together.
    fn step_all(&mut self, first: usize, parts: &[Progress]) -> std::ops::ControlFlow<()> {
        self.parts[first..first + parts.len()].copy_from_slice(parts);
        self.report(parts.iter().any(|part| part.inner))
    }

    fn report(&mut self, inner: bool) -> std::ops::ControlFlow<()> {
        let mut sum = Progress { iteration: 0, evaluations: 0, objective: 0.0, relative_gap: Some(0.0), inner };
        let mut gap = Some(0.0);
        for part in &self.parts {
            sum.iteration += part.iteration;
            sum.evaluations += part.evaluations;
            sum.objective += part.objective;
            gap = gap.zip(part.relative_gap).map(|(sum, gap)| sum + gap * part.objective);
        }
        sum.relative_gap = gap.map(|gap| if sum.objective > 0.0 { gap / sum.objective } else { 0.0 });
        self.stopped = self.stopped || (self.watch)(&sum).is_break();
        if self.stopped { std::ops::ControlFlow::Break(()) } else { std::ops::ControlFlow::Continue(()) }
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
    }
}
