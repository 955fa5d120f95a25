//! Tests of the Arrow and Parquet readers.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::sync::Arc;

use arrow_array::types::Int8Type;
use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, DictionaryArray, Float32Array, Int64Array, NullArray, RecordBatch, StringArray,
};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};

use super::*;
use crate::read_from;

pub(crate) fn file(batch: &RecordBatch, compression: Option<CompressionType>) -> Vec<u8> {
    let options = IpcWriteOptions::default().try_with_compression(compression).unwrap();
    let mut writer = FileWriter::try_new_with_options(Vec::new(), &batch.schema(), options).unwrap();
    writer.write(batch).unwrap();
    writer.write(batch).unwrap();
    writer.into_inner().unwrap()
}

fn stream(batch: &RecordBatch) -> Vec<u8> {
    let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    writer.write(batch).unwrap();
    writer.write(batch).unwrap();
    writer.into_inner().unwrap()
}

#[cfg(feature = "parquet")]
fn parquet(batch: &RecordBatch, compression: ::parquet::basic::Compression) -> Vec<u8> {
    let properties = ::parquet::file::properties::WriterProperties::builder().set_compression(compression).build();
    let mut writer = ::parquet::arrow::ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).unwrap();
    writer.write(batch).unwrap();
    writer.write(batch).unwrap();
    writer.into_inner().unwrap()
}

/// The batch, twice over, in every form.
fn all(batch: &RecordBatch) -> Vec<Vec<u8>> {
    let forms = vec![
        file(batch, None),
        file(batch, Some(CompressionType::LZ4_FRAME)),
        file(batch, Some(CompressionType::ZSTD)),
        stream(batch),
    ];
    #[cfg(feature = "parquet")]
    let forms = {
        use ::parquet::basic::Compression;
        let gzip = Compression::GZIP(Default::default());
        let zstd = Compression::ZSTD(Default::default());
        let plain = Compression::UNCOMPRESSED;
        let kinds = [plain, Compression::SNAPPY, gzip, zstd, Compression::LZ4_RAW];
        let more = kinds.into_iter().map(|c| parquet(batch, c));
        forms.into_iter().chain(more).collect()
    };
    forms
}

fn parse(bytes: Vec<u8>, options: &ReadOptions) -> Result<Table, String> {
    read_from(Cursor::new(bytes), "t".as_ref(), options).map_err(|e| e.to_string())
}

fn batch() -> RecordBatch {
    let columns: [(&str, ArrayRef); 5] = [
        ("id", Arc::new(StringArray::from(vec!["p", "q"]))),
        ("b", Arc::new(BooleanArray::from(vec![true, false]))),
        ("a", Arc::new(Float32Array::from(vec![0.5, 1.5]))),
        ("n", Arc::new(Int64Array::from(vec![Some(7), None]))),
        ("class", Arc::new(StringArray::from(vec![Some("1.0"), None]))),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.map(|(n, c)| (n, c, true))).unwrap()
}

fn columns(list: &[&str]) -> Option<Vec<crate::Column>> {
    Some(list.iter().map(|s| s.parse().unwrap()).collect())
}

#[test]
fn columns_are_chosen_and_typed() {
    let first = batch().slice(0, 1);
    for bytes in all(&first) {
        let options = ReadOptions { features: columns(&["a", "b", "n"]), ..Default::default() };
        let table = parse(bytes.clone(), &options).unwrap();
        assert_eq!((table.x.rows(), table.x.cols()), (2, 3));
        assert_eq!((table.x.get(1, 0), table.x.get(1, 1), table.x.get(0, 2)), (0.5, 1.0, 7.0));
        assert_eq!((table.labels.unwrap(), table.label_name.unwrap()), (vec!["1".to_string(); 2], "class".into()));
        assert_eq!(table.feature_names.unwrap(), ["a", "b", "n"]);
        let options = ReadOptions {
            label: "n".parse().ok(),
            weight: "a".parse().ok(),
            features: columns(&["b"]),
            ..Default::default()
        };
        let table = parse(bytes, &options).unwrap();
        assert_eq!((table.labels.unwrap(), table.weights.unwrap()), (vec!["7".to_string(); 2], vec![0.5; 2]));
    }
}

#[test]
fn bad_columns_and_cells_are_named() {
    for bytes in all(&batch()) {
        let error = |options: &ReadOptions| parse(bytes.clone(), options).unwrap_err();
        assert_eq!(
            error(&ReadOptions::default()),
            "t: column \"id\" holds Utf8, expected numbers; leave the column out or encode it as numbers"
        );
        let options = ReadOptions { features: columns(&["n"]), ..Default::default() };
        assert_eq!(error(&options), "t: row 2, column \"n\": the cell is empty, expected a number");
        let options = ReadOptions { features: columns(&["a"]), ..Default::default() };
        assert_eq!(error(&options), "t: row 2, column \"class\": the label is empty");
        let cut = parse(bytes[..bytes.len() / 2].to_vec(), &options).unwrap_err();
        assert!(cut.starts_with("t: not a usable"), "{cut}");
    }
}

/// A column of numbers with labels and weights that are all of one column.
fn labelled(labels: ArrayRef) -> RecordBatch {
    let x: ArrayRef = Arc::new((0..labels.len()).map(|i| Some(i as f32)).collect::<Float32Array>());
    RecordBatch::try_from_iter_with_nullable([("x", x, true), ("label", labels, true)]).unwrap()
}

#[test]
fn labels_are_named_for_what_they_are() {
    let error = |labels: ArrayRef| {
        let found: Vec<String> =
            all(&labelled(labels)).into_iter().map(|b| parse(b, &ReadOptions::default()).unwrap_err()).collect();
        assert!(found.windows(2).all(|two| two[0] == two[1]), "{found:?}");
        found[0].replace("t: row 2, column \"label\": ", "")
    };
    assert_eq!(error(Arc::new(BinaryArray::from(vec![&b"a"[..], b"\xff"]))), "the text is not UTF-8");
    assert_eq!(error(Arc::new(BinaryArray::from(vec![Some(&b"a"[..]), None]))), "the label is empty");
    assert_eq!(error(Arc::new(StringArray::from(vec!["1", "nan"]))), "found nan, expected a finite number");
    let missing: DictionaryArray<Int8Type> = vec![Some("a"), None].into_iter().collect();
    assert_eq!(error(Arc::new(missing)), "the label is empty");
    let one = parse(file(&labelled(Arc::new(NullArray::new(2))), None), &ReadOptions::default()).unwrap_err();
    assert_eq!(one, "t: row 1, column \"label\": the label is empty");
}

#[test]
fn labels_of_dictionaries_are_read_without_writing_them_out() {
    let labels: DictionaryArray<Int8Type> = vec![Some("b"), Some("a"), Some("b")].into_iter().collect();
    for bytes in all(&labelled(Arc::new(labels))) {
        let table = parse(bytes, &ReadOptions::default()).unwrap();
        assert_eq!(table.labels.unwrap(), ["b", "a", "b", "b", "a", "b"]);
    }
}
