//! Help texts: every option with its default.

use insta::assert_snapshot;

use crate::{Lab, stderr};

#[test]
fn the_program() {
    assert_snapshot!(Lab::new().text("--help"), @"");
}

#[test]
fn train() {
    assert_snapshot!(Lab::new().text("train --help"), @"");
}

#[test]
fn predict() {
    assert_snapshot!(Lab::new().text("predict --help"), @"");
}

#[test]
fn evaluate() {
    assert_snapshot!(Lab::new().text("evaluate --help"), @"");
}

#[test]
fn usage_errors_have_exit_code_2() {
    let lab = Lab::new();
    for arguments in [
        "",
        "fly",
        "train",
        "train iris.csv --p much",
        "train iris.csv --solver simplex",
        "train iris.csv --threads 0",
        "train iris.csv --header --no-header",
        "train iris.csv --class-weight heavy",
        "predict iris.m3svm",
    ] {
        let output = lab.run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments}");
        assert!(!output.stderr.is_empty());
    }
    let output = lab.run("train iris.csv --method svm");
    assert_snapshot!(stderr(&output), @"");
}

#[test]
fn manual_pages_and_completions_come_from_the_same_definitions() {
    let lab = Lab::new();
    assert!(lab.text("man").contains("m3svm"));
    assert!(lab.text("man train").contains("warm"));
    assert_snapshot!(lab.error("man fly"), @"");
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        assert!(lab.text(&format!("completions {shell}")).contains("warm-start"), "{shell}");
    }
}
