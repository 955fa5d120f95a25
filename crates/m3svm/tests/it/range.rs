//! Numbers of any size, and data with next to nothing in it: what `docs/range.md` promises, at each corner.
//!
//! Every outcome is an error of one sentence, or a finite model whose bound is not above its objective and whose end is told as it was.

use std::ops::ControlFlow;

use m3svm::penalty::{Norm, Pairwise};
use m3svm::select::{Grid, Journal, Search};
use m3svm::solver::Adam;
use m3svm::{
    AnyLoss, AnyPenalty, AnySolver, ClassWeight, Dataset, Error, Features, Method, Model, Result, Scaling, Spec, Stop,
};

use crate::common::{Problem, hinge, top_k};

/// From far below to far above what anyone measures; squares of the outer ones vanish or overflow.
const SIZES: [f64; 8] = [1e-300, 1e-160, 1e-30, 1e-8, 1e8, 1e30, 1e160, 1e300];

/// Every method by its name, and the combinations of losses and penalties with other kinks.
fn specs() -> Vec<(String, Spec)> {
    let mut all: Vec<(String, Spec)> =
        Method::ALL.into_iter().map(|m| (m.name().to_string(), m.spec().with_usual_lambda())).collect();
    let pair = |norm, p| AnyPenalty::Pairwise(Pairwise::new(norm, 1e-3, p));
    for (name, loss) in [("hinge", hinge(0.0)), ("smooth", hinge(1e-3)), ("top", top_k(2, 1e-3))] {
        for (norm, p) in [(Norm::L2, 1.0), (Norm::L2, 1.5), (Norm::L1, 2.0)] {
            all.push((
                format!("{name} {norm:?} {p}"),
                Spec { loss, penalty: pair(norm, p), ..Spec::default().with_usual_lambda() },
            ));
        }
    }
    for (_, spec) in &mut all {
        spec.max_iter = Some(60);
    }
    all
}

fn small(seed: u64) -> Problem {
    Problem::random(seed, 18, 3, 3)
}

/// The model, if there is one, after it has been looked at from all sides.
fn judged(what: &str, outcome: Result<Model>, data: &Dataset<'_>, tol: f64) -> Option<Model> {
    let model = match outcome {
        Ok(model) => model,
        Err(error) => {
            let text = error.to_string();
            assert!(!text.is_empty() && !text.contains('\n'), "{what}: {text}");
            let known = matches!(
                error,
                Error::Diverged { .. }
                    | Error::Param { .. }
                    | Error::Unscaled { .. }
                    | Error::WeightSum { .. }
                    | Error::Weight { .. }
                    | Error::NoWeight { .. }
                    | Error::Unsuited { .. }
            );
            assert!(known, "{what}: {error:?}");
            return None;
        }
    };
    let (certificate, stop) = (model.certificate(), model.training().stop);
    assert!(certificate.objective.is_finite() && certificate.objective >= 0.0, "{what}: {certificate:?}");
    if let Some(bound) = certificate.lower_bound {
        assert!((0.0..=certificate.objective).contains(&bound), "{what}: {certificate:?}");
        let gap = certificate.relative_gap();
        assert_eq!(gap.is_some_and(|gap| gap <= tol), stop == Stop::Converged, "{what}: {certificate:?} {stop:?}");
    }
    assert!(model.weights().iter().chain(model.intercept()).all(|w| w.is_finite()), "{what}");
    let back = Model::from_bytes(&model.to_bytes().unwrap());
    assert!(back.as_ref().is_ok_and(|back| *back == model), "{what}: {back:?}");
    match model.predict(data.x()) {
        Ok(_) => assert!(model.scores(data.x()).unwrap().iter().all(|z| z.is_finite()), "{what}"),
        Err(error) => assert!(matches!(error, Error::Score { .. }), "{what}: {error}"),
    }
    Some(model)
}

fn fit(what: &str, spec: &Spec, data: &Dataset<'_>) -> Option<Model> {
    judged(what, spec.fit(data), data, spec.tol)
}

#[test]
fn features_of_any_size() {
    for (name, spec) in specs() {
        for size in SIZES {
            for scaling in [Scaling::None, Scaling::Standard] {
                let mut problem = small(1);
                problem.x.iter_mut().for_each(|x| *x *= size);
                let spec = Spec { scaling, ..spec.clone() };
                for (storage, data) in [("dense", problem.dense()), ("sparse", problem.csr())] {
                    let model = fit(&format!("{name} {storage} {scaling:?} {size}"), &spec, &data);
                    // Scaled features are what they were.
                    assert!(model.is_some() || scaling == Scaling::None, "{name} {storage} {size}");
                }
            }
        }
    }
}

/// Warm starts too: where scores overflow there is no objective, and where there is none nothing is proven.
#[test]
fn a_start_where_the_objective_overflows_is_an_error() {
    let problem = Problem::iris();
    let mut huge = problem.clone();
    huge.x.iter_mut().for_each(|x| *x *= 1e307);
    for (name, spec) in specs() {
        let model = spec.fit(&problem.dense()).unwrap();
        let spec = Spec { scaling: Scaling::None, ..spec };
        for data in [huge.dense(), huge.csr()] {
            let found = spec.fit_watched(&data, Some(&model), &mut |_| ControlFlow::Continue(()));
            match judged(&name, found, &data, spec.tol) {
                None => {}
                // It may do without the start.
                Some(model) => assert!(model.certificate().objective <= 150.0 * 3.0, "{name}"),
            }
            if spec.scheme == m3svm::Scheme::Joint {
                let far = vec![1e10; model.weights().len()];
                let at = spec.model_at(&data, &far, model.intercept());
                assert!(matches!(at, Err(Error::Diverged { .. } | Error::Score { .. })), "{name}: {at:?}");
                let text = at.unwrap_err().to_string();
                assert!(text.starts_with("the objective is not finite: "), "{name}: {text}");
            }
        }
    }
}

/// On folds as well: the error says which setting it was.
#[test]
fn a_search_names_the_setting_whose_fit_overflows() {
    let problem = Problem::random(1, 30, 2, 3);
    let solver = AnySolver::Adam(Adam { learning_rate: 1e200, batch: None });
    let spec = Spec { solver, ..Method::M3svm.spec().with_usual_lambda() };
    let grid = Grid { lambdas: Some("0.5".parse().unwrap()), ps: Some("4".parse().unwrap()), ..Grid::default() };
    let search = Search { grid, ..Search::new(spec) };
    let found = search.run(&problem.dense(), None, &Journal::none(), &|_| ControlFlow::Continue(()));
    let text = found.unwrap_err().to_string();
    assert!(text.starts_with("λ 0.5, p 4: the objective is not finite: "), "{text}");
}

/// The optimum is at the origin, the bound is proven there, and no step gets any lower.
#[test]
fn what_is_proven_has_converged() {
    let tie =
        Dataset::from_labels(Features::dense(vec![1.0, 1.0, 2.0, 2.0], 4, 1).unwrap(), &["x", "y", "x", "y"]).unwrap();
    let iris = Problem::iris().dense();
    let strong = |method: Method, lambda| Spec {
        penalty: method.spec().with_usual_lambda().penalty.with_lambda(lambda),
        ..method.spec().with_usual_lambda()
    };
    for method in Method::ALL {
        for (what, spec, data) in [
            ("tie", method.spec().with_usual_lambda(), &tie),
            ("strong", strong(method, 1e100), &iris),
            ("stronger", strong(method, 1e300), &iris),
        ] {
            // Of two classes, both are among the best two.
            if method == Method::Topk && data.classes().len() == 2 {
                continue;
            }
            let what = format!("{what} {}", method.name());
            let model =
                judged(&what, spec.fit(data), data, spec.tol).unwrap_or_else(|| panic!("{what} {:?}", spec.fit(data)));
            assert_eq!(model.training().stop, Stop::Converged, "{what} {:?}", model.certificate());
        }
    }
    let weak = strong(Method::Smlr, 1e-30).fit(&iris).unwrap();
    assert_eq!(weak.training().stop, Stop::Converged, "{:?}", weak.certificate());
}

#[test]
fn features_whose_range_is_no_number() {
    for (name, spec) in specs() {
        for scaling in Scaling::ALL {
            let x = vec![1.7e308, -1.7e308, 1e308, -1e308, 1.2e308, 0.0];
            let data =
                Dataset::from_labels(Features::dense(x, 6, 1).unwrap(), &["a", "b", "a", "b", "c", "c"]).unwrap();
            fit(&format!("{name} {scaling:?}"), &Spec { scaling, ..spec.clone() }, &data);
        }
    }
}

/// Whole numbers far from 0 are exact, and so are their differences: what a training has told apart, predictions have to.
#[test]
fn features_far_from_zero_are_told_apart_by_predictions_as_by_the_training() {
    for (name, spec) in specs() {
        for far in [1e9, 1e13, 1e15] {
            // Class 0 has a larger first number than the others, class 1 a larger second one.
            let value = |i: usize, j: usize| far + if i % 3 == j { 20.0 } else { 0.0 } + (i / (3 + j) % 5) as f64;
            let x = (0..60).map(|at| value(at / 2, at % 2)).collect();
            let problem = Problem { n: 30, d: 2, c: 3, x, y: (0..30).map(|i| i % 3).collect(), weights: None };
            let data = problem.dense();
            let model = spec.fit(&data).unwrap();
            assert_eq!((model.train_accuracy(), model.predict(data.x()).unwrap()), (1.0, problem.y), "{name} {far}");
        }
    }
}

#[test]
fn features_of_very_different_sizes() {
    for (name, spec) in specs() {
        for scaling in [Scaling::None, Scaling::Standard] {
            let mut problem = small(2);
            let sizes = [1e-300, 1.0, 1e300];
            problem.x.iter_mut().enumerate().for_each(|(i, x)| *x *= sizes[i % 3]);
            fit(&format!("{name} {scaling:?}"), &Spec { scaling, ..spec.clone() }, &problem.dense());
        }
    }
}

#[test]
fn weights_of_any_size() {
    for (name, spec) in specs() {
        for size in SIZES {
            let mut problem = small(3).weighted(3);
            problem.weights.iter_mut().flatten().for_each(|w| *w *= size * 1e-2);
            fit(&format!("{name} {size}"), &spec, &problem.dense());
            // Side by side.
            problem.weights = Some((0..problem.n).map(|i| if i % 2 == 0 { 1.0 } else { size * 1e-2 }).collect());
            fit(&format!("{name} 1 and {size}"), &spec, &problem.dense());
        }
    }
}

#[test]
fn weights_that_sum_to_too_much_are_refused() {
    let data = small(4).dense();
    let error = data.clone().with_weights(vec![1e300; 18]).unwrap_err().to_string();
    assert_eq!(error, "the weights of the rows sum to 1.8e301, expected at most 1e300");
    assert!(matches!(data.with_weights(vec![1e308; 18]), Err(Error::WeightSum { sum, .. }) if sum.is_infinite()));
}

#[test]
fn strengths_of_any_size() {
    for (name, spec) in specs() {
        for size in SIZES.into_iter().chain([1e-100, 1e100, 1e308]) {
            let penalty = spec.penalty.with_lambda(size);
            fit(&format!("{name} λ {size}"), &Spec { penalty, ..spec.clone() }, &small(5).dense());
            fit(&format!("{name} ε {size}"), &Spec { epsilon: size, ..spec.clone() }, &small(5).dense());
            let both = Spec { penalty, epsilon: size, ..spec.clone() };
            fit(&format!("{name} λ, ε {size}"), &both, &small(5).dense());
        }
    }
}

#[test]
fn powers_and_widths_of_any_size() {
    for p in [1.0, 1.0 + 1e-12, 1.001, 1.5, 3.0, 10.0, 65.0, 999.5, 1000.0] {
        for lambda in [1e-300, 1e-3, 1.0, 1e300] {
            for (norm, loss) in [(Norm::L2, hinge(1e-3)), (Norm::L1, hinge(0.0)), (Norm::L2, AnyLoss::examples()[0])] {
                let penalty = AnyPenalty::Pairwise(Pairwise::new(norm, lambda, p));
                let spec = Spec { loss, penalty, max_iter: Some(60), ..Spec::default().with_usual_lambda() };
                fit(&format!("{norm:?} p {p} λ {lambda}"), &spec, &small(6).dense());
            }
        }
    }
    for delta in SIZES.into_iter().chain([5e-324, 1e-14, 1.0, 1e308]) {
        for loss in [hinge(delta), top_k(1, delta), top_k(2, delta)] {
            for method in [Method::M3svm, Method::Ww, Method::Ovr, Method::Ovo] {
                let spec = Spec { loss, max_iter: Some(60), ..method.spec().with_usual_lambda() };
                fit(&format!("{} δ {delta} {loss:?}", method.name()), &spec, &small(7).dense());
            }
        }
    }
}

/// The sizes for which a proof is promised.
#[test]
fn within_the_promised_range_optima_are_proven() {
    let proven = |what: String, spec: &Spec, problem: &Problem| {
        for (storage, data) in [("dense", problem.dense()), ("sparse", problem.csr())] {
            let model = fit(&format!("{what} {storage}"), spec, &data);
            let stop = model.as_ref().map(|model| model.training().stop);
            assert_eq!(stop, Some(Stop::Converged), "{what} {storage}: {:?}", model.map(|m| *m.certificate()));
        }
    };
    for (name, spec) in specs() {
        let spec = Spec { max_iter: None, ..spec };
        let scaled = |size: f64, problem: &mut Problem| problem.x.iter_mut().for_each(|x| *x *= size);
        for (scaling, sizes) in [
            (Scaling::None, [1e-300, 1e-150, 1e-3, 1.0, 1e3]),
            (Scaling::Standard, [1e-300, 1e-150, 1.0, 1e150, 1e300]),
            (Scaling::MaxAbs, [1e-300, 1e-150, 1.0, 1e150, 1e300]),
            (Scaling::MinMax, [1e-300, 1e-150, 1.0, 1e150, 1e300]),
        ] {
            for size in sizes {
                let mut problem = small(11);
                scaled(size, &mut problem);
                proven(format!("{name} {scaling:?} {size}"), &Spec { scaling, ..spec.clone() }, &problem);
            }
        }
        for size in [1e-250, 1e-100, 1e-3, 1e3, 1e6] {
            let mut problem = small(12).weighted(12);
            problem.weights.iter_mut().flatten().for_each(|w| *w *= size);
            proven(format!("{name} weights {size}"), &spec, &problem);
        }
        for lambda in [0.0, 1e-300, 1e-100, 1e-6, 1e6, 1e100, 1e300] {
            let penalty = spec.penalty.with_lambda(lambda);
            proven(format!("{name} λ {lambda}"), &Spec { penalty, ..spec.clone() }, &small(13));
        }
        for epsilon in [1e-8, 1e-3, 1.0, 1e100, 1e300] {
            proven(format!("{name} ε {epsilon}"), &Spec { epsilon, ..spec.clone() }, &small(14));
        }
    }
    for p in [1.0, 1.001, 1.5, 2.0, 4.0, 30.0, 1000.0] {
        for norm in [Norm::L1, Norm::L2] {
            for lambda in [1e-3, 1.0, 1e3] {
                let penalty = AnyPenalty::Pairwise(Pairwise::new(norm, lambda, p));
                proven(
                    format!("{norm:?} p {p} λ {lambda}"),
                    &Spec { penalty, ..Spec::default().with_usual_lambda() },
                    &small(15),
                );
            }
        }
    }
    for delta in [0.0, 1e-300, 1e-3, 1.0, 1e3, 1e6] {
        for (loss, method) in
            [(hinge(delta), Method::M3svm), (hinge(delta), Method::Ovr), (top_k(2, delta), Method::Topk)]
        {
            proven(format!("δ {delta} {loss:?}"), &Spec { loss, ..method.spec().with_usual_lambda() }, &small(16));
        }
    }
}

/// What the table says is refused, with what it says.
#[test]
fn what_is_beyond_the_range_is_refused() {
    let odd = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
    let data = small(17).dense();
    let refused = |spec: &Spec, must: &str, wrong: f64| {
        let text = spec.fit(&data).unwrap_err().to_string();
        assert_eq!(text, format!("{must}, found {}", if wrong.is_nan() { "NaN".into() } else { wrong.to_string() }));
    };
    let pairwise = |lambda, p| AnyPenalty::Pairwise(Pairwise::new(Norm::L2, lambda, p));
    for (name, spec) in specs() {
        for wrong in odd.into_iter().chain([-1e-300, -1.0]) {
            let penalty = spec.penalty.with_lambda(wrong);
            if spec.penalty.lambda().is_some() {
                refused(&Spec { penalty, ..spec.clone() }, "`lambda` must be a finite number of at least 0", wrong);
            }
            let spec = Spec { epsilon: wrong, ..spec.clone() };
            refused(&spec, "`epsilon` must be a finite number greater than 0", wrong);
        }
        let one =
            Dataset::new(Features::dense(vec![1.0, 2.0], 2, 1).unwrap(), vec![0, 0], vec!["a".into(), "b".into()]);
        assert!(matches!(one, Err(Error::TooFewClasses { found: 1, .. })), "{name}");
    }
    for wrong in [f64::NAN, f64::NEG_INFINITY, 0.0, -1.0, 1000.1, 1e300] {
        let spec = Spec { penalty: pairwise(1.0, wrong), ..Spec::default().with_usual_lambda() };
        refused(&spec, "`p` must be greater than 0 and at most 1000, or inf", wrong);
    }
    for wrong in odd.into_iter().chain([-1e-300, 1.1e6]) {
        for loss in [hinge(wrong), top_k(2, wrong)] {
            refused(
                &Spec { loss, ..Spec::default().with_usual_lambda() },
                "`delta` must be a number from 0 to 1e6",
                wrong,
            );
        }
    }
    let too_many =
        Spec { loss: top_k(3, 0.0), ..Method::Topk.spec().with_usual_lambda() }.fit(&data).unwrap_err().to_string();
    assert_eq!(too_many, "`k` must be less than the number of classes, found 3 with 3 classes");
    for wrong in odd {
        assert!(matches!(Features::dense(vec![1.0, wrong], 2, 1), Err(Error::NotFinite { row: 1, column: 0, .. })));
        let weights = vec![wrong; data.rows()];
        assert!(matches!(data.clone().with_weights(weights), Err(Error::Weight { .. })));
    }
    let none = data
        .clone()
        .with_weights(vec![0.0; data.rows()])
        .and_then(|data| Spec::default().with_usual_lambda().fit(&data));
    assert!(matches!(none, Err(Error::NoWeight { .. })), "{none:?}");
    let of_classes = ClassWeight::Each(data.classes().iter().map(|name| (name.clone(), 0.0)).collect());
    let none =
        Spec { class_weight: of_classes, ..Spec::default().with_usual_lambda() }.fit(&data).unwrap_err().to_string();
    assert_eq!(none, "the weights of the rows, with those of their classes, are all zero, expected at least one above");
    let none =
        Dataset::new(Features::dense(Vec::<f64>::new(), 2, 0).unwrap(), vec![0, 1], vec!["a".into(), "b".into()]);
    assert_eq!(none.unwrap_err().to_string(), "`features` must be at least 1, found 0");
    // The same bytes again and again.
    let piece = vec![0u8; 1 << 16];
    let parts = |count: usize| (0..count).map(|_| vec![piece.as_slice().into()]).collect();
    let x = Features::column_parts(parts(1 << 16), 1).unwrap();
    let found = Dataset::new(x, Vec::new(), vec!["a".into(), "b".into()]).unwrap_err().to_string();
    assert_eq!(found, "`rows` must be at most 4294967295, found 4294967296");
}

#[test]
fn data_with_next_to_nothing_in_it() {
    let problem = small(8);
    let with = |x: Vec<f64>, rows: usize| {
        let y: Vec<u32> = (0..rows).map(|i| (i % 3) as u32).collect();
        Problem { n: rows, d: x.len() / rows, c: 3, x, y, weights: None }
    };
    let constant = with(vec![0.1; 54], 18);
    let zero = with(vec![0.0; 54], 18);
    let duplicate = with(problem.x[..9].repeat(6), 18);
    let collinear = with((0..18).flat_map(|i| [f64::from(i), 2.0 * f64::from(i), -3.0 * f64::from(i)]).collect(), 18);
    let one_each = problem.rows(&[0, 1, 2]);
    let ties = with((0..18).map(|i| f64::from(i / 3)).collect(), 18);
    let all = [
        ("constant", constant),
        ("zero", zero),
        ("duplicate", duplicate),
        ("collinear", collinear),
        ("one row per class", one_each),
        ("equal rows in all classes", ties),
    ];
    for (kind, problem) in all {
        for (name, spec) in specs() {
            for (scaling, intercept) in [(Scaling::None, false), (Scaling::None, true), (Scaling::Standard, true)] {
                let spec = Spec { scaling, intercept, ..spec.clone() };
                for (storage, data) in [("dense", problem.dense()), ("sparse", problem.csr())] {
                    let what = format!("{kind} {name} {storage} {scaling:?} {intercept}");
                    let stop = fit(&what, &spec, &data).map(|model| model.training().stop);
                    assert_eq!(stop, Some(Stop::Converged), "{what}");
                }
            }
        }
    }
}

/// With weights, λ and ε all s times as large the objective is s times as large everywhere. Powers of two leave all digits as they are.
#[test]
fn bounds_hold_for_objectives_of_any_size() {
    for (name, spec) in specs() {
        let spec = Spec { epsilon: 1e-3, max_iter: None, ..spec };
        let lambda = spec.penalty.lambda().unwrap_or(0.0);
        let mut plain = small(9);
        plain.weights = Some(vec![1.0; plain.n]);
        let Some(model) = fit(&name, &spec, &plain.dense()) else { panic!("{name}") };
        let optimum = model.certificate().objective;
        for power in [-1000, -900, -500, -100, 100, 500, 900, 980] {
            let size = 2f64.powi(power);
            let mut problem = plain.clone();
            problem.weights = Some(vec![size; plain.n]);
            let (penalty, epsilon) = (spec.penalty.with_lambda(size * lambda), size * spec.epsilon);
            let what = format!("{name} 2^{power}");
            let Some(model) = fit(&what, &Spec { penalty, epsilon, ..spec.clone() }, &problem.dense()) else {
                continue;
            };
            let certificate = model.certificate();
            let bound = certificate.lower_bound.unwrap_or(0.0) / size;
            assert!(bound <= optimum * (1.0 + 1e-12), "{what}: {bound} {optimum}");
            assert!(certificate.objective / size >= optimum * (1.0 - 2e-8), "{what}: {certificate:?} {optimum}");
        }
    }
}

/// With features s times as large, λ times sᵖ and ε times s², weights are 1/s of what they were and the objective is the same.
#[test]
fn bounds_hold_for_weights_of_any_size() {
    for (name, spec) in specs() {
        let spec = Spec { epsilon: 1e-3, scaling: Scaling::None, intercept: false, max_iter: None, ..spec };
        let lambda = spec.penalty.lambda().unwrap_or(0.0);
        let degree = match spec.penalty {
            AnyPenalty::Lasso(_) => 1.0,
            other => other.p().unwrap_or(2.0),
        };
        let plain = small(10);
        let Some(model) = fit(&name, &spec, &plain.dense()) else { panic!("{name}") };
        let optimum = model.certificate().objective;
        for power in [-250, -200, -100, 100, 200, 250] {
            let size = 2f64.powi(power);
            let mut problem = plain.clone();
            problem.x.iter_mut().for_each(|x| *x *= size);
            let penalty = spec.penalty.with_lambda(size.powf(degree) * lambda);
            let what = format!("{name} 2^{power}");
            let spec = Spec { penalty, epsilon: size * size * spec.epsilon, ..spec.clone() };
            let Some(model) = fit(&what, &spec, &problem.dense()) else { continue };
            let certificate = model.certificate();
            let bound = certificate.lower_bound.unwrap_or(0.0);
            assert!(bound <= optimum * (1.0 + 1e-12), "{what}: {certificate:?} {optimum}");
            assert!(certificate.objective >= optimum * (1.0 - 2e-8), "{what}: {certificate:?} {optimum}");
        }
    }
}
