//! LIBSVM and SVMlight text: `label index:value ... # comment`, one row per line.

use std::io::BufRead;

use m3svm::Features;
use m3svm::memory::Meter;

use crate::compression::Input;
use crate::error::{CellProblem, ColumnRef, Place, Problem, short};
use crate::lines::Lines;
use crate::options::{Format, LabelUse, ReadOptions};
use crate::table::{Table, Take, checked};
use crate::value::{TEXT, not_finite, number, spelled};

/// Bytes of an entry: its index and its value.
const ENTRY: usize = 12;
/// Characters of the shortest entry, with the space before it.
const SHORTEST: usize = 4;
/// Bytes of the pointer to a row.
const POINTER: usize = 8;

pub(crate) fn read(input: Input, options: &ReadOptions, meter: &mut Meter) -> Result<Table, Problem> {
    read_rows(input, options, meter, u64::MAX, &mut |_, _| Ok(()))?.finish(options, true, meter)
}

/// Reads some rows at a time: so many that tables have about `bytes`. Indices count from 0 in all of them; whether the index 0 has
/// occurred is told in the end.
pub(crate) fn read_some(
    input: Input,
    options: &ReadOptions,
    meter: &mut Meter,
    bytes: u64,
    take: &mut Take<'_>,
) -> Result<bool, Problem> {
    let from_zero = ReadOptions { zero_based: Some(true), ..options.clone() };
    let mut zero = None;
    let mut each = |rows: Rows, meter: &mut Meter| {
        zero = zero.or(rows.zero);
        match zero.filter(|_| options.zero_based == Some(false)) {
            Some(line) => Err(Problem::Line { line, what: INDEX_ZERO.into() }),
            None => take(rows.finish(&from_zero, false, meter)?),
        }
    };
    let rest = read_rows(input, options, meter, bytes, &mut each)?;
    if rest.indptr.len() > 1 {
        each(rest, meter)?;
    }
    Ok(zero.is_some())
}

/// What is wrong with an index 0 where there should be none.
const INDEX_ZERO: &str = "found index 0, expected indices from 1";

/// Reads all rows; those that fill so many bytes are given away, the last ones returned.
fn read_rows(
    input: Input,
    options: &ReadOptions,
    meter: &mut Meter,
    bytes: u64,
    give: &mut dyn FnMut(Rows, &mut Meter) -> Result<(), Problem>,
) -> Result<Rows, Problem> {
    if options.features.is_some() {
        return Err(Problem::NotInFormat { what: "feature columns", format: Format::Libsvm });
    }
    if options.weight.is_some() {
        return Err(Problem::NotInFormat { what: "a weight column", format: Format::Libsvm });
    }
    if !options.keep.is_empty() {
        return Err(Problem::NotInFormat { what: "a column to keep", format: Format::Libsvm });
    }
    if options.group.is_some() {
        return Err(Problem::NotInFormat { what: "a group column", format: Format::Libsvm });
    }
    let mut rows = Rows { indptr: vec![0], ..Rows::default() };
    let mut held = 0;
    let mut reader = input.rows();
    let mut buffer = Vec::new();
    for line in 1.. {
        buffer.clear();
        if reader.read_until(b'\n', &mut buffer)? == 0 {
            break;
        }
        reader.get_mut().row_ended();
        let text = str::from_utf8(&buffer)
            .map_err(|_| Problem::Line { line, what: "the text is not UTF-8".into() })?
            .trim_start_matches('\u{feff}');
        let (before, entries) = (rows.indptr.len(), rows.indices.len());
        rows.reserve(text.len() / SHORTEST + 1, meter)?;
        rows.push(text.split('#').next().unwrap_or_default(), line)?;
        if rows.indptr.len() > before {
            let label = rows.labels.last().map_or(0, |label| label.len() + TEXT);
            let more = (ENTRY * (rows.indices.len() - entries) + POINTER + label) as u64;
            meter.add(more)?;
            held += more;
        }
        if held >= bytes {
            let labelled = !rows.labels.is_empty();
            give(std::mem::replace(&mut rows, Rows { indptr: vec![0], ..Rows::default() }), meter)?;
            rows.labelled = Some(labelled);
            meter.release(std::mem::take(&mut held));
        }
    }
    Ok(rows)
}

#[derive(Default)]
struct Rows {
    indptr: Vec<usize>,
    indices: Vec<u32>,
    values: Vec<f64>,
    labels: Vec<String>,
    /// The largest index and its line.
    largest: Option<(u32, u64)>,
    /// The line of the first index 0.
    zero: Option<u64>,
    /// Whether rows before these had labels.
    labelled: Option<bool>,
    lines: Lines,
}

impl Rows {
    /// Makes room for a line of so many entries.
    fn reserve(&mut self, entries: usize, meter: &Meter) -> Result<(), Problem> {
        meter.reserve(&mut self.indices, entries)?;
        meter.reserve(&mut self.values, entries)?;
        meter.reserve(&mut self.indptr, 1)?;
        Ok(meter.reserve(&mut self.labels, 1)?)
    }

    fn push(&mut self, text: &str, line: u64) -> Result<(), Problem> {
        let mut words = text.split_ascii_whitespace().peekable();
        let Some(first) = words.peek() else {
            return Ok(());
        };
        let rows = self.indptr.len() - 1;
        let labelled = !first.contains(':');
        let before = if rows > 0 { Some(!self.labels.is_empty()) } else { self.labelled };
        if before.is_some_and(|before| labelled != before) {
            let what = if labelled { "there is a label, but none in the first row" } else { "the label is missing" };
            return Err(Problem::Line { line, what: what.into() });
        }
        if let Some(label) = words.next_if(|_| labelled).map(|word| word.trim().to_string()) {
            // Spaces beyond ASCII, and a vertical tab, are words here and nothing in a label.
            if label.is_empty() {
                return Err(Problem::Line { line, what: "the label is empty".into() });
            }
            self.labels.push(label);
        }
        for word in words {
            let broken = || Problem::Line { line, what: format!("found {:?}, expected index:value", short(word)) };
            let (index, value) = word.split_once(':').ok_or_else(broken)?;
            if index == "qid" {
                continue;
            }
            let index: u32 = index.parse().map_err(|_| broken())?;
            let value = number(value).map_err(|problem| Problem::Cell {
                place: Place::Line(line),
                column: ColumnRef { index: 0, name: Some(index.to_string()) },
                problem,
            })?;
            if index == 0 {
                self.zero.get_or_insert(line);
            }
            if self.largest.is_none_or(|(largest, _)| index > largest) {
                self.largest = Some((index, line));
            }
            self.indices.push(index);
            self.values.push(value);
        }
        self.indptr.push(self.indices.len());
        self.lines.push(line);
        Ok(())
    }

    /// As the whole table, or a part of it.
    fn finish(mut self, options: &ReadOptions, whole: bool, meter: &mut Meter) -> Result<Table, Problem> {
        if whole {
            spelled(&mut self.labels);
        }
        if let Some(row) = not_finite(&self.labels) {
            let column = ColumnRef { index: 0, name: Some("label".into()) };
            let problem = CellProblem::NotFinite { found: short(&self.labels[row]) };
            return Err(Problem::Cell { place: Place::Line(self.lines.of(row)), column, problem });
        }
        // A model that was trained on indices from 0 says so by the names of its features.
        let names = options.expected.as_ref().and_then(|e| e.names.as_ref());
        let trained = names.filter(|n| n.first().is_some_and(|n| n == "0")).map(|_| true);
        let base = match (options.zero_based.or(trained), self.zero) {
            (Some(false), Some(line)) => {
                return Err(Problem::Line { line, what: INDEX_ZERO.into() });
            }
            (Some(true), _) | (None, Some(_)) => 0,
            (_, None) => 1,
        };
        self.indices.iter_mut().for_each(|i| *i -= base);
        let found = self.largest.map_or(0, |(largest, _)| (largest - base) as usize + 1);
        let cols = options.expected.as_ref().map_or(found, |e| e.count);
        if let Some((index, line)) = self.largest.filter(|_| found > cols) {
            let what = format!("index {index} is beyond the {cols} features of the model");
            return Err(Problem::Line { line, what });
        }
        if self.labels.is_empty() && self.indptr.len() > 1 && options.labels == LabelUse::Required {
            return Err(Problem::NoLabels { hint: "each line must start with one" });
        }
        let column = |index: usize| ColumnRef { index, name: Some((index + base as usize).to_string()) };
        let x = checked(Features::csr(self.indptr, self.indices, self.values, cols), column)?;
        let labels = Some(self.labels).filter(|l| !l.is_empty() && options.labels != LabelUse::Ignore);
        // Names that nobody could store are not worth their memory.
        let named = base == 0 && cols <= 1 << 24;
        meter.foresee(if named { (cols * TEXT) as u64 } else { 0 })?;
        let feature_names = named.then(|| (0..cols).map(|i| i.to_string()).collect());
        let label_name = labels.as_ref().map(|_| "label".to_string());
        Ok(Table { labels, label_name, feature_names, lines: Some(self.lines), ..Table::new(Format::Libsvm, x) })
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::options::Expected;
    use crate::read_from;

    fn parse(text: &str, options: &ReadOptions) -> Result<Table, String> {
        let bytes = std::io::Cursor::new(text.as_bytes().to_vec());
        read_from(bytes, "t.svm".as_ref(), options).map_err(|e| e.to_string())
    }

    #[test]
    fn rows_labels_and_comments_are_read() {
        let text = "# by hand\n+1 qid:3 1:0.5 3:2 # first\n\n-1\n2.0 2:1e1\r\n";
        let table = parse(text, &ReadOptions::default()).unwrap();
        assert_eq!(table.labels.clone().unwrap(), ["1", "-1", "2"]);
        assert_eq!((table.x.rows(), table.x.cols(), table.x.stored()), (3, 3, 3));
        assert_eq!((table.x.get(0, 2), table.x.get(2, 1)), (2.0, 10.0));
        assert_eq!([0, 1, 2].map(|row| table.place(row)), [2, 4, 5].map(Place::Line));
        let zero = parse("1 0:5 2:7\n2 1:1\n", &ReadOptions::default()).unwrap();
        assert_eq!((zero.x.cols(), zero.x.get(0, 0)), (3, 5.0));
    }

    #[test]
    fn a_model_trained_on_indices_from_0_reads_files_without_an_index_0() {
        let trained = parse("1 0:5 1:7\n2 1:1\n", &ReadOptions::default()).unwrap();
        let expected = Some(Expected { count: 2, names: trained.feature_names });
        let table = parse("1 1:-3\n", &ReadOptions { expected, ..Default::default() }).unwrap();
        assert_eq!((table.x.get(0, 0), table.x.get(0, 1)), (0.0, -3.0));
    }

    #[test]
    fn a_model_sets_the_number_of_features() {
        let expected = Some(Expected { count: 5, names: None });
        let options = ReadOptions { expected, labels: LabelUse::Optional, ..Default::default() };
        let table = parse("1:1 2:1\n3:1\n", &options).unwrap();
        assert_eq!((table.x.cols(), table.labels), (5, None));
        assert_eq!(
            parse("1 5:1\n1 6:1\n", &options).unwrap_err(),
            "t.svm: line 2: index 6 is beyond the 5 features of the model"
        );
    }

    #[test]
    fn bad_lines_are_named() {
        let error = |text: &str| parse(text, &ReadOptions::default()).unwrap_err();
        assert_eq!(error("1 1:1\n2 abc 1:3\n"), "t.svm: line 2: found \"abc\", expected index:value");
        assert_eq!(error("1 1:1\n2 -3:1\n"), "t.svm: line 2: found \"-3:1\", expected index:value");
        assert_eq!(error("1 1:1\n2 3:\n"), "t.svm: line 2, column \"3\": the cell is empty, expected a number");
        assert_eq!(error("1 1:1\n2 3:inf\n"), "t.svm: line 2, column \"3\": found inf, expected a finite number");
        assert_eq!(error("1 1:1\n1:3\n"), "t.svm: line 2: the label is missing");
        assert_eq!(error("1 1:1\n\u{b}\n"), "t.svm: line 2: the label is empty");
        assert_eq!(error("\u{a0} 1:1\n"), "t.svm: line 1: the label is empty");
        assert_eq!(error("1:3\n"), "t.svm: there are no labels; each line must start with one");
        assert_eq!(error("0 1:1\nnan 1:2\n"), "t.svm: line 2, column \"label\": found nan, expected a finite number");
        assert_eq!(error("# 1:1 nothing\n"), "t.svm: the table has no rows");
    }
}
