//! Parquet and Arrow in small: every type of column, every compression.

use std::sync::Arc;

use arrow_array::types::{Float16Type, Int32Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, DictionaryArray, Float32Array, Float64Array, Int64Array, PrimitiveArray,
    RecordBatch, StringArray, UInt8Array,
};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding};
use parquet::file::properties::WriterProperties;

pub(super) type Named = (&'static str, Vec<u8>);

fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter(columns).unwrap()
}

fn labels() -> ArrayRef {
    Arc::new(StringArray::from(vec!["x", "y", "x"]))
}

fn doubles() -> RecordBatch {
    let a: ArrayRef = Arc::new(Float64Array::from(vec![1.0, 2.0, 3.0]));
    let b: ArrayRef = Arc::new(Float64Array::from(vec![0.5, 0.0, -2.0]));
    batch(vec![("a", a), ("b", b), ("label", labels())])
}

fn single() -> RecordBatch {
    let a: ArrayRef = Arc::new(Float32Array::from(vec![1.0, 2.0, 3.0]));
    let b: ArrayRef = Arc::new(BooleanArray::from(vec![true, false, true]));
    let c: ArrayRef = Arc::new(UInt8Array::from(vec![1, 2, 255]));
    let y: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, i64::MAX]));
    batch(vec![("a", a), ("b", b), ("c", c), ("y", y)])
}

/// Half precision, gaps that are never read, and labels by number.
fn rare() -> RecordBatch {
    let halves = [1.0, 2.0, 0.5].map(half);
    let a: ArrayRef = Arc::new(PrimitiveArray::<Float16Type>::from_iter_values(halves));
    let y: DictionaryArray<Int32Type> = ["u", "v", "u"].into_iter().collect();
    batch(vec![("a", a), ("target", Arc::new(y) as Arc<dyn Array>)])
}

fn half(value: f32) -> <Float16Type as arrow_array::ArrowPrimitiveType>::Native {
    <Float16Type as arrow_array::ArrowPrimitiveType>::Native::from_f32(value)
}

pub(super) fn parquet() -> Vec<Named> {
    let write = |batch: &RecordBatch, properties: WriterProperties| {
        let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).unwrap();
        writer.write(batch).unwrap();
        writer.into_inner().unwrap()
    };
    let with = |compression| WriterProperties::builder().set_compression(compression).build();
    let delta = WriterProperties::builder()
        .set_dictionary_enabled(false)
        .set_column_encoding("y".into(), Encoding::DELTA_BINARY_PACKED)
        .set_writer_version(parquet::file::properties::WriterVersion::PARQUET_2_0)
        .build();
    let plain = WriterProperties::builder()
        .set_dictionary_enabled(false)
        .set_statistics_enabled(parquet::file::properties::EnabledStatistics::None)
        .build();
    vec![
        ("plain", write(&doubles(), plain)),
        ("dictionary", write(&doubles(), with(Compression::UNCOMPRESSED))),
        ("snappy", write(&single(), with(Compression::SNAPPY))),
        ("gzip", write(&single(), with(Compression::GZIP(Default::default())))),
        ("zstd", write(&rare(), with(Compression::ZSTD(Default::default())))),
        ("lz4", write(&single(), with(Compression::LZ4_RAW))),
        ("delta", write(&single(), delta)),
    ]
}

fn compressed(kind: Option<CompressionType>) -> IpcWriteOptions {
    IpcWriteOptions::default().try_with_compression(kind).unwrap()
}

pub(super) fn files() -> Vec<Named> {
    let write = |batch: &RecordBatch, kind| {
        let mut writer = FileWriter::try_new_with_options(Vec::new(), &batch.schema(), compressed(kind)).unwrap();
        writer.write(batch).unwrap();
        writer.into_inner().unwrap()
    };
    vec![
        ("plain", write(&doubles(), None)),
        ("single", write(&single(), None)),
        ("dictionary", write(&rare(), None)),
        ("lz4", write(&doubles(), Some(CompressionType::LZ4_FRAME))),
        ("zstd", write(&single(), Some(CompressionType::ZSTD))),
    ]
}

pub(super) fn streams() -> Vec<Named> {
    let write = |batch: &RecordBatch, kind| {
        let mut writer = StreamWriter::try_new_with_options(Vec::new(), &batch.schema(), compressed(kind)).unwrap();
        writer.write(batch).unwrap();
        writer.write(&batch.slice(1, 2)).unwrap();
        writer.into_inner().unwrap()
    };
    vec![
        ("plain", write(&doubles(), None)),
        ("single", write(&single(), None)),
        ("dictionary", write(&rare(), None)),
        ("lz4", write(&doubles(), Some(CompressionType::LZ4_FRAME))),
        ("zstd", write(&single(), Some(CompressionType::ZSTD))),
    ]
}
