//! Tests of the MATLAB reader.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::io::{Cursor, Write};

use super::*;
use crate::read_from;

/// A real matrix of any class (6 double, 7 single, 8 and up integers, 4 text) as MATLAB stores it.
fn element(name: &str, class: u8, kind: u32, dims: &[i32], data: &[u8]) -> Vec<u8> {
    let part = |kind: u32, data: &[u8]| {
        let mut out = [kind.to_le_bytes(), (data.len() as u32).to_le_bytes()].concat();
        out.extend_from_slice(data);
        out.resize(out.len().next_multiple_of(8), 0);
        out
    };
    let dims: Vec<u8> = dims.iter().flat_map(|d| d.to_le_bytes()).collect();
    let flags = [class, 0, 0, 0, 0, 0, 0, 0];
    part(14, &[part(6, &flags), part(5, &dims), part(1, name.as_bytes()), part(kind, data)].concat())
}

fn compressed(element: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(element).unwrap();
    let data = encoder.finish().unwrap();
    [15u32.to_le_bytes().as_slice(), &(data.len() as u32).to_le_bytes(), &data].concat()
}

fn file(elements: &[Vec<u8>]) -> Vec<u8> {
    let mut header = b"MATLAB 5.0 MAT-file".to_vec();
    header.resize(124, b' ');
    header.extend([0, 1, b'I', b'M']);
    [header, elements.concat()].concat()
}

fn parse(bytes: Vec<u8>) -> Result<Table, String> {
    read_from(Cursor::new(bytes), "t.mat".as_ref(), &ReadOptions::default()).map_err(|e| e.to_string())
}

fn doubles(values: &[f64]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

#[test]
fn x_and_y_are_found_by_their_usual_names() {
    for (x, y) in [("X", "Y"), ("x", "y"), ("fea", "gnd"), ("data", "labels")] {
        // Columns 1 2 3 and 4 5 6.
        let x = element(x, 6, 9, &[3, 2], &doubles(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
        let y = element(y, 9, 2, &[3, 1], &[2, 1, 2]);
        for bytes in [file(&[x.clone(), y.clone()]), file(&[compressed(&y), compressed(&x)])] {
            let table = parse(bytes).unwrap();
            assert_eq!((table.x.rows(), table.x.cols(), table.x.get(2, 0), table.x.get(0, 1)), (3, 2, 3.0, 4.0));
            assert_eq!(table.labels.unwrap(), ["2", "1", "2"]);
        }
    }
}

#[test]
fn samples_may_be_columns_and_other_variables_are_left_out() {
    let x = element("X", 7, 7, &[2, 3], &[1f32, 4.0, 2.0, 5.0, 3.0, 6.0].map(f32::to_le_bytes).concat());
    let y = element("Y", 6, 2, &[1, 3], &[0, 1, 0]);
    let note = element("note", 4, 4, &[1, 1], &[65, 0]);
    let volume = element("volume", 6, 9, &[1, 1, 1], &doubles(&[1.0]));
    for bytes in [
        file(&[note.clone(), x.clone(), volume.clone(), y.clone()]),
        file(&[note, x, volume, y].map(|e| compressed(&e))),
    ] {
        let table = parse(bytes).unwrap();
        assert_eq!((table.x.rows(), table.x.cols(), table.x.get(2, 0), table.x.get(0, 1)), (3, 2, 3.0, 4.0));
    }
}

#[test]
fn every_class_is_read() {
    let y = element("y", 6, 9, &[2, 1], &doubles(&[1.0, 2.0]));
    for (class, kind, one) in [
        (6, 9, 1f64.to_le_bytes().to_vec()),
        (6, 3, vec![1, 0]),
        (7, 7, 1f32.to_le_bytes().to_vec()),
        (8, 1, vec![1]),
        (9, 2, vec![1]),
        (10, 3, vec![1, 0]),
        (11, 4, vec![1, 0]),
        (12, 5, vec![1, 0, 0, 0]),
        (13, 6, vec![1, 0, 0, 0]),
        (14, 12, vec![1, 0, 0, 0, 0, 0, 0, 0]),
        (15, 13, vec![1, 0, 0, 0, 0, 0, 0, 0]),
    ] {
        let x = element("x", class, kind, &[2, 1], &one.repeat(2));
        assert_eq!(parse(file(&[x, y.clone()])).unwrap().x.get(1, 0), 1.0, "class {class}");
    }
}

#[test]
fn sparse_matrices_are_read() {
    // [[0, 5], [7, 0], [0, 6]]
    let values = mat5::Values::F64(vec![7.0, 5.0, 6.0]);
    let matrix = SparseMatrix { rows: 3, cols: 2, row_indices: vec![1, 0, 2], col_ptr: vec![0, 1, 3], values };
    let labels = |n: usize| DenseMatrix { rows: 1, cols: n, values: mat5::Values::U8((0..n as u8).collect()) };
    // As rows, and as columns of samples.
    for (samples, at) in [(3, (2, 1)), (2, (1, 2))] {
        let x = NamedArray { name: "fea".into(), matrix: Matrix::Sparse(matrix.clone()) };
        let y = NamedArray { name: "gnd".into(), matrix: Matrix::Dense(labels(samples)) };
        let mat = MatFile { header_text: "MATLAB 5.0 MAT-file".into(), arrays: vec![x, y] };
        let table = parse(mat.write_bytes().unwrap()).unwrap();
        assert!(table.x.is_sparse());
        assert_eq!((table.x.rows(), table.x.get(at.0, at.1)), (samples, 6.0));
    }
    let x = sparse(matrix.clone()).unwrap();
    assert_eq!((x.indptr, x.indices, x.cols), (vec![0, 1, 2, 3], vec![1, 0, 1], 2));
    assert!(sparse(SparseMatrix { row_indices: vec![1, 0, 9], ..matrix.clone() }).is_err());
    assert!(sparse(SparseMatrix { rows: usize::MAX, ..matrix }).is_err());
}

#[test]
fn broken_files_are_named() {
    let x = element("X", 6, 9, &[2, 1], &doubles(&[1.0, f64::INFINITY]));
    let y = element("Y", 6, 9, &[2, 1], &doubles(&[1.0, 2.0]));
    let error = |elements: &[Vec<u8>]| parse(file(elements)).unwrap_err();
    assert_eq!(error(&[x, y.clone()]), "t.mat: row 2, column 1: found inf, expected a finite number");
    let long = element("X", 6, 9, &[-1, 9], &doubles(&[1.0]));
    assert_eq!(
        error(&[long, y.clone()]),
        "t.mat: not a usable MATLAB file: the dimensions of a matrix do not fit its data"
    );
    assert_eq!(
        error(&[y.clone(), element("A", 6, 9, &[1, 1], &[0; 8]), element("B", 6, 9, &[1, 1], &[0; 8])]),
        "t.mat: there is no array `X`; there are `Y`, `A`, `B`"
    );
    let mut cut = file(&[y]);
    cut.truncate(150);
    assert!(parse(cut).unwrap_err().starts_with("t.mat: not a usable MATLAB file"));
}

#[test]
fn nothing_is_counted_that_is_not_there() {
    let y = element("y", 6, 9, &[2, 1], &doubles(&[1.0, 2.0]));
    // As an unsigned number the negative one is near 2^64.
    for dims in [[-1, 0], [0, -1], [i32::MAX, 0], [0, i32::MAX]] {
        parse(file(&[element("X", 6, 9, &dims, &[]), y.clone()])).unwrap_err();
        parse(file(&[y.clone(), element("more", 6, 9, &dims, &[])])).unwrap_err();
    }
}

#[test]
fn labels_must_be_there_or_be_named() {
    let x = element("X", 6, 9, &[2, 2], &doubles(&[1.0, 2.0, 3.0, 4.0]));
    let text = element("Y", 4, 4, &[1, 1], &[65, 0]);
    let bytes = file(&[x, text]);
    let error = parse(bytes.clone()).unwrap_err();
    assert_eq!(error, "t.mat: there are no labels; expected an array called Y, gnd or label");
    let read = |label: &str| {
        let options = ReadOptions { label: Some(label.into()), ..Default::default() };
        read_from(Cursor::new(bytes.clone()), "t.mat".as_ref(), &options).map_err(|e| e.to_string())
    };
    assert_eq!(read("-1").unwrap().labels.unwrap(), ["3", "4"]);
    assert_eq!(read("kind").unwrap_err(), "t.mat: there is no label array `kind`; there is `X`");
}

#[test]
fn whole_labels_keep_every_digit() {
    let x = element("X", 6, 9, &[2, 1], &doubles(&[1.0, 2.0]));
    let near = [(1i64 << 53) + 1, -(1 << 53) - 1].map(i64::to_le_bytes).concat();
    let labels = |y| parse(file(&[x.clone(), y])).unwrap().labels.unwrap();
    assert_eq!(labels(element("Y", 14, 12, &[2, 1], &near)), ["9007199254740993", "-9007199254740993"]);
    let near = [u64::MAX, u64::MAX - 1].map(u64::to_le_bytes).concat();
    assert_eq!(labels(element("Y", 15, 13, &[1, 2], &near)), ["18446744073709551615", "18446744073709551614"]);
}

#[test]
fn numbers_that_must_be_whole_are_not_cut_off() {
    let y = element("Y", 6, 9, &[2, 1], &doubles(&[1.0, 2.0]));
    let fraction = "t.mat: not a usable MATLAB file: found 1.5 where numbers must be whole";
    // Whole numbers that are stored as others.
    let x = element("X", 12, 9, &[2, 1], &doubles(&[1.5, 2.0]));
    assert_eq!(parse(file(&[x, y.clone()])).unwrap_err(), fraction);
    let part = |kind: u32, data: &[u8]| {
        let mut out = [kind.to_le_bytes(), (data.len() as u32).to_le_bytes()].concat();
        out.extend_from_slice(data);
        out.resize(out.len().next_multiple_of(8), 0);
        out
    };
    let sparse = |rows: &[f64]| {
        let flags = [5, 0, 0, 0, 0, 0, 0, 0];
        let dims = [2i32, 1].map(i32::to_le_bytes).concat();
        let pointers = [0i32, 2].map(i32::to_le_bytes).concat();
        let parts = [
            part(6, &flags),
            part(5, &dims),
            part(1, b"X"),
            part(9, &doubles(rows)),
            part(5, &pointers),
            part(9, &doubles(&[7.0, 8.0])),
        ];
        part(14, &parts.concat())
    };
    assert_eq!(parse(file(&[sparse(&[0.0, 1.5]), y.clone()])).unwrap_err(), fraction);
    assert_eq!(parse(file(&[compressed(&sparse(&[1.5, 0.0])), y.clone()])).unwrap_err(), fraction);
    assert_eq!(parse(file(&[sparse(&[0.0, 1.0]), y])).unwrap().x.get(1, 0), 8.0);
}

#[test]
fn files_of_other_versions_are_called_what_they_are() {
    let y = element("Y", 6, 9, &[2, 1], &doubles(&[1.0, 2.0]));
    let error = |bytes: Vec<u8>| parse(bytes).unwrap_err().replace("t.mat: not a usable MATLAB file: ", "");
    let fourth = |kind: [u8; 4], number: fn(u32) -> [u8; 4]| {
        [kind, number(2), number(1), number(0), number(2)].concat().into_iter().chain(*b"X\0").chain([0; 16]).collect()
    };
    assert_eq!(error(fourth(0u32.to_le_bytes(), u32::to_le_bytes)), "it is of version 4; save it with `-v7`");
    assert_eq!(error(fourth(1000u32.to_be_bytes(), u32::to_be_bytes)), "it is of version 4; save it with `-v7`");
    let mut swapped = file(std::slice::from_ref(&y));
    swapped[124..128].copy_from_slice(&[1, 0, b'M', b'I']);
    assert_eq!(error(swapped), "its numbers are big-endian; save it anew on a machine of today");
    assert_eq!(error(b"x".repeat(200)), "it does not begin like one");
    assert_eq!(error(b"MATLAB 5.0 MAT-file".to_vec()), "the header ends early");
    assert!(error(b"MATLAB 7.3 MAT-file".to_vec()).contains("7.3 (HDF5)"));
}
