//! How rows are shared out among threads: a fixed split that depends on the data alone, never on the number of threads,
//! so that sums are always added in the same order.

use std::ops::Range;

use rayon::prelude::*;

use crate::interrupt::Heed;

/// Consecutive groups of rows. Groups run in parallel, the blocks of a group one after the other.
#[derive(Clone, Debug)]
pub(crate) struct Partition<'a> {
    rows: usize,
    group: usize,
    block: usize,
    heed: Heed<'a>,
}

impl<'a> Partition<'a> {
    /// `row_cost`: stored numbers per row; `output`: numbers that every group accumulates on its own.
    pub(crate) fn new(rows: usize, row_cost: usize, output: usize) -> Self {
        // Below ~24 k numbers a group is not worth a thread; above ~48 groups balance cannot improve; the accumulators
        // of all groups together should stay small next to the data.
        const WORTH_A_PART: usize = 24_000;
        const MOST_PARTS: usize = 48;
        let work = rows * row_cost;
        let most = (work / (16 * output.max(1))).clamp(4, MOST_PARTS);
        let groups = (work / WORTH_A_PART).clamp(1, most);
        let group = rows.div_ceil(groups).max(1);
        let block = (32768 / row_cost.max(1)).clamp(16, 1024);
        Self { rows, group, block, heed: Heed::default() }
    }

    /// The same for a fit that may be interrupted.
    pub(crate) fn heeding(self, heed: Heed<'a>) -> Self {
        Self { heed, ..self }
    }

    /// Whether all rows are in one group.
    pub(crate) fn is_single(&self) -> bool {
        self.rows <= self.group
    }

    /// How many groups there are.
    pub(crate) fn groups(&self) -> usize {
        self.rows.div_ceil(self.group)
    }

    fn range(&self, g: usize) -> Range<usize> {
        g * self.group..((g + 1) * self.group).min(self.rows)
    }

    /// The cache-sized blocks of a range of rows; none after the first once the fit has been interrupted.
    pub(crate) fn blocks(&self, rows: Range<usize>) -> impl Iterator<Item = Range<usize>> {
        let (block, first, end, heed) = (self.block, rows.start, rows.end, self.heed);
        let wanted = rows.step_by(block).take_while(move |at| *at == first || heed.go_on());
        wanted.map(move |at| at..(at + block).min(end))
    }

    /// Rows in the largest block.
    pub(crate) fn block(&self) -> usize {
        self.block.min(self.rows)
    }

    /// Additions that a row goes through in a sum over all rows: those of its block, of the blocks of a group, and of the groups.
    pub(crate) fn depth(&self) -> usize {
        self.block() + self.group.min(self.rows).div_ceil(self.block) + self.rows.div_ceil(self.group)
    }

    /// Runs `f` on every group and returns the results in order.
    pub(crate) fn map<T: Send>(&self, f: impl Fn(Range<usize>) -> T + Sync) -> Vec<T> {
        let groups = self.groups();
        if groups <= 1 {
            return (0..groups).map(|g| f(self.range(g))).collect();
        }
        (0..groups).into_par_iter().map(|g| f(self.range(g))).collect()
    }

    /// Like `map`, handing each group its part of `out`, which has `width` numbers per row.
    pub(crate) fn map_mut<T: Send>(
        &self,
        out: &mut [f64],
        width: usize,
        f: impl Fn(Range<usize>, &mut [f64]) -> T + Sync,
    ) -> Vec<T> {
        if width == 0 {
            return self.map(|range| f(range, &mut []));
        }
        if out.len() <= self.group * width {
            return if out.is_empty() { Vec::new() } else { vec![f(self.range(0), out)] };
        }
        out.par_chunks_mut(self.group * width).enumerate().map(|(g, part)| f(self.range(g), part)).collect()
    }
}
