//! Parquet: only the chosen columns are decoded, straight from the file where it is plain.

mod header;
mod pages;

use std::sync::Arc;

use ::parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader};
use ::parquet::arrow::{ProjectionMask, parquet_to_arrow_field_levels};
use ::parquet::errors::ParquetError;
use ::parquet::file::reader::ChunkReader;
use m3svm::memory::Meter;

use crate::batches::Plan;
use crate::compression::{Input, Seekable};
use crate::error::Problem;
use crate::options::{Format, ReadOptions};
use crate::table::{Table, Take};

/// Rows that are decoded at once.
const BATCH: usize = 1024;

pub(crate) fn read(input: Input, options: &ReadOptions, meter: &mut Meter) -> Result<Table, Problem> {
    let (plan, rows, reader) = open(input, options, meter)?;
    // A million equal rows take a few bytes.
    meter.foresee(plan.bytes(usize::try_from(rows).unwrap_or(usize::MAX)))?;
    plan.read(Format::Parquet, reader, meter)
}

/// Reads some rows at a time: so many that tables have about `bytes`.
pub(crate) fn read_some(
    input: Input,
    options: &ReadOptions,
    meter: &mut Meter,
    bytes: u64,
    take: &mut Take<'_>,
) -> Result<(), Problem> {
    let (plan, _, reader) = open(input, options, meter)?;
    plan.read_some(Format::Parquet, reader, bytes, take)
}

/// What to read, how many rows there are, and the reader of these columns.
fn open(
    input: Input,
    options: &ReadOptions,
    meter: &mut Meter,
) -> Result<(Plan, u64, ParquetRecordBatchReader), Problem> {
    match input.seekable(meter)? {
        Seekable::File(file) => open_chunks(file, options, meter),
        Seekable::Bytes(bytes) => open_chunks(bytes::Bytes::from(bytes), options, meter),
    }
}

fn open_chunks(
    source: impl ChunkReader + 'static,
    options: &ReadOptions,
    meter: &mut Meter,
) -> Result<(Plan, u64, ParquetRecordBatchReader), Problem> {
    let broken = |e: ParquetError| Problem::Broken { format: Format::Parquet, what: e.to_string() };
    let found = ArrowReaderMetadata::load(&source, ArrowReaderOptions::new()).map_err(broken)?;
    let plan = Plan::new(found.schema(), options)?;
    let mask = ProjectionMask::roots(found.parquet_schema(), plan.projection.iter().copied());
    let mut rows = 0u64;
    for group in found.metadata().row_groups() {
        rows = rows.saturating_add(u64::try_from(group.num_rows()).unwrap_or(0));
        for (_, column) in group.columns().iter().enumerate().filter(|(i, _)| mask.leaf_included(*i)) {
            pages::check(&source, column, meter)?;
        }
    }
    let fields = Some(found.schema().fields());
    let levels = parquet_to_arrow_field_levels(found.parquet_schema(), mask, fields).map_err(broken)?;
    let groups = pages::Checked { source: Arc::new(source), metadata: found.metadata().clone() };
    let reader = ParquetRecordBatchReader::try_new_with_row_groups(&levels, &groups, BATCH, None).map_err(broken)?;
    Ok((plan, rows, reader))
}

#[cfg(test)]
#[path = "parquet_tests.rs"]
mod tests;
