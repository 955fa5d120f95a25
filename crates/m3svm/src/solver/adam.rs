//! Adam, the paper's own algorithm: for comparison, for streams, and as the bridge to networks.

use std::ops::ControlFlow;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use super::lbfgs::Best;
use super::{Limits, Progress, Solution, Stop, Watch};
use crate::error::{Error, Result};
use crate::objective::Objective;

/// Adam with β = (0.9, 0.999), full batch unless `batch` is set.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Adam {
    /// Step size.
    pub learning_rate: f64,
    /// Rows per step; all of them if `None`.
    pub batch: Option<usize>,
}

impl Default for Adam {
    fn default() -> Self {
        Self { learning_rate: 0.01, batch: None }
    }
}

impl Adam {
    pub(crate) fn check(&self) -> Result<()> {
        if !(self.learning_rate.is_finite() && self.learning_rate > 0.0) {
            return Err(Error::param("learning-rate", self.learning_rate, "be a finite number greater than 0"));
        }
        match self.batch {
            Some(0) => Err(Error::param("batch", 0, "be at least 1")),
            _ => Ok(()),
        }
    }

    /// Runs `max_iter` epochs from `start`, or fewer if the certificate is met earlier.
    pub fn minimize(
        &self,
        f: &dyn Objective,
        start: Vec<f64>,
        limits: &Limits,
        watch: &mut Watch<'_>,
    ) -> Result<Solution> {
        const CERTIFY_EVERY: usize = 100;
        let mut theta = start;
        let mut state = AdamState::default();
        let mut grad = vec![0.0; theta.len()];
        let mut rows: Vec<u32> = (0..f.terms() as u32).collect();
        let mut random = ChaCha8Rng::seed_from_u64(limits.seed);
        let mut best = Best::new(f, &theta);
        best.update(&theta, 0.0, &mut 0);
        let (mut epoch, mut evaluations) = (0, 0);
        let mut lowest = f64::INFINITY;
        let stop = loop {
            if epoch >= limits.max_iter {
                break Stop::IterationLimit;
            }
            let relative_gap = best.certificate.relative_gap();
            let here = Progress { iteration: epoch, evaluations, objective: lowest, relative_gap, inner: true };
            let pass = self.pass(f, &mut rows, &mut random, &mut state, &mut theta, &mut grad, &mut || watch(&here));
            let ControlFlow::Continue(value) = pass else { break Stop::Interrupted };
            epoch += 1;
            evaluations += 1;
            if !value.is_finite() {
                return Err(Error::Diverged { iteration: epoch });
            }
            lowest = lowest.min(value);
            if epoch % CERTIFY_EVERY == 0 && best.update(&theta, limits.tol, &mut evaluations) {
                break Stop::Converged;
            }
            let relative_gap = best.certificate.relative_gap();
            let progress = Progress { iteration: epoch, evaluations, objective: lowest, relative_gap, inner: false };
            if watch(&progress).is_break() {
                break Stop::Interrupted;
            }
        };
        let stop = if best.update(&theta, limits.tol, &mut evaluations) { Stop::Converged } else { stop };
        let certificate = best.certificate();
        Ok(Solution { theta: best.theta, certificate, stop, iterations: epoch, evaluations })
    }

    /// Goes over all terms once, in one step or in steps of `batch` terms, and asks between steps whether to go on. Returns the value
    /// on the way.
    pub(crate) fn pass(
        &self,
        f: &dyn Objective,
        rows: &mut [u32],
        random: &mut ChaCha8Rng,
        state: &mut AdamState,
        theta: &mut [f64],
        grad: &mut [f64],
        ask: &mut dyn FnMut() -> ControlFlow<()>,
    ) -> ControlFlow<(), f64> {
        let Some(batch) = self.batch.filter(|b| *b < rows.len()) else {
            let value = f.eval(theta, grad);
            state.step(self.learning_rate, grad, theta);
            return ControlFlow::Continue(value);
        };
        rows.shuffle(random);
        let mut value = 0.0;
        for part in rows.chunks(batch) {
            ask()?;
            // The average of the estimates along the pass, for display.
            value += f.eval_rows(part, theta, grad) * part.len() as f64 / rows.len() as f64;
            state.step(self.learning_rate, grad, theta);
        }
        ControlFlow::Continue(value)
    }
}

/// What Adam remembers between steps: running means of the gradient and of its squares. Empty before the first step.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AdamState {
    /// Mean of the gradient.
    pub first: Vec<f64>,
    /// Mean of the squares of its entries.
    pub second: Vec<f64>,
    /// Steps so far.
    pub steps: u64,
}

impl AdamState {
    fn step(&mut self, rate: f64, grad: &[f64], theta: &mut [f64]) {
        const BETA: (f64, f64) = (0.9, 0.999);
        self.first.resize(theta.len(), 0.0);
        self.second.resize(theta.len(), 0.0);
        self.steps += 1;
        // Beyond that the powers are 0 anyway.
        let steps = self.steps.min(1_000_000) as i32;
        let (a, b) = (1.0 - BETA.0.powi(steps), 1.0 - BETA.1.powi(steps));
        for (((t, g), m), v) in theta.iter_mut().zip(grad).zip(&mut self.first).zip(&mut self.second) {
            *m = BETA.0 * *m + (1.0 - BETA.0) * g;
            *v = BETA.1 * *v + (1.0 - BETA.1) * g * g;
            *t -= rate * (*m / a) / ((*v / b).sqrt() + 1e-8);
        }
    }
}
