//! Tables out of named arrays: `X` with `Y` in NumPy archives and MATLAB files, or one array with a label column.

use m3svm::{Features, Values};

use crate::columns::Columns;
use crate::error::{CellProblem, ColumnRef, Place, Problem};
use crate::options::{Column, Format, LabelUse, ReadOptions};
use crate::table::{Table, checked, dense};
use crate::value::{canonical_label, number_label};

/// Usual names of the features, in any case, the likeliest first.
const X_NAMES: [&str; 7] = ["x", "fea", "features", "feature", "data", "inputs", "arr_0"];
/// Usual names of the labels, in any case, the likeliest first.
const Y_NAMES: [&str; 10] = [
    "y", "gnd", "label", "labels", "target", "targets", "class", "classes", "gt", "arr_1",
];

/// Elements of an array in row-major order.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Data {
    F32(Vec<f32>),
    F64(Vec<f64>),
    Text(Vec<String>),
}

/// An array of any number of dimensions.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Array {
    pub(crate) shape: Vec<usize>,
    pub(crate) data: Data,
}

/// Compressed rows.
#[derive(Clone, Debug)]
pub(crate) struct Sparse {
    pub(crate) indptr: Vec<usize>,
    pub(crate) indices: Vec<u32>,
    pub(crate) values: Values<'static>,
    pub(crate) cols: usize,
}

/// What an archive holds under one name.
pub(crate) enum Stored {
    Dense(Array),
    Sparse(Sparse),
}

/// Named arrays that are read when needed.
pub(crate) trait Arrays {
    /// Names of all arrays.
    fn names(&self) -> Vec<String>;
    /// Reads one.
    fn load(&mut self, name: &str) -> Result<Stored, Problem>;
    /// Whether labels tell the orientation of the features, as in MATLAB files, where samples may be columns.
    fn may_be_transposed(&self) -> bool;
}

/// The table in an archive.
pub(crate) fn table(
    format: Format,
    arrays: &mut dyn Arrays,
    options: &ReadOptions,
) -> Result<Table, Problem> {
    let names = arrays.names();
    let asked = |column: &Option<Column>| {
        column
            .as_ref()
            .and_then(Column::name)
            .and_then(|n| names.iter().find(|name| *name == n))
            .cloned()
    };
    let usual = |list: &[&str]| {
        list.iter()
            .find_map(|n| names.iter().find(|name| name.eq_ignore_ascii_case(n)))
            .cloned()
    };
    let weight = asked(&options.weight);
    let asked_label = asked(&options.label);
    let label = match (&asked_label, &options.label) {
        (Some(name), _) => Some(name.clone()),
        (None, Some(_)) => None,
        (None, None) => usual(&Y_NAMES),
    };
    let free = || {
        names
            .iter()
            .filter(|n| Some(*n) != label.as_ref() && Some(*n) != weight.as_ref())
    };
    let only = || free().next().filter(|_| free().count() == 1).cloned();
    let x = usual(&X_NAMES)
        .filter(|n| free().any(|f| f == n))
        .or_else(only)
        .ok_or_else(|| Problem::UnknownColumn {
            role: "array",
            wanted: "X".into(),
            names: names.clone(),
            count: 0,
        })?;
    if label.is_none()
        && options.label.is_none()
        && names.len() > 1
        && options.labels == LabelUse::Required
    {
        return Err(Problem::NoLabels {
            hint: "expected an array called Y, gnd or label",
        });
    }
    let vector = |arrays: &mut dyn Arrays, name: &str| match arrays.load(name)? {
        Stored::Dense(array) if array.shape.iter().filter(|d| **d != 1).count() <= 1 => {
            Ok(array.data)
        }
        _ => Err(Problem::Arrays {
            what: format!("array `{name}` is a matrix, expected one value per row"),
        }),
    };
    let weights = weight
        .map(|name| weight_numbers(&name, vector(arrays, &name)?))
        .transpose()?;
    let y = match label.filter(|_| options.labels != LabelUse::Ignore) {
        Some(name) => Some((label_texts(&name, vector(arrays, &name)?)?, name)),
        None => None,
    };
    let has_labels = y.is_some() || asked_label.is_some();
    let weight_is_column = weights.is_none();
    let features = ReadOptions {
        label: options.label.clone().filter(|_| !has_labels),
        weight: options.weight.clone().filter(|_| weight_is_column),
        labels: if has_labels {
            LabelUse::Ignore
        } else {
            options.labels
        },
        ..options.clone()
    };
    let mut table = match arrays.load(&x)? {
        Stored::Dense(array) => {
            let samples = y.as_ref().map(|(labels, _)| labels.len());
            let array = if arrays.may_be_transposed() {
                oriented(array, samples)
            } else {
                array
            };
            from_array(format, array, &features, has_labels)?
        }
        Stored::Sparse(sparse) => from_sparse(
            format,
            sparse,
            options,
            y.as_ref().map(|(labels, _)| labels.len()),
        )?,
    };
    for (what, count) in [
        ("labels", y.as_ref().map(|y| y.0.len())),
        ("weights", weights.as_ref().map(Vec::len)),
    ] {
        if let Some(count) = count.filter(|c| *c != table.rows()) {
            let rows = table.rows();
            return Err(Problem::Arrays {
                what: format!("array `{x}` has {rows} rows, but there are {count} {what}"),
            });
        }
    }
    if let Some((labels, name)) = y {
        (table.labels, table.label_name, table.label_guessed) =
            (Some(labels), Some(name), asked_label.is_none());
    }
    table.weights = weights.or(table.weights);
    Ok(table)
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
            return Err(Problem::Arrays {
                what: "found a single number, expected a table".into(),
            });
        }
        [n] if has_labels => (*n, 1),
        [n] => {
            return Err(Problem::Arrays {
                what: format!("found a vector of {n} values, expected a table"),
            });
        }
        [n, rest @ ..] => (*n, rest.iter().product()),
    };
    let columns = Columns::new(None, cols);
    // With labels apart, all columns are features: one too many is an error, not a label.
    let count = options
        .expected
        .as_ref()
        .filter(|_| has_labels && options.features.is_none())
        .map(|e| e.count);
    if let Some(expected) =
        count.filter(|d| *d != cols - usize::from(options.weight.is_some()).min(cols))
    {
        return Err(Problem::FeatureCount {
            expected,
            found: cols,
        });
    }
    let chosen = columns.select(options)?;
    let column = |j: usize| columns.reference(chosen.features[j]);
    let pick = |i: Option<usize>, data: &Data| i.map(|i| one_column(data, rows, cols, i));
    let label = pick(chosen.label, &array.data);
    let weight = pick(chosen.weight, &array.data);
    let all = chosen.features.iter().copied().eq(0..cols);
    let d = chosen.features.len();
    let x = match array.data {
        Data::Text(_) => {
            return Err(Problem::ColumnType {
                column: column(0),
                kind: "text".into(),
            });
        }
        Data::F32(v) => dense(
            if all {
                v
            } else {
                picked(&v, cols, &chosen.features)
            },
            rows,
            d,
            column,
        ),
        Data::F64(v) => dense(
            if all {
                v
            } else {
                picked(&v, cols, &chosen.features)
            },
            rows,
            d,
            column,
        ),
    }?;
    let label_name = chosen.label.map(|i| columns.label_name(i));
    Ok(Table {
        labels: label
            .zip(label_name.as_ref())
            .map(|(data, name)| label_texts(name, data))
            .transpose()?,
        weights: weight
            .map(|data| weight_numbers("weight", data))
            .transpose()?,
        label_name,
        label_guessed: chosen.label_guessed,
        ..Table::new(format, x)
    })
}

fn from_sparse(
    format: Format,
    x: Sparse,
    options: &ReadOptions,
    labels: Option<usize>,
) -> Result<Table, Problem> {
    if options.features.is_some() {
        return Err(Problem::NotInFormat {
            what: "feature columns of a sparse matrix",
            format,
        });
    }
    if labels.is_none() && options.labels == LabelUse::Required {
        return Err(Problem::NoLabels {
            hint: "a sparse matrix needs them in an array called y",
        });
    }
    let (rows, cols) = (x.indptr.len() - 1, x.cols);
    let x = if labels.is_some_and(|n| n != rows && n == cols && format == Format::Mat) {
        transpose(x, rows)?
    } else {
        x
    };
    if let Some(expected) = options
        .expected
        .as_ref()
        .map(|e| e.count)
        .filter(|d| *d != x.cols)
    {
        return Err(Problem::FeatureCount {
            expected,
            found: x.cols,
        });
    }
    let column = |index: usize| ColumnRef { index, name: None };
    Ok(Table::new(
        format,
        checked(Features::csr(x.indptr, x.indices, x.values, x.cols), column)?,
    ))
}

/// Turns columns into rows. The pointers and indices are checked here since they come from a file.
pub(crate) fn transpose(x: Sparse, rows: usize) -> Result<Sparse, Problem> {
    fn scatter<T: Copy + Default>(values: &[T], order: &[usize]) -> Vec<T> {
        let mut out = vec![T::default(); values.len()];
        values.iter().zip(order).for_each(|(v, &at)| out[at] = *v);
        out
    }
    let broken = || Problem::Arrays {
        what: "the sparse matrix has indices outside its shape".into(),
    };
    // Checks lengths, order and range.
    Features::csr(
        x.indptr.as_slice(),
        x.indices.as_slice(),
        x.values.clone(),
        x.cols,
    )
    .map_err(Problem::Data)?;
    let mut indptr = Vec::new();
    indptr
        .try_reserve_exact(x.cols.saturating_add(1))
        .map_err(|_| broken())?;
    indptr.resize(x.cols + 1, 0);
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
    Ok(Sparse {
        indptr,
        indices,
        values,
        cols: rows,
    })
}

/// Turns a matrix whose columns are the samples.
fn oriented(array: Array, samples: Option<usize>) -> Array {
    let [rows, cols] = array.shape[..] else {
        return array;
    };
    if samples.is_none_or(|n| n == rows || n != cols) {
        return array;
    }
    let data = match array.data {
        Data::F32(v) => Data::F32(turned(&v, rows, cols)),
        Data::F64(v) => Data::F64(turned(&v, rows, cols)),
        text => text,
    };
    Array {
        shape: vec![cols, rows],
        data,
    }
}

/// The transpose of a row-major matrix.
pub(crate) fn turned<T: Copy>(values: &[T], rows: usize, cols: usize) -> Vec<T> {
    (0..cols)
        .flat_map(|j| (0..rows).map(move |i| values[i * cols + j]))
        .collect()
}

fn picked<T: Copy>(values: &[T], cols: usize, features: &[usize]) -> Vec<T> {
    values
        .chunks_exact(cols)
        .flat_map(|row| features.iter().map(|&j| row[j]))
        .collect()
}

fn one_column(data: &Data, rows: usize, cols: usize, j: usize) -> Data {
    let at = (0..rows).map(|i| i * cols + j);
    match data {
        Data::F32(v) => Data::F32(at.map(|e| v[e]).collect()),
        Data::F64(v) => Data::F64(at.map(|e| v[e]).collect()),
        Data::Text(v) => Data::Text(at.map(|e| v[e].clone()).collect()),
    }
}

fn label_texts(name: &str, data: Data) -> Result<Vec<String>, Problem> {
    let bad = |i: usize, problem| {
        let column = ColumnRef {
            index: 0,
            name: Some(name.to_string()),
        };
        Problem::Cell {
            place: Place::Row(i as u64 + 1),
            column,
            problem,
        }
    };
    let number = |i, v: f64, text: fn(f64) -> String| match v.is_finite() {
        true => Ok(text(v)),
        false => Err(bad(
            i,
            CellProblem::NotFinite {
                found: v.to_string(),
            },
        )),
    };
    match data {
        // By way of the f32's own digits: 0.1 must not become 0.10000000149.
        Data::F32(v) => v
            .iter()
            .enumerate()
            .map(|(i, v)| {
                number(i, f64::from(*v), |v| {
                    canonical_label(&(v as f32).to_string())
                })
            })
            .collect(),
        Data::F64(v) => v
            .iter()
            .enumerate()
            .map(|(i, v)| number(i, *v, number_label))
            .collect(),
        Data::Text(v) => v
            .iter()
            .enumerate()
            .map(|(i, v)| match canonical_label(v) {
                label if label.is_empty() => Err(bad(i, CellProblem::EmptyLabel)),
                label => Ok(label),
            })
            .collect(),
    }
}

fn weight_numbers(name: &str, data: Data) -> Result<Vec<f64>, Problem> {
    match data {
        Data::F32(v) => Ok(v.into_iter().map(f64::from).collect()),
        Data::F64(v) => Ok(v),
        Data::Text(_) => Err(Problem::ColumnType {
            column: ColumnRef {
                index: 0,
                name: Some(name.into()),
            },
            kind: "text".into(),
        }),
    }
}
