//! The Hessian of a penalty in the form that the linear systems need: one small term per class pair.

use super::{add_pair, by_class, pairs};
use crate::linalg::{axpy, dot, mul_add, t_mul_add};

/// `ρI + Σ_{k<l} (eₖ−eₗ)(eₖ−eₗ)ᵀ ⊗ Bₖₗ` with `B = a·I + diag(e) + σ·½(x yᵀ + y xᵀ)`. Where `x` or `y` is not stored it is `wₖ − wₗ`.
#[derive(Clone, Debug)]
pub struct Curvature {
    features: usize,
    classes: usize,
    /// ρ.
    pub(crate) ridge: f64,
    /// a, one per pair; empty if there are no pair terms.
    pub(crate) scalar: Vec<f64>,
    /// σ, one per pair.
    pub(crate) sigma: Vec<f64>,
    /// e, d per pair.
    pub(crate) diagonal: Option<Vec<f64>>,
    /// x, d per pair.
    pub(crate) left: Option<Vec<f64>>,
    /// y, d per pair.
    pub(crate) right: Option<Vec<f64>>,
    /// The class vectors at which it was taken, c×d.
    pub(crate) vectors: Vec<f64>,
    /// g and s where the Hessian is less than all this, by ggᵀ/s (d×c).
    shared: Option<(Vec<f64>, f64)>,
}

impl Curvature {
    /// `ρI` alone.
    pub fn ridge(ridge: f64, features: usize, classes: usize) -> Self {
        Self {
            features,
            classes,
            ridge,
            scalar: Vec::new(),
            sigma: Vec::new(),
            diagonal: None,
            left: None,
            right: None,
            vectors: Vec::new(),
            shared: None,
        }
    }

    /// Pair terms at the class vectors `vectors` (c×d).
    pub(crate) fn pairs(vectors: Vec<f64>, classes: usize, scalar: Vec<f64>, sigma: Vec<f64>) -> Self {
        let features = vectors.len() / classes;
        Self { scalar, sigma, vectors, ..Self::ridge(0.0, features, classes) }
    }

    /// The same, less ggᵀ/s: what all pairs have in common, which the solver takes off after it has solved for the rest.
    pub(crate) fn sharing(self, along: Vec<f64>, strength: f64) -> Self {
        Self { shared: Some((along, strength)), ..self }
    }

    /// g and s of [`Curvature::sharing`].
    pub(crate) fn shared(&self) -> Option<(&[f64], f64)> {
        self.shared.as_ref().map(|(along, strength)| (&along[..], *strength))
    }

    /// A number that no centred step bends less than.
    pub(crate) fn least(&self) -> f64 {
        // Pairs that weigh at least a each form a complete graph, which bends centred steps by c·a.
        let spoilt = self.sigma.iter().any(|s| *s < 0.0) || self.left.is_some() || self.right.is_some();
        let pair = self.scalar.iter().copied().reduce(f64::min).filter(|_| !spoilt).unwrap_or(0.0);
        self.ridge + self.classes as f64 * pair.max(0.0)
    }

    /// Writes x and y of a pair; `false` if σ is 0.
    fn directions(&self, pair: usize, k: usize, l: usize, x: &mut [f64], y: &mut [f64]) -> bool {
        let d = self.features;
        let write = |stored: &Option<Vec<f64>>, out: &mut [f64]| match stored {
            Some(s) => out.copy_from_slice(&s[pair * d..(pair + 1) * d]),
            None => (0..d).for_each(|j| out[j] = self.vectors[k * d + j] - self.vectors[l * d + j]),
        };
        if self.sigma[pair] == 0.0 {
            return false;
        }
        write(&self.left, x);
        write(&self.right, y);
        true
    }

    /// Adds its product with `v` (d×c) to `out`.
    pub(crate) fn apply(&self, v: &[f64], out: &mut [f64]) {
        let (d, c) = (self.features, self.classes);
        axpy(self.ridge, v, out);
        if self.scalar.is_empty() {
            return;
        }
        if self.diagonal.is_none() && self.left.is_none() && self.right.is_none() {
            return self.apply_by_products(v, out);
        }
        let vt = by_class(v, c);
        let mut sum = vec![0.0; d * c];
        let (mut u, mut x, mut y) = (vec![0.0; d], vec![0.0; d], vec![0.0; d]);
        pairs(c, |pair, k, l| {
            (0..d).for_each(|j| u[j] = vt[k * d + j] - vt[l * d + j]);
            let (mut from_x, mut from_y) = (0.0, 0.0);
            if self.directions(pair, k, l, &mut x, &mut y) {
                from_x = 0.5 * self.sigma[pair] * dot(&y, &u);
                from_y = 0.5 * self.sigma[pair] * dot(&x, &u);
            }
            match &self.diagonal {
                Some(e) => (0..d).for_each(|j| u[j] *= self.scalar[pair] + e[pair * d + j]),
                None => u.iter_mut().for_each(|u| *u *= self.scalar[pair]),
            }
            if from_x != 0.0 || from_y != 0.0 {
                axpy(from_x, &x, &mut u);
                axpy(from_y, &y, &mut u);
            }
            axpy(1.0, &u, &mut sum[k * d..(k + 1) * d]);
            axpy(-1.0, &u, &mut sum[l * d..(l + 1) * d]);
        });
        for (j, row) in out.chunks_exact_mut(c).enumerate() {
            row.iter_mut().enumerate().for_each(|(k, o)| *o += sum[k * d + j]);
        }
    }

    /// The same where all terms are `a·I + σ·uuᵀ` with u = wₖ − wₗ: three products with c×c matrices, no vector per pair.
    fn apply_by_products(&self, v: &[f64], out: &mut [f64]) {
        let (d, c) = (self.features, self.classes);
        // Row l of `cross` is (⟨wₗ, vₖ⟩)ₖ.
        let mut cross = vec![0.0; c * c];
        mul_add(&self.vectors, d, v, c, &mut cross);
        let (mut plain, mut along) = (vec![0.0; c * c], vec![0.0; c * c]);
        pairs(c, |pair, k, l| {
            add_pair(&mut plain, c, k, l, self.scalar[pair]);
            let moved = cross[k * c + k] - cross[k * c + l] - cross[l * c + k] + cross[l * c + l];
            add_pair(&mut along, c, k, l, self.sigma[pair] * moved);
        });
        mul_add(v, c, &plain, c, out);
        t_mul_add(&self.vectors, d, &along, c, out);
    }

    /// Adds B of a pair to the leading d×d lower triangle of a column-major matrix with the given column stride.
    pub(crate) fn add_pair(&self, pair: usize, k: usize, l: usize, block: &mut [f64], stride: usize) {
        if self.scalar.is_empty() {
            return;
        }
        let d = self.features;
        let (mut x, mut y) = (vec![0.0; d], vec![0.0; d]);
        if self.directions(pair, k, l, &mut x, &mut y) {
            let half = 0.5 * self.sigma[pair];
            for j in 0..d {
                let (xj, yj) = (half * x[j], half * y[j]);
                let column = &mut block[j * stride + j..j * stride + d];
                column.iter_mut().zip(x[j..].iter().zip(&y[j..])).for_each(|(b, (x, y))| *b += x * yj + y * xj);
            }
        }
        for j in 0..d {
            let e = self.diagonal.as_ref().map_or(0.0, |e| e[pair * d + j]);
            block[j * stride + j] += self.scalar[pair] + e;
        }
    }
}
