//! The curvature of parts of the rows written out, summed pair of classes by pair of classes.

use super::{AddBlock, ClassPair};

/// The sums so far, for columns of this many numbers.
pub(super) struct BlockSums {
    width: usize,
    sums: Vec<(ClassPair, Vec<f64>)>,
}

impl BlockSums {
    pub(super) fn new(width: usize) -> Self {
        Self { width, sums: Vec::new() }
    }

    /// Adds what `give` writes out of one part, which has columns as far apart as it likes.
    pub(super) fn add<T>(&mut self, give: impl FnOnce(&mut AddBlock<'_>) -> T) -> T {
        let mut at = 0;
        give(&mut |pair, block, stride| {
            let columns = block.chunks(stride).flat_map(|column| &column[..self.width]).copied();
            match self.sums.get_mut(at) {
                None => self.sums.push((pair, columns.collect())),
                Some((_, sum)) => sum.iter_mut().zip(columns).for_each(|(sum, value)| *sum += value),
            }
            at += 1;
        })
    }

    /// Hands the sums on.
    pub(super) fn give(mut self, add: &mut AddBlock<'_>) {
        self.sums.iter_mut().for_each(|(pair, block)| add(*pair, block, self.width));
    }
}
