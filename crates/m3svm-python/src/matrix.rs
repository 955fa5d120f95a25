//! X as Python holds it: a NumPy array in row or column order, the columns of a table, or a SciPy matrix in compressed rows. Values are
//! never copied.
//!
//! Column numbers of 32 bits are used where they lie; those of 64 bits are narrowed into a copy, because the library counts columns
//! in 32 bits. Row pointers are the other way round: there are few of them, and 64 bits are what the library wants.

use std::borrow::Cow;
use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Float32Array, Float64Array, Int8Array, Int16Array, Int32Array, Int64Array, UInt8Array,
    UInt16Array, UInt32Array, UInt64Array,
};
use m3svm::{Column, Features, Model, Values};
use numpy::ndarray::Axis;
use numpy::{Element, PyArray1, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::error::{exception, invalid, refused};
use crate::frame::{PyFrame, PyPreparedFrame};

/// A matrix in one of the storages that need no copy.
#[derive(FromPyObject)]
pub(crate) enum Matrix<'py> {
    #[pyo3(transparent, annotation = "2-d float64 array")]
    Double(PyReadonlyArray2<'py, f64>),
    #[pyo3(transparent, annotation = "2-d float32 array")]
    Single(PyReadonlyArray2<'py, f32>),
    #[pyo3(transparent, annotation = "CSR matrix")]
    Sparse(Sparse<'py>),
    #[pyo3(transparent, annotation = "columns of a table")]
    Table(Table<'py>),
    #[pyo3(transparent, annotation = "data frame")]
    Frame(Bound<'py, PyFrame>),
    #[pyo3(transparent, annotation = "prepared data frame")]
    Prepared(Bound<'py, PyPreparedFrame>),
}

/// The attributes of `m3svm._columns.Columns`.
#[derive(FromPyObject)]
pub(crate) struct Table<'py> {
    shape: (usize, usize),
    parts: Vec<Vec<TableColumn<'py>>>,
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
            Self::Double(x) => dense(x),
            Self::Single(x) => dense(x),
            Self::Table(x) => x.features(),
            Self::Sparse(x) => x.features(),
            Self::Prepared(x) => Ok(x.get().features()),
            Self::Frame(_) => Err(invalid("columns of text, times or with gaps are prepared by `fit`, and were not")),
        }
    }

    /// The same as a model takes it.
    pub(crate) fn features_for(&self, model: &Model) -> PyResult<Features<'_>> {
        match (self, model.preprocessor()) {
            (Self::Frame(frame), Some(preprocessor)) => {
                frame.get().prepared(preprocessor).map(|(x, _)| x).map_err(exception)
            }
            _ => self.features(),
        }
    }
}

/// An array in row order, or with columns that lie in one piece each.
fn dense<'a, T: Element>(x: &'a PyReadonlyArray2<'_, T>) -> PyResult<Features<'a>>
where
    &'a [T]: Into<Values<'a>> + Into<Column<'a>>,
{
    let (rows, columns) = (x.shape()[0], x.shape()[1]);
    if x.is_c_contiguous() {
        return Features::dense(slice(x.as_slice())?, rows, columns).map_err(refused);
    }
    // Views of memory that is not aligned would be undefined.
    if !x.is_aligned() {
        return Err(scattered());
    }
    let all = x.as_array();
    let column = |j| all.index_axis_move(Axis(1), j).to_slice().map(Into::into).ok_or_else(scattered);
    let columns: Vec<Column<'a>> = (0..columns).map(column).collect::<PyResult<_>>()?;
    Features::columns(columns).map_err(refused)
}

impl Table<'_> {
    fn features(&self) -> PyResult<Features<'_>> {
        let columns = self.parts.iter().map(|part| part.iter().map(TableColumn::view).collect());
        let parts = columns.collect::<PyResult<Vec<Vec<Column<'_>>>>>()?;
        let x = Features::column_parts(parts, self.shape.1).map_err(refused)?;
        if x.rows() != self.shape.0 {
            return Err(invalid(format!("the columns have {} rows, not {}", x.rows(), self.shape.0)));
        }
        Ok(x)
    }
}

/// Types of columns: those of the library.
macro_rules! table_columns {
    ($($kind:ident $number:ty => $array:ty),*) => {
        /// A column of numbers, or of truth values.
        pub(crate) enum TableColumn<'py> {
            $($kind(PyReadonlyArray1<'py, $number>),)*
        }

        impl TableColumn<'_> {
            /// A copy as an Arrow array.
            pub(crate) fn array(&self) -> PyResult<ArrayRef> {
                match self {
                    $(Self::$kind(values) => Ok(Arc::new(<$array>::from(slice(values.as_slice())?.to_vec()))),)*
                }
            }

            fn view(&self) -> PyResult<Column<'_>> {
                match self {
                    $(Self::$kind(values) => slice(values.as_slice()).map(Column::from),)*
                }
            }
        }

        impl<'py> FromPyObject<'_, 'py> for TableColumn<'py> {
            type Error = PyErr;

            fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
                $(if object.cast::<PyArray1<$number>>().is_ok() {
                    return Ok(Self::$kind(object.extract()?));
                })*
                Err(PyTypeError::new_err("a column must be an array of numbers"))
            }
        }
    };
}

table_columns!(
    Double f64 => Float64Array, Single f32 => Float32Array, Int64 i64 => Int64Array, Int32 i32 => Int32Array,
    Int16 i16 => Int16Array, Int8 i8 => Int8Array, Uint64 u64 => UInt64Array, Uint32 u32 => UInt32Array,
    Uint16 u16 => UInt16Array, Uint8 u8 => UInt8Array, Bool bool => BooleanArray
);

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
        .map_err(refused)
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
    numbers.map_err(|_| scattered())
}

fn scattered() -> PyErr {
    invalid("the rows or the columns of arrays must be contiguous and aligned")
}
