//! The lasso and its solver: optimality by hand, another program's numbers, exact zeros.

use m3svm::loss::{PairwiseLogistic, Softmax};
use m3svm::penalty::{ElasticNet, Lasso, Norm, Ridge};
use m3svm::solver::Proximal;
use m3svm::{AnyLoss, AnyPenalty, AnySolver, Dataset, Model, Objective, Risk, Scaling, Scheme, Spec, Stop};

use crate::common::{Problem, Random, apart, far, hinge, minimize, none, spec, theta};
use crate::convergence::{solved, sparse, table};

const SOFTMAX: AnyLoss = AnyLoss::Softmax(Softmax {});

fn lasso(lambda: f64) -> AnyPenalty {
    AnyPenalty::Lasso(Lasso { lambda })
}

fn losses() -> [AnyLoss; 4] {
    [SOFTMAX, AnyLoss::PairwiseLogistic(PairwiseLogistic {}), hinge(0.5), hinge(0.01)]
}

/// Solved to nearly all digits.
fn fit(loss: AnyLoss, lambda: f64, data: &Dataset<'_>) -> Model {
    let model = Spec { tol: 1e-11, ..spec(loss, lasso(lambda)) }.fit(data).unwrap();
    assert_eq!(model.training().stop, Stop::Converged, "{loss:?} λ {lambda}: {:?}", model.certificate());
    model
}

/// Σᵢ ωᵢ x̃ᵢ ∂ℓ/∂z + 2εθ, from the definition.
fn smooth_slopes(problem: &Problem, loss: &AnyLoss, epsilon: f64, theta: &[f64]) -> Vec<f64> {
    let (d, c) = (problem.d, problem.c);
    let mut slopes: Vec<f64> = theta.iter().map(|t| 2.0 * epsilon * t).collect();
    for i in 0..problem.n {
        let x: Vec<f64> = problem.x[i * d..(i + 1) * d].iter().copied().chain([1.0]).collect();
        let z: Vec<f64> = (0..c).map(|k| (0..=d).map(|j| x[j] * theta[j * c + k]).sum()).collect();
        let mut dz = vec![0.0; c];
        loss.as_dyn().value_grad(&z, problem.y[i] as usize, &mut dz);
        let weight = problem.weights.as_ref().map_or(1.0, |w| w[i]);
        (0..=d).for_each(|j| (0..c).for_each(|k| slopes[j * c + k] += weight * x[j] * dz[k]));
    }
    slopes
}

#[test]
fn at_the_optimum_slopes_balance_the_kinks() {
    for (seed, loss) in losses().into_iter().enumerate() {
        let problem = Problem::random(300 + seed as u64, 80, 6, 3 + seed % 2).weighted(seed as u64);
        for lambda in [0.5, 3.0, 10.0] {
            for data in [problem.dense(), problem.csr()] {
                let model = fit(loss, lambda, &data);
                let slopes = smooth_slopes(&problem, &loss, 1e-6, &theta(&model));
                let (weights, intercept) = slopes.split_at(problem.d * problem.c);
                let mut zeros = 0;
                for (slope, w) in weights.iter().zip(model.weights()) {
                    let off = if *w == 0.0 { slope.abs() - lambda } else { (slope + lambda * w.signum()).abs() };
                    assert!(off < 1e-5 * lambda, "{loss:?} λ {lambda}: weight {w:e} has slope {slope}");
                    zeros += usize::from(*w == 0.0);
                }
                assert!(intercept.iter().all(|s| s.abs() < 1e-5), "{loss:?} λ {lambda}: {intercept:?}");
                assert_eq!(model.nonzero_weights(), weights.len() - zeros);
                assert!(lambda < 3.0 || zeros > 0, "{loss:?} λ {lambda}: no zeros");
            }
        }
    }
}

/// The smallest λ at which softmax has no weights: with shares πₖ of the classes, max |Σᵢ ωᵢ xᵢⱼ (πₖ − [yᵢ = k])|.
fn lambda_max(problem: &Problem) -> f64 {
    let weight = |i: usize| problem.weights.as_ref().map_or(1.0, |w| w[i]);
    let mut shares = vec![0.0; problem.c];
    (0..problem.n).for_each(|i| shares[problem.y[i] as usize] += weight(i));
    let total: f64 = shares.iter().sum();
    let mut slopes = vec![0.0; problem.d * problem.c];
    for (i, row) in problem.x.chunks_exact(problem.d).enumerate() {
        for (j, x) in row.iter().enumerate() {
            for k in 0..problem.c {
                let own = if problem.y[i] as usize == k { 1.0 } else { 0.0 };
                slopes[j * problem.c + k] += weight(i) * x * (shares[k] / total - own);
            }
        }
    }
    slopes.iter().fold(0.0, |most, s| f64::max(most, s.abs()))
}

#[test]
fn weights_appear_exactly_below_the_largest_slope_at_zero() {
    for seed in 0..12u64 {
        let c = 2 + seed as usize % 4;
        let problem = Problem::random(400 + seed, 12 * c, 1 + seed as usize % 5, c).weighted(seed);
        let most = lambda_max(&problem);
        let above = fit(SOFTMAX, 1.0001 * most, &problem.dense());
        assert!(above.weights().iter().all(|w| *w == 0.0), "seed {seed}: {:?}", above.weights());
        assert_eq!((above.surviving_features(), above.nonzero_weights()), (0, 0));
        let below = fit(SOFTMAX, 0.99 * most, &problem.csr());
        assert!(below.surviving_features() > 0 && below.nonzero_weights() > 0, "seed {seed}");
    }
}

/// Lines `name lambda objective intercept…, weights…` made by `tests/fixtures/make_smlr.py` with scikit-learn.
fn fixtures() -> impl Iterator<Item = (&'static str, f64, f64, Vec<f64>)> {
    let lines = include_str!("../fixtures/smlr.txt").lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| {
        let mut fields = line.split(' ');
        let name = fields.next().unwrap();
        let mut numbers = fields.map(|v| v.parse::<f64>().unwrap());
        (name, numbers.next().unwrap(), numbers.next().unwrap(), numbers.collect())
    })
}

/// Rows of c numbers with their mean subtracted.
fn centred(values: &[f64], c: usize) -> Vec<f64> {
    let row = |row: &[f64]| row.iter().map(|v| v - row.iter().sum::<f64>() / c as f64).collect::<Vec<f64>>();
    values.chunks_exact(c).flat_map(row).collect()
}

#[test]
fn scikit_learn_finds_the_same_sparse_models() {
    let mut compared = 0;
    for (name, lambda, objective, parameters) in fixtures() {
        let iris = Problem::iris().dense();
        let Some(data) = (if name == "iris" { Some(iris) } else { table(name) }) else { continue };
        let spec = Spec { scaling: Scaling::Standard, epsilon: 1e-9, tol: 1e-10, ..spec(SOFTMAX, lasso(lambda)) };
        let model = spec.fit(&data).unwrap();
        let label = format!("{name} λ {lambda}");
        assert_eq!(model.training().stop, Stop::Converged, "{label}");
        let error = apart(model.certificate().objective, objective);
        assert!(error < 1e-7, "{label}: {} {objective}, {error:e}", model.certificate().objective);
        let (intercept, weights) = parameters.split_at(data.classes().len());
        // With an even number of classes a common shift of a feature between its two middle weights costs nothing but ε; what the
        // scores depend on are differences.
        let c = data.classes().len();
        let apart = |a: &[f64], b: &[f64]| if c % 2 == 1 { far(a, b) } else { far(&centred(a, c), &centred(b, c)) };
        let most = apart(model.weights(), weights).max(apart(model.intercept(), intercept));
        assert!(most < 1e-5, "{label}: parameters differ by {most:e}");
        for (w, theirs) in model.weights().iter().zip(weights).filter(|_| c % 2 == 1) {
            assert!((*w == 0.0) == (*theirs == 0.0) || w.abs().max(theirs.abs()) < 1e-5, "{label}: {w:e} {theirs:e}");
        }
        compared += 1;
    }
    assert!(compared >= 2, "iris is always there");
}

#[test]
fn storage_and_precision_do_not_change_the_model() {
    let mut problem = Problem::random(310, 120, 8, 4).weighted(2);
    problem.x.iter_mut().for_each(|v| *v = f64::from(*v as f32));
    for loss in losses() {
        let dense = fit(loss, 4.0, &problem.dense());
        for data in [problem.csr(), problem.dense32(), problem.csr32()] {
            let other = fit(loss, 4.0, &data);
            assert!(far(&theta(&dense), &theta(&other)) < 1e-5, "{loss:?}");
            let zeros = |model: &Model| -> Vec<bool> { model.weights().iter().map(|w| *w == 0.0).collect() };
            assert_eq!(zeros(&dense), zeros(&other), "{loss:?}");
        }
    }
}

#[test]
fn integer_weights_are_repetitions_under_the_lasso() {
    let mut problem = Problem::random(320, 60, 4, 3);
    let mut random = Random::new(5);
    let counts: Vec<usize> = (0..problem.n).map(|_| random.below(4)).collect();
    let rows: Vec<usize> = (0..problem.n).flat_map(|i| vec![i; counts[i]]).collect();
    let repeated = problem.rows(&rows);
    problem.weights = Some(counts.iter().map(|k| *k as f64).collect());
    for loss in losses() {
        let (a, b) = (fit(loss, 2.0, &problem.dense()), fit(loss, 2.0, &repeated.dense()));
        assert!(apart(a.certificate().objective, b.certificate().objective) < 1e-10, "{loss:?}");
        assert!(far(&theta(&a), &theta(&b)) < 1e-5, "{loss:?}");
    }
}

#[test]
fn threads_change_no_bit_of_a_lasso() {
    // Enough coordinates for either form of the model, and enough rows for several groups.
    let problem = Problem::random(330, 2500, 90, 5);
    for (data, lambda) in [(problem.dense(), 10.0), (problem.csr(), 3.0)] {
        let spec = Spec { tol: 1e-8, ..spec(SOFTMAX, lasso(lambda)) };
        let run = |threads: usize| -> Vec<u64> {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let model = pool.install(|| spec.fit(&data)).unwrap();
            let bound = model.certificate().lower_bound.unwrap();
            theta(&model).iter().chain([&model.certificate().objective, &bound]).map(|v| v.to_bits()).collect()
        };
        let one = run(1);
        for threads in [2, 3] {
            assert!(one == run(threads), "{threads} threads, λ {lambda}");
        }
    }
}

#[test]
fn a_warm_start_from_another_lambda_ends_at_the_same_model() {
    let data = Problem::random(340, 90, 10, 3).dense();
    let (coarse, fine) = (fit(SOFTMAX, 8.0, &data), fit(SOFTMAX, 1.0, &data));
    let spec = fine.spec().clone();
    let mut go_on = |_: &m3svm::Progress| std::ops::ControlFlow::Continue(());
    let warm = spec.fit_watched(&data, Some(&coarse), &mut go_on).unwrap();
    assert!(far(&theta(&warm), &theta(&fine)) < 1e-5);
    let again = spec.fit_watched(&data, Some(&fine), &mut go_on).unwrap();
    assert_eq!((again.training().iterations, again.training().stop), (0, Stop::Converged));
}

#[test]
fn without_strength_or_intercept_it_is_still_solved() {
    let problem = Problem::random(350, 90, 3, 3);
    let data = problem.dense();
    for (lambda, intercept) in [(0.0, true), (0.0, false), (2.0, false)] {
        let spec = Spec { epsilon: 1e-3, intercept, ..spec(SOFTMAX, lasso(lambda)) };
        let model = spec.fit(&data).unwrap();
        assert_eq!(model.training().stop, Stop::Converged, "λ {lambda} {intercept}: {:?}", model.certificate());
        if lambda == 0.0 {
            let ridge = AnyPenalty::Ridge(Ridge { lambda: 0.0 });
            let other = Spec { epsilon: 1e-3, intercept, ..crate::common::spec(SOFTMAX, ridge) }.fit(&data).unwrap();
            assert!(apart(model.certificate().objective, other.certificate().objective) < 1e-8);
        }
    }
}

#[test]
fn features_without_information_do_not_survive() {
    let signal = Problem::clouds(360, 200, 3, 3, 2.0);
    let mut random = Random::new(6);
    let mut problem = signal.clone();
    problem.d = 23;
    problem.x = signal.x.chunks_exact(3).flat_map(|row| [row.to_vec(), random.normals(20)].concat()).collect();
    let model = fit(SOFTMAX, 25.0, &problem.dense());
    assert_eq!(model.surviving_features(), 3);
    assert!(model.weights()[9..].iter().all(|w| *w == 0.0));
}

#[test]
fn solvers_refuse_what_they_cannot_minimise() {
    let data = Problem::random(370, 12, 2, 3).dense();
    let says = |loss, penalty, solver| {
        let spec = Spec { solver, ..spec(loss, penalty) };
        let early = spec.check().unwrap_err().to_string();
        let risk = Risk::new(&data, spec.loss.as_dyn(), spec.penalty.as_dyn(), 1e-6, true);
        let limits = m3svm::solver::Limits { tol: 1e-8, max_iter: 5, seed: 0, proof: true };
        let mut watch = |_: &m3svm::Progress| std::ops::ControlFlow::Continue(());
        let late = solver.minimize(&risk, vec![0.0; risk.dim()], &limits, &mut watch).unwrap_err().to_string();
        assert_eq!(early, late);
        early
    };
    for solver in &AnySolver::examples()[1..4] {
        let expected =
            format!("the solver {} cannot minimise absolute values of weights; use proximal or auto", solver.name());
        assert_eq!(says(SOFTMAX, lasso(1.0), *solver), expected);
    }
    let proximal = AnySolver::Proximal(Proximal {});
    let other = "the solver proximal cannot minimise a penalty without absolute values of weights; use auto";
    assert_eq!(says(SOFTMAX, AnyPenalty::Ridge(Ridge { lambda: 1.0 }), proximal), other);
    let kink = "the solver proximal cannot minimise a loss with a kink under absolute values of weights; give the hinge a delta above 0";
    assert_eq!(says(hinge(0.0), lasso(1.0), AnySolver::Auto), kink);
    assert_eq!(says(hinge(0.0), lasso(1.0), proximal), kink);
    let auto = Spec { solver: AnySolver::Auto, ..spec(SOFTMAX, lasso(1.0)) }.fit(&data).unwrap();
    assert_eq!(auto.training().solver, "proximal");
}

#[test]
fn every_step_descends_to_the_certified_value() {
    let data = Problem::random(380, 60, 5, 3).dense();
    let penalty = lasso(0.5);
    let risk = Risk::new(&data, SOFTMAX.as_dyn(), penalty.as_dyn(), 1e-6, true);
    let mut last = f64::INFINITY;
    for steps in 1..12 {
        let found = minimize(&AnySolver::Proximal(Proximal {}), &risk, vec![0.0; risk.dim()], 1e-10, steps);
        let mut grad = vec![0.0; risk.dim()];
        let value = risk.eval(&found.theta, &mut grad);
        assert!(apart(value, found.certificate.objective) < 1e-12);
        assert!(value <= last, "{steps} steps: {value} after {last}");
        assert!(found.certificate.lower_bound.unwrap() <= value * (1.0 + 1e-12));
        last = value;
    }
}

fn real(name: &str, data: Option<Dataset<'static>>, lambdas: &[f64], losses: &[AnyLoss]) {
    let Some(data) = data else { return };
    let mut failures = Vec::new();
    for loss in losses {
        for lambda in lambdas {
            let spec = Spec { scaling: Scaling::Standard, ..spec(*loss, lasso(*lambda)) };
            failures.extend(solved(name, &data, &spec));
        }
    }
    none(&failures);
}

#[test]
fn lasso_small_sets_are_solved_with_every_loss() {
    for name in ["wine", "glass", "vehicle", "dermatology"] {
        real(name, table(name), &[0.1, 1.0, 10.0], &losses());
    }
}

#[test]
fn lasso_more_features_than_rows_are_solved() {
    real("orl", table("orl"), &[1.0, 10.0], &[SOFTMAX]);
    real("cornell", sparse("cornell"), &[1.0], &[SOFTMAX]);
}

#[test]
fn lasso_isolet_is_solved() {
    real("isolet", table("isolet"), &[2.0], &[SOFTMAX]);
}

/// Three of its features are sums of others: whole directions of weights change the penalty only.
#[test]
fn lasso_dependent_features_do_not_slow_the_descent() {
    let Some(data) = table("segment") else { return };
    let spec = Spec { scaling: Scaling::Standard, max_iter: Some(100), ..spec(SOFTMAX, lasso(1e-3)) };
    assert_eq!(solved("segment", &data, &spec), None);
}

/// One fit without a proof, from `start`, whose value must be within the tolerance all the same; its end, and the steps that it has saved.
fn near(data: &Dataset<'_>, loss: &AnyLoss, lambda: f64, tol: f64, start: &[f64]) -> (Vec<f64>, usize) {
    let penalty = lasso(lambda);
    let risk = Risk::new(data, loss.as_dyn(), penalty.as_dyn(), 1e-6, true);
    let mut start = start.to_vec();
    start.resize(risk.dim(), 0.0);
    let run = |tol, proof| {
        let limits = m3svm::solver::Limits { tol, max_iter: 1000, seed: 0, proof };
        let mut watch = |_: &m3svm::Progress| std::ops::ControlFlow::Continue(());
        Proximal {}.minimize(&risk, start.clone(), &limits, &mut watch).unwrap()
    };
    let (near, proven, best) = (run(tol, false), run(tol, true), run(1e-9, true));
    let gap = near.certificate.objective / best.certificate.objective - 1.0;
    assert_eq!(near.stop, Stop::Converged, "{loss:?} λ {lambda}");
    assert!(gap <= tol, "{loss:?} λ {lambda}: {gap:e} > {tol:e}");
    (near.theta, proven.iterations - near.iterations)
}

/// Along paths of λ, from neighbour to neighbour, as searches go.
#[test]
fn what_is_near_without_a_proof_is_within_the_tolerance() {
    // The second one has more weights than the matrix of a model is written out for at once.
    let (few, many) = (Problem::clouds(390, 240, 12, 4, 1.0), Problem::clouds(391, 300, 90, 4, 0.3));
    let mut saved = 0;
    for (problem, tols) in [(few, &[1e-2, 1e-3, 1e-5][..]), (many, &[1e-3][..])] {
        let data = problem.dense();
        for loss in losses() {
            for &tol in tols {
                let mut theta = Vec::new();
                for lambda in [30.0, 3.0, 0.3, 0.03, 0.003] {
                    let (end, steps) = near(&data, &loss, lambda, tol, &theta);
                    theta = end;
                    saved += steps;
                }
            }
        }
    }
    assert!(saved > 0, "it would be pointless otherwise");
}

fn net(lambda: f64, l1_ratio: f64) -> AnyPenalty {
    AnyPenalty::ElasticNet(ElasticNet { lambda, l1_ratio })
}

#[test]
fn slopes_balance_the_kinks_and_squares_of_the_elastic_net() {
    for (seed, loss) in losses().into_iter().enumerate() {
        let problem = Problem::random(320 + seed as u64, 80, 6, 3 + seed % 2).weighted(seed as u64);
        for (lambda, l1_ratio) in [(1.0, 0.5), (6.0, 0.9), (20.0, 0.3), (100.0, 0.05)] {
            for data in [problem.dense(), problem.csr()] {
                let spec = Spec { tol: 1e-11, ..spec(loss, net(lambda, l1_ratio)) };
                let model = spec.fit(&data).unwrap();
                assert_eq!(model.training().stop, Stop::Converged, "{loss:?} {lambda} {l1_ratio}");
                let (kink, square) = (lambda * l1_ratio, lambda * (1.0 - l1_ratio));
                let slopes = smooth_slopes(&problem, &loss, 1e-6, &theta(&model));
                let (weights, intercept) = slopes.split_at(problem.d * problem.c);
                for (slope, w) in weights.iter().zip(model.weights()) {
                    let slope = slope + 2.0 * square * w;
                    let off = if *w == 0.0 { slope.abs() - kink } else { (slope + kink * w.signum()).abs() };
                    // A gap of 1e-11 leaves slopes of its root times the root of the curvature.
                    assert!(
                        off < 5e-5 * lambda.max(1.0),
                        "{loss:?} {lambda} {l1_ratio}: weight {w:e} has slope {slope}"
                    );
                }
                assert!(intercept.iter().all(|s| s.abs() < 1e-5), "{loss:?} {lambda} {l1_ratio}: {intercept:?}");
            }
        }
    }
}

#[test]
fn the_ends_of_the_elastic_net_are_the_lasso_and_the_ridge() {
    let problem = Problem::random(330, 90, 8, 4);
    for loss in losses() {
        let pure = spec(loss, lasso(2.0)).fit(&problem.dense()).unwrap();
        let end = spec(loss, net(2.0, 1.0)).fit(&problem.dense()).unwrap();
        assert!(theta(&pure) == theta(&end), "{loss:?}: other bits than the lasso");
        let ridge = Spec { solver: AnySolver::Auto, ..spec(loss, AnyPenalty::Ridge(Ridge { lambda: 2.0 })) };
        let other = Spec { penalty: net(2.0, 0.0), ..ridge.clone() };
        let (ridge, other) = (ridge.fit(&problem.dense()).unwrap(), other.fit(&problem.dense()).unwrap());
        assert!(theta(&ridge) == theta(&other), "{loss:?}: other bits than the ridge");
    }
}

#[test]
fn the_elastic_net_has_exact_zeros_and_shares_weights_among_copies_of_a_feature() {
    let problem = Problem::random(331, 200, 12, 3);
    let copied: Vec<f64> = problem.x.chunks_exact(12).flat_map(|row| [&row[..1], row].concat()).collect();
    let problem = Problem { d: 13, x: copied, ..problem };
    let model = Spec { tol: 1e-10, ..spec(SOFTMAX, net(8.0, 0.8)) }.fit(&problem.dense()).unwrap();
    let (first, rest) = model.weights().split_at(3);
    assert!(far(first, &rest[..3]) < 1e-5, "{first:?} {:?}", &rest[..3]);
    assert!(first.iter().any(|w| *w != 0.0), "the feature is not used");
    assert!(model.nonzero_weights() < 39, "no zeros");
}

#[test]
fn the_elastic_net_is_certified_with_exact_zeros_under_every_scheme() {
    let noisy = Problem::random(333, 150, 10, 3);
    // Half of the features say nothing.
    let useless = |(at, x): (usize, &f64)| if at % 10 < 5 { *x } else { 0.01 * ((at * 37 % 101) as f64 - 50.0) };
    let problem = Problem { x: noisy.x.iter().enumerate().map(useless).collect(), ..noisy };
    for loss in losses() {
        for scheme in [Scheme::Joint, Scheme::OneVsRest, Scheme::OneVsOne] {
            for data in [problem.dense(), problem.csr()] {
                let model = Spec { scheme, tol: 1e-9, ..spec(loss, net(10.0, 0.8)) }.fit(&data).unwrap();
                let (gap, zeros) = (model.certificate().relative_gap(), 30 - model.nonzero_weights());
                assert_eq!(model.training().stop, Stop::Converged, "{loss:?} {scheme:?}: {gap:?}");
                assert!(gap.is_some_and(|gap| gap <= 1e-9), "{loss:?} {scheme:?}: {gap:?}");
                assert!((5..30).contains(&zeros), "{loss:?} {scheme:?}: {zeros} zeros");
            }
        }
    }
}

/// One scorer against the rest pays for itself what the joint problem of its two columns pays for both.
#[test]
fn scorers_pay_for_one_vector_under_every_penalty() {
    let problem = Problem::random(332, 120, 5, 3);
    let data = problem.dense();
    for penalty in AnyPenalty::examples().into_iter().filter(|p| p.as_dyn().convex()) {
        let part = penalty.as_dyn().for_scorer();
        assert!(part.is_some(), "{penalty:?}");
        let ovr = Spec { scheme: Scheme::OneVsRest, solver: AnySolver::Auto, ..spec(SOFTMAX, penalty) };
        let model = ovr.fit(&data).unwrap();
        assert_eq!(model.training().stop, Stop::Converged, "{penalty:?}");
        let alone: f64 = match penalty {
            // Charged for the distance of its two columns as well.
            AnyPenalty::PairwiseRidge(it) => 3.0 * it.lambda * model.weights().iter().map(|w| w * w).sum::<f64>(),
            AnyPenalty::Pairwise(it) => {
                let columns = (0..3).map(|k| model.weights().iter().skip(k).step_by(3).copied().collect::<Vec<f64>>());
                let length = |w: Vec<f64>| match it.norm {
                    Norm::L2 => w.iter().map(|w| w * w).sum::<f64>().sqrt(),
                    Norm::L1 => w.iter().map(|w| w.abs()).sum(),
                };
                // The largest of one distance is the distance, squared.
                let power = if it.p.is_infinite() { 2.0 } else { it.p };
                columns.map(|w| it.lambda * length(w).powf(power)).sum()
            }
            other => other.as_dyn().value(model.weights(), 3),
        };
        let squares: f64 = theta(&model).iter().map(|t| t * t).sum();
        let mut loss = 0.0;
        for (i, row) in problem.x.chunks_exact(5).enumerate() {
            for k in 0..3 {
                let score: f64 =
                    (0..5).map(|j| row[j] * model.weights()[j * 3 + k]).sum::<f64>() + model.intercept()[k];
                let signed = if problem.y[i] as usize == k { score } else { -score };
                loss += (-signed).exp().ln_1p();
            }
        }
        let expected = loss + alone + 1e-6 * squares;
        assert!(
            apart(expected, model.certificate().objective) < 1e-9,
            "{penalty:?}: {expected} {:?}",
            model.certificate()
        );
    }
}
