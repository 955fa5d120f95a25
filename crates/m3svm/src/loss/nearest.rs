//! The nearest slopes that an exact hinge can have in a row, for solvers that move one row at a time.

use crate::linalg::{largest, sum, vectorised};

/// Those of the hinge of the best wrong class. With 1 added for the true class they are the shares of all classes in a maximum: numbers of
/// at least 0 with the sum 1. The nearest are all less by the same number t, and 0 where that is negative.
pub(super) fn shares(y: usize, point: &mut [f64]) {
    vectorised(
        #[inline(always)]
        || {
            point[y] += 1.0;
            // From the largest, so that sums are not larger than what they decide.
            let top = largest(point);
            for v in point.iter_mut() {
                *v -= top;
            }
            // Each round leaves out those that the last t made negative, so that t only rises (Michelot 1986). It begins where the largest
            // would be 1. Rounding must not let it fall, or those that are left out come back, for ever.
            let (mut t, mut kept) = (-1.0, f64::INFINITY);
            loop {
                let (mut total, mut count) = (-1.0, 0.0);
                for v in point.iter() {
                    let stays = *v > t;
                    total += if stays { *v } else { 0.0 };
                    count += if stays { 1.0 } else { 0.0 };
                }
                if count >= kept || count == 0.0 || total <= t * count {
                    break;
                }
                (t, kept) = (total / count, count);
            }
            for v in point.iter_mut() {
                *v = (*v - t).clamp(0.0, 1.0);
            }
            balance(y, point);
        },
    );
}

/// Those of the sum of the hinges of all wrong classes: numbers from 0 to 1, and minus their sum for the true class. The nearest are all less
/// by the same number t, within these bounds, where t is their sum and the point's number for the true class: what is left at t
/// falls with t, along a chain of lines.
pub(super) fn pair_slopes(y: usize, point: &mut [f64]) {
    // Newton's method follows such a chain in a few steps; halving what is left of it is for the rare others.
    const STEPS: usize = 60;
    vectorised(
        #[inline(always)]
        || {
            let own = point[y];
            // Of the true class nothing is left for any t.
            point[y] = f64::NEG_INFINITY;
            let (mut low, mut high) = (own, own + (point.len() - 1) as f64);
            let mut t = low;
            for _ in 0..STEPS {
                let (mut total, mut between) = (0.0, 1.0);
                for v in point.iter() {
                    let slope = v - t;
                    total += slope.clamp(0.0, 1.0);
                    between += if slope > 0.0 && slope < 1.0 { 1.0 } else { 0.0 };
                }
                let left = total - (t - own);
                if left.abs() <= 1e-15 * total {
                    break;
                }
                if left > 0.0 {
                    low = t
                } else {
                    high = t
                }
                let next = t + left / between;
                t = if next > low && next < high { next } else { 0.5 * (low + high) };
            }
            for v in point.iter_mut() {
                *v = (*v - t).clamp(0.0, 1.0);
            }
            balance(y, point);
        },
    );
}

/// Gives the true class minus the sum of the others.
#[inline(always)]
fn balance(y: usize, slopes: &mut [f64]) {
    slopes[y] = 0.0;
    slopes[y] = -sum(slopes);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::loss::{Loss, SmoothHinge, TopKHinge};

    /// Points, scores that make slopes, and a class.
    fn cases() -> impl Strategy<Value = (Vec<f64>, Vec<f64>, usize)> {
        (2..9usize).prop_flat_map(|c| {
            let numbers = move |size: f64| prop::collection::vec(-size..size, c);
            let scale = prop::sample::select(vec![1e-3, 1.0, 3.0, 1e6]);
            (scale.prop_flat_map(numbers), numbers(3.0), 0..c)
        })
    }

    proptest! {
        /// Of all slopes none is in the direction of the point: that is what nearest means in a convex set.
        #[test]
        fn no_other_slopes_are_nearer((point, scores, y) in cases()) {
            let losses: [&dyn Loss; 2] = [&SmoothHinge { delta: 0.0 }, &TopKHinge { k: 1, delta: 0.0 }];
            for loss in losses {
                let mut nearest = point.clone();
                prop_assert!(loss.has_nearest_slopes());
                loss.nearest_slopes(y, &mut nearest);
                let size = point.iter().fold(1.0, |a: f64, b| a.max(b.abs()));
                prop_assert!(nearest.iter().sum::<f64>().abs() < 1e-13);
                // Slopes at any scores, those of a row that pays nothing among them.
                let mut other = vec![0.0; point.len()];
                for own in [0.0, 20.0] {
                    let mut z = scores.clone();
                    z[y] += own;
                    loss.value_grad(&z, y, &mut other);
                    let along: f64 = (0..point.len()).map(|j| (point[j] - nearest[j]) * (other[j] - nearest[j])).sum();
                    prop_assert!(along <= 1e-12 * size, "{loss:?} {along} {nearest:?} {other:?}");
                }
                // What is nearest to itself stays where it is, and pays what a dual point pays.
                let pays: f64 = (0..point.len()).filter(|j| *j != y).map(|j| nearest[j]).sum();
                prop_assert!((loss.dual_value(&[], y, 0.0, &nearest) - pays).abs() < 1e-12);
                let mut again = nearest.clone();
                loss.nearest_slopes(y, &mut again);
                prop_assert!(again.iter().zip(&nearest).all(|(a, b)| (a - b).abs() < 1e-12), "{again:?} {nearest:?}");
            }
        }
    }

    /// Where numbers are so large, or so alike, that rounding decides which of them stay.
    #[test]
    fn shares_of_ties_are_found_whatever_their_size() {
        for (size, c) in [1.0, 1e3, 1e9, 2e12, 1e16].into_iter().flat_map(|size| (2..40).map(move |c| (size, c))) {
            for spread in [0.0, 1e-16, 3e-16, 1e-12, 1e-9] {
                let mut point: Vec<f64> = (0..c).map(|k| size * (1.0 + spread * (k * 7 % 5) as f64)).collect();
                super::shares(0, &mut point);
                let paid = -point[0];
                assert!((-1e-12..1.0 + 1e-12).contains(&paid), "{size} {c} {spread}: {point:?}");
                assert!(point[1..].iter().all(|slope| (0.0..=1.0).contains(slope)), "{size} {c} {spread}: {point:?}");
            }
        }
    }

    #[test]
    fn losses_that_are_not_piecewise_linear_have_none() {
        for loss in crate::AnyLoss::examples() {
            assert!(!loss.as_dyn().has_nearest_slopes(), "{loss:?}");
        }
        assert!(!TopKHinge { k: 2, delta: 0.0 }.has_nearest_slopes());
    }
}
