//! Parquet: only the chosen columns are decoded, straight from the file where it is plain.

use ::parquet::arrow::ProjectionMask;
use ::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use ::parquet::errors::ParquetError;
use ::parquet::file::reader::ChunkReader;

use crate::batches::Plan;
use crate::compression::{Input, Seekable};
use crate::error::Problem;
use crate::options::{Format, ReadOptions};
use crate::table::Table;

pub(crate) fn read(input: Input, options: &ReadOptions) -> Result<Table, Problem> {
    match input.seekable()? {
        Seekable::File(file) => read_chunks(file, options),
        Seekable::Bytes(bytes) => read_chunks(bytes::Bytes::from(bytes), options),
    }
}

fn read_chunks(source: impl ChunkReader + 'static, options: &ReadOptions) -> Result<Table, Problem> {
    let broken = |e: ParquetError| Problem::Broken { format: Format::Parquet, what: e.to_string() };
    let builder = ParquetRecordBatchReaderBuilder::try_new(source).map_err(broken)?;
    let plan = Plan::new(builder.schema(), options)?;
    let mask = ProjectionMask::roots(builder.parquet_schema(), plan.projection.iter().copied());
    let reader = builder.with_projection(mask).build().map_err(broken)?;
    plan.read(Format::Parquet, reader)
}
