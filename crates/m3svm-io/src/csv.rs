//! CSV, TSV and other delimited text, streamed into one vector.

use std::io::{BufRead, Read};

use ::csv::{ByteRecord, ReaderBuilder};
use m3svm::Features;

use crate::columns::{Columns, LABEL_NAMES, Selection};
use crate::compression::Input;
use crate::error::{CellProblem, Place, Problem};
use crate::lines::Lines;
use crate::options::{Column, Format, ReadOptions};
use crate::table::{Table, checked};
use crate::value::{canonical_label, number};

pub(crate) fn read(input: Input, options: &ReadOptions) -> Result<Table, Problem> {
    let delimiter = options.delimiter.unwrap_or_else(|| match input.extension.as_str() {
        "tsv" => b'\t',
        _ => guess_delimiter(&input.head),
    });
    let crlf = input.head.split(|b| *b == b'\n').next().is_some_and(|l| l.ends_with(b"\r"));
    let mut records = Records::new(input.reader(), delimiter, crlf);
    let Some(first) = records.next()?.cloned() else {
        return Err(Problem::Empty);
    };
    let second = records.next()?.cloned();
    let header = options.header.unwrap_or_else(|| is_header(&first, second.as_ref(), options));
    let names = if header { Some(header_names(&first)?) } else { None };
    let columns = Columns::new(names.as_deref(), first.len());
    let selection = columns.select(options)?;
    let mut rows = Rows::new(&columns, &selection);
    if !header {
        rows.push(&first)?;
    }
    match second {
        Some(second) => rows.push(&second)?,
        None if header => return Err(Problem::HeaderOnly),
        None => {}
    }
    while let Some(record) = records.next()? {
        rows.push(record)?;
    }
    let Rows { values, labels, weights, groups, count, lines, .. } = rows;
    let column = |j: usize| columns.reference(selection.features[j]);
    let x = checked(Features::dense(values, count, selection.features.len()), column)?;
    Ok(Table {
        feature_names: columns.names_of(&selection.features),
        label_name: selection.label.map(|i| columns.label_name(i)),
        label_guessed: selection.label_guessed,
        labels: selection.label.map(|_| labels),
        weights: selection.weight.map(|_| weights),
        lines: Some(lines),
        groups: selection.group.map(|_| groups),
        ..Table::new(Format::Csv, x)
    })
}

/// Records of one length; blank lines are left out.
struct Records<R> {
    reader: ::csv::Reader<R>,
    record: ByteRecord,
    width: Option<usize>,
    crlf: bool,
}

/// The content with a newline at its end, so that every record has one.
type Ended<R> = std::io::Chain<R, &'static [u8]>;

impl<R: BufRead> Records<Ended<R>> {
    fn new(reader: R, delimiter: u8, crlf: bool) -> Self {
        let reader = ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .delimiter(delimiter)
            .from_reader(reader.chain(if crlf { b"\r\n".as_slice() } else { b"\n" }));
        Self { reader, record: ByteRecord::new(), width: None, crlf }
    }

    fn next(&mut self) -> Result<Option<&ByteRecord>, Problem> {
        loop {
            let more = self.reader.read_byte_record(&mut self.record).map_err(|e| match e.into_kind() {
                ::csv::ErrorKind::Io(e) => Problem::Io(e),
                other => Problem::Broken { format: Format::Csv, what: format!("{other:?}") },
            })?;
            if !more {
                return Ok(None);
            }
            // The reader says where a record starts before it skips blank lines, so count back from the end, where
            // it has seen the newline, but only the first half of CRLF.
            let mut end = self.reader.position().clone();
            end.set_line(end.line() - u64::from(!self.crlf).min(end.line() - 1));
            self.record.set_position(Some(end));
            let found = self.record.len();
            if found == 1 && self.record[0].trim_ascii().is_empty() {
                continue;
            }
            let expected = *self.width.get_or_insert(found);
            if found != expected {
                return Err(Problem::Ragged { line: line(&self.record), expected, found });
            }
            return Ok(Some(&self.record));
        }
    }
}

/// The line where a record starts; its position is where it ends.
fn line(record: &ByteRecord) -> u64 {
    let inside = record.as_slice().iter().filter(|b| **b == b'\n').count() as u64;
    record.position().map_or(1, |p| p.line().saturating_sub(inside).max(1))
}

/// The chosen cells of the rows so far.
struct Rows<'a> {
    columns: &'a Columns<'a>,
    selection: &'a Selection,
    values: Vec<f64>,
    labels: Vec<String>,
    weights: Vec<f64>,
    groups: Vec<String>,
    count: usize,
    lines: Lines,
}

impl<'a> Rows<'a> {
    fn new(columns: &'a Columns<'a>, selection: &'a Selection) -> Self {
        let (values, labels, weights, groups) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { columns, selection, values, labels, weights, groups, count: 0, lines: Lines::default() }
    }

    fn push(&mut self, record: &ByteRecord) -> Result<(), Problem> {
        let bad = |i: usize, problem| {
            let place = Place::Line(line(record));
            Problem::Cell { place, column: self.columns.reference(i), problem }
        };
        let text = |i: usize| str::from_utf8(&record[i]).map_err(|_| bad(i, CellProblem::NotUtf8));
        let value = |i: usize| number(text(i)?).map_err(|e| bad(i, e));
        for &i in &self.selection.features {
            self.values.push(value(i).map_err(|e| hint(e, self.count == 0))?);
        }
        if let Some(i) = self.selection.label {
            let label = canonical_label(text(i)?);
            if label.is_empty() {
                return Err(bad(i, CellProblem::EmptyLabel));
            }
            self.labels.push(label);
        }
        if let Some(i) = self.selection.weight {
            self.weights.push(value(i)?);
        }
        if let Some(i) = self.selection.group {
            let group = canonical_label(text(i)?);
            if group.is_empty() {
                return Err(bad(i, CellProblem::EmptyGroup));
            }
            self.groups.push(group);
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

/// Whether the first record holds names: nothing in it is a number, or it has text above a number, or a name asked for.
fn is_header(first: &ByteRecord, second: Option<&ByteRecord>, options: &ReadOptions) -> bool {
    let numeric = |cell: &[u8]| str::from_utf8(cell).is_ok_and(|s| s.trim().parse::<f64>().is_ok());
    let blank = |cell: &[u8]| cell.trim_ascii().is_empty();
    let above =
        |second: &ByteRecord| first.iter().zip(second.iter()).any(|(a, b)| !blank(a) && !numeric(a) && numeric(b));
    let asked =
        options.label.iter().chain(&options.weight).chain(&options.group).chain(options.features.iter().flatten());
    let expected = options.expected.iter().filter_map(|e| e.names.as_ref()).flatten();
    // `y` is left out here: it may as well be an answer as a name.
    let usual = LABEL_NAMES.iter().copied().filter(|n| *n != "y");
    let mut names = asked.filter_map(Column::name).chain(expected.map(String::as_str));
    let is_name = |cell: &[u8]| !blank(cell) && !numeric(cell);
    let named = |name: &str| first.iter().any(|c| is_name(c) && c.trim_ascii() == name.as_bytes());
    let usually = |name: &str| first.iter().any(|c| c.trim_ascii().eq_ignore_ascii_case(name.as_bytes()));
    !first.iter().any(numeric) || second.is_some_and(above) || names.any(named) || usual.into_iter().any(usually)
}

/// The most frequent of the usual delimiters in the first line, outside quotes.
fn guess_delimiter(head: &[u8]) -> u8 {
    let line = head.split(|b| *b == b'\n').find(|l| !l.trim_ascii().is_empty()).unwrap_or_default();
    let mut quoted = false;
    let mut counts = [(b',', 0), (b'\t', 0), (b';', 0), (b'|', 0)];
    for byte in line.bytes().map_while(Result::ok) {
        quoted ^= byte == b'"';
        if let Some((_, count)) = counts.iter_mut().find(|(d, _)| *d == byte && !quoted) {
            *count += 1;
        }
    }
    // The first one wins a tie, so that a line without any is one column of a CSV file.
    counts.into_iter().rev().max_by_key(|(_, count)| *count).map_or(b',', |(d, _)| d)
}

#[cfg(test)]
#[path = "csv_tests.rs"]
mod tests;
