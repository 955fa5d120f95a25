//! Finished trainings, one JSON line each. A comparison that was stopped goes on where it was.

use std::path::Path;
use std::sync::Mutex;

use anyhow::Result;
use m3svm::{JournalFile, JournalLine};
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

    /// Whether a training can have these numbers.
    fn can_be(&self) -> bool {
        let share = |v: f64| (0.0..=1.0).contains(&v);
        let epoch = |(number, e): (usize, &Epoch)| {
            e.epoch == number
                && share(e.train_accuracy)
                && share(e.test_accuracy)
                && e.validation_accuracy.is_none_or(share)
                && [e.train_loss, e.test_loss, e.images_per_second].iter().all(|v| v.is_finite())
        };
        let margin = |m: &Option<f64>| m.is_none_or(|m| m.is_finite() && m >= 0.0);
        (1..).zip(&self.history).all(epoch)
            && self.first_margins.len() == self.last_margins.len()
            && self.first_margins.iter().chain(&self.last_margins).all(margin)
    }
}

const ANOTHER: &str = "choose another folder for these";

/// How every line begins.
const BEGINS: &str = r#"{"settings":"#;

/// The file of a comparison.
#[derive(Debug)]
pub(crate) struct Journal {
    known: Vec<Run>,
    file: Mutex<JournalFile>,
}

impl Journal {
    /// Reads what is there. A last line that was cut off is done again; trainings on other data than those of a checksum are refused.
    pub(crate) fn open(path: &Path, data: &str) -> Result<Self> {
        let (file, known) = JournalFile::open(path, BEGINS, |lines| {
            let run = |line| run(line, data).map_err(|what| m3svm::Error::Journal { path: path.into(), what });
            lines.iter().map(run).collect()
        })?;
        Ok(Self { known, file: Mutex::new(file) })
    }

    /// The training of some settings, if it is known.
    pub(crate) fn find(&self, settings: &Settings, seed: u64, images: usize) -> Option<Run> {
        self.known.iter().find(|r| r.settings == *settings && r.seed == seed && r.images == images).cloned()
    }

    pub(crate) fn add(&self, run: &Run) -> Result<()> {
        let mut file = self.file.lock().map_err(|_| anyhow::anyhow!("another training failed"))?;
        Ok(file.add(&serde_json::to_string(run)?)?)
    }
}

/// The training of a line, or why it is not taken. Published journals and those of `compare.py` have no checksums.
fn run(line: &JournalLine, data: &str) -> Result<Run, String> {
    let number = line.number;
    let run: Option<Run> = serde_json::from_str(&line.text).ok();
    let run = run.filter(Run::can_be).ok_or_else(|| format!("line {number} is not a training of this program"))?;
    if run.data.is_empty() {
        return Err(format!("line {number} does not say which images it was trained on; {ANOTHER}"));
    }
    if run.data != data {
        return Err(format!("line {number} was trained on other images; {ANOTHER}"));
    }
    Ok(run)
}

/// Margins as JSON can say them.
pub(crate) fn finite(margins: &[f64]) -> Vec<Option<f64>> {
    margins.iter().map(|m| m.is_finite().then_some(*m)).collect()
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use std::fs;

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
            last_margins: finite(&[1e-3, 7.0]),
        };
        let journal = Journal::open(&path, "1a2b").unwrap();
        journal.add(&run(0)).unwrap();
        journal.add(&run(1)).unwrap();
        drop(journal);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, &text[..text.len() - 5]).unwrap();
        let journal = Journal::open(&path, "1a2b").unwrap();
        let small = Settings::small(LossName::Ism3);
        assert_eq!(journal.find(&small, 0, 9), Some(run(0)));
        assert_eq!(journal.find(&small, 1, 9), None);
        assert_eq!(journal.find(&small, 0, 8), None);
        assert_eq!(journal.find(&Settings::small(LossName::Softmax), 0, 9), None);
        journal.add(&run(1)).unwrap();
        drop(journal);
        assert_eq!(Journal::open(&path, "1a2b").unwrap().find(&small, 1, 9), Some(run(1)));
        let refused = |data: &str| format!("{:#}", Journal::open(&path, data).unwrap_err());
        let named = |what: &str| format!("{}: not a usable journal: line 1 {what}", path.display());
        assert_eq!(refused("1a2c"), named("was trained on other images; choose another folder for these"));
        // As published journals are: without checksums, but numbers that no training has are still found.
        let plain = |run: &Run| fs::write(&path, serde_json::to_string(run).unwrap() + "\n").unwrap();
        plain(&run(0));
        assert_eq!(Journal::open(&path, "1a2b").unwrap().find(&small, 0, 9), Some(run(0)));
        plain(&Run { data: String::new(), ..run(0) });
        assert_eq!(
            refused("1a2b"),
            named("does not say which images it was trained on; choose another folder for these")
        );
        plain(&Run { first_margins: vec![Some(-1.0), None], ..run(0) });
        assert_eq!(refused("1a2b"), named("is not a training of this program"));
        fs::write(&path, "{}\n").unwrap();
        assert_eq!(refused("1a2b"), named("is not a training of this program"));
        fs::write(&path, "my notes").unwrap();
        assert!(refused("1a2b").ends_with("not a usable journal: it does not begin like one"));
        assert_eq!(fs::read_to_string(&path).unwrap(), "my notes");
    }
}
