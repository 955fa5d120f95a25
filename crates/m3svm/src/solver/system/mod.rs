//! The linear system of a Newton step: `(X̃ᵀ D(h) X̃ + ∇²R + 2εI) s = −g`, solved by whatever is cheapest.
//!
//! * [`Dense`]: the matrix written out and factored, where d·c is small.
//! * [`cg`]: conjugate gradients that only multiply by the matrix, preconditioned by [`Active`]: few (sample, class) entries carry
//!   weight near the optimum, and the matrix of those alone is inverted exactly through a system of their number.

mod active;
mod cg;
mod dense;

use crate::kernel::axpy;
use crate::loss::Shape;
use crate::penalty::Curvature;
use crate::risk::Risk;

use active::Active;
use dense::Dense;

/// A Newton matrix in factored form: the curvature of every row and of the penalty.
pub(crate) struct Matrix<'a> {
    pub(crate) risk: &'a Risk<'a>,
    pub(crate) shape: Shape,
    pub(crate) h: &'a [f64],
    pub(crate) penalty: &'a Curvature,
}

impl Matrix<'_> {
    /// `out = A·v`.
    fn apply(&self, v: &[f64], out: &mut [f64]) {
        let m = self.risk.weights_len();
        out.fill(0.0);
        self.risk.curvature_product(self.shape, self.h, v, out);
        self.penalty.apply(&v[..m], &mut out[..m]);
        axpy(2.0 * self.risk.epsilon, v, out);
    }
}

/// Solves Newton systems of one risk, keeping buffers between steps.
pub(crate) struct System {
    dense: Option<Dense>,
    active: Option<Active>,
}

/// How a solve went.
pub(crate) struct Solve {
    /// Products with the matrix; none if it was factored.
    pub(crate) products: usize,
}

impl System {
    pub(crate) fn new(risk: &Risk<'_>) -> Self {
        let dense =
            (risk.loss.shift_invariant() && Costs::of(risk).dense_is_cheap()).then(|| Dense::new(risk.y, risk.classes));
        let active = dense.is_none().then(|| Active::new(risk));
        Self { dense, active }
    }

    /// Solves for the step to a residual of `forcing` relative to the gradient; `None` if rounding prevents a descent direction.
    pub(crate) fn solve(&mut self, a: &Matrix<'_>, grad: &[f64], forcing: f64, step: &mut [f64]) -> Option<Solve> {
        if let Some(dense) = &mut self.dense {
            return dense.solve(a, grad, step).then_some(Solve { products: 0 });
        }
        let active = self.active.as_mut()?;
        active.prepare(a);
        let products = cg::solve(a, active, grad, forcing, step);
        step.iter().all(|s| s.is_finite()).then_some(Solve { products })
    }
}

/// Rough flop counts that decide between the ways to go.
struct Costs {
    size: f64,
    form: f64,
    product: f64,
}

impl Costs {
    fn of(risk: &Risk<'_>) -> Self {
        let (n, c) = (risk.x.rows() as f64, risk.classes as f64);
        let width = risk.x.cols() as f64 + 1.0;
        let pairs_per_row = if risk.loss.shape() == Shape::Star { c - 1.0 } else { c * (c - 1.0) / 2.0 };
        Self {
            size: width * (c - 1.0),
            form: n * pairs_per_row * width * width,
            product: 4.0 * risk.x.stored() as f64 * c,
        }
    }

    /// One factored step, in flops of the fast kernels.
    fn dense_step(&self) -> f64 {
        self.form + self.size.powi(3) / 3.0
    }

    /// Conjugate gradients take a few hundred products late on the path, at a fraction of the speed of the factorisation.
    fn dense_is_cheap(&self) -> bool {
        let memory = 8.0 * self.size * self.size;
        memory < 1.5e9 && (self.size < 600.0 || self.dense_step() < 400.0 * self.product)
    }
}

/// Whether Newton is expected to need less time than L-BFGS: 30 steps, against some 2,000 evaluations.
pub(crate) fn newton_is_cheaper(risk: &Risk<'_>) -> bool {
    let costs = Costs::of(risk);
    let step = costs.dense_step().min(80.0 * costs.product);
    30.0 * step < 2000.0 * costs.product || costs.size < 2000.0
}
