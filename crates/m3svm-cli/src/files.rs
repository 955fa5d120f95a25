//! Questions about paths.

use std::path::Path;

use anyhow::bail;

/// Refuses to write over what is being read, and places where nothing can be written; asked before any work.
pub(crate) fn check_output(output: &Path, inputs: &[&Path]) -> anyhow::Result<()> {
    if let Some(input) = inputs.iter().find(|input| same(output, input)) {
        bail!("{}: the output would replace the input {}", output.display(), input.display());
    }
    Ok(m3svm::check_writable(output)?)
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
pub(crate) fn same_output(a: &Path, b: &Path) -> bool {
    let place = |path: &Path| {
        let folder = path.parent().filter(|f| !f.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Some(folder.canonicalize().ok()?.join(path.file_name()?))
    };
    same(a, b) || place(a).is_some_and(|a| place(b) == Some(a))
}

/// Whether a path leads to our own standard output, as `/dev/stdout` does.
#[cfg(unix)]
pub(crate) fn is_stdout(path: &Path) -> bool {
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
pub(crate) fn is_stdout(_path: &Path) -> bool {
    false
}
