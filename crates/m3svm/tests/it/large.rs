//! Larger real data, at the default settings.

use m3svm::{Dataset, Spec};

use crate::convergence::{solved, sparse, table};

fn defaults(name: &str, data: Option<Dataset<'static>>) {
    let Some(data) = data else { return };
    let spec = Spec { tol: 1e-6, ..Spec::default().with_usual_lambda() };
    assert_eq!(solved(name, &data, &spec), None);
}

#[test]
fn large_isolet_is_solved() {
    defaults("isolet", table("isolet"));
}

#[test]
fn large_orl_is_solved() {
    defaults("orl", table("orl"));
}

#[test]
fn large_cornell_is_solved() {
    defaults("cornell", sparse("cornell"));
}

#[test]
fn large_usps_is_solved() {
    defaults("usps", table("usps"));
}

#[test]
fn large_hhar_is_solved() {
    defaults("hhar-recomputed", table("hhar-recomputed"));
}
