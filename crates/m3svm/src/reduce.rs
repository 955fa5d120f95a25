//! Exact reduction to the row space where there are more features than rows.
//!
//! A penalty that only sees rotation-invariant lengths has its optimum in the span of the rows of X (representer theorem). With
//! the thin factorisation Xᵀ = QR the problem in `W′ = QᵀW` over the n×n features Rᵀ has the same optimum, exactly.

use faer::Mat;

use crate::features::Features;
use crate::risk::Risk;
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
        for i in 0..n {
            risk.x.for_each_in_row(i, |j, v| transposed[(j, i)] += v);
        }
        let qr = transposed.qr();
        let (basis, r) = (qr.compute_thin_Q(), qr.thin_R());
        let mut values = vec![0.0; n * n];
        for i in 0..n {
            (0..=i).for_each(|j| values[i * n + j] = r[(j, i)]);
        }
        let features = Features::dense(values, n, n).ok()?;
        Some(Self { features, basis })
    }

    pub(crate) fn features(&self) -> &Features<'static> {
        &self.features
    }

    /// Parameters of the full problem to those of the reduced one.
    pub(crate) fn project(&self, theta: &[f64], classes: usize) -> Vec<f64> {
        self.multiply(theta, classes, self.basis.nrows(), self.basis.ncols(), |i, j| self.basis[(j, i)])
    }

    /// Parameters of the reduced problem to those of the full one.
    pub(crate) fn lift(&self, theta: &[f64], classes: usize) -> Vec<f64> {
        self.multiply(theta, classes, self.basis.ncols(), self.basis.nrows(), |i, j| self.basis[(i, j)])
    }

    /// Multiplies the weight rows by a `to`×`from` matrix and keeps the intercept row.
    fn multiply(
        &self,
        theta: &[f64],
        classes: usize,
        from: usize,
        to: usize,
        entry: impl Fn(usize, usize) -> f64,
    ) -> Vec<f64> {
        let mut out = vec![0.0; to * classes];
        if theta[..from * classes].iter().any(|t| *t != 0.0) {
            for i in 0..to {
                let row = &mut out[i * classes..(i + 1) * classes];
                (0..from).for_each(|j| crate::kernel::axpy(entry(i, j), &theta[j * classes..(j + 1) * classes], row));
            }
        }
        out.extend_from_slice(&theta[from * classes..]);
        out
    }
}
