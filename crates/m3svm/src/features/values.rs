//! Numbers in the precision they came in.

use std::borrow::Cow;
use std::ops::Range;

/// Feature values in single or double precision, borrowed from the caller or owned.
#[derive(Clone, Debug)]
pub enum Values<'a> {
    /// Single precision.
    F32(Cow<'a, [f32]>),
    /// Double precision.
    F64(Cow<'a, [f64]>),
}

impl Values<'_> {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::F32(v) => v.len(),
            Self::F64(v) => v.len(),
        }
    }

    pub(super) fn get(&self, i: usize) -> f64 {
        match self {
            Self::F32(v) => f64::from(v[i]),
            Self::F64(v) => v[i],
        }
    }

    pub(super) fn first_not_finite(&self) -> Option<usize> {
        match self {
            Self::F32(v) => v.iter().position(|x| !x.is_finite()),
            Self::F64(v) => v.iter().position(|x| !x.is_finite()),
        }
    }

    /// Replaces every value by `f(position, value)`, without a copy where the values are owned.
    pub(super) fn map(self, f: impl Fn(usize, f64) -> f64) -> Values<'static> {
        match self {
            Self::F32(v) => {
                let mut v = v.into_owned();
                v.iter_mut().enumerate().for_each(|(i, x)| *x = f(i, f64::from(*x)) as f32);
                Values::F32(Cow::Owned(v))
            }
            Self::F64(v) => {
                let mut v = v.into_owned();
                v.iter_mut().enumerate().for_each(|(i, x)| *x = f(i, *x));
                Values::F64(Cow::Owned(v))
            }
        }
    }

    /// The same for rows of `cols` numbers, with the position in the row.
    pub(super) fn map_rows(self, cols: usize, f: impl Fn(usize, f64) -> f64) -> Values<'static> {
        match self {
            Self::F64(v) => {
                let mut v = v.into_owned();
                let rows = v.chunks_exact_mut(cols.max(1));
                rows.for_each(|row| row.iter_mut().enumerate().for_each(|(j, x)| *x = f(j, *x)));
                Values::F64(Cow::Owned(v))
            }
            narrow => narrow.map(|i, x| f(i % cols, x)),
        }
    }

    pub(super) fn view(&self) -> Values<'_> {
        match self {
            Self::F32(v) => Values::F32(Cow::Borrowed(v)),
            Self::F64(v) => Values::F64(Cow::Borrowed(v)),
        }
    }

    pub(super) fn as_ref(&self) -> Slice<'_> {
        match self {
            Self::F32(v) => Slice::F32(v),
            Self::F64(v) => Slice::F64(v),
        }
    }
}

/// Values, borrowed.
#[derive(Clone, Copy)]
pub(crate) enum Slice<'a> {
    F32(&'a [f32]),
    F64(&'a [f64]),
}

impl<'a> Slice<'a> {
    pub(super) fn slice(self, range: Range<usize>) -> Self {
        match self {
            Self::F32(v) => Self::F32(&v[range]),
            Self::F64(v) => Self::F64(&v[range]),
        }
    }
}

impl<'a> From<&'a [f32]> for Values<'a> {
    fn from(v: &'a [f32]) -> Self {
        Self::F32(Cow::Borrowed(v))
    }
}
impl<'a> From<&'a [f64]> for Values<'a> {
    fn from(v: &'a [f64]) -> Self {
        Self::F64(Cow::Borrowed(v))
    }
}
impl From<Vec<f32>> for Values<'static> {
    fn from(v: Vec<f32>) -> Self {
        Self::F32(Cow::Owned(v))
    }
}
impl From<Vec<f64>> for Values<'static> {
    fn from(v: Vec<f64>) -> Self {
        Self::F64(Cow::Owned(v))
    }
}
