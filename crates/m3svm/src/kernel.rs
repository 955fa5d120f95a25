//! Products of one block of rows, on the calling thread. The one place to swap the linear-algebra backend.

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};

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

/// `z += X·W` for dense row-major `x` (m×d), `w` (d×c), `z` (m×c).
pub(crate) fn mul_add(x: &[f64], cols: usize, w: &[f64], classes: usize, z: &mut [f64]) {
    if cols == 0 || z.is_empty() {
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
                let entries = indices[ends[0]..ends[1]].iter().zip(&values[ends[0]..ends[1]]);
                by_lanes(z, |at, lanes| {
                    for (j, x) in entries.clone() {
                        lanes.add((*x).into(), &w[*j as usize * classes + at..]);
                    }
                });
            }
        },
    );
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

/// Up to eight running sums that stay in registers.
struct Lanes {
    sums: [f64; 8],
    used: usize,
}

impl Lanes {
    #[inline(always)]
    fn add(&mut self, x: f64, w: &[f64]) {
        if let (8, Some(w)) = (self.used, w.first_chunk::<8>()) {
            (0..8).for_each(|l| self.sums[l] += x * w[l]);
        } else {
            self.sums[..self.used].iter_mut().zip(w).for_each(|(s, w)| *s += x * w);
        }
    }
}

/// Fills `z` eight numbers at a time: `f(offset, sums)` adds up, and the sums are added to `z`.
#[inline(always)]
fn by_lanes(z: &mut [f64], mut f: impl FnMut(usize, &mut Lanes)) {
    for (block, z) in z.chunks_mut(8).enumerate() {
        let mut lanes = Lanes { sums: [0.0; 8], used: z.len() };
        f(block * 8, &mut lanes);
        z.iter_mut().zip(&lanes.sums).for_each(|(z, s)| *z += s);
    }
}

/// `y += a·x`.
pub(crate) fn axpy(a: f64, x: &[f64], y: &mut [f64]) {
    y.iter_mut().zip(x).for_each(|(y, x)| *y += a * x);
}

/// `⟨x, y⟩`, summed in four fixed lanes.
pub(crate) fn dot(x: &[f64], y: &[f64]) -> f64 {
    let mut lanes = [0.0; 4];
    let (xs, ys) = (x.chunks_exact(4), y.chunks_exact(4));
    let tail: f64 = xs.remainder().iter().zip(ys.remainder()).map(|(a, b)| a * b).sum();
    for (x, y) in xs.zip(ys) {
        (0..4).for_each(|l| lanes[l] += x[l] * y[l]);
    }
    (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]) + tail
}
