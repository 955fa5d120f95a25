//! Every rival has the optimum that somebody else's program finds. fixtures/make_rivals.py made the numbers.

use m3svm::loss::Softmax;
use m3svm::{AnyLoss, Dataset, Method, Scaling, Scheme, Spec};
use serde_json::Value;

use crate::common::{apart, none};
use crate::convergence;

fn fixtures() -> Vec<(String, f64, Value)> {
    let all: Vec<Value> = serde_json::from_str(include_str!("../fixtures/rivals.json")).unwrap();
    all.into_iter().map(|it| (it["set"].as_str().unwrap().into(), it["C"].as_f64().unwrap(), it)).collect()
}

/// Compares the minimum of a spec (without ε to speak of) with the column of the fixtures.
fn agrees(column: &str, spec: &Spec, lambda: impl Fn(f64) -> f64, part: impl Fn(Dataset<'static>) -> Dataset<'static>) {
    let mut failures = Vec::new();
    for (name, cost, expected) in fixtures() {
        let Some(data) = convergence::table(&name) else { continue };
        let penalty = spec.penalty.with_lambda(lambda(cost));
        let spec = Spec { penalty, scaling: Scaling::MaxAbs, epsilon: 1e-8, tol: 1e-8, ..spec.clone() };
        let model = spec.fit(&part(data)).unwrap();
        let (found, expected) = (model.certificate().objective, expected[column].as_f64().unwrap());
        let gap = model.certificate().relative_gap().unwrap();
        // Theirs is a little above the minimum; ours must not be above theirs by more than what ε adds.
        if apart(found, expected) > 1e-5 || found > expected * (1.0 + 1e-6) || gap > 1e-6 {
            failures.push(format!("{name} C {cost}: {found} (gap {gap:e}), {column} {expected}"));
        }
    }
    none(&failures);
}

fn same(data: Dataset<'static>) -> Dataset<'static> {
    data
}

/// One vector per class: ½‖W‖² + C Σ loss.
fn of_cost(cost: f64) -> f64 {
    0.5 / cost
}

#[test]
fn one_vs_rest_is_that_of_liblinear() {
    agrees("liblinear ovr hinge", &Spec { intercept: false, ..Method::Ovr.spec().with_usual_lambda() }, of_cost, same);
}

#[test]
fn one_vs_rest_with_the_logistic_loss_is_that_of_liblinear() {
    let loss = AnyLoss::Softmax(Softmax {});
    let spec = Spec { intercept: false, scheme: Scheme::OneVsRest, loss, ..Method::Lr.spec().with_usual_lambda() };
    agrees("liblinear ovr logistic", &spec, of_cost, same);
}

#[test]
fn logistic_regression_of_two_classes_is_that_of_liblinear() {
    let spec = Spec { intercept: false, ..Method::Lr.spec().with_usual_lambda() };
    agrees(
        "liblinear two-class logistic",
        &spec,
        |cost| 1.0 / cost,
        |data| {
            let rows: Vec<u32> = (0..data.rows() as u32).filter(|&i| data.y()[i as usize] < 2).collect();
            let y: Vec<u32> = rows.iter().map(|&i| data.y()[i as usize]).collect();
            Dataset::new(data.x().take_rows(&rows), y, data.classes()[..2].to_vec()).unwrap()
        },
    );
}

#[test]
fn multinomial_logistic_regression_is_that_of_scikit_learn() {
    agrees("scikit-learn multinomial", &Method::Lr.spec().with_usual_lambda(), of_cost, same);
}

#[test]
fn one_vs_one_is_that_of_libsvm() {
    agrees("libsvm ovo", &Method::Ovo.spec().with_usual_lambda(), of_cost, same);
}

#[test]
fn crammer_and_singers_machine_is_that_of_liblinear() {
    agrees(
        "liblinear crammer-singer",
        &Spec { intercept: false, ..Method::Cs.spec().with_usual_lambda() },
        of_cost,
        same,
    );
}
