//! How far rounding can take the sums behind a lower bound from what they stand for.
//!
//! A bound is worth nothing if it can be above the optimum, however little. So what rounding may add to it is taken off, by the textbook
//! bound: a sum of m terms, added along chains of at most m additions, is off by at most about m·u·Σ|terms|, where u is the error of one
//! operation. Losses and penalties see to it that their own terms have no cancellation, or take off themselves what that may cost.

use crate::linalg::dot;

/// The largest relative error of one operation.
const UNIT: f64 = 0.5 * f64::EPSILON;

/// Operations on a term before and after it is added.
const AROUND: f64 = 16.0;

/// The largest error of a sum, relative to the sum of the absolute values of its terms, where no term goes through more than `additions`
/// of them. Twice the error of first order: products of errors are left out of it.
pub(crate) fn of_sum(additions: usize) -> f64 {
    2.0 * UNIT * (additions as f64 + AROUND)
}

/// ‖v‖, also where the squares of its entries vanish or overflow. (Where their sum is a normal number, [`of_sum`] covers what may have
/// vanished.)
pub(crate) fn length(v: &[f64]) -> f64 {
    let square = dot(v, v);
    if square.is_normal() {
        return square.sqrt();
    }
    let top = v.iter().fold(0.0f64, |top, v| top.max(v.abs()));
    if top == 0.0 || top.is_infinite() {
        return square.sqrt();
    }
    let unit: Vec<f64> = v.iter().map(|v| v / top).collect();
    top * dot(&unit, &unit).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_neither_vanish_nor_overflow() {
        for unit in [5e-324, 1e-300, 1e-160, 1.0, 1e160, 1e307] {
            let found = length(&[3.0 * unit, -4.0 * unit]);
            assert!((found / unit - 5.0).abs() < 1e-12, "{unit}: {found}");
        }
        assert_eq!(length(&[0.0, 0.0]), 0.0);
        assert!(length(&[f64::NAN, 1.0]).is_nan());
        assert_eq!(length(&[f64::INFINITY, 1.0]), f64::INFINITY);
    }
}
