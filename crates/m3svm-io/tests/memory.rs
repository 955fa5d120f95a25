//! Small files cannot ask for much memory: what they claim is held against the bytes that they have, and what they unpack to against
//! the budget.
#![cfg(feature = "parquet")]
#![expect(clippy::unwrap_used, reason = "tests")]

mod watch;

use std::io::{Cursor, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};
use m3svm_io::{Problem, ReadOptions, read_from};
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;

/// The budget of all of these tests.
const BUDGET: usize = 32 << 20;
/// Room for what is not counted: buffers, and vectors that grow by doubling.
const SLACK: usize = 3 * BUDGET;

/// One at a time: the peak is that of the process.
static ALONE: Mutex<()> = Mutex::new(());

/// Reads with the budget; what is wrong with the file, and no more memory than the budget allows.
fn refused(bytes: Vec<u8>, name: &str) -> Problem {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    m3svm::memory::set_budget(Some(BUDGET as u64));
    let mut found = None;
    let peak = watch::peak(|| {
        found = Some(read_from(Cursor::new(bytes), name.as_ref(), &ReadOptions::default()));
    });
    assert!(peak < SLACK, "{name} took {peak} bytes");
    found.unwrap().map(|table| table.rows()).unwrap_err().problem
}

fn over_budget(bytes: Vec<u8>, name: &str) {
    let problem = refused(bytes, name);
    assert!(matches!(problem, Problem::Data(m3svm::Error::Memory { .. })), "{name}: {problem}");
    assert!(
        problem.to_string().starts_with("reading it needs ") || problem.to_string().starts_with("one of its rows ")
    );
    assert!(problem.to_string().contains("memory budget"), "{problem}");
}

fn gzip(parts: impl IntoIterator<Item = Vec<u8>>) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    parts.into_iter().for_each(|part| encoder.write_all(&part).unwrap());
    encoder.finish().unwrap()
}

/// So many times a megabyte of the same text.
fn megabytes(text: &str, count: usize) -> impl Iterator<Item = Vec<u8>> {
    let part = text.repeat((1 << 20) / text.len()).into_bytes();
    (0..count).map(move |_| part.clone())
}

fn npy(descr: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n");
    let length = (header.len() as u16).to_le_bytes();
    [b"\x93NUMPY\x01\x00", length.as_slice(), header.as_bytes(), data].concat()
}

/// Rows of one number and one label, all alike.
fn constant(rows: usize) -> RecordBatch {
    let x: ArrayRef = Arc::new(Float64Array::from(vec![1.5; rows]));
    let label: ArrayRef = Arc::new(StringArray::from(vec!["a"; rows]));
    RecordBatch::try_from_iter([("x", x), ("label", label)]).unwrap()
}

#[test]
fn compressed_text_that_unpacks_to_more_than_the_budget_is_refused_while_it_does() {
    over_budget(gzip(megabytes("1,2,3,a\n", 80)), "t.csv.gz");
    over_budget(gzip(megabytes("1 1:1 2:2\n", 80)), "t.svm.gz");
    // One row without end, bare and in quotes.
    over_budget(gzip(megabytes("1", 80)), "t.csv.gz");
    over_budget(gzip(std::iter::once(b"a,b\n1,\"".to_vec()).chain(megabytes("x\n", 80))), "t.csv.gz");
    over_budget(gzip(std::iter::once(b"1 1:".to_vec()).chain(megabytes("2", 80))), "t.svm.gz");
    let zstd = zstd::encode_all(megabytes("1,2,3,a\n", 80).collect::<Vec<_>>().concat().as_slice(), 1).unwrap();
    over_budget(zstd, "t.csv.zst");
}

#[test]
fn arrays_that_unpack_to_more_than_the_budget_are_refused_while_they_do() {
    let zeros = || (0..80).map(|_| vec![0; 1 << 20]);
    let head = npy("<f8", "(10485760, 1)", &[]);
    over_budget(gzip(std::iter::once(head.clone()).chain(zeros())), "t.npy.gz");
    let texts = npy("|S83886080", "(1, 1)", &[]);
    over_budget(gzip(std::iter::once(texts).chain(zeros())), "t.npy.gz");
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    zip.start_file("x.npy", zip::write::SimpleFileOptions::default()).unwrap();
    zip.write_all(&head).unwrap();
    zeros().for_each(|part| zip.write_all(&part).unwrap());
    over_budget(zip.finish().unwrap().into_inner(), "t.npz");
    let mut mat = b"MATLAB 5.0 MAT-file".to_vec();
    mat.resize(124, b' ');
    mat.extend([0, 1, b'I', b'M']);
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    zeros().for_each(|part| encoder.write_all(&part).unwrap());
    let data = encoder.finish().unwrap();
    mat.extend([15u32.to_le_bytes(), (data.len() as u32).to_le_bytes()].concat());
    mat.extend(data);
    over_budget(mat, "t.mat");
}

#[test]
fn equal_rows_that_take_a_few_bytes_are_counted_before_they_are_unpacked() {
    let properties = WriterProperties::builder().set_max_row_group_row_count(Some(1 << 20)).build();
    let mut writer = ArrowWriter::try_new(Vec::new(), constant(1).schema(), Some(properties)).unwrap();
    (0..100).for_each(|_| writer.write(&constant(20_000)).unwrap());
    let file = writer.into_inner().unwrap();
    assert!(file.len() < 100_000);
    let problem = refused(file, "t.parquet").to_string();
    assert_eq!(problem, "reading it needs about 96 MB, and the memory budget is 33.6 MB");
}

#[test]
fn arrow_buffers_cannot_claim_more_than_their_bytes_can_hold() {
    const ROWS: usize = 1000;
    for compression in [CompressionType::LZ4_FRAME, CompressionType::ZSTD] {
        let options = || IpcWriteOptions::default().try_with_compression(Some(compression)).unwrap();
        let batch = constant(ROWS);
        let mut file = FileWriter::try_new_with_options(Vec::new(), &batch.schema(), options()).unwrap();
        file.write(&batch).unwrap();
        let mut stream = StreamWriter::try_new_with_options(Vec::new(), &batch.schema(), options()).unwrap();
        stream.write(&batch).unwrap();
        for (bytes, name) in [(file.into_inner().unwrap(), "t.arrow"), (stream.into_inner().unwrap(), "t.arrows")] {
            let table = read_from(Cursor::new(bytes.clone()), name.as_ref(), &ReadOptions::default()).unwrap();
            assert_eq!(table.rows(), ROWS);
            // The length before the compressed numbers.
            let claimed = (8 * ROWS as i64).to_le_bytes();
            let at = bytes.windows(8).position(|w| w == claimed).unwrap();
            for lie in [1i64 << 61, 1 << 40, 1 << 31, i64::MAX] {
                let mut damaged = bytes.clone();
                damaged[at..at + 8].copy_from_slice(&lie.to_le_bytes());
                let problem = refused(damaged, name).to_string();
                assert!(problem.ends_with("a message claims more data than it has"), "{name} {lie}: {problem}");
            }
        }
    }
}

#[test]
fn widths_of_numpy_texts_cannot_claim_more_than_there_is() {
    for descr in ["|S9223372036854775807", "|S1000000000000", "<U1000000000000", "<U2305843009213693951"] {
        let bytes = npy(descr, "(1, 2)", &[b'1'; 64]);
        let problem = refused(bytes.clone(), "t.npy").to_string();
        assert_eq!(problem, "not a usable NumPy file: the data ends early", "{descr}");
        let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
        zip.start_file("x.npy", zip::write::SimpleFileOptions::default()).unwrap();
        zip.write_all(&bytes).unwrap();
        let problem = refused(zip.finish().unwrap().into_inner(), "t.npz").to_string();
        assert!(problem.contains("the data ends early"), "{descr}: {problem}");
    }
}

#[test]
fn what_fits_into_the_budget_is_read() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    m3svm::memory::set_budget(Some(BUDGET as u64));
    let read = |bytes: Vec<u8>, name: &str| read_from(Cursor::new(bytes), Path::new(name), &ReadOptions::default());
    // Eight megabytes of text, of which little is kept.
    let text = gzip(std::iter::once(b"x,label\n".to_vec()).chain(megabytes("0000000000000000000000001,a\n", 8)));
    assert_eq!(read(text, "t.csv.gz").unwrap().rows(), 8 * ((1 << 20) / 28));
    let lines = gzip(std::iter::once(b"a 1:1\nb 1:2\n".to_vec()).chain(megabytes("\n", 8)));
    assert_eq!(read(lines, "t.svm.gz").unwrap().rows(), 2);
}

#[test]
fn counts_of_archive_entries_are_not_believed() {
    for (entries, size, offset) in [
        (1u64 << 41, 1u64 << 50, 1u64 << 42),
        (1 << 41, 1 << 50, 4),
        (1 << 30, 1 << 40, 1 << 31),
        (u64::MAX, u64::MAX, u64::MAX),
        (1 << 36, 0, 1 << 40),
    ] {
        let mut bytes = b"PK\x03\x04".to_vec();
        bytes.resize(200, 0);
        let at = bytes.len() as u64;
        bytes.extend(b"PK\x06\x06");
        bytes.extend([44, 0x2d_002d, 0].map(u64::to_le_bytes).concat()[..20].iter().copied());
        bytes.extend([entries, entries, size, offset].map(u64::to_le_bytes).concat());
        bytes.extend(b"PK\x06\x07");
        bytes.extend([0u32.to_le_bytes().as_slice(), &at.to_le_bytes(), &1u32.to_le_bytes()].concat());
        bytes.extend(b"PK\x05\x06");
        bytes.extend([0, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 0, 0]);
        let problem = refused(bytes, "t.npz").to_string();
        assert!(problem.starts_with("not a usable NumPy archive file: "), "{problem}");
    }
}

/// Of a matrix by columns the rows are a number in a header, and where each begins takes memory twice.
#[test]
fn rows_of_a_matrix_by_columns_are_held_against_the_budget() {
    let integers = |values: &[u32]| values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>();
    let shape: Vec<u8> = [16_000_000u64, 2].iter().flat_map(|v| v.to_le_bytes()).collect();
    let parts = [
        ("format", npy("|S3", "()", b"csc")),
        ("shape", npy("<i8", "(2,)", &shape)),
        ("indptr", npy("<i4", "(3,)", &integers(&[0, 1, 2]))),
        ("indices", npy("<i4", "(2,)", &integers(&[0, 1]))),
        ("data", npy("<f4", "(2,)", &integers(&[1, 2]))),
        ("y", npy("|i1", "(2,)", &[1, 2])),
    ];
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in parts {
        zip.start_file(format!("{name}.npy"), zip::write::SimpleFileOptions::default()).unwrap();
        zip.write_all(&content).unwrap();
    }
    over_budget(zip.finish().unwrap().into_inner(), "t.npz");
}
