//! X as Python holds it: a C-contiguous NumPy array, or a SciPy matrix in compressed rows. Values are never copied.
//!
//! Column numbers of 32 bits are used where they lie; those of 64 bits are narrowed into a copy, because the library counts columns
//! in 32 bits. Row pointers are the other way round: there are few of them, and 64 bits are what the library wants.

use std::borrow::Cow;

use m3svm::Features;
use numpy::{PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;

use crate::error::{exception, invalid};

/// A matrix in one of the storages that need no copy.
#[derive(FromPyObject)]
pub(crate) enum Matrix<'py> {
    #[pyo3(transparent, annotation = "2-d float64 array")]
    Double(PyReadonlyArray2<'py, f64>),
    #[pyo3(transparent, annotation = "2-d float32 array")]
    Single(PyReadonlyArray2<'py, f32>),
    #[pyo3(transparent, annotation = "CSR matrix")]
    Sparse(Sparse<'py>),
}

/// The attributes of `scipy.sparse.csr_matrix` and `csr_array`.
#[derive(FromPyObject)]
pub(crate) struct Sparse<'py> {
    format: String,
    shape: (usize, usize),
    data: Numbers<'py>,
    indices: Integers<'py>,
    indptr: Integers<'py>,
}

#[derive(FromPyObject)]
enum Numbers<'py> {
    #[pyo3(transparent, annotation = "float64 array")]
    Double(PyReadonlyArray1<'py, f64>),
    #[pyo3(transparent, annotation = "float32 array")]
    Single(PyReadonlyArray1<'py, f32>),
}

#[derive(FromPyObject)]
enum Integers<'py> {
    #[pyo3(transparent, annotation = "int32 array")]
    Short(PyReadonlyArray1<'py, i32>),
    #[pyo3(transparent, annotation = "int64 array")]
    Long(PyReadonlyArray1<'py, i64>),
}

impl Matrix<'_> {
    /// The matrix as the library sees it, borrowed and checked.
    pub(crate) fn features(&self) -> PyResult<Features<'_>> {
        match self {
            Self::Double(x) => {
                let [rows, columns] = [x.shape()[0], x.shape()[1]];
                Features::dense(slice(x.as_slice())?, rows, columns).map_err(exception)
            }
            Self::Single(x) => {
                let [rows, columns] = [x.shape()[0], x.shape()[1]];
                Features::dense(slice(x.as_slice())?, rows, columns).map_err(exception)
            }
            Self::Sparse(x) => x.features(),
        }
    }
}

impl Sparse<'_> {
    fn features(&self) -> PyResult<Features<'_>> {
        if self.format != "csr" {
            return Err(invalid(format!("a sparse matrix must be in the format csr, found {}", self.format)));
        }
        let (rows, columns) = self.shape;
        let (pointers, indices) = (self.indptr.pointers()?, self.indices.columns()?);
        if pointers.len() != rows.saturating_add(1) {
            return Err(invalid(format!("sparse matrix: {} row pointers for {rows} rows", pointers.len())));
        }
        match &self.data {
            Numbers::Double(values) => Features::csr(pointers, indices, slice(values.as_slice())?, columns),
            Numbers::Single(values) => Features::csr(pointers, indices, slice(values.as_slice())?, columns),
        }
        .map_err(exception)
    }
}

impl Integers<'_> {
    /// As row pointers. A negative one becomes a huge one, which the library refuses.
    fn pointers(&self) -> PyResult<Cow<'_, [usize]>> {
        let wide = |i: i64| usize::try_from(i).unwrap_or(usize::MAX);
        match self {
            Self::Short(all) => Ok(slice(all.as_slice())?.iter().map(|i| wide(i64::from(*i))).collect()),
            Self::Long(all) => {
                let all = slice(all.as_slice())?;
                // Works wherever usize has 64 bits.
                Ok(bytemuck::try_cast_slice(all).map_or_else(|_| all.iter().map(|i| wide(*i)).collect(), Cow::Borrowed))
            }
        }
    }

    /// As column numbers.
    fn columns(&self) -> PyResult<Cow<'_, [u32]>> {
        match self {
            Self::Short(all) => {
                let all = slice(all.as_slice())?;
                match all.iter().find(|i| **i < 0) {
                    Some(negative) => Err(invalid(format!("sparse matrix: column index {negative} is negative"))),
                    None => Ok(Cow::Borrowed(bytemuck::cast_slice(all))),
                }
            }
            Self::Long(all) => {
                let narrow = |i: &i64| {
                    u32::try_from(*i)
                        .map_err(|_| invalid(format!("sparse matrix: column index {i} is outside 0 to {}", u32::MAX)))
                };
                slice(all.as_slice())?.iter().map(narrow).collect()
            }
        }
    }
}

/// The numbers of an array that lie one after the other.
pub(crate) fn slice<T, E>(numbers: Result<&[T], E>) -> PyResult<&[T]> {
    numbers.map_err(|_| invalid("arrays must be C-contiguous and aligned"))
}
