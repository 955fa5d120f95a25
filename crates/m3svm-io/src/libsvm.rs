//! LIBSVM and SVMlight text: `label index:value ... # comment`, one row per line.

use std::io::BufRead;

use m3svm::Features;

use crate::compression::Input;
use crate::error::{ColumnRef, Place, Problem, short};
use crate::lines::Lines;
use crate::options::{Format, LabelUse, ReadOptions};
use crate::table::{Table, checked};
use crate::value::{canonical_label, number};

pub(crate) fn read(input: Input, options: &ReadOptions) -> Result<Table, Problem> {
    if options.features.is_some() {
        return Err(Problem::NotInFormat { what: "feature columns", format: Format::Libsvm });
    }
    if options.weight.is_some() {
        return Err(Problem::NotInFormat { what: "a weight column", format: Format::Libsvm });
    }
    if options.group.is_some() {
        return Err(Problem::NotInFormat { what: "a group column", format: Format::Libsvm });
    }
    let mut rows = Rows { indptr: vec![0], ..Rows::default() };
    let mut reader = input.reader();
    let mut buffer = Vec::new();
    for line in 1.. {
        buffer.clear();
        if reader.read_until(b'\n', &mut buffer)? == 0 {
            break;
        }
        let text = str::from_utf8(&buffer)
            .map_err(|_| Problem::Line { line, what: "the text is not UTF-8".into() })?
            .trim_start_matches('\u{feff}');
        rows.push(text.split('#').next().unwrap_or_default(), line)?;
    }
    rows.finish(options)
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
    lines: Lines,
}

impl Rows {
    fn push(&mut self, text: &str, line: u64) -> Result<(), Problem> {
        let mut words = text.split_ascii_whitespace().peekable();
        let Some(first) = words.peek() else {
            return Ok(());
        };
        let rows = self.indptr.len() - 1;
        let labelled = !first.contains(':');
        if rows > 0 && labelled == self.labels.is_empty() {
            let what = if labelled { "there is a label, but none in the first row" } else { "the label is missing" };
            return Err(Problem::Line { line, what: what.into() });
        }
        if labelled {
            self.labels.extend(words.next().map(canonical_label));
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

    fn finish(mut self, options: &ReadOptions) -> Result<Table, Problem> {
        // A model that was trained on indices from 0 says so by the names of its features.
        let names = options.expected.as_ref().and_then(|e| e.names.as_ref());
        let trained = names.filter(|n| n.first().is_some_and(|n| n == "0")).map(|_| true);
        let base = match (options.zero_based.or(trained), self.zero) {
            (Some(false), Some(line)) => {
                return Err(Problem::Line { line, what: "found index 0, expected indices from 1".into() });
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
        let feature_names = (base == 0 && cols <= 1 << 24).then(|| (0..cols).map(|i| i.to_string()).collect());
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
        assert_eq!(error("1:3\n"), "t.svm: there are no labels; each line must start with one");
        assert_eq!(error("# 1:1 nothing\n"), "t.svm: the table has no rows");
    }
}
