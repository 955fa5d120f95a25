//! Trained models for programs that do not know m3svm.
//!
//! ```
//! use m3svm::{Dataset, Features, Spec};
//! use m3svm_export::{Format, Options, export};
//!
//! let data = Dataset::from_labels(Features::dense(vec![0.0, 1.0, 4.0], 3, 1)?, &["low", "low", "high"])?;
//! let model = Spec::default().fit(&data)?;
//! let source = String::from_utf8(export(&model, Format::C, &Options::default())?)?;
//! assert!(source.contains("int m3svm_predict(const double *x)"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | Format                | What comes out                                                       | Classes    | One-vs-one |
//! |-----------------------|----------------------------------------------------------------------|------------|------------|
//! | [`Format::Onnx`]      | a graph of standard operators: label, scores, probabilities          | any        | yes        |
//! | [`Format::C`]         | one C99 source without dependencies that allocates nothing           | any        | yes        |
//! | [`Format::Json`]      | numbers and how to use them, as text ([its fields](#fields-of-json)) | any        | yes        |
//! | [`Format::Liblinear`] | the model file of LIBLINEAR, for its `predict`; not with a kernel    | integers   | no         |
//!
//! All of them take features as they were before scaling: the scaling is folded into weights and intercepts, or comes along. Predictions are those of
//! [`m3svm::Model::predict`], equal scores included: the first class of equals wins.
//!
//! # Fields of JSON
//!
//! | Field           | Type                          | Meaning                                                                             |
//! |-----------------|-------------------------------|-------------------------------------------------------------------------------------|
//! | `format`        | string                        | `"m3svm-linear-classifier"`                                                         |
//! | `version`       | integer                       | 1, or 2 if there is a `preprocessor`; larger ones may change the meaning of fields  |
//! | `method`        | string or null                | the method by its name in m3svm, if it has one                                      |
//! | `scheme`        | string                        | `"joint"`, `"one-vs-rest"` or `"one-vs-one"`                                        |
//! | `classes`       | array of c strings            | names of the classes                                                                |
//! | `feature_names` | array of d strings, or null   | names of the features, if they had any                                              |
//! | `weights`       | m arrays of d numbers         | one row per scorer; m = c, or one per pair of classes for one-vs-one                |
//! | `intercept`     | array of m numbers            | one per scorer                                                                      |
//! | `pairs`         | m pairs of integers, or null  | for one-vs-one: the class a scorer speaks for if it is ≥ 0, and the one it speaks for else |
//! | `temperature`   | number or null                | probabilities are softmax(scores/temperature); null if there are none               |
//!
//! | `preprocessor`  | object, only if it is needed  | how the d features are made of the columns of a table                               |
//!
//! The `preprocessor` has a list `columns`, each with a `name` (or null), a `kind` (`number`, `time` in days since 1970, `text`) and an `encoding`.
//! `{"number": {"fill", "shift", "indicator"}}` is the feature `value − shift` (`fill − shift` where the value is missing) and with `indicator`
//! one that is 1 where it is missing; times with `parts` have in between a feature per weekday (from Monday), month or hour (UTC), of which one
//! is 1. `{"words": {"words", "weights", "indicator"}}` is a feature per word of a text in lower case (two or more letters, digits and
//! underscores in a row): how often it occurs times its weight, divided by the root of the sum of their squares. `{"values": {"values", "others", "fill", "indicator"}}` is a feature per text of `values` that is 1 where
//! the column has it, one for all of `others` if there are any, and with `indicator` one for what is missing; `fill` is the position in
//! `values` of what stands for a missing one. `{"unused": {}}` is no feature. The features stand in this order.
//!
//! With a kernel the format is `"m3svm-kernel-classifier"`, and there are, instead of weights:
//!
//! | Field           | Type                          | Meaning                                                                             |
//! |-----------------|-------------------------------|-------------------------------------------------------------------------------------|
//! | `kernel`        | object                        | its `name`, and its `gamma`, `degree` and `coef0` where it has them                  |
//! | `shift`, `factor` | arrays of d numbers         | features are `(x − shift)·factor` for the kernel                                    |
//! | `rows`          | s arrays of d numbers         | rows that scores are sums over, in such features                                    |
//! | `coefficients`  | s arrays of m numbers         | what they weigh, one per scorer                                                     |
//!
//! A precomputed kernel is a linear classifier of its values.
//!
//! A scorer says `weights[k]·x + intercept[k]`, or `Σⱼ kernel(x, rows[j])·coefficients[j][k] + intercept[k]`. Except for one-vs-one these are the scores of the classes. There, the score of a
//! class is its number of votes plus s/(3(|s| + 1)), where s is the sum of what its scorers say for it, with the sign turned where it is
//! the second of the pair. The class with the highest score wins, the first one of equals.

mod c;
mod error;
mod json;
mod liblinear;
mod onnx;
mod portable;

use m3svm::Model;

pub use error::{Error, Result};
use portable::Portable;

/// What a model can be turned into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// An ONNX graph.
    Onnx,
    /// C99 source.
    C,
    /// JSON.
    Json,
    /// A model file of LIBLINEAR.
    Liblinear,
}

impl Format {
    /// All formats.
    pub const ALL: [Self; 4] = [Self::Onnx, Self::C, Self::Json, Self::Liblinear];

    /// The name users type.
    pub fn name(self) -> &'static str {
        match self {
            Self::Onnx => "onnx",
            Self::C => "c",
            Self::Json => "json",
            Self::Liblinear => "liblinear",
        }
    }

    /// What it is, in a few words.
    pub fn summary(self) -> &'static str {
        match self {
            Self::Onnx => "graph for ONNX runtimes: label, scores, probabilities",
            Self::C => "C99 source without dependencies",
            Self::Json => "weights and how to use them",
            Self::Liblinear => "model file for LIBLINEAR's predict",
        }
    }

    /// Whether it can be shown on a terminal.
    pub fn is_text(self) -> bool {
        self != Self::Onnx
    }
}

/// The type of features and scores in an ONNX graph. Sums are taken in double precision either way, so labels agree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Precision {
    /// 32 bits, what most runtimes are fed with.
    #[default]
    Single,
    /// 64 bits.
    Double,
}

/// The type of labels in an ONNX graph.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Labels {
    /// Integers if all classes are named by integers, else text.
    #[default]
    Natural,
    /// Text.
    Text,
}

/// Choices that some formats leave.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// For ONNX: the type of features and scores.
    pub precision: Precision,
    /// For ONNX: the type of labels.
    pub labels: Labels,
    /// For C: what all names begin with.
    pub prefix: String,
    /// Probabilities for a loss that defines none: softmax(scores/temperature).
    pub temperature: Option<f64>,
}

impl Default for Options {
    fn default() -> Self {
        let (precision, labels) = (Precision::default(), Labels::default());
        Self { precision, labels, prefix: "m3svm".into(), temperature: None }
    }
}

/// The content of a file in another format.
pub fn export(model: &Model, format: Format, options: &Options) -> Result<Vec<u8>> {
    let portable = Portable::of(model, options.temperature)?;
    match format {
        Format::Onnx => {
            portable.no_words("ONNX")?;
            Ok(onnx::graph(&portable, options.precision, options.labels))
        }
        Format::C => c::source(&portable, &options.prefix).map(String::into_bytes),
        Format::Json => json::text(&portable),
        Format::Liblinear => liblinear::text(&portable).map(String::into_bytes),
    }
}
