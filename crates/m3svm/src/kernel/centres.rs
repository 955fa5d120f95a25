//! Values of a kernel between rows and some chosen rows: in fits the pivots, in predictions the rows that a model keeps.

use std::ops::Range;

use crate::features::{Block, BlockRoom, Features};
use crate::kernel::Kernel;
use crate::linalg::{cross_add, dot, vectorised};
use crate::partition::Partition;

/// Rows that others are compared with, and a kernel whose γ is a number.
#[derive(Clone, Debug)]
pub(crate) struct Centres {
    kernel: Kernel,
    cols: usize,
    rows: CentreRows,
    /// ⟨x, x⟩ of every row.
    squares: Vec<f64>,
}

#[derive(Clone, Debug)]
enum CentreRows {
    /// As they are, and minus a shift.
    Dense { original: Vec<f64>, values: Vec<f64>, shift: Vec<f64> },
    /// Without repeated columns.
    Sparse { ends: Vec<usize>, columns: Vec<u32>, values: Vec<f64> },
    /// Numbers of the training rows, whose values are the columns of a precomputed kernel.
    Columns(Vec<u32>),
}

impl Centres {
    /// The chosen rows of a matrix.
    pub(crate) fn of(kernel: Kernel, x: &Features<'_>, chosen: &[u32]) -> Self {
        match kernel {
            Kernel::Precomputed => Self::columns(x.cols(), chosen.to_vec()),
            _ => Self::new(kernel, &x.take_rows(chosen)),
        }
    }

    /// All rows of a matrix.
    pub(crate) fn new(kernel: Kernel, x: &Features<'_>) -> Self {
        let (m, d) = (x.rows(), x.cols());
        if x.is_sparse() {
            let (mut ends, mut columns, mut values) = (Vec::with_capacity(m), Vec::new(), Vec::new());
            let mut squares = Vec::with_capacity(m);
            x.for_each_row(|_, row| {
                let mut entries: Vec<(u32, f64)> = Vec::new();
                row.for_each(|j, v| entries.push((j as u32, v)));
                entries.sort_by_key(|(j, _)| *j);
                let first = values.len();
                for (j, v) in entries {
                    match columns.last() {
                        Some(last) if *last == j && values.len() > first => {
                            if let Some(value) = values.last_mut() {
                                *value += v;
                            }
                        }
                        _ => {
                            columns.push(j);
                            values.push(v);
                        }
                    }
                }
                ends.push(values.len());
                squares.push(dot(&values[first..], &values[first..]));
            });
            return Self { kernel, cols: d, rows: CentreRows::Sparse { ends, columns, values }, squares };
        }
        let mut values = vec![0.0; m * d];
        x.for_each_row(|i, row| row.for_each(|j, v| values[i * d + j] = v));
        let (mut original, mut shift) = (Vec::new(), vec![0.0; d]);
        if matches!(kernel, Kernel::Rbf { .. } | Kernel::Laplacian { .. }) {
            // Distances do not change, and the products that they are computed from lose fewer digits.
            original.clone_from(&values);
            for row in values.chunks_exact(d) {
                shift.iter_mut().zip(row).for_each(|(s, v)| *s += v / m as f64);
            }
            for row in values.chunks_exact_mut(d) {
                row.iter_mut().zip(&shift).for_each(|(v, s)| *v -= s);
            }
        }
        let squares = values.chunks_exact(d).map(|row| dot(row, row)).collect();
        Self { kernel, cols: d, rows: CentreRows::Dense { original, values, shift }, squares }
    }

    /// The rows of a precomputed kernel: columns of everybody's features.
    pub(crate) fn columns(cols: usize, chosen: Vec<u32>) -> Self {
        Self { kernel: Kernel::Precomputed, cols, squares: vec![1.0; chosen.len()], rows: CentreRows::Columns(chosen) }
    }

    pub(crate) fn kernel(&self) -> Kernel {
        self.kernel
    }

    pub(super) fn squares(&self) -> &[f64] {
        &self.squares
    }

    pub(crate) fn len(&self) -> usize {
        self.squares.len()
    }

    /// The rows as features, where they are any.
    pub(crate) fn features(&self) -> Option<Features<'static>> {
        match &self.rows {
            CentreRows::Dense { original, values, .. } => {
                let values = if original.is_empty() { values } else { original };
                Features::dense(values.clone(), self.len(), self.cols).ok()
            }
            CentreRows::Sparse { ends, columns, values } => {
                let pointers: Vec<usize> = std::iter::once(0).chain(ends.iter().copied()).collect();
                Features::csr(pointers, columns.clone(), values.clone(), self.cols).ok()
            }
            CentreRows::Columns(_) => None,
        }
    }

    /// Writes the kernel's values of all rows of a matrix with all centres, in parallel. `f` gets the first row of a part and its values.
    pub(crate) fn for_each_part(
        &self,
        x: &Features<'_>,
        out: &mut [f64],
        width: usize,
        f: impl Fn(Range<usize>, &[f64], &mut [f64]) + Sync,
    ) {
        let cost = self.cols.min(x.stored() / x.rows().max(1)).max(1) * self.len().max(1) / 8 + width;
        let partition = Partition::new(x.rows(), cost, 1);
        // Values of a block of rows with the centres that fit a cache, but enough rows for a product of matrices.
        let step = (65_536 / self.len().max(1)).clamp(16, 256);
        partition.map_mut(out, width, |range, out| {
            let (mut room, mut gathered) = (BlockRoom::default(), Vec::new());
            let mut values = vec![0.0; step * self.len()];
            for first in range.clone().step_by(step) {
                let rows = first..(first + step).min(range.end);
                let values = &mut values[..rows.len() * self.len()];
                self.write(&x.block(rows.clone(), &mut room), rows.len(), &mut gathered, values);
                let at = (first - range.start) * width;
                f(rows.clone(), values, &mut out[at..at + rows.len() * width]);
            }
        });
    }

    /// The values of a block of rows with all centres, row by row.
    fn write(&self, x: &Block<'_>, rows: usize, gathered: &mut Vec<f64>, out: &mut [f64]) {
        let (d, m) = (self.cols, self.len());
        match &self.rows {
            CentreRows::Columns(columns) => {
                gathered.resize(d, 0.0);
                for (i, out) in out.chunks_exact_mut(m.max(1)).enumerate() {
                    gathered.fill(0.0);
                    x.row(i).for_each(|j, v| gathered[j] += v);
                    out.iter_mut().zip(columns).for_each(|(o, j)| *o = gathered[*j as usize]);
                }
            }
            CentreRows::Sparse { ends, columns, values } => {
                gathered.clear();
                gathered.resize(d, 0.0);
                for (i, out) in out.chunks_exact_mut(m.max(1)).enumerate() {
                    x.row(i).for_each(|j, v| gathered[j] += v);
                    let (square, plain) = (square(x, i, gathered), |j: &u32| gathered[*j as usize]);
                    let mut first = 0;
                    for (k, (out, end)) in out.iter_mut().zip(ends).enumerate() {
                        let entries = columns[first..*end].iter().zip(&values[first..*end]);
                        *out = if let Kernel::Laplacian { .. } = self.kernel {
                            entries.map(|(j, v)| (plain(j) - v).abs() - plain(j).abs()).sum()
                        } else {
                            entries.map(|(j, v)| plain(j) * v).sum()
                        };
                        if let Kernel::Laplacian { .. } = self.kernel {
                            *out = (-self.kernel.gamma_value() * at_least_0(*out + square.1)).exp();
                        } else {
                            *out = self.value(*out, square.0, self.squares[k]);
                        }
                        first = *end;
                    }
                    x.row(i).for_each(|j, _| gathered[j] = 0.0);
                }
            }
            CentreRows::Dense { values, shift, .. } => {
                gathered.clear();
                gathered.resize(rows * d, 0.0);
                for (i, row) in gathered.chunks_exact_mut(d).enumerate() {
                    x.row(i).for_each(|j, v| row[j] += v);
                    row.iter_mut().zip(shift).for_each(|(v, s)| *v -= s);
                }
                out.fill(0.0);
                if let Kernel::Laplacian { .. } = self.kernel {
                    return self.distances(values, gathered, out);
                }
                cross_add(gathered, values, d, m, 0, out);
                for (row, out) in gathered.chunks_exact(d).zip(out.chunks_exact_mut(m.max(1))) {
                    let square = dot(row, row);
                    out.iter_mut().zip(&self.squares).for_each(|(o, other)| *o = self.value(*o, square, *other));
                }
            }
        }
    }

    /// exp(−γ‖x − y‖₁) of dense rows.
    fn distances(&self, centres: &[f64], rows: &[f64], out: &mut [f64]) {
        let (d, m, gamma) = (self.cols, self.len(), self.kernel.gamma_value());
        vectorised(
            #[inline(always)]
            || {
                for (row, out) in rows.chunks_exact(d).zip(out.chunks_exact_mut(m.max(1))) {
                    for (centre, out) in centres.chunks_exact(d).zip(out) {
                        let mut lanes = [0.0; 8];
                        let ((a, rest), (b, other)) = (row.as_chunks::<8>(), centre.as_chunks::<8>());
                        for (a, b) in a.iter().zip(b) {
                            for l in 0..8 {
                                lanes[l] += (a[l] - b[l]).abs();
                            }
                        }
                        let tail: f64 = rest.iter().zip(other).map(|(a, b)| (a - b).abs()).sum();
                        *out = lanes.iter().sum::<f64>() + tail;
                    }
                }
            },
        );
        out.iter_mut().for_each(|o| *o = (-gamma * *o).exp());
    }

    /// The value of the kernel for two rows of given squares and inner product.
    fn value(&self, product: f64, square: f64, other: f64) -> f64 {
        match self.kernel {
            Kernel::Linear | Kernel::Precomputed => product,
            Kernel::Rbf { .. } => (-self.kernel.gamma_value() * at_least_0(square + other - 2.0 * product)).exp(),
            Kernel::Polynomial { degree, coef0, .. } => {
                (self.kernel.gamma_value() * product + coef0).powi(degree as i32)
            }
            // Sums of absolute differences are computed elsewhere.
            Kernel::Laplacian { .. } => product,
            // Divided by that, everything would be 0.
            Kernel::Cosine if square.is_infinite() => f64::NAN,
            Kernel::Cosine if square == 0.0 || other == 0.0 => 0.0,
            Kernel::Cosine => product / (square.sqrt() * other.sqrt()),
        }
    }
}

/// Rounding may make a distance negative. What has overflowed stays no number, where `max` would take it for 0: who asks finds out.
fn at_least_0(distance: f64) -> f64 {
    if distance < 0.0 { 0.0 } else { distance }
}

/// The first row that is so long that differences with others may overflow, and the square of its length.
pub(super) fn too_long(x: &Features<'_>) -> Option<(usize, f64)> {
    let squares = squares(x);
    let row = squares.iter().position(|square| !(*square <= f64::MAX / 8.0))?;
    Some((row, squares[row]))
}

/// ⟨x, x⟩ and ‖x‖₁ of a sparse row that is written out; its own columns may be repeated.
fn square(x: &Block<'_>, i: usize, gathered: &mut [f64]) -> (f64, f64) {
    let (mut square, mut sum) = (0.0, 0.0);
    let mut seen = Vec::new();
    x.row(i).for_each(|j, _| {
        let v = std::mem::take(&mut gathered[j]);
        square += v * v;
        sum += v.abs();
        seen.push((j, v));
    });
    // A column that was there twice has been taken the first time.
    seen.into_iter().for_each(|(j, v)| gathered[j] += v);
    (square, sum)
}

/// k(x, x) of every row.
pub(super) fn diagonal(kernel: Kernel, x: &Features<'_>) -> Vec<f64> {
    let squares = || squares(x).into_iter();
    match kernel {
        Kernel::Rbf { .. } | Kernel::Laplacian { .. } => vec![1.0; x.rows()],
        Kernel::Cosine => squares().map(|square| if square > 0.0 { 1.0 } else { 0.0 }).collect(),
        Kernel::Precomputed => (0..x.rows()).map(|i| x.get(i, i)).collect(),
        Kernel::Linear => squares().collect(),
        Kernel::Polynomial { degree, coef0, .. } => {
            squares().map(|square| (kernel.gamma_value() * square + coef0).powi(degree as i32)).collect()
        }
    }
}

/// ⟨x, x⟩ of every row.
fn squares(x: &Features<'_>) -> Vec<f64> {
    let mut out = vec![0.0; x.rows()];
    let mut gathered = vec![0.0; if x.is_sparse() { x.cols() } else { 0 }];
    x.for_each_block(|rows, block| {
        for i in rows.clone() {
            if gathered.is_empty() {
                block.row(i - rows.start).for_each(|_, v| out[i] += v * v);
                continue;
            }
            block.row(i - rows.start).for_each(|j, v| gathered[j] += v);
            out[i] = square(block, i - rows.start, &mut gathered).0;
            block.row(i - rows.start).for_each(|j, _| gathered[j] = 0.0);
        }
    });
    out
}
