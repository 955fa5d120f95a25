//! JSON; its fields are described at the top of the crate.

use m3svm::Scheme;
use serde::Serialize;

use crate::error::Result;
use crate::portable::Portable;

#[derive(Serialize)]
struct Document<'a> {
    format: &'static str,
    version: u32,
    method: Option<&'static str>,
    scheme: Scheme,
    classes: &'a [String],
    feature_names: Option<&'a [String]>,
    weights: Vec<&'a [f64]>,
    intercept: &'a [f64],
    pairs: Option<Vec<(usize, usize)>>,
    temperature: Option<f64>,
}

pub(crate) fn text(model: &Portable<'_>) -> Result<Vec<u8>> {
    let document = Document {
        format: "m3svm-linear-classifier",
        version: 1,
        method: model.method.map(m3svm::Method::name),
        scheme: model.scheme,
        classes: model.classes,
        feature_names: model.feature_names,
        weights: (0..model.scorers()).map(|k| model.scorer(k)).collect(),
        intercept: &model.intercept,
        pairs: model.votes().then(|| model.pairs()),
        temperature: model.temperature,
    };
    let mut text = serde_json::to_vec(&document)?;
    text.push(b'\n');
    Ok(text)
}
