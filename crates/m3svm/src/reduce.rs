//! Exact reduction to the row space where there are more features than rows.
//!
//! A penalty that only sees rotation-invariant lengths has its optimum in the span of the rows of X (representer theorem). With
//! the thin factorisation Xᵀ = QR the problem in `W′ = QᵀW` over the n×n features Rᵀ has the same optimum, exactly.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::householder::{
    apply_block_householder_sequence_on_the_left_in_place_scratch as forwards_scratch,
    apply_block_householder_sequence_on_the_left_in_place_with_conj as forwards,
    apply_block_householder_sequence_transpose_on_the_left_in_place_scratch as backwards_scratch,
    apply_block_householder_sequence_transpose_on_the_left_in_place_with_conj as backwards,
    apply_block_householder_transpose_on_the_left_in_place_scratch as block_scratch,
    apply_block_householder_transpose_on_the_left_in_place_with_conj as block_backwards,
};
use faer::linalg::qr::no_pivoting::factor::{qr_in_place, qr_in_place_scratch, recommended_block_size};
use faer::prelude::{Reborrow, ReborrowMut};
use faer::{Conj, Mat};

use crate::error::Result;
use crate::features::Features;
use crate::interrupt::Heed;
use crate::linalg::split;
use crate::risk::Risk;
use crate::rounding::of_sum;

/// The reduced features and the way back. Q is kept as the reflections that it is the product of: to apply them to a few columns costs
/// less than to write it out.
pub(crate) struct Reduction {
    features: Features<'static>,
    /// d×n: a reflection in every column, below the diagonal; and their factors in blocks.
    reflections: Mat<f64>,
    factors: Mat<f64>,
}

impl Reduction {
    /// The reduction, where [`crate::plan::reduces`] says that it pays. None if the fit is interrupted.
    pub(crate) fn of(risk: &Risk<'_>) -> Option<Self> {
        let (n, d) = (risk.x.rows(), risk.x.cols());
        let mut reflections = transposed(risk.x);
        let block = recommended_block_size::<f64>(d, n);
        let mut factors = Mat::zeros(block, n);
        // Multiplications that take no longer than anyone would notice.
        const UNNOTICED: f64 = 1e10;
        if n as f64 * n as f64 * d as f64 <= UNNOTICED {
            factor(&mut reflections, &mut factors);
        } else {
            match factor_by_panels(&mut reflections, &mut factors, risk.problem.heed) {
                Panels::Done => {}
                Panels::Interrupted => return None,
                Panels::Dependent => {
                    reflections = transposed(risk.x);
                    factor(&mut reflections, &mut factors);
                }
            }
        }
        let mut values = vec![0.0; n * n];
        for i in 0..n {
            (0..=i).for_each(|j| values[i * n + j] = reflections[(j, i)]);
        }
        let features = Features::dense(values, n, n).ok()?.losing(risk.x.lost());
        Some(Self { features, reflections, factors })
    }

    /// How far the reduced rows may be from the rows that they stand for, relative to their lengths: a factorisation errs by a few units of
    /// rounding per row, its worst case grows with the numbers that go into one of its products.
    pub(crate) fn rounding(&self) -> f64 {
        of_sum(self.reflections.nrows() + self.reflections.ncols())
    }

    pub(crate) fn features(&self) -> &Features<'static> {
        &self.features
    }

    /// The reduced features alone.
    pub(crate) fn into_features(self) -> Features<'static> {
        self.features
    }

    /// Other rows in the reduced features: what is outside the span of the training rows has no weight anyway.
    pub(crate) fn rotate(&self, x: &Features<'_>) -> Result<Features<'static>> {
        let n = self.reflections.ncols();
        let turned = self.turn_back(transposed(x));
        let values: Vec<f64> = (0..x.rows()).flat_map(|i| turned.col(i).iter().copied()).collect();
        Ok(Features::dense(values, x.rows(), n)?.losing(x.lost()))
    }

    /// Parameters of the full problem to those of the reduced one.
    pub(crate) fn project(&self, theta: &[f64], classes: usize) -> Vec<f64> {
        let (d, n) = (self.reflections.nrows(), self.reflections.ncols());
        let (weights, intercept) = theta.split_at(d * classes);
        if weights.iter().all(|w| *w == 0.0) {
            return [&vec![0.0; n * classes], intercept].concat();
        }
        let turned = self.turn_back(Mat::from_fn(d, classes, |j, k| weights[j * classes + k]));
        written(&turned, n, intercept)
    }

    /// Parameters of the reduced problem to those of the full one.
    pub(crate) fn lift(&self, theta: &[f64], classes: usize) -> Vec<f64> {
        let (d, n) = (self.reflections.nrows(), self.reflections.ncols());
        let (weights, intercept) = theta.split_at(n * classes);
        let mut turned = Mat::from_fn(d, classes, |j, k| if j < n { weights[j * classes + k] } else { 0.0 });
        let mut room = MemBuffer::new(forwards_scratch::<f64>(d, self.factors.nrows(), classes));
        let (basis, stack) = (self.reflections.as_ref(), MemStack::new(&mut room));
        forwards(basis, self.factors.as_ref(), Conj::No, turned.as_mut(), split(), stack);
        written(&turned, d, intercept)
    }

    /// Qᵀ times columns, the first n rows of it.
    fn turn_back(&self, mut columns: Mat<f64>) -> Mat<f64> {
        let (d, n) = (self.reflections.nrows(), self.reflections.ncols());
        let mut room = MemBuffer::new(backwards_scratch::<f64>(d, self.factors.nrows(), columns.ncols()));
        let (basis, stack) = (self.reflections.as_ref(), MemStack::new(&mut room));
        backwards(basis, self.factors.as_ref(), Conj::No, columns.as_mut(), split(), stack);
        columns.truncate(n, columns.ncols());
        columns
    }
}

fn factor(reflections: &mut Mat<f64>, factors: &mut Mat<f64>) {
    let (d, n, block) = (reflections.nrows(), reflections.ncols(), factors.nrows());
    let mut room = MemBuffer::new(qr_in_place_scratch::<f64>(d, n, block, split(), Default::default()));
    let stack = MemStack::new(&mut room);
    qr_in_place(reflections.as_mut(), factors.as_mut(), split(), stack, Default::default());
}

/// How a factorisation by panels ended.
enum Panels {
    Done,
    Interrupted,
    /// Columns that depend on others put reflections elsewhere.
    Dependent,
}

/// The same panel by panel, and what a panel does to the others strip by strip, so that it can be interrupted.
fn factor_by_panels(reflections: &mut Mat<f64>, factors: &mut Mat<f64>, heed: Heed<'_>) -> Panels {
    // Multiplications between two questions.
    const PIECE: usize = 1 << 30;
    let (d, n, block, par) = (reflections.nrows(), reflections.ncols(), factors.nrows(), split());
    let scratch = qr_in_place_scratch::<f64>(d, block, block, par, Default::default());
    let mut room = MemBuffer::new(scratch.or(block_scratch::<f64>(d, block, n)));
    let stack = MemStack::new(&mut room);
    for start in (0..n).step_by(block) {
        let width = block.min(n - start);
        let below = reflections.as_mut().subrows_mut(start, d - start);
        let (done, mut rest) = below.split_at_col_mut(start + width);
        let mut panel = done.subcols_mut(start, width);
        let mut own = factors.as_mut().subcols_mut(start, width).subrows_mut(0, width);
        if qr_in_place(panel.rb_mut(), own.rb_mut(), par, stack, Default::default()).rank < width {
            return Panels::Dependent;
        }
        let strip = (PIECE / (2 * (d - start) * width)).max(16);
        for first in (0..rest.ncols()).step_by(strip) {
            if !heed.go_on() {
                return Panels::Interrupted;
            }
            let strip = rest.rb_mut().subcols_mut(first, strip.min(n - start - width - first));
            block_backwards(panel.rb(), own.rb(), Conj::Yes, strip, par, stack);
        }
    }
    Panels::Done
}

/// Rows as columns.
fn transposed(x: &Features<'_>) -> Mat<f64> {
    let mut columns = Mat::<f64>::zeros(x.cols(), x.rows());
    x.for_each_row(|i, row| row.for_each(|j, v| columns[(j, i)] += v));
    columns
}

/// The first rows of a matrix one after the other, and what follows them.
fn written(matrix: &Mat<f64>, rows: usize, rest: &[f64]) -> Vec<f64> {
    let weights = (0..rows).flat_map(|j| (0..matrix.ncols()).map(move |k| matrix[(j, k)]));
    weights.chain(rest.iter().copied()).collect()
}
