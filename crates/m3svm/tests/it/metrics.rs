//! Measures agree with scikit-learn's. fixtures/make_metrics.py made the numbers.

use m3svm::metrics::{Criterion, Judged, Metrics, Quality, RankingAreas, accuracy_interval, top_k_accuracy};
use serde_json::Value;

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
}

#[test]
fn measures_are_those_of_scikit_learn() {
    let all: Vec<Value> = serde_json::from_str(include_str!("../fixtures/metrics.json")).unwrap();
    for case in all {
        let classes = case["classes"].as_u64().unwrap() as usize;
        let (probabilities, weights) = (numbers(&case["probabilities"]), numbers(&case["weights"]));
        let truth: Vec<u32> = numbers(&case["truth"]).into_iter().map(|y| y as u32).collect();
        for (name, weights) in [("plain", None), ("weighted", Some(&weights[..]))] {
            let scores = &probabilities[..];
            let judged = Judged { scores, probabilities: Some(scores), truth: &truth, weights, groups: None, classes };
            let found = Quality::new(&judged).unwrap();
            let mut k2 = 1.0;
            if classes > 2 {
                k2 = top_k_accuracy(scores, &truth, weights, classes, 2).unwrap();
            }
            let by = |by: Criterion| by.of(scores, Some(scores), &truth, weights, classes).unwrap();
            let measured = [
                ("balanced", found.metrics.balanced_accuracy()),
                ("balanced", by(Criterion::Balanced)),
                ("macro_f1", found.metrics.macro_average.f1),
                ("macro_f1", by(Criterion::MacroF1)),
                ("log_loss", found.log_loss.unwrap()),
                ("log_loss", -by(Criterion::LogLoss)),
                ("one_vs_rest", found.areas.one_vs_rest.unwrap()),
                ("pairwise", found.areas.pairwise.unwrap()),
                ("top_2", k2),
                ("calibration_error", found.calibration_error.unwrap()),
            ];
            for (measure, value) in measured {
                let expected = case[name][measure].as_f64().unwrap();
                assert!((value - expected).abs() < 1e-12, "{classes} {name} {measure}: {value}, {expected}");
            }
        }
    }
}

#[test]
fn areas_need_rows_of_both_kinds() {
    let one = RankingAreas::new(&[0.1, 0.9], &[1], None, 2).unwrap();
    assert_eq!((one.one_vs_rest, one.pairwise), (None, None));
    // A class that does not occur takes part in nothing.
    let two = RankingAreas::new(&[0.9, 0.1, 0.0, 0.2, 0.8, 0.0], &[0, 1], None, 3).unwrap();
    assert_eq!((two.per_class, two.pairwise), (vec![Some(1.0), Some(1.0), None], Some(1.0)));
}

#[test]
fn rows_that_go_together_say_less() {
    let right: Vec<bool> = (0..100).map(|i| i % 10 != 0).collect();
    let width = |(low, high): (f64, f64)| high - low;
    let plain = width(accuracy_interval(&right, None, None));
    // A factor on all weights says nothing, and pairs of equal rows say as much as one of them.
    let scaled = width(accuracy_interval(&right, Some(&[0.25; 100]), None));
    assert!((plain - scaled).abs() < 1e-12);
    let twice: Vec<bool> = right.iter().flat_map(|r| [*r, *r]).collect();
    let pairs: Vec<u32> = (0..200).map(|i| i / 2).collect();
    let paired = width(accuracy_interval(&twice, None, Some(&pairs)));
    assert!((plain - paired).abs() < 1e-12, "{plain} {paired}");
    let uneven: Vec<f64> = (0..100).map(|i| if i < 20 { 1.0 } else { 0.01 }).collect();
    assert!(width(accuracy_interval(&right, Some(&uneven), None)) > 1.5 * plain);
    // All right is no proof that all will be.
    let (low, high) = accuracy_interval(&[true; 10], None, None);
    assert!(low < 0.75 && high > 1.0 - 1e-9);
    assert_eq!(accuracy_interval(&[], None, None), (0.0, 1.0));
}

/// With a row that counts −1 of 1 there would be an accuracy of 200 %.
#[test]
fn weights_that_are_none_are_refused() {
    for (weights, expected) in [
        ([-1.0, 2.0], "weight of row 1 must be a finite number of at least 0, found -1"),
        ([1.0, f64::NAN], "weight of row 2 must be a finite number of at least 0, found NaN"),
        ([0.0, 0.0], "the weights of the rows are all zero, expected at least one above"),
        ([1e300, 1e300], "the weights of the rows sum to 2e300, expected at most 1e300"),
    ] {
        let text = |r: m3svm::Result<f64>| r.unwrap_err().to_string();
        let (scores, truth) = ([0.0, 1.0, 0.0, 1.0], [0, 1]);
        let judged = Judged {
            scores: &scores,
            probabilities: None,
            truth: &truth,
            weights: Some(&weights),
            groups: None,
            classes: 2,
        };
        assert_eq!(text(Metrics::new(&[0, 1], &[0, 1], Some(&weights), 2).map(|m| m.accuracy)), expected);
        assert_eq!(text(Quality::new(&judged).map(|q| q.metrics.accuracy)), expected);
        assert_eq!(text(top_k_accuracy(&scores, &truth, Some(&weights), 2, 1)), expected);
    }
}
