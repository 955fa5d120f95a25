//! The top-k hinge of Lapin, Hein and Schiele (2015), and with k = 1 the multi-class hinge of Crammer and Singer (2001).

use serde::{Deserialize, Serialize};

use super::hinge::Hinge;
use super::nearest;
use super::pairs::beyond_own;
use super::top_mean::centre_rows;
use super::{Loss, Shape, classes};
use crate::error::{Error, Result};
use crate::linalg::{largest, sum, vectorised};
use crate::parameter::{SMOOTHING, parameters};
use crate::rounding::of_sum;
use crate::text::plain;

/// ```text
/// ℓ(z, y) = max(0, mean of the k largest aⱼ),   aⱼ = 1[j≠y] + zⱼ − z_y
/// ```
///
/// A row pays nothing if the mean of its k best scores, with 1 added to those of wrong classes, is below the score of the true class:
/// for k > 1 some wrong classes may be ahead. For k = 1 this is `max(0, 1 + maxⱼ zⱼ − z_y)` over the wrong classes.
///
/// With δ > 0 both maxima are smoothed by the hinge g of [`SmoothHinge`](super::SmoothHinge):
///
/// ```text
/// ℓ = φ for k = 1,  g(φ) for k > 1,      φ = min over t of  t + (1/k) Σⱼ g(aⱼ − t)
/// ```
///
/// (With k = 1 the maximum contains a_y = 0, and φ is positive by itself.) Slopes αⱼ = g′(φ)·g′(aⱼ − t)/k satisfy `0 ≤ αⱼ ≤ β/k`,
/// `Σα = β ≤ 1`, the dual constraints of the exact loss.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TopKHinge {
    /// How many of the best classes count, at least 1 and less than the number of classes. (A [`Risk`](crate::Risk) of your own takes a
    /// larger k for the largest that its classes allow.)
    pub k: usize,
    /// Width of the smoothing, at least 0.
    pub delta: f64,
}

impl Default for TopKHinge {
    /// The exact loss of Crammer and Singer.
    fn default() -> Self {
        Self { k: 1, delta: 0.0 }
    }
}

/// Rows that are worked on together: what belongs to them stays in the fastest memory.
const ROWS_PER_BLOCK: usize = 64;

parameters!(TopKHinge {
    k: usize, "How many of the best classes count (topk)", "be at least 1", |k| k >= 1.0;
    delta: f64, SMOOTHING.0, SMOOTHING.1, SMOOTHING.2;
});

impl TopKHinge {
    fn hinge(&self) -> Hinge {
        Hinge::new(self.delta)
    }

    /// Whether the mean of the k largest margins can be negative and needs a hinge of its own.
    fn has_outer(&self) -> bool {
        self.k > 1
    }

    fn rank(&self, classes: usize) -> usize {
        self.k.clamp(1, (classes - 1).max(1))
    }

    /// Writes γⱼ = aⱼ − t of all rows into `gamma` and φ into `means`. Only for δ > 0.
    fn centred(&self, z: &[f64], y: &[u32], gamma: &mut [f64], means: &mut [f64]) {
        let c = classes(z, y);
        margins(z, y, gamma);
        centre_rows(self.delta, self.rank(c), gamma, means);
    }

    /// The mean of the k largest; replaces the margins by how much of every class is among them. Classes that tie for the last places share them.
    fn exact_row(&self, shares: &mut [f64], room: &mut [f64]) -> f64 {
        let k = self.rank(shares.len());
        room.copy_from_slice(shares);
        let last = *room.select_nth_unstable_by(k - 1, |a, b| b.total_cmp(a)).1;
        let mean = room[..k].iter().sum::<f64>() / k as f64;
        let above = room[..k].iter().filter(|a| **a > last).count();
        let ties = shares.iter().filter(|a| **a == last).count();
        let share = (k - above) as f64 / ties as f64;
        shares.iter_mut().for_each(|a| *a = if *a > last { 1.0 } else { share * f64::from(u8::from(*a == last)) });
        mean
    }

    /// The curvature with given dual state, or the true one:
    ///
    /// ```text
    /// ∇²ℓ = (β/k)(diag(h) − h hᵀ/Σh) + w u uᵀ,   u = ∇φ = q − e_y,   qⱼ = g′(γⱼ)/k,   h = g″(γ),   β = g′(φ),   w = g″(φ)
    /// ```
    ///
    /// The first part annihilates the vector of ones, so it is the same in z as in a. With dual state, h and w are primal-dual weights and
    /// β is what its dual variable says, as the multiplier of a constraint weighs its curvature in the Lagrangian: with g′(φ) instead, which
    /// is next to nothing until a row pays, steps run into rows that they do not see coming, and there are many more of them.
    fn curvatures(&self, z: &[f64], y: &[u32], dual: Option<&[f64]>, out: &mut [f64]) {
        if self.delta == 0.0 {
            return out.fill(0.0);
        }
        let c = classes(z, y);
        let (len, per) = (self.shape().len(c), self.dual_len(c));
        let mut room = vec![0.0; ROWS_PER_BLOCK * (c + 1)];
        for (number, (y, out)) in y.chunks(ROWS_PER_BLOCK).zip(out.chunks_mut(ROWS_PER_BLOCK * len)).enumerate() {
            let (from, to) = (number * ROWS_PER_BLOCK, number * ROWS_PER_BLOCK + y.len());
            let (gamma, means) = room[..y.len() * (c + 1)].split_at_mut(y.len() * c);
            self.centred(&z[from * c..to * c], y, gamma, means);
            let dual = dual.map(|dual| &dual[from * per..to * per]);
            vectorised(
                #[inline(always)]
                || self.curvature_block(gamma, means, y, dual, out),
            );
        }
    }

    #[inline(always)]
    fn curvature_block(&self, gamma: &[f64], means: &[f64], y: &[u32], dual: Option<&[f64]>, out: &mut [f64]) {
        let (hinge, c) = (self.hinge(), gamma.len() / y.len());
        let (k, len, per) = (self.rank(c) as f64, self.shape().len(c), self.dual_len(c));
        if !self.has_outer() {
            // All rows in one loop: many short ones are slower.
            match dual {
                Some(dual) => {
                    let entries = out.iter_mut().zip(gamma.iter().zip(dual));
                    entries.for_each(|(h, (gamma, v))| *h = hinge.weight(*gamma, *v));
                }
                None => out.iter_mut().zip(gamma).for_each(|(h, gamma)| *h = hinge.curvature(*gamma)),
            }
            return;
        }
        for (i, out) in out.chunks_exact_mut(len).enumerate() {
            let (h, line) = out.split_at_mut(c);
            let (gamma, mean, y) = (&gamma[i * c..(i + 1) * c], means[i], y[i] as usize);
            let (weight, beta) = match dual.map(|dual| &dual[i * per..(i + 1) * per]) {
                Some(dual) => {
                    h.iter_mut().zip(gamma.iter().zip(dual)).for_each(|(h, (gamma, v))| *h = hinge.weight(*gamma, *v));
                    (hinge.weight(mean, dual[c]), 0.5 * (1.0 + dual[c]))
                }
                None => {
                    h.iter_mut().zip(gamma).for_each(|(h, gamma)| *h = hinge.curvature(*gamma));
                    (hinge.curvature(mean), hinge.value_slope(mean).1)
                }
            };
            h.iter_mut().for_each(|h| *h *= beta / k);
            line.iter_mut().zip(gamma).for_each(|(u, gamma)| *u = weight * hinge.value_slope(*gamma).1 / k);
            line[y] = 0.0;
            line[y] = -line[..c].iter().sum::<f64>();
            line[c] = weight;
        }
    }

    #[inline(always)]
    fn dual_block(&self, gamma: &[f64], means: &[f64], y: &[u32], step: &[f64], short: bool, dual: &mut [f64]) {
        let (hinge, c) = (self.hinge(), gamma.len() / y.len());
        let k = self.rank(c) as f64;
        let rows = gamma.chunks_exact(c).zip(step.chunks_exact(c)).zip(dual.chunks_exact_mut(self.dual_len(c)));
        for (((gamma, step), dual), (y, mean)) in rows.zip(y.iter().zip(means)) {
            let own = step[*y as usize];
            let (mut sum, mut along, mut rise) = (0.0, 0.0, 0.0);
            for ((gamma, step), v) in gamma.iter().zip(step).zip(&*dual) {
                let (moved, h) = (step - own, hinge.weight(*gamma, *v));
                sum += h;
                along += h * moved;
                if self.has_outer() {
                    rise += hinge.value_slope(*gamma).1 / k * moved;
                }
            }
            let shift = own + along / sum.max(f64::MIN_POSITIVE);
            let entries = dual.iter_mut().zip(gamma.iter().zip(step));
            if short {
                entries.for_each(|(v, (gamma, step))| *v = hinge.moved_dual(*gamma, step - shift, true, *v));
            } else {
                entries.for_each(|(v, (gamma, step))| *v = hinge.moved_dual(*gamma, step - shift, false, *v));
            }
            if self.has_outer() {
                dual[c] = hinge.moved_dual(*mean, rise, short, dual[c]);
            }
        }
    }
}

/// aⱼ of all rows.
fn margins(z: &[f64], y: &[u32], a: &mut [f64]) {
    let c = classes(z, y);
    vectorised(
        #[inline(always)]
        || beyond_own(z, y, c, (1.0, 0.0), a),
    );
}

impl Loss for TopKHinge {
    fn value_grad(&self, z: &[f64], y: usize, dz: &mut [f64]) -> f64 {
        let mut value = [0.0];
        self.value_grad_rows(z, &[y as u32], dz, &mut value);
        value[0]
    }

    fn value_grad_rows(&self, z: &[f64], y: &[u32], dz: &mut [f64], values: &mut [f64]) {
        let c = classes(z, y);
        let (hinge, k) = (self.hinge(), self.rank(c) as f64);
        if self.delta > 0.0 {
            self.centred(z, y, dz, values);
            vectorised(
                #[inline(always)]
                || dz.iter_mut().for_each(|g| *g = hinge.value_slope(*g).1),
            );
        } else {
            margins(z, y, dz);
            let mut room = vec![0.0; c];
            let rows = dz.chunks_exact_mut(c).zip(&mut *values);
            rows.for_each(|(dz, value)| *value = self.exact_row(dz, &mut room));
        }
        vectorised(
            #[inline(always)]
            || {
                for ((dz, value), y) in dz.chunks_exact_mut(c).zip(values.iter_mut()).zip(y) {
                    let mut beta = 1.0;
                    if self.has_outer() {
                        (*value, beta) = hinge.value_slope(*value);
                    }
                    let (y, scale) = (*y as usize, beta / k);
                    dz[y] = 0.0;
                    for g in dz.iter_mut() {
                        *g *= scale;
                    }
                    dz[y] = -sum(dz);
                }
            },
        );
    }

    fn sum_rows(&self, z: &[f64], y: &[u32], room: &mut [f64]) -> f64 {
        let c = classes(z, y);
        if self.delta > 0.0 {
            let mut values = vec![0.0; y.len()];
            self.centred(z, y, room, &mut values);
            let hinge = self.hinge();
            return values.iter().map(|value| if self.has_outer() { hinge.value(*value) } else { *value }).sum();
        }
        if self.has_outer() {
            return self.sum_grad_rows(z, y, room);
        }
        margins(z, y, room);
        let mut total = 0.0;
        vectorised(
            #[inline(always)]
            || {
                for row in room.chunks_exact(c) {
                    // Adds nothing, unless a score is no finite number: then the sum is none.
                    total += largest(row) + 0.0 * sum(row);
                }
            },
        );
        total
    }

    fn hess_vec(&self, z: &[f64], y: usize, v: &[f64], out: &mut [f64]) {
        let mut h = vec![0.0; self.shape().len(z.len())];
        self.hessian_rows(z, &[y as u32], &mut h);
        self.shape().apply_rows(&h, &[y as u32], v, out);
    }

    fn describe(&self) -> String {
        let smooth = if self.delta == 0.0 { String::new() } else { format!(", delta {}", plain(self.delta)) };
        match self.k {
            1 => format!("hinge of the best wrong class{smooth}"),
            k => format!("hinge of the top {k} classes{smooth}"),
        }
    }

    fn check_classes(&self, classes: usize) -> Result<()> {
        if self.k < classes {
            return Ok(());
        }
        Err(Error::param("k", format!("{} with {classes} classes", self.k), "be less than the number of classes"))
    }

    fn is_smooth(&self) -> bool {
        self.delta > 0.0
    }

    fn is_hinge(&self) -> bool {
        true
    }

    fn has_nearest_slopes(&self) -> bool {
        self.delta == 0.0 && !self.has_outer()
    }

    fn has_dual_slopes(&self) -> bool {
        true
    }

    fn relaxed(&self, mu: f64) -> Option<Box<dyn Loss>> {
        (mu > self.delta).then(|| Box::new(Self { delta: mu, ..*self }) as Box<dyn Loss>)
    }

    fn shape(&self) -> Shape {
        if self.has_outer() { Shape::SimplexAndLine } else { Shape::Simplex }
    }

    /// One variable per class, for g(aⱼ − t), and one for g(φ).
    fn dual_len(&self, classes: usize) -> usize {
        classes + usize::from(self.has_outer())
    }

    fn curvature_rows(&self, z: &[f64], y: &[u32], dual: &[f64], h: &mut [f64]) {
        self.curvatures(z, y, Some(dual), h);
    }

    fn hessian_rows(&self, z: &[f64], y: &[u32], h: &mut [f64]) {
        self.curvatures(z, y, None, h);
    }

    /// Along the step γ moves by Δaⱼ − Δt, where Δt keeps the sum of the slopes: the mean of Δa under the weights h.
    fn dual_rows(&self, z: &[f64], y: &[u32], step: &[f64], taken: f64, dual: &mut [f64]) {
        if self.delta == 0.0 {
            return;
        }
        let c = classes(z, y);
        let per = self.dual_len(c);
        let mut room = vec![0.0; ROWS_PER_BLOCK * (c + 1)];
        for (number, (y, dual)) in y.chunks(ROWS_PER_BLOCK).zip(dual.chunks_mut(ROWS_PER_BLOCK * per)).enumerate() {
            let span = number * ROWS_PER_BLOCK * c..(number * ROWS_PER_BLOCK + y.len()) * c;
            let (gamma, means) = room[..y.len() * (c + 1)].split_at_mut(y.len() * c);
            self.centred(&z[span.clone()], y, gamma, means);
            vectorised(
                #[inline(always)]
                || self.dual_block(gamma, means, y, &step[span.clone()], taken < 0.2, dual),
            );
        }
    }

    /// Shares pⱼ = (1 + vⱼ)/2 that clipping has kept from summing to k are scaled, or else their distances from 1, so that a share of
    /// the true class in [0, 1] makes up for the rest.
    fn dual_slopes(&self, dual: &[f64], y: usize, dz: &mut [f64]) {
        let c = dz.len();
        let k = self.rank(c) as f64;
        dz.iter_mut().zip(dual).for_each(|(p, v)| *p = 0.5 * (1.0 + v));
        dz[y] = 0.0;
        let sum: f64 = dz.iter().sum();
        if sum > k {
            dz.iter_mut().for_each(|p| *p *= k / sum);
        } else if sum < k - 1.0 {
            let shrink = (c as f64 - k) / (c as f64 - 1.0 - sum);
            dz.iter_mut().for_each(|p| *p = 1.0 - shrink * (1.0 - *p));
        }
        let beta = if self.has_outer() { 0.5 * (1.0 + dual[c]) } else { 1.0 };
        dz[y] = 0.0;
        dz.iter_mut().for_each(|p| *p *= beta / k);
        dz[y] = -dz.iter().sum::<f64>();
    }

    /// Slopes are products of shares and β. Of the β that go with them, the one nearest to that of the state.
    fn dual_of_slopes(&self, slopes: &[f64], y: usize, dual: &mut [f64]) {
        if !self.has_outer() {
            return;
        }
        let (c, k) = (slopes.len(), self.rank(slopes.len()) as f64);
        let mut alpha: Vec<f64> = slopes.iter().map(|a| a.max(0.0)).collect();
        alpha[y] = 0.0;
        let (sum, top) = others(y, &alpha);
        let scale = 1.0 / sum.max(k * top).max(1.0);
        alpha.iter_mut().for_each(|a| *a *= scale);
        // No slope is more than a (k − 1)-th of their sum: what is too much goes from the largest.
        for _ in 0..c {
            let (sum, top) = others(y, &alpha);
            if (k - 1.0) * top <= sum {
                break;
            }
            // With m of them at the top and the others summing to r: (k − 1)·a = m·a + r.
            let at_top = alpha.iter().filter(|a| **a == top).count() as f64;
            let most = ((sum - at_top * top) / (k - 1.0 - at_top).max(f64::MIN_POSITIVE)).min(top);
            alpha.iter_mut().for_each(|a| *a = a.min(most));
        }
        let (sum, top) = others(y, &alpha);
        let (low, high) = (sum.max(k * top), (k * sum / (k - 1.0)).min(1.0));
        let beta = (0.5 * (1.0 + dual[c])).min(high).max(low).min(1.0);
        dual[c] = 2.0 * beta - 1.0;
        if beta > 0.0 {
            dual.iter_mut().zip(&alpha).for_each(|(v, a)| *v = 2.0 * (k * a / beta).min(1.0) - 1.0);
            dual[y] = 2.0 * (k - k * sum / beta).clamp(0.0, 1.0) - 1.0;
        }
    }

    fn nearest_slopes(&self, y: usize, point: &mut [f64]) {
        nearest::shares(y, point);
    }

    /// Σ_{j≠y} αⱼ plus what the smoothing adds,
    ///
    /// ```text
    /// (δ/k) Σⱼ √(kαⱼ(β − kαⱼ)) + δ√(β(1 − β)),   α_y = β − Σ_{j≠y} αⱼ
    /// ```
    ///
    /// valid for every β that keeps `0 ≤ kα ≤ β ≤ 1`; for k = 1 it is 1, else the best one is searched.
    /// The slope of the true class and the distance of a slope from β are small differences, so each counts only as far as rounding
    /// cannot have made it up.
    fn dual_value(&self, _z: &[f64], y: usize, _value: f64, dz: &[f64]) -> f64 {
        let (sum, top) = others(y, dz);
        let (k, slack) = (self.rank(dz.len()) as f64, of_sum(dz.len()));
        if sum.max(k * top) > 1.0 + slack || (k - 1.0) * top > (1.0 + slack) * sum {
            // No slopes of this loss.
            return f64::NEG_INFINITY;
        }
        if self.delta == 0.0 {
            return sum;
        }
        let root = |a: f64, b: f64| (a.max(0.0) * b.max(0.0)).sqrt();
        let wrong = dz.iter().enumerate().filter(|(j, _)| *j != y).map(|(_, a)| k * a);
        if !self.has_outer() {
            return sum + self.delta * (wrong.map(|a| root(a, 1.0 - a)).sum::<f64>() + root(1.0 - sum - slack, sum));
        }
        let added = |beta: f64| {
            let own = k * (beta - sum);
            let inner: f64 = wrong.clone().map(|a| root(a, beta - a - slack * beta)).sum();
            let rounding = k * slack * beta;
            (inner + root(own - rounding, beta - own - rounding)) / k + root(beta, 1.0 - beta)
        };
        sum + self.delta * added(self.best_multiplier(y, dz))
    }
}

impl TopKHinge {
    /// The β for which the bound of a smoothed row with slopes `dz` is highest, by bisection: it is concave in β.
    fn best_multiplier(&self, y: usize, dz: &[f64]) -> f64 {
        let (sum, top) = others(y, dz);
        let k = self.rank(dz.len()) as f64;
        // The slope in β of √(ab) is (a′b + ab′)/(2√(ab)).
        let part = |a: f64, da: f64, b: f64, db: f64| (da * b + a * db) / (a * b).max(f64::MIN_POSITIVE).sqrt();
        let slope = |beta: f64| {
            let each = |j: usize| {
                let (a, da) = if j == y { (k * (beta - sum), k) } else { (k * dz[j], 0.0) };
                part(a, da, beta - a, 1.0 - da)
            };
            (0..dz.len()).map(each).sum::<f64>() / k + part(beta, 1.0, 1.0 - beta, -1.0)
        };
        let (mut low, mut high) = (sum.max(k * top), if k > 1.0 { (k * sum / (k - 1.0)).min(1.0) } else { 1.0 });
        for _ in 0..50 {
            let middle = 0.5 * (low + high);
            if slope(middle) > 0.0 { low = middle } else { high = middle }
        }
        0.5 * (low + high)
    }
}

/// Sum and largest of the slopes of wrong classes.
fn others(y: usize, dz: &[f64]) -> (f64, f64) {
    let wrong = dz.iter().enumerate().filter(|(j, _)| *j != y);
    wrong.fold((0.0, 0.0f64), |(sum, top), (_, a)| (sum + a, top.max(*a)))
}
