//! Every way to go wrong: one sentence, exit code 1, nothing written.

use insta::assert_snapshot;

use crate::Lab;

#[test]
fn broken_data() {
    let lab = Lab::iris();
    let train = |text: &str| {
        lab.write("d.csv", text);
        lab.error("train d.csv -o d.m3svm")
    };
    assert_snapshot!(train(""), @"error: d.csv: the file is empty");
    assert_snapshot!(train("a,b,label\n"), @"error: d.csv: there are no rows after the header");
    assert_snapshot!(train("a,b,label\n1,2,x\n1,two,y\n"), @r#"error: d.csv: line 3, column "b": found "two", expected a number"#);
    assert_snapshot!(train("a,b,label\n1,2,x\n1,inf,y\n"), @r#"error: d.csv: line 3, column "b": found inf, expected a finite number"#);
    assert_snapshot!(train("a,b,label\n1,2,x\n1,y\n"), @"error: d.csv: line 3: expected 3 cells as in the first line, found 2");
    assert_snapshot!(train("a,b,label\n1,2,x\n1,3,x\n"), @"error: d.csv: at least two classes are needed, found 1 (`x`)");
    assert_snapshot!(train("a,b,label\n1,2,x\n1,3,\n"), @r#"error: d.csv: line 3, column "label": the label is empty"#);
    assert_eq!(lab.files(), ["d.csv", "iris.csv"]);
}

#[test]
fn wrong_columns() {
    let lab = Lab::iris();
    assert_snapshot!(lab.error("train iris.csv --label kind"), @"error: iris.csv: there is no label column `kind`; there are `sepal_length`, `sepal_width`, `petal_length`, `petal_width`, `species`");
    assert_snapshot!(lab.error("train iris.csv --label 9"), @"error: iris.csv: there is no label column `9`; there are `sepal_length`, `sepal_width`, `petal_length`, `petal_width`, `species`");
    assert_snapshot!(lab.error("train iris.csv --features sepal_length,colour"), @"error: iris.csv: there is no feature column `colour`; there are `sepal_length`, `sepal_width`, `petal_length`, `petal_width`, `species`");
    assert_snapshot!(lab.error("train iris.csv --weight-column colour"), @"error: iris.csv: there is no weight column `colour`; there are `sepal_length`, `sepal_width`, `petal_length`, `petal_width`, `species`");
    assert_snapshot!(lab.error("train iris.csv --format parquet"), @"error: iris.csv: not a usable Parquet file: Parquet error: Invalid Parquet file. Corrupt footer");
}

#[test]
fn wrong_settings() {
    let lab = Lab::iris();
    let train = |options: &str| lab.error(&format!("train iris.csv {options}"));
    assert_snapshot!(train("--p 0"), @"error: `p` must be greater than 0 and at most 1000, or inf, found 0");
    assert_snapshot!(train("--p nan"), @"error: `p` must be greater than 0 and at most 1000, or inf, found NaN");
    assert_snapshot!(train("--gamma 0.5"), @"error: `--gamma` belongs to the kernels rbf, polynomial and laplacian, the kernel is linear");
    assert_snapshot!(train("--kernel rbf --gamma 0"), @"error: `gamma` must be `scale`, `auto` or a finite number greater than 0, found 0");
    assert_snapshot!(train("--kernel rbf --gamma 0.1,1"), @"error: `--gamma` takes one value here; `m3svm tune` tries several");
    assert_snapshot!(train("--kernel rbf --degree 2"), @"error: `--degree` belongs to the kernel polynomial, the kernel is rbf");
    assert_snapshot!(train("--kernel rbf --rank 0"), @"error: `rank` must be at least 1, found 0");
    assert_snapshot!(train("--kernel rbf --rank 200"), @"error: `rank` must be at most the number of training rows, found 200");
    assert_snapshot!(train("--kernel precomputed"), @"error: columns of the precomputed kernel (one per training row): expected 150, found 4");
    assert_snapshot!(train("--lambda -1"), @"error: `lambda` must be a finite number of at least 0, found -1");
    assert_snapshot!(train("--delta -1"), @"error: `delta` must be a number from 0 to 1e6, found -1");
    assert_snapshot!(train("--epsilon 0"), @"error: `epsilon` must be a finite number greater than 0, found 0");
    assert_snapshot!(train("--tol 0"), @"error: `tol` must be a finite number greater than 0, found 0");
    assert_snapshot!(train("--threads 0"), @"error: `threads` must be from 1 to 1024, found 0");
    assert_snapshot!(train("--threads -1"), @"error: `threads` must be from 1 to 1024, found -1");
    assert_snapshot!(train("--seed -1"), @"error: `seed` must be a whole number from 0 to 2^64 - 1, found -1");
    assert_snapshot!(train("--max-iter -3"), @"error: `max-iter` must be a whole number from 0 to 2^64 - 1, found -3");
    assert_snapshot!(train("--solver adam --batch -1"), @"error: `batch` must be a whole number from 0 to 2^64 - 1, found -1");
    assert_snapshot!(train("--max-iter 0"), @"error: `max-iter` must be at least 1, found 0");
    assert_snapshot!(train("--solver adam --learning-rate 0"), @"error: `learning-rate` must be a finite number greater than 0, found 0");
    assert_snapshot!(train("--solver adam --batch 0"), @"error: `batch` must be at least 1, found 0");
    assert_snapshot!(train("--batch 10"), @"error: `--batch` belongs to the solver adam, the solver is auto");
    assert_snapshot!(train("--learning-rate 1"), @"error: `--learning-rate` belongs to the solver adam, the solver is auto");
    assert_snapshot!(train("--method ism3 --delta 1"), @"error: `--delta` belongs to the methods m3svm, ovr, ovo, ww, cs, msvm, topk, the method is ism3");
    assert_snapshot!(train("--penalty ridge --p 3"), @"error: `--p` is the power of distances of class vectors, this penalty has none");
    assert_snapshot!(train("--penalty none --lambda 3"), @"error: `--lambda` is the strength of a penalty, the penalty is none");
    assert_snapshot!(train("--class-weight rose=2"), @"error: `class-weight` must name classes of the data, found rose");
    assert_snapshot!(train("--class-weight setosa=-2"), @"error: weight of class `setosa` must be a finite number of at least 0, found -2");
}

#[test]
fn wrong_paths() {
    let lab = Lab::trained();
    assert_snapshot!(lab.error("train none.csv"), @"error: none.csv: No such file or directory (os error 2)");
    assert_snapshot!(lab.error("train iris.csv -o none/m"), @"error: none/m: the folder does not exist");
    assert_snapshot!(lab.error("train iris.csv -o ."), @"error: .: Is a directory (os error 21)");
    assert_snapshot!(lab.error("train iris.csv -o iris.csv"), @"error: iris.csv: the output would replace the input iris.csv");
    assert_snapshot!(lab.error("train iris.csv --trace ./iris.csv"), @"error: ./iris.csv: the output would replace the input iris.csv");
    assert_snapshot!(lab.error("train iris.csv -o m --trace m"), @"error: m: the model and the trace cannot be the same file");
    assert_snapshot!(lab.error("train iris.csv --report iris.csv"), @"error: iris.csv: the output would replace the input iris.csv");
    assert_snapshot!(lab.error("train iris.csv --report none/r.html"), @"error: none/r.html: the folder does not exist");
    assert_snapshot!(lab.error("train iris.csv -o m --report m"), @"error: m: the model and the report cannot be the same file");
    assert_snapshot!(lab.error("train iris.csv --trace t --report ./t"), @"error: ./t: the trace and the report cannot be the same file");
    assert_snapshot!(lab.error("predict iris.m3svm iris.csv -o iris.m3svm"), @"error: iris.m3svm: the output would replace the input iris.m3svm");
    assert_snapshot!(lab.error("predict iris.m3svm iris.csv -o none/out.csv"), @"error: none/out.csv: the folder does not exist");
    assert_snapshot!(lab.error("predict none.m3svm iris.csv"), @"error: none.m3svm: No such file or directory (os error 2)");
    assert_snapshot!(lab.error("train iris.csv -o new/"), @"error: new/: expected the name of a file, found that of a folder");
    assert_snapshot!(lab.error("train iris.csv --warm-start none.m3svm"), @"error: none.m3svm: No such file or directory (os error 2)");
    assert_eq!(lab.files(), ["iris.csv", "iris.m3svm"]);
}

#[test]
fn no_file_is_read_twice() {
    let lab = Lab::trained();
    let twice = "error: iris.csv: the file is named twice, expected once\n";
    for command in
        ["train iris.csv ./iris.csv", "evaluate iris.m3svm iris.csv iris.csv", "predict iris.m3svm *.csv iris.csv"]
    {
        assert_eq!(lab.error(command).replace("./iris", "iris"), twice, "{command}");
    }
}

#[test]
fn no_output_is_an_input_or_another_output() {
    let lab = Lab::trained();
    let model = std::fs::read(lab.path("iris.m3svm")).unwrap();
    std::fs::hard_link(lab.path("iris.m3svm"), lab.path("hard")).unwrap();
    std::fs::hard_link(lab.path("iris.csv"), lab.path("data")).unwrap();
    for (command, outputs) in [
        ("train iris.csv --warm-start iris.m3svm", ["-o", "--trace", "--report"].as_slice()),
        ("tune iris.csv --p 2 --lambda 0.1", &["-o", "--report", "--resume"]),
        ("compare iris.csv --methods lr,ww", &["--report", "--resume"]),
        ("predict iris.m3svm iris.csv", &["-o"]),
        ("export iris.m3svm --format json", &["-o"]),
    ] {
        let inputs = ["iris.csv", "iris.m3svm"].into_iter().filter(|input| command.contains(input));
        for (output, input) in outputs.iter().flat_map(|output| inputs.clone().map(move |input| (output, input))) {
            let hard = if input == "iris.csv" { "data" } else { "hard" };
            for name in [input, &format!("./{input}"), hard] {
                let refused = lab.error(&format!("{command} {output} {name}"));
                assert_eq!(refused, format!("error: {name}: the output would replace the input {input}\n"), "{output}");
            }
        }
    }
    let refused = lab.error("tune iris.csv --resume hard -o iris.m3svm");
    assert_eq!(refused, "error: hard: the model and the journal cannot be the same file\n");
    assert_eq!(std::fs::read(lab.path("iris.m3svm")).unwrap(), model);
    assert_eq!(lab.files(), ["data", "hard", "iris.csv", "iris.m3svm"]);
}

#[test]
fn models_and_data_that_do_not_fit() {
    let lab = Lab::trained();
    assert_snapshot!(lab.error("inspect iris.csv"), @"error: iris.csv: not a usable model file: it does not begin like one");
    let bytes = std::fs::read(lab.path("iris.m3svm")).unwrap();
    std::fs::write(lab.path("cut.m3svm"), &bytes[..bytes.len() - 9]).unwrap();
    // The exact size depends on how many digits the numbers have.
    let cut: String = lab.error("inspect cut.m3svm").replace(|c: char| c.is_ascii_digit(), "");
    assert_snapshot!(cut, @"error: cut.msvm: not a usable model file: it should have  bytes and has");
    lab.text("train iris.csv --validation none -o bare.m3svm");
    assert_snapshot!(lab.error("predict bare.m3svm iris.csv --proba"), @"error: the method m3svm defines no probabilities, and no rows were held out in the training to learn them from; train with --validation 5, or with --method ism3 or pairwise-lr or lr or smlr");
    lab.write("roses.csv", "1,2,3,4,rosa\n4,5,6,7,alba\n");
    assert_snapshot!(lab.error("train roses.csv --warm-start iris.m3svm"), @"error: `warm-start` must be a model of at least one class of the data, found one of setosa, versicolor, virginica");
    lab.write("few.csv", "1,2,3\n4,5,6\n");
    assert_snapshot!(lab.error("predict iris.m3svm few.csv"), @"error: few.csv: expected 4 features, found 3");
    lab.write("other.csv", "sepal_length,sepal_width,colour,species\n1,2,3,setosa\n");
    assert_snapshot!(lab.error("predict iris.m3svm other.csv"), @"error: other.csv: the model needs 2 more columns: `petal_length`, `petal_width`; new to it: `colour`");
    assert_snapshot!(lab.error("train other.csv --warm-start iris.m3svm"), @"error: other.csv: at least two classes are needed, found 1 (`setosa`)");
    let unseen = lab.read("iris.csv").replacen("virginica", "tulip", 1);
    lab.write("unseen.csv", &unseen);
    assert_snapshot!(lab.error("evaluate iris.m3svm unseen.csv"), @"error: unseen.csv: line 102: label `tulip` is not one of the 3 classes of the model");
    let header_and_two = unseen.lines().take(3).collect::<Vec<_>>().join("\n");
    lab.write("gaps.csv", &format!("{header_and_two}\n\n\n1,2,3,4,tulip\n"));
    assert_snapshot!(lab.error("evaluate iris.m3svm gaps.csv"), @"error: gaps.csv: line 6: label `tulip` is not one of the 3 classes of the model");
    lab.write("bare.csv", "1,2,3,4\n4,5,6,7\n");
    assert_snapshot!(lab.error("evaluate iris.m3svm bare.csv"), @"error: bare.csv: there are no labels; all columns are features of the model");
}

#[test]
fn old_output_survives_a_failed_run() {
    let lab = Lab::trained();
    let before = std::fs::read(lab.path("iris.m3svm")).unwrap();
    lab.write("bad.csv", "a,label\n1,x\ninf,y\n");
    lab.error("train bad.csv -o iris.m3svm");
    lab.error("train iris.csv --solver adam --learning-rate 1e300 -o iris.m3svm");
    assert_eq!(std::fs::read(lab.path("iris.m3svm")).unwrap(), before);
}
