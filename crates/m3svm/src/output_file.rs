//! Writing files so that a crash or a full disk never costs the old content.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::{Builder, NamedTempFile};

use crate::error::{Error, Result};

/// Writes a file in one step: until all of it is on disk, the old content stays.
///
/// Links are followed. What exists and is not a regular file (a pipe, `/dev/stdout`) is written to, never replaced.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("numbers.txt");
/// m3svm::write_file(&path, |out| writeln!(out, "1 2 3"))?;
/// # assert_eq!(std::fs::read_to_string(path)?, "1 2 3\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write_file(path: &Path, content: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    let write = || match Target::of(path)? {
        Target::Replace(file, old) => replace(&file, old, content),
        Target::Stream(mut out) => {
            let mut buffer = io::BufWriter::new(&mut out);
            content(&mut buffer)?;
            buffer.flush()
        }
    };
    write().map_err(|source| named(path, source))
}

/// Opens a file that others may follow while it grows, such as a log. What is not a regular file is written to, as by [`write_file`].
///
/// Unlike there, a regular file loses its old content at once and is left half written by a crash: who follows a log needs its
/// lines as they come, under its own name, and wants those that came before a crash.
pub fn open_log(path: &Path) -> Result<File> {
    let open = || match Target::of(path)? {
        Target::Replace(file, _) => File::create(file),
        Target::Stream(out) => Ok(out),
    };
    open().map_err(|source| named(path, source))
}

/// Whether [`write_file`] can be expected to work: asked before hours of work, not after.
pub fn check_writable(path: &Path) -> Result<()> {
    let check = || match std::fs::metadata(path) {
        // Opening a pipe only to close it again would end its reader.
        Ok(found) if !found.is_file() && !found.is_dir() => Ok(()),
        _ => match Target::of(path)? {
            Target::Replace(file, _) => temporary(&file).map(drop),
            Target::Stream(_) => Ok(()),
        },
    };
    check().map_err(|source| named(path, source))
}

fn named(path: &Path, source: io::Error) -> Error {
    Error::Io { path: path.to_path_buf(), source }
}

/// What a path turns out to be.
enum Target {
    /// A regular file (with what is known of the old one), or nothing yet.
    Replace(PathBuf, Option<Metadata>),
    /// Something that takes bytes and must stay what it is.
    Stream(File),
}

impl Target {
    fn of(path: &Path) -> io::Result<Self> {
        let (file, is_descriptor) = follow(path)?;
        if is_descriptor {
            // Another process holds the file open: a new file in its place would never be seen by it.
            return OpenOptions::new().append(true).open(path).map(Self::Stream);
        }
        match std::fs::metadata(&file) {
            Ok(found) if found.is_file() => {
                // Renaming would also replace a file that its owner has made read-only.
                OpenOptions::new().write(true).open(&file)?;
                Ok(Self::Replace(file, Some(found)))
            }
            Ok(_) => OpenOptions::new().write(true).open(&file).map(Self::Stream),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(Self::Replace(file, None)),
            Err(e) => Err(e),
        }
    }
}

/// The end of a chain of links, which need not exist, and whether it leads through an open descriptor of a process.
fn follow(path: &Path) -> io::Result<(PathBuf, bool)> {
    const MOST_LINKS: usize = 40;
    let mut file = path.to_path_buf();
    for _ in 0..MOST_LINKS {
        if is_descriptor(&file) {
            return Ok((file, true));
        }
        match std::fs::read_link(&file) {
            Ok(next) => file = folder_of(&file).join(next),
            // Not a link, or nothing there: the end either way.
            Err(_) => return Ok((file, false)),
        }
    }
    Err(io::Error::other("too many links"))
}

/// `/proc/self/fd/1` and its like, which is where `/dev/stdout` leads on Linux.
fn is_descriptor(path: &Path) -> bool {
    path.starts_with("/proc") && path.parent().is_some_and(|p| p.ends_with("fd"))
}

fn folder_of(file: &Path) -> &Path {
    match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// A new file next to the target: renaming does not work between file systems.
fn temporary(target: &Path) -> io::Result<NamedTempFile> {
    let mut builder = Builder::new();
    builder.prefix(".m3svm-").suffix(".tmp");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // Like any new file, less the umask; temporary files are closed to others by default.
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    let folder = folder_of(target);
    builder.tempfile_in(folder).map_err(|e| match e.kind() {
        // Without this the message names a random file that the user has never heard of.
        io::ErrorKind::NotFound => io::Error::new(e.kind(), "the folder does not exist"),
        kind => io::Error::new(kind, format!("cannot create a file in {}: {kind}", folder.display())),
    })
}

fn replace(
    target: &Path,
    old: Option<Metadata>,
    content: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let mut file = temporary(target)?;
    {
        let mut buffer = io::BufWriter::with_capacity(1 << 16, file.as_file_mut());
        content(&mut buffer)?;
        buffer.flush()?;
    }
    if let Some(old) = old {
        file.as_file().set_permissions(old.permissions())?;
    }
    file.as_file().sync_all()?;
    file.persist(target).map_err(|e| e.error)?;
    // The new name is on disk once the folder is; not every system can sync folders.
    if let Ok(folder) = File::open(folder_of(target)) {
        let _ = folder.sync_all();
    }
    Ok(())
}

#[cfg(test)]
#[path = "output_file_tests.rs"]
mod tests;
