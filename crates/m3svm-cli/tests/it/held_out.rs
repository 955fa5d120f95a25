//! Accuracies of rows that a training has not seen, and probabilities learnt from them.

use crate::{Lab, stderr};

/// Three classes of 60, 30 and 6 rows in two features that overlap.
fn uneven(lab: &Lab, name: &str) {
    let mut text = "u,v,who,kind\n".to_string();
    for i in 0..96 {
        let (kind, centre) = if i < 60 {
            ("a", 0.0)
        } else if i < 90 {
            ("b", 1.5)
        } else {
            ("c", 0.9)
        };
        let t = f64::from(i);
        let (u, v) = (centre + (t * 1.7).sin(), (t * 2.3).cos() + 0.3 * centre);
        text += &format!("{u:.4},{v:.4},{},{kind}\n", i % 24);
    }
    lab.write(name, &text);
}

#[test]
fn a_training_shows_what_to_expect_of_new_rows() {
    let lab = Lab::iris();
    let text = lab.text("train iris.csv");
    let at = |name: &str| text.lines().position(|line| line.trim_start().starts_with(name));
    assert!(at("held-out accuracy").unwrap() < at("train accuracy").unwrap(), "{text}");
    assert!(text.contains("33.33 % right by always guessing the largest class"), "{text}");
    assert!(text.contains("setosa 50, versicolor 50, virginica 50"), "{text}");
    let answer = lab.json("train iris.csv --json --threads 1");
    let held = &answer["held_out"];
    assert_eq!((&held["how"], &held["rows"]), (&"5 folds".into(), &150.into()));
    let (low, high) = (held["accuracy_interval"][0].as_f64(), held["accuracy_interval"][1].as_f64());
    assert!(low < held["accuracy"].as_f64() && held["accuracy"].as_f64() < high && held["log_loss"].is_number());
    assert_eq!(answer["class_counts"], serde_json::json!([50, 50, 50]));
    // The same for any number of threads.
    assert_eq!(lab.json("train iris.csv --json --threads 3")["held_out"], *held);
    let none = lab.json("train iris.csv --json --validation none");
    assert!(none["held_out"].is_null() && none["temperature"].is_null());
    assert_eq!(none["objective"], answer["objective"]);
    let share = lab.json("train iris.csv --json --validation 0.2");
    assert_eq!((&share["held_out"]["how"], &share["held_out"]["rows"]), (&"30 of 150 rows".into(), &30.into()));
    assert_eq!(lab.json("train iris.csv --json --validation 10")["held_out"]["how"], "10 folds");
    let refused = lab.run("train iris.csv --validation 1.5");
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("expected a share between 0 and 1, a number of folds, or none"));
    assert!(lab.error("train iris.csv --validation 51").contains("must be at most the number of rows"));
}

#[test]
fn another_file_is_a_test() {
    let lab = Lab::iris();
    let rows = lab.read("iris.csv");
    let lines: Vec<&str> = rows.lines().collect();
    let pick = |rest: usize| {
        let some = lines[1..].iter().enumerate().filter(|(i, _)| i % 3 == rest).map(|(_, line)| *line);
        std::iter::once(lines[0]).chain(some).collect::<Vec<_>>().join("\n") + "\n"
    };
    lab.write("train.csv", &(pick(0) + pick(1).split_once('\n').unwrap().1));
    lab.write("test.csv", &pick(2));
    let answer = lab.json("train train.csv --test test.csv -o model.m3svm --json");
    let evaluated = lab.json("evaluate model.m3svm test.csv --json");
    assert_eq!(answer["test"]["rows"], 50);
    for measure in ["accuracy", "log_loss", "auc_pairwise", "auc_one_vs_rest", "balanced_accuracy", "calibration_error"]
    {
        assert_eq!(answer["test"][measure], evaluated[measure], "{measure}");
        assert!(evaluated[measure].is_number(), "{measure}");
    }
    assert_eq!(lab.error("train train.csv --test gone.csv"), "error: gone.csv: the file does not exist\n");
    // A test that does not fit costs nobody the model.
    lab.write("other.csv", "sepal_length,species\n1,setosa\n");
    let failed = lab.run("train train.csv --test other.csv -o kept.m3svm");
    assert_eq!(failed.status.code(), Some(1));
    assert!(stderr(&failed).contains("the model needs 3 more columns"), "{}", stderr(&failed));
    lab.text("predict kept.m3svm test.csv");
}

#[test]
fn every_method_has_probabilities() {
    let lab = Lab::iris();
    for method in ["m3svm", "ovr", "ovo", "cs", "lr"] {
        lab.text(&format!("train iris.csv --method {method} -o model.m3svm"));
        let out = lab.text("predict model.m3svm iris.csv --proba");
        let mut right = 0.0;
        for (row, line) in out.lines().skip(1).enumerate() {
            let cells: Vec<&str> = line.split(',').collect();
            let shares: Vec<f64> = cells[1..].iter().map(|p| p.parse().unwrap()).collect();
            assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{method} {line}");
            right += shares[row / 50];
        }
        // They promise about what is kept.
        assert!(right / 150.0 > 0.8, "{method} {right}");
        let c = lab.text("export model.m3svm --format json");
        assert!(c.contains("\"temperature\""), "{method}");
    }
    lab.text("tune iris.csv --lambda 0.01,0.1 --p 2 -o tuned.m3svm");
    lab.text("predict tuned.m3svm iris.csv --proba");
}

#[test]
fn rare_classes_that_are_not_found_are_spoken_of() {
    let lab = Lab::iris();
    uneven(&lab, "uneven.csv");
    let output = lab.run("train uneven.csv --drop who --json");
    let told = stderr(&output);
    assert!(told.contains("rare classes are found less often than frequent ones"), "{told}");
    assert!(told.contains("with --class-weight balanced they would be"), "{told}");
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let balanced = lab.json("train uneven.csv --drop who --class-weight balanced --json");
    assert_eq!(answer["held_out_if_balanced"], without_how(&balanced["held_out"]));
    assert!(balanced["held_out_if_balanced"].is_null());
    let grouped = lab.json("train uneven.csv --drop who --groups who --json");
    assert_ne!(grouped["held_out"]["log_loss"], answer["held_out"]["log_loss"]);
}

fn without_how(quality: &serde_json::Value) -> serde_json::Value {
    let mut all = quality.clone();
    all.as_object_mut().unwrap().remove("how");
    all
}

#[test]
fn searches_and_comparisons_go_by_what_they_are_told() {
    let lab = Lab::iris();
    uneven(&lab, "uneven.csv");
    for metric in ["accuracy", "balanced", "macro-f1", "log-loss"] {
        let tuned = lab.json(&format!("tune uneven.csv --drop who --p 2 --lambda 0.01,0.1 --metric {metric} --json"));
        assert_eq!(tuned["metric"], metric);
        let mean = tuned["best"]["mean"].as_f64().unwrap();
        assert!(if metric == "log-loss" { mean < 0.0 } else { (0.0..=1.0).contains(&mean) }, "{metric} {mean}");
    }
    let text = lab.text("tune uneven.csv --drop who --p 2 --lambda 0.01,0.1 --metric log-loss");
    assert!(text.contains("Mean log-loss by lambda"), "{text}");
    let compared =
        lab.text("compare uneven.csv --drop who --methods lr,ww --folds 2 --repeats 1 --metric balanced -o best.m3svm");
    assert!(compared.contains("balanced accuracy %") && compared.contains("Balanced accuracy: mean"), "{compared}");
    assert!(compared.contains("Next:\n    m3svm predict best.m3svm new.csv -o classes.csv"), "{compared}");
    lab.text("predict best.m3svm uneven.csv --proba");
}

#[test]
fn an_evaluation_has_a_report() {
    let lab = Lab::trained();
    lab.text("evaluate iris.m3svm iris.csv --report page.html");
    let page = lab.read("page.html");
    for part in ["balanced accuracy", "log-loss", "AUC, pairs of classes", "calibration error", "Confusion matrix"] {
        assert!(page.contains(part), "{part}");
    }
    let page = {
        lab.text("train iris.csv --report train.html");
        lab.read("train.html")
    };
    assert!(page.contains("Of the rows held out (5 folds)"), "the report of a training");
}
