//! What there is to know about the columns of a table before they are prepared, gathered batch by batch.

use std::collections::{HashMap, HashSet};

use arrow_array::{Array, RecordBatch};
use arrow_schema::Schema;

use super::cells::Cells;
use super::words::WordStatistics;
use super::{Kind, Preparation, Reason};
use crate::error::{Error, Result};
use crate::prepare::Missing;

/// Distinct numbers of a column that are counted.
const MOST_DISTINCT: usize = 1000;
/// Fewer rows than these say little about what a column is for.
const FEWEST_ROWS: u64 = 10;

/// Statistics of the columns of a table. Those of parts can be merged; rows with a weight count as if they were repeated so often, and
/// not at all if it is 0.
#[derive(Clone, Debug)]
pub struct Statistics {
    pub(super) columns: Vec<ColumnStatistics>,
    rows: u64,
    words: Vec<String>,
}

/// Those of one column.
#[derive(Clone, Debug)]
pub struct ColumnStatistics {
    /// Its name.
    pub name: String,
    /// What it holds.
    pub kind: Kind,
    /// Cells that are not missing.
    pub present: u64,
    /// Cells that are.
    pub missing: u64,
    pub(super) numbers: Numbers,
    pub(super) texts: HashMap<String, Count>,
    /// In place of texts, if these are free ones.
    pub(super) words: Option<WordStatistics>,
}

/// How often a text occurs.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Count {
    pub(super) rows: u64,
    pub(super) mass: f64,
}

/// About numbers.
#[derive(Clone, Debug)]
pub(super) struct Numbers {
    pub(super) min: f64,
    pub(super) max: f64,
    /// The running mean: of numbers whose sum would overflow.
    mean: f64,
    /// The sum in two parts, which hardly depends on the order.
    sum: (f64, f64),
    mass: f64,
    whole: bool,
    /// The values as long as no two are equal, to tell numbers of rows.
    different: Option<HashSet<u64>>,
    /// Up to one more than are counted.
    distinct: HashSet<u64>,
    /// All values with their weights, if the median is asked for.
    all: Option<Vec<(f64, f64)>>,
}

impl Statistics {
    /// Of no rows yet. A column that can be no feature is an error.
    pub fn new(schema: &Schema, preparation: &Preparation) -> Result<Self> {
        let column = |field: &arrow_schema::FieldRef| {
            let name = field.name().clone();
            let kind = Kind::of(field.data_type()).ok_or_else(|| Error::Column {
                column: name.clone(),
                what: format!("it holds {}, expected numbers, times or text; leave it out", field.data_type()),
            })?;
            let is_free = preparation.text.contains(&name);
            let kind = if is_free || preparation.categories.contains(&name) { Kind::Text } else { kind };
            Ok(ColumnStatistics::new(name, kind, is_free, preparation.missing == Missing::Median))
        };
        let columns = schema.fields().iter().map(column).collect::<Result<_>>()?;
        Ok(Self { columns, rows: 0, words: preparation.missing_words.clone() })
    }

    pub(super) fn empty(columns: impl Iterator<Item = (String, Kind, bool)>, median: bool, words: Vec<String>) -> Self {
        let columns = columns.map(|(name, kind, is_free)| ColumnStatistics::new(name, kind, is_free, median)).collect();
        Self { columns, rows: 0, words }
    }

    /// Adds rows, each with a weight if there are any.
    pub fn add(&mut self, batch: &RecordBatch, weights: Option<&[f64]>) -> Result<()> {
        if batch.num_columns() != self.columns.len() {
            let (expected, found) = (self.columns.len(), batch.num_columns());
            return Err(Error::Shape { what: "columns", expected, found });
        }
        if weights.is_some_and(|w| w.len() != batch.num_rows()) {
            let (expected, found) = (batch.num_rows(), weights.map_or(0, <[f64]>::len));
            return Err(Error::Shape { what: "sample weights (one per row)", expected, found });
        }
        let weight = |i: usize| weights.map_or(1.0, |w| w[i]);
        for (column, array) in self.columns.iter_mut().zip(batch.columns()) {
            column.add(&Cells::of(&column.name, array, column.kind, &self.words)?, weight)?;
        }
        self.rows += (0..batch.num_rows()).filter(|&i| weight(i) > 0.0).count() as u64;
        Ok(())
    }

    /// Adds rows of a table that has numbers only, one row after the other, each with a weight if there are any; NaN is a gap.
    pub fn add_rows<T: Copy + Into<f64>>(&mut self, values: &[T], weights: Option<&[f64]>) -> Result<()> {
        // Rows at a time: columns of a large table are far apart in memory.
        const BLOCK: usize = 256;
        let width = self.columns.len().max(1);
        for (block, rows) in values.chunks(BLOCK * width).enumerate() {
            let weight = |i: usize| weights.map_or(1.0, |w| w[block * BLOCK + i]);
            for (j, column) in self.columns.iter_mut().enumerate() {
                rows.iter().skip(j).step_by(width).enumerate().try_for_each(|(i, v)| {
                    let row = block * BLOCK + i;
                    column.add_number(row, (*v).into(), weight(i))
                })?;
            }
            self.rows += (0..rows.len() / width).filter(|&i| weight(i) > 0.0).count() as u64;
        }
        Ok(())
    }

    /// Adds what is known of other rows with the same columns.
    pub fn merge(&mut self, other: Self) -> Result<()> {
        let same = |(a, b): (&ColumnStatistics, &ColumnStatistics)| a.name == b.name && a.kind == b.kind;
        if self.columns.len() != other.columns.len() || !self.columns.iter().zip(&other.columns).all(same) {
            let (expected, found) = (self.columns.len(), other.columns.len());
            return Err(Error::Shape { what: "columns of the same names and kinds", expected, found });
        }
        self.columns.iter_mut().zip(other.columns).for_each(|(a, b)| a.merge(b));
        self.rows += other.rows;
        Ok(())
    }

    /// The columns in their order.
    pub fn columns(&self) -> &[ColumnStatistics] {
        &self.columns
    }

    /// Rows with a weight above 0.
    pub fn rows(&self) -> u64 {
        self.rows
    }
}

impl ColumnStatistics {
    fn new(name: String, kind: Kind, is_free: bool, median: bool) -> Self {
        let numbers = Numbers {
            min: f64::INFINITY,
            max: f64::NEG_INFINITY,
            mean: 0.0,
            sum: (0.0, 0.0),
            mass: 0.0,
            whole: true,
            different: Some(HashSet::new()),
            distinct: HashSet::new(),
            all: (median && kind != Kind::Text).then(Vec::new),
        };
        let words = is_free.then(WordStatistics::default);
        Self { name, kind, present: 0, missing: 0, numbers, texts: HashMap::new(), words }
    }

    fn add(&mut self, cells: &Cells<'_>, weight: impl Fn(usize) -> f64) -> Result<()> {
        match cells {
            Cells::Numbers(values) => {
                for (i, &value) in values.iter().enumerate() {
                    self.add_number(i, value, weight(i))?;
                }
            }
            Cells::Texts { keys, texts } => {
                let mut counts = vec![Count::default(); texts.len()];
                let mut all = 0.0;
                for (i, key) in keys.iter().enumerate() {
                    all += weight(i).max(0.0);
                    match (weight(i), key) {
                        (w, _) if !(w > 0.0) => {}
                        (_, None) => self.missing += 1,
                        (w, Some(key)) => {
                            self.present += 1;
                            counts[*key].rows += 1;
                            counts[*key].mass += w;
                        }
                    }
                }
                let counts = counts.into_iter().enumerate().filter(|(_, count)| count.rows > 0);
                if let Some(words) = &mut self.words {
                    words.add_rows(all);
                    counts.for_each(|(key, count)| words.add(texts.value(key), count.rows, count.mass));
                    return Ok(());
                }
                for (key, count) in counts {
                    let known = self.texts.entry(texts.value(key).trim().to_string()).or_default();
                    known.rows += count.rows;
                    known.mass += count.mass;
                }
            }
        }
        Ok(())
    }

    fn add_number(&mut self, row: usize, value: f64, weight: f64) -> Result<()> {
        match weight {
            w if !(w > 0.0) => {}
            _ if value.is_nan() => self.missing += 1,
            _ if value.is_infinite() => return Err(infinite(&self.name, row, value)),
            w => {
                self.present += 1;
                self.numbers.add(value, w);
            }
        }
        Ok(())
    }

    fn merge(&mut self, other: Self) {
        self.present += other.present;
        self.missing += other.missing;
        self.numbers.merge(other.numbers);
        if let (Some(words), Some(other)) = (&mut self.words, other.words) {
            words.merge(other);
        }
        for (text, count) in other.texts {
            let known = self.texts.entry(text).or_default();
            known.rows += count.rows;
            known.mass += count.mass;
        }
    }

    /// How many different values there are; `None` if they are too many to be counted.
    pub fn distinct(&self) -> Option<usize> {
        match self.kind {
            _ if self.words.is_some() => None,
            Kind::Text => Some(self.texts.len()),
            _ => Some(self.numbers.distinct.len()).filter(|n| *n <= MOST_DISTINCT),
        }
    }

    /// The smallest and the largest number, in days for times.
    pub fn range(&self) -> Option<(f64, f64)> {
        (self.kind != Kind::Text && self.present > 0).then_some((self.numbers.min, self.numbers.max))
    }

    /// The mean of numbers; of times in days.
    pub fn mean(&self) -> f64 {
        self.numbers.mean()
    }

    /// Whether all numbers are whole.
    pub fn whole(&self) -> bool {
        self.kind == Kind::Number && self.numbers.whole && self.present > 0
    }

    /// The most frequent texts with how often they occur, at most `count`; of equals the first by name.
    pub fn frequent(&self, count: usize) -> Vec<(&str, u64)> {
        let sorted = self.sorted();
        sorted.into_iter().take(count).map(|(text, found)| (text, found.rows)).collect()
    }

    /// Texts by falling weight, equal ones by name.
    pub(super) fn sorted(&self) -> Vec<(&str, Count)> {
        let mut all: Vec<(&str, Count)> = self.texts.iter().map(|(text, count)| (text.as_str(), *count)).collect();
        all.sort_by(|a, b| b.1.mass.total_cmp(&a.1.mass).then_with(|| a.0.cmp(b.0)));
        all
    }

    /// Why this looks like no feature.
    pub(super) fn suspicion(&self, preparation: &Preparation) -> Option<Reason> {
        if preparation.indices.contains(&self.name) {
            return Some(Reason::Index);
        }
        if self.present == 0 {
            return Some(Reason::Empty);
        }
        if self.present + self.missing < FEWEST_ROWS || self.words.is_some() {
            return None;
        }
        let distinct = self.distinct().unwrap_or(usize::MAX);
        match self.kind {
            _ if distinct == 1 => (self.missing == 0).then_some(Reason::Constant),
            Kind::Text if self.present < FEWEST_ROWS => None,
            Kind::Text if distinct as u64 == self.present => Some(Reason::AllDifferent),
            Kind::Text if distinct > preparation.most_values && 2 * distinct as u64 > self.present => {
                Some(Reason::MostlyDifferent { values: distinct })
            }
            Kind::Number if self.missing == 0 && self.numbers.counts_rows(self.present) => Some(Reason::Consecutive),
            _ => None,
        }
    }

    /// The number that stands for a missing one.
    pub(super) fn centre(&self, missing: Missing) -> f64 {
        match (missing, &self.numbers.all) {
            (Missing::Median, Some(all)) => median(all.clone()),
            _ => self.numbers.mean(),
        }
    }
}

fn infinite(column: &str, row: usize, value: f64) -> Error {
    let what = format!("found {value} in row {}, expected a finite number", row + 1);
    Error::Column { column: column.into(), what }
}

impl Numbers {
    fn add(&mut self, value: f64, weight: f64) {
        // Both zeros are the same value.
        let bits = (value + 0.0).to_bits();
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        self.mass += weight;
        let product = weight * value;
        self.sum = added(added(self.sum, product), value.mul_add(weight, -product));
        // Halved, since the difference of two numbers may overflow where their mean does not.
        self.mean += 2.0 * ((0.5 * value - 0.5 * self.mean) * (weight / self.mass));
        self.whole &= value.fract() == 0.0;
        if self.distinct.len() <= MOST_DISTINCT {
            self.distinct.insert(bits);
        }
        if !self.whole || self.different.as_mut().is_some_and(|all| !all.insert(bits)) {
            self.different = None;
        }
        self.all.iter_mut().for_each(|all| all.push((value, weight)));
    }

    fn merge(&mut self, other: Self) {
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.mass += other.mass;
        self.sum = added(added(self.sum, other.sum.0), other.sum.1);
        if other.mass > 0.0 {
            self.mean += 2.0 * ((0.5 * other.mean - 0.5 * self.mean) * (other.mass / self.mass));
        }
        self.whole &= other.whole;
        self.distinct.extend(other.distinct);
        self.different = match (self.different.take(), other.different) {
            (Some(mut a), Some(b)) if self.whole && b.iter().all(|bits| !a.contains(bits)) => {
                a.extend(b);
                Some(a)
            }
            _ => None,
        };
        self.all = self.all.take().zip(other.all).map(|(mut a, b)| {
            a.extend(b);
            a
        });
    }

    fn mean(&self) -> f64 {
        let mean = (self.sum.0 + self.sum.1) / self.mass;
        if mean.is_finite() { mean } else { self.mean }
    }

    /// Whether these are whole numbers without gaps and repetition.
    fn counts_rows(&self, present: u64) -> bool {
        self.whole && self.different.is_some() && self.max - self.min == (present - 1) as f64
    }
}

/// A sum in two parts with one number more; what the first part rounds off goes into the second.
fn added((high, low): (f64, f64), value: f64) -> (f64, f64) {
    let sum = high + value;
    let back = sum - high;
    (sum, low + ((high - (sum - back)) + (value - back)))
}

/// The middle of some numbers with weights.
fn median(mut all: Vec<(f64, f64)>) -> f64 {
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    let half = 0.5 * all.iter().map(|(_, w)| w).sum::<f64>();
    let mut below = 0.0;
    for (i, (value, weight)) in all.iter().enumerate() {
        below += weight;
        if below > half {
            return *value;
        }
        if below == half {
            return 0.5 * value + 0.5 * all.get(i + 1).map_or(*value, |next| next.0);
        }
    }
    0.0
}
