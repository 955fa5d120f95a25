//! Models for other programs.

use insta::assert_snapshot;

use crate::{Lab, stderr};

#[test]
fn help() {
    assert_snapshot!(Lab::iris().text("export --help"), @"
    Turn a model into a form that other programs use

    Usage: m3svm export [OPTIONS] --format <NAME> <MODEL>

    Arguments:
      <MODEL>  The model file

    Options:
          --format <NAME>     What to turn the model into
                              onnx: graph for ONNX runtimes: label, scores, probabilities
                              c: C99 source without dependencies
                              json: weights and how to use them
                              liblinear: model file for LIBLINEAR's predict
      -o, --output <FILE>     Write to this file [default: standard output]
          --precision <NAME>  Type of features and scores in an ONNX graph [default: single] [possible
                              values: single, double]
          --name <NAME>       What names in C begin with [default: m3svm]
          --threads <N>       Threads to use [default: all cores]
          --memory <SIZE>     Most memory to take, such as 2GB or 512MiB [default: 80 % of what is free]
      -q, --quiet             Say nothing but results and errors: no notes, no warnings, no progress
      -h, --help              Print help
      -V, --version           Print version

    Examples:
      m3svm export iris.m3svm --format onnx -o iris.onnx
      m3svm export iris.m3svm --format c --name iris -o iris.c

    Scaling is folded into the weights: all formats take features as they are in the data.
    ");
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

/// Weights for features as they are would be off by more than classes are apart.
#[test]
fn features_far_from_zero_are_not_exported() {
    let lab = Lab::iris();
    let row = |i: u32| format!("{},{},{}\n", 7, 1_000_000_000_000_000 + 4 * u64::from(i % 3) + u64::from(i % 2), i % 3);
    lab.write(
        "far.csv",
        &format!(
            "near,far,label\n{}",
            (0..30).map(|i| row(i).replacen('7', &(i % 5).to_string(), 1)).collect::<String>()
        ),
    );
    let trained = lab.json("train far.csv --lambda 0.001 -o far --json");
    assert_eq!(
        (&trained["train_accuracy"], &lab.json("evaluate far far.csv --json")["accuracy"]),
        (&1.0.into(), &1.0.into())
    );
    for format in ["onnx", "c", "json", "liblinear"] {
        let error = lab.error(&format!("export far --format {format} -o out"));
        let expected = "error: the values of feature 2 lie too far from 0 for how little they differ, exported weights could not tell them \
                        apart; subtract a number near them before the training\n";
        assert_eq!(error, expected, "{format}");
    }
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
    assert_snapshot!(lab.error("export iris.csv --format json -o out"), @"error: iris.csv: not a usable model file: it does not begin like one");
    assert_eq!(lab.files(), ["iris.csv", "iris.m3svm", "ovo"]);
}
