//! Data files in, labelled tables out.
//!
//! [`read`] takes a path (`-` is standard input) and gives a [`Table`]: features, labels as text, and optional sample
//! weights. CSV/TSV, LIBSVM, Parquet, Arrow IPC and Feather v2, NumPy and MATLAB v5 are read, each also from gzip or
//! Zstandard. Format and compression are found out from the content and the extension.
//!
//! ```no_run
//! use m3svm_io::{ReadOptions, read};
//!
//! let table = read("train.csv.gz".as_ref(), &ReadOptions::default())?;
//! let data = table.into_dataset()?;
//! # Ok::<(), m3svm_io::ReadError>(())
//! ```

mod array;
#[cfg(feature = "arrow")]
mod arrow;
#[cfg(feature = "arrow")]
mod batches;
mod bundle;
mod columns;
mod compression;
mod csv;
mod detect;
mod error;
mod guard;
mod libsvm;
mod lines;
mod matlab;
mod numpy;
mod options;
#[cfg(feature = "parquet")]
mod parquet;
mod sparse;
mod table;
mod value;

use std::io::Read;
use std::path::Path;

use compression::Input;
pub use error::{CellProblem, ColumnRef, Place, Problem, ReadError};
pub use options::{Column, Expected, Format, LabelUse, ReadOptions};
pub use table::Table;
pub use value::canonical_label;

/// Reads a data file; `-` is standard input.
pub fn read(path: &Path, options: &ReadOptions) -> Result<Table, ReadError> {
    let table = compression::open(path).and_then(|input| read_input(input, options));
    finish(path, table)
}

/// Reads data from a stream. `name` stands for the file in messages, and its extension helps to find the format.
pub fn read_from(source: impl Read + 'static, name: &Path, options: &ReadOptions) -> Result<Table, ReadError> {
    let table = compression::wrap(Box::new(source), None, name).and_then(|input| read_input(input, options));
    finish(name, table)
}

fn finish(file: &Path, table: Result<Table, Problem>) -> Result<Table, ReadError> {
    let mut table = table.map_err(|problem| ReadError { file: file.to_path_buf(), problem })?;
    table.file = file.to_path_buf();
    Ok(table)
}

fn read_input(input: Input, options: &ReadOptions) -> Result<Table, Problem> {
    if input.head.is_empty() {
        return Err(Problem::Empty);
    }
    let format = match options.format {
        Some(format) => format,
        None => detect::detect(&input.head, &input.extension)?,
    };
    match format {
        Format::Csv => csv::read(input, options),
        Format::Libsvm => libsvm::read(input, options),
        Format::Npy => guard::quietly(format, || numpy::read_npy(input, options)),
        Format::Npz => guard::quietly(format, || numpy::read_npz(input, options)),
        Format::Mat => guard::quietly(format, || matlab::read(input, options)),
        #[cfg(feature = "arrow")]
        Format::ArrowFile | Format::ArrowStream => guard::quietly(format, || arrow::read(input, format, options)),
        #[cfg(feature = "parquet")]
        Format::Parquet => guard::quietly(format, || parquet::read(input, options)),
        #[cfg(not(all(feature = "arrow", feature = "parquet")))]
        _ => Err(Problem::NotBuiltIn { format }),
    }
}
