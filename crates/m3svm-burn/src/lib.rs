//! The margin penalty of m3svm for networks in [burn](https://burn.dev), as one more term of a loss.
//!
//! ```text
//! ISM3:   mean of cross-entropies + λ Σ_{k<l} ‖wₖ − wₗ‖ᵖ + ε(‖W‖² + ‖b‖²)        W, b: the last layer
//! ```
//!
//! The margin between two classes is 2/‖wₖ − wₗ‖. The larger p is, the more the penalty is about the smallest margin.
//!
//! ```
//! use burn_autodiff::Autodiff;
//! use burn_core::tensor::Tensor;
//! use burn_flex::Flex;
//! use burn_nn::LinearConfig;
//! use m3svm_burn::Ism3LossConfig;
//!
//! type Backend = Autodiff<Flex>;
//! let device = Default::default();
//! let head = LinearConfig::new(2, 3).init::<Backend>(&device); // the last layer of your network
//! let features = Tensor::from_floats([[0.5, 1.0], [2.0, -1.0]], &device);
//! let targets = Tensor::from_ints([0, 2], &device);
//!
//! let loss = Ism3LossConfig::new().init(&device); // in place of CrossEntropyLossConfig::new().init(&device)
//! let value = loss.forward(&head, head.forward(features), targets);
//! let gradients = value.backward();
//! assert!(head.weight.grad(&gradients).is_some());
//! ```
//!
//! # The scale of λ
//!
//! Formulas are those of the crate `m3svm`, with one difference: it *sums* losses over samples, and here they are *averaged* over a
//! batch, as everywhere in burn. So λ and ε here are λ/n and ε/n there, for n training samples.
//!
//! # Gradients
//!
//! Values and gradients are both written down in closed form, and the gradient is handed to autodiff as it is. That takes fewer
//! kernels than differentiating through powers and roots, and it is 0, not NaN, where two class vectors coincide. Second
//! derivatives are not available this way.

mod gradient;
mod head;
mod ism3;
mod pairwise;
mod pairwise_logistic;
mod penalty;
mod smooth_hinge;

pub use head::{fit_head, head_margins, linear_of_model, model_of_linear};
pub use ism3::{Ism3Loss, Ism3LossConfig};
pub use pairwise_logistic::{PairwiseLogisticLoss, PairwiseLogisticLossConfig};
pub use penalty::{MinMarginPenalty, MinMarginPenaltyConfig};
pub use smooth_hinge::{SmoothHingeLoss, SmoothHingeLossConfig};
