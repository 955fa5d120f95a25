//! The one error type of the library. Payloads are data; front ends decide how to show them.

use std::path::PathBuf;

/// Result with [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

/// What can go wrong. Messages are one clause in lower case that says what was found and what was expected.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A setting is outside its range.
    #[error("`{name}` must {must}, found {value}")]
    Param {
        /// Name of the setting as a user types it.
        name: &'static str,
        /// The value found.
        value: String,
        /// The rest of the sentence "`name` must ...".
        must: &'static str,
    },
    /// Two sizes that must agree do not.
    #[error("{what}: expected {expected}, found {found}")]
    Shape {
        /// What was counted.
        what: &'static str,
        /// The size that was needed.
        expected: usize,
        /// The size that was given.
        found: usize,
    },
    /// A feature value is NaN or infinite.
    #[error("row {}, feature {}: the value is {value}, expected a finite number", row + 1, column + 1)]
    NotFinite {
        /// Row, counted from 0.
        row: usize,
        /// Feature column, counted from 0.
        column: usize,
        /// The value as text.
        value: String,
    },
    /// A sparse matrix is malformed.
    #[error("sparse matrix: {what}")]
    Sparse {
        /// The broken rule.
        what: String,
    },
    /// A label is not one of the known classes.
    #[error("row {}: label `{label}` is not one of the {known} classes of the model", row + 1)]
    UnknownClass {
        /// Row, counted from 0.
        row: usize,
        /// The label found.
        label: String,
        /// How many classes are known.
        known: usize,
    },
    /// Fewer than two classes occur.
    #[error("at least two classes are needed, found {found}{}", only.as_ref().map(|c| format!(" (`{c}`)")).unwrap_or_default())]
    TooFewClasses {
        /// How many occur.
        found: usize,
        /// The one class, if there is one.
        only: Option<String>,
    },
    /// A sample or class weight is negative or not finite.
    #[error("weight of {place} must be a finite number of at least 0, found {value}")]
    Weight {
        /// "row 3" or "class `a`".
        place: String,
        /// The weight found.
        value: f64,
    },
    /// No row counts.
    #[error("the weights of {of} are all zero, expected at least one above")]
    NoWeight {
        /// Whose weights.
        of: &'static str,
    },
    /// A model file cannot be used.
    #[error("{path}: not a usable model file: {what}", path = path.display())]
    Model {
        /// The file.
        path: PathBuf,
        /// The reason.
        what: String,
    },
    /// Reading or writing failed.
    #[error("{path}: {source}", path = path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// More folds than there is something to put into them.
    #[error("`folds` must be at most the number of {what} ({most}), found {folds}")]
    Folds {
        /// The folds asked for.
        folds: usize,
        /// The most that are possible.
        most: usize,
        /// What there are too few of.
        what: &'static str,
    },
    /// The same for the folds of a search inside the training part of a fold.
    #[error("the training part of a fold has {most} {what}, too few for the {folds} folds of the search inside it")]
    InnerFolds {
        /// The folds asked for.
        folds: usize,
        /// The most that are possible.
        most: usize,
        /// What there are too few of.
        what: &'static str,
    },
    /// A journal cannot be used.
    #[error("{path}: not the journal of this search: {what}", path = path.display())]
    Journal {
        /// The file.
        path: PathBuf,
        /// The reason.
        what: String,
    },
    /// The watcher asked to stop before there was any result.
    #[error("interrupted before the first result")]
    Interrupted,
    /// A solver was asked for something that it cannot minimise.
    #[error("the solver {solver} cannot minimise {what}; {instead}")]
    Unsuited {
        /// Name of the solver.
        solver: &'static str,
        /// What it cannot minimise.
        what: &'static str,
        /// What to do about it.
        instead: &'static str,
    },
    /// The objective stopped being a finite number.
    #[error("the objective is not finite at iteration {iteration}; scale the features or lower the learning rate")]
    Diverged {
        /// When it happened.
        iteration: usize,
    },
}

impl Error {
    pub(crate) fn param(name: &'static str, value: impl std::fmt::Display, must: &'static str) -> Self {
        Self::Param { name, value: value.to_string(), must }
    }
}
