//! Arrays of NumPy and MATLAB.

use std::io::{Cursor, Write};

use mat5::{DenseMatrix, MatFile, Matrix, NamedArray, SparseMatrix, Values};
use zip::CompressionMethod;
use zip::write::SimpleFileOptions;

pub(super) type Named = (&'static str, Vec<u8>);

fn array(kind: &str, fortran: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{kind}', 'fortran_order': {fortran}, 'shape': {shape}, }}\n");
    let length = (header.len() as u16).to_le_bytes();
    [b"\x93NUMPY\x01\x00", length.as_slice(), header.as_bytes(), data].concat()
}

fn doubles(values: &[f64]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

const TABLE: [f64; 6] = [1.0, 2.0, 0.0, 3.5, -4.0, 1.0];

pub(super) fn npy() -> Vec<Named> {
    let single: Vec<u8> = TABLE.iter().flat_map(|v| (*v as f32).to_be_bytes()).collect();
    vec![
        ("double", array("<f8", "False", "(2, 3)", &doubles(&TABLE))),
        ("big-endian-fortran", array(">f4", "True", "(3, 2)", &single)),
        ("bytes", array("|u1", "False", "(2, 3)", &[1, 2, 3, 4, 5, 6])),
        ("int64", array("<i8", "False", "(2, 2)", &[1; 32])),
        ("half", array("<f2", "False", "(2, 2)", &[0, 60, 0, 64, 0, 0, 1, 60])),
        ("bool", array("|b1", "False", "(2, 2)", &[1, 0, 1, 1])),
        ("images", array("|i1", "False", "(2, 2, 2)", &[1, 0, 1, 1, 2, 2, 2, 3])),
    ]
}

fn archive(method: CompressionMethod, arrays: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in arrays {
        zip.start_file(format!("{name}.npy"), SimpleFileOptions::default().compression_method(method)).unwrap();
        zip.write_all(content).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

fn sparse(form: &str) -> Vec<u8> {
    let long = |values: &[i64]| values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>();
    let short = |values: &[i32]| values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>();
    archive(
        CompressionMethod::Stored,
        &[
            ("indices", array("<i4", "False", "(3,)", &short(&[0, 1, 1]))),
            ("indptr", array("<i4", "False", "(3,)", &short(&[0, 2, 3]))),
            ("format", array("|S3", "False", "()", form.as_bytes())),
            ("shape", array("<i8", "False", "(2,)", &long(&[2, 2]))),
            ("data", array("<f8", "False", "(3,)", &doubles(&TABLE[..3]))),
            ("y", array("|i1", "False", "(2,)", &[1, 2])),
        ],
    )
}

pub(super) fn npz() -> Vec<Named> {
    let texts: Vec<u8> = ["x\0\0", "long"[..3].into(), "é\0\0"]
        .iter()
        .flat_map(|text: &&str| text.chars().take(3).flat_map(|c| (c as u32).to_le_bytes()).collect::<Vec<_>>())
        .collect();
    let dense = [
        ("x", array("<f8", "True", "(3, 2)", &doubles(&TABLE))),
        ("y", array("<U3", "False", "(3,)", &texts)),
        ("w", array("<f4", "False", "(3,)", &[0; 12])),
    ];
    let numbers =
        [("arr_0", array("<f8", "False", "(2, 3)", &doubles(&TABLE))), ("arr_1", array("|S1", "False", "(2,)", b"ab"))];
    vec![
        ("stored", archive(CompressionMethod::Stored, &dense)),
        ("deflated", archive(CompressionMethod::Deflated, &numbers)),
        ("csr", sparse("csr")),
        ("csc", sparse("csc")),
    ]
}

fn matlab(arrays: Vec<(&str, Matrix)>) -> Vec<u8> {
    let arrays = arrays.into_iter().map(|(name, matrix)| NamedArray { name: name.into(), matrix }).collect();
    MatFile { header_text: "MATLAB 5.0 MAT-file".into(), arrays }.write_bytes().unwrap()
}

fn dense(rows: usize, cols: usize, values: Values) -> Matrix {
    Matrix::Dense(DenseMatrix { rows, cols, values })
}

pub(super) fn mat() -> Vec<Named> {
    let values = Values::F64(vec![7.0, 5.0, 6.0]);
    let fea =
        Matrix::Sparse(SparseMatrix { rows: 3, cols: 2, row_indices: vec![1, 0, 2], col_ptr: vec![0, 1, 3], values });
    vec![
        (
            "dense",
            matlab(vec![("X", dense(2, 3, Values::F64(TABLE.to_vec()))), ("Y", dense(2, 1, Values::U8(vec![1, 2])))]),
        ),
        ("sparse", matlab(vec![("fea", fea), ("gnd", dense(3, 1, Values::F32(vec![1.0, 2.0, 1.0])))])),
    ]
}

/// The same without compression, which is added after every change.
pub(super) fn mat_plain() -> Vec<Named> {
    let part = |kind: u32, data: &[u8]| {
        let mut out = [kind.to_le_bytes(), (data.len() as u32).to_le_bytes()].concat();
        out.extend_from_slice(data);
        out.resize(out.len().next_multiple_of(8), 0);
        out
    };
    let element = |name: &str, class: u8, kind: u32, dims: [i32; 2], data: &[u8]| {
        let dims = dims.map(i32::to_le_bytes).concat();
        let parts =
            [part(6, &[class, 0, 0, 0, 0, 0, 0, 0]), part(5, &dims), part(1, name.as_bytes()), part(kind, data)];
        part(14, &parts.concat())
    };
    let mut file = b"MATLAB 5.0 MAT-file".to_vec();
    file.resize(124, b' ');
    file.extend([0, 1, b'I', b'M']);
    file.extend(element("X", 6, 9, [2, 3], &doubles(&TABLE)));
    file.extend(element("note", 4, 4, [1, 1], &[65, 0]));
    file.extend(element("Y", 8, 1, [2, 1], &[1, 2]));
    vec![("plain", file)]
}
