//! The loss of M³SVM: a smoothed hinge on every class pair that contains the true class.

use burn_core as burn;

use burn::config::Config;
use burn::module::Module;
use burn::tensor::backend::Backend;
use burn::tensor::{Int, Tensor};
use m3svm::Parameters;
use m3svm::loss::SmoothHinge;

use crate::pairwise::{class_weights, mean_over_pairs};

/// Configuration to create a [smooth hinge loss](SmoothHingeLoss) using the [init function](SmoothHingeLossConfig::init).
#[derive(Config, Debug)]
pub struct SmoothHingeLossConfig {
    /// Width δ of the smoothing, at least 0; 0 is the exact hinge.
    #[config(default = 0.01)]
    pub delta: f64,
    /// Weights of classes: the loss becomes the weighted mean over samples.
    pub weights: Option<Vec<f32>>,
}

impl SmoothHingeLossConfig {
    /// Refuses settings outside their range.
    pub fn check(&self) -> m3svm::Result<()> {
        SmoothHinge { delta: self.delta }.check_parameters()
    }

    /// Initialize a [smooth hinge loss](SmoothHingeLoss).
    ///
    /// # Panics
    ///
    /// If [`check`](Self::check) refuses the settings, or a weight is not positive.
    pub fn init<B: Backend>(&self, device: &B::Device) -> SmoothHingeLoss<B> {
        if let Err(error) = self.check() {
            panic!("{error}");
        }
        SmoothHingeLoss { delta: self.delta, weights: class_weights(self.weights.as_deref(), device) }
    }
}

/// ```text
/// mean over samples of  Σ_{k≠y} g(1 − z_y + zₖ),   g(x) = (x + √(x² + δ²))/2
/// ```
///
/// Should be created using [SmoothHingeLossConfig].
#[derive(Module, Debug)]
pub struct SmoothHingeLoss<B: Backend> {
    /// Width of the smoothing.
    pub delta: f64,
    /// Weights of classes.
    pub weights: Option<Tensor<B, 1>>,
}

impl<B: Backend> SmoothHingeLoss<B> {
    /// Compute the criterion on the input tensor.
    ///
    /// # Shapes
    ///
    /// - logits: `[batch_size, num_classes]`
    /// - targets: `[batch_size]`
    /// - output: `[1]`
    pub fn forward(&self, logits: Tensor<B, 2>, targets: Tensor<B, 1, Int>) -> Tensor<B, 1> {
        mean_over_pairs(logits, targets, self.weights.as_ref(), |t| self.value_slope(t + 1.0))
    }

    /// g and g′ = g/√(x² + δ²). With near·far = δ²/4 and near − far = |x|, neither cancels for x ≪ 0.
    fn value_slope(&self, x: Tensor<B, 2>) -> (Tensor<B, 2>, Tensor<B, 2>) {
        if self.delta == 0.0 {
            return (x.clone().clamp_min(0.0), (x.sign() + 1.0) * 0.5);
        }
        let root = (x.clone() * x.clone() + self.delta * self.delta).sqrt();
        let far = (x.clone().abs() + root.clone()).recip() * (0.5 * self.delta * self.delta);
        let value = x.clamp_min(0.0) + far;
        (value.clone(), value / root)
    }
}
