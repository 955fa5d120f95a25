//! Which weights may move in the next step.

use super::descent::violation;
use super::tuning::PROXIMAL;
use crate::engine::Coordinate;
use crate::linalg::axpy;
use crate::problem::Problem;

/// The coordinates of a step, ordered by class.
pub(super) struct Working {
    pub(super) coordinates: Vec<Coordinate>,
    pub(super) thresholds: Vec<f64>,
    /// Second derivatives of the squares that they pay: 2ε, and for weights those of the penalty.
    pub(super) ridges: Vec<f64>,
    /// Derivatives of loss and squares.
    pub(super) slopes: Vec<f64>,
    /// Largest violation of the optimality conditions, over all parameters.
    pub(super) violation: f64,
    /// Whether all zeros that press have joined.
    pub(super) is_whole: bool,
}

impl Working {
    /// The non-zeros, the intercept, and the zeros that press hardest: at most as many as there are non-zeros (or a few hundred), so that the
    /// set grows by doubling and far from the optimum is not spent on weights that vanish again.
    pub(super) fn choose(problem: &Problem<'_>, lambda: f64, theta: &[f64], loss_grad: &[f64]) -> Self {
        let (m, c) = (problem.weights_len(), problem.classes);
        let mut slopes = loss_grad.to_vec();
        let squares = 2.0 * problem.penalty.separable().map_or(0.0, |parts| parts.ridge);
        axpy(2.0 * problem.epsilon, theta, &mut slopes);
        if squares > 0.0 {
            axpy(squares, &theta[..m], &mut slopes[..m]);
        }
        let threshold = |at: usize| if at < m { lambda } else { 0.0 };
        let each = (0..theta.len()).map(|at| violation(theta[at], slopes[at], threshold(at)));
        let worst = each.fold(0.0, f64::max);
        let mut chosen: Vec<usize> = (0..theta.len()).filter(|at| *at >= m || theta[*at] != 0.0).collect();
        let mut pressing: Vec<usize> =
            (0..m).filter(|at| theta[*at] == 0.0 && slopes[*at].abs() > PROXIMAL.pressing * lambda).collect();
        let room = chosen.len().max(PROXIMAL.join);
        let is_whole = pressing.len() <= room;
        if !is_whole {
            let steeper = |a: &usize, b: &usize| slopes[*b].abs().total_cmp(&slopes[*a].abs()).then(a.cmp(b));
            pressing.select_nth_unstable_by(room, steeper);
            pressing.truncate(room);
        }
        chosen.append(&mut pressing);
        let mut coordinates: Vec<Coordinate> = chosen.into_iter().map(|at| Coordinate::at(at, c)).collect();
        coordinates.sort_unstable();
        let places = || coordinates.iter().map(|a| a.place(c));
        let (thresholds, slopes) = (places().map(threshold).collect(), places().map(|at| slopes[at]).collect());
        let ridges = places().map(|at| 2.0 * problem.epsilon + if at < m { squares } else { 0.0 }).collect();
        Self { coordinates, thresholds, ridges, slopes, violation: worst, is_whole }
    }
}
