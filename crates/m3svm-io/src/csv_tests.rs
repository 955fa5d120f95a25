//! Tests of the CSV reader.
#![expect(clippy::unwrap_used, reason = "tests")]

use super::*;
use crate::options::LabelUse;
use crate::{ReadError, read_from};

fn parse_with(text: impl AsRef<[u8]>, options: &ReadOptions) -> Result<Table, ReadError> {
    let bytes = text.as_ref().to_vec();
    read_from(std::io::Cursor::new(bytes), "t.csv".as_ref(), options)
}

fn parse(text: &str) -> Table {
    parse_with(text, &ReadOptions::default()).unwrap()
}

fn error(text: impl AsRef<[u8]>) -> String {
    parse_with(text, &ReadOptions::default()).unwrap_err().to_string()
}

#[test]
fn header_and_delimiter_are_found_out() {
    for text in ["a,b,kind\n1,2,x\n3,4,y\n", "a\tb\tkind\n1\t2\tx\n3\t4\ty\n", "\u{feff}a;b;kind\r\n1;2;x\r\n\r\n3;4;y"]
    {
        let table = parse(text);
        assert_eq!(table.feature_names.unwrap(), ["a", "b"]);
        assert_eq!(table.labels.unwrap(), ["x", "y"]);
        assert_eq!((table.label_name.as_deref(), table.label_guessed), (Some("kind"), true));
        assert_eq!((table.x.rows(), table.x.cols(), table.x.get(1, 0)), (2, 2, 3.0));
    }
    let table = parse("5.1,true,setosa\n4.9,false,setosa\n");
    assert_eq!((table.rows(), table.feature_names, table.label_name.as_deref()), (2, None, Some("column 3")));
    assert_eq!(table.x.get(0, 1), 1.0);
    assert_eq!(parse("1,2,1.0\n3,4,+2\n").labels.unwrap(), ["1", "2"]);
    assert_eq!(parse("0,1,label\n3,4,x\n").feature_names.unwrap(), ["0", "1"]);
    assert_eq!(parse("0,1,kind\n3,4,7\n").label_name.unwrap(), "kind");
    assert_eq!(parse("a,\"b,c\",kind\n1,2,\"x \"\"y\"\"\"\n").labels.unwrap(), ["x \"y\""]);
}

#[test]
fn options_are_obeyed() {
    let options = ReadOptions {
        label: Some("kind".parse().unwrap()),
        weight: Some("w".parse().unwrap()),
        features: Some(vec!["b".parse().unwrap()]),
        ..Default::default()
    };
    let table = parse_with("kind,w,city,b\nx,0.5,Rome,1\ny,2,Oslo,2\n", &options).unwrap();
    assert_eq!((table.x.cols(), table.x.get(1, 0)), (1, 2.0));
    assert_eq!((table.weights.unwrap(), table.label_guessed), (vec![0.5, 2.0], false));
    let options = ReadOptions { header: Some(false), delimiter: Some(b' '), ..Default::default() };
    assert_eq!(parse_with("1 2 a\n3 4 b\n", &options).unwrap().x.get(1, 1), 4.0);
    let options = ReadOptions { labels: LabelUse::Ignore, ..Default::default() };
    let table = parse_with("a,b\n1,2\n", &options).unwrap();
    assert_eq!((table.x.cols(), table.labels), (2, None));
}

#[test]
fn bad_cells_are_named() {
    let head = "age,height,kind\n1,2,x\n";
    assert_eq!(error(format!("{head},2,x\n")), "t.csv: line 3, column \"age\": the cell is empty, expected a number");
    assert_eq!(
        error(format!("{head}1,tall,x\n")),
        "t.csv: line 3, column \"height\": found \"tall\", expected a number"
    );
    assert_eq!(
        error(format!("{head}1,nan,x\n")),
        "t.csv: line 3, column \"height\": found NaN, expected a finite number"
    );
    assert_eq!(error(format!("{head}1,2,\n")), "t.csv: line 3, column \"kind\": the label is empty");
    assert_eq!(error(format!("{head}1,2\n")), "t.csv: line 3: expected 3 cells as in the first line, found 2");
    assert_eq!(error(format!("{head}\n\n1,2,3,4\n")), "t.csv: line 5: expected 3 cells as in the first line, found 4");
    assert_eq!(
        error("a,city,kind\n1,Rome,x\n"),
        "t.csv: line 2, column \"city\": found \"Rome\", expected a number; leave the column out or encode it as numbers"
    );
    assert_eq!(error("1,2\n3,x\n4,5\n,6\n"), "t.csv: line 4, column 1: the cell is empty, expected a number");
    assert_eq!(
        error([b"a,kind\n".as_slice(), b"\xff,x\n"].concat()),
        "t.csv: line 2, column \"a\": the text is not UTF-8"
    );
    assert_eq!(error([b"\xe9,kind\n".as_slice(), b"1,x\n"].concat()), "t.csv: line 1: the column names are not UTF-8");
}

#[test]
fn empty_files_are_named() {
    assert_eq!(error(""), "t.csv: the file is empty");
    assert_eq!(parse(" \n \na,b\n \n1,x\n").rows(), 1);
    assert_eq!(error("\n\n"), "t.csv: the file is empty");
    assert_eq!(error("a,b\n"), "t.csv: there are no rows after the header");
    assert_eq!(error("1\n2\n"), "t.csv: there is no feature column besides the label");
    let missing = crate::read("no/such/file.csv".as_ref(), &ReadOptions::default()).unwrap_err().to_string();
    assert!(missing.starts_with("no/such/file.csv: No such file"), "{missing}");
}

#[test]
fn lines_are_counted_in_every_ending() {
    for newline in ["\n", "\r\n"] {
        let text = ["a,kind", "1,x", "", "2,\"y", "z\"", "", ""].join(newline);
        for tail in ["bad,x", "bad,\"x\n\n\"\n3,x", "3,x,4"] {
            let tail = tail.replace('\n', newline);
            assert!(error(format!("{text}{tail}")).contains("line 7"), "{newline:?} {tail:?}");
        }
    }
}

#[test]
fn a_quote_that_is_never_closed_is_named_by_the_line_where_it_begins() {
    let head = "f1,f2,class\n1,2,a\n";
    let never = |line: u64| format!("t.csv: line {line}: the quote that begins here is never closed");
    for newline in ["\n", "\r\n"] {
        let error = |text: String| error(text.replace('\n', newline));
        assert_eq!(error(format!("{head}3,4,\"a\n5,6,b\n7,8,c\n")), never(3));
        assert_eq!(error(format!("{head}3,4,\"a\n5,6,b\n7,8,c")), never(3));
        assert_eq!(error(format!("{head}\"3,4,a\n")), never(3));
        assert_eq!(error(format!("{head}3,4,\"")), never(3));
        assert_eq!(error(format!("{head}3,4,\"a \"\"b\"\"\n5,6,b\n\n\n")), never(3));
        assert_eq!(error(format!("{head}3,4,\"x\ny\"\n5,6,\"z\n")), never(5));
        assert_eq!(error(format!("{head}3,\"4\n5\n\n7,8,c\n")), never(3));
        assert_eq!(error("f1,f2,\"class\n1,2,a\n".into()), never(1));
        // Two cells with breaks in one row: the second one is open.
        assert_eq!(error(format!("{head}3,\"4\n\",\"a\n5,6,b\n")), never(4));
        let closed = format!("{head}3,4,\"a\n\"\n\n5,6,\"\n\nb\"\n7,8,\"c\"").replace('\n', newline);
        let table = parse(&closed);
        assert_eq!(table.labels.clone().unwrap(), ["a", "a", "b", "c"]);
        assert_eq!([0, 1, 2, 3].map(|row| table.place(row)), [2, 3, 6, 9].map(Place::Line));
    }
    assert_eq!(error("\u{feff}f1,class\n1,\"a\n"), never(2));
    // The mark behind the end is no row, whatever the delimiter.
    for delimiter in [b',', b'\0', b'm'] {
        let options = ReadOptions { delimiter: Some(delimiter), ..Default::default() };
        let text = "1,a\n2,b".replace(',', &char::from(delimiter).to_string());
        assert_eq!(parse_with(text, &options).unwrap().rows(), 2);
    }
    let zeros = format!("1,a\n2,{}\n", "\0".repeat(8));
    assert_eq!(parse(&zeros).labels.unwrap(), ["a", &"\0".repeat(8)]);
}

#[test]
fn labels_that_are_not_finite_are_no_classes_among_numbers() {
    let text = "x,class\n1,0\n2,1\n3,nan\n";
    assert_eq!(error(text), "t.csv: line 4, column \"class\": found nan, expected a finite number");
    assert_eq!(error("1,0\n2,-Inf\n"), "t.csv: line 2, column 2: found -Inf, expected a finite number");
    assert_eq!(parse("x,class\n1,inf\n2,setosa\n").labels.unwrap(), ["inf", "setosa"]);
    let group = ReadOptions { group: Some("who".into()), ..Default::default() };
    let refused = parse_with("who,x,class\n7,1,a\nNaN,2,b\n", &group).unwrap_err().to_string();
    assert_eq!(refused, "t.csv: line 3, column \"who\": found NaN, expected a finite number");
}

#[test]
fn all_that_is_wrong_is_said_at_once() {
    let text =
        "size,count,kind\n1.5,1,a\n2.5,2,b\ntall,3,a\n3.5,x,NA\n1,2\n4.5,5,\n1,2,3,4\nsmall,6,b\n2,2,a\n2,2,b\n3,3,a\n";
    let options = ReadOptions { preparation: Some(Preparation::default()), ..Default::default() };
    let read = crate::read_from(std::io::Cursor::new(text.as_bytes().to_vec()), "t.csv".as_ref(), &options);
    let said = read.unwrap_err().to_string();
    for part in [
        "line 6 and 1 more: expected 3 cells as in the first line, found 2",
        "line 4 and 1 more, column \"size\": found \"tall\", expected a number",
        "line 5, column \"count\": found \"x\", expected a number",
        "line 5 and 1 more, column \"kind\": the label is missing (`NA`)",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
}
