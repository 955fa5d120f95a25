//! The penalty against the linear library.

use burn_core::tensor::DType;
use m3svm::Penalty;
use m3svm::penalty::{Norm, Pairwise};
use m3svm_burn::{MinMarginPenalty, MinMarginPenaltyConfig};
use proptest::prelude::*;

use crate::common::{distance, few, matrix, numbers};

/// Value and gradient by the network and by the library.
fn both(lambda: f64, p: f64, w: &[f64], classes: usize, dtype: DType) -> [(f64, Vec<f64>); 2] {
    let weight = matrix(w, classes, dtype).require_grad();
    let value = penalty(lambda, p).forward_weight(weight.clone());
    let gradient = weight.grad(&value.backward()).unwrap();
    let mut expected = vec![0.0; w.len()];
    let there = Pairwise::new(Norm::L2, lambda, p).value_grad(w, classes, &mut expected);
    [(numbers(value)[0], numbers(gradient)), (there, expected)]
}

fn penalty(lambda: f64, p: f64) -> MinMarginPenalty {
    MinMarginPenaltyConfig::new().with_lambda(lambda).with_p(p).init()
}

proptest! {
    #![proptest_config(few(64))]

    #[test]
    fn value_and_gradient_are_those_of_the_linear_library(
        (w, classes) in (1usize..7, 2usize..7)
            .prop_flat_map(|(d, c)| (prop::collection::vec(-2.0..2.0f64, d * c), Just(c))),
        p in prop_oneof![Just(1.0), Just(2.0), Just(3.0), Just(4.0), Just(8.0), 1.0..8.0f64],
        lambda in 1e-4..10.0f64,
    ) {
        let [here, there] = both(lambda, p, &w, classes, DType::F64);
        prop_assert!((here.0 - there.0).abs() <= 1e-12 * there.0, "{} {}", here.0, there.0);
        prop_assert!(distance(&here.1, &there.1) < 1e-10, "{:?} {:?}", here.1, there.1);
        let [here, there] = both(lambda, p, &w, classes, DType::F32);
        prop_assert!((here.0 - there.0).abs() <= 1e-5 * there.0, "{} {}", here.0, there.0);
        prop_assert!(distance(&here.1, &there.1) < 1e-4, "{:?} {:?}", here.1, there.1);
    }

    /// More differences than are written down: distances come from products.
    #[test]
    fn many_classes_are_treated_alike(seed in 0u64..1000, p in prop_oneof![Just(2.0), Just(4.0), Just(1.5), Just(7.0)]) {
        let (d, c) = (30, 400);
        // Far from the origin compared with the distances, where products cancel.
        let entry = |i: usize| 3.0 + ((i as f64 + 1.0) * (seed as f64 + 0.7)).sin() / 5.0;
        let w: Vec<f64> = (0..d * c).map(entry).collect();
        let [here, there] = both(1e-3, p, &w, c, DType::F64);
        prop_assert!((here.0 - there.0).abs() <= 1e-10 * there.0, "{} {}", here.0, there.0);
        prop_assert!(distance(&here.1, &there.1) < 1e-8, "{}", distance(&here.1, &there.1));
        let [here, there] = both(1e-3, p, &w, c, DType::F32);
        prop_assert!((here.0 - there.0).abs() <= 1e-4 * there.0, "{} {}", here.0, there.0);
        prop_assert!(distance(&here.1, &there.1) < 1e-3, "{}", distance(&here.1, &there.1));
    }
}

#[test]
fn coincident_class_vectors_have_no_gradient_and_no_nan() {
    for p in [1.0, 1.5, 2.0, 3.0, 4.0, 8.0] {
        for dtype in [DType::F64, DType::F32, DType::F16, DType::BF16] {
            // All three alike.
            let [(value, gradient), _] = both(1.0, p, &[0.5, 0.5, 0.5, -1.0, -1.0, -1.0], 3, dtype);
            assert_eq!((value, gradient), (0.0, vec![0.0; 6]), "p {p}, {dtype:?}");
            // Two alike: the third moves away from both, and they move alike.
            let [(value, gradient), _] = both(1.0, p, &[1.0, 1.0, 3.0], 3, dtype);
            let power = 2f64.powf(p);
            assert!((value - 2.0 * power).abs() < 1e-2 * power, "p {p}, {dtype:?}: {value}");
            assert!(gradient[0] == gradient[1] && gradient[0] < 0.0, "p {p}, {dtype:?}: {gradient:?}");
        }
    }
}

/// The same for the form with products: all of 400 classes alike.
#[test]
fn many_coincident_class_vectors_have_no_gradient_and_no_nan() {
    for p in [1.0, 1.5, 2.0, 4.0] {
        let [(value, gradient), _] = both(1.0, p, &vec![0.3; 30 * 400], 400, DType::F64);
        assert!(value.abs() < 1e-10, "p {p}: {value}");
        assert!(gradient.iter().all(|g| g.abs() < 1e-6), "p {p}");
    }
}

#[test]
fn by_hand() {
    // ‖(3, 4)‖ = 5: λ·5⁴, and the gradient 4λ·5²·(3, 4) at the first vector.
    let [(value, gradient), _] = both(0.1, 4.0, &[3.0, 0.0, 4.0, 0.0], 2, DType::F64);
    assert!((value - 62.5).abs() < 1e-10);
    assert!(distance(&gradient, &[30.0, -30.0, 40.0, -40.0]) < 1e-14, "{gradient:?}");
}

#[test]
fn settings_outside_their_range_are_refused() {
    let message = |lambda: f64, p: f64| {
        MinMarginPenaltyConfig::new().with_lambda(lambda).with_p(p).check().unwrap_err().to_string()
    };
    assert_eq!(message(1.0, 0.5), "`p` must be at least 1 in a network, found 0.5");
    assert!(message(1.0, f64::NAN).starts_with("`p` must"));
    assert!(message(-1.0, 4.0).starts_with("`lambda` must"));
}
