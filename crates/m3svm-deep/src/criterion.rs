//! The loss that the settings name.

use burn_core::tensor::backend::Backend;
use burn_core::tensor::{Int, Tensor};
use burn_nn::Linear;
use m3svm_burn::{Ism3Loss, SmoothHingeLoss};

use crate::settings::{LossName, Settings};

#[derive(Debug)]
pub(crate) enum Criterion<B: Backend> {
    Softmax(Ism3Loss<B>),
    Ism3(Ism3Loss<B>),
    M3svm(SmoothHingeLoss<B>, Ism3Loss<B>),
}

impl<B: Backend> Criterion<B> {
    pub(crate) fn new(settings: &Settings, device: &B::Device) -> Self {
        let whole = settings.penalty().init(device);
        match settings.loss {
            LossName::Softmax => Self::Softmax(whole),
            LossName::Ism3 => Self::Ism3(whole),
            LossName::M3svm => Self::M3svm(settings.hinge().init(device), whole),
        }
    }

    /// # Shapes
    ///
    /// - logits: `[batch_size, num_classes]`
    /// - targets: `[batch_size]`
    /// - output: `[1]`
    pub(crate) fn forward(&self, head: &Linear<B>, logits: Tensor<B, 2>, targets: Tensor<B, 1, Int>) -> Tensor<B, 1> {
        match self {
            Self::Softmax(loss) => loss.entropy.forward(logits, targets),
            Self::Ism3(loss) => loss.forward(head, logits, targets),
            Self::M3svm(hinge, loss) => hinge.forward(logits, targets) + loss.regularizer(head),
        }
    }
}
