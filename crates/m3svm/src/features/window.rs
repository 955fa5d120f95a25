//! Rows for those who want them in an order of their own, class by class for example.
//!
//! In a table by columns neighbouring rows share cache lines: rows of one class among ten would be read at the price of all rows, ten times
//! over. So such a table is gathered a few megabytes at a time, and everybody takes their rows out of that.

use std::ops::Range;

use rayon::prelude::*;

use super::{Features, Store};

/// Numbers in a window, 4 MB.
const WINDOW: usize = 1 << 19;

/// Numbers that one thread gathers at a time.
const SHARE: usize = 1 << 16;

/// Some consecutive rows.
pub(crate) struct Window<'w> {
    rows: Range<usize>,
    source: Source<'w>,
}

enum Source<'w> {
    Stored(&'w Features<'w>),
    Gathered { rows: &'w [f64], cols: usize },
}

impl Features<'_> {
    /// Calls `f` with windows that together hold all rows in order. All but tables by columns are one window.
    pub(crate) fn for_each_window(&self, mut f: impl FnMut(&Window<'_>)) {
        let Store::Columns(columns) = &self.store else { return f(&self.whole()) };
        let cols = self.cols.max(1);
        let (count, share) = ((WINDOW / cols).max(64), (SHARE / cols).max(64));
        let mut room = vec![0.0; count.min(self.rows) * self.cols];
        for first in (0..self.rows).step_by(count) {
            let rows = first..(first + count).min(self.rows);
            let room = &mut room[..rows.len() * self.cols];
            room.par_chunks_mut(share * cols).enumerate().for_each(|(k, part)| {
                let at = first + k * share;
                columns.write_range(at..at + part.len() / cols, self.cols, part);
            });
            f(&Window { rows, source: Source::Gathered { rows: room, cols: self.cols } });
        }
    }

    /// All rows where they are, for who needs only a few of them.
    pub(crate) fn whole(&self) -> Window<'_> {
        Window { rows: 0..self.rows, source: Source::Stored(self) }
    }
}

impl Window<'_> {
    /// Which rows these are.
    pub(crate) fn rows(&self) -> Range<usize> {
        self.rows.clone()
    }

    /// Those of ascending rows that are here.
    pub(crate) fn of<'r>(&self, rows: &'r [u32]) -> &'r [u32] {
        let place = |end: usize| rows.partition_point(|i| (*i as usize) < end);
        &rows[place(self.rows.start)..place(self.rows.end)]
    }

    /// Writes rows into `out`, the i-th of them from i·stride on (d numbers).
    pub(crate) fn write_rows(&self, rows: &[u32], stride: usize, out: &mut [f64]) {
        match self.source {
            Source::Stored(x) => x.write_rows(rows, stride, out),
            Source::Gathered { rows: gathered, cols } => {
                for (i, out) in rows.iter().zip(out.chunks_exact_mut(stride)) {
                    let at = (*i as usize - self.rows.start) * cols;
                    out[..cols].copy_from_slice(&gathered[at..at + cols]);
                }
            }
        }
    }
}
