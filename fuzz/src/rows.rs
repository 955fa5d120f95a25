//! Caches of rows: what a fit has left on disk for the next one.

use std::fs;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::LazyLock;

use m3svm::{CachePlace, Error, Features, Fit, RowBatch, RowSource, Spec};
use tempfile::TempDir;

use crate::control::Control;
use crate::{refused, repair};

/// What the rows are made of.
const MADE_OF: &str = "them";

/// Rows that are asked for only where there is no cache.
struct Source {
    batch: Option<RowBatch<'static>>,
    unused: u32,
}

impl RowSource for Source {
    type Error = Error;

    fn each_batch(&mut self, take: &mut dyn FnMut(RowBatch<'_>) -> m3svm::Result<()>) -> m3svm::Result<()> {
        self.batch.take().map_or(Ok(()), take)
    }

    fn unused_columns(&self) -> u32 {
        self.unused
    }
}

fn fit(folder: &Path, memory: u64, source: &mut Source) -> m3svm::Result<m3svm::Model> {
    let place = CachePlace { folder: folder.to_path_buf(), kept_as: Some(MADE_OF.into()) };
    let mut steps = 0;
    Fit { place, memory }.of_source_watched(&Spec::default().with_usual_lambda(), source, None, &mut |_| {
        steps += 1;
        if steps < 5 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })
}

/// The file that a fit leaves: of dense rows with weights, of the same in single precision, of sparse ones that count from 1.
pub fn written(which: usize) -> Result<Vec<u8>, Box<dyn std::error::Error>> {
    // More than a fit in 2000 bytes holds in memory, and few enough for a small seed.
    let rows = [60, 120].get(which).copied().unwrap_or(45);
    let values = || (0..2 * rows).map(|i| (i * 7 % 11) as f64);
    let (x, unused) = match which {
        0 => (Features::dense(values().collect::<Vec<f64>>(), rows, 2)?, 0),
        1 => (Features::dense(values().map(|v| v as f32).collect::<Vec<f32>>(), rows, 2)?, 0),
        _ => {
            let starts = (0..=rows).map(|i| 2 * i).collect::<Vec<usize>>();
            let columns = (0..2 * rows).map(|i| 1 + (i % 2) as u32).collect::<Vec<u32>>();
            (Features::csr(starts, columns, values().collect::<Vec<f64>>(), 3)?, 1)
        }
    };
    let labels = (0..rows).map(|i| ["a", "b", "c"][i % 3].to_string()).collect();
    let weights = (which == 0).then(|| (0..rows).map(|i| 1.0 + i as f64).collect());
    let folder = tempfile::tempdir()?;
    // Blocks of a few rows.
    fit(folder.path(), 2000, &mut Source { batch: Some(RowBatch { x, labels, weights }), unused }).map(drop)?;
    let file = fs::read_dir(folder.path())?.next().ok_or("nothing was left")??;
    Ok(fs::read(file.path())?)
}

static FOLDER: LazyLock<TempDir> = LazyLock::new(|| tempfile::tempdir().unwrap_or_else(|error| panic!("{error}")));

pub(crate) fn rows(input: &[u8]) -> bool {
    let Some((control, content)) = Control::of(input) else { return false };
    let folder = FOLDER.path().join(format!("{:?}", std::thread::current().id()));
    let mut content = content.to_vec();
    if control.repairs() {
        repair::rows(&mut content);
    }
    let written = fs::create_dir_all(&folder).and_then(|()| fs::write(folder.join("rows.m3svm-cache"), &content));
    if let Err(error) = written {
        panic!("{}: {error}", folder.display());
    }
    // Large enough for a start from a sample, or not.
    let memory = if control.bit(0) { 1 << 20 } else { 2000 };
    match fit(&folder, memory, &mut Source { batch: None, unused: 0 }) {
        Ok(model) => {
            let certificate = model.certificate();
            assert!(certificate.objective.is_finite(), "{certificate:?}");
            assert!(certificate.lower_bound.is_none_or(|bound| bound <= certificate.objective), "{certificate:?}");
            assert!(model.training().rows > 0 && model.classes().len() > 1);
            assert!(model.to_bytes().is_ok());
            true
        }
        Err(error) => refused(&error),
    }
}
