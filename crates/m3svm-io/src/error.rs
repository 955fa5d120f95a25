//! What can be wrong with a file. Every message is one sentence that names the file and, where there is one, the place.

use std::fmt;
use std::path::{Path, PathBuf};

use m3svm::text::visible;

use crate::options::Format;

/// A file that cannot be read as a table.
#[derive(Debug, thiserror::Error)]
#[error("{}", visible(&format!("{}: {problem}", shown(file))))]
#[non_exhaustive]
pub struct ReadError {
    /// The file; `-` is standard input.
    pub file: PathBuf,
    /// What is wrong with it.
    pub problem: Problem,
}

fn shown(file: &Path) -> String {
    if file == Path::new("-") { "standard input".into() } else { file.display().to_string() }
}

/// What is wrong with a file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// The file cannot be opened, read or decompressed.
    #[error("{0}")]
    Io(std::io::Error),
    /// The file has no bytes.
    #[error("the file is empty")]
    Empty,
    /// The file has column names and nothing else.
    #[error("there are no rows after the header")]
    HeaderOnly,
    /// The table has no rows.
    #[error("the table has no rows")]
    NoRows,
    /// The format cannot be found out.
    #[error("the format is not known; name it (csv, libsvm, parquet, arrow, jsonl, npy, npz, mat)")]
    UnknownFormat,
    /// The file is of a format that is not read.
    #[error("this is {name}, which cannot be read; {instead}")]
    Foreign {
        /// What it is.
        name: &'static str,
        /// What to do about it.
        instead: &'static str,
    },
    /// This program was built without the format.
    #[error("this build cannot read the {format} format")]
    NotBuiltIn {
        /// The format found.
        format: Format,
    },
    /// The file breaks the rules of its format.
    #[error("not a usable {format} file: {}", clause(what))]
    Broken {
        /// The format it was read as.
        format: Format,
        /// What the decoder says.
        what: String,
    },
    /// A line of a text file cannot be understood.
    #[error("line {line}: {what}")]
    Line {
        /// The line, counted from 1.
        line: u64,
        /// What was found and expected.
        what: String,
    },
    /// A row is shorter or longer than the first one.
    #[error("line {line}{}: expected {expected} cell{} as in the first line, found {found}", and_more(*more), plural(*expected))]
    Ragged {
        /// The line, counted from 1.
        line: u64,
        /// Cells of the first line.
        expected: usize,
        /// Cells of this line.
        found: usize,
        /// Further lines that are not like the first one.
        more: u64,
    },
    /// All that is wrong with a file.
    #[error("{}", sentences(problems))]
    Several {
        /// What is.
        problems: Vec<Problem>,
    },
    /// A cell does not hold what its column needs.
    #[error("{place}, {column}: {problem}")]
    Cell {
        /// The line or row.
        place: Place,
        /// The column.
        column: ColumnRef,
        /// What the cell holds.
        problem: CellProblem,
    },
    /// A label is none of the classes of a model.
    #[error("{place}: label `{}` is not one of the {known} classes of the model", short(label))]
    UnknownClass {
        /// The line or row.
        place: Place,
        /// The label.
        label: String,
        /// How many classes the model has.
        known: usize,
    },
    /// A feature column is of a type that has no numeric value.
    #[error("{column} holds {kind}, expected numbers; leave the column out or encode it as numbers")]
    ColumnType {
        /// The column.
        column: ColumnRef,
        /// The type found.
        kind: String,
    },
    /// A column that was asked for does not exist.
    #[error("there is no {role} `{wanted}`; there {}", available(names, *count))]
    UnknownColumn {
        /// "label column", "feature column", "weight column", "group column" or "array".
        role: &'static str,
        /// What was asked for.
        wanted: String,
        /// The names that exist; none if the columns have no names.
        names: Vec<String>,
        /// How many columns exist.
        count: usize,
    },
    /// Two columns have the name that was asked for.
    #[error("two columns are called `{name}`; use a position")]
    DuplicateColumn {
        /// The name.
        name: String,
    },
    /// One column was asked for in two roles or twice.
    #[error("{column} is used twice")]
    ColumnUsedTwice {
        /// The column.
        column: ColumnRef,
    },
    /// Columns that the model needs do not exist.
    #[error("the model needs {} more column{}: {}{}", missing.len(), plural(missing.len()), list(missing), and_new(new))]
    MissingFeatures {
        /// Their names.
        missing: Vec<String>,
        /// The names of columns that it does not know.
        new: Vec<String>,
    },
    /// The columns are not those of the file before.
    #[error("{what}, unlike those of {}", first.display())]
    Unlike {
        /// What the columns are.
        what: String,
        /// The first of the files.
        first: PathBuf,
    },
    /// A column holds something else than in the files before.
    #[error("{column} holds {found}, and {before}s in the files before", before = before.name())]
    OtherKind {
        /// The column.
        column: ColumnRef,
        /// What it holds.
        found: String,
        /// What it held before.
        before: m3svm::Kind,
    },
    /// Several columns could be the label.
    #[error("columns {} could all be the label; --label chooses one, and --drop leaves the others out", list(names))]
    DoubtfulLabel {
        /// Their names.
        names: Vec<String>,
    },
    /// The column that would be guessed does not look like a label.
    #[error("no column is named like a label, and the last one, {column}, has {found}; --label chooses the label")]
    NoLabelColumn {
        /// The last column.
        column: ColumnRef,
        /// What it has, such as "94 different numbers in 342 rows".
        found: String,
    },
    /// Cells of columns of numbers are none.
    #[error("{}", bad_columns(columns))]
    BadCells {
        /// The columns.
        columns: Vec<BadColumn>,
    },
    /// The number of features is not that of the model.
    #[error("expected {expected} feature{}, found {found}", plural(*expected))]
    FeatureCount {
        /// Features of the model.
        expected: usize,
        /// Features of the file.
        found: usize,
    },
    /// No column is left to be a feature.
    #[error("there is no feature column besides the label")]
    NoFeatures,
    /// There are no labels, but they are needed.
    #[error("there are no labels; {hint}")]
    NoLabels {
        /// Where labels could come from.
        hint: &'static str,
    },
    /// An option does not apply to the format.
    #[error("{what} cannot be chosen in a {format} file")]
    NotInFormat {
        /// The option.
        what: &'static str,
        /// The format.
        format: Format,
    },
    /// The arrays of an archive do not form a table.
    #[error("{what}")]
    Arrays {
        /// What was found and expected.
        what: String,
    },
    /// The values were read but cannot be used.
    #[error(transparent)]
    Data(#[from] m3svm::Error),
}

impl Problem {
    /// The same for a part of a file that begins below so many rows.
    pub(crate) fn below(self, rows: u64) -> Self {
        match self {
            Self::Cell { place: Place::Row(row), column, problem } => {
                Self::Cell { place: Place::Row(row + rows), column, problem }
            }
            other => other,
        }
    }
}

impl From<std::io::Error> for Problem {
    fn from(error: std::io::Error) -> Self {
        // What the readers themselves refuse on the way comes back as it was.
        match error.downcast::<m3svm::Error>() {
            Ok(own) => Self::Data(own),
            Err(error) => Self::Io(error),
        }
    }
}

/// Cells of a column that are not what the others are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadColumn {
    /// The column.
    pub column: ColumnRef,
    /// How many cells there are.
    pub cells: u64,
    /// Where the first one is.
    pub place: Place,
    /// What it holds.
    pub problem: CellProblem,
}

fn and_more(more: u64) -> String {
    if more == 0 { String::new() } else { format!(" and {more} more") }
}

fn sentences(problems: &[Problem]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

impl CellProblem {
    /// Whether it is a label that is missing.
    fn is_of_label(&self) -> bool {
        matches!(self, Self::EmptyLabel | Self::MissingLabel { .. })
    }
}

/// One bad cell as a sentence of its own, several columns as a list.
/// Columns that a model does not know, perhaps the missing ones by another name.
fn and_new(new: &[String]) -> String {
    if new.is_empty() { String::new() } else { format!("; new to it: {}", list(new)) }
}

fn bad_columns(columns: &[BadColumn]) -> String {
    let hint = "--missing WORD if that stands for nothing, --categories COLUMN if these are names";
    match columns {
        [BadColumn { column, cells: 1, place, problem }] => format!("{place}, {column}: {problem}"),
        [BadColumn { column, cells, place, problem }] if problem.is_of_label() => {
            format!("{place}{}, {column}: {problem}", and_more(cells - 1))
        }
        [BadColumn { column, cells, place, problem }] => {
            format!("{place}, {column}: {problem}; so it is in {cells} cells ({hint})")
        }
        _ => {
            let each =
                columns.iter().map(|c| format!("{}{}, {}: {}", c.place, and_more(c.cells - 1), c.column, c.problem));
            format!(
                "{} columns have cells that are not like the others ({hint}): {}",
                columns.len(),
                each.collect::<Vec<_>>().join("; ")
            )
        }
    }
}

/// Where a row is: text files have lines, others rows; both count from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Line of a text file.
    Line(u64),
    /// Row of a table.
    Row(u64),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(i) => write!(f, "line {i}"),
            Self::Row(i) => write!(f, "row {i}"),
        }
    }
}

/// A column in a message: by name, else by position from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnRef {
    /// Position from 0.
    pub index: usize,
    /// The name, if columns have names.
    pub name: Option<String>,
}

impl fmt::Display for ColumnRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) => write!(f, "column {:?}", short(name)),
            None => write!(f, "column {}", self.index + 1),
        }
    }
}

/// What a bad cell holds.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CellProblem {
    /// Nothing, in a feature column.
    #[error("the cell is empty, expected a number")]
    Empty,
    /// Nothing, in the label column.
    #[error("the label is empty")]
    EmptyLabel,
    /// Nothing, in the group column.
    #[error("the group is empty")]
    EmptyGroup,
    /// Text in a feature column.
    #[error("found {:?}, expected a number", short(found))]
    NotANumber {
        /// The cell.
        found: String,
    },
    /// Text in the first row of a feature column, which then is likely a text column.
    #[error("found {:?}, expected a number; leave the column out or encode it as numbers", short(found))]
    TextColumn {
        /// The cell.
        found: String,
    },
    /// No date in a column of dates.
    #[error("found {:?}, expected a date", short(found))]
    NotADate {
        /// The cell.
        found: String,
    },
    /// Nothing, where something is needed.
    #[error("the label is missing (`{found}`); --missing drop-rows leaves such rows out")]
    MissingLabel {
        /// The cell.
        found: String,
    },
    /// NaN or an infinity.
    #[error("found {found}, expected a finite number")]
    NotFinite {
        /// The value.
        found: String,
    },
    /// Bytes that are not UTF-8.
    #[error("the text is not UTF-8")]
    NotUtf8,
}

fn plural(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}

/// At most 40 characters of a text.
pub(crate) fn short(text: &str) -> String {
    match text.char_indices().nth(40) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_string(),
    }
}

/// What a decoder says, as far as it fits into a sentence: some draw pictures of the place over several lines.
fn clause(what: &str) -> String {
    const MOST: usize = 200;
    let line = what.split(['\n', '\r']).next().unwrap_or_default();
    let line = line.split(" -->").next().unwrap_or_default().trim_end_matches([':', ' ']);
    line.chars().take(MOST).collect()
}

/// The first names of a list.
pub(crate) fn list(names: &[String]) -> String {
    const SHOWN: usize = 8;
    let mut text = names.iter().take(SHOWN).map(|n| format!("`{}`", short(n))).collect::<Vec<_>>().join(", ");
    if names.len() > SHOWN {
        text += &format!(" and {} more", names.len() - SHOWN);
    }
    text
}

fn available(names: &[String], count: usize) -> String {
    match (names.len(), count) {
        (0, 0) => "is none".into(),
        (0, n) => format!("are {n} columns without names (0 to {})", n - 1),
        (1, _) => format!("is {}", list(names)),
        _ => format!("are {}", list(names)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_the_file_and_the_place() {
        let column = ColumnRef { index: 2, name: Some("age".into()) };
        let problem = Problem::Cell { place: Place::Line(7), column, problem: CellProblem::Empty };
        let error = ReadError { file: "train.csv".into(), problem };
        assert_eq!(error.to_string(), "train.csv: line 7, column \"age\": the cell is empty, expected a number");
        let error = ReadError { file: "-".into(), problem: Problem::Empty };
        assert_eq!(error.to_string(), "standard input: the file is empty");
    }

    #[test]
    fn names_from_files_stay_on_one_line() {
        let problem = Problem::DuplicateColumn { name: "a\r\nb\u{1b}[31m".into() };
        let error = ReadError { file: "c\n.csv".into(), problem };
        let shown = "c\u{fffd}.csv: two columns are called `a\u{fffd}\u{fffd}b\u{fffd}[31m`; use a position";
        assert_eq!(error.to_string(), shown);
    }

    #[test]
    fn what_decoders_draw_is_left_out() {
        let what = "could not parse: syntax error:  --> 1:59\n  |\n1 | {'shape': (1e999, 2)\n  |  ^---".to_string();
        let problem = Problem::Broken { format: Format::Npy, what };
        assert_eq!(problem.to_string(), "not a usable NumPy file: could not parse: syntax error");
        let problem = Problem::Broken { format: Format::Npy, what: "é".repeat(1000) };
        assert_eq!(problem.to_string().chars().count(), "not a usable NumPy file: ".len() + 200);
    }

    #[test]
    fn lists_are_shortened() {
        let names: Vec<String> = (0..20).map(|i| format!("f{i}")).collect();
        let wanted = "kind".to_string();
        let problem = Problem::UnknownColumn { role: "label column", wanted, names, count: 20 };
        let text = problem.to_string();
        assert!(text.starts_with("there is no label column `kind`; there are `f0`, `f1`"), "{text}");
        assert!(text.ends_with("`f7` and 12 more"), "{text}");
    }
}
