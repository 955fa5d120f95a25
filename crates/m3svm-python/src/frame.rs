//! Data frames with columns of every kind, as Arrow record batches for the preparation of the library.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, DictionaryArray, DurationMillisecondArray, Int32Array, RecordBatch, RecordBatchOptions, StringArray,
    TimestampMillisecondArray, UInt32Array,
};
use arrow_ipc::reader::StreamReader;
use arrow_schema::{ArrowError, Field, Schema};
use m3svm::{
    Dataset, Encoding, Features, Missing, PassingColumns, PlainNumbers, Preparation, Preprocessor, Statistics,
    TimePart, column_keys,
};
use numpy::PyReadonlyArray1;
use numpy::{PyArray1, PyArrayMethods};
use pyo3::prelude::*;

use crate::error::{exception, internal, invalid};
use crate::matrix::{TableColumn, slice};
use crate::settings::{named, typed};
use crate::typed::{Columns, InArray1, List, OutArray2, Prepares, Typed};

/// The rows of a data frame, and how their columns are to be prepared once that has been decided. Immutable.
#[pyclass(frozen, name = "Frame", module = "m3svm._core")]
pub(crate) struct PyFrame {
    table: RecordBatch,
    /// Whether columns are found by name and not by where they are.
    named: bool,
    preparation: Option<Preparation>,
}

/// Rows of a data frame as the features of a model.
#[pyclass(frozen, name = "PreparedFrame", module = "m3svm._core")]
pub(crate) struct PyPreparedFrame {
    x: Features<'static>,
}

/// A column as Python holds it.
#[derive(FromPyObject)]
pub(crate) enum FrameColumn<'py> {
    /// Positions in a list of texts; negative ones are gaps.
    Texts(PyReadonlyArray1<'py, i32>, Vec<String>),
    /// Milliseconds since 1970, or of a duration; the smallest number is a gap.
    Times(PyReadonlyArray1<'py, i64>, bool),
    #[pyo3(transparent)]
    Numbers(TableColumn<'py>),
}

/// A column with cells that were filled, or that training has not seen, how many of each, and the first of the latter.
pub(crate) type Note = (String, usize, usize, Option<String>);

impl FrameColumn<'_> {
    fn array(&self) -> PyResult<ArrayRef> {
        match self {
            Self::Numbers(column) => column.array(),
            Self::Times(values, duration) => {
                let cells = slice(values.as_slice())?.iter().map(|v| Some(*v).filter(|v| *v != i64::MIN));
                Ok(if *duration {
                    Arc::new(cells.collect::<DurationMillisecondArray>())
                } else {
                    Arc::new(cells.collect::<TimestampMillisecondArray>())
                })
            }
            Self::Texts(codes, texts) => {
                let keys: Int32Array = slice(codes.as_slice())?.iter().map(|k| Some(*k).filter(|k| *k >= 0)).collect();
                let texts = Arc::new(StringArray::from_iter_values(texts));
                Ok(Arc::new(DictionaryArray::<Int32Type>::try_new(keys, texts).map_err(arrow)?))
            }
        }
    }
}

#[pymethods]
impl PyFrame {
    /// A frame in the bytes of an Arrow stream.
    #[staticmethod]
    fn from_arrow(py: Python<'_>, content: &[u8]) -> PyResult<Self> {
        let table = py.detach(|| {
            let reader = StreamReader::try_new(content, None)?;
            let schema = reader.schema();
            let batches = reader.collect::<Result<Vec<_>, _>>()?;
            arrow_select::concat::concat_batches(&schema, &batches)
        });
        Self::new(table.map_err(arrow)?, true)
    }

    /// A frame of columns: arrays of numbers, pairs of positions and texts, or pairs of milliseconds and whether they are durations.
    #[staticmethod]
    #[pyo3(signature = (columns, rows, names=None))]
    fn from_columns(columns: Columns<'_>, rows: usize, names: Option<List<String>>) -> PyResult<Self> {
        let arrays = columns.0.iter().map(FrameColumn::array).collect::<PyResult<Vec<_>>>()?;
        let named = names.is_some();
        let names = names.map_or_else(|| (1..=arrays.len()).map(|j| format!("column {j}")).collect(), |Typed(all)| all);
        if names.len() != arrays.len() {
            return Err(internal("columns without names"));
        }
        let field = |(name, array): (&String, &ArrayRef)| Field::new(name, array.data_type().clone(), true);
        let schema = Arc::new(Schema::new(names.iter().zip(&arrays).map(field).collect::<Vec<_>>()));
        let rows = RecordBatchOptions::new().with_row_count(Some(rows));
        Self::new(RecordBatch::try_new_with_options(schema, arrays, &rows).map_err(arrow)?, named)
    }

    #[getter]
    fn shape(&self) -> (usize, usize) {
        (self.table.num_rows(), self.table.num_columns())
    }

    fn __len__(&self) -> usize {
        self.table.num_rows()
    }

    /// Names of the columns; `column 1` and so on where they have none.
    #[getter]
    pub(crate) fn names(&self) -> Vec<String> {
        self.table.schema_ref().fields().iter().map(|field| field.name().clone()).collect()
    }

    /// A copy of chosen rows.
    fn __getitem__(&self, rows: InArray1<'_, i64>) -> PyResult<Self> {
        let count = self.table.num_rows() as i64;
        let row = |i: &i64| u32::try_from(*i).ok().filter(|_| *i < count);
        let rows: Option<Vec<u32>> = slice(rows.0.as_slice())?.iter().map(row).collect();
        let rows = UInt32Array::from(rows.ok_or_else(|| invalid("rows are counted from 0"))?);
        let table = arrow_select::take::take_record_batch(&self.table, &rows).map_err(arrow)?;
        Ok(Self { table, named: self.named, preparation: self.preparation.clone() })
    }

    /// Chosen columns, in that order.
    fn select(&self, names: List<String>) -> PyResult<Self> {
        let of = |name: &String| self.table.schema_ref().index_of(name).map_err(arrow);
        let columns = names.0.iter().map(of).collect::<PyResult<Vec<_>>>()?;
        let table = self.table.project(&columns).map_err(arrow)?;
        Ok(Self { table, named: self.named, preparation: self.preparation.clone() })
    }

    /// Decides which columns are features. Gives them, and the others with the reasons.
    #[pyo3(signature = (settings, sample_weight=None))]
    fn for_training(
        &self,
        py: Python<'_>,
        settings: Prepares<'_>,
        sample_weight: Option<InArray1<'_, f64>>,
    ) -> PyResult<(Self, Vec<(String, String)>)> {
        let mut preparation = preparation(&settings)?;
        self.check_names(preparation.keep.iter().chain(&preparation.categories).chain(&preparation.text))?;
        // Of what has no names, columns are found by where they are.
        preparation.keep_all |= !self.named;
        let weights = sample_weight.as_ref().map(|w| slice(w.0.as_slice())).transpose()?;
        let learnt = py.detach(|| self.learn(&preparation, weights));
        let (preprocessor, left_out) = learnt.map_err(exception)?;
        let used = preprocessor.columns().iter().enumerate();
        let used: Vec<usize> =
            used.filter(|(_, c)| !matches!(c.encoding, Encoding::Unused {})).map(|(j, _)| j).collect();
        if used.is_empty() {
            return Err(invalid("no column is left that could be a feature"));
        }
        let table = self.table.project(&used).map_err(arrow)?;
        let left_out = left_out.into_iter().map(|out| (out.column, out.reason.to_string())).collect();
        let preparation = Some(Preparation { keep_all: true, ..preparation });
        Ok((Self { table, named: self.named, preparation }, left_out))
    }

    /// A number per cell, the same for equal cells: to compare rows by.
    fn keys<'py>(&self, py: Python<'py>) -> PyResult<OutArray2<'py, f64>> {
        let (rows, columns) = self.shape();
        m3svm::memory::check("the keys of rows", m3svm::memory::numbers(rows, columns)).map_err(exception)?;
        let mut keys = vec![0.0; rows * columns];
        for (j, column) in self.table.columns().iter().enumerate() {
            let of = column_keys(column).map_err(exception)?;
            keys.iter_mut().skip(j).step_by(columns).zip(of).for_each(|(to, key)| *to = key);
        }
        PyArray1::from_vec(py, keys).reshape([rows, columns]).map(Typed)
    }
}

impl PyFrame {
    fn new(table: RecordBatch, named: bool) -> PyResult<Self> {
        let mut seen = HashSet::new();
        match table.schema_ref().fields().iter().find(|field| !seen.insert(field.name())) {
            Some(twice) => Err(invalid(format!("X has two columns of the name `{}`", twice.name()))),
            None => Ok(Self { table, named, preparation: None }),
        }
    }

    fn check_names<'a>(&self, mut names: impl Iterator<Item = &'a String>) -> PyResult<()> {
        match names.find(|name| self.table.schema_ref().index_of(name).is_err()) {
            Some(unknown) => Err(invalid(format!("`preparation` names the column `{unknown}`, which X does not have"))),
            None => Ok(()),
        }
    }

    pub(crate) fn table(&self) -> &RecordBatch {
        &self.table
    }

    /// What decides about the columns of a table of which this is the first batch.
    pub(crate) fn passing(&self, settings: Option<&Prepares<'_>>) -> PyResult<PassingColumns> {
        let mut preparation = settings.map(preparation).transpose()?.unwrap_or_default();
        self.check_names(preparation.keep.iter().chain(&preparation.categories).chain(&preparation.text))?;
        preparation.keep_all |= !self.named;
        let plain = if settings.is_some() { PlainNumbers::Prepared } else { PlainNumbers::Kept };
        Ok(PassingColumns::new(preparation, self.named).with_plain_numbers(plain))
    }

    fn learn(
        &self,
        preparation: &Preparation,
        weights: Option<&[f64]>,
    ) -> m3svm::Result<(Preprocessor, Vec<m3svm::LeftOut>)> {
        let mut statistics = Statistics::new(self.table.schema_ref(), preparation)?;
        statistics.add(&self.table, weights)?;
        Ok(Preprocessor::learn(&statistics, preparation))
    }

    /// Training data; with the table where parts of it will have to be prepared anew.
    pub(crate) fn dataset(
        &self,
        y: &[u32],
        classes: Vec<String>,
        weights: Option<&[f64]>,
        keep: bool,
    ) -> m3svm::Result<Dataset<'static>> {
        let preparation = self.preparation.clone().unwrap_or_default();
        let (mut preprocessor, _) = self.learn(&preparation, weights)?;
        if !self.named {
            preprocessor = preprocessor.without_names();
        }
        let x = preprocessor.apply(&self.table)?.x;
        let mut data = Dataset::new(x, y.to_vec(), classes)?;
        if let Some(weights) = weights {
            data = data.with_weights(weights.to_vec())?;
        }
        data.with_preprocessor(preprocessor, keep.then(|| self.table.clone()))
    }

    /// Features for a model.
    pub(crate) fn prepared(&self, preprocessor: &Preprocessor) -> m3svm::Result<(Features<'static>, Vec<Note>)> {
        let done = preprocessor.apply(&self.table)?;
        let note = |(j, (filled, (unseen, example)))| {
            let column: &m3svm::PreparedColumn = &preprocessor.columns()[j];
            (column.shown(j), filled, unseen, example)
        };
        let notes = done.filled.into_iter().zip(done.unseen).enumerate().map(note);
        Ok((done.x, notes.filter(|(_, filled, unseen, _)| filled + unseen > 0).collect()))
    }
}

impl PyPreparedFrame {
    pub(crate) fn new(x: Features<'static>) -> Self {
        Self { x }
    }

    pub(crate) fn features(&self) -> Features<'_> {
        self.x.view()
    }
}

#[pymethods]
impl PyPreparedFrame {
    #[getter]
    fn shape(&self) -> (usize, usize) {
        (self.x.rows(), self.x.cols())
    }
}

/// How columns are prepared, from the parameter of an estimator.
fn preparation(Typed(settings): &Prepares<'_>) -> PyResult<Preparation> {
    let mut preparation = Preparation::default();
    for (key, value) in &settings.0 {
        let key: String = key.extract()?;
        let strings = || typed::<Vec<String>>(&key, &value);
        match key.as_str() {
            "missing" => {
                // Rows that are dropped would leave their labels behind.
                let ways = [Missing::Indicator, Missing::Mean, Missing::Median, Missing::Error];
                let name: String = typed(&key, &value)?;
                preparation.missing = named("missing", ways.map(|way| (way.name(), way)), &name)?;
            }
            "missing_words" => preparation.missing_words = strings()?,
            "most_values" => preparation.most_values = typed(&key, &value)?,
            "keep" if value.extract::<String>().is_ok_and(|all| all == "all") => preparation.keep_all = true,
            "keep" => preparation.keep = strings()?,
            "categories" => preparation.categories = strings()?,
            "text" => preparation.text = strings()?,
            "most_words" => preparation.most_words = typed(&key, &value)?,
            "time_parts" => {
                let part = |name: &String| named("time_parts", TimePart::ALL.map(|part| (part.name(), part)), name);
                preparation.time_parts = strings()?.iter().map(part).collect::<PyResult<_>>()?;
            }
            _ => {
                let known = "missing, missing_words, most_values, keep, categories, text, most_words, time_parts";
                return Err(invalid(format!("`preparation` has no `{key}`, expected some of {known}")));
            }
        }
    }
    for (name, value) in [("most_values", preparation.most_values), ("most_words", preparation.most_words)] {
        if value == 0 {
            return Err(invalid(format!("`{name}` must be at least 1, found 0")));
        }
    }
    Ok(preparation)
}

fn arrow(error: ArrowError) -> PyErr {
    invalid(error.to_string())
}
