//! Tables as people have them: each trains without options, or fails with a sentence that says what to do.

use std::path::PathBuf;

use crate::{Lab, stderr};

/// A folder with one of the tables of `tests/tables`.
fn lab(name: &str) -> Lab {
    let lab = Lab::iris();
    let from = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/tables").join(name);
    std::fs::copy(from, lab.path(name)).unwrap();
    lab
}

/// Features of a table that trains, and what is said about it.
fn trained(name: &str, options: &str) -> (Vec<String>, serde_json::Value, String) {
    let lab = lab(name);
    let output = lab.run(&format!("train {name} --json -o m {options}"));
    assert_eq!(output.status.code(), Some(0), "{name} {options}: {}", stderr(&output));
    let model = lab.json("inspect m --json");
    // What was trained on can be predicted and judged.
    lab.text(&format!("predict m {name} {}", reading(options)));
    lab.text(&format!("evaluate m {name} {}", reading(options)));
    let names = model["feature_names"].as_array().cloned().unwrap_or_default();
    let names = names.iter().map(|name| name.as_str().unwrap().to_string()).collect();
    (names, model, stderr(&output))
}

/// The options that say how a file is read, without those about columns.
fn reading(options: &str) -> String {
    let mut words = options.split_whitespace();
    let mut kept = Vec::new();
    while let Some(word) = words.next() {
        let value = words.next();
        if ["--comment", "--delimiter", "--decimal", "--thousands", "--label"].contains(&word) {
            kept.extend([Some(word), value].into_iter().flatten());
        }
    }
    kept.join(" ")
}

fn refused(name: &str, options: &str) -> String {
    lab(name).error(&format!("train {name} -o m {options}"))
}

#[test]
fn tables_train_without_options() {
    let plain = ["size", "weight", "colour=blue", "colour=red", "colour=white"];
    for name in [
        "text.csv",
        "booleans.csv",
        "euro.csv",
        "euro_thousands.csv",
        "thousands.csv",
        "tabs.tsv",
        "pipes.csv",
        "trailing.csv",
    ] {
        let (names, model, _) = trained(name, "");
        let names: Vec<&String> = names.iter().filter(|n| *n != "wet").collect();
        assert_eq!(names, plain, "{name}");
        assert_eq!(model["class_names"], serde_json::json!(["bell", "crown", "star"]), "{name}");
    }
    for name in ["trailing_rows.csv", "utf16.csv", "bom.csv"] {
        assert_eq!(trained(name, "").0, plain, "{name}");
    }
    assert_eq!(trained("spaces.txt", "").1["features"], 2);
    assert_eq!(trained("letters.data", "").1["features"], 6);
    assert_eq!(trained("coordinates.csv", "").0, ["x", "y", "z"]);
    let (names, _, said) = trained("latin1.csv", "");
    assert_eq!(names[2..], ["colour=blå", "colour=röd", "colour=vit"]);
    assert!(said.contains("windows-1252"), "{said}");
}

#[test]
fn missing_cells_are_filled_and_marked() {
    let marked = [
        "size",
        "size=(missing)",
        "weight",
        "weight=(missing)",
        "colour=blue",
        "colour=red",
        "colour=white",
        "colour=(missing)",
    ];
    assert_eq!(trained("gaps.csv", "").0, marked);
    let words: Vec<&str> = marked.into_iter().filter(|n| *n != "weight=(missing)").collect();
    assert_eq!(trained("words.csv", "").0, words);
    assert_eq!(
        trained("gaps.csv", "--missing mean").0,
        ["size", "weight", "colour=blue", "colour=red", "colour=white"]
    );
    assert_eq!(trained("minus.csv", "--missing -999,unknown").0, words);
    let lab = lab("gaps.csv");
    let said = stderr(&lab.run("train gaps.csv -o m --missing drop-rows"));
    let model = lab.json("inspect m --json");
    assert_eq!(model["training"]["rows"], 15, "{said}");
    assert!(said.contains("21 rows with gaps left out"), "{said}");
    let error = refused("gaps.csv", "--missing error");
    assert_eq!(
        error,
        "error: gaps.csv: row 3, column \"size\": the cell is empty, and nothing stands for a missing one\n"
    );
    let both = refused("gaps.csv", "--missing mean,median");
    assert_eq!(both, "error: `--missing` can be mean or median, not both\n");
}

#[test]
fn columns_that_are_no_features_are_left_out_and_said() {
    let plain = ["size", "weight", "colour=blue", "colour=red", "colour=white"];
    for (name, why) in [
        ("index.csv", "the column without a name (its numbers count the rows)"),
        ("id.csv", "`flower` (its texts are all different"),
        ("constant.csv", "`year` (it is the same in all rows), `site` (it is the same in all rows)"),
    ] {
        let (names, _, said) = trained(name, "");
        assert_eq!(names, plain, "{name}");
        assert!(
            said.contains(why) && said.contains("--keep") && said.contains("guessed to be `kind`, --label"),
            "{name}: {said}"
        );
    }
    assert_eq!(trained("constant.csv", "--keep year").0[0], "year");
    assert_eq!(trained("id.csv", "--drop flower,3").0, ["size", "weight"]);
    assert_eq!(trained("id.csv", "--drop 1-2").0, ["colour=blue", "colour=red", "colour=white"]);
    assert_eq!(trained("id.csv", "--features 1-2").0, ["size", "weight"]);
    assert!(refused("id.csv", "--drop 3-9").contains("the range `3-9` is not within the 5 columns"));
    let dates = trained("dates.csv", "").0;
    assert_eq!(dates[..3], ["day", "day=(missing)", "size"]);
}

#[test]
fn labels_are_names() {
    let classes = |name: &str, options: &str| trained(name, options).1["class_names"].clone();
    assert_eq!(classes("codes.csv", ""), serde_json::json!(["01", "1", "007", "1e1"]));
    assert_eq!(classes("quoted_codes.csv", ""), serde_json::json!(["01", "1", "007"]));
    assert_eq!(classes("one_class_one_number.csv", ""), serde_json::json!(["1", "2"]));
    let lab = lab("codes.csv");
    lab.text("train codes.csv -o m --class-weight 01=2,1e1=3");
    let predicted = lab.text("predict m codes.csv");
    assert!(predicted.lines().skip(1).all(|class| ["01", "1", "007", "1e1"].contains(&class)), "{predicted}");
    assert_eq!(trained("years.csv", "").0, ["2019", "2020"]);
    let two = refused("two_labels.csv", "");
    assert_eq!(
        two,
        "error: two_labels.csv: columns `class`, `label` could all be the label; --label chooses one, and --drop leaves the others out\n"
    );
    assert_eq!(trained("two_labels.csv", "--drop class").0, ["size", "weight"]);
    let none = refused("no_label.csv", "");
    assert!(
        none.contains(
            "the last one, column \"weight\", has 36 different numbers in 36 rows; --label chooses the label"
        ),
        "{none}"
    );
    assert!(refused("doubtful_years.csv", "").contains("--header or --no-header"));
    assert!(refused("missing_labels.csv", "").contains("line 4 and 3 more, column \"kind\": the label is missing"));
    let lab = self::lab("missing_labels.csv");
    lab.text("train missing_labels.csv -o m --missing drop-rows");
    assert_eq!(lab.json("inspect m --json")["training"]["rows"], 32);
    assert!(lab.error("evaluate m missing_labels.csv").contains("line 4: label `NA` is not one of the 3 classes"));
}

#[test]
fn what_cannot_be_read_is_said_with_what_to_do() {
    let bad = refused("bad_cells.csv", "");
    assert!(bad.starts_with("error: bad_cells.csv: 2 columns have cells that are not like the others"), "{bad}");
    assert!(bad.contains("line 4 and 2 more, column \"size\": found \"tall\", expected a number"), "{bad}");
    assert!(bad.contains("line 4 and 3 more, column \"weight\": found \"about 20\""), "{bad}");
    let (names, ..) = trained("bad_cells.csv", "--missing tall --categories weight");
    assert_eq!(names[..2], ["size", "size=(missing)"]);
    assert!(refused("doubtful_comma.csv", "").contains("--decimal , or --thousands ,"));
    assert_eq!(trained("doubtful_comma.csv", "--decimal ,").0, ["size"]);
    assert!(refused("comments.csv", "").contains("--comment"));
    assert_eq!(trained("comments.csv", "--comment #").1["features"], 5);
    assert!(refused("flowers.arff", "").contains("this is an ARFF file, which cannot be read; save it as CSV"));
    assert!(refused("flowers.xlsx", "").contains("this is an Excel workbook"));
}

#[test]
fn frames_of_pandas_are_read_with_their_types() {
    let expected = [
        "size",
        "size=(missing)",
        "weight",
        "colour=blue",
        "colour=red",
        "colour=white",
        "meadow=north",
        "meadow=south",
        "day",
        "wet",
        "wet=(missing)",
        "count",
        "count=(missing)",
    ];
    for (name, why) in [
        ("frame.parquet", "`number` (it is the index of the rows)"),
        ("frame.feather", "`number` (its numbers count the rows)"),
    ] {
        let (names, _, said) = trained(name, "");
        assert_eq!(names, expected, "{name}");
        assert!(said.contains(why), "{name}: {said}");
    }
    let (names, ..) = trained("flowers.jsonl", "");
    let expected =
        ["size", "size=(missing)", "weight", "colour=blue", "colour=red", "colour=white", "colour=(missing)"];
    assert_eq!(names, expected);
}

#[test]
fn new_rows_may_have_gaps_and_values_that_were_never_seen() {
    let lab = lab("gaps.csv");
    lab.text("train gaps.csv -o m");
    lab.write("new.csv", "colour,weight,size\nviolet,20,18\n,NA,?\n");
    let output = lab.run("predict m new.csv");
    let said = stderr(&output);
    assert!(said.contains("`colour`: 1 cell with values that training has not seen (such as `violet`)"), "{said}");
    assert!(said.contains("`size`: 1 cell missing, filled as in training"), "{said}");
    assert_eq!(String::from_utf8(output.stdout).unwrap().lines().count(), 3);
    lab.write("other.csv", "size,colour\n1,red\n");
    assert!(lab.error("predict m other.csv").contains("the model needs 1 more column: `weight`"));
    lab.write("text.csv", "size,weight,colour\nsmall,1,red\n");
    assert!(lab.error("predict m text.csv").contains("line 2, column \"size\": found \"small\", expected a number"));
    // A model of numbers knows their means.
    lab.text("train iris.csv -o iris");
    lab.write("gap.csv", "sepal_length,sepal_width,petal_length,petal_width\n5.1,,1.4,0.2\n");
    assert!(stderr(&lab.run("predict iris gap.csv")).contains("`sepal_width`: 1 cell missing"));
    // What is not scaled knows none.
    lab.text("train iris.csv -o raw --scale none");
    assert!(lab.error("predict raw gap.csv").contains("the cell is empty"));
}

#[test]
fn searches_prepare_every_fold() {
    let lab = lab("gaps.csv");
    lab.text("tune gaps.csv --lambda 0.1,1 --p 2 --folds 3 -o m");
    assert_eq!(lab.json("inspect m --json")["features"], 8);
    lab.text("compare gaps.csv --methods lr,ww --folds 3 --repeats 1");
}

#[test]
fn tables_are_described() {
    let lab = lab("constant.csv");
    let said = lab.json("describe constant.csv --json");
    assert_eq!((&said["rows"], &said["label"], &said["label_guessed"]), (&36.into(), &"kind".into(), &true.into()));
    assert_eq!(said["columns"][0]["left_out"], "it is the same in all rows");
    assert_eq!(said["columns"][4]["distinct"], 3);
    let text = lab.text("describe constant.csv");
    assert!(
        text.contains("label kind (guessed, --label chooses another)")
            && text.contains("left out: it is the same in all rows"),
        "{text}"
    );
    let lab = self::lab("no_label.csv");
    let text = lab.text("describe no_label.csv");
    assert!(text.contains("no label") && text.contains("36 different numbers in 36 rows"), "{text}");
}

#[test]
fn models_of_tables_are_exported_or_refused_by_column() {
    let lab = lab("gaps.csv");
    lab.text("train gaps.csv -o m");
    assert_eq!(lab.json("export m --format json")["preprocessor"]["columns"][0]["name"], "size");
    assert!(lab.text("export m --format c").contains("int m3svm_predict_row(const m3svm_cell *row)"));
    lab.text("export m --format onnx -o m.onnx");
    let refused = lab.error("export m --format liblinear");
    assert_eq!(
        refused,
        "error: LIBLINEAR takes numbers only, and the model was trained on column `size`, which has missing cells; export it as onnx, c or json\n"
    );
}

#[test]
fn predictions_take_columns_along_and_are_written_as_their_name_says() {
    let lab = lab("id.csv");
    lab.text("train id.csv -o m");
    let said = lab.text("predict m id.csv --keep flower,4");
    assert!(said.starts_with("flower,kind,prediction\nF000,bell,bell\nF977,crown,crown\n"), "{said}");
    for name in ["p.csv", "p.tsv", "p.csv.gz", "p.jsonl", "p.jsonl.gz", "p.parquet", "p.arrow"] {
        lab.text(&format!("predict m id.csv --keep flower --scores -o {name}"));
        let back = lab.json(&format!("describe {name} --json --label prediction"));
        let names: Vec<&str> =
            back["columns"].as_array().unwrap().iter().map(|c| c["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["flower", "score_bell", "score_crown", "score_star"], "{name}");
        assert_eq!((&back["rows"], &back["classes"][0]["rows"]), (&36.into(), &12.into()), "{name}");
    }
    assert!(std::fs::read(lab.path("p.parquet")).unwrap().starts_with(b"PAR1"));
    let wrong = lab.error("predict m id.csv -o p.xlsx");
    assert!(
        wrong.contains("p.xlsx: this cannot be written, expected .csv, .tsv, .jsonl, .parquet or .arrow"),
        "{wrong}"
    );
    assert!(lab.error("predict m id.csv --keep petals").contains("there is no column to keep `petals`"));
    lab.text("predict m id.csv -o p.csv");
    std::fs::rename(lab.path("p.csv"), lab.path("q.csv")).unwrap();
    lab.write("no_names.csv", "F1,20.1,20.5\nF2,11.0,31.0\n");
    lab.text("train id.csv -o n --features size,weight");
    let said = lab.text("predict n no_names.csv --keep 0 --no-header");
    assert!(said.starts_with("column 1,prediction\nF1,"), "{said}");
}

#[test]
fn kept_columns_keep_their_types() {
    let lab = lab("frame.parquet");
    lab.text("train frame.parquet -o m --drop day,number");
    lab.text("predict m frame.parquet --keep number,day,wet -o p.parquet");
    let back = lab.json("describe p.parquet --json --label prediction");
    assert_eq!((&back["columns"][1]["name"], &back["columns"][1]["type"]), (&"day".into(), &"time".into()));
    let lines = lab.text("predict m frame.parquet --keep wet,day");
    assert_eq!(lines.lines().nth(2).unwrap(), "true,2021-05-08T00:00:00,crown");
}

#[test]
fn quiet_says_nothing_but_results_and_errors() {
    let lab = lab("index.csv");
    let loud = lab.run("train index.csv -o m");
    assert!(stderr(&loud).contains("left out"));
    let quiet = lab.run("train index.csv -o m --quiet");
    assert_eq!(stderr(&quiet), "");
    assert_eq!(quiet.stdout.len(), loud.stdout.len());
    assert!(lab.error("-q train nowhere.csv").starts_with("error: nowhere.csv"));
}

#[test]
fn free_text_and_parts_of_dates_are_used_if_asked() {
    let lab = lab("dates.csv");
    let notes: String = (0..36)
        .map(|i| {
            format!(
                "{},\"{} flower, seen {i} times\"\n",
                ["bell", "crown", "star"][i % 3],
                ["A blue", "The red", "Some white"][i % 3]
            )
        })
        .collect();
    lab.write("notes.csv", &format!("kind,note\n{notes}"));
    lab.text("train notes.csv -o m --label kind --text note");
    let model = lab.json("inspect m --json");
    let names = model["feature_names"].as_array().unwrap();
    assert!(names.contains(&"note:blue".into()) && names.contains(&"note:flower".into()), "{names:?}");
    assert_eq!(model["train_accuracy"], 1.0);
    lab.write("new.csv", "note\nwhite and nothing else\n\"\"\n");
    assert_eq!(lab.text("predict m new.csv").lines().nth(1), Some("star"));
    let refused = lab.error("export m --format onnx");
    assert_eq!(
        refused,
        "error: ONNX cannot take texts apart, and the model uses the words of column `note`; export it as json\n"
    );
    lab.text("train dates.csv -o d --time-parts weekday,month --drop colour");
    let model = lab.json("inspect d --json");
    assert_eq!(model["features"], 1 + 7 + 12 + 1 + 2);
    lab.text("export d --format onnx -o d.onnx");
    assert!(stderr(&lab.run("train dates.csv --time-parts year")).contains("expected one of weekday, month, hour"));
    lab.text("tune notes.csv --label kind --text note --lambda 0.1,1 --p 2 --folds 3");
}

#[test]
fn reports_begin_with_what_is_looked_for_first() {
    let lab = lab("text.csv");
    lab.text("train text.csv --report r.html --trace t.csv");
    let page = lab.read("r.html");
    let at = |what: &str| page.find(what).unwrap_or_else(|| panic!("{what} is missing"));
    assert!(at("of the training rows (by weight)") < at("Rows per class"));
    assert!(
        at("Rows per class") < at("Largest weights per class")
            && at("Largest weights per class") < at(">Settings</h2>")
    );
    assert!(page.contains("Command: m3svm train text.csv --report r.html --trace t.csv, 20"));
    let trace = lab.read("t.csv");
    let last: Vec<&str> = trace.lines().last().unwrap().split(',').collect();
    assert!(last[3].parse::<f64>().unwrap() <= 1e-8, "{trace}");
    let piped = lab.run("train text.csv --trace -");
    assert_eq!(String::from_utf8(piped.stdout).unwrap().lines().count(), trace.lines().count());
    assert!(String::from_utf8(piped.stderr).unwrap().contains("train accuracy"));
    lab.text("train text.csv -o m");
    let weights = lab.text("inspect m --top 2");
    assert_eq!(weights.lines().filter(|line| line.contains('#')).count(), 6, "{weights}");
    assert_eq!(lab.json("inspect m --json --top 2")["largest_weights"][0]["weights"].as_array().unwrap().len(), 2);
}

/// The numbers of features and classes, or what the sentence begins with.
type Becomes = Result<(u64, u64), &'static str>;

/// What becomes of every table without options.
const EVERY: [(&str, Becomes); 90] = [
    ("american_dates.csv", Ok((6, 3))),
    ("apartments.csv", Ok((9, 3))),
    (
        "array.json",
        Err(
            "this is a JSON array, which cannot be read; write one object per line (JSON lines), as pandas does with lines=",
        ),
    ),
    (
        "bad_cells.csv",
        Err(
            "2 columns have cells that are not like the others (--missing WORD if that stands for nothing, --categories COL",
        ),
    ),
    ("blank_lines.csv", Ok((5, 3))),
    ("bom.csv", Ok((5, 3))),
    ("booleans.csv", Ok((6, 3))),
    ("codes.csv", Ok((2, 4))),
    ("codes.parquet", Ok((1, 4))),
    (
        "comments.csv",
        Err("line 1: this may be a remark, since later lines have more cells; --comment '#' leaves out such lines"),
    ),
    ("constant.csv", Ok((5, 3))),
    ("coordinates.csv", Ok((3, 3))),
    ("dated.jsonl", Ok((2, 3))),
    ("dates.csv", Ok((7, 3))),
    ("dotted_dates.csv", Ok((6, 3))),
    (
        "doubtful_comma.csv",
        Err("line 2: numbers such as 1,234 can be read in two ways; --decimal , or --thousands , says which"),
    ),
    (
        "doubtful_dates.csv",
        Err("line 2: dates such as 3/4/2021 can be read in two ways; --dates dmy or --dates mdy says which"),
    ),
    (
        "doubtful_years.csv",
        Err("line 1: the years may be names of columns or numbers; --header or --no-header says which"),
    ),
    ("duplicate_names.csv", Ok((5, 3))),
    ("empty.csv", Err("the file is empty")),
    ("euro.csv", Ok((5, 3))),
    ("euro_behind.csv", Ok((6, 3))),
    ("euro_sign.csv", Ok((7, 3))),
    ("euro_thousands.csv", Ok((5, 3))),
    (
        "excel_errors.csv",
        Err(
            "2 columns have cells that are not like the others (--missing WORD if that stands for nothing, --categories COL",
        ),
    ),
    ("float_labels.parquet", Ok((1, 3))),
    (
        "flowers.arff",
        Err(
            "this is an ARFF file, which cannot be read; save it as CSV, for example with Weka's CSVSaver or scipy.io.arff ",
        ),
    ),
    ("flowers.jsonl", Ok((7, 3))),
    ("flowers.xlsx", Err("this is an Excel workbook, which cannot be read; save the sheet as CSV or Parquet")),
    ("frame.feather", Ok((13, 3))),
    ("frame.parquet", Ok((13, 3))),
    ("gaps.csv", Ok((8, 3))),
    ("id.csv", Ok((5, 3))),
    ("index.csv", Ok((5, 3))),
    (
        "infinite.csv",
        Err(
            "line 4, column \"size\": found inf, expected a finite number; so it is in 3 cells (--missing WORD if that stan",
        ),
    ),
    ("kilograms.csv", Ok((6, 3))),
    ("label_first.csv", Ok((5, 3))),
    (
        "late_text.csv",
        Err(
            "line 32, column \"site\": found \"0b\", expected a number; so it is in 6 cells (--missing WORD if that stands ",
        ),
    ),
    ("latin1.csv", Ok((5, 3))),
    ("letters.data", Ok((6, 2))),
    ("many_classes.csv", Ok((2, 12))),
    ("minus.csv", Ok((6, 3))),
    (
        "missing_labels.csv",
        Err(
            "line 4 and 3 more, column \"kind\": the label is missing (`NA`); --missing drop-rows leaves such rows out",
        ),
    ),
    ("mixed_money.csv", Ok((5, 3))),
    ("mixed_percent.csv", Ok((19, 3))),
    ("money.csv", Ok((6, 3))),
    ("month_names.csv", Ok((6, 3))),
    ("mostly_gone.csv", Ok((7, 3))),
    ("multiline.csv", Ok((5, 3))),
    ("names_only.csv", Err("there are no rows after the header")),
    ("nested.jsonl", Err("these can be no features, --drop leaves them out: column \"tags\" (List(Utf8")),
    ("nested.parquet", Err("these can be no features, --drop leaves them out: column \"tags\" (List(Utf8")),
    (
        "no_label.csv",
        Err(
            "no column is named like a label, and the last one, column \"weight\", has 36 different numbers in 36 rows; --l",
        ),
    ),
    ("old_mac.csv", Ok((5, 3))),
    ("one_class_one_number.csv", Ok((2, 2))),
    ("one_column.csv", Err("there is no feature column besides the label")),
    ("open_quote.csv", Err("line 8: the quote that begins here is never closed")),
    ("other_header.csv", Err("line 2 and 35 more: expected 4 cells as in the first line, found 1")),
    ("packed.csv.gz", Ok((5, 3))),
    ("padded_labels.csv", Ok((5, 3))),
    ("percent.csv", Ok((6, 3))),
    ("pipes.csv", Ok((5, 3))),
    ("quoted_codes.csv", Ok((2, 3))),
    ("quoted_numbers.csv", Ok((5, 3))),
    ("ragged.csv", Err("line 6 and 2 more: expected 4 cells as in the first line, found 5")),
    ("sep_line.csv", Ok((5, 3))),
    ("slashed_dates.csv", Ok((6, 3))),
    ("spaced_names.csv", Ok((5, 3))),
    ("spaced_thousands.csv", Ok((6, 3))),
    ("spaces.txt", Ok((2, 3))),
    ("swiss.csv", Ok((5, 3))),
    ("table.html.csv", Err("this is a page or a document with markup, which cannot be read; save the table as CSV")),
    ("tabs.tsv", Ok((5, 3))),
    ("text.csv", Ok((5, 3))),
    ("thousands.csv", Ok((5, 3))),
    ("times.csv", Ok((6, 3))),
    (
        "title_above.csv",
        Err("line 1: this line has 1 cell and later ones have more: names of columns have to be in the first line"),
    ),
    ("totals.csv", Err("line 38, column \"kind\": the label is empty")),
    ("trailing.csv", Ok((5, 3))),
    ("trailing_rows.csv", Ok((5, 3))),
    ("truth_labels.csv", Ok((2, 2))),
    (
        "two_labels.csv",
        Err("columns `class`, `label` could all be the label; --label chooses one, and --drop leaves the others out"),
    ),
    ("typed.parquet", Ok((15, 3))),
    (
        "units.csv",
        Err(
            "3 columns have cells that are not like the others (--missing WORD if that stands for nothing, --categories COL",
        ),
    ),
    ("utf16.csv", Ok((5, 3))),
    ("uuid.csv", Ok((5, 3))),
    ("words.csv", Ok((7, 3))),
    ("years.csv", Ok((2, 3))),
    ("yes_no.csv", Ok((9, 3))),
    ("zeros.csv", Err("there are no rows after the header")),
];

#[test]
fn every_table_trains_without_options_or_fails_with_the_right_sentence() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/tables");
    let mut found: Vec<String> =
        std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    found.retain(|name| name != "make.py");
    found.sort();
    assert_eq!(found, EVERY.map(|(name, _)| name));
    for (name, expected) in EVERY {
        let lab = lab(name);
        let output = lab.run(&format!("train {name} --json -o m"));
        match expected {
            Ok((features, classes)) => {
                assert_eq!(output.status.code(), Some(0), "{name}: {}", stderr(&output));
                let said: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
                assert_eq!((&said["features"], &said["classes"]), (&features.into(), &classes.into()), "{name}");
                lab.text(&format!("predict m {name}"));
            }
            Err(sentence) => {
                assert_eq!(output.status.code(), Some(1), "{name}");
                let said = stderr(&output);
                assert!(said.starts_with(&format!("error: {name}: {sentence}")), "{name}: {said}");
                assert!(!lab.path("m").exists(), "{name}");
            }
        }
    }
}
