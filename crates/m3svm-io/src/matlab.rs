//! MATLAB files of version 5 to 7: dense and sparse matrices, compressed or not.

use flate2::read::ZlibDecoder;
use m3svm::memory::Meter;
use mat5::{DenseMatrix, MatFile, Matrix, NamedArray, SparseMatrix};

use crate::array::{Array, Data, turned};
use crate::bundle::{self, Arrays, Stored};
use crate::compression::{Input, read_to_end};
use crate::error::Problem;
use crate::options::{Format, ReadOptions};
use crate::sparse::{Sparse, transpose};
use crate::table::Table;

const HEADER: usize = 128;
/// Kinds of data elements.
const SINGLE: u32 = 7;
const DOUBLE: u32 = 9;
const MATRIX: u32 = 14;
const COMPRESSED: u32 = 15;
/// The class of sparse matrices, and those of whole numbers.
const SPARSE: u8 = 5;
const WHOLE: std::ops::RangeInclusive<u8> = 8..=15;
/// Most bytes that a number takes while a matrix is decoded and turned.
const DECODED: u64 = 32;

pub(crate) fn read(input: Input, options: &ReadOptions, meter: &mut Meter) -> Result<Table, Problem> {
    let bytes = input.bytes(meter)?;
    let arrays = variables(&bytes, meter)?;
    drop(bytes);
    bundle::table(Format::Mat, &mut Variables(arrays), options)
}

fn broken(what: impl std::fmt::Display) -> Problem {
    Problem::Broken { format: Format::Mat, what: what.to_string() }
}

/// Decodes variable by variable, and leaves out those that are not real matrices: they may not be what is wanted.
fn variables(bytes: &[u8], meter: &mut Meter) -> Result<Vec<NamedArray>, Problem> {
    check_header(bytes)?;
    let (header, mut rest) = bytes.split_at_checked(HEADER).ok_or_else(|| broken("the header ends early"))?;
    let mut arrays = Vec::new();
    while rest.len() >= 8 {
        let (kind, content, after) = element(rest).ok_or_else(|| broken("the data ends early"))?;
        // The header, which the decoder wants to see before every variable.
        let mut one = header.to_vec();
        if kind == COMPRESSED {
            read_to_end(ZlibDecoder::new(content), &mut one, meter).map_err(|e| match e {
                Problem::Io(e) => broken(format!("a variable is damaged ({e})")),
                other => other,
            })?;
        } else {
            meter.add((rest.len() - after.len()) as u64)?;
            one.extend_from_slice(&rest[..rest.len() - after.len()]);
        }
        match element(&one[HEADER..]) {
            Some((MATRIX, content, _)) => check_matrix(content, meter)?,
            Some((kind, ..)) => return Err(broken(format!("found a variable of kind {kind}, expected a matrix"))),
            None => return Err(broken("the data ends early")),
        }
        match MatFile::read_bytes(&one) {
            Ok(file) => arrays.extend(file.arrays),
            Err(mat5::Error::UnsupportedClass(_)) => {}
            Err(e) => return Err(broken(e)),
        }
        rest = after;
    }
    Ok(arrays)
}

/// Says of files of other versions what they are.
fn check_header(bytes: &[u8]) -> Result<(), Problem> {
    let word = |at: usize| bytes.get(at..at + 4).map(|w| [w[0], w[1], w[2], w[3]]);
    let [little, big] = [u32::from_le_bytes, u32::from_be_bytes].map(|number| {
        let number = |at: usize| word(at).map(number);
        // Version 4: the type of the first matrix, its rows and columns, whether it is complex, the length of its name.
        let head = [0, 4, 8, 12, 16].map(number);
        let [Some(kind), Some(_), Some(_), Some(0 | 1), Some(1..=4096)] = head else { return None };
        Some(kind)
    });
    // The first digit is the order of bytes, the others are the type of its numbers.
    if little.is_some_and(|kind| kind <= 52) || big.is_some_and(|kind| (1000..=1052).contains(&kind)) {
        return Err(broken("it is of version 4; save it with `-v7`"));
    }
    if bytes.starts_with(b"MATLAB 7.3 MAT") || bytes.starts_with(b"\x89HDF\r\n\x1a\n") {
        return Err(broken("it is of version 7.3 (HDF5); save it with `-v7`"));
    }
    match bytes.get(HEADER - 2..HEADER) {
        Some(b"IM") => Ok(()),
        Some(b"MI") => Err(broken("its numbers are big-endian; save it anew on a machine of today")),
        Some(_) => Err(broken("it does not begin like one")),
        None => Err(broken("the header ends early")),
    }
}

/// The kind and the content of the first data element, and what follows it.
fn element(bytes: &[u8]) -> Option<(u32, &[u8], &[u8])> {
    let (&[k0, k1, small, zero, n0, n1, n2, n3], content) = bytes.split_first_chunk::<8>()?;
    let (kind, small) = (u32::from(u16::from_le_bytes([k0, k1])), usize::from(u16::from_le_bytes([small, zero])));
    if small > 0 {
        // Up to four bytes may stand in the tag itself.
        return Some((kind, bytes.get(4..4 + small).filter(|_| small <= 4)?, content));
    }
    let length = u32::from_le_bytes([n0, n1, n2, n3]) as usize;
    // Compressed variables are not padded to 8 bytes, and what ends the file need not be.
    let padded = if kind == COMPRESSED { length } else { length.next_multiple_of(8) };
    Some((kind, content.get(..length)?, content.get(padded..).unwrap_or_default()))
}

/// What the decoder does not look at: whether numbers that must be whole are, and how much memory it will take.
fn check_matrix(content: &[u8], meter: &mut Meter) -> Result<(), Problem> {
    let mut parts = Vec::new();
    let mut rest = content;
    // Of a text or a struct, no more than the beginning need be like this.
    while parts.len() < 6
        && let Some((kind, data, after)) = element(rest)
    {
        parts.push((kind, data));
        rest = after;
    }
    let Some(((_, [class, flags, ..]), data)) = parts.split_first().map(|((k, flags), data)| ((k, *flags), data))
    else {
        return Ok(());
    };
    let size = |kind| match kind {
        SINGLE | 5 | 6 => 4,
        DOUBLE | 12 | 13 => 8,
        3 | 4 => 2,
        _ => 1,
    };
    let count: usize = data.iter().map(|(kind, data)| data.len() / size(*kind)).sum();
    meter.foresee(DECODED.saturating_mul(count as u64))?;
    let logical = flags & 2 > 0;
    // Dimensions; then the numbers themselves, or two parts of indices.
    let must_be_whole = match (*class, data) {
        (SPARSE, [dims, _, rows, columns, ..]) => vec![dims, rows, columns],
        (class, [dims, _, numbers, ..]) if logical || WHOLE.contains(&class) => vec![dims, numbers],
        (_, [dims, ..]) => vec![dims],
        _ => vec![],
    };
    match must_be_whole.into_iter().find_map(|(kind, data)| fraction(*kind, data)) {
        Some(found) => Err(broken(format!("found {found} where numbers must be whole"))),
        None => Ok(()),
    }
}

/// The first number that is not whole.
fn fraction(kind: u32, data: &[u8]) -> Option<f64> {
    let is_fraction = |v: &f64| v.fract() != 0.0;
    match kind {
        SINGLE => data.as_chunks().0.iter().map(|b| f64::from(f32::from_le_bytes(*b))).find(is_fraction),
        DOUBLE => data.as_chunks().0.iter().map(|b| f64::from_le_bytes(*b)).find(is_fraction),
        _ => None,
    }
}

struct Variables(Vec<NamedArray>);

impl Arrays for Variables {
    fn names(&self) -> Vec<String> {
        self.0.iter().map(|a| a.name.clone()).collect()
    }

    fn load(&mut self, name: &str) -> Result<Stored, Problem> {
        let at = self.0.iter().position(|a| a.name == name).ok_or_else(|| broken(format!("there is no `{name}`")))?;
        match self.0.swap_remove(at).matrix {
            Matrix::Dense(matrix) => dense(matrix).map(Stored::Dense),
            Matrix::Sparse(matrix) => sparse(matrix).map(Stored::Sparse),
        }
    }
}

/// MATLAB stores columns; rows are wanted. Single precision stays single.
fn dense(matrix: DenseMatrix) -> Result<Array, Problem> {
    let DenseMatrix { rows, cols, values } = matrix;
    if rows.checked_mul(cols) != Some(values.len()) {
        return Err(broken("the dimensions of a matrix do not fit its data"));
    }
    let data = match values {
        mat5::Values::F32(v) => Data::F32(turned(&v, cols, rows)),
        mat5::Values::F64(v) => Data::F64(turned(&v, cols, rows)),
        mat5::Values::I64(v) => Data::I64(turned(&v, cols, rows)),
        mat5::Values::U64(v) => Data::U64(turned(&v, cols, rows)),
        other => Data::F64(turned(&other.to_f64(), cols, rows)),
    };
    Ok(Array { shape: vec![rows, cols], data })
}

fn sparse(matrix: SparseMatrix) -> Result<Sparse, Problem> {
    let SparseMatrix { rows, cols, row_indices, col_ptr, values } = matrix;
    let too_large = || broken("the sparse matrix is too large");
    if cols.checked_add(1) != Some(col_ptr.len()) {
        return Err(broken("the dimensions of a matrix do not fit its data"));
    }
    let indices = row_indices.into_iter().map(u32::try_from).collect::<Result<_, _>>().map_err(|_| too_large())?;
    transpose(Sparse { indptr: col_ptr, indices, values: values.to_f64().into(), cols: rows }, cols)
}

#[cfg(test)]
#[path = "matlab_tests.rs"]
mod tests;
