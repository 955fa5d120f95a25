//! Logistic loss on every class pair that contains the true class (appendix A.3 of the paper).

use burn_core as burn;

use burn::config::Config;
use burn::module::Module;
use burn::tensor::activation::sigmoid;
use burn::tensor::backend::Backend;
use burn::tensor::{Int, Tensor};

use crate::pairwise::{class_weights, mean_over_pairs};

/// Configuration to create a [pairwise logistic loss](PairwiseLogisticLoss) using the [init function](PairwiseLogisticLossConfig::init).
#[derive(Config, Debug)]
pub struct PairwiseLogisticLossConfig {
    /// Weights of classes: the loss becomes the weighted mean over samples.
    pub weights: Option<Vec<f32>>,
}

impl PairwiseLogisticLossConfig {
    /// Initialize a [pairwise logistic loss](PairwiseLogisticLoss).
    ///
    /// # Panics
    ///
    /// If a weight is not positive.
    pub fn init<B: Backend>(&self, device: &B::Device) -> PairwiseLogisticLoss<B> {
        PairwiseLogisticLoss { weights: class_weights(self.weights.as_deref(), device) }
    }
}

/// ```text
/// mean over samples of  Σ_{k≠y} log(1 + exp(zₖ − z_y))
/// ```
///
/// Should be created using [PairwiseLogisticLossConfig].
#[derive(Module, Debug)]
pub struct PairwiseLogisticLoss<B: Backend> {
    /// Weights of classes.
    pub weights: Option<Tensor<B, 1>>,
}

impl<B: Backend> PairwiseLogisticLoss<B> {
    /// Compute the criterion on the input tensor.
    ///
    /// # Shapes
    ///
    /// - logits: `[batch_size, num_classes]`
    /// - targets: `[batch_size]`
    /// - output: `[1]`
    pub fn forward(&self, logits: Tensor<B, 2>, targets: Tensor<B, 1, Int>) -> Tensor<B, 1> {
        mean_over_pairs(logits, targets, self.weights.as_ref(), |t| {
            // log(1 + exp(t)) without overflow.
            let value = t.clone().clamp_min(0.0) + t.clone().abs().neg().exp().log1p();
            (value, sigmoid(t))
        })
    }
}
