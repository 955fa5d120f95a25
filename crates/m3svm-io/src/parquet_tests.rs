//! Tests of the Parquet reader: pages that are not what they say.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::io::Cursor;

use ::parquet::arrow::ArrowWriter;
use ::parquet::basic::{Compression, Encoding};
use ::parquet::file::properties::{WriterProperties, WriterPropertiesBuilder, WriterVersion};
use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray};

use super::header::{PageHeader, read_header, skip_differences};
use super::*;
use crate::read_from;

const ROWS: usize = 250_000;

fn written(properties: WriterPropertiesBuilder, rows: usize, label: impl Fn(usize) -> String) -> Vec<u8> {
    let x: ArrayRef = Arc::new(Float64Array::from(vec![1.5; rows]));
    let labels: ArrayRef = Arc::new((0..rows).map(|i| Some(label(i))).collect::<StringArray>());
    let batch = RecordBatch::try_from_iter_with_nullable([("x", x, false), ("label", labels, true)]).unwrap();
    let properties = properties.set_dictionary_enabled(false).set_data_page_row_count_limit(1 << 20);
    let properties = properties.set_data_page_size_limit(1 << 24).set_write_batch_size(1 << 20).build();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.into_inner().unwrap()
}

fn parse(bytes: Vec<u8>) -> Result<Table, String> {
    read_from(Cursor::new(bytes), "t".as_ref(), &ReadOptions::default()).map_err(|e| e.to_string())
}

/// Seven bits a byte, the lowest first.
fn number(mut value: u64) -> Vec<u8> {
    let mut out = Vec::new();
    while value > 127 {
        out.push(value as u8 | 128);
        value >>= 7;
    }
    out.push(value as u8);
    out
}

/// Writes another number over the first one of this kind from somewhere on.
fn replace(bytes: &mut [u8], from: usize, old: u64, new: u64) {
    let (old, new) = (number(old), number(new));
    assert_eq!(old.len(), new.len());
    let at = from + bytes[from..].windows(old.len()).position(|w| w == old).unwrap();
    bytes[at..at + new.len()].copy_from_slice(&new);
}

#[test]
fn pages_cannot_claim_more_than_their_bytes_can_hold() {
    let kinds = [
        Compression::SNAPPY,
        Compression::GZIP(Default::default()),
        Compression::ZSTD(Default::default()),
        Compression::LZ4_RAW,
    ];
    for compression in kinds {
        for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
            let properties = WriterProperties::builder().set_compression(compression).set_writer_version(version);
            let mut bytes = written(properties, ROWS, |_| "a".into());
            assert_eq!(parse(bytes.clone()).unwrap().rows(), ROWS);
            // Numbers have their sign in the lowest bit.
            replace(&mut bytes, 4, 2 * 8 * ROWS as u64, 2 * 134_217_727);
            let error = parse(bytes).unwrap_err();
            assert_eq!(error, "t: not a usable Parquet file: a page claims more data than it has", "{compression}");
        }
    }
}

#[test]
fn lengths_of_texts_cannot_be_more_than_the_values() {
    // Three bytes a number, and no other number like it.
    const COUNT: usize = 20_011;
    for encoding in [Encoding::DELTA_LENGTH_BYTE_ARRAY, Encoding::DELTA_BYTE_ARRAY] {
        for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
            let properties = WriterProperties::builder().set_writer_version(version);
            let properties = properties.set_column_encoding("label".into(), encoding);
            let bytes =
                written(properties.set_compression(Compression::UNCOMPRESSED), COUNT, |i| format!("{}", i % 40));
            let table = parse(bytes.clone()).unwrap();
            assert_eq!(table.labels.unwrap()[..3], ["0", "1", "2"]);
            // Heads of differences: the length of a block, its parts, how many numbers there are.
            let head = [number(128), number(4), number(COUNT as u64)].concat();
            let heads: Vec<usize> = (0..bytes.len() - head.len()).filter(|&i| bytes[i..].starts_with(&head)).collect();
            assert!(!heads.is_empty());
            for at in heads {
                let mut damaged = bytes.clone();
                replace(&mut damaged, at + 3, COUNT as u64, 2_000_000);
                let error = parse(damaged).unwrap_err();
                assert!(error.contains("a page claims more texts than it has values"), "{encoding}: {error}");
            }
        }
    }
}

#[test]
fn headers_by_hand() {
    // A data page: type 0, 20 bytes, 10 in the file, a checksum; then a structure with a text and a list in it.
    let data = [0x15, 0, 0x15, 40, 0x15, 20, 0x15, 2, 0x1c, 0x15, 6, 0x48, 3, b'a', b'b', b'c', 0x19, 0x25, 2, 4, 0, 0];
    let header = read_header(&mut data.as_slice()).unwrap();
    assert_eq!(header, PageHeader { compressed: 10, uncompressed: 20, dictionary: None });
    let data = [0x15, 4, 0x15, 40, 0x15, 20, 0x4c, 0x15, 14, 0x15, 0, 0x11, 0, 0];
    let header = read_header(&mut data.as_slice()).unwrap();
    assert_eq!(header, PageHeader { compressed: 10, uncompressed: 20, dictionary: Some(7) });
    let nested = [[0x15, 0, 0x15, 40, 0x15, 20].as_slice(), &[0x2c; 10_000]].concat();
    for bad in [&[][..], &[0], &[0x15, 0, 0x15, 39, 0x15, 20, 0], &[0x28, 255, 255, 255, 255, 15, 0], &nested] {
        assert!(read_header(&mut &*bad).is_err());
    }
}

#[test]
fn differences_by_hand() {
    // Blocks of 128 in four parts; two numbers: 5, and a difference in the first part, one bit wide.
    let data = [128, 1, 4, 2, 10, 0, 1, 9, 9, 9, 0, 0, 0, 1, 77];
    let mut rest = data.as_slice();
    assert_eq!(skip_differences(&mut rest, 2).unwrap(), 2);
    assert_eq!(rest, [77]);
    assert!(skip_differences(&mut data.as_slice(), 1).is_err());
    assert!(skip_differences(&mut [128, 1, 0, 2, 10, 0].as_slice(), 2).is_err());
    assert!(skip_differences(&mut [128, 1, 4, 2, 10, 0, 1].as_slice(), 2).is_err());
    assert_eq!(skip_differences(&mut [128, 1, 4, 0, 0].as_slice(), 2).unwrap(), 0);
}
