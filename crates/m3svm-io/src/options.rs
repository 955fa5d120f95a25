//! What the caller can ask of a reader.

use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

use encoding_rs::Encoding;
use m3svm::{Kind, Preparation, Preprocessor};

use crate::value::DateOrder;

/// How to read a file. The default guesses everything and needs labels.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// The file format, if it should not be found out from the content and the extension.
    pub format: Option<Format>,
    /// The label column, or the label array of an `.npz` or `.mat` file.
    ///
    /// Without it: the one column called label, class, target, y or species (in any case), else the last column.
    pub label: Option<Column>,
    /// The feature columns, in this order. Without it: all columns but the label, the weight and the group.
    pub features: Option<Vec<Column>>,
    /// The column (or array) of sample weights.
    pub weight: Option<Column>,
    /// The column (or array) that says which rows belong together.
    pub group: Option<Column>,
    /// Whether a CSV file starts with column names, if that should not be found out.
    pub header: Option<bool>,
    /// The CSV delimiter, if it should not be found out. A space stands for any number of spaces and tabs.
    pub delimiter: Option<u8>,
    /// What stands before the fraction of numbers in text files: a point or a comma, if it should not be found out.
    pub decimal: Option<u8>,
    /// What stands between groups of three digits of numbers in text files.
    pub thousands: Option<u8>,
    /// In what order day and month stand in dates with slashes in text files, if it should not be found out.
    pub dates: Option<DateOrder>,
    /// What lines begin with that are not read.
    pub comment: Option<u8>,
    /// The encoding of text files, if they are not UTF-8 and do not say so by a byte-order mark.
    pub encoding: Option<&'static Encoding>,
    /// Columns that are not read.
    pub drop: Vec<Column>,
    /// Columns to hand on as they are. In files without names they are no features.
    pub keep: Vec<Column>,
    /// How columns of text and gaps become features. Without it, both are errors.
    pub preparation: Option<Preparation>,
    /// The same as a model has learnt it, when reading data for it; its columns are the `expected` ones.
    pub preprocessor: Option<Preprocessor>,
    /// For a table that is read in parts: columns as they are, from which nothing is learnt yet.
    pub unprepared: Option<Unprepared>,
    /// Whether LIBSVM indices start at 0. Without it they do if an index 0 occurs.
    pub zero_based: Option<bool>,
    /// What to do about labels.
    pub labels: LabelUse,
    /// The features a model was trained on, when reading data for it.
    pub expected: Option<Expected>,
}

/// How the columns of a part of a table are wanted, of which the other parts are not known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unprepared {
    /// What they hold, once that is known from a part before.
    pub kinds: Option<Vec<Kind>>,
    /// Numbers without gaps are wanted side by side, as features are.
    pub numbers: bool,
}

/// What a reader does about labels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LabelUse {
    /// A file without labels is an error.
    #[default]
    Required,
    /// Labels are read if the file has them.
    Optional,
    /// Labels are not read; a label column named in the options is left out of the features.
    Ignore,
}

/// The features that a model expects of its data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expected {
    /// How many there are.
    pub count: usize,
    /// Their names, if the model knows them. Columns of a file with names are then picked by name, in this order.
    pub names: Option<Vec<String>>,
}

/// One column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Column {
    /// By name.
    Name(String),
    /// By position from 0; negative positions count from the end.
    Index(i64),
    /// As a user typed it: a name if a column has it, else a position.
    Typed(String),
}

impl FromStr for Column {
    type Err = Infallible;

    fn from_str(s: &str) -> Result<Self, Infallible> {
        Ok(Self::Typed(s.to_string()))
    }
}

impl From<&str> for Column {
    fn from(s: &str) -> Self {
        Self::Typed(s.to_string())
    }
}

impl fmt::Display for Column {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(s) | Self::Typed(s) => f.write_str(s),
            Self::Index(i) => i.fmt(f),
        }
    }
}

impl Column {
    /// The name this may stand for.
    pub(crate) fn name(&self) -> Option<&str> {
        match self {
            Self::Name(s) | Self::Typed(s) => Some(s),
            Self::Index(_) => None,
        }
    }

    /// Whether this may stand for a position.
    pub(crate) fn is_position(&self) -> bool {
        match self {
            Self::Name(_) => false,
            Self::Index(_) => true,
            Self::Typed(s) => s.trim().parse::<i64>().is_ok(),
        }
    }

    /// A range of positions from one to another, both included, such as `3-7`.
    pub(crate) fn range(&self) -> Option<(usize, usize)> {
        let Self::Typed(s) = self else { return None };
        let (from, to) = s.trim().split_once('-')?;
        Some((from.trim().parse().ok()?, to.trim().parse().ok()?))
    }

    /// The position this may stand for among `count` columns.
    pub(crate) fn position(&self, count: usize) -> Option<usize> {
        let i = match self {
            Self::Name(_) => return None,
            Self::Index(i) => *i,
            Self::Typed(s) => s.trim().parse().ok()?,
        };
        let i = if i < 0 { i.checked_add(i64::try_from(count).ok()?)? } else { i };
        usize::try_from(i).ok().filter(|i| *i < count)
    }
}

/// A file format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// Delimited text: CSV, TSV and relatives.
    Csv,
    /// LIBSVM or SVMlight text.
    Libsvm,
    /// Parquet.
    Parquet,
    /// Arrow IPC file, which is also Feather v2.
    ArrowFile,
    /// Arrow IPC stream.
    ArrowStream,
    /// One NumPy array.
    Npy,
    /// A NumPy archive: `x` and `y`, or a sparse matrix as SciPy writes it.
    Npz,
    /// MATLAB version 5 to 7.
    Mat,
    /// One JSON object per line.
    JsonLines,
}

impl Format {
    /// Formats by the name a user types.
    const NAMES: [(&'static str, Format); 16] = [
        ("csv", Self::Csv),
        ("tsv", Self::Csv),
        ("libsvm", Self::Libsvm),
        ("svmlight", Self::Libsvm),
        ("svm", Self::Libsvm),
        ("parquet", Self::Parquet),
        ("arrow", Self::ArrowFile),
        ("feather", Self::ArrowFile),
        ("ipc", Self::ArrowFile),
        ("arrows", Self::ArrowStream),
        ("arrow-stream", Self::ArrowStream),
        ("npy", Self::Npy),
        ("npz", Self::Npz),
        ("mat", Self::Mat),
        ("jsonl", Self::JsonLines),
        ("ndjson", Self::JsonLines),
    ];

    /// The format of a name or an extension.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, f)| *f)
    }
}

impl FromStr for Format {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        let known = Self::NAMES.map(|(n, _)| n).join(", ");
        Self::from_name(s).ok_or_else(|| format!("`{s}` is not a known format, expected one of {known}"))
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Csv => "CSV",
            Self::Libsvm => "LIBSVM",
            Self::Parquet => "Parquet",
            Self::ArrowFile => "Arrow",
            Self::ArrowStream => "Arrow stream",
            Self::Npy => "NumPy",
            Self::Npz => "NumPy archive",
            Self::Mat => "MATLAB",
            Self::JsonLines => "JSON lines",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_from_both_ends() {
        let typed = |s: &str| Column::Typed(s.into());
        assert_eq!(typed("0").position(3), Some(0));
        assert_eq!(typed("-1").position(3), Some(2));
        assert_eq!(typed("3").position(3), None);
        assert_eq!(typed("-4").position(3), None);
        assert_eq!(typed("age").position(3), None);
        assert_eq!(Column::Name("0".into()).position(3), None);
        assert_eq!(Column::Index(i64::MIN).position(3), None);
    }

    #[test]
    fn formats_are_known_by_name() {
        assert_eq!("Feather".parse(), Ok(Format::ArrowFile));
        assert!("xls".parse::<Format>().is_err_and(|e| e.contains("parquet")));
    }
}
