//! The paper's penalty: powers of the distances between class vectors.

use serde::{Deserialize, Serialize};

use super::largest::Largest;
use super::{Curvature, DualTerms, Penalty, by_class, pairs};
use crate::linalg::{axpy, dot, mul_add, t_mul_add};
use crate::parameter::{STRENGTH, parameters};
use crate::text::plain;

/// Which norm measures the distance of two class vectors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Norm {
    /// Euclidean: 2/‖wₖ−wₗ‖₂ is the margin between the classes.
    #[default]
    L2,
    /// Sum of absolute values, the paper's remark on high-dimensional data.
    L1,
}

/// ```text
/// R(W) = λ Σ_{k<l} ‖wₖ − wₗ‖ᵖ
/// ```
///
/// Convex for p ≥ 1. Large p lifts the smallest margin; p = 2 is ridge with λ·c (Theorem 5). For p < 1 only a local optimum
/// can be had, and no certificate. For p = ∞ it is `λ max_{k<l} ‖wₖ − wₗ‖²`, the limit of `λ (Σ_{k<l} ‖wₖ − wₗ‖ᵖ)^(2/p)`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pairwise {
    /// Strength, at least 0.
    pub lambda: f64,
    /// Power, greater than 0; ∞ for the largest distance alone.
    #[serde(with = "infinite_power")]
    pub p: f64,
    /// Norm of the difference.
    #[serde(default)]
    pub norm: Norm,
    /// Radius at which kinks are rounded off: ‖u‖ becomes √(‖u‖² + τ²). 0 is the penalty itself; solvers move it.
    #[serde(skip)]
    tau: f64,
}

impl Default for Pairwise {
    fn default() -> Self {
        Self::of(Norm::L2)
    }
}

impl Pairwise {
    /// The λ and p that the paper takes.
    pub(super) const USUAL: (f64, f64) = (1e-3, 4.0);

    /// The usual penalty in this norm.
    pub(super) const fn of(norm: Norm) -> Self {
        Self::new(norm, Self::USUAL.0, Self::USUAL.1)
    }

    /// The penalty itself, without rounding.
    pub const fn new(norm: Norm, lambda: f64, p: f64) -> Self {
        Self { lambda, p, norm, tau: 0.0 }
    }

    /// r: the (rounded) norm of one difference. The ℓ1 norm writes √(uⱼ² + τ²) into `parts`.
    fn length(&self, u: &[f64], parts: &mut [f64]) -> f64 {
        let tau2 = self.tau * self.tau;
        match self.norm {
            Norm::L2 => (dot(u, u) + tau2).sqrt(),
            Norm::L1 => {
                parts.iter_mut().zip(u).for_each(|(r, u)| *r = (u * u + tau2).sqrt());
                parts.iter().sum()
            }
        }
    }

    /// λ p r^(p−1), the slope in r; 0 at r = 0 (a subgradient where p = 1).
    pub(super) fn slope(&self, r: f64) -> f64 {
        if r > 0.0 { self.lambda * self.p * power(r, self.p - 1.0) } else { 0.0 }
    }

    /// λ p (p−1) r^(p−2), the second derivative in r; 0 where it does not exist.
    fn second_derivative(&self, r: f64) -> f64 {
        if r > 0.0 { self.lambda * self.p * (self.p - 1.0) * power(r, self.p - 2.0) } else { 0.0 }
    }

    /// Whether there is a kink (at equal class vectors, or at equal entries) that needs rounding off.
    fn kinked(&self) -> bool {
        self.lambda > 0.0 && (self.p < 2.0 || self.norm == Norm::L1)
    }

    /// ∇φ(u) for one difference of norm `r`, written into `u`.
    pub(super) fn gradient_of(&self, u: &mut [f64], parts: &[f64], r: f64) {
        let slope = self.slope(r);
        match self.norm {
            Norm::L2 => {
                let a = if r > 0.0 { slope / r } else { 0.0 };
                u.iter_mut().for_each(|u| *u *= a);
            }
            Norm::L1 => u.iter_mut().zip(parts).for_each(|(u, r)| *u = if *r > 0.0 { slope * *u / r } else { 0.0 }),
        }
    }

    /// Visits the pairs with (number, k, l, wₖ − wₗ, parts of the norm, norm).
    pub(super) fn visit(
        &self,
        vectors: &[f64],
        classes: usize,
        mut f: impl FnMut(usize, usize, usize, &mut [f64], &mut [f64], f64),
    ) {
        let d = vectors.len() / classes;
        let (mut u, mut parts) = (vec![0.0; d], vec![0.0; d]);
        pairs(classes, |pair, k, l| {
            let (a, b) = (&vectors[k * d..(k + 1) * d], &vectors[l * d..(l + 1) * d]);
            u.copy_from_slice(a);
            axpy(-1.0, b, &mut u);
            let r = self.length(&u, &mut parts);
            f(pair, k, l, &mut u, &mut parts, r);
        });
    }
}

parameters!(Pairwise {
    lambda: f64, STRENGTH.0, STRENGTH.1, STRENGTH.2;
    p: f64, "Power of the penalty; large P lifts the smallest margin, and inf is about nothing else", "be greater than 0 and at most 1000, or inf", |p| p > 0.0 && (p <= 1000.0 || p == f64::INFINITY);
});

impl Penalty for Pairwise {
    fn value_grad(&self, w: &[f64], classes: usize, grad: &mut [f64]) -> f64 {
        if let Some(largest) = Largest::of(self, 0.0) {
            return largest.value_grad(w, classes, grad);
        }
        if self.lambda == 0.0 {
            // Powers below 2 have an infinite slope at 0, and 0·∞ is no number.
            return 0.0;
        }
        if self.norm == Norm::L2 && !self.kinked() {
            return self.value_grad_by_products(w, classes, grad);
        }
        let d = w.len() / classes;
        let mut value = 0.0;
        let mut sum = vec![0.0; w.len()];
        self.visit(&by_class(w, classes), classes, |_, k, l, u, parts, r| {
            value += power(r, self.p);
            self.gradient_of(u, parts, r);
            axpy(1.0, u, &mut sum[k * d..(k + 1) * d]);
            axpy(-1.0, u, &mut sum[l * d..(l + 1) * d]);
        });
        for (j, row) in grad.chunks_exact_mut(classes).enumerate() {
            row.iter_mut().enumerate().for_each(|(k, g)| *g += sum[k * d + j]);
        }
        self.lambda * value
    }

    fn value(&self, w: &[f64], classes: usize) -> f64 {
        if let Some(largest) = Largest::of(self, 0.0) {
            return largest.value(w, classes);
        }
        let mut value = 0.0;
        // Without rounded kinks 0 costs nothing, and with many classes it is asked for before any step.
        if self.lambda > 0.0 && (self.tau > 0.0 || w.iter().any(|w| *w != 0.0)) {
            self.visit(&by_class(w, classes), classes, |_, _, _, _, _, r| value += power(r, self.p));
        }
        self.lambda * value
    }

    fn hess_vec(&self, w: &[f64], classes: usize, v: &[f64], out: &mut [f64]) {
        if let Some(largest) = Largest::of(self, 0.0) {
            return largest.hess_vec(w, classes, v, out);
        }
        let d = w.len() / classes;
        // The dual state that belongs to the point makes the curvature the Hessian.
        let mut dual = vec![0.0; self.dual_len(d, classes)];
        if !dual.is_empty() {
            self.visit(&by_class(w, classes), classes, |pair, _, _, u, parts, r| {
                let dual = &mut dual[pair * d..(pair + 1) * d];
                for j in 0..d {
                    let r = if self.norm == Norm::L1 { parts[j] } else { r };
                    dual[j] = if r > 0.0 { u[j] / r } else { 0.0 };
                }
            });
        }
        self.exact_curvature(w, classes, &dual).apply(v, out);
    }

    fn for_scorer(&self) -> Option<Box<dyn Penalty>> {
        // The distance of the columns ±w/2 is the length of w, and the largest of one.
        Some(Box::new(Self { p: if self.p.is_infinite() { 2.0 } else { self.p }, ..*self }))
    }

    fn describe(&self) -> String {
        let norm = if self.norm == Norm::L1 { "l1" } else { "l2" };
        if self.p.is_infinite() {
            return format!("largest {norm} distance of class vectors, squared (p inf), lambda {}", plain(self.lambda));
        }
        format!("{norm} distances of class vectors, p {}, lambda {}", plain(self.p), plain(self.lambda))
    }

    fn convex(&self) -> bool {
        self.p >= 1.0 || self.lambda == 0.0
    }

    fn rotation_invariant(&self) -> bool {
        self.norm == Norm::L2
    }

    fn is_smooth(&self) -> bool {
        if let Some(largest) = Largest::of(self, 0.0) {
            return largest.is_smooth();
        }
        !self.kinked() || self.tau > 0.0
    }

    fn relaxed(&self, tau: f64) -> Option<Box<dyn Penalty>> {
        if let Some(largest) = Largest::of(self, 0.0) {
            return largest.relaxed(tau);
        }
        (self.kinked() && tau > self.tau).then(|| Box::new(Self { tau, ..*self }) as Box<dyn Penalty>)
    }

    fn dual_len(&self, features: usize, classes: usize) -> usize {
        if let Some(largest) = Largest::of(self, 0.0) {
            return largest.dual_len(features, classes);
        }
        if self.kinked() { classes * (classes - 1) / 2 * features } else { 0 }
    }

    fn curvature(&self, w: &[f64], classes: usize, dual: &[f64]) -> Curvature {
        if let Some(largest) = Largest::of(self, 0.0) {
            return largest.curvature(w, classes, dual);
        }
        if self.p < 1.0 {
            // Concave in r: the tangent in r² majorises it (iteratively reweighted ridge), so every step descends.
            return Self { p: self.p.max(1e-9), ..*self }.majoriser(w, classes);
        }
        self.exact_curvature(w, classes, dual)
    }

    fn move_dual(&self, w: &[f64], classes: usize, step: &[f64], dual: &mut [f64]) {
        if let Some(largest) = Largest::of(self, 0.0) {
            return largest.move_dual(w, classes, step, dual);
        }
        if dual.is_empty() {
            return;
        }
        let d = w.len() / classes;
        let moved = by_class(step, classes);
        self.visit(&by_class(w, classes), classes, |pair, k, l, u, parts, r| {
            let q = &mut dual[pair * d..(pair + 1) * d];
            let moved = |j: usize| moved[k * d + j] - moved[l * d + j];
            match self.norm {
                Norm::L1 => (0..d).for_each(|j| {
                    let r = parts[j];
                    q[j] = (u[j] / r + (1.0 - q[j] * u[j] / r) * moved(j) / r).clamp(-1.0, 1.0);
                }),
                Norm::L2 => {
                    let along: f64 = (0..d).map(|j| u[j] * moved(j)).sum::<f64>() / r;
                    (0..d).for_each(|j| q[j] = (u[j] + moved(j) - q[j] * along) / r);
                    let size = dot(q, q).sqrt();
                    if size > 1.0 {
                        q.iter_mut().for_each(|q| *q /= size);
                    }
                }
            }
        });
    }

    fn dual_terms(&self, w: &[f64], classes: usize, loss_grad: &[f64], epsilon: f64, dual: &[f64]) -> DualTerms {
        if let Some(largest) = Largest::of(self, 0.0) {
            return largest.dual_terms(w, classes, loss_grad, epsilon, dual);
        }
        super::pairwise_bound::dual_terms(self, w, classes, loss_grad, epsilon, dual, 0.0)
    }

    fn dual_terms_beside(
        &self,
        w: &[f64],
        classes: usize,
        loss_grad: &[f64],
        epsilon: f64,
        dual: &[f64],
        lost: f64,
    ) -> DualTerms {
        if let Some(largest) = Largest::of(self, 0.0) {
            return largest.dual_terms_beside(w, classes, loss_grad, epsilon, dual, lost);
        }
        super::pairwise_bound::dual_terms(self, w, classes, loss_grad, epsilon, dual, lost)
    }
}

impl Pairwise {
    /// All distances from the Gram matrix WᵀW, and ∇R = W·(diag(A1) − A) with Aₖₗ = λ p ‖wₖ−wₗ‖^(p−2): two products in place of a
    /// loop over pairs. Cancellation in small distances does not matter from p = 2 on, where they hardly count.
    fn value_grad_by_products(&self, w: &[f64], classes: usize, grad: &mut [f64]) -> f64 {
        let c = classes;
        let mut gram = vec![0.0; c * c];
        t_mul_add(w, c, w, c, &mut gram);
        let mut laplacian = vec![0.0; c * c];
        let mut value = 0.0;
        pairs(c, |_, k, l| {
            let r = (gram[k * c + k] + gram[l * c + l] - 2.0 * gram[k * c + l]).max(0.0).sqrt();
            value += power(r, self.p);
            let a = if self.p == 2.0 { 2.0 * self.lambda } else { self.lambda * self.p * power(r, self.p - 2.0) };
            laplacian[k * c + k] += a;
            laplacian[l * c + l] += a;
            laplacian[k * c + l] -= a;
            laplacian[l * c + k] -= a;
        });
        mul_add(w, c, &laplacian, c, grad);
        self.lambda * value
    }

    fn exact_curvature(&self, w: &[f64], classes: usize, dual: &[f64]) -> Curvature {
        if self.lambda == 0.0 {
            // There are no kinks then, and no dual state of them.
            return Curvature::ridge(0.0, w.len() / classes, classes);
        }
        let vectors = by_class(w, classes);
        let d = vectors.len() / classes;
        let count = classes * (classes - 1) / 2;
        let (mut scalar, mut sigma) = (vec![0.0; count], vec![0.0; count]);
        let (mut diagonal, mut sign) = (Vec::new(), Vec::new());
        if self.norm == Norm::L1 {
            (diagonal, sign) = (vec![0.0; count * d], vec![0.0; count * d]);
        }
        self.visit(&vectors, classes, |pair, _, _, u, parts, r| {
            if r == 0.0 && self.p != 2.0 {
                return;
            }
            let (slope, curvature) = (self.slope(r), self.second_derivative(r));
            match self.norm {
                Norm::L2 => {
                    // λ p r^(p−2) [I + (p−2) ûûᵀ], with the dual in place of one û below p = 2.
                    scalar[pair] = if r > 0.0 { slope / r } else { 2.0 * self.lambda };
                    let part = (self.p - 2.0) * scalar[pair];
                    sigma[pair] = if r == 0.0 {
                        0.0
                    } else if dual.is_empty() {
                        part / (r * r)
                    } else {
                        part / r
                    };
                }
                Norm::L1 => {
                    sigma[pair] = curvature;
                    for j in 0..d {
                        let at = pair * d + j;
                        if parts[j] > 0.0 {
                            sign[at] = u[j] / parts[j];
                            diagonal[at] = slope * (1.0 - dual[at] * sign[at]).max(0.0) / parts[j];
                        }
                    }
                }
            }
        });
        let mut out = Curvature::pairs(vectors, classes, scalar, sigma);
        match self.norm {
            Norm::L2 if !dual.is_empty() => out.left = Some(dual.to_vec()),
            Norm::L2 => {}
            Norm::L1 => {
                out.diagonal = Some(diagonal);
                out.left = Some(sign.clone());
                out.right = Some(sign);
            }
        }
        out
    }

    fn majoriser(&self, w: &[f64], classes: usize) -> Curvature {
        let vectors = by_class(w, classes);
        let d = vectors.len() / classes;
        let count = classes * (classes - 1) / 2;
        let mut scalar = vec![0.0; count];
        let mut diagonal = Vec::new();
        self.visit(&vectors, classes, |pair, _, _, _, parts, r| match self.norm {
            Norm::L2 => scalar[pair] = if r > 0.0 { self.slope(r) / r } else { 0.0 },
            Norm::L1 => diagonal.extend(parts.iter().map(|q| if *q > 0.0 { self.slope(r) / q } else { 0.0 })),
        });
        debug_assert!(diagonal.is_empty() || diagonal.len() == count * d);
        let mut out = Curvature::pairs(vectors, classes, scalar, vec![0.0; count]);
        out.diagonal = (!diagonal.is_empty()).then_some(diagonal);
        out
    }
}

/// rᵉ; whole exponents, the usual ones, by a few products.
fn power(r: f64, exponent: f64) -> f64 {
    let whole = exponent as i32;
    if f64::from(whole) == exponent && whole.abs() <= 64 { r.powi(whole) } else { r.powf(exponent) }
}

/// p in files: JSON has no infinite numbers.
mod infinite_power {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    const NAME: &str = "inf";

    pub(super) fn serialize<S: Serializer>(p: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        if p.is_infinite() { serializer.serialize_str(NAME) } else { serializer.serialize_f64(*p) }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Power {
            Number(f64),
            Name(String),
        }
        match Power::deserialize(deserializer)? {
            Power::Number(p) => Ok(p),
            Power::Name(name) if name == NAME => Ok(f64::INFINITY),
            Power::Name(name) => Err(D::Error::custom(format!("p is `{name}`, expected a number or `{NAME}`"))),
        }
    }
}
