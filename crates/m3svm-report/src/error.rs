//! What can go wrong when figures and pages are written.

use std::path::PathBuf;

/// Result with [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

/// The formats of [`Error::Extension`].
const FORMATS: &str = if cfg!(feature = "png") { ".svg or .png" } else { ".svg (this build has no PNG)" };

/// Messages are one clause in lower case that says what was found and what was expected.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file cannot be written.
    #[error(transparent)]
    File(#[from] m3svm::Error),
    /// The format of a figure cannot be told from the name of its file.
    #[error("{path}: the name of a figure must end in {FORMATS}", path = path.display())]
    Extension {
        /// The file.
        path: PathBuf,
    },
    /// A PNG cannot be made.
    #[error("the figure cannot be drawn as PNG: {what}")]
    Png {
        /// The reason.
        what: String,
    },
}
