//! X by columns, for solvers that move one weight at a time. Only the columns that were asked for are copied, and only where X does not
//! have them in one piece.

use std::borrow::Cow;

use crate::features::Features;

/// Some columns of a feature matrix, and the column of ones that belongs to the intercept behind the last feature.
pub(crate) struct FetchedColumns<'x> {
    store: Vec<ColumnStorage<'x>>,
}

enum ColumnStorage<'x> {
    Missing,
    Dense(Cow<'x, [f64]>),
    /// Ascending rows, each at most once, and their values.
    Sparse(Vec<u32>, Vec<f64>),
}

/// One column.
#[derive(Clone, Copy)]
pub(crate) enum FetchedColumn<'a> {
    /// A value for every row.
    Dense(&'a [f64]),
    /// Ascending rows and their values.
    Sparse(&'a [u32], &'a [f64]),
}

impl<'x> FetchedColumns<'x> {
    /// No columns yet but the ones.
    pub(crate) fn new(x: &Features<'_>) -> Self {
        let mut store: Vec<ColumnStorage<'x>> = (0..x.cols()).map(|_| ColumnStorage::Missing).collect();
        store.push(ColumnStorage::Dense(vec![1.0; x.rows()].into()));
        Self { store }
    }

    /// Takes the columns of `features` that are not here yet.
    pub(crate) fn fetch(&mut self, x: &'x Features<'_>, features: impl Iterator<Item = usize>) {
        let mut wanted = false;
        for j in features {
            if !matches!(self.store[j], ColumnStorage::Missing) {
                continue;
            }
            if x.is_sparse() {
                self.store[j] = ColumnStorage::Sparse(Vec::new(), Vec::new());
                wanted = true;
                continue;
            }
            self.store[j] = ColumnStorage::Dense(x.column(j));
        }
        if wanted {
            self.fill_sparse(x);
        }
    }

    /// Fills the sparse columns that are still empty, in one pass over the rows.
    fn fill_sparse(&mut self, x: &Features<'_>) {
        let open: Vec<bool> =
            self.store.iter().map(|s| matches!(s, ColumnStorage::Sparse(rows, _) if rows.is_empty())).collect();
        x.for_each_row(|i, row| {
            row.for_each(|j, value| {
                let ColumnStorage::Sparse(rows, values) = &mut self.store[j] else { return };
                if !open[j] {
                    return;
                }
                // Entries that are stored in several parts add up.
                match (rows.last(), values.last_mut()) {
                    (Some(last), Some(sum)) if *last == i as u32 => *sum += value,
                    _ => {
                        rows.push(i as u32);
                        values.push(value);
                    }
                }
            });
        });
    }

    /// Column `j`; the ones for the number of features. Empty if it was not fetched.
    pub(crate) fn get(&self, j: usize) -> FetchedColumn<'_> {
        match &self.store[j] {
            ColumnStorage::Missing => FetchedColumn::Sparse(&[], &[]),
            ColumnStorage::Dense(v) => FetchedColumn::Dense(v),
            ColumnStorage::Sparse(rows, values) => FetchedColumn::Sparse(rows, values),
        }
    }
}

impl FetchedColumn<'_> {
    /// Number of stored entries.
    pub(crate) fn stored(self) -> usize {
        match self {
            Self::Dense(values) | Self::Sparse(_, values) => values.len(),
        }
    }

    /// Calls `f(row, value)` for every stored entry.
    #[inline(always)]
    pub(crate) fn for_each(self, mut f: impl FnMut(usize, f64)) {
        match self {
            Self::Dense(values) => values.iter().enumerate().for_each(|(i, x)| f(i, *x)),
            Self::Sparse(rows, values) => rows.iter().zip(values).for_each(|(i, x)| f(*i as usize, *x)),
        }
    }

    /// Writes the entries of rows `first..first + out.len()` into `out`.
    pub(crate) fn write_rows(self, first: usize, out: &mut [f64]) {
        match self {
            Self::Dense(values) => out.copy_from_slice(&values[first..first + out.len()]),
            Self::Sparse(rows, values) => {
                out.fill(0.0);
                let at = rows.partition_point(|i| (*i as usize) < first);
                let end = rows.partition_point(|i| (*i as usize) < first + out.len());
                rows[at..end].iter().zip(&values[at..end]).for_each(|(i, x)| out[*i as usize - first] = *x);
            }
        }
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn columns_are_those_of_the_matrix_in_either_storage() {
        let dense = Features::dense(vec![1.0, 0.0, 2.0, 0.0, 3.0, 0.0, 4.0, 5.0, 6.0], 3, 3).unwrap();
        // Entry (2, 0) comes in two parts.
        let (ptr, indices) = (vec![0, 2, 3, 7], vec![2, 0, 1, 0, 1, 2, 0]);
        let sparse = Features::csr(ptr, indices, vec![2.0, 1.0, 3.0, 1.0, 5.0, 6.0, 3.0], 3).unwrap();
        for x in [dense, sparse] {
            let mut columns = FetchedColumns::new(&x);
            columns.fetch(&x, [0].into_iter());
            columns.fetch(&x, [0, 2].into_iter());
            for (j, expected) in [(0, [1.0, 0.0, 4.0]), (1, [0.0; 3]), (2, [2.0, 0.0, 6.0]), (3, [1.0; 3])] {
                let (mut seen, mut tail) = ([0.0; 3], [7.0; 2]);
                columns.get(j).for_each(|i, v| seen[i] += v);
                assert_eq!(seen, expected);
                if j != 1 {
                    columns.get(j).write_rows(1, &mut tail);
                    assert_eq!(tail, expected[1..]);
                }
            }
        }
    }
}
