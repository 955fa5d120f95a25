//! Searches on splits that the caller has made.

use std::ops::ControlFlow;

use m3svm::Method;
use m3svm::select::{Fold, Journal, Search, folds};

use crate::common::Problem;

#[test]
fn own_folds_handed_in_give_the_same_result() {
    let data = Problem::iris().dense();
    let search = Search { folds: 4, ..Search::new(Method::Lr.spec().with_usual_lambda()) };
    let go_on = |_: &_| ControlFlow::Continue(());
    let own = search.run(&data, None, &Journal::none(), &go_on).unwrap();
    let splits = folds(data.y(), None, 4, search.spec.seed, 0).unwrap();
    // What it would do by itself does not matter.
    let other = Search { folds: 2, repeats: 7, ..search.clone() };
    assert_eq!(other.run_on(&data, &splits, &go_on).unwrap(), own);
    assert_eq!(own.outcomes[0].scores.len(), 4);
}

#[test]
fn splits_that_do_not_fit_the_rows_are_refused() {
    let data = Problem::iris().dense();
    let search = Search::new(Method::Lr.spec().with_usual_lambda());
    let refused = |splits: &[(&[u32], &[u32])]| {
        let split = |(train, test): &(&[u32], &[u32])| Fold { train: train.to_vec(), test: test.to_vec() };
        let splits: Vec<Fold> = splits.iter().map(split).collect();
        search.run_on(&data, &splits, &|_| ControlFlow::Continue(())).unwrap_err().to_string()
    };
    assert_eq!(refused(&[]), "`splits` must be at least 1, found 0");
    assert_eq!(refused(&[(&[0, 149], &[150])]), "`split` must name rows of the data, found row 150 of 150");
    let empty = "`split` must have rows to train on and rows to test on, found an empty part";
    assert_eq!(refused(&[(&[0, 149], &[])]), empty);
    assert_eq!(refused(&[(&[0, 1], &[2])]), "at least two classes are needed, found 1 (`0`)");
}
