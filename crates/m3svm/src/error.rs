//! The one error type of the library. Payloads are data; front ends decide how to show them.

use std::path::PathBuf;

use crate::memory::shown;
use crate::text::{short, visible};

/// Result with [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

/// What can go wrong. Messages are one clause in lower case that says what was found and what was expected.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A setting is outside its range.
    #[error("`{}` must {must}, found {}", name.replace('_', "-"), visible(value))]
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
    #[error("row {}: label `{}` is not one of the {known} classes of the model", row + 1, visible(label))]
    UnknownClass {
        /// Row, counted from 0.
        row: usize,
        /// The label found.
        label: String,
        /// How many classes are known.
        known: usize,
    },
    /// Fewer than two classes occur.
    #[error("at least two classes are needed, found {found}{}", only.as_ref().map(|c| format!(" (`{}`)", visible(c))).unwrap_or_default())]
    TooFewClasses {
        /// How many occur.
        found: usize,
        /// The one class, if there is one.
        only: Option<String>,
    },
    /// A sample or class weight is negative or not finite.
    #[error("weight of {} must be a finite number of at least 0, found {value}", visible(place))]
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
    #[error("{path}: not a usable model file: {}", visible(what), path = path.display())]
    Model {
        /// The file.
        path: PathBuf,
        /// The reason.
        what: String,
    },
    /// A cache of rows cannot be written or used.
    #[error("{path}: the cache of rows cannot be used: {}", visible(what), path = path.display())]
    Cache {
        /// The file, or its folder.
        path: PathBuf,
        /// The reason.
        what: String,
    },
    /// Parts of the rows on other machines, or what carries messages to them, have failed.
    #[error("{what}")]
    Engine {
        /// What has been said of it.
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
    /// Writing failed, and what should have been written is somewhere else.
    #[error("{path}: {source}; it is kept as {kept}", path = path.display(), kept = kept.display())]
    Kept {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
        /// Where it is now.
        kept: PathBuf,
    },
    /// An output is one of the inputs.
    #[error("{output}: the output would replace the input {input}", output = output.display(), input = input.display())]
    Replaces {
        /// The output.
        output: PathBuf,
        /// The input.
        input: PathBuf,
    },
    /// Another run writes to the same journal or folder.
    #[error("{path}: another run is writing here", path = path.display())]
    Busy {
        /// The file or folder.
        path: PathBuf,
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
    #[error("{path}: not a usable journal: {what}", path = path.display())]
    Journal {
        /// The file.
        path: PathBuf,
        /// The reason.
        what: String,
    },
    /// A step would take more memory than the budget allows.
    #[error("{what} needs {}", over(*needed, *budget))]
    Memory {
        /// What was about to be done, such as "the fit".
        what: String,
        /// The bytes it was going to take; `None` if it was stopped as it grew.
        needed: Option<u64>,
        /// The budget in bytes.
        budget: u64,
    },
    /// The values of a kernel are none that a kernel can have, or say nothing.
    #[error("the kernel cannot be used: {what}")]
    Kernel {
        /// What was found and what was expected.
        what: String,
    },
    /// There is no hard margin.
    #[error("no hard margin: {}", visible(what))]
    NotSeparable {
        /// Why, as a sentence.
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
    /// The objective is not a finite number, where a fit begins, on its way or at its end.
    #[error("the objective is not finite: it is {value} at iteration {iteration}, {likely}")]
    Diverged {
        /// The value found.
        value: f64,
        /// When it happened.
        iteration: usize,
        /// What is behind it most of the time, and what to do.
        likely: &'static str,
    },
    /// Rows have scores that are not finite, so that no class is better than the others.
    #[error("row {}: a score is {value}, expected a finite number; its features are too large for the weights", row + 1)]
    Score {
        /// Row, counted from 0.
        row: usize,
        /// The score found.
        value: f64,
    },
    /// A model would have weights that are not finite for features as they come.
    #[error("feature {}: its weights without the scaling are not finite; its values are too small or too large", feature + 1)]
    Unscaled {
        /// Feature column, counted from 0.
        feature: usize,
    },
    /// The weights of rows, alone or with those of classes, sum to more than can be computed with.
    #[error("the weights of {of} sum to {}, expected at most 1e300", short(*sum))]
    WeightSum {
        /// Whose weights.
        of: &'static str,
        /// Their sum.
        sum: f64,
    },
    /// A column of a table is not what it is expected to be.
    #[error("column {:?}: {}", visible(column), visible(what))]
    Column {
        /// Its name.
        column: String,
        /// What was found and expected.
        what: String,
    },
    /// A cell is missing, and nothing is known to stand for it.
    #[error("row {}, column {:?}: the cell is empty, {why}", row + 1, visible(column))]
    Gap {
        /// Row, counted from 0.
        row: usize,
        /// Name of the column.
        column: String,
        /// Why nothing stands for it.
        why: &'static str,
    },
    /// A setting of a search cannot be used on a fold.
    #[error("{setting}: {source}")]
    Setting {
        /// The setting.
        setting: String,
        /// The reason.
        source: Box<Error>,
    },
}

fn over(needed: Option<u64>, budget: u64) -> String {
    let budget = shown(budget);
    match needed {
        Some(needed) => format!("about {}, and the memory budget is {budget}", shown(needed)),
        None => format!("more than the memory budget of {budget}"),
    }
}

impl Error {
    pub(crate) fn diverged(value: f64, iteration: usize) -> Self {
        Self::Diverged { value, iteration, likely: "features or weights (or lambda) are too large; scale them" }
    }

    pub(crate) fn param(name: &'static str, value: impl std::fmt::Display, must: &'static str) -> Self {
        Self::Param { name, value: value.to_string(), must }
    }
}
