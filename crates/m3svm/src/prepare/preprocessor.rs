//! What was learnt from training rows about turning a table into features.

use std::collections::HashSet;
use std::ops::Range;

use arrow_array::RecordBatch;
use serde::{Deserialize, Serialize};

use super::statistics::{ColumnStatistics, Statistics};
use super::times::TimePart;
use super::words::WordStatistics;
use super::{Kind, LeftOut, MOST_WORDS, Missing, Preparation};
use crate::error::Result;

/// Features per number that is stored in a row, from which on rows are stored sparse.
const SPARSE: f64 = 4.0;
/// Fewer features are never stored sparse.
const FEWEST_SPARSE: usize = 64;

/// Turns the columns of a table into features, the same way for every batch. Learnt from training rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Preprocessor {
    pub(super) columns: Vec<PreparedColumn>,
    /// What was done about gaps.
    pub(super) missing: Missing,
    /// Further texts that stand for nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) missing_words: Vec<String>,
    /// Most values of a column that get a feature each.
    pub(super) most_values: usize,
    /// Most words of a column of free text that get a feature.
    #[serde(default = "usual_most_words", skip_serializing_if = "is_usual")]
    pub(super) most_words: usize,
    /// Whether features are stored as a sparse matrix.
    pub(super) sparse: bool,
}

fn usual_most_words() -> usize {
    MOST_WORDS
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_usual(most_words: &usize) -> bool {
    *most_words == MOST_WORDS
}

/// One column of the table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PreparedColumn {
    /// Its name; `None` where the table has no names.
    pub name: Option<String>,
    /// What it holds.
    pub kind: Kind,
    /// What becomes of it.
    pub encoding: Encoding,
}

/// What becomes of a column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum Encoding {
    /// Nothing: it is no feature, but stands among the columns of a table without names.
    Unused {},
    /// One feature, the number without `shift`, one per value of its parts, and perhaps one that is 1 where it is missing.
    Number {
        /// The number that stands for a missing one; without it, a missing one is an error.
        fill: Option<f64>,
        /// What is subtracted: the fill where features are sparse, so that it leaves no entry.
        shift: f64,
        /// Parts of the time, which is none of them where it is missing.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        parts: Vec<TimePart>,
        /// Whether there is a feature for what is missing.
        indicator: bool,
    },
    /// A feature per word of free text: how often it occurs times its weight, every text brought to length 1.
    Words {
        /// The words.
        words: Vec<String>,
        /// What each of them weighs: the rarer, the more.
        weights: Vec<f64>,
        /// Whether there is a feature for what is missing.
        indicator: bool,
    },
    /// A feature per value that is 1 where the column has it.
    Values {
        /// The values.
        values: Vec<String>,
        /// Rarer values, which share one feature if there are any.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        others: Vec<String>,
        /// The position among `values` of what stands for a missing one; without it, a missing one is an error.
        fill: Option<usize>,
        /// Whether there is a feature for what is missing.
        indicator: bool,
    },
}

impl Encoding {
    /// How many features come of it.
    pub fn width(&self) -> usize {
        match self {
            Self::Unused {} => 0,
            Self::Number { parts, indicator, .. } => {
                1 + parts.iter().map(|part| part.width()).sum::<usize>() + usize::from(*indicator)
            }
            Self::Words { words, indicator, .. } => words.len() + usize::from(*indicator),
            Self::Values { values, others, indicator, .. } => {
                values.len() + usize::from(!others.is_empty()) + usize::from(*indicator)
            }
        }
    }

    /// Whether features are what the column holds, so that nothing needs to be done.
    fn is_plain(&self) -> bool {
        matches!(self, Self::Number { shift: 0.0, indicator: false, parts, .. } if parts.is_empty())
    }
}

impl PreparedColumn {
    /// The name, or the position as people count.
    pub fn shown(&self, position: usize) -> String {
        self.name.clone().unwrap_or_else(|| format!("column {}", position + 1))
    }
}

impl Preprocessor {
    /// Learns from the statistics of the training rows; also says which columns are no features.
    pub fn learn(statistics: &Statistics, preparation: &Preparation) -> (Self, Vec<LeftOut>) {
        let mut left_out = Vec::new();
        let suspicions: Vec<_> = statistics.columns.iter().map(|c| c.suspicion(preparation)).collect();
        // A table of nothing but suspicious columns is used as it is, but for those that say nothing at all.
        let hopeless = suspicions.iter().all(Option::is_some);
        let how = How::new(preparation.missing, preparation.most_values, preparation.most_words);
        let columns = statistics.columns.iter().zip(suspicions).map(|(column, suspicion)| {
            let kept = preparation.keep_all || hopeless || preparation.keep.contains(&column.name);
            let encoding = match suspicion.filter(|_| !kept) {
                Some(reason) => {
                    left_out.push(LeftOut { column: column.name.clone(), reason });
                    Encoding::Unused {}
                }
                None => how.encode(column, &preparation.time_parts),
            };
            PreparedColumn { name: Some(column.name.clone()), kind: column.kind, encoding }
        });
        let columns = columns.collect();
        let missing_words = preparation.missing_words.clone();
        let How { missing, most_values, most_words } = how;
        let mut learnt = Self { columns, missing, missing_words, most_values, most_words, sparse: false };
        learnt.choose_storage(statistics);
        (learnt, left_out)
    }

    /// Takes numbers as they are; `means` stand for missing ones.
    pub fn of_numbers(names: Option<&[String]>, means: &[f64]) -> Self {
        let column = |(j, mean): (usize, &f64)| PreparedColumn {
            name: names.map(|names| names[j].clone()),
            kind: Kind::Number,
            encoding: Encoding::Number { fill: Some(*mean), shift: 0.0, parts: Vec::new(), indicator: false },
        };
        let columns = means.iter().enumerate().map(column).collect();
        let Preparation { most_values, most_words, missing_words, .. } = Preparation::default();
        Self { columns, missing: Missing::Mean, missing_words, most_values, most_words, sparse: false }
    }

    /// Learns the same from other rows: the columns keep what they are used for.
    pub fn relearn(&self, batch: &RecordBatch, weights: Option<&[f64]>) -> Result<Self> {
        let mut statistics = Statistics::of_columns(self)?;
        statistics.add(batch, weights)?;
        Ok(self.relearn_of(&statistics))
    }

    /// The same from their statistics.
    pub(super) fn relearn_of(&self, statistics: &Statistics) -> Self {
        let mut learnt = self.clone();
        let how = How::new(self.missing, self.most_values, self.most_words);
        for (column, known) in learnt.columns.iter_mut().zip(&statistics.columns) {
            let parts = match &column.encoding {
                Encoding::Unused {} => continue,
                Encoding::Number { parts, .. } => parts.clone(),
                _ => Vec::new(),
            };
            column.encoding = how.encode(known, &parts);
        }
        learnt.choose_storage(statistics);
        learnt
    }

    /// Drops what is unused from a table whose columns are found by name.
    pub fn without_unused(mut self) -> Self {
        self.columns.retain(|c| !matches!(c.encoding, Encoding::Unused {}));
        self
    }

    /// The same for a table without names: columns are found by where they are.
    pub fn without_names(mut self) -> Self {
        self.columns.iter_mut().for_each(|c| c.name = None);
        self
    }

    /// Dense or sparse, whichever is clearly smaller. Sparse features keep their zeros because numbers are moved by what fills their gaps.
    fn choose_storage(&mut self, statistics: &Statistics) {
        let width = self.width();
        let mut stored = 0.0;
        for (column, known) in self.columns.iter().zip(&statistics.columns) {
            let gaps = known.missing as f64 / (known.missing + known.present).max(1) as f64;
            stored += match &column.encoding {
                Encoding::Unused {} => 0.0,
                Encoding::Number { parts, indicator, .. } => {
                    (1.0 - gaps) * (1 + parts.len()) as f64 + if *indicator { gaps } else { 0.0 }
                }
                Encoding::Words { indicator, .. } => {
                    let entries = known.words.as_ref().map_or(0, WordStatistics::entries);
                    entries as f64 / (known.missing + known.present).max(1) as f64 + if *indicator { gaps } else { 0.0 }
                }
                Encoding::Values { indicator, .. } => 1.0 + if *indicator { gaps } else { 0.0 },
            };
        }
        self.sparse = width >= FEWEST_SPARSE && width as f64 > SPARSE * stored;
        for column in &mut self.columns {
            if let Encoding::Number { fill, shift, .. } = &mut column.encoding {
                *shift = if self.sparse { fill.unwrap_or(0.0) } else { 0.0 };
            }
        }
    }

    /// The columns that it takes, in their order.
    pub fn columns(&self) -> &[PreparedColumn] {
        &self.columns
    }

    /// Texts and numbers besides the usual ones that stand for nothing.
    pub fn missing_words(&self) -> &[String] {
        &self.missing_words
    }

    /// What was done about gaps.
    pub fn missing(&self) -> Missing {
        self.missing
    }

    /// Features that are of comparable size already, and are not scaled: the words of free text.
    pub(crate) fn not_scaled(&self) -> impl Iterator<Item = Range<usize>> {
        self.columns.iter().scan(0, |first, column| {
            let from = *first;
            *first += column.encoding.width();
            Some(match &column.encoding {
                Encoding::Words { words, .. } => from..from + words.len(),
                _ => from..from,
            })
        })
    }

    /// How many features it makes.
    pub fn width(&self) -> usize {
        self.columns.iter().map(|c| c.encoding.width()).fold(0, usize::saturating_add)
    }

    /// Whether its features are the columns as they are, but for gaps.
    pub fn is_plain(&self) -> bool {
        self.columns.iter().all(|c| c.kind == Kind::Number && c.encoding.is_plain())
    }

    /// Names of the features: `age`, `town=Oslo`, `town=(other)`, `age=(missing)`.
    pub fn feature_names(&self) -> Vec<String> {
        let mut names = Vec::new();
        for (i, column) in self.columns.iter().enumerate() {
            let name = column.shown(i);
            let indicator = match &column.encoding {
                Encoding::Unused {} => false,
                Encoding::Number { parts, indicator, .. } => {
                    names.push(name.clone());
                    for part in parts {
                        names.extend((0..part.width()).map(|value| format!("{name}={}", part.value_name(value))));
                    }
                    *indicator
                }
                Encoding::Words { words, indicator, .. } => {
                    names.extend(words.iter().map(|word| format!("{name}:{word}")));
                    *indicator
                }
                Encoding::Values { values, others, indicator, .. } => {
                    names.extend(values.iter().map(|value| format!("{name}={value}")));
                    names.extend((!others.is_empty()).then(|| format!("{name}=(other)")));
                    *indicator
                }
            };
            names.extend(indicator.then(|| format!("{name}=(missing)")));
        }
        names
    }

    /// Why this cannot be one, if it comes from a file.
    pub(crate) fn defect(&self) -> Option<String> {
        let names: Vec<&String> = self.columns.iter().filter_map(|c| c.name.as_ref()).collect();
        if !names.is_empty() && names.len() != self.columns.len() {
            return Some("only some of its columns have names".into());
        }
        if self.most_values == 0 {
            return Some("it allows no values".into());
        }
        self.columns.iter().enumerate().find_map(|(i, column)| {
            let broken = |what: &str| Some(format!("column `{}` {what}", column.shown(i)));
            match &column.encoding {
                Encoding::Unused {} => None,
                Encoding::Number { .. } if column.kind == Kind::Text => broken("is of text and encoded as a number"),
                Encoding::Number { fill, shift, .. } if !(fill.unwrap_or(0.0).is_finite() && shift.is_finite()) => {
                    broken("is filled with what is no finite number")
                }
                Encoding::Number { parts, .. } if column.kind != Kind::Time && !parts.is_empty() => {
                    broken("is no time and has parts of one")
                }
                Encoding::Number { .. } => None,
                Encoding::Words { .. } if column.kind != Kind::Text => broken("is of numbers and encoded as words"),
                Encoding::Words { words, weights, .. } => {
                    let distinct: HashSet<&String> = words.iter().collect();
                    let sound = distinct.len() == words.len()
                        && weights.len() == words.len()
                        && weights.iter().all(|w| w.is_finite() && *w > 0.0 && *w < 1e100);
                    if sound { None } else { broken("has words without weights, or twice") }
                }
                Encoding::Values { .. } if column.kind != Kind::Text => broken("is of numbers and encoded as text"),
                Encoding::Values { values, others, fill, .. } => {
                    let distinct: HashSet<&String> = values.iter().chain(others).collect();
                    if distinct.len() != values.len() + others.len() {
                        return broken("has the same value twice");
                    }
                    let inside = fill.is_none_or(|k| k < values.len());
                    if inside { None } else { broken("is filled with a value that it does not have") }
                }
            }
        })
    }
}

impl Statistics {
    /// Of no rows, for the columns of a preprocessor.
    pub(super) fn of_columns(preprocessor: &Preprocessor) -> Result<Self> {
        let columns = preprocessor.columns.iter().enumerate();
        let columns = columns.map(|(i, c)| (c.shown(i), c.kind, matches!(c.encoding, Encoding::Words { .. })));
        Ok(Self::empty(columns, preprocessor.missing == Missing::Median, preprocessor.missing_words.clone()))
    }
}

/// How columns are encoded.
#[derive(Clone, Copy)]
struct How {
    missing: Missing,
    most_values: usize,
    most_words: usize,
}

impl How {
    fn new(missing: Missing, most_values: usize, most_words: usize) -> Self {
        Self { missing, most_values, most_words }
    }

    /// The encoding of a column, from what is known of it; `parts` are for times.
    fn encode(self, column: &ColumnStatistics, parts: &[TimePart]) -> Encoding {
        let indicator = self.missing == Missing::Indicator && column.missing > 0;
        let fills = !matches!(self.missing, Missing::Error | Missing::DropRows);
        if column.kind != Kind::Text {
            let fill = fills.then(|| column.centre(self.missing));
            let parts = if column.kind == Kind::Time { parts.to_vec() } else { Vec::new() };
            return Encoding::Number { fill, shift: 0.0, parts, indicator };
        }
        if let Some(words) = &column.words {
            let (words, weights) = words.weighed(self.most_words.max(1));
            return Encoding::Words { words, weights, indicator };
        }
        let sorted = column.sorted();
        let most_frequent = sorted.first().map(|(text, _)| text.to_string());
        let most_values = self.most_values.max(1);
        // Of one value too many, two would share a feature for no gain.
        let kept = if sorted.len() > most_values { most_values } else { sorted.len() };
        let take = |all: &[(&str, _)]| {
            let mut texts: Vec<String> = all.iter().map(|(text, _)| text.to_string()).collect();
            texts.sort_unstable();
            texts
        };
        let (values, others) = (take(&sorted[..kept]), take(&sorted[kept..]));
        let fill = most_frequent.filter(|_| fills).and_then(|text| values.iter().position(|v| *v == text));
        Encoding::Values { values, others, fill, indicator }
    }
}
