//! CSV, TSV and other delimited text, streamed into one vector.

use std::collections::HashMap;
use std::io::{BufReader, Chain, Read};
use std::sync::Arc;

use ::csv::{ByteRecord, ReaderBuilder};
use arrow_array::ArrayRef;
use arrow_array::builder::StringBuilder;
use encoding_rs::Encoding;
use m3svm::memory::{Meter, numbers};
use m3svm::{Features, Kind, Missing, Preparation};

use crate::columns::{Columns, Selection};
use crate::compression::{self, Input};
use crate::error::{BadColumn, CellProblem, Place, Problem, short};
use crate::layout::Layout;
use crate::lines::Lines;
use crate::mixed::Mixed;
use crate::options::{Column, Format, ReadOptions};
use crate::sign::Sign;
use crate::table::{Table, Take, checked, kept_columns, nothing};
use crate::value::{DateOrder, NumberStyle, TEXT, days_in, not_finite, spelled};

pub(crate) fn read(input: Input, options: &ReadOptions, meter: &mut Meter) -> Result<Table, Problem> {
    let mut whole = None;
    read_some(input, options, meter, u64::MAX, &mut |table| {
        whole = Some(table);
        Ok(())
    })?;
    whole.ok_or(Problem::NoRows)
}

/// Reads some rows at a time: so many that tables have about `bytes`.
pub(crate) fn read_some(
    input: Input,
    options: &ReadOptions,
    meter: &mut Meter,
    bytes: u64,
    take: &mut Take<'_>,
) -> Result<(), Problem> {
    let (layout, input) = Layout::of(input.decoded(options.encoding)?, options)?;
    let mut records = Records::new(input.rows(), &layout, options);
    let Some(first) = records.next()?.cloned() else {
        return Err(Problem::Empty);
    };
    let second = records.next()?.cloned();
    let header = match options.header {
        Some(header) => header,
        None => layout.is_header(&first, second.as_ref(), options)?,
    };
    if let Some(what) = layout.remark().filter(|_| options.preparation.is_some()) {
        return Err(Problem::Line { line: 1, what: what.into() });
    }
    let names = if header { Some(header_names(&first)?) } else { None };
    let columns = Columns::new(names.as_deref(), first.len());
    let selection = columns.select(options)?;
    let mut rows = Rows::new(&columns, &selection, &layout, header, options, meter)?;
    if !header {
        rows.push(&first)?;
    }
    match second {
        Some(second) => rows.push(&second)?,
        None if header => {
            // Rows that are all of another length say more than that there are none.
            let ragged =
                records.ragged.take().filter(|problem| matches!(problem, Problem::Ragged { more, .. } if *more > 0));
            return Err(ragged.unwrap_or(Problem::HeaderOnly));
        }
        None => {}
    }
    while let Some(record) = records.next()? {
        if rows.fill(bytes) {
            take(rows.table(options, false)?)?;
        }
        rows.push(record)?;
    }
    let last = rows.table(options, bytes == u64::MAX);
    match (records.ragged.take(), last) {
        (None, last) => take(last?),
        (Some(ragged), Err(bad @ Problem::BadCells { .. })) => Err(Problem::Several { problems: vec![ragged, bad] }),
        (Some(ragged), _) => Err(ragged),
    }
}

/// Records of one length; blank lines are left out.
struct Records {
    reader: ::csv::Reader<Ended>,
    record: ByteRecord,
    width: Option<usize>,
    /// Cells before a delimiter at the end of rows.
    trailing: Option<usize>,
    crlf: bool,
    /// Whether the first record is none.
    skips_first: bool,
    /// Whether records of other lengths are counted and left out, to be told with all else that is wrong.
    collects: bool,
    ragged: Option<Problem>,
}

/// The content with a newline at its end, so that every record has one, and with a mark behind that: a record that holds both has a
/// quote that was never closed.
type Ended = Chain<BufReader<compression::Rows>, &'static [u8]>;

const END: &[u8] = b"\n\0\0\0\0\0\0\0\0";
const END_CRLF: &[u8] = b"\r\n\0\0\0\0\0\0\0\0";

impl Records {
    fn new(reader: BufReader<compression::Rows>, layout: &Layout, options: &ReadOptions) -> Self {
        let Layout { delimiter, crlf, trailing, says_delimiter, .. } = *layout;
        let reader = ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .delimiter(delimiter)
            .comment(options.comment)
            .from_reader(reader.chain(if crlf { END_CRLF } else { END }));
        let (record, collects) = (ByteRecord::new(), options.preparation.is_some());
        Self { reader, record, width: None, trailing, crlf, skips_first: says_delimiter, collects, ragged: None }
    }

    fn next(&mut self) -> Result<Option<&ByteRecord>, Problem> {
        loop {
            let more = self.reader.read_byte_record(&mut self.record).map_err(|e| match e.into_kind() {
                ::csv::ErrorKind::Io(e) => e.into(),
                other => Problem::Broken { format: Format::Csv, what: format!("{other:?}") },
            })?;
            if !more || self.at_end()? {
                return Ok(None);
            }
            self.reader.get_mut().get_mut().0.get_mut().row_ended();
            if std::mem::take(&mut self.skips_first) {
                continue;
            }
            // The reader says where a record starts before it skips blank lines, so count back from the end, where
            // it has seen the newline, but only the first half of CRLF.
            let mut end = self.reader.position().clone();
            end.set_line(end.line() - u64::from(!self.crlf).min(end.line() - 1));
            self.record.set_position(Some(end));
            if let Some(width) = self.trailing.filter(|width| self.record.len() == width + 1)
                && self.record.iter().next_back().is_some_and(|cell| cell.trim_ascii().is_empty())
            {
                let position = self.record.position().cloned();
                self.record.truncate(width);
                self.record.set_position(position);
            }
            let found = self.record.len();
            if found == 1 && self.record[0].trim_ascii().is_empty() {
                continue;
            }
            let expected = *self.width.get_or_insert(found);
            if found != expected {
                let line = line(&self.record);
                if !self.collects {
                    return Err(Problem::Ragged { line, expected, found, more: 0 });
                }
                match &mut self.ragged {
                    Some(Problem::Ragged { more, .. }) => *more += 1,
                    _ => self.ragged = Some(Problem::Ragged { line, expected, found, more: 0 }),
                }
                continue;
            }
            return Ok(Some(&self.record));
        }
    }

    /// Whether the record is the mark at the end; an error if the mark stands inside quotes.
    fn at_end(&self) -> Result<bool, Problem> {
        let position = self.reader.position();
        let newline = if self.crlf { 2 } else { 1 };
        let length = self.reader.get_ref().get_ref().0.get_ref().length();
        if length.is_none_or(|length| position.byte() <= length + newline) {
            return Ok(false);
        }
        if !self.record.as_slice().contains(&b'\n') {
            return Ok(true);
        }
        // All that follows the quote is in the last cell.
        let last = self.record.iter().next_back().unwrap_or_default();
        let line = position.line() - last.iter().filter(|b| **b == b'\n').count() as u64;
        Err(Problem::Line { line, what: "the quote that begins here is never closed".into() })
    }
}

/// The line where a record starts; its position is where it ends.
fn line(record: &ByteRecord) -> u64 {
    let inside = record.as_slice().iter().filter(|b| **b == b'\n').count() as u64;
    record.position().map_or(1, |p| p.line().saturating_sub(inside).max(1))
}

/// The features of the rows so far.
enum FeatureCells {
    /// Numbers and nothing else.
    Numbers(Vec<f64>),
    /// Columns of every kind.
    Mixed(Mixed),
}

/// The chosen cells of the rows so far.
struct Rows<'a> {
    columns: &'a Columns<'a>,
    selection: &'a Selection,
    meter: &'a mut Meter,
    preparation: Option<Preparation>,
    /// Whether the rows are for training.
    trains: bool,
    style: NumberStyle,
    /// What stands beside the numbers of the features.
    signs: Vec<Option<Sign>>,
    dates: Option<DateOrder>,
    features: FeatureCells,
    labels: Vec<String>,
    weights: Vec<f64>,
    groups: Vec<String>,
    /// Cells of the columns to keep.
    kept: Vec<StringBuilder>,
    /// Columns with cells that are not what the others are.
    bad: HashMap<usize, BadColumn>,
    /// Rows without a label that were left out.
    unlabelled: usize,
    count: usize,
    lines: Lines,
    /// The encoding that was assumed.
    encoding: Option<&'static str>,
    /// Whether columns of every kind are wanted in parts.
    in_parts: bool,
    /// Bytes that were held, and whether these are the first rows.
    held: u64,
    first: bool,
}

impl<'a> Rows<'a> {
    fn new(
        columns: &'a Columns<'a>,
        selection: &'a Selection,
        layout: &Layout,
        header: bool,
        options: &ReadOptions,
        meter: &'a mut Meter,
    ) -> Result<Self, Problem> {
        let style = layout.style;
        let mut preparation = options.preparation.clone();
        let features = match (&options.preprocessor, &mut preparation) {
            (Some(model), _) => {
                let kinds = model.columns().iter().map(|c| c.kind).collect();
                let missing_words = model.missing_words().to_vec();
                preparation = Some(Preparation { missing_words, ..Preparation::default() });
                FeatureCells::Mixed(Mixed::new(kinds, false))
            }
            (None, Some(preparation)) => {
                let (mut kinds, mut undecided) = layout.kinds(&selection.features, header, preparation);
                let names: Vec<Column> =
                    preparation.categories.iter().chain(&preparation.text).map(|name| name.as_str().into()).collect();
                let texts = columns.find_all(&names, "column")?;
                for (j, _) in selection.features.iter().enumerate().filter(|(_, i)| texts.contains(i)) {
                    (kinds[j], undecided[j]) = (Kind::Text, false);
                }
                let known = options.unprepared.as_ref().and_then(|how| how.kinds.clone());
                if let Some(known) = known.filter(|known| known.len() == kinds.len()) {
                    undecided.fill(false);
                    kinds = known;
                }
                FeatureCells::Mixed(Mixed::new(kinds, false).with_undecided(undecided, style))
            }
            (None, None) => FeatureCells::Numbers(Vec::new()),
        };
        let signs = match (&features, &preparation) {
            (FeatureCells::Mixed(mixed), Some(preparation)) => {
                let sign = |(kind, &i): (&Kind, &usize)| match kind {
                    Kind::Number => layout.sign(i, header, preparation),
                    _ => None,
                };
                mixed.kinds().iter().zip(&selection.features).map(sign).collect()
            }
            _ => vec![None; selection.features.len()],
        };
        let (labels, weights, groups) = (Vec::new(), Vec::new(), Vec::new());
        let kept = selection.keep.iter().map(|_| StringBuilder::new()).collect();
        let (bad, lines, trains) = (HashMap::new(), Lines::default(), options.preparation.is_some());
        Ok(Self {
            columns,
            selection,
            meter,
            preparation,
            trains,
            style,
            signs,
            dates: layout.dates,
            features,
            labels,
            weights,
            groups,
            kept,
            bad,
            unlabelled: 0,
            count: 0,
            lines,
            encoding: layout.assumed.map(Encoding::name),
            in_parts: options.unprepared.is_some() || options.preprocessor.is_some(),
            held: 0,
            first: true,
        })
    }

    /// Whether there are so many rows. What is prepared is prepared as a whole.
    fn fill(&self, bytes: u64) -> bool {
        let is_plain = matches!(self.features, FeatureCells::Numbers(_)) || self.in_parts;
        is_plain && numbers(self.count, self.selection.features.len() + 1) >= bytes
    }

    /// The rows so far as a table: the `whole` one, or one of many. What comes next is another one.
    fn table(&mut self, options: &ReadOptions, whole: bool) -> Result<Table, Problem> {
        let (columns, selection) = (self.columns, self.selection);
        self.meter.release(std::mem::take(&mut self.held));
        self.first = false;
        let features = match &self.features {
            FeatureCells::Numbers(_) => FeatureCells::Numbers(Vec::new()),
            FeatureCells::Mixed(mixed) => FeatureCells::Mixed(mixed.emptied()),
        };
        let features = std::mem::replace(&mut self.features, features);
        let (mut labels, mut groups) = (std::mem::take(&mut self.labels), std::mem::take(&mut self.groups));
        let (weights, bad) = (std::mem::take(&mut self.weights), std::mem::take(&mut self.bad));
        let (lines, count) = (std::mem::take(&mut self.lines), std::mem::take(&mut self.count));
        if !bad.is_empty() {
            let columns =
                selection.features.iter().chain(&selection.label).filter_map(|i| bad.get(i).cloned()).collect();
            return Err(Problem::BadCells { columns });
        }
        if whole {
            spelled(&mut labels);
            spelled(&mut groups);
        }
        for (at, texts) in [(selection.label, &labels), (selection.group, &groups)] {
            if let Some((i, row)) = at.zip(not_finite(texts)) {
                let problem = CellProblem::NotFinite { found: short(&texts[row]) };
                return Err(Problem::Cell { place: Place::Line(lines.of(row)), column: columns.reference(i), problem });
            }
        }
        if self.trains && selection.label_last {
            columns.check_label(selection.label, &labels)?;
        }
        let kept = selection.keep.iter().zip(&mut self.kept);
        let kept = kept.map(|(&i, cells)| (columns.label_name(i), Arc::new(cells.finish()) as ArrayRef)).collect();
        let kept = kept_columns(kept)?;
        let column = |j: usize| columns.reference(selection.features[j]);
        let signs = self.signs_of_columns();
        let table = |x| Table {
            feature_names: columns.names_of(&selection.features),
            label_name: selection.label.map(|i| columns.label_name(i)),
            label_guessed: selection.label_guessed,
            labels: selection.label.map(|_| labels),
            weights: selection.weight.map(|_| weights.clone()),
            lines: Some(lines),
            groups: selection.group.map(|_| groups),
            kept,
            dropped: std::mem::take(&mut self.unlabelled),
            assumed_encoding: self.encoding,
            signs: signs.clone(),
            ..Table::new(Format::Csv, x)
        };
        match features {
            FeatureCells::Numbers(values) => {
                let x = checked(Features::dense(values, count, selection.features.len()), column)?;
                Ok(table(x))
            }
            FeatureCells::Mixed(mixed) => {
                let weights = selection.weight.map(|_| weights.as_slice());
                // What a part takes on its way to features is given back with it.
                let before = self.meter.clone();
                let done = mixed.finish(columns, &selection.features, weights, options, self.meter)?;
                if !whole {
                    *self.meter = before;
                }
                Ok(table(nothing()?).with_done(done))
            }
        }
    }

    /// The signs with the columns that they were taken off.
    fn signs_of_columns(&self) -> Vec<(String, String)> {
        let columns = self.selection.features.iter().zip(&self.signs);
        let named =
            columns.filter_map(|(&i, sign)| Some((self.columns.label_name(i), sign.as_ref()?.text().to_string())));
        named.collect()
    }

    fn push(&mut self, record: &ByteRecord) -> Result<(), Problem> {
        let bad = |i: usize, problem| {
            let place = Place::Line(line(record));
            Problem::Cell { place, column: self.columns.reference(i), problem }
        };
        let text = |i: usize| str::from_utf8(&record[i]).map_err(|_| bad(i, CellProblem::NotUtf8));
        let value = |i: usize| self.style.number(text(i)?).map_err(|e| bad(i, e));
        let Selection { label, weight, group, .. } = self.selection;
        let texts = label.iter().chain(group).map(|&i| (record[i].len() + TEXT) as u64).sum::<u64>();
        let missing = |cell: &str| self.preparation.as_ref().is_some_and(|p| p.is_missing(cell));
        if let Some(i) = self.selection.label {
            let label = text(i)?.trim();
            // Where a model is applied, what its training has not seen is no class of it, and nothing is left out.
            let given = !(label.is_empty() || (self.trains && missing(label)));
            let drops = self.preparation.as_ref().is_some_and(|p| p.missing == Missing::DropRows);
            match (given, drops) {
                (true, _) => {
                    self.meter.reserve(&mut self.labels, 1)?;
                    self.labels.push(label.to_string());
                }
                (false, true) => {
                    self.unlabelled += 1;
                    return Ok(());
                }
                (false, false) => {
                    let problem = match label.is_empty() {
                        true => CellProblem::EmptyLabel,
                        false => CellProblem::MissingLabel { found: label.into() },
                    };
                    if !self.trains {
                        return Err(bad(i, problem));
                    }
                    let (column, place) = (self.columns.reference(i), Place::Line(line(record)));
                    let first = || BadColumn { column, cells: 0, place, problem };
                    self.bad.entry(i).or_insert_with(first).cells += 1;
                    self.labels.push(String::new());
                }
            }
        }
        match &mut self.features {
            FeatureCells::Numbers(values) => {
                let bytes = numbers(1, self.selection.features.len() + weight.iter().len()) + texts;
                self.meter.add(bytes)?;
                self.held += bytes;
                self.meter.reserve(values, self.selection.features.len())?;
                for &i in &self.selection.features {
                    values.push(value(i).map_err(|e| hint(e, self.first && self.count == 0))?);
                }
            }
            FeatureCells::Mixed(mixed) => {
                let mut bytes = texts + numbers(1, weight.iter().len());
                mixed.reserve(1, self.meter)?;
                let mut texts = 0;
                for (j, &i) in self.selection.features.iter().enumerate() {
                    let cell = text(i)?;
                    let given = Some(cell.trim()).filter(|cell| !missing(cell));
                    let found = match (mixed.kinds()[j], given) {
                        (Kind::Text, _) => {
                            bytes += mixed.push_text(texts, given)?;
                            texts += 1;
                            continue;
                        }
                        (_, None) => Ok(f64::NAN),
                        (Kind::Number, Some(cell)) => match &self.signs[j] {
                            None => self.style.number(cell),
                            Some(sign) => match sign.without(cell) {
                                Some(bare) => self.style.number(&bare),
                                None => Err(CellProblem::NotANumber { found: short(cell) }),
                            },
                        },
                        (Kind::Time, Some(cell)) => {
                            days_in(cell, self.dates).ok_or_else(|| CellProblem::NotADate { found: short(cell) })
                        }
                    };
                    let value = found.unwrap_or_else(|problem| {
                        let (column, place) = (self.columns.reference(i), Place::Line(line(record)));
                        let first = || BadColumn { column, cells: 0, place, problem };
                        self.bad.entry(i).or_insert_with(first).cells += 1;
                        f64::NAN
                    });
                    mixed.push_number(value);
                    bytes += numbers(1, 1);
                }
                self.meter.add(bytes)?;
                self.held += bytes;
                mixed.row_ended();
            }
        }
        if let Some(i) = self.selection.weight {
            self.weights.push(value(i)?);
        }
        if let Some(i) = self.selection.group {
            let group = text(i)?.trim();
            if group.is_empty() {
                return Err(bad(i, CellProblem::EmptyGroup));
            }
            self.groups.push(group.to_string());
        }
        for (&i, cells) in self.selection.keep.iter().zip(&mut self.kept) {
            let cell = text(i)?;
            self.meter.add((cell.len() + TEXT) as u64)?;
            self.held += (cell.len() + TEXT) as u64;
            cells.append_value(cell);
        }
        self.count += 1;
        self.lines.push(line(record));
        Ok(())
    }
}

/// Text in the first row speaks of a text column rather than of one bad cell.
fn hint(problem: Problem, first_row: bool) -> Problem {
    match problem {
        Problem::Cell { place, column, problem: CellProblem::NotANumber { found } } if first_row => {
            Problem::Cell { place, column, problem: CellProblem::TextColumn { found } }
        }
        other => other,
    }
}

fn header_names(record: &ByteRecord) -> Result<Vec<String>, Problem> {
    let name = |cell: &[u8]| str::from_utf8(cell).map(|s| s.trim().to_string());
    record
        .iter()
        .map(name)
        .collect::<Result<_, _>>()
        .map_err(|_| Problem::Line { line: line(record), what: "the column names are not UTF-8".into() })
}

#[cfg(test)]
#[path = "csv_tests.rs"]
mod tests;
