//! Tables that pass by and are never held as a whole: what becomes of their columns is learnt in one pass or two, and makes features in the last.

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema};

use super::cells::column_numbers;
use super::{Encoding, Kind, LeftOut, Missing, Preparation, Preprocessor, Statistics};
use crate::error::{Error, Result};
use crate::features::{Features, Values};

/// The columns of such a table.
///
/// Batches are shown to it pass by pass, until [`PassingColumns::pass_ended`] asks for no other pass. Numbers without gaps are features as they
/// are: as long as nothing else has come, they are handed back in the first pass already, and that is the last one unless a column turns out to
/// be no feature.
#[derive(Clone, Debug)]
pub struct PassingColumns {
    preparation: Preparation,
    plain: PlainNumbers,
    /// Columns are found by name, and those without a use are not even looked for.
    named: bool,
    statistics: Option<Statistics>,
    stage: Stage,
    left_out: Vec<LeftOut>,
    dropped: usize,
    /// Whether any cell was missing, in rows that count or not.
    holes: bool,
}

/// What becomes of tables in which all columns are numbers without gaps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PlainNumbers {
    /// They are features as they are, but for columns that say nothing.
    #[default]
    Picked,
    /// All of them are features as they are.
    Kept,
    /// They are prepared as any others.
    Prepared,
}

#[derive(Clone, Debug)]
enum Stage {
    /// All cells so far are numbers.
    Numbers,
    Learning,
    /// Which columns are used is known; the rest is learnt from rows without gaps.
    Relearning(Preprocessor),
    /// These columns of numbers, as they are.
    Picked(Vec<usize>),
    Learnt(Preprocessor),
}

/// Rows that are ready: their features, and which rows of the batch they are, if some were left out.
pub type ReadyRows = (Features<'static>, Option<Vec<u32>>);

impl PassingColumns {
    /// Of a table whose columns have names, or none.
    pub fn new(preparation: Preparation, named: bool) -> Self {
        let (statistics, stage, left_out) = (None, Stage::Numbers, Vec::new());
        Self {
            preparation,
            plain: PlainNumbers::default(),
            named,
            statistics,
            stage,
            left_out,
            dropped: 0,
            holes: false,
        }
    }

    /// Says what becomes of numbers without gaps.
    pub fn with_plain_numbers(self, plain: PlainNumbers) -> Self {
        Self { plain, ..self }
    }

    /// Shows it rows of numbers without gaps, and hands them back if they are ready.
    pub fn rows(
        &mut self,
        x: Features<'static>,
        names: &[String],
        weights: Option<&[f64]>,
    ) -> Result<Option<Features<'static>>> {
        match &self.stage {
            Stage::Numbers | Stage::Learning => {}
            Stage::Picked(used) => return Ok(Some(picked(x, used)?)),
            Stage::Relearning(_) | Stage::Learnt(_) => {
                return Err(Error::Shape { what: "batches of columns", expected: 1, found: 0 });
            }
        }
        let field = |name: &String| Field::new(name, DataType::Float64, true);
        let schema = || Schema::new(names.iter().map(field).collect::<Vec<_>>());
        let statistics = started(&mut self.statistics, &self.preparation, schema)?;
        match x.side_by_side() {
            Some(Values::F32(values)) => statistics.add_rows(values.as_ref(), weights)?,
            Some(Values::F64(values)) => statistics.add_rows(values.as_ref(), weights)?,
            None => return Err(Error::Shape { what: "rows side by side", expected: 1, found: 0 }),
        }
        if !self.takes_numbers(names) {
            self.stage = Stage::Learning;
        }
        Ok(matches!(self.stage, Stage::Numbers).then_some(x))
    }

    /// Shows it a batch of columns of any kind: as rows where it has numbers without gaps and nothing else.
    pub fn rows_or_batch(&mut self, batch: &RecordBatch, weights: Option<&[f64]>) -> Result<Option<ReadyRows>> {
        if self.wants_rows()
            && batch.num_columns() > 0
            && batch.columns().iter().all(|column| is_number(column.data_type()) && !has_gaps(column))
        {
            let all: Vec<usize> = (0..batch.num_columns()).collect();
            let names: Vec<String> = batch.schema_ref().fields().iter().map(|field| field.name().clone()).collect();
            let x = numbers(batch, &all)?;
            return Ok(self.rows(x, &names, weights)?.map(|x| (x, None)));
        }
        self.batch(batch, weights)
    }

    /// Shows it a batch of columns, and hands back features if they are ready.
    pub fn batch(&mut self, batch: &RecordBatch, weights: Option<&[f64]>) -> Result<Option<ReadyRows>> {
        match &self.stage {
            Stage::Numbers | Stage::Learning => {
                let schema = || batch.schema().as_ref().clone();
                started(&mut self.statistics, &self.preparation, schema)?.add(batch, weights)?;
                self.stage = Stage::Learning;
                self.holes |= batch.columns().iter().any(|column| column.logical_null_count() > 0);
                Ok(None)
            }
            Stage::Relearning(first) => {
                let whole = first.whole_rows(batch)?;
                let weights: Option<Vec<f64>> = weights.map(|w| whole.iter().map(|&i| w[i as usize]).collect());
                if let Some(statistics) = &mut self.statistics {
                    statistics.add(&taken(batch, &whole)?, weights.as_deref())?;
                }
                Ok(None)
            }
            Stage::Picked(used) => Ok(Some((numbers(batch, used)?, None))),
            Stage::Learnt(preprocessor) => {
                let batch = self.used(batch, preprocessor)?;
                if self.preparation.missing != Missing::DropRows {
                    return Ok(Some((preprocessor.apply(&batch)?.x, None)));
                }
                let whole = preprocessor.whole_rows(&batch)?;
                self.dropped += batch.num_rows() - whole.len();
                let x = preprocessor.apply(&taken(&batch, &whole)?)?.x;
                Ok(Some((x, (whole.len() < batch.num_rows()).then_some(whole))))
            }
        }
    }

    /// All rows have been shown. Whether they are to be shown again.
    pub fn pass_ended(&mut self) -> Result<bool> {
        let Some(statistics) = &self.statistics else { return Ok(false) };
        let learnt = match &self.stage {
            Stage::Picked(_) | Stage::Learnt(_) => return Ok(false),
            Stage::Relearning(first) => first.relearn_of(statistics),
            Stage::Numbers | Stage::Learning => {
                let (learnt, left_out) = Preprocessor::learn(statistics, &self.preparation);
                self.left_out = left_out;
                let (columns, gaps) = (statistics.columns(), statistics.columns().iter().any(|c| c.missing > 0));
                let holes = gaps || self.holes;
                let numbers =
                    columns.iter().all(|c| c.kind == Kind::Number) && self.preparation.missing_words.is_empty();
                if numbers && !holes && self.plain == PlainNumbers::Kept {
                    self.left_out = Vec::new();
                    if matches!(self.stage, Stage::Numbers) {
                        return Ok(false);
                    }
                    self.stage = Stage::Picked((0..columns.len()).collect());
                    return Ok(true);
                }
                let is_picked = self.plain == PlainNumbers::Picked && (self.left_out.is_empty() || self.named);
                if numbers && !holes && is_picked {
                    if self.left_out.is_empty() && matches!(self.stage, Stage::Numbers) {
                        return Ok(false);
                    }
                    self.stage = Stage::Picked((0..columns.len()).filter(|&j| is_used(&learnt, j)).collect());
                    return Ok(true);
                }
                if holes && self.preparation.missing == Missing::DropRows {
                    self.statistics = Some(Statistics::of_columns(&learnt)?);
                    self.stage = Stage::Relearning(learnt);
                    return Ok(true);
                }
                learnt
            }
        };
        let learnt = if self.named { learnt.without_unused() } else { learnt.without_names() };
        if learnt.width() == 0 {
            return Err(Error::param("features", 0, "be at least 1"));
        }
        self.stage = Stage::Learnt(learnt);
        Ok(true)
    }

    /// Whether rows of numbers can be shown as such, and need not come as columns.
    pub fn wants_rows(&self) -> bool {
        matches!(self.stage, Stage::Numbers | Stage::Learning | Stage::Picked(_))
    }

    /// What makes the features, unless they are columns of numbers as they are; known after the passes that learn.
    pub fn preprocessor(&self) -> Option<&Preprocessor> {
        match &self.stage {
            Stage::Learnt(preprocessor) => Some(preprocessor),
            _ => None,
        }
    }

    /// The names of the features, where columns have names, `all` of them these.
    pub fn feature_names(&self, all: &[String]) -> Option<Vec<String>> {
        match &self.stage {
            Stage::Learnt(preprocessor) => Some(preprocessor.feature_names()),
            _ if !self.named => None,
            Stage::Picked(used) => Some(used.iter().map(|&j| all[j].clone()).collect()),
            _ => Some(all.to_vec()),
        }
    }

    /// Columns that are no features, and why.
    pub fn left_out(&self) -> &[LeftOut] {
        &self.left_out
    }

    /// Rows with gaps that were left out.
    pub fn dropped(&self) -> usize {
        self.dropped
    }

    /// What is known of the columns.
    pub fn statistics(&self) -> Option<&Statistics> {
        self.statistics.as_ref()
    }

    /// Whether numbers are used as they are.
    fn takes_numbers(&self, names: &[String]) -> bool {
        let Preparation { categories, text, missing_words, .. } = &self.preparation;
        self.plain != PlainNumbers::Prepared
            && missing_words.is_empty()
            && !names.iter().any(|name| categories.contains(name) || text.contains(name))
    }

    /// The columns that a preprocessor takes.
    fn used(&self, batch: &RecordBatch, preprocessor: &Preprocessor) -> Result<RecordBatch> {
        if !self.named {
            return Ok(batch.clone());
        }
        let names = preprocessor.columns().iter().map(|c| c.name.as_deref().unwrap_or_default());
        let places: std::result::Result<Vec<usize>, _> = names.map(|name| batch.schema_ref().index_of(name)).collect();
        places.and_then(|places| batch.project(&places)).map_err(unusable)
    }
}

fn started<'s>(
    statistics: &'s mut Option<Statistics>,
    preparation: &Preparation,
    schema: impl FnOnce() -> Schema,
) -> Result<&'s mut Statistics> {
    Ok(match statistics {
        Some(statistics) => statistics,
        none => none.insert(Statistics::new(&schema(), preparation)?),
    })
}

fn is_number(kind: &DataType) -> bool {
    kind.is_integer() || matches!(kind, DataType::Float32 | DataType::Float64 | DataType::Boolean)
}

fn has_gaps(column: &ArrayRef) -> bool {
    let nans = match column.data_type() {
        DataType::Float32 => column.as_primitive::<Float32Type>().values().iter().any(|v| v.is_nan()),
        DataType::Float64 => column.as_primitive::<Float64Type>().values().iter().any(|v| v.is_nan()),
        _ => false,
    };
    nans || column.null_count() > 0
}

fn is_used(preprocessor: &Preprocessor, j: usize) -> bool {
    !matches!(preprocessor.columns()[j].encoding, Encoding::Unused {})
}

fn unusable(e: arrow_schema::ArrowError) -> Error {
    Error::Column { column: "a batch".into(), what: e.to_string() }
}

fn taken(batch: &RecordBatch, rows: &[u32]) -> Result<RecordBatch> {
    let rows = arrow_array::UInt32Array::from(rows.to_vec());
    arrow_select::take::take_record_batch(batch, &rows).map_err(unusable)
}

/// Some columns of dense rows.
fn picked(x: Features<'static>, used: &[usize]) -> Result<Features<'static>> {
    fn of<T: Copy>(values: &[T], width: usize, used: &[usize]) -> Vec<T> {
        values.chunks_exact(width.max(1)).flat_map(|row| used.iter().map(|&j| row[j])).collect()
    }
    let (rows, width) = (x.rows(), x.cols());
    if used.len() == width {
        return Ok(x);
    }
    match x.side_by_side() {
        Some(Values::F32(values)) => Features::dense(of(values, width, used), rows, used.len()),
        Some(Values::F64(values)) => Features::dense(of(values, width, used), rows, used.len()),
        None => Err(Error::Shape { what: "rows side by side", expected: 1, found: 0 }),
    }
}

/// Some columns of a batch as dense rows.
fn numbers(batch: &RecordBatch, used: &[usize]) -> Result<Features<'static>> {
    let (rows, width) = (batch.num_rows(), used.len());
    let single = used.iter().all(|&j| *batch.column(j).data_type() == DataType::Float32);
    let mut values = vec![0.0; rows * width];
    for (at, &j) in used.iter().enumerate() {
        let column = column_numbers(batch.column(j), Kind::Number)?;
        values.chunks_exact_mut(width.max(1)).zip(column).for_each(|(row, v)| row[at] = v);
    }
    match single {
        true => Features::dense(values.into_iter().map(|v| v as f32).collect::<Vec<f32>>(), rows, width),
        false => Features::dense(values, rows, width),
    }
}
