//! Some rows of a cache, to be held in memory.

use std::ops::ControlFlow;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::{RowCache, View};
use crate::error::Result;
use crate::features::{Features, RawRows, RawStorage};
use crate::interrupt::Heed;
use crate::scale::Scaler;
use crate::select::hashes;

/// Rows that stand for all.
pub(crate) struct Sample {
    pub(crate) x: Features<'static>,
    pub(crate) y: Vec<u32>,
    /// Each row counts for as many as it stands for.
    pub(crate) weights: Vec<f64>,
}

impl RowCache {
    /// About `count` rows in single precision, from each block as many as it has of all rows: in files sorted by class, too, there are rows of all classes.
    pub(crate) fn sample(&self, view: &View<'_>, count: usize, seed: u64, heed: Heed<'_>) -> Result<Sample> {
        let (all, count) = (self.rows() as u128, count as u128);
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut x = RawRows::new(RawStorage { is_single: true, ..self.index.storage }, self.cols());
        let (mut y, mut weights, mut before) = (Vec::new(), Vec::new(), 0u128);
        self.for_each_block(view, true, |block| {
            let rows = block.y.len();
            let after = before + rows as u128;
            let mut wanted = (after * count / all - before * count / all) as usize;
            let features = block.x.features();
            for i in 0..rows {
                // Of the rows that are left, each is as likely as any other.
                if random.random_range(0..rows - i) >= wanted {
                    continue;
                }
                wanted -= 1;
                x.append(&features, i..i + 1);
                y.push(block.y[i]);
                weights.push(block.weights.get(i).copied().unwrap_or(1.0));
            }
            before = after;
            if heed.go_on() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        let stands_for = all as f64 / y.len().max(1) as f64;
        weights.iter_mut().for_each(|w| *w *= stands_for);
        Ok(Sample { x: x.into_features(), y, weights })
    }

    /// The rows whose hash says so, as they came and as they count: of every class about the share that is asked for. It does not depend on
    /// the order of rows, and equal rows come together.
    pub(crate) fn sample_by_content(&self, shares: &[f64], go_on: &dyn Fn() -> bool) -> Result<Sample> {
        let scaler = Scaler::none(self.cols());
        let view = View { scaler: &scaler, class_weights: None, speaks_for: None, fold: None };
        let mut x = RawRows::new(self.index.storage, self.cols());
        let (mut y, mut weights) = (Vec::new(), Vec::new());
        self.for_each_block(&view, true, |block| {
            let features = block.x.features();
            for (i, hash) in hashes(&features, false).into_iter().enumerate() {
                let class = block.y[i];
                // The last bit of a share of 1 is no reason to lose a row.
                if hash as f64 <= shares[class as usize] * u64::MAX as f64 {
                    x.append(&features, i..i + 1);
                    y.push(class);
                    weights.push(block.weights.get(i).copied().unwrap_or(1.0));
                }
            }
            if go_on() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        Ok(Sample { x: x.into_features(), y, weights })
    }
}
