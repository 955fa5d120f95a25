//! One-vs-rest and one-vs-one: many problems of two classes behind one model.

use m3svm::penalty::{PairwiseRidge, Ridge};
use m3svm::{AnyPenalty, Features, Method, Model, Scaling, Scheme, Spec, Stop};

use crate::common::{Problem, apart, far, hinge, newton, none};

fn schemes() -> [Method; 2] {
    [Method::Ovr, Method::Ovo]
}

/// The rows of two classes (or of one against all others) as a problem of two classes, the first one being class 1.
fn two_classes(problem: &Problem, k: u32, against: Option<u32>) -> Problem {
    let rows: Vec<usize> =
        (0..problem.n).filter(|&i| against.is_none_or(|l| problem.y[i] == k || problem.y[i] == l)).collect();
    let mut part = problem.rows(&rows);
    part.y.iter_mut().for_each(|y| *y = u32::from(*y == k));
    part.c = 2;
    part
}

/// w = w₁ − w₀ and its intercept.
fn difference(model: &Model) -> Vec<f64> {
    let (w, b) = (model.weights().chunks_exact(2), model.intercept().chunks_exact(2));
    w.chain(b).map(|pair| pair[1] - pair[0]).collect()
}

#[test]
fn every_scorer_is_the_optimum_of_its_own_problem_of_two_classes() {
    let problem = Problem::random(5, 60, 3, 4).weighted(1);
    for method in schemes() {
        let spec = Spec { scaling: Scaling::None, epsilon: 1e-3, tol: 1e-10, ..method.spec().with_usual_lambda() };
        let model = spec.fit(&problem.dense()).unwrap();
        let mut sides: Vec<(u32, Option<u32>)> = Vec::new();
        match spec.scheme {
            Scheme::OneVsOne => (0..4).for_each(|k| (k + 1..4).for_each(|l| sides.push((k, Some(l))))),
            _ => sides.extend((0..4).map(|k| (k, None))),
        }
        assert_eq!((model.scorers(), model.training().problems), (sides.len(), sides.len()));
        let mut objective = 0.0;
        for (number, (k, against)) in sides.into_iter().enumerate() {
            // λ‖w‖² and ε‖w‖² in one vector are twice as much in two columns ±w/2.
            let lambda = 2.0 * spec.penalty.lambda().unwrap();
            let joint = Method::Ww.spec().with_usual_lambda();
            let joint = Spec {
                scaling: Scaling::None,
                epsilon: 2e-3,
                tol: 1e-10,
                penalty: joint.penalty.with_lambda(lambda),
                ..joint
            };
            let alone = joint.fit(&two_classes(&problem, k, against).dense()).unwrap();
            objective += alone.certificate().objective;
            let mut own: Vec<f64> = model.weights().iter().skip(number).step_by(model.scorers()).copied().collect();
            own.push(model.intercept()[number]);
            assert!(far(&own, &difference(&alone)) < 1e-3, "{method:?} {number}");
        }
        assert!(apart(model.certificate().objective, objective) < 1e-9, "{method:?}");
    }
}

/// The same loss and penalty by other names: a ridge of distances, which for ±w/2 is one of w, takes every problem apart.
#[test]
fn problems_side_by_side_have_the_optimum_of_problems_apart() {
    let wide = Problem::random(6, 30, 50, 5).weighted(2);
    let narrow = Problem::random(7, 90, 6, 5).weighted(3);
    for (problem, intercept) in [(&narrow, true), (&narrow, false), (&wide, true), (&wide, false)] {
        for data in [problem.dense(), problem.csr(), problem.dense32(), problem.csr32()] {
            for (method, delta) in schemes().into_iter().flat_map(|method| [(method, 0.0), (method, 0.05)]) {
                let together =
                    Spec { intercept, scaling: Scaling::None, loss: hinge(delta), ..method.spec().with_usual_lambda() };
                let lambda = together.penalty.lambda().unwrap();
                // Twice λ(‖w‖² + 2‖w/2‖²).
                let apart_penalty = AnyPenalty::PairwiseRidge(PairwiseRidge { lambda: lambda / 3.0 });
                let parts = Spec { penalty: apart_penalty, ..together.clone() };
                let [together, parts] = [together, parts].map(|spec| spec.fit(&data).unwrap());
                assert_eq!(together.training().stop, Stop::Converged);
                let [one, other] = [&together, &parts].map(|model| model.certificate().objective);
                assert!(apart(one, other) < 2e-8, "{method:?} {delta} intercept {intercept}: {one} {other}");
            }
        }
    }
}

#[test]
fn both_schemes_are_proven_on_iris_dense_and_sparse() {
    let mut failures = Vec::new();
    for method in schemes() {
        for lambda in [1e-3, 0.5, 50.0] {
            let spec = method.spec().with_usual_lambda();
            let spec = Spec { penalty: spec.penalty.with_lambda(lambda), scaling: Scaling::MaxAbs, ..spec };
            let (dense, sparse) = (Problem::iris().dense(), Problem::iris().csr());
            let models = [spec.fit(&dense).unwrap(), spec.fit(&sparse).unwrap()];
            for model in &models {
                let gap = model.certificate().relative_gap().unwrap();
                if model.training().stop != Stop::Converged || gap > 1e-8 {
                    failures.push(format!("{method:?} λ {lambda}: {:?}, gap {gap:e}", model.training()));
                }
            }
            let [dense, sparse] = models.map(|m| m.certificate().objective);
            assert!(apart(dense, sparse) < 2e-8, "{method:?} λ {lambda}");
        }
    }
    none(&failures);
}

#[test]
fn scorers_of_two_classes_agree_with_the_joint_problem() {
    let mut problem = Problem::random(9, 40, 3, 2);
    problem.x.iter_mut().for_each(|x| *x *= 0.7);
    let fit = |method: Method, factor: f64| {
        let spec = method.spec().with_usual_lambda();
        let lambda = factor * spec.penalty.lambda().unwrap();
        let spec = Spec { penalty: spec.penalty.with_lambda(lambda), scaling: Scaling::None, tol: 1e-10, ..spec };
        spec.fit(&problem.dense()).unwrap()
    };
    let (joint, rest, one) = (fit(Method::Ww, 2.0), fit(Method::Ovr, 1.0), fit(Method::Ovo, 1.0));
    let margins = [&joint, &rest, &one].map(|m| m.min_margin().0);
    assert!(margins.iter().all(|m| apart(*m, margins[0]) < 1e-3), "{margins:?}");
    let x = problem.dense();
    let predicted = [&joint, &rest, &one].map(|m| m.predict(x.x()).unwrap());
    assert_eq!(predicted[0], predicted[1]);
    assert_eq!(predicted[0], predicted[2]);
}

#[test]
fn a_model_file_keeps_the_scorers_of_the_pairs() {
    let data = Problem::iris().dense();
    for method in schemes() {
        let model = method.spec().with_usual_lambda().fit(&data).unwrap();
        let again = Model::from_bytes(&model.to_bytes().unwrap()).unwrap();
        assert_eq!(model, again);
        assert_eq!(model.scores(data.x()).unwrap(), again.scores(data.x()).unwrap());
        assert_eq!(Method::of(again.spec()), Some(method));
        assert!(again.probabilities(data.x()).unwrap().is_none());
        assert!(model.support_rows().is_some_and(|rows| rows > 3 && rows < 150));
    }
}

#[test]
fn a_warm_start_is_already_proven_and_keeps_the_sign_of_pairs() {
    let (problem, data) = (Problem::iris(), Problem::iris().dense());
    for method in schemes() {
        // Slopes of the exact hinge prove nothing by themselves; those of the smoothed one do.
        let spec = Spec { loss: hinge(0.01), ..method.spec().with_usual_lambda() };
        let model = spec.fit(&data).unwrap();
        let again = spec.fit_watched(&data, Some(&model), &mut |_| std::ops::ControlFlow::Continue(())).unwrap();
        assert_eq!(again.training().iterations, 0, "{method:?}");
        // The same rows with the classes listed in the opposite order.
        let names = ["2", "1", "0"].map(String::from).to_vec();
        let y: Vec<u32> = problem.y.iter().map(|k| 2 - k).collect();
        let x = Features::dense(problem.x.clone(), problem.n, problem.d).unwrap();
        let turned = m3svm::Dataset::new(x, y, names).unwrap();
        let warm = spec.fit_watched(&turned, Some(&model), &mut |_| std::ops::ControlFlow::Continue(())).unwrap();
        assert_eq!(warm.training().iterations, 0, "{method:?}");
    }
    let joint = Method::Ww.spec().with_usual_lambda().fit(&data).unwrap();
    let mixed = Method::Ovo
        .spec()
        .with_usual_lambda()
        .fit_watched(&data, Some(&joint), &mut |_| std::ops::ControlFlow::Continue(()));
    assert!(mixed.unwrap_err().to_string().contains("one-vs-one has one per pair"));
}

#[test]
fn an_interrupted_decomposition_returns_what_it_has() {
    let data = Problem::iris().dense();
    for method in schemes() {
        let mut calls = 0;
        let model = method.spec().with_usual_lambda().fit_watched(&data, None, &mut |at| {
            calls += usize::from(at.objective.is_finite());
            std::ops::ControlFlow::Break(())
        });
        let model = model.unwrap();
        assert_eq!(model.training().stop, Stop::Interrupted);
        assert!(calls >= 1 && model.certificate().lower_bound.is_some());
    }
}

#[test]
fn sparse_rows_without_intercepts_have_the_optimum_of_newton_steps() {
    for lambda in [0.01, 1.0] {
        let problem = Problem::random(8, 300, 40, 5).weighted(2);
        let spec = Spec {
            loss: hinge(0.0),
            penalty: AnyPenalty::Ridge(Ridge { lambda }),
            intercept: false,
            tol: 1e-9,
            ..Method::Ovr.spec().with_usual_lambda()
        };
        let steps = Spec { solver: newton(), ..spec.clone() };
        let [model, other] = [&spec, &steps].map(|spec| spec.fit(&problem.csr()).unwrap());
        assert_ne!(model.training().iterations, other.training().iterations, "both took the same way");
        for model in [&model, &other] {
            assert_eq!(model.training().stop, Stop::Converged, "{lambda} {:?}", model.certificate());
        }
        let [one, two] = [&model, &other].map(|m| m.certificate().objective);
        assert!(apart(one, two) < 2e-9, "{lambda}: {one} {two}");
        assert!(far(model.weights(), other.weights()) < 1e-3);
        // One that is stopped has something to show.
        let stopped = spec.fit_watched(&problem.csr(), None, &mut |_| std::ops::ControlFlow::Break(())).unwrap();
        assert_eq!(stopped.training().stop, Stop::Interrupted);
        assert!(stopped.certificate().lower_bound.is_some_and(|bound| bound <= one));
    }
}

#[test]
fn a_class_without_rows_does_not_break_the_others() {
    let problem = Problem::random(4, 30, 2, 3);
    let names = ["0", "1", "2", "absent"].map(String::from).to_vec();
    let x = Features::dense(problem.x.clone(), problem.n, problem.d).unwrap();
    let data = m3svm::Dataset::new(x, problem.y.clone(), names).unwrap();
    for method in schemes() {
        let model = method.spec().with_usual_lambda().fit(&data).unwrap();
        assert!(model.certificate().relative_gap().unwrap() <= 1e-6, "{method:?} {:?}", model.certificate());
        assert!(model.predict(data.x()).unwrap().iter().all(|k| *k < 3), "{method:?}");
    }
}
