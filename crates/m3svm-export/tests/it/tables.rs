//! Models of tables: what prepares the columns comes along, and says the same about new rows with gaps and values that were never seen.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray};
use m3svm::{Dataset, Missing, Model, Preparation, Spec};
use m3svm_export::{Error, Format, Options, export};

use crate::compiled::run;
use crate::text;

type Row = (Option<f64>, Option<&'static str>, Option<f64>);

fn batch(rows: &[Row]) -> RecordBatch {
    let size: ArrayRef = Arc::new(rows.iter().map(|r| r.0).collect::<Float64Array>());
    let town: ArrayRef = Arc::new(rows.iter().map(|r| r.1).collect::<StringArray>());
    let age: ArrayRef = Arc::new(rows.iter().map(|r| r.2).collect::<Float64Array>());
    RecordBatch::try_from_iter_with_nullable([("size", size, true), ("to\"wn*/", town, true), ("age", age, true)])
        .unwrap()
}

fn model(preparation: &Preparation) -> Model {
    let towns = [Some("Oslo"), Some("Rome\\"), None, Some("Oslo"), Some("Aix"), Some("Bonn")];
    let mut rows: Vec<Row> = Vec::new();
    for i in 0..60 {
        let number = f64::from(i);
        rows.push((
            (i % 7 != 3).then_some((number * 0.7).sin() + f64::from(i % 3)),
            towns[i as usize % 6],
            Some(number % 11.0),
        ));
    }
    let labels: Vec<&str> = (0..60).map(|i| ["a", "b", "c"][i % 3]).collect();
    let (data, _) = Dataset::from_table(&batch(&rows), &labels, None, preparation).unwrap();
    Spec::default().with_usual_lambda().fit(&data).unwrap()
}

/// Rows with all that may come.
fn new() -> Vec<Row> {
    let mut rows = Vec::new();
    for size in [None, Some(-1.0), Some(0.4), Some(2.7)] {
        for town in [None, Some("Oslo"), Some("Rome\\"), Some("Aix"), Some("Bonn"), Some("nowhere"), Some("")] {
            rows.extend([None, Some(3.0), Some(20.0)].map(|age| (size, town, age)));
        }
    }
    rows
}

fn expected(model: &Model) -> Vec<u32> {
    let x = model.preprocessor().unwrap().apply(&batch(&new())).unwrap().x;
    model.predict(&x).unwrap()
}

#[test]
fn c_prepares_rows_as_the_model_does() {
    for preparation in [
        Preparation::default(),
        Preparation { most_values: 2, ..Preparation::default() },
        Preparation { missing: Missing::Mean, ..Preparation::default() },
    ] {
        let model = model(&preparation);
        let mut main =
            "#include <stdio.h>\n#include <math.h>\ntypedef struct { double number; const char *text; } cell;\n\
                        int m3svm_predict_row(const cell *row);\nstatic const cell rows[][3] = {\n"
                .to_string();
        for (size, town, age) in new() {
            let number = |v: Option<f64>| v.map_or_else(|| "NAN".into(), |v| format!("{v:?}"));
            let town = town.map_or_else(|| "0".into(), |t| format!("{t:?}"));
            main += &format!("{{ {{ {}, 0 }}, {{ 0, {town} }}, {{ {}, 0 }} }},\n", number(size), number(age));
        }
        main += &format!(
            "}};\nint main(void) {{ for (int i = 0; i < {}; i++) printf(\"%d\\n\", m3svm_predict_row(rows[i])); return 0; }}\n",
            new().len()
        );
        let source = text(&model, Format::C, &Options::default());
        let Some(printed) = run(&[("main.c".into(), main), ("model.c".into(), source)]) else { return };
        let found: Vec<u32> = printed.lines().map(|line| line.parse().unwrap()).collect();
        assert_eq!(found, expected(&model));
    }
}

#[test]
fn json_has_the_preparation_and_liblinear_names_the_column() {
    let model = model(&Preparation::default());
    let document: serde_json::Value = serde_json::from_str(&text(&model, Format::Json, &Options::default())).unwrap();
    assert_eq!((&document["version"], &document["preprocessor"]["columns"][1]["kind"]), (&2.into(), &"text".into()));
    let refused = export(&model, Format::Liblinear, &Options::default());
    assert!(matches!(refused, Err(Error::Columns { ref column, .. }) if column == "size"), "{refused:?}");
}
