//! Tests of journals: what a crash, a full disk or a second run may do to them.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::fs;

use proptest::prelude::*;

use super::*;

const BEGINS: &str = r#"{"n":"#;

/// The lines that are there.
fn texts(path: &Path) -> Result<Vec<String>> {
    let all = |lines: &[JournalLine]| Ok(lines.iter().map(|line| line.text.clone()).collect());
    Ok(JournalFile::open(path, BEGINS, all)?.1)
}

fn open(path: &Path) -> JournalFile {
    JournalFile::open(path, BEGINS, |_| Ok(())).unwrap().0
}

fn line(n: u32) -> String {
    format!(r#"{{"n":{n},"text":"a \"checksum\":1}} b"}}"#)
}

/// A journal of five lines.
fn written(path: &Path) -> Vec<u8> {
    let mut journal = open(path);
    (0..5).for_each(|n| journal.add(&line(n)).unwrap());
    fs::read(path).unwrap()
}

#[test]
fn whatever_is_torn_off_the_end_is_done_again_and_the_rest_stays() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    let bytes = written(&path);
    for length in 0..=bytes.len() {
        fs::write(&path, &bytes[..length]).unwrap();
        let whole = bytes[..length].iter().filter(|b| **b == b'\n').count() as u32;
        assert_eq!(texts(&path).unwrap(), (0..whole).map(line).collect::<Vec<_>>(), "{length}");
        let mut journal = open(&path);
        (whole..5).for_each(|n| journal.add(&line(n)).unwrap());
        assert_eq!(fs::read(&path).unwrap(), bytes, "{length}");
    }
}

proptest! {
    #[test]
    fn no_changed_byte_is_believed(at in any::<prop::sample::Index>(), to in any::<u8>()) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        let bytes = written(&path);
        let mut changed = bytes.clone();
        let at = at.index(bytes.len());
        changed[at] = to;
        fs::write(&path, &changed).unwrap();
        let sealed = |lines: &[JournalLine]| Ok(lines.iter().filter(|l| l.sealed).map(|l| l.text.clone()).collect());
        let known: Result<(_, Vec<String>)> = JournalFile::open(&path, BEGINS, sealed);
        match known {
            // Either the line counts as one without a checksum, or the change took its end away.
            Ok((_, known)) => prop_assert!(known.iter().all(|l| (0..5).any(|n| *l == line(n)))),
            Err(error) => {
                let refused = matches!(error, Error::Journal { .. });
                prop_assert!(refused);
                prop_assert_eq!(fs::read(&path).unwrap(), changed);
            }
        }
    }
}

#[test]
fn a_file_that_is_no_journal_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    for content in ["no line", "x", "{\"m\":1}"] {
        fs::write(&path, content).unwrap();
        let refused = texts(&path).unwrap_err().to_string();
        assert_eq!(refused, format!("{}: not a usable journal: it does not begin like one", path.display()));
        assert_eq!(fs::read_to_string(&path).unwrap(), content);
    }
}

/// A file can be terabytes long and take nothing of the disk.
#[test]
fn a_file_that_is_larger_than_memory_is_refused_before_it_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    written(&path);
    fs::File::options().write(true).open(&path).unwrap().set_len(4_000_000_000_000).unwrap();
    let refused = texts(&path).unwrap_err().to_string();
    let told = format!("reading the journal {} needs about 12 TB, and the memory budget is ", path.display());
    assert!(refused.starts_with(&told), "{refused}");
    assert_eq!(fs::metadata(&path).unwrap().len(), 4_000_000_000_000);
}

#[test]
fn two_runs_never_write_to_the_same_journal_or_folder() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    let journal = open(&path);
    assert!(matches!(texts(&path), Err(Error::Busy { .. })));
    drop(journal);
    texts(&path).unwrap();
    if let Some(claimed) = claim_folder(folder.path()).unwrap() {
        let refused = claim_folder(folder.path()).unwrap_err().to_string();
        assert_eq!(refused, format!("{}: another run is writing here", folder.path().display()));
        drop(claimed);
        claim_folder(folder.path()).unwrap();
    }
}

#[cfg(unix)]
#[test]
fn devices_pipes_and_folders_are_no_journals() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    std::os::unix::fs::symlink("/dev/null", folder.path().join("link")).unwrap();
    for path in [&pipe, folder.path(), &folder.path().join("link"), Path::new("/dev/null"), Path::new("/dev/stdout")] {
        let refused = texts(path).unwrap_err().to_string();
        assert_eq!(refused, format!("{}: not a usable journal: expected a regular file", path.display()));
    }
}

#[cfg(unix)]
#[test]
fn a_line_that_cannot_be_written_leaves_no_half_of_itself() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    let bytes = written(&path);
    let mut journal = open(&path);
    let whole = journal.whole;
    // Stands for a disk that is full.
    journal.file = OpenOptions::new().append(true).open("/dev/full").unwrap();
    assert!(journal.add(&line(5)).is_err());
    journal.file = OpenOptions::new().append(true).open(&path).unwrap();
    journal.whole = journal.whole.or(whole);
    journal.add(&line(6)).unwrap();
    drop(journal);
    assert!(fs::read(&path).unwrap().starts_with(&bytes));
    assert_eq!(texts(&path).unwrap().last(), Some(&line(6)));
}
