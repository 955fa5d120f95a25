//! What a matrix must be to be that of a kernel.

use faer::{Mat, Side};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::Factor;
use crate::error::{Error, Result};
use crate::features::Features;
use crate::linalg::dot;

/// Differences of this size, relative to the largest value, are rounding.
const ASYMMETRY: f64 = 1e-8;

/// Refuses a matrix that is not square.
fn check_shape(x: &Features<'_>) -> Result<()> {
    let (expected, found) = (x.rows(), x.cols());
    let what = "columns of the precomputed kernel (one per training row)";
    if found == expected { Ok(()) } else { Err(Error::Shape { what, expected, found }) }
}

/// The values of the kernel of all rows, of which some are held out: those of some rows with the ones that are trained on.
pub(crate) fn columns_of(all: &Features<'_>, some: &Features<'_>, train: &[u32]) -> Result<Features<'static>> {
    check_shape(all)?;
    Ok(some.take_columns(train))
}

/// Refuses a matrix that is not square or not symmetric.
pub(super) fn check(x: &Features<'_>) -> Result<()> {
    check_shape(x)?;
    let n = x.rows();
    let mut top = 0.0f64;
    x.for_each_row(|_, row| row.for_each(|_, v| top = top.max(v.abs())));
    let (mut worst, mut at) = (0.0, (0, 0));
    // Tile by tile, so that both sides of the diagonal stay in the cache.
    const TILE: usize = 64;
    for first in (0..n).step_by(TILE) {
        for second in (0..=first).step_by(TILE) {
            for i in first..(first + TILE).min(n) {
                for j in second..(second + TILE).min(i) {
                    let difference = (x.get(i, j) - x.get(j, i)).abs();
                    if difference > worst {
                        (worst, at) = (difference, (i, j));
                    }
                }
            }
        }
    }
    if worst > ASYMMETRY * top {
        let what = format!(
            "row {}, column {} is {} and row {}, column {} is {}, expected a symmetric matrix",
            at.0 + 1,
            at.1 + 1,
            x.get(at.0, at.1),
            at.1 + 1,
            at.0 + 1,
            x.get(at.1, at.0)
        );
        return Err(Error::Kernel { what });
    }
    Ok(())
}

/// Refuses a matrix of which a factorisation to full rank leaves more than rounding: it has negative eigenvalues. `factor` has to be of all
/// rows that count.
pub(super) fn check_definite(x: &Features<'_>, weights: Option<&[f64]>, factor: &Factor) -> Result<()> {
    let (n, f) = (x.rows(), &factor.features);
    let counts = |i: usize| weights.is_none_or(|w| w[i] > 0.0);
    let top = (0..n).map(|i| x.get(i, i).abs()).fold(0.0, f64::max);
    let mut random = ChaCha8Rng::seed_from_u64(0);
    let suspicious = |random: &mut ChaCha8Rng| {
        // What is left, times a vector that knows nothing of it, is as long as what is left is large.
        let probe: Vec<f64> =
            (0..n).map(|i| if counts(i) { 2.0 * random.random::<f64>() - 1.0 } else { 0.0 }).collect();
        let (mut through, mut left) = (vec![0.0; f.cols()], vec![0.0; n]);
        f.t_mul_add(0..n, &probe, 1, &mut through);
        f.mul_add(0..n, &through.iter().map(|v| -v).collect::<Vec<f64>>(), 1, &mut left);
        x.mul_add(0..n, &probe, 1, &mut left);
        let left: Vec<f64> = left.iter().enumerate().map(|(i, v)| if counts(i) { *v } else { 0.0 }).collect();
        dot(&left, &left).sqrt() > ASYMMETRY * n as f64 * top.max(f64::MIN_POSITIVE)
    };
    if factor.full && (0..2).any(|_| suspicious(&mut random)) { refuse(x, weights) } else { Ok(()) }
}

/// Refuses a matrix with negative numbers on its diagonal, as a factorisation would not even begin.
pub(super) fn check_diagonal(x: &Features<'_>, weights: Option<&[f64]>) -> Result<()> {
    let n = x.rows();
    let top = (0..n).map(|i| x.get(i, i).abs()).fold(0.0, f64::max);
    let counts = |i: &usize| weights.is_none_or(|w| w[*i] > 0.0);
    if (0..n).filter(counts).any(|i| x.get(i, i) < -ASYMMETRY * top) { refuse(x, weights) } else { Ok(()) }
}

/// Refuses a matrix if it has negative eigenvalues, and says which.
fn refuse(x: &Features<'_>, weights: Option<&[f64]>) -> Result<()> {
    let n = x.rows();
    let counts = |i: usize| weights.is_none_or(|w| w[i] > 0.0);
    let kept: Vec<usize> = (0..n).filter(|&i| counts(i)).collect();
    let matrix = Mat::from_fn(kept.len(), kept.len(), |i, j| x.get(kept[i], kept[j]));
    let all = matrix.self_adjoint_eigenvalues(Side::Lower).unwrap_or_default();
    let (least, most) = all.iter().fold((0.0f64, 0.0f64), |(least, most), v| (least.min(*v), most.max(*v)));
    if least >= -ASYMMETRY * most {
        return Ok(());
    }
    let what = format!(
        "its smallest eigenvalue is {least:.3e} and its largest {most:.3e}, expected a positive semidefinite matrix"
    );
    Err(Error::Kernel { what })
}
