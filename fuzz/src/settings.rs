//! Settings as JSON, and the texts that the command line takes.

use std::ops::ControlFlow;
use std::sync::LazyLock;

use m3svm::select::{Grid, GridValues, Search};
use m3svm::{Dataset, Features, Method, Spec};
use m3svm_io::{Format, canonical_label};

use crate::control::Control;
use crate::refused;

/// Rows to train on.
static DATA: LazyLock<Dataset<'static>> = LazyLock::new(|| {
    let x: Vec<f64> = (0..18).map(|i| f64::from(i * 7 % 11) - 5.0).collect();
    let x = Features::dense(x, 9, 2).unwrap_or_else(|error| panic!("{error}"));
    let labels: Vec<&str> = (0..9).map(|i| ["a", "b", "c"][i % 3]).collect();
    Dataset::from_labels(x, &labels).unwrap_or_else(|error| panic!("{error}"))
});

pub(crate) fn settings(input: &[u8]) -> bool {
    let Some((control, content)) = Control::of(input) else { return false };
    match str::from_utf8(content) {
        Ok(text) if control.bit(0) => texts(text),
        Ok(text) => spec(text, control.bit(1)),
        Err(_) => false,
    }
}

fn texts(text: &str) -> bool {
    let label = canonical_label(text);
    assert_eq!(canonical_label(&label), label, "the one spelling of {text:?} has another one");
    let _ = text.parse::<Format>();
    match text.parse::<GridValues>() {
        Ok(values) => {
            assert!(!values.as_slice().is_empty() && values.as_slice().is_sorted_by(|a, b| a.total_cmp(b).is_lt()));
            true
        }
        Err(error) => refused(&error),
    }
}

fn spec(text: &str, fits: bool) -> bool {
    let Ok(spec) = serde_json::from_str::<Spec>(text) else { return false };
    if let Err(error) = spec.check() {
        return refused(&error);
    }
    let written = serde_json::to_string(&spec).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(serde_json::from_str::<Spec>(&written).ok().as_ref(), Some(&spec));
    assert!(!spec.loss.as_dyn().describe().is_empty() && !spec.penalty.as_dyn().describe().is_empty());
    let _ = Method::of(&spec);
    if let Err(error) = Search::new(spec.clone()).check() {
        refused(&error);
    }
    assert!(!Grid::for_spec(&spec).settings().is_empty());
    if fits {
        fit(spec);
    }
    true
}

/// A few steps of a training.
fn fit(spec: Spec) {
    let mut steps = 0;
    let mut watch = |_: &_| {
        steps += 1;
        if steps < 5 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    match spec.fit_watched(&DATA, None, &mut watch) {
        Ok(model) => {
            let certificate = model.certificate();
            assert!(certificate.objective.is_finite(), "{certificate:?}");
            assert!(certificate.lower_bound.is_none_or(|bound| bound.is_finite()), "{certificate:?}");
            assert!(model.to_bytes().is_ok());
        }
        Err(error) => {
            refused(&error);
        }
    }
}
