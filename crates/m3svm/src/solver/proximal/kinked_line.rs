//! The objective along a step of the lasso, with a kink wherever a weight crosses zero.

use super::working::Working;
use crate::engine::Rows;
use crate::solver::line_search::{Found, search};

/// The objective along a step, which moves the working coordinates only: all others are zero.
pub(super) struct KinkedLine {
    moves: Vec<CoordinateMove>,
    /// Derivative of loss and squares along the step.
    smooth: f64,
}

/// What one coordinate pays, threshold·|u| + strength·u², and how it moves.
struct CoordinateMove {
    threshold: f64,
    strength: f64,
    start: f64,
    step: f64,
}

impl KinkedLine {
    pub(super) fn new(working: &Working, theta: &[f64], step: &[f64], c: usize) -> Self {
        let places = working.coordinates.iter().map(|a| a.place(c));
        let pays = working.thresholds.iter().zip(&working.ridges);
        let moves = pays.zip(places).map(|((threshold, ridge), at)| CoordinateMove {
            threshold: *threshold,
            strength: 0.5 * ridge,
            start: theta[at],
            step: step[at],
        });
        let moves = moves.collect();
        let slopes = working.slopes.iter().zip(&working.coordinates);
        let smooth = slopes.map(|(slope, a)| slope * step[a.place(c)]).sum();
        Self { moves, smooth }
    }

    /// What the first-order model says the whole step gains.
    pub(super) fn promise(&self) -> f64 {
        let kinks = |it: &CoordinateMove| it.threshold * ((it.start + it.step).abs() - it.start.abs());
        -self.smooth - self.moves.iter().map(kinks).sum::<f64>()
    }

    /// What the coordinates pay at t with its slope; where a weight is zero on the way, half of its kink.
    fn penalty(&self, t: f64) -> (f64, f64) {
        let (mut value, mut slope) = (0.0, 0.0);
        for CoordinateMove { threshold, strength, start, step } in &self.moves {
            let u = start + t * step;
            let sign = if u == 0.0 { 0.0 } else { u.signum() };
            value += threshold * u.abs() + strength * u * u;
            slope += step * (threshold * sign + 2.0 * strength * u);
        }
        (value, slope)
    }

    /// How far to go.
    pub(super) fn search(&self, rows: &dyn Rows, value: f64) -> Option<Found> {
        let kinks = |it: &CoordinateMove| match it.start {
            0.0 => it.threshold * it.step.abs(),
            start => it.threshold * it.step * start.signum(),
        };
        let slope = self.smooth + self.moves.iter().map(kinks).sum::<f64>();
        if !(slope < 0.0) {
            return None;
        }
        search(value, slope, 1.0, |t| {
            let (loss_value, loss_slope) = rows.slopes_along(&[t])[0];
            let (rest, rest_slope) = self.penalty(t);
            (loss_value + rest, loss_slope + rest_slope)
        })
    }
}
