//! `m3svm reproduce`.

use insta::assert_snapshot;

use crate::{Lab, stderr, stdout};

/// Iris, with the label column that the data files have, as the only data file.
fn lab() -> Lab {
    let lab = Lab::iris();
    std::fs::create_dir(lab.path("data")).unwrap();
    lab.write("data/iris.csv", &lab.read("iris.csv").replacen("species", "label", 1));
    lab
}

#[test]
fn missing_files_are_left_out_with_a_line_each() {
    let output = lab().run("reproduce confusion --data data -o out");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(stdout(&output), "The results are in out.\n");
    assert_snapshot!(stderr(&output), @"
    note: confusion-iris: done
    note: Dermatology left out: data/dermatology.csv.gz is not there
    note: Optdigits left out: data/optdigits.csv.gz is not there
    ");
}

#[test]
fn it_is_an_error_if_nothing_could_run() {
    let lab = lab();
    let output = lab.run("reproduce table1 --sets glass --data data -o out");
    assert_eq!((output.status.code(), stdout(&output)), (Some(1), String::new()));
    assert_snapshot!(stderr(&output), @"
    note: Glass left out: data/glass.csv.gz is not there
    error: nothing could be run: none of the data files is in data
    ");
    let known = "cornell, isolet, hhar, usps, orl, dermatology, vehicle, glass, iris, optdigits, coil20, segment";
    let unknown = lab.error("reproduce p --sets glas --data data -o out");
    assert_eq!(unknown, format!("error: there is no data set `glas`; there are {known}\n"));
    assert_snapshot!(lab.error("reproduce p --repeats 0 --data data -o out"), @"error: `repeats` must be at least 1, found 0");
    assert_eq!(lab.run("reproduce table2").status.code(), Some(2));
}

#[test]
fn the_environment_names_the_data_unless_the_command_does() {
    let lab = lab();
    let output = lab.command("reproduce illustrations --sets iris -o out").env("M3SVM_DATA", "data").output().unwrap();
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), String::new()));
    assert!(lab.read("out/illustration-iris-lda.svg").starts_with("<svg"));
}
