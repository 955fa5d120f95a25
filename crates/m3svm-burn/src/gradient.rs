//! Values with a gradient that is known already.

use burn_core::tensor::backend::Backend;
use burn_core::tensor::{DType, FloatDType, Tensor};

/// Cut off from the graph. (`detach` alone keeps parameters as leaves that want a gradient.)
pub(crate) fn constant<B: Backend, const D: usize>(tensor: Tensor<B, D>) -> Tensor<B, D> {
    tensor.detach().set_require_grad(false)
}

/// `value`, whose derivative by `at` is `gradient`; neither of the two may depend on the graph.
///
/// What is added is exactly 0 and linear in `at`: ⟨at − at₀, gradient⟩ at at₀ = at.
pub(crate) fn with_gradient<B: Backend, const D: usize>(
    value: Tensor<B, 1>,
    at: Tensor<B, D>,
    gradient: Tensor<B, D>,
) -> Tensor<B, 1> {
    let here = constant(at.clone());
    value + ((at - here) * gradient).sum()
}

/// Half precision widened to single: powers and sums of small numbers need the room. Gradients go back narrowed.
pub(crate) fn widened<B: Backend, const D: usize>(tensor: Tensor<B, D>) -> Tensor<B, D> {
    match tensor.dtype() {
        DType::F16 | DType::BF16 => tensor.cast(FloatDType::F32),
        _ => tensor,
    }
}
