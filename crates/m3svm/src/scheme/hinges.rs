//! One-vs-rest and one-vs-one with a hinge and a ridge, by the solver that walks many such problems side by side.

use std::borrow::Cow;
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use super::{Scheme, Tally};
use crate::dataset::Dataset;
use crate::error::Result;
use crate::features::Features;
use crate::loss::AnyLoss;
use crate::penalty::AnyPenalty;
use crate::reduce::Reduction;
use crate::risk::Risk;
use crate::solver::sides::{self, Classes, Shared, Terms, WatchAll, descent};
use crate::solver::{AnySolver, DESCENT, Limits, Newton, Progress, Solution, Stop};
use crate::spec::Spec;

/// Rows times problems that are solved at the same time. Each takes six numbers, so this is 200 MB.
const AT_ONCE: usize = 1 << 22;

/// Problems that [`sides`] can solve.
pub(super) struct Hinges<'a> {
    spec: &'a Spec,
    data: &'a Dataset<'a>,
    weights: Option<&'a [f64]>,
    delta: f64,
    lambda: f64,
    /// Whether the optima are to be proven.
    proof: bool,
}

impl<'a> Hinges<'a> {
    /// `None` where loss, penalty or solver are others.
    pub(super) fn of(spec: &'a Spec, data: &'a Dataset<'a>, weights: Option<&'a [f64]>, proof: bool) -> Option<Self> {
        let lambda = match spec.penalty {
            AnyPenalty::Ridge(ridge) => ridge.lambda,
            AnyPenalty::None(_) => 0.0,
            _ => return None,
        };
        let (AnyLoss::SmoothHinge(hinge), AnySolver::Auto | AnySolver::Newton(_)) = (spec.loss, spec.solver) else {
            return None;
        };
        Some(Self { spec, data, weights, delta: hinge.delta, lambda, proof })
    }

    /// Solves all problems and says by which solver. `start` has one column per scorer.
    pub(super) fn solve(
        &self,
        sides: &[(usize, Option<usize>)],
        start: &[f64],
        tally: &Mutex<Tally<'_, '_>>,
    ) -> Result<Vec<(Solution, &'static str)>> {
        let newton = AnySolver::Newton(Newton {}).name();
        let descends = self.spec.scheme == Scheme::OneVsRest && self.suits_descent(start);
        let first = if descends { DESCENT } else { newton };
        let mut found = match self.spec.scheme {
            Scheme::OneVsOne if self.delta == 0.0 => self.solve_few_rows(sides, tally),
            _ if descends => self.descend(sides, tally),
            _ => vec![None; sides.len()],
        };
        let mut open = Vec::new();
        for (number, (&side, part)) in sides.iter().zip(&mut found).enumerate() {
            let given = || start.iter().skip(number).step_by(sides.len()).copied().collect();
            match part.take() {
                Some(proven) if proven.stop == Stop::Converged => *part = Some(proven),
                Some(near) if near.certificate.objective.is_finite() => {
                    open.push(Problem { number, side, start: near.theta });
                }
                _ => open.push(Problem { number, side, start: given() }),
            }
        }
        let mut found: Vec<_> = found.into_iter().map(|part| part.map(|part| (part, first))).collect();
        let numbers: Vec<usize> = open.iter().map(|problem| problem.number).collect();
        for (number, part) in numbers.into_iter().zip(self.solve_reduced(open, tally)?) {
            found[number] = Some((part, newton));
        }
        Ok(found.into_iter().flatten().collect())
    }

    /// Solves pairs of classes with few rows, with or without a proof; `None` for the others.
    fn solve_few_rows(&self, sides: &[(usize, Option<usize>)], tally: &Mutex<Tally<'_, '_>>) -> Vec<Option<Solution>> {
        let classes = Classes::new(self.data.x(), self.data.y(), self.data.classes().len());
        let tally = || tally.lock().unwrap_or_else(PoisonError::into_inner);
        let solve = |(number, &(k, against)): (usize, &(usize, Option<usize>))| {
            let l = against?;
            if tally().stopped {
                return None;
            }
            let weights = classes.rows(k, l).map(|i| self.weights.map_or(1.0, |w| w[i])).collect();
            let part = classes.solve(k, l, &self.terms(Cow::Owned(weights), 0.0), self.spec.tol)?;
            // Who wants to stop is heard before the next pair.
            let inner = part.stop != Stop::Converged;
            let _ = tally().step(number, &Progress { inner, ..progress(&part) });
            Some(part)
        };
        sides.par_iter().enumerate().map(solve).collect()
    }

    /// Descent keeps no intercept, counts no Newton steps and cannot begin where others have ended.
    fn suits_descent(&self, start: &[f64]) -> bool {
        let Spec { intercept, epsilon, max_iter, solver, .. } = *self.spec;
        let is_plain = self.delta == 0.0 && !intercept && self.lambda + epsilon > 0.0;
        let is_free = matches!(solver, AnySolver::Auto) && max_iter.is_none();
        is_plain && is_free && self.data.x().is_sparse() && start.iter().all(|w| *w == 0.0)
    }

    /// Solves classes against the rest by descent in the dual; `None` where that takes too long.
    fn descend(&self, sides: &[(usize, Option<usize>)], tally: &Mutex<Tally<'_, '_>>) -> Vec<Option<Solution>> {
        let (x, y) = (self.data.x(), self.data.y());
        let weights = self.weights.map_or_else(|| vec![1.0; y.len()].into(), Cow::Borrowed);
        let (terms, lengths) = (self.terms(weights, 0.0), x.lengths());
        let tally = || tally.lock().unwrap_or_else(PoisonError::into_inner);
        let solve = |(number, &(k, _)): (usize, &(usize, Option<usize>))| {
            let signs: Vec<f64> = y.iter().map(|&y| sign(y as usize == k)).collect();
            // Who wants to stop is heard while it goes on.
            let go_on = || {
                let mut tally = tally();
                let now = Progress { inner: true, ..tally.parts[number] };
                tally.step(number, &now).is_continue()
            };
            let part = descent::solve(x, &lengths, &signs, &terms, self.spec.tol, &go_on);
            let proven = part.stop == Stop::Converged;
            let mut tally = tally();
            let _ = tally.step(number, &Progress { inner: !proven, ..progress(&part) });
            // What is left open starts from nothing, like any other cold start.
            (proven || tally.stopped).then_some(part)
        };
        sides.par_iter().enumerate().map(solve).collect()
    }

    /// Solves problems in the row space of the data, where that is smaller.
    fn solve_reduced(&self, mut problems: Vec<Problem>, tally: &Mutex<Tally<'_, '_>>) -> Result<Vec<Solution>> {
        if problems.is_empty() {
            return Ok(Vec::new());
        }
        let spec = self.spec;
        let risk = Risk::new(self.data, spec.loss.as_dyn(), spec.penalty.as_dyn(), spec.epsilon, spec.intercept);
        let Some(reduction) = Reduction::of(&risk, &spec.solver) else {
            return self.solve_in(self.data.x(), 0.0, &problems, tally);
        };
        let columns = problems.len();
        let starts = side_by_side(problems.iter().map(|problem| &problem.start[..]).collect());
        let starts = reduction.project(&starts, columns);
        for (at, problem) in problems.iter_mut().enumerate() {
            problem.start = starts.iter().skip(at).step_by(columns).copied().collect();
        }
        let mut found = self.solve_in(reduction.features(), reduction.rounding(), &problems, tally)?;
        let thetas = side_by_side(found.iter().map(|part| &part.theta[..]).collect());
        let lifted = reduction.lift(&thetas, columns);
        for (at, part) in found.iter_mut().enumerate() {
            part.theta = lifted.iter().skip(at).step_by(columns).copied().collect();
        }
        Ok(found)
    }

    fn solve_in(
        &self,
        x: &Features<'_>,
        inexact: f64,
        problems: &[Problem],
        tally: &Mutex<Tally<'_, '_>>,
    ) -> Result<Vec<Solution>> {
        let y = self.data.y();
        let tally = || tally.lock().unwrap_or_else(PoisonError::into_inner);
        if self.spec.scheme == Scheme::OneVsOne {
            // Few rows each: every pair on its own.
            let pair = |problem: &Problem| {
                let mut report = |parts: &[Progress]| tally().step(problem.number, &parts[0]);
                self.solve_pair(x, inexact, problem, &mut report)
            };
            let parts = problems.par_iter().map(pair).collect::<Result<Vec<_>>>()?;
            return Ok(parts.into_iter().flatten().collect());
        }
        let mut found = Vec::new();
        for some in problems.chunks((AT_ONCE / y.len().max(1)).max(2)) {
            let first = found.len();
            let signs = |problem: &Problem| y.iter().map(|&y| sign(y as usize == problem.side.0)).collect();
            let start = side_by_side(some.iter().map(|problem| &problem.start[..]).collect());
            let weights = self.weights.map_or_else(|| vec![1.0; y.len()].into(), Cow::Borrowed);
            let mut report = |parts: &[Progress]| tally().step_all(first, parts);
            let shared = Shared { x, terms: self.terms(weights, inexact), tol: self.spec.tol };
            found.extend(self.minimize(&shared, some.iter().map(signs).collect(), &start, &mut report)?);
        }
        Ok(found)
    }

    /// One scorer of two classes, on their rows alone.
    fn solve_pair(
        &self,
        x: &Features<'_>,
        inexact: f64,
        problem: &Problem,
        watch: &mut WatchAll<'_>,
    ) -> Result<Vec<Solution>> {
        let (y, (k, against)) = (self.data.y(), problem.side);
        let takes_part = |y: u32| y as usize == k || Some(y as usize) == against;
        let rows: Vec<u32> = (0..y.len() as u32).filter(|&i| takes_part(y[i as usize])).collect();
        let signs = rows.iter().map(|&i| sign(y[i as usize] as usize == k)).collect();
        let weights = rows.iter().map(|&i| self.weights.map_or(1.0, |w| w[i as usize])).collect();
        let x = x.take_rows(&rows);
        let shared = Shared { x: &x, terms: self.terms(Cow::Owned(weights), inexact), tol: self.spec.tol };
        self.minimize(&shared, vec![signs], &problem.start, watch)
    }

    fn terms<'w>(&self, weights: Cow<'w, [f64]>, inexact: f64) -> Terms<'w> {
        let Spec { epsilon, intercept, .. } = *self.spec;
        Terms { weights, delta: self.delta, lambda: self.lambda, epsilon, intercept, inexact }
    }

    fn minimize(
        &self,
        shared: &Shared<'_>,
        signs: Vec<Vec<f64>>,
        start: &[f64],
        watch: &mut WatchAll<'_>,
    ) -> Result<Vec<Solution>> {
        let Spec { tol, seed, .. } = *self.spec;
        let limits = Limits { tol, max_iter: self.max_iter(), seed, proof: self.proof };
        sides::minimize(shared, signs, start, &limits, watch)
    }

    fn max_iter(&self) -> usize {
        self.spec.max_iter.unwrap_or(AnySolver::Newton(Newton {}).default_max_iter())
    }
}

/// One scorer: the class it speaks for and the one it speaks against (`None`: all others), and where to start.
struct Problem {
    number: usize,
    side: (usize, Option<usize>),
    start: Vec<f64>,
}

/// How far a problem has come that has ended.
fn progress(part: &Solution) -> Progress {
    Progress {
        iteration: part.iterations,
        evaluations: part.evaluations,
        objective: part.certificate.objective,
        relative_gap: part.certificate.relative_gap(),
        inner: false,
    }
}

/// Vectors of the same length as the columns of a row-major matrix.
fn side_by_side(columns: Vec<&[f64]>) -> Vec<f64> {
    let length = columns.first().map_or(0, |column| column.len());
    (0..length).flat_map(|j| columns.iter().map(move |column| column[j])).collect()
}

fn sign(speaks_for: bool) -> f64 {
    if speaks_for { 1.0 } else { -1.0 }
}
