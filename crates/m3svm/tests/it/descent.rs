//! Joint problems with exact hinges on sparse rows, which go to descent in the dual.

use std::ops::ControlFlow;

use m3svm::solver::Stop;
use m3svm::{Method, Model, Scaling, Spec};

use crate::common::{Problem, Random, apart, newton, none, theta};

/// Rows of a few words each, as in texts: some words are of one class, the others of all. One row is empty.
fn texts(seed: u64, n: usize) -> Problem {
    const WORDS: usize = 600;
    const CLASSES: usize = 5;
    let mut random = Random::new(seed);
    let y: Vec<u32> = (0..n).map(|i| (i % CLASSES) as u32).collect();
    let mut x = vec![0.0; n * WORDS];
    for (i, k) in y.iter().enumerate().skip(1) {
        for _ in 0..12 {
            let own = random.below(4) == 0;
            let word = if own { *k as usize * 20 + random.below(20) } else { 100 + random.below(WORDS - 100) };
            x[i * WORDS + word] += 0.25;
        }
    }
    Problem { n, d: WORDS, c: CLASSES, x, y, weights: None }
}

/// Rows of few words, of which all classes have most: they are much alike.
fn few_words(seed: u64) -> Problem {
    let mut problem = texts(seed, 900);
    let mut random = Random::new(seed);
    for row in problem.x.chunks_exact_mut(problem.d) {
        row.fill(0.0);
        (0..6).for_each(|_| row[random.below(12)] += random.uniform());
    }
    problem
}

fn spec(method: Method, lambda: f64) -> Spec {
    let spec = method.spec().with_usual_lambda();
    let penalty = spec.penalty.with_lambda(lambda);
    Spec { penalty, intercept: false, scaling: Scaling::None, tol: 1e-7, ..spec }
}

const METHODS: [Method; 3] = [Method::Cs, Method::Ww, Method::Msvm];

#[test]
fn descent_finds_the_optimum_that_newton_finds() {
    let mut failures = Vec::new();
    let mut weighted = texts(2, 400).weighted(3);
    weighted.weights.iter_mut().for_each(|weights| weights[5] = 0.0);
    for (problem, lambda) in [(texts(1, 400), 0.1), (weighted, 0.02), (texts(4, 60), 1.0)] {
        for (method, intercept) in METHODS.into_iter().flat_map(|method| [(method, false), (method, true)]) {
            let spec = Spec { intercept, ..spec(method, lambda) };
            let exact = Spec { solver: newton(), tol: 1e-10, ..spec.clone() }.fit(&problem.dense()).unwrap();
            let optimum = exact.certificate().objective;
            for data in [problem.csr(), problem.csr32()] {
                let found = spec.fit(&data).unwrap();
                let (certificate, training) = (found.certificate(), found.training());
                let (gap, bound) = (certificate.relative_gap().unwrap(), certificate.lower_bound.unwrap());
                let right = apart(certificate.objective, optimum) < 2e-7 && bound <= optimum && gap <= 1e-7;
                // With an intercept, weak penalties are soon left to Newton.
                let ran = training.solver == "dual" || (intercept && lambda < 0.1);
                if !ran || training.stop != Stop::Converged || !right {
                    failures.push(format!(
                        "{method:?} λ {lambda} intercept {intercept}: {training:?} {certificate:?}, not {optimum}"
                    ));
                }
            }
        }
    }
    none(&failures);
}

#[test]
fn descent_gives_the_same_bits_on_any_number_of_threads() {
    let data = texts(7, 2000).csr();
    for (method, intercept) in METHODS.into_iter().flat_map(|method| [(method, false), (method, true)]) {
        let fit = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let model = pool.install(|| Spec { intercept, ..spec(method, 0.1) }.fit(&data)).unwrap();
            assert_eq!(model.training().solver, "dual");
            theta(&model).iter().map(|w| w.to_bits()).collect::<Vec<u64>>()
        };
        assert!(fit(1) == fit(3), "{method:?}");
    }
}

#[test]
fn descent_that_is_interrupted_returns_what_it_has_with_a_bound_that_holds() {
    let data = texts(8, 500).csr();
    for (calls, intercept) in [(1, false), (30, false), (1, true), (30, true)] {
        let spec = Spec { intercept, ..spec(Method::Cs, 0.1) };
        let optimum = spec.fit(&data).unwrap().certificate().objective;
        let mut asked = 0;
        let found = spec.fit_watched(&data, None, &mut |_| {
            asked += 1;
            if asked < calls { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        let found = found.unwrap();
        assert_eq!((found.training().stop, asked), (Stop::Interrupted, calls));
        let certificate = found.certificate();
        assert!(certificate.objective >= optimum * (1.0 - 1e-7), "{certificate:?}");
        assert!(certificate.lower_bound.unwrap() <= optimum, "{certificate:?}");
        assert!(certificate.relative_gap().unwrap() < 1.0, "{certificate:?}");
    }
}

#[test]
fn descent_leaves_to_newton_what_would_take_too_long_and_what_asks_for_newton() {
    let solver = |model: &Model| model.training().solver.clone();
    // Few words and a weak penalty: thousands of passes would not do.
    let found = spec(Method::Cs, 1e-6).fit(&few_words(9).csr()).unwrap();
    assert_eq!((solver(&found).as_str(), found.training().stop), ("newton", Stop::Converged));
    let spec = spec(Method::Cs, 1e-3);
    // Hardly sparse at all.
    assert_eq!(solver(&spec.fit(&Problem::random(9, 300, 4, 3).csr()).unwrap()), "newton");
    let data = texts(10, 200).csr();
    assert_eq!(solver(&spec.fit(&data).unwrap()), "dual");
    assert_eq!(solver(&Spec { max_iter: Some(100), ..spec.clone() }.fit(&data).unwrap()), "newton");
    assert_eq!(
        solver(
            &Spec {
                intercept: true,
                penalty: Method::Cs.spec().with_usual_lambda().penalty.with_lambda(0.1),
                ..spec.clone()
            }
            .fit(&data)
            .unwrap()
        ),
        "dual"
    );
    assert_eq!(solver(&Spec { solver: newton(), ..spec.clone() }.fit(&data).unwrap()), "newton");
    assert_eq!(solver(&spec.fit(&texts(10, 200).dense()).unwrap()), "newton");
    // One-vs-rest has a descent of its own.
    assert_eq!(
        solver(&Spec { loss: Method::Ovr.spec().loss, scheme: Method::Ovr.spec().scheme, ..spec }.fit(&data).unwrap()),
        "dual"
    );
}

#[test]
fn descent_goes_on_from_other_weights_to_the_same_optimum() {
    let data = texts(11, 300).csr();
    let near = spec(Method::Ww, 0.2).fit(&data).unwrap();
    let cold = spec(Method::Ww, 0.1).fit(&data).unwrap();
    let warm = spec(Method::Ww, 0.1).fit_watched(&data, Some(&near), &mut |_| ControlFlow::Continue(())).unwrap();
    assert!(apart(cold.certificate().objective, warm.certificate().objective) < 2e-7);
    assert_eq!(warm.training().stop, Stop::Converged);
}

/// Without an intercept nothing of a bound is paid for it, however small ε is.
#[test]
fn without_an_intercept_a_tiny_epsilon_keeps_no_gap_open() {
    let problem = texts(12, 200);
    for method in [Method::Cs, Method::Ww, Method::Ovr] {
        for data in [problem.csr(), problem.dense()] {
            let spec = Spec { epsilon: 1e-19, tol: 1e-9, ..spec(method, 1.0) };
            let found = spec.fit(&data).unwrap();
            assert_eq!(
                found.training().stop,
                Stop::Converged,
                "{method:?} {:?} {:?}",
                found.training(),
                found.certificate()
            );
        }
    }
}

/// A row of weight 2 is a row that is there twice, whatever its class pulls at the intercept.
#[test]
fn weights_are_repetitions_with_an_intercept_in_the_dual() {
    let once = texts(13, 200);
    let twice = |i: usize| i % 5 == 2;
    let weights = (0..once.n).map(|i| if twice(i) { 2.0 } else { 1.0 }).collect();
    let rows: Vec<usize> = (0..once.n).chain((0..once.n).filter(|i| twice(*i))).collect();
    let x = rows.iter().flat_map(|i| once.x[i * once.d..(i + 1) * once.d].to_vec()).collect();
    let y = rows.iter().map(|i| once.y[*i]).collect();
    let repeated = Problem { n: rows.len(), x, y, ..texts(13, 200) };
    let weighted = Problem { weights: Some(weights), ..once };
    for method in [Method::Cs, Method::Ww, Method::Ovr] {
        let spec = Spec { intercept: true, ..spec(method, 0.1) };
        let fit = |problem: &Problem| spec.fit(&problem.csr()).unwrap();
        let (a, b) = (fit(&weighted), fit(&repeated));
        assert_eq!((a.training().solver.as_str(), b.training().solver.as_str()), ("dual", "dual"));
        assert!(apart(a.certificate().objective, b.certificate().objective) < 2e-7, "{method:?}");
    }
}
