//! Numbers as people write them, and names as people can look at them.

/// A setting: 0.001, but 1e-6.
pub fn plain(value: f64) -> String {
    if value == 0.0 || (1e-3..1e6).contains(&value.abs()) { value.to_string() } else { format!("{value:e}") }
}

/// A value of a grid: four digits suffice to find it.
pub fn short(value: f64) -> String {
    plain(format!("{value:.3e}").parse().unwrap_or(value))
}

/// So many significant digits.
pub fn digits(value: f64, count: usize) -> String {
    if value == 0.0 {
        return "0".into();
    }
    if !value.is_finite() {
        return if value > 0.0 { "∞".into() } else { value.to_string() };
    }
    let exponent = value.abs().log10().floor() as i32;
    if (-4..9).contains(&exponent) {
        let places = (count as i32 - 1 - exponent).max(0) as usize;
        format!("{value:.places$}")
    } else {
        format!("{value:.*e}", count - 1)
    }
}

/// A bound with one digit, rounded up: a promise must not get better by being printed.
pub fn upper(bound: f64) -> String {
    if !(bound > 0.0 && bound.is_finite()) {
        return digits(bound, 1);
    }
    let unit = 10f64.powi(bound.log10().floor() as i32);
    format!("{:.0e}", (bound / unit).ceil() * unit)
}

/// A share as per cent.
pub fn percent(share: f64) -> String {
    format!("{:.2} %", 100.0 * share)
}

/// A count that may be a sum of weights.
pub fn count(value: f64) -> String {
    if value.fract() == 0.0 { format!("{value}") } else { digits(value, 4) }
}

/// A p-value with three decimals.
pub fn p_value(p: f64) -> String {
    if p < 0.001 { "<0.001".into() } else { format!("{p:.3}") }
}

/// A time.
pub fn seconds(value: f64) -> String {
    match value {
        v if v < 1e-3 => format!("{} µs", digits(1e6 * v, 2)),
        v if v < 1.0 => format!("{} ms", digits(1e3 * v, 2)),
        v => format!("{} s", digits(v, 3)),
    }
}

/// "1 row", "2 rows".
pub fn plural(n: usize, one: &str) -> String {
    match n {
        1 => format!("1 {one}"),
        _ if one.ends_with("ss") => format!("{n} {one}es"),
        _ => format!("{n} {one}s"),
    }
}

/// Whether a character does something other than to be seen: it steers a terminal, or changes the direction of what follows. A class
/// name must not turn the numbers beside it around.
pub fn steers(c: char) -> bool {
    c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// A name from a file, or a message with such names, on one line and with nothing that steers a terminal.
pub fn visible(text: &str) -> String {
    text.chars().map(|c| if steers(c) { '\u{fffd}' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    #[test]
    fn numbers_are_rounded_for_people() {
        assert_eq!(["0.3450", "12.35", "1.235e-7", "0"], [0.345, 12.3456, 1.23456e-7, 0.0].map(|v| digits(v, 4)));
        assert_eq!(["2e-9", "1e-9", "1e0", "0"], [1.1e-9, 1e-9, 0.95, 0.0].map(upper));
        assert_eq!(["0.001", "1e-6", "4", "1e6"], [0.001, 1e-6, 4.0, 1e6].map(plain));
        assert_eq!(["2.154e-4", "0.2154", "1000"], [2.154_434_69e-4, 0.215_443_469, 1e3].map(short));
        assert_eq!(["<0.001", "0.050"], [9e-4, 0.05].map(p_value));
        assert_eq!(["25 µs", "2.5 ms", "1.50 s"], [2.5e-5, 0.0025, 1.5].map(seconds));
        assert_eq!((plural(1, "row"), plural(2, "class")), ("1 row".into(), "2 classes".into()));
    }

    #[test]
    fn names_cannot_steer_a_terminal() {
        assert_eq!(visible("a\u{1b}[31mb\r\n\u{202e}é\u{85}"), "a\u{fffd}[31mb\u{fffd}\u{fffd}\u{fffd}é\u{fffd}");
    }

    #[test]
    fn errors_name_classes_on_one_line() {
        let name = || "a\r\nb".to_string();
        for error in [
            Error::TooFewClasses { found: 1, only: Some(name()) },
            Error::UnknownClass { row: 0, label: name(), known: 2 },
            Error::Weight { place: format!("class `{}`", name()), value: -1.0 },
            Error::param("class-weight", name(), "name classes of the data"),
            Error::Model { path: "m".into(), what: name() },
        ] {
            let text = error.to_string();
            assert!(text.contains("a\u{fffd}\u{fffd}b") && !text.contains('\n'), "{text}");
        }
    }

    #[test]
    fn what_is_no_number_is_still_said() {
        assert_eq!(["∞", "-inf", "NaN"], [f64::INFINITY, f64::NEG_INFINITY, f64::NAN].map(|v| digits(v, 4)));
        assert_eq!(upper(f64::NAN), "NaN");
    }
}
