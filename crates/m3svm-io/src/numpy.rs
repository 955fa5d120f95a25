//! NumPy `.npy` arrays and `.npz` archives, also sparse matrices as SciPy saves them.

use std::io::{self, BufReader, Cursor, Read, Seek};

use m3svm::memory::Meter;
use npyz::{DType, Endianness, NpyFile, Order, TypeChar, TypeStr};
use zip::ZipArchive;

use crate::array::{self, Array, Data};
use crate::bundle::{self, Arrays, Stored};
use crate::compression::{Input, Seekable, read_to_end};
use crate::error::Problem;
use crate::options::{Format, ReadOptions};
use crate::sparse::{self, Sparse};
use crate::table::Table;
use crate::value::TEXT;

pub(crate) fn read_npy(input: Input, options: &ReadOptions, meter: &mut Meter) -> Result<Table, Problem> {
    let mut reader = input.reader();
    let array = read_array(&mut reader, Format::Npy, meter)?;
    array::from_array(Format::Npy, array, options, false)
}

pub(crate) fn read_npz(input: Input, options: &ReadOptions, meter: &mut Meter) -> Result<Table, Problem> {
    trait ReadSeek: Read + Seek {}
    impl<T: Read + Seek> ReadSeek for T {}
    let source: Box<dyn ReadSeek> = match input.seekable(meter)? {
        Seekable::File(file) => Box::new(BufReader::new(file)),
        Seekable::Bytes(bytes) => Box::new(Cursor::new(bytes)),
    };
    let zip = ZipArchive::new(source).map_err(|e| broken(Format::Npz, e))?;
    bundle::table(Format::Npz, &mut Archive { zip, meter }, options)
}

fn broken(format: Format, what: impl std::fmt::Display) -> Problem {
    Problem::Broken { format, what: what.to_string() }
}

fn failed(format: Format, e: io::Error) -> Problem {
    match e.kind() {
        // A message of our own (truncated gzip) says more than this one.
        io::ErrorKind::UnexpectedEof if e.get_ref().is_none_or(|m| m.to_string().contains("fill")) => {
            broken(format, "the data ends early")
        }
        io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData => broken(format, e),
        _ => e.into(),
    }
}

struct Archive<'a, R> {
    zip: ZipArchive<R>,
    meter: &'a mut Meter,
}

impl<R: Read + Seek> Archive<'_, R> {
    fn array(&mut self, name: &str) -> Result<Array, Problem> {
        let entry = self.zip.by_name(&format!("{name}.npy")).map_err(|e| broken(Format::Npz, e))?;
        read_array(&mut BufReader::with_capacity(1 << 16, entry), Format::Npz, self.meter)
    }

    fn numbers<T: TryFrom<i64>>(&mut self, name: &str) -> Result<Vec<T>, Problem> {
        let bad = |what: String| broken(Format::Npz, format!("array `{name}` holds {what}, expected whole numbers"));
        let whole = |v: i64| T::try_from(v).map_err(|_| bad(v.to_string()));
        match self.array(name)?.data {
            Data::I64(values) => values.into_iter().map(whole).collect(),
            Data::U64(values) => {
                values.into_iter().map(|v| i64::try_from(v).map_err(|_| bad(v.to_string())).and_then(whole)).collect()
            }
            // Beyond these, the number that was meant may be another one.
            Data::F64(values) => values
                .into_iter()
                .map(|v| match v.fract() == 0.0 && v.abs() < (1u64 << 53) as f64 {
                    true => whole(v as i64),
                    false => Err(bad(v.to_string())),
                })
                .collect(),
            Data::F32(_) => Err(bad("single precision".into())),
            Data::Text(_) => Err(bad("text".into())),
        }
    }

    fn is_sparse(&self) -> bool {
        ["data", "indices", "indptr", "shape", "format"]
            .iter()
            .all(|n| self.zip.index_for_name(&format!("{n}.npy")).is_some())
    }

    fn sparse(&mut self) -> Result<Sparse, Problem> {
        let format = match self.array("format")?.data {
            Data::Text(text) => text.into_iter().next().unwrap_or_default(),
            _ => String::new(),
        };
        if format != "csr" && format != "csc" {
            let what = format!("the sparse matrix is in `{format}` form; save it with `tocsr()`");
            return Err(broken(Format::Npz, what));
        }
        let shape: Vec<usize> = self.numbers("shape")?;
        let [rows, cols] = shape[..] else {
            return Err(broken(Format::Npz, "the sparse matrix is not a table"));
        };
        let (outer, inner) = if format == "csr" { (rows, cols) } else { (cols, rows) };
        let indptr: Vec<usize> = self.numbers("indptr")?;
        if outer.checked_add(1) != Some(indptr.len()) {
            return Err(broken(Format::Npz, "the row pointers of the sparse matrix do not fit its shape"));
        }
        let indices = self.numbers("indices")?;
        let values = match self.array("data")?.data.into_floats() {
            Data::F32(v) => v.into(),
            Data::F64(v) => v.into(),
            _ => return Err(broken(Format::Npz, "the sparse matrix holds text")),
        };
        let sparse = Sparse { indptr, indices, values, cols: inner };
        if format == "csr" { Ok(sparse) } else { sparse::transpose(sparse, outer) }
    }
}

impl<R: Read + Seek> Arrays for Archive<'_, R> {
    fn names(&self) -> Vec<String> {
        let names = self.zip.file_names().flatten();
        let all = names.filter_map(|n| npyz::npz::array_name_from_file_name(&n).map(String::from));
        if !self.is_sparse() {
            return all.collect();
        }
        // The parts of the sparse matrix stand for one array.
        let own = all.filter(|n| !["data", "indices", "indptr", "shape", "format"].contains(&n.as_str()));
        own.chain(["data".into()]).collect()
    }

    fn load(&mut self, name: &str) -> Result<Stored, Problem> {
        if name == "data" && self.is_sparse() {
            return self.sparse().map(Stored::Sparse);
        }
        self.array(name).map(Stored::Dense)
    }
}

/// How many values are read before memory is asked about again.
const PART: usize = 1 << 16;

/// Reads one array; single and half precision stay single, text and large whole numbers what they are, all else becomes f64.
fn read_array(reader: &mut impl Read, format: Format, meter: &mut Meter) -> Result<Array, Problem> {
    let head = checked_header(reader, format)?;
    let file = NpyFile::new(Cursor::new(head).chain(reader)).map_err(|e| failed(format, e))?;
    let shape: Option<Vec<usize>> = file.shape().iter().map(|&d| usize::try_from(d).ok()).collect();
    let length = shape.as_ref().and_then(|s| s.iter().try_fold(1usize, |n, d| n.checked_mul(*d)));
    let Some((shape, _)) = shape.zip(length).filter(|(_, n)| *n as u64 == file.len()) else {
        return Err(broken(format, "the shape is too large"));
    };
    let dtype = file.dtype();
    let unsupported = || broken(format, format!("the type {} is not supported, expected numbers", dtype.descr()));
    let order = file.order();
    let strides: Vec<usize> = file.strides().iter().map(|&s| s as usize).collect();
    match &dtype {
        kind if kind.num_bytes().unwrap_or(0) == 0 => return Err(unsupported()),
        DType::Plain(kind) => match kind.type_char() {
            TypeChar::ByteStr | TypeChar::UnicodeStr => {
                let texts = texts(&mut file.into_inner(), kind, shape.iter().product(), format, meter)?;
                let texts = if order == Order::Fortran { row_major(texts, &shape, &strides) } else { texts };
                return Ok(Array { shape, data: Data::Text(texts) });
            }
            // They could be read as numbers, but of what unit, and from when?
            TypeChar::DateTime | TypeChar::TimeDelta => return Err(unsupported()),
            _ => {}
        },
        _ => {}
    }
    macro_rules! try_types {
        ($file:ident; $($type:ty => $variant:ident, $convert:expr;)*) => {{
            $(let $file = match $file.try_data::<$type>() {
                Ok(mut values) => {
                    // Grown as values arrive: the length in the header may be a lie.
                    let mut out = Vec::new();
                    loop {
                        let before = out.len();
                        if before > 0 {
                            meter.reserve(&mut out, PART)?;
                        }
                        for value in values.by_ref().take(PART) {
                            out.push($convert(value.map_err(|e| failed(format, e))?));
                        }
                        if out.len() == before {
                            break;
                        }
                        meter.add(size_of_val(&out[before..]) as u64)?;
                    }
                    if order == Order::Fortran {
                        meter.foresee(size_of_val(out.as_slice()) as u64)?;
                    }
                    let out = if order == Order::Fortran { row_major(out, &shape, &strides) } else { out };
                    return Ok(Array { shape, data: Data::$variant(out) });
                }
                Err(file) => file,
            };)*
            let _ = $file;
        }};
    }
    try_types! { file;
        f32 => F32, |v| v;
        f64 => F64, |v| v;
        half::f16 => F32, f32::from;
        u8 => F64, f64::from;
        i8 => F64, f64::from;
        bool => F64, f64::from;
        i64 => I64, |v| v;
        i32 => F64, f64::from;
        i16 => F64, f64::from;
        u64 => U64, |v| v;
        u32 => F64, f64::from;
        u16 => F64, f64::from;
    }
    Err(unsupported())
}

/// Reads texts of one width, in bytes or in characters of four bytes. The decoder would allocate the width before it is there.
fn texts(
    reader: &mut impl Read,
    kind: &TypeStr,
    count: usize,
    format: Format,
    meter: &mut Meter,
) -> Result<Vec<String>, Problem> {
    let width = kind.num_bytes().unwrap_or(0) as u64;
    let wide = kind.type_char() == TypeChar::UnicodeStr;
    let character = |bytes: &[u8; 4]| match kind.endianness() {
        Endianness::Big => char::from_u32(u32::from_be_bytes(*bytes)),
        _ => char::from_u32(u32::from_le_bytes(*bytes)),
    };
    let (mut texts, mut bytes) = (Vec::new(), Vec::new());
    for _ in 0..count {
        bytes.clear();
        read_to_end(reader.by_ref().take(width), &mut bytes, meter).map_err(|e| match e {
            Problem::Io(e) => failed(format, e),
            other => other,
        })?;
        if (bytes.len() as u64) < width {
            return Err(broken(format, "the data ends early"));
        }
        let text = match wide {
            true => bytes.as_chunks().0.iter().map(character).collect::<Option<String>>(),
            false => str::from_utf8(&bytes).ok().map(String::from),
        };
        let text = text.ok_or_else(|| broken(format, "a text is not UTF-8"))?;
        let text = text.trim_end_matches('\0').to_string();
        meter.release(width);
        meter.add((text.len() + TEXT) as u64)?;
        texts.push(text);
    }
    Ok(texts)
}

/// Reads the header, so that neither its length nor its nesting can hurt the parser.
fn checked_header(reader: &mut impl Read, format: Format) -> Result<Vec<u8>, Problem> {
    let mut head = Vec::new();
    reader.take(12).read_to_end(&mut head).map_err(|e| failed(format, e))?;
    let (start, length) = match *head.as_slice() {
        [0x93, b'N', b'U', b'M', b'P', b'Y', 1, _, a, b, _, _] => (10, usize::from(u16::from_le_bytes([a, b]))),
        [0x93, b'N', b'U', b'M', b'P', b'Y', _, _, a, b, c, d] => (12, u32::from_le_bytes([a, b, c, d]) as usize),
        _ => return Err(broken(format, "it does not start like a NumPy array")),
    };
    let rest = (start + length).saturating_sub(head.len()) as u64;
    if length <= 1 << 16 {
        reader.take(rest).read_to_end(&mut head).map_err(|e| failed(format, e))?;
    }
    if length > 1 << 16 || head.iter().filter(|b| matches!(b, b'(' | b'[' | b'{')).count() > 64 {
        return Err(broken(format, "the header is too large"));
    }
    Ok(head)
}

/// Brings column-major elements into row-major order.
fn row_major<T: Clone>(values: Vec<T>, shape: &[usize], strides: &[usize]) -> Vec<T> {
    let mut at = vec![0; shape.len()];
    let mut out = Vec::with_capacity(values.len());
    for _ in 0..values.len() {
        out.push(values[at.iter().zip(strides).map(|(i, s)| i * s).sum::<usize>()].clone());
        for (i, d) in at.iter_mut().zip(shape).rev() {
            *i += 1;
            if *i < *d {
                break;
            }
            *i = 0;
        }
    }
    out
}

#[cfg(test)]
#[path = "numpy_tests.rs"]
mod tests;
