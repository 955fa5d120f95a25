//! Finds out the format: binary formats by their first bytes, text by extension and content.

use crate::error::Problem;
use crate::options::Format;

/// The format of a file with this start and extension.
pub(crate) fn detect(head: &[u8], extension: &str) -> Result<Format, Problem> {
    let foreign = |name, instead| Err(Problem::Foreign { name, instead });
    let broken = |format, what: &str| Err(Problem::Broken { format, what: what.into() });
    if head.starts_with(b"PAR1") {
        return Ok(Format::Parquet);
    }
    if head.starts_with(b"ARROW1") {
        return Ok(Format::ArrowFile);
    }
    if head.starts_with(b"\xff\xff\xff\xff") {
        return Ok(Format::ArrowStream);
    }
    if head.starts_with(b"\x93NUMPY") {
        return Ok(Format::Npy);
    }
    if head.starts_with(b"PK\x03\x04") && (extension.starts_with("xls") || contains(head, b"[Content_Types].xml")) {
        return foreign("an Excel workbook", "save the sheet as CSV or Parquet");
    }
    if head.starts_with(b"PK\x03\x04") && extension == "ods" {
        return foreign("an OpenDocument spreadsheet", "save the sheet as CSV");
    }
    if head.starts_with(b"PK\x03\x04") {
        return Ok(Format::Npz);
    }
    if head.starts_with(b"MATLAB 5.0 MAT") {
        return Ok(Format::Mat);
    }
    if head.starts_with(b"MATLAB 7.3 MAT") || head.starts_with(b"\x89HDF\r\n\x1a\n") {
        return broken(Format::Mat, "it is of version 7.3 (HDF5); save it with `-v7`");
    }
    if head.starts_with(b"FEA1") {
        return broken(Format::ArrowFile, "it is of Feather version 1; save it as version 2");
    }
    if head.starts_with(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1") {
        return foreign("an old Excel workbook", "save the sheet as CSV");
    }
    if extension == "arff" || is_arff(head) {
        return foreign("an ARFF file", "save it as CSV, for example with Weka's CSVSaver or scipy.io.arff and pandas");
    }
    let start = head.trim_ascii_start();
    if start.strip_prefix(b"[").is_some_and(|rest| rest.trim_ascii_start().starts_with(b"{")) {
        return foreign("a JSON array", "write one object per line (JSON lines), as pandas does with lines=True");
    }
    if ["<!doctype html", "<html", "<table", "<?xml"].iter().any(|tag| begins_with(start, tag)) {
        return foreign("a page or a document with markup", "save the table as CSV");
    }
    // UTF-16, which its reader understands.
    let wide = head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff");
    if wide && Format::from_name(extension) != Some(Format::JsonLines) {
        return Ok(Format::Csv);
    }
    match extension {
        "txt" | "data" | "dat" | "json" | "" => {}
        "svm" | "libsvm" | "svmlight" => {
            let line = sample(head);
            let delimited = line.iter().any(|b| matches!(b, b',' | b';' | b'\t'));
            if line.contains(&b':') || !delimited {
                return Ok(Format::Libsvm);
            }
        }
        _ => {
            if let Some(format) = Format::from_name(extension) {
                return Ok(format);
            }
        }
    }
    by_content(head)
}

fn begins_with(head: &[u8], tag: &str) -> bool {
    head.get(..tag.len()).is_some_and(|start| start.eq_ignore_ascii_case(tag.as_bytes()))
}

fn by_content(head: &[u8]) -> Result<Format, Problem> {
    if head.contains(&0) {
        return Err(Problem::UnknownFormat);
    }
    let objects = head.trim_ascii_start().starts_with(b"{");
    Ok(if objects {
        Format::JsonLines
    } else if is_libsvm(sample(head)) {
        Format::Libsvm
    } else {
        Format::Csv
    })
}

fn contains(head: &[u8], part: &[u8]) -> bool {
    head.windows(part.len()).any(|w| w == part)
}

/// Whether text begins with what every ARFF file has, after comments.
fn is_arff(head: &[u8]) -> bool {
    let line = head.split(|b| *b == b'\n').map(<[u8]>::trim_ascii).find(|l| !l.is_empty() && !l.starts_with(b"%"));
    line.is_some_and(|line| line.len() > 9 && line[..9].eq_ignore_ascii_case(b"@relation"))
}

/// The first line with more than a label on it.
fn sample(head: &[u8]) -> &[u8] {
    let mut lines = head.split(|b| *b == b'\n').filter(|l| !l.trim_ascii().is_empty() && !l.starts_with(b"#"));
    let first = lines.next().unwrap_or_default();
    if words(first).nth(1).is_some() {
        return first;
    }
    lines.find(|l| words(l).nth(1).is_some()).unwrap_or(first)
}

fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(u8::is_ascii_whitespace).filter(|w| !w.is_empty())
}

/// Whether all words, but for a label in front and a comment, are `index:value`.
fn is_libsvm(line: &[u8]) -> bool {
    let line = line.split(|b| *b == b'#').next().unwrap_or_default();
    let pair = |w: &[u8]| {
        w.iter().position(|b| *b == b':').is_some_and(|at| {
            let (index, value) = (&w[..at], &w[at + 1..]);
            let number = || str::from_utf8(value).is_ok_and(|v| v.parse::<f64>().is_ok());
            (index == b"qid" || !index.is_empty() && index.iter().all(u8::is_ascii_digit)) && number()
        })
    };
    let mut words = words(line);
    let Some(first) = words.next() else {
        return false;
    };
    let mut pairs = usize::from(pair(first));
    for word in words {
        if !pair(word) {
            return false;
        }
        pairs += 1;
    }
    pairs > 0
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn text_is_told_apart_by_content() {
        let of = |text: &str, extension| detect(text.as_bytes(), extension).unwrap();
        assert_eq!(of("+1 1:0.5 7:1\n", ""), Format::Libsvm);
        assert_eq!(of("# made by hand\n3\n1 qid:4 2:1 # x\n", "txt"), Format::Libsvm);
        assert_eq!(of("1:0.5 2:1\n", "txt"), Format::Libsvm);
        assert_eq!(of("a,b\n1,2\n", "txt"), Format::Csv);
        assert_eq!(of("a,b\n1,2\n", "svm"), Format::Csv);
        assert_eq!(of("1 2:x\n", "svm"), Format::Libsvm);
        assert_eq!(of("10:30 1\n", "csv"), Format::Csv);
        assert_eq!(of("time 10:30\n", ""), Format::Libsvm);
        assert_eq!(of("1\t2\n", "data"), Format::Csv);
    }

    #[test]
    fn foreign_content_gets_a_hint() {
        let of = |head: &[u8], extension| detect(head, extension).unwrap_err().to_string();
        assert!(of(b"MATLAB 7.3 MAT-file", "mat").contains("-v7"));
        assert!(of(b"FEA1....", "feather").contains("version 2"));
        assert!(of(b"% made by Weka\n@RELATION iris\n", "txt").contains("ARFF"));
        assert!(of(b"PK\x03\x04\x14\0[Content_Types].xml", "").contains("Excel workbook"));
        assert!(of(b"PK\x03\x04", "xlsx").contains("as CSV"));
        assert!(of(b"\x00\x01\x02", "bin").contains("csv, libsvm"));
    }
}
