//! Rows into blocks, blocks into a file.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::positioned::write_at;
use super::{AboutRows, BlockIndex, CachePlace, FORMAT_VERSION, Index, MAGIC, RowCache, broken};
use crate::dataset::{check_sum, sorted_classes};
use crate::error::{Error, Result};
use crate::features::{RawRows, RawStorage};
use crate::memory;
use crate::row_source::RowBatch;
use crate::scale::Stats;
use crate::temporary::temporary;

/// Numbers per column that are held while rows are gathered.
const COLUMNS: usize = 16;

/// Some rows with their class numbers (by first appearance) and their weights.
#[derive(Debug, Default)]
pub(crate) struct BlockPart {
    pub(crate) x: RawRows,
    pub(crate) y: Vec<u32>,
    pub(crate) weights: Vec<f64>,
}

impl BlockPart {
    fn bytes(&self) -> usize {
        self.x.bytes() + 4 * self.y.len() + 8 * self.weights.len()
    }

    fn clear(&mut self) {
        self.x.clear();
        self.y.clear();
        self.weights.clear();
    }

    fn append(&mut self, other: &BlockPart, rows: Range<usize>) {
        self.x.append(&other.x.features(), rows.clone());
        self.y.extend_from_slice(&other.y[rows.clone()]);
        if !other.weights.is_empty() {
            self.weights.extend_from_slice(&other.weights[rows]);
        }
    }
}

/// Where blocks go.
#[derive(Debug)]
enum Target {
    /// A file without a name, in a folder.
    Nameless(File, PathBuf),
    /// A file that gets its name once it is complete.
    Named(NamedTempFile, PathBuf),
}

/// Takes batches and holds them, until there are too many of them for memory.
#[derive(Debug)]
pub(crate) struct Writer {
    place: CachePlace,
    /// Bytes of a block, and how many bytes may be held before they go to disk.
    block: usize,
    most: usize,
    is_too_much: bool,
    held: BlockPart,
    numbers: HashMap<String, u32>,
    index: Index,
    target: Option<Target>,
    end: u64,
}

impl Writer {
    pub(crate) fn new(place: CachePlace, block: usize, most: usize) -> Self {
        let (held, numbers, index) = (BlockPart::default(), HashMap::new(), Index::default());
        let (block, is_too_much) = (block.max(1), false);
        Self { place, block, most, is_too_much, held, numbers, index, target: None, end: 0 }
    }

    /// Adds rows.
    pub(crate) fn push(&mut self, batch: &RowBatch<'_>) -> Result<()> {
        let (x, rows) = (&batch.x, batch.x.rows());
        for (what, found) in [
            ("labels (one per row)", batch.labels.len()),
            ("sample weights (one per row)", weights_of(batch).unwrap_or(rows)),
        ] {
            if found != rows {
                return Err(Error::Shape { what, expected: rows, found });
            }
        }
        if rows == 0 {
            return Ok(());
        }
        self.check_alike(batch)?;
        // Before what there is to know of every column is allocated.
        memory::check(&format!("the fit of {} features", x.cols()), memory::numbers(x.cols(), COLUMNS))?;
        self.index.cols = self.index.cols.max(x.cols());
        self.held.x.set_cols(self.index.cols);
        let from = self.held.y.len();
        for label in &batch.labels {
            let number = match self.numbers.get(label) {
                Some(number) => *number,
                None => {
                    let number = self.numbers.len() as u32;
                    self.numbers.insert(label.clone(), number);
                    self.index.labels.push(label.clone());
                    self.index.mass.push(0.0);
                    number
                }
            };
            self.held.y.push(number);
        }
        for (at, number) in self.held.y[from..].iter().enumerate() {
            self.index.mass[*number as usize] += batch.weights.as_ref().map_or(1.0, |weights| weights[at]);
        }
        if let Some(weights) = &batch.weights {
            self.held.weights.extend_from_slice(weights);
        }
        self.held.x.append(x, 0..rows);
        self.index.stats.merge(Stats::of(x, batch.weights.as_deref()));
        if self.held.bytes() > self.most {
            // From now on no more is held than a block takes.
            (self.most, self.is_too_much) = (self.block, true);
            self.spill(false)?;
        }
        Ok(())
    }

    /// Refuses a batch that is not like those before.
    fn check_alike(&mut self, batch: &RowBatch<'_>) -> Result<()> {
        let (x, storage) = (&batch.x, batch.x.storage());
        let weighted = batch.weights.is_some();
        if let Some(bad) = batch.weights.iter().flatten().position(|w| !(w.is_finite() && *w >= 0.0)) {
            let value = batch.weights.as_ref().map_or(0.0, |weights| weights[bad]);
            return Err(Error::Weight { place: format!("row {} of a batch", bad + 1), value });
        }
        if self.index.labels.is_empty() {
            (self.index.storage, self.index.weighted) = (storage, weighted);
            self.held.x = RawRows::new(storage, x.cols());
            return Ok(());
        }
        let kind = |RawStorage { is_sparse, is_single }| match (is_sparse, is_single) {
            (true, true) => "sparse and in single precision",
            (true, false) => "sparse and in double precision",
            (false, true) => "dense and in single precision",
            (false, false) => "dense and in double precision",
        };
        if storage != self.index.storage {
            let must = match self.index.storage.is_sparse {
                true => "be sparse and as precise as those before",
                false => "be dense and as precise as those before",
            };
            return Err(Error::param("rows of a batch", kind(storage), must));
        }
        if !storage.is_sparse && x.cols() != self.index.cols {
            return Err(Error::Shape { what: "features of a batch", expected: self.index.cols, found: x.cols() });
        }
        if weighted != self.index.weighted {
            let found = if weighted { "weights" } else { "no weights" };
            return Err(Error::param("rows of a batch", found, "have weights in all batches or in none"));
        }
        Ok(())
    }

    /// Writes the rows that are held; those that do not fill a block are only written if they are the last.
    fn spill(&mut self, last: bool) -> Result<()> {
        let held = std::mem::take(&mut self.held);
        let (mut at, rows) = (0, held.y.len());
        let mut block = BlockPart { x: RawRows::new(self.index.storage, self.index.cols), ..BlockPart::default() };
        while at < rows {
            let (mut end, mut bytes) = (at, 0);
            while end < rows && (end == at || bytes < self.block) {
                bytes += held.x.bytes_of(end) + 4 + if self.index.weighted { 8 } else { 0 };
                end += 1;
            }
            block.clear();
            block.append(&held, at..end);
            if bytes < self.block && !last {
                break;
            }
            self.write(&block)?;
            at = end;
            block.clear();
        }
        self.held = block;
        Ok(())
    }

    fn write(&mut self, block: &BlockPart) -> Result<()> {
        let target = match &mut self.target {
            Some(target) => target,
            none => none.insert(Target::new(&self.place)?),
        };
        let (file, path) = match &*target {
            Target::Nameless(file, folder) => (file, folder),
            Target::Named(file, path) => (file.as_file(), path),
        };
        let offset = self.end;
        let mut write = |parts: &[&[u8]]| -> Result<u32> {
            let mut crc = crc32fast::Hasher::new();
            for part in parts {
                write_at(file, part, self.end).map_err(|e| unwritable(path, &e))?;
                crc.update(part);
                self.end += part.len() as u64;
            }
            Ok(crc.finalize())
        };
        let labels_crc = write(&[bytemuck::cast_slice(&block.y), bytemuck::cast_slice(&block.weights)])?;
        let values_crc = write(&block.x.parts())?;
        let (rows, entries) = (block.y.len(), block.x.entries());
        self.index.blocks.push(BlockIndex { offset, rows, entries, labels_crc, values_crc });
        Ok(())
    }

    /// Changes the labels.
    pub(crate) fn spell(&mut self, spell: impl FnOnce(&mut [String])) {
        spell(&mut self.index.labels);
    }

    /// What was held, if all of it was; else the cache.
    pub(crate) fn finish(mut self, about: AboutRows) -> Result<std::result::Result<RowCache, Held>> {
        let AboutRows { feature_names, preprocessor, unused_columns, text_labels } = about;
        self.check(feature_names.as_deref(), unused_columns)?;
        self.index.feature_names = feature_names;
        self.index.preprocessor = preprocessor;
        self.index.text_labels = text_labels;
        if !self.is_too_much {
            self.held.x.set_cols(self.index.cols);
            self.held.x.skip_columns(unused_columns);
            return Ok(Err(Held { part: self.held, index: self.index }));
        }
        self.spill(true)?;
        self.index.stats.skip_columns(unused_columns as usize);
        self.index.unused_columns = unused_columns;
        self.index.format_version = FORMAT_VERSION;
        self.index.made_of = self.place.kept_as.clone().unwrap_or_default();
        let (file, place) = match self.target.take() {
            Some(Target::Nameless(file, folder)) => (file, folder),
            Some(Target::Named(file, path)) => (complete(file, &path, &self.index, self.end)?, path),
            None => return Err(broken(&self.place.folder, "it has no rows")),
        };
        Ok(Ok(RowCache::new(file, place, self.index)))
    }

    fn check(&self, names: Option<&[String]>, unused_columns: u32) -> Result<()> {
        let Index { labels, mass, weighted, cols, .. } = &self.index;
        let found = sorted_classes(labels, false).len();
        if found < 2 {
            return Err(Error::TooFewClasses { found, only: labels.first().cloned() });
        }
        let cols = cols.saturating_sub(unused_columns as usize);
        if cols == 0 {
            return Err(Error::param("features", 0, "be at least 1"));
        }
        if let Some(names) = names.filter(|names| names.len() != cols) {
            return Err(Error::Shape { what: "feature names", expected: cols, found: names.len() });
        }
        if *weighted && mass.iter().all(|m| *m == 0.0) {
            return Err(Error::NoWeight { of: "the rows" });
        }
        check_sum("the rows", mass)
    }
}

/// Rows that have all been held in memory.
pub(crate) struct Held {
    part: BlockPart,
    index: Index,
}

impl Held {
    /// As a data set.
    pub(crate) fn into_dataset(self) -> Result<crate::Dataset<'static>> {
        let BlockPart { x, y, weights } = self.part;
        let classes = sorted_classes(&self.index.labels, self.index.text_labels);
        let known: HashMap<&str, u32> = (0..).zip(&classes).map(|(k, class)| (class.as_str(), k)).collect();
        let numbers: Vec<u32> = self.index.labels.iter().map(|label| known[label.as_str()]).collect();
        let y: Vec<u32> = y.iter().map(|k| numbers[*k as usize]).collect();
        let mut data = crate::Dataset::new(x.into_features(), y, classes)?;
        if self.index.weighted {
            data = data.with_weights(weights)?;
        }
        match (self.index.preprocessor, self.index.feature_names) {
            (Some(preprocessor), _) => data.with_preprocessor(preprocessor, None),
            (None, Some(names)) => data.with_feature_names(names),
            (None, None) => Ok(data),
        }
    }
}

impl Target {
    fn new(place: &CachePlace) -> Result<Self> {
        let folder = &place.folder;
        let made = match place.kept_as {
            None => tempfile::tempfile_in(folder).map(|file| Self::Nameless(file, folder.clone())),
            Some(_) => {
                fs::create_dir_all(folder).and_then(|()| temporary(folder)).map(|file| Self::Named(file, place.file()))
            }
        };
        made.map_err(|e| unwritable(folder, &e))
    }
}

fn unwritable(path: &Path, source: &io::Error) -> Error {
    broken(path, &format!("it cannot be written ({source})"))
}

fn weights_of(batch: &RowBatch<'_>) -> Option<usize> {
    batch.weights.as_ref().map(Vec::len)
}

/// Writes what is known of the blocks behind them, and gives the file its name.
fn complete(file: NamedTempFile, path: &Path, index: &Index, end: u64) -> Result<File> {
    let finish = || {
        let mut text = serde_json::to_vec(index).map_err(io::Error::other)?;
        let (crc, length) = (crc32fast::hash(&text), text.len() as u64);
        text.extend_from_slice(&crc.to_le_bytes());
        text.extend_from_slice(&length.to_le_bytes());
        text.extend_from_slice(MAGIC);
        write_at(file.as_file(), &text, end)?;
        file.as_file().sync_all()?;
        file.persist(path).map_err(|e| e.error)
    };
    finish().map_err(|e| unwritable(path, &e))
}
