//! Rows on disk: decoded once, then read block by block as often as a solver asks.
//!
//! ```text
//! block 1 │ block 2 │ … │ what there is to know of them as JSON │ its CRC-32 │ its length │ magic
//! block:    class numbers │ weights │ (row lengths │ columns) │ values
//! ```
//!
//! Rows lie there as they came, not scaled: other settings can use them, too. Class numbers are those of first appearance. Both halves of a
//! block, what rows are and what they hold, have checksums of their own, which are compared whenever they are read.

mod gather;
mod positioned;
mod reader;
mod sample;
mod scratch;
mod writer;

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::dataset::{check_sum, sorted_classes};
use crate::error::{Error, Result};
use crate::features::RawStorage;
use crate::memory;
use crate::prepare::Preprocessor;
use crate::scale::Stats;
pub use gather::{AboutRows, GatheredRows, RowGatherer};
pub(crate) use gather::{Gathered, gather};
pub(crate) use reader::{LoadedBlock, OfFold, View, blocks_at_once};
pub(crate) use sample::Sample;
pub(crate) use scratch::ScratchFile;
use writer::Writer;

/// The version that is written and read.
const FORMAT_VERSION: u64 = 2;
const MAGIC: &[u8; 8] = b"m3svmrow";
/// Checksum, length and magic.
const TAIL: usize = 20;
/// Bytes of an index about which memory is not asked.
const LARGE_INDEX: u64 = 1 << 24;
/// What a cache is called in a folder where it is to stay.
const CACHE_NAME: &str = "rows.m3svm-cache";

/// Where rows go that do not fit into memory.
#[derive(Clone, Debug)]
pub struct CachePlace {
    /// A folder on a disk with room for all rows.
    pub folder: PathBuf,
    /// What the rows are made of (files, their sizes and times, columns), if they are to stay in the folder for the next fit. A cache of
    /// something else that is found there is refused. Without it nothing stays, however the process ends.
    pub kept_as: Option<String>,
}

impl CachePlace {
    /// The file that stays.
    pub fn file(&self) -> PathBuf {
        self.folder.join(CACHE_NAME)
    }
}

impl Default for CachePlace {
    /// Nothing stays; the system's folder for temporary files.
    fn default() -> Self {
        Self { folder: std::env::temp_dir(), kept_as: None }
    }
}

/// Where a block lies and what is in it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct BlockIndex {
    offset: u64,
    rows: usize,
    entries: usize,
    /// Checksums of class numbers and weights, and of the rest.
    labels_crc: u32,
    values_crc: u32,
}

/// All that is known of the rows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Index {
    format_version: u64,
    made_of: String,
    storage: RawStorage,
    cols: usize,
    /// Columns that entries do not begin with.
    unused_columns: u32,
    weighted: bool,
    blocks: Vec<BlockIndex>,
    /// Class names by first appearance, and how much the rows of each weigh.
    labels: Vec<String>,
    mass: Vec<f64>,
    /// Whether labels are texts even where all of them could be read as numbers.
    #[serde(default)]
    text_labels: bool,
    feature_names: Option<Vec<String>>,
    /// What has made the features, if they were columns of every kind.
    preprocessor: Option<Preprocessor>,
    stats: Stats,
}

/// The rows of a data set in a file.
#[derive(Debug)]
pub(crate) struct RowCache {
    file: Arc<File>,
    /// The file, or the folder where it is if it has no name.
    place: PathBuf,
    index: Index,
    /// Class names in their order, and the numbers of labels among them.
    classes: Vec<String>,
    numbers: Vec<u32>,
}

impl RowCache {
    fn new(file: File, place: PathBuf, index: Index) -> Self {
        let classes = sorted_classes(&index.labels, index.text_labels);
        let number = |label: &String| classes.iter().position(|class| class == label).unwrap_or(0) as u32;
        let numbers = index.labels.iter().map(number).collect();
        Self { file: Arc::new(file), place, index, classes, numbers }
    }

    /// The cache of the same data that an earlier fit has left in its place, if there is one.
    pub(crate) fn open(place: &CachePlace) -> Result<Option<Self>> {
        let Some(made_of) = &place.kept_as else { return Ok(None) };
        let path = place.file();
        // To open a pipe would wait for somebody who writes.
        let found = match fs::metadata(&path) {
            Ok(found) if found.is_file() => File::open(&path),
            Ok(_) => return Err(broken(&path, "it is no file; choose another folder")),
            Err(e) => Err(e),
        };
        let mut file = match found {
            Ok(file) => file,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(Error::Io { path, source }),
        };
        let index = read_index(&mut file, &path)?;
        if index.made_of != *made_of {
            return Err(broken(&path, "it holds other data or other columns; remove it or choose another folder"));
        }
        Ok(Some(Self::new(file, path, index)))
    }

    pub(crate) fn rows(&self) -> usize {
        self.index.blocks.iter().map(|block| block.rows).sum()
    }

    pub(crate) fn cols(&self) -> usize {
        self.index.cols - self.index.unused_columns as usize
    }

    pub(crate) fn is_sparse(&self) -> bool {
        self.index.storage.is_sparse
    }

    pub(crate) fn storage(&self) -> RawStorage {
        self.index.storage
    }

    /// Stored numbers of all rows.
    pub(crate) fn stored(&self) -> usize {
        self.index.blocks.iter().map(|block| block.entries).sum()
    }

    pub(crate) fn blocks(&self) -> usize {
        self.index.blocks.len()
    }

    /// Rows of a block.
    pub(crate) fn rows_of(&self, block: usize) -> usize {
        self.index.blocks[block].rows
    }

    /// Bytes of the largest block.
    pub(crate) fn largest_block(&self) -> usize {
        let storage = self.index.storage;
        let per = storage.value() + if storage.is_sparse { 4 } else { 0 };
        self.index.blocks.iter().map(|block| block.entries * per + 24 * block.rows).max().unwrap_or(0)
    }

    pub(crate) fn classes(&self) -> &[String] {
        &self.classes
    }

    /// How much the rows of each class weigh.
    pub(crate) fn mass(&self) -> Vec<f64> {
        let mut mass = vec![0.0; self.classes.len()];
        self.numbers.iter().zip(&self.index.mass).for_each(|(k, m)| mass[*k as usize] += m);
        mass
    }

    pub(crate) fn feature_names(&self) -> Option<&[String]> {
        self.index.feature_names.as_deref()
    }

    pub(crate) fn preprocessor(&self) -> Option<&Preprocessor> {
        self.index.preprocessor.as_ref()
    }

    pub(crate) fn stats(&self) -> &Stats {
        &self.index.stats
    }

    /// A folder beside the file, for more that does not fit into memory.
    pub(crate) fn folder(&self) -> &Path {
        if self.place.is_dir() { &self.place } else { self.place.parent().unwrap_or(Path::new(".")) }
    }
}

fn broken(path: &Path, what: &str) -> Error {
    Error::Cache { path: path.to_path_buf(), what: what.into() }
}

fn read_index(file: &mut File, path: &Path) -> Result<Index> {
    let io = |source| Error::Io { path: path.to_path_buf(), source };
    let damaged = || broken(path, "it is damaged or not complete; remove it");
    let size = file.metadata().map_err(io)?.len();
    let mut tail = [0; TAIL];
    let start = size.checked_sub(TAIL as u64).ok_or_else(damaged)?;
    file.seek(SeekFrom::Start(start)).map_err(io)?;
    file.read_exact(&mut tail).map_err(io)?;
    let crc = u32::from_le_bytes([tail[0], tail[1], tail[2], tail[3]]);
    let mut length = [0; 8];
    length.copy_from_slice(&tail[4..12]);
    let length = u64::from_le_bytes(length);
    let start = start.checked_sub(length).filter(|_| tail[12..] == *MAGIC).ok_or_else(damaged)?;
    // Files can be longer than what of them is on the disk, and more than this takes a great many blocks or columns.
    if length > LARGE_INDEX {
        memory::check("what there is to know of the cached rows", length)?;
    }
    let mut text = Vec::new();
    file.seek(SeekFrom::Start(start)).map_err(io)?;
    file.by_ref().take(length).read_to_end(&mut text).map_err(io)?;
    if crc32fast::hash(&text) != crc {
        return Err(damaged());
    }
    let index: Index =
        serde_json::from_slice(&text).map_err(|_| broken(path, "another version has made it; remove it"))?;
    if index.format_version != FORMAT_VERSION {
        return Err(broken(path, "another version has made it; remove it"));
    }
    // Checksums are good against accidents. Whoever writes a file by hand can compute them.
    if !index.fits(start) {
        return Err(broken(path, "what it says of its rows is not possible; remove it"));
    }
    Ok(index)
}

impl Index {
    /// Whether all that is said of the rows goes together, with blocks that lie one after the other and end here.
    fn fits(&self, end: u64) -> bool {
        let Some(used) = self.cols.checked_sub(self.unused_columns as usize) else { return false };
        let of_columns = [&self.stats.min, &self.stats.max, &self.stats.mean, &self.stats.deviation];
        let named = self.feature_names.as_ref().is_none_or(|names| names.len() == used);
        let masses = self.mass.len() == self.labels.len() && self.mass.iter().all(|m| m.is_finite() && *m >= 0.0);
        let skips = self.unused_columns == 0 || self.storage.is_sparse;
        let blocks = self.blocks.iter().try_fold(0, |at, block| block.end(self).filter(|_| block.offset == at));
        used > 0
            && u32::try_from(self.cols).is_ok()
            && skips
            && named
            && masses
            && sorted_classes(&self.labels, self.text_labels).len() > 1
            && check_sum("the rows", &self.mass).is_ok()
            && self.mass.iter().any(|m| *m > 0.0)
            && of_columns.iter().all(|column| column.len() == used)
            && !self.blocks.is_empty()
            && blocks == Some(end)
    }
}

impl BlockIndex {
    /// Where the block ends, if there can be such a block.
    fn end(&self, index: &Index) -> Option<u64> {
        let (rows, entries) = (self.rows as u64, self.entries as u64);
        let dense = rows.checked_mul(index.cols as u64)?;
        if rows == 0 || (!index.storage.is_sparse && entries != dense) {
            return None;
        }
        let per_row = 4 + if index.weighted { 8 } else { 0 } + if index.storage.is_sparse { 4 } else { 0 };
        let per_entry = index.storage.value() as u64 + if index.storage.is_sparse { 4 } else { 0 };
        let bytes = rows.checked_mul(per_row)?.checked_add(entries.checked_mul(per_entry)?)?;
        self.offset.checked_add(bytes)
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests;
