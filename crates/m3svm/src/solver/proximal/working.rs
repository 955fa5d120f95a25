//! Which weights may move in the next step.

use super::descent::violation;
use crate::kernel::axpy;
use crate::risk::Risk;

/// One parameter: feature (their number for the intercept) and class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Coordinate {
    class: u32,
    feature: u32,
}

impl Coordinate {
    pub(super) fn class(self) -> usize {
        self.class as usize
    }

    pub(super) fn feature(self) -> usize {
        self.feature as usize
    }

    /// Its place in θ.
    pub(super) fn place(self, classes: usize) -> usize {
        self.feature() * classes + self.class()
    }
}

/// At least so many zero weights may join at a time.
const JOIN: usize = 500;

/// A zero weight joins if its slope reaches this share of λ: it may be about to leave zero.
const NEAR: f64 = 0.95;

/// The coordinates of a step, ordered by class.
pub(super) struct Working {
    pub(super) coordinates: Vec<Coordinate>,
    pub(super) thresholds: Vec<f64>,
    /// Derivatives of loss and ε-term.
    pub(super) slopes: Vec<f64>,
    /// Largest violation of the optimality conditions, over all parameters.
    pub(super) violation: f64,
    /// Whether all zeros that press have joined.
    pub(super) is_whole: bool,
}

impl Working {
    /// The non-zeros, the intercept, and the zeros that press hardest: at most as many as there are non-zeros (or a few hundred), so that the
    /// set grows by doubling and far from the optimum is not spent on weights that vanish again.
    pub(super) fn choose(risk: &Risk<'_>, lambda: f64, theta: &[f64], loss_grad: &[f64]) -> Self {
        let (m, c) = (risk.weights_len(), risk.classes);
        let mut slopes = loss_grad.to_vec();
        axpy(2.0 * risk.epsilon, theta, &mut slopes);
        let threshold = |at: usize| if at < m { lambda } else { 0.0 };
        let each = (0..theta.len()).map(|at| violation(theta[at], slopes[at], threshold(at)));
        let worst = each.fold(0.0, f64::max);
        let mut chosen: Vec<usize> = (0..theta.len()).filter(|at| *at >= m || theta[*at] != 0.0).collect();
        let mut pressing: Vec<usize> =
            (0..m).filter(|at| theta[*at] == 0.0 && slopes[*at].abs() > NEAR * lambda).collect();
        let room = chosen.len().max(JOIN);
        let is_whole = pressing.len() <= room;
        if !is_whole {
            let steeper = |a: &usize, b: &usize| slopes[*b].abs().total_cmp(&slopes[*a].abs()).then(a.cmp(b));
            pressing.select_nth_unstable_by(room, steeper);
            pressing.truncate(room);
        }
        chosen.append(&mut pressing);
        let coordinate = |at: usize| Coordinate { feature: (at / c) as u32, class: (at % c) as u32 };
        let mut coordinates: Vec<Coordinate> = chosen.into_iter().map(coordinate).collect();
        coordinates.sort_unstable();
        let places = || coordinates.iter().map(|a| a.place(c));
        let (thresholds, slopes) = (places().map(threshold).collect(), places().map(|at| slopes[at]).collect());
        Self { coordinates, thresholds, slopes, violation: worst, is_whole }
    }
}
