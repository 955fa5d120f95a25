//! ISM3, "improved softmax loss via maximising minimum margin": cross-entropy with the margin penalty of the last layer.

use burn_core as burn;

use burn::config::Config;
use burn::module::Module;
use burn::tensor::backend::Backend;
use burn::tensor::{Int, Tensor};
use burn_nn::Linear;
use burn_nn::loss::{CrossEntropyLoss, CrossEntropyLossConfig};

use crate::gradient::widened;
use crate::penalty::{MinMarginPenalty, MinMarginPenaltyConfig};

/// Configuration to create an [ISM3 loss](Ism3Loss) using the [init function](Ism3LossConfig::init).
#[derive(Config, Debug)]
pub struct Ism3LossConfig {
    /// Strength λ of the margin penalty, at least 0.
    #[config(default = 1e-4)]
    pub lambda: f64,
    /// Power p, from 1 to 1000.
    #[config(default = 4.0)]
    pub p: f64,
    /// Strength ε of ‖W‖² + ‖b‖², at least 0.
    #[config(default = 1e-6)]
    pub epsilon: f64,
    /// Weights of classes, as in [`CrossEntropyLossConfig`].
    pub weights: Option<Vec<f32>>,
    /// Label smoothing, as in [`CrossEntropyLossConfig`].
    pub smoothing: Option<f32>,
}

impl Ism3LossConfig {
    /// Refuses settings outside their range.
    pub fn check(&self) -> m3svm::Result<()> {
        self.penalty().check()?;
        if !(self.epsilon.is_finite() && self.epsilon >= 0.0) {
            return Err(bad("epsilon", self.epsilon, "be a finite number of at least 0"));
        }
        if let Some(a) = self.smoothing.filter(|a| !(0.0..=1.0).contains(a)) {
            return Err(bad("smoothing", a.into(), "be from 0 to 1"));
        }
        if let Some(w) = self.weights.iter().flatten().find(|w| !(w.is_finite() && **w > 0.0)) {
            return Err(bad("weights", (*w).into(), "be positive"));
        }
        Ok(())
    }

    /// Initialize an [ISM3 loss](Ism3Loss).
    ///
    /// # Panics
    ///
    /// If [`check`](Self::check) refuses the settings.
    pub fn init<B: Backend>(&self, device: &B::Device) -> Ism3Loss<B> {
        if let Err(error) = self.check() {
            panic!("{error}");
        }
        let entropy = CrossEntropyLossConfig::new()
            .with_weights(self.weights.clone())
            .with_smoothing(self.smoothing)
            .init(device);
        Ism3Loss { entropy, penalty: self.penalty().init(), epsilon: self.epsilon }
    }

    fn penalty(&self) -> MinMarginPenaltyConfig {
        MinMarginPenaltyConfig::new().with_lambda(self.lambda).with_p(self.p)
    }
}

fn bad(name: &'static str, value: f64, must: &'static str) -> m3svm::Error {
    m3svm::Error::Param { name, value: value.to_string(), must }
}

/// ```text
/// mean of cross-entropies + λ Σ_{k<l} ‖wₖ − wₗ‖ᵖ + ε(‖W‖² + ‖b‖²)
/// ```
///
/// Should be created using [Ism3LossConfig].
#[derive(Module, Debug)]
pub struct Ism3Loss<B: Backend> {
    /// Cross-entropy of the scores.
    pub entropy: CrossEntropyLoss<B>,
    /// Penalty on the class vectors.
    pub penalty: MinMarginPenalty,
    /// Strength of the quadratic term.
    pub epsilon: f64,
}

impl<B: Backend> Ism3Loss<B> {
    /// Compute the loss of the scores that `head` gave, and of its weights.
    ///
    /// # Shapes
    ///
    /// - weight of the head: `[d_input, num_classes]`
    /// - logits: `[batch_size, num_classes]`
    /// - targets: `[batch_size]`
    /// - output: `[1]`
    pub fn forward(&self, head: &Linear<B>, logits: Tensor<B, 2>, targets: Tensor<B, 1, Int>) -> Tensor<B, 1> {
        self.entropy.forward(widened(logits), targets) + self.regularizer(head)
    }

    /// Everything but the cross-entropy.
    ///
    /// # Shapes
    ///
    /// - weight of the head: `[d_input, num_classes]`
    /// - output: `[1]`
    pub fn regularizer(&self, head: &Linear<B>) -> Tensor<B, 1> {
        let weights = self.penalty.forward_with_ridge(head.weight.val(), self.epsilon);
        match head.bias.as_ref().filter(|_| self.epsilon > 0.0) {
            Some(bias) => weights + squares(widened(bias.val())) * self.epsilon,
            None => weights,
        }
    }
}

fn squares<B: Backend>(b: Tensor<B, 1>) -> Tensor<B, 1> {
    (b.clone() * b).sum()
}
