//! What a model with a kernel keeps of its training rows: those that its scores are made of.

use super::{Centres, Kernel};
use crate::error::{Error, Result};
use crate::features::Features;
use crate::linalg::{mul_add, repeat_row};
use crate::scale::Scaler;

/// Scores as sums over training rows: `f(x) = Σⱼ k(x, xⱼ)·aⱼ + b`.
#[derive(Clone, Debug)]
pub struct Expansion {
    pub(crate) centres: Centres,
    /// Numbers of the training rows, in the order of the coefficients.
    pub(crate) rows: Vec<u32>,
    /// Their classes.
    pub(crate) classes: Vec<u32>,
    /// aⱼ, one row per training row and one column per scorer.
    pub(crate) coefficients: Vec<f64>,
    /// The length of what the margin of every pair of classes is 2 over, in the space of the kernel.
    pub(crate) lengths: Vec<f64>,
    /// Rank of the factorisation that was trained on.
    pub(crate) rank: usize,
    /// Whether it was cut short.
    pub(crate) cut: bool,
    /// The share of the kernel's trace that it left.
    pub(crate) left: f64,
    /// The largest length that a training row lost by that.
    pub(crate) lost: f64,
}

impl PartialEq for Expansion {
    fn eq(&self, other: &Self) -> bool {
        let rows = |expansion: &Self| expansion.features().map(|x| Centres::new(self.kernel(), &x).squares().to_vec());
        self.kernel() == other.kernel()
            && self.rows == other.rows
            && self.classes == other.classes
            && self.coefficients == other.coefficients
            && self.lengths == other.lengths
            && (self.rank, self.cut, self.left, self.lost) == (other.rank, other.cut, other.left, other.lost)
            && rows(self) == rows(other)
    }
}

impl Expansion {
    /// The kernel, with the number that its γ has come to stand for.
    pub fn kernel(&self) -> Kernel {
        self.centres.kernel()
    }

    /// How many training rows it keeps.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether it keeps none, and all scores are intercepts.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Their numbers among the training rows.
    pub fn rows(&self) -> &[u32] {
        &self.rows
    }

    /// How many of them are of each class.
    pub fn class_counts(&self, classes: usize) -> Vec<usize> {
        let mut counts = vec![0; classes];
        self.classes.iter().for_each(|k| counts[*k as usize] += 1);
        counts
    }

    /// Their classes, by number.
    pub fn classes(&self) -> &[u32] {
        &self.classes
    }

    /// Coefficients, a row of one per scorer for each training row.
    pub fn coefficients(&self) -> &[f64] {
        &self.coefficients
    }

    /// The rows themselves, scaled as the model scales; `None` for a precomputed kernel, which has none.
    pub fn features(&self) -> Option<Features<'static>> {
        self.centres.features()
    }

    /// The same written out, one row of d numbers after the other.
    pub fn dense_rows(&self) -> Option<Vec<f64>> {
        let x = self.features()?;
        let mut values = vec![0.0; x.rows() * x.cols()];
        x.for_each_row(|i, row| row.for_each(|j, v| values[i * x.cols() + j] += v));
        Some(values)
    }

    /// The rank of the factorisation of the kernel matrix that the model was trained on.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// Whether that stands for the kernel but for some of its trace, so that the certificate is that of an approximated problem.
    pub fn is_approximate(&self) -> bool {
        self.cut
    }

    /// The share of the trace of the kernel matrix that was left out.
    pub fn trace_left(&self) -> f64 {
        self.left
    }

    /// The largest length that a training row has lost by that.
    pub fn length_lost(&self) -> f64 {
        self.lost
    }

    /// How far the difference of two scores of a training row can be from what class vectors with a given margin, and a part for what was
    /// left out, would say: ‖wₖ − wₗ‖ times the largest length that a row has lost.
    pub fn score_error(&self, margin: f64) -> f64 {
        2.0 * self.lost / margin
    }

    /// Scores n×m of rows that are scaled already, or by a scaler block by block.
    pub(crate) fn scores(&self, x: &Features<'_>, scaler: Option<&Scaler>, intercept: &[f64]) -> Result<Vec<f64>> {
        let m = intercept.len();
        let mut z = vec![0.0; x.rows() * m];
        let scaler = scaler.filter(|scaler| !scaler.is_identity() && self.kernel() != Kernel::Precomputed);
        match scaler {
            None => self.add_scores(x, intercept, &mut z),
            Some(scaler) => scaler.for_each_part(x, |first, scaled| {
                self.add_scores(scaled, intercept, &mut z[first * m..(first + scaled.rows()) * m]);
                Ok(())
            })?,
        }
        match z.iter().position(|z| !z.is_finite()) {
            Some(at) => Err(Error::Score { row: at / m, value: z[at] }),
            None => Ok(z),
        }
    }

    fn add_scores(&self, x: &Features<'_>, intercept: &[f64], z: &mut [f64]) {
        let m = intercept.len();
        self.centres.for_each_part(x, z, m, |_, values, z| {
            repeat_row(intercept, z);
            mul_add(values, self.len(), &self.coefficients, m, z);
        });
    }
}
