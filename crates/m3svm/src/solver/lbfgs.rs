//! Limited-memory BFGS, for very many parameters and for objectives whose evaluation is a job elsewhere.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::driver::{Iterate, drive};
use super::incumbent::Incumbent;
use super::line_search::search;
use super::{Limits, Progress, Solution, Stop, Watch};
use crate::error::Result;
use crate::linalg::{axpy, dot};
use crate::objective::Objective;
use crate::parameter::parameters;
use crate::tuning::tuning;

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

tuning! {
    /// What L-BFGS is tuned by, beside the search along its steps.
    LBFGS: LbfgsTuning {
        /// Iterations between two certificates, each of which costs an evaluation.
        certify_every: usize = 25, "iterations", "4 % more evaluations";
        /// Steps along which the gradient changes less are not remembered.
        flat: f64 = 1e-14, "lengths of step and change", "rounding of their product";
    }
}

parameters!(Lbfgs {
    memory: usize, "Steps that lbfgs remembers", "be from 1 to 1000", |count| (1.0..=1000.0).contains(&count);
});

impl Lbfgs {
    /// Minimises from `start`.
    pub fn minimize(
        &self,
        f: &dyn Objective,
        start: Vec<f64>,
        limits: &Limits,
        watch: &mut Watch<'_>,
    ) -> Result<Solution> {
        drive(LbfgsRun::new(self, f, start), limits, watch)
    }
}

/// One minimisation.
struct LbfgsRun<'a> {
    f: &'a dyn Objective,
    theta: Vec<f64>,
    grad: Vec<f64>,
    /// Room for the end of a step.
    next: Vec<f64>,
    next_grad: Vec<f64>,
    value: f64,
    memory: Memory,
    best: Incumbent,
    iterations: usize,
    evaluations: usize,
}

impl<'a> LbfgsRun<'a> {
    fn new(settings: &Lbfgs, f: &'a dyn Objective, theta: Vec<f64>) -> Self {
        let mut grad = vec![0.0; theta.len()];
        Self {
            f,
            value: f.eval(&theta, &mut grad),
            next: theta.clone(),
            next_grad: grad.clone(),
            memory: Memory::new(settings.memory),
            best: Incumbent::new(&theta),
            iterations: 0,
            evaluations: 1,
            theta,
            grad,
        }
    }
}

impl Iterate for LbfgsRun<'_> {
    /// The end of a step has been evaluated by the search along it. What is new is the proof.
    fn evaluate(&mut self) {
        if self.iterations.is_multiple_of(LBFGS.certify_every) && self.value.is_finite() && !self.is_interrupted() {
            self.best.certify(self.f, &self.theta);
            self.evaluations += 1;
        }
    }

    fn value(&self) -> f64 {
        self.value
    }

    fn best(&self) -> &Incumbent {
        &self.best
    }

    fn is_interrupted(&self) -> bool {
        self.f.is_interrupted()
    }

    fn progress(&self) -> Progress {
        Progress { objective: self.value, ..self.best.progress(self.iterations, self.evaluations) }
    }

    fn step(&mut self) -> bool {
        let Self { f, theta, grad, next, next_grad, .. } = self;
        let mut step = self.memory.direction(grad);
        let mut slope = dot(&step, grad);
        if slope >= 0.0 {
            self.memory.clear();
            step = grad.iter().map(|g| -g).collect();
            slope = -dot(grad, grad);
        }
        let first = if self.memory.is_empty() { 1.0 / dot(grad, grad).sqrt().max(1e-300) } else { 1.0 };
        let mut evaluations = 0;
        let found = search(self.value, slope, first, |t| {
            next.copy_from_slice(theta);
            axpy(t, &step, next);
            evaluations += 1;
            let value = f.eval(next, next_grad);
            // The search ends with what is no number.
            if f.is_interrupted() { (f64::NAN, f64::NAN) } else { (value, dot(next_grad, &step)) }
        });
        self.evaluations += evaluations;
        let Some(found) = found.filter(|_| !f.is_interrupted()) else {
            // Once more along the gradient before giving up.
            let again = !self.memory.is_empty();
            self.memory.clear();
            return again;
        };
        self.iterations += 1;
        let change: Vec<f64> = next_grad.iter().zip(&*grad).map(|(a, b)| a - b).collect();
        step.iter_mut().for_each(|s| *s *= found.step);
        self.memory.push(step, change);
        std::mem::swap(theta, next);
        std::mem::swap(grad, next_grad);
        self.value = found.value;
        true
    }

    fn finish(mut self, stop: Stop) -> Solution {
        self.best.certify(self.f, &self.theta);
        self.best.solution(stop, self.iterations, self.evaluations + 1)
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
        if product > LBFGS.flat * dot(&change, &change).sqrt() * dot(&step, &step).sqrt() {
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
