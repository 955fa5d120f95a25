//! Half precision, as under autocast: sums and powers are single, gradients come back half.

use burn_core::tensor::DType;
use m3svm::Penalty;
use m3svm::penalty::{Norm, Pairwise};
use m3svm_burn::{Ism3LossConfig, PairwiseLogisticLossConfig, SmoothHingeLossConfig};

use crate::common::{DEVICE, distance, labels, layer, matrix, numbers};

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
