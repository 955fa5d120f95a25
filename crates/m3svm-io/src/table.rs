//! What a reader gives: features with labels, weights and groups, and where they came from.

use std::borrow::Cow;
use std::collections::HashSet;
use std::path::PathBuf;

use arrow_array::{ArrayRef, RecordBatch};
use m3svm::{Dataset, Features, LeftOut, Model, Preprocessor, Statistics, Values};

use crate::error::{CellProblem, ColumnRef, Place, Problem, ReadError};
use crate::lines::Lines;
use crate::mixed::{Applied, Done, ToPrepare};
use crate::options::Format;
use crate::value::canonical_label;

/// The content of a data file.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Table {
    /// The file; `-` is standard input.
    pub file: PathBuf,
    /// The format it was read as.
    pub format: Format,
    /// The features, one row per sample.
    pub x: Features<'static>,
    /// Names of the feature columns, if the file has names.
    pub feature_names: Option<Vec<String>>,
    /// One label per row, each in its one spelling (see [`canonical_label`]).
    pub labels: Option<Vec<String>>,
    /// Where the labels came from: a column name, `column 5` (counted from 1) or the name of an array.
    pub label_name: Option<String>,
    /// Whether the label column was guessed rather than asked for.
    pub label_guessed: bool,
    /// One weight per row, if a weight column was asked for.
    pub weights: Option<Vec<f64>>,
    /// One group per row, if a group column was asked for.
    pub groups: Option<Vec<String>>,
    /// What was made of columns of every kind, if that was asked for.
    pub preprocessor: Option<Preprocessor>,
    /// The columns as they were before that, for folds.
    pub columns: Option<RecordBatch>,
    /// The columns to keep, as they are in the file, if some were asked for.
    pub kept: Option<RecordBatch>,
    /// What is known of the columns, if they were prepared here.
    pub statistics: Option<Statistics>,
    /// Columns that are no features.
    pub left_out: Vec<LeftOut>,
    /// What became of cells where a model says what to do with them.
    pub applied: Vec<Applied>,
    /// The encoding that text was read in because it is not UTF-8 and nobody has said what it is.
    pub assumed_encoding: Option<&'static str>,
    /// Columns of numbers with a sign beside all of them, such as `%` or `€`, which was taken off.
    pub signs: Vec<(String, String)>,
    /// Rows with gaps that were left out.
    pub dropped: usize,
    /// What is still to be done to the columns, if they are as they were.
    pub(crate) to_prepare: Option<ToPrepare>,
    /// Rows of the file before these.
    pub(crate) before: u64,
    /// Lines of the rows, in text files.
    pub(crate) lines: Option<Lines>,
}

impl Table {
    pub(crate) fn new(format: Format, x: Features<'static>) -> Self {
        Self {
            file: PathBuf::new(),
            format,
            x,
            feature_names: None,
            labels: None,
            label_name: None,
            label_guessed: false,
            weights: None,
            groups: None,
            preprocessor: None,
            columns: None,
            kept: None,
            statistics: None,
            left_out: Vec::new(),
            applied: Vec::new(),
            assumed_encoding: None,
            signs: Vec::new(),
            dropped: 0,
            to_prepare: None,
            before: 0,
            lines: None,
        }
    }

    /// Takes over what was made of columns. Labels and weights are still those of all rows.
    pub(crate) fn with_done(mut self, done: Done) -> Self {
        if let Some(rows) = &done.rows {
            fn left<T: Clone>(all: Option<Vec<T>>, rows: &[u32]) -> Option<Vec<T>> {
                all.map(|all| rows.iter().map(|&i| all[i as usize].clone()).collect())
            }
            let whole = self.labels.as_ref().map(Vec::len).or(self.weights.as_ref().map(Vec::len));
            self.dropped += whole.map_or(0, |all| all - rows.len());
            self.labels = left(self.labels, rows);
            self.weights = left(self.weights, rows);
            self.groups = left(self.groups, rows);
            self.lines = self.lines.map(|lines| lines.of_rows(rows));
        }
        self.feature_names = done.names;
        (self.preprocessor, self.columns) = (done.preprocessor, done.table);
        (self.statistics, self.left_out, self.applied) = (done.statistics, done.left_out, done.applied);
        self.to_prepare = done.to_prepare;
        self.x = done.x;
        self
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.x.rows()
    }

    /// Where a row (counted from 0) is in the file.
    pub fn place(&self, row: usize) -> Place {
        match &self.lines {
            Some(lines) => Place::Line(lines.of(row)),
            None => Place::Row(self.before + row as u64 + 1),
        }
    }

    /// The same without the columns as they were, for what has no folds: they are as large as the features.
    pub fn without_columns(self) -> Self {
        Self { columns: None, ..self }
    }

    /// The labels as class numbers of a model; a label that it does not know is an error with its place.
    pub fn class_numbers(&self, model: &Model) -> Result<Vec<u32>, ReadError> {
        let problem = match &self.labels {
            None => Problem::NoLabels { hint: "they are to be compared with a model" },
            Some(labels) => match model.numbers_of(spelled_for(labels, model).iter().map(AsRef::as_ref)) {
                Ok(numbers) => return Ok(numbers),
                Err(m3svm::Error::UnknownClass { row, label, known }) => {
                    Problem::UnknownClass { place: self.place(row), label, known }
                }
                Err(other) => other.into(),
            },
        };
        Err(ReadError { file: self.file.clone(), problem })
    }

    /// The table as training data; needs labels of at least two classes.
    pub fn into_dataset(self) -> Result<Dataset<'static>, ReadError> {
        let Self { file, x, feature_names, labels, weights, preprocessor, columns, .. } = self;
        let build = || {
            let labels = labels.ok_or(Problem::NoLabels { hint: "training data needs them" })?;
            let mut data = Dataset::from_labels(x, &labels)?;
            if let Some(weights) = weights {
                data = data.with_weights(weights)?;
            }
            match (preprocessor, feature_names) {
                (Some(preprocessor), _) => data = data.with_preprocessor(preprocessor, columns)?,
                (None, Some(names)) => data = data.with_feature_names(names)?,
                (None, None) => {}
            }
            Ok(data)
        };
        build().map_err(|problem| ReadError { file, problem })
    }
}

/// The classes that labels stand for: what is a number in one file may be a name in another, and is written differently there.
fn spelled_for<'l>(labels: &'l [String], model: &Model) -> Vec<Cow<'l, str>> {
    let known: HashSet<&str> = model.classes().iter().map(String::as_str).collect();
    let spelled = |label: &'l String| match known.contains(label.as_str()) {
        true => Cow::Borrowed(label.as_str()),
        false => Cow::Owned(canonical_label(label)),
    };
    labels.iter().map(spelled).collect()
}

/// The columns to keep, by name; none if there are none.
pub(crate) fn kept_columns(columns: Vec<(String, ArrayRef)>) -> Result<Option<RecordBatch>, Problem> {
    if columns.is_empty() {
        return Ok(None);
    }
    let batch = RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true)));
    batch.map(Some).map_err(|e| Problem::Arrays { what: e.to_string() })
}

/// What stands for features until they are made.
pub(crate) fn nothing() -> Result<Features<'static>, Problem> {
    Ok(Features::dense(Vec::<f64>::new(), 0, 0)?)
}
/// Is given the tables of a file, one after the other.
pub(crate) type Take<'a> = dyn FnMut(Table) -> Result<(), Problem> + 'a;

/// A dense matrix; a value that is not finite is named by row and column.
pub(crate) fn dense(
    values: impl Into<Values<'static>>,
    rows: usize,
    cols: usize,
    column: impl Fn(usize) -> ColumnRef,
) -> Result<Features<'static>, Problem> {
    checked(Features::dense(values, rows, cols), column)
}

/// Turns the library's complaint about a value into one with the file's own column.
pub(crate) fn checked(
    x: m3svm::Result<Features<'static>>,
    column: impl Fn(usize) -> ColumnRef,
) -> Result<Features<'static>, Problem> {
    match x {
        Ok(x) if x.rows() == 0 => Err(Problem::NoRows),
        Ok(x) if x.cols() == 0 => Err(Problem::NoFeatures),
        Ok(x) => Ok(x),
        Err(m3svm::Error::NotFinite { row, column: j, value }) => Err(Problem::Cell {
            place: Place::Row(row as u64 + 1),
            column: column(j),
            problem: CellProblem::NotFinite { found: value },
        }),
        Err(e) => Err(e.into()),
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn tables_become_data_sets() {
        let mut table = Table::new(Format::Csv, Features::dense(vec![1.0, 2.0], 2, 1).unwrap());
        let none = table.clone().into_dataset().unwrap_err().to_string();
        assert!(none.contains("there are no labels"), "{none}");
        table.labels = Some(vec!["b".into(), "a".into()]);
        table.weights = Some(vec![1.0, 2.0]);
        table.feature_names = Some(vec!["age".into()]);
        let data = table.into_dataset().unwrap();
        assert_eq!((data.y(), data.weights()), (&[1, 0][..], Some(&[1.0, 2.0][..])));
    }
}
