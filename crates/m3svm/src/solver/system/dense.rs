//! The Newton matrix written out and factored by Cholesky.
//!
//! With a shift-invariant loss the matrix is a graph Laplacian over the classes, one d×d block per pair: block (k, l) is −E with
//! `E = Σᵢ hᵢ(k,l) x̃ᵢx̃ᵢᵀ + Bₖₗ`, and the diagonal blocks are sums of the same E. Only the pairs are formed ([`Rows::blocks`]). The last class is
//! left out (steps are found for it = 0 and centred afterwards), which makes the matrix (c−1)/c as large.
//!
//! [`Rows::blocks`]: crate::engine::Rows::blocks

use std::ops::Range;

use super::Matrix;
use super::cholesky::{factor, factor_lifted, solve_factored};
use super::packed::PackedMatrix;
use super::tuning::SYSTEM;
use crate::engine::WriteOut;
use crate::lanes::Lanes;
use crate::penalty::pairs;
use crate::plan::Written;
use crate::problem::Problem;

/// Buffers for forming and factoring, kept between steps.
pub(crate) struct Dense {
    how: Written,
    /// Of these two one is used.
    matrix: Vec<f64>,
    packed: PackedMatrix,
    width: usize,
    /// There have been sums in single precision, and they have failed.
    is_rough: bool,
    doubtful: bool,
    /// What was added to the diagonal, relative to its largest entry, to make up for rounding.
    lift: f64,
}

impl Dense {
    pub(crate) fn new(problem: &Problem<'_>, how: Written) -> Self {
        let (width, packed) = (problem.width(), PackedMatrix::default());
        Self { how, matrix: Vec::new(), packed, width, is_rough: false, doubtful: false, lift: 0.0 }
    }

    /// No more sums in single precision; whether there have been any until now.
    pub(crate) fn distrust(&mut self) -> bool {
        !std::mem::replace(&mut self.doubtful, true) && self.is_rough
    }

    /// Whether there has been a system yet.
    pub(crate) fn is_factored(&self) -> bool {
        !self.matrix.is_empty() || self.packed.is_factored()
    }

    /// Whether [`Dense::apply`] inverts the matrix exactly.
    pub(crate) fn is_exact(&self) -> bool {
        self.how == Written::Whole && self.lift == 0.0
    }

    /// Forms and factors the matrix, where a few digits are enough from sums in single precision; `false` if it is not positive
    /// definite within rounding, or the fit is interrupted.
    ///
    /// Curvature of 1/δ next to penalties that are small spans more digits than there are. Where the factorisation fails for that, a
    /// lifted diagonal makes the matrix a preconditioner.
    pub(crate) fn prepare(&mut self, a: &mut Matrix<'_>, roughly: bool) -> bool {
        let size = self.width * (a.problem.classes - 1);
        if self.how == Written::Packed {
            return self.pack(a, size);
        }
        if roughly && !self.doubtful {
            self.lift = 0.0;
            let mut matrix = std::mem::take(&mut self.matrix);
            let rough = self.form(a, true, &mut WholeMatrix { numbers: &mut matrix, size });
            self.matrix = matrix;
            if !rough {
                // There was nothing to gain, and nothing is lost.
                return factor(&mut self.matrix, size, a.problem.heed) || self.lifted(a, &SYSTEM.lifts[1..]);
            }
            self.is_rough = true;
            let diagonal: Vec<f64> = (0..size).map(|j| self.matrix[j * size + j]).collect();
            let done = factor(&mut self.matrix, size, a.problem.heed);
            // A pivot that is next to nothing of its diagonal entry is made of the rounding of the sums.
            let sound = |(j, entry): (usize, &f64)| self.matrix[j * size + j].powi(2) > SYSTEM.rounded * entry;
            if done && diagonal.iter().enumerate().all(sound) {
                return true;
            }
            self.doubtful = true;
        }
        self.lifted(a, &SYSTEM.lifts)
    }

    /// Forms and factors it in single precision.
    fn pack(&mut self, a: &mut Matrix<'_>, size: usize) -> bool {
        let mut packed = std::mem::take(&mut self.packed);
        let done = SYSTEM.packed_lifts.iter().any(|lift| {
            packed.clear(size);
            self.form(a, true, &mut packed);
            !a.problem.heed.is_stopped() && packed.factor(*lift, a.problem.heed)
        });
        self.packed = packed;
        done
    }

    /// Forms and factors the matrix with the first of these lifts that makes it positive definite.
    fn lifted(&mut self, a: &mut Matrix<'_>, lifts: &[f64]) -> bool {
        let (size, heed) = (self.width * (a.problem.classes - 1), a.problem.heed);
        let mut matrix = std::mem::take(&mut self.matrix);
        let lift = factor_lifted(&mut matrix, size, lifts, heed, |matrix| {
            self.form(a, false, &mut WholeMatrix { numbers: matrix, size });
        });
        self.matrix = matrix;
        // Where none does it the matrix is not to be believed.
        self.lift = lift.unwrap_or(f64::INFINITY);
        lift.is_some()
    }

    /// `out = A⁻¹·r` for a centred right-hand side.
    pub(crate) fn apply(&self, problem: &Problem<'_>, r: &[f64], out: &mut [f64]) {
        let (c, width) = (problem.classes, self.width);
        // Class-major: entry (class k, feature j) sits at k·width + j.
        let mut small = vec![0.0; width * (c - 1)];
        for (j, row) in r.chunks_exact(c).enumerate() {
            (0..c - 1).for_each(|k| small[k * width + j] = row[k]);
        }
        match self.how {
            Written::Packed => self.packed.solve(&mut small),
            _ => solve_factored(&self.matrix, small.len(), &mut small),
        }
        for (j, row) in out.chunks_exact_mut(c).enumerate() {
            (0..c - 1).for_each(|k| row[k] = small[k * width + j]);
            row[c - 1] = 0.0;
        }
        problem.centre(out);
    }

    /// Writes the matrix out; whether it comes from sums in single precision.
    fn form(&self, a: &mut Matrix<'_>, roughly: bool, matrix: &mut impl LowerHalf) -> bool {
        let (c, width) = (a.problem.classes, self.width);
        let size = width * (c - 1);
        matrix.begin(size);
        // Conjugate gradients mend the rest.
        let of_factor = |share: usize| size.pow(3) / (share * width * width);
        let how = match self.how {
            Written::Whole => WriteOut { heaviest: None, lumps: false, roughly },
            Written::Lumped => WriteOut { heaviest: Some(of_factor(SYSTEM.lumped)), lumps: true, roughly },
            Written::Packed => WriteOut { heaviest: Some(of_factor(SYSTEM.thinned)), lumps: false, roughly },
        };
        let penalty = a.penalty;
        let mut seen = vec![false; c * (c - 1) / 2];
        let rough = a.rows.blocks(how, &mut |pair, block, stride| {
            if !std::mem::replace(&mut seen[pair.number], true) {
                penalty.add_pair(pair.number, pair.first, pair.second, block, stride);
            }
            scatter(matrix, block, stride, width, pair.first, pair.second, c);
        });
        let mut alone = Vec::new();
        pairs(c, |pair, k, l| {
            if !seen[pair] {
                alone.clear();
                alone.resize(width * width, 0.0);
                penalty.add_pair(pair, k, l, &mut alone, width);
                scatter(matrix, &alone, width, width, k, l, c);
            }
        });
        // ρ and ε act on centred steps: Tᵀ(ρI)T = ρ(I − 11ᵀ/c).
        let ridge = |j: usize| 2.0 * a.problem.epsilon + if j < a.problem.features { a.penalty.ridge } else { 0.0 };
        for k in 0..c - 1 {
            for l in k..c - 1 {
                for j in 0..width {
                    let share = f64::from(u8::from(k == l)) - 1.0 / c as f64;
                    let row = l * width + j;
                    add(matrix.column(k * width + j, row..row + 1), &[ridge(j)], share);
                }
            }
        }
        rough
    }
}

/// The lower half of a symmetric matrix, column by column.
trait LowerHalf {
    type Number: Lanes;

    /// All zeros.
    fn begin(&mut self, size: usize);

    /// Some rows of a column, none above the diagonal.
    fn column(&mut self, column: usize, rows: Range<usize>) -> &mut [Self::Number];
}

struct WholeMatrix<'a> {
    numbers: &'a mut Vec<f64>,
    size: usize,
}

impl LowerHalf for WholeMatrix<'_> {
    type Number = f64;

    fn begin(&mut self, size: usize) {
        self.size = size;
        self.numbers.clear();
        self.numbers.resize(size * size, 0.0);
    }

    fn column(&mut self, column: usize, rows: Range<usize>) -> &mut [f64] {
        let start = column * self.size;
        &mut self.numbers[start + rows.start..start + rows.end]
    }
}

impl LowerHalf for PackedMatrix {
    type Number = f32;

    fn begin(&mut self, size: usize) {
        self.clear(size);
    }

    fn column(&mut self, column: usize, rows: Range<usize>) -> &mut [f32] {
        Self::column(self, column, rows)
    }
}

fn add<'e, T: Lanes>(to: &mut [T], from: impl IntoIterator<Item = &'e f64>, times: f64) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to = T::rounded(to.widened() + times * from));
}

/// Adds E (in columns `stride` apart) to the diagonal blocks of k and l and subtracts it from block (l, k), in the lower triangle of
/// the matrix.
fn scatter(
    matrix: &mut impl LowerHalf,
    block: &[f64],
    stride: usize,
    width: usize,
    k: usize,
    l: usize,
    classes: usize,
) {
    for m in [k, l] {
        if m + 1 < classes {
            for j in 0..width {
                let out = matrix.column(m * width + j, m * width + j..(m + 1) * width);
                add(out, &block[j * stride + j..j * stride + width], 1.0);
            }
        }
    }
    if l + 1 < classes {
        for j in 0..width {
            let (upper, lower) = matrix.column(k * width + j, l * width..(l + 1) * width).split_at_mut(j);
            add(lower, &block[j * stride + j..j * stride + width], -1.0);
            add(upper, block[j..].iter().step_by(stride), -1.0);
        }
    }
}
