//! Rows of a data set, batch by batch: in memory if they fit, else in a cache.

use super::{CachePlace, RowCache, Writer};
use crate::dataset::{Dataset, sorted_classes};
use crate::error::{Error, Result};
use crate::prepare::Preprocessor;
use crate::row_source::{RowBatch, RowSource};

/// Where the rows are.
#[derive(Debug)]
pub(crate) enum Gathered {
    Memory(Dataset<'static>),
    Disk(RowCache),
}

/// The rows of a data set, ready for fits: in memory where they fit, else in a cache on disk.
#[derive(Debug)]
pub struct GatheredRows(pub(crate) Gathered);

impl GatheredRows {
    /// Class names in their order.
    pub fn classes(&self) -> &[String] {
        match &self.0 {
            Gathered::Memory(data) => data.classes(),
            Gathered::Disk(cache) => cache.classes(),
        }
    }

    /// How many features there are.
    pub fn features(&self) -> usize {
        match &self.0 {
            Gathered::Memory(data) => data.x().cols(),
            Gathered::Disk(cache) => cache.cols(),
        }
    }

    /// Whether they are on disk.
    pub fn is_on_disk(&self) -> bool {
        matches!(self.0, Gathered::Disk(_))
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        match &self.0 {
            Gathered::Memory(data) => data.rows(),
            Gathered::Disk(cache) => cache.rows(),
        }
    }
}

/// What is known of rows once all of them have come.
#[derive(Clone, Debug, Default)]
pub struct AboutRows {
    /// The names of the columns, if there are any.
    pub feature_names: Option<Vec<String>>,
    /// What has made the features of columns of every kind, if they were such.
    pub preprocessor: Option<Preprocessor>,
    /// So many of the first columns of sparse rows stand for nothing and have no entries.
    pub unused_columns: u32,
    /// Whether labels are texts, in the order of texts, even where all of them could be read as numbers.
    pub text_labels: bool,
}

/// Takes rows batch by batch, for those who cannot be asked for them ([`RowSource`]) because they hand them over themselves.
#[derive(Debug)]
pub struct RowGatherer {
    writer: Writer,
    place: CachePlace,
    block: usize,
    most: usize,
}

impl RowGatherer {
    /// Up to `most` bytes are held in memory; blocks on disk have `block` bytes.
    pub(crate) fn new(place: CachePlace, block: usize, most: usize) -> Self {
        Self { writer: Writer::new(place.clone(), block, most), place, block, most }
    }

    /// Adds rows.
    pub fn push(&mut self, batch: &RowBatch<'_>) -> Result<()> {
        self.writer.push(batch)
    }

    /// Throws away what has come: all rows will come again.
    pub fn start_over(&mut self) {
        self.writer = Writer::new(self.place.clone(), self.block, self.most);
    }

    /// All rows have come.
    pub fn finish(self, about: AboutRows) -> Result<GatheredRows> {
        Ok(GatheredRows(match self.writer.finish(about)? {
            Ok(cache) => Gathered::Disk(cache),
            Err(held) => Gathered::Memory(held.into_dataset()?),
        }))
    }
}

impl RowCache {
    /// The rows of a data set, which is given up for it.
    pub(crate) fn of(data: Dataset<'static>, place: &CachePlace, block: usize) -> Result<Self> {
        // Labels become text a few at a time.
        const ROWS: usize = 4096;
        let mut writer = Writer::new(place.clone(), block, 0);
        for start in (0..data.rows()).step_by(ROWS) {
            let rows: Vec<u32> = (start..(start + ROWS).min(data.rows())).map(|i| i as u32).collect();
            let label = |i: &u32| data.classes()[data.y()[*i as usize] as usize].clone();
            let weights = data.weights().map(|all| rows.iter().map(|i| all[*i as usize]).collect());
            let x = data.x().take_rows(&rows);
            writer.push(&RowBatch { x, labels: rows.iter().map(label).collect(), weights })?;
        }
        let about = AboutRows {
            feature_names: data.feature_names().map(<[String]>::to_vec),
            preprocessor: data.preprocessor().cloned(),
            unused_columns: 0,
            text_labels: sorted_classes(data.classes(), false) != data.classes(),
        };
        writer.finish(about)?.map_err(|_| Error::Interrupted)
    }
}

/// Reads a source to its end. `go_on` is asked between batches.
pub(crate) fn gather<S: RowSource + ?Sized>(
    source: &mut S,
    mut rows: RowGatherer,
    go_on: &mut dyn FnMut() -> bool,
) -> std::result::Result<GatheredRows, S::Error> {
    if let Some(cache) = RowCache::open(&rows.place)? {
        return Ok(GatheredRows(Gathered::Disk(cache)));
    }
    loop {
        source.each_batch(&mut |batch| {
            rows.push(&batch)?;
            if go_on() { Ok(()) } else { Err(Error::Interrupted) }
        })?;
        if !source.again()? {
            break;
        }
        rows.start_over();
    }
    rows.writer.spell(|labels| source.spell(labels));
    let about = AboutRows {
        feature_names: source.feature_names(),
        preprocessor: source.preprocessor(),
        unused_columns: source.unused_columns(),
        text_labels: false,
    };
    Ok(rows.finish(about)?)
}
