//! A proof of optimality that costs one pass: the Fenchel lower bound and the gap to it.

use serde::{Deserialize, Serialize};

use crate::kernel::dot;
use crate::penalty::Penalty;
use crate::risk::{LossSums, Risk};
use crate::rounding::of_sum;

/// `lower_bound ≤ min F ≤ objective`, whatever the solver did.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Certificate {
    /// F at the returned point.
    pub objective: f64,
    /// A value that no point can go below; `None` where the problem is not convex (p < 1), or where none was asked for.
    pub lower_bound: Option<f64>,
}

impl Certificate {
    /// A point and the best bound that is known. Rounding can put the value of a point a hair below the optimum, and a bound above that
    /// value would be no news.
    pub(crate) fn new(objective: f64, lower_bound: Option<f64>) -> Self {
        Self { objective, lower_bound: lower_bound.map(|bound| bound.min(objective)) }
    }

    /// (F − D)/F: how far above the optimum the objective can be at most. `None` without a bound.
    pub fn relative_gap(&self) -> Option<f64> {
        let bound = self.lower_bound?;
        if self.objective == 0.0 {
            return Some(0.0);
        }
        Some(((self.objective - bound) / self.objective).max(0.0))
    }

    /// The bound from the gradient of the loss at a point. For any α in the domain of ℓ*, any split of `X̃ᵀα` over the pairs
    /// gives one; `penalty` (perhaps a relaxed form of the risk's own) says how to split.
    ///
    /// ```text
    /// F ≥ t·Σ −ωℓ*(α) + min_W [t⟨S, W⟩ + R(W) + ε‖W‖²] + min_b [t⟨s, b⟩ + ε‖b‖²]      for every t in [0, 1]
    /// ```
    ///
    /// The sum and the gradient (S, s) are only known up to rounding. What that may amount to (see [`crate::rounding`]) is taken off, the
    /// part of the gradient as if all of it had to be paid by the quadratic terms.
    pub(crate) fn at(
        risk: &Risk<'_>,
        objective: f64,
        sums: LossSums,
        penalty: &dyn Penalty,
        theta: &[f64],
        loss_grad: &[f64],
        dual: &[f64],
    ) -> Self {
        if !risk.penalty.convex() {
            return Self::new(objective, None);
        }
        let m = risk.weights_len();
        let terms = penalty.dual_terms(&theta[..m], risk.classes, &loss_grad[..m], risk.epsilon, dual);
        let error = risk.rounding();
        let sum = sums.dual - error * sums.size;
        // Squares of all entries of the gradient are added up, one way or the other.
        let dearer = 1.0 + of_sum(loss_grad.len());
        let slope = dot(&loss_grad[m..], &loss_grad[m..]).sqrt();
        let bias = if risk.intercept { pay(slope, error * sums.mass, risk.epsilon) } else { 0.0 };
        let bound = |t: f64| t * sum - dearer * (terms.cost(t, risk.epsilon, error * sums.reach) + bias * t * t);
        // Concave in t. Near the optimum t = 1 is best; far from it a smaller t saves the bound from being useless.
        let mut best = bound(terms.limit);
        let (mut low, mut high) = (0.0, terms.limit);
        let steep = terms.beyond.iter().copied().fold(0.0, f64::max);
        if steep > 0.0 {
            // Where no entry is steeper than its kink.
            best = best.max(bound((terms.kink / steep).min(terms.limit)));
        }
        let searches = if best > 0.99 * objective && terms.beyond.is_empty() { 0 } else { 60 };
        for _ in 0..searches {
            let (a, b) = (low + (high - low) / 3.0, high - (high - low) / 3.0);
            let (at_a, at_b) = (bound(a), bound(b));
            best = best.max(at_a).max(at_b);
            if at_a < at_b { low = a } else { high = b }
        }
        // Neither loss nor penalty is ever negative.
        Self::new(objective, Some(if best.is_finite() { best.max(0.0) } else { 0.0 }))
    }
}

/// What a quadratic term of a given strength pays for a slope that is off by `error`: at most (slope + error)²/(4·strength).
pub(crate) fn pay(slope: f64, error: f64, strength: f64) -> f64 {
    match slope {
        0.0 if strength == 0.0 => 0.0,
        _ => (slope + error).powi(2) / (4.0 * strength),
    }
}
