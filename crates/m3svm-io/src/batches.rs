//! Tables out of Arrow record batches, for Arrow and Parquet.

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_cast::cast;
use arrow_schema::{ArrowError, DataType, Schema};
use m3svm::Values;

use crate::columns::{Columns, Selection};
use crate::error::{CellProblem, Place, Problem};
use crate::options::{Format, ReadOptions};
use crate::table::{Table, dense};
use crate::value::canonical_label;

/// Which columns of a schema to read.
pub(crate) struct Plan {
    names: Vec<String>,
    selection: Selection,
    /// The columns to decode, in file order.
    pub(crate) projection: Vec<usize>,
    single: bool,
    float_label: bool,
}

impl Plan {
    pub(crate) fn new(schema: &Schema, options: &ReadOptions) -> Result<Self, Problem> {
        let names: Vec<String> = schema.fields().iter().map(|f| f.name().clone()).collect();
        let columns = Columns::new(Some(&names), names.len());
        let selection = columns.select(options)?;
        for &i in selection.features.iter().chain(&selection.weight) {
            let kind = value_type(schema.field(i).data_type());
            if !kind.is_numeric() && *kind != DataType::Boolean {
                let kind = schema.field(i).data_type().to_string();
                return Err(Problem::ColumnType { column: columns.reference(i), kind });
            }
        }
        let float_label = selection.label.is_some_and(|i| schema.field(i).data_type().is_floating());
        let half = |i: &usize| matches!(schema.field(*i).data_type(), DataType::Float32 | DataType::Float16);
        let single = selection.features.iter().all(half);
        let mut projection: Vec<usize> = selection.features.clone();
        projection.extend(selection.label.iter().chain(&selection.weight).chain(&selection.group));
        projection.sort_unstable();
        Ok(Self { names, selection, projection, single, float_label })
    }

    /// Reads the batches, which hold the columns of the projection.
    pub(crate) fn read(
        &self,
        format: Format,
        batches: impl Iterator<Item = Result<RecordBatch, ArrowError>>,
    ) -> Result<Table, Problem> {
        let columns = Columns::new(Some(&self.names), self.names.len());
        let broken = |e: ArrowError| Problem::Broken { format, what: e.to_string() };
        let mut values: Values<'static> = if self.single { Vec::<f32>::new().into() } else { Vec::<f64>::new().into() };
        let d = self.selection.features.len();
        let (mut rows, mut labels, mut weights, mut groups) = (0, Vec::new(), Vec::new(), Vec::new());
        for batch in batches {
            let batch = batch.map_err(broken)?;
            let column = |i: usize| -> Result<&ArrayRef, Problem> {
                let at = self.projection.binary_search(&i).ok().and_then(|at| batch.columns().get(at));
                at.ok_or_else(|| Problem::Broken { format, what: "a column is missing".into() })
            };
            let numbers = |i: usize, kind: &DataType| {
                full(cast(column(i)?, kind).map_err(broken)?, rows)
                    .map_err(|row| cell(&columns, row, i, CellProblem::Empty))
            };
            for (j, &i) in self.selection.features.iter().enumerate() {
                match &mut values {
                    Values::F32(v) => {
                        let array = numbers(i, &DataType::Float32)?;
                        spread(v.to_mut(), rows, d, j, array.as_primitive::<Float32Type>().values());
                    }
                    Values::F64(v) => {
                        let array = numbers(i, &DataType::Float64)?;
                        spread(v.to_mut(), rows, d, j, array.as_primitive::<Float64Type>().values());
                    }
                }
            }
            if let Some(i) = self.selection.label {
                let array = full(cast(column(i)?, &DataType::Utf8).map_err(broken)?, rows)
                    .map_err(|row| cell(&columns, row, i, CellProblem::EmptyLabel))?;
                for (k, text) in array.as_string::<i32>().iter().flatten().enumerate() {
                    labels.push(label(text, self.float_label).map_err(|e| cell(&columns, rows + k, i, e))?);
                }
            }
            if let Some(i) = self.selection.weight {
                weights.extend_from_slice(numbers(i, &DataType::Float64)?.as_primitive::<Float64Type>().values());
            }
            if let Some(i) = self.selection.group {
                let array = full(cast(column(i)?, &DataType::Utf8).map_err(broken)?, rows)
                    .map_err(|row| cell(&columns, row, i, CellProblem::EmptyGroup))?;
                groups.extend(array.as_string::<i32>().iter().flatten().map(canonical_label));
            }
            rows += batch.num_rows();
        }
        let x = dense(values, rows, d, |j| columns.reference(self.selection.features[j]))?;
        Ok(Table {
            feature_names: columns.names_of(&self.selection.features),
            labels: self.selection.label.map(|_| labels),
            label_name: self.selection.label.map(|i| columns.label_name(i)),
            label_guessed: self.selection.label_guessed,
            weights: self.selection.weight.map(|_| weights),
            groups: self.selection.group.map(|_| groups),
            ..Table::new(format, x)
        })
    }
}

fn value_type(kind: &DataType) -> &DataType {
    match kind {
        DataType::Dictionary(_, value) => value,
        other => other,
    }
}

/// The array if nothing is missing in it, else the first row where something is.
fn full(array: ArrayRef, rows: usize) -> Result<ArrayRef, usize> {
    match array.logical_null_count() {
        0 => Ok(array),
        _ => Err(rows + (0..array.len()).find(|&k| array.is_null(k)).unwrap_or(0)),
    }
}

fn cell(columns: &Columns<'_>, row: usize, i: usize, problem: CellProblem) -> Problem {
    Problem::Cell { place: Place::Row(row as u64 + 1), column: columns.reference(i), problem }
}

fn label(text: &str, float: bool) -> Result<String, CellProblem> {
    match canonical_label(text) {
        label if label.is_empty() => Err(CellProblem::EmptyLabel),
        label if float && label.parse::<f64>().is_ok_and(|v| !v.is_finite()) => {
            Err(CellProblem::NotFinite { found: label })
        }
        label => Ok(label),
    }
}

/// Writes a column into row-major values.
fn spread<T: Copy + Default>(values: &mut Vec<T>, rows: usize, d: usize, j: usize, column: &[T]) {
    values.resize((rows + column.len()) * d, T::default());
    values[rows * d..].chunks_exact_mut(d).zip(column).for_each(|(row, v)| row[j] = *v);
}
