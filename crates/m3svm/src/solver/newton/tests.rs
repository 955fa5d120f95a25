//! Tests of the path.

use std::ops::ControlFlow;

use super::*;
use crate::loss::{Loss, SmoothHinge, Softmax};
use crate::penalty::{Norm, Pairwise};
use crate::solver::Stop;
use crate::{Dataset, Features, Objective};

/// Numbers from −½ to ½.
fn generator(mut state: u64) -> impl FnMut() -> f64 {
    move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as f64 / f64::from(1u32 << 31) - 0.5
    }
}

const LOSSES: [&dyn Loss; 3] = [&SmoothHinge { delta: 0.01 }, &SmoothHinge { delta: 0.0 }, &Softmax {}];

/// Rows of overlapping classes, each of them shifted along a feature of its own.
fn clouds((n, d, c): (usize, usize, usize), seed: u64, spread: f64, shift: f64) -> Dataset<'static> {
    let mut random = generator(seed);
    let value = |at: usize| spread * random() + if at % d == (at / d) % c { shift } else { 0.0 };
    let x: Vec<f64> = (0..n * d).map(value).collect();
    let labels: Vec<String> = (0..n).map(|i| (i % c).to_string()).collect();
    Dataset::from_labels(Features::dense(x, n, d).unwrap(), &labels).unwrap()
}

/// Along a path of λ, from neighbour to neighbour, as searches go.
#[test]
fn what_is_near_without_a_proof_is_within_the_tolerance() {
    let data = clouds((150, 5, 4), 7, 3.0, 1.0);
    for (number, p, tol) in cases() {
        let mut start = Vec::new();
        for lambda in [1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0] {
            let penalty = Pairwise::new(Norm::default(), lambda, p);
            let risk = Risk::new(&data, LOSSES[number], &penalty, 1e-6, true);
            start.resize(risk.dim(), 0.0);
            let run = |tol, proof| {
                let limits = Limits { tol, max_iter: 500, seed: 0, proof };
                Newton {}.minimize(&risk, start.clone(), &limits, &mut |_| ControlFlow::Continue(())).unwrap()
            };
            let (near, best) = (run(tol, false), run(1e-9, true));
            let gap = near.certificate.objective / best.certificate.objective - 1.0;
            let place = format!("loss {number}, p = {p}, lambda = {lambda}");
            assert!(near.stop == Stop::Converged && gap <= tol, "{place}: {gap:e} > {tol:e}");
            start = near.theta;
        }
    }
}

/// Wherever a path ends, by the scores or by the dual state: no optimum lies below its bound, and none farther away than it says.
#[test]
fn bounds_hold_at_every_tolerance() {
    let data = clouds((90, 4, 3), 11, 2.0, 0.7);
    for (number, p, tol) in cases() {
        for lambda in [1e-3, 1.0] {
            let penalty = Pairwise::new(Norm::default(), lambda, p);
            let risk = Risk::new(&data, LOSSES[number], &penalty, 1e-6, true);
            let run = |tol| {
                let (start, limits) = (vec![0.0; risk.dim()], Limits { tol, max_iter: 500, seed: 0, proof: true });
                Newton {}.minimize(&risk, start, &limits, &mut |_| ControlFlow::Continue(())).unwrap()
            };
            let (found, best) = (run(tol), run(1e-10));
            let place = format!("loss {number}, p = {p}, lambda = {lambda}, tol {tol:e}");
            let (bound, optimum) = (found.certificate.lower_bound.unwrap(), best.certificate.objective);
            assert!(found.stop == Stop::Converged && best.stop == Stop::Converged, "{place}");
            assert!(bound <= optimum, "{place}: {bound} above {optimum}");
            assert!(found.certificate.objective <= bound * (1.0 + 1.01 * tol), "{place}");
        }
    }
}

/// A start whose bound says nothing, as that of a model of other rows, may be far away. All draws together: single ones differ by a step
/// either way.
#[test]
fn a_start_from_other_rows_takes_no_longer_than_none() {
    let mut steps = (0, 0);
    for seed in 0..12 {
        let data = clouds((400, 40, 4), seed, 1.0, 0.4);
        let half: Vec<u32> = (0..200).collect();
        let half = data.take_rows(&half).unwrap();
        let (loss, penalty) = (SmoothHinge { delta: 0.01 }, Pairwise::new(Norm::default(), 1e-3, 4.0));
        let run = |data: &Dataset<'_>, start: Option<Vec<f64>>| {
            let risk = Risk::new(data, &loss, &penalty, 1e-6, true);
            let start = start.unwrap_or_else(|| vec![0.0; risk.dim()]);
            let limits = Limits { tol: 1e-6, max_iter: 500, seed: 0, proof: true };
            Newton {}.minimize(&risk, start, &limits, &mut |_| ControlFlow::Continue(())).unwrap()
        };
        let (cold, warm) = (run(&data, None), run(&data, Some(run(&half, None).theta)));
        assert_eq!((cold.stop, warm.stop), (Stop::Converged, Stop::Converged));
        steps = (steps.0 + warm.iterations, steps.1 + cold.iterations);
    }
    assert!(steps.0 < steps.1, "{} and {} steps", steps.0, steps.1);
}

/// Few factors behind many features and next to no penalty: single precision loses the preconditioner in cancellation.
#[test]
fn a_step_that_fails_for_want_of_digits_is_tried_again_with_all() {
    let (n, d, c, factors) = (3000, 500, 6, 100);
    let mut random = generator(1);
    let mix: Vec<f64> = (0..factors * d).map(|_| random()).collect();
    let mut x = Vec::with_capacity(n * d);
    for i in 0..n {
        let mut factor = |k: usize| 3.0 * random() + if k % c == i % c { 0.6 } else { 0.0 };
        let factors: Vec<f64> = (0..factors).map(&mut factor).collect();
        let feature = |j: usize| factors.iter().enumerate().map(|(k, f)| f * mix[k * d + j]).sum::<f64>();
        x.extend((0..d).map(|j| feature(j) + 0.01 * random()));
    }
    let labels: Vec<String> = (0..n).map(|i| (i % c).to_string()).collect();
    let data = Dataset::from_labels(Features::dense(x, n, d).unwrap(), &labels).unwrap();
    let (loss, penalty) = (SmoothHinge { delta: 0.01 }, Pairwise::new(Norm::default(), 1e-4, 2.0));
    let risk = Risk::new(&data, &loss, &penalty, 1e-6, true);
    let run = |proof| {
        let (start, limits) = (vec![0.0; risk.dim()], Limits { tol: 1e-3, max_iter: 500, seed: 0, proof });
        Newton {}.minimize(&risk, start, &limits, &mut |_| ControlFlow::Continue(())).unwrap()
    };
    let (proven, near) = (run(true), run(false));
    assert_eq!((proven.stop, near.stop), (Stop::Converged, Stop::Converged));
    let (objective, bound) = (near.certificate.objective, proven.certificate.lower_bound.unwrap());
    assert!(objective <= bound * (1.0 + 2e-3), "{objective} {bound}");
}

/// Loss, p and tolerance.
fn cases() -> impl Iterator<Item = (usize, f64, f64)> {
    let of_loss =
        |loss| [1.0, 2.0, 4.0, 8.0].into_iter().flat_map(move |p| [1e-2, 1e-3, 1e-5, 1e-7].map(|tol| (loss, p, tol)));
    (0..3).flat_map(of_loss)
}
