//! Bounds stay below the optimum to the last digit, where heavy rows and tiny penalties make rounding large next to the objective.
//!
//! The reference is the objective written down once more in double-double arithmetic, at the best of several fits: whatever it is, the
//! optimum is not above it.

use m3svm::loss::{PairwiseLogistic, Softmax};
use m3svm::penalty::{ElasticNet, Lasso, NoPenalty, PairwiseRidge, Ridge};
use m3svm::{AnyLoss, AnyPenalty, Scheme, Spec};

use crate::common::{Problem, Random, hinge, none, pairwise, spec, theta, top_k};
use crate::exact::objective;

/// A few rows of which some weigh up to 1e4.
fn heavy(seed: u64, random: &mut Random) -> Problem {
    let (c, d) = (2 + random.below(3), 1 + random.below(5));
    let n = c + random.below(8);
    let distance = [0.3, 1.0, 3.0][random.below(3)];
    let mut problem = Problem::clouds(seed, n, d, c, distance);
    problem.weights = Some((0..n).map(|_| [1.0, 3.7, 1e4 * random.uniform(), 1e4][random.below(4)]).collect());
    problem
}

fn settings(problem: &Problem, random: &mut Random) -> Spec {
    let delta = [0.0, 1e-3, 1e-2, 0.1][random.below(4)];
    let lambda = 10f64.powf(-7.0 + 6.0 * random.uniform());
    let loss = match random.below(5) {
        0 => hinge(delta),
        1 => AnyLoss::Softmax(Softmax {}),
        2 => AnyLoss::PairwiseLogistic(PairwiseLogistic {}),
        3 if problem.c > 2 => top_k(2, delta),
        _ => top_k(1, delta),
    };
    let smooth = matches!(loss, AnyLoss::Softmax(_) | AnyLoss::PairwiseLogistic(_)) || delta > 0.0;
    let penalty = match random.below(9) {
        0 => pairwise(lambda, 1.0),
        1 => pairwise(lambda, 2.0),
        2 => pairwise(lambda, 4.0),
        3 => AnyPenalty::PairwiseRidge(PairwiseRidge { lambda }),
        4 if smooth => AnyPenalty::Lasso(Lasso { lambda }),
        5 if smooth => AnyPenalty::ElasticNet(ElasticNet { lambda, l1_ratio: random.uniform() }),
        6 => AnyPenalty::None(NoPenalty {}),
        _ => AnyPenalty::Ridge(Ridge { lambda }),
    };
    let (epsilon, intercept) = ([1e-6, 1e-3][random.below(2)], random.below(4) > 0);
    Spec { epsilon, intercept, ..spec(loss, penalty) }
}

fn below_the_optimum(seeds: std::ops::Range<u64>, settings: impl Fn(&Problem, &mut Random) -> Spec) {
    let mut failures = Vec::new();
    for seed in seeds {
        let mut random = Random::new(seed);
        let problem = heavy(seed, &mut random);
        let (data, spec) = (problem.dense(), settings(&problem, &mut random));
        let fits = [1e-6, 1e-10, 1e-13].map(|tol| Spec { tol, ..spec.clone() }.fit(&data).unwrap());
        let values = fits.each_ref().map(|model| objective(&problem, &spec, &theta(model)));
        let reference = values.iter().fold(values[0], |low, v| if *v < low { *v } else { low });
        for (model, value) in fits.iter().zip(values) {
            let (found, bound) = (model.certificate().objective, model.certificate().lower_bound.unwrap());
            let excess = f64::from((bound - reference) / reference);
            if bound > found || excess > 0.0 {
                failures.push(format!("{seed}: {found} {bound} is above by {excess:e} {spec:?}"));
            }
            // The objective is that of the weights, whatever happened on the way to them; a score near 1 is rounded, and rows are heavy.
            let mass: f64 = problem.weights.iter().flatten().sum();
            let error = f64::from(found - value).abs();
            if error > 1e-12 * found + 4e-15 * mass {
                failures.push(format!("{seed}: objective {found} off by {error:e} {spec:?}"));
            }
        }
    }
    none(&failures);
}

#[test]
fn no_bound_is_above_the_optimum_however_heavy_the_rows() {
    below_the_optimum(0..400, settings);
}

#[test]
fn no_bound_of_a_decomposition_is_above_the_optimum() {
    below_the_optimum(1000..1100, |_, random| {
        let delta = [0.0, 1e-3, 1e-2, 0.1][random.below(4)];
        let lambda = 10f64.powf(-7.0 + 6.0 * random.uniform());
        let joint = spec(hinge(delta), AnyPenalty::Ridge(Ridge { lambda }));
        Spec { scheme: Scheme::OneVsRest, epsilon: [1e-6, 1e-3][random.below(2)], ..joint }
    });
}
