//! Tables out: record batches as text, JSON lines, Parquet or Arrow, by what the name of the file says.

use std::io::{self, Write};
use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_json::LineDelimitedWriter;
use arrow_schema::{ArrowError, DataType, SchemaRef};
use flate2::Compression;
use flate2::write::GzEncoder;

/// How a table is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutputFormat {
    kind: Kind,
    packed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Delimited(u8),
    JsonLines,
    #[cfg(feature = "parquet")]
    Parquet,
    #[cfg(feature = "arrow")]
    Arrow,
}

impl Default for OutputFormat {
    /// CSV.
    fn default() -> Self {
        Self { kind: Kind::Delimited(b','), packed: false }
    }
}

impl OutputFormat {
    /// What the name of a file asks for: by `.csv`, `.tsv`, `.jsonl`, `.parquet`, `.arrow` or `.feather`, where text may end with `.gz`. CSV for
    /// names that say nothing; `None` for formats of tables that cannot be written.
    pub fn of_path(path: &Path) -> Option<Self> {
        let name = path.file_name().map(|name| name.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
        let (name, packed) = name.strip_suffix(".gz").map_or((name.as_str(), false), |name| (name, true));
        let kind = match name.rsplit_once('.').map(|(_, extension)| extension) {
            Some("tsv") => Kind::Delimited(b'\t'),
            Some("jsonl" | "ndjson") => Kind::JsonLines,
            #[cfg(feature = "parquet")]
            Some("parquet") if !packed => Kind::Parquet,
            #[cfg(feature = "arrow")]
            Some("arrow" | "feather" | "ipc") if !packed => Kind::Arrow,
            Some(
                "parquet" | "arrow" | "feather" | "ipc" | "json" | "xlsx" | "xls" | "ods" | "npy" | "npz" | "mat"
                | "zst",
            ) => {
                return None;
            }
            _ => Kind::Delimited(b','),
        };
        Some(Self { kind, packed })
    }
}

/// Writes batches of one schema, one after the other.
pub fn write_batches(
    out: &mut dyn Write,
    format: OutputFormat,
    schema: &SchemaRef,
    batches: impl Iterator<Item = io::Result<RecordBatch>>,
) -> io::Result<()> {
    if !format.packed {
        return write_kind(out, format.kind, schema, batches);
    }
    let mut packed = GzEncoder::new(out, Compression::default());
    write_kind(&mut packed, format.kind, schema, batches)?;
    packed.finish()?.flush()
}

fn write_kind(
    out: &mut dyn Write,
    kind: Kind,
    schema: &SchemaRef,
    batches: impl Iterator<Item = io::Result<RecordBatch>>,
) -> io::Result<()> {
    match kind {
        Kind::Delimited(delimiter) => delimited(out, delimiter, schema, batches),
        Kind::JsonLines => {
            let mut writer = LineDelimitedWriter::new(out);
            for batch in batches {
                writer.write(&batch?).map_err(failed)?;
            }
            writer.finish().map_err(failed)?;
            writer.into_inner().flush()
        }
        #[cfg(feature = "parquet")]
        Kind::Parquet => {
            // The encoder wants to be sent to other threads, which `out` cannot: what it has made is taken over after every batch.
            let mut writer =
                parquet::arrow::ArrowWriter::try_new(Vec::new(), schema.clone(), None).map_err(io::Error::other)?;
            for batch in batches {
                writer.write(&batch?).map_err(io::Error::other)?;
                out.write_all(&std::mem::take(writer.inner_mut()))?;
            }
            out.write_all(&writer.into_inner().map_err(io::Error::other)?)?;
            out.flush()
        }
        #[cfg(feature = "arrow")]
        Kind::Arrow => {
            let mut writer = arrow_ipc::writer::FileWriter::try_new(out, schema).map_err(failed)?;
            for batch in batches {
                writer.write(&batch?).map_err(failed)?;
            }
            writer.into_inner().map_err(failed)?.flush()
        }
    }
}

fn delimited(
    out: &mut dyn Write,
    delimiter: u8,
    schema: &SchemaRef,
    batches: impl Iterator<Item = io::Result<RecordBatch>>,
) -> io::Result<()> {
    let mut writer = ::csv::WriterBuilder::new().delimiter(delimiter).from_writer(out);
    writer.write_record(schema.fields().iter().map(|field| field.name().as_bytes())).map_err(csv_failed)?;
    for batch in batches {
        let batch = batch?;
        let options = FormatOptions::default();
        let columns = batch.columns().iter().map(|column| Cells::of(column, &options)).collect::<Result<Vec<_>, _>>();
        let columns = columns.map_err(failed)?;
        for row in 0..batch.num_rows() {
            for column in &columns {
                column.write(row, &mut writer)?;
            }
            writer.write_record(None::<&[u8]>).map_err(csv_failed)?;
        }
    }
    writer.flush()
}

/// A column as text.
enum Cells<'a> {
    /// As short as a number can be written that is read back as the same.
    Numbers(&'a arrow_array::PrimitiveArray<Float64Type>),
    Texts(&'a arrow_array::StringArray),
    Others(ArrayFormatter<'a>),
}

impl<'a> Cells<'a> {
    fn of(column: &'a ArrayRef, options: &'a FormatOptions<'a>) -> Result<Self, ArrowError> {
        Ok(match column.data_type() {
            DataType::Float64 => Self::Numbers(column.as_primitive()),
            DataType::Utf8 => Self::Texts(column.as_string()),
            _ => Self::Others(ArrayFormatter::try_new(column, options)?),
        })
    }

    fn write(&self, row: usize, writer: &mut ::csv::Writer<&mut dyn Write>) -> io::Result<()> {
        let written = match self {
            Self::Numbers(values) if values.is_null(row) => writer.write_field(""),
            Self::Numbers(values) => writer.write_field(values.value(row).to_string()),
            Self::Texts(texts) if texts.is_null(row) => writer.write_field(""),
            Self::Texts(texts) => writer.write_field(texts.value(row)),
            Self::Others(cells) => writer.write_field(cells.value(row).to_string()),
        };
        written.map_err(csv_failed)
    }
}

fn csv_failed(error: ::csv::Error) -> io::Error {
    match error.into_kind() {
        // As it is, or a broken pipe could not be told from other failures.
        ::csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}

fn failed(error: ArrowError) -> io::Error {
    match error {
        ArrowError::IoError(_, error) => error,
        other => io::Error::other(other),
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use std::sync::Arc;

    use arrow_array::{BooleanArray, Date32Array, Float64Array, Int64Array, StringArray};

    use super::*;
    use crate::{LabelUse, ReadOptions, read_from};

    fn batch() -> RecordBatch {
        RecordBatch::try_from_iter_with_nullable([
            ("id", Arc::new(StringArray::from(vec!["a,1", "b\"2"])) as ArrayRef, true),
            ("count", Arc::new(Int64Array::from(vec![Some(3), None])), true),
            ("wet", Arc::new(BooleanArray::from(vec![true, false])), true),
            ("on", Arc::new(Date32Array::from(vec![0, 366])), true),
            ("score", Arc::new(Float64Array::from(vec![0.1, 1.0])), true),
        ])
        .unwrap()
    }

    fn written(name: &str) -> Vec<u8> {
        let mut out = Vec::new();
        let format = OutputFormat::of_path(name.as_ref()).unwrap();
        let batches = [batch().slice(0, 1), batch().slice(1, 1)];
        write_batches(&mut out, format, batch().schema_ref(), batches.into_iter().map(Ok)).unwrap();
        out
    }

    #[test]
    fn text_is_written_as_people_read_it() {
        let csv = String::from_utf8(written("p.csv")).unwrap();
        assert_eq!(csv, "id,count,wet,on,score\n\"a,1\",3,true,1970-01-01,0.1\n\"b\"\"2\",,false,1971-01-02,1\n");
        assert!(String::from_utf8(written("p.tsv")).unwrap().starts_with("id\tcount\t"));
        let lines = String::from_utf8(written("p.jsonl")).unwrap();
        assert_eq!(lines.lines().next(), Some(r#"{"id":"a,1","count":3,"wet":true,"on":"1970-01-01","score":0.1}"#));
    }

    #[test]
    fn every_format_is_read_back() {
        for name in ["p.csv", "p.csv.gz", "p.jsonl", "p.jsonl.gz", "p.parquet", "p.arrow"] {
            let options = ReadOptions {
                labels: LabelUse::Ignore,
                features: Some(vec!["score".into()]),
                keep: vec!["id".into(), "wet".into()],
                ..ReadOptions::default()
            };
            let table = read_from(std::io::Cursor::new(written(name)), name.as_ref(), &options).unwrap();
            assert_eq!((table.rows(), table.x.get(1, 0)), (2, 1.0), "{name}");
            let kept = table.kept.unwrap();
            assert_eq!(kept.column(0).as_string::<i32>().value(1), "b\"2", "{name}");
            assert_eq!(kept.num_columns(), 2);
        }
    }

    #[test]
    fn names_that_say_nothing_mean_csv_and_what_cannot_be_written_is_known() {
        for name in ["p", "p.txt", "/dev/stdout", "p.csv", "P.CSV"] {
            assert_eq!(OutputFormat::of_path(name.as_ref()), Some(OutputFormat::default()), "{name}");
        }
        for name in ["p.xlsx", "p.json", "p.parquet.gz", "p.npy"] {
            assert_eq!(OutputFormat::of_path(name.as_ref()), None, "{name}");
        }
    }
}
