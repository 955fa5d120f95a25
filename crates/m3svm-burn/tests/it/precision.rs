//! Half precision, as under autocast: sums and powers are single, gradients come back half.

use burn_core::tensor::DType;
use m3svm::Penalty;
use m3svm::penalty::{Norm, Pairwise};
use m3svm_burn::{Ism3LossConfig, PairwiseLogisticLossConfig, SmoothHingeLossConfig};
use proptest::prelude::*;

use crate::common::{DEVICE, distance, few, labels, layer, matrix, numbers};

const W: [f64; 12] = [0.5, -0.25, 1.5, 0.125, 2.0, -1.0, 0.75, -2.0, 0.0, 1.0, -0.5, 0.25];

#[test]
fn the_penalty_of_half_weights_is_computed_in_single_precision() {
    for dtype in [DType::F16, DType::BF16] {
        let head = layer(&W, &[0.0; 3], dtype);
        for p in [1.0, 4.0, 8.0] {
            let loss = Ism3LossConfig::new().with_lambda(0.01).with_p(p).with_epsilon(0.0).init(&DEVICE);
            let value = loss.regularizer(&head);
            assert_eq!(value.dtype(), DType::F32);
            let gradient = head.weight.grad(&value.backward()).unwrap();
            assert_eq!(gradient.dtype(), dtype);
            let mut expected = vec![0.0; W.len()];
            let there = Pairwise::new(Norm::L2, 0.01, p).value_grad(&W, 3, &mut expected);
            // W is exact in both halves, so only the gradient is rounded.
            assert!((numbers(value)[0] - there).abs() <= 1e-6 * there);
            assert!(distance(&numbers(gradient), &expected) < 0.01);
        }
    }
}

#[test]
fn losses_of_half_scores_are_finite_and_close() {
    let z = [8.0, -8.0, 0.5, 100.0, -100.0, 0.0];
    for dtype in [DType::F16, DType::BF16] {
        let half = matrix(&z, 3, dtype).require_grad();
        let full = matrix(&z, 3, DType::F64).require_grad();
        let hinge = SmoothHingeLossConfig::new().init(&DEVICE);
        let logistic = PairwiseLogisticLossConfig::new().init(&DEVICE);
        for (a, b) in [
            (hinge.forward(half.clone(), labels(&[1, 0])), hinge.forward(full.clone(), labels(&[1, 0]))),
            (logistic.forward(half.clone(), labels(&[1, 0])), logistic.forward(full.clone(), labels(&[1, 0]))),
        ] {
            let (slopes, exact) = (half.grad(&a.backward()).unwrap(), full.grad(&b.backward()).unwrap());
            assert!(distance(&numbers(a), &numbers(b)) < 1e-5);
            assert!(distance(&numbers(slopes), &numbers(exact)) < 0.01);
        }
    }
}

/// Only the gradient is rounded, to the half of `dtype`.
fn rounding(dtype: DType) -> f64 {
    if dtype == DType::F16 { 2f64.powi(-11) } else { 2f64.powi(-8) }
}

#[test]
fn cross_entropy_of_half_scores_is_computed_in_single_precision() {
    // Exact in both halves; the mean of the rows is not.
    let z = [2.5, -1.0, 0.5, 10.0, -6.0, 0.25, 0.125, 0.0, -0.75];
    let configs = [
        Ism3LossConfig::new(),
        Ism3LossConfig::new().with_weights(Some(vec![0.3, 1.0, 2.7])),
        Ism3LossConfig::new().with_smoothing(Some(0.1)),
        Ism3LossConfig::new().with_weights(Some(vec![0.3, 1.0, 2.7])).with_smoothing(Some(0.1)),
    ];
    for (config, dtype) in configs.iter().flat_map(|c| [(c, DType::F16), (c, DType::BF16)]) {
        let loss = config.init(&DEVICE);
        let [half, single] = [dtype, DType::F32].map(|dtype| {
            let scores = matrix(&z, 3, dtype).require_grad();
            let value = loss.forward(&layer(&W, &[0.5, 0.0, -0.5], dtype), scores.clone(), labels(&[0, 2, 1]));
            assert_eq!(value.dtype(), DType::F32);
            let slopes = scores.grad(&value.backward()).unwrap();
            assert_eq!(slopes.dtype(), dtype);
            (numbers(value), numbers(slopes))
        });
        assert!(distance(&half.0, &single.0) < 1e-6, "{config} {dtype:?}: {half:?} {single:?}");
        assert!(distance(&half.1, &single.1) <= rounding(dtype), "{config} {dtype:?}: {half:?} {single:?}");
    }
}

proptest! {
    #![proptest_config(few(64))]

    #[test]
    fn gradients_of_half_weights_are_those_of_the_linear_library(
        (w, classes) in (1usize..7, 2usize..6)
            .prop_flat_map(|(d, c)| (prop::collection::vec(-1.0..1.0f64, d * c), Just(c))),
        p in prop_oneof![Just(1.0), Just(2.0), Just(4.0), Just(8.0), 1.0..8.0f64],
        dtype in prop_oneof![Just(DType::F16), Just(DType::BF16)],
    ) {
        let head = layer(&w, &vec![0.0; classes], dtype);
        let rounded = numbers(head.weight.val());
        let loss = Ism3LossConfig::new().with_lambda(0.01).with_p(p).with_epsilon(0.0).init(&DEVICE);
        let value = loss.regularizer(&head);
        let here = numbers(head.weight.grad(&value.backward()).unwrap());
        let mut there = vec![0.0; w.len()];
        let exact = Pairwise::new(Norm::L2, 0.01, p).value_grad(&rounded, classes, &mut there);
        prop_assert!((numbers(value)[0] - exact).abs() <= 1e-5 * exact, "{exact}");
        // Below 6e-8, f16 has no numbers.
        let fine = |(a, b): (&f64, &f64)| (a - b).abs() <= rounding(dtype) * b.abs() + 1e-5 * exact + 6e-8;
        prop_assert!(here.iter().zip(&there).all(fine), "{here:?} {there:?}");
    }
}
