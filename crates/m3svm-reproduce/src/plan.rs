//! What to run, and who is told about it.

use std::ops::ControlFlow;
use std::path::PathBuf;

use m3svm::select::{SearchProgress, SearchWatch};

use crate::data::Loaded;
use crate::error::{Error, Result};
use crate::sets::{self, Set};

/// How accuracies are measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    /// As the authors' public script does it.
    Paper,
    /// As the paper's text says: tuned on training rows alone, all methods alike.
    Fair,
    /// Both.
    #[default]
    Both,
}

impl Protocol {
    /// Whether the authors' script is followed.
    pub fn paper(self) -> bool {
        self != Self::Fair
    }

    /// Whether leaks are kept out.
    pub fn fair(self) -> bool {
        self != Self::Paper
    }
}

/// What to run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Folder of the data files.
    pub data: PathBuf,
    /// Folder of the results.
    pub output: PathBuf,
    /// How accuracies are measured.
    pub protocol: Protocol,
    /// Whether to go on from what an earlier run has finished.
    pub resume: bool,
    /// Whether to begin nothing new, and only put together what earlier runs have finished, with whatever number of repeats.
    pub finished: bool,
    /// How often rows are divided anew; [`crate::sets::PaperSet::repeats`] if `None`.
    pub repeats: Option<usize>,
    /// Keys of the data sets; all if empty.
    pub sets: Vec<String>,
    /// Seed of the folds, and first of the further splits.
    pub seed: u64,
}

impl Plan {
    /// Refuses names that no data set has, and no repeats at all.
    pub fn check(&self) -> Result<()> {
        let known: Vec<String> = sets::all().map(|set| set.key()).collect();
        if let Some(name) = self.sets.iter().find(|name| !known.contains(name)) {
            return Err(Error::UnknownSet { name: name.clone(), known });
        }
        match self.repeats {
            Some(0) => Err(m3svm::Error::Param { name: "repeats", value: "0".into(), must: "be at least 1" }.into()),
            _ => Ok(()),
        }
    }

    /// All data files that there are: nothing may be written over one of them, whatever links lead there.
    pub(crate) fn inputs(&self) -> Vec<PathBuf> {
        let files = sets::all().flat_map(|set| [set.file, set.file.trim_end_matches(".gz")]);
        files.map(|name| self.data.join(name)).filter(|path| path.exists()).collect()
    }

    /// Whether a set was asked for.
    pub(crate) fn wants(&self, set: &Set) -> bool {
        self.sets.is_empty() || self.sets.contains(&set.key())
    }
}

/// Who is told about the course of things, and can put an end to it.
#[derive(Clone, Copy)]
pub struct Listener<'a> {
    /// Gets one sentence about what was left out or is done.
    pub note: &'a dyn Fn(&str),
    /// Asked during every fit whether to go on.
    pub watch: &'a SearchWatch<'a>,
}

impl Listener<'_> {
    /// Whether to go on; for work that is not a search.
    pub(crate) fn go_on(watch: &SearchWatch<'_>) -> ControlFlow<()> {
        watch(&SearchProgress { done: 0, planned: 0 })
    }
}

/// The wanted ones of some sets that are there, with a note for each that is not.
pub(crate) fn available<'p>(
    plan: &'p Plan,
    listener: &'p Listener<'_>,
    sets: impl IntoIterator<Item = Set> + 'p,
) -> impl Iterator<Item = Result<(Set, Loaded)>> + 'p {
    sets.into_iter().filter(|set| plan.wants(set)).filter_map(|set| match Loaded::read(&plan.data, &set) {
        Ok(Some(loaded)) => Some(Ok((set, loaded))),
        Ok(None) => {
            let path = plan.data.join(set.file);
            (listener.note)(&format!("{} left out: {} is not there", set.name, path.display()));
            None
        }
        Err(error) => Some(Err(error)),
    })
}
