//! A fit with a kernel, from top to bottom: factor, solver, and the way back to training rows.

use std::borrow::Cow;

use faer::linalg::solvers::Solve;
use faer::{Mat, Side};

use super::centres::too_long;
use super::factor::Extent;
use super::{Centres, Expansion, Factor, Kernel, precomputed};
use crate::certificate::Certificate;
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::features::Features;
use crate::interrupt::Interrupt;
use crate::linalg::dot;
use crate::model::raw_scores;
use crate::penalty::pairs;
use crate::scheme::{self, Scheme};
use crate::solver::{Solution, Watch};
use crate::spec::Spec;
use crate::support::pulls;

/// What a fit with a kernel gives: parameters are in the features of the factor, in which scores of training rows were computed.
pub(crate) struct Fitted {
    pub(crate) solution: Solution,
    pub(crate) solver: &'static str,
    pub(crate) expansion: Expansion,
    /// Scores of the training rows by scorer, as the expansion gives them but for rounding.
    pub(crate) raw: Vec<f64>,
}

/// Rows of a kernel as features of a linear problem, and the way there for others.
pub(crate) struct KernelRows {
    pub(crate) kernel: Kernel,
    pub(crate) factor: Factor,
    pub(crate) centres: Centres,
}

impl KernelRows {
    /// Factorises the kernel of (scaled) training rows. `None` if the fit is interrupted.
    pub(crate) fn of(spec: &Spec, data: &Dataset<'_>, interrupt: &Interrupt<'_>) -> Result<Option<Self>> {
        let x = data.x();
        if spec.kernel == Kernel::Precomputed {
            precomputed::check(x)?;
        } else if let Some((row, square)) = too_long(x) {
            let row = row + 1;
            return Err(Error::Kernel {
                what: format!("the square of the length of row {row} is {square:.1e}; scale the features"),
            });
        }
        let weights = spec.row_weights(data)?;
        let weights = weights.as_deref();
        if spec.kernel == Kernel::Precomputed {
            precomputed::check_diagonal(x, weights)?;
        }
        let kernel = spec.kernel.resolved(x, weights)?;
        let extent = Extent::of(spec.rank, x.rows())?;
        let Some(factor) = Factor::of(kernel, x, weights, extent, spec.seed, interrupt.heed())? else {
            return Ok(None);
        };
        if kernel == Kernel::Precomputed {
            precomputed::check_definite(x, weights, &factor)?;
        }
        if factor.is_constant() {
            let value = factor.features.get(0, 0).powi(2);
            return Err(Error::Kernel {
                what: format!("it is {value} for all pairs of rows, expected one that tells rows apart"),
            });
        }
        let centres = Centres::of(kernel, x, &factor.pivots);
        Ok(Some(Self { kernel, factor, centres }))
    }
}

/// Scores by scorer of some (scaled) rows, without intercepts, and the intercepts.
pub(crate) type StartScores<'a> = dyn Fn(&Features<'_>) -> Result<(Vec<f64>, Vec<f64>)> + 'a;

/// Trains on (scaled) data; `start` gives scores of rows to begin at, without intercepts, and the intercepts.
pub(crate) fn fit(
    spec: &Spec,
    data: &Dataset<'_>,
    start: Option<&StartScores<'_>>,
    watch: &mut Watch<'_>,
) -> Result<Fitted> {
    let interrupt = Interrupt::new(watch);
    let Some(rows) = KernelRows::of(spec, data, &interrupt)? else { return Err(Error::Interrupted) };
    let linear = data.borrow_with_x(rows.factor.features.view());
    // A little to spare, for what the way back costs.
    let inner = Spec { kernel: Kernel::Linear, rank: None, tol: 0.5 * spec.tol, ..spec.clone() };
    let scorers = spec.scheme.scorers(data.classes().len());
    let theta = match start {
        None => inner.origin(&linear),
        Some(scores_of) => {
            let (mut scores, intercept) = scores_of(&data.x().take_rows(&rows.factor.pivots))?;
            rows.factor.weights_of_scores(&mut scores, scorers);
            if spec.intercept { [scores, intercept].concat() } else { scores }
        }
    };
    let (mut solution, solver) = inner.solve_heeding(&linear, theta, None, &interrupt)?;
    let weights_len = rows.factor.features.cols() * scorers;
    let (chosen, coefficients) = if rows.factor.full {
        on_support(&inner, &linear, &rows, &mut solution)?
    } else {
        let coefficients = rows.factor.coefficients(&solution.theta[..weights_len], scorers);
        (rows.factor.pivots.clone(), coefficients)
    };
    let solution = solution.settled(spec.tol, true)?;
    let (weights, b) = solution.theta.split_at(weights_len);
    let intercept = if b.is_empty() { Cow::Owned(vec![0.0; scorers]) } else { Cow::Borrowed(b) };
    let raw = raw_scores(linear.x(), weights, &intercept)?;
    let expansion = Expansion {
        centres: Centres::of(rows.kernel, data.x(), &chosen),
        classes: chosen.iter().map(|i| data.y()[*i as usize]).collect(),
        rows: chosen,
        coefficients,
        lengths: lengths(spec.scheme, data.classes().len(), weights),
        rank: rows.factor.pivots.len(),
        cut: !rows.factor.full,
        left: rows.factor.left,
        lost: rows.factor.lost,
    };
    Ok(Fitted { solution, solver, expansion, raw })
}

/// The weights of a solution as a sum over as few training rows as its certificate allows: those that pull at it, more of them where that
/// is not enough. The solution becomes that sum.
fn on_support(
    spec: &Spec,
    data: &Dataset<'_>,
    rows: &KernelRows,
    solution: &mut Solution,
) -> Result<(Vec<u32>, Vec<f64>)> {
    // Shares of the largest pull that a row must have.
    const SHARES: [f64; 4] = [1e-2, 1e-4, 1e-7, 0.0];
    let f = data.x();
    let (n, r, c) = (f.rows(), f.cols(), data.classes().len());
    let scorers = spec.scheme.scorers(c);
    let row_weights = spec.row_weights(data)?;
    let (weights, b) = solution.theta.split_at(r * scorers);
    let intercept = if b.is_empty() { vec![0.0; scorers] } else { b.to_vec() };
    let raw = raw_scores(f, weights, &intercept)?;
    let mut pull = pulls(spec, &raw, data.y(), c);
    if let Some(weights) = &row_weights {
        pull.iter_mut().zip(weights.iter()).for_each(|(pull, weight)| *pull *= weight);
    }
    let top = pull.iter().copied().fold(0.0, f64::max);
    let mut best: Option<BestSum> = None;
    let mut last = usize::MAX;
    for share in SHARES {
        let counts = |i: &u32| row_weights.as_ref().is_none_or(|w| w[*i as usize] > 0.0);
        let rows: Vec<u32> = (0..n as u32).filter(|i| counts(i) && pull[*i as usize] >= share * top).collect();
        if rows.len() == last {
            continue;
        }
        last = rows.len();
        let Some((coefficients, sum)) = coefficients(&f.take_rows(&rows), weights, scorers) else { continue };
        let theta = [&sum, b].concat();
        let objective = scheme::value(spec, data, row_weights.as_deref(), &theta)?;
        if objective.is_finite() && best.as_ref().is_none_or(|best| objective < best.objective) {
            best = Some(BestSum { objective, theta, rows, coefficients });
        }
        // Within what was spared, or as good as the weights were.
        let allowed = solution.certificate.objective + 0.4 * spec.tol * solution.certificate.objective.abs();
        if objective <= allowed {
            break;
        }
    }
    let Some(best) = best else {
        // Pivots always do.
        return Ok((rows.factor.pivots.clone(), rows.factor.coefficients(weights, scorers)));
    };
    solution.certificate = Certificate::new(best.objective, solution.certificate.lower_bound);
    solution.theta = best.theta;
    Ok((best.rows, best.coefficients))
}

/// Weights as a sum over rows.
struct BestSum {
    objective: f64,
    theta: Vec<f64>,
    rows: Vec<u32>,
    coefficients: Vec<f64>,
}

/// Coefficients of rows whose sum comes next to some weights, and that sum.
fn coefficients(rows: &Features<'_>, weights: &[f64], scorers: usize) -> Option<(Vec<f64>, Vec<f64>)> {
    const REFINEMENTS: usize = 3;
    let (m, r) = (rows.rows(), rows.cols());
    if m == 0 {
        return Some((Vec::new(), vec![0.0; r * scorers]));
    }
    let gram = rows.gram();
    let top = (0..m).map(|i| gram[i * m + i]).fold(0.0, f64::max);
    // No lift would ever help rows that are all 0, and there is nothing to add up.
    if top == 0.0 {
        return Some((vec![0.0; m * scorers], vec![0.0; r * scorers]));
    }
    // Rows may depend on each other. What this takes away from the coefficients, refinement brings back where it matters.
    let mut lift = m as f64 * f64::EPSILON * top;
    let decomposed = loop {
        let matrix = Mat::from_fn(m, m, |i, j| gram[i * m + j] + if i == j { lift } else { 0.0 });
        match matrix.llt(Side::Lower) {
            Ok(decomposed) => break decomposed,
            Err(_) if lift > 1e-3 * top => return None,
            Err(_) => lift *= 10.0,
        }
    };
    let (mut found, mut sum) = (vec![0.0; m * scorers], vec![0.0; r * scorers]);
    for _ in 0..REFINEMENTS {
        let off: Vec<f64> = weights.iter().zip(&sum).map(|(w, s)| w - s).collect();
        let mut scores = vec![0.0; m * scorers];
        rows.mul_add(0..m, &off, scorers, &mut scores);
        let step = decomposed.solve(Mat::from_fn(m, scorers, |i, k| scores[i * scorers + k]));
        for (i, row) in found.chunks_exact_mut(scorers).enumerate() {
            row.iter_mut().enumerate().for_each(|(k, v)| *v += step[(i, k)]);
        }
        sum.fill(0.0);
        rows.t_mul_add(0..m, &found, scorers, &mut sum);
    }
    Some((found, sum))
}

/// The length behind the margin of every pair of classes.
fn lengths(scheme: Scheme, classes: usize, weights: &[f64]) -> Vec<f64> {
    let m = scheme.scorers(classes);
    let mut out = Vec::new();
    pairs(classes, |pair, k, l| {
        let difference: Vec<f64> = weights
            .chunks_exact(m)
            .map(|w| match scheme {
                Scheme::Joint => w[k] - w[l],
                Scheme::OneVsRest => 0.5 * (w[k] - w[l]),
                Scheme::OneVsOne => w[pair],
            })
            .collect();
        out.push(dot(&difference, &difference).sqrt());
    });
    out
}
