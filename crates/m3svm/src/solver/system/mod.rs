//! The linear system of a Newton step: `(X̃ᵀ D(h) X̃ + ∇²R + 2εI) s = −g`, solved by whatever is cheapest.

mod dense;

use crate::loss::Shape;
use crate::penalty::Curvature;
use crate::risk::Risk;

pub(crate) use dense::Dense;

/// A Newton matrix in factored form: the curvature of every row and of the penalty.
pub(crate) struct Matrix<'a> {
    pub(crate) risk: &'a Risk<'a>,
    pub(crate) shape: Shape,
    pub(crate) h: &'a [f64],
    pub(crate) penalty: &'a Curvature,
}

/// Whether Newton is expected to need less time than L-BFGS.
pub(crate) fn newton_is_cheaper(_risk: &Risk<'_>) -> bool {
    true
}
