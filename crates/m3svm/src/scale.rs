//! Feature scaling, fitted on training rows and carried in the model.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::features::Features;
use crate::linalg::vectorised;
use crate::prepare::Preprocessor;

/// How features are brought to comparable size before training.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scaling {
    /// Subtract the mean, divide by the standard deviation.
    #[default]
    Standard,
    /// Divide by the largest absolute value.
    MaxAbs,
    /// Map the range to [0, 1].
    MinMax,
    /// Leave features as they are.
    None,
}

impl Scaling {
    /// All ways of scaling, for help texts and tests.
    pub const ALL: [Self; 4] = [Self::Standard, Self::MaxAbs, Self::MinMax, Self::None];

    /// The name users type.
    pub fn name(self) -> &'static str {
        match self {
            Self::Standard => "standard",
            Self::MaxAbs => "maxabs",
            Self::MinMax => "minmax",
            Self::None => "none",
        }
    }
}

/// x ↦ (x − shift)·factor per feature. For sparse data `shift` is always 0, so that zero stays zero.
///
/// A shift only moves the intercept, which the objective leaves (but for ε) free, so sparse and dense
/// storage of the same table give the same classifier up to ε. Features that never change get factor 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Scaler {
    pub(crate) shift: Vec<f64>,
    pub(crate) factor: Vec<f64>,
}

impl Scaler {
    /// Learns shift and factor from the given (training) rows. Rows of weight 0 count like absent rows,
    /// integer weights like repetition.
    pub fn fit(scaling: Scaling, x: &Features<'_>, weights: Option<&[f64]>) -> Self {
        let d = x.cols();
        if scaling == Scaling::None {
            // Without a look at the data.
            return Self { shift: vec![0.0; d], factor: vec![1.0; d] };
        }
        Self::of_stats(scaling, &Stats::of(x, weights), x.is_sparse())
    }

    /// The same from the rows of a data set. Features that were made to be of comparable size are left as they are.
    pub(crate) fn of_data(scaling: Scaling, data: &Dataset<'_>) -> Self {
        let mut scaler = Self::fit(scaling, data.x(), data.weights());
        scaler.leave(data.preprocessor());
        scaler
    }

    /// Leaves features as they are that were made to be of comparable size.
    pub(crate) fn leave(&mut self, preprocessor: Option<&Preprocessor>) {
        for features in preprocessor.into_iter().flat_map(Preprocessor::not_scaled) {
            self.shift[features.clone()].fill(0.0);
            self.factor[features].fill(1.0);
        }
    }

    /// The one that leaves so many features as they are.
    pub(crate) fn none(features: usize) -> Self {
        Self { shift: vec![0.0; features], factor: vec![1.0; features] }
    }

    /// The same from what is known of all rows.
    pub(crate) fn of_stats(scaling: Scaling, stats: &Stats, is_sparse: bool) -> Self {
        let d = stats.mean.len();
        let (mut shift, mut factor) = (vec![0.0; d], vec![1.0; d]);
        if scaling == Scaling::None {
            return Self { shift, factor };
        }
        for j in 0..d {
            let (min, max) = (stats.min[j], stats.max[j]);
            let (s, spread) = match scaling {
                Scaling::None => (0.0, 1.0),
                Scaling::MaxAbs => (0.0, min.abs().max(max.abs())),
                Scaling::MinMax => (min, max - min),
                Scaling::Standard => (stats.mean[j], stats.deviation[j]),
            };
            // A spread within the rounding of the values is a constant feature: dividing would blow up noise.
            let constant = spread <= 1e-13 * min.abs().max(max.abs());
            // Its inverse may overflow, or vanish and take the feature with it.
            let usable = !constant && (1.0 / spread).is_finite() && 1.0 / spread > 0.0;
            factor[j] = if usable { 1.0 / spread } else { 1.0 };
            shift[j] = if is_sparse { 0.0 } else { s };
        }
        Self { shift, factor }
    }

    /// What is subtracted from every feature.
    pub fn shift(&self) -> &[f64] {
        &self.shift
    }

    /// What the difference is then multiplied by.
    pub fn factor(&self) -> &[f64] {
        &self.factor
    }

    /// Whether it changes nothing.
    pub fn is_identity(&self) -> bool {
        !self.shifts() && self.factor.iter().all(|f| *f == 1.0)
    }

    /// Whether it moves any feature. That of sparse data never does.
    pub fn shifts(&self) -> bool {
        self.shift.iter().any(|s| *s != 0.0)
    }

    /// The first feature whose values lie so far from 0, for how much they differ, that its weights with the scaling folded in would lose
    /// digits that scores need: `x·w − s·w` is off by as many units in the last place as s is spreads.
    pub fn far_feature(&self) -> Option<usize> {
        const SPREADS: f64 = 1e8;
        self.shift.iter().zip(&self.factor).position(|(shift, factor)| (shift * factor).abs() > SPREADS)
    }

    /// Calls `f` with all rows in their order, some scaled ones at a time, and the number of the first of them.
    pub(crate) fn for_each_part(
        &self,
        x: &Features<'_>,
        mut f: impl FnMut(usize, &Features<'_>) -> Result<()>,
    ) -> Result<()> {
        const ROWS: usize = 4096;
        for first in (0..x.rows()).step_by(ROWS) {
            let some: Vec<u32> = (first as u32..(first + ROWS).min(x.rows()) as u32).collect();
            f(first, &self.apply(x.take_rows(&some))?)?;
        }
        Ok(())
    }

    /// Scales features, in place where the matrix owns its values.
    pub fn apply<'a>(&self, x: Features<'a>) -> Result<Features<'a>> {
        if x.cols() != self.shift.len() {
            return Err(Error::Shape { what: "features", expected: self.shift.len(), found: x.cols() });
        }
        if self.is_identity() {
            return Ok(x);
        }
        Ok(x.map_columns(|j, v| (v - self.shift[j]) * self.factor[j]))
    }

    /// Moves the scaling into the weights: `(x − s)·f·W + b = x·W′ + b′`.
    pub(crate) fn fold_into(&self, weights: &mut [f64], intercept: &mut [f64]) {
        let classes = intercept.len();
        for (j, row) in weights.chunks_exact_mut(classes).enumerate() {
            for (w, b) in row.iter_mut().zip(intercept.iter_mut()) {
                *w *= self.factor[j];
                *b -= *w * self.shift[j];
            }
        }
    }
}

/// Weighted moments and the range of every column, zeros of sparse storage included.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Stats {
    /// The weight of all rows.
    pub(crate) total: f64,
    pub(crate) min: Vec<f64>,
    pub(crate) max: Vec<f64>,
    pub(crate) mean: Vec<f64>,
    /// Root of the weighted mean of (x − mean)².
    pub(crate) deviation: Vec<f64>,
}

impl Stats {
    /// Adds what is known of other rows. Columns that only one of the two has are 0 in the rows of the other.
    pub(crate) fn merge(&mut self, mut other: Self) {
        let d = self.mean.len().max(other.mean.len());
        self.widen(d);
        other.widen(d);
        if other.total == 0.0 {
            return;
        }
        if self.total == 0.0 {
            *self = other;
            return;
        }
        let total = self.total + other.total;
        let (own, share) = (self.total / total, other.total / total);
        for j in 0..d {
            self.min[j] = self.min[j].min(other.min[j]);
            self.max[j] = self.max[j].max(other.max[j]);
            let apart = other.mean[j] - self.mean[j];
            // Squares of huge and tiny values would overflow and vanish.
            let within = (own.sqrt() * self.deviation[j]).hypot(share.sqrt() * other.deviation[j]);
            self.deviation[j] = within.hypot((own * share).sqrt() * apart);
            self.mean[j] += share * apart;
        }
        self.total = total;
    }

    fn columns(&mut self) -> [&mut Vec<f64>; 4] {
        [&mut self.min, &mut self.max, &mut self.mean, &mut self.deviation]
    }

    fn widen(&mut self, d: usize) {
        self.columns().into_iter().for_each(|column| column.resize(d, 0.0));
    }

    /// Forgets the first columns.
    pub(crate) fn skip_columns(&mut self, first: usize) {
        self.columns().into_iter().for_each(|column| drop(column.drain(..first)));
    }

    pub(crate) fn of(x: &Features<'_>, weights: Option<&[f64]>) -> Self {
        let d = x.cols();
        let (mut min, mut max) = (vec![f64::INFINITY; d], vec![f64::NEG_INFINITY; d]);
        let (mut mean, mut mass) = (vec![0.0; d], vec![0.0; d]);
        let mut total = 0.0;
        let mut rows_used = 0usize;
        let mut stored = vec![0usize; d];
        let weight = |i: usize| weights.map_or(1.0, |w| w[i]);
        x.for_each_block(|rows, block| {
            let first = rows.start;
            if let Some(values) = block.doubles() {
                vectorised(
                    #[inline(always)]
                    || {
                        for (w, row) in weighted(rows.clone(), values, d, weight) {
                            total += w;
                            rows_used += 1;
                            let share = w / total;
                            let columns = row.iter().zip(&mut min).zip(&mut max).zip(&mut mean);
                            // Values are finite: a comparison does for the smaller and the larger of two.
                            for (((v, min), max), mean) in columns {
                                *min = if v < min { *v } else { *min };
                                *max = if v > max { *v } else { *max };
                                *mean += (v - *mean) * share;
                            }
                        }
                    },
                );
                return;
            }
            for i in rows {
                let w = weight(i);
                if w == 0.0 {
                    continue;
                }
                total += w;
                rows_used += 1;
                let share = w / total;
                block.row(i - first).for_each(|j, v| {
                    min[j] = min[j].min(v);
                    max[j] = max[j].max(v);
                    mass[j] += w;
                    // A running mean cannot overflow where a sum of huge values would.
                    mean[j] += (v - mean[j]) * if x.is_sparse() { w / mass[j] } else { share };
                    stored[j] += 1;
                });
            }
        });
        if !x.is_sparse() {
            mass.fill(total);
            stored.fill(rows_used);
        }
        for j in 0..d {
            if stored[j] < rows_used {
                min[j] = min[j].min(0.0);
                max[j] = max[j].max(0.0);
            }
        }
        (0..d).for_each(|j| mean[j] *= mass[j] / total);
        // Relative to the largest value, so that squares neither overflow nor vanish; a power of 2, so that nothing is rounded.
        let unit: Vec<f64> = min.iter().zip(&max).map(|(a, b)| power_of_two(a.abs().max(b.abs()))).collect();
        let inverse: Vec<f64> = unit.iter().map(|unit| 1.0 / unit).collect();
        // Second pass around the mean: the textbook one-pass formula loses all digits when mean ≫ spread.
        let mut square = vec![0.0; d];
        x.for_each_block(|rows, block| {
            let first = rows.start;
            if let Some(values) = block.doubles() {
                vectorised(
                    #[inline(always)]
                    || {
                        for (w, row) in weighted(rows.clone(), values, d, weight) {
                            let columns = row.iter().zip(&mut square).zip(mean.iter().zip(&inverse));
                            for ((v, square), (mean, inverse)) in columns {
                                let off = (v - mean) * inverse;
                                *square += w * (off * off);
                            }
                        }
                    },
                );
                return;
            }
            for i in rows {
                let w = weight(i);
                if w > 0.0 {
                    block.row(i - first).for_each(|j, v| square[j] += w * ((v - mean[j]) * inverse[j]).powi(2));
                }
            }
        });
        for j in 0..d {
            square[j] += (total - mass[j]) * (mean[j] * inverse[j]).powi(2);
        }
        let deviation = square.iter().zip(&unit).map(|(s, unit)| unit * (s / total).sqrt()).collect();
        Self { total, min, max, mean, deviation }
    }
}

/// Rows of `d` values each, with their weights; those of weight 0 are left out.
#[inline(always)]
fn weighted(
    rows: Range<usize>,
    values: &[f64],
    d: usize,
    weight: impl Fn(usize) -> f64,
) -> impl Iterator<Item = (f64, &[f64])> {
    rows.zip(values.chunks_exact(d)).map(move |(i, row)| (weight(i), row)).filter(|(w, _)| *w > 0.0)
}

/// The largest power of 2 that is not above a number, of all those whose inverse is a number too.
fn power_of_two(value: f64) -> f64 {
    const EXPONENT: u64 = 0x7ff << 52;
    f64::from_bits(value.max(f64::MIN_POSITIVE).to_bits() & EXPONENT)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    fn column(values: &[f64]) -> Features<'static> {
        Features::dense(values.to_vec(), values.len(), 1).unwrap()
    }

    fn scaled(scaling: Scaling, values: &[f64]) -> Vec<f64> {
        let x = column(values);
        let x = Scaler::fit(scaling, &x, None).apply(x).unwrap();
        (0..values.len()).map(|i| x.get(i, 0)).collect()
    }

    #[test]
    fn each_scaling_by_hand() {
        assert_eq!(scaled(Scaling::Standard, &[1.0, 3.0]), [-1.0, 1.0]);
        assert_eq!(scaled(Scaling::MaxAbs, &[1.0, -4.0]), [0.25, -1.0]);
        assert_eq!(scaled(Scaling::MinMax, &[1.0, 3.0, 2.0]), [0.0, 1.0, 0.5]);
        assert_eq!(scaled(Scaling::None, &[1.0, 3.0]), [1.0, 3.0]);
        assert_eq!(scaled(Scaling::Standard, &[7.0, 7.0, 7.0]), [0.0, 0.0, 0.0]);
        assert_eq!(scaled(Scaling::Standard, &[0.1, 0.1, 0.1]).iter().filter(|v| v.abs() > 1e-12).count(), 0);
    }

    #[test]
    fn units_and_their_inverses_are_powers_of_two() {
        for (value, unit) in
            [(0.0, f64::MIN_POSITIVE), (5e-324, f64::MIN_POSITIVE), (1.0, 1.0), (0.3, 0.25), (7.9, 4.0)]
        {
            assert_eq!(power_of_two(value), unit);
        }
        let largest = power_of_two(f64::MAX);
        assert!(largest * (1.0 / largest) == 1.0 && largest <= f64::MAX && f64::MAX / largest < 2.0);
    }

    #[test]
    fn squares_of_huge_and_tiny_values_neither_overflow_nor_vanish() {
        for unit in [1e300, 1e-300] {
            let scaled = scaled(Scaling::Standard, &[unit, 3.0 * unit]);
            assert!((scaled[0] + 1.0).abs() < 1e-12 && (scaled[1] - 1.0).abs() < 1e-12, "{unit}: {scaled:?}");
        }
    }

    #[test]
    fn parts_of_the_rows_are_added_up() {
        let values: Vec<f64> = (0..40).map(|i| 1e6 + (i * 7 % 13) as f64).collect();
        let weights: Vec<f64> = (0..40).map(|i| (i % 4) as f64).collect();
        let whole = Stats::of(&column(&values), Some(&weights));
        let mut sum = Stats::default();
        // The first row has no weight at all.
        for cut in [0..1, 1..2, 2..17, 17..40] {
            sum.merge(Stats::of(&column(&values[cut.clone()]), Some(&weights[cut])));
        }
        assert_eq!((sum.total, &sum.min, &sum.max), (whole.total, &whole.min, &whole.max));
        assert!((sum.mean[0] / whole.mean[0] - 1.0).abs() < 1e-14, "{sum:?} {whole:?}");
        // Means are known to ten digits after the point.
        assert!((sum.deviation[0] / whole.deviation[0] - 1.0).abs() < 1e-10, "{sum:?} {whole:?}");
        // A column that never changes has no spread, however it is cut.
        let mut same = Stats::of(&column(&[0.1; 3]), None);
        same.merge(Stats::of(&column(&[0.1; 5]), None));
        assert_eq!((same.mean[0], same.deviation[0]), (0.1, 0.0));
    }

    #[test]
    fn weights_equal_repetition_and_sparse_zeros_count() {
        let (x, w) = (column(&[1.0, 5.0, 9.0]), [2.0, 0.0, 1.0]);
        let repeated = column(&[1.0, 1.0, 9.0]);
        for scaling in Scaling::ALL {
            assert_eq!(Scaler::fit(scaling, &x, Some(&w)), Scaler::fit(scaling, &repeated, None));
        }
        let dense = column(&[0.0, 3.0, 0.0, 1.0]);
        let sparse = Features::csr(vec![0, 0, 1, 1, 2], vec![0, 0], vec![3.0, 1.0], 1).unwrap();
        for scaling in Scaling::ALL {
            let (d, s) = (Scaler::fit(scaling, &dense, None), Scaler::fit(scaling, &sparse, None));
            assert!((d.factor[0] - s.factor[0]).abs() < 1e-15);
            assert_eq!(s.shift, [0.0]);
        }
    }
}
