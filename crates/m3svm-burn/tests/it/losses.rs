//! The losses against the linear library, and whole networks' heads against its objective.

use burn_core::tensor::DType;
use burn_nn::loss::CrossEntropyLossConfig;
use m3svm::loss::{PairwiseLogistic, SmoothHinge, Softmax};
use m3svm::penalty::{Norm, Pairwise};
use m3svm::{Dataset, Features, Loss, Objective, Risk};
use m3svm_burn::{Ism3LossConfig, PairwiseLogisticLossConfig, SmoothHingeLossConfig};
use proptest::prelude::*;

use crate::common::{DEVICE, Graph, distance, few, labels, layer, matrix, numbers};

/// Mean of the library's loss over rows with weights by class, and its gradient.
fn reference(loss: &dyn Loss, z: &[f64], y: &[u32], weights: &[f64]) -> (f64, Vec<f64>) {
    let c = z.len() / y.len();
    let total: f64 = y.iter().map(|y| weights[*y as usize]).sum();
    let (mut value, mut gradient) = (0.0, vec![0.0; z.len()]);
    for ((z, g), y) in z.chunks(c).zip(gradient.chunks_mut(c)).zip(y) {
        let share = weights[*y as usize] / total;
        value += share * loss.value_grad(z, *y as usize, g);
        g.iter_mut().for_each(|g| *g *= share);
    }
    (value, gradient)
}

/// Scores and labels of some rows.
fn rows() -> impl Strategy<Value = (Vec<f64>, Vec<u32>)> {
    (1usize..6, 2usize..7)
        .prop_flat_map(|(n, c)| (prop::collection::vec(-4.0..4.0f64, n * c), prop::collection::vec(0..c as u32, n)))
}

proptest! {
    #![proptest_config(few(48))]

    #[test]
    fn losses_on_pairs_are_those_of_the_linear_library(
        (z, y) in rows(),
        delta in prop_oneof![Just(0.0), Just(0.01), 1e-3..2.0f64],
        weighted in any::<bool>(),
    ) {
        let c = z.len() / y.len();
        // Exact in single precision as well.
        let weights: Vec<f32> = (0..c).map(|k| if weighted { 0.5 + k as f32 } else { 1.0 }).collect();
        let wide: Vec<f64> = weights.iter().map(|w| f64::from(*w)).collect();
        let option = weighted.then_some(weights);
        let hinge = SmoothHingeLossConfig::new().with_delta(delta).with_weights(option.clone()).init(&DEVICE);
        let logistic = PairwiseLogisticLossConfig::new().with_weights(option).init(&DEVICE);
        for (dtype, tolerance) in [(DType::F64, 1e-12), (DType::F32, 1e-4)] {
            let at = matrix(&z, c, dtype).require_grad();
            for (loss, value) in [
                (&SmoothHinge { delta } as &dyn Loss, hinge.forward(at.clone(), labels(&y))),
                (&PairwiseLogistic {}, logistic.forward(at.clone(), labels(&y))),
            ] {
                let gradient = numbers(at.grad(&value.backward()).unwrap());
                let (there, expected) = reference(loss, &z, &y, &wide);
                prop_assert!((numbers(value.clone())[0] - there).abs() <= tolerance * there.max(1e-3));
                prop_assert!(distance(&gradient, &expected) < tolerance, "{gradient:?} {expected:?}");
            }
        }
    }

    /// n·ISM3(λ/n, ε/n) is the objective of the linear model, by W, b and through the features.
    #[test]
    fn ism3_of_a_linear_network_is_the_objective_of_the_linear_library(
        (x, w, b, mut y) in (2usize..6, 1usize..5, 2usize..6).prop_flat_map(|(n, d, c)| (
            prop::collection::vec(-2.0..2.0f64, n * d),
            prop::collection::vec(-2.0..2.0f64, d * c),
            prop::collection::vec(-1.0..1.0f64, c),
            prop::collection::vec(0..c as u32, n),
        )),
        p in 1.0..8.0f64,
    ) {
        // Two classes must occur.
        (y[0], y[1]) = (0, 1);
        let (n, c, lambda, epsilon) = (y.len(), b.len(), 0.3, 0.01);
        let head = layer(&w, &b, DType::F64);
        let config = Ism3LossConfig::new().with_lambda(lambda / n as f64).with_epsilon(epsilon / n as f64).with_p(p);
        let logits = head.forward(matrix(&x, x.len() / n, DType::F64));
        let value = config.init(&DEVICE).forward(&head, logits, labels(&y)) * n as f64;
        let gradients = value.backward();
        let mut here = numbers(head.weight.grad(&gradients).unwrap());
        here.extend(numbers(head.bias.as_ref().unwrap().grad(&gradients).unwrap()));

        let names = (0..c).map(|k| k.to_string()).collect();
        let data = Dataset::new(Features::dense(x.clone(), n, x.len() / n).unwrap(), y, names).unwrap();
        let penalty = Pairwise::new(Norm::L2, lambda, p);
        let risk = Risk::new(&data, &Softmax {}, &penalty, epsilon, true);
        let mut there = vec![0.0; w.len() + c];
        let objective = risk.eval(&[w, b].concat(), &mut there);
        prop_assert!((numbers(value)[0] - objective).abs() <= 1e-11 * objective);
        prop_assert!(distance(&here, &there) < 1e-9, "{here:?} {there:?}");
    }
}

/// Label smoothing and class weights are burn's own; with λ = ε = 0 nothing else is left.
#[test]
fn without_a_penalty_ism3_is_the_cross_entropy_of_burn() {
    let head = layer(&[0.3, -1.0, 0.5, 2.0, 0.1, -0.4], &[0.1, 0.2, -0.3], DType::F32);
    let x = matrix(&[1.0, 2.0, -0.5, 0.3], 2, DType::F32);
    for (smoothing, weights) in
        [(None, None), (Some(0.1), None), (None, Some(vec![1.0, 2.0, 3.0])), (Some(0.2), Some(vec![0.5, 1.0, 4.0]))]
    {
        let plain = CrossEntropyLossConfig::new()
            .with_smoothing(smoothing)
            .with_weights(weights.clone())
            .init::<Graph>(&DEVICE);
        let expected = numbers(plain.forward(head.forward(x.clone()), labels(&[2, 0])))[0];
        let config =
            Ism3LossConfig::new().with_smoothing(smoothing).with_weights(weights).with_lambda(0.0).with_epsilon(0.0);
        let found = numbers(config.init(&DEVICE).forward(&head, head.forward(x.clone()), labels(&[2, 0])))[0];
        assert_eq!(found, expected);
        let with_penalty =
            config.with_lambda(1.0).init(&DEVICE).forward(&head, head.forward(x.clone()), labels(&[2, 0]));
        assert!(numbers(with_penalty)[0] > expected + 1.0);
    }
}

#[test]
fn settings_outside_their_range_are_refused() {
    let message = |config: Ism3LossConfig| config.check().unwrap_err().to_string();
    assert_eq!(message(Ism3LossConfig::new().with_smoothing(Some(1.5))), "`smoothing` must be from 0 to 1, found 1.5");
    assert_eq!(
        message(Ism3LossConfig::new().with_weights(Some(vec![1.0, 0.0]))),
        "`weights` must be positive, found 0"
    );
    assert!(message(Ism3LossConfig::new().with_epsilon(-1.0)).starts_with("`epsilon` must"));
    assert!(SmoothHingeLossConfig::new().with_delta(-1.0).check().is_err());
}
