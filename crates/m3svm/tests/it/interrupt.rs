//! Whoever asks a fit to stop is heard soon, whatever it is busy with.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use m3svm::{Dataset, Features, Method, Stop};

use crate::common::{Random, none};

/// Rows of classes that have one row or a few each, as of numbers that were taken for labels.
fn many_classes(n: usize, c: usize, d: usize) -> Dataset<'static> {
    let mut random = Random::new(3);
    let y: Vec<u32> = (0..n).map(|i| (i % c) as u32).collect();
    let x = Features::dense(random.normals(n * d), n, d).unwrap();
    Dataset::new(x, y, (0..c).map(|k| k.to_string()).collect()).unwrap()
}

/// Rows of a few words each.
fn texts(n: usize, d: usize, words: usize, c: usize) -> Dataset<'static> {
    let mut random = Random::new(4);
    let mut indices = Vec::with_capacity(n * words);
    for i in 0..n {
        let mut row: Vec<u32> =
            (0..words).map(|_| (random.uniform().powi(2) * d as f64) as u32).chain([(i % c) as u32]).collect();
        row.sort_unstable();
        row.dedup();
        row.resize(words, d as u32 - 1);
        row.sort_unstable();
        indices.extend(row);
    }
    let indptr: Vec<usize> = (0..=n).map(|i| i * words).collect();
    let x = Features::csr(indptr, indices, vec![1.0; n * words], d).unwrap();
    let y: Vec<u32> = (0..n).map(|i| (i % c) as u32).collect();
    Dataset::new(x, y, (0..c).map(|k| k.to_string()).collect()).unwrap()
}

/// How long a fit that is interrupted after `wait` was silent at most, and went on.
fn reaction(method: Method, data: &Dataset<'_>, wait: Duration) -> (Duration, Duration, Stop) {
    let begun = Instant::now();
    let (mut last, mut silent, mut stopped) = (begun, Duration::ZERO, None);
    let model = method.spec().with_usual_lambda().fit_watched(data, None, &mut |_| {
        silent = silent.max(last.elapsed());
        last = Instant::now();
        if begun.elapsed() < wait {
            return ControlFlow::Continue(());
        }
        stopped = Some(Instant::now());
        ControlFlow::Break(())
    });
    let went_on = stopped.map_or(Duration::ZERO, |stopped| stopped.elapsed());
    let model = model.unwrap();
    assert!(model.certificate().objective.is_finite() && model.certificate().relative_gap().is_some());
    (silent, went_on, model.training().stop)
}

/// What takes seconds in one piece where nobody asks: matrices over classes, passes over all pairs of them, factors of the features.
#[test]
fn a_fit_is_never_deaf_for_long() {
    // Of a machine that has other things to do as well.
    const LIMIT: Duration = Duration::from_secs(8);
    let mut failures = Vec::new();
    let (classes, wide) = (many_classes(1600, 1500, 2), many_classes(900, 3, 3000));
    let methods = [Method::M3svm, Method::Ww, Method::Cs, Method::Topk, Method::Lr, Method::Smlr, Method::Ovr];
    for method in methods {
        for (data, what) in [(&classes, "1,500 classes"), (&wide, "3,000 features")] {
            let (silent, went_on, stop) = reaction(method, data, Duration::from_millis(400));
            if silent.max(went_on) > LIMIT {
                failures.push(format!(
                    "{} {what}: silent for {silent:?}, went on for {went_on:?}, {stop:?}",
                    method.name()
                ));
            }
        }
    }
    none(&failures);
}

/// The same with data of any size, to be measured: `M3SVM_REACTION=5000x4999x2` (rows, classes, features), or `text`.
#[test]
fn reactions_are_printed_for_data_of_any_size() {
    let Ok(asked) = std::env::var("M3SVM_REACTION") else { return };
    let numbers: Vec<usize> = asked.split('x').filter_map(|n| n.parse().ok()).collect();
    let data = match numbers[..] {
        [n, c, d] => many_classes(n, c, d),
        _ => texts(200_000, 100_000, 80, 20),
    };
    let only = std::env::var("M3SVM_METHOD").unwrap_or_default();
    for method in Method::ALL.into_iter().filter(|method| only.is_empty() || only == method.name()) {
        for wait in [0.3, 1.5, 6.0] {
            let (silent, went_on, stop) = reaction(method, &data, Duration::from_secs_f64(wait));
            let name = method.name();
            eprintln!("{asked} {name:<12} after {wait:>4} s: silent {silent:>8.1?}, went on {went_on:>8.1?} {stop:?}");
        }
    }
}
