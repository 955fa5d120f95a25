//! Files for a model, some rows at a time: none of them has to fit into memory.

use std::path::PathBuf;

use m3svm::memory;

use crate::compression;
use crate::error::{Problem, ReadError};
use crate::options::{Format, ReadOptions};
use crate::table::Table;
use crate::{format_of, read_input, read_some};

/// Bytes of the rows that are decoded at once, and the share of the memory budget that they may take.
const AT_ONCE: u64 = 4 << 20;
const SHARE: u64 = 64;

/// Reads files one after the other and gives their rows to `take`, some at a time; what that complains of ends it. Each part is a table of its own
/// file. Sparse text and files of arrays come file by file, since only their end says how they count.
pub fn read_parts<E: From<ReadError>>(
    files: &[PathBuf],
    options: &ReadOptions,
    take: &mut dyn FnMut(Table) -> Result<(), E>,
) -> Result<(), E> {
    let at_once = AT_ONCE.min(memory::budget() / SHARE);
    for file in files {
        let mut complaint = None;
        let mut before = 0;
        let read = compression::open(file).and_then(|input| {
            let mut one = |mut table: Table| {
                table.file = file.clone();
                table.before = before;
                before += table.rows() as u64;
                take(table).map_err(|e| {
                    complaint = Some(e);
                    Problem::NoRows
                })
            };
            match format_of(&input, options)? {
                Format::Csv | Format::ArrowFile | Format::ArrowStream | Format::Parquet => {
                    read_some(input, options, at_once, &mut one).map(|_| ())
                }
                _ => one(read_input(input, options)?),
            }
        });
        if let Some(complaint) = complaint {
            return Err(complaint);
        }
        match read {
            Ok(()) => {}
            Err(Problem::Empty | Problem::HeaderOnly | Problem::NoRows) if files.len() > 1 => {}
            Err(problem) => return Err(ReadError { file: file.clone(), problem }.into()),
        }
    }
    Ok(())
}
