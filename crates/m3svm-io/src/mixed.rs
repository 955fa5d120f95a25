//! Columns of numbers, times and texts on their way to features: numbers side by side in rows, as long as there is nothing else to do
//! with them than to use them.

use std::sync::Arc;

use arrow_array::builder::StringDictionaryBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{
    Array, ArrayRef, DictionaryArray, Float32Array, Float64Array, RecordBatch, StringArray, TimestampMillisecondArray,
};
use arrow_schema::{DataType, Field, Schema};
use m3svm::memory::Meter;
use m3svm::{Encoding, Features, Kind, LeftOut, Missing, Preparation, Preprocessor, Statistics, Values};

use crate::columns::Columns;
use crate::error::Problem;
use crate::options::{ReadOptions, Unprepared};
use crate::value::{NumberStyle, TEXT, milliseconds};

/// Bytes of the key of a text.
const KEY: u64 = 4;

/// The features of a table as they are read.
pub(crate) struct Mixed {
    kinds: Vec<Kind>,
    /// The position of each column among those that are stored like it.
    places: Vec<usize>,
    /// Numbers and times (in days) row by row; NaN is a gap.
    values: Values<'static>,
    /// One per column of texts.
    texts: Vec<StringDictionaryBuilder<Int32Type>>,
    /// How many texts each of them knows.
    known: Vec<usize>,
    /// How numbers are written in columns of texts that may turn out to be of numbers: nothing of them was seen before they were read.
    undecided: Option<(Vec<bool>, NumberStyle)>,
    rows: usize,
}

/// Features, and what was done to make them.
pub(crate) struct Done {
    pub(crate) x: Features<'static>,
    pub(crate) names: Option<Vec<String>>,
    pub(crate) preprocessor: Option<Preprocessor>,
    pub(crate) table: Option<RecordBatch>,
    pub(crate) statistics: Option<Statistics>,
    pub(crate) left_out: Vec<LeftOut>,
    /// What a model makes of columns that it knows.
    pub(crate) applied: Vec<Applied>,
    /// The rows that are left, if some were dropped.
    pub(crate) rows: Option<Vec<u32>>,
    /// Of columns as they are: what is still to be done to them.
    pub(crate) to_prepare: Option<ToPrepare>,
}

/// What is to be done to columns of which all parts have to be seen first.
#[derive(Clone, Debug)]
pub(crate) struct ToPrepare {
    /// With columns by name.
    pub(crate) preparation: Preparation,
    pub(crate) kinds: Vec<Kind>,
    pub(crate) named: bool,
    /// Names of all columns, made up if there are none.
    pub(crate) names: Vec<String>,
    /// Columns of texts that may be of numbers, which are written like this.
    pub(crate) undecided: Option<(Vec<bool>, NumberStyle)>,
}

/// What became of a column when a model was applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    /// The column.
    pub column: String,
    /// Missing cells that were filled.
    pub filled: usize,
    /// Cells with a value that was never seen in training.
    pub unseen: usize,
    /// The first of these values.
    pub example: Option<String>,
}

impl Mixed {
    pub(crate) fn new(kinds: Vec<Kind>, single: bool) -> Self {
        let texts: Vec<_> =
            kinds.iter().filter(|k| **k == Kind::Text).map(|_| StringDictionaryBuilder::new()).collect();
        let known = vec![0; texts.len()];
        let (mut numbers, mut others) = (0..usize::MAX, 0..usize::MAX);
        let places =
            kinds.iter().filter_map(|k| if *k == Kind::Text { others.next() } else { numbers.next() }).collect();
        let values = if single { Vec::<f32>::new().into() } else { Vec::<f64>::new().into() };
        Self { kinds, places, values, texts, known, undecided: None, rows: 0 }
    }

    /// Says which columns of texts may be of numbers.
    pub(crate) fn with_undecided(mut self, undecided: Vec<bool>, style: NumberStyle) -> Self {
        self.undecided = Some((undecided, style));
        self
    }

    /// The same columns without a row.
    pub(crate) fn emptied(&self) -> Self {
        let single = matches!(self.values, Values::F32(_));
        Self { undecided: self.undecided.clone(), ..Self::new(self.kinds.clone(), single) }
    }

    pub(crate) fn kinds(&self) -> &[Kind] {
        &self.kinds
    }

    /// Columns of numbers and times.
    fn width(&self) -> usize {
        self.kinds.len() - self.texts.len()
    }

    /// Makes room for so many rows.
    pub(crate) fn reserve(&mut self, rows: usize, meter: &Meter) -> Result<(), Problem> {
        let more = rows.saturating_mul(self.width());
        match &mut self.values {
            Values::F32(values) => Ok(meter.reserve(values.to_mut(), more)?),
            Values::F64(values) => Ok(meter.reserve(values.to_mut(), more)?),
        }
    }

    /// The next number or time of the row that is being read.
    pub(crate) fn push_number(&mut self, value: f64) {
        if let Values::F64(values) = &mut self.values {
            values.to_mut().push(value);
        }
    }

    /// The next text of column `at` among those of texts; says how many bytes it takes.
    pub(crate) fn push_text(&mut self, at: usize, text: Option<&str>) -> Result<u64, Problem> {
        let builder = &mut self.texts[at];
        let Some(text) = text else {
            builder.append_null();
            return Ok(KEY);
        };
        let key = builder.append(text).map_err(|e| Problem::Arrays { what: e.to_string() })?;
        // Only a new text takes its own bytes.
        let new = key as usize == self.known[at];
        self.known[at] += usize::from(new);
        Ok(KEY + if new { (text.len() + TEXT) as u64 } else { 0 })
    }

    pub(crate) fn row_ended(&mut self) {
        self.rows += 1;
    }

    /// Adds a batch of columns that are all numbers of type T.
    pub(crate) fn extend<T: Copy + Default>(values: &mut Vec<T>, rows: usize, width: usize, at: usize, column: &[T]) {
        values.resize((rows + column.len()) * width, T::default());
        values[rows * width..].chunks_exact_mut(width).zip(column).for_each(|(row, v)| row[at] = *v);
    }

    pub(crate) fn add_numbers(&mut self, column: usize, values: &[f64]) {
        let (rows, width, at) = (self.rows, self.width(), self.places[column]);
        match &mut self.values {
            Values::F64(all) => Self::extend(all.to_mut(), rows, width, at, values),
            Values::F32(all) => {
                let narrow: Vec<f32> = values.iter().map(|v| *v as f32).collect();
                Self::extend(all.to_mut(), rows, width, at, &narrow);
            }
        }
    }

    pub(crate) fn add_texts(&mut self, column: usize, texts: &DictionaryArray<Int32Type>) -> Result<u64, Problem> {
        let at = self.places[column];
        let values = texts.values().as_string_opt::<i32>().cloned();
        let values = values.unwrap_or_else(|| StringArray::new_null(texts.values().len()));
        let mut bytes = 0;
        for key in texts.keys() {
            let text = key.map(|key| key as usize).filter(|key| values.is_valid(*key)).map(|key| values.value(key));
            bytes += self.push_text(at, text)?;
        }
        Ok(bytes)
    }

    pub(crate) fn rows_added(&mut self, rows: usize) {
        self.rows += rows;
    }

    /// Prepares what was read. `selected` are the columns in the file.
    pub(crate) fn finish(
        self,
        columns: &Columns<'_>,
        selected: &[usize],
        weights: Option<&[f64]>,
        options: &ReadOptions,
        meter: &mut Meter,
    ) -> Result<Done, Problem> {
        if self.rows == 0 {
            return Err(Problem::NoRows);
        }
        let names: Vec<String> = selected.iter().map(|&i| columns.label_name(i)).collect();
        if let Some(preprocessor) = &options.preprocessor {
            if preprocessor.is_plain() && preprocessor.missing_words().is_empty() {
                return self.filled(preprocessor);
            }
            let table = self.table(&names, meter)?;
            return applied(preprocessor, &table);
        }
        let Some(preparation) = &options.preparation else {
            return Err(Problem::Arrays { what: "columns of texts cannot be features as they are".into() });
        };
        let mut preparation = preparation.clone();
        let named = columns.named();
        preparation.keep_all |= options.features.is_some();
        preparation.keep = resolved(&preparation.keep, columns)?;
        preparation.categories = resolved(&preparation.categories, columns)?;
        preparation.text = resolved(&preparation.text, columns)?;
        if let Some(unprepared) = &options.unprepared {
            return self.unprepared(unprepared, preparation, names, named, meter);
        }
        let numeric = self.kinds.iter().all(|k| *k == Kind::Number) && preparation.missing_words.is_empty();
        if numeric && !names.iter().any(|name| preparation.categories.contains(name) || preparation.text.contains(name))
        {
            let field = |name: &String| Field::new(name, DataType::Float64, true);
            let schema = Schema::new(names.iter().map(field).collect::<Vec<_>>());
            let mut statistics = Statistics::new(&schema, &preparation)?;
            match &self.values {
                Values::F32(values) => statistics.add_rows(values, weights)?,
                Values::F64(values) => statistics.add_rows(values, weights)?,
            }
            let (preprocessor, left_out) = Preprocessor::learn(&statistics, &preparation);
            let whole = statistics.columns().iter().all(|c| c.missing == 0) && !has_gaps(&self.values);
            let used: Vec<usize> = (0..names.len()).filter(|&j| is_used(&preprocessor, j)).collect();
            if whole && (left_out.is_empty() || named) {
                let all = used.len() == names.len();
                let values = if all { self.values } else { kept(self.values, names.len(), &used) };
                let names: Vec<String> = used.iter().map(|&j| names[j].clone()).collect();
                let x = Features::dense(values, self.rows, names.len())?;
                let names = named.then_some(names);
                let statistics = Some(statistics);
                return Ok(Done {
                    x,
                    names,
                    preprocessor: None,
                    table: None,
                    statistics,
                    left_out,
                    applied: Vec::new(),
                    rows: None,
                    to_prepare: None,
                });
            }
        }
        let table = self.table(&names, meter)?;
        prepared(table, named, weights, &preparation)
    }

    /// Columns as they are, and what is to be done to them.
    fn unprepared(
        mut self,
        how: &Unprepared,
        preparation: Preparation,
        names: Vec<String>,
        named: bool,
        meter: &mut Meter,
    ) -> Result<Done, Problem> {
        let (kinds, undecided) = (self.kinds.clone(), self.undecided.take());
        let numbers = how.numbers && kinds.iter().all(|k| *k == Kind::Number) && !has_gaps(&self.values);
        let (x, table) = match numbers {
            true => (Features::dense(self.values, self.rows, names.len())?, None),
            false => (crate::table::nothing()?, Some(self.table(&names, meter)?)),
        };
        let feature_names = named.then(|| names.clone());
        let to_prepare = Some(ToPrepare { preparation, kinds, named, names, undecided });
        let (preprocessor, statistics, left_out, applied, rows) = (None, None, Vec::new(), Vec::new(), None);
        Ok(Done { x, names: feature_names, preprocessor, table, statistics, left_out, applied, rows, to_prepare })
    }

    /// Features of a model that takes numbers as they are, with its gaps filled in place.
    fn filled(mut self, preprocessor: &Preprocessor) -> Result<Done, Problem> {
        let columns = preprocessor.columns();
        let mut filled = vec![0; columns.len()];
        let fill = |j: usize| match columns[j].encoding {
            Encoding::Number { fill, .. } => fill,
            _ => None,
        };
        let mut fill_gap = |i: usize| {
            let j = i % columns.len();
            filled[j] += 1;
            let why = "and nothing stands for a missing one";
            fill(j).ok_or_else(|| m3svm::Error::Gap { row: i / columns.len(), column: columns[j].shown(j), why })
        };
        match &mut self.values {
            Values::F64(all) if all.iter().any(|v| v.is_nan()) => {
                let mut gaps = all.to_mut().iter_mut().enumerate().filter(|(_, v)| v.is_nan());
                gaps.try_for_each(|(i, v)| fill_gap(i).map(|fill| *v = fill))?;
            }
            Values::F32(all) if all.iter().any(|v| v.is_nan()) => {
                let mut gaps = all.to_mut().iter_mut().enumerate().filter(|(_, v)| v.is_nan());
                gaps.try_for_each(|(i, v)| fill_gap(i).map(|fill| *v = fill as f32))?;
            }
            _ => {}
        }
        let x = Features::dense(self.values, self.rows, columns.len())?;
        let one =
            |(j, filled): (usize, usize)| Applied { column: columns[j].shown(j), filled, unseen: 0, example: None };
        let applied = filled.into_iter().enumerate().filter(|(_, n)| *n > 0).map(one).collect();
        let names = columns.iter().map(|c| c.name.clone()).collect();
        Ok(Done {
            x,
            names,
            preprocessor: None,
            table: None,
            statistics: None,
            left_out: Vec::new(),
            applied,
            rows: None,
            to_prepare: None,
        })
    }

    /// All columns as Arrow arrays.
    fn table(self, names: &[String], meter: &mut Meter) -> Result<RecordBatch, Problem> {
        let (rows, width) = (self.rows, self.width());
        meter.add(m3svm::memory::numbers(rows, width))?;
        let mut texts = self.texts.into_iter();
        let mut at = 0;
        let mut arrays: Vec<ArrayRef> = Vec::new();
        for (j, kind) in self.kinds.iter().enumerate() {
            let array: ArrayRef = match kind {
                Kind::Text => {
                    let texts = texts.next().map(|mut builder| builder.finish());
                    let style = self.undecided.as_ref().filter(|(undecided, _)| undecided[j]).map(|(_, style)| *style);
                    match (texts, style) {
                        (None, _) => Arc::new(StringArray::new_null(rows)),
                        (Some(texts), style) => {
                            style.and_then(|style| numbers(&texts, style)).unwrap_or(Arc::new(texts))
                        }
                    }
                }
                _ => {
                    let column = at;
                    at += 1;
                    match (&self.values, kind) {
                        (Values::F32(values), Kind::Number) => {
                            let cells = values
                                .iter()
                                .skip(column)
                                .step_by(width.max(1))
                                .map(|v| Some(*v).filter(|v| !v.is_nan()));
                            Arc::new(cells.collect::<Float32Array>())
                        }
                        (Values::F64(values), Kind::Number) => {
                            let cells = values
                                .iter()
                                .skip(column)
                                .step_by(width.max(1))
                                .map(|v| Some(*v).filter(|v| !v.is_nan()));
                            Arc::new(cells.collect::<Float64Array>())
                        }
                        (values, _) => {
                            let cell = |row: usize| match values {
                                Values::F32(v) => f64::from(v[row * width + column]),
                                Values::F64(v) => v[row * width + column],
                            };
                            let cells = (0..rows).map(cell).map(|days| (!days.is_nan()).then(|| milliseconds(days)));
                            Arc::new(cells.collect::<TimestampMillisecondArray>())
                        }
                    }
                }
            };
            arrays.push(array);
        }
        let field = |(name, array): (&String, &ArrayRef)| Field::new(name, array.data_type().clone(), true);
        let schema = Arc::new(Schema::new(names.iter().zip(&arrays).map(field).collect::<Vec<_>>()));
        RecordBatch::try_new(schema, arrays).map_err(|e| Problem::Arrays { what: e.to_string() })
    }
}

/// Texts as numbers, if all of them are.
fn numbers(texts: &DictionaryArray<Int32Type>, style: NumberStyle) -> Option<ArrayRef> {
    let all = texts.values().as_string_opt::<i32>()?;
    let numbers: Option<Vec<f64>> = all.iter().map(|text| style.number(text.unwrap_or_default()).ok()).collect();
    let numbers = numbers.filter(|numbers| !numbers.is_empty())?;
    let cells = texts.keys().iter().map(|key| key.and_then(|key| numbers.get(key as usize).copied()));
    Some(Arc::new(cells.collect::<Float64Array>()))
}

fn is_used(preprocessor: &Preprocessor, j: usize) -> bool {
    !matches!(preprocessor.columns()[j].encoding, Encoding::Unused {})
}

fn has_gaps(values: &Values<'_>) -> bool {
    match values {
        Values::F32(v) => v.iter().any(|v| v.is_nan()),
        Values::F64(v) => v.iter().any(|v| v.is_nan()),
    }
}

/// Names of columns, some of which were given as positions or ranges.
fn resolved(list: &[String], columns: &Columns<'_>) -> Result<Vec<String>, Problem> {
    let list: Vec<crate::Column> = list.iter().map(|name| name.as_str().into()).collect();
    Ok(columns.find_all(&list, "column")?.into_iter().map(|i| columns.label_name(i)).collect())
}

/// The chosen columns, moved together in place.
fn kept(values: Values<'static>, width: usize, used: &[usize]) -> Values<'static> {
    match values {
        Values::F32(v) => crate::array::picked(v.into_owned(), width, used).into(),
        Values::F64(v) => crate::array::picked(v.into_owned(), width, used).into(),
    }
}

/// Features by what a table says itself.
pub(crate) fn prepared(
    table: RecordBatch,
    named: bool,
    weights: Option<&[f64]>,
    preparation: &Preparation,
) -> Result<Done, Problem> {
    let mut statistics = Statistics::new(table.schema_ref(), preparation)?;
    statistics.add(&table, weights)?;
    let (mut preprocessor, left_out) = Preprocessor::learn(&statistics, preparation);
    let mut table = table;
    let mut rows = None;
    if preparation.missing == Missing::DropRows {
        let whole = preprocessor.whole_rows(&table)?;
        if whole.is_empty() {
            return Err(Problem::Arrays { what: "every row has a gap; --missing indicator fills them".into() });
        }
        if whole.len() < table.num_rows() {
            table = taken(&table, &whole)?;
            let weights = weights.map(|w| whole.iter().map(|&i| w[i as usize]).collect::<Vec<f64>>());
            preprocessor = preprocessor.relearn(&table, weights.as_deref())?;
            rows = Some(whole);
        }
    }
    if named {
        let used: Vec<usize> = (0..table.num_columns()).filter(|&j| is_used(&preprocessor, j)).collect();
        table = table.project(&used).map_err(|e| Problem::Arrays { what: e.to_string() })?;
        preprocessor = preprocessor.without_unused();
    } else {
        preprocessor = preprocessor.without_names();
    }
    if preprocessor.width() == 0 {
        return Err(Problem::NoFeatures);
    }
    let x = preprocessor.apply(&table)?.x;
    let (names, statistics) = (Some(preprocessor.feature_names()), Some(statistics));
    let (applied, to_prepare) = (Vec::new(), None);
    let (preprocessor, table) = (Some(preprocessor), Some(table));
    Ok(Done { x, names, preprocessor, table, statistics, left_out, applied, rows, to_prepare })
}

/// Features by what a model has learnt.
fn applied(preprocessor: &Preprocessor, table: &RecordBatch) -> Result<Done, Problem> {
    let found = preprocessor.apply(table)?;
    let column = |(i, column): (usize, &m3svm::PreparedColumn)| Applied {
        column: column.shown(i),
        filled: found.filled[i],
        unseen: found.unseen[i].0,
        example: found.unseen[i].1.clone(),
    };
    let all = preprocessor.columns().iter().enumerate().map(column);
    let applied = all.filter(|a| a.filled + a.unseen > 0).collect();
    let names = Some(preprocessor.feature_names());
    let (left_out, statistics) = (Vec::new(), None);
    let (preprocessor, table, rows, to_prepare) = (None, None, None, None);
    Ok(Done { x: found.x, names, preprocessor, table, statistics, left_out, applied, rows, to_prepare })
}

pub(crate) fn taken(table: &RecordBatch, rows: &[u32]) -> Result<RecordBatch, Problem> {
    let rows = arrow_array::UInt32Array::from(rows.to_vec());
    arrow_select::take::take_record_batch(table, &rows).map_err(|e| Problem::Arrays { what: e.to_string() })
}
