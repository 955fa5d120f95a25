//! What losses on pairs of the true class with each other one share.

use burn_core::tensor::backend::Backend;
use burn_core::tensor::{Int, Tensor};

use crate::gradient::{constant, widened, with_gradient};

/// The mean over samples of Σ_{k≠y} f(zₖ − z_y), weighted by class if there are weights. `f` gives value and slope.
pub(crate) fn mean_over_pairs<B: Backend>(
    logits: Tensor<B, 2>,
    targets: Tensor<B, 1, Int>,
    weights: Option<&Tensor<B, 1>>,
    f: impl Fn(Tensor<B, 2>) -> (Tensor<B, 2>, Tensor<B, 2>),
) -> Tensor<B, 1> {
    let logits = widened(logits);
    let z = constant(logits.clone());
    let [samples, classes] = z.dims();
    let [labels] = targets.dims();
    assert!(samples == labels, "Shape of targets ({labels}) should correspond to outer shape of logits ({samples}).");
    let column = targets.clone().reshape([samples, 1]);
    let own = Tensor::<B, 1, Int>::arange(0..classes as i64, &z.device()).reshape([1, classes]).equal(column.clone());
    let (values, slopes) = f(z.clone() - z.clone().gather(1, column));
    let weights = weights.map(|w| constant(w.clone()).cast(z.dtype()).gather(0, targets).reshape([samples, 1]));
    // Every sample has its share of the mean.
    let shares = match weights {
        Some(weights) => weights.clone() / weights.sum().reshape([1, 1]),
        None => z.slice([0..samples, 0..1]).zeros_like() + 1.0 / samples as f64,
    };
    let values = values.mask_fill(own.clone(), 0.0);
    let value = (values * shares.clone()).sum();
    if !B::ad_enabled(&logits.device()) {
        return value;
    }
    // z_y takes all slopes of its row with the other sign.
    let slopes = slopes.mask_fill(own.clone(), 0.0);
    let back = slopes.clone().sum_dim(1).neg().expand([samples, classes]);
    with_gradient(value, logits, slopes.mask_where(own, back) * shares)
}

/// Class weights on a device.
///
/// # Panics
///
/// If one is not positive.
pub(crate) fn class_weights<B: Backend>(weights: Option<&[f32]>, device: &B::Device) -> Option<Tensor<B, 1>> {
    weights.map(|weights| {
        assert!(weights.iter().all(|w| w.is_finite() && *w > 0.0), "Weights of classes have to be positive.");
        Tensor::from_floats(weights, device)
    })
}
