//! Cross-entropy of the softmax: with the pairwise penalty this is ISM3, with ridge multinomial logistic regression.

use serde::{Deserialize, Serialize};

use super::exponential::exp_of_negative;
use super::{Loss, Shape, classes};
use crate::linalg::{largest, sum, vectorised};
use crate::parameter::parameters;
use crate::rounding::of_sum;
use crate::tile::Tile;

/// ```text
/// ℓ(z, y) = log Σₖ exp(zₖ) − z_y
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Softmax {}

/// The largest score of a row, where it is, and Σ exp(z − that) of the others: their digits are kept where they are few.
#[derive(Clone, Copy, Default)]
struct Top {
    first: usize,
    score: f64,
    others: f64,
}

impl Top {
    #[inline(always)]
    fn of(z: &[f64]) -> Self {
        let score = largest(z);
        // What is no number is not found, and makes the sum of the others none.
        let first = z.iter().position(|z| *z == score).unwrap_or(0);
        Self { first, score, others: 0.0 }
    }

    /// ℓ(z, y).
    #[inline(always)]
    fn loss(&self, z: &[f64], y: u32) -> f64 {
        (self.score - z[y as usize]) + self.others.ln_1p()
    }

    /// Makes probabilities of powers.
    #[inline(always)]
    fn share(&self, powers: &mut [f64]) {
        let scale = 1.0 / (1.0 + self.others);
        for p in powers.iter_mut() {
            *p *= scale;
        }
        powers[self.first] = scale;
    }
}

/// Fills `powers` with exp(z − the largest of the row) for rows of `c` numbers, with 0 for the largest itself, and calls `each` with the
/// number of every row and its powers.
#[inline(always)]
fn powers(z: &[f64], c: usize, powers: &mut [f64], mut each: impl FnMut(usize, &Top, &mut [f64])) {
    // More rows at a time would not be faster.
    const MOST_ROWS: usize = 64;
    let few = Tile::rows(c).min(MOST_ROWS);
    let mut tops = [Top::default(); MOST_ROWS];
    for (part, (z, powers)) in z.chunks(few * c).zip(powers.chunks_mut(few * c)).enumerate() {
        for ((z, p), top) in z.chunks_exact(c).zip(powers.chunks_exact_mut(c)).zip(&mut tops) {
            *top = Top::of(z);
            for (p, z) in p.iter_mut().zip(z) {
                *p = z - top.score;
            }
            p[top.first] = f64::NEG_INFINITY;
        }
        for p in powers.iter_mut() {
            *p = exp_of_negative(*p);
        }
        for ((i, p), top) in powers.chunks_exact_mut(c).enumerate().zip(&mut tops) {
            top.others = sum(p);
            each(part * few + i, top, p);
        }
    }
}

/// Turns the scores of rows into probabilities.
fn probabilities(z: &[f64], c: usize, out: &mut [f64]) {
    vectorised(
        #[inline(always)]
        || {
            powers(
                z,
                c,
                out,
                #[inline(always)]
                |_, top, p| top.share(p),
            )
        },
    );
}

/// The slopes of a row from its probabilities. Not `q − 1` for the true class, which loses the digits of small slopes.
#[inline(always)]
fn slopes(y: u32, dz: &mut [f64]) {
    dz[y as usize] = 0.0;
    dz[y as usize] = -sum(dz);
}

/// −q ln q, and 0 where q is not above it.
pub(super) fn entropy(q: f64) -> f64 {
    if q > 0.0 { -q * q.ln() } else { 0.0 }
}

parameters!(Softmax {});

impl Loss for Softmax {
    fn value_grad(&self, z: &[f64], y: usize, dz: &mut [f64]) -> f64 {
        let mut value = [0.0];
        self.value_grad_rows(z, &[y as u32], dz, &mut value);
        value[0]
    }

    fn value_grad_rows(&self, z: &[f64], y: &[u32], dz: &mut [f64], values: &mut [f64]) {
        let c = classes(z, y);
        vectorised(
            #[inline(always)]
            || {
                powers(
                    z,
                    c,
                    dz,
                    #[inline(always)]
                    |i, top, p| {
                        values[i] = top.loss(&z[i * c..(i + 1) * c], y[i]);
                        top.share(p);
                        slopes(y[i], p);
                    },
                );
            },
        );
    }

    fn sum_rows(&self, z: &[f64], y: &[u32], room: &mut [f64]) -> f64 {
        let (c, mut total) = (classes(z, y), 0.0);
        vectorised(
            #[inline(always)]
            || {
                powers(
                    z,
                    c,
                    room,
                    #[inline(always)]
                    |i, top, _| total += top.loss(&z[i * c..(i + 1) * c], y[i]),
                );
            },
        );
        total
    }

    fn hess_vec(&self, z: &[f64], y: usize, v: &[f64], out: &mut [f64]) {
        let mut q = vec![0.0; z.len()];
        probabilities(z, z.len().max(1), &mut q);
        Shape::Simplex.apply_rows(&q, &[y as u32], v, out);
    }

    fn describe(&self) -> String {
        "softmax".into()
    }

    fn shape(&self) -> Shape {
        Shape::Simplex
    }

    fn curvature_rows(&self, z: &[f64], y: &[u32], _dual: &[f64], h: &mut [f64]) {
        probabilities(z, classes(z, y), h);
    }

    fn newton_rows(&self, z: &[f64], y: &[u32], _dual: &[f64], dz: &mut [f64], h: &mut [f64]) -> f64 {
        let (c, mut total) = (classes(z, y), 0.0);
        vectorised(
            #[inline(always)]
            || {
                powers(
                    z,
                    c,
                    h,
                    #[inline(always)]
                    |i, top, p| {
                        let row = i * c..(i + 1) * c;
                        total += top.loss(&z[row.clone()], y[i]);
                        top.share(p);
                        dz[row.clone()].copy_from_slice(p);
                        slopes(y[i], &mut dz[row]);
                    },
                );
            },
        );
        total
    }

    /// The entropy of the predicted probabilities, without the cancellation of `value − ⟨dz, z⟩` at confident rows.
    fn dual_value(&self, _z: &[f64], y: usize, _value: f64, dz: &[f64]) -> f64 {
        let others: f64 = dz.iter().enumerate().filter(|(k, _)| *k != y).map(|(_, q)| entropy(*q)).sum();
        // What is left to the true class is rounded, which matters where it is small; there the entropy rises with it.
        let own = 1.0 + dz[y];
        others + if own < 0.25 { entropy(own - of_sum(dz.len())) } else { -own * dz[y].ln_1p() }
    }

    fn has_probabilities(&self) -> bool {
        true
    }

    fn probabilities(&self, z: &mut [f64]) {
        if z.is_empty() {
            return;
        }
        let mut top = Top::of(z);
        for z in z.iter_mut() {
            *z = exp_of_negative(*z - top.score);
        }
        z[top.first] = 0.0;
        top.others = sum(z);
        top.share(z);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_what_the_definition_says() {
        for c in [2, 3, 8, 11, 70, 1500] {
            let rows = 150;
            let z: Vec<f64> = (0..rows * c).map(|i| (i * 37 % 101) as f64 / 7.0 - 6.0).collect();
            let y: Vec<u32> = (0..rows).map(|i| (i * 7 % c) as u32).collect();
            let (mut dz, mut values) = (vec![0.0; rows * c], vec![0.0; rows]);
            Softmax {}.value_grad_rows(&z, &y, &mut dz, &mut values);
            for i in 0..rows {
                let (row, own) = (&z[i * c..(i + 1) * c], y[i] as usize);
                let all: f64 = row.iter().map(|z| z.exp()).sum();
                assert!((values[i] - (all.ln() - row[own])).abs() < 1e-12, "{c} classes, row {i}");
                let mut shares = row.to_vec();
                Softmax {}.probabilities(&mut shares);
                for k in 0..c {
                    let share = row[k].exp() / all;
                    let slope = if k == own { share - 1.0 } else { share };
                    assert!((dz[i * c + k] - slope).abs() < 1e-13 && (shares[k] - share).abs() < 1e-13, "{c}: {i} {k}");
                }
            }
        }
    }

    #[test]
    fn by_hand_and_without_overflow() {
        let mut dz = [0.0; 2];
        let value = Softmax {}.value_grad(&[0.0, 3f64.ln()], 0, &mut dz);
        assert!((value - 4f64.ln()).abs() < 1e-15 && (dz[0] + 0.75).abs() < 1e-15 && (dz[1] - 0.75).abs() < 1e-15);
        let value = Softmax {}.value_grad(&[1e4, -1e4], 0, &mut dz);
        assert_eq!((value, dz), (0.0, [0.0, 0.0]));
        let value = Softmax {}.value_grad(&[1e4, -1e4], 1, &mut dz);
        assert_eq!((value, dz), (2e4, [1.0, -1.0]));
    }
}
