//! A few rows at a time.

use std::ops::Range;

use crate::interrupt::Heed;

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
    pub(crate) fn each(&mut self, rows: Range<usize>, f: impl FnMut(Range<usize>, &mut [f64])) {
        self.each_wanted(rows, Heed::default(), f);
    }

    /// The same until the fit is interrupted.
    #[inline(always)]
    pub(crate) fn each_wanted(
        &mut self,
        rows: Range<usize>,
        heed: Heed<'_>,
        mut f: impl FnMut(Range<usize>, &mut [f64]),
    ) {
        // So many tiles take a hundred times as long as a look at the clock.
        const ASK_EVERY: usize = 64;
        let (few, end) = (Self::rows(self.classes), rows.end);
        for (number, start) in rows.step_by(few).enumerate() {
            if number % ASK_EVERY == ASK_EVERY - 1 && !heed.go_on() {
                return;
            }
            let rows = start..(start + few).min(end);
            f(rows.clone(), self.first(rows.len()));
        }
    }
}
