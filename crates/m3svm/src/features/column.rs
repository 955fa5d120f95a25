//! Tables that are stored by columns, and the rows made of them block by block.
//!
//! Kernels and solvers work on rows. A column is read a cache-sized block of rows at a time, so that a table of any size costs the room
//! of one block per thread instead of a copy.

use std::borrow::Cow;
use std::ops::Range;

use crate::error::{Error, Result};

/// One column of a table: numbers of any common type, borrowed or owned. Whole numbers and truth values become f64 when they are read.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the names of types say it")]
pub enum Column<'a> {
    F64(Cow<'a, [f64]>),
    F32(Cow<'a, [f32]>),
    I8(Cow<'a, [i8]>),
    I16(Cow<'a, [i16]>),
    I32(Cow<'a, [i32]>),
    I64(Cow<'a, [i64]>),
    U8(Cow<'a, [u8]>),
    U16(Cow<'a, [u16]>),
    U32(Cow<'a, [u32]>),
    U64(Cow<'a, [u64]>),
    Bool(Cow<'a, [bool]>),
}

/// The same expression for a column of every type.
macro_rules! each {
    ($column:expr, $values:ident => $result:expr) => {
        match $column {
            Column::F64($values) => $result,
            Column::F32($values) => $result,
            Column::I8($values) => $result,
            Column::I16($values) => $result,
            Column::I32($values) => $result,
            Column::I64($values) => $result,
            Column::U8($values) => $result,
            Column::U16($values) => $result,
            Column::U32($values) => $result,
            Column::U64($values) => $result,
            Column::Bool($values) => $result,
        }
    };
}

/// What a column may consist of.
trait Number: Copy {
    fn wide(self) -> f64;
}

macro_rules! numbers {
    ($($kind:ident $number:ty, $wide:expr;)*) => {$(
        impl Number for $number {
            #[inline(always)]
            fn wide(self) -> f64 {
                let wide: fn($number) -> f64 = $wide;
                wide(self)
            }
        }
        impl<'a> From<&'a [$number]> for Column<'a> {
            fn from(values: &'a [$number]) -> Self {
                Self::$kind(Cow::Borrowed(values))
            }
        }
        impl From<Vec<$number>> for Column<'static> {
            fn from(values: Vec<$number>) -> Self {
                Self::$kind(Cow::Owned(values))
            }
        }
    )*};
}

numbers! {
    F64 f64, |v| v;
    F32 f32, f64::from;
    I8 i8, f64::from;
    I16 i16, f64::from;
    I32 i32, f64::from;
    // Beyond 2⁵³ the nearest number that there is, as everywhere.
    I64 i64, |v| v as f64;
    U8 u8, f64::from;
    U16 u16, f64::from;
    U32 u32, f64::from;
    U64 u64, |v| v as f64;
    Bool bool, f64::from;
}

impl Column<'_> {
    fn len(&self) -> usize {
        each!(self, values => values.len())
    }

    fn get(&self, row: usize) -> f64 {
        each!(self, values => values[row].wide())
    }

    fn view(&self) -> Column<'_> {
        each!(self, values => Column::from(&values[..]))
    }

    fn first_not_finite(&self) -> Option<usize> {
        match self {
            Self::F64(values) => values.iter().position(|v| !v.is_finite()),
            Self::F32(values) => values.iter().position(|v| !v.is_finite()),
            _ => None,
        }
    }

    /// Writes some rows into column `j` of the row-major `out`.
    fn write<T: Narrow>(&self, rows: RowChoice<'_>, j: usize, stride: usize, out: &mut [T]) {
        let out = out.chunks_exact_mut(stride);
        each!(self, values => match rows {
            RowChoice::Range(first, count) => {
                out.zip(&values[first..first + count]).for_each(|(row, v)| row[j] = T::narrow(v.wide()));
            }
            RowChoice::Listed(rows, first) => {
                out.zip(rows).for_each(|(row, i)| row[j] = T::narrow(values[*i as usize - first].wide()));
            }
        });
    }
}

/// What rows are made of. A narrow number that was widened comes back unchanged.
pub(super) trait Narrow: Copy + Default {
    fn narrow(wide: f64) -> Self;
}

impl Narrow for f64 {
    #[inline(always)]
    fn narrow(wide: f64) -> Self {
        wide
    }
}

impl Narrow for f32 {
    #[inline(always)]
    fn narrow(wide: f64) -> Self {
        wide as f32
    }
}

/// Rows of one part.
#[derive(Clone, Copy)]
enum RowChoice<'r> {
    /// The first, and how many.
    Range(usize, usize),
    /// Rows of the whole table, and where the part begins in it.
    Listed(&'r [u32], usize),
}

impl<'r> RowChoice<'r> {
    fn len(self) -> usize {
        match self {
            Self::Range(_, count) => count,
            Self::Listed(rows, _) => rows.len(),
        }
    }

    fn slice(self, range: Range<usize>) -> Self {
        match self {
            Self::Range(first, _) => Self::Range(first + range.start, range.len()),
            Self::Listed(rows, first) => Self::Listed(&rows[range], first),
        }
    }
}

/// A table by columns: one part on top of the other, because tables that were read or joined piece by piece stay in pieces.
#[derive(Clone, Debug)]
pub(super) struct ColumnStore<'a> {
    parts: Vec<ColumnPart<'a>>,
    /// Whether the rows made of it are in single precision: all columns are.
    single: bool,
}

/// Consecutive rows whose columns lie in one piece each.
#[derive(Clone, Debug)]
struct ColumnPart<'a> {
    first: usize,
    columns: Vec<Column<'a>>,
}

impl<'a> ColumnStore<'a> {
    /// Checks the parts; returns the number of rows, too.
    pub(super) fn new(parts: Vec<Vec<Column<'a>>>, cols: usize) -> Result<(Self, usize)> {
        let mut rows = 0;
        let mut store = Self { parts: Vec::new(), single: true };
        for columns in parts {
            if columns.len() != cols {
                return Err(Error::Shape { what: "columns of a part", expected: cols, found: columns.len() });
            }
            let count = columns.first().map_or(0, Column::len);
            if let Some(other) = columns.iter().find(|column| column.len() != count) {
                return Err(Error::Shape { what: "values of a column", expected: count, found: other.len() });
            }
            if count == 0 {
                continue;
            }
            // The first one in the order of rows.
            let bad = columns.iter().enumerate().filter_map(|(j, column)| Some((column.first_not_finite()?, j))).min();
            if let Some((row, column)) = bad {
                let value = columns[column].get(row).to_string();
                return Err(Error::NotFinite { row: rows + row, column, value });
            }
            store.single &= columns.iter().all(|column| matches!(column, Column::F32(_)));
            store.parts.push(ColumnPart { first: rows, columns });
            rows += count;
        }
        Ok((store, rows))
    }

    pub(super) fn is_single(&self) -> bool {
        self.single
    }

    pub(super) fn view(&self) -> ColumnStore<'_> {
        let view = |part: &ColumnPart<'a>| ColumnPart { first: part.first, columns: Vec::new() };
        let mut parts: Vec<ColumnPart<'_>> = self.parts.iter().map(view).collect();
        for (to, from) in parts.iter_mut().zip(&self.parts) {
            to.columns = from.columns.iter().map(Column::view).collect();
        }
        ColumnStore { parts, single: self.single }
    }

    fn part_of(&self, row: usize) -> usize {
        self.parts.partition_point(|part| part.first <= row).saturating_sub(1)
    }

    /// Where a part ends: the next one begins there.
    fn end(&self, part: usize) -> usize {
        self.parts.get(part + 1).map_or(usize::MAX, |next| next.first)
    }

    pub(super) fn get(&self, row: usize, column: usize) -> f64 {
        let part = &self.parts[self.part_of(row)];
        part.columns[column].get(row - part.first)
    }

    /// All values of one column, where they lie if that is possible.
    pub(super) fn column(&self, j: usize) -> Cow<'_, [f64]> {
        if let [only] = &self.parts[..]
            && let Column::F64(values) = &only.columns[j]
        {
            return Cow::Borrowed(values);
        }
        let mut all = Vec::new();
        for part in &self.parts {
            each!(&part.columns[j], values => all.extend(values.iter().map(|v| v.wide())));
        }
        all.into()
    }

    /// Writes a range of rows into the row-major `out`.
    pub(super) fn write_range<T: Narrow>(&self, rows: Range<usize>, stride: usize, mut out: &mut [T]) {
        let mut at = rows.start;
        let mut part = self.part_of(at);
        while at < rows.end {
            let end = self.end(part).min(rows.end);
            let (now, later) = out.split_at_mut((end - at) * stride);
            let source = &self.parts[part];
            source.write(RowChoice::Range(at - source.first, end - at), stride, now);
            (out, at, part) = (later, end, part + 1);
        }
    }

    /// Writes the listed rows into the row-major `out`, whose rows may be longer than those of the table.
    pub(super) fn write_rows<T: Narrow>(&self, rows: &[u32], stride: usize, mut out: &mut [T]) {
        let mut left = rows;
        while let Some(&row) = left.first() {
            let part = self.part_of(row as usize);
            let inside = self.parts[part].first..self.end(part);
            let count = left.iter().position(|i| !inside.contains(&(*i as usize))).unwrap_or(left.len());
            let (now, later) = left.split_at(count);
            let (here, rest) = out.split_at_mut(count * stride);
            self.parts[part].write(RowChoice::Listed(now, inside.start), stride, here);
            (left, out) = (later, rest);
        }
    }
}

impl ColumnPart<'_> {
    fn write<T: Narrow>(&self, rows: RowChoice<'_>, stride: usize, out: &mut [T]) {
        // Few rows at a time: what has been written of them stays in a fast cache until the last column has come.
        const TILE: usize = 4096;
        let tile = (TILE / stride.max(1)).max(8);
        for at in (0..rows.len()).step_by(tile) {
            let some = at..(at + tile).min(rows.len());
            let out = &mut out[some.start * stride..some.end * stride];
            self.write_tile(rows.slice(some), stride, out);
        }
    }

    fn write_tile<T: Narrow>(&self, rows: RowChoice<'_>, stride: usize, out: &mut [T]) {
        let mut j = 0;
        while j < self.columns.len() {
            if let RowChoice::Range(first, count) = rows
                && let Some(doubles) = eight(&self.columns[j..], first..first + count)
            {
                // A whole cache line of every row at once.
                for (i, row) in out.chunks_exact_mut(stride).enumerate() {
                    let line = &mut row[j..j + 8];
                    (0..8).for_each(|k| line[k] = T::narrow(doubles[k][i]));
                }
                j += 8;
            } else {
                self.columns[j].write(rows, j, stride, out);
                j += 1;
            }
        }
    }
}

/// The first eight columns, if they are f64, which is the most common type.
fn eight<'c>(columns: &'c [Column<'_>], rows: Range<usize>) -> Option<[&'c [f64]; 8]> {
    let mut doubles: [&[f64]; 8] = [&[]; 8];
    for (slot, column) in doubles.iter_mut().zip(columns.first_chunk::<8>()?) {
        let Column::F64(values) = column else { return None };
        *slot = &values[rows.clone()];
    }
    Some(doubles)
}
