//! Sparse matrices of archives.

use m3svm::{Features, Values, memory};

use crate::error::{ColumnRef, Problem};
use crate::options::{Format, LabelUse, ReadOptions};
use crate::table::{Table, checked};

/// Compressed rows.
#[derive(Clone, Debug)]
pub(crate) struct Sparse {
    pub(crate) indptr: Vec<usize>,
    pub(crate) indices: Vec<u32>,
    pub(crate) values: Values<'static>,
    pub(crate) cols: usize,
}

pub(crate) fn from_sparse(
    format: Format,
    x: Sparse,
    options: &ReadOptions,
    labels: Option<usize>,
) -> Result<Table, Problem> {
    if options.features.is_some() {
        return Err(Problem::NotInFormat { what: "feature columns of a sparse matrix", format });
    }
    if labels.is_none() && options.labels == LabelUse::Required {
        return Err(Problem::NoLabels { hint: "a sparse matrix needs them in an array called y" });
    }
    let (rows, cols) = (x.indptr.len() - 1, x.cols);
    let x =
        if labels.is_some_and(|n| n != rows && n == cols && format == Format::Mat) { transpose(x, rows)? } else { x };
    if let Some(expected) = options.expected.as_ref().map(|e| e.count).filter(|d| *d != x.cols) {
        return Err(Problem::FeatureCount { expected, found: x.cols });
    }
    let column = |index: usize| ColumnRef { index, name: None };
    Ok(Table::new(format, checked(Features::csr(x.indptr, x.indices, x.values, x.cols), column)?))
}

/// Turns columns into rows. The pointers and indices are checked here since they come from a file.
pub(crate) fn transpose(x: Sparse, rows: usize) -> Result<Sparse, Problem> {
    fn scatter<T: Copy + Default>(values: &[T], order: &[usize]) -> Vec<T> {
        let mut out = vec![T::default(); values.len()];
        values.iter().zip(order).for_each(|(v, &at)| out[at] = *v);
        out
    }
    let broken = || Problem::Arrays { what: "the shape of the sparse matrix is too large for its data".into() };
    // Checks lengths, order and range.
    Features::csr(x.indptr.as_slice(), x.indices.as_slice(), x.values.clone(), x.cols).map_err(Problem::Data)?;
    // The shape is just a number in a header: it must be in proportion to the data.
    if x.cols > x.indices.len().saturating_mul(16).max(1 << 24) {
        return Err(broken());
    }
    // Where each row begins, twice, and all entries once more.
    let room = memory::numbers(x.cols, 2).saturating_add(memory::numbers(x.indices.len(), 3));
    memory::check("reading it", room).map_err(Problem::Data)?;
    let mut indptr = vec![0; x.cols + 1];
    x.indices.iter().for_each(|&i| indptr[i as usize + 1] += 1);
    (0..x.cols).for_each(|i| indptr[i + 1] += indptr[i]);
    let mut next = indptr.clone();
    let mut indices = vec![0; x.indices.len()];
    let mut order = vec![0; x.indices.len()];
    for row in 0..rows {
        for e in x.indptr[row]..x.indptr[row + 1] {
            let at = &mut next[x.indices[e] as usize];
            indices[*at] = u32::try_from(row).map_err(|_| broken())?;
            order[e] = *at;
            *at += 1;
        }
    }
    let values = match &x.values {
        Values::F32(v) => scatter(v, &order).into(),
        Values::F64(v) => scatter(v, &order).into(),
    };
    Ok(Sparse { indptr, indices, values, cols: rows })
}
