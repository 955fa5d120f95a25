//! Models for other programs.

use insta::assert_snapshot;

use crate::{Lab, stderr};

#[test]
fn help() {
    assert_snapshot!(Lab::iris().text("export --help"), @"");
}

#[test]
fn every_format_goes_to_a_file_or_a_pipe() {
    let lab = Lab::iris();
    lab.write("numbers.csv", "a,b,label\n0,1,-1\n1,0,2\n1,1,2\n0,3,-1\n");
    lab.text("train numbers.csv -o m");
    for (format, begin) in
        [("onnx", "\u{8}\u{7}"), ("c", "/* A linear"), ("json", "{\"format\""), ("liblinear", "solver_type MCSVM_CS")]
    {
        assert_eq!(lab.text(&format!("export m --format {format} -o out")), "\n");
        let written = std::fs::read(lab.path("out")).unwrap();
        assert!(written.starts_with(begin.as_bytes()), "{format}");
        let piped = lab.run(&format!("export m --format {format}"));
        assert_eq!((piped.status.code(), stderr(&piped)), (Some(0), String::new()));
        assert_eq!(piped.stdout, written);
    }
    assert!(lab.text("export m --format c --name two").contains("int two_predict(const double *x)"));
    let sizes = ["single", "double"].map(|p| lab.run(&format!("export m --format onnx --precision {p}")).stdout.len());
    assert_ne!(sizes[0], sizes[1]);
    assert_eq!(lab.files(), ["iris.csv", "m", "numbers.csv", "out"]);
}

#[test]
fn what_a_format_cannot_say_is_an_error() {
    let lab = Lab::trained();
    lab.text("train iris.csv --method ovo -o ovo");
    assert_snapshot!(lab.error("export iris.m3svm --format liblinear"), @"");
    assert_snapshot!(lab.error("export ovo --format liblinear -o out"), @"");
    assert_snapshot!(lab.error("export iris.m3svm --format c --name 2go"), @"");
    assert_snapshot!(lab.error("export iris.m3svm --format c --precision double"), @"");
    assert_snapshot!(lab.error("export iris.m3svm --format json --name x"), @"");
    assert_snapshot!(lab.error("export iris.m3svm --format json -o iris.m3svm"), @"");
    assert_snapshot!(lab.error("export iris.m3svm --format json -o none/out"), @"");
    assert_snapshot!(lab.error("export iris.csv --format json -o out"), @"");
    assert_eq!(lab.files(), ["iris.csv", "iris.m3svm", "ovo"]);
}
