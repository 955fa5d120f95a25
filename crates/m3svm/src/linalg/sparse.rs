//! Products with compressed rows.

use pulp::Simd;

use super::{WIDEST_VECTOR, for_few};

/// Compressed rows.
pub(crate) struct Csr<'a, F> {
    pub(crate) indptr: &'a [usize],
    pub(crate) indices: &'a [u32],
    pub(crate) values: &'a [F],
}

impl<'a, F: Copy + Into<f64>> Csr<'a, F> {
    /// `z += X·W`.
    pub(crate) fn mul_add(self, w: &[f64], classes: usize, z: &mut [f64]) {
        for_few(classes, SparseProduct { x: self, w, classes, z });
    }

    /// `w += Xᵀ·G`.
    pub(crate) fn t_mul_add(self, g: &[f64], classes: usize, w: &mut [f64]) {
        for_few(classes, Transposed { x: self, g, classes, w });
    }

    #[inline(always)]
    fn rows(&self) -> impl Iterator<Item = (&'a [u32], &'a [F])> {
        let (indices, values) = (self.indices, self.values);
        self.indptr.windows(2).map(move |ends| (&indices[ends[0]..ends[1]], &values[ends[0]..ends[1]]))
    }
}

struct SparseProduct<'a, F> {
    x: Csr<'a, F>,
    w: &'a [f64],
    classes: usize,
    z: &'a mut [f64],
}

impl<F: Copy + Into<f64>> pulp::WithSimd for SparseProduct<'_, F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { x, w, classes, z } = self;
        for ((indices, values), z) in x.rows().zip(z.chunks_exact_mut(classes)) {
            let row = SparseRow { indices, values, w, classes };
            // The sums of a row stay in registers, as many classes at a time as fit.
            let mut at = 0;
            while at < classes {
                let z = &mut z[at..];
                at += match z.len().div_ceil(S::F64_LANES) {
                    1 => row.add::<S, 1, 4>(simd, at, z),
                    2 => row.add::<S, 2, 2>(simd, at, z),
                    // Fewer classes at a time would fetch the same rows of `w` again.
                    3 => row.add::<S, 3, 2>(simd, at, z),
                    _ => row.add::<S, 4, 2>(simd, at, z),
                };
            }
        }
    }
}

/// A row of X and what it is multiplied with.
struct SparseRow<'a, F> {
    indices: &'a [u32],
    values: &'a [F],
    w: &'a [f64],
    classes: usize,
}

impl<F: Copy + Into<f64>> SparseRow<'_, F> {
    /// Adds Σⱼ xⱼ wⱼ to the scores `z` of the class `at` and those after it, as many as fit into `V` vectors; returns how many do. Entries
    /// are shared out to `CHAINS` sums, so that none waits for itself.
    #[inline(always)]
    fn add<S: Simd, const V: usize, const CHAINS: usize>(&self, simd: S, at: usize, z: &mut [f64]) -> usize {
        let mut sums = [[simd.splat_f64s(0.0); V]; CHAINS];
        let (whole, rest) = self.indices.as_chunks::<CHAINS>();
        let (whole_values, rest_values) = self.values.as_chunks::<CHAINS>();
        for (j, x) in whole.iter().zip(whole_values) {
            for chain in 0..CHAINS {
                self.add_entry(simd, at, j[chain], x[chain], &mut sums[chain]);
            }
        }
        for (j, x) in rest.iter().zip(rest_values) {
            self.add_entry(simd, at, *j, *x, &mut sums[0]);
        }
        for v in 0..V {
            let sum = (1..CHAINS).fold(sums[0][v], |sum, chain| simd.add_f64s(sum, sums[chain][v]));
            let mut scores = [0.0; WIDEST_VECTOR];
            S::as_mut_simd_f64s(&mut scores[..S::F64_LANES]).0[0] = sum;
            z.iter_mut().skip(v * S::F64_LANES).zip(&scores[..S::F64_LANES]).for_each(|(z, s)| *z += s);
        }
        V * S::F64_LANES
    }

    /// What vectors hold beyond the classes of the entry goes into sums that nobody reads.
    #[inline(always)]
    fn add_entry<S: Simd, const V: usize>(&self, simd: S, at: usize, j: u32, x: F, sums: &mut [S::f64s; V]) {
        let x = simd.splat_f64s(x.into());
        let w = &self.w[j as usize * self.classes + at..];
        for v in 0..V {
            let w = &w[v * S::F64_LANES..];
            let w = match w.get(..S::F64_LANES) {
                Some(w) => S::as_simd_f64s(w).0[0],
                None => simd.partial_load_f64s(w),
            };
            sums[v] = simd.mul_add_e_f64s(x, w, sums[v]);
        }
    }
}

struct Transposed<'a, F> {
    x: Csr<'a, F>,
    g: &'a [f64],
    classes: usize,
    w: &'a mut [f64],
}

impl<F: Copy + Into<f64>> pulp::WithSimd for Transposed<'_, F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { x, g, classes, w } = self;
        for ((indices, values), g) in x.rows().zip(g.chunks_exact(classes)) {
            for (at, g) in g.chunks(S::F64_LANES).enumerate() {
                // Zeros beyond the last class: what vectors of `w` hold there stays as it is.
                let g = simd.partial_load_f64s(g);
                for (j, x) in indices.iter().zip(values) {
                    let x = simd.splat_f64s((*x).into());
                    let w = &mut w[*j as usize * classes + at * S::F64_LANES..];
                    match w.get_mut(..S::F64_LANES) {
                        Some(w) => {
                            let w = &mut S::as_mut_simd_f64s(w).0[0];
                            *w = simd.mul_add_e_f64s(x, g, *w);
                        }
                        None => {
                            let sum = simd.mul_add_e_f64s(x, g, simd.partial_load_f64s(w));
                            simd.partial_store_f64s(w, sum);
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{mul_add, t_mul_add};
    use super::*;

    #[test]
    fn sparse_products_equal_dense_ones_for_any_number_of_classes() {
        const ROWS: usize = 3;
        const COLS: usize = 31;
        // A row of many entries, one of none, and one with the last feature alone.
        let entry = |i: usize, j: usize| match i {
            0 if !j.is_multiple_of(3) => (j * j % 9) as f64 - 4.0,
            2 if j == COLS - 1 => 0.5,
            _ => 0.0,
        };
        let dense: Vec<f64> = (0..ROWS).flat_map(|i| (0..COLS).map(move |j| entry(i, j))).collect();
        let (mut indptr, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
        for row in dense.chunks_exact(COLS) {
            let entries = row.iter().enumerate().rev().filter(|(_, x)| **x != 0.0);
            entries.for_each(|(j, x)| {
                indices.push(j as u32);
                values.push(*x);
            });
            indptr.push(indices.len());
        }
        let x = || Csr { indptr: &indptr, indices: &indices, values: &values };
        for c in 1..40 {
            let w: Vec<f64> = (0..COLS * c).map(|i| (i * i % 7) as f64 - 2.0).collect();
            let g: Vec<f64> = (0..ROWS * c).map(|i| (i * 5 % 11) as f64 - 4.0).collect();
            let (mut sparse, mut expected) = (vec![1.0; ROWS * c], vec![1.0; ROWS * c]);
            x().mul_add(&w, c, &mut sparse);
            mul_add(&dense, COLS, &w, c, &mut expected);
            assert_eq!(sparse, expected, "{c} classes");
            let (mut sparse, mut expected) = (vec![1.0; COLS * c], vec![1.0; COLS * c]);
            x().t_mul_add(&g, c, &mut sparse);
            t_mul_add(&dense, COLS, &g, c, &mut expected);
            assert_eq!(sparse, expected, "{c} classes");
        }
    }
}
