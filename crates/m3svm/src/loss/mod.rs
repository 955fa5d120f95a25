//! What one sample pays, as a function of its score row `z = Wᵀx + b` alone. A loss never sees `X` or `W`.
//!
//! One file per loss. A new loss is its file, one arm of [`AnyLoss`] and one line of [`AnyLoss::examples`];
//! a loss that only you need implements [`Loss`] (two methods) and is handed to [`crate::Risk`] directly.

mod exponential;
mod hinge;
mod nearest;
mod pairs;
mod pairwise_logistic;
mod smooth_hinge;
mod softmax;
mod top_k_hinge;
mod top_mean;

use serde::{Deserialize, Serialize};

pub(crate) use hinge::Hinge;
pub use pairwise_logistic::PairwiseLogistic;
pub use smooth_hinge::SmoothHinge;
pub use softmax::Softmax;
pub use top_k_hinge::TopKHinge;

use crate::error::Result;
use crate::linalg::{dot_in_lanes, sum, unrolled, vectorised};
use crate::parameter::{Parameters, any};
use crate::rounding::of_sum;

/// How the curvature ∇²ℓ of one row is written down; see [`Loss::curvature_rows`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// c numbers `h`: `Σ_{k≠y} hₖ (eₖ − e_y)(eₖ − e_y)ᵀ`, with `h_y = 0`. Every class is compared with the true one.
    Star,
    /// c numbers `h`: `diag(h) − h hᵀ/Σh`. Every class is compared with every other.
    Simplex,
    /// 2c + 1 numbers `h`, `p` and `w`: `diag(h) − h hᵀ/Σh + p pᵀ/w`, with `Σp = 0`.
    SimplexAndLine,
    /// The c×c matrix itself.
    Dense,
}

impl Shape {
    /// Numbers per row.
    pub fn len(self, classes: usize) -> usize {
        match self {
            Self::Star | Self::Simplex => classes,
            Self::SimplexAndLine => 2 * classes + 1,
            Self::Dense => classes * classes,
        }
    }

    /// Whether pairs of classes weigh on each other with positive sign only.
    pub(crate) fn pairs_are_positive(self) -> bool {
        matches!(self, Self::Star | Self::Simplex)
    }

    /// `out = H·v` for the curvature `h` of consecutive rows (`v`, `out`: m×c).
    pub(crate) fn apply_rows(self, h: &[f64], y: &[u32], v: &[f64], out: &mut [f64]) {
        let c = classes(v, y);
        vectorised(
            #[inline(always)]
            || {
                unrolled(
                    c,
                    #[inline(always)]
                    |c| {
                        let rows = h.chunks_exact(self.len(c)).zip(v.chunks_exact(c));
                        for ((h, v), (out, y)) in rows.zip(out.chunks_exact_mut(c).zip(y)) {
                            self.apply(h, *y as usize, v, out);
                        }
                    },
                );
            },
        );
    }

    /// The same for one row. (Plain loops: those of iterators are not always compiled into their caller, and then for any machine.)
    #[inline(always)]
    fn apply(self, h: &[f64], y: usize, v: &[f64], out: &mut [f64]) {
        match self {
            Self::Star => {
                let own = v[y];
                for k in 0..v.len() {
                    out[k] = h[k] * (v[k] - own);
                }
                // That of the true class is 0 so far.
                out[y] = -sum(out);
            }
            Self::Simplex => apply_simplex(h, v, out),
            Self::SimplexAndLine => {
                let (h, line) = h.split_at(v.len());
                apply_simplex(h, v, out);
                let (p, w) = line.split_at(v.len());
                let along = dot_in_lanes::<8>(p, v) / w[0].max(f64::MIN_POSITIVE);
                for k in 0..v.len() {
                    out[k] += p[k] * along;
                }
            }
            Self::Dense => {
                for (row, o) in h.chunks_exact(v.len()).zip(out) {
                    *o = dot_in_lanes::<8>(row, v);
                }
            }
        }
    }

    /// What [`Shape::pair`] takes to know of a row besides its curvature: the sum of the simplex.
    pub(crate) fn total(self, h: &[f64]) -> f64 {
        let simplex = match self {
            Self::Star | Self::Dense => return 1.0,
            Self::Simplex => h,
            Self::SimplexAndLine => &h[..h.len() / 2],
        };
        simplex.iter().sum::<f64>().max(f64::MIN_POSITIVE)
    }

    /// The weight of the pair (k, l) in a row with a given total: minus the off-diagonal entry of the curvature.
    #[inline]
    pub(crate) fn pair(self, h: &[f64], total: f64, y: usize, k: usize, l: usize) -> f64 {
        match self {
            Self::Star if y == k => h[l],
            Self::Star if y == l => h[k],
            Self::Star => 0.0,
            Self::Simplex => h[k] * (h[l] / total),
            Self::SimplexAndLine => {
                let (h, line) = h.split_at(h.len() / 2);
                h[k] * (h[l] / total) - line[k] * (line[l] / line[h.len()].max(f64::MIN_POSITIVE))
            }
            Self::Dense => -h[k * h.len().isqrt() + l],
        }
    }
}

/// Numbers per row.
fn classes(z: &[f64], y: &[u32]) -> usize {
    (z.len() / y.len().max(1)).max(1)
}

/// `out = (diag(h) − h hᵀ/Σh)·v`.
#[inline(always)]
fn apply_simplex(h: &[f64], v: &[f64], out: &mut [f64]) {
    let mean = dot_in_lanes::<8>(h, v) / sum(h).max(f64::MIN_POSITIVE);
    for k in 0..v.len() {
        out[k] = h[k] * (v[k] - mean);
    }
}

/// ℓ(z, y): convex, never negative, differentiable. Only the first two methods are needed; the others have defaults
/// that are right for every such loss and are overridden where something faster or sharper is known.
pub trait Loss: Send + Sync + std::fmt::Debug {
    /// Returns ℓ(z, y) and writes ∂ℓ/∂z into `dz`.
    fn value_grad(&self, z: &[f64], y: usize, dz: &mut [f64]) -> f64;

    /// `out = ∇²ℓ(z, y)·v`; where ∇² does not exist, any positive semidefinite generalised Hessian.
    fn hess_vec(&self, z: &[f64], y: usize, v: &[f64], out: &mut [f64]);

    /// What it is and its settings, in a few words for reports.
    fn describe(&self) -> String {
        format!("{self:?}")
    }

    /// Refuses parameters that do not go with the number of classes.
    fn check_classes(&self, _classes: usize) -> Result<()> {
        Ok(())
    }

    /// Whether ℓ(z + t·1, y) = ℓ(z, y) for every t. All losses of the paper have this.
    fn shift_invariant(&self) -> bool {
        true
    }

    /// Whether ℓ has no kinks as it is. What can be rounded off however finely has some.
    fn is_smooth(&self) -> bool {
        self.relaxed(f64::MIN_POSITIVE).is_none()
    }

    /// Whether ℓ is made of hinges, rounded off or not: near the optimum few rows have nearly all the curvature.
    fn is_hinge(&self) -> bool {
        self.dual_len(2) > 0
    }

    /// The width δ, if for two classes ℓ is one hinge of the margin, rounded off as [`SmoothHinge`] is.
    fn binary_hinge(&self) -> Option<f64> {
        None
    }

    /// Whether [`Loss::nearest_slopes`] finds any.
    fn has_nearest_slopes(&self) -> bool {
        false
    }

    /// Whether dual state stands for slopes, see [`Loss::dual_slopes`].
    fn has_dual_slopes(&self) -> bool {
        false
    }

    /// `value_grad` on consecutive rows (`z`, `dz`: m×c; `y`, `values`: m).
    fn value_grad_rows(&self, z: &[f64], y: &[u32], dz: &mut [f64], values: &mut [f64]) {
        let c = classes(z, y);
        for (i, value) in values.iter_mut().enumerate() {
            let row = i * c..(i + 1) * c;
            *value = self.value_grad(&z[row.clone()], y[i] as usize, &mut dz[row]);
        }
    }

    /// Σℓ of consecutive rows, and `dz` as [`Loss::value_grad_rows`] writes it.
    fn sum_grad_rows(&self, z: &[f64], y: &[u32], dz: &mut [f64]) -> f64 {
        let mut values = vec![0.0; y.len()];
        self.value_grad_rows(z, y, dz, &mut values);
        values.iter().sum()
    }

    /// Σℓ of consecutive rows alone. There is `room` for m×c numbers.
    fn sum_rows(&self, z: &[f64], y: &[u32], room: &mut [f64]) -> f64 {
        self.sum_grad_rows(z, y, room)
    }

    /// An easier loss of the same family that tends to this one as μ → 0, for solvers that follow a path. `None`
    /// if the loss is smooth enough as it is.
    fn relaxed(&self, _mu: f64) -> Option<Box<dyn Loss>> {
        None
    }

    /// Shape in which [`Loss::curvature_rows`] writes.
    fn shape(&self) -> Shape {
        Shape::Dense
    }

    /// Numbers of dual state per row that [`Loss::curvature_rows`] wants to be kept for it (started at 0).
    fn dual_len(&self, _classes: usize) -> usize {
        0
    }

    /// Writes the curvature of consecutive rows for a Newton step. With dual state it may differ from ∇²ℓ away from the
    /// optimum, but is positive semidefinite everywhere.
    fn curvature_rows(&self, z: &[f64], y: &[u32], _dual: &[f64], h: &mut [f64]) {
        let c = classes(z, y);
        let mut unit = vec![0.0; c];
        for (i, h) in h.chunks_exact_mut(c * c).enumerate() {
            for (k, out) in h.chunks_exact_mut(c).enumerate() {
                unit[k] = 1.0;
                self.hess_vec(&z[i * c..(i + 1) * c], y[i] as usize, &unit, out);
                unit[k] = 0.0;
            }
        }
    }

    /// [`Loss::sum_grad_rows`] and [`Loss::curvature_rows`] at once.
    fn newton_rows(&self, z: &[f64], y: &[u32], dual: &[f64], dz: &mut [f64], h: &mut [f64]) -> f64 {
        self.curvature_rows(z, y, dual, h);
        self.sum_grad_rows(z, y, dz)
    }

    /// ∇²ℓ itself in the same form: the curvature with the dual state that belongs to the point.
    fn hessian_rows(&self, z: &[f64], y: &[u32], h: &mut [f64]) {
        self.curvature_rows(z, y, &[], h);
    }

    /// Moves the dual state of consecutive rows along with a Newton step that would change the scores by `step` and of which the
    /// share `taken` was taken.
    fn dual_rows(&self, _z: &[f64], _y: &[u32], _step: &[f64], _taken: f64, _dual: &mut [f64]) {}

    /// The same after a step that was not cut short, from what [`Loss::newton_rows`] wrote at the point it was made for; `false` if the
    /// scores are needed.
    fn follow_rows(&self, _dz: &[f64], _h: &[f64], _y: &[u32], _step: &[f64], _dual: &mut [f64]) -> bool {
        false
    }

    /// Writes the slopes ∂ℓ/∂z that the dual state of a row stands for. Only asked where it [stands for some](Loss::has_dual_slopes). At
    /// tiny smoothing they are more exact than the slopes at the scores, whose rounding they do not share.
    fn dual_slopes(&self, _dual: &[f64], _y: usize, _dz: &mut [f64]) {}

    /// Makes the dual state of a row stand for slopes that are the given ones, or near to them where those are none that the row can have.
    /// Asked where [`Shape::SimplexAndLine`] makes slopes products of dual variables, which do not follow a step as exactly as slopes do.
    fn dual_of_slopes(&self, _slopes: &[f64], _y: usize, _dual: &mut [f64]) {}

    /// −ℓ*(∂ℓ/∂z) at a point where `value_grad` gave (`value`, `dz`): what the row adds to the lower bound. When called on
    /// `self` with the gradient of a relaxed loss, must still be a valid (if weaker) bound.
    ///
    /// Exact up to the rounding of a sum of c numbers of the same sign; what cancellation may cost beyond that has been taken off.
    fn dual_value(&self, z: &[f64], _y: usize, value: f64, dz: &[f64]) -> f64 {
        let (mut along, mut size) = (0.0, value.abs());
        for product in dz.iter().zip(z).map(|(g, z)| g * z) {
            along += product;
            size += product.abs();
        }
        value - along - of_sum(z.len()) * size
    }

    /// `dual_value` of consecutive rows (`z`, `dz`: m×c, `z` empty where [`Loss::dual_slopes`] gave the slopes; `y`, `out`: m). `out` comes
    /// with the values of the rows.
    fn dual_values(&self, z: &[f64], y: &[u32], dz: &[f64], out: &mut [f64]) {
        let c = classes(dz, y);
        for (i, out) in out.iter_mut().enumerate() {
            let row = i * c..(i + 1) * c;
            let z = if z.is_empty() { z } else { &z[row.clone()] };
            *out = self.dual_value(z, y[i] as usize, *out, &dz[row]);
        }
    }

    /// Replaces `point` by the nearest slopes ∂ℓ/∂z that a row of class `y` can have. Only asked of losses that [find
    /// some](Loss::has_nearest_slopes): shift-invariant ones whose −ℓ* is the sum of the slopes of wrong classes, as that of hinges is.
    fn nearest_slopes(&self, _y: usize, _point: &mut [f64]) {}

    /// Whether the loss defines class probabilities.
    fn has_probabilities(&self) -> bool {
        false
    }

    /// Replaces scores by them; only asked of losses that [have some](Loss::has_probabilities).
    fn probabilities(&self, _z: &mut [f64]) {}
}

any!(
    /// The losses that have a name in the command line, in Python and in model files.
    #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(tag = "name", rename_all = "kebab-case", deny_unknown_fields)]
    AnyLoss: Loss {
        /// See [`SmoothHinge`].
        SmoothHinge(SmoothHinge),
        /// See [`Softmax`].
        Softmax(Softmax),
        /// See [`PairwiseLogistic`].
        PairwiseLogistic(PairwiseLogistic),
        /// See [`TopKHinge`].
        TopKHinge(TopKHinge),
    }
);

impl AnyLoss {
    /// One of each, and two where parameters change the kind of a loss, for test tables, help texts and docs.
    pub fn examples() -> Vec<Self> {
        vec![
            Self::SmoothHinge(SmoothHinge { delta: 0.5 }),
            Self::Softmax(Softmax {}),
            Self::PairwiseLogistic(PairwiseLogistic {}),
            Self::TopKHinge(TopKHinge { k: 1, delta: 0.5 }),
            Self::TopKHinge(TopKHinge { k: 2, delta: 0.5 }),
        ]
    }
}

impl AnyLoss {
    /// How many of the best classes count, where the loss says so.
    pub fn top_k(&self) -> Option<usize> {
        self.get("k").map(|k| k as usize)
    }
}

impl Default for AnyLoss {
    fn default() -> Self {
        Self::SmoothHinge(SmoothHinge::default())
    }
}
