//! MATLAB files of version 5 to 7: dense and sparse matrices, compressed or not.

use mat5::{DenseMatrix, MatFile, Matrix, NamedArray, SparseMatrix};

use crate::array::{Array, Data, turned};
use crate::bundle::{self, Arrays, Stored};
use crate::compression::Input;
use crate::error::Problem;
use crate::options::{Format, ReadOptions};
use crate::sparse::{Sparse, transpose};
use crate::table::Table;

const HEADER: usize = 128;

pub(crate) fn read(input: Input, options: &ReadOptions) -> Result<Table, Problem> {
    let bytes = input.bytes()?;
    let arrays = match MatFile::read_bytes(&bytes) {
        Ok(file) => file.arrays,
        // One variable of text or of a struct makes the decoder give up; the others may still be what is wanted.
        Err(mat5::Error::UnsupportedClass(_)) => supported(&bytes)?,
        Err(e) => return Err(broken(e)),
    };
    drop(bytes);
    bundle::table(Format::Mat, &mut Variables(arrays), options)
}

fn broken(what: impl std::fmt::Display) -> Problem {
    Problem::Broken { format: Format::Mat, what: what.to_string() }
}

/// Decodes variable by variable and leaves out those that are not real matrices.
fn supported(bytes: &[u8]) -> Result<Vec<NamedArray>, Problem> {
    let (header, mut rest) = bytes.split_at_checked(HEADER).ok_or_else(|| broken("the header ends early"))?;
    let mut arrays = Vec::new();
    while let Some((&[k0, k1, k2, k3, n0, n1, n2, n3], content)) = rest.split_first_chunk::<8>() {
        let length = u32::from_le_bytes([n0, n1, n2, n3]) as usize;
        // Compressed variables are not padded to 8 bytes.
        const COMPRESSED: u32 = 15;
        let padded =
            if u32::from_le_bytes([k0, k1, k2, k3]) == COMPRESSED { length } else { length.next_multiple_of(8) };
        let Some(content) = content.get(..padded.min(content.len())).filter(|c| c.len() >= length) else {
            return Err(broken("the data ends early"));
        };
        let (element, after) = rest.split_at(8 + content.len());
        match MatFile::read_bytes(&[header, element].concat()) {
            Ok(file) => arrays.extend(file.arrays),
            Err(mat5::Error::UnsupportedClass(_)) => {}
            Err(e) => return Err(broken(e)),
        }
        rest = after;
    }
    Ok(arrays)
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
