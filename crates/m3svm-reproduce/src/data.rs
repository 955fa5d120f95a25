//! The data files.

use std::path::{Path, PathBuf};

use m3svm::{Dataset, Features, Scaler, Scaling};
use m3svm_io::{Column, ReadOptions};

use crate::error::{Error, Result};
use crate::sets::Set;

/// A data set, and what tells its file from another.
pub(crate) struct Loaded {
    pub(crate) data: Dataset<'static>,
    /// CRC-32 of the file.
    pub(crate) checksum: u32,
}

impl Loaded {
    /// Reads a set, compressed or not; `None` if the file is not there.
    pub(crate) fn read(folder: &Path, set: &Set) -> Result<Option<Self>> {
        let plain = set.file.trim_end_matches(".gz");
        let Some(path) = [set.file, plain].map(|name| folder.join(name)).into_iter().find(|path| path.exists()) else {
            return Ok(None);
        };
        let bytes = std::fs::read(&path).map_err(|source| Error::Io { path: path.clone(), source })?;
        let table = m3svm_io::read(&path, &options(&path))?;
        Ok(Some(Self { data: table.into_dataset()?, checksum: crc32fast::hash(&bytes) }))
    }
}

/// Tables have a column called `label`; sparse files have their labels in front.
fn options(path: &Path) -> ReadOptions {
    let named = path.to_string_lossy().contains(".csv");
    ReadOptions { label: named.then(|| Column::Typed("label".into())), ..ReadOptions::default() }
}

/// All rows scaled by what all rows say, as the authors' script does.
pub(crate) fn scaled(data: &Dataset<'static>, scaling: Scaling) -> Result<Dataset<'static>> {
    let scaler = Scaler::fit(scaling, data.x(), None);
    let every: Vec<u32> = (0..data.rows() as u32).collect();
    let x = scaler.apply(data.x().take_rows(&every))?;
    Ok(Dataset::new(x, data.y().to_vec(), data.classes().to_vec())?)
}

/// All features as plain numbers, row by row.
pub(crate) fn dense(x: &Features<'_>) -> Vec<f64> {
    (0..x.rows()).flat_map(|i| (0..x.cols()).map(move |j| x.get(i, j))).collect()
}

/// A folder that exists from now on.
pub(crate) fn folder(path: PathBuf) -> Result<PathBuf> {
    std::fs::create_dir_all(&path).map_err(|source| Error::Io { path: path.clone(), source })?;
    Ok(path)
}
