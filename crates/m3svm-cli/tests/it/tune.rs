//! `m3svm tune`.

use insta::assert_snapshot;
use serde_json::Value;

use crate::{Lab, stderr, stdout};

/// The answer without what differs from run to run.
fn answer(lab: &Lab, arguments: &str) -> Value {
    let mut answer = lab.json(arguments);
    answer.as_object_mut().unwrap().remove("seconds");
    answer
}

/// The names of the lines of a report, up to the map.
fn names(report: &str) -> Vec<&str> {
    let lines = report.lines().skip(1).take_while(|line| !line.is_empty());
    lines.map(|line| line.trim_start().split("  ").next().unwrap()).collect()
}

#[test]
fn the_report_has_the_best_setting_and_a_map() {
    let lab = Lab::iris();
    let report = lab.text("tune iris.csv --p 1,2,4 --lambda 1e-3:1e3:3 --folds 4 --repeats 3 -o best.m3svm");
    assert_eq!(
        names(&report),
        ["method", "penalty", "epsilon", "scaling", "folds", "best", "work", "certificate", "model"],
        "{report}"
    );
    assert!(report.contains("  folds        4, repeated 3 times\n"), "{report}");
    let map: Vec<&str> = report.lines().skip_while(|line| !line.starts_with("Mean accuracy")).collect();
    let title = "Mean accuracy in per cent by lambda (lines) and p (columns); * best, - discarded";
    assert_eq!(map[0], title);
    // λ = 1000 is hopeless for every p.
    assert_eq!((map.len(), map[4].matches('-').count()), (5, 3), "{report}");
    let firsts: Vec<&str> = map[1..].iter().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(firsts, ["lambda", "0.001", "1", "1000"]);
    assert_eq!(map[1..].iter().map(|line| line.matches('*').count()).sum::<usize>(), 1, "{report}");
    assert_eq!(lab.files(), ["best.m3svm", "iris.csv"]);
    let nested = lab.text("tune iris.csv --method lr --lambda 0.1:10:3 --rule one-se --nested");
    assert!(["chosen", "nested"].iter().all(|name| names(&nested).contains(name)), "{nested}");
    let wide = lab.text("tune iris.csv --p 1:25 --lambda 1e-2,1,1e6 --folds 2 --repeats 3");
    for text in [report.as_str(), &nested, &wide] {
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
}

#[test]
fn the_model_is_trained_on_all_rows_with_the_chosen_setting() {
    let lab = Lab::iris();
    let found = answer(&lab, "tune iris.csv --p 2,4 --lambda 1e-2:1:3 --rule one-se -o tuned.m3svm --json");
    assert_eq!(found["chosen"], found["one_standard_error"]);
    let (lambda, p) = (found["chosen"]["lambda"].as_f64().unwrap(), found["chosen"]["p"].as_f64().unwrap());
    lab.text(&format!("train iris.csv --lambda {lambda} --p {p} -o trained.m3svm"));
    let scores = |model: &str| lab.text(&format!("predict {model} iris.csv --scores"));
    assert_eq!(scores("tuned.m3svm"), scores("trained.m3svm"));
    assert_eq!(found["settings"].as_array().unwrap().len(), 6);
    assert_eq!((&found["fits"], &found["interrupted"]), (&30.into(), &false.into()));
    assert_eq!(found["settings"][0]["accuracies"].as_array().unwrap().len(), 5);
    assert!(found["model"]["relative_gap"].as_f64().unwrap() <= 1e-8);
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let lab = Lab::iris();
    let with = |threads| {
        let options = "--p 1,4 --lambda 1e-3:1e5:4 --folds 3 --repeats 3 --nested --json";
        answer(&lab, &format!("tune iris.csv {options} --threads {threads}"))
    };
    let one = with(1);
    assert!(one["discarded"].as_u64() > Some(0), "{one}");
    assert_eq!(one["nested"]["outer"].as_array().unwrap().len(), 3);
    assert_eq!(one, with(2));
    assert_eq!(one, with(3));
}

#[test]
fn groups_are_a_column() {
    let lab = Lab::iris();
    let mut lines = lab.read("iris.csv").lines().map(String::from).collect::<Vec<_>>();
    lines[0] = format!("person,{}", lines[0]);
    (1..lines.len()).for_each(|i| lines[i] = format!("p{},{}", i % 10, lines[i]));
    lab.write("people.csv", &lines.join("\n"));
    let found = answer(&lab, "tune people.csv --groups person --method lr --folds 5 --json");
    assert_eq!(found["features"], 4);
    let error = lab.error("tune people.csv --groups person --folds 11 --json");
    assert_snapshot!(error, @"error: `folds` must be at most the number of groups that can be tested (10), found 11");
    let error = lab.error("tune people.csv --groups nobody");
    assert!(error.contains("there is no group column `nobody`"), "{error}");
}

#[test]
fn a_journal_is_gone_on_from() {
    let lab = Lab::iris();
    let options = "tune iris.csv --p 1,2 --lambda 1e-3:1:4 --folds 3 --json";
    let whole = answer(&lab, options);
    assert_eq!(answer(&lab, &format!("{options} --resume journal")), whole);
    let lines = lab.read("journal");
    let some: Vec<&str> = lines.lines().take(2).collect();
    lab.write("journal", &format!("{}\n{{\"scope\":0,\"rep", some.join("\n")));
    let output = lab.run(&format!("{options} --resume journal"));
    assert_snapshot!(stderr(&output), @"note: 8 fits are taken from the journal");
    let mut again: Value = serde_json::from_str(&stdout(&output)).unwrap();
    again.as_object_mut().unwrap().remove("seconds");
    assert_eq!(again, whole);
    assert_snapshot!(lab.error(&format!("{options} --folds 4 --resume journal").replace("--folds 3", "")), @"error: journal: not the journal of this search: it belongs to a search with other data or other settings");
    assert_snapshot!(lab.error("tune iris.csv --resume iris.csv"), @"error: iris.csv: the journal would replace the input");
    assert_snapshot!(lab.error("tune iris.csv --resume a -o a"), @"error: a: the model and the journal cannot be the same file");
}

#[test]
fn wrong_ranges_are_explained() {
    let lab = Lab::iris();
    for (arguments, code) in [
        ("tune iris.csv --p 8:1", 2),
        ("tune iris.csv --lambda 1e-4:1e-1:0", 2),
        ("tune iris.csv --lambda 1,", 2),
        ("tune iris.csv --p 0:3", 1),
        ("tune iris.csv --lambda=-1", 1),
        ("tune iris.csv --folds 1", 1),
        ("tune iris.csv --folds 51", 1),
        ("tune iris.csv --repeats 0", 1),
        ("tune iris.csv --search-tol 0", 1),
        ("tune iris.csv --method lr --p 1:3", 1),
        ("tune iris.csv --penalty none --lambda 1:3", 1),
        ("train iris.csv --p 1:8", 1),
    ] {
        let output = lab.run(arguments);
        assert_eq!(output.status.code(), Some(code), "{arguments}: {}", stderr(&output));
        assert_eq!(stdout(&output), "", "{arguments}");
    }
    assert_snapshot!(lab.error("train iris.csv --p 1:8"), @"error: `--p` takes one number here; `m3svm tune` tries several");
    assert_snapshot!(lab.error("tune iris.csv --method lr --p 1:3"), @"error: `--p` is the power of distances of class vectors, lr has none");
    assert_snapshot!(stderr(&lab.run("tune iris.csv --p 8:1")), @"
    error: invalid value '8:1' for '--p <RANGE>': `range` must rise, by less than 10000, found `8:1`

    For more information, try '--help'.
    ");
}
