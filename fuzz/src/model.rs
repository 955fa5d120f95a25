//! Model files: what is loaded predicts, explains itself and can be exported.

use std::io::Cursor;

use m3svm::{Features, Model, Result};
use m3svm_export::{Format, Options, export};
use m3svm_io::{LabelUse, ReadOptions, read_from};

use crate::control::Control;
use crate::{refused, repair};

/// Values that rows are made of; predictions from the large ones may overflow, which must be said.
const VALUES: [f64; 4] = [1.0, -2.5, 1e150, 1e308];

pub(crate) fn model(input: &[u8]) -> bool {
    let Some((control, content)) = Control::of(input) else { return false };
    let mut content = content.to_vec();
    if control.repairs() {
        repair::model(&mut content);
    }
    match Model::from_bytes(&content) {
        Ok(model) => {
            check(&model, control.pick(VALUES));
            true
        }
        Err(error) => refused(&error),
    }
}

fn check(model: &Model, value: f64) {
    let (classes, features) = (model.classes().len(), model.features());
    assert!(classes > 1 && features > 0 && model.scorers() > 0);
    let certificate = model.certificate();
    assert!(certificate.objective.is_finite(), "{certificate:?}");
    assert!(certificate.lower_bound.is_none_or(|b| b <= certificate.objective), "{certificate:?}");
    assert!(certificate.relative_gap().is_none_or(|gap| gap >= 0.0 && gap.is_finite()), "{certificate:?}");
    assert!(model.margins().into_iter().chain([model.min_margin().0]).all(|m| m >= 0.0));
    assert!(model.smallest_margins(5).iter().all(|(m, k, l)| *m >= 0.0 && k < l && *l < classes));
    for class in 0..classes.min(5) {
        assert!(model.largest_weights(class, 5).iter().all(|(j, w)| *j < features && !w.is_nan()));
    }
    let rows = [vec![0.0; features], vec![value; features], (0..features).map(|j| value * j as f64 / 4096.0).collect()];
    if let Ok(x) = Features::dense(rows.concat(), 3, features) {
        predictions(model, &x);
    }
    if let Some(preprocessor) = model.preprocessor() {
        assert!(!preprocessor.feature_names().is_empty());
        prepared(model);
    }
    for format in Format::ALL {
        match export(model, format, &Options::default()) {
            Ok(content) => assert!(!content.is_empty()),
            Err(error) => {
                refused(&error);
            }
        }
    }
    // What was read can be written, and read again.
    let bytes = model.to_bytes().unwrap_or_else(|error| panic!("{error}"));
    let again = Model::from_bytes(&bytes).unwrap_or_else(|error| panic!("{error}"));
    assert!(*model == again, "not the same after saving and loading");
}

/// A table that the model's preprocessor makes features of.
fn prepared(model: &Model) {
    const TABLE: &[u8] = b"a,b,c\nred,2024-02-29,three blind mice\n,1,\nnan,0001-01-01T00:00:00,blue blue\n";
    let preprocessor = model.column_preprocessor();
    let options = ReadOptions { preprocessor, labels: LabelUse::Ignore, ..ReadOptions::default() };
    match read_from(Cursor::new(TABLE), "t.csv".as_ref(), &options) {
        Ok(table) => predictions(model, &table.x),
        Err(error) => {
            refused(&error);
        }
    }
}

/// Numbers or an error: nothing that is no number becomes a class.
fn predictions(model: &Model, x: &Features<'_>) {
    let told = |numbers: Result<Vec<f64>>, all: fn(f64) -> bool| match numbers {
        Ok(numbers) => assert!(numbers.iter().all(|v| all(*v)), "{numbers:?}"),
        Err(error) => {
            refused(&error);
        }
    };
    told(model.raw_scores(x), |v| !v.is_nan());
    told(model.scores(x), |v| !v.is_nan());
    told(model.probabilities(x).map(Option::unwrap_or_default), |v| (0.0..=1.0 + 1e-9).contains(&v));
    match (model.predict(x), model.scores(x)) {
        (Ok(found), Ok(_)) => assert!(found.iter().all(|k| (*k as usize) < model.classes().len())),
        (Ok(_), Err(error)) => panic!("classes without scores: {error}"),
        (Err(error), _) => {
            refused(&error);
        }
    }
}
