//! Questions about paths.

use std::collections::HashSet;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::bail;
use m3svm::same_file;

use crate::print;
use crate::report::tell;

/// The files that paths, folders and patterns stand for. None may be there twice: its rows would count twice, and be held out from themselves.
pub(crate) fn all_files(paths: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    let (mut files, mut known) = (Vec::new(), HashSet::new());
    for path in paths {
        for file in m3svm_io::files_of(path)? {
            if !known.insert(file.canonicalize().unwrap_or_else(|_| file.clone())) {
                bail!("{}: the file is named twice, expected once", crate::report::file(&file));
            }
            files.push(file);
        }
    }
    Ok(files)
}

/// What these paths are called together.
pub(crate) fn called(paths: &[PathBuf]) -> String {
    match paths {
        [one] => crate::report::file(one),
        several => crate::report::plural(several.len(), "file"),
    }
}

/// An output that was asked for, with what it is.
pub(crate) type Output<'a> = (&'static str, Option<&'a Path>);

/// Refuses outputs that would replace an input or one another, and places where nothing can be written; asked before any work. A
/// trace is meant to be followed, so it may share standard output with JSON; a journal is added to, so it may be there already.
pub(crate) fn check_outputs(outputs: &[Output<'_>], inputs: &[&Path], json: bool) -> anyhow::Result<()> {
    let given: Vec<(&str, &Path)> = outputs.iter().filter_map(|(what, path)| Some((*what, (*path)?))).collect();
    for (i, (what, path)) in given.iter().enumerate() {
        m3svm::check_apart(path, inputs)?;
        if let Some((other, _)) = given[..i].iter().find(|(_, earlier)| same_file(earlier, path)) {
            bail!("{}: the {other} and the {what} cannot be the same file", path.display());
        }
        if json && *what != "trace" && is_stdout(path) {
            bail!("`--json` and the {what} cannot both go to standard output");
        }
    }
    // Last, because it makes a file for a moment.
    Ok(given.iter().try_for_each(|(_, path)| m3svm::check_writable(path))?)
}

/// The outcome of writing several files, each of which was tried whatever became of the others: all that went wrong is said.
pub(crate) fn all_written(results: impl IntoIterator<Item = anyhow::Result<()>>) -> anyhow::Result<()> {
    let mut failed: Vec<anyhow::Error> = results.into_iter().filter_map(Result::err).collect();
    let Some(last) = failed.pop() else { return Ok(()) };
    failed.iter().for_each(|error| tell("error", &crate::sentence(error)));
    Err(last)
}

/// Prints a result, or says it on standard error if an output has gone to standard output already.
pub(crate) fn print_beside(outputs: &[&Option<PathBuf>], text: &str) -> anyhow::Result<()> {
    if outputs.iter().filter_map(|path| path.as_ref()).any(|path| is_stdout(path)) {
        // Nobody is there to be told if this fails.
        let _ = io::stderr().write_all(text.as_bytes());
        return Ok(());
    }
    print(text)
}

/// Whether a path leads to our own standard output, as `/dev/stdout` does.
#[cfg(unix)]
fn is_stdout(path: &Path) -> bool {
    use std::os::fd::AsFd;
    use std::os::unix::fs::{FileTypeExt, MetadataExt};

    let stdout = std::io::stdout().as_fd().try_clone_to_owned();
    let stdout = stdout.and_then(|fd| std::fs::File::from(fd).metadata());
    match (stdout, path.metadata()) {
        // Two writers to /dev/null are not in each other's way.
        (Ok(out), Ok(_)) if out.file_type().is_char_device() => path == Path::new("/dev/stdout"),
        (Ok(out), Ok(it)) => (out.dev(), out.ino()) == (it.dev(), it.ino()),
        _ => false,
    }
}

/// Whether a path leads to our own standard output.
#[cfg(not(unix))]
fn is_stdout(_path: &Path) -> bool {
    false
}
