//! λ where nobody has set one.

use std::ops::ControlFlow;

use m3svm::penalty::{AUTO, Norm, Pairwise};
use m3svm::select::LambdaChoice;
use m3svm::solver::AdamState;
use m3svm::{
    AnyPenalty, CachePlace, Dataset, Error, Features, Fit, Kernel, Method, Model, RowBatch, Scaling, Spec, Stop,
};

use crate::common::{Problem, Random};

fn auto(method: Method) -> Spec {
    let spec = method.spec();
    assert!(spec.chooses_lambda(), "{method:?}: a choice is what nobody has to ask for");
    spec
}

fn with_p(p: f64) -> Spec {
    Spec { penalty: AnyPenalty::Pairwise(Pairwise::new(Norm::L2, AUTO, p)), ..Spec::default() }
}

fn choice(model: &Model) -> &LambdaChoice {
    let choice = model.training().lambda.as_ref().unwrap();
    assert_eq!(model.spec().penalty.lambda(), Some(choice.lambda));
    choice
}

/// The same choice by the same evidence.
fn same(a: &Model, b: &Model, label: &str) {
    let (a, b) = (choice(a), choice(b));
    assert_eq!((a.lambda, a.folds), (b.lambda, b.folds), "{label}");
    assert_eq!(a.tried.len(), b.tried.len(), "{label}");
    for (a, b) in a.tried.iter().zip(&b.tried) {
        assert_eq!((a.lambda, a.folds), (b.lambda, b.folds), "{label}");
        assert!((a.accuracy - b.accuracy).abs() < 1e-12, "{label}: {a:?} {b:?}");
        assert!((a.log_loss - b.log_loss).abs() < 1e-2 * a.log_loss, "{label}: {a:?} {b:?}");
    }
}

#[test]
fn every_method_and_power_chooses_and_is_proven_at_what_it_chose() {
    let data = Problem::clouds(3, 90, 4, 3, 0.8).dense();
    let mut specs: Vec<Spec> = Method::ALL.map(auto).to_vec();
    specs.extend([0.5, 1.0, 1.5, 2.0, 8.0, f64::INFINITY].map(with_p));
    specs.push(Spec { penalty: AnyPenalty::Pairwise(Pairwise::new(Norm::L1, AUTO, 2.0)), ..Spec::default() });
    specs.push(Spec { penalty: auto(Method::Smlr).penalty.with_l1_ratio(0.5), ..auto(Method::Smlr) });
    specs.push(Spec { kernel: Kernel::of_name("rbf").unwrap(), ..with_p(4.0) });
    for spec in specs {
        let label = format!("{:?} {:?} {:?} {:?}", spec.scheme, spec.loss, spec.penalty, spec.kernel);
        let model = spec.fit(&data).unwrap();
        let found = choice(&model);
        assert!(found.lambda.is_finite() && found.lambda > 0.0 && found.folds == 4, "{label}: {found:?}");
        assert_eq!((found.rows, found.used), (90, 90), "{label}");
        assert!(found.tried.iter().any(|it| it.lambda == found.lambda && it.folds == 4), "{label}: {found:?}");
        assert_eq!(found.fits, fits(found), "{label}");
        if spec.penalty.as_dyn().convex() {
            assert_eq!(model.training().stop, Stop::Converged, "{label}");
        }
        // What was chosen is no worse than what everybody would say.
        let best = found.tried.iter().map(|it| it.accuracy).fold(0.0, f64::max);
        assert!(best > 0.4, "{label}: {found:?}");
        // And it is the fit with that number.
        let given = spec_at(&spec, found.lambda).fit(&data).unwrap();
        assert_eq!(given.weights(), model.weights(), "{label}");
        assert!(given.training().lambda.is_none(), "{label}");
    }
}

fn spec_at(spec: &Spec, lambda: f64) -> Spec {
    Spec { penalty: spec.penalty.with_lambda(lambda), ..spec.clone() }
}

/// Fits that the list of tried values stands for: a value tried on all folds needs no more where a few are known.
fn fits(choice: &LambdaChoice) -> usize {
    let most = |lambda: f64| choice.tried.iter().filter(|it| it.lambda == lambda).map(|it| it.folds).max().unwrap_or(0);
    let mut lambdas: Vec<f64> = choice.tried.iter().map(|it| it.lambda).collect();
    lambdas.dedup();
    lambdas.into_iter().map(most).sum()
}

#[test]
fn weights_are_repetitions_and_neither_order_nor_storage_nor_threads_matter() {
    for seed in 0..4 {
        let mut problem = Problem::clouds(50 + seed, 60, 3, 3, 0.7);
        let mut random = Random::new(seed);
        let counts: Vec<usize> = (0..problem.n).map(|_| random.below(4)).collect();
        let rows: Vec<usize> = (0..problem.n).flat_map(|i| vec![i; counts[i]]).collect();
        let order = random.permutation(rows.len());
        let repeated = problem.rows(&order.iter().map(|i| rows[*i]).collect::<Vec<_>>());
        problem.weights = Some(counts.iter().map(|k| *k as f64).collect());
        let single = Problem { x: problem.x.iter().map(|v| f64::from(*v as f32)).collect(), ..problem.clone() };
        for spec in [with_p(4.0), auto(Method::Lr), auto(Method::Ovr), auto(Method::Ovo)] {
            let spec = Spec { scaling: Scaling::None, ..spec };
            let label = format!("{seed} {:?} {:?}", spec.scheme, spec.loss);
            let model = spec.fit(&problem.dense()).unwrap();
            same(&model, &spec.fit(&repeated.dense()).unwrap(), &label);
            same(&model, &spec.fit(&problem.csr()).unwrap(), &label);
            same(&spec.fit(&single.dense()).unwrap(), &spec.fit(&single.dense32()).unwrap(), &label);
            let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
            assert_eq!(pool.install(|| spec.fit(&problem.dense())).unwrap(), model, "{label}");
        }
    }
}

#[test]
fn too_few_rows_go_by_the_scale_of_the_features() {
    let x = |scale: f64| Features::dense(vec![-scale, scale], 2, 1).unwrap();
    let data = |scale| Dataset::from_labels(x(scale), &["a", "b"]).unwrap();
    let spec = Spec { scaling: Scaling::None, ..with_p(4.0) };
    let (one, hundred) = (spec.fit(&data(1.0)).unwrap(), spec.fit(&data(100.0)).unwrap());
    assert_eq!((choice(&one).folds, choice(&one).fits), (0, 0));
    // Weights a hundred times as short have the same fourth power with 1e8 times the λ.
    let ratio = choice(&hundred).lambda / choice(&one).lambda;
    assert!((ratio / 1e8 - 1.0).abs() < 1e-9, "{ratio:e}");
}

#[test]
fn a_choice_costs_at_most_ten_fits() {
    // By evaluations of the loss, which is what most of either is; both in units of all rows.
    for (problem, method) in [
        (Problem::iris(), Method::M3svm),
        (Problem::clouds(7, 300, 8, 4, 0.5), Method::M3svm),
        (Problem::clouds(8, 300, 8, 4, 0.5), Method::Lr),
    ] {
        let model = auto(method).fit(&problem.dense()).unwrap();
        let (all, one) = (choice(&model).evaluations, model.training().evaluations as f64);
        assert!(all <= 10.0 * one, "{method:?}: {all} evaluations, {one} of the fit");
    }
    // Of many rows a sample decides.
    let many = Problem::clouds(9, 12_000, 4, 3, 0.5).dense();
    let model = auto(Method::M3svm).fit(&many).unwrap();
    let found = choice(&model);
    assert!(found.rows == 12_000 && (4900..5100).contains(&found.used), "{found:?}");
    assert!(found.evaluations <= 5.0 * model.training().evaluations as f64, "{found:?}");
}

#[test]
fn an_interrupted_choice_still_makes_a_model() {
    let data = Problem::clouds(3, 200, 4, 3, 0.8).dense();
    let model = with_p(4.0).fit_watched(&data, None, &mut |_| ControlFlow::Break(())).unwrap();
    assert_eq!(model.training().stop, Stop::Interrupted);
    assert!(choice(&model).interrupted && model.spec().penalty.lambda().unwrap() < AUTO);
}

#[test]
fn batches_keep_the_balance_of_what_was_chosen() {
    let problem = Problem::clouds(5, 120, 3, 3, 0.8);
    let (data, spec) = (problem.dense(), with_p(4.0));
    let fitted = spec.fit(&data).unwrap();
    let batch = problem.rows(&(0..30).collect::<Vec<_>>()).dense();
    let next = spec.fit_batch(&batch, Some(&fitted), &mut AdamState::default()).unwrap();
    let ratio = next.spec().penalty.lambda().unwrap() / fitted.spec().penalty.lambda().unwrap();
    assert!((ratio - 0.25).abs() < 1e-12, "{ratio}");
    // From nothing, the first batch chooses, and later ones follow it.
    let mut state = AdamState::default();
    let first = spec.fit_batch(&batch, None, &mut state).unwrap();
    assert_eq!(first.spec().penalty.lambda(), Some(choice(&first).lambda));
    let second = spec.fit_batch(&data, Some(&first), &mut state).unwrap();
    let ratio = second.spec().penalty.lambda().unwrap() / first.spec().penalty.lambda().unwrap();
    assert!((ratio - 4.0).abs() < 1e-12, "{ratio}");
}

#[test]
fn rows_on_disk_choose_by_the_same_rows_in_any_order() {
    let problem = Problem::clouds(6, 400, 4, 3, 0.8);
    let fit = |order: &[usize]| {
        let mut batches = order.chunks(50).map(|rows| {
            let part = problem.rows(rows);
            let labels = part.y.iter().map(|k| k.to_string()).collect();
            let x = Features::dense(part.x, part.n, part.d)?;
            Ok::<_, Error>(RowBatch { x, labels, weights: None })
        });
        Fit { place: CachePlace::default(), memory: 1 << 14 }.of_source(&with_p(4.0), &mut batches).unwrap()
    };
    let (one, other) = (fit(&(0..400).collect::<Vec<_>>()), fit(&Random::new(1).permutation(400)));
    assert!(one.training().passes.is_some(), "rows were held in memory");
    assert!(choice(&one).rows == 400 && (50..200).contains(&choice(&one).used), "{:?}", choice(&one));
    same(&one, &other, "order");
}

#[test]
fn a_number_is_taken_where_one_is_set_and_nothing_is_chosen_without_slack() {
    let data = Problem::iris().dense();
    let usual = Spec::default().with_usual_lambda();
    assert_eq!(usual.penalty.lambda(), Some(1e-3));
    assert_eq!(Method::Lr.spec().with_usual_lambda().penalty.lambda(), Some(0.5));
    assert!(usual.fit(&data).unwrap().training().lambda.is_none());
    let hard = Spec { hard_margin: true, ..Spec::default() };
    let apart = Features::dense(vec![0.0, 1.0, 5.0, 6.0], 4, 1).unwrap();
    let apart = Dataset::from_labels(apart, &["a", "a", "b", "b"]).unwrap();
    assert!(hard.fit(&apart).unwrap().training().lambda.is_none());
    let error = Spec { scaling: Scaling::None, ..Spec::default() }.model_at(&data, &[0.0; 12], &[0.0; 3]).unwrap_err();
    assert_eq!(error.to_string(), "`lambda` must be a number for weights from elsewhere, found auto");
}

#[test]
fn the_choice_is_in_the_model_file() {
    let model = with_p(4.0).fit(&Problem::iris().dense()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model");
    model.save(&path).unwrap();
    assert_eq!(choice(&Model::load(&path).unwrap()), choice(&model));
}
