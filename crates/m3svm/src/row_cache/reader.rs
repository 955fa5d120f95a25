//! Blocks in order, each read while the one before is worked on.

use std::ops::ControlFlow;
use std::sync::mpsc::{channel, sync_channel};

use super::positioned::read_at;
use super::{RowCache, broken};
use crate::error::{Error, Result};
use crate::features::RawRows;
use crate::scale::Scaler;

/// How the rows of a cache are to be seen.
#[derive(Clone, Debug)]
pub(crate) struct View<'a> {
    pub(crate) scaler: &'a Scaler,
    /// What every row of a class weighs besides its own weight; none if all weigh 1.
    pub(crate) class_weights: Option<Vec<f64>>,
    /// One class against all others: that class is 1, all others are 0.
    pub(crate) speaks_for: Option<u32>,
    /// Only some rows: all others weigh nothing.
    pub(crate) fold: Option<OfFold<'a>>,
}

/// The rows of a fold to train on, or to test on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OfFold<'a> {
    /// In which fold each row is tested.
    pub(crate) tested_in: &'a [u16],
    pub(crate) fold: u16,
    /// Whether the rows are those that are tested.
    pub(crate) tested: bool,
}

/// Some rows as they are worked on: scaled, with class numbers and weights.
#[derive(Debug, Default)]
pub(crate) struct LoadedBlock {
    pub(crate) number: usize,
    /// Without their values unless these were asked for.
    pub(crate) x: RawRows,
    pub(crate) y: Vec<u32>,
    /// None if all are 1.
    pub(crate) weights: Vec<f64>,
}

/// Blocks that lie ready at most, besides the one that is worked on and the one that is read.
const AHEAD: usize = 1;

/// Blocks in memory at the same time.
pub(crate) fn blocks_at_once() -> usize {
    AHEAD + 2
}

impl RowCache {
    /// Calls `f` with all blocks, one after the other, until it breaks. A thread of its own reads ahead.
    pub(crate) fn for_each_block(
        &self,
        view: &View<'_>,
        with_values: bool,
        mut f: impl FnMut(&mut LoadedBlock) -> ControlFlow<()>,
    ) -> Result<()> {
        std::thread::scope(|scope| {
            let (ready, next) = sync_channel::<Result<LoadedBlock>>(AHEAD);
            let (used, free) = channel::<LoadedBlock>();
            scope.spawn(move || {
                for number in 0..self.blocks() {
                    let mut block = free.try_recv().unwrap_or_default();
                    let read = self.read(number, view, with_values, &mut block).map(|()| block);
                    let failed = read.is_err();
                    // Nobody takes it where no more is wanted.
                    if ready.send(read).is_err() || failed {
                        return;
                    }
                }
            });
            for block in next {
                let mut block = block?;
                if f(&mut block).is_break() {
                    return Ok(());
                }
                // The reader may have left.
                let _ = used.send(block);
            }
            Ok(())
        })
    }

    /// The class number of every row.
    pub(crate) fn labels(&self) -> Result<Vec<u32>> {
        let scaler = Scaler::none(self.cols());
        let view = View { scaler: &scaler, class_weights: None, speaks_for: None, fold: None };
        let mut y = Vec::with_capacity(self.rows());
        self.for_each_block(&view, false, |block| {
            y.extend_from_slice(&block.y);
            ControlFlow::Continue(())
        })?;
        Ok(y)
    }

    fn read(&self, number: usize, view: &View<'_>, with_values: bool, block: &mut LoadedBlock) -> Result<()> {
        let (index, at) = (&self.index, &self.index.blocks[number]);
        let mut offset = at.offset;
        let mut part = |bytes: &mut [u8], crc: &mut crc32fast::Hasher| -> Result<()> {
            read_at(&self.file, bytes, offset).map_err(|source| Error::Io { path: self.place.clone(), source })?;
            crc.update(bytes);
            offset += bytes.len() as u64;
            Ok(())
        };
        let damaged = || {
            let (number, all) = (number + 1, self.blocks());
            broken(&self.place, &format!("block {number} of {all} has been damaged on disk; remove it"))
        };
        block.number = number;
        block.y.resize(at.rows, 0);
        block.weights.resize(if index.weighted { at.rows } else { 0 }, 1.0);
        let mut crc = crc32fast::Hasher::new();
        part(bytemuck::cast_slice_mut(&mut block.y), &mut crc)?;
        part(bytemuck::cast_slice_mut(&mut block.weights), &mut crc)?;
        if crc.finalize() != at.labels_crc {
            return Err(damaged());
        }
        // A checksum may be right and the number wrong where someone has made the file by hand.
        let weigh = |w: &f64| w.is_finite() && *w >= 0.0;
        if block.y.iter().any(|y| *y as usize >= self.numbers.len()) || !block.weights.iter().all(weigh) {
            return Err(damaged());
        }
        block.y.iter_mut().for_each(|y| *y = self.numbers[*y as usize]);
        if let Some(each) = &view.class_weights {
            block.weights.resize(at.rows, 1.0);
            block.weights.iter_mut().zip(&block.y).for_each(|(w, y)| *w *= each[*y as usize]);
        }
        if let Some(OfFold { tested_in, fold, tested }) = view.fold {
            block.weights.resize(at.rows, 1.0);
            let first: usize = index.blocks[..number].iter().map(|block| block.rows).sum();
            let counts = |row: usize| (tested_in.get(row) == Some(&fold)) == tested;
            (first..).zip(&mut block.weights).filter(|(row, _)| !counts(*row)).for_each(|(_, w)| *w = 0.0);
        }
        if let Some(class) = view.speaks_for {
            block.y.iter_mut().for_each(|y| *y = u32::from(*y == class));
        }
        if !with_values {
            return Ok(());
        }
        block.x.prepare(index.storage, index.cols, at.rows, at.entries);
        let mut crc = crc32fast::Hasher::new();
        for bytes in block.x.parts_mut() {
            part(bytes, &mut crc)?;
        }
        if crc.finalize() != at.values_crc || !block.x.complete(index.unused_columns) {
            return Err(damaged());
        }
        if index.unused_columns > 0 {
            block.x.skip_columns(index.unused_columns);
        }
        block.x.scale(view.scaler);
        Ok(())
    }
}
