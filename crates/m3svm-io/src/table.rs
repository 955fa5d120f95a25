//! What a reader gives: features with labels, weights and groups, and where they came from.

use std::path::PathBuf;

use m3svm::{Dataset, Features, Model, Values};

use crate::error::{CellProblem, ColumnRef, Place, Problem, ReadError};
use crate::lines::Lines;
use crate::options::Format;

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
    /// One label per row, each in its one spelling (see [`canonical_label`](crate::canonical_label)).
    pub labels: Option<Vec<String>>,
    /// Where the labels came from: a column name, `column 5` (counted from 1) or the name of an array.
    pub label_name: Option<String>,
    /// Whether the label column was guessed rather than asked for.
    pub label_guessed: bool,
    /// One weight per row, if a weight column was asked for.
    pub weights: Option<Vec<f64>>,
    /// One group per row, if a group column was asked for.
    pub groups: Option<Vec<String>>,
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
            lines: None,
        }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.x.rows()
    }

    /// Where a row (counted from 0) is in the file.
    pub fn place(&self, row: usize) -> Place {
        match &self.lines {
            Some(lines) => Place::Line(lines.of(row)),
            None => Place::Row(row as u64 + 1),
        }
    }

    /// The labels as class numbers of a model; a label that it does not know is an error with its place.
    pub fn class_numbers(&self, model: &Model) -> Result<Vec<u32>, ReadError> {
        let problem = match &self.labels {
            None => Problem::NoLabels { hint: "they are to be compared with a model" },
            Some(labels) => match model.numbers_of(labels.iter().map(String::as_str)) {
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
        let Self { file, x, feature_names, labels, weights, .. } = self;
        let build = || {
            let labels = labels.ok_or(Problem::NoLabels { hint: "training data needs them" })?;
            let mut data = Dataset::from_labels(x, &labels)?;
            if let Some(weights) = weights {
                data = data.with_weights(weights)?;
            }
            if let Some(names) = feature_names {
                data = data.with_feature_names(names)?;
            }
            Ok(data)
        };
        build().map_err(|problem| ReadError { file, problem })
    }
}

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
