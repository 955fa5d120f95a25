//! Tables out of named arrays: `X` with `Y` in NumPy archives and MATLAB files.

use crate::array::{Array, Data, from_array, label_texts, oriented, weight_numbers};
use crate::error::Problem;
use crate::options::{Column, Format, LabelUse, ReadOptions};
use crate::sparse::{Sparse, from_sparse};
use crate::table::Table;

/// Usual names of the features, in any case, the likeliest first.
const X_NAMES: [&str; 7] = ["x", "fea", "features", "feature", "data", "inputs", "arr_0"];
/// Usual names of the labels, in any case, the likeliest first.
const Y_NAMES: [&str; 10] = ["y", "gnd", "label", "labels", "target", "targets", "class", "classes", "gt", "arr_1"];

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
}

/// Which array is what.
struct Roles {
    x: String,
    label: Option<String>,
    label_guessed: bool,
    weight: Option<String>,
    group: Option<String>,
}

impl Roles {
    fn new(format: Format, names: &[String], options: &ReadOptions) -> Result<Self, Problem> {
        let unknown = |role, wanted: &str| Problem::UnknownColumn {
            role,
            wanted: wanted.into(),
            names: names.to_vec(),
            count: 0,
        };
        let asked = |column: &Option<Column>| {
            let name = column.as_ref().and_then(Column::name);
            names.iter().find(|n| Some(n.as_str()) == name).cloned()
        };
        let usual = |list: &[&str]| {
            let found = |n: &&str| names.iter().find(|name| name.eq_ignore_ascii_case(n));
            list.iter().find_map(found).cloned()
        };
        let required = options.labels == LabelUse::Required;
        let (weight, group) = (asked(&options.weight), asked(&options.group));
        let given = asked(&options.label);
        let label_guessed = given.is_none();
        let label = match (given, &options.label) {
            (Some(name), _) => Some(name),
            // A position is a column of `X`.
            (None, Some(column)) if column.is_position() => None,
            (None, Some(column)) if required => {
                return Err(unknown("label array", &column.to_string()));
            }
            (None, _) => usual(&Y_NAMES),
        };
        // One array alone may hold its labels, but a MATLAB file may have `Y` in a form that cannot be read.
        let alone = names.len() == 1 && format != Format::Mat;
        if label.is_none() && options.label.is_none() && required && !alone {
            return Err(Problem::NoLabels { hint: "expected an array called Y, gnd or label" });
        }
        let taken = [&label, &weight, &group];
        let free = || names.iter().filter(|n| !taken.iter().any(|t| t.as_ref() == Some(*n)));
        let only = || free().next().filter(|_| free().count() == 1).cloned();
        let x = usual(&X_NAMES).filter(|n| free().any(|f| f == n)).or_else(only);
        Ok(Self { x: x.ok_or_else(|| unknown("array", "X"))?, label, label_guessed, weight, group })
    }
}

/// The table in an archive.
pub(crate) fn table(format: Format, arrays: &mut dyn Arrays, options: &ReadOptions) -> Result<Table, Problem> {
    let Roles { x, label, label_guessed, weight, group } = Roles::new(format, &arrays.names(), options)?;
    let has_labels = label.is_some();
    let weights = weight.map(|name| weight_numbers(&name, vector(arrays, &name)?)).transpose()?;
    let groups = group.map(|name| label_texts(&name, vector(arrays, &name)?)).transpose()?;
    let y = match label.filter(|_| options.labels != LabelUse::Ignore) {
        Some(name) => Some((label_texts(&name, vector(arrays, &name)?)?, name)),
        None => None,
    };
    let samples = y.as_ref().map(|(labels, _)| labels.len());
    // What is an array of its own is no column of `X`.
    let columns = ReadOptions {
        label: options.label.clone().filter(|_| !has_labels),
        weight: options.weight.clone().filter(|_| weights.is_none()),
        group: options.group.clone().filter(|_| groups.is_none()),
        labels: if has_labels { LabelUse::Ignore } else { options.labels },
        ..options.clone()
    };
    let mut table = match arrays.load(&x)? {
        Stored::Dense(array) if format == Format::Mat => {
            let array = oriented(array, samples, options.expected.as_ref().map(|e| e.count));
            from_array(format, array, &columns, has_labels)?
        }
        Stored::Dense(array) => from_array(format, array, &columns, has_labels)?,
        Stored::Sparse(sparse) => from_sparse(format, sparse, options, samples)?,
    };
    let rows = table.rows();
    let counts =
        [("labels", samples), ("weights", weights.as_ref().map(Vec::len)), ("groups", groups.as_ref().map(Vec::len))];
    for (what, count) in counts {
        if let Some(count) = count.filter(|c| *c != rows) {
            let what = format!("array `{x}` has {rows} rows, but there are {count} {what}");
            return Err(Problem::Arrays { what });
        }
    }
    if let Some((labels, name)) = y {
        table.labels = Some(labels);
        table.label_name = Some(name);
        table.label_guessed = label_guessed;
    }
    table.weights = weights.or(table.weights);
    table.groups = groups.or(table.groups);
    if let Some(column) = options.group.as_ref().filter(|_| table.groups.is_none()) {
        let (wanted, names) = (column.to_string(), arrays.names());
        return Err(Problem::UnknownColumn { role: "group array", wanted, names, count: 0 });
    }
    Ok(table)
}

fn vector(arrays: &mut dyn Arrays, name: &str) -> Result<Data, Problem> {
    match arrays.load(name)? {
        Stored::Dense(array) if array.shape.iter().filter(|d| **d != 1).count() <= 1 => Ok(array.data),
        _ => Err(Problem::Arrays { what: format!("array `{name}` is a matrix, expected one value per row") }),
    }
}
