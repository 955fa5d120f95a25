//! Exact reduction to the row space where there are more features than rows.
//!
//! A penalty that only sees rotation-invariant lengths has its optimum in the span of the rows of X (representer theorem). With
//! the thin factorisation Xᵀ = QR the problem in `W′ = QᵀW` over the n×n features Rᵀ has the same optimum, exactly.

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatMut, MatRef, Par};

use crate::error::Result;
use crate::features::Features;
use crate::risk::Risk;
use crate::rounding::of_sum;
use crate::solver::AnySolver;

/// The reduced features and the way back.
pub(crate) struct Reduction {
    features: Features<'static>,
    /// d×n with orthonormal columns.
    basis: Mat<f64>,
}

impl Reduction {
    /// The reduction, where it pays: dense features, clearly more columns than rows, a penalty that allows it.
    pub(crate) fn of(risk: &Risk<'_>, solver: &AnySolver) -> Option<Self> {
        let (n, d) = (risk.x.rows(), risk.x.cols());
        let pays = !risk.x.is_sparse() && d as f64 > 1.2 * n as f64 && !matches!(solver, AnySolver::Adam(_));
        if !pays || !risk.penalty.rotation_invariant() {
            return None;
        }
        let mut transposed = Mat::<f64>::zeros(d, n);
        risk.x.for_each_row(|i, row| row.for_each(|j, v| transposed[(j, i)] += v));
        let qr = transposed.qr();
        let (basis, r) = (qr.compute_thin_Q(), qr.thin_R());
        let mut values = vec![0.0; n * n];
        for i in 0..n {
            (0..=i).for_each(|j| values[i * n + j] = r[(j, i)]);
        }
        let features = Features::dense(values, n, n).ok()?;
        Some(Self { features, basis })
    }

    /// How far the reduced rows may be from the rows that they stand for, relative to their lengths: a factorisation errs by a few units of
    /// rounding per row, its worst case grows with the numbers that go into one of its products.
    pub(crate) fn rounding(&self) -> f64 {
        of_sum(self.basis.nrows() + self.basis.ncols())
    }

    pub(crate) fn features(&self) -> &Features<'static> {
        &self.features
    }

    /// The reduced features alone.
    pub(crate) fn into_features(self) -> Features<'static> {
        self.features
    }

    /// Other rows in the reduced features: what is outside the span of the training rows has no weight anyway.
    pub(crate) fn rotate(&self, x: &Features<'_>) -> Result<Features<'static>> {
        let (d, n) = (self.basis.nrows(), self.basis.ncols());
        let basis: Vec<f64> = (0..d * n).map(|at| self.basis[(at / n, at % n)]).collect();
        let mut values = vec![0.0; x.rows() * n];
        x.mul_add(0..x.rows(), &basis, n, &mut values);
        Features::dense(values, x.rows(), n)
    }

    /// Parameters of the full problem to those of the reduced one.
    pub(crate) fn project(&self, theta: &[f64], classes: usize) -> Vec<f64> {
        multiply(self.basis.transpose(), theta, classes)
    }

    /// Parameters of the reduced problem to those of the full one.
    pub(crate) fn lift(&self, theta: &[f64], classes: usize) -> Vec<f64> {
        multiply(self.basis.as_ref(), theta, classes)
    }
}

/// Multiplies the weight rows by a matrix and keeps the intercept row.
fn multiply(by: MatRef<'_, f64>, theta: &[f64], classes: usize) -> Vec<f64> {
    let (weights, intercept) = theta.split_at(by.ncols() * classes);
    let mut out = vec![0.0; by.nrows() * classes];
    let weights = MatRef::from_row_major_slice(weights, by.ncols(), classes);
    let product = MatMut::from_row_major_slice_mut(&mut out, by.nrows(), classes);
    matmul(product, Accum::Replace, by, weights, 1.0, Par::Seq);
    out.extend_from_slice(intercept);
    out
}
