//! Many files as one table that is never held as a whole.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use m3svm::{ColumnStatistics, Features, Kind, LeftOut, PassingColumns, Preprocessor, RowBatch, RowSource, memory};

use crate::error::{Problem, ReadError};
use crate::mixed::ToPrepare;
use crate::options::{Format, ReadOptions, Unprepared};
use crate::table::Table;
use crate::value::{NumberStyle, spelled};
use crate::{Counting, compression, read_some};

/// Bytes of the rows that are decoded at once, and the share of the memory budget that they may take: labels come on top.
const AT_ONCE: u64 = 1 << 20;
const SHARE: u64 = 32;

/// What can go wrong with rows of files.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    /// A file cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// What was made of its rows.
    #[error(transparent)]
    Fit(#[from] m3svm::Error),
}

/// The rows of some files, one file after the other, to be read once.
#[derive(Debug)]
pub struct RowFiles {
    files: Vec<PathBuf>,
    options: ReadOptions,
    first: Option<First>,
    /// Whether sparse text was among them, and whether the index 0 has occurred.
    counts: bool,
    from_zero: bool,
    rows: usize,
    dropped: usize,
    /// Columns of every kind, by their names; what they hold, and which of them may hold numbers after all.
    passing: Option<PassingColumns>,
    columns: Vec<String>,
    kinds: Option<Vec<Kind>>,
    undecided: Option<(Vec<bool>, NumberStyle)>,
}

/// The columns of the first file, which all others must have.
#[derive(Debug)]
struct First {
    file: PathBuf,
    format: Format,
    cols: usize,
    names: Option<Vec<String>>,
    label_name: Option<String>,
    label_guessed: bool,
}

impl RowFiles {
    /// Files with the same columns.
    pub fn new(files: Vec<PathBuf>, options: ReadOptions) -> Self {
        let (first, passing, columns, kinds, undecided) = (None, None, Vec::new(), None, None);
        let (counts, from_zero, rows, dropped) = (false, false, 0, 0);
        Self { files, options, first, counts, from_zero, rows, dropped, passing, columns, kinds, undecided }
    }

    /// What the rows are made of: another text means other rows. A file that has been changed has another size or time.
    pub fn made_of(&self) -> Result<String, ReadError> {
        let mut text = format!("{:?}", ReadOptions { expected: None, ..self.options.clone() });
        for file in &self.files {
            let found = fs::metadata(file).map_err(|e| ReadError { file: file.clone(), problem: e.into() })?;
            let path = fs::canonicalize(file).unwrap_or_else(|_| file.clone());
            text += &format!("\n{} {} {:?}", path.display(), found.len(), found.modified().ok());
        }
        Ok(text)
    }

    /// The files.
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// Rows that have been read.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Where the labels come from, and whether that was guessed; known once rows have been read.
    pub fn label_name(&self) -> Option<(&str, bool)> {
        let first = self.first.as_ref()?;
        Some((first.label_name.as_deref()?, first.label_guessed))
    }

    /// Refuses a table whose columns are not those of the first file.
    fn check(&mut self, file: &Path, table: &Table) -> Result<(), Problem> {
        let cols = table.columns.as_ref().map_or(table.x.cols(), RecordBatch::num_columns);
        let Some(first) = &self.first else {
            if let Some(ToPrepare { preparation, kinds, named, undecided, names }) = table.to_prepare.clone() {
                self.passing.get_or_insert_with(|| PassingColumns::new(preparation, named));
                (self.kinds, self.undecided, self.columns) = (Some(kinds), undecided, names);
            }
            self.first = Some(First {
                file: file.to_path_buf(),
                format: table.format,
                cols,
                // Of sparse text they are made up.
                names: table.feature_names.clone().filter(|_| table.format != Format::Libsvm),
                label_name: table.label_name.clone(),
                label_guessed: table.label_guessed,
            });
            return Ok(());
        };
        let unlike = |what: String| Err(Problem::Unlike { what, first: first.file.clone() });
        let named = |name: &Option<String>| name.as_ref().map_or("nothing".into(), |name| format!("{name:?}"));
        if (first.format == Format::Libsvm) != (table.format == Format::Libsvm) {
            return unlike(format!("its format is {}", table.format));
        }
        if table.format == Format::Libsvm {
            return Ok(());
        }
        if table.label_name != first.label_name {
            return unlike(format!("its labels come from {}", named(&table.label_name)));
        }
        if cols != first.cols {
            return unlike(format!("it has {cols} features"));
        }
        match (&table.feature_names, &first.names) {
            (Some(own), Some(names)) => match own.iter().zip(names).position(|(own, name)| own != name) {
                Some(j) => unlike(format!("its feature {} is called {:?} and not {:?}", j + 1, own[j], names[j])),
                None => Ok(()),
            },
            (own, names) if own.is_some() != names.is_some() => {
                unlike(format!("its columns have {}names", if own.is_some() { "" } else { "no " }))
            }
            _ => Ok(()),
        }
    }
}

impl RowFiles {
    /// Columns that are no features, and why; known once rows have been read.
    pub fn left_out(&self) -> &[LeftOut] {
        self.passing.as_ref().map_or(&[], PassingColumns::left_out)
    }

    /// Rows that were left out for their gaps.
    pub fn dropped(&self) -> usize {
        self.dropped + self.passing.as_ref().map_or(0, PassingColumns::dropped)
    }

    /// What a part of a file, which begins below so many rows, has for the fit: nothing as long as its columns are only looked at.
    fn prepared(&mut self, file: &Path, mut table: Table, before: usize) -> Result<Option<RowBatch<'static>>, Problem> {
        self.check(file, &table)?;
        let mut labels = table.labels.take().ok_or(Problem::NoLabels { hint: "training data needs them" })?;
        let mut weights = table.weights.take();
        self.dropped += table.dropped;
        let mut x = std::mem::replace(&mut table.x, Features::dense(Vec::<f64>::new(), 0, 0)?);
        if let (Some(passing), true) = (&mut self.passing, table.to_prepare.is_some()) {
            // A row of a batch is one of a file.
            let placed = |e: m3svm::Error| match e {
                m3svm::Error::Gap { row, column, why } => match &table.lines {
                    Some(_) => {
                        Problem::Arrays { what: format!("{}, {column}: a cell is missing, {why}", table.place(row)) }
                    }
                    None => m3svm::Error::Gap { row: row + before, column, why }.into(),
                },
                other => other.into(),
            };
            match &table.columns {
                None => match passing.rows(x, &self.columns, weights.as_deref()).map_err(placed)? {
                    Some(ready) => x = ready,
                    None => return Ok(None),
                },
                Some(columns) => match passing.batch(columns, weights.as_deref()).map_err(placed)? {
                    Some((ready, None)) => x = ready,
                    Some((ready, Some(rows))) => {
                        x = ready;
                        labels = rows.iter().map(|&i| std::mem::take(&mut labels[i as usize])).collect();
                        weights = weights.map(|w| rows.iter().map(|&i| w[i as usize]).collect());
                    }
                    None => return Ok(None),
                },
            }
        }
        self.rows += labels.len();
        Ok(Some(RowBatch { x, labels, weights }))
    }
}

impl RowSource for RowFiles {
    type Error = SourceError;

    fn each_batch(&mut self, take: &mut dyn FnMut(RowBatch<'_>) -> m3svm::Result<()>) -> Result<(), SourceError> {
        let at_once = AT_ONCE.min(memory::budget() / SHARE);
        (self.rows, self.dropped) = (0, 0);
        for file in self.files.clone() {
            let unprepared = Unprepared {
                kinds: self.kinds.clone(),
                numbers: self.passing.as_ref().is_none_or(PassingColumns::wants_rows),
            };
            let options = ReadOptions { unprepared: Some(unprepared), ..self.options.clone() };
            // An interruption is about no file.
            let mut interrupted = None;
            let mut before = 0;
            let input = compression::open(&file);
            let read = input.and_then(|input| {
                read_some(input, &options, at_once, &mut |table| {
                    let rows = table.labels.as_ref().map_or(0, Vec::len);
                    let (weighted, x) = (table.weights.is_some(), Features::dense(Vec::<f64>::new(), 0, 0)?);
                    let batch = self.prepared(&file, table, before)?;
                    before += rows;
                    let nothing = RowBatch { x, labels: Vec::new(), weights: weighted.then(Vec::new) };
                    match take(batch.unwrap_or(nothing)) {
                        Err(e @ (m3svm::Error::Interrupted | m3svm::Error::Cache { .. })) => {
                            interrupted = Some(e);
                            Err(Problem::NoRows)
                        }
                        other => Ok(other?),
                    }
                })
            });
            if let Some(error) = interrupted {
                return Err(error.into());
            }
            match read {
                Ok(Counting::Columns) => {}
                Ok(Counting::FromZero) => (self.counts, self.from_zero) = (true, true),
                Ok(Counting::NotFromZero) => self.counts = true,
                // Parts without rows are usual where engines write folders.
                Err(Problem::Empty | Problem::HeaderOnly | Problem::NoRows) if self.files.len() > 1 => {}
                Err(problem) => return Err(ReadError { file, problem }.into()),
            }
        }
        Ok(())
    }

    fn again(&mut self) -> Result<bool, SourceError> {
        let Some(passing) = &mut self.passing else { return Ok(false) };
        // Texts of which nothing was seen before they were read may all be numbers.
        if let (Some((undecided, style)), Some(kinds), Some(known)) =
            (self.undecided.take(), &mut self.kinds, passing.statistics())
        {
            let all_numbers = |column: &ColumnStatistics| {
                let texts = column.frequent(usize::MAX);
                !texts.is_empty() && texts.iter().all(|(text, _)| style.number(text).is_ok())
            };
            let numbers = known.columns().iter().zip(undecided).map(|(column, is)| is && all_numbers(column));
            let numbers: Vec<usize> = numbers.enumerate().filter_map(|(j, is)| is.then_some(j)).collect();
            if !numbers.is_empty() {
                numbers.iter().for_each(|&j| kinds[j] = Kind::Number);
                (self.passing, self.first) = (None, None);
                return Ok(true);
            }
        }
        Ok(passing.pass_ended()?)
    }

    fn preprocessor(&self) -> Option<Preprocessor> {
        self.passing.as_ref()?.preprocessor().cloned()
    }

    fn feature_names(&self) -> Option<Vec<String>> {
        match &self.passing {
            Some(passing) => passing.feature_names(&self.columns),
            None => self.first.as_ref()?.names.clone(),
        }
    }

    fn spell(&self, labels: &mut [String]) {
        spelled(labels);
    }

    fn unused_columns(&self) -> u32 {
        let from_zero = self.from_zero || self.options.zero_based == Some(true);
        u32::from(self.counts && !from_zero)
    }
}

/// The files that a path stands for: itself, all files in a folder and the folders in it, or those that a pattern such as `data/*.parquet`
/// describes; sorted by name. Files whose names begin with `.` or `_` are left out of folders, and so are models and caches of rows.
pub fn files_of(path: &Path) -> Result<Vec<PathBuf>, ReadError> {
    let problem = |problem: Problem| ReadError { file: path.to_path_buf(), problem };
    let mut files = Vec::new();
    if path.is_dir() {
        collect(path, &mut Vec::new(), &mut files).map_err(|e| problem(e.into()))?;
    } else if let Some(pattern) = path.to_str().filter(|text| text.contains(['*', '?', '[']) && !path.exists()) {
        let found = glob::glob(pattern).map_err(|e| problem(Problem::Io(io::Error::other(e.msg))))?;
        for file in found {
            let file = file.map_err(|e| problem(io::Error::from(e).into()))?;
            if file.is_file() {
                files.push(file);
            }
        }
    } else {
        return Ok(vec![path.to_path_buf()]);
    }
    match files.is_empty() {
        true => Err(problem(Problem::Io(io::Error::new(io::ErrorKind::NotFound, "there are no files")))),
        false => Ok(files),
    }
}

/// What trainings leave behind.
const NO_DATA: [&str; 2] = ["m3svm", "m3svm-cache"];

/// `above` are the folders that this one is in.
fn collect(folder: &Path, above: &mut Vec<PathBuf>, files: &mut Vec<PathBuf>) -> io::Result<()> {
    // A link to a folder above would bring the same rows again and again.
    let own = fs::canonicalize(folder)?;
    if above.contains(&own) {
        return Ok(());
    }
    above.push(own);
    let mut entries = fs::read_dir(folder)?.collect::<io::Result<Vec<_>>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        if entry.file_name().to_string_lossy().starts_with(['.', '_']) {
            continue;
        }
        let path = entry.path();
        if path.is_dir() {
            collect(&path, above, files)?;
        } else if path.is_file() && !path.extension().is_some_and(|kind| NO_DATA.iter().any(|known| kind == *known)) {
            files.push(path);
        }
    }
    above.pop();
    Ok(())
}

#[cfg(test)]
#[path = "files_tests.rs"]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests;
