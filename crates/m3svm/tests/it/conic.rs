//! The problems of the exact hinge and of the exact top-k hinge against an independent conic solver.

use m3svm::penalty::{NoPenalty, Norm, Pairwise, PairwiseRidge, Ridge};
use m3svm::{AnyLoss, AnyPenalty, Objective, Risk, Scheme, Spec, Stop};

use crate::common::{Problem, apart, hinge, none, spec, theta, top_k};
use crate::program::{add_pairwise, hinge_program, pairs, top_k_program};

/// Minimum by the conic solver.
pub(crate) fn reference(
    problem: &Problem,
    loss: &AnyLoss,
    penalty: &AnyPenalty,
    epsilon: f64,
    intercept: bool,
) -> (f64, Vec<f64>) {
    let mut program = match loss {
        AnyLoss::TopKHinge(loss) => top_k_program(problem, loss.k, epsilon, intercept),
        _ => hinge_program(problem, epsilon, intercept),
    };
    match penalty {
        AnyPenalty::Pairwise(penalty) => add_pairwise(&mut program, problem, penalty),
        AnyPenalty::Ridge(Ridge { lambda }) => {
            (0..problem.d * problem.c).for_each(|j| program.product(j, j, *lambda));
        }
        AnyPenalty::PairwiseRidge(PairwiseRidge { lambda }) => {
            add_pairwise(&mut program, problem, &Pairwise::new(Norm::L2, *lambda, 2.0));
            (0..problem.d * problem.c).for_each(|j| program.product(j, j, *lambda));
        }
        AnyPenalty::None(_) => {}
        AnyPenalty::Lasso(_) | AnyPenalty::ElasticNet(_) => unreachable!("absolute values need a smooth loss"),
    }
    let (value, mut x) = program.solve();
    x.truncate((problem.d + usize::from(intercept)) * problem.c);
    (value, x)
}

/// Checks the value and both sides of the certificate; what is left to say is whether the proof is complete.
fn agree(problem: &Problem, loss: AnyLoss, penalty: AnyPenalty, epsilon: f64, intercept: bool) -> Option<String> {
    let (expected, point) = reference(problem, &loss, &penalty, epsilon, intercept);
    let spec = Spec { epsilon, intercept, ..spec(loss, penalty) };
    let data = problem.dense();
    let model = spec.fit(&data).unwrap();
    let certificate = model.certificate();
    let bound = certificate.lower_bound.unwrap();
    let label =
        format!("{loss:?} {penalty:?} n {} intercept {intercept}: conic {expected}, found {certificate:?}", problem.n);
    assert!(apart(certificate.objective, expected) < 1e-6, "{label}");
    let slack = 1e-7 * expected.max(1.0);
    assert!(bound <= expected + slack, "{label}");
    assert!(expected <= certificate.objective + slack, "{label}");
    // The reported objective is that of the reported parameters, and the point of the other solver is no better.
    let risk = Risk::new(&data, spec.loss.as_dyn(), spec.penalty.as_dyn(), epsilon, intercept);
    let mut found = theta(&model);
    found.truncate(risk.dim());
    let mut grad = vec![0.0; risk.dim()];
    assert!(apart(risk.eval(&found, &mut grad), certificate.objective) < 1e-12, "{label}");
    let elsewhere = risk.eval(&point, &mut grad);
    assert!(bound <= elsewhere * (1.0 + 1e-12), "{label}: bound above {elsewhere}");
    let gap = certificate.relative_gap().unwrap();
    let proven = model.training().stop == Stop::Converged && gap <= spec.tol;
    (!proven).then(|| format!("{label}, gap {gap:e}, {:?}", model.training().stop))
}

fn problems() -> Vec<Problem> {
    let iris = Problem::iris();
    let part: Vec<usize> = (0..iris.n).step_by(4).collect();
    vec![
        Problem::random(1, 18, 3, 3),
        Problem::random(2, 30, 4, 4),
        Problem::clouds(3, 24, 2, 2, 0.3),
        iris.rows(&part),
    ]
}

fn each(penalties: &[AnyPenalty]) {
    let problems = problems();
    let all = problems.iter().flat_map(|x| penalties.iter().map(move |p| (x, *p)));
    proven(all.map(|(problem, penalty)| agree(problem, hinge(0.0), penalty, 1e-3, true)));
}

fn proven(failures: impl Iterator<Item = Option<String>>) {
    none(&failures.flatten().collect::<Vec<String>>());
}

fn l2(lambda: f64, p: f64) -> AnyPenalty {
    AnyPenalty::Pairwise(Pairwise::new(Norm::L2, lambda, p))
}

fn l1(lambda: f64, p: f64) -> AnyPenalty {
    AnyPenalty::Pairwise(Pairwise::new(Norm::L1, lambda, p))
}

#[test]
fn first_power_is_a_second_order_cone_program() {
    each(&[l2(0.05, 1.0), l2(1.0, 1.0)]);
}

#[test]
fn second_power_is_a_quadratic_program() {
    each(&[l2(0.01, 2.0), l2(1.0, 2.0)]);
}

#[test]
fn fourth_power_is_two_cones_and_a_square() {
    each(&[l2(1e-3, 4.0), l2(0.5, 4.0)]);
}

#[test]
fn other_powers_are_power_cones() {
    each(&[l2(0.1, 1.5), l2(0.1, 3.0)]);
}

#[test]
fn the_largest_distance_is_a_cone_for_every_pair_and_a_square() {
    each(&[l2(1e-3, f64::INFINITY), l2(0.1, f64::INFINITY), l2(10.0, f64::INFINITY)]);
}

#[test]
fn distances_in_the_l1_norm() {
    each(&[l1(0.05, 1.0), l1(1.0, 1.0), l1(0.01, 2.0), l1(0.5, 2.0)]);
}

#[test]
fn ridge_and_no_penalty() {
    each(&[
        AnyPenalty::Ridge(Ridge { lambda: 0.1 }),
        AnyPenalty::Ridge(Ridge { lambda: 10.0 }),
        AnyPenalty::None(NoPenalty {}),
    ]);
}

#[test]
fn bredensteiner_and_bennetts_penalty() {
    each(&[0.01, 1.0].map(|lambda| AnyPenalty::PairwiseRidge(PairwiseRidge { lambda })));
}

#[test]
fn weighted_samples() {
    let mut results = Vec::new();
    for (seed, problem) in problems().into_iter().enumerate() {
        let mut problem = problem.weighted(seed as u64);
        if let Some(w) = &mut problem.weights {
            w[1] = 0.0;
        }
        for penalty in [l2(0.05, 1.0), l2(0.1, 2.0), l2(0.01, 4.0), l1(0.1, 1.0)] {
            results.push(agree(&problem, hinge(0.0), penalty, 1e-3, true));
        }
    }
    proven(results.into_iter());
}

#[test]
fn without_an_intercept_and_with_the_default_epsilon() {
    let mut results = Vec::new();
    for problem in problems() {
        for penalty in [l2(0.05, 1.0), l2(0.1, 2.0), l2(0.01, 4.0)] {
            results.push(agree(&problem, hinge(0.0), penalty, 1e-6, false));
            results.push(agree(&problem, hinge(0.0), penalty, 1e-6, true));
        }
    }
    proven(results.into_iter());
}

#[test]
fn one_vs_rest_is_a_quadratic_program_for_every_class() {
    for problem in [Problem::random(2, 30, 4, 4), Problem::random(4, 24, 40, 3).weighted(3), problems().remove(3)] {
        for (lambda, epsilon, intercept) in [(0.01, 1e-3, true), (1.0, 1e-6, false)] {
            let penalty = AnyPenalty::Ridge(Ridge { lambda });
            let spec = Spec { scheme: Scheme::OneVsRest, epsilon, intercept, ..spec(hinge(0.0), penalty) };
            let model = spec.fit(&problem.dense()).unwrap();
            let expected: f64 = (0..problem.c as u32)
                .map(|k| {
                    let y = problem.y.iter().map(|y| u32::from(*y == k)).collect();
                    let two = Problem { y, c: 2, ..problem.clone() };
                    // In two columns ±w/2 a square of w is half as large.
                    let doubled = AnyPenalty::Ridge(Ridge { lambda: 2.0 * lambda });
                    reference(&two, &hinge(0.0), &doubled, 2.0 * epsilon, intercept).0
                })
                .sum();
            let certificate = model.certificate();
            assert!(apart(certificate.objective, expected) < 1e-6, "{certificate:?} {expected}");
            assert!(certificate.lower_bound.unwrap() <= expected * (1.0 + 1e-7), "{certificate:?} {expected}");
            assert_eq!(model.training().stop, Stop::Converged);
        }
    }
}

/// Overlapping classes and separable ones, with rows that are there twice, also on both sides, and one without weight.
#[test]
fn one_vs_one_is_a_quadratic_program_for_every_pair() {
    let mut twice = Problem::clouds(5, 24, 3, 3, 1.0);
    let (d, copies) = (twice.d, [0, 0, 1, 5]);
    copies.iter().for_each(|&i| twice.x.extend_from_within(i * d..(i + 1) * d));
    copies.iter().for_each(|&i| twice.y.push((twice.y[i] + u32::from(i == 0)) % 3));
    twice.n += copies.len();
    let mut weighted = Problem::random(6, 30, 4, 3).weighted(7);
    weighted.weights.as_mut().unwrap()[1] = 0.0;
    let wide = Problem::random(4, 24, 40, 3).weighted(3);
    let apart_clouds = Problem::clouds(8, 40, 5, 4, 4.0);
    for problem in [Problem::random(2, 30, 4, 4), wide, weighted, twice, apart_clouds] {
        for (lambda, epsilon, intercept) in
            [(0.5, 1e-6, true), (0.01, 1e-3, true), (1.0, 1e-6, false), (1e-3, 0.1, true)]
        {
            let penalty = AnyPenalty::Ridge(Ridge { lambda });
            let spec = Spec { scheme: Scheme::OneVsOne, epsilon, intercept, ..spec(hinge(0.0), penalty) };
            let mut expected = 0.0;
            for (k, l) in pairs(problem.c) {
                let of = |i: &usize| problem.y[*i] as usize;
                let rows: Vec<usize> = (0..problem.n).filter(|i| of(i) == k || of(i) == l).collect();
                let mut two = problem.rows(&rows);
                two.y.iter_mut().for_each(|y| *y = u32::from(*y as usize == k));
                two.c = 2;
                // In two columns ±w/2 a square of w is half as large.
                let doubled = AnyPenalty::Ridge(Ridge { lambda: 2.0 * lambda });
                expected += reference(&two, &hinge(0.0), &doubled, 2.0 * epsilon, intercept).0;
            }
            for data in [problem.dense(), problem.csr()] {
                let model = spec.fit(&data).unwrap();
                let certificate = model.certificate();
                let label = format!("n {} λ {lambda} intercept {intercept}: {certificate:?} {expected}", problem.n);
                assert!(apart(certificate.objective, expected) < 1e-6, "{label}");
                assert!(certificate.lower_bound.unwrap() <= expected * (1.0 + 1e-7), "{label}");
                assert_eq!(model.training().stop, Stop::Converged, "{label}");
            }
        }
    }
}

#[test]
fn the_top_k_hinge_is_a_quadratic_program() {
    let mut results = Vec::new();
    for problem in [Problem::random(2, 30, 4, 4), Problem::random(4, 30, 3, 5).weighted(3), problems().remove(3)] {
        for k in 1..problem.c.min(4) {
            for lambda in [1e-2, 1.0] {
                for penalty in [AnyPenalty::Ridge(Ridge { lambda }), l2(lambda, 1.0), l2(lambda, 2.0)] {
                    results.push(agree(&problem, top_k(k, 0.0), penalty, 1e-3, true));
                }
            }
            results.push(agree(&problem, top_k(k, 0.0), AnyPenalty::Ridge(Ridge { lambda: 0.1 }), 1e-6, false));
        }
    }
    proven(results.into_iter());
}
