//! `z += X·W` with so few classes that the scores of a row fit into one vector. General kernels are made for wide matrices: with 18
//! features and 4 classes they take twice as long.

use pulp::Simd;

use super::{WIDEST_VECTOR, for_few, unrolled};

/// Features up to which this is the faster way.
const MOST_COLS: usize = 64;

/// Rows side by side: enough sums that none waits for itself.
const ROWS_AT_A_TIME: usize = 8;

/// Does the product, or says that it is none for this kernel. Arguments are those of [`super::mul_add`].
pub(super) fn mul_add(x: &[f64], cols: usize, w: &[f64], classes: usize, z: &mut [f64]) -> bool {
    // Eight classes are what general kernels are best at.
    if !(1..=MOST_COLS).contains(&cols) || !(1..WIDEST_VECTOR).contains(&classes) {
        return false;
    }
    for_few(classes, NarrowProduct { x, cols, w, classes, z })
}

struct NarrowProduct<'a> {
    x: &'a [f64],
    cols: usize,
    w: &'a [f64],
    classes: usize,
    z: &'a mut [f64],
}

impl pulp::WithSimd for NarrowProduct<'_> {
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> bool {
        let Self { x, cols, w, classes, z } = self;
        let lanes = S::F64_LANES;
        if classes > lanes || lanes > WIDEST_VECTOR {
            return false;
        }
        let mut padded = [0.0; MOST_COLS * WIDEST_VECTOR];
        let padded = &mut padded[..cols * lanes];
        for (padded, w) in padded.chunks_exact_mut(lanes).zip(w.chunks_exact(classes)) {
            padded[..classes].copy_from_slice(w);
        }
        let w = &S::as_simd_f64s(padded).0[..cols];
        let mut scores = [0.0; ROWS_AT_A_TIME * WIDEST_VECTOR];
        let scores = &mut scores[..ROWS_AT_A_TIME * lanes];
        for (x, z) in x.chunks(ROWS_AT_A_TIME * cols).zip(z.chunks_mut(ROWS_AT_A_TIME * classes)) {
            let last = x.len() / cols - 1;
            let rows: [&[f64]; ROWS_AT_A_TIME] = std::array::from_fn(|r| &x[r.min(last) * cols..][..cols]);
            let mut sums = [simd.splat_f64s(0.0); ROWS_AT_A_TIME];
            for j in 0..cols {
                for r in 0..ROWS_AT_A_TIME {
                    sums[r] = simd.mul_add_f64s(simd.splat_f64s(rows[r][j]), w[j], sums[r]);
                }
            }
            S::as_mut_simd_f64s(scores).0.copy_from_slice(&sums);
            unrolled(
                classes,
                #[inline(always)]
                |classes| {
                    for (z, scores) in z.chunks_exact_mut(classes).zip(scores.chunks_exact(lanes)) {
                        z.iter_mut().zip(scores).for_each(|(z, s)| *z += s);
                    }
                },
            );
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_equal_plain_sums_for_any_shape() {
        for classes in 1..=WIDEST_VECTOR {
            for (rows, cols) in [(1, 1), (7, 3), (8, 18), (19, MOST_COLS), (5, MOST_COLS + 1)] {
                let x: Vec<f64> = (0..rows * cols).map(|i| (i * i % 23) as f64 - 11.0).collect();
                let w: Vec<f64> = (0..cols * classes).map(|i| (i * 7 % 13) as f64 - 6.0).collect();
                let mut z = vec![1.0; rows * classes];
                let sum = |i: usize, k: usize| (0..cols).map(|j| x[i * cols + j] * w[j * classes + k]).sum::<f64>();
                let expected: Vec<f64> =
                    (0..rows).flat_map(|i| (0..classes).map(move |k| (i, k))).map(|(i, k)| 1.0 + sum(i, k)).collect();
                let done = mul_add(&x, cols, &w, classes, &mut z);
                assert!(!done || (cols <= MOST_COLS && classes < WIDEST_VECTOR));
                #[cfg(target_arch = "x86_64")]
                if pulp::x86::V3::try_new().is_some() && cols <= MOST_COLS && classes <= 4 {
                    assert!(done, "{rows} x {cols}, {classes} classes");
                }
                if done {
                    assert_eq!(z, expected, "{rows} x {cols}, {classes} classes");
                } else {
                    assert!(z.iter().all(|z| *z == 1.0), "a product that is refused must not be begun");
                }
            }
        }
    }
}
