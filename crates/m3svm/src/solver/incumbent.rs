//! The best point that a solver has come by and, separately, the best bound.

use super::{Progress, Solution, Stop};
use crate::certificate::{Certificate, certify, close};
use crate::engine::Rows;
use crate::objective::Objective;
use crate::problem::Problem;

/// What is returned, whatever comes after it.
#[derive(Clone, Debug)]
pub(super) struct Incumbent {
    certificate: Certificate,
    theta: Vec<f64>,
}

impl Incumbent {
    /// Nothing is known of the point to start from.
    pub(super) fn new(theta: &[f64]) -> Self {
        Self { certificate: Certificate { objective: f64::INFINITY, lower_bound: None }, theta: theta.to_vec() }
    }

    pub(super) fn objective(&self) -> f64 {
        self.certificate.objective
    }

    pub(super) fn lower_bound(&self) -> Option<f64> {
        self.certificate.lower_bound
    }

    pub(super) fn theta(&self) -> &[f64] {
        &self.theta
    }

    /// Takes a point if it is better.
    pub(super) fn offer(&mut self, objective: f64, theta: &[f64]) {
        if objective < self.certificate.objective {
            self.place(objective, theta);
        }
    }

    /// Takes a point whether it is better or not.
    pub(super) fn place(&mut self, objective: f64, theta: &[f64]) {
        self.certificate.objective = objective;
        self.theta.copy_from_slice(theta);
    }

    /// Takes a bound if it is better.
    pub(super) fn raise(&mut self, bound: Option<f64>) {
        self.certificate.lower_bound = self.certificate.lower_bound.into_iter().chain(bound).reduce(f64::max);
    }

    /// Replaces the objective of the point by one that is more exact.
    pub(super) fn correct(&mut self, objective: f64) {
        self.certificate.objective = objective;
    }

    /// Has the point proven by someone who may move it; the best bound stays.
    pub(super) fn prove(&mut self, prove: impl FnOnce(&mut [f64], Certificate) -> Certificate) {
        let known = self.certificate;
        self.certificate = prove(&mut self.theta, known);
        self.raise(known.lower_bound);
    }

    /// Takes a point with what it proves by itself, if that is better.
    pub(super) fn certify(&mut self, f: &dyn Objective, theta: &[f64]) {
        let mut theta = theta.to_vec();
        let found = f.certify(&mut theta);
        self.offer(found.objective, &theta);
        self.raise(found.lower_bound);
    }

    pub(super) fn relative_gap(&self) -> Option<f64> {
        self.certificate.relative_gap()
    }

    pub(super) fn is_proven(&self, tol: f64) -> bool {
        self.relative_gap().is_some_and(|gap| gap <= tol)
    }

    pub(super) fn progress(&self, iteration: usize, evaluations: usize) -> Progress {
        let (objective, relative_gap) = (self.objective(), self.relative_gap());
        Progress { iteration, evaluations, objective, relative_gap, inner: false, passes: None }
    }

    /// The outcome of a solver that sees its rows: after an interruption with a proof where that does not take long, and `unproven`, with one
    /// made now.
    pub(super) fn ended(
        mut self,
        problem: &Problem<'_>,
        rows: &mut dyn Rows,
        stop: Stop,
        unproven: bool,
        (iterations, mut evaluations): (usize, usize),
    ) -> Solution {
        if stop == Stop::Interrupted {
            self.prove(|theta, known| close(problem, rows, theta, known));
        } else if unproven {
            self.prove(|theta, _| certify(problem, rows, theta));
            evaluations += 1;
        }
        self.solution(stop, iterations, evaluations)
    }

    pub(super) fn solution(self, stop: Stop, iterations: usize, evaluations: usize) -> Solution {
        let certificate = Certificate::new(self.certificate.objective, self.certificate.lower_bound);
        Solution { theta: self.theta, certificate, stop, iterations, evaluations }
    }
}
