//! The mean of the k largest of some numbers, smoothed by the same hinge as the losses.
//!
//! ```text
//! φ(a) = min over t of  t + (1/k) Σⱼ g(aⱼ − t),      at the minimum  Σⱼ g′(aⱼ − t) = k
//! ```
//!
//! With the exact hinge, t is a number between the k largest and the others, and φ the mean of the former.

use super::hinge::Hinge;

/// Replaces the numbers by γⱼ = aⱼ − t for the best t and returns φ(a). `room` is scratch of the same length; 1 ≤ k < length and δ > 0.
pub(super) fn centre(delta: f64, k: usize, a: &mut [f64], room: &mut [f64]) -> f64 {
    let hinge = Hinge::new(delta);
    room.copy_from_slice(a);
    let pivot = *room.select_nth_unstable_by(k - 1, |a, b| b.total_cmp(a)).1;
    // Relative to the k-th largest number: ties are only told apart from each other, not from where they are, so that t is found
    // to the last digit of δ however large the numbers are.
    room.iter_mut().for_each(|b| *b -= pivot);
    let (top, rest) = room.split_at(k);
    let t = threshold(delta, top, rest);
    a.iter_mut().for_each(|a| *a = (*a - pivot) - t);
    // g(x) = x + g(−x) for the k largest: what is above their mean is a sum of small positive numbers.
    let excess: f64 = top.iter().map(|b| hinge.value_slope(t - b).0).sum::<f64>()
        + rest.iter().map(|b| hinge.value_slope(b - t).0).sum::<f64>();
    pivot + (top.iter().sum::<f64>() + excess) / k as f64
}

/// The t with Σ g′(aⱼ − t) = k, written as Σ_top g′(t − aⱼ) = Σ_rest g′(aⱼ − t): two sums of tails, and no cancellation. The smallest
/// of the top numbers is 0.
///
/// The tails fall like squares of distances, so (tails)^(−½) is nearly linear in t and Newton on the difference of both
/// needs a handful of steps, however small δ is.
fn threshold(delta: f64, top: &[f64], rest: &[f64]) -> f64 {
    let hinge = Hinge::new(delta);
    let sums = |numbers: &[f64], side: f64, t: f64| {
        let parts = numbers.iter().map(|b| hinge.slope_bend(side * (b - t)));
        parts.fold((0.0, 0.0), |(tail, bend), part| (tail + part.0, bend + part.1))
    };
    // If the largest of the rest is at γ = δ(k−1)/(2√k), where g′ = k/(k+1), the slopes of it and the top sum to k or more; likewise above.
    let reach = |count: usize| 0.5 * delta * (count as f64 - 1.0) / (count as f64).sqrt();
    let next = rest.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let (mut low, mut high) = (next - reach(top.len()), reach(rest.len()));
    let mut t = 0.5 * (low + high);
    for _ in 0..100 {
        let ((above, above_bend), (below, below_bend)) = (sums(top, -1.0, t), sums(rest, 1.0, t));
        let excess = above - below;
        if excess.abs() <= 8.0 * f64::EPSILON * below {
            break;
        }
        if excess > 0.0 {
            high = t
        } else {
            low = t
        }
        let (p, q) = (above.sqrt().recip(), below.sqrt().recip());
        let slope = 0.5 * (p * above_bend / above + q * below_bend / below);
        let newton = t - (q - p) / slope;
        let moved = if newton > low && newton < high { newton } else { 0.5 * (low + high) };
        if moved == t {
            break;
        }
        t = moved;
    }
    t
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(delta: f64, k: usize, a: &[f64]) {
        let (mut gamma, mut room) = (a.to_vec(), vec![0.0; a.len()]);
        let phi = centre(delta, k, &mut gamma, &mut room);
        let hinge = Hinge::new(delta);
        let mut sorted = a.to_vec();
        sorted.sort_by(|a, b| b.total_cmp(a));
        let mut order: Vec<usize> = (0..a.len()).collect();
        order.sort_by(|i, j| a[*j].total_cmp(&a[*i]));
        // The condition of the minimum, to the last digits of the tails.
        let above: f64 = order[..k].iter().map(|j| hinge.value_slope(-gamma[*j]).1).sum();
        let below: f64 = order[k..].iter().map(|j| hinge.value_slope(gamma[*j]).1).sum();
        assert!((above - below).abs() <= 1e-13 * below, "δ {delta:e}, k {k}, {a:?}: {above:e} {below:e}");
        // Above the exact mean, and by no more than the conjugate of the hinge allows.
        let exact = sorted[..k].iter().sum::<f64>() / k as f64;
        // Numbers and width set the scale of rounding.
        let size = a.iter().fold(delta.max(1.0), |m, a| m.max(a.abs()));
        assert!(phi >= exact - 1e-15 * size && phi <= exact + delta * a.len() as f64 + 1e-15 * size, "{phi} {exact}");
        // φ is what t gives.
        let t = a[order[0]] - gamma[order[0]];
        let direct = t + gamma.iter().map(|g| hinge.value_slope(*g).0).sum::<f64>() / k as f64;
        assert!((direct - phi).abs() <= 1e-14 * size * a.len() as f64, "{direct} {phi}");
    }

    #[test]
    fn slopes_sum_to_k_at_any_width() {
        let rows: [&[f64]; 7] = [
            &[0.0, 1.0],
            &[1.0, 1.0, 0.0, 1.0],
            &[0.3, -2.0, 5.0, 0.31, 0.3 + 1e-13],
            &[0.0; 6],
            &[1e3, -1e3, 999.0, 1e3 - 1e-10, 0.0, 1e-9],
            &[1e6, 3.0, 2.0, 1.0, -1e6],
            &[-3.0, -3.0 + 1e-15, -3.0 - 1e-14, 7.0],
        ];
        for a in rows {
            for k in 1..a.len() {
                for delta in [1e-14, 1e-12, 1e-8, 1e-3, 0.5, 1.0, 1e3, 1e6] {
                    check(delta, k, a);
                }
            }
        }
    }

    #[test]
    fn two_numbers_have_their_threshold_in_the_middle() {
        let (mut a, mut room) = ([3.0, 1.0], [0.0; 2]);
        // t = 2: φ = 2 + g(1) + g(−1) = 2 + √(1 + δ²).
        assert!((centre(0.75, 1, &mut a, &mut room) - 3.25).abs() < 1e-15);
        assert_eq!(a, [1.0, -1.0]);
    }
}
