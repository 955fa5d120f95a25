//! How a delimited text file is laid out, found out from its start: delimiter, names of columns, signs of numbers, and what columns hold.

use std::borrow::Cow;

use ::csv::{ByteRecord, ReaderBuilder};
use encoding_rs::{Encoding, WINDOWS_1252};
use m3svm::{Kind, Preparation};

use crate::columns::LABEL_NAMES;
use crate::compression::{HEAD, Input};
use crate::error::Problem;
use crate::options::{Column, ReadOptions};
use crate::sign::Sign;
use crate::value::{DateOrder, NumberStyle, days_in};

/// Rows of the start that are looked at.
const SAMPLE: usize = 1000;
/// Rows that have to look alike before spaces are taken for what separates columns.
const ALIKE: usize = 50;

/// The layout of a file.
#[derive(Debug)]
pub(crate) struct Layout {
    pub(crate) delimiter: u8,
    pub(crate) crlf: bool,
    /// The number of cells in a row, if rows end with a delimiter that separates nothing.
    pub(crate) trailing: Option<usize>,
    pub(crate) style: NumberStyle,
    /// The order of dates with slashes, if there are any that can be read.
    pub(crate) dates: Option<DateOrder>,
    /// Whether the first line is one that spreadsheets write to say what separates columns: `sep=;`.
    pub(crate) says_delimiter: bool,
    /// The encoding that was taken because the text is not UTF-8.
    pub(crate) assumed: Option<&'static Encoding>,
    sample: Vec<ByteRecord>,
}

/// What the cells of a column look like.
#[derive(Clone, Copy, Debug, Default)]
struct Look {
    present: usize,
    numbers: usize,
    times: usize,
}

impl Layout {
    /// Looks at the start; spaces that separate columns are made tabs on the way.
    pub(crate) fn of(input: Input, options: &ReadOptions) -> Result<(Self, Input), Problem> {
        let assumed =
            if is_utf8(&input.head) { None } else { Some(WINDOWS_1252).filter(|_| options.encoding.is_none()) };
        let prepared = options.preparation.is_some() || options.expected.is_some();
        let assumed = assumed.filter(|_| prepared);
        let input = if assumed.is_some() { input.decoded(assumed)? } else { input };
        let delimiter = options.delimiter.unwrap_or_else(|| match input.extension.as_str() {
            "tsv" => b'\t',
            _ => match guess_delimiter(&input.head, options.comment) {
                b' ' if !prepared => b',',
                guessed => guessed,
            },
        });
        let spaces = delimiter == b' ';
        let (input, delimiter) = if spaces { (input.squeezed()?, b'\t') } else { (input, delimiter) };
        let crlf = input.head.split(|b| *b == b'\n').next().is_some_and(|l| l.ends_with(b"\r"));
        let says_delimiter = says_delimiter(&input.head);
        let mut sample = sample(&input.head, delimiter, options.comment);
        sample.drain(..usize::from(says_delimiter && !sample.is_empty()));
        let trailing = if prepared { trailing(&sample) } else { None };
        let mut layout = Self {
            delimiter,
            crlf,
            trailing,
            style: NumberStyle::default(),
            dates: options.dates,
            says_delimiter,
            assumed,
            sample,
        };
        layout.style = layout.style_of(options, prepared)?;
        if options.dates.is_none() && prepared {
            layout.dates = layout.date_order()?;
        }
        Ok((layout, input))
    }

    /// The order of dates with slashes, by those that can be read in one way only.
    fn date_order(&self) -> Result<Option<DateOrder>, Problem> {
        let mut found = [0, 0];
        let mut doubtful = 0;
        for cell in
            self.rows().flatten().filter(|cell| cell.contains(&b'/')).filter_map(|cell| str::from_utf8(cell).ok())
        {
            match DateOrder::of(cell) {
                Some(Some(DateOrder::DayFirst)) => found[0] += 1,
                Some(Some(DateOrder::MonthFirst)) => found[1] += 1,
                Some(None) => doubtful += 1,
                None => {}
            }
        }
        match found {
            [0, 0] if doubtful > 0 => Err(Problem::Line {
                line: 2,
                what: "dates such as 3/4/2021 can be read in two ways; --dates dmy or --dates mdy says which".into(),
            }),
            [_, 0] if found[0] > 0 => Ok(Some(DateOrder::DayFirst)),
            [0, _] if found[1] > 0 => Ok(Some(DateOrder::MonthFirst)),
            _ => Ok(None),
        }
    }

    /// How numbers are written.
    fn style_of(&self, options: &ReadOptions, prepared: bool) -> Result<NumberStyle, Problem> {
        let asked = NumberStyle { decimal: options.decimal.unwrap_or(b'.'), thousands: options.thousands };
        if options.decimal.is_some() || options.thousands.is_some() || !prepared {
            return Ok(asked);
        }
        let comma = NumberStyle { decimal: b',', thousands: None };
        let (points, commas, both) = (
            NumberStyle::default(),
            NumberStyle { decimal: b'.', thousands: Some(b',') },
            NumberStyle { decimal: b',', thousands: Some(b'.') },
        );
        // No other number has an apostrophe.
        let swiss = NumberStyle { decimal: b'.', thousands: Some(b'\'') };
        let marked = || self.rows().flatten().filter(|cell| cell.contains(&b'\''));
        let cells = || marked().filter_map(|cell| str::from_utf8(cell).ok());
        if cells().next().is_some() && cells().all(|cell| swiss.number(cell).is_ok()) {
            return Ok(swiss);
        }
        // Cells with a comma that are numbers in some way.
        let (mut as_decimal, mut as_thousands, mut as_both, mut as_points) = (0, 0, 0, 0);
        for cell in self.sample.iter().skip(1).flatten().filter_map(|cell| str::from_utf8(cell).ok()) {
            // A sign beside the number says nothing about how it is written.
            let bare = Sign::of(cell).and_then(|sign| sign.without(cell)).unwrap_or(Cow::Borrowed(cell));
            let cell = bare.as_ref();
            let is = |style: NumberStyle| style.number(cell).is_ok();
            match (cell.contains(','), cell.contains('.')) {
                (true, true) if is(commas) => as_thousands += 1,
                (true, true) if is(both) => as_both += 1,
                (true, false) if is(commas) && is(comma) => {
                    (as_decimal, as_thousands) = (as_decimal + 1, as_thousands + 1)
                }
                (true, false) if is(comma) => as_decimal += 1,
                (true, false) if is(commas) => as_thousands += 1,
                (false, true) if is(points) => as_points += 1,
                _ => {}
            }
        }
        match (as_decimal, as_thousands, as_both) {
            (0, 0, 0) => Ok(points),
            (_, _, both_) if both_ > 0 && as_points == 0 => Ok(both),
            (d, t, _) if d > t && as_points == 0 => Ok(comma),
            (d, t, _) if t > d || as_points > 0 && d == t => Ok(commas),
            (d, t, _) if d == t => Err(Problem::Line {
                line: 2,
                what: "numbers such as 1,234 can be read in two ways; --decimal , or --thousands , says which".into(),
            }),
            _ => Ok(points),
        }
    }

    /// Whether the first record holds names: nothing in it is a number, or it has text above a number, or a name asked for.
    pub(crate) fn is_header(
        &self,
        first: &ByteRecord,
        second: Option<&ByteRecord>,
        options: &ReadOptions,
    ) -> Result<bool, Problem> {
        let style = self.style;
        let numeric = |cell: &[u8]| {
            str::from_utf8(cell).is_ok_and(|s| s.trim().parse::<f64>().is_ok() || style.number(s).is_ok())
        };
        let blank = |cell: &[u8]| cell.trim_ascii().is_empty();
        let nothing = |cell: &[u8]| {
            let text = str::from_utf8(cell).unwrap_or_default();
            options.preparation.as_ref().is_some_and(|p| p.is_missing(text))
        };
        let name_like = |cell: &[u8]| !blank(cell) && !numeric(cell) && !nothing(cell);
        let above = |second: &ByteRecord| first.iter().zip(second.iter()).any(|(a, b)| name_like(a) && numeric(b));
        let asked =
            options.label.iter().chain(&options.weight).chain(&options.group).chain(options.features.iter().flatten());
        let expected = options.expected.iter().filter_map(|e| e.names.as_ref()).flatten();
        // `y` is left out here: it may as well be an answer as a name.
        let usual = LABEL_NAMES.iter().copied().filter(|n| *n != "y");
        let mut names = asked.filter_map(Column::name).chain(expected.map(String::as_str));
        let is_name = |cell: &[u8]| !blank(cell) && !numeric(cell);
        let named = |name: &str| first.iter().any(|c| is_name(c) && c.trim_ascii() == name.as_bytes());
        let usually = |name: &str| first.iter().any(|c| c.trim_ascii().eq_ignore_ascii_case(name.as_bytes()));
        let all = options.expected.as_ref().and_then(|e| e.names.as_ref()).filter(|all| !all.is_empty());
        let in_first = |name: &String| first.iter().any(|cell| cell.trim_ascii() == name.as_bytes());
        // Names that are numbers, such as years.
        if all.is_some_and(|all| all.iter().all(in_first)) {
            return Ok(true);
        }
        if names.any(named) || usual.into_iter().any(usually) {
            return Ok(true);
        }
        if options.preparation.is_none() {
            return Ok(!first.iter().any(numeric) || second.is_some_and(above));
        }
        if !first.iter().any(numeric) {
            return Ok(!self.repeats(first));
        }
        // A gap in the second row says nothing about its column.
        if self.rows().take(20).any(above) {
            return Ok(true);
        }
        self.numbers_as_names(first)
    }

    /// What is to be said of a first line of one cell above others of more.
    pub(crate) fn remark(&self) -> Option<&'static str> {
        let first = self.sample.first().filter(|row| row.len() == 1 && self.rows().any(|row| row.len() > 1))?;
        Some(match first[0].starts_with(b"#") {
            true => "this may be a remark, since later lines have more cells; --comment '#' leaves out such lines",
            false => {
                "this line has 1 cell and later ones have more: names of columns have to be in the first line, so leave out titles above them"
            }
        })
    }

    fn rows(&self) -> impl Iterator<Item = &ByteRecord> {
        self.sample.iter().skip(1)
    }

    /// Whether a first row of texts is like the rows under it, all of which are texts: names of columns do not occur in them.
    fn repeats(&self, first: &ByteRecord) -> bool {
        let again = |(j, cell): (usize, &[u8])| self.rows().any(|row| row.get(j) == Some(cell));
        let found = first.iter().enumerate().filter(|cell| again(*cell)).count();
        2 * found > first.len()
    }

    /// Whether a first row of whole numbers that count up, such as years, stands above other numbers.
    fn numbers_as_names(&self, first: &ByteRecord) -> Result<bool, Problem> {
        let whole = |cell: &[u8]| str::from_utf8(cell).ok()?.trim().parse::<i64>().ok();
        let Some(names) = first.iter().map(whole).collect::<Option<Vec<i64>>>() else { return Ok(false) };
        if names.len() < 2
            || !names.windows(2).all(|two| two[1].checked_sub(two[0]) == Some(1))
            || self.rows().next().is_none()
        {
            return Ok(false);
        }
        let fractions = (0..names.len()).any(|j| {
            let fraction = |row: &ByteRecord| row.get(j).is_some_and(|cell| cell.contains(&self.style.decimal));
            self.rows().all(fraction)
        });
        let years = names.iter().all(|name| (1900..=2100).contains(name));
        match (fractions, years) {
            (true, _) => Ok(true),
            (false, true) => Err(Problem::Line {
                line: 1,
                what: "the years may be names of columns or numbers; --header or --no-header says which".into(),
            }),
            (false, false) => Ok(false),
        }
    }

    /// What columns hold, and whether the start of the file says nothing about that.
    pub(crate) fn kinds(&self, columns: &[usize], header: bool, preparation: &Preparation) -> (Vec<Kind>, Vec<bool>) {
        let looks: Vec<Look> = columns.iter().map(|&j| self.look(j, header, preparation)).collect();
        let kind = |look: &Look| match look {
            Look { present: 0, .. } => Kind::Text,
            Look { present, numbers, .. } if 2 * numbers >= *present => Kind::Number,
            Look { present, times, .. } if 2 * times >= *present => Kind::Time,
            _ => Kind::Text,
        };
        (looks.iter().map(kind).collect(), looks.iter().map(|look| look.present == 0).collect())
    }

    /// The sign that stands beside all numbers of a column, as far as the start of the file says.
    pub(crate) fn sign(&self, j: usize, header: bool, preparation: &Preparation) -> Option<Sign> {
        let cells = self.sample.iter().skip(usize::from(header)).filter_map(|row| str::from_utf8(row.get(j)?).ok());
        let mut given = cells.filter(|cell| !preparation.is_missing(cell)).peekable();
        let sign = Sign::of(given.peek()?)?;
        let number = |cell: &str| sign.without(cell).is_some_and(|bare| self.style.number(&bare).is_ok());
        given.all(number).then_some(sign)
    }

    fn look(&self, j: usize, header: bool, preparation: &Preparation) -> Look {
        let mut look = Look::default();
        let sign = self.sign(j, header, preparation);
        for cell in self.sample.iter().skip(usize::from(header)).filter_map(|row| str::from_utf8(row.get(j)?).ok()) {
            if preparation.is_missing(cell) {
                continue;
            }
            look.present += 1;
            look.numbers += usize::from(sign.is_some() || self.style.number(cell).is_ok() || infinite(cell));
            look.times += usize::from(days_in(cell, self.dates).is_some());
        }
        look
    }
}

/// Whether the start of a text is UTF-8, as far as characters are not cut off at its end.
fn is_utf8(head: &[u8]) -> bool {
    match str::from_utf8(head) {
        Ok(_) => true,
        Err(error) => error.error_len().is_none() && head.len() >= HEAD,
    }
}

/// An infinity is a number, though not one that can be used.
fn infinite(cell: &str) -> bool {
    cell.trim().parse::<f64>().is_ok_and(f64::is_infinite)
}

/// The first records, without the last one if it may be cut off.
fn sample(head: &[u8], delimiter: u8, comment: Option<u8>) -> Vec<ByteRecord> {
    let mut reader =
        ReaderBuilder::new().has_headers(false).flexible(true).delimiter(delimiter).comment(comment).from_reader(head);
    let filled = |record: &ByteRecord| record.len() > 1 || record.iter().any(|cell| !cell.trim_ascii().is_empty());
    let mut records: Vec<ByteRecord> = Vec::new();
    let mut record = ByteRecord::new();
    while records.len() < SAMPLE && reader.read_byte_record(&mut record).unwrap_or(false) {
        if filled(&record) {
            records.push(record.clone());
        }
    }
    if head.len() >= HEAD && records.len() < SAMPLE {
        records.pop();
    }
    records
}

/// Whether a text begins with a line such as `sep=;`.
fn says_delimiter(head: &[u8]) -> bool {
    let line = head.split(|b| *b == b'\n').next().unwrap_or_default().trim_ascii_end();
    line.len() <= 5 && line.strip_prefix(b"sep=").is_some()
}

/// The number of cells before a delimiter at the end of rows.
fn trailing(sample: &[ByteRecord]) -> Option<usize> {
    let longest = sample.iter().map(ByteRecord::len).max()?;
    let rows = sample.get(1..).filter(|rows| !rows.is_empty())?;
    let blank = |row: &ByteRecord| row.iter().next_back().is_some_and(|cell| cell.trim_ascii().is_empty());
    let ends = |row: &ByteRecord| row.len() + 1 == longest || row.len() == longest && blank(row);
    // Rows of data that end with a delimiter, under a header that does so too or is one cell shorter.
    let all = longest > 2 && rows.iter().all(|row| row.len() == longest && blank(row));
    (all && ends(&sample[0])).then_some(longest - 1)
}

/// The most frequent of the usual delimiters in the first line, outside quotes; a space if there are none and rows have as many words.
fn guess_delimiter(head: &[u8], comment: Option<u8>) -> u8 {
    let commented = |line: &&[u8]| comment.is_some() && line.first().copied() == comment;
    let lines = || head.split(|b| *b == b'\n').filter(|l| !l.trim_ascii().is_empty()).filter(|l| !commented(l));
    let line = lines().next().unwrap_or_default();
    let mut quoted = false;
    let mut counts = [(b',', 0), (b'\t', 0), (b';', 0), (b'|', 0)];
    for &byte in line {
        quoted ^= byte == b'"';
        if let Some((_, count)) = counts.iter_mut().find(|(d, _)| *d == byte && !quoted) {
            *count += 1;
        }
    }
    // Texts between semicolons have commas more often than the other way round.
    if counts[2].1 > 0 && counts[0].1 > 0 && same_everywhere(lines(), b';') && !same_everywhere(lines(), b',') {
        return b';';
    }
    if counts.iter().all(|(_, count)| *count == 0) {
        let words = |line: &[u8]| line.split(u8::is_ascii_whitespace).filter(|w| !w.is_empty()).count();
        let mut all = lines().take(ALIKE).map(words);
        let first = all.next().unwrap_or(0);
        if first > 1 && all.all(|count| count == first) {
            return b' ';
        }
    }
    // The first one wins a tie, so that a line without any is one column of a CSV file.
    counts.into_iter().rev().max_by_key(|(_, count)| *count).map_or(b',', |(d, _)| d)
}

/// Whether the first lines have the same number of a sign.
fn same_everywhere<'a>(lines: impl Iterator<Item = &'a [u8]>, sign: u8) -> bool {
    let mut counts = lines.take(ALIKE).map(|line| line.iter().filter(|b| **b == sign).count());
    let first = counts.next();
    counts.all(|count| Some(count) == first)
}
