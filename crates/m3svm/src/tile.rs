//! A few rows at a time.

use std::ops::Range;

/// Room for the scores of a few rows that costs no allocation and stays in the fastest cache.
pub(crate) struct Tile {
    classes: usize,
    room: [f64; Self::SIZE],
    /// In place of `room` where not even one row fits into it.
    wide: Vec<f64>,
}

impl Tile {
    const SIZE: usize = 1024;

    /// Rows in a tile.
    pub(crate) fn rows(classes: usize) -> usize {
        (Self::SIZE / classes).max(1)
    }

    pub(crate) fn new(classes: usize) -> Self {
        let wide = if classes > Self::SIZE { vec![0.0; classes] } else { Vec::new() };
        Self { classes, room: [0.0; Self::SIZE], wide }
    }

    /// Room for the first rows.
    #[inline(always)]
    pub(crate) fn first(&mut self, rows: usize) -> &mut [f64] {
        let len = rows * self.classes;
        if self.wide.is_empty() { &mut self.room[..len] } else { &mut self.wide[..len] }
    }

    /// Calls `f` with a few rows at a time and the room for their scores.
    #[inline(always)]
    pub(crate) fn each(&mut self, rows: Range<usize>, mut f: impl FnMut(Range<usize>, &mut [f64])) {
        let (few, end) = (Self::rows(self.classes), rows.end);
        for start in rows.step_by(few) {
            let rows = start..(start + few).min(end);
            f(rows.clone(), self.first(rows.len()));
        }
    }
}
