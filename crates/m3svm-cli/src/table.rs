//! Text tables for a terminal of 80 columns.

use m3svm::text::visible;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Columns of the terminal that tables are made for.
pub(crate) const WIDTH: usize = 80;
/// Space between columns.
const GAP: usize = 2;

/// Rows of cells under each other: the first `left` columns to the left (text), the others to the right (numbers).
pub(crate) fn table(rows: &[Vec<String>], left: usize) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |j: usize| rows.iter().filter_map(|row| row.get(j)).map(|c| c.width()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::from("  ");
        for (j, cell) in row.iter().enumerate() {
            if j > 0 {
                line += &" ".repeat(GAP);
            }
            let pad = " ".repeat(widths[j] - cell.width());
            line += &if j < left { format!("{cell}{pad}") } else { format!("{pad}{cell}") };
        }
        text += line.trim_end();
        text.push('\n');
    }
    text
}

/// Names and values, one pair per line.
pub(crate) fn list(pairs: &[(&str, String)]) -> String {
    let width = pairs.iter().map(|(name, _)| name.width()).max().unwrap_or(0);
    let lines = pairs.iter().map(|(name, value)| {
        let pad = " ".repeat(width - name.width());
        format!("  {name}{pad}{}{value}\n", " ".repeat(GAP))
    });
    lines.collect()
}

/// Columns that are left for the values of a [`list`] with these names.
pub(crate) fn room_beside(names: &[String]) -> usize {
    let widest = names.iter().map(|n| n.width()).max().unwrap_or(0);
    WIDTH.saturating_sub(2 + widest + GAP)
}

/// A text in lines of so many columns, broken between words.
pub(crate) fn folded(text: &str, room: usize) -> Vec<String> {
    let mut lines: Vec<String> = vec![String::new()];
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if line.width() + 1 + word.width() <= room => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_string()),
        }
    }
    lines
}

/// Columns that a text takes.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// A square of cells with the names of rows and columns, folded into groups of columns that fit the terminal.
pub(crate) fn matrix(names: &[String], cell: impl Fn(usize, usize) -> String) -> String {
    let row_names: Vec<String> = names.iter().map(|n| shown(n, 20)).collect();
    let column_names: Vec<String> = names.iter().map(|n| shown(n, 10)).collect();
    rectangle("", &row_names, &column_names, cell)
}

/// Cells with names of rows and columns, folded likewise; `corner` stands over the names of the rows.
pub(crate) fn rectangle(
    corner: &str,
    row_names: &[String],
    column_names: &[String],
    cell: impl Fn(usize, usize) -> String,
) -> String {
    let columns = column_names.len();
    let cells: Vec<Vec<String>> = (0..row_names.len()).map(|k| (0..columns).map(|l| cell(k, l)).collect()).collect();
    let first = 2 + row_names.iter().map(|n| n.width()).max().unwrap_or(0).max(corner.width());
    let width = |l: usize| {
        let widest = cells.iter().map(|row| row[l].width()).max().unwrap_or(0);
        GAP + widest.max(column_names[l].width())
    };
    let mut text = String::new();
    let mut from = 0;
    while from < columns {
        let mut to = from;
        let mut used = first;
        while to < columns && (to == from || used + width(to) <= WIDTH) {
            used += width(to);
            to += 1;
        }
        let header = std::iter::once(corner.to_string()).chain(column_names[from..to].iter().cloned());
        let mut rows: Vec<Vec<String>> = vec![header.collect()];
        for (name, row) in row_names.iter().zip(&cells) {
            rows.push(std::iter::once(name.clone()).chain(row[from..to].iter().cloned()).collect());
        }
        if from > 0 {
            text.push('\n');
        }
        text += &table(&rows, 1);
        from = to;
    }
    text
}

/// A name as it can be shown: no characters that steer the terminal, at most so many columns wide.
pub(crate) fn shown(name: &str, width: usize) -> String {
    let clean = visible(name);
    if clean.width() <= width {
        return clean;
    }
    let mut used = 1;
    let fits = clean.chars().take_while(|c| {
        used += c.width().unwrap_or(0);
        used <= width
    });
    fits.chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_matrices_are_folded() {
        let names: Vec<String> = (0..40).map(|k| format!("person {k}")).collect();
        let text = matrix(&names, |k, l| (k * l).to_string());
        assert!(text.lines().all(|line| line.width() <= WIDTH), "{text}");
        let last = text.lines().last().map(|l| l.split_whitespace().last());
        assert_eq!(last, Some(Some("1521")));
    }

    #[test]
    fn names_are_made_fit_to_be_shown() {
        assert_eq!(shown("setosa", 6), "setosa");
        assert_eq!(shown("versicolor", 6), "versi…");
        assert_eq!(shown("山鸢尾花", 6), "山鸢…");
        assert_eq!(shown("a\u{1b}[31mb\n", 20), "a\u{fffd}[31mb\u{fffd}");
        assert_eq!(shown("a\u{202e}b", 20), "a\u{fffd}b");
    }
}
