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
mod batches;
mod bundle;
mod columns;
mod compression;
mod csv;
mod detect;
mod error;
mod files;
mod guard;
mod json_lines;
mod layout;
mod libsvm;
mod lines;
mod matlab;
mod mixed;
mod numpy;
mod options;
#[cfg(feature = "parquet")]
mod parquet;
mod parts;
mod sign;
mod sparse;
mod table;
mod value;
mod writer;

use std::io::Read;
use std::path::Path;

use compression::Input;
pub use encoding_rs::Encoding;
pub use error::{BadColumn, CellProblem, ColumnRef, Place, Problem, ReadError};
pub use files::{RowFiles, SourceError, files_of};
use m3svm::memory::Meter;
pub use mixed::Applied;
pub use options::{Column, Expected, Format, LabelUse, ReadOptions, Unprepared};
pub use parts::read_parts;
pub use table::Table;
pub use value::{DateOrder, canonical_label};
pub use writer::{OutputFormat, write_batches};

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
    let format = format_of(&input, options)?;
    if !options.keep.is_empty() && matches!(format, Format::Npy | Format::Npz | Format::Mat) {
        return Err(Problem::NotInFormat { what: "a column to keep", format });
    }
    let meter = &mut Meter::new("reading it");
    match format {
        Format::Csv => csv::read(input, options, meter),
        Format::JsonLines => guard::quietly(format, || json_lines::read(input, options, meter)),
        Format::Libsvm => libsvm::read(input, options, meter),
        Format::Npy => guard::quietly(format, || numpy::read_npy(input, options, meter)),
        Format::Npz => guard::quietly(format, || numpy::read_npz(input, options, meter)),
        Format::Mat => guard::quietly(format, || matlab::read(input, options, meter)),
        #[cfg(feature = "arrow")]
        Format::ArrowFile | Format::ArrowStream => {
            guard::quietly(format, || arrow::read(input, format, options, meter))
        }
        #[cfg(feature = "parquet")]
        Format::Parquet => guard::quietly(format, || parquet::read(input, options, meter)),
        #[cfg(not(all(feature = "arrow", feature = "parquet")))]
        _ => Err(Problem::NotBuiltIn { format }),
    }
}

fn format_of(input: &Input, options: &ReadOptions) -> Result<Format, Problem> {
    if input.head.is_empty() {
        return Err(Problem::Empty);
    }
    match options.format {
        Some(format) => Ok(format),
        None => detect::detect(&input.head, &input.extension),
    }
}

/// Reads a file some rows at a time, so many that tables have about `bytes`; files of arrays come as one table. Sparse text counts from 0 here:
/// whether it really does is told in the end.
fn read_some(input: Input, options: &ReadOptions, bytes: u64, take: &mut table::Take<'_>) -> Result<Counting, Problem> {
    let format = format_of(&input, options)?;
    let meter = &mut Meter::new("reading it");
    match format {
        Format::Csv => csv::read_some(input, options, meter, bytes, take)?,
        Format::Libsvm => {
            let from_zero = libsvm::read_some(input, options, meter, bytes, take)?;
            return Ok(if from_zero { Counting::FromZero } else { Counting::NotFromZero });
        }
        #[cfg(feature = "arrow")]
        Format::ArrowFile | Format::ArrowStream => {
            guard::quietly(format, || arrow::read_some(input, format, options, meter, bytes, take))?
        }
        #[cfg(feature = "parquet")]
        Format::Parquet => guard::quietly(format, || parquet::read_some(input, options, meter, bytes, take))?,
        _ => take(read_input(input, options)?)?,
    }
    Ok(Counting::Columns)
}

/// What is known of how a file counts its features.
enum Counting {
    /// They are columns.
    Columns,
    /// The index 0 has occurred; it has not.
    FromZero,
    NotFromZero,
}
