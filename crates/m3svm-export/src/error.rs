//! Why a model cannot be exported.

use m3svm::text::visible;

/// Result with [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

/// Messages are one clause in lower case that says what was found and what was expected.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A format that knows whole numbers only.
    #[error("the labels of LIBLINEAR are whole numbers of 32 bits, found the class `{}`", visible(class))]
    Label {
        /// The first class that is none.
        class: String,
    },
    /// A format without votes.
    #[error("LIBLINEAR has no votes of pairs of classes, which the method ovo needs; export it as onnx, c or json")]
    Votes,
    /// A format that takes features as numbers and nothing else.
    #[error(
        "{format} takes numbers only, and the model was trained on column `{}`, which {what}; export it as onnx, c or json",
        visible(column)
    )]
    Columns {
        /// The format.
        format: &'static str,
        /// The first column that is prepared.
        column: String,
        /// What is done with it.
        what: &'static str,
    },
    /// A format that has nothing to take texts apart with.
    #[error(
        "{format} cannot take texts apart, and the model uses the words of column `{}`; export it as json",
        visible(column)
    )]
    Words {
        /// The format.
        format: &'static str,
        /// The first such column.
        column: String,
    },
    /// A format of linear scores.
    #[error("LIBLINEAR knows linear scores only, and the model has a kernel; export it as onnx, c or json")]
    Kernel,
    /// What cannot begin a name in C.
    #[error("`name` must be letters, digits and underscores that begin with a letter, found {found:?}")]
    Prefix {
        /// What was found.
        found: String,
    },
    /// A temperature out of range.
    #[error("`temperature` must be a finite number greater than 0, found {found}")]
    Temperature {
        /// What was found.
        found: f64,
    },
    /// Probabilities that exist already.
    #[error("`temperature` is for methods that define no probabilities, this one does")]
    HasProbabilities,
    /// Weights that became infinite when the scaling was folded in.
    #[error("the weights for unscaled features are not finite: a feature varies far too little")]
    NotFinite,
    /// Values so far from 0 that weights for them as they are would lose the digits that tell them apart.
    #[error(
        "the values of feature {} lie too far from 0 for how little they differ, exported weights could not tell them apart; subtract a \
         number near them before the training",
        feature + 1
    )]
    Far {
        /// The first such feature, from 0.
        feature: usize,
    },
    /// What the library refuses, such as rows that would take too much memory written out.
    #[error(transparent)]
    Library(#[from] m3svm::Error),
    /// The text could not be made.
    #[error("cannot write JSON: {0}")]
    Json(#[from] serde_json::Error),
}
