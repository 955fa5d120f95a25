//! `separable` and `train --hard-margin`.

use serde_json::json;

use crate::Lab;

/// Two clouds that are apart, three with one between the others, and two with a row in common.
fn lab() -> Lab {
    let lab = Lab::iris();
    lab.write("apart.csv", "x,y,kind\n0,0,a\n1,0,a\n0,1,a\n5,5,b\n6,5,b\n5,6,b\n");
    lab.write("same.csv", "x,y,kind\n0,0,a\n1,2,a\n5,5,b\n1,2,b\n");
    lab
}

#[test]
fn what_cannot_be_told_apart_is_said_with_its_rows() {
    let lab = lab();
    let text = lab.text("separable iris.csv");
    for expected in [
        "Versicolor and virginica cannot be told apart: a weighted mean of",
        "is the same point as one of",
        "2 of 3 pairs can be told apart two by two.",
        "all could be told apart (the fewest that were found)",
    ] {
        let folded = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(folded.contains(expected), "{expected}: {text}");
    }
    let found = lab.json("separable iris.csv --json");
    assert_eq!(found["all"]["verdict"], "not-separable");
    assert_eq!(found["pairs"][0]["verdict"], "separable");
    assert_eq!(found["pairs"][2]["classes"], json!(["versicolor", "virginica"]));
    let rows = found["pairs"][2]["combination"].as_array().unwrap();
    let total: f64 = rows.iter().map(|row| row["weight"].as_f64().unwrap()).sum();
    assert!((total - 1.0).abs() < 1e-9 && rows.iter().all(|row| row["class"] != row["against"]));
    assert!(!found["removal"].as_array().unwrap().is_empty());
}

#[test]
fn what_can_be_told_apart_is_said_and_has_a_hard_margin() {
    let lab = lab();
    let text = lab.text("separable apart.csv");
    assert!(text.contains("All classes can be told apart without a mistake"), "{text}");
    assert_eq!(lab.json("separable apart.csv --json")["removal"], json!([]));
    // The nearest points of the two hulls are (½, ½) and (5, 5).
    for p in ["2", "inf"] {
        let found = lab.json(&format!("train apart.csv --hard-margin --p {p} --scale none --json"));
        let margin = found["min_margin"].as_f64().unwrap();
        assert!((margin - 4.5 * 2f64.sqrt()).abs() < 1e-6, "{margin}");
        assert_eq!(found["hard_margin"], true);
        assert!(found["relative_gap"].as_f64().unwrap() <= 1e-6);
    }
    lab.text("train apart.csv --hard-margin -o hard.m3svm");
    let text = lab.text("inspect hard.m3svm");
    assert!(text.contains("m3svm, hard margin"), "{text}");
}

#[test]
fn a_hard_margin_that_does_not_exist_is_refused_with_the_reason() {
    let lab = lab();
    let error = lab.error("train same.csv --hard-margin");
    assert_eq!(
        error.trim_end(),
        "error: no hard margin: a and b cannot be told apart: row 2 (a) and row 4 (b) are equal"
    );
    let error = lab.error("train iris.csv --hard-margin");
    assert!(error.starts_with("error: no hard margin: versicolor and virginica cannot be told apart"), "{error}");
    let error = lab.error("train iris.csv --hard-margin --lambda 1");
    assert_eq!(error.trim_end(), "error: `--lambda` weighs slack against margins, with `--hard-margin` there is none");
    assert!(lab.error("train iris.csv --hard-margin --method lr").contains("`hard-margin` must go with"));
    assert!(lab.error("tune iris.csv --hard-margin").contains("leaves no lambda to choose"));
}
