//! Slopes whose sums are what the intercept asks for.
//!
//! A bound pays ‖v + 2εb‖²/(4ε) for sums of slopes v = Σᵢ ωᵢαᵢ that do not go with the intercept. Among the slopes near those that ascent has
//! come to there are some that do, and most rows hardly mind: those between kinks of their loss stand where the dual is flat. They are the
//! maximum of
//!
//! ```text
//! Σᵢ ωᵢ (⟨αᵢ', zᵢ⟩ + Σ_{j≠y} αᵢⱼ' − κhᵢ‖αᵢ' − αᵢ‖²/2)        where Σᵢ ωᵢαᵢ' = −2εb'
//! ```
//!
//! and the prices of the sums are how far the intercept moves: b' = b + μ. For given prices every row has the nearest slopes to a point, as in
//! ascent itself, so that what is left is a smooth convex function of μ alone.

use std::ops::ControlFlow;

use super::ASCENT;
use super::contenders;
use crate::certificate::Certificate;
use crate::linalg::dot;
use crate::objective::Objective;
use crate::risk::Risk;
use crate::solver::{Lbfgs, Limits};

/// Moves slopes to where a bound pays at most `enough` for their sums, and says what intercept goes with them. `bend` is that of the penalty,
/// `reach` how far the scores of each row move with its own slopes. Not to be believed after an interruption.
pub(super) fn balance(
    risk: &Risk<'_>,
    bend: f64,
    reach: &[f64],
    b: &[f64],
    enough: f64,
    slopes: &mut [f64],
) -> Vec<f64> {
    let (c, m) = (b.len(), risk.problem.weights_len());
    let mut theta = vec![0.0; risk.problem.dim()];
    risk.slopes_pass(slopes, &mut theta);
    theta[..m].iter_mut().for_each(|w| *w /= -bend);
    theta[m..].copy_from_slice(b);
    let mut scores = vec![0.0; slopes.len()];
    risk.scores(&theta, &mut scores);
    let lists = RowLists::of(risk, reach, slopes, &scores);
    let whole = 0.5 * bend * dot(&theta[..m], &theta[..m]);
    let prices = Prices { risk, reach, b, slopes, scores: &scores, lists: lists.as_ref(), whole };
    let value = prices.eval(&vec![0.0; c], &mut vec![0.0; c]);
    let limits =
        Limits { tol: enough / value.abs().max(f64::MIN_POSITIVE), max_iter: ASCENT.prices, seed: 0, proof: false };
    // Where it fails, what it has come to is worth trying all the same.
    let found = Lbfgs::default().minimize(&prices, vec![0.0; c], &limits, &mut |_| ControlFlow::Continue(()));
    let mu = found.map_or_else(|_| vec![0.0; c], |found| found.theta);
    let mut balanced = vec![0.0; slopes.len()];
    risk.partition().map_mut(&mut balanced, c, |range, out| {
        let mut z = vec![0.0; c];
        for (i, out) in range.zip(out.chunks_exact_mut(c)) {
            if i % ASCENT.ask_every == 0 && !risk.problem.heed.go_on() {
                return;
            }
            match prices.list(i) {
                None => _ = prices.row(i, &mu, &mut z, out),
                Some(list) => {
                    let (mut z, mut some) = (vec![0.0; list.classes.len()], vec![0.0; list.classes.len()]);
                    prices.listed(i, &list, &mu, &mut z, &mut some);
                    list.classes.iter().zip(&some).for_each(|(&k, slope)| out[k as usize] = *slope);
                }
            }
        }
    });
    slopes.copy_from_slice(&balanced);
    b.iter().zip(&mu).map(|(b, mu)| b + mu).collect()
}

/// Where classes are many: those whose slopes may move in each row, with slopes and scores side by side. All others stay at 0, which is a
/// choice of slopes like any other.
struct RowLists {
    ends: Vec<usize>,
    classes: Vec<u32>,
    slopes: Vec<f64>,
    scores: Vec<f64>,
}

/// The list of one row.
struct RowList<'l> {
    classes: &'l [u32],
    slopes: &'l [f64],
    scores: &'l [f64],
}

impl RowLists {
    /// Those that have slopes, or would have some at prices of 0, or come near; none of rows where they are too many for a list. `None` where
    /// classes are few.
    fn of(risk: &Risk<'_>, reach: &[f64], slopes: &[f64], scores: &[f64]) -> Option<Self> {
        let c = risk.problem.classes;
        contenders::pay(c).then(|| {
            let mut all = Self { ends: Vec::new(), classes: Vec::new(), slopes: Vec::new(), scores: Vec::new() };
            let (mut tops, mut list) = (vec![0.0; c], Vec::new());
            for (i, (slopes, scores)) in slopes.chunks_exact(c).zip(scores.chunks_exact(c)).enumerate() {
                if i % ASCENT.ask_every == 0 && !risk.problem.heed.go_on() {
                    all.ends.resize(risk.terms(), all.classes.len());
                    return all;
                }
                let y = risk.y[i] as usize;
                for ((top, slope), z) in tops.iter_mut().zip(slopes).zip(scores) {
                    *top = slope + (z + 1.0) / reach[i];
                }
                tops[y] -= 1.0 / reach[i];
                contenders::find(&mut list, c, y, &tops, slopes, slopes, reach[i]);
                for &k in &list {
                    all.classes.push(k);
                    all.slopes.push(slopes[k as usize]);
                    all.scores.push(scores[k as usize]);
                }
                all.ends.push(all.classes.len());
            }
            all
        })
    }

    fn row(&self, i: usize) -> Option<RowList<'_>> {
        let span = if i == 0 { 0 } else { self.ends[i - 1] }..self.ends[i];
        (!span.is_empty()).then(|| RowList {
            classes: &self.classes[span.clone()],
            slopes: &self.slopes[span.clone()],
            scores: &self.scores[span],
        })
    }
}

/// What the rows make of prices μ: Σᵢ ωᵢ max_α' (…) + ε‖b + μ‖², a constant added so that it is about as large as the objective.
struct Prices<'a> {
    risk: &'a Risk<'a>,
    reach: &'a [f64],
    b: &'a [f64],
    slopes: &'a [f64],
    scores: &'a [f64],
    lists: Option<&'a RowLists>,
    whole: f64,
}

impl Prices<'_> {
    /// The best slopes of a row, into `out`, and what it makes of them. `z` is room for its scores.
    fn row(&self, i: usize, mu: &[f64], z: &mut [f64], out: &mut [f64]) -> f64 {
        let (c, y) = (mu.len(), self.risk.y[i] as usize);
        let (slopes, scores) = (&self.slopes[i * c..(i + 1) * c], &self.scores[i * c..(i + 1) * c]);
        let stiff = ASCENT.stiff * self.reach[i];
        for (((z, out), mu), (score, slope)) in z.iter_mut().zip(&mut *out).zip(mu).zip(scores.iter().zip(slopes)) {
            *z = score + mu;
            *out = slope + (*z + 1.0) / stiff;
        }
        out[y] -= 1.0 / stiff;
        self.risk.problem.loss.nearest_slopes(y, out);
        let moved: f64 = out.iter().zip(slopes).map(|(new, old)| (new - old) * (new - old)).sum();
        dot(out, z) - out[y] - 0.5 * stiff * moved
    }

    fn list(&self, i: usize) -> Option<RowList<'_>> {
        self.lists.and_then(|lists| lists.row(i))
    }

    /// The same among the classes of a list.
    fn listed(&self, i: usize, list: &RowList<'_>, mu: &[f64], z: &mut [f64], out: &mut [f64]) -> f64 {
        let own = self.risk.y[i];
        let (y, stiff) =
            (list.classes.iter().position(|k| *k == own).unwrap_or_default(), ASCENT.stiff * self.reach[i]);
        let from = list.scores.iter().zip(list.slopes).zip(list.classes);
        for ((z, out), ((score, slope), &k)) in z.iter_mut().zip(&mut *out).zip(from) {
            *z = score + mu[k as usize];
            *out = slope + (*z + 1.0) / stiff;
        }
        out[y] -= 1.0 / stiff;
        self.risk.problem.loss.nearest_slopes(y, out);
        let moved: f64 = out.iter().zip(list.slopes).map(|(new, old)| (new - old) * (new - old)).sum();
        dot(out, z) - out[y] - 0.5 * stiff * moved
    }
}

impl Objective for Prices<'_> {
    fn dim(&self) -> usize {
        self.b.len()
    }

    fn terms(&self) -> usize {
        self.risk.terms()
    }

    fn eval(&self, mu: &[f64], grad: &mut [f64]) -> f64 {
        let (c, epsilon) = (mu.len(), self.risk.problem.epsilon);
        let parts = self.risk.partition().map(|range| {
            let (mut z, mut alpha, mut sums, mut value) = (vec![0.0; c], vec![0.0; c], vec![0.0; c], 0.0);
            for i in range {
                if i % ASCENT.ask_every == 0 && !self.risk.problem.heed.go_on() {
                    break;
                }
                let weight = self.risk.weight(i);
                if let Some(list) = self.list(i) {
                    let (z, alpha) = (&mut z[..list.classes.len()], &mut alpha[..list.classes.len()]);
                    value += weight * self.listed(i, &list, mu, z, alpha);
                    list.classes.iter().zip(&*alpha).for_each(|(&k, alpha)| sums[k as usize] += weight * alpha);
                    continue;
                }
                value += weight * self.row(i, mu, &mut z, &mut alpha);
                sums.iter_mut().zip(&alpha).for_each(|(sum, alpha)| *sum += weight * alpha);
            }
            (value, sums)
        });
        let mut value = self.whole;
        for (j, grad) in grad.iter_mut().enumerate() {
            let at = self.b[j] + mu[j];
            value += epsilon * at * at;
            *grad = 2.0 * epsilon * at;
        }
        for (part, sums) in parts {
            value += part;
            grad.iter_mut().zip(&sums).for_each(|(grad, sum)| *grad += sum);
        }
        value
    }

    fn eval_rows(&self, _rows: &[u32], mu: &[f64], grad: &mut [f64]) -> f64 {
        self.eval(mu, grad)
    }

    fn is_interrupted(&self) -> bool {
        self.risk.problem.heed.is_stopped()
    }

    /// It bends by 2ε at least, so that its gradient tells how far down the minimum can be: as far as a bound pays for the sums.
    fn certify(&self, mu: &mut [f64]) -> Certificate {
        let mut grad = vec![0.0; mu.len()];
        let value = self.eval(mu, &mut grad);
        Certificate {
            objective: value,
            lower_bound: Some(value - 0.25 * dot(&grad, &grad) / self.risk.problem.epsilon),
        }
    }
}
