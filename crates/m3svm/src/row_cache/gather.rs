//! Rows of a source: in memory if they fit, else in a cache.

use super::{CachePlace, RowCache, Writer};
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::row_source::{RowBatch, RowSource};

/// Where the rows are.
pub(crate) enum Gathered {
    Memory(Dataset<'static>),
    Disk(RowCache),
}

impl RowCache {
    /// The rows of a data set, which is given up for it.
    pub(crate) fn of(data: Dataset<'static>, place: &CachePlace, block: usize) -> Result<Self> {
        // Labels become text a few at a time.
        const ROWS: usize = 4096;
        let mut writer = Writer::new(place, block, 0);
        for start in (0..data.rows()).step_by(ROWS) {
            let rows: Vec<u32> = (start..(start + ROWS).min(data.rows())).map(|i| i as u32).collect();
            let label = |i: &u32| data.classes()[data.y()[*i as usize] as usize].clone();
            let weights = data.weights().map(|all| rows.iter().map(|i| all[*i as usize]).collect());
            let x = data.x().take_rows(&rows);
            writer.push(&RowBatch { x, labels: rows.iter().map(label).collect(), weights })?;
        }
        writer
            .finish(data.feature_names().map(<[String]>::to_vec), 0, data.preprocessor().cloned())?
            .map_err(|_| Error::Interrupted)
    }
}

/// Reads a source to its end. Up to `most` bytes are held in memory; blocks on disk have `block` bytes. `go_on` is asked between batches.
pub(crate) fn gather<S: RowSource + ?Sized>(
    source: &mut S,
    place: &CachePlace,
    block: usize,
    most: usize,
    go_on: &mut dyn FnMut() -> bool,
) -> std::result::Result<Gathered, S::Error> {
    if let Some(cache) = RowCache::open(place)? {
        return Ok(Gathered::Disk(cache));
    }
    let mut writer = Writer::new(place, block, most);
    loop {
        source.each_batch(&mut |batch| {
            writer.push(&batch)?;
            if go_on() { Ok(()) } else { Err(Error::Interrupted) }
        })?;
        if !source.again()? {
            break;
        }
        writer = Writer::new(place, block, most);
    }
    writer.spell(|labels| source.spell(labels));
    match writer.finish(source.feature_names(), source.unused_columns(), source.preprocessor())? {
        Ok(cache) => Ok(Gathered::Disk(cache)),
        Err(held) => Ok(Gathered::Memory(held.into_dataset()?)),
    }
}
