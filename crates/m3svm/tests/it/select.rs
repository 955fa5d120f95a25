//! Searches: right, repeatable, and never worse off for being fast.

use std::ops::ControlFlow;

use m3svm::metrics::Criterion;
use m3svm::select::{Grid, GridValues, HeldOut, Journal, Rule, Search, SearchResult, Setting, Validation, folds};
use m3svm::{AnyPenalty, Dataset, Kernel, Method, Scaling, Spec, Stop};

use crate::common::{Problem, apart, far, none, pairwise};
use crate::convergence::table;

fn values(typed: &str) -> Option<GridValues> {
    Some(typed.parse().unwrap())
}

/// A small search: 3 λ × 3 p, or 3 λ for penalties without p.
fn small(spec: Spec) -> Search {
    let ps = spec.penalty.p().and(values("1,2,4"));
    Search { grid: Grid { lambdas: values("1e-3:1e-1:3"), ps, ..Grid::default() }, folds: 3, ..Search::new(spec) }
}

fn run(search: &Search, data: &Dataset<'_>) -> SearchResult {
    search.run(data, None, &Journal::none(), &|_| ControlFlow::Continue(())).unwrap()
}

fn accuracies(found: &SearchResult) -> Vec<&[f64]> {
    found.outcomes.iter().map(|o| o.scores.as_slice()).collect()
}

/// What a user would write: a fit and a prediction of its own for every setting and fold.
fn plain_loop(search: &Search, data: &Dataset<'_>) -> Vec<Vec<f64>> {
    let split = folds(data.y(), None, search.folds, search.spec.seed, 0).unwrap();
    let accuracy = |setting: &Setting, train: &[u32], test: &[u32]| {
        let spec = Spec { tol: search.tol, ..setting.apply(&search.spec) };
        let model = spec.fit(&data.take_rows(train).unwrap()).unwrap();
        let predicted = model.predict(&data.x().take_rows(test)).unwrap();
        let weight = |i: u32| data.weights().map_or(1.0, |w| w[i as usize]);
        let right = test.iter().zip(predicted).filter(|(i, k)| data.y()[**i as usize] == *k).map(|(i, _)| weight(*i));
        right.sum::<f64>() / test.iter().map(|i| weight(*i)).sum::<f64>()
    };
    let all = search.grid.settings();
    all.iter().map(|s| split.iter().map(|fold| accuracy(s, &fold.train, &fold.test)).collect()).collect()
}

#[test]
fn a_search_finds_what_separate_fits_find() {
    let many_rows = Problem::random(301, 90, 4, 3).weighted(5);
    // More features than rows: the search works in the row space of its folds.
    let wide = Problem::random(302, 40, 60, 3);
    let mut failures = Vec::new();
    for method in Method::ALL {
        for (name, data) in [("dense", many_rows.dense()), ("sparse", many_rows.csr()), ("wide", wide.dense())] {
            let search = Search { tol: 1e-9, ..small(method.spec().with_usual_lambda()) };
            let (found, expected) = (run(&search, &data), plain_loop(&search, &data));
            for (outcome, expected) in found.outcomes.iter().zip(&expected) {
                // The sum of weights may be added up in another order.
                if far(&outcome.scores, expected) > 1e-12 {
                    let accuracies = &outcome.scores;
                    failures.push(format!(
                        "{} {name} {:?}: {accuracies:?}, {expected:?}",
                        method.name(),
                        outcome.setting
                    ));
                }
            }
        }
    }
    none(&failures);
}

#[test]
fn rows_are_held_out_as_separate_fits_would() {
    let data = Problem::random(304, 60, 4, 3).weighted(5).dense();
    let weight = |i: u32| data.weights().map_or(1.0, |w| w[i as usize]);
    let mut failures = Vec::new();
    for method in Method::ALL {
        let spec = Spec { tol: 1e-3, ..method.spec().with_usual_lambda() };
        let split = folds(data.y(), None, 4, spec.seed, 0).unwrap();
        let held = HeldOut::new(&spec, &data, None, &split, &|_| ControlFlow::Continue(())).unwrap();
        assert_eq!(held.rows, (0..60).collect::<Vec<u32>>());
        let (mut right, mut total) = (0.0, 0.0);
        for fold in &split {
            let model = spec.fit(&data.take_rows(&fold.train).unwrap()).unwrap();
            let scores = model.scores(&data.x().take_rows(&fold.test)).unwrap();
            let predicted = model.predict(&data.x().take_rows(&fold.test)).unwrap();
            for ((&row, scores), class) in fold.test.iter().zip(scores.chunks_exact(3)).zip(predicted) {
                let own = &held.scores[3 * row as usize..3 * row as usize + 3];
                if own != scores {
                    failures.push(format!("{} row {row}: {own:?}, {scores:?}", method.name()));
                }
                right += if class == data.y()[row as usize] { weight(row) } else { 0.0 };
                total += weight(row);
            }
        }
        let quality = held.quality().unwrap();
        assert!(apart(quality.metrics.accuracy, right / total) < 1e-12);
        let (low, high) = quality.interval;
        assert!(low < quality.metrics.accuracy && quality.metrics.accuracy < high);
        // Whatever the loss, there are probabilities, and as a whole they promise about what is kept.
        assert!(held.probabilities.chunks_exact(3).all(|row| (row.iter().sum::<f64>() - 1.0).abs() < 1e-9));
        assert_eq!(held.temperature.is_none(), spec.fit(&data).unwrap().has_probabilities(), "{}", method.name());
        assert!(quality.log_loss.is_some_and(|loss| loss < 3f64.ln()), "{} {quality:?}", method.name());
    }
    none(&failures);
}

#[test]
fn rows_of_a_group_are_held_out_together_and_shares_are_about_what_was_asked_for() {
    let data = Problem::random(305, 200, 4, 3).dense();
    let spec = Spec::default().with_usual_lambda();
    for (share, least, most) in [(0.2, 38, 42), (0.25, 48, 52), (0.5, 98, 102), (0.7, 136, 144), (0.01, 8, 12)] {
        let split = Validation::Share(share).splits(&spec, &data, None).unwrap();
        assert_eq!(split.len(), 1);
        assert!((least..=most).contains(&split[0].test.len()), "{share}: {}", split[0].test.len());
        assert_eq!(split[0].test.len() + split[0].train.len(), 200);
    }
    let groups: Vec<u32> = (0..200).map(|i| i % 20).collect();
    for fold in Validation::Auto.splits(&spec, &data, Some(&groups)).unwrap() {
        assert!(fold.test.iter().all(|i| !fold.train.iter().any(|j| groups[*i as usize] == groups[*j as usize])));
    }
    assert!(Validation::None.splits(&spec, &data, None).unwrap().is_empty());
    assert!(Validation::Share(1.0).splits(&spec, &data, None).is_err());
    // Too few rows for five folds: fewer, unless five were asked for.
    let few = data.take_rows(&[0, 1, 2, 3, 4, 5]).unwrap();
    let most = (0..3).map(|k| few.y().iter().filter(|y| **y == k).count()).max().unwrap();
    assert_eq!(Validation::Auto.splits(&spec, &few, None).unwrap().len(), most.min(5));
    assert!(Validation::Folds(6).splits(&spec, &few, None).is_err());
}

#[test]
fn an_interrupted_validation_says_so() {
    let data = Problem::random(306, 60, 4, 3).dense();
    let split = folds(data.y(), None, 3, 0, 0).unwrap();
    let stop = HeldOut::new(&Spec::default().with_usual_lambda(), &data, None, &split, &|_| ControlFlow::Break(()));
    assert!(matches!(stop, Err(m3svm::Error::Interrupted)));
}

#[test]
fn a_search_goes_by_what_it_is_told() {
    // One class is rare: what is best for accuracy is not what is best for the mean over classes.
    let data = Problem::random(307, 120, 3, 3).dense();
    for criterion in Criterion::ALL {
        let search = Search { criterion, ..small(Method::M3svm.spec().with_usual_lambda()) };
        let found = run(&search, &data);
        let split = folds(data.y(), None, search.folds, search.spec.seed, 0).unwrap();
        for outcome in &found.outcomes {
            let spec = Spec { tol: 1e-9, ..outcome.setting.apply(&search.spec) };
            for (fold, score) in split.iter().zip(&outcome.scores) {
                let one = std::slice::from_ref(fold);
                let held = HeldOut::new(&Spec { tol: search.tol, ..spec.clone() }, &data, None, one, &|_| {
                    ControlFlow::Continue(())
                });
                let quality = held.unwrap().quality().unwrap();
                let expected = match criterion {
                    Criterion::Accuracy => quality.metrics.accuracy,
                    Criterion::Balanced => quality.metrics.balanced_accuracy(),
                    Criterion::MacroF1 => quality.metrics.macro_average.f1,
                    Criterion::LogLoss => -quality.log_loss.unwrap(),
                };
                // The search stops at an estimate of the distance: a row on the boundary may fall to the other side.
                assert!((score - expected).abs() < 0.06, "{criterion:?} {score} {expected}");
            }
        }
    }
}

#[test]
fn a_warm_start_leads_to_the_optimum_of_a_cold_one_in_fewer_steps() {
    let data = Problem::iris().dense();
    let (mut cold_steps, mut warm_steps) = (0, 0);
    for p in [1.0, 2.0, 4.0] {
        let mut last = None;
        for lambda in [1e-1, 3e-2, 1e-2, 3e-3, 1e-3] {
            let spec = Spec { penalty: pairwise(lambda, p), ..Spec::default().with_usual_lambda() };
            let cold = spec.fit(&data).unwrap();
            let warm = spec.fit_watched(&data, last.as_ref(), &mut |_| ControlFlow::Continue(())).unwrap();
            assert_eq!(warm.training().stop, Stop::Converged);
            assert!(apart(warm.certificate().objective, cold.certificate().objective) < 2.0 * spec.tol);
            assert_eq!(warm.predict(data.x()).unwrap(), cold.predict(data.x()).unwrap());
            cold_steps += cold.training().iterations;
            warm_steps += warm.training().iterations;
            last = Some(warm);
        }
    }
    assert!(10 * warm_steps < 7 * cold_steps, "{warm_steps} of {cold_steps} steps");
}

#[test]
fn warm_starts_change_the_time_and_not_the_result() {
    for problem in [Problem::iris(), Problem::random(303, 120, 5, 4)] {
        let warm = Search { tol: 1e-8, ..small(Spec::default().with_usual_lambda()) };
        let cold = Search { warm_starts: false, ..warm.clone() };
        let (warm, cold) = (run(&warm, &problem.dense()), run(&cold, &problem.dense()));
        assert_eq!(accuracies(&warm), accuracies(&cold));
        assert!(warm.iterations < cold.iterations);
    }
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    let data = Problem::random(304, 200, 6, 4).dense();
    let search = Search { repeats: 4, ..small(Method::Ism3.spec().with_usual_lambda()) };
    let search = Search { grid: Grid { lambdas: values("1e-3:1e6:4"), ..search.grid.clone() }, ..search };
    let with = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| run(&search, &data))
    };
    let one = with(1);
    assert!(one.outcomes.iter().any(|o| o.discarded_after.is_some()) && one.outcomes[0].log_loss.is_some());
    assert_eq!(one, with(2));
    assert_eq!(one, with(3));
}

#[test]
fn discarding_does_not_change_the_choice() {
    let small_sets = [Problem::iris(), Problem::random(305, 150, 5, 3), Problem::clouds(306, 90, 3, 4, 2.0)];
    let mut all: Vec<Dataset<'_>> = small_sets.iter().map(Problem::dense).collect();
    all.extend(["glass", "wine"].iter().filter_map(|name| table(name)));
    for data in &all {
        let spec = Spec { seed: 7, ..Spec::default().with_usual_lambda() };
        let grid = Grid { lambdas: values("1e-4:1e3:5"), ps: values("1,3"), ..Grid::default() };
        // Fits start from other neighbours where some are dropped: exact ones do not depend on that, so that only the discarding is tested.
        let full = Search { grid, repeats: 6, discard: false, tol: 1e-8, ..Search::new(spec) };
        let (full, raced) = (run(&full, data), run(&Search { discard: true, ..full.clone() }, data));
        for rule in [Rule::BestMean, Rule::OneStandardError] {
            assert_eq!(full.chosen(rule), raced.chosen(rule));
        }
        assert!(raced.fits <= full.fits);
    }
}

#[test]
fn settings_that_are_far_behind_are_discarded() {
    let data = Problem::iris().dense();
    let grid = Grid { lambdas: values("1e-2,1e7"), ps: values("2"), ..Grid::default() };
    let found = run(&Search { grid, repeats: 3, ..Search::new(Spec::default().with_usual_lambda()) }, &data);
    // λ = 1e7 leaves hardly more than the intercept.
    let [hopeless, good] = &found.outcomes[..] else { panic!("two settings") };
    let repeats = hopeless.discarded_after.unwrap();
    assert_eq!((repeats < 3, hopeless.scores.len()), (true, 5 * repeats));
    assert_eq!((good.discarded_after, good.scores.len(), found.fits), (None, 15, 15 + 5 * repeats));
}

#[test]
fn nested_folds_judge_the_search_by_rows_it_has_not_seen() {
    let data = Problem::iris().dense();
    let search = small(Spec::default().with_usual_lambda());
    let nested = search.nested(&data, None, &Journal::none(), &|_| ControlFlow::Continue(())).unwrap();
    assert_eq!((nested.outer.len(), nested.interrupted), (3, false));
    for (outer, fold) in nested.outer.iter().zip(folds(data.y(), None, 3, 0, 0).unwrap()) {
        let train = data.take_rows(&fold.train).unwrap();
        let spec = run(&search, &train).spec(&search);
        let predicted = spec.fit(&train).unwrap().predict(&data.x().take_rows(&fold.test)).unwrap();
        let right = fold.test.iter().zip(predicted).filter(|(i, k)| data.y()[**i as usize] == *k).count();
        assert_eq!(outer.score.accuracy, right as f64 / fold.test.len() as f64);
        assert_eq!(outer.setting.apply(&search.spec), spec);
    }
    assert!(nested.mean > 0.9);
}

#[test]
fn rows_of_weight_0_are_neither_trained_on_nor_tested() {
    let plain = Problem::iris();
    // 30 rows of nonsense that weigh nothing, and the same search without them on the same folds.
    let mut weights = vec![1.0; 150];
    let mut broken = plain.clone();
    for i in (0..150).step_by(5) {
        (0..4).for_each(|j| broken.x[i * 4 + j] = 1e3 * (i % 7) as f64);
        weights[i] = 0.0;
    }
    let search =
        Search { tol: 1e-8, ..small(Spec { scaling: Scaling::Standard, ..Spec::default().with_usual_lambda() }) };
    let one = run(&search, &broken.dense().with_weights(weights.clone()).unwrap());
    let other = run(&search, &plain.dense().with_weights(weights).unwrap());
    assert_eq!(accuracies(&one), accuracies(&other));
}

#[test]
fn what_cannot_be_searched_is_refused() {
    let data = Problem::iris().dense();
    let refused = |search: Search| {
        let watch = |_: &_| ControlFlow::Continue(());
        search.run(&data, None, &Journal::none(), &watch).unwrap_err().to_string()
    };
    let usual = Search::new(Spec::default().with_usual_lambda());
    assert_eq!(refused(Search { repeats: 0, ..usual.clone() }), "`repeats` must be at least 1, found 0");
    assert_eq!(refused(Search { folds: 1, ..usual.clone() }), "`folds` must be at least 2, found 1");
    let many = "`folds` must be at most the number of rows of the largest class (50), found 51";
    assert_eq!(refused(Search { folds: 51, ..usual.clone() }), many);
    let grid = Grid { ps: values("0,1"), ..usual.grid.clone() };
    assert!(refused(Search { grid, ..usual.clone() }).starts_with("`p` must "));
    let ridge = Search { spec: Method::Lr.spec().with_usual_lambda(), ..usual };
    assert_eq!(refused(ridge), "`p` must not be searched where the penalty has none, found a range");
}

/// Before the columns of training rows are taken: there may be none.
#[test]
fn a_kernel_that_is_not_square_is_refused_wherever_rows_are_held_out() {
    let (data, watch) = (Problem::iris().dense(), |_: &_| ControlFlow::Continue(()));
    let spec = Spec { kernel: Kernel::Precomputed, ..Spec::default().with_usual_lambda() };
    let search = Search { folds: 2, ..Search::new(spec.clone()) };
    let splits = Validation::Folds(2).splits(&spec, &data, None).unwrap();
    let errors = [
        search.run(&data, None, &Journal::none(), &watch).unwrap_err(),
        search.nested(&data, None, &Journal::none(), &watch).unwrap_err(),
        HeldOut::new(&spec, &data, None, &splits, &watch).unwrap_err(),
        spec.with_auto_lambda().fit(&data).unwrap_err(),
    ];
    for error in errors {
        let text = error.to_string();
        let expected = "columns of the precomputed kernel (one per training row): expected 150, found 4";
        assert!(text.ends_with(expected), "{text}");
    }
}

#[test]
fn without_a_penalty_the_one_setting_is_cross_validated() {
    let spec =
        Spec { penalty: AnyPenalty::None(m3svm::penalty::NoPenalty {}), ..Method::Lr.spec().with_usual_lambda() };
    let found = run(&Search { folds: 3, ..Search::new(spec) }, &Problem::random(307, 60, 2, 2).dense());
    assert_eq!((found.outcomes.len(), found.fits), (1, 3));
}
