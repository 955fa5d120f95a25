//! The statements of the paper, each as a test.

use m3svm::penalty::{Norm, Pairwise, Ridge};
use m3svm::solver::{Adam, Lbfgs};
use m3svm::{AnyLoss, AnyPenalty, AnySolver, Loss, Objective, Penalty, Risk, Spec};

use crate::common::{
    Problem, Random, apart, convex, far, hinge, minimize, newton, pairwise, sees_shifts, spec, table, theta,
};
use crate::program::{Program, difference, lead, pairs, parameters};

fn row_sums(theta: &[f64], c: usize) -> f64 {
    let sums = theta.chunks_exact(c).map(|row| row.iter().sum::<f64>().abs());
    sums.fold(0.0, f64::max)
}

/// max over the pairs of ‖wₖ − wₗ‖, and (Σ ‖wₖ − wₗ‖ᵖ)^(1/p).
fn distances(w: &[f64], c: usize, p: f64) -> (f64, f64) {
    let length = |(k, l): (usize, usize)| -> f64 {
        let square: f64 = w.chunks_exact(c).map(|row| (row[k] - row[l]).powi(2)).sum();
        square.sqrt()
    };
    let all: Vec<f64> = pairs(c).into_iter().map(length).collect();
    let top = all.iter().copied().fold(0.0, f64::max);
    let sum: f64 = all.iter().map(|u| (u / top).powf(p)).sum();
    (top, top * sum.powf(1.0 / p))
}

/// Theorem 1 (with Lemma 1): on separable data the minimiser of Σ ‖wₖ − wₗ‖ᵖ tends to the largest minimum margin as
/// p → ∞. With t* the optimum of the max-min problem and C pairs, t* ≤ max ‖wₖ − wₗ‖ ≤ C^(1/p)·t* for every p.
#[test]
fn theorem_1_large_p_finds_the_largest_minimum_margin() {
    for (seed, c) in [(5, 3), (6, 4)] {
        let mut problem = separable(seed, 10 * c, 4, c);
        // The scale of the features sets that of W: bring t* to 1 so that t*ᵖ stays a plain number.
        let (first, _) = largest_minimum_margin(&problem);
        problem.x.iter_mut().for_each(|v| *v *= first);
        let (best, certain) = largest_minimum_margin(&problem);
        assert!(apart(best, 1.0) < 1e-6 && apart(certain, best) < 1e-6);
        let count = pairs(c).len() as f64;
        let mut before = (f64::INFINITY, f64::INFINITY);
        for p in [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0] {
            let spec = Spec { epsilon: 1e-9, ..spec(hinge(0.0), pairwise(1e-3 / p, p)) };
            let model = spec.fit(&problem.dense()).unwrap();
            // λ is small enough for the exact penalty of the hinge: no row is inside any margin.
            let z = model.scores(problem.dense().x()).unwrap();
            let inside = total(hinge(0.0).as_dyn(), &problem, &z);
            assert!(inside < 1e-6, "c = {c}, p = {p}: {inside:e}");
            let (top, norm) = distances(model.weights(), c, p);
            let label = format!("c = {c}, p = {p}: {top} against {best}, ‖·‖ₚ = {norm}");
            assert!(top >= best * (1.0 - 1e-5), "{label}");
            assert!(top <= best * count.powf(1.0 / p) * (1.0 + 1e-5), "{label}");
            assert!((model.min_margin().0 * top - 2.0).abs() < 1e-12, "{label}");
            // Minima of decreasing norms decrease; on these data the smallest margin also grows all the way.
            assert!(norm <= before.1 * (1.0 + 1e-5), "{label}, before {before:?}");
            assert!(top <= before.0 * (1.0 + 1e-3), "{label}, before {before:?}");
            before = (top, norm);
        }
        assert!(before.0 <= best * 1.02, "c = {c}: {} against {best}", before.0);
    }
}

/// Clouds that are small next to their distances.
fn separable(seed: u64, n: usize, d: usize, c: usize) -> Problem {
    let mut problem = Problem::random(seed, n, d, c);
    let mut random = Random::new(seed);
    let centres = random.normals(c * d);
    for (row, y) in problem.x.chunks_exact_mut(d).zip(&problem.y) {
        let centre = &centres[*y as usize * d..];
        row.iter_mut().zip(centre).for_each(|(x, m)| *x = 3.0 * m + 0.4 * random.normal());
    }
    problem
}

/// min t with ‖wₖ − wₗ‖ ≤ t and every row on its side of every margin; also max ‖wₖ − wₗ‖ at the solution.
fn largest_minimum_margin(problem: &Problem) -> (f64, f64) {
    let c = problem.c;
    let mut program = Program::default();
    parameters(&mut program, problem, true);
    let t = program.variables(1, 1.0);
    for j in 0..=problem.d {
        program.zero(((0..c).map(|k| (j * c + k, 1.0)).collect(), 0.0));
    }
    for (k, l) in pairs(c) {
        let mut rows = vec![(vec![(t, 1.0)], 0.0)];
        rows.extend(difference(problem, k, l));
        program.cone(rows);
    }
    for i in 0..problem.n {
        for k in (0..c).filter(|k| *k != problem.y[i] as usize) {
            program.nonnegative(vec![(lead(problem, true, i, k), -1.0)]);
        }
    }
    let (value, x) = program.solve();
    (value, distances(&x[..problem.d * c], c, 2.0).0)
}

/// Theorem 2: class vectors and intercepts sum to zero at the optimum, whatever the start. The solvers return centred
/// points even where they stop early, because centring never raises the objective.
#[test]
fn theorem_2_class_vectors_and_intercepts_sum_to_zero() {
    let problem = Problem::random(11, 40, 3, 4).weighted(1);
    let data = problem.dense();
    let solvers = [newton(), AnySolver::Lbfgs(Lbfgs::default()), AnySolver::Adam(Adam::default())];
    for (loss, penalty) in table().into_iter().filter(|(_, penalty)| penalty.as_dyn().centre_is_mean()) {
        let risk = Risk::new(&data, loss.as_dyn(), penalty.as_dyn(), 1e-3, true);
        let start: Vec<f64> = Random::new(3).normals(risk.dim()).iter().map(|v| v + 2.0).collect();
        assert!(row_sums(&start, 4) > 4.0);
        let centred = minimize(&newton(), &risk, vec![0.0; risk.dim()], 1e-9, 500);
        for solver in &solvers {
            let found = minimize(solver, &risk, start.clone(), 1e-9, 300);
            let sum = row_sums(&found.theta, 4);
            assert!(sum < 1e-12, "{loss:?} {penalty:?} {solver:?}: {sum:e}");
            if *solver == newton() && convex(&penalty) {
                let error = apart(found.certificate.objective, centred.certificate.objective);
                assert!(error < 1e-8, "{loss:?} {penalty:?}: {error:e}");
            }
        }
        // Centring is where the minimum is, not a habit of the solvers: every shift costs exactly c·ε‖σ‖².
        if !sees_shifts(&penalty) {
            let mut grad = vec![0.0; risk.dim()];
            let shifted: Vec<f64> = centred.theta.iter().map(|v| v + 0.5).collect();
            let rise = risk.eval(&shifted, &mut grad) - risk.eval(&centred.theta, &mut grad);
            assert!((rise - 1e-3 * 0.25 * risk.dim() as f64).abs() < 1e-10, "{rise}");
        }
    }
}

/// Σ_{k<l} Σ_{y∈{k,l}} f(±(zₖ − zₗ)): the loss as the paper first writes it.
fn over_pairs(problem: &Problem, z: &[f64], f: impl Fn(f64) -> f64) -> f64 {
    let mut sum = 0.0;
    for (k, l) in pairs(problem.c) {
        for (z, y) in z.chunks_exact(problem.c).zip(&problem.y) {
            match *y as usize {
                y if y == k => sum += f(z[k] - z[l]),
                y if y == l => sum += f(-(z[k] - z[l])),
                _ => {}
            }
        }
    }
    sum
}

fn total(loss: &dyn Loss, problem: &Problem, z: &[f64]) -> f64 {
    let mut dz = vec![0.0; problem.c];
    let rows = z.chunks_exact(problem.c).zip(&problem.y);
    rows.map(|(z, y)| loss.value_grad(z, *y as usize, &mut dz)).sum()
}

/// Theorem 3, for the hinge, and its logistic form in appendix A.3: the sum over pairs is the sum over samples.
#[test]
fn theorem_3_the_sum_over_pairs_is_the_sum_over_samples() {
    for seed in 0..20 {
        let c = 2 + seed as usize % 5;
        let problem = Problem::random(seed, 6 * c, 2, c);
        let z: Vec<f64> = Random::new(seed).normals(problem.n * c).iter().map(|v| 2.0 * v).collect();
        for delta in [0.0, 0.01, 1.0] {
            let g = |t: f64| 0.5 * ((1.0 - t) + ((1.0 - t).powi(2) + delta * delta).sqrt());
            let (a, b) = (over_pairs(&problem, &z, g), total(hinge(delta).as_dyn(), &problem, &z));
            assert!(apart(a, b) < 1e-13, "δ = {delta}: {a} {b}");
        }
        let logistic = AnyLoss::PairwiseLogistic(Default::default());
        let (a, b) = (over_pairs(&problem, &z, |t| (1.0 + (-t).exp()).ln()), total(logistic.as_dyn(), &problem, &z));
        assert!(apart(a, b) < 1e-13, "{a} {b}");
    }
}

/// Lemma 2: 0 ≤ g(x) − [x]₊ ≤ δ/2, with equality on the right at x = 0.
#[test]
fn lemma_2_the_smooth_hinge_is_within_half_delta() {
    let mut random = Random::new(4);
    for delta in [1e-8, 1e-3, 0.1, 1.0, 30.0] {
        for i in 0..400 {
            let x = if i == 0 { 0.0 } else { random.normal() * 10f64.powi(i % 5 - 2) };
            // Two classes, γ = 1 − z₀ + z₁ = x.
            let (mut dz, z) = ([0.0; 2], [1.0, x]);
            let excess = hinge(delta).as_dyn().value_grad(&z, 0, &mut dz) - x.max(0.0);
            let rounding = 1e-15 * x.abs().max(delta);
            assert!(excess >= -rounding && excess <= 0.5 * delta + rounding, "{x} {delta}: {excess}");
            if i == 0 {
                assert!((excess - 0.5 * delta).abs() <= rounding);
            }
        }
    }
}

/// Lemma 3: Σ_{k<l} ‖wₖ − wₗ‖² = c Σₖ ‖wₖ − w̄‖².
#[test]
fn lemma_3_pair_distances_are_a_variance() {
    for c in 2..7 {
        let w = Random::new(c as u64).normals(5 * c);
        let spread: f64 = w
            .chunks_exact(c)
            .map(|row| {
                let mean = row.iter().sum::<f64>() / c as f64;
                row.iter().map(|v| (v - mean).powi(2)).sum::<f64>()
            })
            .sum();
        let pairs = Pairwise::new(Norm::L2, 1.0, 2.0).value(&w, c);
        assert!(apart(pairs, c as f64 * spread) < 1e-13, "{pairs}");
    }
}

/// Theorem 4: the smoothed objective is strictly convex for p ≥ 1 (ε makes it so also at p = 1).
#[test]
fn theorem_4_chords_lie_strictly_above() {
    let problem = Problem::random(21, 20, 3, 3).weighted(2);
    let data = problem.dense();
    let mut random = Random::new(5);
    for (loss, penalty) in table().into_iter().filter(|(_, penalty)| convex(penalty)) {
        let risk = Risk::new(&data, loss.as_dyn(), penalty.as_dyn(), 1e-3, true);
        let mut grad = vec![0.0; risk.dim()];
        for _ in 0..50 {
            let (a, b) = (random.normals(risk.dim()), random.normals(risk.dim()));
            let mu = 0.05 + 0.9 * random.uniform();
            let between: Vec<f64> = a.iter().zip(&b).map(|(a, b)| mu * a + (1.0 - mu) * b).collect();
            let square: f64 = a.iter().zip(&b).map(|(a, b)| (a - b).powi(2)).sum();
            let chord = mu * risk.eval(&a, &mut grad) + (1.0 - mu) * risk.eval(&b, &mut grad);
            let rise = chord - risk.eval(&between, &mut grad);
            // At least what ε alone gives.
            let least = 1e-3 * mu * (1.0 - mu) * square;
            assert!(rise >= least * (1.0 - 1e-9), "{loss:?} {penalty:?}: {rise} {least}");
        }
    }
}

/// Theorem 5: p = 2 with λ is ridge with λc. Exactly so for every ε, since the optimum is centred and both have the same ε-term.
#[test]
fn theorem_5_p_two_is_ridge() {
    for (loss, c) in AnyLoss::examples().into_iter().zip([3, 4, 5]) {
        let data = Problem::random(31, 12 * c, 4, c).dense();
        for lambda in [1e-2, 1.0] {
            let fit = |penalty| {
                let spec = Spec { tol: 1e-12, epsilon: 1e-4, ..spec(loss, penalty) };
                spec.fit(&data).unwrap()
            };
            let ours = fit(pairwise(lambda, 2.0));
            let ridge = fit(AnyPenalty::Ridge(Ridge { lambda: lambda * c as f64 }));
            let (a, b) = (ours.certificate().objective, ridge.certificate().objective);
            assert!(apart(a, b) < 1e-10, "{loss:?} λ = {lambda}: {a} {b}");
            let error = far(&theta(&ours), &theta(&ridge));
            assert!(error < 1e-5, "{loss:?} λ = {lambda}: {error:e}");
        }
    }
}

/// Theorem 6: max over x of (Σ |(wₖ − wₗ)ᵀx|ᵖ)^(1/p) ≤ Λ (Σ ‖wₖ − wₗ‖ᵖ)^(1/p), with equality in one dimension.
#[test]
fn theorem_6_the_penalty_bounds_the_capacity() {
    for (seed, d) in [(1, 1), (2, 1), (3, 2), (4, 5), (5, 20)] {
        let problem = Problem::random(seed, 40, d, 4);
        let data = problem.dense();
        let w = Random::new(seed).normals(d * 4);
        let mut z = vec![0.0; problem.n * 4];
        data.x().mul_add(0..problem.n, &w, 4, &mut z);
        let radius = problem.x.chunks_exact(d).map(|x| x.iter().map(|v| v * v).sum::<f64>().sqrt());
        let radius = radius.fold(0.0, f64::max);
        for p in [1.0, 1.5, 2.0, 4.0, 10.0] {
            let reach = |z: &[f64]| {
                let sum: f64 = pairs(4).iter().map(|&(k, l)| (z[k] - z[l]).abs().powf(p)).sum();
                sum.powf(1.0 / p)
            };
            let most = z.chunks_exact(4).map(reach).fold(0.0, f64::max);
            let bound = radius * Pairwise::new(Norm::L2, 1.0, p).value(&w, 4).powf(1.0 / p);
            assert!(most <= bound * (1.0 + 1e-12), "d = {d}, p = {p}: {most} {bound}");
            assert!(d > 1 || apart(most, bound) < 1e-12, "d = {d}, p = {p}: {most} {bound}");
        }
    }
}

/// The lemma of appendix A.3: the softmax loss is log(1 + Σ_{k≠y} exp(zₖ − z_y)); it is below the pairwise logistic loss.
#[test]
fn lemma_of_a3_softmax_is_a_logarithm_over_pairs() {
    let mut random = Random::new(6);
    let (softmax, logistic) = (AnyLoss::Softmax(Default::default()), AnyLoss::PairwiseLogistic(Default::default()));
    for c in 2..8 {
        for _ in 0..20 {
            let z: Vec<f64> = random.normals(c).iter().map(|v| 3.0 * v).collect();
            let (y, mut dz) = (random.below(c), vec![0.0; c]);
            let sum: f64 = (0..c).filter(|k| *k != y).map(|k| (z[k] - z[y]).exp()).sum();
            let value = softmax.as_dyn().value_grad(&z, y, &mut dz);
            assert!(apart(value, (1.0 + sum).ln()) < 1e-13, "{value}");
            assert!(value <= logistic.as_dyn().value_grad(&z, y, &mut dz) + 1e-13);
        }
    }
}
