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
        [
            "method",
            "penalty",
            "epsilon",
            "scaling",
            "folds",
            "best",
            "held-out accuracy",
            "largest class",
            "work",
            "certificate",
            "model"
        ],
        "{report}"
    );
    assert!(report.contains("  folds              4, repeated 3 times\n"), "{report}");
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
    assert_eq!(found["settings"][0]["scores"].as_array().unwrap().len(), 5);
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
    assert_snapshot!(lab.error(&format!("{options} --folds 4 --resume journal").replace("--folds 3", "")), @"error: journal: not a usable journal: it belongs to a search with other data or other settings");
    assert_snapshot!(lab.error("tune iris.csv --resume iris.csv"), @"error: iris.csv: the output would replace the input iris.csv");
    assert_snapshot!(lab.error("tune iris.csv --resume a -o a"), @"error: a: the model and the journal cannot be the same file");
}

#[test]
fn a_report_has_the_choice_and_the_model() {
    let lab = Lab::iris();
    let text = lab.text("tune iris.csv --p 2,4 --lambda 1e-2:1:3 --folds 3 --report page.html");
    assert!(text.contains("not written (no -o)"), "{text}");
    let page = lab.read("page.html");
    for part in ["best mean", "one standard error", "Accuracy by λ and p", "Margins between classes", "Convergence"] {
        assert!(page.contains(part), "{part}");
    }
    // Confusions are those of rows that the training has not seen.
    assert!(page.contains("Confusion matrix on the rows left out"));
    assert_eq!(page.matches("<figure>").count(), 4);
    let curve = |options: &str| {
        lab.text(&format!("tune iris.csv {options} --folds 2 --report page.html"));
        lab.read("page.html")
    };
    let page = curve("--method lr --lambda 0.1:10:3 --nested");
    assert!(page.contains("Accuracy by λ<") && page.contains("nested search"));
    assert!(curve("--p 1:3 --lambda 0.1").contains("Accuracy by p<"));
    let single = curve("--p 2 --lambda 0.1");
    assert!(!single.contains("Accuracy by") && single.contains("Of 1 setting,"));
    assert_snapshot!(lab.error("tune iris.csv --report iris.csv"), @"error: iris.csv: the output would replace the input iris.csv");
    assert_snapshot!(lab.error("tune iris.csv -o a --report ./a"), @"error: ./a: the model and the report cannot be the same file");
    assert_snapshot!(lab.error("tune iris.csv --json --report -"), @"error: `--json` and the report cannot both go to standard output");
    let output = lab.run("tune iris.csv --p 2 --lambda 0.1 --report -");
    assert!(stdout(&output).starts_with("<!DOCTYPE html>") && stdout(&output).ends_with("</html>\n"));
    assert!(stderr(&output).contains("certificate"));
    assert_eq!(lab.files(), ["iris.csv", "page.html"]);
}

#[test]
fn bad_input_is_explained() {
    let lab = Lab::iris();
    assert_snapshot!(lab.error("tune iris.csv --folds 51"), @"error: `folds` must be at most the number of rows of the largest class (50), found 51");
    assert_snapshot!(lab.error("tune iris.csv --folds 50 --nested"), @"error: the training part of a fold has 49 rows of the largest class, too few for the 50 folds of the search inside it");
    assert_snapshot!(lab.error("tune iris.csv --method topk --k 3"), @"error: `k` must be less than the number of classes, found 3 with 3 classes");
    assert_snapshot!(lab.error("tune iris.csv --class-weight rose=2"), @"error: `class-weight` must name classes of the data, found rose");
    assert_snapshot!(stderr(&lab.run("tune iris.csv --lambda=")), @"
    error: invalid value '' for '--lambda <RANGE>': `range` must be a number, or numbers as in 1:8 or 1e-4:1e-1:10, found ``

    For more information, try '--help'.
    ");
    assert_eq!(lab.files(), ["iris.csv"]);
}

#[test]
fn features_without_variance_change_nothing() {
    let lab = Lab::iris();
    let constant = lab
        .read("iris.csv")
        .lines()
        .enumerate()
        .fold(String::new(), |text, (i, line)| text + if i == 0 { "same," } else { "7," } + line + "\n");
    lab.write("constant.csv", &constant);
    let settings =
        |file: &str| answer(&lab, &format!("tune {file} --p 2,4 --lambda 1e-2:1:3 --json"))["settings"].take();
    assert_eq!(settings("constant.csv"), settings("iris.csv"));
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
