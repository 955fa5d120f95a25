//! The same random table in every format reads back equal.
#![cfg(feature = "parquet")]
#![expect(clippy::unwrap_used, reason = "tests")]

use std::fmt::Write;
use std::io::Cursor;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float32Array, Float64Array, RecordBatch, StringArray};
use m3svm_io::{LabelUse, ReadOptions, Table, read, read_from};
use npyz::WriterBuilder;
use proptest::prelude::*;

#[derive(Clone, Debug)]
struct Sample {
    rows: Vec<Vec<f64>>,
    labels: Vec<u8>,
}

fn sample() -> impl Strategy<Value = Sample> {
    let value = prop_oneof![Just(0.0), -1e3..1e3f64, any::<f64>().prop_filter("finite", |v| v.is_finite())];
    (1usize..6, 1usize..12).prop_flat_map(move |(d, n)| {
        let rows = prop::collection::vec(prop::collection::vec(value.clone(), d), n);
        (rows, prop::collection::vec(0u8..4, n)).prop_map(|(rows, labels)| Sample { rows, labels })
    })
}

impl Sample {
    fn csv(&self) -> Vec<u8> {
        let names: Vec<String> = (0..self.rows[0].len()).map(|j| format!("f{j},")).collect();
        let mut out = names.concat() + "label\n";
        for (row, label) in self.rows.iter().zip(&self.labels) {
            row.iter().for_each(|v| write!(out, "{v},").unwrap());
            writeln!(out, "{label}").unwrap();
        }
        out.into_bytes()
    }

    fn libsvm(&self) -> Vec<u8> {
        let mut out = String::new();
        for (row, label) in self.rows.iter().zip(&self.labels) {
            write!(out, "{label}").unwrap();
            // The last one is always written, since it alone tells the number of features.
            let kept = row.iter().enumerate().filter(|(j, v)| **v != 0.0 || j + 1 == row.len());
            kept.for_each(|(j, v)| write!(out, " {}:{v:e}", j + 1).unwrap());
            out.push('\n');
        }
        out.into_bytes()
    }

    fn npy(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let shape = [self.rows.len() as u64, self.rows[0].len() as u64 + 1];
        let mut writer =
            npyz::WriteOptions::<f64>::new().default_dtype().shape(&shape).writer(&mut out).begin_nd().unwrap();
        for (row, label) in self.rows.iter().zip(&self.labels) {
            writer.extend(row.iter().copied().chain([f64::from(*label)])).unwrap();
        }
        writer.finish().unwrap();
        out
    }

    fn batch(&self, single: bool) -> RecordBatch {
        let column = |j: usize| self.rows.iter().map(move |r| r[j]);
        let labels: StringArray = self.labels.iter().map(|l| Some(l.to_string())).collect();
        let features = (0..self.rows[0].len()).map(|j| {
            let array: ArrayRef = match single {
                true => Arc::new(Float32Array::from_iter_values(column(j).map(|v| v as f32))),
                false => Arc::new(Float64Array::from_iter_values(column(j))),
            };
            (format!("f{j}"), array)
        });
        RecordBatch::try_from_iter(features.chain([("label".to_string(), Arc::new(labels) as ArrayRef)])).unwrap()
    }

    fn arrow(&self, single: bool) -> Vec<u8> {
        let batch = self.batch(single);
        let mut writer = arrow_ipc::writer::FileWriter::try_new(Vec::new(), &batch.schema()).unwrap();
        writer.write(&batch).unwrap();
        writer.into_inner().unwrap()
    }

    fn parquet(&self) -> Vec<u8> {
        let batch = self.batch(false);
        let mut writer = parquet::arrow::ArrowWriter::try_new(Vec::new(), batch.schema(), None).unwrap();
        writer.write(&batch).unwrap();
        writer.into_inner().unwrap()
    }

    fn check(&self, table: &Table, name: &str, exact: bool) {
        assert_eq!((table.x.rows(), table.x.cols()), (self.rows.len(), self.rows[0].len()), "{name}");
        for (i, row) in self.rows.iter().enumerate() {
            for (j, v) in row.iter().enumerate() {
                let expected = if exact { *v } else { f64::from(*v as f32) };
                assert_eq!(table.x.get(i, j), expected, "{name} row {i} column {j}");
            }
        }
        let labels: Vec<String> = self.labels.iter().map(u8::to_string).collect();
        assert_eq!(table.labels.as_ref(), Some(&labels), "{name}");
    }
}

fn open(bytes: Vec<u8>, name: &str) -> Table {
    read_from(Cursor::new(bytes), name.as_ref(), &ReadOptions::default()).unwrap()
}

proptest! {
    #[test]
    fn formats_agree(sample in sample()) {
        for (name, bytes) in [
            ("csv", sample.csv()),
            ("svm", sample.libsvm()),
            ("npy", sample.npy()),
            ("arrow", sample.arrow(false)),
            ("parquet", sample.parquet()),
        ] {
            // By extension, by content, and compressed.
            sample.check(&open(bytes.clone(), &format!("t.{name}")), name, true);
            sample.check(&open(zstd::encode_all(bytes.as_slice(), 1).unwrap(), "-"), name, true);
        }
        if sample.rows.iter().flatten().all(|v| (*v as f32).is_finite()) {
            sample.check(&open(sample.arrow(true), "t.arrow"), "single", false);
        }
    }
}

#[test]
fn groups_are_read_in_every_format_with_columns() {
    let sample = Sample { rows: vec![vec![7.0, 0.25], vec![8.0, -1.0], vec![7.0, 3.0]], labels: vec![0, 3, 3] };
    for (name, bytes, group) in [
        ("a.csv", sample.csv(), "f0"),
        ("a.npy", sample.npy(), "0"),
        ("a.arrow", sample.arrow(false), "f0"),
        ("a.parquet", sample.parquet(), "f0"),
    ] {
        let options = ReadOptions { group: Some(group.into()), ..Default::default() };
        let table = read_from(Cursor::new(bytes), name.as_ref(), &options).unwrap();
        assert_eq!(table.groups.unwrap(), ["7", "8", "7"], "{name}");
        assert_eq!((table.x.cols(), table.x.get(2, 0)), (1, 3.0), "{name}");
    }
    let options = ReadOptions { group: Some("0".into()), ..Default::default() };
    let refused = read_from(Cursor::new(sample.libsvm()), "a.svm".as_ref(), &options).unwrap_err();
    assert!(refused.to_string().contains("a group column"), "{refused}");
    let hole = b"person,x,label\n1,2,a\n,3,b\n".to_vec();
    let options = ReadOptions { group: Some("person".into()), ..Default::default() };
    let refused = read_from(Cursor::new(hole), "a.csv".as_ref(), &options).unwrap_err();
    assert!(refused.to_string().contains("the group is empty"), "{refused}");
}

#[test]
fn plain_files_are_read_from_disk() {
    let folder = tempfile::tempdir().unwrap();
    let sample = Sample { rows: vec![vec![1.0, 0.25], vec![2.0, -1.0]], labels: vec![0, 3] };
    for (name, bytes) in [
        ("a.csv", sample.csv()),
        ("a.npy", sample.npy()),
        ("a.feather", sample.arrow(false)),
        ("a.parquet", sample.parquet()),
    ] {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        let table = read(&path, &ReadOptions::default()).unwrap();
        sample.check(&table, name, true);
        assert_eq!(table.file, path);
        let options = ReadOptions { labels: LabelUse::Optional, ..Default::default() };
        assert_eq!(read(&path, &options).unwrap().labels.is_some(), name != "a.npy");
        assert_eq!(table.into_dataset().unwrap().classes(), ["0", "3"]);
    }
    assert!(read(folder.path(), &ReadOptions::default()).is_err());
}
