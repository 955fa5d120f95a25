//! Different ways to the same minimum.

use m3svm::loss::Softmax;
use m3svm::penalty::{NoPenalty, Norm};
use m3svm::solver::{Adam, Lbfgs};
use m3svm::{AnyLoss, AnyPenalty, AnySolver, Objective, Risk, Scaling, Spec, Stop};

use crate::common::{
    Problem, Random, apart, convex, distance, far, hinge, minimize, newton, none, pairwise, reach, spec, suited, table,
    theta,
};

fn small() -> Problem {
    Problem::random(51, 45, 3, 3).weighted(4)
}

/// Kinks stop first-order solvers short of the minimum.
fn smooth(penalty: &AnyPenalty) -> bool {
    match penalty {
        AnyPenalty::Pairwise(p) => p.p > 1.0 && p.norm == Norm::L2,
        _ => true,
    }
}

#[test]
fn newton_lbfgs_and_adam_reach_the_same_minimum() {
    let data = small().dense();
    let mut open = Vec::new();
    for (loss, penalty) in table().into_iter().filter(|(_, p)| convex(p) && suited(p) == newton()) {
        let risk = Risk::new(&data, loss.as_dyn(), penalty.as_dyn(), 1e-3, true);
        let start = vec![0.0; risk.dim()];
        let best = minimize(&newton(), &risk, start.clone(), 1e-8, 500);
        let label = format!("{loss:?} {penalty:?}");
        if best.stop != Stop::Converged {
            open.push(format!("{label}: {:?} {:?}", best.stop, best.certificate.relative_gap()));
        }
        let (low, high) = (best.certificate.lower_bound.unwrap(), best.certificate.objective);
        let long = AnySolver::Lbfgs(Lbfgs::default());
        let slow = AnySolver::Adam(Adam { learning_rate: 0.01, batch: None });
        for (solver, steps, near, kinked) in [(long, 20_000, 1e-7, 1e-3), (slow, 3000, 1e-4, 1e-2)] {
            let near = if smooth(&penalty) { near } else { kinked };
            let found = minimize(&solver, &risk, start.clone(), 1e-8, steps);
            let value = found.certificate.objective;
            assert!(value >= low * (1.0 - 1e-12), "{label} {solver:?}: {value} below {low}");
            assert!(apart(value, high) < near, "{label} {solver:?}: {value} {high}");
            assert!(found.certificate.lower_bound.unwrap() <= high * (1.0 + 1e-12), "{label} {solver:?}");
            // Values bound distances (F is ε-strongly convex): the same parameters, not just the same value.
            let moved = distance(&found.theta, &best.theta);
            let here = ((value - low).max(0.0) / 1e-3).sqrt();
            let most = here + reach(&best.certificate, 1e-3);
            assert!(moved <= most, "{label} {solver:?}: {moved:e} {most:e}");
        }
    }
    none(&open);
}

#[test]
fn below_p_one_newton_only_descends() {
    let data = small().dense();
    for (loss, penalty) in table().into_iter().filter(|(_, p)| !convex(p)) {
        let risk = Risk::new(&data, loss.as_dyn(), penalty.as_dyn(), 1e-3, true);
        let found = minimize(&newton(), &risk, vec![0.0; risk.dim()], 1e-8, 500);
        let mut grad = vec![0.0; risk.dim()];
        let zero = risk.eval(&vec![0.0; risk.dim()], &mut grad);
        assert!(found.certificate.objective < zero, "{loss:?} {penalty:?}");
        assert_eq!(found.certificate.lower_bound, None);
        assert_eq!(found.certificate.relative_gap(), None);
    }
}

#[test]
fn a_warm_start_from_the_optimum_is_at_the_optimum() {
    let data = small().dense();
    let mut slow = Vec::new();
    let narrow = AnyPenalty::examples().into_iter().map(|penalty| (hinge(0.01), penalty));
    for (loss, penalty) in table().into_iter().chain(narrow).filter(|(_, p)| convex(p)) {
        let spec = Spec { epsilon: 1e-3, ..spec(loss, penalty) };
        let cold = spec.fit(&data).unwrap();
        let mut seen = 0;
        let warm = spec
            .fit_watched(&data, Some(&cold), &mut |_| {
                seen += 1;
                std::ops::ControlFlow::Continue(())
            })
            .unwrap();
        let (a, b) = (cold.certificate(), warm.certificate());
        let label = format!("{loss:?} {penalty:?}: {a:?} {b:?}");
        if warm.training().stop != Stop::Converged {
            slow.push(format!("{label}: {:?}", warm.training()));
        }
        assert!(apart(a.objective, b.objective) < 1e-8, "{label}");
        let apart = distance(&theta(&cold), &theta(&warm));
        assert!(apart <= reach(a, 1e-3) + reach(b, 1e-3), "{label}: {apart:e}");
        assert!(seen >= warm.training().iterations, "{label}");
        // A point that proves itself needs no path; where the proof is lost in a kink the path is walked again, but not for longer.
        let (first, second) = (cold.training().iterations, warm.training().iterations);
        let most = if smooth(&penalty) { 2 } else { first + 3 };
        if second > most {
            slow.push(format!("{label}: {first} then {second} iterations"));
        }
    }
    none(&slow);
}

#[test]
fn a_warm_start_carries_its_scores_into_another_scaling() {
    let data = Problem::iris().dense();
    let loss = AnyLoss::Softmax(Softmax {});
    let model = spec(loss, pairwise(0.1, 2.0)).fit(&data).unwrap();
    let (z, mut dz) = (model.scores(data.x()).unwrap(), [0.0; 3]);
    let rows = z.chunks_exact(3).zip(data.y());
    let expected: f64 = rows.map(|(z, y)| loss.as_dyn().value_grad(z, *y as usize, &mut dz)).sum();
    for scaling in Scaling::ALL {
        // Without a penalty the objective at the start is the loss of the model that it comes from.
        let bare = Spec { scaling, epsilon: 1e-12, ..spec(loss, AnyPenalty::None(NoPenalty {})) };
        let mut first = None;
        bare.fit_watched(&data, Some(&model), &mut |progress| {
            first.get_or_insert(progress.objective);
            std::ops::ControlFlow::Break(())
        })
        .unwrap();
        assert!(apart(first.unwrap(), expected) < 1e-9, "{scaling:?}: {first:?} {expected}");
    }
}

#[test]
fn more_features_than_rows_are_reduced_exactly() {
    let mut open = Vec::new();
    for (loss, penalty) in table().into_iter().filter(|(_, p)| convex(p)) {
        let problem = Problem::random(61, 20, 50, 3).weighted(5);
        let spec = Spec { epsilon: 1e-3, ..spec(loss, penalty) };
        let reduced = spec.fit(&problem.dense()).unwrap();
        // Neither sparse storage nor a risk of one's own is reduced.
        let sparse = spec.fit(&problem.csr()).unwrap();
        let data = problem.dense();
        let risk = Risk::new(&data, loss.as_dyn(), penalty.as_dyn(), 1e-3, true);
        let whole = minimize(&suited(&penalty), &risk, vec![0.0; risk.dim()], 1e-8, 500);
        let label = format!("{loss:?} {penalty:?}");
        for (other, point) in [(sparse.certificate(), theta(&sparse)), (&whole.certificate, whole.theta.clone())] {
            let error = apart(reduced.certificate().objective, other.objective);
            assert!(error < 1e-7, "{label}: {error:e}");
            let most = reach(reduced.certificate(), 1e-3) + reach(other, 1e-3);
            let moved = distance(&theta(&reduced), &point);
            assert!(moved <= most, "{label}: {moved:e} {most:e}");
        }
        let mut grad = vec![0.0; risk.dim()];
        let value = risk.eval(&theta(&reduced), &mut grad);
        assert!(apart(value, reduced.certificate().objective) < 1e-10, "{label}");
        if reduced.training().stop != Stop::Converged {
            open.push(format!("{label}: {:?} {:?}", reduced.certificate().relative_gap(), reduced.training().stop));
        }
    }
    none(&open);
}

#[test]
fn features_that_are_all_zero_change_nothing() {
    let narrow = Problem::random(62, 30, 6, 3);
    let mut wide = narrow.clone();
    wide.d = 48;
    wide.x = narrow.x.chunks_exact(6).flat_map(|row| [row, &[0.0; 42]].concat()).collect();
    for penalty in [pairwise(0.01, 4.0), pairwise(0.1, 1.0)] {
        let spec = Spec { epsilon: 1e-3, ..spec(hinge(0.01), penalty) };
        let (a, b) = (spec.fit(&narrow.dense()).unwrap(), spec.fit(&wide.dense()).unwrap());
        assert!(apart(a.certificate().objective, b.certificate().objective) < 1e-8);
        assert!(far(a.weights(), &b.weights()[..18]) < 1e-3);
        assert!(b.weights()[18..].iter().all(|w| w.abs() < 1e-10));
    }
}

#[test]
fn lower_bounds_hold_at_any_point() {
    let mut random = Random::new(7);
    for seed in 0..6u64 {
        let c = 2 + seed as usize % 3;
        let problem = Problem::random(70 + seed, 8 * c, 1 + seed as usize % 4, c).weighted(seed);
        let data = problem.dense();
        for (loss, penalty) in table().into_iter().filter(|(_, p)| convex(p)) {
            let epsilon = [1e-6, 1e-2][seed as usize % 2];
            let intercept = seed % 3 > 0;
            let risk = Risk::new(&data, loss.as_dyn(), penalty.as_dyn(), epsilon, intercept);
            let best = minimize(&suited(&penalty), &risk, vec![0.0; risk.dim()], 1e-8, 500);
            let minimum = best.certificate.objective;
            let label = format!("{loss:?} {penalty:?} ε {epsilon} {:?}", best.certificate);
            for scale in [0.0, 1e-3, 0.1, 1.0, 30.0] {
                let near: Vec<f64> = best.theta.iter().map(|t| t + scale * random.normal()).collect();
                let far_off: Vec<f64> = random.normals(risk.dim()).iter().map(|v| scale * v).collect();
                for mut point in [near, far_off] {
                    let mut grad = vec![0.0; risk.dim()];
                    let before = risk.eval(&point, &mut grad);
                    let found = risk.certify(&mut point);
                    let bound = found.lower_bound.unwrap();
                    assert!(bound <= minimum * (1.0 + 1e-12) + 1e-12, "{label} scale {scale}: {found:?}");
                    assert!(bound >= 0.0 && found.objective <= before * (1.0 + 1e-12), "{label}: {found:?}");
                    let after = risk.eval(&point, &mut grad);
                    assert!(apart(after, found.objective) < 1e-12, "{label}: {after} {found:?}");
                    let gap = found.relative_gap().unwrap();
                    assert!((0.0..=1.0).contains(&gap), "{label}: {found:?}");
                }
            }
        }
    }
}
