//! Sums of outer products, one per other class at the same time. A row of class y enters every pair (y, k) with another weight hₖ but the
//! same x̃x̃ᵀ; narrow rows are dominated by overhead unless the products xₐx_b are made once and used for all k.

use pulp::Simd;

use super::in_memory::Curved;
use super::packed::FewSums;
use crate::features::Window;

/// Rows that are added together, so many that they and their weights stay in the fastest cache.
const CLASS_ROWS: usize = 32;

/// Σᵢ hᵢₖ x̃ᵢx̃ᵢᵀ over the rows i of one class, for every other class k.
#[derive(Default)]
pub(super) struct ClassSums {
    class: usize,
    width: usize,
    stride: usize,
    sums: Vec<f64>,
    /// Rows that come next, those that have come, and the weights of both.
    rows: Vec<u32>,
    panel: Vec<f64>,
    filled: usize,
    weights: Vec<f64>,
}

impl ClassSums {
    /// Numbers between columns of a sum: the width, rounded up to whole vectors.
    pub(super) fn stride(width: usize) -> usize {
        width.next_multiple_of(8)
    }

    /// Begins with no rows.
    pub(super) fn begin(&mut self, classes: usize, class: usize, width: usize) {
        (self.class, self.width, self.stride, self.filled) = (class, width, Self::stride(width), 0);
        self.sums.clear();
        self.sums.resize((classes - 1) * width * self.stride, 0.0);
        self.panel.resize(CLASS_ROWS * self.stride, 0.0);
        self.weights.resize(CLASS_ROWS * (classes - 1), 0.0);
    }

    /// Adds the rows of the class that are in a window, leaving out those without a weight above `cut`.
    pub(super) fn feed(&mut self, a: &Curved<'_>, x: &Window<'_>, rows: &[u32], cut: f64) {
        let (c, class) = (a.risk.problem.classes, self.class);
        for &i in x.of(rows) {
            let h = &a.h[i as usize * c..(i as usize + 1) * c];
            if h.iter().all(|h| *h <= cut) {
                continue;
            }
            let at = self.filled + self.rows.len();
            let others = &mut self.weights[at * (c - 1)..(at + 1) * (c - 1)];
            others[..class].copy_from_slice(&h[..class]);
            others[class..].copy_from_slice(&h[class + 1..]);
            self.rows.push(i);
            if at + 1 == CLASS_ROWS {
                self.settle(a, x);
                if a.risk.problem.heed.go_on() {
                    self.add();
                }
                self.filled = 0;
            }
        }
        self.settle(a, x);
    }

    /// Adds the rows that are left in the panel.
    pub(super) fn end(&mut self, classes: usize) {
        // An odd row is followed by one of weight 0.
        self.weights[self.filled * (classes - 1)..].fill(0.0);
        self.filled = self.filled.next_multiple_of(2);
        self.add();
    }

    fn settle(&mut self, a: &Curved<'_>, x: &Window<'_>) {
        a.risk.write_rows(x, &self.rows, self.stride, &mut self.panel[self.filled * self.stride..]);
        self.filled += self.rows.len();
        self.rows.clear();
    }

    fn add(&mut self) {
        let Self { width, stride, ref mut sums, ref panel, ref weights, filled, .. } = *self;
        let panel = &panel[..filled * stride];
        pulp::Arch::new().dispatch(AddRows { width, stride, panel, weights, sums });
        self.filled = 0;
    }

    /// The sum for another class: a lower triangle in columns that are [`ClassSums::stride`] apart. What is above the diagonal is
    /// arbitrary.
    pub(super) fn of(&mut self, other: usize) -> &mut [f64] {
        let (size, k) = (self.width * self.stride, other - usize::from(other > self.class));
        &mut self.sums[k * size..(k + 1) * size]
    }
}

/// Adds an even number of rows to all sums.
struct AddRows<'a> {
    width: usize,
    stride: usize,
    panel: &'a [f64],
    weights: &'a [f64],
    sums: &'a mut [f64],
}

impl FewSums for AddRows<'_> {
    /// Adds to `K` sums from `first` on. Their vectors stay in registers over all rows, twice, so that additions need not wait for each
    /// other.
    #[inline(always)]
    fn add<S: Simd, const K: usize>(&mut self, simd: S, first: usize) {
        let (rows, _) = S::as_simd_f64s(self.panel);
        let (sums, _) = S::as_mut_simd_f64s(self.sums);
        let (width, stride, per) = (self.width, self.stride, self.stride / S::F64_LANES);
        let others = sums.len() / (width * per);
        for column in 0..width {
            for v in column / S::F64_LANES..per {
                let (mut even, mut odd) = ([simd.splat_f64s(0.0); K], [simd.splat_f64s(0.0); K]);
                let pairs = self.panel.chunks_exact(2 * stride).zip(rows.chunks_exact(2 * per));
                for ((x, row), h) in pairs.zip(self.weights.chunks_exact(2 * others)) {
                    let a = simd.mul_f64s(simd.splat_f64s(x[column]), row[v]);
                    let b = simd.mul_f64s(simd.splat_f64s(x[stride + column]), row[per + v]);
                    let (h, g) = (&h[first..first + K], &h[others + first..others + first + K]);
                    for k in 0..K {
                        even[k] = simd.mul_add_f64s(simd.splat_f64s(h[k]), a, even[k]);
                        odd[k] = simd.mul_add_f64s(simd.splat_f64s(g[k]), b, odd[k]);
                    }
                }
                for k in 0..K {
                    let sum = &mut sums[((first + k) * width + column) * per + v];
                    *sum = simd.add_f64s(*sum, simd.add_f64s(even[k], odd[k]));
                }
            }
        }
    }
}

impl pulp::WithSimd for AddRows<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let others = self.sums.len() / (self.width * self.stride);
        self.add_all(simd, others);
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::super::packed::PackedSums;
    use super::*;
    use crate::loss::{Shape, SmoothHinge};
    use crate::penalty::NoPenalty;
    use crate::{Dataset, Features, Risk};

    #[test]
    fn sums_of_classes_are_what_the_definition_says() {
        let (n, d) = (75, 10);
        for c in [2, 3, 6, 7, 13] {
            let x: Vec<f64> = (0..n * d).map(|i| (i * 37 % 101) as f64 / 50.0 - 1.0).collect();
            let y: Vec<String> = (0..n).map(|i| (i % c).to_string()).collect();
            let data = Dataset::from_labels(Features::dense(x, n, d).unwrap(), &y).unwrap();
            let risk = Risk::new(&data, &SmoothHinge { delta: 0.1 }, &NoPenalty {}, 1e-6, true);
            let h: Vec<f64> = (0..n * c).map(|i| (i * 29 % 31) as f64).collect();
            let a = Curved { risk: &risk, shape: Shape::Star, h: &h };
            let mut members = vec![Vec::new(); c];
            data.y().iter().enumerate().for_each(|(i, k)| members[*k as usize].push(i as u32));
            let x = |row: u32, j: usize| if j < d { data.x().get(row as usize, j) } else { 1.0 };
            let expected = |own: usize, other: usize, i: usize, j: usize| -> f64 {
                members[own].iter().map(|&r| h[r as usize * c + other] * x(r, i) * x(r, j)).sum()
            };
            let triangle = || (0..=d).flat_map(|j| (j..=d).map(move |i| (i, j)));
            for class in 0..c {
                let mut sums = ClassSums::default();
                sums.begin(c, class, d + 1);
                sums.feed(&a, &risk.x.whole(), &members[class], 0.0);
                sums.end(c);
                for k in (0..c).filter(|k| *k != class) {
                    for (i, j) in triangle() {
                        let found = sums.of(k)[j * ClassSums::stride(d + 1) + i];
                        let wanted = expected(class, k, i, j);
                        assert!((found - wanted).abs() < 1e-9, "{c} classes, {class} and {k}: {found} {wanted}");
                    }
                }
            }
            let mut single = PackedSums::<f32>::new(&risk, &members, d + 1, None);
            let mut double = PackedSums::<f64>::new(&risk, &members, d + 1, None);
            // On one thread or more; and a second time, over what is there.
            [true, false, true].into_iter().for_each(|alone| single.fill(&a, &members, alone));
            [true, false, true].into_iter().for_each(|alone| double.fill(&a, &members, alone));
            crate::penalty::pairs(c, |_, k, l| {
                let (mut rough, mut exact) = (vec![0.0; (d + 1) * (d + 1)], vec![0.0; (d + 1) * (d + 1)]);
                single.write_pair(k, l, d + 1, &mut rough);
                double.write_pair(k, l, d + 1, &mut exact);
                for (i, j) in triangle() {
                    let wanted = expected(k, l, i, j) + expected(l, k, i, j);
                    let (rough, exact) = (rough[j * (d + 1) + i], exact[j * (d + 1) + i]);
                    let what = format!("{c} classes, {k} and {l}: {rough} {exact} {wanted}");
                    assert!((exact - wanted).abs() < 1e-9 && (rough - wanted).abs() < 1e-3, "{what}");
                }
            });
        }
    }
}
