//! Tables with columns of every kind as feature matrices: what is text becomes a column per value, gaps are filled.
//!
//! Tables come as Arrow record batches, so that there is one set of types for files, data frames and engines. [`Statistics`] of batches
//! are gathered in one pass and can be merged, whatever machines the batches are on; a [`Preprocessor`] is learnt from them, and is
//! applied to one batch at a time. It travels in the model file.
//!
//! ```
//! use std::sync::Arc;
//! use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray};
//! use m3svm::{Preparation, Preprocessor, Statistics};
//!
//! let age: ArrayRef = Arc::new(Float64Array::from(vec![Some(20.0), None, Some(40.0)]));
//! let town: ArrayRef = Arc::new(StringArray::from(vec!["Oslo", "Rome", "Oslo"]));
//! let batch = RecordBatch::try_from_iter_with_nullable([("age", age, true), ("town", town, true)])?;
//! let preparation = Preparation::default();
//! let mut statistics = Statistics::new(batch.schema_ref(), &preparation)?;
//! statistics.add(&batch, None)?;
//! let (preprocessor, left_out) = Preprocessor::learn(&statistics, &preparation);
//! assert!(left_out.is_empty());
//! assert_eq!(preprocessor.feature_names(), ["age", "age=(missing)", "town=Oslo", "town=Rome"]);
//! let x = preprocessor.apply(&batch)?.x;
//! assert_eq!([0, 1, 2, 3].map(|j| x.get(1, j)), [30.0, 1.0, 0.0, 1.0]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod cells;
mod encoder;
mod passing;
mod preprocessor;
mod statistics;
#[cfg(test)]
mod tests;
mod times;
mod words;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use cells::{column_keys, column_numbers};
pub use encoder::Prepared;
pub use passing::{PassingColumns, PlainNumbers, ReadyRows};
pub use preprocessor::{Encoding, PreparedColumn, Preprocessor};
pub use statistics::{ColumnStatistics, Statistics};
pub use times::TimePart;

/// Words of a column that get a feature where nothing else is said.
const MOST_WORDS: usize = 10_000;

/// Texts that stand for nothing, in any case; so does an empty one.
const NOTHING: [&str; 5] = ["na", "n/a", "nan", "null", "?"];

/// How a table is to be prepared.
#[derive(Clone, Debug, PartialEq)]
pub struct Preparation {
    /// What becomes of gaps.
    pub missing: Missing,
    /// Further texts and numbers that stand for nothing.
    pub missing_words: Vec<String>,
    /// Most values of a text column that get a feature each; the rarer ones share one.
    pub most_values: usize,
    /// Columns that are used whatever they look like, by name.
    pub keep: Vec<String>,
    /// Whether all columns are.
    pub keep_all: bool,
    /// Columns that number the rows, by name, as the file says itself.
    pub indices: Vec<String>,
    /// Columns of numbers that are names, such as codes: a feature per value.
    pub categories: Vec<String>,
    /// Columns of free text, by name: a feature per word.
    pub text: Vec<String>,
    /// Most words of such a column that get a feature.
    pub most_words: usize,
    /// Parts of dates and times that have features besides the time itself.
    pub time_parts: Vec<TimePart>,
}

impl Default for Preparation {
    fn default() -> Self {
        Self {
            missing: Missing::default(),
            missing_words: Vec::new(),
            most_values: 100,
            keep: Vec::new(),
            keep_all: false,
            indices: Vec::new(),
            categories: Vec::new(),
            text: Vec::new(),
            most_words: MOST_WORDS,
            time_parts: Vec::new(),
        }
    }
}

impl Preparation {
    /// Whether a text stands for nothing.
    pub fn is_missing(&self, text: &str) -> bool {
        stands_for_nothing(text, &self.missing_words)
    }
}

fn stands_for_nothing(text: &str, words: &[String]) -> bool {
    let text = text.trim();
    text.is_empty() || NOTHING.iter().any(|w| w.eq_ignore_ascii_case(text)) || words.iter().any(|w| w == text)
}

/// What becomes of missing cells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Missing {
    /// The mean of the column, or its most frequent text, and a column of its own that says where it was.
    #[default]
    Indicator,
    /// The mean or the most frequent text alone.
    Mean,
    /// The median or the most frequent text alone.
    Median,
    /// Rows with gaps are left out of the training.
    DropRows,
    /// They are an error.
    Error,
}

impl Missing {
    /// All of them, for help texts and tests.
    pub const ALL: [Self; 5] = [Self::Indicator, Self::Mean, Self::Median, Self::DropRows, Self::Error];

    /// The name users type.
    pub fn name(self) -> &'static str {
        match self {
            Self::Indicator => "indicator",
            Self::Mean => "mean",
            Self::Median => "median",
            Self::DropRows => "drop-rows",
            Self::Error => "error",
        }
    }
}

/// What a column holds, as far as preparation tells types apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Numbers of any width, decimals, truth values.
    Number,
    /// Dates and times: days since 1970, or since midnight.
    Time,
    /// Text, dictionaries of text.
    Text,
}

impl Kind {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Number => "number",
            Self::Time => "time",
            Self::Text => "text",
        }
    }
}

/// A column that is no feature, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// Its name, or `column 3` where there are none.
    pub column: String,
    /// Why.
    pub reason: Reason,
}

/// Why a column is no feature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The file says that it is the index of its rows.
    Index,
    /// All cells are missing.
    Empty,
    /// All cells are the same.
    Constant,
    /// No two cells are the same.
    AllDifferent,
    /// Most cells are different, and too many to have a feature each.
    MostlyDifferent {
        /// How many there are.
        values: usize,
    },
    /// Whole numbers that count the rows.
    Consecutive,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Index => f.write_str("it is the index of the rows"),
            Self::Empty => f.write_str("all of its cells are missing"),
            Self::Constant => f.write_str("it is the same in all rows"),
            Self::AllDifferent => f.write_str("its texts are all different, like names or numbers of rows"),
            Self::MostlyDifferent { values } => write!(f, "it has {values} different texts, most of them rare"),
            Self::Consecutive => f.write_str("its numbers count the rows"),
        }
    }
}
