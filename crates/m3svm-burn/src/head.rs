//! The last layer of a network and the linear model of `m3svm`: one into the other, and the layer trained by the exact solver.

use burn_core::module::Param;
use burn_core::tensor::backend::Backend;
use burn_core::tensor::{Int, Tensor, TensorData};
use burn_nn::Linear;
use m3svm::{Dataset, Error, Features, Model, Result, Scheme, Spec};

/// The layer that computes the scores of a model from raw (unscaled) features. It always has a bias, perhaps of zeros.
///
/// # Shapes
///
/// - weight of the layer: `[d_input, num_classes]`
pub fn linear_of_model<B: Backend>(model: &Model, device: &B::Device) -> Result<Linear<B>> {
    if model.spec().scheme == Scheme::OneVsOne {
        let must = "have one scorer per class to become a layer";
        return Err(Error::Param { name: "scheme", value: "one-vs-one".into(), must });
    }
    let (weights, intercept) = model.unscaled();
    let weight = TensorData::new(weights, [model.features(), model.scorers()]);
    let bias = TensorData::new(intercept, [model.scorers()]);
    Ok(Linear {
        weight: Param::from_tensor(Tensor::from_data(weight, device)),
        bias: Some(Param::from_tensor(Tensor::from_data(bias, device))),
    })
}

/// The model that a layer is, judged on the features it sees: its certificate says how far from the optimum of `spec` the
/// network left it. `spec` must not scale features; its λ belongs to *sums* over the rows of `data`.
///
/// # Shapes
///
/// - weight of the layer: `[d_input, num_classes]`
pub fn model_of_linear<B: Backend>(head: &Linear<B>, spec: &Spec, data: &Dataset<'_>) -> Result<Model> {
    let bias = head.bias.as_ref().map(|b| numbers(b.val())).unwrap_or_default();
    let spec = Spec { intercept: head.bias.is_some(), ..spec.clone() };
    spec.model_at(data, &numbers(head.weight.val()), &bias)
}

/// Trains a layer on frozen features to the certified optimum of `spec`, and gives it back with its model. `spec` may scale features:
/// the layer takes them as they are. Its λ belongs to *sums* over samples.
///
/// # Shapes
///
/// - features: `[num_samples, d_input]`
/// - targets: `[num_samples]`
/// - weight of the layer: `[d_input, num_classes]`
pub fn fit_head<B: Backend>(
    features: Tensor<B, 2>,
    targets: Tensor<B, 1, Int>,
    classes: &[String],
    spec: &Spec,
) -> Result<(Linear<B>, Model)> {
    let device = features.device();
    let [rows, columns] = features.dims();
    let labels = class_numbers(targets, classes.len())?;
    let data = Dataset::new(Features::dense(numbers(features), rows, columns)?, labels, classes.to_vec())?;
    let model = spec.fit(&data)?;
    Ok((linear_of_model(&model, &device)?, model))
}

/// The margins 2/‖wₖ − wₗ‖ between all pairs of classes, c×c; ∞ on the diagonal and where two class vectors coincide.
///
/// # Shapes
///
/// - weight of the layer: `[d_input, num_classes]`
pub fn head_margins<B: Backend>(head: &Linear<B>) -> Vec<f64> {
    let [_, classes] = head.weight.dims();
    let weights = numbers(head.weight.val());
    let mut squares = vec![0.0; classes * classes];
    for w in weights.chunks_exact(classes) {
        for (row, a) in squares.chunks_exact_mut(classes).zip(w) {
            row.iter_mut().zip(w).for_each(|(square, b)| *square += (a - b) * (a - b));
        }
    }
    squares.into_iter().map(|square| 2.0 / square.sqrt()).collect()
}

/// The numbers of a tensor, in any precision.
fn numbers<B: Backend, const D: usize>(tensor: Tensor<B, D>) -> Vec<f64> {
    tensor.into_data().iter::<f64>().collect()
}

fn class_numbers<B: Backend>(targets: Tensor<B, 1, Int>, classes: usize) -> Result<Vec<u32>> {
    let number = |(row, label): (usize, i64)| match u32::try_from(label) {
        Ok(label) if (label as usize) < classes => Ok(label),
        _ => Err(Error::UnknownClass { row, label: label.to_string(), known: classes }),
    };
    targets.into_data().iter::<i64>().enumerate().map(number).collect()
}
