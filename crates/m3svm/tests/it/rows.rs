//! What a loss does to many rows at once is what it does to each of them.

use m3svm::loss::{SmoothHinge, TopKHinge};
use m3svm::{AnyLoss, Loss};

use crate::common::Random;

fn close(a: &[f64], b: &[f64], label: &str) {
    assert_eq!(a.len(), b.len(), "{label}");
    for (a, b) in a.iter().zip(b) {
        assert!((a - b).abs() <= 1e-13 * (1.0 + b.abs()), "{label}: {a} {b}");
    }
}

fn check(loss: &dyn Loss, m: usize, c: usize) {
    let label = format!("{loss:?}, {m} x {c}");
    let mut random = Random::new(3);
    let y: Vec<u32> = (0..m).map(|i| (i * 7 % c) as u32).collect();
    let z: Vec<f64> = (0..m * c).map(|_| 4.0 * random.uniform() - 2.0).collect();
    let step: Vec<f64> = (0..m * c).map(|_| random.uniform() - 0.5).collect();
    let (per, len) = (loss.dual_len(c), loss.shape().len(c));
    let dual: Vec<f64> = (0..m * per).map(|_| 1.8 * random.uniform() - 0.9).collect();

    let (mut slopes, mut values) = (vec![0.0; m * c], vec![0.0; m]);
    for i in 0..m {
        let row = i * c..(i + 1) * c;
        values[i] = loss.value_grad(&z[row.clone()], y[i] as usize, &mut slopes[row]);
    }
    let (mut dz, mut at_once) = (vec![0.0; m * c], vec![0.0; m]);
    loss.value_grad_rows(&z, &y, &mut dz, &mut at_once);
    close(&dz, &slopes, &label);
    close(&at_once, &values, &label);

    let mut dz = vec![7.0; m * c];
    let sum = loss.sum_grad_rows(&z, &y, &mut dz);
    close(&dz, &slopes, &label);
    close(&[sum], &[values.iter().sum()], &label);
    let sum = loss.sum_rows(&z, &y, &mut vec![7.0; m * c]);
    close(&[sum], &[values.iter().sum()], &label);

    let (mut dz, mut h, mut expected) = (vec![7.0; m * c], vec![7.0; m * len], vec![0.0; m * len]);
    let sum = loss.newton_rows(&z, &y, &dual, &mut dz, &mut h);
    loss.curvature_rows(&z, &y, &dual, &mut expected);
    close(&dz, &slopes, &label);
    close(&h, &expected, &label);
    close(&[sum], &[values.iter().sum()], &label);

    let mut followed = dual.clone();
    if loss.follow_rows(&dz, &h, &y, &step, &mut followed) {
        let mut moved = dual.clone();
        loss.dual_rows(&z, &y, &step, 1.0, &mut moved);
        // The variable of the true class means nothing.
        for (i, &y) in y.iter().enumerate() {
            followed[i * per + y as usize] = moved[i * per + y as usize];
        }
        close(&followed, &moved, &label);
    }

    let mut pays = values.clone();
    loss.dual_values(&z, &y, &slopes, &mut pays);
    for i in 0..m {
        let row = i * c..(i + 1) * c;
        let expected = loss.dual_value(&z[row.clone()], y[i] as usize, values[i], &slopes[row]);
        close(&[pays[i]], &[expected], &label);
    }
}

#[test]
fn many_rows_are_treated_like_single_ones() {
    for (m, c) in [(1, 2), (7, 3), (33, 5), (129, 4), (3, 513), (2, 1025)] {
        AnyLoss::examples()
            .iter()
            .filter(|loss| loss.top_k().is_none_or(|k| k < c))
            .for_each(|l| check(l.as_dyn(), m, c));
        for delta in [1e-6, 0.01] {
            check(&SmoothHinge { delta }, m, c);
        }
        (1..c.min(3)).for_each(|k| check(&TopKHinge { k, delta: 0.0 }, m, c));
    }
}

#[test]
fn scores_that_are_no_numbers_never_look_like_a_loss() {
    let exact = [AnyLoss::SmoothHinge(SmoothHinge { delta: 0.0 }), AnyLoss::TopKHinge(TopKHinge { k: 1, delta: 0.0 })];
    for loss in AnyLoss::examples().iter().chain(&exact) {
        for at in 0..3 {
            let mut z = [0.5, -1.0, 2.0];
            z[at] = f64::NAN;
            let (sum, mut room) = (loss.as_dyn().sum_rows(&z, &[1], &mut [0.0; 3]), [0.0; 3]);
            assert!(!sum.is_finite(), "{loss:?}, score {at}: {sum}");
            let value = loss.as_dyn().value_grad(&z, 1, &mut room);
            assert!(!value.is_finite(), "{loss:?}, score {at}: {value}");
        }
    }
}

#[test]
fn no_rows_are_nothing() {
    for loss in AnyLoss::examples() {
        let loss = loss.as_dyn();
        loss.value_grad_rows(&[], &[], &mut [], &mut []);
        loss.curvature_rows(&[], &[], &[], &mut []);
        assert_eq!(loss.sum_rows(&[], &[], &mut []), 0.0, "{loss:?}");
    }
}
