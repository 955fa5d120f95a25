//! Models for other programs.

use insta::assert_snapshot;

use crate::{Lab, stderr};

#[test]
fn help() {
    let text = Lab::iris().text("export --help");
    for part in [
        "Turn a model into a form that other programs use\n\nUsage: m3svm export [OPTIONS] --format <NAME> <MODEL>",
        "onnx: graph for ONNX runtimes: label, scores, probabilities",
        "liblinear: model file for LIBLINEAR's predict",
        "[default: single]",
        "[default: m3svm]",
        "m3svm export iris.m3svm --format onnx -o iris.onnx",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
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
    assert_snapshot!(lab.error("export iris.m3svm --format liblinear"), @"error: the labels of LIBLINEAR are whole numbers of 32 bits, found the class `setosa`");
    assert_snapshot!(lab.error("export ovo --format liblinear -o out"), @"error: LIBLINEAR has no votes of pairs of classes, which the method ovo needs; export it as onnx, c or json");
    assert_snapshot!(lab.error("export iris.m3svm --format c --name 2go"), @r#"error: `name` must be letters, digits and underscores that begin with a letter, found "2go""#);
    assert_snapshot!(lab.error("export iris.m3svm --format c --precision double"), @"error: `--precision` belongs to the format onnx, the format is c");
    assert_snapshot!(lab.error("export iris.m3svm --format json --name x"), @"error: `--name` belongs to the format c, the format is json");
    assert_snapshot!(lab.error("export iris.m3svm --format json -o iris.m3svm"), @"error: iris.m3svm: the output would replace the input iris.m3svm");
    assert_snapshot!(lab.error("export iris.m3svm --format json -o none/out"), @"error: none/out: the folder does not exist");
    assert!(lab.error("export iris.csv --format json -o out").contains("iris.csv: not a usable model file"));
    assert_eq!(lab.files(), ["iris.csv", "iris.m3svm", "ovo"]);
}
