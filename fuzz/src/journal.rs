//! Journals of searches: an interrupted search goes on from what is in the file.

use std::fs;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::LazyLock;

use m3svm::select::{Grid, Journal, Search};
use m3svm::{Dataset, Features, Spec};
use tempfile::TempDir;

use crate::control::Control;
use crate::{refused, repair};

/// What all journals belong to.
struct Work {
    search: Search,
    data: Dataset<'static>,
    /// The first line of its journal.
    header: Vec<u8>,
    folder: TempDir,
}

static WORK: LazyLock<Work> = LazyLock::new(|| Work::new().unwrap_or_else(|error| panic!("{error}")));

impl Work {
    fn new() -> Result<Self, Box<dyn std::error::Error>> {
        let x: Vec<f64> = (0..24).map(|i| f64::from(i * i % 17)).collect();
        let labels: Vec<&str> = (0..12).map(|i| if i % 3 == 0 { "a" } else { "b" }).collect();
        let data = Dataset::from_labels(Features::dense(x, 12, 2)?, &labels)?;
        let grid = Grid { lambdas: Some("0.01,1".parse()?), ps: Some("2".parse()?), gammas: None, extends: false };
        let search = Search { grid, folds: 2, ..Search::new(Spec::default().with_usual_lambda()) };
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("journal");
        drop(Journal::open(&path, &search, &data, None)?);
        let header = fs::read(&path)?;
        Ok(Self { search, data, header, folder })
    }

    /// A file for this thread.
    fn path(&self) -> PathBuf {
        self.folder.path().join(format!("{:?}", std::thread::current().id()))
    }
}

/// The finished journal of the one search that the target knows, without its first line, which depends on the version of the program.
pub fn finished() -> Result<Vec<u8>, Box<dyn std::error::Error>> {
    let path = WORK.folder.path().join("finished");
    let journal = Journal::open(&path, &WORK.search, &WORK.data, None)?;
    WORK.search.run(&WORK.data, None, &journal, &|_| ControlFlow::Continue(()))?;
    drop(journal);
    let all = fs::read(&path)?;
    Ok(all[WORK.header.len()..].to_vec())
}

pub(crate) fn journal(input: &[u8]) -> bool {
    let Some((control, content)) = Control::of(input) else { return false };
    let path = WORK.path();
    let mut content = content.to_vec();
    if control.repairs() {
        repair::lines(&mut content);
        content.splice(..0, WORK.header.iter().copied());
    }
    if let Err(error) = fs::write(&path, &content) {
        panic!("{}: {error}", path.display());
    }
    let journal = match Journal::open(&path, &WORK.search, &WORK.data, None) {
        Ok(journal) => journal,
        Err(error) => return refused(&error),
    };
    // Nothing is fitted: what comes out was in the file.
    match WORK.search.run(&WORK.data, None, &journal, &|_| ControlFlow::Break(())) {
        Ok(found) => {
            let shares = found.outcomes.iter().flat_map(|o| o.scores.iter().chain([&o.mean, &o.accuracy]));
            assert!(shares.into_iter().all(|share| (0.0..=1.0).contains(share)), "{found:?}");
        }
        Err(error) => {
            refused(&error);
        }
    }
    true
}
