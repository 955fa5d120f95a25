//! Dense arrays without column names as tables, labels and weights.

use crate::columns::Columns;
use crate::error::{CellProblem, ColumnRef, Place, Problem, short};
use crate::options::{Format, ReadOptions};
use crate::table::{Table, dense};
use crate::value::{canonical_label, not_finite, number_label, spelled};

/// Elements of an array in row-major order.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Data {
    F32(Vec<f32>),
    F64(Vec<f64>),
    /// Whole numbers stay whole as long as they may be labels: from 2^53 on, not every one has an f64 of its own.
    I64(Vec<i64>),
    U64(Vec<u64>),
    Text(Vec<String>),
}

impl Data {
    /// As numbers that features can be; text stays text.
    pub(crate) fn into_floats(self) -> Self {
        match self {
            Self::I64(v) => Self::F64(v.into_iter().map(|v| v as f64).collect()),
            Self::U64(v) => Self::F64(v.into_iter().map(|v| v as f64).collect()),
            other => other,
        }
    }
}

/// An array of any number of dimensions.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Array {
    pub(crate) shape: Vec<usize>,
    pub(crate) data: Data,
}

/// A table without column names. Further dimensions, as of images, are laid out in one row.
pub(crate) fn from_array(
    format: Format,
    array: Array,
    options: &ReadOptions,
    has_labels: bool,
) -> Result<Table, Problem> {
    let (rows, cols) = match array.shape.as_slice() {
        [] => {
            return Err(Problem::Arrays { what: "found a single number, expected a table".into() });
        }
        [n] if has_labels => (*n, 1),
        [n] => {
            return Err(Problem::Arrays { what: format!("found a vector of {n} values, expected a table") });
        }
        [n, rest @ ..] => (*n, rest.iter().copied().fold(1, usize::saturating_mul)),
    };
    // Without rows the columns are just a number in a header, which may be a lie.
    if rows == 0 {
        return Err(Problem::NoRows);
    }
    let columns = Columns::new(None, cols);
    // With labels apart, all columns are features: one too many is an error, not a label.
    let count = options.expected.as_ref().filter(|_| has_labels && options.features.is_none()).map(|e| e.count);
    let apart = usize::from(options.weight.is_some()) + usize::from(options.group.is_some());
    if let Some(expected) = count.filter(|d| *d != cols.saturating_sub(apart)) {
        return Err(Problem::FeatureCount { expected, found: cols });
    }
    let chosen = columns.select(options)?;
    let column = |j: usize| columns.reference(chosen.features[j]);
    let pick = |i: Option<usize>, data: &Data| i.map(|i| one_column(data, rows, cols, i));
    let label = pick(chosen.label, &array.data);
    let weight = pick(chosen.weight, &array.data);
    let group = pick(chosen.group, &array.data);
    let all = chosen.features.iter().copied().eq(0..cols);
    let d = chosen.features.len();
    let x = match array.data.into_floats() {
        Data::F32(v) => dense(if all { v } else { picked(v, cols, &chosen.features) }, rows, d, column),
        Data::F64(v) => dense(if all { v } else { picked(v, cols, &chosen.features) }, rows, d, column),
        _ => return Err(Problem::ColumnType { column: column(0), kind: "text".into() }),
    }?;
    let label_name = chosen.label.map(|i| columns.label_name(i));
    Ok(Table {
        labels: label.zip(label_name.as_ref()).map(|(data, name)| label_texts(name, data)).transpose()?,
        weights: weight.map(|data| weight_numbers("weight", data)).transpose()?,
        groups: group.map(|data| label_texts("group", data)).transpose()?,
        label_name,
        label_guessed: chosen.label_guessed,
        ..Table::new(format, x)
    })
}

/// Turns a matrix whose columns are the samples, which the labels tell, else the features of the model.
pub(crate) fn oriented(array: Array, samples: Option<usize>, features: Option<usize>) -> Array {
    let [rows, cols] = array.shape[..] else {
        return array;
    };
    let turn = match (samples, features) {
        (Some(n), _) => n != rows && n == cols,
        (None, Some(d)) => d == rows && d != cols,
        (None, None) => false,
    };
    if !turn {
        return array;
    }
    let data = match array.data {
        Data::F32(v) => Data::F32(turned(&v, rows, cols)),
        Data::F64(v) => Data::F64(turned(&v, rows, cols)),
        Data::I64(v) => Data::I64(turned(&v, rows, cols)),
        Data::U64(v) => Data::U64(turned(&v, rows, cols)),
        text => text,
    };
    Array { shape: vec![cols, rows], data }
}

/// The transpose of a row-major matrix.
pub(crate) fn turned<T: Copy>(values: &[T], rows: usize, cols: usize) -> Vec<T> {
    // Of a matrix without numbers the larger side is just a number in a header: to count up to it may take forever.
    if values.is_empty() {
        return Vec::new();
    }
    (0..cols).flat_map(|j| (0..rows).map(move |i| values[i * cols + j])).collect()
}

/// The chosen columns; moved together in place where they keep their order, so that no second copy of the table exists.
pub(crate) fn picked<T: Copy>(mut values: Vec<T>, cols: usize, features: &[usize]) -> Vec<T> {
    if !features.is_sorted_by(|a, b| a < b) {
        return values.chunks_exact(cols).flat_map(|row| features.iter().map(|&j| row[j])).collect();
    }
    let rows = values.len() / cols;
    for i in 0..rows {
        for (k, j) in features.iter().enumerate() {
            values[i * features.len() + k] = values[i * cols + j];
        }
    }
    values.truncate(rows * features.len());
    values
}

fn one_column(data: &Data, rows: usize, cols: usize, j: usize) -> Data {
    let at = (0..rows).map(|i| i * cols + j);
    match data {
        Data::F32(v) => Data::F32(at.map(|e| v[e]).collect()),
        Data::F64(v) => Data::F64(at.map(|e| v[e]).collect()),
        Data::I64(v) => Data::I64(at.map(|e| v[e]).collect()),
        Data::U64(v) => Data::U64(at.map(|e| v[e]).collect()),
        Data::Text(v) => Data::Text(at.map(|e| v[e].clone()).collect()),
    }
}

pub(crate) fn label_texts(name: &str, data: Data) -> Result<Vec<String>, Problem> {
    let bad = |i: usize, problem| {
        let column = ColumnRef { index: 0, name: Some(name.to_string()) };
        Problem::Cell { place: Place::Row(i as u64 + 1), column, problem }
    };
    let number = |i, v: f64, text: fn(f64) -> String| match v.is_finite() {
        true => Ok(text(v)),
        false => Err(bad(i, CellProblem::NotFinite { found: v.to_string() })),
    };
    let mut labels: Vec<String> = match data {
        // By way of the f32's own digits: 0.1 must not become 0.10000000149.
        Data::F32(v) => v
            .iter()
            .enumerate()
            .map(|(i, v)| number(i, f64::from(*v), |v| canonical_label(&(v as f32).to_string())))
            .collect(),
        Data::F64(v) => v.iter().enumerate().map(|(i, v)| number(i, *v, number_label)).collect(),
        Data::I64(v) => Ok(v.iter().map(i64::to_string).collect()),
        Data::U64(v) => Ok(v.iter().map(u64::to_string).collect()),
        Data::Text(v) => v
            .iter()
            .enumerate()
            .map(|(i, v)| match v.trim() {
                "" => Err(bad(i, CellProblem::EmptyLabel)),
                label => Ok(label.to_string()),
            })
            .collect(),
    }?;
    spelled(&mut labels);
    match not_finite(&labels) {
        Some(i) => Err(bad(i, CellProblem::NotFinite { found: short(&labels[i]) })),
        None => Ok(labels),
    }
}

pub(crate) fn weight_numbers(name: &str, data: Data) -> Result<Vec<f64>, Problem> {
    match data.into_floats() {
        Data::F32(v) => Ok(v.into_iter().map(f64::from).collect()),
        Data::F64(v) => Ok(v),
        _ => Err(Problem::ColumnType { column: ColumnRef { index: 0, name: Some(name.into()) }, kind: "text".into() }),
    }
}
