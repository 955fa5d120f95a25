//! No bytes make a reader panic, or end the program by asking for memory that there is not.
#![expect(clippy::unwrap_used, reason = "tests")]

mod watch;

use std::io::{Cursor, Write};

use m3svm_io::{Expected, Format, LabelUse, ReadOptions, read_from};
use proptest::prelude::*;

const FORMATS: [Format; 8] = [
    Format::Csv,
    Format::Libsvm,
    Format::Npy,
    Format::Npz,
    Format::Mat,
    Format::Parquet,
    Format::ArrowFile,
    Format::ArrowStream,
];

/// Reads the bytes as everything; only a panic is a failure.
fn throw(bytes: &[u8]) {
    let expected = Some(Expected { count: 2, names: Some(vec!["a".into(), "b".into()]) });
    let model = ReadOptions { expected, labels: LabelUse::Optional, ..Default::default() };
    for options in [ReadOptions::default(), model] {
        let _ = read_from(Cursor::new(bytes.to_vec()), "t".as_ref(), &options);
        for format in FORMATS {
            let options = ReadOptions { format: Some(format), ..options.clone() };
            let _ = read_from(Cursor::new(bytes.to_vec()), "t".as_ref(), &options).map(|t| t.into_dataset());
        }
    }
}

/// One good file per format.
fn seeds() -> Vec<Vec<u8>> {
    let mut seeds =
        vec![b"a,b,label\n1,2,x\n3,\"4\",y\n".to_vec(), b"1 1:2 3:4\n-1 2:5 # end\n".to_vec(), npy("(2, 2)", &[0; 32])];
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for name in ["x.npy", "y.npy"] {
        zip.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
        zip.write_all(&npy("(2, 1)", &[0; 16])).unwrap();
    }
    seeds.push(zip.finish().unwrap().into_inner());
    let mut mat = b"MATLAB 5.0 MAT-file".to_vec();
    mat.resize(124, b' ');
    mat.extend([0, 1, b'I', b'M']);
    for name in [b'X', b'Y'] {
        mat.extend([14, 0, 0, 0, 64, 0, 0, 0, 6, 0, 0, 0, 8, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0]);
        mat.extend([5, 0, 0, 0, 8, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 0, name, 0, 0, 0]);
        mat.extend([9, 0, 0, 0, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 240, 63, 0, 0, 0, 0, 0, 0, 0, 64]);
    }
    seeds.push(mat);
    let values = mat5::Values::F64(vec![7.0, 5.0, 6.0]);
    let (row_indices, col_ptr) = (vec![1, 0, 2], vec![0, 1, 3]);
    let fea = mat5::Matrix::Sparse(mat5::SparseMatrix { rows: 3, cols: 2, row_indices, col_ptr, values });
    let gnd = mat5::Matrix::Dense(mat5::DenseMatrix { rows: 3, cols: 1, values: mat5::Values::U8(vec![1, 2, 1]) });
    let named = |name: &str, matrix| mat5::NamedArray { name: name.into(), matrix };
    let arrays = vec![named("fea", fea), named("gnd", gnd)];
    let header_text = "MATLAB 5.0 MAT-file".into();
    seeds.push(mat5::MatFile { header_text, arrays }.write_bytes().unwrap());
    #[cfg(feature = "parquet")]
    seeds.extend(columnar());
    seeds
}

fn npy(shape: &str, data: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}\n");
    let length = (header.len() as u16).to_le_bytes();
    [b"\x93NUMPY\x01\x00", length.as_slice(), header.as_bytes(), data].concat()
}

#[cfg(feature = "parquet")]
fn columnar() -> Vec<Vec<u8>> {
    use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray};
    use arrow_ipc::CompressionType;
    use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
    use parquet::arrow::ArrowWriter;
    use parquet::basic::{Compression, Encoding};
    use parquet::file::properties::WriterProperties;
    use parquet::schema::types::ColumnPath;
    use std::sync::Arc;
    let values: ArrayRef = Arc::new(Float64Array::from(vec![1.0, 2.0]));
    let labels: ArrayRef = Arc::new(StringArray::from(vec!["x", "y"]));
    let batch = RecordBatch::try_from_iter([("a", values.clone()), ("b", values), ("label", labels)]).unwrap();
    let mut all = Vec::new();
    for compression in [None, Some(CompressionType::LZ4_FRAME), Some(CompressionType::ZSTD)] {
        let options = || IpcWriteOptions::default().try_with_compression(compression).unwrap();
        let mut file = FileWriter::try_new_with_options(Vec::new(), &batch.schema(), options()).unwrap();
        file.write(&batch).unwrap();
        let mut stream = StreamWriter::try_new_with_options(Vec::new(), &batch.schema(), options()).unwrap();
        stream.write(&batch).unwrap();
        all.extend([file.into_inner().unwrap(), stream.into_inner().unwrap()]);
    }
    let gzip = Compression::GZIP(Default::default());
    for (encoding, compression) in [
        (Encoding::PLAIN, Compression::UNCOMPRESSED),
        (Encoding::DELTA_LENGTH_BYTE_ARRAY, Compression::SNAPPY),
        (Encoding::DELTA_BYTE_ARRAY, gzip),
        (Encoding::DELTA_BYTE_ARRAY, Compression::ZSTD(Default::default())),
        (Encoding::PLAIN, Compression::LZ4_RAW),
    ] {
        let label = ColumnPath::from("label");
        let properties = WriterProperties::builder().set_compression(compression);
        let properties = properties.set_column_encoding(label.clone(), encoding);
        let properties = properties.set_column_dictionary_enabled(label, encoding == Encoding::PLAIN).build();
        let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).unwrap();
        writer.write(&batch).unwrap();
        all.push(writer.into_inner().unwrap());
    }
    all
}

#[test]
fn the_seeds_are_good() {
    for seed in seeds() {
        read_from(Cursor::new(seed), "t".as_ref(), &ReadOptions::default()).unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 64 } else { 1000 }))]

    #[test]
    fn arbitrary_bytes(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        throw(&bytes);
        for seed in seeds() {
            let magic = seed.len().min(12);
            throw(&[&seed[..magic], &bytes].concat());
        }
    }

    #[test]
    fn damaged_files(edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6), cut in any::<prop::sample::Index>()) {
        for mut seed in seeds() {
            for (at, byte) in &edits {
                let at = at.index(seed.len());
                seed[at] = *byte;
            }
            throw(&seed);
            seed.truncate(cut.index(seed.len()));
            throw(&seed);
        }
    }

    #[test]
    fn arbitrary_text(text in "([0-9a:.,;#\" \t\r\n+-]|nan|label|é){0,60}") {
        throw(text.as_bytes());
    }
}
