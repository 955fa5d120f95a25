//! Where the rows live.
//!
//! A solver never sees a row. What it wants to know of all of them (sums of the loss, values along a step, products with the curvature) it asks
//! through [`Rows`]; scores, dual variables and curvature belong to whoever answers. [`InMemory`] has them all in one matrix. Rows elsewhere (on
//! disk, on other machines, behind a kernel) are another implementation and nothing else.
//!
//! Everything that is asked is a sum over rows, or changes each row on its own, so that parts of the rows can answer side by side and their answers
//! be added in order; the tests do that with a few parts of one matrix.

mod class_curvature;
mod class_sums;
mod coordinate;
mod coordinate_gram;
mod entries;
mod entry_rows;
mod features_f32;
mod implicit_gram;
mod in_memory;
mod moments;
mod outer;
mod packed;
mod passes;
mod remote;
mod shift;
mod streamed;
mod tuning;
mod written_out;

use features_f32::FeaturesF32;

pub(crate) use coordinate::Coordinate;
pub(crate) use entries::{Entries, Entry};
pub(crate) use entry_rows::{EntryRows, HeavyGram, HeavyRows};
pub(crate) use in_memory::InMemory;
pub(crate) use moments::Moments;
pub(crate) use outer::OuterProducts;
pub(crate) use packed::SharedProducts;
pub(crate) use remote::{PackedNumbers, PartSample, PartSetup, RemoteRows};
pub use remote::{PartCarrier, RowPart};
pub(crate) use shift::Shifted;
pub(crate) use streamed::{Streamed, StreamedRoom};

use crate::features::Features;
use crate::plan::PLAN;
use crate::problem::Problem;
use crate::solver::Quadratic;

/// How many rows there are and how they are stored, from which costs are estimated.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    pub(crate) rows: usize,
    pub(crate) features: usize,
    /// Numbers that a product reads.
    pub(crate) stored: usize,
    pub(crate) is_sparse: bool,
    /// So few rows that a pass over all of them costs next to nothing.
    pub(crate) is_small: bool,
    /// Whether inner products of rows are kept, and cost nothing from the second time on.
    pub(crate) keeps_gram: bool,
    /// Bytes that a matrix written out by [`Rows::blocks`] may take; 0 where it cannot be had.
    pub(crate) matrix_room: f64,
    /// Whether single rows can be had ([`Rows::heaviest`], [`Rows::take`]).
    pub(crate) gives_rows: bool,
    /// What asking all rows costs besides the answer, in multiply-adds.
    pub(crate) pass: f64,
    /// Whether [`Rows::multiply_f32`] can be had and pays.
    pub(crate) keeps_f32: bool,
}

impl Sizes {
    /// What rows of such a storage can do in memory, but for what depends on how they are shared out.
    pub(crate) fn in_memory(problem: &Problem<'_>, stored: &Self) -> Self {
        Self { matrix_room: PLAN.largest, gives_rows: true, keeps_f32: FeaturesF32::pays(problem, stored), ..*stored }
    }

    /// What storage alone says.
    pub(crate) fn of(x: &Features<'_>) -> Self {
        Self {
            rows: x.rows(),
            features: x.cols(),
            stored: x.stored(),
            is_sparse: x.is_sparse(),
            is_small: false,
            keeps_gram: false,
            matrix_room: 0.0,
            gives_rows: false,
            pass: 0.0,
            keeps_f32: false,
        }
    }
}

/// What one pass over the loss of all rows gives.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LossSums {
    /// Σ ω ℓ.
    pub(crate) value: f64,
    /// Σ −ω ℓ*(∇ℓ), for the lower bound.
    pub(crate) dual: f64,
    /// The same of absolute values; Σ ω‖∇ℓ‖; Σ ω‖∇ℓ‖‖x‖. They say how large the rounding of `dual` and of the gradient can be.
    pub(crate) size: f64,
    pub(crate) mass: f64,
    pub(crate) reach: f64,
    /// Σ ω‖∇ℓ‖ times what rows have lost: how long the part of the gradient can be that is not in any feature.
    pub(crate) lost: f64,
}

/// A pair of classes by its number and its classes, the first below the second.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClassPair {
    pub(crate) number: usize,
    pub(crate) first: usize,
    pub(crate) second: usize,
}

/// What is to be written out of the matrix Σᵢ Hᵢ ⊗ x̃ᵢx̃ᵢᵀ.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WriteOut {
    /// About so many parts will do, the heaviest of them one by one, ...
    pub(crate) heaviest: Option<usize>,
    /// ... and the others as the mean x̃x̃ᵀ of their class. Else some of the others stand for all of them.
    pub(crate) lumps: bool,
    /// Single precision will do, where it is faster.
    pub(crate) roughly: bool,
}

/// Is given Σᵢ hᵢ(k, l)·x̃ᵢx̃ᵢᵀ of each pair of classes: a lower triangle in columns that are so far apart, which may differ from one who answers to
/// the next. It may write there. Pairs may come several times, each time with some of the rows, and pairs without rows not at all.
pub(crate) type AddBlock<'a> = dyn FnMut(ClassPair, &mut [f64], usize) + 'a;

/// All rows of a problem, wherever they are.
///
/// They stand at a point θ, with a score per class each, and may be given a direction to go from there. `loss` is the problem's own, or what
/// [`Rows::relax`] has rounded it off to.
pub(crate) trait Rows {
    fn sizes(&self) -> Sizes;

    /// The largest error of a sum over all rows, relative to the sum of absolute values.
    fn rounding(&self) -> f64;

    /// Passes are whole from now on, whatever has happened.
    fn ignore_interrupts(&mut self);

    /// Takes all rows to θ, with scores made afresh.
    fn place(&mut self, theta: &[f64]);

    /// Gives every row the dual variables of a path that begins.
    fn begin(&mut self);

    /// Rounds the loss off to μ from now on, or (`None`) no more.
    fn relax(&mut self, mu: Option<f64>);

    /// Sums the loss and adds its gradient to `grad`. The sums that a bound needs, if asked for, are those of the problem's own loss.
    fn evaluate(&mut self, with_dual: bool, grad: &mut [f64]) -> LossSums;

    /// Σωℓ.
    fn value(&self) -> f64;

    /// Σωℓ of the problem's own loss.
    fn exact_value(&self) -> f64;

    /// The same at another point, with scores made for it.
    fn exact_value_at(&self, theta: &[f64]) -> f64;

    /// Σωℓ after a shift of the scores of all rows, and its gradient in that shift.
    fn shifted(&self, shift: &[f64]) -> Shifted;

    /// The curvature of the same, as weights of pairs of classes (c×c, one way or the other).
    fn shifted_curvature(&self, shift: &[f64]) -> Vec<f64>;

    /// Shifts the scores of all rows.
    fn shift(&mut self, shift: &[f64]);

    /// Makes `step` the direction.
    fn direct(&mut self, step: &[f64]);

    /// Says what rounds the loss off at the end of the direction, if all of it is gone. Who has to ask far away can then ask for more at once.
    fn foresee(&mut self, _mu: f64) {}

    /// Σωℓ at each of these lengths along the direction.
    fn values_along(&self, lengths: &[f64]) -> Vec<f64>;

    /// The same with its slope.
    fn slopes_along(&self, lengths: &[f64]) -> Vec<(f64, f64)>;

    /// Goes so far along the direction. Dual variables follow the whole of it; where they do not as exactly as slopes do and `with_slopes` is set, the
    /// slopes that the quadratic model promises for its end are kept beside them.
    fn advance(&mut self, length: f64, with_slopes: bool);

    /// Whether rows have dual variables.
    fn has_duals(&self) -> bool;

    /// Moves the dual variables of all rows nearer to those of the point.
    fn settle_duals(&mut self);

    /// The sums that a bound needs, and the gradient, of the slopes that the dual variables stand for; `None` if they stand for none.
    fn dual_sums(&mut self, grad: &mut [f64]) -> Option<LossSums>;

    /// Makes the curvature of every row.
    fn update_curvature(&mut self);

    /// `out += X̃ᵀHX̃·v`.
    fn multiply(&self, v: &[f64], out: &mut [f64]);

    /// Whether [`Rows::multiply_f32`] is wanted; whether it can be had.
    fn keep_f32(&mut self, _wanted: bool) -> bool {
        false
    }

    /// [`Rows::multiply`] to about six digits, where that is faster.
    fn multiply_f32(&self, v: &[f64], out: &mut [f64]) {
        self.multiply(v, out);
    }

    /// Gives the curvature of all pairs of classes to `add`, one after the other; whether it was made in single precision.
    fn blocks(&mut self, how: WriteOut, add: &mut AddBlock<'_>) -> bool;

    /// Σᵢ Hᵢ, c×c.
    fn class_curvature(&self) -> Vec<f64>;

    /// How features vary together over rows, weighted by their curvature, where that can be had.
    fn moments(&self) -> Option<Moments> {
        None
    }

    /// The mean square of every feature.
    fn mean_squares(&self) -> Vec<f64>;

    /// Takes out about `most` of the heaviest parts of the curvature, none lighter than `light` (or than 1e-8 of the heaviest, if that is less).
    /// Returns the sum over rows of what they leave, c×c. Who cannot give single rows takes out nothing.
    fn heaviest(&self, _most: usize, _light: f64, entries: &mut Entries) -> Vec<f64> {
        *entries = Entries::default();
        self.class_curvature()
    }

    /// How many those would be. There are often far fewer than `most`.
    fn count_heaviest(&self, _most: usize, _light: f64) -> usize {
        0
    }

    /// Adds such a share of the largest curvature that a row can have to that of every row.
    fn damp(&mut self, share: f64);

    /// Numbers that are stored in the columns of these parameters, each counted once per parameter.
    fn stored_in(&mut self, coordinates: &[Coordinate]) -> usize;

    /// The curvature in some parameters written out: a lower triangle, row-major.
    fn coordinate_gram(&mut self, coordinates: &[Coordinate]) -> Vec<f64>;

    /// The quadratic model in some parameters without its matrix, where columns are at hand: with first derivatives `slopes` at its start, and
    /// `ridges`, the second derivatives of what the parameters pay in squares.
    fn implicit_gram<'q>(
        &'q mut self,
        _coordinates: &'q [Coordinate],
        _slopes: Vec<f64>,
        _ridges: &'q [f64],
    ) -> Option<Box<dyn Quadratic + 'q>> {
        None
    }

    /// Some rows that [`Rows::heaviest`] has taken out, times `scale` in each feature unless that is empty, and their inner products.
    fn take(&mut self, _rows: &[u32], _scale: &[f64], _roughly: bool) -> HeavyRows {
        HeavyRows { rows: EntryRows::empty(), gram: HeavyGram::F64(Vec::new()), is_rough: false }
    }
}
