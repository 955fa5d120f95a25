//! The limit p → ∞: only the pairs of classes with the smallest margin pay.
//!
//! ```text
//! R(W) = λ max_{k<l} ‖wₖ − wₗ‖² = max over a ≥ 0, Σa = 1 of λ Σ aₖₗ‖wₖ − wₗ‖²
//! ```
//!
//! Every a gives a lower bound by a quadratic penalty; at the optimum it lives on the pairs that attain the maximum. On the way there the
//! maximum is rounded off by a barrier, `min over t of t + μ Σ log((t + μ)/(t − ‖uₖₗ‖²))`, which is convex in t and W and no less than the
//! maximum; its slopes are `aₖₗ = μ/(t − ‖uₖₗ‖²)`. Newton keeps a as a dual state and linearises `a·(t − ‖u‖²) = μ`, as it does with the hinge.

use faer::{Mat, Side};

use super::pairwise::{Norm, Pairwise};
use super::{Curvature, DualTerms, Penalty, by_class, pairs};
use crate::certificate::pay;
use crate::linalg::{axpy, dot};
use crate::rounding::{length, of_sum};

/// The penalty, rounded off by μ (0: as it is).
#[derive(Clone, Copy, Debug)]
pub(super) struct Largest {
    pub(super) lambda: f64,
    pub(super) mu: f64,
}

/// Where the barrier is smallest: t, and t − ‖u‖² of every pair.
struct Level {
    t: f64,
    slack: Vec<f64>,
}

impl Largest {
    /// ‖wₖ − wₗ‖² of every pair.
    fn squares(vectors: &[f64], classes: usize) -> Vec<f64> {
        let d = vectors.len() / classes;
        let (mut out, mut u) = (Vec::new(), vec![0.0; d]);
        pairs(classes, |_, k, l| {
            u.copy_from_slice(&vectors[k * d..(k + 1) * d]);
            axpy(-1.0, &vectors[l * d..(l + 1) * d], &mut u);
            out.push(dot(&u, &u));
        });
        out
    }

    /// All weight on the first of the longest.
    fn first(&self, squares: &[f64]) -> Vec<f64> {
        let top = squares.iter().copied().fold(0.0, f64::max);
        let first = squares.iter().position(|q| *q == top).unwrap_or(0);
        (0..squares.len()).map(|pair| f64::from(u8::from(pair == first))).collect()
    }

    /// The root of `Σ μ/(t − qᵢ) − mμ/(t + μ) = 1` above all q: it falls, and lies between `top + μ/(1 + m)` and `top + mμ`.
    fn level(&self, squares: &[f64]) -> Level {
        let (mu, m) = (self.mu, squares.len() as f64);
        let top = squares.iter().copied().fold(0.0, f64::max);
        // In s = t − top, so that small differences keep their digits.
        let below: Vec<f64> = squares.iter().map(|q| top - q).collect();
        let (mut low, mut high) = (mu / (1.0 + m), m * mu);
        let mut s = low;
        for _ in 0..100 {
            let (mut value, mut slope) = (-1.0 - m * mu / (top + s + mu), m * mu / (top + s + mu).powi(2));
            for b in &below {
                value += mu / (s + b);
                slope -= mu / (s + b).powi(2);
            }
            if value > 0.0 {
                low = s
            } else {
                high = s
            }
            let next = s - value / slope;
            let next = if next > low && next < high { next } else { 0.5 * (low + high) };
            if (next - s).abs() <= 1e-15 * s || low >= high {
                s = next;
                break;
            }
            s = next;
        }
        Level { t: top + s, slack: below.into_iter().map(|b| s + b).collect() }
    }

    /// The dual state, or the slopes where there is none yet.
    fn weights(&self, level: &Level, dual: &[f64]) -> Vec<f64> {
        if dual.iter().any(|a| *a > 0.0) {
            return dual.to_vec();
        }
        level.slack.iter().map(|s| self.mu / s).collect()
    }

    /// Adds λ Σ aₖₗ∇‖wₖ − wₗ‖², with vectors by class, to a gradient by feature.
    fn add_gradient(&self, vectors: &[f64], classes: usize, a: &[f64], grad: &mut [f64]) {
        let d = vectors.len() / classes;
        let mut degree = vec![0.0; classes * classes];
        pairs(classes, |pair, k, l| super::add_pair(&mut degree, classes, k, l, 2.0 * self.lambda * a[pair]));
        for k in 0..classes {
            for l in 0..classes {
                let weight = degree[k * classes + l];
                if weight != 0.0 {
                    let column = grad.iter_mut().skip(k).step_by(classes);
                    column.zip(&vectors[l * d..(l + 1) * d]).for_each(|(g, v)| *g += weight * v);
                }
            }
        }
    }
}

impl Penalty for Largest {
    fn value_grad(&self, w: &[f64], classes: usize, grad: &mut [f64]) -> f64 {
        let vectors = by_class(w, classes);
        let squares = Self::squares(&vectors, classes);
        if self.mu == 0.0 {
            // A subgradient: that of the first of the longest.
            self.add_gradient(&vectors, classes, &self.first(&squares), grad);
            return self.lambda * squares.iter().copied().fold(0.0, f64::max);
        }
        let level = self.level(&squares);
        self.add_gradient(&vectors, classes, &self.weights(&level, &[]), grad);
        self.lambda * self.height(&level)
    }

    fn value(&self, w: &[f64], classes: usize) -> f64 {
        let squares = Self::squares(&by_class(w, classes), classes);
        match self.mu {
            0.0 => self.lambda * squares.into_iter().fold(0.0, f64::max),
            _ => self.lambda * self.height(&self.level(&squares)),
        }
    }

    fn hess_vec(&self, w: &[f64], classes: usize, v: &[f64], out: &mut [f64]) {
        let curvature = self.curvature(w, classes, &[]);
        curvature.apply(v, out);
        if let Some((along, strength)) = curvature.shared() {
            axpy(-dot(along, v) / strength, along, out);
        }
    }

    fn is_smooth(&self) -> bool {
        self.lambda == 0.0 || self.mu > 0.0
    }

    fn relaxed(&self, tau: f64) -> Option<Box<dyn Penalty>> {
        (self.lambda > 0.0 && tau > self.mu).then(|| Box::new(Self { mu: tau, ..*self }) as Box<dyn Penalty>)
    }

    fn dual_len(&self, _features: usize, classes: usize) -> usize {
        if self.lambda > 0.0 { classes * (classes - 1) / 2 } else { 0 }
    }

    fn curvature(&self, w: &[f64], classes: usize, dual: &[f64]) -> Curvature {
        let vectors = by_class(w, classes);
        let d = vectors.len() / classes;
        if self.lambda == 0.0 {
            return Curvature::ridge(0.0, d, classes);
        }
        let squares = Self::squares(&vectors, classes);
        if self.mu == 0.0 {
            let scalar = self.first(&squares).iter().map(|a| 2.0 * self.lambda * a).collect();
            return Curvature::pairs(vectors, classes, scalar, vec![0.0; squares.len()]);
        }
        let level = self.level(&squares);
        let a = self.weights(&level, dual);
        let stiff: Vec<f64> = a.iter().zip(&level.slack).map(|(a, s)| a / s).collect();
        let scalar = a.iter().map(|a| 2.0 * self.lambda * a).collect();
        let sigma = stiff.iter().map(|q| 4.0 * self.lambda * q).collect();
        // t gives way: what all pairs have in common costs no more than its slope.
        let mut along = vec![0.0; w.len()];
        self.add_gradient(&vectors, classes, &stiff, &mut along);
        let strength = self.lambda * stiff.iter().sum::<f64>();
        Curvature::pairs(vectors, classes, scalar, sigma).sharing(along, strength)
    }

    fn move_dual(&self, w: &[f64], classes: usize, step: &[f64], dual: &mut [f64]) {
        if dual.is_empty() || self.mu == 0.0 {
            return;
        }
        let (vectors, moved) = (by_class(w, classes), by_class(step, classes));
        let d = vectors.len() / classes;
        let level = self.level(&Self::squares(&vectors, classes));
        let a = self.weights(&level, dual);
        // −Δ‖u‖² to first order.
        let mut closer = Vec::with_capacity(a.len());
        pairs(classes, |_, k, l| {
            let along = |i: usize, j: usize| dot(&vectors[i * d..(i + 1) * d], &moved[j * d..(j + 1) * d]);
            closer.push(-2.0 * (along(k, k) - along(k, l) - along(l, k) + along(l, l)));
        });
        let stiff: Vec<f64> = a.iter().zip(&level.slack).map(|(a, s)| a / s).collect();
        let rise = -dot(&stiff, &closer) / stiff.iter().sum::<f64>();
        for ((dual, a), (s, closer)) in dual.iter_mut().zip(&a).zip(level.slack.iter().zip(&closer)) {
            let target = self.mu / s;
            *dual = (target - a / s * (rise + closer)).clamp((0.1 * a).min(target), 2.0);
        }
    }

    fn dual_terms(&self, w: &[f64], classes: usize, loss_grad: &[f64], epsilon: f64, dual: &[f64]) -> DualTerms {
        self.dual_terms_beside(w, classes, loss_grad, epsilon, dual, 0.0)
    }

    /// What is beside pays ¼⟨S, A⁻¹S⟩ like all the rest, at most a quarter of its square over the least eigenvalue of A. Where the longest pairs
    /// do not connect all classes that is ε alone, and all pairs get a little of a instead.
    fn dual_terms_beside(
        &self,
        w: &[f64],
        classes: usize,
        loss_grad: &[f64],
        epsilon: f64,
        dual: &[f64],
        lost: f64,
    ) -> DualTerms {
        // Shares that all pairs get alike, the least bound of which counts.
        const SHARES: [f64; 8] = [0.0, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3];
        let vectors = by_class(w, classes);
        let squares = Self::squares(&vectors, classes);
        // Slopes of the exact maximum say nothing of pairs that share it.
        let fine = Self { mu: self.mu.max(1e-12 * squares.iter().copied().fold(1.0, f64::max)), ..*self };
        let a = fine.weights(&fine.level(&squares), dual);
        let total: f64 = a.iter().sum::<f64>() * (1.0 + of_sum(a.len()));
        let mut best: Option<DualTerms> = None;
        for share in SHARES {
            let even = share / a.len() as f64;
            let mut weights = vec![0.0; classes * classes];
            pairs(classes, |pair, k, l| {
                let weight = self.lambda * ((1.0 - share) * (a[pair] / total) + even) * (1.0 - of_sum(4));
                (weights[k * classes + l], weights[l * classes + k]) = (weight, weight);
            });
            let beside = if lost > 0.0 { pay(lost, 0.0, least(&weights, classes, epsilon)) } else { 0.0 };
            let (quadratic, size) = eliminate(by_class(loss_grad, classes), classes, weights, epsilon);
            let quadratic = quadratic + beside;
            if best.as_ref().is_none_or(|best| quadratic < best.quadratic) {
                best = Some(DualTerms { quadratic, rounding: 2.0 * of_sum(classes) * size, ..DualTerms::default() });
            }
            if lost == 0.0 {
                break;
            }
        }
        best.unwrap_or_default()
    }
}

/// No more than the least eigenvalue of A = the Laplacian of given weights + εI for vectors that sum to zero over the classes.
fn least(weights: &[f64], classes: usize, epsilon: f64) -> f64 {
    let c = classes;
    let degree = |k: usize| (0..c).map(|l| weights[k * c + l]).sum::<f64>();
    let degrees: Vec<f64> = (0..c).map(degree).collect();
    // What all classes have in common is put where it is not the least.
    let top = 2.0 * degrees.iter().copied().fold(0.0, f64::max);
    let laplacian = Mat::from_fn(c, c, |k, l| if k == l { degrees[k] } else { -weights[k * c + l] } + top / c as f64);
    let values = laplacian.self_adjoint_eigenvalues(Side::Lower).unwrap_or_default();
    let found = values.into_iter().fold(f64::INFINITY, f64::min);
    let found = if found.is_finite() { (found - 64.0 * of_sum(c) * top).max(0.0) } else { 0.0 };
    epsilon + found
}

impl Largest {
    /// What is minimised over t, at its minimum.
    fn height(&self, level: &Level) -> f64 {
        let logarithms: f64 = level.slack.iter().map(|s| ((level.t + self.mu) / s).ln()).sum();
        level.t + self.mu * logarithms
    }

    /// The penalty of a pairwise one whose power is infinite.
    pub(super) fn of(penalty: &Pairwise, mu: f64) -> Option<Self> {
        (penalty.p.is_infinite() && penalty.norm == Norm::L2).then_some(Self { lambda: penalty.lambda, mu })
    }
}

/// ¼⟨S, A⁻¹S⟩ for A = the Laplacian of given weights + εI over classes, class by class: nothing but sums of positive numbers goes into the
/// pivots, so that none of them loses digits. Also returns how large the vectors were that were added up.
fn eliminate(mut slopes: Vec<f64>, classes: usize, mut weights: Vec<f64>, epsilon: f64) -> (f64, f64) {
    let (c, d) = (classes, slopes.len() / classes);
    let mut own = vec![epsilon; c];
    let (mut quadratic, mut size) = (0.0, 0.0);
    for k in 0..c {
        let pivot = own[k] + (k + 1..c).map(|l| weights[k * c + l]).sum::<f64>();
        let (done, rest) = slopes.split_at_mut((k + 1) * d);
        let slope = &done[k * d..];
        let long = length(slope);
        size += long;
        if pivot <= 0.0 {
            // Without ε there is nothing to pay with, and nothing but rounding to pay for.
            continue;
        }
        quadratic += (0.5 * long / pivot.sqrt()).powi(2);
        for l in k + 1..c {
            let share = weights[k * c + l] / pivot;
            if share == 0.0 {
                continue;
            }
            axpy(share, slope, &mut rest[(l - k - 1) * d..(l - k) * d]);
            own[l] += share * own[k];
            for j in l + 1..c {
                weights[l * c + j] += share * weights[k * c + j];
            }
        }
    }
    (quadratic * (1.0 + of_sum(4 * c + d)), size)
}
