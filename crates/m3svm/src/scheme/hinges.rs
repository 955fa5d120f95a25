//! One-vs-rest and one-vs-one with a hinge and a ridge, by the solver that walks many such problems side by side.

use std::borrow::Cow;
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use super::{Scheme, Tally};
use crate::certificate::Certificate;
use crate::dataset::Dataset;
use crate::engine::Sizes;
use crate::error::Result;
use crate::features::Features;
use crate::interrupt::Heed;
use crate::linalg::dot;
use crate::loss::Hinge;
use crate::model::raw_scores;
use crate::plan::{self, Binary};
use crate::problem::Problem;
use crate::reduce::Reduction;
use crate::risk::Risk;
use crate::solver::binary::dual_descent::{self, Effort};
use crate::solver::binary::{self, Classes, SharedTerms, Terms, WatchAll};
use crate::solver::{AnySolver, DualCoordinate, Limits, Newton, Progress, Solution, Stop};
use crate::spec::Spec;

/// Rows times problems that are solved at the same time. Each takes six numbers, so this is 200 MB.
const AT_ONCE: usize = 1 << 22;

/// Problems that [`binary`] can solve.
pub(super) struct Hinges<'a> {
    spec: &'a Spec,
    data: &'a Dataset<'a>,
    weights: Option<&'a [f64]>,
    problem: Problem<'a>,
    delta: f64,
    lambda: f64,
    /// Whether the optima are to be proven.
    proof: bool,
    heed: Heed<'a>,
}

impl<'a> Hinges<'a> {
    /// `None` where [`plan::binary`] says that they go another way.
    pub(super) fn of(
        spec: &'a Spec,
        data: &'a Dataset<'a>,
        weights: Option<&'a [f64]>,
        proof: bool,
        heed: Heed<'a>,
    ) -> Option<Self> {
        let (loss, penalty) = (spec.loss.as_dyn(), spec.penalty.as_dyn());
        let Spec { epsilon, intercept, .. } = *spec;
        let problem = Problem { loss, penalty, epsilon, intercept, classes: 2, features: data.x().cols(), heed };
        let goes = plan::binary(&spec.solver, &problem).pick == Binary::InStep;
        let (delta, lambda) = plan::binary_hinge(&problem).filter(|_| goes)?;
        Some(Self { spec, data, weights, problem, delta, lambda, proof, heed })
    }

    /// Solves all problems and says by which solver. `start` has one column per scorer.
    pub(super) fn solve(
        &self,
        sides: &[(usize, Option<usize>)],
        start: &[f64],
        tally: &Mutex<Tally<'_, '_>>,
    ) -> Result<Vec<(Solution, &'static str)>> {
        let spec = self.spec;
        let (newton, dual) = (AnySolver::Newton(Newton {}).name(), AnySolver::Dual(DualCoordinate {}).name());
        let asked = matches!(spec.solver, AnySolver::Dual(_));
        let warm = start.iter().any(|w| *w != 0.0);
        let (counts, sizes) = (spec.max_iter.is_some(), Sizes::of(self.data.x()));
        let is_rest = spec.scheme == Scheme::OneVsRest;
        let descends = is_rest && plan::binary_descends(&spec.solver, counts, warm, &self.problem, &sizes).pick;
        let first = if descends { dual } else { newton };
        let mut found = match spec.scheme {
            Scheme::OneVsOne if plan::pairs_by_products(&spec.solver, counts, &self.problem).pick => {
                self.solve_few_rows(sides, tally)
            }
            _ if descends => self.descend(sides, tally),
            _ => vec![None; sides.len()],
        };
        if asked {
            return self.as_asked(sides, start, found)?.into_iter().map(|part| Ok((part, dual))).collect();
        }
        let mut open = Vec::new();
        for (number, (&side, part)) in sides.iter().zip(&mut found).enumerate() {
            let given = || start.iter().skip(number).step_by(sides.len()).copied().collect();
            match part.take() {
                Some(proven) if proven.stop == Stop::Converged => *part = Some(proven),
                Some(stopped) if stopped.stop == Stop::Interrupted => *part = Some(stopped),
                Some(near) if near.certificate.objective.is_finite() => {
                    open.push(BinaryTask { number, side, start: near.theta });
                }
                _ => open.push(BinaryTask { number, side, start: given() }),
            }
        }
        let mut found: Vec<_> = found.into_iter().map(|part| part.map(|part| (part, first))).collect();
        let numbers: Vec<usize> = open.iter().map(|problem| problem.number).collect();
        for (number, part) in numbers.into_iter().zip(self.solve_reduced(open, tally)?) {
            found[number] = Some((part, newton));
        }
        Ok(found.into_iter().flatten().collect())
    }

    /// What descent has found where nothing is to follow it. Where an interruption came before a problem, or before descent got as far as the
    /// start, the start is what there is.
    fn as_asked(
        &self,
        sides: &[(usize, Option<usize>)],
        start: &[f64],
        found: Vec<Option<Solution>>,
    ) -> Result<Vec<Solution>> {
        let parts = found.into_iter().zip(sides).enumerate().map(|(number, (part, &side))| {
            if let Some(part) = &part
                && (part.stop == Stop::Converged || start.iter().all(|w| *w == 0.0))
            {
                return Ok(part.clone());
            }
            let own = start.iter().skip(number).step_by(sides.len()).copied().collect();
            let given = self.not_begun(&[BinaryTask { number, side, start: own }])?.remove(0);
            Ok(match part {
                Some(part) if part.certificate.objective <= given.certificate.objective => part,
                Some(part) => {
                    let certificate = Certificate::new(given.certificate.objective, part.certificate.lower_bound);
                    Solution { theta: given.theta, certificate, ..part }
                }
                None => given,
            })
        });
        parts.collect()
    }

    /// Solves pairs of classes with few rows, with or without a proof; `None` for the others.
    fn solve_few_rows(&self, sides: &[(usize, Option<usize>)], tally: &Mutex<Tally<'_, '_>>) -> Vec<Option<Solution>> {
        let classes = Classes::new(self.data.x(), self.data.y(), self.data.classes().len());
        let tally = || tally.lock().unwrap_or_else(PoisonError::into_inner);
        let solve = |(number, &(k, against)): (usize, &(usize, Option<usize>))| {
            let l = against?;
            if self.heed.is_stopped() {
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

    /// Solves classes against the rest by descent in the dual; `None` where that takes too long.
    fn descend(&self, sides: &[(usize, Option<usize>)], tally: &Mutex<Tally<'_, '_>>) -> Vec<Option<Solution>> {
        let (x, y) = (self.data.x(), self.data.y());
        let weights = self.weights.map_or_else(|| vec![1.0; y.len()].into(), Cow::Borrowed);
        let (terms, lengths) = (self.terms(weights, 0.0), x.lengths());
        let asked = matches!(self.spec.solver, AnySolver::Dual(_));
        let effort = if asked { Effort::asked(self.max_iter()) } else { Effort::attempt(y.len()) };
        // Rows that are kept by columns are put together once, and not by every problem.
        let all: Vec<u32> = (0..y.len() as u32).collect();
        let gathered = x.is_by_columns().then(|| x.take_rows(&all));
        let x = gathered.as_ref().unwrap_or(x);
        let tally = || tally.lock().unwrap_or_else(PoisonError::into_inner);
        let solve = |(number, &(k, _)): (usize, &(usize, Option<usize>))| {
            let signs: Vec<f64> = y.iter().map(|&y| sign(y as usize == k)).collect();
            if self.heed.is_stopped() {
                return None;
            }
            let part = dual_descent::solve(x, &lengths, &signs, &terms, self.spec.tol, effort, self.heed);
            let proven = part.stop == Stop::Converged;
            let mut tally = tally();
            let _ = tally.step(number, &Progress { inner: !proven, ..progress(&part) });
            // What is left open starts from nothing, like any other cold start.
            (proven || asked || tally.is_stopped()).then_some(part)
        };
        sides.par_iter().enumerate().map(solve).collect()
    }

    /// Solves problems in the row space of the data, where that is smaller.
    fn solve_reduced(&self, mut problems: Vec<BinaryTask>, tally: &Mutex<Tally<'_, '_>>) -> Result<Vec<Solution>> {
        if problems.is_empty() {
            return Ok(Vec::new());
        }
        if self.heed.is_stopped() {
            return self.not_begun(&problems);
        }
        let spec = self.spec;
        let risk = Risk::new(self.data, self.problem.loss, self.problem.penalty, spec.epsilon, spec.intercept);
        let reduces = plan::reduces(self.problem.penalty, &Sizes::of(self.data.x()), &spec.solver).pick;
        let Some(reduction) = reduces.then(|| Reduction::of(&risk)).flatten() else {
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
        problems: &[BinaryTask],
        tally: &Mutex<Tally<'_, '_>>,
    ) -> Result<Vec<Solution>> {
        let y = self.data.y();
        let tally = || tally.lock().unwrap_or_else(PoisonError::into_inner);
        if self.spec.scheme == Scheme::OneVsOne {
            // Few rows each: every pair on its own.
            let pair = |problem: &BinaryTask| {
                if self.heed.is_stopped() {
                    return self.not_begun(std::slice::from_ref(problem));
                }
                let mut report = |parts: &[Progress]| tally().step(problem.number, &parts[0]);
                self.solve_pair(x, inexact, problem, &mut report)
            };
            let parts = problems.par_iter().map(pair).collect::<Result<Vec<_>>>()?;
            return Ok(parts.into_iter().flatten().collect());
        }
        let mut found = Vec::new();
        for some in problems.chunks((AT_ONCE / y.len().max(1)).max(2)) {
            if self.heed.is_stopped() {
                found.extend(self.not_begun(some)?);
                continue;
            }
            let numbers: Vec<usize> = some.iter().map(|problem| problem.number).collect();
            let signs = |problem: &BinaryTask| y.iter().map(|&y| sign(y as usize == problem.side.0)).collect();
            let start = side_by_side(some.iter().map(|problem| &problem.start[..]).collect());
            let weights = self.weights.map_or_else(|| vec![1.0; y.len()].into(), Cow::Borrowed);
            let mut report = |parts: &[Progress]| tally().step_all(&numbers, parts);
            let shared = SharedTerms { x, terms: self.terms(weights, inexact), tol: self.spec.tol, heed: self.heed };
            found.extend(self.minimize(&shared, some.iter().map(signs).collect(), &start, &mut report)?);
        }
        Ok(found)
    }

    /// One scorer of two classes, on their rows alone.
    fn solve_pair(
        &self,
        x: &Features<'_>,
        inexact: f64,
        problem: &BinaryTask,
        watch: &mut WatchAll<'_>,
    ) -> Result<Vec<Solution>> {
        let (y, (k, against)) = (self.data.y(), problem.side);
        let takes_part = |y: u32| y as usize == k || Some(y as usize) == against;
        let rows: Vec<u32> = (0..y.len() as u32).filter(|&i| takes_part(y[i as usize])).collect();
        let signs = rows.iter().map(|&i| sign(y[i as usize] as usize == k)).collect();
        let weights = rows.iter().map(|&i| self.weights.map_or(1.0, |w| w[i as usize])).collect();
        let x = x.take_rows(&rows);
        let shared =
            SharedTerms { x: &x, terms: self.terms(Cow::Owned(weights), inexact), tol: self.spec.tol, heed: self.heed };
        self.minimize(&shared, vec![signs], &problem.start, watch)
    }

    /// What there is of problems that an interruption came before: the points to start from, with the bound that always holds.
    fn not_begun(&self, problems: &[BinaryTask]) -> Result<Vec<Solution>> {
        let y = self.data.y();
        let mut mass = vec![0.0; self.data.classes().len()];
        y.iter().enumerate().for_each(|(i, &k)| mass[k as usize] += self.weights.map_or(1.0, |w| w[i]));
        let (total, hinge) = (mass.iter().sum::<f64>(), Hinge::new(self.delta));
        let point = |problem: &BinaryTask| {
            let (theta, (k, against)) = (problem.start.clone(), problem.side);
            let objective = if theta.iter().all(|t| *t == 0.0) {
                hinge.value(1.0) * against.map_or(total, |l| mass[k] + mass[l])
            } else {
                self.objective(problem, hinge)?
            };
            let certificate = Certificate::new(objective, Some(0.0));
            Ok(Solution { theta, certificate, stop: Stop::Interrupted, iterations: 0, evaluations: 1 })
        };
        problems.iter().map(point).collect()
    }

    /// The objective at the point to start from.
    fn objective(&self, problem: &BinaryTask, hinge: Hinge) -> Result<f64> {
        let (y, x, (k, against)) = (self.data.y(), self.data.x(), problem.side);
        let takes_part = |i: &u32| against.is_none_or(|l| [k, l].contains(&(y[*i as usize] as usize)));
        let rows: Vec<u32> = (0..y.len() as u32).filter(takes_part).collect();
        let (w, b) = problem.start.split_at(x.cols());
        let scores = raw_scores(&x.take_rows(&rows), w, if b.is_empty() { &[0.0] } else { b })?;
        let loss = |(&i, z): (&u32, &f64)| {
            let margin = sign(y[i as usize] as usize == k) * z;
            self.weights.map_or(1.0, |w| w[i as usize]) * hinge.value(1.0 - margin)
        };
        let loss: f64 = rows.iter().zip(&scores).map(loss).sum();
        Ok(loss + self.lambda * dot(w, w) + self.spec.epsilon * dot(&problem.start, &problem.start))
    }

    fn terms<'w>(&self, weights: Cow<'w, [f64]>, inexact: f64) -> Terms<'w> {
        let Spec { epsilon, intercept, .. } = *self.spec;
        Terms {
            weights,
            delta: self.delta,
            lambda: self.lambda,
            epsilon,
            intercept,
            inexact,
            lost: self.data.x().lost(),
        }
    }

    fn minimize(
        &self,
        shared: &SharedTerms<'_>,
        signs: Vec<Vec<f64>>,
        start: &[f64],
        watch: &mut WatchAll<'_>,
    ) -> Result<Vec<Solution>> {
        let Spec { tol, seed, .. } = *self.spec;
        let limits = Limits { tol, max_iter: self.max_iter(), seed, proof: self.proof };
        binary::minimize(shared, signs, start, &limits, watch)
    }

    fn max_iter(&self) -> usize {
        let solver = plan::solver(&self.spec.solver, &self.problem).pick;
        self.spec.max_iter.unwrap_or(solver.default_max_iter())
    }
}

/// One scorer: the class it speaks for and the one it speaks against (`None`: all others), and where to start.
struct BinaryTask {
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
        passes: None,
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

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use std::ops::ControlFlow;

    use super::*;
    use crate::interrupt::Interrupt;
    use crate::method::Method;

    #[test]
    fn what_is_left_open_reports_under_its_own_number() {
        let x = vec![1.0, 0.2, 2.0, -0.3, 0.5, 3.0, 0.1, 4.0, -2.0, 0.7, -3.0, 0.1];
        let data = Dataset::from_labels(Features::dense(x, 6, 2).unwrap(), &["a", "a", "b", "b", "c", "c"]).unwrap();
        let spec = Method::Ovr.spec().with_usual_lambda();
        let sides = spec.scheme.sides(3);
        let mut watch = |_: &Progress| ControlFlow::Continue(());
        let interrupt = Interrupt::new(&mut watch);
        let hinges = Hinges::of(&spec, &data, None, true, interrupt.heed()).unwrap();
        let tally = Mutex::new(Tally::new(&spec, &data, None, &sides, &interrupt));
        // Descent has proven the others.
        let open = vec![BinaryTask { number: 2, side: sides[2], start: vec![0.0; 3] }];
        hinges.solve_in(data.x(), 0.0, &open, &tally).unwrap();
        let tally = tally.into_inner().unwrap();
        let steps: Vec<usize> = tally.parts.iter().map(|part| part.iteration).collect();
        assert!(steps[2] > 0 && steps[..2] == [0, 0], "{steps:?}");
    }
}
