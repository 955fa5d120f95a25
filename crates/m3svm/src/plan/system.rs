//! How the linear systems of Newton's method are solved.
//!
//! Costs are in multiply-adds, and only their ratios count: how many of one kind take as long as one of another.

use serde::Serialize;

use super::tuning::PLAN;
use crate::engine::Sizes;
use crate::loss::Shape;
use crate::problem::Problem;

/// The first way to solve systems, and what makes it change.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct SystemPlan {
    /// Whether the matrix is written out and factored from the first system on.
    pub(crate) writes_out: bool,
    /// What is written out, then or later.
    pub(crate) written: Written,
    /// What one product with the matrix costs.
    pub(crate) product: f64,
    /// Products in one system from which on writing it out is cheaper; infinite where that cannot be done.
    pub(crate) break_even: f64,
    /// Whether the first systems are preconditioned by how features vary together.
    pub(crate) kronecker: bool,
    /// Entries that are inverted exactly by the preconditioner of the later ones, to begin with and at most.
    pub(crate) entries: usize,
    pub(crate) most_entries: usize,
}

/// A matrix that is written out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) enum Written {
    /// With all digits of all rows.
    Whole,
    /// The heaviest parts one by one, the others as the mean of their class: a preconditioner.
    Lumped,
    /// In single precision and of which only half is kept, from the heaviest parts and some that stand for the others: a preconditioner, too.
    Packed,
}

impl SystemPlan {
    pub(crate) fn of(problem: &Problem<'_>, sizes: &Sizes) -> Self {
        let (n, c, d) = (sizes.rows as f64, problem.classes as f64, problem.features as f64);
        let (shape, symmetric) = (problem.loss.shape(), problem.loss.shift_invariant());
        let pairs_per_row = if shape == Shape::Star { c - 1.0 } else { c * (c - 1.0) / 2.0 };
        let size = (d + 1.0) * (c - 1.0);
        let (form, factor) = (n * pairs_per_row * (d + 1.0).powi(2), size.powi(3) / 3.0);
        let room =
            if symmetric && problem.penalty.centre_is_mean() { sizes.matrix_room.min(PLAN.largest) } else { 0.0 };
        let lumps = size > PLAN.lumped.0 && form > PLAN.lumped.1 * factor && heavy_pairs_stand_out(problem);
        let (written, cost) = if 8.0 * size * size < room {
            (if lumps { Written::Lumped } else { Written::Whole }, form + factor)
        } else if PLAN.packed * size * size < room {
            // As many rows are written out as cost no more than the factorisation, which takes half as long in single precision.
            let thinned = if shape.pairs_are_positive() { form.min(factor) } else { form };
            (Written::Packed, thinned + 0.5 * factor)
        } else {
            (Written::Whole, f64::INFINITY)
        };
        let price = if spreads_weight(problem) {
            (d / PLAN.softmax_length).clamp(1.0, PLAN.written_price)
        } else {
            PLAN.written_price
        };
        let product = 4.0 * sizes.stored as f64 * c + 8.0 * n * c + 4.0 * c * c * d + sizes.pass;
        let break_even = cost / (price * product);
        let patience = if sizes.gives_rows { PLAN.at_once } else { PLAN.blindly };
        Self {
            writes_out: cost < patience * product,
            written,
            product,
            break_even,
            kronecker: kronecker_pays(problem, sizes, break_even),
            entries: entries(problem, sizes),
            most_entries: ((sizes.matrix_room / PLAN.entry).sqrt() as usize).min(PLAN.most_entries),
        }
    }
}

/// Where features are dense, factors cheap next to products, and kinks narrow later. `break_even`: products after which the matrix is
/// written out, if that is soon.
fn kronecker_pays(problem: &Problem<'_>, sizes: &Sizes, break_even: f64) -> bool {
    let (n, d, c) = (sizes.rows as f64, problem.width() as f64, problem.classes as f64);
    let cheap = d * d <= PLAN.kronecker.0 * n && d <= PLAN.kronecker.1 * c && c <= PLAN.most_classes;
    // Half of the room that the features take.
    let fits = c * d <= n;
    let kinks = problem.loss.shape().pairs_are_positive() && problem.loss.is_hinge();
    cheap && fits && kinks && d > 0.0 && !sizes.is_sparse && break_even >= PLAN.easy as f64
}

fn entries(problem: &Problem<'_>, sizes: &Sizes) -> usize {
    if !sizes.is_sparse {
        return PLAN.entries.0;
    }
    // A factorisation that costs about as much as a few products.
    let product = 4.0 * sizes.stored as f64 * problem.classes as f64;
    ((PLAN.sparse_price * product).cbrt() as usize).clamp(PLAN.entries.0, PLAN.entries.1)
}

/// Whether there are so many more rows than parameters that room beside the data would be missed.
pub(crate) fn many_rows(problem: &Problem<'_>, sizes: &Sizes) -> bool {
    sizes.rows > PLAN.many_rows * problem.weights_len()
}

/// Whether it pays to treat the heaviest pairs of classes of single rows on their own. Their weights must be positive, or what is left
/// would not be, and few must carry most of it. Kinks see to that, softmax spreads its weight over all rows.
fn heavy_pairs_stand_out(problem: &Problem<'_>) -> bool {
    match problem.loss.shape() {
        Shape::Star => true,
        Shape::Simplex => !spreads_weight(problem),
        Shape::SimplexAndLine | Shape::Dense => false,
    }
}

/// Whether all rows carry weight and none stand out, as with softmax, which has no kinks.
fn spreads_weight(problem: &Problem<'_>) -> bool {
    problem.loss.shape() == Shape::Simplex && !problem.loss.is_hinge()
}
