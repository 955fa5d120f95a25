//! Whose files a folder holds. Results of another run are never replaced.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

/// The journal of a comparison.
pub(crate) const JOURNAL: &str = "runs.jsonl";

/// What a training writes besides checkpoints.
const OF_TRAININGS: [&str; 5] = ["curves.csv", "curves.svg", "margins-before.svg", "margins-after.svg", "summary.json"];

/// What a comparison writes besides its journal.
const OF_COMPARISONS: [&str; 10] = [
    "tuning.csv",
    "results.csv",
    "curves.csv",
    "train-accuracy.svg",
    "test-accuracy.svg",
    "min-margin.svg",
    "margin-and-accuracy.svg",
    "margins-before.svg",
    "margins-after-softmax.svg",
    "margins-after-ism3.svg",
];

/// Where the training of a seed is kept.
pub(crate) fn checkpoint(out: &Path, seed: u64) -> PathBuf {
    out.join(format!("seed-{seed}.checkpoint"))
}

/// Refuses a folder in which trainings with these checkpoints would replace results of others. Says whether any of them is there.
pub(crate) fn claim_for_trainings(out: &Path, own: &[PathBuf], resume: bool) -> Result<bool> {
    let begun = own.iter().find(|file| file.exists());
    if let (false, Some(there)) = (resume, begun) {
        bail!("{} exists; add `--resume` to go on with it, or choose another folder", there.display());
    }
    if let Some(other) = checkpoints(out).iter().find(|file| !own.contains(file)) {
        bail!(
            "{} is of a seed that is not asked for, and its curves would be replaced; choose another folder, or its seed too",
            other.display()
        );
    }
    let journal = out.join(JOURNAL);
    ensure!(!journal.exists(), "{} is of a comparison; choose another folder", journal.display());
    if begun.is_none() {
        free(out, &OF_TRAININGS)?;
    }
    Ok(begun.is_some())
}

/// Refuses a folder in which a comparison would replace results of others. Without a journal nothing there is its own.
pub(crate) fn claim_for_comparison(out: &Path) -> Result<()> {
    if let Some(training) = checkpoints(out).first() {
        bail!("{} is of a training; choose another folder", training.display());
    }
    if !out.join(JOURNAL).exists() {
        free(out, &OF_COMPARISONS)?;
    }
    Ok(())
}

/// Refuses outputs that are links to files of the data. Those that are not there yet cannot be.
pub(crate) fn check_apart(out: &Path, data: &Path) -> Result<()> {
    let names = OF_TRAININGS.iter().chain(&OF_COMPARISONS).chain([&JOURNAL]).map(|name| out.join(name));
    let own: Vec<PathBuf> = names.chain(checkpoints(out)).filter(|path| path.exists()).collect();
    if own.is_empty() {
        return Ok(());
    }
    let mut inputs = Vec::new();
    files_below(data, &mut HashSet::new(), &mut inputs)?;
    // Results may be in the folder of the data; there they are no input.
    inputs.retain(|input| !own.iter().any(|own| is_entry(own, input)));
    own.iter().try_for_each(|own| Ok(m3svm::check_apart(own, &inputs)?))
}

/// Whether two paths name the same entry of the same folder, links left as they are.
fn is_entry(a: &Path, b: &Path) -> bool {
    let folder = |path: &Path| path.parent().and_then(|folder| folder.canonicalize().ok());
    a.file_name() == b.file_name() && folder(a) == folder(b)
}

fn files_below(folder: &Path, seen: &mut HashSet<PathBuf>, files: &mut Vec<PathBuf>) -> Result<()> {
    let unreadable = || format!("cannot read {}", folder.display());
    // Links may lead back up.
    if !seen.insert(folder.canonicalize().with_context(unreadable)?) {
        return Ok(());
    }
    for entry in fs::read_dir(folder).with_context(unreadable)? {
        let path = entry.with_context(unreadable)?.path();
        if path.is_dir() { files_below(&path, seen, files)? } else { files.push(path) }
    }
    Ok(())
}

fn free(out: &Path, names: &[&str]) -> Result<()> {
    match names.iter().map(|name| out.join(name)).find(|path| path.exists()) {
        Some(there) => bail!("{} exists and is of another run; choose another folder", there.display()),
        None => Ok(()),
    }
}

/// All checkpoints of trainings in a folder, in order; none if there is no such folder.
fn checkpoints(out: &Path) -> Vec<PathBuf> {
    let ours = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        name.starts_with("seed-") && name.ends_with(".checkpoint")
    };
    let entries = fs::read_dir(out).into_iter().flatten();
    let mut found: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).filter(ours).collect();
    found.sort();
    found
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    fn folder(files: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        files.iter().for_each(|name| fs::write(folder.path().join(name), "mine").unwrap());
        folder
    }

    #[test]
    fn trainings_replace_nothing_but_their_own() {
        let asked = |files: &[&str], seeds: std::ops::Range<u64>, resume: bool| {
            let folder = folder(files);
            let own: Vec<PathBuf> = seeds.map(|seed| checkpoint(folder.path(), seed)).collect();
            claim_for_trainings(folder.path(), &own, resume).map_err(|e| e.to_string())
        };
        let refused = |files: &[&str], seeds, resume, words: &str| {
            let message = asked(files, seeds, resume).unwrap_err();
            assert!(message.contains(words), "{message}");
        };
        let done = ["seed-0.checkpoint", "curves.csv", "summary.json"];
        assert_eq!(asked(&["notes.txt"], 0..1, false), Ok(false));
        assert_eq!(asked(&[], 0..1, true), Ok(false));
        assert_eq!(asked(&done, 0..1, true), Ok(true));
        // More seeds are welcome, fewer would lose curves.
        assert_eq!(asked(&done, 0..3, true), Ok(true));
        refused(&done, 0..1, false, "seed-0.checkpoint exists; add `--resume`");
        for resume in [false, true] {
            refused(&done, 1..2, resume, "seed-0.checkpoint is of a seed that is not asked for");
            refused(&["summary.json"], 0..1, resume, "summary.json exists and is of another run");
            refused(&["runs.jsonl"], 0..1, resume, "runs.jsonl is of a comparison");
        }
        let gone = tempfile::tempdir().unwrap().path().join("none");
        assert!(!claim_for_trainings(&gone, &[checkpoint(&gone, 0)], false).unwrap());
    }

    #[cfg(unix)]
    #[test]
    fn no_output_is_a_link_to_the_data() {
        let data = folder(&["classes.txt", "curves.csv"]);
        let out = folder(&["summary.json"]);
        check_apart(out.path(), data.path()).unwrap();
        // Results beside the data, as an earlier run has left them.
        check_apart(data.path(), data.path()).unwrap();
        fs::create_dir(data.path().join("train")).unwrap();
        fs::write(data.path().join("train/1.png"), "image").unwrap();
        let (image, curves) = (data.path().join("train/1.png"), out.path().join("curves.svg"));
        for hard in [false, true] {
            let linked =
                if hard { fs::hard_link(&image, &curves) } else { std::os::unix::fs::symlink(&image, &curves) };
            linked.unwrap();
            let refused = check_apart(out.path(), data.path()).unwrap_err().to_string();
            assert!(refused.contains("curves.svg: the output would replace the input "), "{refused}");
            fs::remove_file(&curves).unwrap();
        }
    }

    #[test]
    fn comparisons_replace_nothing_but_their_own() {
        let asked = |files: &[&str]| claim_for_comparison(folder(files).path()).map_err(|e| e.to_string());
        assert_eq!(asked(&["notes.txt"]), Ok(()));
        assert_eq!(asked(&["runs.jsonl", "curves.csv"]), Ok(()));
        assert!(asked(&["seed-0.checkpoint", "runs.jsonl"]).unwrap_err().contains("is of a training"));
        assert!(asked(&["curves.csv"]).unwrap_err().contains("curves.csv exists and is of another run"));
    }
}
