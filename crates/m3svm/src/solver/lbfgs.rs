//! Limited-memory BFGS, for very many parameters and for objectives whose evaluation is a job elsewhere.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::line_search::search;
use super::{Limits, Progress, Solution, Stop, Watch};
use crate::certificate::Certificate;
use crate::error::{Error, Result};
use crate::kernel::{axpy, dot};
use crate::objective::Objective;

/// Quasi-Newton with a short memory.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lbfgs {
    /// Pairs of step and gradient change that are kept.
    pub memory: usize,
}

impl Default for Lbfgs {
    fn default() -> Self {
        Self { memory: 20 }
    }
}

/// Certificates cost an evaluation: ask for one every so many iterations.
const CERTIFY_EVERY: usize = 25;

impl Lbfgs {
    pub(crate) fn check(&self) -> Result<()> {
        if (1..=1000).contains(&self.memory) {
            return Ok(());
        }
        Err(Error::param("memory", self.memory, "be from 1 to 1000"))
    }

    /// Minimises from `start`.
    pub fn minimize(
        &self,
        f: &dyn Objective,
        start: Vec<f64>,
        limits: &Limits,
        watch: &mut Watch<'_>,
    ) -> Result<Solution> {
        let mut theta = start;
        let mut grad = vec![0.0; theta.len()];
        let mut value = f.eval(&theta, &mut grad);
        let mut evaluations = 1;
        let mut memory = Memory::new(self.memory);
        let mut best = Best::new(f, &theta);
        let mut iteration = 0;
        let (mut next, mut next_grad) = (theta.clone(), grad.clone());
        let stop = loop {
            if !value.is_finite() {
                return Err(Error::Diverged { iteration });
            }
            if iteration % CERTIFY_EVERY == 0 && best.update(&theta, limits.tol, &mut evaluations) {
                break Stop::Converged;
            }
            let progress = Progress {
                iteration,
                evaluations,
                objective: value,
                relative_gap: best.certificate.relative_gap(),
                inner: false,
            };
            if watch(&progress).is_break() {
                break Stop::Interrupted;
            }
            if iteration >= limits.max_iter {
                break Stop::IterationLimit;
            }
            let mut step = memory.direction(&grad);
            let mut slope = dot(&step, &grad);
            if slope >= 0.0 {
                memory.clear();
                step = grad.iter().map(|g| -g).collect();
                slope = -dot(&grad, &grad);
            }
            let first = if memory.is_empty() { 1.0 / dot(&grad, &grad).sqrt().max(1e-300) } else { 1.0 };
            let found = search(value, slope, first, |t| {
                next.copy_from_slice(&theta);
                axpy(t, &step, &mut next);
                evaluations += 1;
                let value = f.eval(&next, &mut next_grad);
                (value, dot(&next_grad, &step))
            });
            let Some(found) = found else {
                if memory.is_empty() {
                    break Stop::NoProgress;
                }
                memory.clear(); // Once more along the gradient before giving up.
                continue;
            };
            iteration += 1;
            let change: Vec<f64> = next_grad.iter().zip(&grad).map(|(a, b)| a - b).collect();
            step.iter_mut().for_each(|s| *s *= found.step);
            memory.push(step, change);
            std::mem::swap(&mut theta, &mut next);
            std::mem::swap(&mut grad, &mut next_grad);
            value = found.value;
        };
        let stop = if best.update(&theta, limits.tol, &mut evaluations) { Stop::Converged } else { stop };
        let certificate = best.certificate();
        Ok(Solution { theta: best.theta, certificate, stop, iterations: iteration, evaluations })
    }
}

/// The best certified point so far, with the best bound of all.
pub(super) struct Best<'a> {
    f: &'a dyn Objective,
    pub(super) theta: Vec<f64>,
    pub(super) certificate: Certificate,
}

impl<'a> Best<'a> {
    pub(super) fn new(f: &'a dyn Objective, theta: &[f64]) -> Self {
        let certificate = Certificate { objective: f64::INFINITY, lower_bound: None };
        Self { f, theta: theta.to_vec(), certificate }
    }

    /// What is known of it.
    pub(super) fn certificate(&self) -> Certificate {
        Certificate::new(self.certificate.objective, self.certificate.lower_bound)
    }

    /// Certifies a point; `true` if the gap is within `tol`.
    pub(super) fn update(&mut self, theta: &[f64], tol: f64, evaluations: &mut usize) -> bool {
        let mut theta = theta.to_vec();
        let found = self.f.certify(&mut theta);
        *evaluations += 1;
        if found.objective < self.certificate.objective {
            self.certificate.objective = found.objective;
            self.theta = theta;
        }
        if let Some(bound) = found.lower_bound {
            self.certificate.lower_bound = Some(self.certificate.lower_bound.map_or(bound, |b| b.max(bound)));
        }
        self.certificate.relative_gap().is_some_and(|gap| gap <= tol)
    }
}

struct Memory {
    pairs: VecDeque<(Vec<f64>, Vec<f64>, f64)>,
    room: usize,
}

impl Memory {
    fn new(room: usize) -> Self {
        Self { pairs: VecDeque::new(), room }
    }

    fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    fn clear(&mut self) {
        self.pairs.clear();
    }

    fn push(&mut self, step: Vec<f64>, change: Vec<f64>) {
        let product = dot(&step, &change);
        if product > 1e-14 * dot(&change, &change).sqrt() * dot(&step, &step).sqrt() {
            if self.pairs.len() == self.room {
                self.pairs.pop_front();
            }
            self.pairs.push_back((step, change, product));
        }
    }

    /// The two-loop recursion.
    fn direction(&self, grad: &[f64]) -> Vec<f64> {
        let mut q: Vec<f64> = grad.iter().map(|g| -g).collect();
        let mut alphas = Vec::with_capacity(self.pairs.len());
        for (s, y, sy) in self.pairs.iter().rev() {
            let alpha = dot(s, &q) / sy;
            axpy(-alpha, y, &mut q);
            alphas.push(alpha);
        }
        if let Some((_, y, sy)) = self.pairs.back() {
            let scale = sy / dot(y, y);
            q.iter_mut().for_each(|q| *q *= scale);
        }
        for ((s, y, sy), alpha) in self.pairs.iter().zip(alphas.iter().rev()) {
            let beta = dot(y, &q) / sy;
            axpy(alpha - beta, s, &mut q);
        }
        q
    }
}
