//! The paper's penalty on the class vectors of a linear layer.

use burn_core as burn;

use burn::config::Config;
use burn::module::Module;
use burn::tensor::Tensor;
use burn::tensor::backend::Backend;
use burn_nn::Linear;
use m3svm::Parameters;
use m3svm::penalty::{Norm, Pairwise};

use crate::gradient::{constant, widened, with_gradient};

/// Most numbers in the table of all differences. Beyond it distances come from products, which costs digits but no memory.
const MOST_DIFFERENCES: usize = 1 << 22;

/// Configuration to create a [minimum margin penalty](MinMarginPenalty) using the [init function](MinMarginPenaltyConfig::init).
#[derive(Config, Debug)]
pub struct MinMarginPenaltyConfig {
    /// Strength λ, at least 0, for losses that are averaged over a batch.
    #[config(default = 1e-4)]
    pub lambda: f64,
    /// Power p, from 1 to 1000. Large powers lift the smallest margin.
    #[config(default = 4.0)]
    pub p: f64,
}

impl MinMarginPenaltyConfig {
    /// Refuses settings outside their range.
    pub fn check(&self) -> m3svm::Result<()> {
        Pairwise::new(Norm::L2, self.lambda, self.p).check_parameters()?;
        if self.p < 1.0 {
            return Err(m3svm::Error::Param {
                name: "p",
                value: self.p.to_string(),
                must: "be at least 1 in a network",
            });
        }
        Ok(())
    }

    /// Initialize a [minimum margin penalty](MinMarginPenalty).
    ///
    /// # Panics
    ///
    /// If [`check`](Self::check) refuses the settings.
    pub fn init(&self) -> MinMarginPenalty {
        if let Err(error) = self.check() {
            panic!("{error}");
        }
        MinMarginPenalty { lambda: self.lambda, p: self.p }
    }
}

/// ```text
/// R(W) = λ Σ_{k<l} ‖wₖ − wₗ‖ᵖ
/// ```
///
/// for the columns wₖ of the weight of a linear layer, one per class.
///
/// Should be created using [MinMarginPenaltyConfig].
#[derive(Module, Debug, Clone)]
pub struct MinMarginPenalty {
    /// Strength.
    pub lambda: f64,
    /// Power.
    pub p: f64,
}

impl MinMarginPenalty {
    /// Compute the penalty of a layer.
    ///
    /// # Shapes
    ///
    /// - weight of the layer: `[d_input, num_classes]`
    /// - output: `[1]`
    pub fn forward<B: Backend>(&self, head: &Linear<B>) -> Tensor<B, 1> {
        self.forward_weight(head.weight.val())
    }

    /// Compute the penalty of class vectors.
    ///
    /// # Shapes
    ///
    /// - weight: `[d_input, num_classes]`
    /// - output: `[1]`
    pub fn forward_weight<B: Backend>(&self, weight: Tensor<B, 2>) -> Tensor<B, 1> {
        self.forward_with_ridge(weight, 0.0)
    }

    /// R(W) + ε‖W‖², in the same few kernels.
    pub(crate) fn forward_with_ridge<B: Backend>(&self, weight: Tensor<B, 2>, epsilon: f64) -> Tensor<B, 1> {
        let weight = widened(weight);
        let w = constant(weight.clone());
        let [features, classes] = w.dims();
        let graph = B::ad_enabled(&w.device());
        let pairs = if features.saturating_mul(classes).saturating_mul(classes) <= MOST_DIFFERENCES {
            self.by_differences(w.clone(), graph)
        } else {
            self.by_products(w.clone(), graph)
        };
        let (mut value, mut gradient) = pairs;
        if epsilon > 0.0 {
            value = value + (w.clone() * w.clone()).sum() * epsilon;
            gradient = gradient.map(|g| g + w * (2.0 * epsilon));
        }
        match gradient {
            Some(gradient) => with_gradient(value, weight, gradient),
            None => value,
        }
    }

    /// Value and gradient from the table of all differences, as exact as the numbers themselves.
    fn by_differences<B: Backend>(&self, w: Tensor<B, 2>, graph: bool) -> (Tensor<B, 1>, Option<Tensor<B, 2>>) {
        let [features, classes] = w.dims();
        let rows = w.clone().reshape([features, classes, 1]);
        let u = rows - w.reshape([features, 1, classes]);
        let squares = (u.clone() * u.clone()).sum_dim(0);
        let slopes = self.slopes(squares.clone());
        let value = self.value(squares, slopes.clone());
        let gradient = graph.then(|| (u * slopes).sum_dim(2).reshape([features, classes]));
        (value, gradient)
    }

    /// The same through WᵀW: ∇R = W·(diag(A1) − A). Moving all class vectors by their mean changes no difference and saves digits.
    fn by_products<B: Backend>(&self, w: Tensor<B, 2>, graph: bool) -> (Tensor<B, 1>, Option<Tensor<B, 2>>) {
        let [_, classes] = w.dims();
        let w = w.clone() - w.mean_dim(1);
        let gram = w.clone().transpose().matmul(w.clone());
        let lengths = (w.clone() * w.clone()).sum_dim(0);
        let squares = lengths.clone().reshape([classes, 1]) + lengths - gram * 2.0;
        // Rounding can leave a negative square; a class is at distance 0 from itself.
        let own = Tensor::<B, 2, burn::tensor::Bool>::diag_mask([classes, classes], 0, &w.device()).bool_not();
        let squares = squares.clamp_min(0.0).mask_fill(own, 0.0);
        let slopes = self.slopes(squares.clone());
        let value = self.value(squares, slopes.clone());
        let gradient = graph.then(|| w.clone() * slopes.clone().sum_dim(0) - w.matmul(slopes));
        (value, gradient)
    }

    /// λ p r^(p−2) for r² given; 0 where r is 0.
    fn slopes<B: Backend, const D: usize>(&self, squares: Tensor<B, D>) -> Tensor<B, D> {
        let scale = self.lambda * self.p;
        if self.p == 2.0 {
            return squares.ones_like() * scale;
        }
        if self.p == 4.0 {
            return squares * scale;
        }
        let coincident = (self.p < 2.0).then(|| squares.clone().equal_elem(0.0));
        let powers = squares.powf_scalar(0.5 * self.p - 1.0) * scale;
        match coincident {
            Some(mask) => powers.mask_fill(mask, 0.0),
            None => powers,
        }
    }

    /// Half the sum over ordered pairs of λ rᵖ = slope·r²/p.
    fn value<B: Backend, const D: usize>(&self, squares: Tensor<B, D>, slopes: Tensor<B, D>) -> Tensor<B, 1> {
        (squares * slopes).sum() * (0.5 / self.p)
    }
}
