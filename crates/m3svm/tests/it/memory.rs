//! What would take more memory than any machine has is refused before anything is allocated, and what is only shown in part is not
//! kept in full.

use m3svm::metrics::Metrics;
use m3svm::select::{Comparison, Journal, Search};
use m3svm::{Dataset, Error, Features, Method, Model, Scaling, Spec};

/// A model of one feature whose class vectors are these.
fn model(weights: &[f64]) -> Model {
    let rows: Vec<f64> = (0..weights.len()).map(|k| k as f64).collect();
    let names: Vec<String> = (0..weights.len()).map(|k| format!("c{k}")).collect();
    let data = Dataset::from_labels(Features::dense(rows, weights.len(), 1).unwrap(), &names).unwrap();
    let spec = Spec { scaling: Scaling::None, intercept: false, ..Method::Lr.spec().with_usual_lambda() };
    spec.model_at(&data, weights, &[]).unwrap()
}

#[test]
fn the_smallest_margins_are_those_of_all_margins_however_many_there_are() {
    // 2415 pairs, more than are kept at once, with ties among them.
    let weights: Vec<f64> = (0..70).map(|k| f64::from(k * k % 61)).collect();
    let model = model(&weights);
    let c = model.classes().len();
    let margins = model.margins();
    let mut all: Vec<(f64, usize, usize)> = Vec::new();
    for k in 0..c {
        all.extend((k + 1..c).map(|l| (margins[k * c + l], k, l)));
    }
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    for count in [0, 1, 20, 600, 2415, usize::MAX] {
        assert_eq!(model.smallest_margins(count), all[..count.min(all.len())], "{count}");
    }
}

#[test]
fn what_no_memory_holds_is_refused_with_what_it_is_for() {
    let x = Features::dense(vec![1.0, 2.0, 3.0, 4.0], 4, 1).unwrap();
    let data = Dataset::from_labels(x, &["a", "a", "b", "b"]).unwrap();
    let refused = |result: m3svm::Result<()>, what: &str| match result {
        Err(Error::Memory { what: found, needed, budget }) => {
            assert!(found.contains(what) && needed.is_some_and(|n| n > budget), "{found}");
        }
        other => panic!("{what}: {other:?}"),
    };
    let go_on = |_: &_| std::ops::ControlFlow::Continue(());
    let specs = [Method::Lr.spec().with_usual_lambda()];
    let many = Comparison { folds: 2, repeats: 99_999_999_999, ..Comparison::new(specs.clone()) };
    refused(many.run(&data, None, &Journal::none(), &go_on).map(drop), "2 folds in each of 99999999999 repeats");
    let most = Comparison { folds: usize::MAX, repeats: usize::MAX, ..Comparison::new(specs) };
    refused(most.run(&data, None, &Journal::none(), &go_on).map(drop), "comparison");
    let search = Search { repeats: usize::MAX, ..Search::new(Method::Lr.spec().with_usual_lambda()) };
    refused(search.run(&data, None, &Journal::none(), &go_on).map(drop), "fits");
    refused(Metrics::new(&[0], &[0], None, 1 << 25).map(drop), "33554432 by 33554432 classes");
    // One-vs-one has a scorer for every pair of classes.
    let names: Vec<String> = (0..20_000).map(|k| k.to_string()).collect();
    let x = Features::csr(vec![0; 20_001], Vec::<u32>::new(), Vec::<f64>::new(), 1 << 20).unwrap();
    let data = Dataset::from_labels(x, &names).unwrap();
    refused(Method::Ovo.spec().with_usual_lambda().fit(&data).map(drop), "1048576 features for 199990000 scorers");
}
