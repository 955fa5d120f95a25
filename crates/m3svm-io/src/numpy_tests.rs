//! Tests of the NumPy readers.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::io::Write;

use npyz::WriterBuilder;

use super::*;
use crate::options::{Expected, LabelUse};
use crate::read_from;

/// An array as `np.save` writes it.
pub(crate) fn npy(descr: &str, fortran: bool, shape: &str, data: &[u8]) -> Vec<u8> {
    let fortran = if fortran { "True" } else { "False" };
    let header = format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}\n");
    let mut out = b"\x93NUMPY\x01\x00".to_vec();
    out.extend((header.len() as u16).to_le_bytes());
    [out.as_slice(), header.as_bytes(), data].concat()
}

fn npz(entries: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in entries {
        zip.start_file(format!("{name}.npy"), zip::write::SimpleFileOptions::default()).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

fn parse(bytes: Vec<u8>, options: &ReadOptions) -> Result<Table, String> {
    read_from(Cursor::new(bytes), "t".as_ref(), options).map_err(|e| e.to_string())
}

fn floats(values: &[f64]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

fn longs(values: &[i64]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

#[test]
fn one_array_is_a_table_with_the_label_last() {
    let bytes = npy("<f8", false, "(2, 3)", &floats(&[1.0, 2.0, 0.0, 3.0, 4.0, 1.0]));
    let table = parse(bytes.clone(), &ReadOptions::default()).unwrap();
    assert_eq!((table.x.cols(), table.x.get(1, 1), table.labels.unwrap()), (2, 4.0, vec!["0".into(), "1".into()]));
    assert_eq!(table.label_name.unwrap(), "column 3");
    let expected = Some(Expected { count: 3, names: None });
    let options = ReadOptions { expected, labels: LabelUse::Optional, ..Default::default() };
    assert_eq!(parse(bytes, &options).unwrap().labels, None);
    let fortran = npy("<f8", true, "(2, 3)", &floats(&[1.0, 3.0, 2.0, 4.0, 0.0, 1.0]));
    assert_eq!(parse(fortran, &ReadOptions::default()).unwrap().x.get(1, 0), 3.0);
}

#[test]
fn every_type_is_read_and_single_stays_single() {
    let options = ReadOptions { labels: LabelUse::Ignore, ..Default::default() };
    for (descr, data) in [
        ("|b1", vec![1u8]),
        ("|i1", vec![1]),
        ("|u1", vec![1]),
        ("<i2", vec![1, 0]),
        (">u2", vec![0, 1]),
        (">i4", vec![0, 0, 0, 1]),
        ("<u4", vec![1, 0, 0, 0]),
        ("<i8", vec![1, 0, 0, 0, 0, 0, 0, 0]),
        ("<u8", vec![1, 0, 0, 0, 0, 0, 0, 0]),
        ("<f2", vec![0x00, 0x3c]),
        ("<f4", 1f32.to_le_bytes().to_vec()),
        (">f8", 1f64.to_be_bytes().to_vec()),
    ] {
        let table = parse(npy(descr, false, "(1, 1)", &data), &options).unwrap();
        assert_eq!(table.x.get(0, 0), 1.0, "{descr}");
    }
    let bytes = npy("<f4", false, "(1, 2)", &[1f32.to_le_bytes(), 0.1f32.to_le_bytes()].concat());
    let array = read_array(&mut bytes.as_slice(), Format::Npy, &mut Meter::new("it")).unwrap();
    assert_eq!(array.data, Data::F32(vec![1.0, 0.1]));
}

#[test]
fn archives_hold_x_and_y() {
    let x = npy("|u1", false, "(2, 1, 2, 2)", &[1, 2, 3, 4, 5, 6, 7, 8]);
    let y = npy("<U2", false, "(2,)", &[[b'a', 0, 0, 0, b'b', 0, 0, 0], [b'1', 0, 0, 0, 0, 0, 0, 0]].concat());
    let bytes = npz(&[("x", x.clone()), ("y", y.clone())]);
    let table = parse(bytes.clone(), &ReadOptions::default()).unwrap();
    assert_eq!((table.x.cols(), table.x.get(1, 3)), (4, 8.0));
    assert_eq!((table.labels.unwrap(), table.label_name.unwrap()), (vec!["ab".into(), "1".into()], "y".into()));
    let expected = Some(Expected { count: 3, names: None });
    let options = ReadOptions { expected, labels: LabelUse::Optional, ..Default::default() };
    assert_eq!(parse(bytes, &options).unwrap_err(), "t: expected 3 features, found 4");
    let other = npz(&[("x", x.clone()), ("kind", y.clone()), ("w", npy("<f8", false, "(2,)", &floats(&[1.0, 2.0])))]);
    let missing = parse(other.clone(), &ReadOptions::default()).unwrap_err();
    assert_eq!(missing, "t: there are no labels; expected an array called Y, gnd or label");
    let column = |s: &str| Some(s.parse().unwrap());
    let options = ReadOptions { label: column("kind"), weight: column("w"), ..Default::default() };
    assert_eq!(parse(other, &options).unwrap().weights.unwrap(), [1.0, 2.0]);
    let short = npz(&[("x", x), ("y", npy("|u1", false, "(3,)", &[1, 2, 3]))]);
    let error = parse(short, &ReadOptions::default()).unwrap_err();
    assert_eq!(error, "t: array `x` has 2 rows, but there are 3 labels");
}

#[test]
fn sparse_matrices_of_scipy_are_read() {
    // [[0, 5, 0], [7, 0, 6]]
    let parts = |format: &str, indptr: &[i64], indices: &[i64], data: &[f64]| {
        npz(&[
            ("indices", npy("<i8", false, &format!("({},)", indices.len()), &longs(indices))),
            ("indptr", npy("<i8", false, &format!("({},)", indptr.len()), &longs(indptr))),
            ("format", npy("|S3", false, "()", format.as_bytes())),
            ("shape", npy("<i8", false, "(2,)", &longs(&[2, 3]))),
            ("data", npy("<f8", false, &format!("({},)", data.len()), &floats(data))),
            ("y", npy("|u1", false, "(2,)", &[1, 2])),
        ])
    };
    let csr = parts("csr", &[0, 1, 3], &[1, 0, 2], &[5.0, 7.0, 6.0]);
    let csc = parts("csc", &[0, 1, 2, 3], &[1, 0, 1], &[7.0, 5.0, 6.0]);
    for bytes in [csr, csc] {
        let table = parse(bytes, &ReadOptions::default()).unwrap();
        assert!(table.x.is_sparse());
        assert_eq!((table.x.rows(), table.x.cols()), (2, 3));
        assert_eq!((table.x.get(0, 1), table.x.get(1, 0), table.x.get(1, 2)), (5.0, 7.0, 6.0));
        assert_eq!(table.labels.unwrap(), ["1", "2"]);
    }
    let error = parse(parts("coo", &[0], &[], &[]), &ReadOptions::default()).unwrap_err();
    assert!(error.contains("tocsr()"), "{error}");
    let error = parse(parts("csc", &[0, 1, 2, 3], &[1, 0, 9], &[7.0, 5.0, 6.0]), &ReadOptions::default()).unwrap_err();
    assert!(error.contains("index 9 is outside"), "{error}");
}

#[test]
fn broken_arrays_are_named() {
    let error = |bytes| parse(bytes, &ReadOptions::default()).unwrap_err();
    assert_eq!(error(npy("<f8", false, "(2, 2)", &[0; 9])), "t: not a usable NumPy file: the data ends early");
    let huge = "(4611686018427387904, 4)";
    let text = error(npy("<f8", false, huge, &[0; 9]));
    assert!(text.starts_with("t: not a usable NumPy file"), "{text}");
    assert_eq!(
        error(npy("<f8", false, "(99999999999, 9)", &[0; 9])),
        "t: not a usable NumPy file: the data ends early"
    );
    assert_eq!(
        error(npy("|S0", false, "(99999999999, 9)", &[])),
        "t: not a usable NumPy file: the type '|S0' is not supported, expected numbers"
    );
    assert_eq!(error(npy("<f8", false, "(3,)", &[0; 24])), "t: found a vector of 3 values, expected a table");
    assert!(error(npy("<c16", false, "(1, 2)", &[0; 32])).contains("'<c16' is not supported"));
    let nan = npy("<f8", false, "(1, 2)", &floats(&[f64::NAN, 1.0]));
    assert_eq!(error(nan), "t: row 1, column 1: found NaN, expected a finite number");
    let none = npy("<f8", false, "(0, 1000000000000000)", &[]);
    assert_eq!(error(none), "t: the table has no rows");
    let deep = npy("<f8", false, &"(".repeat(60_000), &[]);
    assert_eq!(error(deep), "t: not a usable NumPy file: the header is too large");
    assert!(error(b"PK\x03\x04nonsense".to_vec()).starts_with("t: not a usable NumPy archive file"));
}

#[test]
fn arrays_of_the_writer_read_back() {
    let mut bytes = Vec::new();
    let options = npyz::WriteOptions::<f64>::new().default_dtype().shape(&[3, 2]).writer(&mut bytes);
    let mut writer = options.begin_nd().unwrap();
    writer.extend([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
    writer.finish().unwrap();
    assert_eq!(parse(bytes, &ReadOptions::default()).unwrap().x.get(2, 0), 5.0);
}

#[test]
fn whole_labels_keep_every_digit() {
    let x = npy("<f8", false, "(3, 1)", &floats(&[1.0, 2.0, 3.0]));
    let labels = |descr: &str, data: &[u8]| {
        let y = npy(descr, false, "(3,)", data);
        parse(npz(&[("x", x.clone()), ("y", y)]), &ReadOptions::default()).unwrap().labels.unwrap()
    };
    let near = [1i64 << 53, (1 << 53) + 1, i64::MIN];
    assert_eq!(labels("<i8", &longs(&near)), ["9007199254740992", "9007199254740993", "-9223372036854775808"]);
    let near = [u64::MAX, u64::MAX - 1, 0].map(u64::to_be_bytes).concat();
    assert_eq!(labels(">u8", &near), ["18446744073709551615", "18446744073709551614", "0"]);
    // In a column of the table as well.
    let rows = npy("<i8", false, "(2, 2)", &longs(&[1, (1 << 53) + 1, 2, 1 << 53]));
    let table = parse(rows, &ReadOptions::default()).unwrap();
    assert_eq!(
        (table.labels.unwrap(), table.x.get(1, 0)),
        (vec!["9007199254740993".into(), "9007199254740992".into()], 2.0)
    );
}

#[test]
fn indices_that_are_not_whole_are_refused_and_not_cut_off() {
    let parts = |indices: Vec<u8>, kind: &str| {
        npz(&[
            ("indices", npy(kind, false, "(3,)", &indices)),
            ("indptr", npy("<i8", false, "(3,)", &longs(&[0, 1, 3]))),
            ("format", npy("|S3", false, "()", b"csr")),
            ("shape", npy("<i8", false, "(2,)", &longs(&[2, 3]))),
            ("data", npy("<f8", false, "(3,)", &floats(&[5.0, 7.0, 6.0]))),
            ("y", npy("|u1", false, "(2,)", &[1, 2])),
        ])
    };
    let error = |indices, kind| parse(parts(indices, kind), &ReadOptions::default()).unwrap_err();
    let expected = "t: not a usable NumPy archive file: array `indices` holds";
    assert_eq!(error(floats(&[1.0, 0.5, 2.0]), "<f8"), format!("{expected} 0.5, expected whole numbers"));
    assert_eq!(error(floats(&[1.0, f64::NAN, 2.0]), "<f8"), format!("{expected} NaN, expected whole numbers"));
    assert_eq!(
        error(floats(&[1.0, 2f64.powi(60), 2.0]), "<f8"),
        format!("{expected} 1152921504606847000, expected whole numbers")
    );
    assert_eq!(error(longs(&[1, -1, 2]), "<i8"), format!("{expected} -1, expected whole numbers"));
    let whole = parse(parts(floats(&[1.0, 0.0, 2.0]), "<f8"), &ReadOptions::default()).unwrap();
    assert_eq!(whole.x.get(1, 2), 6.0);
}

#[test]
fn times_are_no_numbers_and_nan_is_no_class() {
    for descr in ["<M8[D]", "<m8[s]", "<M8[ns]"] {
        let error = parse(npy(descr, false, "(1, 2)", &longs(&[1, 2])), &ReadOptions::default()).unwrap_err();
        assert_eq!(error, format!("t: not a usable NumPy file: the type '{descr}' is not supported, expected numbers"));
    }
    let x = npy("<f8", false, "(2, 1)", &floats(&[1.0, 2.0]));
    let y = npy("|S3", false, "(2,)", b"1\0\0nan");
    let error = parse(npz(&[("x", x.clone()), ("y", y)]), &ReadOptions::default()).unwrap_err();
    assert_eq!(error, "t: row 2, column \"y\": found nan, expected a finite number");
    let y = npy("|S1", false, "(2,)", b"a\xff");
    let error = parse(npz(&[("x", x), ("y", y)]), &ReadOptions::default()).unwrap_err();
    assert_eq!(error, "t: not a usable NumPy archive file: a text is not UTF-8");
}
