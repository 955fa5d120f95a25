//! Tables out of Arrow record batches, for Arrow and Parquet.

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type, Int32Type};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_cast::{CastOptions, cast, cast_with_options};
use arrow_schema::{ArrowError, DataType, Schema};
use m3svm::memory::{Meter, numbers};
use m3svm::{Kind, Preparation, Values};

use crate::columns::{Columns, Selection};
use crate::error::{CellProblem, ColumnRef, Place, Problem, short};
use crate::mixed::Mixed;
use crate::options::{Format, ReadOptions};
use crate::table::{Table, Take, dense, kept_columns, nothing};
use crate::value::{TEXT, canonical_label, days, not_finite, spelled};

/// Which columns of a schema to read.
pub(crate) struct Plan {
    names: Vec<String>,
    selection: Selection,
    /// The columns to decode, in file order.
    pub(crate) projection: Vec<usize>,
    single: bool,
    float_label: bool,
    /// Kinds of the features, if columns of every kind are wanted.
    kinds: Option<Vec<Kind>>,
    /// What stands for nothing.
    missing: Preparation,
    options: ReadOptions,
}

impl Plan {
    pub(crate) fn new(schema: &Schema, options: &ReadOptions) -> Result<Self, Problem> {
        Self::with_times(schema, options, &[])
    }

    /// The same where some columns of texts, by name, are of times as ISO 8601 writes them.
    pub(crate) fn with_times(schema: &Schema, options: &ReadOptions, times: &[String]) -> Result<Self, Problem> {
        let names: Vec<String> = schema.fields().iter().map(|f| f.name().clone()).collect();
        let index = pandas_index(schema);
        // What is nested is no label either.
        let nested = schema.fields().iter().filter(|field| Kind::of(field.data_type()).is_none());
        let nested = nested.map(|field| field.name().clone()).filter(|_| options.preparation.is_some());
        let no_labels: Vec<String> = index.iter().cloned().chain(nested).collect();
        let columns = Columns::new(Some(&names), names.len()).with_index(&no_labels);
        let selection = columns.select(options)?;
        let mixed = options.preparation.is_some() || options.preprocessor.is_some();
        let mut options = options.clone();
        options.preparation.iter_mut().for_each(|p| p.indices.extend(index.iter().cloned()));
        let only_numbers = selection.features.iter().filter(|_| !mixed).chain(&selection.weight);
        for &i in only_numbers {
            let kind = value_type(schema.field(i).data_type());
            if !kind.is_numeric() && *kind != DataType::Boolean {
                let kind = schema.field(i).data_type().to_string();
                return Err(Problem::ColumnType { column: columns.reference(i), kind });
            }
        }
        let kinds = match &options.preprocessor {
            Some(model) => Some(model.columns().iter().map(|c| c.kind).collect()),
            None if mixed => Some(of_parts(
                kinds(schema, &columns, &selection, &options, times)?,
                schema,
                &columns,
                &selection,
                &options,
            )?),
            None => None,
        };
        let float_label = selection.label.is_some_and(|i| schema.field(i).data_type().is_floating());
        let half = |i: &usize| matches!(schema.field(*i).data_type(), DataType::Float32 | DataType::Float16);
        let single = selection.features.iter().all(half);
        let mut projection: Vec<usize> = selection.features.clone();
        projection
            .extend(selection.label.iter().chain(&selection.weight).chain(&selection.group).chain(&selection.keep));
        projection.sort_unstable();
        projection.dedup();
        let words = options.preprocessor.as_ref().map(|model| model.missing_words().to_vec());
        let words = words.or_else(|| options.preparation.as_ref().map(|p| p.missing_words.clone()));
        let missing = Preparation { missing_words: words.unwrap_or_default(), ..Preparation::default() };
        Ok(Self { names, selection, projection, single, float_label, kinds, missing, options })
    }

    /// Bytes that so many rows take in the table, texts as if they were empty.
    pub(crate) fn bytes(&self, rows: usize) -> u64 {
        let Selection { features, label, weight, group, .. } = &self.selection;
        let texts = (label.iter().len() + group.iter().len()) * TEXT.div_ceil(8);
        let numbers = numbers(rows, features.len() + weight.iter().len() + texts);
        if self.single { numbers / 2 } else { numbers }
    }

    /// Reads the batches, some at a time: so many that tables have about `bytes`.
    pub(crate) fn read_some(
        &self,
        format: Format,
        mut batches: impl Iterator<Item = Result<RecordBatch, ArrowError>>,
        bytes: u64,
        take: &mut Take<'_>,
    ) -> Result<(), Problem> {
        let mut before = 0;
        loop {
            let (mut rows, mut ended) = (0, false);
            let some = std::iter::from_fn(|| {
                if rows > 0 && self.bytes(rows) >= bytes {
                    return None;
                }
                let next = batches.next();
                ended = next.is_none();
                rows += next.iter().flatten().map(RecordBatch::num_rows).sum::<usize>();
                next
            });
            let table = self.read_rows(format, some, false, &mut Meter::new("reading it"));
            match table {
                Err(Problem::NoRows) => {}
                Err(problem) => return Err(problem.below(before)),
                Ok(table) => take(table)?,
            }
            before += rows as u64;
            if ended {
                return Ok(());
            }
        }
    }

    /// Reads the batches, which hold the columns of the projection.
    pub(crate) fn read(
        &self,
        format: Format,
        batches: impl Iterator<Item = Result<RecordBatch, ArrowError>>,
        meter: &mut Meter,
    ) -> Result<Table, Problem> {
        self.read_rows(format, batches, true, meter)
    }

    /// The same for the `whole` table, or a part of it.
    fn read_rows(
        &self,
        format: Format,
        batches: impl Iterator<Item = Result<RecordBatch, ArrowError>>,
        whole: bool,
        meter: &mut Meter,
    ) -> Result<Table, Problem> {
        let columns = Columns::new(Some(&self.names), self.names.len());
        let broken = |e: ArrowError| Problem::Broken { format, what: e.to_string() };
        let mut values: Values<'static> = if self.single { Vec::<f32>::new().into() } else { Vec::<f64>::new().into() };
        let mut mixed = self.kinds.clone().map(|kinds| Mixed::new(kinds, self.single));
        let d = self.selection.features.len();
        let (mut rows, mut labels, mut weights, mut groups) = (0, Vec::new(), Vec::new(), Vec::new());
        let mut kept: Vec<Vec<ArrayRef>> = vec![Vec::new(); self.selection.keep.len()];
        for batch in batches {
            let batch = batch.map_err(broken)?;
            // Before anything is made of a column, which may say without a byte that it has so many rows.
            meter.add(self.bytes(batch.num_rows()))?;
            let column = |i: usize| -> Result<&ArrayRef, Problem> {
                let at = self.projection.binary_search(&i).ok().and_then(|at| batch.columns().get(at));
                at.ok_or_else(|| Problem::Broken { format, what: "a column is missing".into() })
            };
            let numbers = |i: usize, kind: &DataType| {
                full(cast(column(i)?, kind).map_err(broken)?, rows)
                    .map_err(|row| cell(&columns, row, i, CellProblem::Empty))
            };
            let more = if self.kinds.is_none() { batch.num_rows().saturating_mul(d) } else { 0 };
            match &mut values {
                Values::F32(v) => meter.reserve(v.to_mut(), more)?,
                Values::F64(v) => meter.reserve(v.to_mut(), more)?,
            }
            let nothing = |text: &str| self.missing.is_missing(text);
            if let Some(mixed) = &mut mixed {
                mixed.reserve(batch.num_rows(), meter)?;
                for (j, &i) in self.selection.features.iter().enumerate() {
                    add(mixed, j, column(i)?, &nothing, meter).map_err(|e| named(&columns, rows, i, e))?;
                }
                mixed.rows_added(batch.num_rows());
            }
            for (j, &i) in self.selection.features.iter().enumerate().filter(|_| self.kinds.is_none()) {
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
            let nothing = |text: &str| self.options.preparation.is_some() && nothing(text);
            let texts = |i: usize, float: bool, missing, found: &mut Vec<String>, meter: &mut Meter| {
                let is_label = Some(i) == self.selection.label;
                Texts::of(column(i)?).map_err(broken)?.each(|row, text| {
                    let text = match text {
                        Text::Some(text) if is_label && !text.trim().is_empty() && nothing(text) => {
                            Err(CellProblem::MissingLabel { found: text.trim().into() })
                        }
                        Text::Some(text) => label(text, float, missing),
                        Text::Missing => Err(missing.clone()),
                        Text::NotUtf8 => Err(CellProblem::NotUtf8),
                    };
                    let text = text.map_err(|e| cell(&columns, rows + row, i, e))?;
                    meter.add(text.len() as u64)?;
                    found.push(text);
                    Ok(())
                })
            };
            if let Some(i) = self.selection.label {
                texts(i, self.float_label, &CellProblem::EmptyLabel, &mut labels, meter)?;
            }
            if let Some(i) = self.selection.weight {
                weights.extend_from_slice(numbers(i, &DataType::Float64)?.as_primitive::<Float64Type>().values());
            }
            if let Some(i) = self.selection.group {
                texts(i, false, &CellProblem::EmptyGroup, &mut groups, meter)?;
            }
            for (&i, kept) in self.selection.keep.iter().zip(&mut kept) {
                let array = column(i)?;
                meter.add(array.get_array_memory_size() as u64)?;
                kept.push(array.clone());
            }
            rows += batch.num_rows();
        }
        let joined = |(&i, kept): (&usize, &Vec<ArrayRef>)| -> Result<(String, ArrayRef), Problem> {
            let parts: Vec<&dyn Array> = kept.iter().map(AsRef::as_ref).collect();
            Ok((columns.label_name(i), arrow_select::concat::concat(&parts).map_err(broken)?))
        };
        let kept = self.selection.keep.iter().zip(&kept).filter(|_| rows > 0).map(joined);
        let kept = kept_columns(kept.collect::<Result<_, _>>()?)?;
        if whole {
            spelled(&mut labels);
            spelled(&mut groups);
        }
        for (at, texts) in [(self.selection.label, &labels), (self.selection.group, &groups)] {
            if let Some((i, row)) = at.zip(not_finite(texts)) {
                return Err(cell(&columns, row, i, CellProblem::NotFinite { found: short(&texts[row]) }));
            }
        }
        if self.options.preparation.is_some() && self.selection.label_last {
            columns.check_label(self.selection.label, &labels)?;
        }
        let done = match mixed {
            Some(mixed) => {
                let weights = self.selection.weight.map(|_| weights.as_slice());
                Some(mixed.finish(&columns, &self.selection.features, weights, &self.options, meter)?)
            }
            None => None,
        };
        let x = match &done {
            Some(_) => nothing()?,
            None => dense(values, rows, d, |j| columns.reference(self.selection.features[j]))?,
        };
        let table = Table {
            feature_names: columns.names_of(&self.selection.features),
            labels: self.selection.label.map(|_| labels),
            label_name: self.selection.label.map(|i| columns.label_name(i)),
            label_guessed: self.selection.label_guessed,
            weights: self.selection.weight.map(|_| weights),
            groups: self.selection.group.map(|_| groups),
            kept,
            ..Table::new(format, x)
        };
        Ok(match done {
            Some(done) => table.with_done(done),
            None => table,
        })
    }
}

/// What columns hold; all that can be no features are named at once.
fn kinds(
    schema: &Schema,
    columns: &Columns<'_>,
    selection: &Selection,
    options: &ReadOptions,
    times: &[String],
) -> Result<Vec<Kind>, Problem> {
    let asked =
        options.preparation.iter().flat_map(|p| p.categories.iter().chain(&p.text)).map(|name| name.as_str().into());
    let names = columns.find_all(&asked.collect::<Vec<crate::Column>>(), "column")?;
    let kind = |i: &usize| match Kind::of(schema.field(*i).data_type()) {
        Some(Kind::Number) if names.contains(i) => Some(Kind::Text),
        Some(Kind::Text) if times.contains(schema.field(*i).name()) && !names.contains(i) => Some(Kind::Time),
        found => found,
    };
    let wrong: Vec<usize> = selection.features.iter().copied().filter(|i| kind(i).is_none()).collect();
    match wrong[..] {
        [] => Ok(selection.features.iter().filter_map(kind).collect()),
        [i] => {
            let kind = schema.field(i).data_type().to_string();
            Err(Problem::ColumnType { column: columns.reference(i), kind })
        }
        _ => {
            let each = wrong.iter().map(|&i| format!("{} ({})", columns.reference(i), schema.field(i).data_type()));
            let each: Vec<String> = each.collect();
            Err(Problem::Arrays {
                what: format!("these can be no features, --drop leaves them out: {}", each.join(", ")),
            })
        }
    }
}

/// What columns hold in the parts of a table before, if there were any: other parts may not hold anything else.
fn of_parts(
    found: Vec<Kind>,
    schema: &Schema,
    columns: &Columns<'_>,
    selection: &Selection,
    options: &ReadOptions,
) -> Result<Vec<Kind>, Problem> {
    let known = options.unprepared.as_ref().and_then(|how| how.kinds.clone());
    let Some(known) = known.filter(|known| known.len() == found.len()) else { return Ok(found) };
    let is_null = |j: usize| *schema.field(selection.features[j]).data_type() == DataType::Null;
    match (0..found.len()).find(|&j| known[j] != found[j] && !is_null(j)) {
        None => Ok(known),
        Some(j) => Err(Problem::OtherKind {
            column: columns.reference(selection.features[j]),
            found: schema.field(selection.features[j]).data_type().to_string(),
            before: known[j],
        }),
    }
}

/// Names of the columns that pandas has made of the index of a data frame.
fn pandas_index(schema: &Schema) -> Vec<String> {
    let stored = schema.metadata().get("pandas").and_then(|text| serde_json::from_str::<serde_json::Value>(text).ok());
    let index = stored.as_ref().and_then(|stored| stored.get("index_columns")?.as_array());
    index.into_iter().flatten().filter_map(|name| Some(name.as_str()?.to_string())).collect()
}

/// Adds a column of a batch.
fn add(
    mixed: &mut Mixed,
    j: usize,
    column: &ArrayRef,
    nothing: &dyn Fn(&str) -> bool,
    meter: &mut Meter,
) -> Result<(), Problem> {
    let broken = |e: ArrowError| Problem::Arrays { what: e.to_string() };
    let strict = CastOptions { safe: false, ..CastOptions::default() };
    match mixed.kinds()[j] {
        Kind::Text => {
            let keys = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
            let found = cast_with_options(column, &keys, &strict).map_err(broken)?;
            meter.add(mixed.add_texts(j, found.as_dictionary::<Int32Type>())?)?;
        }
        Kind::Number if Kind::of(column.data_type()) == Some(Kind::Text) => {
            return Err(Problem::Arrays { what: "it holds texts, expected numbers".into() });
        }
        Kind::Time if Kind::of(column.data_type()) == Some(Kind::Text) => {
            let texts = Texts::of(column).map_err(broken)?;
            let mut values = Vec::with_capacity(column.len());
            texts.each(|row, text| {
                let value = match text {
                    Text::Some(text) if nothing(text) => f64::NAN,
                    Text::Some(text) => {
                        days(text).ok_or_else(|| bad(j, row, CellProblem::NotADate { found: short(text) }))?
                    }
                    Text::Missing => f64::NAN,
                    Text::NotUtf8 => return Err(bad(j, row, CellProblem::NotUtf8)),
                };
                values.push(value);
                Ok(())
            })?;
            mixed.add_numbers(j, &values);
        }
        kind => {
            // Times as a model counts them.
            let values = m3svm::column_numbers(column, kind)?;
            match values.iter().position(|v| v.is_infinite()) {
                Some(row) => return Err(bad(j, row, CellProblem::NotFinite { found: values[row].to_string() })),
                None => mixed.add_numbers(j, &values),
            }
        }
    }
    Ok(())
}

/// A cell of a batch that cannot be used; [`named`] says where it is.
fn bad(j: usize, row: usize, problem: CellProblem) -> Problem {
    Problem::Cell { place: Place::Row(row as u64), column: ColumnRef { index: j, name: None }, problem }
}

/// What is wrong with a column of a batch, with its name.
fn named(columns: &Columns<'_>, rows: usize, i: usize, problem: Problem) -> Problem {
    match problem {
        Problem::Cell { place: Place::Row(row), problem, .. } => cell(columns, rows + row as usize, i, problem),
        Problem::Arrays { what } => Problem::Arrays { what: format!("{}: {what}", columns.reference(i)) },
        Problem::Data(m3svm::Error::Column { what, .. }) => {
            Problem::Arrays { what: format!("{}: {what}", columns.reference(i)) }
        }
        other => other,
    }
}

/// A label or a group as it stands in a column.
enum Text<'a> {
    Some(&'a str),
    Missing,
    NotUtf8,
}

/// A column as text. The texts of a dictionary stay where they are: one of them may be a megabyte and stand in a million rows.
struct Texts {
    /// The texts, and which values are missing whatever their text.
    texts: ArrayRef,
    values: ArrayRef,
    keys: Option<(Vec<usize>, ArrayRef)>,
}

impl Texts {
    fn of(column: &ArrayRef) -> Result<Self, ArrowError> {
        let text = |values: &ArrayRef| cast(values, &DataType::Utf8);
        Ok(match column.as_any_dictionary_opt() {
            Some(dictionary) => Self {
                texts: text(dictionary.values())?,
                values: dictionary.values().clone(),
                keys: Some((dictionary.normalized_keys(), column.clone())),
            },
            None => Self { texts: text(column)?, values: column.clone(), keys: None },
        })
    }

    /// Row by row.
    fn each(&self, mut take: impl FnMut(usize, Text<'_>) -> Result<(), Problem>) -> Result<(), Problem> {
        let texts = self.texts.as_string::<i32>();
        let missing = self.values.logical_nulls();
        let text = |at: usize| match texts.is_valid(at) {
            true => Text::Some(texts.value(at)),
            false if missing.as_ref().is_some_and(|m| m.is_null(at)) => Text::Missing,
            false => Text::NotUtf8,
        };
        match &self.keys {
            None => (0..texts.len()).try_for_each(|row| take(row, text(row))),
            Some((keys, column)) => keys.iter().enumerate().try_for_each(|(row, &key)| match column.is_null(row) {
                true => take(row, Text::Missing),
                false => take(row, text(key)),
            }),
        }
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

fn label(text: &str, float: bool, missing: &CellProblem) -> Result<String, CellProblem> {
    match canonical_label(text) {
        label if label.is_empty() => Err(missing.clone()),
        _ if !float => Ok(text.trim().into()),
        label if label.parse::<f64>().is_ok_and(|v| !v.is_finite()) => Err(CellProblem::NotFinite { found: label }),
        label => Ok(label),
    }
}

/// Writes a column into row-major values.
fn spread<T: Copy + Default>(values: &mut Vec<T>, rows: usize, d: usize, j: usize, column: &[T]) {
    values.resize((rows + column.len()) * d, T::default());
    values[rows * d..].chunks_exact_mut(d).zip(column).for_each(|(row, v)| row[j] = *v);
}
