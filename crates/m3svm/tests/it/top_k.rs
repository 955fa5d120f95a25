//! The top-k hinge: its exact form, its smoothing and what the smoothing must never do.

use m3svm::loss::TopKHinge;
use m3svm::penalty::{PairwiseRidge, Ridge};
use m3svm::{AnyPenalty, Loss, Method, Spec, Stop};

use crate::common::{Problem, Random, apart, dot, far, hinge, none, pairwise, spec, top_k};

/// The definition, by sorting.
fn by_sorting(k: usize, z: &[f64], y: usize) -> f64 {
    let mut a: Vec<f64> = (0..z.len()).map(|j| if j == y { 0.0 } else { 1.0 + z[j] - z[y] }).collect();
    a.sort_by(|a, b| b.total_cmp(a));
    (a[..k].iter().sum::<f64>() / k as f64).max(0.0)
}

/// Random score rows, some of them with ties, for every k < c.
fn each_row(mut check: impl FnMut(usize, &[f64], usize, &mut Random)) {
    let mut random = Random::new(17);
    for c in 2..7 {
        for round in 0..12 {
            let mut z: Vec<f64> = random.normals(c).iter().map(|v| 2.0 * v).collect();
            if round % 3 == 0 {
                z[0] = z[c - 1];
            }
            let y = random.below(c);
            for k in 1..c {
                check(k, &z, y, &mut random);
            }
        }
    }
}

#[test]
fn k_one_is_the_loss_of_crammer_and_singer() {
    each_row(|_, z, y, _| {
        let best = (0..z.len()).filter(|j| *j != y).map(|j| z[j]).fold(f64::NEG_INFINITY, f64::max);
        let value = TopKHinge::default().value_grad(z, y, &mut vec![0.0; z.len()]);
        assert!(apart(value, (1.0 + best - z[y]).max(0.0)) < 1e-15, "{z:?} {y}");
    });
}

#[test]
fn smoothing_only_raises_the_loss_and_vanishes_with_delta() {
    each_row(|k, z, y, _| {
        let exact = by_sorting(k, z, y);
        let mut dz = vec![0.0; z.len()];
        let own = TopKHinge { k, delta: 0.0 }.value_grad(z, y, &mut dz);
        assert!(apart(own, exact) < 1e-14, "k {k} {z:?} {y}: {own} {exact}");
        for delta in [10.0, 1.0, 0.1, 1e-3, 1e-6, 1e-10, 1e-14] {
            let value = TopKHinge { k, delta }.value_grad(z, y, &mut dz);
            let most = delta * z.len() as f64;
            assert!(value >= exact - 1e-14 && value <= exact + most + 1e-14, "k {k} δ {delta} {z:?}: {value} {exact}");
        }
    });
}

#[test]
fn slopes_at_any_width_are_dual_feasible_for_the_exact_loss() {
    each_row(|k, z, y, random| {
        let exact = TopKHinge { k, delta: 0.0 };
        for delta in [1.0, 1e-3, 1e-8, 1e-14, 0.0] {
            let mut dz = vec![0.0; z.len()];
            TopKHinge { k, delta }.value_grad(z, y, &mut dz);
            let others = || (0..z.len()).filter(|j| *j != y).map(|j| dz[j]);
            let (sum, top) = (others().sum::<f64>(), others().fold(0.0, f64::max));
            let label = format!("k {k} δ {delta} {z:?} {y}: {dz:?}");
            assert!(others().all(|a| a >= 0.0) && apart(dz[y], -sum) < 1e-15, "{label}");
            // A share of the true class that completes them exists if and only if these hold.
            assert!(sum <= 1.0 + 1e-14 && k as f64 * top <= 1.0 + 1e-14, "{label}");
            assert!((k as f64 - 1.0) * top <= sum + 1e-14, "{label}");
            // Hence the bound: ℓ(z′) − ⟨α, z′⟩ is nowhere below what the row adds to the certificate.
            let pay = exact.dual_value(z, y, 0.0, &dz);
            for scale in [0.1, 1.0, 10.0] {
                let other: Vec<f64> = random.normals(z.len()).iter().map(|v| scale * v).collect();
                assert!(pay <= by_sorting(k, &other, y) - dot(&dz, &other) + 1e-12, "{label} at {other:?}");
            }
        }
    });
}

#[test]
fn the_bound_of_a_smoothed_row_is_tight_at_its_own_slopes_and_valid_for_others() {
    each_row(|k, z, y, random| {
        for delta in [2.0, 0.3, 1e-2] {
            let loss = TopKHinge { k, delta };
            let mut dz = vec![0.0; z.len()];
            let value = loss.value_grad(z, y, &mut dz);
            let pay = loss.dual_value(z, y, value, &dz);
            let expected = value - dot(&dz, z);
            assert!(apart(pay, expected) < 1e-8, "k {k} δ {delta} {z:?} {y}: {pay} {expected}");
            let wide = TopKHinge { k, delta: 3.0 * delta };
            wide.value_grad(z, y, &mut dz);
            let pay = loss.dual_value(&[], y, 0.0, &dz);
            for scale in [0.1, 1.0, 10.0] {
                let other: Vec<f64> = random.normals(z.len()).iter().map(|v| scale * v).collect();
                let least = loss.value_grad(&other, y, &mut vec![0.0; z.len()]) - dot(&dz, &other);
                assert!(pay <= least + 1e-12, "k {k} δ {delta} {z:?} {y} at {other:?}: {pay} {least}");
            }
        }
    });
}

#[test]
fn slopes_that_a_row_can_have_are_those_of_the_state_made_for_them_and_others_become_feasible() {
    each_row(|k, z, y, random| {
        if k == 1 {
            return;
        }
        let (loss, c) = (TopKHinge { k, delta: 0.0 }, z.len());
        for round in 0..4 {
            let (mut slopes, mut found) = (vec![0.0; c], vec![0.0; c]);
            TopKHinge { k, delta: 0.3 }.value_grad(z, y, &mut slopes);
            let feasible = slopes.clone();
            if round > 0 {
                slopes.iter_mut().for_each(|a| *a += 0.3 * random.normal());
            }
            let mut dual: Vec<f64> = (0..loss.dual_len(c)).map(|_| 2.0 * random.uniform() - 1.0).collect();
            loss.dual_of_slopes(&slopes, y, &mut dual);
            assert!(dual.iter().all(|v| (-1.0..=1.0).contains(v)), "{dual:?}");
            loss.dual_slopes(&dual, y, &mut found);
            assert!(loss.dual_value(&[], y, 0.0, &found).is_finite(), "k {k} {slopes:?} {y}: {found:?}");
            if round == 0 {
                assert!(far(&feasible, &found) < 1e-14, "k {k} {y}: {feasible:?} {found:?}");
            }
        }
    });
}

#[test]
fn any_dual_state_stands_for_feasible_slopes() {
    each_row(|k, z, y, random| {
        let loss = TopKHinge { k, delta: 0.0 };
        for _ in 0..5 {
            let dual: Vec<f64> = (0..loss.dual_len(z.len())).map(|_| 2.0 * random.uniform() - 1.0).collect();
            let mut dz = vec![0.0; z.len()];
            loss.dual_slopes(&dual, y, &mut dz);
            let pay = loss.dual_value(&[], y, 0.0, &dz);
            for scale in [0.1, 1.0, 10.0] {
                let other: Vec<f64> = random.normals(z.len()).iter().map(|v| scale * v).collect();
                let least = by_sorting(k, &other, y) - dot(&dz, &other);
                assert!(pay <= least + 1e-12, "k {k} {dual:?} {y} at {other:?}: {pay} {least}");
            }
        }
    });
}

#[test]
fn the_primal_dual_curvature_is_the_hessian_where_the_duals_belong_to_the_point() {
    each_row(|_, z, y, _| {
        let loss = TopKHinge { k: 1, delta: 0.4 };
        let (c, mut dual) = (z.len(), vec![0.0; z.len()]);
        loss.value_grad(z, y, &mut dual);
        // ∂ℓ/∂z = α − e_y and α = (1 + v)/2.
        dual[y] += 1.0;
        dual.iter_mut().for_each(|v| *v = 2.0 * *v - 1.0);
        let (mut curvature, mut hessian) = (vec![0.0; c], vec![0.0; c]);
        loss.curvature_rows(z, &[y as u32], &dual, &mut curvature);
        loss.hessian_rows(z, &[y as u32], &mut hessian);
        assert!(far(&curvature, &hessian) < 1e-13, "{curvature:?} {hessian:?}");
    });
}

#[test]
fn k_is_checked_against_the_classes_of_the_data() {
    let data = Problem::iris().dense();
    let error = |loss| Spec::fit(&spec(loss, pairwise(1.0, 2.0)), &data).unwrap_err().to_string();
    assert_eq!(error(top_k(3, 0.0)), "`k` must be less than the number of classes, found 3 with 3 classes");
    assert_eq!(error(top_k(0, 0.0)), "`k` must be at least 1, found 0");
    assert_eq!(error(top_k(1, f64::NAN)), "`delta` must be a number from 0 to 1e6, found NaN");
    assert!(spec(top_k(2, 0.0), pairwise(1.0, 2.0)).fit(&data).is_ok());
}

/// Few rows with counts of many words, most of them 0, or few features.
fn small(seed: u64) -> (Problem, f64) {
    let mut random = Random::new(seed);
    let (n, c) = (20 + random.below(20), 3 + random.below(3));
    let d = [2, 5, 12, 60, 150][random.below(5)];
    let mut problem = Problem::random(seed, n, d, c);
    let counts = random.below(2) == 0;
    for x in &mut problem.x {
        let zero = random.uniform() < if d > 12 { 0.7 } else { 0.3 };
        *x = match (zero, counts) {
            (true, _) => 0.0,
            (false, true) => (x.abs() * 1.5).round(),
            (false, false) => *x,
        };
    }
    (problem, 10f64.powf(-3.0 + 4.0 * random.uniform()))
}

/// The intercept is hardly penalised, so that slopes which do not balance prove nothing.
#[test]
fn hinges_with_an_intercept_are_proven_on_small_problems_of_any_shape() {
    let scans: u64 = std::env::var("M3SVM_SCAN").map_or(60, |count| count.parse().unwrap());
    let mut failures = Vec::new();
    let mut proven = 0;
    for seed in 0..scans {
        let (problem, lambda) = small(seed);
        let ridge = AnyPenalty::Ridge(Ridge { lambda });
        let joint = |loss| spec(loss, ridge);
        let mut specs = vec![
            joint(top_k(2, 0.0)),
            joint(top_k(1, 0.0)),
            joint(hinge(0.0)),
            spec(hinge(0.0), AnyPenalty::PairwiseRidge(PairwiseRidge { lambda })),
            spec(top_k(2, 0.0), pairwise(lambda, 2.0)),
            Spec { penalty: ridge, scaling: m3svm::Scaling::None, ..Method::Ovr.spec().with_usual_lambda() },
            Spec { penalty: ridge, scaling: m3svm::Scaling::None, ..Method::Ovo.spec().with_usual_lambda() },
        ];
        if problem.c > 3 {
            specs.push(joint(top_k(3, 0.0)));
        }
        for spec in specs {
            for data in [problem.csr(), problem.dense()] {
                let model = spec.fit(&data).unwrap();
                let (certificate, training) = (model.certificate(), model.training());
                let gap = certificate.relative_gap().unwrap();
                proven += usize::from(gap <= 1e-8);
                if gap > 1e-8 || training.stop != Stop::Converged {
                    let (c, d) = (problem.c, problem.d);
                    let (loss, penalty) = (spec.loss, spec.penalty);
                    failures.push(format!("{seed} {c} classes, d {d}: {gap:e} {training:?} {loss:?} {penalty:?}"));
                }
            }
        }
    }
    eprintln!("{proven} proven");
    none(&failures);
}
