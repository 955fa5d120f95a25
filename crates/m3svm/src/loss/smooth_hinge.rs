//! The paper's loss: a smoothed hinge on every class pair that contains the true class.

use serde::{Deserialize, Serialize};

use super::hinge::{Hinge, followed_dual};
use super::nearest;
use super::pairs::{FAR, beyond_own, own_slopes, value_grad_pairs};
use super::{Loss, Shape, classes};
use crate::linalg::{unrolled, vectorised};
use crate::parameter::{SMOOTHING, parameters};
use crate::text::plain;
use crate::tile::Tile;

/// ```text
/// ℓ(z, y) = Σ_{k≠y} g(γₖ),   γₖ = 1 − (z_y − zₖ),   g(x) = (x + √(x² + δ²))/2
/// ```
///
/// `g(x) = ξ` where `ξ − s = x` and `ξ·s = δ²/4`: the smoothing is the log-barrier of the slack variables, so shrinking δ
/// walks the central path of the exact hinge problem. δ = 0 is the exact hinge.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SmoothHinge {
    /// Width of the smoothing, at least 0. It changes the loss of a pair by at most δ/2.
    pub delta: f64,
}

impl Default for SmoothHinge {
    fn default() -> Self {
        Self { delta: 0.01 }
    }
}

parameters!(SmoothHinge {
    delta: f64, SMOOTHING.0, SMOOTHING.1, SMOOTHING.2;
});

impl SmoothHinge {
    fn hinge(&self) -> Hinge {
        Hinge::new(self.delta)
    }

    /// What a pair with the slope α adds to the lower bound.
    #[inline(always)]
    fn pay(&self, slope: f64) -> f64 {
        let a = slope.clamp(0.0, 1.0);
        a + self.delta * (a * (1.0 - a)).sqrt()
    }
}

/// Entries that are computed side by side.
const LANES: usize = 16;

/// Fills `out` with γ for every row and class; [`FAR`] for the true class.
#[inline(always)]
fn margins(z: &[f64], y: &[u32], c: usize, out: &mut [f64]) {
    beyond_own(z, y, c, (1.0, FAR), out);
}

/// Fills `out` with Δγ for every row and class.
#[inline(always)]
fn changes(step: &[f64], y: &[u32], c: usize, out: &mut [f64]) {
    beyond_own(step, y, c, (0.0, 0.0), out);
}

/// Fills `out` with a function of γ for every row and class; 0 for the true class.
#[inline(always)]
fn fill(z: &[f64], y: &[u32], out: &mut [f64], f: impl Fn(usize, f64) -> f64) {
    let c = classes(z, y);
    margins(z, y, c, out);
    out.iter_mut().enumerate().for_each(|(at, out)| *out = f(at, *out));
    out.chunks_exact_mut(c).zip(y).for_each(|(out, y)| out[*y as usize] = 0.0);
}

/// Σℓ and the slopes of all entries; with `WEIGHTS` also those of the curvature, else neither `dual` nor `h` is looked at.
fn slopes_and_weights<const WEIGHTS: bool>(
    hinge: Hinge,
    z: &[f64],
    y: &[u32],
    dual: &[f64],
    dz: &mut [f64],
    h: &mut [f64],
) -> f64 {
    let c = classes(z, y);
    let mut sum = 0.0;
    vectorised(
        #[inline(always)]
        || {
            let mut sums = [0.0; LANES];
            margins(z, y, c, dz);
            let ((parts, rest), (duals, dual)) = (dz.as_chunks_mut::<LANES>(), dual.as_chunks::<LANES>());
            let (weights, weight) = h.as_chunks_mut::<LANES>();
            for (at, part) in parts.iter_mut().enumerate() {
                // In one piece: the compiler cannot know that nothing is read from where it is written to.
                let (mut slopes, mut curvatures) = ([0.0; LANES], [0.0; LANES]);
                let dual = if WEIGHTS { duals[at] } else { [0.0; LANES] };
                for l in 0..LANES {
                    let (value, slope, curvature) = hinge.value_slope_weight(part[l], dual[l]);
                    sums[l] += value;
                    (slopes[l], curvatures[l]) = (slope, curvature);
                }
                *part = slopes;
                if WEIGHTS {
                    weights[at] = curvatures;
                }
            }
            for (l, gamma) in rest.iter_mut().enumerate() {
                let (value, slope, curvature) = hinge.value_slope_weight(*gamma, if WEIGHTS { dual[l] } else { 0.0 });
                sums[l] += value;
                *gamma = slope;
                if WEIGHTS {
                    weight[l] = curvature;
                }
            }
            own_slopes(y, c, dz);
            h.chunks_exact_mut(c).zip(y).for_each(|(h, y)| h[*y as usize] = 0.0);
            sum = sums.iter().sum();
        },
    );
    sum
}

impl Loss for SmoothHinge {
    fn value_grad(&self, z: &[f64], y: usize, dz: &mut [f64]) -> f64 {
        let (mut value, mut sum) = (0.0, 0.0);
        for k in 0..z.len() {
            if k != y {
                let (part, slope) = self.hinge().value_slope(1.0 - z[y] + z[k]);
                value += part;
                sum += slope;
                dz[k] = slope;
            }
        }
        dz[y] = -sum;
        value
    }

    fn value_grad_rows(&self, z: &[f64], y: &[u32], dz: &mut [f64], values: &mut [f64]) {
        let hinge = self.hinge();
        value_grad_pairs(
            z,
            y,
            1.0,
            dz,
            values,
            #[inline(always)]
            |gamma| hinge.value_slope(gamma),
        );
    }

    fn sum_grad_rows(&self, z: &[f64], y: &[u32], dz: &mut [f64]) -> f64 {
        slopes_and_weights::<false>(self.hinge(), z, y, &[], dz, &mut [])
    }

    fn sum_rows(&self, z: &[f64], y: &[u32], room: &mut [f64]) -> f64 {
        let c = classes(z, y);
        let hinge = self.hinge();
        let mut sum = 0.0;
        vectorised(
            #[inline(always)]
            || {
                let mut sums = [0.0; LANES];
                margins(z, y, c, room);
                let (parts, rest) = room.as_chunks::<LANES>();
                for part in parts {
                    for l in 0..LANES {
                        sums[l] += hinge.value(part[l]);
                    }
                }
                for (l, gamma) in rest.iter().enumerate() {
                    sums[l] += hinge.value(*gamma);
                }
                sum = sums.iter().sum();
            },
        );
        sum
    }

    fn hess_vec(&self, z: &[f64], y: usize, v: &[f64], out: &mut [f64]) {
        let mut h = vec![0.0; z.len()];
        self.hessian_rows(z, &[y as u32], &mut h);
        Shape::Star.apply_rows(&h, &[y as u32], v, out);
    }

    fn describe(&self) -> String {
        if self.delta == 0.0 {
            "hinge of pairs".into()
        } else {
            format!("smooth hinge of pairs, delta {}", plain(self.delta))
        }
    }

    fn is_smooth(&self) -> bool {
        self.delta > 0.0
    }

    fn is_hinge(&self) -> bool {
        true
    }

    fn binary_hinge(&self) -> Option<f64> {
        Some(self.delta)
    }

    fn has_nearest_slopes(&self) -> bool {
        self.delta == 0.0
    }

    fn has_dual_slopes(&self) -> bool {
        true
    }

    fn relaxed(&self, mu: f64) -> Option<Box<dyn Loss>> {
        (mu > self.delta).then(|| Box::new(Self { delta: mu }) as Box<dyn Loss>)
    }

    fn shape(&self) -> Shape {
        Shape::Star
    }

    fn dual_len(&self, classes: usize) -> usize {
        classes
    }

    fn curvature_rows(&self, z: &[f64], y: &[u32], dual: &[f64], h: &mut [f64]) {
        let hinge = self.hinge();
        vectorised(
            #[inline(always)]
            || fill(z, y, h, |at, gamma| hinge.weight(gamma, dual[at])),
        );
    }

    fn newton_rows(&self, z: &[f64], y: &[u32], dual: &[f64], dz: &mut [f64], h: &mut [f64]) -> f64 {
        slopes_and_weights::<true>(self.hinge(), z, y, dual, dz, h)
    }

    fn follow_rows(&self, dz: &[f64], h: &[f64], y: &[u32], step: &[f64], dual: &mut [f64]) -> bool {
        let c = classes(dz, y);
        let mut tile = Tile::new(c);
        vectorised(
            #[inline(always)]
            || {
                tile.each(
                    0..y.len(),
                    #[inline(always)]
                    |rows, moved| {
                        let span = rows.start * c..rows.end * c;
                        changes(&step[span.clone()], &y[rows], c, moved);
                        let points = dz[span.clone()].iter().zip(&h[span.clone()]);
                        // The variable of the true class means nothing.
                        for ((v, moved), (slope, weight)) in dual[span].iter_mut().zip(moved).zip(points) {
                            *v = followed_dual(*slope, *weight, *moved, *v);
                        }
                    },
                );
            },
        );
        true
    }

    fn hessian_rows(&self, z: &[f64], y: &[u32], h: &mut [f64]) {
        let hinge = self.hinge();
        vectorised(
            #[inline(always)]
            || fill(z, y, h, |_, gamma| hinge.curvature(gamma)),
        );
    }

    fn dual_rows(&self, z: &[f64], y: &[u32], step: &[f64], taken: f64, dual: &mut [f64]) {
        const BLOCK: usize = 512;
        let c = classes(z, y);
        let (hinge, short) = (self.hinge(), taken < 0.2);
        let rows = (BLOCK / c).max(1);
        let mut buffer = vec![0.0; 2 * rows * c];
        vectorised(
            #[inline(always)]
            || {
                let blocks = z.chunks(rows * c).zip(step.chunks(rows * c)).zip(dual.chunks_mut(rows * c));
                for (((z, step), dual), y) in blocks.zip(y.chunks(rows)) {
                    // γ and Δγ of all entries first: one loop over many entries vectorises, many loops over a few classes do not.
                    let (gamma, moved) = buffer[..2 * z.len()].split_at_mut(z.len());
                    margins(z, y, c, gamma);
                    changes(step, y, c, moved);
                    let entries = dual.iter_mut().zip(gamma.iter().zip(moved.iter()));
                    if short {
                        entries.for_each(|(v, (g, m))| *v = hinge.moved_dual(*g, *m, true, *v));
                    } else {
                        entries.for_each(|(v, (g, m))| *v = hinge.moved_dual(*g, *m, false, *v));
                    }
                }
            },
        );
    }

    fn dual_slopes(&self, dual: &[f64], y: usize, dz: &mut [f64]) {
        dz.iter_mut().zip(dual).for_each(|(dz, v)| *dz = 0.5 * (1.0 + v));
        dz[y] = 0.0;
        dz[y] = -dz.iter().sum::<f64>();
    }

    fn nearest_slopes(&self, y: usize, point: &mut [f64]) {
        nearest::pair_slopes(y, point);
    }

    /// Σ_{k≠y} (αₖ + δ√(αₖ(1 − αₖ))), valid for any α in [0, 1] and so also for the slopes of a wider smoothing.
    fn dual_value(&self, _z: &[f64], y: usize, _value: f64, dz: &[f64]) -> f64 {
        dz.iter().enumerate().filter(|(k, _)| *k != y).map(|(_, a)| self.pay(*a)).sum()
    }

    fn dual_values(&self, _z: &[f64], y: &[u32], dz: &[f64], out: &mut [f64]) {
        let c = classes(dz, y);
        vectorised(
            #[inline(always)]
            || {
                unrolled(
                    c,
                    #[inline(always)]
                    |c| {
                        for (dz, out) in dz.chunks_exact(c).zip(out.iter_mut()) {
                            // The true class has minus the sum of the others, which pays nothing.
                            let mut sum = 0.0;
                            for k in 0..c {
                                sum += self.pay(dz[k]);
                            }
                            *out = sum;
                        }
                    },
                );
            },
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand_and_the_exact_hinge_as_limit() {
        let mut dz = [0.0; 3];
        // γ = 1 − 1 + (2, ·, 0) = (2, ·, 0); g(2) = (2 + √(4 + 0.25))/2, g(0) = 0.25.
        let value = SmoothHinge { delta: 0.5 }.value_grad(&[2.0, 1.0, 0.0], 1, &mut dz);
        assert!((value - (0.5 * (2.0 + 4.25f64.sqrt()) + 0.25)).abs() < 1e-15);
        assert!((dz[2] - 0.5).abs() < 1e-15 && (dz.iter().sum::<f64>()).abs() < 1e-15);
        let exact = SmoothHinge { delta: 0.0 }.value_grad(&[2.0, 1.0, -5.0], 1, &mut dz);
        assert_eq!((exact, dz), (2.0, [1.0, -1.0, 0.0]));
    }

    #[test]
    fn the_row_block_equals_the_single_row() {
        let z = [0.3, -2.0, 1.5, 4.0, 0.0, 0.1, 1e-9, 1.0, 50.0];
        let y = [0, 2, 1];
        for delta in [0.0, 1e-6, 0.01, 1.0] {
            let loss = SmoothHinge { delta };
            let (mut dz, mut values) = ([0.0; 9], [0.0; 3]);
            loss.value_grad_rows(&z, &y, &mut dz, &mut values);
            for i in 0..3 {
                let mut one = [0.0; 3];
                let value = loss.value_grad(&z[3 * i..3 * i + 3], y[i] as usize, &mut one);
                assert!((value - values[i]).abs() <= 1e-14 * value.max(1.0), "{value} {}", values[i]);
                (0..3).for_each(|k| assert!((one[k] - dz[3 * i + k]).abs() < 1e-14));
            }
        }
    }
}
