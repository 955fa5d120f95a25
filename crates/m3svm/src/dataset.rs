//! Features with labels and sample weights, checked once when built.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{RecordBatch, UInt32Array};

use crate::error::{Error, Result};
use crate::features::Features;
use crate::prepare::{LeftOut, Preparation, Preprocessor, Statistics};

/// Features with one label and one weight per row. At least two classes occur (in a batch they need only be known); labels are in range.
#[derive(Clone, Debug)]
pub struct Dataset<'a> {
    x: Features<'a>,
    y: Cow<'a, [u32]>,
    classes: Vec<String>,
    weights: Option<Cow<'a, [f64]>>,
    feature_names: Option<Vec<String>>,
    prepared: Option<PreparedBy>,
}

/// Where features come from that were made of a table.
#[derive(Clone, Debug)]
struct PreparedBy {
    preprocessor: Arc<Preprocessor>,
    /// The table itself, as long as parts of it may have to be prepared anew.
    table: Option<RecordBatch>,
}

impl<'a> Dataset<'a> {
    /// Joins features with labels that are already numbers: `y[i] < classes.len()`.
    pub fn new(x: Features<'a>, y: impl Into<Cow<'a, [u32]>>, classes: Vec<String>) -> Result<Self> {
        let data = Self::batch(x, y, classes)?;
        let mut seen = vec![false; data.classes.len()];
        data.y.iter().for_each(|&k| seen[k as usize] = true);
        let found = seen.iter().filter(|s| **s).count();
        if found < 2 {
            let only = seen.iter().position(|s| *s).map(|k| data.classes[k].clone());
            return Err(Error::TooFewClasses { found, only });
        }
        Ok(data)
    }

    /// As [`Dataset::new`] for a part of the data, see [`crate::Spec::fit_batch`]: not all of the classes have to occur in it.
    pub fn batch(x: Features<'a>, y: impl Into<Cow<'a, [u32]>>, classes: Vec<String>) -> Result<Self> {
        let y = y.into();
        // Rows are counted in 32 bits wherever some of them are chosen.
        if x.rows() > u32::MAX as usize {
            return Err(Error::param("rows", x.rows(), "be at most 4294967295"));
        }
        if y.len() != x.rows() {
            return Err(Error::Shape { what: "labels (one per row)", expected: x.rows(), found: y.len() });
        }
        if x.cols() == 0 {
            return Err(Error::param("features", 0, "be at least 1"));
        }
        if let Some(row) = y.iter().position(|&k| k as usize >= classes.len()) {
            return Err(Error::UnknownClass { row, label: y[row].to_string(), known: classes.len() });
        }
        if classes.len() < 2 {
            return Err(Error::TooFewClasses { found: classes.len(), only: classes.into_iter().next() });
        }
        Ok(Self { x, y, classes, weights: None, feature_names: None, prepared: None })
    }

    /// Joins features with labels of any text. Classes are ordered as numbers if all are numbers, else as text.
    pub fn from_labels<S: AsRef<str>>(x: Features<'a>, labels: &[S]) -> Result<Self> {
        let classes = distinct_classes(labels);
        let index: HashMap<&str, u32> = classes.iter().enumerate().map(|(k, c)| (c.as_str(), k as u32)).collect();
        let y: Vec<u32> = labels.iter().map(|l| index[l.as_ref()]).collect();
        Self::new(x, y, classes)
    }

    /// Gives every row a weight. An integer weight means the same as repeating the row that often.
    pub fn with_weights(mut self, weights: impl Into<Cow<'a, [f64]>>) -> Result<Self> {
        let weights = weights.into();
        if weights.len() != self.rows() {
            return Err(Error::Shape {
                what: "sample weights (one per row)",
                expected: self.rows(),
                found: weights.len(),
            });
        }
        check_weights(&weights)?;
        self.weights = Some(weights);
        Ok(self)
    }

    /// Names the feature columns; the names travel in the model file.
    pub fn with_feature_names(mut self, names: Vec<String>) -> Result<Self> {
        if names.len() != self.x.cols() {
            return Err(Error::Shape { what: "feature names", expected: self.x.cols(), found: names.len() });
        }
        self.feature_names = Some(names);
        Ok(self)
    }

    /// Says that the features were made by a preprocessor. With the `table` they were made of, the training part of every split is prepared
    /// by what its own rows say; without it, the preprocessor only goes into models.
    pub fn with_preprocessor(mut self, preprocessor: Preprocessor, table: Option<RecordBatch>) -> Result<Self> {
        if preprocessor.width() != self.x.cols() {
            let (expected, found) = (preprocessor.width(), self.x.cols());
            return Err(Error::Shape { what: "features of the preprocessor", expected, found });
        }
        if let Some(table) = table.as_ref().filter(|table| table.num_rows() != self.rows()) {
            let (expected, found) = (self.rows(), table.num_rows());
            return Err(Error::Shape { what: "rows of the table", expected, found });
        }
        self.feature_names = Some(preprocessor.feature_names());
        self.prepared = Some(PreparedBy { preprocessor: Arc::new(preprocessor), table });
        Ok(self)
    }

    /// Prepares a table and joins it with labels of any text; `left_out` names the columns that are no features.
    pub fn from_table<S: AsRef<str>>(
        table: &RecordBatch,
        labels: &[S],
        weights: Option<Vec<f64>>,
        preparation: &Preparation,
    ) -> Result<(Dataset<'static>, Vec<LeftOut>)> {
        let mut statistics = Statistics::new(table.schema_ref(), preparation)?;
        statistics.add(table, weights.as_deref())?;
        let (preprocessor, left_out) = Preprocessor::learn(&statistics, preparation);
        let x = preprocessor.apply(table)?.x;
        let mut data = Dataset::from_labels(x, labels)?;
        if let Some(weights) = weights {
            data = data.with_weights(weights)?;
        }
        Ok((data.with_preprocessor(preprocessor, Some(table.clone()))?, left_out))
    }

    /// What made the features of a table, if they come from one.
    pub fn preprocessor(&self) -> Option<&Preprocessor> {
        self.prepared.as_ref().map(|by| &*by.preprocessor)
    }

    /// The feature matrix.
    pub fn x(&self) -> &Features<'a> {
        &self.x
    }

    /// Class number per row.
    pub fn y(&self) -> &[u32] {
        &self.y
    }

    /// Class names; `y` indexes them.
    pub fn classes(&self) -> &[String] {
        &self.classes
    }

    /// Sample weights, if any were given.
    pub fn weights(&self) -> Option<&[f64]> {
        self.weights.as_deref()
    }

    /// Names of the feature columns, if known.
    pub fn feature_names(&self) -> Option<&[String]> {
        self.feature_names.as_deref()
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.x.rows()
    }

    /// A copy of the chosen rows, with all class names. Two classes must be left. Rows of a table are prepared anew, by what they say.
    pub fn take_rows(&self, rows: &[u32]) -> Result<Dataset<'static>> {
        let y: Vec<u32> = rows.iter().map(|&i| self.y[i as usize]).collect();
        let weights = self.weights.as_ref().map(|all| rows.iter().map(|&i| all[i as usize]).collect::<Vec<f64>>());
        let (x, prepared) = match &self.prepared {
            Some(PreparedBy { preprocessor, table: Some(table) }) => {
                let table = part(table, rows)?;
                let preprocessor = preprocessor.relearn(&table, weights.as_deref())?;
                let x = preprocessor.apply(&table)?.x;
                (x, Some(PreparedBy { preprocessor: Arc::new(preprocessor), table: Some(table) }))
            }
            other => (self.x.take_rows(rows), other.clone()),
        };
        let mut taken = Dataset::new(x, y, self.classes.clone())?;
        if let Some(weights) = weights {
            taken = taken.with_weights(weights)?;
        }
        taken.feature_names = match &prepared {
            Some(by) => Some(by.preprocessor.feature_names()),
            None => self.feature_names.clone(),
        };
        taken.prepared = prepared;
        Ok(taken)
    }

    /// The features of chosen rows, as a model of `train` wants them, which are other rows of the same data.
    pub fn features_for(&self, train: &Dataset<'_>, rows: &[u32]) -> Result<Features<'static>> {
        match (&self.prepared, &train.prepared) {
            (Some(PreparedBy { table: Some(table), .. }), Some(by)) => {
                Ok(by.preprocessor.apply(&part(table, rows)?)?.x)
            }
            _ => Ok(self.x.take_rows(rows)),
        }
    }

    /// The same data set with another feature matrix of as many rows (scaled, or reduced to its row space).
    pub(crate) fn with_x<'b>(self, x: Features<'b>) -> Dataset<'b>
    where
        'a: 'b,
    {
        debug_assert_eq!(self.y.len(), x.rows());
        let prepared = without_table(&self.prepared);
        Dataset {
            x,
            y: self.y,
            classes: self.classes,
            weights: self.weights,
            feature_names: self.feature_names,
            prepared,
        }
    }

    /// Splits off the feature matrix, leaving the rest borrowed from `self`.
    pub(crate) fn borrow_with_x<'b>(&'b self, x: Features<'b>) -> Dataset<'b> {
        Dataset {
            x,
            y: Cow::Borrowed(&self.y),
            classes: self.classes.clone(),
            weights: self.weights.as_deref().map(Cow::Borrowed),
            feature_names: self.feature_names.clone(),
            prepared: without_table(&self.prepared),
        }
    }

    /// Takes the features out to be replaced.
    pub(crate) fn take_x(&mut self) -> Features<'a> {
        std::mem::replace(&mut self.x, Features::empty())
    }
}

/// Features that are no longer those of a table cannot be prepared anew.
fn without_table(prepared: &Option<PreparedBy>) -> Option<PreparedBy> {
    prepared.as_ref().map(|by| PreparedBy { preprocessor: by.preprocessor.clone(), table: None })
}

/// Chosen rows of a table.
fn part(table: &RecordBatch, rows: &[u32]) -> Result<RecordBatch> {
    let rows = UInt32Array::from(rows.to_vec());
    arrow_select::take::take_record_batch(table, &rows)
        .map_err(|e| Error::Column { column: "all".into(), what: e.to_string() })
}

/// Refuses weights of rows that are none, or that count nothing together.
pub(crate) fn check_weights(weights: &[f64]) -> Result<()> {
    if let Some(row) = weights.iter().position(|w| !(w.is_finite() && *w >= 0.0)) {
        return Err(Error::Weight { place: format!("row {}", row + 1), value: weights[row] });
    }
    if !weights.is_empty() && weights.iter().all(|w| *w == 0.0) {
        return Err(Error::NoWeight { of: "the rows" });
    }
    check_sum("the rows", weights)
}

/// Refuses weights whose sum leaves no room for losses above 1.
pub(crate) fn check_sum(of: &'static str, weights: &[f64]) -> Result<()> {
    const LARGEST_SUM: f64 = 1e300;
    let sum: f64 = weights.iter().sum();
    if sum <= LARGEST_SUM { Ok(()) } else { Err(Error::WeightSum { of, sum }) }
}

/// The distinct labels, in numeric order if all are finite numbers, else in text order.
fn distinct_classes<S: AsRef<str>>(labels: &[S]) -> Vec<String> {
    let set: std::collections::HashSet<&str> = labels.iter().map(AsRef::as_ref).collect();
    sorted_classes(&set.into_iter().collect::<Vec<_>>(), false)
}

/// Class names in their order: that of numbers if all are finite numbers, unless they are texts all the same.
pub(crate) fn sorted_classes<S: AsRef<str>>(names: &[S], are_texts: bool) -> Vec<String> {
    let mut classes: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    classes.sort_unstable();
    classes.dedup();
    let numbers: Option<Vec<f64>> = classes.iter().map(|c| c.parse::<f64>().ok().filter(|v| v.is_finite())).collect();
    if let Some(numbers) = numbers.filter(|_| !are_texts) {
        let mut order: Vec<usize> = (0..classes.len()).collect();
        order.sort_by(|&a, &b| numbers[a].total_cmp(&numbers[b]));
        return order.into_iter().map(|k| classes[k].to_string()).collect();
    }
    classes.into_iter().map(str::to_string).collect()
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    fn x(rows: usize) -> Features<'static> {
        Features::dense(vec![1.0; rows], rows, 1).unwrap()
    }

    #[test]
    fn numeric_labels_are_ordered_as_numbers_and_text_as_text() {
        let data = Dataset::from_labels(x(3), &["10", "9", "10"]).unwrap();
        assert_eq!(data.classes(), ["9", "10"]);
        assert_eq!(data.y(), [1, 0, 1]);
        let data = Dataset::from_labels(x(3), &["b", "10", "a"]).unwrap();
        assert_eq!(data.classes(), ["10", "a", "b"]);
    }

    #[test]
    fn broken_input_is_named() {
        let one = Dataset::from_labels(x(2), &["a", "a"]).unwrap_err().to_string();
        assert_eq!(one, "at least two classes are needed, found 1 (`a`)");
        let short = Dataset::from_labels(x(3), &["a", "b"]).unwrap_err().to_string();
        assert_eq!(short, "labels (one per row): expected 3, found 2");
        let data = Dataset::from_labels(x(2), &["a", "b"]).unwrap();
        let empty = Dataset::from_labels(Features::dense(Vec::<f64>::new(), 2, 0).unwrap(), &["a", "b"]);
        assert_eq!(empty.unwrap_err().to_string(), "`features` must be at least 1, found 0");
        let bad = data.clone().with_weights(vec![1.0, -1.0]).unwrap_err().to_string();
        assert_eq!(bad, "weight of row 2 must be a finite number of at least 0, found -1");
        let none = data.with_weights(vec![0.0, 0.0]).unwrap_err().to_string();
        assert_eq!(none, "the weights of the rows are all zero, expected at least one above");
    }
}
