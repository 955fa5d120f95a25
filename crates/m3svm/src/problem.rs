//! The objective but for its rows: what they pay by which loss, and what the weights pay.

use crate::interrupt::Heed;
use crate::linalg::{axpy, dot};
use crate::loss::Loss;
use crate::penalty::Penalty;

/// Terms and sizes of an objective. Whoever has the rows ([`crate::engine::Rows`]) has it, too.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Problem<'a> {
    pub(crate) loss: &'a dyn Loss,
    pub(crate) penalty: &'a dyn Penalty,
    /// ε.
    pub(crate) epsilon: f64,
    pub(crate) intercept: bool,
    pub(crate) classes: usize,
    pub(crate) features: usize,
    /// Whom loops ask whether they are still wanted.
    pub(crate) heed: Heed<'a>,
}

impl Problem<'_> {
    /// Numbers in W.
    pub(crate) fn weights_len(&self) -> usize {
        self.features * self.classes
    }

    /// Rows of parameters: features and, where there is one, the 1 of the intercept.
    pub(crate) fn width(&self) -> usize {
        self.features + usize::from(self.intercept)
    }

    /// Parameters.
    pub(crate) fn dim(&self) -> usize {
        self.width() * self.classes
    }

    /// R(W) + ε‖θ‖².
    pub(crate) fn penalty_value(&self, penalty: &dyn Penalty, theta: &[f64]) -> f64 {
        penalty.value(&theta[..self.weights_len()], self.classes) + self.epsilon * dot(theta, theta)
    }

    /// The same, adding the gradient.
    pub(crate) fn penalty_grad(&self, penalty: &dyn Penalty, theta: &[f64], grad: &mut [f64]) -> f64 {
        let m = self.weights_len();
        axpy(2.0 * self.epsilon, theta, grad);
        penalty.value_grad(&theta[..m], self.classes, &mut grad[..m]) + self.epsilon * dot(theta, theta)
    }

    /// Subtracts the class mean from every row of parameters. It changes neither loss nor pair distances, only lowers the
    /// ε-term (Theorem 2 of the paper: class vectors and intercepts sum to zero at the optimum). Penalties that see more of the weights
    /// than their distances choose another centre for them; the intercept is never penalised.
    pub(crate) fn centre(&self, theta: &mut [f64]) {
        if self.loss.shift_invariant() {
            let (weights, intercept) = theta.split_at_mut(self.weights_len());
            for row in weights.chunks_exact_mut(self.classes) {
                let centre = self.penalty.centre(row, self.epsilon);
                row.iter_mut().for_each(|v| *v -= centre);
            }
            let mean = intercept.iter().sum::<f64>() / self.classes as f64;
            intercept.iter_mut().for_each(|v| *v -= mean);
        }
    }
}
