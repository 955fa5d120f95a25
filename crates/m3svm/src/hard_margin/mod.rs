//! The hard margin: every row has to lead, and the class vectors are as near to each other as that allows.
//!
//! ```text
//! minimise (Σ_{k<l} ‖wₖ − wₗ‖ᵖ)^(1/p)   subject to z_y − zₖ ≥ 1 for every row and every other class k
//! ```
//!
//! (the paper's problem (hard_p), and for p = ∞ the largest minimum margin itself, (max_min)). Exact hinges need no slack once the penalty is so
//! weak that no slope reaches 1: then their optimum is the one with the hard margin. So the Newton path of the soft problem finds it, and both
//! sides are proven by what point and slopes say without it (`sides.rs`). Whether there is any such point is asked first (`crate::separable`).

mod sides;

pub(crate) use sides::LeadingRows;

use crate::certificate::Certificate;
use crate::engine::{InMemory, Rows};
use crate::error::{Error, Result};
use crate::features::Features;
use crate::interrupt::Heed;
use crate::linalg::dot;
use crate::loss::SmoothHinge;
use crate::penalty::{Norm, Pairwise};
use crate::plan::{self, SystemPlan};
use crate::reduce::Reduction;
use crate::risk::Risk;
use crate::separable::{self, Crossing, Decided};
use crate::solver::{AnySolver, Limits, Newton, Solution, Stop, Watch};

/// A problem with slack, to be solved without.
pub(crate) struct Soft<'a> {
    pub(crate) rows: LeadingRows<'a>,
    pub(crate) penalty: Pairwise,
    pub(crate) epsilon: f64,
    pub(crate) tol: f64,
    pub(crate) max_iter: usize,
    pub(crate) heed: Heed<'a>,
}

impl Soft<'_> {
    /// Its optimum, and the slopes of all rows there (n×c) by what the path carries and by the point itself.
    pub(crate) fn solve(&self, start: Vec<f64>, watch: &mut Watch<'_>) -> Result<(Solution, [Vec<f64>; 2])> {
        let LeadingRows { x, y, classes, intercept } = self.rows;
        let loss = SmoothHinge { delta: 0.0 };
        let full =
            Risk::from_parts(x, y, classes, None, &loss, &self.penalty, self.epsilon, intercept).heeding(self.heed);
        let sizes = InMemory::new(&full).sizes();
        let newton = AnySolver::Newton(Newton {});
        let reduces = plan::reduces(&self.penalty, &sizes, &newton).pick;
        let Some(reduction) = reduces.then(|| Reduction::of(&full)).flatten() else {
            return self.walk(&full, start, watch);
        };
        let reduced =
            Risk::from_parts(reduction.features(), y, classes, None, &loss, &self.penalty, self.epsilon, intercept)
                .heeding(self.heed);
        let (mut found, slopes) = self.walk(&reduced, reduction.project(&start, classes), watch)?;
        found.theta = reduction.lift(&found.theta, classes);
        Ok((found, slopes))
    }

    fn walk(&self, risk: &Risk<'_>, start: Vec<f64>, watch: &mut Watch<'_>) -> Result<(Solution, [Vec<f64>; 2])> {
        let mut rows = InMemory::new(risk);
        let system = SystemPlan::of(&risk.problem, &rows.sizes());
        let limits = Limits { tol: self.tol, max_iter: self.max_iter, seed: 0, proof: true };
        let found = Newton {}.walk(&risk.problem, &mut rows, system, start, &limits, watch)?;
        let carried = rows.dual_slopes();
        let (n, c) = (self.rows.y.len(), self.rows.classes);
        let (mut z, mut at_point) = (vec![0.0; n * c], vec![0.0; n * c]);
        risk.scores(&found.theta, &mut z);
        risk.problem.loss.value_grad_rows(&z, self.rows.y, &mut at_point, &mut vec![0.0; n]);
        Ok((found, [carried, at_point]))
    }
}

/// The optimum with a hard margin, or why there is none.
pub(crate) fn solve(
    rows: LeadingRows<'_>,
    names: &[String],
    p: f64,
    tol: f64,
    max_iter: usize,
    heed: Heed<'_>,
    watch: &mut Watch<'_>,
) -> Result<Solution> {
    // Rounds of units and precision after the first point that leads.
    const ROUNDS: usize = 3;
    let separator = match separable::search(rows, heed, watch)? {
        Decided::Apart(theta) => theta,
        Decided::Interrupted => return Err(Error::Interrupted),
        Decided::Crossed(_) | Decided::Open { .. } => {
            let crossing = Crossing::first(rows, names, heed, watch)?;
            return Err(Error::NotSeparable { what: crossing });
        }
    };
    let LeadingRows { x, y, classes, intercept } = rows;
    let m = x.cols() * classes;
    let mut best = Best { length: f64::INFINITY, bound: 0.0, theta: separator };
    best.offer(&rows, best.theta.clone(), p);
    let (mut iterations, mut evaluations, mut finer) = (0, 0, 1.0);
    let mut stop = Stop::NoProgress;
    for _ in 0..ROUNDS {
        // In units in which the optimum is about 1.
        let unit = best.length;
        if !unit.is_finite() {
            break;
        }
        let scaled = x.view().map_columns(|_, v| v * unit).losing(x.lost() * unit);
        let mut known_there = best.theta.clone();
        known_there[..m].iter_mut().for_each(|w| *w /= unit);
        let size = dot(&known_there, &known_there);
        // The path of a fresh start ends nearer to its multipliers than that of a point whose own are not known.
        let start = vec![0.0; known_there.len()];
        let degree = if p.is_infinite() { 2.0 } else { p };
        // No slope is above λ·degree·N^degree, and that is at most ½.
        let lambda = 0.5 / degree;
        let epsilon = (1e-2 * finer * tol * lambda / (1.0 + size)).max(1e-18);
        let soft = Soft {
            rows: LeadingRows { x: &scaled, y, classes, intercept },
            penalty: Pairwise::new(Norm::L2, lambda, p),
            epsilon,
            tol: 0.1 * finer * tol,
            max_iter: max_iter.saturating_sub(iterations).max(1),
            heed,
        };
        let known = best.certificate();
        let before = (iterations, evaluations);
        let (found, slopes) = soft.solve(start, &mut |at| {
            let (iteration, evaluations) = (before.0 + at.iteration, before.1 + at.evaluations);
            let relative_gap = known.relative_gap();
            watch(&crate::Progress { iteration, evaluations, objective: known.objective, relative_gap, ..*at })
        })?;
        iterations += found.iterations;
        evaluations += found.evaluations;
        let mut theta = found.theta;
        theta[..m].iter_mut().for_each(|w| *w *= unit);
        for slopes in &slopes {
            if slopes.len() == y.len() * classes {
                best.bound = best.bound.max(rows.below(slopes, &theta, p));
            }
        }
        best.offer(&rows, theta, p);
        if found.stop == Stop::Interrupted || heed.is_stopped() {
            stop = Stop::Interrupted;
            break;
        }
        if best.certificate().relative_gap().is_some_and(|gap| gap <= tol) {
            stop = Stop::Converged;
            break;
        }
        if iterations >= max_iter {
            stop = Stop::IterationLimit;
            break;
        }
        finer *= 0.1;
    }
    let certificate = best.certificate();
    Ok(Solution { theta: best.theta, certificate, stop, iterations, evaluations })
}

/// The best of both sides.
struct Best {
    length: f64,
    bound: f64,
    theta: Vec<f64>,
}

impl Best {
    /// Takes a point, if it is better, in units in which its rows lead by 1.
    fn offer(&mut self, rows: &LeadingRows<'_>, mut theta: Vec<f64>, p: f64) {
        centre(&mut theta, rows.classes);
        if let Some((length, least)) = rows.above(&theta, p)
            && length < self.length
        {
            theta.iter_mut().for_each(|t| *t /= least);
            (self.length, self.theta) = (length, theta);
        }
    }

    fn certificate(&self) -> Certificate {
        Certificate::new(self.length, Some(self.bound))
    }
}

/// Class vectors and intercepts that sum to 0 say the same.
fn centre(theta: &mut [f64], classes: usize) {
    for row in theta.chunks_exact_mut(classes) {
        let mean = row.iter().sum::<f64>() / classes as f64;
        row.iter_mut().for_each(|v| *v -= mean);
    }
}

/// What a point is worth: N(W) where its rows lead by 1, ∞ where they do not.
pub(crate) fn value(rows: &LeadingRows<'_>, theta: &[f64], p: f64) -> f64 {
    rows.above(theta, p).map_or(f64::INFINITY, |(length, _)| length)
}

/// Rows that count, with their classes, where some weigh nothing.
pub(crate) fn counting(x: &Features<'_>, y: &[u32], weights: &[f64]) -> Option<(Features<'static>, Vec<u32>)> {
    if weights.iter().all(|w| *w > 0.0) {
        return None;
    }
    let rows: Vec<u32> = (0..y.len() as u32).filter(|i| weights[*i as usize] > 0.0).collect();
    Some((x.take_rows(&rows), rows.iter().map(|i| y[*i as usize]).collect()))
}
