//! What can go wrong.

use std::path::PathBuf;

/// Result with [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

/// What can go wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Training or writing failed; also an interruption.
    #[error(transparent)]
    Core(#[from] m3svm::Error),
    /// A data file cannot be read.
    #[error(transparent)]
    Read(#[from] m3svm_io::ReadError),
    /// A figure cannot be drawn.
    #[error(transparent)]
    Figure(#[from] m3svm_report::Error),
    /// A file or folder cannot be used.
    #[error("{path}: {source}", path = path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// A thread cannot be started.
    #[error(transparent)]
    Threads(#[from] rayon::ThreadPoolBuildError),
    /// There is no such data set.
    #[error("there is no data set `{name}`; there are {}", known.join(", "))]
    UnknownSet {
        /// The name found.
        name: String,
        /// The names there are.
        known: Vec<String>,
    },
    /// There is nothing to put together.
    #[error("no finished work for these settings is in {folder}", folder = folder.display())]
    NothingFinished {
        /// The folder of results.
        folder: PathBuf,
    },
    /// Not one data file was there.
    #[error("nothing could be run: none of the data files is in {folder}", folder = folder.display())]
    NothingRan {
        /// Where they were looked for.
        folder: PathBuf,
    },
}

impl Error {
    /// Whether the user asked to stop.
    pub fn is_interruption(&self) -> bool {
        matches!(self, Self::Core(m3svm::Error::Interrupted))
    }
}
