//! The mean of the k largest of some numbers, smoothed by the same hinge as the losses.
//!
//! ```text
//! φ(a) = min over t of  t + (1/k) Σⱼ g(aⱼ − t),      at the minimum  Σⱼ g′(aⱼ − t) = k
//! ```
//!
//! With the exact hinge, t is a number between the k largest and the others, and φ the mean of the former.
//!
//! Rows are centred side by side, one in every lane of a vector: a root and a division per number and round is most of the work of the
//! losses that need this, and one row alone keeps a processor waiting for each of them.

use super::hinge::Hinge;
use crate::linalg::vectorised;

/// Rows side by side.
const LANES: usize = 8;

/// One number of each of the rows.
type LaneArray = [f64; LANES];

/// From this k on, the largest numbers are found row by row: passes over all numbers for each of them would be too many.
const MANY_BEST: usize = 12;

/// Replaces the numbers of every row (one after the other in `a`) by γⱼ = aⱼ − t for the best t of the row, and writes φ into `means`,
/// one per row. 1 ≤ k < numbers per row, and δ > 0. What a row gets depends on no other row.
pub(super) fn centre_rows(delta: f64, k: usize, a: &mut [f64], means: &mut [f64]) {
    let c = (a.len() / means.len().max(1)).max(1);
    let mut room = vec![[0.0; LANES]; c];
    vectorised(
        #[inline(always)]
        || {
            for (a, means) in a.chunks_mut(LANES * c).zip(means.chunks_mut(LANES)) {
                centre_group(delta, k, a, means, &mut room);
            }
        },
    );
}

/// The same for as many rows as there are lanes, or fewer.
#[inline(always)]
fn centre_group(delta: f64, k: usize, a: &mut [f64], means: &mut [f64], room: &mut [LaneArray]) {
    let (hinge, c) = (Hinge::new(delta), room.len());
    // Lanes without a row of their own repeat the last one.
    for lane in 0..LANES {
        let row = lane.min(means.len() - 1);
        for (room, a) in room.iter_mut().zip(&a[row * c..(row + 1) * c]) {
            room[lane] = *a;
        }
    }
    largest_first(k, room);
    // Relative to the k-th largest number: ties are only told apart from each other, not from where they are, so that t is found
    // to the last digit of δ however large the numbers are.
    let pivot = room[k - 1];
    for b in room.iter_mut() {
        for l in 0..LANES {
            b[l] -= pivot[l];
        }
    }
    let (top, rest) = room.split_at(k);
    let t = threshold(delta, top, rest);
    // g(x) = x + g(−x) for the k largest: what is above their mean is a sum of small positive numbers.
    let mut sum = [0.0; LANES];
    for b in top {
        for l in 0..LANES {
            sum[l] += b[l] + hinge.value(t[l] - b[l]);
        }
    }
    for b in rest {
        for l in 0..LANES {
            sum[l] += hinge.value(b[l] - t[l]);
        }
    }
    for (lane, (a, mean)) in a.chunks_exact_mut(c).zip(means).enumerate() {
        let (pivot, t) = (pivot[lane], t[lane]);
        for a in a.iter_mut() {
            *a = (*a - pivot) - t;
        }
        *mean = pivot + sum[lane] / k as f64;
    }
}

/// Brings the k largest numbers of every lane to the front, the smallest of them last.
#[inline(always)]
fn largest_first(k: usize, room: &mut [LaneArray]) {
    if k >= MANY_BEST {
        let mut row = vec![0.0; room.len()];
        for lane in 0..LANES {
            row.iter_mut().zip(&*room).for_each(|(row, room)| *row = room[lane]);
            row.select_nth_unstable_by(k - 1, |a: &f64, b| b.total_cmp(a));
            room.iter_mut().zip(&row).for_each(|(room, row)| room[lane] = *row);
        }
        return;
    }
    for at in 0..k {
        let (mut largest, after) = (room[at], at + 1);
        for other in &mut room[after..] {
            for l in 0..LANES {
                // Not `max` and `min`, whose care for NaN costs more than the comparison.
                let swap = other[l] > largest[l];
                (largest[l], other[l]) = if swap { (other[l], largest[l]) } else { (largest[l], other[l]) };
            }
        }
        room[at] = largest;
    }
}

/// The t with Σ g′(aⱼ − t) = k, written as Σ_top g′(t − aⱼ) = Σ_rest g′(aⱼ − t): two sums of tails, and no cancellation. The smallest
/// of the top numbers is 0.
///
/// The tails fall like squares of distances, so (tails)^(−½) is nearly linear in t and Newton on the difference of both
/// needs a handful of steps, however small δ is.
#[inline(always)]
fn threshold(delta: f64, top: &[LaneArray], rest: &[LaneArray]) -> LaneArray {
    // Newton squares the error, relative to the distance of the nearest numbers: a step as short as this one was the last.
    const SHORT: f64 = 1e-8;
    let hinge = Hinge::new(delta);
    // If the largest of the rest is at γ = δ(k−1)/(2√k), where g′ = k/(k+1), the slopes of it and the top sum to k or more; likewise above.
    let reach = |count: usize| 0.5 * delta * (count as f64 - 1.0) / (count as f64).sqrt();
    let (mut low, mut high) = ([f64::NEG_INFINITY; LANES], [reach(rest.len()); LANES]);
    for b in rest {
        for l in 0..LANES {
            low[l] = if b[l] > low[l] { b[l] } else { low[l] };
        }
    }
    let mut t = [0.0; LANES];
    for l in 0..LANES {
        low[l] -= reach(top.len());
        t[l] = 0.5 * (low[l] + high[l]);
    }
    let mut found = [false; LANES];
    for _ in 0..100 {
        let (above, above_bend) = tails(hinge, top, -1.0, &t);
        let (below, below_bend) = tails(hinge, rest, 1.0, &t);
        for l in 0..LANES {
            let excess = above[l] - below[l];
            let equal = excess.abs() <= 8.0 * f64::EPSILON * below[l];
            high[l] = if excess > 0.0 { t[l] } else { high[l] };
            low[l] = if excess > 0.0 { low[l] } else { t[l] };
            let (p, q) = (above[l].sqrt().recip(), below[l].sqrt().recip());
            let slope = 0.5 * (p * above_bend[l] / above[l] + q * below_bend[l] / below[l]);
            let step = (p - q) / slope;
            let newton = t[l] + step;
            let inside = newton > low[l] && newton < high[l];
            let moved = if inside { newton } else { 0.5 * (low[l] + high[l]) };
            let last = inside && step.abs() <= 0.5 * SHORT * delta * p.min(q);
            let next = if found[l] || equal { t[l] } else { moved };
            // What is no number stays so.
            found[l] = found[l] || last || next == t[l] || next.is_nan();
            t[l] = next;
        }
        if found.iter().all(|found| *found) {
            break;
        }
    }
    t
}

/// Sums of g′(side·(aⱼ − t)) and of g″.
#[inline(always)]
fn tails(hinge: Hinge, numbers: &[LaneArray], side: f64, t: &LaneArray) -> (LaneArray, LaneArray) {
    let (mut tail, mut curvature) = ([0.0; LANES], [0.0; LANES]);
    for b in numbers {
        for l in 0..LANES {
            let part = hinge.slope_curvature(side * (b[l] - t[l]));
            tail[l] += part.0;
            curvature[l] += part.1;
        }
    }
    (tail, curvature)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(delta: f64, k: usize, a: &[f64]) {
        let (mut gamma, mut phi) = (a.to_vec(), [0.0]);
        centre_rows(delta, k, &mut gamma, &mut phi);
        let phi = phi[0];
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
        let (mut a, mut phi) = ([3.0, 1.0], [0.0]);
        centre_rows(0.75, 1, &mut a, &mut phi);
        // t = 2: φ = 2 + g(1) + g(−1) = 2 + √(1 + δ²).
        assert!((phi[0] - 3.25).abs() < 1e-15);
        assert_eq!(a, [1.0, -1.0]);
    }

    #[test]
    fn a_row_gets_the_same_alone_and_among_others() {
        for (c, k) in [(2, 1), (5, 1), (5, 3), (30, 2), (30, MANY_BEST), (30, 29)] {
            // Spread over many sizes, so that rows need different numbers of rounds.
            let number = |i: usize| ((i * 7919) % 1009) as f64 * 10f64.powi(-((i / c % 7) as i32));
            let rows: Vec<f64> = (0..(2 * LANES + 3) * c).map(number).collect();
            let (mut gamma, mut phi) = (rows.clone(), vec![0.0; rows.len() / c]);
            centre_rows(0.01, k, &mut gamma, &mut phi);
            for ((row, gamma), phi) in rows.chunks(c).zip(gamma.chunks(c)).zip(&phi) {
                let (mut alone, mut mean) = (row.to_vec(), [0.0]);
                centre_rows(0.01, k, &mut alone, &mut mean);
                assert_eq!((&alone[..], mean[0]), (gamma, *phi), "{c} {k}");
            }
        }
    }
}
