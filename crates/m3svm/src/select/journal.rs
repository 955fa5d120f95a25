//! What a search has finished, line by line in a file, so that an interrupted one can go on where it stood.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::compare::Comparison;
use super::path::Score;
use super::search::Search;
use crate::dataset::Dataset;
use crate::error::{Error, Result};

/// Some settings on one fold.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct Place {
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
struct Line {
    #[serde(flatten)]
    place: Place,
    scores: Vec<Score>,
}

/// A file of finished work, or none.
///
/// The first line says which search it belongs to: its settings, and a checksum of the data. A line that was being written when the
/// program was killed is dropped.
#[derive(Debug)]
pub struct Journal {
    open: Option<Mutex<Open>>,
}

#[derive(Debug)]
struct Open {
    path: PathBuf,
    file: File,
    known: HashMap<Place, Vec<Score>>,
}

impl Journal {
    /// Keeps nothing.
    pub fn none() -> Self {
        Self { open: None }
    }

    /// Opens or begins the journal of a search. Refuses the journal of another one, and files that are none.
    pub fn open(path: &Path, search: &Search, data: &Dataset<'_>, groups: Option<&[u32]>) -> Result<Self> {
        Self::begin(path, &header(&about(search), data, groups))
    }

    /// The same for a comparison of methods.
    pub fn open_comparison(
        path: &Path,
        comparison: &Comparison,
        data: &Dataset<'_>,
        groups: Option<&[u32]>,
    ) -> Result<Self> {
        let Comparison { searches, folds, repeats, seed } = comparison;
        let searches: Vec<Value> = searches.iter().map(about).collect();
        let about = json!({"comparison": searches, "folds": folds, "repeats": repeats, "seed": seed});
        Self::begin(path, &header(&about, data, groups))
    }

    fn begin(path: &Path, header: &str) -> Result<Self> {
        let io = |source| Error::Io { path: path.to_path_buf(), source };
        let mut file = OpenOptions::new().read(true).append(true).create(true).open(path).map_err(io)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(io)?;
        let mut known = HashMap::new();
        if bytes.is_empty() {
            file.write_all(format!("{header}\n").as_bytes()).map_err(io)?;
        } else {
            let whole = bytes.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
            known = read(path, header, &bytes[..whole])?;
            file.set_len(whole as u64).map_err(io)?;
        }
        Ok(Self { open: Some(Mutex::new(Open { path: path.to_path_buf(), file, known })) })
    }

    /// Fits that were already in the file.
    pub fn fits(&self) -> usize {
        self.lock().map_or(0, |open| open.known.values().map(Vec::len).sum())
    }

    /// What is known about a piece of work.
    pub(super) fn find(&self, place: &Place) -> Option<Vec<Score>> {
        self.lock()?.known.get(place).cloned()
    }

    /// Writes down a finished piece of work.
    pub(super) fn add(&self, place: &Place, scores: &[Score]) -> Result<()> {
        let Some(mut open) = self.lock() else { return Ok(()) };
        let line = json!(Line { place: place.clone(), scores: scores.to_vec() });
        // In one call: other lines must not get in between, and a full disk must not leave half of one behind unnoticed.
        let written = open.file.write_all(format!("{line}\n").as_bytes());
        written.map_err(|source| Error::Io { path: open.path.clone(), source })
    }

    fn lock(&self) -> Option<MutexGuard<'_, Open>> {
        self.open.as_ref().map(|open| open.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn read(path: &Path, header: &str, bytes: &[u8]) -> Result<HashMap<Place, Vec<Score>>> {
    let refuse = |what: String| Error::Journal { path: path.to_path_buf(), what };
    let text = String::from_utf8_lossy(bytes);
    let mut lines = text.lines();
    match lines.next() {
        Some(first) if first == header => {}
        Some(first) if first.starts_with(r#"{"m3svm_journal""#) => {
            return Err(refuse("it belongs to a search with other data or other settings".into()));
        }
        _ => return Err(refuse("it is not a journal".into())),
    }
    let parse = |(number, line): (usize, &str)| {
        let line: Option<Line> = serde_json::from_str(line).ok();
        let line = line.filter(|line| line.scores.len() == line.place.settings.len());
        line.map(|line| (line.place, line.scores)).ok_or_else(|| refuse(format!("line {number} is damaged")))
    };
    (2..).zip(lines).map(parse).collect()
}

/// Everything about a search that decides its scores.
fn about(search: &Search) -> Value {
    let Search { spec, grid, folds, repeats, rule: _, discard, tol, warm_starts } = search;
    json!({
        "spec": spec, "grid": grid, "folds": folds, "repeats": repeats, "discard": discard, "tol": tol,
        "warm_starts": warm_starts,
    })
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
