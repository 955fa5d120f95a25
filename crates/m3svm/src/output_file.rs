//! Writing files so that a crash or a full disk never costs the old content.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::Builder;

use crate::error::{Error, Result};
use crate::temporary::temporary;

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
    let write = || match Destination::of(path)? {
        Destination::Replace(file, old) => replace(&file, old, content),
        Destination::Stream(mut out) => {
            let mut buffer = io::BufWriter::new(&mut out);
            content(&mut buffer)?;
            buffer.flush()
        }
    };
    write().map_err(|source| named(path, source))
}

/// The same for what has taken long to make. Where it cannot be written after all, it is kept in a file in the system's folder for
/// temporary files, and the error names that.
pub fn write_or_keep(path: &Path, content: &[u8]) -> Result<()> {
    match write_file(path, |out| out.write_all(content)) {
        // Who has left wants none of it.
        Err(Error::Io { path, source }) if source.kind() != io::ErrorKind::BrokenPipe => match keep(&path, content) {
            Ok(kept) => Err(Error::Kept { path, source, kept }),
            Err(_) => Err(Error::Io { path, source }),
        },
        other => other,
    }
}

/// Writes a file that stays where temporary files are, and says where that is.
fn keep(path: &Path, content: &[u8]) -> io::Result<PathBuf> {
    let extension = path.extension().map(|e| format!(".{}", e.to_string_lossy())).unwrap_or_default();
    let mut file = Builder::new().prefix("m3svm-kept-").suffix(&extension).tempfile()?;
    file.write_all(content)?;
    file.as_file().sync_all()?;
    Ok(file.keep()?.1)
}

/// Opens a file that others may follow while it grows, such as a log. What is not a regular file is written to, as by [`write_file`].
///
/// Unlike there, a regular file loses its old content at once and is left half written by a crash: who follows a log needs its
/// lines as they come, under its own name, and wants those that came before a crash.
pub fn open_log(path: &Path) -> Result<File> {
    let open = || match Destination::of(path)? {
        Destination::Replace(file, _) => File::create(file),
        Destination::Stream(out) => Ok(out),
    };
    open().map_err(|source| named(path, source))
}

/// Whether [`write_file`] can be expected to work: asked before hours of work, not after.
pub fn check_writable(path: &Path) -> Result<()> {
    let check = || match std::fs::metadata(path) {
        // Opening a pipe only to close it again would end its reader.
        Ok(found) if !found.is_file() && !found.is_dir() => Ok(()),
        _ => match Destination::of(path)? {
            Destination::Replace(file, old) => {
                let new = temporary(folder_of(&file))?;
                old.map_or(Ok(()), |old| may_replace(new.as_file(), &file, &old))
            }
            Destination::Stream(_) => Ok(()),
        },
    };
    check().map_err(|source| named(path, source))
}

/// Refuses an output that is one of the inputs, whatever links lead there.
pub fn check_apart<P: AsRef<Path>>(output: &Path, inputs: &[P]) -> Result<()> {
    match inputs.iter().map(AsRef::as_ref).find(|input| same_file(output, input)) {
        Some(input) => Err(Error::Replaces { output: output.to_path_buf(), input: input.to_path_buf() }),
        None => Ok(()),
    }
}

/// Whether two paths lead to the same regular file, through links and hard links, or would once it is there.
pub fn same_file(a: &Path, b: &Path) -> bool {
    if let (Some(a), Some(b)) = (identity(a), identity(b)) {
        return a == b;
    }
    place(a).is_some_and(|a| place(b) == Some(a))
}

/// Readers take `-` for standard input; as an output it never gets here.
fn source(path: &Path) -> &Path {
    if path == Path::new("-") { Path::new("/dev/stdin") } else { path }
}

/// What tells a regular file from all others, whatever it is called.
#[cfg(unix)]
fn identity(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(source(path)).ok().filter(Metadata::is_file).map(|found| (found.dev(), found.ino()))
}

#[cfg(not(unix))]
fn identity(path: &Path) -> Option<PathBuf> {
    source(path).canonicalize().ok().filter(|path| path.is_file())
}

/// Where a file is or would be, with all links followed.
fn place(path: &Path) -> Option<PathBuf> {
    let (file, _) = follow(source(path)).ok()?;
    Some(folder_of(&file).canonicalize().ok()?.join(file.file_name()?))
}

/// Refuses a file of someone else in a folder where only owners may replace files, such as `/tmp`.
#[cfg(unix)]
fn may_replace(own: &File, target: &Path, old: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt;
    const STICKY: u32 = 0o1000;
    let (user, folder) = (own.metadata()?.uid(), std::fs::metadata(folder_of(target))?);
    // Root may replace anything.
    if user == 0 || folder.mode() & STICKY == 0 || [old.uid(), folder.uid()].contains(&user) {
        return Ok(());
    }
    let what = "the file belongs to someone else, and its folder lets only owners replace files";
    Err(io::Error::new(io::ErrorKind::PermissionDenied, what))
}

#[cfg(not(unix))]
fn may_replace(_own: &File, _target: &Path, _old: &Metadata) -> io::Result<()> {
    Ok(())
}

fn named(path: &Path, source: io::Error) -> Error {
    Error::Io { path: path.to_path_buf(), source }
}

/// What a path turns out to be.
enum Destination {
    /// A regular file (with what is known of the old one), or nothing yet.
    Replace(PathBuf, Option<Metadata>),
    /// Something that takes bytes and must stay what it is.
    Stream(File),
}

impl Destination {
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
            Err(e) if e.kind() == io::ErrorKind::NotFound && names_a_folder(&file) => {
                Err(io::Error::new(io::ErrorKind::IsADirectory, "expected the name of a file, found that of a folder"))
            }
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(Self::Replace(file, None)),
            Err(e) => Err(e),
        }
    }
}

/// The end of a chain of links, which need not exist, and whether it leads through an open descriptor of a process.
pub(crate) fn follow(path: &Path) -> io::Result<(PathBuf, bool)> {
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

/// `name/` and `name/.`, where no file can be.
fn names_a_folder(path: &Path) -> bool {
    let text = path.to_string_lossy();
    matches!(text.rsplit(std::path::is_separator).next(), Some("" | "." | ".."))
}

fn folder_of(file: &Path) -> &Path {
    match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

fn replace(
    target: &Path,
    old: Option<Metadata>,
    content: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    // Next to the target: renaming does not work between file systems.
    let mut file = temporary(folder_of(target))?;
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
