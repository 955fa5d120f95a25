//! Temporary files beside their targets, and what killed runs have left of them.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::Path;

use tempfile::{Builder, NamedTempFile};

/// How the names of our temporary files begin and end; in between are six random letters and digits.
const PREFIX: &str = ".m3svm-";
const SUFFIX: &str = ".tmp";
const RANDOM: usize = 6;

/// A new file in a folder, locked for as long as it is open. What killed runs have left there is removed.
pub(crate) fn temporary(folder: &Path) -> io::Result<NamedTempFile> {
    const MOST_TRIES: usize = 100;
    let mut builder = Builder::new();
    builder.prefix(PREFIX).suffix(SUFFIX).rand_bytes(RANDOM);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // Like any new file, less the umask; temporary files are closed to others by default.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    for _ in 0..MOST_TRIES {
        let file = builder.tempfile_in(folder).map_err(|e| match e.kind() {
            // Without this the message names a random file that the user has never heard of.
            io::ErrorKind::NotFound => io::Error::new(e.kind(), "the folder does not exist"),
            kind => io::Error::new(kind, format!("cannot create a file in {}: {kind}", folder.display())),
        })?;
        // Where files cannot be locked, nobody removes those of others either.
        let _ = file.as_file().lock();
        // Before the lock another run may have taken it for one that was left behind.
        if is_at(file.as_file(), file.path()) {
            sweep(folder, &file);
            return Ok(file);
        }
    }
    Err(io::Error::other(format!("temporary files in {} disappear", folder.display())))
}

/// Removes our temporary files that nobody has open any more. Whatever stands in the way of that is no reason to stop.
fn sweep(folder: &Path, own: &NamedTempFile) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let left = is_temporary(&entry.file_name().to_string_lossy())
            && path != own.path()
            && entry.metadata().is_ok_and(|found| found.is_file() && same_owner(&found, own.as_file()));
        if !left {
            continue;
        }
        let Ok(file) = OpenOptions::new().read(true).write(true).open(&path) else { continue };
        if file.try_lock().is_ok() {
            let _ = fs::remove_file(&path);
        }
    }
}

fn is_temporary(name: &str) -> bool {
    let random = name.strip_prefix(PREFIX).and_then(|rest| rest.strip_suffix(SUFFIX));
    random.is_some_and(|random| random.len() == RANDOM && random.bytes().all(|b| b.is_ascii_alphanumeric()))
}

#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let id = |found: fs::Metadata| (found.dev(), found.ino());
    file.metadata().ok().map(id) == fs::symlink_metadata(path).ok().map(id)
}

#[cfg(not(unix))]
fn is_at(_file: &File, path: &Path) -> bool {
    path.exists()
}

#[cfg(unix)]
fn same_owner(found: &fs::Metadata, own: &File) -> bool {
    use std::os::unix::fs::MetadataExt;
    own.metadata().is_ok_and(|own| own.uid() == found.uid())
}

#[cfg(not(unix))]
fn same_owner(_found: &fs::Metadata, _own: &File) -> bool {
    true
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<String> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn what_killed_runs_left_is_removed_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let others = [".m3svm-abc.tmp", ".m3svm-abcdef.tmp2", ".m3svm-ab.def.tmp", "m3svm-abcdef.tmp", "notes.txt"];
        for name in others.iter().chain(&[".m3svm-abcdef.tmp", ".m3svm-A1b2C3.tmp"]) {
            fs::write(folder.path().join(name), "x").unwrap();
        }
        fs::create_dir(folder.path().join(".m3svm-folder.tmp")).unwrap();
        drop(temporary(folder.path()).unwrap());
        let mut expected: Vec<&str> = others.iter().copied().chain([".m3svm-folder.tmp"]).collect();
        expected.sort_unstable();
        assert_eq!(names(folder.path()), expected);
    }

    #[test]
    fn what_is_in_use_stays() {
        let folder = tempfile::tempdir().unwrap();
        let first = temporary(folder.path()).unwrap();
        let second = temporary(folder.path()).unwrap();
        assert!(first.path().exists() && second.path().exists());
        assert_eq!(names(folder.path()).len(), 2);
    }

    #[test]
    fn many_writers_at_once_never_take_a_file_from_each_other() {
        let folder = tempfile::tempdir().unwrap();
        let write = |n: usize| {
            for _ in 0..50 {
                let file = temporary(folder.path()).unwrap();
                file.persist(folder.path().join(format!("{n}"))).unwrap();
            }
        };
        std::thread::scope(|scope| (0..8).for_each(|n| drop(scope.spawn(move || write(n)))));
        assert_eq!(names(folder.path()).len(), 8);
    }
}
