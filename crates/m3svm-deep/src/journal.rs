//! Finished trainings, one JSON line each. A comparison that was stopped goes on where it was.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::sync::Mutex;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use crate::settings::Settings;
use crate::training::Epoch;

/// A finished training.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Run {
    pub(crate) settings: Settings,
    pub(crate) seed: u64,
    /// Checksum of the images, labels and classes. Journals of old have none.
    #[serde(default)]
    pub(crate) data: String,
    /// Images it was trained on.
    pub(crate) images: usize,
    pub(crate) history: Vec<Epoch>,
    /// Margins of the last layer before and after, c×c; null for infinite.
    pub(crate) first_margins: Vec<Option<f64>>,
    pub(crate) last_margins: Vec<Option<f64>>,
}

impl Run {
    /// What the last epoch reached.
    pub(crate) fn last(&self) -> Option<&Epoch> {
        self.history.last()
    }
}

const ANOTHER: &str = "choose another folder for these";

/// The file of a comparison.
#[derive(Debug)]
pub(crate) struct Journal {
    known: Vec<Run>,
    file: Mutex<File>,
}

impl Journal {
    /// Reads what is there. A last line that was cut off is done again; trainings on other data than those of a checksum are refused.
    pub(crate) fn open(path: &Path, data: &str) -> Result<Self> {
        let text = if path.exists() {
            fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?
        } else {
            String::new()
        };
        let mut known = Vec::new();
        let mut kept = String::new();
        for (n, line) in text.split_inclusive('\n').enumerate() {
            if !line.ends_with('\n') {
                break;
            }
            let place = || format!("{}, line {}", path.display(), n + 1);
            let run: Run =
                serde_json::from_str(line).with_context(|| format!("{}: not a training of this program", place()))?;
            ensure!(!run.data.is_empty(), "{} does not say which images it was trained on; {ANOTHER}", place());
            ensure!(run.data == data, "{} was trained on other images; {ANOTHER}", place());
            known.push(run);
            kept.push_str(line);
        }
        if kept.len() < text.len() {
            m3svm::write_file(path, |out| out.write_all(kept.as_bytes()))?;
        }
        let file = File::options().create(true).append(true).open(path);
        let file = file.with_context(|| format!("cannot write {}", path.display()))?;
        Ok(Self { known, file: Mutex::new(file) })
    }

    /// The training of some settings, if it is known.
    pub(crate) fn find(&self, settings: &Settings, seed: u64, images: usize) -> Option<Run> {
        self.known.iter().find(|r| r.settings == *settings && r.seed == seed && r.images == images).cloned()
    }

    pub(crate) fn add(&self, run: &Run) -> Result<()> {
        let mut line = serde_json::to_vec(run)?;
        line.push(b'\n');
        let mut file = self.file.lock().map_err(|_| anyhow::anyhow!("another training failed"))?;
        file.write_all(&line).context("cannot write the journal")
    }
}

/// Margins as JSON can say them.
pub(crate) fn finite(margins: &[f64]) -> Vec<Option<f64>> {
    margins.iter().map(|m| m.is_finite().then_some(*m)).collect()
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::settings::LossName;

    #[test]
    fn what_was_written_is_found_again_and_a_torn_line_is_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runs.jsonl");
        let run = |seed: u64| Run {
            settings: Settings::small(LossName::Ism3),
            seed,
            data: "1a2b".into(),
            images: 9,
            history: vec![],
            first_margins: finite(&[f64::INFINITY, 0.1 + 0.2]),
            last_margins: vec![],
        };
        let journal = Journal::open(&path, "1a2b").unwrap();
        journal.add(&run(0)).unwrap();
        journal.add(&run(1)).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, &text[..text.len() - 5]).unwrap();
        let journal = Journal::open(&path, "1a2b").unwrap();
        let small = Settings::small(LossName::Ism3);
        assert_eq!(journal.find(&small, 0, 9), Some(run(0)));
        assert_eq!(journal.find(&small, 1, 9), None);
        assert_eq!(journal.find(&small, 0, 8), None);
        assert_eq!(journal.find(&Settings::small(LossName::Softmax), 0, 9), None);
        journal.add(&run(1)).unwrap();
        assert_eq!(Journal::open(&path, "1a2b").unwrap().find(&small, 1, 9), Some(run(1)));
        let refused = |data: &str| format!("{:#}", Journal::open(&path, data).unwrap_err());
        let named = |rest: &str| format!("{}, line 1{rest}; choose another folder for these", path.display());
        assert_eq!(refused("1a2c"), named(" was trained on other images"));
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text.replace(r#""data":"1a2b","#, "")).unwrap();
        assert_eq!(refused("1a2b"), named(" does not say which images it was trained on"));
        fs::write(&path, "{}\n").unwrap();
        assert!(refused("1a2b").contains("line 1: not a training"));
    }
}
