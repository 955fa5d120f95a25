//! Products of one block of rows and sums over rows, on the calling thread. The one place to swap the linear-algebra backend.

mod narrow;
mod sparse;

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};

pub(crate) use self::sparse::Csr;

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

/// Numbers in a vector of any machine, at most.
const WIDEST_VECTOR: usize = 8;

/// Runs a product with the vectors that are best for a number of classes.
#[inline(always)]
fn for_few<P: pulp::WithSimd>(classes: usize, product: P) -> P::Output {
    // Vectors of eight numbers cost as much as two of four.
    #[cfg(target_arch = "x86_64")]
    if classes <= 4
        && let Some(simd) = pulp::x86::V3::try_new()
    {
        return pulp::Simd::vectorize(simd, product);
    }
    pulp::Arch::new().dispatch(product)
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
    // So many rows at a time: each alone would wait until the sum of the last one is written.
    const ROWS: usize = 4;
    let columns = out.len();
    if columns == 0 {
        return;
    }
    vectorised(
        #[inline(always)]
        || {
            unrolled(
                columns,
                #[inline(always)]
                |c| {
                    let out = &mut out[..c];
                    for g in g.chunks(ROWS * c) {
                        if g.len() < ROWS * c {
                            for row in g.chunks_exact(c) {
                                for k in 0..c {
                                    out[k] += row[k];
                                }
                            }
                            return;
                        }
                        let ((first, second), (third, fourth)) = (g.split_at(c), g[2 * c..].split_at(c));
                        for k in 0..c {
                            out[k] += (first[k] + second[k]) + (third[k] + fourth[k]);
                        }
                    }
                },
            );
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
pub(crate) fn dot_in_lanes<const LANES: usize>(x: &[f64], y: &[f64]) -> f64 {
    let mut lanes = [0.0; LANES];
    let ((xs, x), (ys, y)) = (x.as_chunks::<LANES>(), y.as_chunks::<LANES>());
    for (x, y) in xs.iter().zip(ys) {
        for l in 0..LANES {
            lanes[l] += x[l] * y[l];
        }
    }
    let mut tail = 0.0;
    for (x, y) in x.iter().zip(y) {
        tail += x * y;
    }
    in_pairs(
        lanes,
        #[inline(always)]
        |a, b| a + b,
    ) + tail
}

/// In pairs, pairs of pairs, and so on.
#[inline(always)]
fn in_pairs<const LANES: usize>(mut lanes: [f64; LANES], join: impl Fn(f64, f64) -> f64) -> f64 {
    let mut left = LANES;
    while left > 1 {
        left /= 2;
        for l in 0..left {
            lanes[l] = join(lanes[l], lanes[left + l]);
        }
    }
    lanes[0]
}

/// All numbers of a row joined, starting from `none`. For calls inside [`vectorised`].
#[inline(always)]
fn joined(x: &[f64], none: f64, join: impl Fn(f64, f64) -> f64) -> f64 {
    let mut lanes = [none; WIDEST_VECTOR];
    let (parts, rest) = x.as_chunks::<WIDEST_VECTOR>();
    for part in parts {
        for l in 0..WIDEST_VECTOR {
            lanes[l] = join(lanes[l], part[l]);
        }
    }
    let mut all = if parts.is_empty() { none } else { in_pairs(lanes, &join) };
    for x in rest {
        all = join(all, *x);
    }
    all
}

/// The sum of a row.
#[inline(always)]
pub(crate) fn sum(x: &[f64]) -> f64 {
    joined(
        x,
        0.0,
        #[inline(always)]
        |a, b| a + b,
    )
}

/// The largest number of a row; −∞ if there is none. What is no number is passed over.
#[inline(always)]
pub(crate) fn largest(x: &[f64]) -> f64 {
    // Not `max`, whose care for NaN costs more than the comparison.
    joined(
        x,
        f64::NEG_INFINITY,
        #[inline(always)]
        |a, b| if b > a { b } else { a },
    )
}
