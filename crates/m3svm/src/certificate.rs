//! A proof of optimality that costs one pass: the Fenchel lower bound and the gap to it.

use serde::{Deserialize, Serialize};

use crate::engine::{LossSums, Rows};
use crate::error::{Error, Result};
use crate::intercept::polish;
use crate::interrupt::Heed;
use crate::loss::Shape;
use crate::penalty::{DualTerms, Penalty};
use crate::problem::Problem;
use crate::rounding::{length, of_sum};

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
        // Below this, numbers lose their digits, and nothing is known but that neither loss nor penalty is negative.
        const LEAST: f64 = 1e-290;
        let known = |bound: f64| if objective >= LEAST { bound.min(objective) } else { 0.0 };
        Self { objective, lower_bound: lower_bound.filter(|bound| !bound.is_nan()).map(known) }
    }

    /// (F − D)/F: how far above the optimum the objective can be at most. `None` without a bound, and where objective or bound are not
    /// finite.
    pub fn relative_gap(&self) -> Option<f64> {
        let bound = self.lower_bound.filter(|bound| bound.is_finite() && self.objective.is_finite())?;
        if self.objective == 0.0 {
            return Some(0.0);
        }
        Some(((self.objective - bound) / self.objective).max(0.0))
    }

    /// Refuses an objective that is not finite: nothing can be said about such a point.
    pub(crate) fn check(&self, iteration: usize) -> Result<()> {
        if self.objective.is_finite() { Ok(()) } else { Err(Error::diverged(self.objective, iteration)) }
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
        problem: &Problem<'_>,
        rounding: f64,
        objective: f64,
        sums: LossSums,
        penalty: &dyn Penalty,
        theta: &[f64],
        loss_grad: &[f64],
        dual: &[f64],
    ) -> Self {
        if !problem.penalty.convex() {
            return Self::new(objective, None);
        }
        let (m, epsilon) = (problem.weights_len(), problem.epsilon);
        let terms = penalty.dual_terms_beside(&theta[..m], problem.classes, &loss_grad[..m], epsilon, dual, sums.lost);
        let sum = sums.dual - rounding * sums.size;
        let dearer = 1.0 + of_sum(loss_grad.len());
        let slope = length(&loss_grad[m..]);
        let intercept = if problem.intercept { pay(slope, rounding * sums.mass, epsilon) } else { 0.0 };
        let slopes = Slopes { dual: sum, error: rounding * sums.reach, intercept, dearer };
        Self::new(objective, Some(slopes.bound(&terms, epsilon, objective)))
    }
}

/// What slopes of the loss bring to a lower bound, and what rounding may have added to it.
pub(crate) struct Slopes {
    /// Σ −ωℓ*(α).
    pub(crate) dual: f64,
    /// How far their gradient in W may be off, in Euclidean length.
    pub(crate) error: f64,
    /// What the ε-term pays for that in b at t = 1.
    pub(crate) intercept: f64,
    /// Squares of all entries of the gradient are added up: what rounding makes of that.
    pub(crate) dearer: f64,
}

impl Slopes {
    /// The best `t·dual − (what penalty and ε-term pay at t)`. Near the optimum t = 1 is best; far from it a smaller t saves the bound from
    /// being useless.
    pub(crate) fn bound(&self, terms: &DualTerms, epsilon: f64, objective: f64) -> f64 {
        let cost = |t: f64| self.dearer * (terms.cost(t, epsilon, self.error) + self.intercept * t * t);
        let bound = |t: f64| t * self.dual - cost(t);
        if terms.is_quadratic() {
            let whole = cost(1.0);
            let t = if whole > 0.0 { (0.5 * self.dual / whole).clamp(0.0, terms.limit) } else { terms.limit };
            return not_negative(t * self.dual - t * t * whole);
        }
        // Concave in t.
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
        not_negative(best)
    }
}

/// Neither loss nor penalty is ever negative.
fn not_negative(bound: f64) -> f64 {
    if bound.is_finite() { bound.max(0.0) } else { 0.0 }
}

/// The certificate of a point, whose intercept is made the best there is for its weights; where the fit is interrupted meanwhile, what is known
/// of the point as it is.
pub(crate) fn certify(problem: &Problem<'_>, rows: &mut dyn Rows, theta: &mut [f64]) -> Certificate {
    let before = if problem.heed.is_some() { theta.to_vec() } else { Vec::new() };
    let found = prove(problem, rows, theta);
    if !problem.heed.is_stopped() {
        return found;
    }
    theta.copy_from_slice(&before);
    close(problem, rows, theta, Certificate { objective: f64::INFINITY, lower_bound: None })
}

/// The same, and nothing of worth where the fit is interrupted.
pub(crate) fn prove(problem: &Problem<'_>, rows: &mut dyn Rows, theta: &mut [f64]) -> Certificate {
    problem.centre(theta);
    rows.relax(None);
    rows.place(theta);
    polish(problem, rows, 0.0, theta);
    let mut grad = vec![0.0; theta.len()];
    let sums = rows.evaluate(true, &mut grad);
    let loss_grad = grad.clone();
    let objective = sums.value + problem.penalty_grad(problem.penalty, theta, &mut grad);
    Certificate::at(problem, rows.rounding(), objective, sums, problem.penalty, theta, &loss_grad, &[])
}

/// What is known of a point after an interruption, where so much was `known` before: the objective at least, and a proof where that
/// does not take long.
pub(crate) fn close(problem: &Problem<'_>, rows: &mut dyn Rows, theta: &mut [f64], known: Certificate) -> Certificate {
    rows.ignore_interrupts();
    let deaf = Problem { heed: Heed::default(), ..*problem };
    let mut found = known;
    if cost_of_proof(&deaf, rows) <= SOON {
        found = prove(&deaf, rows, theta);
    } else if !known.objective.is_finite() {
        found.objective = rows.exact_value_at(theta) + deaf.penalty_value(deaf.penalty, theta);
    }
    // Neither loss nor penalty is ever negative.
    let trivial = deaf.penalty.convex().then_some(0.0);
    let bounds = [found.lower_bound, known.lower_bound, trivial];
    Certificate::new(found.objective, bounds.into_iter().flatten().reduce(f64::max))
}

/// Multiply-adds that whoever waits for an interrupted fit will hardly notice: a few tenths of a second.
const SOON: f64 = 3e8;

/// Roughly how many multiply-adds [`certify`] takes as long as.
fn cost_of_proof(problem: &Problem<'_>, rows: &dyn Rows) -> f64 {
    let sizes = rows.sizes();
    let (n, c, d) = (sizes.rows as f64, problem.classes as f64, problem.features as f64);
    let products = sizes.stored as f64 * c;
    // Up to so many steps in the intercept alone.
    let steps = if problem.intercept { 30.0 } else { 1.0 };
    let pairs = if problem.loss.shape() == Shape::Star { n * c } else { 0.3 * n * c * c };
    2.0 * products + steps * (6.0 * n * c + pairs + 0.3 * c.powi(3)) + 10.0 * c * c * d
}

/// What a quadratic term of a given strength pays for a slope that is off by `error`: at most (slope + error)²/(4·strength). The square of
/// the quotient, since that of a small slope may vanish where the quotient does not.
pub(crate) fn pay(slope: f64, error: f64, strength: f64) -> f64 {
    match slope {
        0.0 if strength == 0.0 => 0.0,
        _ => (0.5 * (slope + error) / strength.sqrt()).powi(2),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_finite_proves_nothing() {
        let odd = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
        for objective in odd {
            for bound in odd.into_iter().chain([0.0, 1.0]) {
                let certificate = Certificate { objective, lower_bound: Some(bound) };
                assert_eq!(certificate.relative_gap(), None, "{certificate:?}");
                assert_eq!(Certificate::new(objective, Some(bound)).relative_gap(), None, "{certificate:?}");
            }
            assert!(Certificate { objective, lower_bound: None }.check(0).is_err());
            assert_eq!(Certificate { objective: 1.0, lower_bound: Some(objective) }.relative_gap(), None);
        }
        // The smaller of a number and NaN is the number.
        assert_eq!(Certificate::new(1.0, Some(f64::NAN)).relative_gap(), None);
        assert_eq!(Certificate::new(1.0, Some(1.5)).relative_gap(), Some(0.0));
        assert_eq!(Certificate::new(0.0, Some(0.0)).relative_gap(), Some(0.0));
        assert_eq!(Certificate::new(2.0, Some(1.5)).relative_gap(), Some(0.25));
        assert!(Certificate::new(2.0, None).check(3).is_ok());
    }

    #[test]
    fn small_slopes_are_paid_for() {
        // (1e-200)²/(4·1e-300): the square is no number.
        assert!((pay(1e-200, 0.0, 1e-300) / 2.5e-101 - 1.0).abs() < 1e-12);
        assert_eq!(pay(0.0, 0.0, 0.0), 0.0);
        assert!(pay(1e200, 0.0, 1e-300).is_infinite());
    }
}
