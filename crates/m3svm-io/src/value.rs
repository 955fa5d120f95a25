//! Text to numbers and labels.

use crate::error::{CellProblem, short};

/// The one spelling of a label: `1`, `1.0`, `+1` and `1e0` all give `1`; other text is trimmed.
pub fn canonical_label(text: &str) -> String {
    let text = text.trim();
    let (negative, digits) = match text.as_bytes() {
        [b'-', ..] => (true, &text[1..]),
        [b'+', ..] => (false, &text[1..]),
        _ => (false, text),
    };
    if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) {
        // Not by way of f64: identifiers of more than 15 digits must stay apart.
        let digits = digits.trim_start_matches('0');
        return match (negative, digits) {
            (_, "") => "0".into(),
            (true, digits) => format!("-{digits}"),
            (false, digits) => digits.into(),
        };
    }
    let numeric = text.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'+' | b'-' | b'.' | b'e' | b'E'));
    match text.parse::<f64>() {
        Ok(value) if numeric && value.is_finite() => number_label(value),
        _ => text.into(),
    }
}

/// The label of a number.
pub(crate) fn number_label(value: f64) -> String {
    match value {
        0.0 => "0".into(),
        v if v.abs() < 1e16 && v.abs() > 1e-5 => v.to_string(),
        v => format!("{v:e}"),
    }
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
        for one in ["1", "1.0", "+1", " 1 ", "1e0", "01", "1."] {
            assert_eq!(canonical_label(one), "1", "{one}");
        }
        assert_eq!(canonical_label("-0"), "0");
        assert_eq!(canonical_label("-1.50"), "-1.5");
        assert_eq!(canonical_label("12345678901234567891"), "12345678901234567891");
        for text in ["setosa", "nan", "inf", "1,2", "-", "+", "e", "1-2", ""] {
            assert_eq!(canonical_label(text), text);
        }
        assert_eq!(number_label(1.0), "1");
        assert_eq!(number_label(-2.25), "-2.25");
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
