//! Comparisons of methods: fair, reproducible, and not lost when interrupted.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};

use m3svm::select::{Comparison, Journal};
use m3svm::{Dataset, Method, Spec};

use crate::common::{Problem, Random};

fn comparison(methods: &[Method]) -> Comparison {
    Comparison { folds: 3, repeats: 2, ..Comparison::new(methods.iter().map(|m| m.spec().with_usual_lambda())) }
}

fn run(comparison: &Comparison, data: &Dataset<'_>) -> Vec<(Vec<f64>, Option<f64>)> {
    let found = comparison.run(data, None, &Journal::none(), &|_| ControlFlow::Continue(())).unwrap();
    found.into_iter().map(|it| (it.scores, it.p_value)).collect()
}

#[test]
fn every_method_is_compared_on_the_same_folds_whatever_the_threads() {
    let data = Problem::iris().dense();
    let all = comparison(&[Method::Lr, Method::Ovr, Method::M3svm]);
    let found = run(&all, &data);
    assert!(found.iter().all(|(accuracies, _)| accuracies.len() == 6 && accuracies.iter().all(|a| *a > 0.85)));
    assert_eq!(found.iter().filter(|(_, p)| p.is_none()).count(), 1, "the best has no p-value, all others have one");
    // A method alone has the folds that it has among others.
    assert_eq!(run(&comparison(&[Method::Ovr]), &data)[0].0, found[1].0);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    assert_eq!(pool.install(|| run(&all, &data)), found);
}

#[test]
fn labels_without_any_meaning_are_not_predicted() {
    // Tuned on test rows, the best of many settings would look better than chance.
    let mut problem = Problem::random(3, 90, 5, 3);
    let mut random = Random::new(8);
    problem.y.iter_mut().for_each(|y| *y = random.below(3) as u32);
    let found = run(&Comparison { repeats: 4, ..comparison(&[Method::Lr]) }, &problem.dense());
    let mean = found[0].0.iter().sum::<f64>() / found[0].0.len() as f64;
    assert!((0.2..0.47).contains(&mean), "{mean}");
}

#[test]
fn an_interrupted_comparison_goes_on_where_it_stood() {
    let data = Problem::iris().dense();
    let all = comparison(&[Method::Lr, Method::Ww]);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    let open = || Journal::open_comparison(&path, &all, &data, None).unwrap();
    let calls = AtomicUsize::new(0);
    let stop_early = |_: &_| match calls.fetch_add(1, Ordering::Relaxed) {
        0..300 => ControlFlow::Continue(()),
        _ => ControlFlow::Break(()),
    };
    let part = all.run(&data, None, &open(), &stop_early).unwrap();
    assert!(part.len() < 2);
    let known = open();
    assert!(known.fits() > 0);
    let resumed = all.run(&data, None, &known, &|_| ControlFlow::Continue(())).unwrap();
    let resumed: Vec<_> = resumed.into_iter().map(|it| (it.scores, it.p_value)).collect();
    assert_eq!(resumed, run(&all, &data));
    drop(known);
    // Once all is done, no fit on any fold is left, only the final ones.
    let before = std::fs::read(&path).unwrap();
    assert_eq!(all.run(&data, None, &open(), &|_| ControlFlow::Continue(())).unwrap().len(), 2);
    assert_eq!(std::fs::read(&path).unwrap(), before);
    // They hear of an interruption too.
    assert!(all.run(&data, None, &open(), &|_| ControlFlow::Break(())).unwrap().is_empty());
    let other = Comparison { seed: 1, ..all.clone() };
    let refused = Journal::open_comparison(&path, &other, &data, None).unwrap_err().to_string();
    assert!(refused.contains("other data or other settings"), "{refused}");
}

#[test]
fn wrong_numbers_are_refused() {
    let data = Problem::iris().dense();
    let run = |it: Comparison| it.run(&data, None, &Journal::none(), &|_| ControlFlow::Continue(())).unwrap_err();
    let base = comparison(&[Method::Lr]);
    assert!(run(Comparison { repeats: 0, ..base.clone() }).to_string().contains("repeats"));
    assert!(run(Comparison { folds: 1, ..base.clone() }).to_string().contains("folds"));
    assert!(run(Comparison { folds: 51, ..base }).to_string().contains("folds"));
    let wrong = Comparison::new([Spec { epsilon: -1.0, ..Spec::default().with_usual_lambda() }]);
    assert!(run(wrong).to_string().contains("epsilon"));
}
