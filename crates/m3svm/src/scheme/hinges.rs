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
use crate::solver::sides::{self, Shared, WatchAll};
use crate::solver::{AnySolver, Limits, Newton, Progress, Solution};
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
    /// The data in their row space, where that is smaller.
    reduction: Option<Reduction>,
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
        let risk = Risk::new(data, spec.loss.as_dyn(), spec.penalty.as_dyn(), spec.epsilon, spec.intercept);
        let reduction = Reduction::of(&risk, &spec.solver);
        Some(Self { spec, data, weights, delta: hinge.delta, lambda, proof, reduction })
    }

    /// Solves all problems. `start` has one column per scorer.
    pub(super) fn solve(
        &self,
        sides: &[(usize, Option<usize>)],
        start: &[f64],
        tally: &Mutex<Tally<'_, '_>>,
    ) -> Result<Vec<Solution>> {
        let columns = sides.len();
        let Some(reduction) = &self.reduction else {
            return self.solve_in(self.data.x(), sides, start, tally);
        };
        let mut found = self.solve_in(reduction.features(), sides, &reduction.project(start, columns), tally)?;
        let parameters = found.first().map_or(0, |part| part.theta.len());
        let thetas: Vec<f64> = (0..parameters).flat_map(|j| found.iter().map(move |part| part.theta[j])).collect();
        let lifted = reduction.lift(&thetas, columns);
        for (number, part) in found.iter_mut().enumerate() {
            part.theta = lifted.iter().skip(number).step_by(columns).copied().collect();
        }
        Ok(found)
    }

    fn solve_in(
        &self,
        x: &Features<'_>,
        sides: &[(usize, Option<usize>)],
        start: &[f64],
        tally: &Mutex<Tally<'_, '_>>,
    ) -> Result<Vec<Solution>> {
        let (columns, y) = (sides.len(), self.data.y());
        let tally = || tally.lock().unwrap_or_else(PoisonError::into_inner);
        if self.spec.scheme == Scheme::OneVsOne {
            // Few rows each: every pair on its own.
            let pair = |(number, side): (usize, &(usize, Option<usize>))| {
                let own: Vec<f64> = start.iter().skip(number).step_by(columns).copied().collect();
                let mut report = |parts: &[Progress]| tally().step(number, &parts[0]);
                self.solve_pair(x, *side, &own, &mut report)
            };
            let parts = sides.par_iter().enumerate().map(pair).collect::<Result<Vec<_>>>()?;
            return Ok(parts.into_iter().flatten().collect());
        }
        let mut found = Vec::new();
        for some in sides.chunks((AT_ONCE / y.len().max(1)).max(2)) {
            let first = found.len();
            let signs = some.iter().map(|&(k, _)| y.iter().map(|&y| sign(y as usize == k)).collect()).collect();
            let rows = start.chunks_exact(columns);
            let own: Vec<f64> = rows.flat_map(|row| &row[first..first + some.len()]).copied().collect();
            let weights = self.weights.map_or_else(|| vec![1.0; y.len()].into(), Cow::Borrowed);
            let mut report = |parts: &[Progress]| tally().step_all(first, parts);
            found.extend(self.minimize(x, weights, signs, &own, &mut report)?);
        }
        Ok(found)
    }

    /// One scorer of two classes, on their rows alone.
    fn solve_pair(
        &self,
        x: &Features<'_>,
        (k, against): (usize, Option<usize>),
        start: &[f64],
        watch: &mut WatchAll<'_>,
    ) -> Result<Vec<Solution>> {
        let y = self.data.y();
        let takes_part = |y: u32| y as usize == k || Some(y as usize) == against;
        let rows: Vec<u32> = (0..y.len() as u32).filter(|&i| takes_part(y[i as usize])).collect();
        let signs = rows.iter().map(|&i| sign(y[i as usize] as usize == k)).collect();
        let weights = rows.iter().map(|&i| self.weights.map_or(1.0, |w| w[i as usize])).collect();
        self.minimize(&x.take_rows(&rows), Cow::Owned(weights), vec![signs], start, watch)
    }

    fn minimize(
        &self,
        x: &Features<'_>,
        weights: Cow<'_, [f64]>,
        signs: Vec<Vec<f64>>,
        start: &[f64],
        watch: &mut WatchAll<'_>,
    ) -> Result<Vec<Solution>> {
        let Spec { epsilon, intercept, tol, seed, .. } = *self.spec;
        let max_iter = self.spec.max_iter.unwrap_or(AnySolver::Newton(Newton {}).default_max_iter());
        let inexact = self.reduction.as_ref().map_or(0.0, Reduction::rounding);
        let (delta, lambda) = (self.delta, self.lambda);
        let shared = Shared { x, weights, delta, lambda, epsilon, intercept, tol, inexact };
        sides::minimize(&shared, signs, start, &Limits { tol, max_iter, seed, proof: self.proof }, watch)
    }
}

fn sign(speaks_for: bool) -> f64 {
    if speaks_for { 1.0 } else { -1.0 }
}
