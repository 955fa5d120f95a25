//! Sums of outer products, one weighted sum at a time, by matrix products. For wide rows; [`super::class_sums`] are for narrow ones.

use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::traits::RealField;
use faer::{Accum, MatMut, MatRef, Par};

use crate::features::Window;
use crate::lanes::Lanes;
use crate::linalg::vectorised;
use crate::risk::Risk;

/// Accumulates Σ ±s²·xxᵀ into a lower triangle, a panel of rows at a time.
pub(crate) struct OuterProducts<T = f64> {
    width: usize,
    pub(super) sign: f64,
    /// The rows that come next, and their factors s.
    rows: Vec<u32>,
    scales: Vec<f64>,
    /// Rows that have come, times their factors.
    panel: Vec<T>,
    filled: usize,
    block: Vec<T>,
    /// Rows as they are.
    read: Vec<f64>,
}

impl OuterProducts {
    /// Adds a row that `write` fills in.
    pub(crate) fn push_with(&mut self, write: impl FnOnce(&mut [f64])) {
        write(&mut self.panel[self.filled * self.width..(self.filled + 1) * self.width]);
        self.filled += 1;
        if self.filled == Self::PANEL_ROWS {
            self.finish();
        }
    }
}

impl<T: Lanes + RealField> OuterProducts<T> {
    pub(super) const PANEL_ROWS: usize = 128;

    pub(crate) fn new(width: usize) -> Self {
        let (panel, block) = (vec![T::default(); width * Self::PANEL_ROWS], vec![T::default(); width * width]);
        Self { width, sign: 1.0, rows: Vec::new(), scales: Vec::new(), panel, filled: 0, block, read: Vec::new() }
    }

    pub(super) fn push(&mut self, risk: &Risk<'_>, x: &Window<'_>, i: usize, scale: f64) {
        self.rows.push(i as u32);
        self.scales.push(scale);
        if self.filled + self.rows.len() == Self::PANEL_ROWS {
            self.settle(risk, x);
            if risk.problem.heed.go_on() {
                self.finish();
            }
            self.filled = 0;
        }
    }

    /// Reads the rows that were pushed; to be called before their window closes.
    pub(super) fn settle(&mut self, risk: &Risk<'_>, x: &Window<'_>) {
        let place = self.filled * self.width..(self.filled + self.rows.len()) * self.width;
        self.read.resize(self.width * Self::PANEL_ROWS, 0.0);
        risk.write_rows(x, &self.rows, self.width, &mut self.read);
        let (panel, read, width) = (&mut self.panel[place], &self.read, self.width.max(1));
        vectorised(
            #[inline(always)]
            || {
                let rows = panel.chunks_exact_mut(width).zip(read.chunks_exact(width));
                for ((to, from), scale) in rows.zip(&self.scales) {
                    for j in 0..width {
                        to[j] = T::rounded(from[j] * scale);
                    }
                }
            },
        );
        self.filled += self.rows.len();
        self.rows.clear();
        self.scales.clear();
    }

    /// Adds what is in the panel.
    pub(super) fn finish(&mut self) {
        if self.filled == 0 {
            return;
        }
        let rows = &self.panel[..self.filled * self.width];
        let panel = MatRef::from_row_major_slice(rows, self.filled, self.width);
        triangular::matmul(
            MatMut::from_column_major_slice_mut(&mut self.block, self.width, self.width),
            BlockStructure::TriangularLower,
            Accum::Add,
            panel.transpose(),
            BlockStructure::Rectangular,
            panel,
            BlockStructure::Rectangular,
            T::rounded(self.sign),
            Par::Seq,
        );
        self.filled = 0;
    }

    /// The sum.
    pub(crate) fn into_block(mut self) -> Vec<T> {
        self.finish();
        self.block
    }
}
