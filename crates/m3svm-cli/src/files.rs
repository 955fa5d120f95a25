//! Questions about paths.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::bail;

use crate::print;

/// Refuses to write over what is being read, and places where nothing can be written; asked before any work.
pub(crate) fn check_output(output: &Path, inputs: &[&Path]) -> anyhow::Result<()> {
    if let Some(input) = inputs.iter().find(|input| same(output, input)) {
        bail!("{}: the output would replace the input {}", output.display(), input.display());
    }
    Ok(m3svm::check_writable(output)?)
}

/// The same for all outputs of a command, each with what it is; nor may two of them get into each other's way. A trace is meant to
/// be followed, so it may share standard output with JSON; a journal is added to, so it may be there already.
pub(crate) fn check_outputs(outputs: &[(&str, &Option<PathBuf>)], input: &Path, json: bool) -> anyhow::Result<()> {
    let given: Vec<(&str, &PathBuf)> =
        outputs.iter().filter_map(|(what, path)| Some((*what, path.as_ref()?))).collect();
    for (_, path) in &given {
        check_output(path, &[input])?;
    }
    for (i, (what, path)) in given.iter().enumerate() {
        if let Some((other, _)) = given[..i].iter().find(|(_, earlier)| same_output(earlier, path)) {
            bail!("{}: the {other} and the {what} cannot be the same file", path.display());
        }
        if json && *what != "trace" && is_stdout(path) {
            bail!("`--json` and the {what} cannot both go to standard output");
        }
    }
    Ok(())
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

/// Whether two paths lead to the same existing file.
fn same(a: &Path, b: &Path) -> bool {
    let real = |path: &Path| {
        // The readers take `-` for standard input.
        let path = if path == Path::new("-") { Path::new("/dev/stdin") } else { path };
        path.canonicalize().ok().filter(|p| p.is_file())
    };
    real(a).is_some_and(|a| real(b) == Some(a))
}

/// Whether two outputs would be one file, be it there already or not.
fn same_output(a: &Path, b: &Path) -> bool {
    let place = |path: &Path| {
        let folder = path.parent().filter(|f| !f.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Some(folder.canonicalize().ok()?.join(path.file_name()?))
    };
    same(a, b) || place(a).is_some_and(|a| place(b) == Some(a))
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
