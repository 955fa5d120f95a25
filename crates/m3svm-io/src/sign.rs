//! Signs that stand beside every number of a column: €12.30, 12 %, 85 kg.

use std::borrow::Cow;

/// What stands for money before or behind a number, without a space in between as often as with one.
const MONEY: [&str; 12] = ["$", "€", "£", "¥", "₹", "₩", "USD", "EUR", "GBP", "CHF", "JPY", "CNY"];
/// What stands behind a number without a space.
const SHARES: [&str; 2] = ["%", "‰"];
/// Letters of a unit at most.
const UNIT: usize = 8;

/// A sign beside numbers, and on which side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sign {
    text: String,
    before: bool,
}

impl Sign {
    /// The sign in a cell; `None` if there is none that is known: `A12` is a code. A unit has a space before it.
    pub(crate) fn of(cell: &str) -> Option<Self> {
        let cell = cell.trim();
        let digit = |c: char| c.is_ascii_digit();
        let (first, last) = (cell.find(digit)?, cell.rfind(digit)?);
        let (before, behind) = (cell[..first].trim_start_matches(['-', '+']), &cell[last + 1..]);
        let before = before.trim_end_matches(['-', '+', '.', ',']).trim();
        let unit = behind.trim_start_matches(['.', ',']);
        match (before.is_empty(), unit.trim().is_empty()) {
            (false, true) if MONEY.contains(&before) => Some(Self { text: before.into(), before: true }),
            (true, false) => {
                let text = unit.trim();
                let is_unit = unit.starts_with(char::is_whitespace)
                    && text.chars().count() <= UNIT
                    && text.chars().all(|c| c.is_alphabetic() || "/²³°µ".contains(c));
                let known = MONEY.contains(&text) || SHARES.contains(&text) || is_unit;
                known.then(|| Self { text: text.into(), before: false })
            }
            _ => None,
        }
    }

    /// What is left of a cell that has this sign; `None` for others, whose numbers are of another kind.
    pub(crate) fn without<'c>(&self, cell: &'c str) -> Option<Cow<'c, str>> {
        let cell = cell.trim();
        if !self.before {
            return cell.strip_suffix(&self.text).map(|rest| Cow::Borrowed(rest.trim_end()));
        }
        if let Some(rest) = cell.strip_prefix(&self.text) {
            return Some(Cow::Borrowed(rest.trim_start()));
        }
        // The minus of -€12 stands outside.
        let (minus, rest) = cell.split_at_checked(1).filter(|(minus, _)| ["-", "+"].contains(minus))?;
        let rest = rest.trim_start().strip_prefix(&self.text)?;
        Some(Cow::Owned(format!("{minus}{}", rest.trim_start())))
    }

    /// The sign.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_are_taken_off_and_codes_are_left_alone() {
        for (cell, sign, rest) in [
            ("€12.3", "€", "12.3"),
            ("-€ 12.30", "€", "-12.30"),
            ("$-5", "$", "-5"),
            ("$.50", "$", ".50"),
            ("12,50 €", "€", "12,50"),
            ("USD 1,200", "USD", "1,200"),
            ("12%", "%", "12"),
            (" -1.5 % ", "%", "-1.5"),
            ("85 kg", "kg", "85"),
            ("3.5 km/h", "km/h", "3.5"),
        ] {
            let found = Sign::of(cell);
            assert_eq!(found.as_ref().map(Sign::text), Some(sign), "{cell}");
            assert_eq!(
                found.and_then(|found| found.without(cell).map(Cow::into_owned)).as_deref(),
                Some(rest),
                "{cell}"
            );
        }
        for none in
            ["12", "A12", "12A", "Q1 2021", "€", "", "kg", "12 very long word", "T-12", "1e5", "Room 12", "85kg"]
        {
            assert_eq!(Sign::of(none), None, "{none}");
        }
        let euro = Sign::of("€1");
        assert!(euro.is_some_and(|euro| euro.without("1").is_none() && euro.without("$1").is_none()));
    }
}
