//! Changes of the data that must not change the result.

use std::collections::BTreeMap;

use m3svm::{AnyLoss, ClassWeight, Features, Model, Scaling, Spec, Stop};

use crate::common::{Problem, Random, apart, distance, far, hinge, pairwise, reach, spec, theta, top_k};

const EPSILON: f64 = 1e-3;

fn fits() -> Vec<Spec> {
    let mut all = Vec::new();
    for loss in [hinge(0.01), AnyLoss::examples()[1], AnyLoss::examples()[2], top_k(1, 0.0), top_k(2, 0.0)] {
        for (lambda, p) in [(0.05, 1.0), (0.02, 2.0), (0.01, 4.0)] {
            all.push(Spec { epsilon: EPSILON, tol: 1e-9, ..spec(loss, pairwise(lambda, p)) });
        }
    }
    all
}

fn same(a: &Model, b: &Model, label: &str) {
    same_within(1e-8, a, b, label);
}

fn same_within(tol: f64, a: &Model, b: &Model, label: &str) {
    let (x, y) = (a.certificate(), b.certificate());
    assert_eq!((a.training().stop, b.training().stop), (Stop::Converged, Stop::Converged), "{label}");
    assert!(apart(x.objective, y.objective) < tol, "{label}: {x:?} {y:?}");
}

fn same_parameters(a: &Model, b: &Model, label: &str) {
    same(a, b, label);
    let moved = distance(&theta(a), &theta(b));
    let most = reach(a.certificate(), EPSILON) + reach(b.certificate(), EPSILON);
    assert!(moved <= most, "{label}: {moved:e} {most:e}");
}

#[test]
fn rotating_the_features_rotates_the_weights() {
    let problem = Problem::random(81, 60, 5, 3);
    // Two reflections make a rotation.
    let mut turned = problem.clone();
    let mut random = Random::new(8);
    for _ in 0..2 {
        let axis = random.normals(5);
        let square: f64 = axis.iter().map(|v| v * v).sum();
        for row in turned.x.chunks_exact_mut(5) {
            let along: f64 = row.iter().zip(&axis).map(|(a, b)| a * b).sum();
            row.iter_mut().zip(&axis).for_each(|(r, a)| *r -= 2.0 * along / square * a);
        }
    }
    assert!(far(&problem.x, &turned.x) > 0.1);
    for spec in fits() {
        let label = format!("{:?} {:?}", spec.loss, spec.penalty);
        let (a, b) = (spec.fit(&problem.dense()).unwrap(), spec.fit(&turned.dense()).unwrap());
        same(&a, &b, &label);
        let (here, there) = (a.scores(problem.dense().x()).unwrap(), b.scores(turned.dense().x()).unwrap());
        assert!(far(&here, &there) < 1e-3, "{label}");
        let (here, there) = (a.predict(problem.dense().x()).unwrap(), b.predict(turned.dense().x()).unwrap());
        assert_eq!(here, there, "{label}");
    }
}

#[test]
fn integer_weights_are_repetitions() {
    for seed in 0..3 {
        let mut problem = Problem::random(90 + seed, 40, 3, 3);
        let mut random = Random::new(seed);
        let counts: Vec<usize> = (0..problem.n).map(|_| random.below(4)).collect();
        assert!(counts.contains(&0));
        let rows: Vec<usize> = (0..problem.n).flat_map(|i| vec![i; counts[i]]).collect();
        let repeated = problem.rows(&rows);
        problem.weights = Some(counts.iter().map(|k| *k as f64).collect());
        for spec in fits() {
            for scaling in [Scaling::None, Scaling::Standard] {
                let spec = Spec { scaling, ..spec.clone() };
                let label = format!("{:?} {:?} {scaling:?}", spec.loss, spec.penalty);
                let weighted = spec.fit(&problem.dense()).unwrap();
                let plain = spec.fit(&repeated.dense()).unwrap();
                same_parameters(&weighted, &plain, &label);
                assert!(apart(weighted.train_accuracy(), plain.train_accuracy()) < 1e-12, "{label}");
                let sparse = spec.fit(&problem.csr()).unwrap();
                same_parameters(&sparse, &spec.fit(&repeated.csr()).unwrap(), &label);
            }
        }
    }
}

#[test]
fn balanced_classes_are_explicit_weights() {
    let problem = Problem::random(95, 60, 3, 3);
    let rows: Vec<usize> = (0..60).filter(|i| problem.y[*i] != 1 || i % 2 == 0).collect();
    let problem = problem.rows(&rows);
    let mut counts = [0.0; 3];
    problem.y.iter().for_each(|y| counts[*y as usize] += 1.0);
    let weight = |k: usize| problem.n as f64 / (3.0 * counts[k]);
    let mut explicit = problem.clone();
    explicit.weights = Some(problem.y.iter().map(|y| weight(*y as usize)).collect());
    let names: BTreeMap<String, f64> = (0..3).map(|k| (k.to_string(), weight(k))).collect();
    for spec in fits() {
        let label = format!("{:?} {:?}", spec.loss, spec.penalty);
        let with = |class_weight| Spec { class_weight, ..spec.clone() };
        let balanced = with(ClassWeight::Balanced).fit(&problem.dense()).unwrap();
        same_parameters(&balanced, &spec.fit(&explicit.dense()).unwrap(), &label);
        let named = with(ClassWeight::Each(names.clone())).fit(&problem.dense()).unwrap();
        same_parameters(&balanced, &named, &label);
        let plain = spec.fit(&problem.dense()).unwrap();
        assert!(apart(plain.certificate().objective, balanced.certificate().objective) > 1e-3, "{label}");
    }
}

#[test]
fn scaling_can_be_folded_into_the_weights() {
    let problem = Problem::iris();
    for scaling in Scaling::ALL {
        for data in [problem.dense(), problem.csr()] {
            let spec = Spec { scaling, ..Spec::default().with_usual_lambda() };
            let model = spec.fit(&data).unwrap();
            let (w, b) = model.unscaled();
            let scaled = model.scaler().apply(data.x().view()).unwrap();
            let product = |x: &Features<'_>, w: &[f64], b: &[f64]| -> Vec<f64> {
                let mut z: Vec<f64> = (0..problem.n).flat_map(|_| b.to_vec()).collect();
                x.mul_add(0..problem.n, w, 3, &mut z);
                z
            };
            let expected = product(&scaled, model.weights(), model.intercept());
            let error = far(&product(data.x(), &w, &b), &expected);
            assert!(error < 1e-12, "{scaling:?}: {error:e}");
            assert!(far(&model.scores(data.x()).unwrap(), &expected) < 1e-12, "{scaling:?}");
        }
    }
}

#[test]
fn scaling_by_hand_is_the_scaling_of_the_fit() {
    let problem = Problem::iris();
    let by_hand = problem.clone().standardised();
    for spec in fits() {
        let label = format!("{:?} {:?}", spec.loss, spec.penalty);
        let standard = Spec { scaling: Scaling::Standard, ..spec.clone() };
        let (a, b) = (standard.fit(&problem.dense()).unwrap(), spec.fit(&by_hand.dense()).unwrap());
        same_parameters(&a, &b, &label);
    }
}

/// In other units the problem is the same one. Squares of these numbers may be out of reach of single precision.
#[test]
fn units_of_features_do_not_matter_however_odd() {
    // As tight as sums in single precision are used for. Closer to the optimum, and to each other, fits need not come.
    const TOL: f64 = 1e-7;
    let problem = Problem::random(83, 90, 4, 3);
    let fit = |unit: f64, last: f64| {
        let mut scaled = problem.clone();
        for row in scaled.x.chunks_exact_mut(problem.d) {
            row.iter_mut().for_each(|x| *x *= unit);
            row[problem.d - 1] *= last;
        }
        let square = unit * unit;
        let settings = spec(hinge(0.01), pairwise(1e-3 * square, 2.0));
        Spec { intercept: false, epsilon: 1e-4 * square, tol: TOL, ..settings }.fit(&scaled.dense()).unwrap()
    };
    for last in [1.0, 1e-4, 1e4] {
        let usual = fit(1.0, last);
        for unit in [1e-3, 1e10, 1e20, 1e25] {
            same_within(TOL, &usual, &fit(unit, last), &format!("unit {unit:e}, last feature {last:e}"));
        }
    }
}

/// Sums in single precision cannot tell features that differ in their seventh digit; steps from them must not be taken for good ones.
#[test]
fn features_that_are_nearly_the_same_do_not_mislead_a_loose_tolerance() {
    let mut problem = Problem::random(84, 120, 5, 3);
    let mut random = Random::new(85);
    for row in problem.x.chunks_exact_mut(5) {
        row[3] = row[1] + 1e-4 * random.normal();
        row[4] = row[2] + 1e-5 * random.normal();
    }
    for lambda in [1e-9, 1e-6, 1e-3] {
        let fit = |tol| {
            Spec { epsilon: 1e-9, tol, ..spec(hinge(0.01), pairwise(lambda, 2.0)) }.fit(&problem.dense()).unwrap()
        };
        let (loose, tight) = (fit(1e-6), fit(1e-8));
        assert_eq!(loose.training().stop, Stop::Converged, "{lambda:e}: {:?}", loose.certificate());
        let apart = loose.certificate().objective / tight.certificate().objective - 1.0;
        assert!(apart <= 1e-6, "{lambda:e}: {apart:e}");
        let (few, many) = (loose.training().iterations, tight.training().iterations);
        assert!(few <= many + 5, "{lambda:e}: {few} {many}");
    }
}
