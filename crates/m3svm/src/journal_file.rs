//! Files of finished work that are only added to, and what a crash, a full disk or a second run may do to them.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::memory;
use crate::output_file::follow;

/// A line that was in a journal when it was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalLine {
    /// Its number from 1.
    pub number: usize,
    /// A JSON object, without the checksum.
    pub text: String,
    /// Whether there was a checksum. One that does not fit is an error.
    pub sealed: bool,
}

/// A file of JSON objects, one per line, each with a checksum in it. It belongs to one run as long as it is open.
///
/// A line that was being written when a run was killed is dropped; any other damage is an error.
///
/// ```
/// use m3svm::JournalFile;
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("journal");
///
/// let (mut journal, _) = JournalFile::open(&path, r#"{"done":"#, |_| Ok(()))?;
/// journal.add(r#"{"done":1}"#)?;
/// drop(journal);
/// let (_, known) = JournalFile::open(&path, r#"{"done":"#, |lines| Ok(lines[0].text.clone()))?;
/// assert_eq!(known, r#"{"done":1}"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct JournalFile {
    path: PathBuf,
    file: File,
    /// Bytes of whole lines; `None` if there is half a line after them that could not be taken away.
    whole: Option<u64>,
}

impl JournalFile {
    /// Opens or begins a journal. `begins` is how the first line of every such journal begins; `judge` makes something of the lines
    /// that are there or refuses them, and a file that is refused is not touched.
    pub fn open<T>(path: &Path, begins: &str, judge: impl FnOnce(&[JournalLine]) -> Result<T>) -> Result<(Self, T)> {
        let io = |source| Error::Io { path: path.to_path_buf(), source };
        let refuse = |what: String| Error::Journal { path: path.to_path_buf(), what };
        if !can_be_a_journal(path).map_err(io)? {
            return Err(refuse("expected a regular file".into()));
        }
        let mut file = OpenOptions::new().read(true).append(true).create(true).open(path).map_err(io)?;
        claim(&file, path)?;
        // The content, its lines, and what is made of them.
        let size = file.metadata().map_err(io)?.len();
        memory::check(&format!("reading the journal {}", path.display()), size.saturating_mul(3))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(io)?;
        let end = bytes.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
        let (whole, torn) = bytes.split_at(end);
        // Of a file without any whole line nobody knows whether it is ours, unless it begins like that.
        if whole.is_empty() && !(torn.starts_with(begins.as_bytes()) || begins.as_bytes().starts_with(torn)) {
            return Err(refuse("it does not begin like one".into()));
        }
        let lines = (1..).zip(whole.split_inclusive(|b| *b == b'\n'));
        let lines = lines.map(|(number, line)| unsealed(number, line).ok_or_else(|| refuse(damaged(number))));
        let known = judge(&lines.collect::<Result<Vec<_>>>()?)?;
        if !torn.is_empty() {
            file.set_len(end as u64).map_err(io)?;
        }
        Ok((Self { path: path.to_path_buf(), file, whole: Some(end as u64) }, known))
    }

    /// Adds a line, which must be a JSON object with something in it. After a failure the file is as it was before.
    pub fn add(&mut self, text: &str) -> Result<()> {
        let io = |source| Error::Io { path: self.path.clone(), source };
        let Some(whole) = self.whole else { return Err(io(io::Error::other("an earlier line could not be written"))) };
        let line = sealed(text);
        if let Err(source) = self.file.write_all(line.as_bytes()) {
            // Half a line must not get into the next one, or all that follows is lost.
            self.whole = self.file.set_len(whole).is_ok().then_some(whole);
            return Err(io(source));
        }
        self.whole = Some(whole + line.len() as u64);
        Ok(())
    }
}

/// Makes a folder one's own until the file that this returns is dropped; refuses one in which another run is writing. `None` where
/// folders cannot be locked.
pub fn claim_folder(folder: &Path) -> Result<Option<File>> {
    let Ok(file) = File::open(folder) else { return Ok(None) };
    claim(&file, folder)?;
    Ok(Some(file))
}

fn claim(file: &File, path: &Path) -> Result<()> {
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err(Error::Busy { path: path.to_path_buf() }),
        // Not every file system has locks; without them it is as it was before there were any.
        Err(TryLockError::Error(_)) | Ok(()) => Ok(()),
    }
}

/// Whether there is a regular file or nothing yet. Opening a pipe would wait for the other side, and what leads to standard output
/// gets more than a journal.
fn can_be_a_journal(path: &Path) -> io::Result<bool> {
    let (file, is_descriptor) = follow(path)?;
    match std::fs::metadata(file) {
        Ok(found) => Ok(found.is_file() && !is_descriptor),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(!is_descriptor),
        Err(e) => Err(e),
    }
}

pub(crate) fn damaged(number: usize) -> String {
    format!("line {number} is damaged")
}

const CHECKSUM: &str = r#","checksum":"#;

/// The line with the checksum of the rest as its last entry, so that it is still JSON.
fn sealed(text: &str) -> String {
    let open = text.strip_suffix('}').unwrap_or(text);
    format!("{open}{CHECKSUM}{}}}\n", crc32fast::hash(text.as_bytes()))
}

/// The other way round; `None` if it does not fit.
fn unsealed(number: usize, line: &[u8]) -> Option<JournalLine> {
    let line = std::str::from_utf8(line).ok()?.strip_suffix('\n')?;
    let parts = line.rsplit_once(CHECKSUM);
    let parts =
        parts.and_then(|(open, rest)| Some((format!("{open}}}"), rest.strip_suffix('}')?.parse::<u32>().ok()?)));
    match parts {
        None => Some(JournalLine { number, text: line.into(), sealed: false }),
        Some((text, sum)) if crc32fast::hash(text.as_bytes()) == sum => {
            Some(JournalLine { number, text, sealed: true })
        }
        Some(_) => None,
    }
}

#[cfg(test)]
#[path = "journal_file_tests.rs"]
mod tests;
