//! What the commands print and write when all goes well.

use insta::assert_snapshot;

use crate::{Lab, stderr, stdout};

#[test]
fn demo() {
    assert_snapshot!(masked_gaps(&Lab::iris().text("demo")), @"
    150 iris flowers of three species, four measurements each. M³SVM separates all
    pairs of species at once; the margin of a pair is the width of the strip between
    them. With the same lambda, a larger power p lifts the smallest margin and lets a
    few more flowers fall on the wrong side. Most of that is a stronger penalty: where
    lambda keeps the training loss equal, p adds one or two per cent on these flowers.

      p  closest classes    minimum margin  train accuracy  relative gap
      1  setosa, virginica          0.0997         98.67 % [...]
      2  setosa, virginica           0.143         98.00 % [...]
      4  setosa, virginica           0.345         97.33 % [...]
      8  setosa, virginica           0.712         96.67 % [...]

    The model with p = 4:
      method       m3svm (smooth hinge of pairs, delta 0.01)
      penalty      l2 distances of class vectors, p 4, lambda 0.001
      epsilon      1e-6
      scaling      standard (mean 0, deviation 1)
      certificate  optimal to within [...] (relative duality gap)

    Confusion matrix (lines: true class, columns: predicted class)
                  setosa  versicolor  virginica
      setosa          50           ·          ·
      versicolor       ·          46          4
      virginica        ·           ·         50

    Your own data next (CSV, LIBSVM, Parquet, Arrow, NumPy or MATLAB):
      m3svm train data.csv --label NAME -o data.m3svm
      m3svm evaluate data.m3svm test.csv
      m3svm predict data.m3svm new.csv -o classes.csv
      m3svm inspect data.m3svm
    ");
}

/// The last column of the first table depends on the solver's path.
fn masked_gaps(text: &str) -> String {
    let masked = text.lines().map(|line| match line.rsplit_once(' ') {
        Some((rest, last)) if line.contains(" % ") && last.contains("e-") => format!("{} [...]\n", rest.trim_end()),
        _ => format!("{line}\n"),
    });
    masked.collect()
}

#[test]
fn train_and_inspect() {
    let lab = Lab::iris();
    assert_snapshot!(lab.text("train iris.csv"), @"
    iris.csv: 150 rows, 4 features, labels from species
      classes            3: setosa 50, versicolor 50, virginica 50
      method             m3svm (smooth hinge of pairs, delta 0.01)
      penalty            l2 distances of class vectors, p 4, lambda 0.0316
      lambda             chosen by 14 fits on 150 rows, 0.001 to 0.1
      epsilon            1e-6
      scaling            standard (mean 0, deviation 1)
      solver [...]
      objective          22.019908
      certificate        optimal to within [...] (relative duality gap)
      minimum margin     0.5920 between setosa and virginica
      held-out accuracy  96.67 % (95 % interval 92.4 to 98.6 %), 5 folds
      largest class      33.33 % right by always guessing the largest class
      train accuracy     97.33 %
      support vectors    47 of 150 rows
      model              not written (no -o)
    ");
    assert_eq!(lab.files(), ["iris.csv"]);
    assert_snapshot!(lab.text("train iris.csv -o iris.m3svm --p 8 --lambda 0.01 --no-intercept --scale none --class-weight setosa=2"), @"
    iris.csv: 150 rows, 4 features, labels from species
      classes            3: setosa 50, versicolor 50, virginica 50
      method             m3svm (smooth hinge of pairs, delta 0.01)
      penalty            l2 distances of class vectors, p 8, lambda 0.01
      epsilon            1e-6
      scaling            none
      intercept          none
      class weights      setosa=2
      solver [...]
      objective          50.116733
      certificate        optimal to within [...] (relative duality gap)
      minimum margin     0.8956 between setosa and virginica
      held-out accuracy  95.33 % (95 % interval 90.7 to 97.7 %), 5 folds
      largest class      33.33 % right by always guessing the largest class
      train accuracy     96.00 %
      support vectors    94 of 150 rows
      model              iris.m3svm
    ");
    assert_snapshot!(lab.text("inspect iris.m3svm"), @"
    iris.m3svm
      classes          3: setosa, versicolor, virginica
      features         4: sepal_length, sepal_width, petal_length, petal_width
      method           m3svm (smooth hinge of pairs, delta 0.01)
      penalty          l2 distances of class vectors, p 8, lambda 0.01
      epsilon          1e-6
      scaling          none
      intercept        none
      class weights    setosa=2
      solver [...]
      objective        50.116733
      certificate      optimal to within [...] (relative duality gap)
      minimum margin   0.8956 between setosa and virginica
      train accuracy   96.00 %
      support vectors  94 of 150 rows
      ended because    converged

    Margins between classes
                  setosa  versicolor  virginica
      setosa           ·       1.583     0.8956
      versicolor   1.583           ·      1.154
      virginica   0.8956       1.154          ·

    Largest weights per class (of 4 features, scaled)
      setosa      petal_length -0.799, sepal_width +0.639, sepal_length +0.213
      versicolor  petal_width -0.559, sepal_length +0.317, sepal_width -0.235
      virginica   petal_length +0.771, petal_width +0.749, sepal_length -0.529
    ");
    assert_eq!(lab.files(), ["iris.csv", "iris.m3svm"]);
}

#[test]
fn lambda_is_chosen_unless_it_is_given() {
    let lab = Lab::iris();
    let printed = lab.text("train iris.csv -o iris.m3svm --report iris.html");
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = |text: &str| text.lines().find(|line| line.starts_with("  lambda ")).map(words);
    let said = line(&printed).unwrap();
    assert!(said.contains("chosen by 14 fits on 150 rows, "), "{printed}");
    // The file knows it, and so does everyone who reads it.
    assert_eq!(line(&lab.text("inspect iris.m3svm")), Some(said));
    assert!(lab.read("iris.html").contains("chosen by 14 fits on 150 rows"));
    let answer = lab.json("train iris.csv --json");
    let choice = &answer["lambda_choice"];
    assert_eq!((&choice["lambda"], &choice["folds"], &choice["used"]), (&answer["lambda"], &4.into(), &150.into()));
    assert!(choice["tried"].as_array().is_some_and(|tried| tried.len() > 3), "{choice}");
    assert!(lab.text("train iris.csv --explain").contains("  lambda             by cross-validation"));
    let given = lab.json("train iris.csv --json --lambda 0.5");
    assert_eq!((&given["lambda"], &given["lambda_choice"]), (&0.5.into(), &serde_json::Value::Null));
    let error = lab.error("tune iris.csv --lambda auto");
    assert_snapshot!(error, @"error: `--lambda auto` is for `m3svm train`; leave `--lambda` out here, or type the values to try");
}

#[test]
fn a_sparse_model_says_what_is_left() {
    let lab = Lab::iris();
    assert_snapshot!(lab.text("train iris.csv --method smlr --lambda 1"), @"
    iris.csv: 150 rows, 4 features, labels from species
      classes            3: setosa 50, versicolor 50, virginica 50
      method             smlr (softmax)
      penalty            lasso, lambda 1
      epsilon            1e-6
      scaling            standard (mean 0, deviation 1)
      solver [...]
      objective          28.704651
      certificate        optimal to within [...] (relative duality gap)
      minimum margin     0.1935 between setosa and virginica
      held-out accuracy  95.33 % (95 % interval 90.7 to 97.7 %), 5 folds
      largest class      33.33 % right by always guessing the largest class
      train accuracy     97.33 %
      features in use    4 of 4 features, 6 of 12 weights
      model              not written (no -o)
    ");
    let refused = lab.run("train iris.csv --method smlr --solver newton");
    assert_snapshot!(stderr(&refused), @"error: the solver newton cannot minimise absolute values of weights; use proximal or auto");
    assert_eq!(refused.status.code(), Some(1));
}

#[test]
fn train_json_has_the_promised_keys() {
    let lab = Lab::iris();
    let answer = lab.json("train iris.csv --json --threads 2");
    assert_eq!(answer["method"], "m3svm");
    assert_eq!((&answer["rows"], &answer["features"], &answer["classes"]), (&150.into(), &4.into(), &3.into()));
    assert_eq!(answer["stop"], "converged");
    assert!(answer["relative_gap"].as_f64().unwrap() <= 1e-8);
    assert!(answer["lower_bound"].as_f64() <= answer["objective"].as_f64());
    for key in [
        "iterations",
        "evaluations",
        "seconds",
        "min_margin",
        "train_accuracy",
        "support_vectors",
        "surviving_features",
        "nonzero_weights",
        "p",
        "lambda",
        "delta",
        "epsilon",
    ] {
        assert!(answer[key].is_number(), "{key}: {answer}");
    }
    assert_eq!(answer["min_margin_classes"], serde_json::json!(["setosa", "virginica"]));
    // Nothing to separate by: the margin is infinite, which JSON cannot say.
    lab.write("flat.csv", "x,label\n1,a\n1,b\n");
    let flat = lab.json("train flat.csv --json");
    assert!(flat["min_margin"].is_null(), "{flat}");
    let none = lab.json("train iris.csv --json --p 0.5");
    assert!(none["lower_bound"].is_null() && none["relative_gap"].is_null());
}

#[test]
fn predict() {
    let lab = Lab::trained();
    lab.write(
        "new.csv",
        "petal_width,id,sepal_width,petal_length,sepal_length\n0.2,17,3.5,1.4,5.1\n2.5,18,3.3,6,6.3\n",
    );
    assert_snapshot!(lab.text("predict iris.m3svm new.csv"), @"
    prediction
    setosa
    virginica
    ");
    let scores = lab.text("predict iris.m3svm new.csv --scores");
    assert_eq!(scores.lines().next(), Some("prediction,score_setosa,score_versicolor,score_virginica"));
    assert!(scores.lines().nth(1).unwrap().starts_with("setosa,"));
    lab.text("train iris.csv --method ism3 -o soft.m3svm");
    assert_eq!(lab.text("predict soft.m3svm new.csv --scores --proba -o out.csv"), "\n");
    let out = lab.read("out.csv");
    assert!(out.starts_with("prediction,score_setosa,score_versicolor,score_virginica,proba_setosa,proba_"), "{out}");
    let sum: f64 = out.lines().nth(1).unwrap().split(',').skip(4).map(|p| p.parse::<f64>().unwrap()).sum();
    assert!((sum - 1.0).abs() < 1e-12);
    // With or without labels, with or without names.
    let all = lab.text("predict iris.m3svm iris.csv");
    assert_eq!(all.lines().count(), 151);
    let bare: String =
        lab.read("iris.csv").lines().skip(1).map(|l| l.rsplit_once(',').unwrap().0.to_string() + "\n").collect();
    lab.write("bare.csv", &bare);
    assert_eq!(lab.text("predict iris.m3svm bare.csv"), all);
}

#[test]
fn class_names_are_quoted_in_csv() {
    let lab = Lab::iris();
    lab.write("odd.csv", "x,label\n0,\"a,b\"\n1,\"say \"\"c\"\"\"\n0.1,\"a,b\"\n");
    lab.text("train odd.csv -o odd.m3svm");
    assert_snapshot!(lab.text("predict odd.m3svm odd.csv"), @r#"
    prediction
    "a,b"
    "say ""c"""
    "a,b"
    "#);
}

#[test]
fn evaluate() {
    let lab = Lab::trained();
    assert_snapshot!(lab.text("evaluate iris.m3svm iris.csv"), @"
    iris.csv: 150 rows
      accuracy               97.33 % (95 % interval 93.3 to 99.0 %)
      largest class          33.33 % right by always guessing the largest class
      balanced accuracy      97.33 %
      AUC, one against rest  0.9991
      AUC, pairs of classes  0.9991
      log-loss               0.05943
      calibration error      0.03586

      class             precision  recall      F1  rows
      setosa               1.0000  1.0000  1.0000    50
      versicolor           1.0000  0.9200  0.9583    50
      virginica            0.9259  1.0000  0.9615    50
      macro average        0.9753  0.9733  0.9733   150
      weighted average     0.9753  0.9733  0.9733   150

    Confusion matrix (lines: true class, columns: predicted class)
                  setosa  versicolor  virginica
      setosa          50           ·          ·
      versicolor       ·          46          4
      virginica        ·           ·         50

    Most confused
      true        predicted  rows  of the class
      versicolor  virginica     4        8.00 %
    ");
    let answer = lab.json("evaluate iris.m3svm iris.csv --json");
    assert_eq!(answer["confusion"][0], serde_json::json!([50.0, 0.0, 0.0]));
    assert_eq!(answer["per_class"][2]["class"], "virginica");
    // One class is enough to evaluate, if not to train.
    let one: String = lab.read("iris.csv").lines().take(11).map(|l| format!("{l}\n")).collect();
    lab.write("one.csv", &one);
    assert_eq!(lab.json("evaluate iris.m3svm one.csv --json")["accuracy"], 1.0);
}

#[test]
fn many_classes_stay_readable() {
    let lab = Lab::iris();
    let rows = (0..160).map(|i| {
        let (k, t) = (i % 40, f64::from(i % 40));
        format!("{},{},{},person number {k}\n", (t * 0.7).sin() * 9.0, (t * 0.3).cos() * 9.0, f64::from(i / 40) * 0.1)
    });
    lab.write("many.csv", &rows.collect::<String>());
    lab.text("train many.csv -o many.m3svm --tol 1e-3");
    for arguments in ["inspect many.m3svm", "evaluate many.m3svm many.csv", "train many.csv --tol 1e-3"] {
        let text = lab.text(arguments);
        let widest = text.lines().map(|l| l.chars().count()).max();
        assert!(widest <= Some(80), "{text}");
    }
}

#[test]
fn the_same_training_gives_the_same_predictions_for_any_number_of_threads() {
    let lab = Lab::iris();
    lab.text("train iris.csv -o one.m3svm --threads 1");
    lab.text("train iris.csv -o two.m3svm --threads 2");
    let scores = |model: &str| lab.text(&format!("predict {model} iris.csv --scores"));
    assert_eq!(scores("one.m3svm"), scores("two.m3svm"));
}

#[test]
fn what_is_not_the_optimum_is_said_on_standard_error() {
    let lab = Lab::iris();
    let output = lab.run("train iris.csv --max-iter 2 --solver newton");
    assert_eq!(output.status.code(), Some(0));
    let warning = stderr(&output);
    assert!(
        warning.starts_with("warning: not converged after 2 iterations, the relative duality gap is "),
        "{warning}"
    );
    assert!(warning.ends_with("; raise --max-iter\n"), "{warning}");
    let output = lab.run("train iris.csv --solver adam --max-iter 3");
    assert!(stderr(&output).ends_with("; use --solver auto\n"));
    let output = lab.run("train iris.csv --p 0.5");
    assert!(stderr(&output).starts_with("note: p < 1 is not convex"));
    assert!(stdout(&output).contains("none (p < 1: a local optimum)"));
}

#[test]
fn sparse_data_is_not_said_to_be_centred() {
    let lab = Lab::iris();
    lab.write("d.svm", "a 1:1 2:2\nb 1:2\na 2:3\nb 1:3 2:1\n");
    let scaling = |options: &str| {
        let text = lab.text(&format!("train d.svm {options}"));
        text.lines().find_map(|l| l.trim().strip_prefix("scaling")).unwrap().trim().to_string()
    };
    assert_eq!(scaling(""), "standard (deviation 1, means left as they are)");
    assert_eq!(scaling("--scale minmax"), "minmax (range of width 1, not shifted)");
    assert_eq!(scaling("--scale maxabs"), "maxabs (largest absolute value 1)");
}

#[test]
fn the_exact_hinge_is_none_of_lbfgs_business() {
    let output = Lab::iris().run("train iris.csv --solver lbfgs --delta 0 --max-iter 50");
    let told = stderr(&output);
    assert!(told.starts_with("warning: ") && told.ends_with("; use --solver newton\n"), "{told}");
}

#[test]
fn a_trace_has_one_line_per_iteration() {
    let lab = Lab::iris();
    let answer = lab.json("train iris.csv --json --trace trace.csv");
    let trace = lab.read("trace.csv");
    let mut lines = trace.lines();
    assert_eq!(lines.next(), Some("iteration,seconds,objective,relative_gap"));
    let rows: Vec<Vec<f64>> = lines.map(|l| l.split(',').map(|v| v.parse().unwrap_or(f64::NAN)).collect()).collect();
    assert!(rows.iter().all(|r| r.len() == 4) && rows.len() > 1);
    assert!(rows.windows(2).all(|w| w[1][2] <= w[0][2] && w[1][1] >= w[0][1]));
    assert!(rows.last().unwrap()[2] >= answer["objective"].as_f64().unwrap() * (1.0 - 1e-12));
}

#[test]
fn a_guessed_label_that_looks_like_a_measurement_is_questioned() {
    let lab = Lab::iris();
    let rows: String = (0..30).map(|i| format!("{},{}.5\n", i % 7, i)).collect();
    lab.write("d.csv", &format!("a,b\n{rows}"));
    let refused = "error: d.csv: no column is named like a label, and the last one, column \"b\", has 30 different numbers in 30 rows; \
                   --label chooses the label\n";
    assert_eq!(lab.error("train d.csv"), refused);
    let output = lab.run("train d.csv --label b");
    let first = stderr(&output).lines().next().map(str::to_string);
    assert_eq!(
        first.as_deref(),
        Some("warning: 30 classes in 30 rows: is b the label? --label chooses another column")
    );
    assert!(!stderr(&lab.run("train iris.csv")).contains("classes in"));
}

#[test]
fn a_report_says_what_the_program_says() {
    let lab = Lab::iris();
    let answer = lab.json("train iris.csv --lambda 0.001 --report iris.html --json");
    let page = lab.read("iris.html");
    assert_eq!(lab.files(), ["iris.csv", "iris.html"]);
    let printed = lab.text("train iris.csv --lambda 0.001");
    let method = printed.lines().find_map(|l| l.trim().strip_prefix("method")).unwrap().trim();
    let accuracy = format!("{:.2} % of the training rows", 100.0 * answer["train_accuracy"].as_f64().unwrap());
    for part in [
        accuracy.as_str(),
        method,
        "<h1>iris.csv: 150 rows, 4 features, labels from species</h1>",
        "<dt>objective</dt><dd>10.01268",
        "The smallest one is 0.3450, between setosa and virginica.",
        "<title>versicolor, virginica, 4</title>",
        "<th scope=\"row\" class=\"text\">versicolor</th><td>50</td><td>1.0000</td><td>0.9200</td><td>0.9583</td>",
    ] {
        assert!(page.contains(part), "{part}");
    }
}

#[test]
fn explain_says_what_would_run_and_why_and_trains_nothing() {
    let lab = Lab::iris();
    let explained = lab.text("train iris.csv --explain");
    assert_snapshot!(explained, @"
    iris.csv: 150 rows, 4 features, labels from species
      problems           1: all classes are trained jointly
      dual ascent first  no: it wants an exact hinge
      solver [...]
      row space          no: there are not clearly more features than rows
      systems            Cholesky: 15 parameters, cheaper than products
      lambda             by cross-validation: none is given; short fits on parts of
                         the rows, or of a sample of many
    ");
    let json = lab.json("train iris.csv --explain --json --method ovr");
    assert_eq!(json["plan"][0]["choice"], "3");
    // A training says the same beside its result.
    let trained = lab.json("train iris.csv --json --method ovr");
    assert_eq!(trained["plan"], json["plan"]);
    let said = |options: &str, about: &str| {
        let json = lab.json(&format!("train iris.csv --explain --json {options}"));
        let decisions = json["plan"].as_array().unwrap().clone();
        let made = decisions.into_iter().find(|made| made["about"] == about).unwrap();
        made["choice"].as_str().unwrap().to_string()
    };
    assert_eq!(said("", "solver"), "newton");
    assert_eq!(said("--method smlr", "solver"), "proximal");
    assert_eq!(said("--solver lbfgs --method ovo", "passes"), "apart");
    assert_eq!(said("--method ovr --no-intercept --solver dual", "solver"), "dual");
    assert_eq!(said("--method cs --no-intercept --solver dual", "solver"), "dual");
    assert_eq!(said("--method lr --solver adam", "solver"), "adam");
    let refused = lab.run("train iris.csv --explain -o iris.m3svm");
    assert_eq!(refused.status.code(), Some(2), "{}", stderr(&refused));
}

#[test]
fn the_dual_solver_can_be_asked_for_and_says_what_it_cannot_do() {
    let lab = Lab::iris();
    let trained = lab.json("train iris.csv --method cs --no-intercept --solver dual --tol 1e-4 --json");
    assert_eq!((trained["solver"].as_str(), trained["stop"].as_str()), (Some("dual"), Some("converged")));
    let trained = lab.json("train iris.csv --method cs --solver dual --tol 1e-4 --json");
    assert_eq!((trained["solver"].as_str(), trained["stop"].as_str()), (Some("dual"), Some("converged")));
    let refused = lab.run("train iris.csv --solver dual");
    assert_snapshot!(stderr(&refused), @"error: the solver dual cannot minimise losses other than exact hinges; use auto");
    let lost = lab.run("train iris.csv --method lr --delta 1");
    assert_snapshot!(stderr(&lost), @"error: `--delta` belongs to the methods m3svm, ovr, ovo, ww, cs, msvm, topk, the method is lr");
}
