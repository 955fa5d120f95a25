//! Products of one block of rows, on the calling thread. The one place to swap the linear-algebra backend.

mod narrow;

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};

/// How factorisations share out their work. A constant, not the number of threads: the split, and with it the rounding, must not
/// depend on the machine.
pub(crate) fn split() -> Par {
    Par::rayon(8)
}

/// Runs `f` compiled for the widest vectors of this machine. Mark the closure `#[inline(always)]`, or it is compiled for any machine.
pub(crate) fn vectorised(f: impl FnMut()) {
    struct Vectorised<F>(F);
    impl<F: FnMut()> pulp::WithSimd for Vectorised<F> {
        type Output = ();

        #[inline(always)]
        fn with_simd<S: pulp::Simd>(mut self, _simd: S) {
            (self.0)();
        }
    }
    pulp::Arch::new().dispatch(Vectorised(f));
}

/// Runs `f` on a number of classes, with the small ones known to the compiler: loops over a handful of numbers cost more than what
/// they do unless they are unrolled. Mark the closure `#[inline(always)]`.
#[inline(always)]
pub(crate) fn unrolled(classes: usize, mut f: impl FnMut(usize)) {
    match classes {
        2 => f(2),
        3 => f(3),
        4 => f(4),
        5 => f(5),
        6 => f(6),
        7 => f(7),
        8 => f(8),
        other => f(other),
    }
}

/// Writes `row` into every row of `out`, doubling what is there: short rows one by one are slow.
pub(crate) fn repeat_row(row: &[f64], out: &mut [f64]) {
    let mut done = row.len().min(out.len());
    out[..done].copy_from_slice(&row[..done]);
    while done > 0 && done < out.len() {
        let more = done.min(out.len() - done);
        out.copy_within(..more, done);
        done += more;
    }
}

/// Adds the sum of all rows of `g` to `out`.
pub(crate) fn add_rows(g: &[f64], out: &mut [f64]) {
    unrolled(
        out.len(),
        #[inline(always)]
        |c| {
            let out = &mut out[..c];
            g.chunks_exact(c).for_each(|row| out.iter_mut().zip(row).for_each(|(o, g)| *o += g));
        },
    );
}

/// `z += X·W` for dense row-major `x` (m×d), `w` (d×c), `z` (m×c).
pub(crate) fn mul_add(x: &[f64], cols: usize, w: &[f64], classes: usize, z: &mut [f64]) {
    if cols == 0 || z.is_empty() || narrow::mul_add(x, cols, w, classes, z) {
        return;
    }
    let rows = z.len() / classes;
    matmul(
        MatMut::from_row_major_slice_mut(z, rows, classes),
        Accum::Add,
        MatRef::from_row_major_slice(x, rows, cols),
        MatRef::from_row_major_slice(w, cols, classes),
        1.0,
        Par::Seq,
    );
}

/// `w += Xᵀ·G` for dense row-major `x` (m×d), `g` (m×c), `w` (d×c).
pub(crate) fn t_mul_add(x: &[f64], cols: usize, g: &[f64], classes: usize, w: &mut [f64]) {
    if cols == 0 || g.is_empty() {
        return;
    }
    let rows = g.len() / classes;
    matmul(
        MatMut::from_row_major_slice_mut(w, cols, classes),
        Accum::Add,
        MatRef::from_row_major_slice(x, rows, cols).transpose(),
        MatRef::from_row_major_slice(g, rows, classes),
        1.0,
        Par::Seq,
    );
}

/// `out += A·Bᵀ` for row-major `a` (m×d), `b` (n×d), `out` the n columns from `first` of a matrix with rows of `stride`.
pub(crate) fn cross_add(a: &[f64], b: &[f64], cols: usize, stride: usize, first: usize, out: &mut [f64]) {
    if cols == 0 || out.is_empty() {
        return;
    }
    let (rows, others) = (a.len() / cols, b.len() / cols);
    matmul(
        MatMut::from_row_major_slice_mut(out, rows, stride).subcols_mut(first, others),
        Accum::Add,
        MatRef::from_row_major_slice(a, rows, cols),
        MatRef::from_row_major_slice(b, others, cols).transpose(),
        1.0,
        Par::Seq,
    );
}

/// `z += X·W` for compressed rows.
pub(crate) fn csr_mul_add<F: Copy + Into<f64>>(
    indptr: &[usize],
    indices: &[u32],
    values: &[F],
    w: &[f64],
    classes: usize,
    z: &mut [f64],
) {
    vectorised(
        #[inline(always)]
        || {
            for (ends, z) in indptr.windows(2).zip(z.chunks_exact_mut(classes)) {
                let (indices, values) = (&indices[ends[0]..ends[1]], &values[ends[0]..ends[1]]);
                // The sums of a row stay in registers, as many classes at a time as fit.
                let mut at = 0;
                at = row_sums::<16, F>(indices, values, w, classes, at, z);
                at = row_sums::<8, F>(indices, values, w, classes, at, z);
                at = row_sums::<4, F>(indices, values, w, classes, at, z);
                at = row_sums::<2, F>(indices, values, w, classes, at, z);
                row_sums::<1, F>(indices, values, w, classes, at, z);
            }
        },
    );
}

/// Adds Σⱼ xⱼ wⱼ to `z` from class `at` on, `N` classes at a time while so many are left; returns the first class that is.
#[inline(always)]
fn row_sums<const N: usize, F: Copy + Into<f64>>(
    indices: &[u32],
    values: &[F],
    w: &[f64],
    classes: usize,
    mut at: usize,
    z: &mut [f64],
) -> usize {
    while at + N <= classes {
        let mut sums = [0.0; N];
        for (j, x) in indices.iter().zip(values) {
            let (x, from): (f64, usize) = ((*x).into(), *j as usize * classes + at);
            let w: &[f64; N] = w[from..].first_chunk().unwrap_or(&[0.0; N]);
            (0..N).for_each(|l| sums[l] += x * w[l]);
        }
        z[at..at + N].iter_mut().zip(&sums).for_each(|(z, s)| *z += s);
        at += N;
    }
    at
}

/// `w += Xᵀ·G` for compressed rows.
pub(crate) fn csr_t_mul_add<F: Copy + Into<f64>>(
    indptr: &[usize],
    indices: &[u32],
    values: &[F],
    g: &[f64],
    classes: usize,
    w: &mut [f64],
) {
    vectorised(
        #[inline(always)]
        || {
            for (ends, g) in indptr.windows(2).zip(g.chunks_exact(classes)) {
                for e in ends[0]..ends[1] {
                    let (j, x): (usize, f64) = (indices[e] as usize, values[e].into());
                    let row = &mut w[j * classes..(j + 1) * classes];
                    row.iter_mut().zip(g).for_each(|(w, g)| *w += x * g);
                }
            }
        },
    );
}

/// Vectors of so many numbers are worth the call of a function that is compiled for the widest registers.
const LONG: usize = 256;

/// `f` on every pair of numbers.
#[inline(always)]
fn each(y: &mut [f64], x: &[f64], f: impl Fn(&mut f64, f64)) {
    if y.len() < LONG {
        y.iter_mut().zip(x).for_each(|(y, x)| f(y, *x));
    } else {
        vectorised(
            #[inline(always)]
            || y.iter_mut().zip(x).for_each(|(y, x)| f(y, *x)),
        );
    }
}

/// `y += a·x`.
pub(crate) fn axpy(a: f64, x: &[f64], y: &mut [f64]) {
    each(
        y,
        x,
        #[inline(always)]
        |y, x| *y += a * x,
    );
}

/// `out = x + a·y`.
pub(crate) fn add_scaled(x: &[f64], a: f64, y: &[f64], out: &mut [f64]) {
    vectorised(
        #[inline(always)]
        || out.iter_mut().zip(x.iter().zip(y)).for_each(|(o, (x, y))| *o = x + a * y),
    );
}

/// `y = x + a·y`.
pub(crate) fn xpay(x: &[f64], a: f64, y: &mut [f64]) {
    each(
        y,
        x,
        #[inline(always)]
        |y, x| *y = x + a * *y,
    );
}

/// `⟨x, y⟩`, summed in fixed lanes.
pub(crate) fn dot(x: &[f64], y: &[f64]) -> f64 {
    if x.len() < LONG {
        return dot_in_lanes::<4>(x, y);
    }
    let mut sum = 0.0;
    vectorised(
        #[inline(always)]
        || sum = dot_in_lanes::<32>(x, y),
    );
    sum
}

#[inline(always)]
fn dot_in_lanes<const LANES: usize>(x: &[f64], y: &[f64]) -> f64 {
    let mut lanes = [0.0; LANES];
    let (xs, ys) = (x.chunks_exact(LANES), y.chunks_exact(LANES));
    let tail: f64 = xs.remainder().iter().zip(ys.remainder()).map(|(a, b)| a * b).sum();
    for (x, y) in xs.zip(ys) {
        (0..LANES).for_each(|l| lanes[l] += x[l] * y[l]);
    }
    // In pairs, pairs of pairs, and so on.
    let mut left = LANES;
    while left > 1 {
        left /= 2;
        (0..left).for_each(|l| lanes[l] += lanes[left + l]);
    }
    lanes[0] + tail
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sparse_products_equal_dense_ones_for_any_number_of_classes() {
        // 3×4 with an empty row.
        let dense = [0.0, 2.0, 0.0, -1.0, 0.0, 0.0, 0.0, 0.0, 3.0, 0.5, 4.0, 0.0];
        let (indptr, indices) = ([0, 2, 2, 5], [3, 1, 0, 2, 1]);
        let values = [-1.0, 2.0, 3.0, 4.0, 0.5];
        for c in 1..40 {
            let w: Vec<f64> = (0..4 * c).map(|i| (i * i % 7) as f64 - 2.0).collect();
            let g: Vec<f64> = (0..3 * c).map(|i| (i * 5 % 11) as f64 - 4.0).collect();
            let (mut sparse, mut expected) = (vec![1.0; 3 * c], vec![1.0; 3 * c]);
            csr_mul_add(&indptr, &indices, &values, &w, c, &mut sparse);
            mul_add(&dense, 4, &w, c, &mut expected);
            assert_eq!(sparse, expected, "{c} classes");
            let (mut sparse, mut expected) = (vec![1.0; 4 * c], vec![1.0; 4 * c]);
            csr_t_mul_add(&indptr, &indices, &values, &g, c, &mut sparse);
            t_mul_add(&dense, 4, &g, c, &mut expected);
            assert_eq!(sparse, expected, "{c} classes");
        }
    }
}
