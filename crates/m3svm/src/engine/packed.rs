//! The products xₐx_b of all rows, made once per fit, or once for all fits on the same rows. Every Newton matrix is a weighted sum of
//! them, as long as they stay in the cache. Single precision takes half the time: features are rounded, and their products once more.

use std::sync::{Arc, OnceLock};

use pulp::Simd;
use rayon::prelude::*;

use super::in_memory::Curved;
use super::tuning::ENGINE;
use crate::lanes::Lanes;
use crate::linalg::{unrolled, vectorised};
use crate::risk::Risk;
use crate::workspace::Workspace;

/// Numbers that are summed side by side: four of the widest vectors of single precision.
const SPAN: usize = 64;

/// Numbers that are multiplied side by side when the products are made, and rows that are fetched at a time for it.
const VECTOR: usize = 16;
const BATCH: usize = 16;

/// The lower triangles of x̃x̃ᵀ of all rows, each packed column after column.
#[derive(Debug)]
pub(super) struct PackedProducts<T: Lanes> {
    width: usize,
    /// Where the numbers of each class begin, and where the last ones end.
    ends: Vec<usize>,
    /// Class by class, for every span of a packed triangle that span of all rows: memory is read from one end to the other.
    spans: Workspace<T>,
}

/// What fits on the same rows (with or without intercepts, all alike) have in common. Made by the first that asks.
#[derive(Debug, Default)]
pub(crate) struct SharedProducts {
    single: OnceLock<Arc<PackedProducts<f32>>>,
    double: OnceLock<Arc<PackedProducts<f64>>>,
}

impl SharedProducts {
    pub(super) fn single(&self) -> &OnceLock<Arc<PackedProducts<f32>>> {
        &self.single
    }

    pub(super) fn double(&self) -> &OnceLock<Arc<PackedProducts<f64>>> {
        &self.double
    }
}

/// Whether the triangles of so many rows are few enough to keep.
pub(super) fn fit_into_cache(width: usize, rows: usize) -> bool {
    rows * packed_len(width) <= ENGINE.packed
}

impl<T: Lanes> PackedProducts<T> {
    /// The products of the rows of each class.
    fn of(risk: &Risk<'_>, members: &[Vec<u32>], width: usize) -> Self {
        let len = packed_len(width);
        let mut ends = vec![0];
        members.iter().for_each(|rows| ends.push(ends[ends.len() - 1] + rows.len() * len));
        let mut spans = Workspace::of(ends[members.len()]);
        let (stride, room) = (width + VECTOR, len + VECTOR);
        let (mut some, mut packed) = (vec![0.0; BATCH * stride], vec![T::default(); BATCH * room]);
        let mut rounded = vec![T::default(); BATCH * stride];
        let x = risk.x.whole();
        for (rows, ends) in members.iter().zip(ends.windows(2)) {
            let (n, spans) = (rows.len(), &mut spans[ends[0]..ends[1]]);
            for (batch, rows) in rows.chunks(BATCH).enumerate() {
                risk.write_rows(&x, rows, stride, &mut some);
                vectorised(
                    #[inline(always)]
                    || {
                        for (to, from) in rounded.iter_mut().zip(&some) {
                            *to = T::rounded(*from);
                        }
                        pack(&rounded, width, &mut packed);
                    },
                );
                // All rows of the batch first: what has just been written in other pieces is slow to read.
                for (s, span) in spans.chunks_exact_mut(n * SPAN).enumerate() {
                    let to = span.chunks_exact_mut(SPAN).skip(batch * BATCH).take(rows.len());
                    to.zip(packed.chunks_exact(room))
                        .for_each(|(to, row)| to.copy_from_slice(&row[s * SPAN..][..SPAN]));
                }
            }
        }
        Self { width, ends, spans }
    }
}

/// Packs the triangles of a batch of rows with zeros after their last number, in whole vectors: what one column writes too much, the next
/// one writes over, and after the last one come zeros.
#[inline(always)]
fn pack<T: Lanes>(rows: &[T], width: usize, packed: &mut [T]) {
    let (stride, room) = (rows.len() / BATCH, packed.len() / BATCH);
    let mut first = 0;
    for j in 0..width {
        for done in (0..width - j).step_by(VECTOR) {
            // Rows are the inner loop: columns are too short for one.
            for (row, packed) in rows.chunks_exact(stride).zip(packed.chunks_exact_mut(room)) {
                let to = packed[first + done..].first_chunk_mut::<VECTOR>();
                let (Some(from), Some(to)) = (row[j + done..].first_chunk::<VECTOR>(), to) else { return };
                let mut products = [T::default(); VECTOR];
                for l in 0..VECTOR {
                    products[l] = row[j].times(from[l]);
                }
                *to = products;
            }
        }
        first += width - j;
    }
}

/// Numbers of a packed triangle, rounded up to whole spans.
fn packed_len(width: usize) -> usize {
    (width * (width + 1) / 2).next_multiple_of(SPAN)
}

/// Σᵢ hᵢₖ x̃ᵢx̃ᵢᵀ over the rows i of each class, for every other class k, from products.
pub(super) struct PackedSums<T: Lanes> {
    products: Arc<PackedProducts<T>>,
    classes: Vec<OfClass<T>>,
}

/// Sums over the rows of one class, and the weights they are made with.
#[derive(Clone, Default)]
struct OfClass<T> {
    weights: Vec<T>,
    packed: Vec<T>,
}

impl<T: Lanes> PackedSums<T> {
    /// With the products that other fits have made already, or will use.
    pub(super) fn new(
        risk: &Risk<'_>,
        members: &[Vec<u32>],
        width: usize,
        shared: Option<&OnceLock<Arc<PackedProducts<T>>>>,
    ) -> Self {
        let make = || Arc::new(PackedProducts::of(risk, members, width));
        let products = shared.map_or_else(make, |shared| Arc::clone(shared.get_or_init(make)));
        Self { products, classes: vec![OfClass::default(); members.len()] }
    }

    /// Adds up anew, on this thread alone where that is faster.
    pub(super) fn fill(&mut self, a: &Curved<'_>, members: &[Vec<u32>], alone: bool) {
        let Self { products, classes } = self;
        if alone {
            classes.iter_mut().enumerate().for_each(|(class, sums)| sums.fill(products, a, class, &members[class]));
        } else {
            let each = classes.par_iter_mut().enumerate();
            each.for_each(|(class, sums)| sums.fill(products, a, class, &members[class]));
        }
    }

    /// Writes the sum over both classes of a pair: a lower triangle in columns `stride` apart. What is above the diagonal stays.
    pub(super) fn write_pair(&self, k: usize, l: usize, stride: usize, out: &mut [f64]) {
        let (width, len) = (self.products.width, packed_len(self.products.width));
        let packed = |own: usize, other: usize| {
            let at = len * (other - usize::from(other > own));
            &self.classes[own].packed[at..at + len]
        };
        let (mut ours, mut theirs) = (packed(k, l), packed(l, k));
        for j in 0..width {
            let column = &mut out[j * stride + j..j * stride + width];
            let both = ours.iter().zip(theirs);
            column.iter_mut().zip(both).for_each(|(o, (a, b))| *o = a.widened() + b.widened());
            (ours, theirs) = (&ours[width - j..], &theirs[width - j..]);
        }
    }
}

impl<T: Lanes> OfClass<T> {
    /// All rows count: leaving some out would cost more than it saves.
    fn fill(&mut self, products: &PackedProducts<T>, a: &Curved<'_>, class: usize, rows: &[u32]) {
        let (c, len) = (a.risk.problem.classes, packed_len(products.width));
        self.weights.resize(rows.len() * (c - 1), T::default());
        let (before, weights) = (class, &mut self.weights[..]);
        unrolled(
            c - 1,
            #[inline(always)]
            |others| {
                for (&i, to) in rows.iter().zip(weights.chunks_exact_mut(others)) {
                    let h = &a.h[i as usize * c..(i as usize + 1) * c];
                    for k in 0..others {
                        to[k] = T::rounded(h[k + usize::from(k >= before)]);
                    }
                }
            },
        );
        // What is there already will be written over.
        self.packed.resize((c - 1) * len, T::default());
        let spans = &products.spans[products.ends[class]..products.ends[class + 1]];
        let (weights, packed) = (&self.weights[..], &mut self.packed[..]);
        pulp::Arch::new().dispatch(PackedSum { spans, rows: rows.len(), weights, others: c - 1, packed });
    }
}

struct PackedSum<'a, T> {
    spans: &'a [T],
    rows: usize,
    weights: &'a [T],
    others: usize,
    packed: &'a mut [T],
}

impl<T: Lanes> FewSums for PackedSum<'_, T> {
    /// Sums with `K` weights from `first` on. All sums of a span stay in registers.
    #[inline(always)]
    fn add<S: Simd, const K: usize>(&mut self, simd: S, first: usize) {
        const SIDE: usize = 4;
        let (spans, packed) = (T::vectors::<S>(self.spans), T::vectors_mut::<S>(self.packed));
        let (rows, per) = (self.rows, spans.len() * SPAN / self.spans.len());
        let len = packed.len() / self.others;
        for (s, span) in spans.chunks_exact(rows * per).enumerate() {
            for v in (0..per).step_by(SIDE) {
                let mut sums = [[T::splat(simd, T::default()); SIDE]; K];
                for (row, h) in span.chunks_exact(per).zip(self.weights.chunks_exact(self.others)) {
                    let (row, h) = (&row[v..v + SIDE], &h[first..first + K]);
                    for k in 0..K {
                        let h = T::splat(simd, h[k]);
                        (0..SIDE).for_each(|j| sums[k][j] = T::mul_add(simd, h, row[j], sums[k][j]));
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

impl<T: Lanes> pulp::WithSimd for PackedSum<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        if self.rows == 0 {
            self.packed.fill(T::default());
        } else {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_triangles_hold_all_products_and_zeros() {
        for width in [1, 2, 15, 16, 17, 33] {
            let (stride, len) = (width + VECTOR, packed_len(width));
            let value = |r: usize, j: usize| (r * width + j) as f64 + 1.0;
            let mut rows = vec![0.0; BATCH * stride];
            (0..BATCH).for_each(|r| (0..width).for_each(|j| rows[r * stride + j] = value(r, j)));
            let mut packed = vec![0.0; BATCH * (len + VECTOR)];
            pack(&rows, width, &mut packed);
            for (r, packed) in packed.chunks_exact(len + VECTOR).enumerate() {
                let pairs = (0..width).flat_map(|j| (j..width).map(move |k| (j, k)));
                let expected: Vec<f64> = pairs.map(|(j, k)| value(r, j) * value(r, k)).collect();
                assert_eq!(packed[..expected.len()], expected, "width {width}");
                assert!(packed[expected.len()..].iter().all(|p| *p == 0.0), "width {width}");
            }
        }
    }
}
