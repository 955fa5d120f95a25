//! Text to numbers and labels.

use std::borrow::Cow;

use arrow_array::types::{Date32Type, TimestampMillisecondType};
use arrow_cast::parse::Parser;

use crate::error::{CellProblem, short};

/// Bytes that a text takes besides its own.
pub(crate) const TEXT: usize = 40;

/// The one spelling of a label that is a plain number: `1`, `1.0`, `+1` and `1.` all give `1`. Other text is a name, and only trimmed:
/// `01`, `007` and `1e1` are no numbers but codes.
pub fn canonical_label(text: &str) -> String {
    let text = text.trim();
    match plain_number(text) {
        // Not by way of f64: identifiers of more than 15 digits must stay apart.
        true if !text.contains('.') => match text.strip_prefix('+').unwrap_or(text) {
            "-0" => "0".into(),
            digits => digits.into(),
        },
        true => text.parse().map_or_else(|_| text.into(), number_label),
        false => text.into(),
    }
}

/// Whether a text is a number as people write it: no leading zeros and no exponents, which codes have.
fn plain_number(text: &str) -> bool {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let all_digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    all_digits(whole)
        && all_digits(fraction)
        && !(whole.is_empty() && fraction.is_empty())
        && (whole.len() < 2 || !whole.starts_with('0'))
}

/// Labels of one column: in their one spelling if all are plain numbers, else as they were written.
pub(crate) fn spelled(labels: &mut [String]) {
    if labels.iter().all(|label| plain_number(label)) {
        labels.iter_mut().for_each(|label| *label = canonical_label(label));
    }
}

/// The first of the labels that is no number where all others are: NaN or an infinity. Among labels that are text, `nan` and `inf` are
/// names like any other.
pub(crate) fn not_finite(labels: &[String]) -> Option<usize> {
    // Digits alone are an identifier, of any length.
    let digits = |label: &str| label.trim_start_matches(['+', '-']).bytes().all(|b| b.is_ascii_digit());
    let value = |label: &String| if digits(label) { Some(0.0) } else { label.parse::<f64>().ok() };
    let first = labels.iter().position(|label| value(label).is_some_and(|v| !v.is_finite()))?;
    labels.iter().all(|label| value(label).is_some()).then_some(first)
}

/// The label of a number.
pub(crate) fn number_label(value: f64) -> String {
    match value {
        0.0 => "0".into(),
        v if v.abs() < 1e16 && v.abs() > 1e-5 => v.to_string(),
        v => format!("{v:e}"),
    }
}

/// How numbers are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NumberStyle {
    /// What stands before the fraction.
    pub(crate) decimal: u8,
    /// What stands between groups of three digits.
    pub(crate) thousands: Option<u8>,
}

impl Default for NumberStyle {
    fn default() -> Self {
        Self { decimal: b'.', thousands: None }
    }
}

impl NumberStyle {
    /// The finite number in a cell.
    pub(crate) fn number(self, cell: &str) -> Result<f64, CellProblem> {
        let found = match self == Self::default() {
            true => number(cell),
            false => match self.plain(cell.trim()) {
                Some(plain) => number(&plain),
                None => Err(CellProblem::NotANumber { found: short(cell.trim()) }),
            },
        };
        match found {
            // Groups of three digits with spaces between them can be nothing else.
            Err(CellProblem::NotANumber { .. }) if self.thousands.is_none() => {
                match grouped(cell.trim()).map(|joined| self.number(&joined)) {
                    Some(Ok(value)) => Ok(value),
                    _ => found,
                }
            }
            found => found,
        }
    }

    /// The number as computers write it; `None` if its signs are not where they belong.
    fn plain(self, cell: &str) -> Option<String> {
        let (decimal, thousands) = (char::from(self.decimal), self.thousands.map(char::from));
        let (whole, fraction) = match cell.split_once(decimal) {
            Some((whole, fraction)) => (whole, Some(fraction)),
            None => (cell, None),
        };
        // A point where the comma is meant is no decimal point.
        if decimal != '.' && thousands != Some('.') && cell.contains('.')
            || fraction.is_some_and(|f| f.contains(decimal))
        {
            return None;
        }
        let mut plain = whole.to_string();
        if let Some(mark) = thousands.filter(|mark| whole.contains(*mark)) {
            let mut groups = whole.trim_start_matches(['+', '-']).split(mark);
            let first = groups.next().is_some_and(|g| (1..=3).contains(&g.len()));
            if !first || !groups.all(|g| g.len() == 3 && g.bytes().all(|b| b.is_ascii_digit())) {
                return None;
            }
            plain = whole.replace(mark, "");
        }
        if let Some(fraction) = fraction {
            plain.push('.');
            plain.push_str(fraction);
        }
        Some(plain)
    }
}

/// A number such as 1 234,5 without the spaces; `None` where they do not stand between groups of three digits.
fn grouped(cell: &str) -> Option<String> {
    let is_space = |c: char| matches!(c, ' ' | '\u{a0}' | '\u{202f}' | '\u{2009}');
    let end = cell.rfind(is_space)?;
    let whole = cell.find(['.', ',']).unwrap_or(cell.len());
    if end > whole {
        return None;
    }
    let mut groups = cell[..whole].trim_start_matches(['+', '-']).split(is_space);
    let digits = |group: &str| group.bytes().all(|b| b.is_ascii_digit());
    let first = groups.next().is_some_and(|group| (1..=3).contains(&group.len()) && digits(group));
    (first && groups.all(|group| group.len() == 3 && digits(group))).then(|| cell.replace(is_space, ""))
}

/// Milliseconds of a day.
const DAY: f64 = 86_400_000.0;

/// Days since 1970 of a date, or a date and a time, as ISO 8601 writes them, or with slashes, or as 11.1.1970: in that order days come first
/// everywhere. What 3/4/2021 is depends on who writes it.
pub(crate) fn days(cell: &str) -> Option<f64> {
    let cell = cell.trim();
    let digits = |part: &[u8]| part.iter().all(u8::is_ascii_digit);
    // Cheaper than to try: a year of four digits.
    let iso = match cell.as_bytes() {
        bytes if bytes.len() < 8 => return None,
        [a, b, c, d, b'-', ..] if digits(&[*a, *b, *c, *d]) => Cow::Borrowed(cell),
        [a, b, c, d, b'/', ..] if digits(&[*a, *b, *c, *d]) => Cow::Owned(cell.replace('/', "-")),
        bytes if bytes.len() <= 30 && bytes.iter().any(u8::is_ascii_alphabetic) => Cow::Owned(named_month(cell)?),
        bytes if bytes[..3].contains(&b'.') => Cow::Owned(years_first(cell, '.', DateOrder::DayFirst)?),
        _ => return None,
    };
    let cell = iso.as_ref();
    if let Some(days) = Date32Type::parse(cell).filter(|_| cell.len() <= 10) {
        return Some(f64::from(days));
    }
    // Without seconds, as spreadsheets write it.
    let whole = if cell.len() == 16 { format!("{cell}:00") } else { cell.to_string() };
    TimestampMillisecondType::parse(&whole).map(|ms| ms as f64 / DAY)
}

/// English names of months; three letters are enough.
const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

/// 21-Mar-2021, 21 March 2021 and March 21, 2021 as 2021-03-21, with a time behind it if there is one.
fn named_month(cell: &str) -> Option<String> {
    let (date, time) = match cell.rsplit_once(' ') {
        Some((date, time)) if time.contains(':') => (date, format!(" {time}")),
        _ => (cell, String::new()),
    };
    let mut parts = date.split(['-', ' ', ',', '/', '.']).filter(|part| !part.is_empty());
    let (first, second, year) = (parts.next()?, parts.next()?, parts.next()?);
    let month = |name: &str| {
        let name = name.to_ascii_lowercase();
        let is =
            |month: &&str| name.len() >= 3 && (month.starts_with(&name) || name == "sept" && *month == "september");
        MONTHS.iter().position(is).map(|at| at + 1)
    };
    let (day, month) = match (month(first), month(second)) {
        (None, Some(month)) => (first, month),
        (Some(month), None) => (second, month),
        _ => return None,
    };
    let number = |part: &str, most: usize| (1..=most).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit());
    if parts.next().is_some() || !number(day, 2) || year.len() != 4 || !number(year, 4) {
        return None;
    }
    Some(format!("{year}-{month:02}-{day:0>2}{time}"))
}

/// In what order day and month stand in dates with slashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DateOrder {
    /// 31/12/2021.
    DayFirst,
    /// 12/31/2021.
    MonthFirst,
}

impl DateOrder {
    /// Both, for help texts and tests.
    pub const ALL: [Self; 2] = [Self::DayFirst, Self::MonthFirst];

    /// The name users type.
    pub fn name(self) -> &'static str {
        match self {
            Self::DayFirst => "dmy",
            Self::MonthFirst => "mdy",
        }
    }

    /// The only order in which a date with slashes can be read; `None` if it is none, `Some(None)` if there are two.
    pub(crate) fn of(cell: &str) -> Option<Option<Self>> {
        let (day, month) = (days_in(cell, Some(Self::DayFirst)), days_in(cell, Some(Self::MonthFirst)));
        if !cell.contains('/') || days(cell).is_some() {
            return None;
        }
        match (day, month) {
            (Some(day), Some(month)) => Some(None).filter(|_| day != month),
            (Some(_), None) => Some(Some(Self::DayFirst)),
            (None, Some(_)) => Some(Some(Self::MonthFirst)),
            (None, None) => None,
        }
    }
}

/// As [`days`], with dates such as 3/4/2021 if their order is known.
pub(crate) fn days_in(cell: &str, order: Option<DateOrder>) -> Option<f64> {
    match order.filter(|_| cell.contains('/')) {
        None => days(cell),
        Some(order) => days(cell).or_else(|| days(&years_first(cell.trim(), '/', order)?)),
    }
}

/// 11.1.1970 12:00 as 1970-01-11 12:00.
fn years_first(cell: &str, between: char, order: DateOrder) -> Option<String> {
    let (date, time) = cell.split_once(' ').map_or((cell, None), |(date, time)| (date, Some(time)));
    let mut parts = date.split(between);
    let (first, second, year) = (parts.next()?, parts.next()?, parts.next()?);
    let (day, month) = if order == DateOrder::DayFirst { (first, second) } else { (second, first) };
    let number = |part: &str, most: usize| (1..=most).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit());
    if parts.next().is_some() || !number(day, 2) || !number(month, 2) || year.len() != 4 || !number(year, 4) {
        return None;
    }
    let time = time.map(|time| format!(" {}", time.trim())).unwrap_or_default();
    Some(format!("{year}-{month:0>2}-{day:0>2}{time}"))
}

/// The same as a timestamp.
pub(crate) fn milliseconds(days: f64) -> i64 {
    (days * DAY).round() as i64
}

/// The finite number in a cell; `true` and `false` count as 1 and 0.
pub(crate) fn number(cell: &str) -> Result<f64, CellProblem> {
    let cell = cell.trim();
    match cell.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(value),
        Ok(value) => Err(CellProblem::NotFinite { found: if value.is_nan() { "NaN".into() } else { short(cell) } }),
        Err(_) if cell.is_empty() => Err(CellProblem::Empty),
        Err(_) if cell.eq_ignore_ascii_case("true") => Ok(1.0),
        Err(_) if cell.eq_ignore_ascii_case("false") => Ok(0.0),
        Err(_) => Err(CellProblem::NotANumber { found: short(cell) }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numeric_labels_have_one_spelling() {
        for one in ["1", "1.0", "+1", " 1 ", "1."] {
            assert_eq!(canonical_label(one), "1", "{one}");
        }
        let mut numbers = ["1", "1.0", "-2.50"].map(String::from);
        spelled(&mut numbers);
        assert_eq!(numbers, ["1", "1", "-2.5"]);
        let mut codes = ["1", "1.0", "01", "1e1"].map(String::from);
        spelled(&mut codes);
        assert_eq!(codes, ["1", "1.0", "01", "1e1"]);
        assert_eq!(canonical_label("-0"), "0");
        assert_eq!(canonical_label("-1.50"), "-1.5");
        assert_eq!(canonical_label("12345678901234567891"), "12345678901234567891");
        for text in ["setosa", "nan", "inf", "1,2", "-", "+", "e", "1-2", "", "01", "007", "1e1", "1e0", "-01.5", "."] {
            assert_eq!(canonical_label(text), text);
        }
        assert_eq!(number_label(1.0), "1");
        assert_eq!(number_label(-2.25), "-2.25");
    }

    #[test]
    fn nan_is_no_class_among_numbers_and_a_name_among_names() {
        let first = |labels: &[&str]| not_finite(&labels.iter().map(|l| l.to_string()).collect::<Vec<_>>());
        for wrong in ["nan", "NaN", "inf", "-INF", "+inf", "Infinity"] {
            assert_eq!(first(&["1", "-2.5", wrong, wrong]), Some(2), "{wrong}");
            assert_eq!(first(&["1", wrong, "setosa"]), None, "{wrong}");
            assert_eq!(first(&[wrong]), Some(0));
        }
        assert_eq!(first(&["1", "2e300", &"9".repeat(400)]), None);
        assert_eq!(first(&[]), None);
    }

    #[test]
    fn commas_and_thousands_are_read_where_they_are_asked_for() {
        let style = |decimal, thousands| NumberStyle { decimal, thousands };
        let german = style(b',', Some(b'.'));
        for (cell, value) in
            [("1.234,5", 1234.5), ("-39,1", -39.1), ("1.234.567", 1_234_567.0), ("7", 7.0), (",5", 0.5)]
        {
            assert_eq!(german.number(cell), Ok(value), "{cell}");
        }
        for bad in ["1.23,4", "12.34", "1,2,3", "1234.567", "x", ".123"] {
            assert!(german.number(bad).is_err(), "{bad}");
        }
        assert_eq!(style(b',', None).number("39,1"), Ok(39.1));
        assert!(style(b',', None).number("39.1").is_err());
        assert_eq!(style(b'.', Some(b',')).number("12,345.5"), Ok(12345.5));
        assert_eq!(style(b'.', Some(b'\'')).number("12'345"), Ok(12345.0));
        // Spaces, also those that do not break.
        for (cell, value) in
            [("1 234,5", 1234.5), ("-12\u{a0}345", -12345.0), ("1\u{202f}234\u{202f}567,25", 1_234_567.25)]
        {
            assert_eq!(style(b',', None).number(cell), Ok(value), "{cell}");
        }
        assert_eq!(NumberStyle::default().number("12 345.5"), Ok(12345.5));
        for bad in ["12 34", "1234 567", "1 2345", "12 345 a", "1,5 234", "1 234.5"] {
            assert!(style(b',', None).number(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn dates_are_days() {
        assert_eq!(days("1970-01-11"), Some(10.0));
        assert_eq!(days(" 1970-01-02T12:00:00"), Some(1.5));
        assert_eq!(days("1970-01-02 12:00"), Some(1.5));
        for ten in ["1970/01/11", "11.01.1970", "11.1.1970"] {
            assert_eq!(days(ten), Some(10.0), "{ten}");
        }
        assert_eq!(days("2.1.1970 12:00"), Some(1.5));
        for ten in ["11-Jan-1970", "11 January 1970", "Jan 11, 1970", "January 11 1970", "11/jan/1970", "11. Jan. 1970"]
        {
            assert_eq!(days(ten), Some(10.0), "{ten}");
        }
        assert_eq!(days("02-Jan-1970 12:00"), Some(1.5));
        for no in ["11-Jan-70", "Jan 1970", "11-Foo-1970", "32-Jan-1970", "Jan Feb 1970", "11-Ja-1970", "room 12 1970"]
        {
            assert_eq!(days(no), None, "{no}");
        }
        assert_eq!(days("1970/01/02 12:00:00"), Some(1.5));
        for no in
            ["11.13.1970", "1.2.3.1970", "10.0.0.1", "1234.5678", "12.345678", "3/4/2021", "11.01.70", "31.04.2021"]
        {
            assert_eq!(days(no), None, "{no}");
        }
        assert_eq!(DateOrder::of("13/4/2021"), Some(Some(DateOrder::DayFirst)));
        assert_eq!(DateOrder::of("4/13/2021 12:00"), Some(Some(DateOrder::MonthFirst)));
        assert_eq!((DateOrder::of("3/4/2021"), DateOrder::of("4/4/2021")), (Some(None), None));
        assert_eq!(
            (DateOrder::of("13/13/2021"), DateOrder::of("2021/04/13"), DateOrder::of("1/2")),
            (None, None, None)
        );
        assert_eq!(days_in("11/1/1970", Some(DateOrder::DayFirst)), Some(10.0));
        assert_eq!(days_in("01/11/1970", Some(DateOrder::MonthFirst)), Some(10.0));
        assert_eq!(days_in("1/11/1970", None), None);
        for no in ["2007", "20070101", "2007-13-01", "2007-01-xx", "a-b-c", "12345-1-1", "", "2007-é1-11"] {
            assert_eq!(days(no), None, "{no}");
        }
        assert_eq!(milliseconds(1.5), 129_600_000);
    }

    #[test]
    fn cells_are_finite_numbers() {
        assert_eq!(number(" 1.5e3 "), Ok(1500.0));
        assert_eq!(number("True"), Ok(1.0));
        assert_eq!(number(""), Err(CellProblem::Empty));
        assert_eq!(number("nan"), Err(CellProblem::NotFinite { found: "NaN".into() }));
        assert_eq!(number("1e999"), Err(CellProblem::NotFinite { found: "1e999".into() }));
        assert_eq!(number("x"), Err(CellProblem::NotANumber { found: "x".into() }));
    }
}
