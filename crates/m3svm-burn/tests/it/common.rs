//! Tensors out of numbers and back.

use burn_autodiff::Autodiff;
use burn_core::module::Param;
use burn_core::tensor::{DType, Int, Tensor, TensorData};
use burn_flex::{Flex, FlexDevice};
use burn_nn::Linear;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

pub(crate) type Graph = Autodiff<Flex>;

pub(crate) const DEVICE: FlexDevice = FlexDevice;

/// Some cases, always the same.
pub(crate) fn few(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, rng_seed: RngSeed::Fixed(7), failure_persistence: None, ..ProptestConfig::default() }
}

pub(crate) fn matrix(values: &[f64], columns: usize, dtype: DType) -> Tensor<Graph, 2> {
    let data = TensorData::new(values.to_vec(), [values.len() / columns, columns]);
    Tensor::from_data(data.convert_dtype(dtype), (&DEVICE, dtype))
}

pub(crate) fn vector(values: &[f64], dtype: DType) -> Tensor<Graph, 1> {
    Tensor::from_data(TensorData::new(values.to_vec(), [values.len()]).convert_dtype(dtype), (&DEVICE, dtype))
}

pub(crate) fn labels(y: &[u32]) -> Tensor<Graph, 1, Int> {
    let y: Vec<i64> = y.iter().map(|y| i64::from(*y)).collect();
    Tensor::from_data(TensorData::new(y.clone(), [y.len()]), &DEVICE)
}

pub(crate) fn layer(w: &[f64], b: &[f64], dtype: DType) -> Linear<Graph> {
    Linear { weight: Param::from_tensor(matrix(w, b.len(), dtype)), bias: Some(Param::from_tensor(vector(b, dtype))) }
}

pub(crate) fn numbers<const D: usize>(tensor: Tensor<impl burn_core::tensor::backend::Backend, D>) -> Vec<f64> {
    tensor.into_data().iter::<f64>().collect()
}

/// Largest difference, relative to the largest number.
pub(crate) fn distance(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    let size = a.iter().chain(b).fold(f64::MIN_POSITIVE, |m, a| m.max(a.abs()));
    a.iter()
        .zip(b)
        .map(|(a, b)| if a.is_nan() || b.is_nan() { f64::INFINITY } else { (a - b).abs() })
        .fold(0.0, f64::max)
        / size
}
