//! The products xₐx_b of all rows, made once per fit, or once for all fits on the same rows. Every Newton matrix is a weighted sum of them, and as long as they
//! stay in the cache, adding them up costs less than half of making them anew.

use std::sync::{Arc, OnceLock};

use pulp::Simd;

use crate::risk::Risk;
use crate::spare::Spare;

/// Numbers that are summed side by side: four of the widest vectors.
const SPAN: usize = 32;

/// Most numbers kept for all classes together, 4 MB.
const MOST: usize = 1 << 19;

/// The lower triangles of x̃x̃ᵀ of all rows, each packed column after column.
#[derive(Debug)]
pub(super) struct Products {
    width: usize,
    /// Where the numbers of each class begin, and where the last ones end.
    ends: Vec<usize>,
    /// Class by class, for every span of a packed triangle that span of all rows: memory is read from one end to the other.
    spans: Spare,
}

/// What fits on the same rows (with or without intercepts, all alike) have in common. Made by the first that asks.
#[derive(Debug, Default)]
pub(crate) struct Shared(OnceLock<Arc<Products>>);

impl Shared {
    pub(super) fn products(&self, make: impl FnOnce() -> Arc<Products>) -> Arc<Products> {
        Arc::clone(self.0.get_or_init(make))
    }
}

impl Products {
    /// Whether the triangles of so many rows are few enough to keep.
    pub(super) fn fit_into_cache(width: usize, rows: usize) -> bool {
        rows * packed_len(width) <= MOST
    }

    /// The products of the rows of each class.
    pub(super) fn of(risk: &Risk<'_>, members: &[Vec<u32>], width: usize) -> Self {
        let len = packed_len(width);
        let mut ends = vec![0];
        members.iter().for_each(|rows| ends.push(ends[ends.len() - 1] + rows.len() * len));
        let mut spans = Spare::zeros(ends[members.len()]);
        let (mut row, mut packed) = (vec![0.0; width], vec![0.0; len]);
        let x = risk.x.whole();
        for (rows, ends) in members.iter().zip(ends.windows(2)) {
            let (n, spans) = (rows.len(), &mut spans[ends[0]..ends[1]]);
            for (at, &i) in rows.iter().enumerate() {
                risk.write_rows(&x, &[i], width, &mut row);
                let mut first = 0;
                for j in 0..width {
                    let column = &mut packed[first..first + width - j];
                    column.iter_mut().zip(&row[j..]).for_each(|(p, x)| *p = row[j] * x);
                    first += width - j;
                }
                for (s, part) in packed.chunks_exact(SPAN).enumerate() {
                    spans[(s * n + at) * SPAN..(s * n + at + 1) * SPAN].copy_from_slice(part);
                }
            }
        }
        Self { width, ends, spans }
    }

    /// Writes Σ h·x̃x̃ᵀ over the rows of a class, for each of the `others` weights h that every row has: lower triangles in columns
    /// `stride` apart.
    pub(super) fn sum(&self, class: usize, weights: &[f64], others: usize, stride: usize, out: &mut [f64]) {
        let len = packed_len(self.width);
        let mut packed = vec![0.0; others * len];
        let spans = &self.spans[self.ends[class]..self.ends[class + 1]];
        pulp::Arch::new().dispatch(Sum { spans, rows: spans.len() / len, weights, others, packed: &mut packed });
        for (packed, out) in packed.chunks_exact(len).zip(out.chunks_exact_mut(self.width * stride)) {
            let mut first = 0;
            for j in 0..self.width {
                let column = &packed[first..first + self.width - j];
                out[j * stride + j..j * stride + self.width].copy_from_slice(column);
                first += self.width - j;
            }
        }
    }
}

/// Numbers of a packed triangle, rounded up to whole spans.
fn packed_len(width: usize) -> usize {
    (width * (width + 1) / 2).next_multiple_of(SPAN)
}

struct Sum<'a> {
    spans: &'a [f64],
    rows: usize,
    weights: &'a [f64],
    others: usize,
    packed: &'a mut [f64],
}

impl FewSums for Sum<'_> {
    /// Sums with `K` weights from `first` on. All sums of a span stay in registers.
    #[inline(always)]
    fn add<S: Simd, const K: usize>(&mut self, simd: S, first: usize) {
        const SIDE: usize = 4;
        let (rows, per) = (self.rows, SPAN / S::F64_LANES);
        let (spans, _) = S::as_simd_f64s(self.spans);
        let (packed, _) = S::as_mut_simd_f64s(self.packed);
        let len = packed.len() / self.others;
        for (s, span) in spans.chunks_exact(rows * per).enumerate() {
            for v in (0..per).step_by(SIDE) {
                let mut sums = [[simd.splat_f64s(0.0); SIDE]; K];
                for (row, h) in span.chunks_exact(per).zip(self.weights.chunks_exact(self.others)) {
                    let (row, h) = (&row[v..v + SIDE], &h[first..first + K]);
                    for k in 0..K {
                        let h = simd.splat_f64s(h[k]);
                        (0..SIDE).for_each(|j| sums[k][j] = simd.mul_add_f64s(h, row[j], sums[k][j]));
                    }
                }
                for k in 0..K {
                    let at = (first + k) * len + s * per + v;
                    packed[at..at + SIDE].copy_from_slice(&sums[k]);
                }
            }
        }
    }
}

impl pulp::WithSimd for Sum<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        if self.rows > 0 {
            let others = self.others;
            self.add_all(simd, others);
        }
    }
}

/// Sums that are kept in registers, a few at a time.
pub(super) trait FewSums {
    /// Does `K` sums from `first` on.
    fn add<S: Simd, const K: usize>(&mut self, simd: S, first: usize);

    /// Does `count` sums, five at a time: there is no room in registers for more.
    #[inline(always)]
    fn add_all<S: Simd>(&mut self, simd: S, count: usize) {
        for first in (0..count).step_by(5) {
            match count - first {
                1 => self.add::<S, 1>(simd, first),
                2 => self.add::<S, 2>(simd, first),
                3 => self.add::<S, 3>(simd, first),
                4 => self.add::<S, 4>(simd, first),
                _ => self.add::<S, 5>(simd, first),
            }
        }
    }
}
