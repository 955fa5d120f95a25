//! The readers of files.

use std::io::{Cursor, Read};

use m3svm_io::{Format, ReadOptions, Table, read_from};

use crate::control::Control;
use crate::{refused, repair};

const ANY: [&str; 4] = ["t"; 4];

pub(crate) fn csv(input: &[u8]) -> bool {
    read(Some(Format::Csv), ["t.csv", "t.tsv", "t.txt", "-"], input, none)
}

pub(crate) fn libsvm(input: &[u8]) -> bool {
    read(Some(Format::Libsvm), ANY, input, none)
}

pub(crate) fn parquet(input: &[u8]) -> bool {
    read(Some(Format::Parquet), ANY, input, none)
}

pub(crate) fn arrow(input: &[u8]) -> bool {
    read(Some(Format::ArrowFile), ANY, input, none)
}

pub(crate) fn arrow_stream(input: &[u8]) -> bool {
    read(Some(Format::ArrowStream), ANY, input, none)
}

pub(crate) fn npy(input: &[u8]) -> bool {
    read(Some(Format::Npy), ANY, input, none)
}

pub(crate) fn npz(input: &[u8]) -> bool {
    read(Some(Format::Npz), ANY, input, |bytes| repair::zip(bytes))
}

pub(crate) fn mat(input: &[u8]) -> bool {
    read(Some(Format::Mat), ANY, input, repair::compress_variables)
}

pub(crate) fn jsonl(input: &[u8]) -> bool {
    read(Some(Format::JsonLines), ANY, input, none)
}

pub(crate) fn gzip(input: &[u8]) -> bool {
    read(None, ["t.csv.gz", "t.gz", "t.svm.gz", "-"], input, repair::gzip)
}

pub(crate) fn zstd(input: &[u8]) -> bool {
    read(None, ["t.csv.zst", "t.zst", "t.svm.zst", "-"], input, none)
}

/// Any content under any name.
pub(crate) fn detect(input: &[u8]) -> bool {
    read(None, ["t", "t.svm", "t.csv", "t.mat"], input, |bytes| repair::zip(bytes))
}

fn none(_: &mut Vec<u8>) {}

fn read(format: Option<Format>, names: [&str; 4], input: &[u8], repair: fn(&mut Vec<u8>)) -> bool {
    let Some((control, content)) = Control::of(input) else { return false };
    let (options, name) = (control.options(format), control.pick(names).as_ref());
    let mut content = content.to_vec();
    if control.repairs() {
        repair(&mut content);
    }
    let table = match control.trickles() {
        true => read_from(Trickle(Cursor::new(content)), name, &options),
        false => read_from(Cursor::new(content), name, &options),
    };
    match table {
        Ok(table) => check(table, &options),
        Err(error) => refused(&error),
    }
}

/// Gives a few bytes at a time, as a slow pipe does.
struct Trickle(Cursor<Vec<u8>>);

impl Read for Trickle {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let few = buffer.len().min(7);
        self.0.read(&mut buffer[..few])
    }
}

/// What a table promises.
fn check(table: Table, options: &ReadOptions) -> bool {
    let (rows, cols) = (table.rows(), table.x.cols());
    assert!(rows > 0 && cols > 0, "{rows} rows, {cols} columns");
    // More are not worth the time, and a sparse matrix may have billions of zeros.
    for row in 0..rows.min(50) {
        for column in 0..cols.min(50) {
            assert!(table.x.get(row, column).is_finite(), "row {row}, column {column}");
        }
    }
    let texts = [&table.labels, &table.groups];
    for all in texts.into_iter().flatten() {
        assert_eq!(all.len(), rows);
        assert!(all.iter().all(|text| !text.is_empty()));
    }
    assert!(table.weights.as_ref().is_none_or(|w| w.len() == rows));
    assert!(table.feature_names.as_ref().is_none_or(|n| n.len() == cols));
    assert!(options.expected.as_ref().is_none_or(|e| e.count == cols));
    assert!(!table.place(rows - 1).to_string().is_empty());
    match table.into_dataset() {
        Ok(data) => {
            assert!(data.classes().len() > 1 && data.y().iter().all(|k| (*k as usize) < data.classes().len()));
            assert!(data.weights().is_none_or(|w| w.iter().all(|w| w.is_finite() && *w >= 0.0)));
        }
        Err(error) => {
            refused(&error);
        }
    }
    true
}
