#![expect(clippy::unwrap_used, reason = "tests")]

use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use super::inverse::InversePlan;
use super::*;

/// Numbers from −1 to 1 that repeat after long.
fn numbers(len: usize, seed: usize) -> Vec<f64> {
    (0..len).map(|i| ((i + seed) * 7919 % 1009) as f64 / 504.0 - 1.0).collect()
}

fn dense(n: usize, d: usize) -> Features<'static> {
    Features::dense(numbers(n * d, 1), n, d).unwrap()
}

/// The same numbers, stored as sparse ones.
fn sparse(n: usize, d: usize) -> Features<'static> {
    let indptr: Vec<usize> = (0..=n).map(|i| i * d).collect();
    let indices: Vec<u32> = (0..n * d).map(|e| (e % d) as u32).collect();
    Features::csr(indptr, indices, numbers(n * d, 1), d).unwrap()
}

fn shared<'a>(x: &'a Features<'a>, delta: f64, intercept: bool) -> SharedTerms<'a> {
    let weights = numbers(x.rows(), 5).into_iter().map(|w| 1.1 + w).collect();
    let terms =
        Terms { weights: Cow::Owned(weights), delta, lambda: 0.3, epsilon: 1e-2, intercept, inexact: 0.0, lost: 0.0 };
    SharedTerms { x, terms, tol: 1e-8, heed: Heed::default() }
}

/// Problem `number` at a point that is no optimum, with gradient and curvature.
fn path(shared: &SharedTerms<'_>, products: &BinaryProducts<'_>, number: usize, theta: Vec<f64>) -> BinaryPath {
    let signs = (0..shared.x.rows()).map(|i| if (i + number).is_multiple_of(3) { 1.0 } else { -1.0 }).collect();
    let mut path = BinaryPath::new(shared, signs, theta);
    path.take_scores(&products.scores(&[&path.theta]), 0, 1);
    path.look(shared, &shared.x.lengths());
    let grad = products.pull(&[&path.slopes]).remove(0);
    path.take_gradient(shared, grad, products.depth(1));
    path.fill_curvature(shared);
    path
}

/// `A·v` by definition.
fn product(shared: &SharedTerms<'_>, h: &[f64], v: &[f64]) -> Vec<f64> {
    let (d, mut out) = (shared.x.cols(), vec![0.0; v.len()]);
    for (i, h) in h.iter().enumerate() {
        let x = |j: usize| if j < d { shared.x.get(i, j) } else { 1.0 };
        let score: f64 = v.iter().enumerate().map(|(j, v)| x(j) * v).sum();
        out.iter_mut().enumerate().for_each(|(j, out)| *out += h * score * x(j));
    }
    shared.terms.add_curvature(v, &mut out);
    out
}

fn far(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).fold(0.0, |m, (a, b)| m.max((a - b).abs()))
}

#[test]
fn the_gradient_is_the_slope_of_the_value() {
    for (x, intercept) in [(dense(20, 4), true), (sparse(20, 4), false)] {
        for delta in [0.0, 2.0] {
            let shared = shared(&x, delta, intercept);
            let products = BinaryProducts::new(&shared);
            let theta = numbers(shared.width(), 3);
            let here = path(&shared, &products, 1, theta.clone());
            for j in 0..theta.len() {
                let at = |step: f64| {
                    let mut moved = theta.clone();
                    moved[j] += step;
                    path(&shared, &products, 1, moved).value
                };
                let slope = (at(1e-5) - at(-1e-5)) / 2e-5;
                assert!((slope - here.grad[j]).abs() < 1e-7, "{delta} {j}: {slope} {}", here.grad[j]);
            }
        }
    }
}

#[test]
fn products_for_many_vectors_are_those_one_by_one() {
    // The sparse one has so many columns that it is transposed.
    for (x, intercept) in [(dense(30, 5), true), (sparse(9, 40), true), (sparse(30, 5), false)] {
        let shared = shared(&x, 0.1, intercept);
        let products = BinaryProducts::new(&shared);
        let weights: Vec<Vec<f64>> = (0..3).map(|k| numbers(x.rows(), k).iter().map(|v| 1.0 + v).collect()).collect();
        let vectors: Vec<Vec<f64>> = (0..3).map(|k| numbers(shared.width(), 10 + k)).collect();
        let borrowed = |all: &'_ [Vec<f64>]| -> Vec<Vec<f64>> { all.to_vec() };
        let (w, v) = (borrowed(&weights), borrowed(&vectors));
        let w: Vec<&[f64]> = w.iter().map(|w| &w[..]).collect();
        let v: Vec<&[f64]> = v.iter().map(|v| &v[..]).collect();
        for (k, mut found) in products.curvature_products(&w, &v).into_iter().enumerate() {
            shared.terms.add_curvature(v[k], &mut found);
            assert!(far(&found, &product(&shared, w[k], v[k])) < 1e-11, "{k}");
        }
    }
}

#[test]
fn every_way_inverts_the_matrix() {
    for (x, intercept) in [(dense(40, 6), true), (dense(12, 30), true), (sparse(12, 30), false), (dense(40, 6), false)]
    {
        let shared = shared(&x, 0.5, intercept);
        let products = BinaryProducts::new(&shared);
        let path = path(&shared, &products, 2, numbers(shared.width(), 3));
        let v = numbers(shared.width(), 8);
        let r = product(&shared, &path.h, &v);
        for problems in [1, 100] {
            let mut common = Common::new(&shared, problems);
            for by_rows in [true, false] {
                let plan = InversePlan::all(&path.h, by_rows);
                common.prepare(std::slice::from_ref(&plan));
                let mut back = vec![0.0; v.len()];
                common.invert(&path, &plan).apply(&r, &mut back);
                assert!(far(&back, &v) < 1e-9, "{problems} {by_rows}: {}", far(&back, &v));
            }
        }
    }
}

#[test]
fn directions_solve_their_systems_whatever_the_plan() {
    for (x, intercept) in [(dense(60, 45), true), (sparse(30, 70), true), (dense(300, 40), false)] {
        let shared = shared(&x, 0.0, intercept);
        let products = BinaryProducts::new(&shared);
        let mut paths: Vec<BinaryPath> =
            (0..4).map(|k| path(&shared, &products, k, numbers(shared.width(), 20 * k))).collect();
        let mut all: Vec<&mut BinaryPath> = paths.iter_mut().collect();
        let mut common = Common::new(&shared, 4);
        cg::directions(&shared, &products, &mut common, false, &mut all);
        for path in &paths {
            // The goal is a tenth in a norm that the matrix bends; in this one it may be a little more.
            let mut left = product(&shared, &path.h, &path.step);
            left.iter_mut().zip(&path.grad).for_each(|(left, g)| *left += g);
            let size = |v: &[f64]| dot(v, v).sqrt();
            assert!(size(&left) < 0.3 * size(&path.grad), "{} of {}", size(&left), size(&path.grad));
            assert!(dot(&path.grad, &path.step) < 0.0);
        }
    }
}

#[test]
fn bounds_are_below_every_value() {
    let x = dense(25, 4);
    for delta in [0.0, 0.3] {
        let shared = shared(&x, delta, true);
        let products = BinaryProducts::new(&shared);
        let signs: Vec<f64> = (0..25).map(|i| if i % 2 == 0 { 1.0 } else { -1.0 }).collect();
        let limits = Limits { tol: 1e-8, max_iter: 500, seed: 0, proof: true };
        let start = vec![0.0; shared.width()];
        let go_on = &mut |_: &[Progress]| ControlFlow::Continue(());
        let best = minimize(&shared, vec![signs.clone()], &start, &limits, go_on).unwrap().remove(0);
        assert_eq!(best.stop, Stop::Converged);
        let (objective, bound) = (best.certificate.objective, best.certificate.lower_bound.unwrap());
        assert!(bound <= objective, "{delta}: {bound} {objective}");
        for seed in 0..50 {
            let mut alphas: Vec<f64> = numbers(25, seed).iter().map(|a| 0.5 * (1.0 + a)).collect();
            if seed % 2 == 0 {
                shared.terms.balance(&signs, 0.7, &mut alphas);
                let sum = |k: usize| shared.terms.weights[k] * signs[k] * alphas[k];
                assert!(((0..25).map(sum).sum::<f64>() - 0.014).abs() < 1e-12);
            }
            let sums = shared.terms.dual_sums(&shared.x.lengths(), &alphas);
            let slopes: Vec<f64> = (0..25).map(|i| -signs[i] * shared.terms.weights[i] * alphas[i]).collect();
            let bound = shared.terms.bound(&sums, &products.pull(&[&slopes])[0], products.depth(1));
            assert!(bound <= best.certificate.objective, "{delta} {seed}: {bound}");
        }
    }
}

/// One random pair of classes: overlapping or not, weights and copies of rows included.
fn random_pair(
    n: usize,
    d: usize,
    gap: f64,
    copies: usize,
    values: &[f64],
    weights: &[f64],
) -> (Features<'static>, Vec<u32>, Vec<f64>) {
    let mut rows: Vec<f64> =
        (0..n * d).map(|at| values[at] + if (at / d).is_multiple_of(2) { gap } else { -gap }).collect();
    (0..copies.min(n - 1)).for_each(|i| rows.copy_within(i * d..(i + 1) * d, (i + 1) * d));
    let y = (0..n as u32).map(|i| i % 2).collect();
    // Every seventh row has no weight.
    let weights = (0..n).map(|i| if i % 7 == 3 { 0.0 } else { weights[i] }).collect();
    (Features::dense(rows, n, d).unwrap(), y, weights)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, rng_seed: RngSeed::Fixed(7), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn moves_and_newton_steps_have_the_same_optimum(
        n in 2..40usize,
        d in 1..12usize,
        gap in prop::sample::select(vec![0.0, 0.3, 2.0]),
        copies in 0..4usize,
        (lambda, epsilon) in (prop::sample::select(vec![1e-3, 0.5, 20.0]), prop::sample::select(vec![1e-6, 1e-2])),
        intercept: bool,
        values in prop::collection::vec(-1.0..1.0f64, 40 * 12),
        weights in prop::collection::vec(0.1..3.0f64, 40),
    ) {
        let (x, y, all) = random_pair(n, d, gap, copies, &values, &weights);
        let tol = 1e-8;
        let classes = Classes::new(&x, &y, 2);
        let order: Vec<u32> = classes.rows(0, 1).map(|i| i as u32).collect();
        let weights: Vec<f64> = order.iter().map(|&i| all[i as usize]).collect();
        let terms = Terms { weights: weights.into(), delta: 0.0, lambda, epsilon, intercept, inexact: 0.0, lost: 0.0 };
        let moved = classes.solve(0, 1, &terms, tol);
        let unkept = Classes::keeping(0, &x, &y, 2).solve(0, 1, &terms, tol);
        prop_assert_eq!(moved.as_ref().map(|s| &s.theta), unkept.as_ref().map(|s| &s.theta));
        let x = x.take_rows(&order);
        let shared = SharedTerms { x: &x, terms, tol, heed: Heed::default() };
        let limits = Limits { tol, max_iter: 500, seed: 0, proof: true };
        let signs = order.iter().map(|&i| if y[i as usize] == 0 { 1.0 } else { -1.0 }).collect();
        let start = vec![0.0; shared.width()];
        let go_on = &mut |_: &[Progress]| ControlFlow::Continue(());
        let stepped = minimize(&shared, vec![signs], &start, &limits, go_on).unwrap().remove(0).certificate;
        // Narrow data with many rows are left to Newton steps.
        if let Some(moved) = moved {
            // Values are rounded, bounds are not above the optimum.
            let below = |bound: Option<f64>, value: f64| bound.unwrap() <= (1.0 + 1e-14) * value;
            prop_assert!(below(moved.certificate.lower_bound, stepped.objective), "{:?} {stepped:?}", moved.certificate);
            prop_assert!(below(stepped.lower_bound, moved.certificate.objective), "{:?} {stepped:?}", moved.certificate);
            let apart = (moved.certificate.objective - stepped.objective).abs();
            if moved.stop == Stop::Converged {
                prop_assert!(apart <= 2.0 * tol * stepped.objective, "{:?} {stepped:?}", moved.certificate);
            } else {
                // Only penalties that hardly bend take too many moves.
                prop_assert!(lambda < 0.1, "{:?}", moved.certificate);
            }
        } else {
            prop_assert!(n > 2 * d, "{n} {d}");
        }
    }

    #[test]
    fn descent_and_newton_steps_have_the_same_optimum(
        n in 1..40usize,
        d in 1..12usize,
        gap in prop::sample::select(vec![0.0, 0.3, 2.0]),
        copies in 0..4usize,
        filled in 0.1..1.0f64,
        (lambda, epsilon) in (prop::sample::select(vec![1e-3, 0.5, 20.0]), prop::sample::select(vec![0.0, 1e-6, 1e-2])),
        with_intercept in any::<bool>(),
        values in prop::collection::vec(-1.0..1.0f64, 40 * 12),
        present in prop::collection::vec(0.0..1.0f64, 40 * 12),
        weights in prop::collection::vec(0.1..3.0f64, 40),
    ) {
        let (dense, y, weights) = random_pair(n, d, gap, copies, &values, &weights);
        // Some rows end up empty.
        let is_kept = |i: usize, j: usize| present[i * d + j] < filled;
        let entries = |i: usize| (0..d).filter(move |&j| is_kept(i, j)).map(move |j| j as u32);
        let indptr: Vec<usize> = (0..=n).map(|end| (0..end).map(|i| entries(i).count()).sum()).collect();
        let indices: Vec<u32> = (0..n).flat_map(entries).collect();
        let stored: Vec<f64> = (0..n).flat_map(|i| entries(i).map(move |j| (i, j))).map(|(i, j)| dense.get(i, j as usize)).collect();
        let x = Features::csr(indptr, indices, stored, d).unwrap();
        let intercept = with_intercept && epsilon > 0.0;
        let terms = Terms { weights: weights.into(), delta: 0.0, lambda, epsilon, intercept, inexact: 0.0, lost: 0.0 };
        let signs: Vec<f64> = y.iter().map(|y| if *y == 0 { 1.0 } else { -1.0 }).collect();
        let tol = 1e-8;
        let found = dual_descent::solve(&x, &x.lengths(), &signs, &terms, tol, dual_descent::Effort::attempt(signs.len()), Heed::default());
        let shared = SharedTerms { x: &x, terms, tol, heed: Heed::default() };
        let limits = Limits { tol, max_iter: 500, seed: 0, proof: true };
        let start = vec![0.0; shared.width()];
        let go_on = &mut |_: &[Progress]| ControlFlow::Continue(());
        let stepped = minimize(&shared, vec![signs], &start, &limits, go_on).unwrap().remove(0).certificate;
        let (one, other) = (found.certificate.objective, stepped.objective);
        if found.stop == Stop::Converged {
            prop_assert!((one - other).abs() <= 2.0 * tol * other.abs(), "{one} {other}");
        } else {
            // Penalties that hardly bend take too many passes, and where all rows are at their bounds none can take up what an intercept asks.
            prop_assert!(lambda < 0.1 || intercept, "{:?} {stepped:?}", found.certificate);
        }
        prop_assert!(stepped.lower_bound.unwrap() <= (1.0 + 1e-14) * one, "{one} {stepped:?}");
        prop_assert!(found.certificate.lower_bound.unwrap() <= (1.0 + 1e-14) * other, "{:?} {other}", found.certificate);
    }
}
