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
