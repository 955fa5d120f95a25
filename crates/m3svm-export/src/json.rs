//! JSON; its fields are described at the top of the crate.

use m3svm::{Preprocessor, Scheme};
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
    #[serde(skip_serializing_if = "Vec::is_empty")]
    weights: Vec<&'a [f64]>,
    #[serde(flatten)]
    kernel: Option<KernelDocument<'a>>,
    intercept: &'a [f64],
    pairs: Option<Vec<(usize, usize)>>,
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    preprocessor: Option<&'a Preprocessor>,
}

/// What there is instead of weights with a kernel.
#[derive(Serialize)]
struct KernelDocument<'a> {
    kernel: m3svm::Kernel,
    shift: &'a [f64],
    factor: &'a [f64],
    rows: Vec<&'a [f64]>,
    coefficients: Vec<&'a [f64]>,
}

pub(crate) fn text(model: &Portable<'_>) -> Result<Vec<u8>> {
    let kernel = model.kernel.as_ref().map(|kernel| KernelDocument {
        kernel: kernel.kernel,
        shift: &kernel.shift,
        factor: &kernel.factor,
        rows: kernel.rows.chunks_exact(model.features).collect(),
        coefficients: kernel.coefficients.chunks_exact(model.scorers()).collect(),
    });
    let linear = kernel.is_none();
    let document = Document {
        format: if linear { "m3svm-linear-classifier" } else { "m3svm-kernel-classifier" },
        // Without a look at the preparation, a reader would take columns for features.
        version: if model.preprocessor.is_some() { 2 } else { 1 },
        method: model.method.map(m3svm::Method::name),
        scheme: model.scheme,
        classes: model.classes,
        feature_names: model.feature_names,
        weights: (0..model.scorers()).filter(|_| linear).map(|k| model.scorer(k)).collect(),
        kernel,
        intercept: &model.intercept,
        pairs: model.votes().then(|| model.pairs()),
        temperature: model.temperature,
        preprocessor: model.preprocessor,
    };
    let mut text = serde_json::to_vec(&document)?;
    text.push(b'\n');
    Ok(text)
}
