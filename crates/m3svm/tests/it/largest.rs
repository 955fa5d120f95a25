//! p = ∞: the limit of large powers, and what its certificate says. The conic solver has its say in `conic.rs`.

use m3svm::penalty::{Norm, Pairwise};
use m3svm::{AnyPenalty, Model, Scaling, Spec, Stop};

use crate::common::{Problem, apart, hinge, none};

fn fit(problem: &Problem, penalty: Pairwise) -> Model {
    let spec = Spec {
        loss: hinge(0.01),
        penalty: AnyPenalty::Pairwise(penalty),
        scaling: Scaling::None,
        ..Spec::default().with_usual_lambda()
    };
    spec.fit(&problem.dense()).unwrap()
}

/// 2/margin of every pair.
fn distances(model: &Model) -> Vec<f64> {
    let c = model.classes().len();
    (0..c).flat_map(|k| (k + 1..c).map(move |l| 2.0 / model.margin(k, l))).collect()
}

/// The optimum W of Σℓ + λ′Σ‖·‖^q is that of Σℓ + λ(Σ‖·‖^q)^(2/q) for λ = λ′·(q/2)·(Σ‖·‖^q)^(1−2/q), and this penalty is within a factor
/// of m^(2/q) of the largest square of m distances.
#[test]
fn large_powers_tend_to_the_largest_distance() {
    for problem in [Problem::iris().standardised(), Problem::clouds(7, 60, 3, 4, 0.8)] {
        let mut before = f64::INFINITY;
        for (q, size) in [(8.0, 1e-4), (64.0, 1e-24)] {
            let near = fit(&problem, Pairwise::new(Norm::L2, size, q));
            let lengths = distances(&near);
            let sum: f64 = lengths.iter().map(|r| r.powf(q)).sum();
            let lambda = size * (q / 2.0) * sum.powf(1.0 - 2.0 / q);
            let limit = fit(&problem, Pairwise::new(Norm::L2, lambda, f64::INFINITY));
            // What the point of the power costs in the limit: no less than its optimum, and not much more.
            let loss = near.certificate().objective - size * sum;
            let there = loss + lambda * lengths.iter().copied().fold(0.0, f64::max).powi(2);
            let optimum = limit.certificate().objective;
            let more = there / optimum - 1.0;
            assert!(more > -1e-7 && more < (lengths.len() as f64).powf(2.0 / q) - 1.0, "q {q}: {there} {optimum}");
            assert!(more < 0.5 * before, "q {q}: {more} {before}");
            before = more;
            if q == 64.0 {
                assert!(apart(near.min_margin().0, limit.min_margin().0) < 0.05);
            }
        }
    }
}

#[test]
fn it_is_proven_for_every_strength() {
    let mut failures = Vec::new();
    for (number, problem) in
        [Problem::iris(), Problem::clouds(7, 60, 3, 5, 0.8), Problem::random(9, 60, 5, 3)].iter().enumerate()
    {
        for lambda in [1e-6, 1e-3, 1.0, 1e3] {
            for delta in [0.0, 0.01] {
                let penalty = AnyPenalty::Pairwise(Pairwise::new(Norm::L2, lambda, f64::INFINITY));
                let model = Spec { loss: hinge(delta), penalty, ..Spec::default().with_usual_lambda() }
                    .fit(&problem.dense())
                    .unwrap();
                let (gap, stop) = (model.certificate().relative_gap(), model.training().stop);
                if stop != Stop::Converged {
                    failures.push(format!("problem {number} λ {lambda} δ {delta}: {gap:?} {stop:?}"));
                }
            }
        }
    }
    none(&failures);
}

/// A strong penalty makes several pairs the longest: one alone would give way until another is as long.
#[test]
fn several_pairs_share_the_smallest_margin() {
    let problem = Problem::clouds(7, 80, 3, 5, 0.8);
    let model = fit(&problem, Pairwise::new(Norm::L2, 100.0, f64::INFINITY));
    let pairs = model.pairs_of_smallest_margin();
    assert!(pairs.len() >= 2, "{pairs:?}");
    let (least, ..) = model.min_margin();
    pairs.iter().for_each(|(k, l)| assert!(model.margin(*k, *l) <= 1.001 * least));
    let read = Model::from_bytes(&model.to_bytes().unwrap()).unwrap();
    assert_eq!(model, read);
    assert_eq!(read.spec().penalty.p(), Some(f64::INFINITY));
}

#[test]
fn it_is_refused_in_the_other_norm() {
    let penalty = AnyPenalty::Pairwise(Pairwise::new(Norm::L1, 0.1, f64::INFINITY));
    let error = Spec { penalty, ..Spec::default().with_usual_lambda() }.check().unwrap_err().to_string();
    assert_eq!(error, "`p` must be at most 1000 in the norm l1, found inf");
    let penalty = AnyPenalty::Pairwise(Pairwise::new(Norm::L2, 0.1, f64::NEG_INFINITY));
    assert!(Spec { penalty, ..Spec::default().with_usual_lambda() }.check().is_err());
}
