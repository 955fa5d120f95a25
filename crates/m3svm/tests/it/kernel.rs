//! Kernels: the exact problem against the conic solver, what every method proves, and what models do with rows.

use m3svm::penalty::{Norm, Pairwise, Ridge};
use m3svm::{AnyPenalty, Dataset, Features, Gamma, Kernel, Method, Model, Scaling, Scheme, Spec, Stop};

use crate::common::{Problem, apart, far, hinge, none, top_k};
use crate::conic::reference;

const RBF: Kernel = Kernel::Rbf { gamma: Gamma::Value(0.4) };
const POLYNOMIAL: Kernel = Kernel::Polynomial { degree: 2, gamma: Gamma::Value(0.5), coef0: 1.0 };
const LAPLACIAN: Kernel = Kernel::Laplacian { gamma: Gamma::Value(0.3) };

/// k(x, y), written down once more.
fn value(kernel: Kernel, x: &[f64], y: &[f64]) -> f64 {
    let product = |x: &[f64], y: &[f64]| -> f64 { x.iter().zip(y).map(|(a, b)| a * b).sum() };
    let gamma = match kernel.gamma() {
        Some(Gamma::Value(gamma)) => gamma,
        _ => 1.0,
    };
    match kernel {
        Kernel::Rbf { .. } => (-gamma * x.iter().zip(y).map(|(a, b)| (a - b).powi(2)).sum::<f64>()).exp(),
        Kernel::Laplacian { .. } => (-gamma * x.iter().zip(y).map(|(a, b)| (a - b).abs()).sum::<f64>()).exp(),
        Kernel::Polynomial { degree, coef0, .. } => (gamma * product(x, y) + coef0).powi(degree as i32),
        Kernel::Cosine => product(x, y) / (product(x, x) * product(y, y)).sqrt(),
        Kernel::Linear | Kernel::Precomputed => product(x, y),
    }
}

fn row(problem: &Problem, i: usize) -> &[f64] {
    &problem.x[i * problem.d..(i + 1) * problem.d]
}

fn matrix(kernel: Kernel, a: &Problem, b: &Problem) -> Vec<f64> {
    (0..a.n).flat_map(|i| (0..b.n).map(move |j| value(kernel, row(a, i), row(b, j)))).collect()
}

/// The same problem with the rows of a square root of the kernel matrix, by its eigenvectors: nothing of this is what the library does.
fn in_feature_space(kernel: Kernel, problem: &Problem) -> Problem {
    feature_space(problem, jacobi(matrix(kernel, problem, problem), problem.n)).0
}

/// The rows of a square root of a kernel matrix with these eigenvalues and eigenvectors, and what makes coefficients of rows out of weights
/// and intercepts there.
pub(crate) fn feature_space(
    problem: &Problem,
    (values, vectors): (Vec<f64>, Vec<f64>),
) -> (Problem, impl Fn(&[f64], usize) -> Vec<f64>) {
    let n = problem.n;
    let roots: Vec<f64> = values.iter().map(|v| v.max(0.0).sqrt()).collect();
    let x = (0..n * n).map(|at| vectors[at] * roots[at % n]).collect();
    let to_rows = move |theta: &[f64], m: usize| {
        let (weights, b) = theta.split_at(n * m);
        let top = roots.iter().copied().fold(0.0, f64::max);
        // What is nothing but rounding is no direction.
        let scaled = |j: usize, k: usize| if roots[j] > 1e-7 * top { weights[j * m + k] / roots[j] } else { 0.0 };
        let a = |i: usize, k: usize| (0..n).map(|j| vectors[i * n + j] * scaled(j, k)).sum();
        (0..n * m).map(|at| a(at / m, at % m)).chain(b.iter().copied()).collect()
    };
    (Problem { d: n, x, ..problem.clone() }, to_rows)
}

/// Eigenvalues and eigenvectors (in columns) of a small symmetric matrix, by Jacobi's rotations.
pub(crate) fn jacobi(mut a: Vec<f64>, n: usize) -> (Vec<f64>, Vec<f64>) {
    let mut v: Vec<f64> = (0..n * n).map(|i| f64::from(u8::from(i / n == i % n))).collect();
    for _ in 0..60 {
        for p in 0..n {
            for q in p + 1..n {
                if a[p * n + q].abs() < 1e-300 {
                    continue;
                }
                let theta = (a[q * n + q] - a[p * n + p]) / (2.0 * a[p * n + q]);
                let t = theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt());
                let t = if theta == 0.0 { 1.0 } else { t };
                let (c, s) = (1.0 / (t * t + 1.0).sqrt(), t / (t * t + 1.0).sqrt());
                for i in 0..n {
                    let (x, y) = (a[i * n + p], a[i * n + q]);
                    (a[i * n + p], a[i * n + q]) = (c * x - s * y, s * x + c * y);
                }
                for i in 0..n {
                    let (x, y) = (a[p * n + i], a[q * n + i]);
                    (a[p * n + i], a[q * n + i]) = (c * x - s * y, s * x + c * y);
                    let (x, y) = (v[i * n + p], v[i * n + q]);
                    (v[i * n + p], v[i * n + q]) = (c * x - s * y, s * x + c * y);
                }
            }
        }
    }
    ((0..n).map(|i| a[i * n + i]).collect(), v)
}

fn l2(lambda: f64, p: f64) -> AnyPenalty {
    AnyPenalty::Pairwise(Pairwise::new(Norm::L2, lambda, p))
}

fn small() -> Vec<Problem> {
    let iris = Problem::iris().standardised();
    let part: Vec<usize> = (0..iris.n).step_by(4).collect();
    vec![Problem::random(2, 30, 4, 4), iris.rows(&part), Problem::clouds(3, 24, 2, 2, 0.3)]
}

#[test]
fn kernel_problems_have_the_optimum_of_the_conic_solver() {
    let mut failures = Vec::new();
    for problem in small() {
        for kernel in [RBF, POLYNOMIAL, LAPLACIAN] {
            let features = in_feature_space(kernel, &problem);
            for (loss, penalty) in [
                (hinge(0.0), l2(0.05, 1.0)),
                (hinge(0.0), l2(0.1, 2.0)),
                (hinge(0.0), l2(0.01, 4.0)),
                (hinge(0.0), l2(0.1, f64::INFINITY)),
                (hinge(0.0), AnyPenalty::Ridge(Ridge { lambda: 0.1 })),
                (top_k(1, 0.0), AnyPenalty::Ridge(Ridge { lambda: 0.1 })),
            ] {
                let (expected, _) = reference(&features, &loss, &penalty, 1e-3, true);
                let spec = Spec {
                    loss,
                    penalty,
                    kernel,
                    epsilon: 1e-3,
                    scaling: Scaling::None,
                    ..Spec::default().with_usual_lambda()
                };
                let found = spec.fit(&problem.dense()).unwrap();
                let certificate = found.certificate();
                let label =
                    format!("{kernel:?} {loss:?} {penalty:?} n {}: conic {expected}, {certificate:?}", problem.n);
                if apart(certificate.objective, expected) > 1e-6 || found.training().stop != Stop::Converged {
                    failures.push(label);
                } else if certificate.lower_bound.unwrap() > expected + 1e-7 * expected.max(1.0) {
                    failures.push(format!("bound above: {label}"));
                }
            }
        }
    }
    none(&failures);
}

/// A spec of every method that a kernel suits.
fn specs(kernel: Kernel) -> Vec<(Method, Spec)> {
    let suited = Method::ALL.into_iter().filter(|method| *method != Method::Smlr);
    suited.map(|method| (method, Spec { kernel, ..method.spec().with_usual_lambda() })).collect()
}

fn kernels() -> [Kernel; 4] {
    [Kernel::ALL[1], Kernel::Polynomial { degree: 3, gamma: Gamma::Scale, coef0: 1.0 }, Kernel::ALL[3], Kernel::Cosine]
}

/// What a full factor loses by rounding must not cost the proof where classes overlap (1.4e-6 on iris with the polynomial, else less than 1e-6).
#[test]
fn the_largest_distance_is_proven_with_every_kernel() {
    let mut failures = Vec::new();
    for problem in [Problem::iris(), Problem::clouds(7, 60, 3, 4, 0.8), Problem::random(9, 60, 5, 3)] {
        for kernel in kernels() {
            for lambda in [1e-2, 1.0] {
                let spec = Spec { kernel, penalty: l2(lambda, f64::INFINITY), ..Spec::default().with_usual_lambda() };
                let gap = spec.fit(&problem.dense()).unwrap().certificate().relative_gap().unwrap();
                if gap > 2e-6 {
                    failures.push(format!("{} {lambda}, {} rows: {gap:e}", kernel.name(), problem.n));
                }
            }
        }
    }
    none(&failures);
}

#[test]
fn every_method_proves_its_optimum_with_every_kernel() {
    let mut failures = Vec::new();
    for problem in [Problem::iris(), Problem::clouds(7, 60, 3, 4, 0.8), Problem::random(9, 60, 5, 3)] {
        for kernel in kernels() {
            for (method, spec) in specs(kernel) {
                let model = spec.fit(&problem.dense()).unwrap();
                let gap = model.certificate().relative_gap().unwrap();
                if gap > 1e-6 {
                    failures.push(format!("{} {}: {gap:e}", method.name(), kernel.name()));
                }
                let other = model.predict(&problem.csr().x().view());
                assert_eq!(other.unwrap().len(), problem.n);
            }
        }
    }
    none(&failures);
}

/// What a model says is Σ k(x, xⱼ)aⱼ + b over the rows that it keeps, computed by hand.
#[test]
fn scores_are_sums_over_the_rows_that_are_kept() {
    let (problem, others) = (Problem::random(2, 40, 4, 3), Problem::random(12, 15, 4, 3));
    for kernel in [RBF, POLYNOMIAL, LAPLACIAN, Kernel::Cosine] {
        for scheme in [Scheme::Joint, Scheme::OneVsRest, Scheme::OneVsOne] {
            for rank in [None, Some(12)] {
                let penalty = AnyPenalty::Ridge(Ridge { lambda: 0.1 });
                let spec = Spec {
                    scheme,
                    loss: hinge(0.0),
                    penalty,
                    kernel,
                    rank,
                    scaling: Scaling::None,
                    ..Spec::default().with_usual_lambda()
                };
                let model = spec.fit(&problem.dense()).unwrap();
                let kept = model.expansion().unwrap();
                assert_eq!((kept.is_approximate(), kept.len() <= 40), (rank.is_some(), true));
                if let Some(rank) = rank {
                    assert!(kept.len() <= rank && kept.trace_left() > 0.0);
                }
                let m = model.scorers();
                let by_hand: Vec<f64> = (0..others.n)
                    .flat_map(|i| (0..m).map(move |k| (i, k)))
                    .map(|(i, k)| {
                        let parts = kept.rows().iter().zip(kept.coefficients().chunks_exact(m));
                        let sum: f64 =
                            parts.map(|(j, a)| a[k] * value(kernel, row(&others, i), row(&problem, *j as usize))).sum();
                        sum + model.intercept()[k]
                    })
                    .collect();
                for data in [others.dense(), others.csr(), others.dense32()] {
                    let found = model.raw_scores(data.x()).unwrap();
                    let close = if data.x().get(0, 0) == others.x[0] { 1e-9 } else { 1e-5 };
                    assert!(far(&found, &by_hand) < close, "{kernel:?} {scheme:?} {rank:?} {}", far(&found, &by_hand));
                }
            }
        }
    }
}

/// Margins are 2/‖wₖ − wₗ‖ with the distance by the kernel of the rows that are kept.
#[test]
fn margins_are_those_in_the_space_of_the_kernel() {
    let problem = Problem::clouds(7, 40, 3, 3, 0.8);
    let spec = Spec { kernel: RBF, scaling: Scaling::None, ..Spec::default().with_usual_lambda() };
    let model = spec.fit(&problem.dense()).unwrap();
    let kept = model.expansion().unwrap();
    for (k, l) in [(0, 1), (0, 2), (1, 2)] {
        let mut square = 0.0;
        for (i, a) in kept.rows().iter().zip(kept.coefficients().chunks_exact(3)) {
            for (j, b) in kept.rows().iter().zip(kept.coefficients().chunks_exact(3)) {
                let product = value(RBF, row(&problem, *i as usize), row(&problem, *j as usize));
                square += (a[k] - a[l]) * (b[k] - b[l]) * product;
            }
        }
        assert!(apart(model.margin(k, l), 2.0 / square.sqrt()) < 1e-6, "{} {square}", model.margin(k, l));
    }
}

/// A kernel that is the inner product is no kernel.
#[test]
fn the_polynomial_of_degree_one_is_the_linear_method() {
    let linear = Kernel::Polynomial { degree: 1, gamma: Gamma::Value(1.0), coef0: 0.0 };
    for problem in [Problem::iris(), Problem::clouds(7, 60, 3, 4, 0.8)] {
        for (method, spec) in specs(linear) {
            let (with, without) =
                (spec.fit(&problem.dense()).unwrap(), method.spec().with_usual_lambda().fit(&problem.dense()).unwrap());
            let (a, b) = (with.certificate().objective, without.certificate().objective);
            assert!((a - b).abs() <= 3e-8 * b, "{}: {a} {b}", method.name());
            let (a, b) = (with.predict(problem.dense().x()).unwrap(), without.predict(problem.dense().x()).unwrap());
            assert!(a.iter().zip(&b).filter(|(a, b)| a != b).count() <= 1, "{}", method.name());
        }
    }
}

#[test]
fn weights_equal_repetition() {
    let mut problem = Problem::random(5, 30, 3, 3);
    problem.weights = Some((0..30).map(|i| f64::from(i % 3)).collect());
    let repeated: Vec<usize> = (0..30).flat_map(|i| vec![i; i % 3]).collect();
    let mut repeated = problem.rows(&repeated);
    repeated.weights = None;
    for kernel in kernels() {
        for (method, spec) in specs(kernel) {
            let (a, b) = (spec.fit(&problem.dense()).unwrap(), spec.fit(&repeated.dense()).unwrap());
            let (a, b) = (a.certificate().objective, b.certificate().objective);
            assert!((a - b).abs() <= 3e-8 * b, "{} {}: {a} {b}", method.name(), kernel.name());
        }
    }
}

/// However long they are: what is rounding to the others is not for them to say.
#[test]
fn rows_of_weight_0_decide_nothing_about_a_kernel() {
    let kernel = Kernel::Polynomial { degree: 3, gamma: Gamma::Value(0.5), coef0: 0.0 };
    let mut problem = Problem::random(6, 12, 2, 3);
    let spec = Spec { kernel, scaling: m3svm::Scaling::None, ..Spec::default().with_usual_lambda() };
    let kept: Vec<usize> = (0..11).collect();
    let without = spec.fit(&problem.rows(&kept).dense()).unwrap();
    problem.weights = Some((0..12).map(|i| f64::from(u8::from(i < 11))).collect());
    problem.x[22..].fill(1e40);
    let with = spec.fit(&problem.dense()).unwrap();
    let (a, b) = (with.certificate().objective, without.certificate().objective);
    assert!((a - b).abs() <= 3e-8 * b, "{a} {b}");
    problem.weights = Some((0..12).map(|i| f64::from(u8::from(i < 6))).collect());
    problem.x[..12].fill(0.0);
    problem.x[12..].fill(1.0);
    let refused = spec.fit(&problem.dense()).unwrap_err().to_string();
    assert_eq!(refused, "`kernel` must tell rows apart, found 0 for every row");
}

#[test]
fn a_precomputed_kernel_is_the_kernel() {
    let (problem, others) = (Problem::clouds(7, 50, 3, 4, 0.8), Problem::clouds(8, 20, 3, 4, 0.8));
    let own = Features::dense(matrix(RBF, &problem, &problem), 50, 50).unwrap();
    let theirs = Features::dense(matrix(RBF, &others, &problem), 20, 50).unwrap();
    let classes = problem.dense().classes().to_vec();
    let data = Dataset::new(own, problem.y.clone(), classes).unwrap();
    for method in [Method::M3svm, Method::Cs, Method::Ovo] {
        let computed = Spec { kernel: RBF, scaling: Scaling::None, ..method.spec().with_usual_lambda() };
        let given = Spec { kernel: Kernel::Precomputed, ..method.spec().with_usual_lambda() };
        let (a, b) = (computed.fit(&problem.dense()).unwrap(), given.fit(&data).unwrap());
        assert!(apart(a.certificate().objective, b.certificate().objective) < 1e-7);
        let (a, b) = (a.raw_scores(others.dense().x()).unwrap(), b.raw_scores(&theirs).unwrap());
        assert!(far(&a, &b) < 1e-2, "{}: {}", method.name(), far(&a, &b));
    }
}

#[test]
fn low_rank_is_exact_at_full_rank_and_loses_less_the_larger_it_is() {
    let problem = Problem::clouds(7, 80, 2, 3, 0.8);
    let spec = Spec { kernel: RBF, ..Method::Cs.spec().with_usual_lambda() };
    let full = spec.fit(&problem.dense()).unwrap().certificate().objective;
    let mut before = f64::INFINITY;
    for rank in [5, 20, 79] {
        let model = Spec { rank: Some(rank), ..spec.clone() }.fit(&problem.dense()).unwrap();
        let kept = model.expansion().unwrap();
        assert!(kept.len() <= rank && kept.trace_left() < before);
        before = kept.trace_left().max(1e-300);
        assert!(model.certificate().relative_gap().unwrap() <= 1e-8);
        if rank == 79 {
            assert!(apart(model.certificate().objective, full) < 1e-6);
        }
        // The same numbers every time.
        let again = Spec { rank: Some(rank), ..spec.clone() }.fit(&problem.dense()).unwrap();
        assert_eq!(model, again);
    }
}

/// Squares that overflow made 1 of a distance of 1e307, and no end of a factorisation.
#[test]
fn rows_too_long_for_a_kernel_are_an_error_when_trained_on_and_when_predicted() {
    let mut long = Problem::clouds(7, 12, 3, 3, 0.8);
    let fitted = Problem::clouds(7, 12, 3, 3, 0.8);
    long.x.iter_mut().for_each(|v| *v *= 1e306);
    for kernel in [RBF, POLYNOMIAL, LAPLACIAN, Kernel::Cosine] {
        let spec = Spec { kernel, scaling: Scaling::None, ..Method::Ww.spec().with_usual_lambda() };
        for data in [long.dense(), long.csr()] {
            let error = spec.fit(&data).unwrap_err().to_string();
            assert!(error.contains(" is inf; scale the features"), "{kernel:?}: {error}");
            let scores = spec.fit(&fitted.dense()).unwrap().raw_scores(data.x());
            // A distance that is beyond all numbers leaves nothing of the kernel, and that is right.
            let right = |scores: &[f64]| {
                matches!(kernel, Kernel::Rbf { .. } | Kernel::Laplacian { .. }) && scores[3..6] == scores[6..9]
            };
            match scores {
                Ok(scores) => assert!(right(&scores), "{kernel:?}: {scores:?}"),
                Err(error) => assert!(error.to_string().contains("a score is"), "{error}"),
            }
        }
    }
}

/// Rows that a kernel maps to the origin may be all that pulls: their sum is 0, whatever they weigh.
#[test]
fn rows_at_the_origin_may_be_the_first_that_pull() {
    let x = vec![0.0, 0.0, 5.0, -5.0];
    let problem = Problem { n: 4, d: 1, c: 2, x, y: vec![0, 1, 0, 1], weights: None };
    for kernel in [Kernel::Cosine, Kernel::Polynomial { degree: 3, gamma: Gamma::Value(1.0), coef0: 0.0 }] {
        let penalty = AnyPenalty::Ridge(Ridge { lambda: 1e-7 });
        let spec = Spec { kernel, penalty, scaling: Scaling::None, ..Method::Lr.spec().with_usual_lambda() };
        let model = spec.fit(&problem.dense()).unwrap();
        // Rows at the origin pay ln 2 each, whatever there is; the others next to nothing.
        let certificate = model.certificate();
        assert!((certificate.objective - 2.0 * std::f64::consts::LN_2).abs() < 1e-3, "{certificate:?}");
        assert_eq!(model.predict(problem.dense().x()).unwrap()[2..], [0, 1]);
    }
}

#[test]
fn models_with_kernels_come_back_from_their_files() {
    let problem = Problem::clouds(7, 40, 3, 3, 0.8);
    let own = Features::dense(matrix(RBF, &problem, &problem), 40, 40).unwrap();
    let precomputed = Dataset::new(own, problem.y.clone(), problem.dense().classes().to_vec()).unwrap();
    for kernel in [RBF, POLYNOMIAL, LAPLACIAN, Kernel::Cosine, Kernel::Precomputed] {
        for rank in [None, Some(9)] {
            for data in [problem.dense(), problem.csr()] {
                let data = if kernel == Kernel::Precomputed { precomputed.clone() } else { data };
                let model = Spec { kernel, rank, ..Method::Ww.spec().with_usual_lambda() }.fit(&data).unwrap();
                let bytes = model.to_bytes().unwrap();
                let read = Model::from_bytes(&bytes).unwrap();
                assert_eq!(model, read);
                assert_eq!(model.scores(data.x()).unwrap(), read.scores(data.x()).unwrap());
                assert_eq!(read.to_bytes().unwrap(), bytes);
                // One flipped bit anywhere is found.
                for at in (0..bytes.len()).step_by(97) {
                    let mut broken = bytes.clone();
                    broken[at] ^= 4;
                    assert!(Model::from_bytes(&broken).is_err(), "{kernel:?} byte {at}");
                }
            }
        }
    }
}

#[test]
fn a_fit_can_begin_where_another_has_ended() {
    let problem = Problem::clouds(7, 60, 3, 3, 0.8);
    let go_on = &mut |_: &_| std::ops::ControlFlow::Continue(());
    for method in [Method::M3svm, Method::Lr, Method::Ovr] {
        let spec = Spec { kernel: RBF, ..method.spec().with_usual_lambda() };
        let cold = spec.fit(&problem.dense()).unwrap();
        let warm = spec.fit_watched(&problem.dense(), Some(&cold), go_on).unwrap();
        assert!(apart(cold.certificate().objective, warm.certificate().objective) < 1e-7);
        let linear = method.spec().with_usual_lambda().fit(&problem.dense()).unwrap();
        let warm = spec.fit_watched(&problem.dense(), Some(&linear), go_on).unwrap();
        assert!(apart(cold.certificate().objective, warm.certificate().objective) < 1e-7);
        let error = method
            .spec()
            .with_usual_lambda()
            .fit_watched(&problem.dense(), Some(&cold), go_on)
            .unwrap_err()
            .to_string();
        assert!(error.contains("warm-start"), "{error}");
    }
}

#[test]
fn what_is_no_kernel_is_refused_with_a_reason() {
    let problem = Problem::random(5, 12, 3, 3);
    let refused = |kernel: Kernel, rank: Option<usize>, data: &Dataset<'_>| {
        Spec { kernel, rank, ..Spec::default().with_usual_lambda() }.fit(data).unwrap_err().to_string()
    };
    let data = problem.dense();
    let zero = refused(Kernel::Rbf { gamma: Gamma::Value(0.0) }, None, &data);
    assert_eq!(zero, "`gamma` must be `scale`, `auto` or a finite number greater than 0, found 0");
    assert_eq!(refused(RBF, Some(0), &data), "`rank` must be at least 1, found 0");
    assert_eq!(refused(RBF, Some(13), &data), "`rank` must be at most the number of training rows, found 13");
    assert_eq!(refused(Kernel::Linear, Some(3), &data), "`rank` must be left out without a kernel, found 3");
    let smlr = Spec { kernel: RBF, ..Method::Smlr.spec().with_usual_lambda() }.fit(&data).unwrap_err().to_string();
    assert!(smlr.starts_with("`kernel` must be linear for penalties of absolute values"), "{smlr}");
    let wide = refused(Kernel::Precomputed, None, &data);
    assert_eq!(wide, "columns of the precomputed kernel (one per training row): expected 12, found 3");
    let given = |values: Vec<f64>| {
        let x = Features::dense(values, 12, 12).unwrap();
        Dataset::new(x, problem.y.clone(), data.classes().to_vec()).unwrap()
    };
    let mut values = matrix(RBF, &problem, &problem);
    values[5] = 2.0;
    let odd = refused(Kernel::Precomputed, None, &given(values));
    assert!(
        odd.starts_with("the kernel cannot be used: row 6, column 1 is ") && odd.contains(" row 1, column 6 is 2"),
        "{odd}"
    );
    // Eigenvalues 1 ± 0.9 of a 2×2 block, once with a minus on the diagonal and once with 3 beside it.
    let mut values: Vec<f64> = (0..144).map(|i| f64::from(u8::from(i / 12 == i % 12))).collect();
    (values[1], values[12]) = (3.0, 3.0);
    let negative = refused(Kernel::Precomputed, None, &given(values.clone()));
    assert!(negative.contains("its smallest eigenvalue is -2.000e0 and its largest 4.000e0"), "{negative}");
    (values[1], values[12], values[0]) = (0.0, 0.0, -1.0);
    let negative = refused(Kernel::Precomputed, None, &given(values));
    assert!(negative.contains("its smallest eigenvalue is -1.000e0"), "{negative}");
    let negative =
        refused(Kernel::Precomputed, None, &given((0..144).map(|i| -f64::from(u8::from(i / 12 == i % 12))).collect()));
    assert!(negative.contains("its smallest eigenvalue is -1.000e0"), "{negative}");
    let constant = refused(Kernel::Precomputed, None, &given(vec![4.0; 144]));
    assert_eq!(
        constant,
        "the kernel cannot be used: it is 4 for all pairs of rows, expected one that tells rows apart"
    );
    let constant = refused(Kernel::Rbf { gamma: Gamma::Value(1e-300) }, None, &data);
    assert!(constant.ends_with("it is 1 for all pairs of rows, expected one that tells rows apart"), "{constant}");
    // Rows that are there twice only cost nothing.
    let twice: Vec<usize> = (0..12).chain(0..12).collect();
    let model = Spec { kernel: RBF, ..Spec::default().with_usual_lambda() }.fit(&problem.rows(&twice).dense()).unwrap();
    assert!(model.expansion().unwrap().rank() <= 12);
}
