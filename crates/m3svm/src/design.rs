//! X̃ = (X, 1), the features with the ones of the intercept: products with some columns at a time, block by block and group by group.

use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use crate::features::{Block, BlockRoom, Features};
use crate::interrupt::Heed;
use crate::linalg::{add_rows, axpy, repeat_row};
use crate::partition::Partition;

/// X̃, and Xᵀ where that is worth having.
#[derive(Clone, Debug)]
pub(crate) struct Design<'a> {
    x: &'a Features<'a>,
    intercept: bool,
    /// Xᵀ of sparse data, made when first asked for.
    transposed: OnceLock<Option<Features<'static>>>,
    /// The slopes of all rows. Kept, because fresh memory of this size is slow.
    slopes: Arc<Mutex<Vec<f64>>>,
    heed: Heed<'a>,
}

impl<'a> Design<'a> {
    pub(crate) fn new(x: &'a Features<'a>, intercept: bool) -> Self {
        Self { x, intercept, transposed: OnceLock::new(), slopes: Arc::default(), heed: Heed::default() }
    }

    /// The same for a fit that may be interrupted: products are then left where they are.
    pub(crate) fn heeding(self, heed: Heed<'a>) -> Self {
        Self { heed, ..self }
    }

    /// For a single product, after which a transposed copy would be thrown away.
    pub(crate) fn used_once(x: &'a Features<'a>, intercept: bool) -> Self {
        Self { transposed: OnceLock::from(None), ..Self::new(x, intercept) }
    }

    /// Numbers in a column of parameters.
    pub(crate) fn width(&self) -> usize {
        self.x.cols() + usize::from(self.intercept)
    }

    /// How rows are shared out in products with `columns` columns.
    pub(crate) fn partition(&self, columns: usize) -> Partition<'a> {
        let x = self.x;
        let cost = x.stored() / x.rows().max(1) + 4 * columns;
        Partition::new(x.rows(), cost, (x.cols() + 1) * columns).heeding(self.heed)
    }

    /// Additions that a row goes through at most in a sum over all rows.
    pub(crate) fn depth(&self, partition: &Partition<'_>, columns: usize) -> usize {
        if self.transposed(columns).is_some() { self.x.rows() } else { partition.depth() }
    }

    /// Where X̃ᵀ has many numbers next to the data, sums of their own for every group of rows would cost more than the product itself; by
    /// columns of X every sum belongs to one group.
    fn transposed(&self, columns: usize) -> Option<&Features<'static>> {
        let x = self.x;
        if 16 * self.width() * columns < x.stored() + 4 * x.rows() * columns {
            return None;
        }
        self.transposed.get_or_init(|| x.transposed()).as_ref()
    }

    /// `z = X·W + 1bᵀ` for a block of rows.
    pub(crate) fn block_scores(&self, x: &Block<'_>, theta: &[f64], columns: usize, z: &mut [f64]) {
        let (w, b) = theta.split_at(self.x.cols() * columns);
        if self.intercept {
            repeat_row(b, z);
        } else {
            z.fill(0.0);
        }
        x.mul_add(w, columns, z);
    }

    /// The same for all rows.
    pub(crate) fn scores(&self, partition: &Partition<'_>, theta: &[f64], columns: usize, z: &mut [f64]) {
        partition.map_mut(z, columns, |range, z| {
            self.each_block(partition, range, columns, z, |_, x, z| self.block_scores(x, theta, columns, z));
        });
    }

    /// Adds X̃ᵀ·G to `out`, where `fill` writes the rows of G block by block. It is given the block of X and what it has left behind of the
    /// blocks before in the same group; what it leaves in the end is returned, group by group in order.
    pub(crate) fn pull_back<S: Default + Send>(
        &self,
        partition: &Partition<'_>,
        columns: usize,
        out: &mut [f64],
        fill: impl Fn(Range<usize>, &Block<'_>, &mut S, &mut [f64]) + Sync,
    ) -> Vec<S> {
        if let Some(transposed) = self.transposed(columns) {
            return self.pull_back_by_columns(transposed, partition, columns, out, fill);
        }
        let parts = partition.map(|range| {
            let mut part = vec![0.0; out.len()];
            let mut g = vec![0.0; partition.block() * columns];
            let (mut room, mut state) = (BlockRoom::default(), S::default());
            for block in partition.blocks(range) {
                let g = &mut g[..block.len() * columns];
                let x = self.x.block(block.clone(), &mut room);
                fill(block, &x, &mut state, g);
                self.add_block(&x, columns, g, &mut part);
            }
            (state, part)
        });
        let add = |(state, part): (S, Vec<f64>)| {
            axpy(1.0, &part, out);
            state
        };
        parts.into_iter().map(add).collect()
    }

    /// Adds X̃ᵀ·G to `out`, all on this thread: for problems so small that others would come too late.
    pub(crate) fn pull_back_alone(&self, partition: &Partition<'_>, columns: usize, g: &[f64], out: &mut [f64]) {
        let mut room = BlockRoom::default();
        for block in partition.blocks(0..self.x.rows()) {
            let g = &g[block.start * columns..block.end * columns];
            self.add_block(&self.x.block(block, &mut room), columns, g, out);
        }
    }

    /// Adds X̃ᵀ·G of a block of rows to `out`.
    fn add_block(&self, x: &Block<'_>, columns: usize, g: &[f64], out: &mut [f64]) {
        let (w, b) = out.split_at_mut(self.x.cols() * columns);
        x.t_mul_add(g, columns, w);
        if self.intercept {
            add_rows(g, b);
        }
    }

    fn pull_back_by_columns<S: Default + Send>(
        &self,
        transposed: &Features<'_>,
        partition: &Partition<'_>,
        columns: usize,
        out: &mut [f64],
        fill: impl Fn(Range<usize>, &Block<'_>, &mut S, &mut [f64]) + Sync,
    ) -> Vec<S> {
        // Taken out rather than held: a thread that waits for others may be given another pass meanwhile.
        let mut slopes = std::mem::take(&mut *self.kept_slopes());
        slopes.resize(self.x.rows() * columns, 0.0);
        let states = partition.map_mut(&mut slopes, columns, |range, g| {
            let mut state = S::default();
            self.each_block(partition, range, columns, g, |block, x, g| fill(block, x, &mut state, g));
            state
        });
        let (w, b) = out.split_at_mut(self.x.cols() * columns);
        if self.intercept {
            add_rows(&slopes, b);
        }
        let by_columns = Partition::new(transposed.rows(), transposed.stored() / transposed.rows().max(1) + columns, 1);
        by_columns.map_mut(w, columns, |range, w| {
            if self.heed.go_on() {
                transposed.mul_add(range, &slopes, columns, w);
            }
        });
        *self.kept_slopes() = slopes;
        states
    }

    /// If a panic has poisoned the lock, its content does not matter.
    fn kept_slopes(&self) -> MutexGuard<'_, Vec<f64>> {
        self.slopes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls `f` with the blocks of a group of rows and their parts of `out`, which has `columns` numbers for each row of the group.
    fn each_block(
        &self,
        partition: &Partition<'_>,
        range: Range<usize>,
        columns: usize,
        out: &mut [f64],
        mut f: impl FnMut(Range<usize>, &Block<'_>, &mut [f64]),
    ) {
        let mut room = BlockRoom::default();
        for block in partition.blocks(range.clone()) {
            let at = (block.start - range.start) * columns;
            let out = &mut out[at..at + block.len() * columns];
            f(block.clone(), &self.x.block(block, &mut room), out);
        }
    }
}
