//! `m3svm compare`.

use insta::assert_snapshot;
use serde_json::Value;

use crate::{Lab, stderr, stdout};

/// Two quick methods on few folds.
const QUICK: &str = "--methods lr,m3svm --folds 2 --repeats 1";

/// The answer without what differs from run to run.
fn answer(lab: &Lab, arguments: &str) -> Value {
    let mut answer = lab.json(arguments);
    for method in answer["methods"].as_array_mut().unwrap() {
        let method = method.as_object_mut().unwrap();
        assert!(method.remove("fit_seconds").unwrap().as_f64() > Some(0.0));
        assert!(method.remove("predict_seconds").unwrap().as_f64() >= Some(0.0));
    }
    answer
}

#[test]
fn all_methods_are_tuned_and_listed_from_best_to_worst() {
    let lab = Lab::iris();
    let text = lab.text("compare iris.csv --folds 2 --repeats 1");
    let rows: Vec<Vec<&str>> = text.lines().skip(2).take(11).map(|line| line.split_whitespace().collect()).collect();
    let accuracy: Vec<f64> = rows.iter().map(|row| row[1].parse().unwrap()).collect();
    assert!(accuracy.is_sorted_by(|a, b| a >= b) && accuracy[10] > 60.0, "{text}");
    let mut names: Vec<&str> = rows.iter().map(|row| row[0]).collect();
    names.sort_unstable();
    assert_eq!(names, ["cs", "ism3", "lr", "m3svm", "msvm", "ovo", "ovr", "pairwise-lr", "smlr", "topk", "ww"]);
    assert_eq!(rows.iter().filter(|row| row[4] == "best").count(), 1, "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn the_answer_has_what_was_promised() {
    let lab = Lab::iris();
    let found = answer(&lab, &format!("compare iris.csv {QUICK} --json"));
    for (method, name) in found["methods"].as_array().unwrap().iter().zip(["lr", "m3svm"]) {
        assert_eq!(method["method"], name);
        assert!(method["relative_gap"].as_f64() <= Some(1e-8) && method["min_margin"].as_f64() > Some(0.0), "{method}");
        let accuracies: Vec<f64> = method["scores"].as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect();
        let mean = accuracies.iter().sum::<f64>() / 2.0;
        assert!((method["mean"].as_f64().unwrap() - mean).abs() < 1e-12 && mean > 0.9, "{method}");
        let sd = (accuracies[0] - accuracies[1]).abs() / 2f64.sqrt();
        assert!((method["sd"].as_f64().unwrap() - sd).abs() < 1e-12, "{method}");
        assert!(method["settings"]["lambda"].as_f64() > Some(0.0), "{method}");
    }
    let tested = found["methods"].as_array().unwrap().iter().filter(|m| m["p_value"].is_number()).count();
    assert_eq!(tested, 1, "the best has nobody to be compared with: {found}");
}

#[test]
fn groups_are_a_column() {
    let lab = Lab::iris();
    let mut lines = lab.read("iris.csv").lines().map(String::from).collect::<Vec<_>>();
    lines[0] = format!("person,{}", lines[0]);
    (1..lines.len()).for_each(|i| lines[i] = format!("p{},{}", i % 6, lines[i]));
    lab.write("people.csv", &lines.join("\n"));
    let options = format!("people.csv {QUICK} --groups person --json");
    let found = answer(&lab, &format!("compare {options}"));
    // With the same features but without the groups the folds are others.
    let without = answer(&lab, &format!("compare people.csv {QUICK} --features 1,2,3,4 --json"));
    assert_ne!(found["methods"][0]["scores"], without["methods"][0]["scores"]);
    assert_snapshot!(lab.error(&format!("compare {}", options.replace("--folds 2", "--folds 7"))), @"error: `folds` must be at most the number of groups that can be tested (6), found 7");
    let error = lab.error(&format!("compare people.csv {QUICK} --groups nobody"));
    assert!(error.contains("there is no group column `nobody`"), "{error}");
}

#[test]
fn a_journal_is_gone_on_from() {
    let lab = Lab::iris();
    let options = format!("compare iris.csv {QUICK} --json");
    let whole = answer(&lab, &options);
    assert_eq!(answer(&lab, &format!("{options} --resume journal")), whole);
    let again = lab.run(&format!("{options} --resume journal"));
    assert!(stderr(&again).starts_with("note: ") && stderr(&again).contains("fits are taken from the journal"));
    assert_eq!(answer(&lab, &format!("{options} --resume journal")), whole);
    assert_snapshot!(lab.error(&format!("{options} --seed 1 --resume journal")), @"error: journal: not a usable journal: it belongs to a search with other data or other settings");
}

#[test]
fn a_report_is_one_page_with_all_methods() {
    let lab = Lab::iris();
    let text = lab.text(&format!("compare iris.csv {QUICK} --report page.html"));
    assert!(text.contains("m3svm"), "{text}");
    let page = lab.read("page.html");
    for part in ["Settings", "Accuracy of the methods", "p-value", "smallest margin", "chosen most often", "λ "] {
        assert!(page.contains(part), "{part}");
    }
    assert_eq!(page.matches("<figure>").count(), 1);
    lab.text("compare iris.csv --methods lr --folds 2 --repeats 1 --report page.html");
    assert!(lab.read("page.html").contains("Only lr was compared."));
    assert_snapshot!(lab.error("compare iris.csv --report iris.csv"), @"error: iris.csv: the output would replace the input iris.csv");
    assert_snapshot!(lab.error("compare iris.csv --report a --resume ./a"), @"error: ./a: the report and the journal cannot be the same file");
    assert_snapshot!(lab.error("compare iris.csv --json --report -"), @"error: `--json` and the report cannot both go to standard output");
    let output = lab.run(&format!("compare iris.csv {QUICK} --report -"));
    assert!(stdout(&output).starts_with("<!DOCTYPE html>") && stdout(&output).ends_with("</html>\n"));
    assert!(stderr(&output).contains("p-value"));
    assert_eq!(lab.files(), ["iris.csv", "page.html"]);
}

#[test]
fn bad_input_is_explained() {
    let lab = Lab::iris();
    let compare = |options: &str| lab.error(&format!("compare {options}"));
    assert_snapshot!(compare("iris.csv --folds 51"), @"error: `folds` must be at most the number of rows of the largest class (50), found 51");
    assert_snapshot!(compare("iris.csv --folds 1"), @"error: `folds` must be at least 2, found 1");
    assert_snapshot!(compare("iris.csv --repeats 0"), @"error: `repeats` must be at least 1, found 0");
    assert_snapshot!(compare("iris.csv --methods lr,svm"), @"error: there is no method `svm`; there are m3svm, ism3, pairwise-lr, ovr, ovo, ww, cs, msvm, topk, lr, smlr");
    assert_snapshot!(compare("iris.csv --methods lr,lr"), @"error: the method `lr` is named twice");
    assert_snapshot!(compare("iris.csv --class-weight rose=2"), @"error: `class-weight` must name classes of the data, found rose");
    let few = "a,b,label\n0,1,x\n1,1,x\n2,1,x\n3,0,y\n4,0,y\n5,0,y\n";
    lab.write("few.csv", few);
    assert_snapshot!(compare("few.csv --folds 3"), @"error: the training part of a fold has 2 rows of the largest class, too few for the 3 folds of the search inside it");
    assert_snapshot!(compare("few.csv --folds 3 --methods topk"), @"error: `k` must be less than the number of classes, found 2 with 2 classes");
    lab.write("none.csv", "a,label\n1,x\n");
    assert_snapshot!(compare("none.csv"), @"error: none.csv: at least two classes are needed, found 1 (`x`)");
}

#[test]
fn features_without_variance_change_nothing() {
    let lab = Lab::iris();
    let plain = answer(&lab, &format!("compare iris.csv {QUICK} --json"));
    let constant = lab
        .read("iris.csv")
        .lines()
        .enumerate()
        .fold(String::new(), |text, (i, line)| text + if i == 0 { "same," } else { "7," } + line + "\n");
    lab.write("constant.csv", &constant);
    let found = answer(&lab, &format!("compare constant.csv {QUICK} --json"));
    assert_eq!(found["methods"][0]["scores"], plain["methods"][0]["scores"]);
    assert_eq!(found["methods"][0]["settings"], plain["methods"][0]["settings"]);
}
