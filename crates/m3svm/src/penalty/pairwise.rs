//! The paper's penalty: powers of the distances between class vectors.

use serde::{Deserialize, Serialize};

use super::ridge::check_lambda;
use super::{Curvature, DualTerms, Penalty, by_class, pairs};
use crate::error::{Error, Result};
use crate::kernel::{axpy, dot, mul_add, t_mul_add};
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
/// can be had, and no certificate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pairwise {
    /// Strength, at least 0.
    pub lambda: f64,
    /// Power, greater than 0.
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
        Self::new(Norm::L2, 1e-3, 4.0)
    }
}

impl Pairwise {
    /// The penalty itself, without rounding.
    pub fn new(norm: Norm, lambda: f64, p: f64) -> Self {
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
    fn bend(&self, r: f64) -> f64 {
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

impl Penalty for Pairwise {
    fn value_grad(&self, w: &[f64], classes: usize, grad: &mut [f64]) -> f64 {
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
        if self.lambda > 0.0 { self.lambda * value } else { 0.0 }
    }

    fn value(&self, w: &[f64], classes: usize) -> f64 {
        let mut value = 0.0;
        if self.lambda > 0.0 {
            self.visit(&by_class(w, classes), classes, |_, _, _, _, _, r| value += power(r, self.p));
        }
        self.lambda * value
    }

    fn hess_vec(&self, w: &[f64], classes: usize, v: &[f64], out: &mut [f64]) {
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

    fn describe(&self) -> String {
        let norm = if self.norm == Norm::L1 { "l1" } else { "l2" };
        format!("{norm} distances of class vectors, p {}, lambda {}", plain(self.p), plain(self.lambda))
    }

    fn check(&self) -> Result<()> {
        check_lambda(self.lambda)?;
        if self.p.is_finite() && self.p > 0.0 && self.p <= 1000.0 {
            return Ok(());
        }
        Err(Error::param("p", self.p, "be greater than 0 and at most 1000"))
    }

    fn convex(&self) -> bool {
        self.p >= 1.0 || self.lambda == 0.0
    }

    fn rotation_invariant(&self) -> bool {
        self.norm == Norm::L2
    }

    fn relaxed(&self, tau: f64) -> Option<Box<dyn Penalty>> {
        (self.kinked() && tau > self.tau).then(|| Box::new(Self { tau, ..*self }) as Box<dyn Penalty>)
    }

    fn dual_len(&self, features: usize, classes: usize) -> usize {
        if self.kinked() { classes * (classes - 1) / 2 * features } else { 0 }
    }

    fn curvature(&self, w: &[f64], classes: usize, dual: &[f64]) -> Curvature {
        if self.p < 1.0 {
            // Concave in r: the tangent in r² majorises it (iteratively reweighted ridge), so every step descends.
            return Self { p: self.p.max(1e-9), ..*self }.majoriser(w, classes);
        }
        self.exact_curvature(w, classes, dual)
    }

    fn move_dual(&self, w: &[f64], classes: usize, step: &[f64], dual: &mut [f64]) {
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
        super::pairwise_bound::dual_terms(self, w, classes, loss_grad, epsilon, dual)
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
        if self.lambda > 0.0 { self.lambda * value } else { 0.0 }
    }

    fn exact_curvature(&self, w: &[f64], classes: usize, dual: &[f64]) -> Curvature {
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
            let (slope, bend) = (self.slope(r), self.bend(r));
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
                    sigma[pair] = bend;
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
