//! About how much a fit takes besides its data.

use super::numbers;
use crate::dataset::Dataset;
use crate::engine::Sizes;
use crate::error::Result;
use crate::partition::Partition;
use crate::plan;
use crate::scale::Scaling;
use crate::scheme::Scheme;
use crate::solver::AnySolver;
use crate::spec::Spec;

/// Vectors as long as W that Newton's method and the descents hold at once.
const NEWTON: usize = 12;
/// The same of the methods that hold little else, with what the line search tries.
const FIRST_ORDER: usize = 8;
/// The same where problems of two classes are solved a few at a time: W as it begins, as it is found, and as it is handed on.
const SIDES: usize = 3;
/// Numbers per row and scorer: scores, and what a step changes in them.
const ROWS: usize = 2;
/// Matrices of classes by classes.
const PAIRS: usize = 4;

/// Refuses a fit that the memory budget has no room for.
pub(crate) fn check_fit(spec: &Spec, data: &Dataset<'_>) -> Result<()> {
    let (bytes, what) = bytes_of_fit(spec, data);
    super::check(&what, bytes)
}

/// An estimate from below rather than from above, and what most of it is for.
pub(crate) fn bytes_of_fit(spec: &Spec, data: &Dataset<'_>) -> (u64, String) {
    let (n, d, c) = (data.rows(), data.x().cols(), data.classes().len());
    // As they are counted here, pairs of that many classes need not fit into a number.
    let pairs = (c as u128 * (c as u128).saturating_sub(1) / 2).min(usize::MAX as u128) as usize;
    let joint = spec.scheme == Scheme::Joint;
    let scorers = if spec.scheme == Scheme::OneVsOne { pairs } else { c };
    let (loss, penalty) = (spec.loss.as_dyn(), spec.penalty.as_dyn());
    let (vectors, newton) = match spec.solver {
        _ if !joint => (SIDES, false),
        AnySolver::Lbfgs(solver) => (FIRST_ORDER + 2 * solver.memory, false),
        AnySolver::Adam(_) => (FIRST_ORDER, false),
        _ => (NEWTON, true),
    };
    // Threads sum up on their own, W and, where the intercept is moved by itself, what classes weigh on each other.
    let (cost, length) = (data.x().stored() / n.max(1) + 4 * c, d.saturating_add(1).saturating_mul(c));
    let groups = if joint { Partition::new(n, cost, length).groups() } else { 0 };
    let tables = if newton && spec.intercept && loss.shift_invariant() { groups } else { 0 };
    let weights = numbers(d.saturating_add(1), scorers.saturating_mul(vectors + groups));
    // Duals and curvature are kept by Newton alone.
    let kept = if newton { loss.dual_len(c).saturating_add(loss.shape().len(c)) } else { 0 };
    let rows = numbers(n, scorers.saturating_mul(if joint { ROWS } else { 1 }).saturating_add(kept));
    let duals = if newton && pairs < usize::MAX / d.max(1) { penalty.dual_len(d, c) } else { 0 };
    let pairs_of = numbers(c, c.saturating_mul(PAIRS + tables)).saturating_add(numbers(duals, 2));
    let copied = spec.scaling != Scaling::None && !data.x().is_owned();
    let reduced = plan::reduces(penalty, &Sizes::of(data.x()), &spec.solver).pick;
    let copies = numbers(data.x().stored(), usize::from(copied) + usize::from(reduced));
    let parts = [
        (weights, format!("the fit of {d} features for {scorers} scorers")),
        (rows, format!("the fit of {n} rows for {scorers} scorers")),
        (pairs_of, format!("the fit with {pairs} pairs of classes")),
        (copies, format!("the fit of {n} rows with {d} features")),
    ];
    let total = parts.iter().fold(0u64, |sum, (bytes, _)| sum.saturating_add(*bytes));
    let [first, rest @ ..] = parts;
    let largest = rest.into_iter().fold(first, |a, b| if b.0 > a.0 { b } else { a });
    (total, largest.1)
}
