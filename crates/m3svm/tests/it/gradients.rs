//! Values, gradients and Hessian products of every loss × penalty × storage against finite differences and each other.

use m3svm::{AnyLoss, AnyPenalty, Dataset, Objective, Risk};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use crate::common::{Problem, Random, apart, dot, far, sees_shifts, table};

const EPSILON: f64 = 0.01;

/// A problem and a point at which no penalty has a kink: class vectors differ in every entry by 0.3 or more, and no entry is near 0.
#[derive(Clone, Debug)]
struct Case {
    problem: Problem,
    intercept: bool,
    theta: Vec<f64>,
    direction: Vec<f64>,
    seed: u64,
}

fn point(random: &mut Random, rows: usize, c: usize) -> Vec<f64> {
    let mut theta = Vec::with_capacity(rows * c);
    for _ in 0..rows {
        let place = random.permutation(c);
        let middle = c as f64 / 2.0;
        theta.extend(place.iter().map(|k| 0.5 * (*k as f64 - middle) + 0.05 + 0.15 * random.uniform()));
    }
    theta
}

fn case() -> impl Strategy<Value = Case> {
    (1usize..4, 1usize..5, 2usize..5, any::<bool>(), 0u64..1_000_000).prop_map(|(rounds, d, c, intercept, seed)| {
        // Values that single precision holds exactly, so that both precisions store the same table.
        let mut problem = Problem::random(seed, 2 * c * rounds, d, c).weighted(seed);
        problem.x.iter_mut().for_each(|v| *v = f64::from(*v as f32));
        let mut random = Random::new(seed + 1);
        let rows = d + usize::from(intercept);
        Case { theta: point(&mut random, rows, c), direction: random.normals(rows * c), problem, intercept, seed }
    })
}

fn few(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, rng_seed: RngSeed::Fixed(1), failure_persistence: None, ..ProptestConfig::default() }
}

fn eval(risk: &Risk<'_>, theta: &[f64]) -> (f64, Vec<f64>) {
    let mut grad = vec![f64::NAN; theta.len()];
    let value = risk.eval(theta, &mut grad);
    (value, grad)
}

/// The product of the Hessian with a vector, row by row.
fn hess_vec(case: &Case, loss: &AnyLoss, penalty: &AnyPenalty, v: &[f64]) -> Vec<f64> {
    let Problem { x, y, n, d, c, weights, .. } = &case.problem;
    let (theta, m) = (&case.theta, d * c);
    let mut out: Vec<f64> = v.iter().map(|v| 2.0 * EPSILON * v).collect();
    penalty.as_dyn().hess_vec(&theta[..m], *c, &v[..m], &mut out[..m]);
    for i in 0..*n {
        // The row with the 1 of the intercept, where there is one.
        let row = || x[i * d..(i + 1) * d].iter().copied().chain(case.intercept.then_some(1.0));
        let scores = |w: &[f64]| {
            (0..*c).map(|k| row().enumerate().map(|(j, x)| x * w[j * c + k]).sum::<f64>()).collect::<Vec<f64>>()
        };
        let mut bend = vec![f64::NAN; *c];
        loss.as_dyn().hess_vec(&scores(theta), y[i] as usize, &scores(v), &mut bend);
        let weight = weights.as_ref().map_or(1.0, |weights| weights[i]);
        for (j, x) in row().enumerate() {
            (0..*c).for_each(|k| out[j * c + k] += weight * x * bend[k]);
        }
    }
    out
}

fn moved(theta: &[f64], t: f64, v: &[f64]) -> Vec<f64> {
    theta.iter().zip(v).map(|(a, b)| a + t * b).collect()
}

/// Runs `check` on every loss × penalty.
fn each(case: &Case, data: &Dataset<'_>, check: impl Fn(&Risk<'_>, &AnyLoss, &AnyPenalty)) {
    for (loss, penalty) in table() {
        let risk = Risk::new(data, loss.as_dyn(), penalty.as_dyn(), EPSILON, case.intercept);
        assert_eq!((risk.dim(), risk.terms()), (case.theta.len(), case.problem.n));
        check(&risk, &loss, &penalty);
    }
}

fn stores(problem: &Problem) -> [Dataset<'static>; 4] {
    [problem.dense(), problem.csr(), problem.dense32(), problem.csr32()]
}

proptest! {
    #![proptest_config(few(24))]

    #[test]
    fn gradients_are_the_slopes_of_values(case in case()) {
        const H: f64 = 1e-5;
        for data in stores(&case.problem) {
            each(&case, &data, |risk, loss, penalty| {
                let (_, grad) = eval(risk, &case.theta);
                for j in 0..case.theta.len() {
                    let mut unit = vec![0.0; case.theta.len()];
                    unit[j] = 1.0;
                    let (up, _) = eval(risk, &moved(&case.theta, H, &unit));
                    let (down, _) = eval(risk, &moved(&case.theta, -H, &unit));
                    let slope = (up - down) / (2.0 * H);
                    assert!(apart(slope, grad[j]) < 1e-7, "{loss:?} {penalty:?} entry {j}: {slope} {}", grad[j]);
                }
            });
        }
    }

    #[test]
    fn hessian_products_are_the_slopes_of_gradients(case in case()) {
        const H: f64 = 1e-5;
        for data in stores(&case.problem) {
            each(&case, &data, |risk, loss, penalty| {
                let product = hess_vec(&case, loss, penalty, &case.direction);
                let (_, up) = eval(risk, &moved(&case.theta, H, &case.direction));
                let (_, down) = eval(risk, &moved(&case.theta, -H, &case.direction));
                let slope: Vec<f64> = up.iter().zip(&down).map(|(a, b)| (a - b) / (2.0 * H)).collect();
                let error = far(&slope, &product);
                assert!(error < 1e-6, "{loss:?} {penalty:?}: {error:e}\n{slope:?}\n{product:?}");
            });
        }
    }

    #[test]
    fn hessians_are_symmetric_and_of_convex_sums_positive(case in case()) {
        let data = case.problem.dense();
        let other = Random::new(case.seed + 2).normals(case.theta.len());
        each(&case, &data, |_, loss, penalty| {
            let product = hess_vec(&case, loss, penalty, &case.direction);
            let mirrored = hess_vec(&case, loss, penalty, &other);
            let (a, b) = (dot(&other, &product), dot(&case.direction, &mirrored));
            assert!(apart(a, b) < 1e-12, "{loss:?} {penalty:?}: {a} {b}");
            let bend = dot(&case.direction, &product);
            assert!(bend > 0.0 || !penalty.as_dyn().convex(), "{loss:?} {penalty:?}: {bend}");
        });
    }

    #[test]
    fn storage_and_precision_do_not_matter(case in case()) {
        let [dense, sparse, dense32, sparse32] = stores(&case.problem);
        each(&case, &dense, |risk, loss, penalty| {
            let make = |data| -> Vec<f64> {
                let risk = Risk::new(data, loss.as_dyn(), penalty.as_dyn(), EPSILON, case.intercept);
                let (value, mut all) = eval(&risk, &case.theta);
                all.push(value);
                all
            };
            let (value, mut all) = eval(risk, &case.theta);
            all.push(value);
            let from_sparse = make(&sparse);
            assert!(far(&all, &from_sparse) < 1e-13, "{loss:?} {penalty:?} sparse");
            assert_eq!(all, make(&dense32), "{loss:?} {penalty:?} dense f32");
            assert_eq!(from_sparse, make(&sparse32), "{loss:?} {penalty:?} sparse f32");
        });
    }

    #[test]
    fn a_shift_of_all_scores_costs_nothing(case in case(), shift in -5.0..5.0f64) {
        let c = case.problem.c;
        let mut random = Random::new(case.seed + 3);
        for loss in AnyLoss::examples() {
            let z = random.normals(c);
            let far_away: Vec<f64> = z.iter().map(|z| z + shift).collect();
            for y in 0..c {
                let (mut a, mut b) = (vec![f64::NAN; c], vec![f64::NAN; c]);
                let here = loss.as_dyn().value_grad(&z, y, &mut a);
                let there = loss.as_dyn().value_grad(&far_away, y, &mut b);
                prop_assert!(loss.as_dyn().shift_invariant());
                prop_assert!(apart(here, there) < 1e-13 && far(&a, &b) < 1e-13, "{loss:?}");
                prop_assert!(a.iter().sum::<f64>().abs() < 1e-13, "{loss:?}");
            }
        }
        // The same for whole class vectors; only ridge, lasso and ε see the shift.
        let shifted: Vec<f64> = case.theta.chunks_exact(c)
            .flat_map(|row| { let t = random.normal(); row.iter().map(move |v| v + t) }).collect();
        let data = case.problem.dense();
        for (loss, penalty) in table() {
            if sees_shifts(&penalty) {
                continue;
            }
            let risk = Risk::new(&data, loss.as_dyn(), penalty.as_dyn(), 0.0, case.intercept);
            let (here, a) = eval(&risk, &case.theta);
            let (there, b) = eval(&risk, &shifted);
            prop_assert!(apart(here, there) < 1e-12 && far(&a, &b) < 1e-11, "{loss:?} {penalty:?}");
        }
    }

    #[test]
    fn permuting_the_classes_permutes_everything(case in case()) {
        let c = case.problem.c;
        let place = Random::new(case.seed + 4).permutation(c);
        let permuted = |theta: &[f64]| -> Vec<f64> {
            let mut out = vec![0.0; theta.len()];
            for (row, to) in theta.chunks_exact(c).zip(out.chunks_exact_mut(c)) {
                (0..c).for_each(|k| to[place[k]] = row[k]);
            }
            out
        };
        let mut problem = case.problem.clone();
        problem.y.iter_mut().for_each(|y| *y = place[*y as usize] as u32);
        let (data, renamed) = (case.problem.dense(), problem.dense());
        each(&case, &data, |risk, loss, penalty| {
            let other = Risk::new(&renamed, loss.as_dyn(), penalty.as_dyn(), EPSILON, case.intercept);
            let (value, grad) = eval(risk, &case.theta);
            let (same, same_grad) = eval(&other, &permuted(&case.theta));
            assert!(apart(value, same) < 1e-13, "{loss:?} {penalty:?}");
            assert!(far(&permuted(&grad), &same_grad) < 1e-13, "{loss:?} {penalty:?}");
        });
    }

    #[test]
    fn batches_estimate_without_bias(case in case()) {
        let n = case.problem.n;
        let order: Vec<u32> = Random::new(case.seed + 5).permutation(n).iter().map(|i| *i as u32).collect();
        for data in [case.problem.dense(), case.problem.csr32()] {
            each(&case, &data, |risk, loss, penalty| {
                let (value, grad) = eval(risk, &case.theta);
                for parts in [1, 2, n] {
                    let (mut mean, mut mean_grad) = (0.0, vec![0.0; grad.len()]);
                    for rows in order.chunks(n / parts) {
                        let mut part = vec![f64::NAN; grad.len()];
                        mean += risk.eval_rows(rows, &case.theta, &mut part) / parts as f64;
                        mean_grad.iter_mut().zip(&part).for_each(|(m, g)| *m += g / parts as f64);
                    }
                    assert!(apart(value, mean) < 1e-12, "{loss:?} {penalty:?} {parts} parts: {value} {mean}");
                    assert!(far(&grad, &mean_grad) < 1e-12, "{loss:?} {penalty:?} {parts} parts");
                }
            });
        }
    }
}
