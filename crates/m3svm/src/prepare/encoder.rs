//! Batches of a table as feature matrices.

use std::collections::HashMap;

use arrow_array::RecordBatch;

use super::cells::Cells;
use super::preprocessor::{Encoding, Preprocessor};
use super::{Missing, words};
use crate::error::{Error, Result};
use crate::features::Features;
use crate::memory;

/// What became of a batch.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Prepared {
    /// The features.
    pub x: Features<'static>,
    /// Per column: cells that were missing.
    pub filled: Vec<usize>,
    /// Per column: cells with a value that was never seen in training, and the first of these.
    pub unseen: Vec<(usize, Option<String>)>,
}

/// A text in features.
#[derive(Clone, Copy)]
enum ValuePlace {
    /// The feature that is 1.
    Feature(usize),
    /// None is: it was never seen.
    Unseen,
}

/// One column, ready to be read row by row.
struct EncodedColumn<'a> {
    cells: Cells<'a>,
    encoding: &'a Encoding,
    /// Of every text of the dictionary.
    places: Vec<ValuePlace>,
    /// The words of free text.
    words: HashMap<&'a str, usize>,
    /// The first feature.
    first: usize,
}

impl EncodedColumn<'_> {
    /// Calls `put(feature, value)` for what is not 0 in a row. Gaps have been looked for before.
    fn encode(&self, row: usize, mut put: impl FnMut(usize, f64)) {
        match (&self.cells, self.encoding) {
            (Cells::Numbers(values), Encoding::Number { fill, shift, parts, indicator }) => match values[row] {
                missing if missing.is_nan() => {
                    put(self.first, fill.unwrap_or(0.0) - shift);
                    if *indicator {
                        put(self.first + self.encoding.width() - 1, 1.0);
                    }
                }
                value => {
                    put(self.first, value - shift);
                    let mut first = self.first + 1;
                    for part in parts {
                        put(first + part.of(value), 1.0);
                        first += part.width();
                    }
                }
            },
            (Cells::Texts { keys, texts }, Encoding::Words { weights, indicator, .. }) => match keys[row] {
                Some(key) => words::encode(texts.value(key), &self.words, weights, |j, v| put(self.first + j, v)),
                None if *indicator => put(self.first + self.encoding.width() - 1, 1.0),
                None => {}
            },
            (Cells::Texts { keys, .. }, Encoding::Values { fill, indicator, .. }) => match keys[row] {
                Some(key) => {
                    if let ValuePlace::Feature(j) = self.places[key] {
                        put(self.first + j, 1.0);
                    }
                }
                None => {
                    fill.iter().for_each(|j| put(self.first + j, 1.0));
                    if *indicator {
                        put(self.first + self.encoding.width() - 1, 1.0);
                    }
                }
            },
            _ => {}
        }
    }
}

impl Preprocessor {
    /// Turns a batch with the columns of [`Preprocessor::columns`], in that order, into features.
    pub fn apply(&self, batch: &RecordBatch) -> Result<Prepared> {
        let rows = batch.num_rows();
        if batch.num_columns() != self.columns.len() {
            let (expected, found) = (self.columns.len(), batch.num_columns());
            return Err(Error::Shape { what: "columns", expected, found });
        }
        let mut first = 0;
        let mut columns = Vec::new();
        let (mut filled, mut unseen) = (vec![0; self.columns.len()], vec![(0, None); self.columns.len()]);
        for (i, (column, array)) in self.columns.iter().zip(batch.columns()).enumerate() {
            if matches!(column.encoding, Encoding::Unused {}) {
                continue;
            }
            let name = column.shown(i);
            let cells = Cells::of(&name, array, column.kind, &self.missing_words)?;
            filled[i] = (0..rows).filter(|&row| cells.is_missing(row)).count();
            self.check_gaps(i, &cells, rows)?;
            let mut places = Vec::new();
            if let (Cells::Texts { keys, texts }, Encoding::Values { values, others, .. }) = (&cells, &column.encoding)
            {
                let known: HashMap<&str, usize> = values.iter().map(String::as_str).zip(0..).collect();
                let rare: HashMap<&str, usize> = others.iter().map(|text| (text.as_str(), values.len())).collect();
                let place = |text: Option<&str>| {
                    let text = text.unwrap_or_default().trim();
                    known.get(text).or_else(|| rare.get(text)).map_or(ValuePlace::Unseen, |j| ValuePlace::Feature(*j))
                };
                places = texts.iter().map(place).collect();
                for key in keys.iter().flatten().filter(|key| matches!(places[**key], ValuePlace::Unseen)) {
                    unseen[i].0 += 1;
                    unseen[i].1.get_or_insert_with(|| texts.value(*key).trim().to_string());
                }
            }
            let words = match &column.encoding {
                Encoding::Words { words, .. } => words.iter().map(String::as_str).zip(0..).collect(),
                _ => HashMap::new(),
            };
            columns.push(EncodedColumn { cells, encoding: &column.encoding, places, words, first });
            first += column.encoding.width();
        }
        let x = if self.sparse { sparse(&columns, rows, first) } else { dense(&columns, rows, first) }?;
        Ok(Prepared { x, filled, unseen })
    }

    /// Refuses gaps where nothing is known to fill them, and numbers that are not finite.
    fn check_gaps(&self, i: usize, cells: &Cells<'_>, rows: usize) -> Result<()> {
        let column = &self.columns[i];
        let (fills, indicator) = match &column.encoding {
            Encoding::Unused {} => return Ok(()),
            Encoding::Number { fill, indicator, .. } => (fill.is_some(), *indicator),
            Encoding::Values { fill, indicator, .. } => (fill.is_some(), *indicator),
            // No text has no words.
            Encoding::Words { .. } => (!matches!(self.missing, Missing::Error | Missing::DropRows), true),
        };
        let gap = (0..rows).find(|&row| cells.is_missing(row)).filter(|_| !fills && !indicator);
        if let Some(row) = gap {
            let why = match self.missing {
                Missing::DropRows => "and rows with gaps were left out of the training",
                _ => "and nothing stands for a missing one",
            };
            return Err(Error::Gap { row, column: column.shown(i), why });
        }
        let Cells::Numbers(values) = cells else { return Ok(()) };
        match values.iter().position(|v| v.is_infinite()) {
            None => Ok(()),
            Some(row) => {
                let what = format!("found {} in row {}, expected a finite number", values[row], row + 1);
                Err(Error::Column { column: column.shown(i), what })
            }
        }
    }

    /// Rows of a batch that have no gaps in the columns in use.
    pub fn whole_rows(&self, batch: &RecordBatch) -> Result<Vec<u32>> {
        let mut whole = vec![true; batch.num_rows()];
        for (i, (column, array)) in self.columns.iter().zip(batch.columns()).enumerate() {
            if !matches!(column.encoding, Encoding::Unused {}) {
                let cells = Cells::of(&column.shown(i), array, column.kind, &self.missing_words)?;
                whole.iter_mut().enumerate().for_each(|(row, whole)| *whole &= !cells.is_missing(row));
            }
        }
        Ok((0..).zip(whole).filter(|(_, whole)| *whole).map(|(row, _)| row).collect())
    }
}

fn dense(columns: &[EncodedColumn<'_>], rows: usize, width: usize) -> Result<Features<'static>> {
    memory::check("the table with a feature per value", memory::numbers(rows, width))?;
    let mut values = vec![0.0; rows * width];
    for (row, out) in values.chunks_exact_mut(width.max(1)).enumerate() {
        columns.iter().for_each(|column| column.encode(row, |j, v| out[j] = v));
    }
    Features::dense(values, rows, width)
}

fn sparse(columns: &[EncodedColumn<'_>], rows: usize, width: usize) -> Result<Features<'static>> {
    const ENTRY: u64 = 12;
    // A word takes three letters at least, with what stands between.
    let letters = |column: &EncodedColumn<'_>| match &column.cells {
        Cells::Texts { texts, .. } if !column.words.is_empty() => texts.value_data().len() as u64 / 3,
        _ => rows as u64,
    };
    memory::check("the table with a feature per value", columns.iter().map(letters).sum::<u64>() * ENTRY)?;
    let (mut indptr, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
    for row in 0..rows {
        columns.iter().for_each(|column| {
            column.encode(row, |j, v| {
                if v != 0.0 {
                    indices.push(j as u32);
                    values.push(v);
                }
            });
        });
        indptr.push(indices.len());
    }
    Features::csr(indptr, indices, values, width)
}
