//! What a search has finished, line by line in a file, so that an interrupted one can go on where it stood.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::compare::Comparison;
use super::path::Score;
use super::search::Search;
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::journal_file::{JournalFile, JournalLine, damaged};
use crate::metrics::Criterion;

/// Some settings on one fold.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct ChainPlace {
    /// 0 for the search on all rows, then the outer folds around it.
    pub(super) scope: usize,
    /// For the fit of what a search has chosen, tested on its outer fold: the number of repeats.
    pub(super) repeat: usize,
    pub(super) fold: usize,
    /// Numbers of the settings, in the order in which they were fitted.
    pub(super) settings: Vec<usize>,
}

/// One line.
#[derive(Serialize, Deserialize)]
struct FinishedPart {
    #[serde(flatten)]
    place: ChainPlace,
    scores: Vec<Score>,
}

/// A file of finished work, or none.
///
/// The first line says which search it belongs to: its settings, and a checksum of the data. A line that was being written when the
/// program was killed is dropped. Every line has a checksum of its own; numbers that no search can have are refused all the same.
#[derive(Debug)]
pub struct Journal {
    open: Option<Open>,
}

#[derive(Debug)]
struct Open {
    file: Mutex<JournalFile>,
    known: HashMap<ChainPlace, Vec<Score>>,
}

impl Journal {
    /// Keeps nothing.
    pub fn none() -> Self {
        Self { open: None }
    }

    /// Opens or begins the journal of a search. Refuses the journal of another one, and files that are none.
    pub fn open(path: &Path, search: &Search, data: &Dataset<'_>, groups: Option<&[u32]>) -> Result<Self> {
        let of = |scope: usize| (scope <= search.folds).then_some(search);
        Self::begin(path, &header(&about(search), data, groups), &of)
    }

    /// The same for a comparison of methods.
    pub fn open_comparison(
        path: &Path,
        comparison: &Comparison,
        data: &Dataset<'_>,
        groups: Option<&[u32]>,
    ) -> Result<Self> {
        let Comparison { searches, folds, repeats, seed } = comparison;
        let about: Vec<Value> = searches.iter().map(about).collect();
        let about = json!({"comparison": about, "folds": folds, "repeats": repeats, "seed": seed});
        let of = |scope: usize| searches.get(scope.checked_sub(1)?.checked_div(folds.saturating_mul(*repeats))?);
        Self::begin(path, &header(&about, data, groups), &of)
    }

    fn begin<'s>(path: &Path, header: &str, of: &dyn Fn(usize) -> Option<&'s Search>) -> Result<Self> {
        let (mut file, known) = JournalFile::open(path, BEGINS, |lines| read(path, header, lines, of))?;
        if known.is_none() {
            file.add(header)?;
        }
        Ok(Self { open: Some(Open { file: Mutex::new(file), known: known.unwrap_or_default() }) })
    }

    /// Fits that were already in the file.
    pub fn fits(&self) -> usize {
        self.open.as_ref().map_or(0, |open| open.known.values().map(Vec::len).sum())
    }

    /// What is known about a piece of work.
    pub(super) fn find(&self, place: &ChainPlace) -> Option<Vec<Score>> {
        self.open.as_ref()?.known.get(place).cloned()
    }

    /// Writes down a finished piece of work.
    pub(super) fn add(&self, place: &ChainPlace, scores: &[Score]) -> Result<()> {
        let Some(mut file) = self.lock() else { return Ok(()) };
        // Numbers that would be refused, such as the accuracy on rows without weight, are found anew every time.
        if !scores.iter().all(Score::can_be) {
            return Ok(());
        }
        file.add(&json!(FinishedPart { place: place.clone(), scores: scores.to_vec() }).to_string())
    }

    fn lock(&self) -> Option<MutexGuard<'_, JournalFile>> {
        self.open.as_ref().map(|open| open.file.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// How every journal begins.
const BEGINS: &str = r#"{"m3svm_journal":"#;

/// What the lines know; `None` if there are none yet.
fn read<'s>(
    path: &Path,
    header: &str,
    lines: &[JournalLine],
    of: &dyn Fn(usize) -> Option<&'s Search>,
) -> Result<Option<HashMap<ChainPlace, Vec<Score>>>> {
    let refuse = |what: String| Error::Journal { path: path.to_path_buf(), what };
    let Some((first, rest)) = lines.split_first() else { return Ok(None) };
    if !first.text.starts_with(BEGINS) {
        return Err(refuse("it does not begin like one".into()));
    }
    if !first.sealed {
        return Err(refuse("it is of an older version, whose lines have no checksums".into()));
    }
    if first.text != header {
        return Err(refuse("it belongs to a search with other data or other settings".into()));
    }
    let parse = |line: &JournalLine| {
        let read: Option<FinishedPart> = serde_json::from_str(&line.text).ok();
        let read = read.filter(|read| line.sealed && of(read.place.scope).is_some_and(|search| read.can_be(search)));
        read.map(|read| (read.place, read.scores)).ok_or_else(|| refuse(damaged(line.number)))
    };
    rest.iter().map(parse).collect::<Result<_>>().map(Some)
}

impl FinishedPart {
    /// Whether a search can have written this.
    fn can_be(&self, search: &Search) -> bool {
        let ChainPlace { repeat, fold, settings, .. } = &self.place;
        let known = search.most_settings();
        let on_folds = *repeat < search.repeats && *fold < search.folds;
        let chosen = *repeat == search.repeats && *fold == 0 && settings.len() == 1;
        (on_folds || chosen)
            && settings.iter().all(|setting| *setting < known)
            && self.scores.len() == settings.len()
            && self.scores.iter().all(Score::can_be)
    }
}

/// Everything about a search that decides its scores.
fn about(search: &Search) -> Value {
    let Search { spec, grid, folds, repeats, rule: _, criterion, discard, tol, warm_starts } = search;
    let mut about = json!({
        "spec": spec, "grid": grid, "folds": folds, "repeats": repeats, "discard": discard, "tol": tol,
        "warm_starts": warm_starts,
    });
    if *criterion != Criterion::Accuracy {
        about["criterion"] = json!(criterion);
    }
    about
}

/// The first line: what a journal belongs to.
fn header(about: &Value, data: &Dataset<'_>, groups: Option<&[u32]>) -> String {
    let about = json!({
        "version": env!("CARGO_PKG_VERSION"), "work": about,
        "rows": data.rows(), "features": data.x().cols(), "checksum": checksum(data, groups),
    });
    format!(r#"{{"m3svm_journal":{about}}}"#)
}

fn checksum(data: &Dataset<'_>, groups: Option<&[u32]>) -> u32 {
    let mut sum = crc32fast::Hasher::new();
    data.x().for_each_row(|i, row| {
        row.for_each(|j, v| {
            sum.update(&(j as u64).to_le_bytes());
            sum.update(&v.to_le_bytes());
        });
        let group = groups.map_or(0, |g| g[i]);
        let weight = data.weights().map_or(1.0, |w| w[i]);
        sum.update(&[data.y()[i].to_le_bytes(), group.to_le_bytes()].concat());
        sum.update(&weight.to_le_bytes());
    });
    data.classes().iter().for_each(|name| sum.update(format!("{name}\n").as_bytes()));
    sum.finalize()
}
