//! The top-k hinge: its exact form, its smoothing and what the smoothing must never do.

use m3svm::loss::TopKHinge;
use m3svm::{Loss, Spec};

use crate::common::{Problem, Random, apart, dot, far, pairwise, spec, top_k};

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
fn any_dual_state_stands_for_feasible_slopes() {
    each_row(|k, z, y, random| {
        let loss = TopKHinge { k, delta: 0.0 };
        for _ in 0..5 {
            let dual: Vec<f64> = (0..loss.dual_len(z.len())).map(|_| 2.0 * random.uniform() - 1.0).collect();
            let mut dz = vec![0.0; z.len()];
            assert!(loss.dual_slopes(&dual, y, &mut dz));
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
