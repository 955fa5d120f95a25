//! Training in batches: Adam on the same objective.

use std::ops::ControlFlow;

use m3svm::penalty::Ridge;
use m3svm::solver::{Adam, AdamState};
use m3svm::{AnyPenalty, AnySolver, ClassWeight, Dataset, Error, Features, Method, Model, Risk, Scaling, Spec};

use crate::common::{Problem, hinge, pairwise, spec, theta};

fn batch<'a>(problem: &'a Problem, rows: std::ops::Range<usize>) -> Dataset<'a> {
    let x = &problem.x[rows.start * problem.d..rows.end * problem.d];
    let x = Features::dense(x, rows.len(), problem.d).unwrap();
    let classes = (0..problem.c).map(|k| k.to_string()).collect();
    Dataset::batch(x, &problem.y[rows], classes).unwrap()
}

/// Passes over all rows in batches of `size`.
fn stream(spec: &Spec, problem: &Problem, size: usize, passes: usize) -> (Model, AdamState) {
    let (mut model, mut state) = (None, AdamState::default());
    for _ in 0..passes {
        for start in (0..problem.n).step_by(size) {
            let part = batch(problem, start..(start + size).min(problem.n));
            model = Some(spec.fit_batch(&part, model.as_ref(), &mut state).unwrap());
        }
    }
    (model.unwrap(), state)
}

fn step_size(learning_rate: f64) -> AnySolver {
    AnySolver::Adam(Adam { learning_rate, batch: None })
}

#[test]
fn the_first_step_has_the_size_of_the_rate_against_the_gradient() {
    let problem = Problem::random(301, 16, 4, 3);
    let spec = Spec { scaling: Scaling::None, ..spec(hinge(0.1), pairwise(1e-2, 2.0)) };
    let mut state = AdamState::default();
    let data = batch(&problem, 0..16);
    let model = spec.fit_batch(&data, None, &mut state).unwrap();
    let (loss, penalty) = (spec.loss.as_dyn(), spec.penalty.as_dyn());
    let risk = Risk::new(&data, loss, penalty, spec.epsilon, true);
    let mut grad = vec![0.0; 15];
    m3svm::Objective::eval(&risk, &[0.0; 15], &mut grad);
    for (t, g) in theta(&model).iter().zip(&grad) {
        assert!((t + 0.01 * g.signum()).abs() < 1e-9, "{t} {g}");
    }
    assert_eq!(state.steps, 1);
    assert_eq!(model.certificate().lower_bound, None);
}

/// λ·n/N in batches of n rows is λ for all N.
#[test]
fn batches_come_to_the_optimum_of_all_rows() {
    let problem = Problem::random(302, 320, 5, 3);
    let all = batch(&problem, 0..320);
    for (method, scaling) in
        [(Method::M3svm, Scaling::None), (Method::Lr, Scaling::Standard), (Method::Topk, Scaling::None)]
    {
        let spec =
            Spec { scaling, penalty: AnyPenalty::Ridge(Ridge { lambda: 20.0 }), ..method.spec().with_usual_lambda() };
        let best = spec.fit(&all).unwrap();
        let fifth = Spec { penalty: spec.penalty.with_lambda(4.0), solver: step_size(1e-3), ..spec.clone() };
        let (found, _) = stream(&fifth, &problem, 64, 400);
        let value = |model: &Model| {
            let scaled = model.scaler().apply(all.x().clone()).unwrap();
            let scaled = Dataset::batch(scaled, all.y(), all.classes().to_vec()).unwrap();
            let (loss, penalty) = (spec.loss.as_dyn(), spec.penalty.as_dyn());
            let risk = Risk::new(&scaled, loss, penalty, spec.epsilon, true);
            m3svm::Objective::eval(&risk, &theta(model), &mut [0.0; 18])
        };
        // Scaling is learnt from the first batch, so the optimum differs a little there.
        let excess = value(&found) / value(&best) - 1.0;
        assert!(excess.abs() < 0.01, "{}: {excess}", method.name());
    }
}

#[test]
fn a_fit_goes_on_learning_with_its_scaling() {
    let problem = Problem::random(303, 90, 4, 3);
    let fitted = Spec::default().with_usual_lambda().fit(&batch(&problem, 0..60)).unwrap();
    let spec = Spec { solver: step_size(1e-9), ..Spec::default().with_usual_lambda() };
    let later = spec.fit_batch(&batch(&problem, 60..90), Some(&fitted), &mut AdamState::default()).unwrap();
    assert_eq!(later.scaler(), fitted.scaler());
    assert_eq!(later.training().rows, 90);
    for (a, b) in theta(&later).iter().zip(theta(&fitted)) {
        assert!((a - b).abs() < 1e-8);
    }
}

#[test]
fn a_batch_of_one_class_speaks_for_that_class() {
    let problem = Problem::random(304, 30, 3, 3);
    let (mut model, mut state) = (None, AdamState::default());
    let x = &problem.x[..3];
    for _ in 0..200 {
        let classes = vec!["0".into(), "1".into(), "2".into()];
        let one = Dataset::batch(Features::dense(x, 1, 3).unwrap(), vec![2], classes).unwrap();
        model = Some(
            Spec { scaling: Scaling::None, ..Spec::default().with_usual_lambda() }
                .fit_batch(&one, model.as_ref(), &mut state)
                .unwrap(),
        );
    }
    assert_eq!(model.unwrap().predict(&Features::dense(x, 1, 3).unwrap()).unwrap(), [2]);
}

#[test]
fn the_number_of_threads_changes_no_bit_of_a_stream() {
    let problem = Problem::random(305, 3000, 30, 4);
    let with = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| stream(&Spec::default().with_usual_lambda(), &problem, 1000, 1))
    };
    let ((one, state), (three, same)) = (with(1), with(3));
    assert_eq!(theta(&one), theta(&three));
    assert_eq!(state, same);
    // 63 steps of up to 16 rows in every batch.
    assert_eq!(state.steps, 189);
}

#[test]
fn what_cannot_learn_in_batches_says_so_and_changes_nothing() {
    let problem = Problem::random(306, 30, 3, 3);
    let data = batch(&problem, 0..30);
    let (first, mut state) = stream(&Spec::default().with_usual_lambda(), &problem, 30, 1);
    let before = state.clone();
    let mut refused = |spec: Spec, model: Option<&Model>| {
        let error = spec.fit_batch(&data, model, &mut state).unwrap_err();
        assert_eq!(state, before);
        error.to_string()
    };
    for method in Method::ALL {
        let can = !matches!(method, Method::Ovr | Method::Ovo | Method::Smlr);
        assert_eq!(method.spec().with_usual_lambda().takes_batches(), can, "{}", method.name());
        if !can {
            refused(method.spec().with_usual_lambda(), None);
        }
    }
    assert!(
        refused(Spec { class_weight: ClassWeight::Balanced, ..Spec::default().with_usual_lambda() }, None)
            .contains("balanced")
    );
    let other = Method::Ovr.spec().with_usual_lambda().fit(&data).unwrap();
    assert!(refused(Spec::default().with_usual_lambda(), Some(&other)).contains("joint"));
    let two =
        Dataset::batch(Features::dense(vec![0.0; 6], 3, 2).unwrap(), vec![0, 1, 2], data.classes().to_vec()).unwrap();
    let narrow = Spec::default().with_usual_lambda().fit_batch(&two, None, &mut AdamState::default()).unwrap();
    assert!(refused(Spec::default().with_usual_lambda(), Some(&narrow)).contains("features: expected 2, found 3"));
    let spread = Spec { solver: step_size(1e300), ..Spec::default().with_usual_lambda() };
    assert!(refused(spread, Some(&first)).contains("not finite"));
    let few = batch(&problem, 0..16);
    let asked = Spec::default().with_usual_lambda().with_usual_lambda().fit_batch_watched(
        &few,
        Some(&first),
        &mut state,
        &mut || ControlFlow::Break(()),
    );
    assert!(asked.is_ok(), "one step has nothing in between");
    let small = AnySolver::Adam(Adam { learning_rate: 0.01, batch: Some(10) });
    let steps = state.clone();
    let spec = Spec { solver: small, ..Spec::default().with_usual_lambda() };
    let asked = spec.fit_batch_watched(&data, Some(&first), &mut state, &mut || ControlFlow::Break(()));
    assert!(matches!(asked, Err(Error::Interrupted)));
    assert_eq!(state, steps);
    let sparse = Features::csr(vec![0, 1], vec![0], vec![1.0], 3).unwrap();
    let sparse = Dataset::batch(sparse, vec![0], data.classes().to_vec()).unwrap();
    let error = Spec::default().with_usual_lambda().fit_batch(&sparse, Some(&first), &mut state).unwrap_err();
    assert!(error.to_string().contains("dense"), "{error}");
}
