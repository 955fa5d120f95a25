//! Finished pieces of work in files of their own, so that an interrupted run can go on, and tables can be made again from numbers.
//!
//! After an interruption nothing new is begun, but pieces that are there are still put together.

use std::cell::Cell;
use std::fs;
use std::path::PathBuf;

use m3svm::select::{Comparison, Journal};
use m3svm::{Dataset, write_file};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::data::folder;
use crate::error::{Error, Result};
use crate::plan::{Listener, Plan};

/// What is in a file.
#[derive(Serialize, Deserialize)]
struct Saved<T> {
    /// Everything that decides the result.
    settings: Value,
    result: T,
}

/// The folder of finished pieces.
pub(crate) struct Parts {
    folder: PathBuf,
    inputs: Vec<PathBuf>,
    resume: bool,
    /// Whether pieces are taken whatever their settings: they say themselves how they were made.
    any: bool,
    /// Whether to begin nothing new.
    closed: Cell<bool>,
    interrupted: Cell<bool>,
}

impl Parts {
    pub(crate) fn open(plan: &Plan) -> Result<Self> {
        let folder = folder(plan.output.join("parts"))?;
        let closed = Cell::new(plan.finished);
        Ok(Self {
            folder,
            inputs: plan.inputs(),
            resume: plan.resume || plan.finished,
            any: plan.finished,
            closed,
            interrupted: Cell::new(false),
        })
    }

    /// Whether the user has put an end to the run.
    pub(crate) fn interrupted(&self) -> bool {
        self.interrupted.get()
    }

    /// Takes a piece from its file if that was made with the same settings, else makes and saves it. `None` if it is not finished.
    pub(crate) fn part<T: Serialize + DeserializeOwned>(
        &self,
        name: &str,
        settings: &Value,
        listener: &Listener<'_>,
        make: impl FnOnce() -> Result<T>,
    ) -> Result<Option<T>> {
        let path = self.folder.join(format!("{name}.json"));
        m3svm::check_apart(&path, &self.inputs)?;
        // Through text and back: some numbers in a value know more about their type than the same ones from a file.
        let settings: Value = json!({"version": env!("CARGO_PKG_VERSION"), "work": settings});
        let settings: Value = serde_json::from_str(&settings.to_string()).unwrap_or(settings);
        let saved = fs::read(&path).ok().filter(|_| self.resume);
        let saved = saved.and_then(|bytes| serde_json::from_slice::<Saved<T>>(&bytes).ok());
        if let Some(saved) = saved.filter(|saved| self.any || saved.settings == settings) {
            return Ok(Some(saved.result));
        }
        if self.closed.get() {
            return Ok(None);
        }
        let result = match make() {
            Err(error) if error.is_interruption() => {
                self.closed.set(true);
                self.interrupted.set(true);
                return Ok(None);
            }
            other => other?,
        };
        let saved = Saved { settings, result };
        write_file(&path, |out| {
            serde_json::to_writer(&mut *out, &saved)?;
            writeln!(out)
        })?;
        (listener.note)(&format!("{name}: done"));
        Ok(Some(saved.result))
    }

    /// The journal of a comparison, and where it is; one of an earlier run with other settings is begun anew.
    pub(crate) fn journal(
        &self,
        name: &str,
        comparison: &Comparison,
        data: &Dataset<'_>,
    ) -> Result<(PathBuf, Journal)> {
        let path = self.folder.join(format!("{name}.journal"));
        m3svm::check_apart(&path, &self.inputs)?;
        if !self.resume {
            remove(&path)?;
        }
        let journal = match Journal::open_comparison(&path, comparison, data, None) {
            Err(m3svm::Error::Journal { .. }) => {
                remove(&path)?;
                Journal::open_comparison(&path, comparison, data, None)
            }
            other => other,
        };
        Ok((path, journal?))
    }
}

/// Removes a file that may be there.
pub(crate) fn remove(path: &PathBuf) -> Result<()> {
    match fs::remove_file(path) {
        Err(source) if source.kind() != std::io::ErrorKind::NotFound => Err(Error::Io { path: path.clone(), source }),
        _ => Ok(()),
    }
}
