//! Matrices over classes, c×c: what the Newton matrix comes to where all features are taken for alike. All of them are Laplacians, sums
//! over pairs of classes, and take a step that is the same for all classes to 0.

use super::Matrix;
use super::cholesky::{factor, solve_factored};
use crate::interrupt::Heed;
use crate::penalty::{add_pair, pairs};

pub(super) fn trace(m: &[f64], c: usize) -> f64 {
    (0..c).map(|k| m[k * c + k]).sum()
}

/// The pair terms of the penalty, averaged over features.
pub(super) fn of_penalty(a: &Matrix<'_>) -> Vec<f64> {
    let (c, d) = (a.problem.classes, a.problem.features);
    let mut sum = vec![0.0; c * c];
    if a.penalty.scalar.is_empty() {
        return sum;
    }
    pairs(c, |pair, k, l| {
        if l == k + 1 && !a.problem.heed.go_on() {
            return;
        }
        let extra =
            a.penalty.diagonal.as_ref().map_or(0.0, |e| e[pair * d..(pair + 1) * d].iter().sum::<f64>() / d as f64);
        add_pair(&mut sum, c, k, l, a.penalty.scalar[pair] + extra);
    });
    sum
}

/// Adds `ridge`, and its mean diagonal entry along the mean of all classes, where centred steps have nothing; that entry.
pub(super) fn make_definite(m: &mut [f64], c: usize, ridge: f64) -> f64 {
    let scale = trace(m, c) / c as f64 + ridge;
    (0..c).for_each(|k| m[k * c + k] += ridge);
    m.iter_mut().for_each(|m| *m += scale / c as f64);
    scale
}

/// Inverse of a Laplacian plus `ridge` on the centred subspace (on the rest it is some positive number). Anything once the fit is interrupted.
pub(super) fn centred_inverse(mut m: Vec<f64>, c: usize, ridge: f64, heed: Heed<'_>) -> Vec<f64> {
    let mut inverse = vec![0.0; c * c];
    // With thousands of classes, a pass over what nobody is going to believe takes a while.
    if heed.is_stopped() {
        (0..c).for_each(|k| inverse[k * c + k] = 1.0);
        return inverse;
    }
    let scale = make_definite(&mut m, c, ridge);
    if factor(&mut m, c, heed) {
        for k in (0..c).take_while(|k| *k == 0 || heed.go_on()) {
            inverse[k * c + k] = 1.0;
            solve_factored(&m, c, &mut inverse[k * c..(k + 1) * c]);
        }
    } else {
        (0..c).for_each(|k| inverse[k * c + k] = 1.0 / scale);
    }
    inverse
}
