//! Text in figures and pages: made harmless, measured, cut.

use m3svm::text::steers;
use unicode_width::UnicodeWidthChar;

/// Text for an element or an attribute in quotes, of XML and of HTML. Labels come from files and may contain anything.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            '\'' => out += "&#39;",
            '\n' | '\t' => out.push(' '),
            // XML has no way to write these, or they change the text around them.
            c if steers(c) || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// About how wide a text gets in a font of this size, by the widths of DejaVu Sans. Most other fonts are narrower: the room that is
/// kept is rather too much than too little.
pub(crate) fn width(text: &str, size: f64) -> f64 {
    let em = |c: char| match c {
        'i' | 'j' | 'l' | 'I' | '.' | ',' | ':' | ';' | '|' | '!' | '\'' => 0.34,
        'f' | 't' | 'r' | '(' | ')' | '[' | ']' | '/' | ' ' | '-' => 0.43,
        'm' | 'w' | 'M' | 'W' | '@' | '%' => 1.0,
        '<' | '>' | '=' | '+' | '#' | '~' | '^' | '&' | 'A'..='Z' => 0.84,
        c if c.is_ascii() => 0.64,
        c if c.width() == Some(0) => 0.0,
        '⁰'..='⁹' | '¹' | '²' | '³' | '⁻' => 0.5,
        c if c < '\u{2000}' => 0.8,
        _ => 1.05,
    };
    size * text.chars().map(em).sum::<f64>()
}

/// The text, or as much of its beginning as fits, with dots.
pub(crate) fn fitted(text: &str, size: f64, room: f64) -> String {
    if width(text, size) <= room {
        return text.into();
    }
    let mut used = width("…", size);
    let fits = text.chars().take_while(|c| {
        used += width(c.encode_utf8(&mut [0; 4]), size);
        used <= room
    });
    fits.chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_label_is_markup() {
        assert_eq!(escaped("<script>alert('a & \"b\"')"), "&lt;script&gt;alert(&#39;a &amp; &quot;b&quot;&#39;)");
        assert_eq!(escaped("a\u{0}b\u{1b}\u{202e}c\nd\u{ffff}"), "a\u{fffd}b\u{fffd}\u{fffd}c d\u{fffd}");
        assert_eq!(escaped("山鸢尾 λ₁"), "山鸢尾 λ₁");
    }

    #[test]
    fn long_text_is_cut_to_its_room() {
        assert_eq!(fitted("setosa", 12.0, 100.0), "setosa");
        let cut = fitted("a very long name of a class", 12.0, 80.0);
        assert!(cut.ends_with('…') && width(&cut, 12.0) <= 80.0, "{cut}");
        assert_eq!(fitted("anything", 12.0, 0.0), "…");
        assert!(width("山鸢尾", 12.0) > width("abc", 12.0));
    }
}
