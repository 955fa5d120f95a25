//! The last layer as a linear model, and back.

use burn_core::tensor::DType;
use m3svm::penalty::{Norm, Pairwise};
use m3svm::{AnyLoss, AnyPenalty, Dataset, Features, Scaling, Scheme, Spec};
use m3svm_burn::{Ism3LossConfig, fit_head, head_margins, linear_of_model, model_of_linear};

use crate::common::{DEVICE, Graph, distance, labels, layer, matrix, numbers};

const X: [f64; 12] = [1.4, 0.2, 1.3, 0.3, 4.5, 1.5, 4.1, 1.3, 5.9, 2.1, 5.6, 2.4];
const Y: [u32; 6] = [0, 0, 1, 1, 2, 2];

fn names() -> Vec<String> {
    ["setosa", "versicolor", "virginica"].map(String::from).to_vec()
}

fn data() -> Dataset<'static> {
    Dataset::new(Features::dense(X.to_vec(), 6, 2).unwrap(), Y.to_vec(), names()).unwrap()
}

#[test]
fn a_head_trained_exactly_scores_like_its_model_and_comes_back_as_it() {
    for scaling in [Scaling::None, Scaling::Standard] {
        let spec = Spec { scaling, ..Spec::default().with_usual_lambda() };
        let (head, model) = fit_head(matrix(&X, 2, DType::F32), labels(&Y), &names(), &spec).unwrap();
        let scores = numbers(head.forward(matrix(&X, 2, DType::F32)));
        assert!(distance(&scores, &model.scores(data().x()).unwrap()) < 1e-5);
        let back = model_of_linear(&head, &Spec { scaling: Scaling::None, ..spec }, &data()).unwrap();
        assert_eq!(back.predict(data().x()).unwrap(), Y);
        if scaling == Scaling::None {
            let (there, here) = (model.certificate().objective, back.certificate().objective);
            assert!((there - here).abs() < 1e-4 * there, "{there} {here}");
            assert!(distance(&margins(&head_margins(&head)), &margins(&model.margins())) < 1e-5);
        }
    }
}

fn margins(all: &[f64]) -> Vec<f64> {
    all.iter().copied().filter(|m| m.is_finite()).collect()
}

/// At the optimum of the linear library the gradient of ISM3 vanishes: both mean the same λ, ε and p.
#[test]
fn the_exact_optimum_is_a_stationary_point_of_ism3() {
    let (lambda, epsilon) = (0.05, 0.001);
    let spec = Spec {
        loss: AnyLoss::Softmax(Default::default()),
        penalty: AnyPenalty::Pairwise(Pairwise::new(Norm::L2, lambda, 4.0)),
        scaling: Scaling::None,
        epsilon,
        tol: 1e-12,
        ..Spec::default().with_usual_lambda()
    };
    let model = spec.fit(&data()).unwrap();
    let head = layer(model.weights(), model.intercept(), DType::F64);
    let loss = Ism3LossConfig::new().with_lambda(lambda / 6.0).with_epsilon(epsilon / 6.0).init(&DEVICE);
    let value = loss.forward(&head, head.forward(matrix(&X, 2, DType::F64)), labels(&Y));
    let gradients = value.backward();
    let largest = |g: Vec<f64>| g.iter().fold(0.0f64, |m, g| m.max(g.abs()));
    assert!(largest(numbers(head.weight.grad(&gradients).unwrap())) < 1e-5);
    assert!(largest(numbers(head.bias.as_ref().unwrap().grad(&gradients).unwrap())) < 1e-5);
}

#[test]
fn what_is_no_head_is_refused() {
    let spec = Spec {
        scheme: Scheme::OneVsOne,
        penalty: AnyPenalty::Ridge(m3svm::penalty::Ridge { lambda: 0.1 }),
        ..Spec::default().with_usual_lambda()
    };
    let model = spec.fit(&data()).unwrap();
    let error = linear_of_model::<Graph>(&model, &DEVICE).err().unwrap().to_string();
    assert!(error.contains("one scorer per class"), "{error}");
    let error =
        fit_head(matrix(&X, 2, DType::F32), labels(&[0, 0, 1, 1, 3, 2]), &names(), &spec).err().unwrap().to_string();
    assert_eq!(error, "row 5: label `3` is not one of the 3 classes of the model");
}
