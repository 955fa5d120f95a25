//! Every way to go wrong: one sentence, exit code 1, nothing written.

use insta::assert_snapshot;

use crate::Lab;

#[test]
fn broken_data() {
    let lab = Lab::new();
    let train = |text: &str| {
        lab.write("d.csv", text);
        lab.error("train d.csv -o d.m3svm")
    };
    assert_snapshot!(train(""), @"");
    assert_snapshot!(train("a,b,label\n"), @"");
    assert_snapshot!(train("a,b,label\n1,2,x\n1,,y\n"), @"");
    assert_snapshot!(train("a,b,label\n1,2,x\n1,two,y\n"), @"");
    assert_snapshot!(train("a,b,label\n1,2,x\n1,NaN,y\n"), @"");
    assert_snapshot!(train("a,b,label\n1,2,x\n1,inf,y\n"), @"");
    assert_snapshot!(train("a,b,label\n1,2,x\n1,y\n"), @"");
    assert_snapshot!(train("a,b,label\n1,2,x\n1,3,x\n"), @"");
    assert_snapshot!(train("a,b,label\n1,2,x\n1,3,\n"), @"");
    assert_eq!(lab.files(), ["d.csv", "iris.csv"]);
}

#[test]
fn wrong_columns() {
    let lab = Lab::new();
    assert_snapshot!(lab.error("train iris.csv --label kind"), @"");
    assert_snapshot!(lab.error("train iris.csv --label 9"), @"");
    assert_snapshot!(lab.error("train iris.csv --features sepal_length,colour"), @"");
    assert_snapshot!(lab.error("train iris.csv --weight-column colour"), @"");
    assert_snapshot!(lab.error("train iris.csv --format parquet"), @"");
}

#[test]
fn wrong_settings() {
    let lab = Lab::new();
    let train = |options: &str| lab.error(&format!("train iris.csv {options}"));
    assert_snapshot!(train("--p 0"), @"");
    assert_snapshot!(train("--p nan"), @"");
    assert_snapshot!(train("--lambda=-1"), @"");
    assert_snapshot!(train("--delta=-1"), @"");
    assert_snapshot!(train("--epsilon 0"), @"");
    assert_snapshot!(train("--tol 0"), @"");
    assert_snapshot!(train("--max-iter 0"), @"");
    assert_snapshot!(train("--solver adam --learning-rate 0"), @"");
    assert_snapshot!(train("--solver adam --batch 0"), @"");
    assert_snapshot!(train("--batch 10"), @"");
    assert_snapshot!(train("--learning-rate 1"), @"");
    assert_snapshot!(train("--method ism3 --delta 1"), @"");
    assert_snapshot!(train("--penalty ridge --p 3"), @"");
    assert_snapshot!(train("--penalty none --lambda 3"), @"");
    assert_snapshot!(train("--class-weight rose=2"), @"");
    assert_snapshot!(train("--class-weight setosa=-2"), @"");
}

#[test]
fn wrong_paths() {
    let lab = Lab::trained();
    assert_snapshot!(lab.error("train none.csv"), @"");
    assert_snapshot!(lab.error("train iris.csv -o none/m"), @"");
    assert_snapshot!(lab.error("train iris.csv -o ."), @"");
    assert_snapshot!(lab.error("train iris.csv -o iris.csv"), @"");
    assert_snapshot!(lab.error("train iris.csv --trace ./iris.csv"), @"");
    assert_snapshot!(lab.error("train iris.csv -o m --trace m"), @"");
    assert_snapshot!(lab.error("predict iris.m3svm iris.csv -o iris.m3svm"), @"");
    assert_snapshot!(lab.error("predict iris.m3svm iris.csv -o none/out.csv"), @"");
    assert_snapshot!(lab.error("predict none.m3svm iris.csv"), @"");
    assert_snapshot!(lab.error("train iris.csv --warm-start none.m3svm"), @"");
    assert_eq!(lab.files(), ["iris.csv", "iris.m3svm"]);
}

#[test]
fn models_and_data_that_do_not_fit() {
    let lab = Lab::trained();
    assert_snapshot!(lab.error("inspect iris.csv"), @"");
    let bytes = std::fs::read(lab.path("iris.m3svm")).unwrap();
    std::fs::write(lab.path("cut.m3svm"), &bytes[..bytes.len() - 9]).unwrap();
    assert_snapshot!(lab.error("inspect cut.m3svm"), @"");
    assert_snapshot!(lab.error("predict iris.m3svm iris.csv --proba"), @"");
    lab.write("few.csv", "1,2,3\n4,5,6\n");
    assert_snapshot!(lab.error("predict iris.m3svm few.csv"), @"");
    lab.write("other.csv", "sepal_length,sepal_width,colour,species\n1,2,3,setosa\n");
    assert_snapshot!(lab.error("predict iris.m3svm other.csv"), @"");
    assert_snapshot!(lab.error("train other.csv --warm-start iris.m3svm"), @"");
    let unseen = lab.read("iris.csv").replacen("virginica", "tulip", 1);
    lab.write("unseen.csv", &unseen);
    assert_snapshot!(lab.error("evaluate iris.m3svm unseen.csv"), @"");
    lab.write("bare.csv", "1,2,3,4\n4,5,6,7\n");
    assert_snapshot!(lab.error("evaluate iris.m3svm bare.csv"), @"");
}

#[test]
fn old_output_survives_a_failed_run() {
    let lab = Lab::trained();
    let before = std::fs::read(lab.path("iris.m3svm")).unwrap();
    lab.write("bad.csv", "a,label\n1,x\n,y\n");
    lab.error("train bad.csv -o iris.m3svm");
    lab.error("train iris.csv --solver adam --learning-rate 1e300 -o iris.m3svm");
    assert_eq!(std::fs::read(lab.path("iris.m3svm")).unwrap(), before);
}
