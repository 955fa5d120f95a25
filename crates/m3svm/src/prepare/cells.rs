//! The cells of an Arrow column as what the preparation works with: numbers, or keys of texts.

use std::borrow::Cow;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, StringArray};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{DataType, TimeUnit};

use super::{Kind, stands_for_nothing};
use crate::error::{Error, Result};

/// Milliseconds of a day.
const DAY: f64 = 86_400_000.0;

impl Kind {
    /// The kind of an Arrow type; `None` for what has neither numbers nor texts, such as lists.
    pub fn of(kind: &DataType) -> Option<Self> {
        match kind {
            DataType::Dictionary(_, values) => Self::of(values),
            DataType::Boolean | DataType::Null => Some(Self::Number),
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Some(Self::Text),
            DataType::Date32 | DataType::Date64 | DataType::Timestamp(..) => Some(Self::Time),
            DataType::Time32(_) | DataType::Time64(_) | DataType::Duration(_) => Some(Self::Time),
            other => other.is_numeric().then_some(Self::Number),
        }
    }
}

/// A column without its type: NaN and key `None` where something is missing.
pub(super) enum Cells<'a> {
    Numbers(Cow<'a, [f64]>),
    Texts { keys: Vec<Option<usize>>, texts: StringArray },
}

impl<'a> Cells<'a> {
    /// Reads a column as a kind. `words` stand for nothing.
    pub(super) fn of(name: &str, column: &'a ArrayRef, kind: Kind, words: &[String]) -> Result<Self> {
        let wrong = |what: String| Error::Column { column: name.to_string(), what };
        let found = Kind::of(column.data_type());
        let fits = matches!((kind, found), (Kind::Text, Some(Kind::Text | Kind::Number)))
            || found == Some(kind)
            || *column.data_type() == DataType::Null;
        if !fits {
            let found = found.map_or_else(|| column.data_type().to_string(), |kind| format!("{}s", kind.name()));
            return Err(wrong(format!("it holds {found}, expected {}s", kind.name())));
        }
        let cast = |to: &DataType| {
            cast_with_options(column, to, &CastOptions { safe: false, ..CastOptions::default() })
                .map_err(|e| wrong(e.to_string()))
        };
        match kind {
            Kind::Text => {
                let keys = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
                let found = cast(&keys)?;
                let found = found.as_dictionary::<Int32Type>();
                let texts = cast_texts(found.values()).map_err(|e| wrong(e.to_string()))?;
                let present: Vec<bool> =
                    (0..texts.len()).map(|k| texts.is_valid(k) && !stands_for_nothing(texts.value(k), words)).collect();
                let key = |key: Option<i32>| key.map(|k| k as usize).filter(|k| present.get(*k) == Some(&true));
                Ok(Self::Texts { keys: found.keys().iter().map(key).collect(), texts })
            }
            Kind::Number => {
                let borrowed = column.as_primitive_opt::<Float64Type>().filter(|v| v.null_count() == 0);
                let mut values: Cow<'a, [f64]> = match borrowed {
                    Some(values) => Cow::Borrowed(values.values()),
                    None => {
                        let found = cast(&DataType::Float64)?;
                        let gaps = found.logical_nulls();
                        let mut values = found.as_primitive::<Float64Type>().values().to_vec();
                        if let Some(gaps) = gaps {
                            values
                                .iter_mut()
                                .enumerate()
                                .filter(|(i, _)| gaps.is_null(*i))
                                .for_each(|(_, v)| *v = f64::NAN);
                        }
                        values.into()
                    }
                };
                let nothing: Vec<f64> = words.iter().filter_map(|w| w.parse().ok()).collect();
                if values.iter().any(|v| nothing.contains(v)) {
                    values.to_mut().iter_mut().filter(|v| nothing.contains(v)).for_each(|v| *v = f64::NAN);
                }
                Ok(Self::Numbers(values))
            }
            Kind::Time => {
                let (to, unit) = match column.data_type() {
                    DataType::Time32(_) | DataType::Time64(_) => (DataType::Time64(TimeUnit::Microsecond), 1e3 * DAY),
                    DataType::Duration(_) => (DataType::Duration(TimeUnit::Millisecond), DAY),
                    _ => (DataType::Timestamp(TimeUnit::Millisecond, None), DAY),
                };
                // A column without any value has no unit.
                if *column.data_type() == DataType::Null {
                    return Ok(Self::Numbers(vec![f64::NAN; column.len()].into()));
                }
                let found = cast(&to)?;
                let whole = cast_with_options(&found, &DataType::Int64, &CastOptions::default())
                    .map_err(|e| wrong(e.to_string()))?;
                let gaps = found.logical_nulls();
                let value = |(i, v): (usize, &i64)| match gaps.as_ref().is_some_and(|gaps| gaps.is_null(i)) {
                    true => f64::NAN,
                    false => *v as f64 / unit,
                };
                let values: Vec<f64> =
                    whole.as_primitive::<Int64Type>().values().iter().enumerate().map(value).collect();
                Ok(Self::Numbers(values.into()))
            }
        }
    }

    /// Whether a cell is missing.
    pub(super) fn is_missing(&self, row: usize) -> bool {
        match self {
            Self::Numbers(values) => values[row].is_nan(),
            Self::Texts { keys, .. } => keys[row].is_none(),
        }
    }
}

fn cast_texts(texts: &ArrayRef) -> std::result::Result<StringArray, arrow_schema::ArrowError> {
    let texts = cast_with_options(texts, &DataType::Utf8, &CastOptions::default())?;
    Ok(texts.as_string::<i32>().clone())
}

/// The numbers of an Arrow column of numbers or times, as a [`super::Preprocessor`] counts them; NaN is a gap.
pub fn column_numbers(column: &ArrayRef, kind: Kind) -> Result<Vec<f64>> {
    match Cells::of("", column, kind, &[])? {
        Cells::Numbers(values) => Ok(values.into_owned()),
        Cells::Texts { .. } => {
            Err(Error::Column { column: String::new(), what: "it holds texts, expected numbers".into() })
        }
    }
}

/// A number per cell of an Arrow column, the same for equal cells and hardly ever for others: to compare rows by, whatever other rows there
/// are. Gaps have one too.
pub fn column_keys(column: &ArrayRef) -> Result<Vec<f64>> {
    let kind = Kind::of(column.data_type()).unwrap_or(Kind::Text);
    match Cells::of("", column, kind, &[])? {
        Cells::Numbers(values) => Ok(values.into_owned()),
        Cells::Texts { keys, texts } => {
            let of_text = |text: Option<&str>| f64::from(crc32fast::hash(text.unwrap_or_default().trim().as_bytes()));
            let numbers: Vec<f64> = texts.iter().map(of_text).collect();
            Ok(keys.into_iter().map(|key| key.map_or(f64::NAN, |key| numbers[key])).collect())
        }
    }
}
