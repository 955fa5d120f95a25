//! Towards the minimum of a quadratic function plus absolute values with the signs of all non-zeros kept.
//!
//! The point walks straight to the minimum without regard to signs. Where a coordinate would change its own, it is pinned to
//! zero for good and the walk goes on to the minimum of the others. The matrix is factored once, whatever the number of pins.

use super::tuning::PROXIMAL;
use crate::interrupt::Heed;
use crate::linalg::axpy;
use crate::solver::system::{factor, solve_factored};

/// The walk from `start` over the coordinates with the factored matrix `factored`. `straight` is the move to the minimum without regard to
/// signs, `held` says which coordinates must keep theirs. The move, which takes pinned coordinates exactly to zero.
pub(super) fn walk(factored: &[f64], start: &[f64], straight: &[f64], held: &[bool]) -> Vec<f64> {
    let m = start.len();
    let mut pins = Pins { size: m, factored, at: Vec::new(), columns: Vec::new() };
    let mut moved = vec![0.0; m];
    let mut goal = straight.to_vec();
    loop {
        // The first coordinate to reach zero on the way to the goal.
        let crossing = |a: usize| {
            let (now, then) = (start[a] + moved[a], start[a] + goal[a]);
            // By the sign at the start: of two that reach zero together, rounding may have taken one a little beyond.
            let crosses = held[a] && start[a] * then <= 0.0 && !pins.at.contains(&a);
            crosses.then(|| ((now / (now - then)).clamp(0.0, 1.0), a)).filter(|(t, _)| !t.is_nan())
        };
        let first = (0..m).filter_map(crossing).min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let Some((t, a)) = first else { return goal };
        moved.iter_mut().zip(&goal).for_each(|(v, g)| *v += t * (g - *v));
        pins.add(a);
        pins.at.iter().for_each(|&a| moved[a] = -start[a]);
        let next = if pins.at.len() < PROXIMAL.pins { pins.goal(start, straight) } else { None };
        let Some(next) = next else { return moved };
        goal = next;
    }
}

/// Coordinates that are held at zero, with what pulling at each would do to all.
struct Pins<'a> {
    size: usize,
    factored: &'a [f64],
    at: Vec<usize>,
    /// The columns of the inverse that belong to the pins.
    columns: Vec<Vec<f64>>,
}

impl Pins<'_> {
    fn add(&mut self, a: usize) {
        let mut column = vec![0.0; self.size];
        column[a] = 1.0;
        solve_factored(self.factored, self.size, &mut column);
        self.at.push(a);
        self.columns.push(column);
    }

    /// Where the minimum is with the pins at zero; `None` where rounding hides it.
    fn goal(&self, start: &[f64], straight: &[f64]) -> Option<Vec<f64>> {
        let k = self.at.len();
        let mut pull: Vec<f64> = self.at.iter().map(|&a| -start[a] - straight[a]).collect();
        let mut small: Vec<f64> = self.columns.iter().flat_map(|column| self.at.iter().map(|&b| column[b])).collect();
        if !factor(&mut small, k, Heed::default()) {
            return None;
        }
        solve_factored(&small, k, &mut pull);
        let mut goal = straight.to_vec();
        pull.iter().zip(&self.columns).for_each(|(pull, column)| axpy(*pull, column, &mut goal));
        self.at.iter().for_each(|&a| goal[a] = -start[a]);
        goal.iter().all(|g| g.is_finite()).then_some(goal)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::linalg::dot;

    /// ½sᵀHs + slopes·s, and its slopes at s.
    fn model(matrix: &[f64], slopes: &[f64], step: &[f64]) -> (f64, Vec<f64>) {
        let m = step.len();
        let product: Vec<f64> = (0..m).map(|a| dot(&matrix[a * m..(a + 1) * m], step)).collect();
        let value = 0.5 * dot(&product, step) + dot(slopes, step);
        (value, product.iter().zip(slopes).map(|(p, g)| p + g).collect())
    }

    proptest! {
        #[test]
        fn a_walk_keeps_signs_and_ends_lower_where_all_but_the_pins_are_in_balance(
            m in 1usize..12,
            numbers in prop::collection::vec(-1.0f64..1.0, 300),
            free in 0usize..3,
        ) {
            let (base, rest) = numbers.split_at(144);
            let mut matrix = vec![0.0; m * m];
            for a in 0..m {
                for b in 0..m {
                    let (left, right) = (&base[a * m..(a + 1) * m], &base[b * m..(b + 1) * m]);
                    matrix[a * m + b] = dot(left, right) + if a == b { 0.05 } else { 0.0 };
                }
            }
            let start: Vec<f64> = rest[..m].iter().map(|u| u + 0.1f64.copysign(*u)).collect();
            let slopes: Vec<f64> = rest[m..2 * m].iter().map(|g| 3.0 * g).collect();
            let held: Vec<bool> = (0..m).map(|a| a >= free).collect();
            let mut factored = matrix.clone();
            prop_assert!(factor(&mut factored, m, Heed::default()));
            let mut straight: Vec<f64> = slopes.iter().map(|g| -g).collect();
            solve_factored(&factored, m, &mut straight);
            let step = walk(&factored, &start, &straight, &held);
            let (value, after) = model(&matrix, &slopes, &step);
            prop_assert!(value <= 1e-12, "{value}");
            for a in 0..m {
                let end = start[a] + step[a];
                prop_assert!(!held[a] || end * start[a] >= 0.0, "{a} has changed its sign");
                let pinned = held[a] && step[a] == -start[a];
                prop_assert!(pinned || after[a].abs() < 1e-8, "slope {} at {a}", after[a]);
            }
        }
    }
}
