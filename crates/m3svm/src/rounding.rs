//! How far rounding can take the sums behind a lower bound from what they stand for.
//!
//! A bound is worth nothing if it can be above the optimum, however little. So what rounding may add to it is taken off, by the textbook
//! bound: a sum of m terms, added along chains of at most m additions, is off by at most about m·u·Σ|terms|, where u is the error of one
//! operation. Losses and penalties see to it that their own terms have no cancellation, or take off themselves what that may cost.

/// The largest relative error of one operation.
const UNIT: f64 = 0.5 * f64::EPSILON;

/// Operations on a term before and after it is added.
const AROUND: f64 = 16.0;

/// The largest error of a sum, relative to the sum of the absolute values of its terms, where no term goes through more than `additions`
/// of them. Twice the error of first order: products of errors are left out of it.
pub(crate) fn of_sum(additions: usize) -> f64 {
    2.0 * UNIT * (additions as f64 + AROUND)
}
