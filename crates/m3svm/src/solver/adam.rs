//! Adam, the paper's own algorithm: for comparison, for streams, and as the bridge to networks.

use std::ops::ControlFlow;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use super::incumbent::Incumbent;
use super::{Limits, Progress, Solution, Stop, Watch};
use crate::error::{Error, Result};
use crate::objective::Objective;
use crate::parameter::parameters;
use crate::tuning::tuning;

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

tuning! {
    /// What Adam is tuned by, beside what users set.
    ADAM: AdamTuning {
        /// Epochs between two certificates, each of which costs an evaluation.
        certify_every: usize = 100, "epochs", "1 % more evaluations";
        /// What running means of the gradient and of its squares keep of themselves.
        beta: (f64, f64) = (0.9, 0.999), "shares", "the defaults of its authors";
        /// What is added to the root of the squares.
        epsilon: f64 = 1e-8, "gradients", "the default of its authors";
    }
}

parameters!(Adam {
    learning_rate: f64, "Step size of adam", "be a finite number greater than 0", |rate| rate.is_finite() && rate > 0.0;
    batch: Option<usize>, "Rows per step of adam", "be at least 1", |count| count >= 1.0;
});

impl Adam {
    /// Runs `max_iter` epochs from `start`, or fewer if the certificate is met earlier.
    pub fn minimize(
        &self,
        f: &dyn Objective,
        start: Vec<f64>,
        limits: &Limits,
        watch: &mut Watch<'_>,
    ) -> Result<Solution> {
        let mut theta = start;
        let mut state = AdamState::default();
        let mut grad = vec![0.0; theta.len()];
        let mut rows: Vec<u32> = (0..f.terms() as u32).collect();
        let mut random = ChaCha8Rng::seed_from_u64(limits.seed);
        let mut best = Incumbent::new(&theta);
        best.certify(f, &theta);
        let (mut epoch, mut evaluations) = (0, 0);
        let mut lowest = f64::INFINITY;
        let stop = loop {
            if epoch >= limits.max_iter {
                break Stop::IterationLimit;
            }
            let here = Progress { objective: lowest, inner: true, ..best.progress(epoch, evaluations) };
            let pass = self.pass(f, &mut rows, &mut random, &mut state, &mut theta, &mut grad, &mut || watch(&here));
            let ControlFlow::Continue(value) = pass else { break Stop::Interrupted };
            if f.is_interrupted() {
                break Stop::Interrupted;
            }
            epoch += 1;
            evaluations += 1;
            if !value.is_finite() {
                return Err(diverged(value, epoch));
            }
            lowest = lowest.min(value);
            if epoch % ADAM.certify_every == 0 {
                best.certify(f, &theta);
                evaluations += 1;
                if best.is_proven(limits.tol) {
                    break Stop::Converged;
                }
            }
            let progress = Progress { objective: lowest, ..best.progress(epoch, evaluations) };
            if watch(&progress).is_break() {
                break Stop::Interrupted;
            }
        };
        best.certify(f, &theta);
        best.solution(stop, epoch, evaluations + 1).settled(limits.tol, limits.proof)
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

/// Steps of a fixed length diverge by themselves if they are long.
pub(crate) fn diverged(value: f64, iteration: usize) -> Error {
    let likely = "features, weights or the learning rate are too large; scale or lower them";
    Error::Diverged { value, iteration, likely }
}

impl AdamState {
    fn step(&mut self, rate: f64, grad: &[f64], theta: &mut [f64]) {
        let (first, second) = ADAM.beta;
        self.first.resize(theta.len(), 0.0);
        self.second.resize(theta.len(), 0.0);
        self.steps += 1;
        // Beyond that the powers are 0 anyway.
        let steps = self.steps.min(1_000_000) as i32;
        let (a, b) = (1.0 - first.powi(steps), 1.0 - second.powi(steps));
        for (((t, g), m), v) in theta.iter_mut().zip(grad).zip(&mut self.first).zip(&mut self.second) {
            *m = first * *m + (1.0 - first) * g;
            *v = second * *v + (1.0 - second) * g * g;
            *t -= rate * (*m / a) / ((*v / b).sqrt() + ADAM.epsilon);
        }
    }
}
