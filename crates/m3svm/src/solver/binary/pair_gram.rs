//! Pairs of classes with few rows: solved through the products of rows, most of which many pairs share.

use std::borrow::Cow;

use rayon::prelude::*;

use super::Terms;
use super::proof::prove;
use super::smo::{PairGram, Smo};
use super::tuning::PAIRS;
use crate::features::Features;
use crate::solver::{Solution, Stop};

/// The rows of every class, and their products.
pub(crate) struct Classes<'a> {
    x: &'a Features<'a>,
    parts: Vec<Class>,
}

struct Class {
    rows: Vec<u32>,
    /// What pairs need of this class, unless none does.
    made: Option<Made>,
}

struct Made {
    x: Features<'static>,
    /// All products of rows, unless they are too many to be kept.
    gram: Option<Vec<f64>>,
}

impl Made {
    fn gram(&self) -> Cow<'_, [f64]> {
        self.gram.as_deref().map_or_else(|| self.x.gram().into(), Cow::from)
    }
}

impl<'a> Classes<'a> {
    pub(crate) fn new(x: &'a Features<'a>, y: &[u32], classes: usize) -> Self {
        Self::keeping(PAIRS.most_kept, x, y, classes)
    }

    /// Keeps at most such a number of products.
    pub(super) fn keeping(most: usize, x: &'a Features<'a>, y: &[u32], classes: usize) -> Self {
        let mut rows = vec![Vec::new(); classes];
        y.iter().enumerate().for_each(|(i, k)| rows[*k as usize].push(i as u32));
        let parts = rows.into_iter().map(|rows| Class { rows, made: None }).collect();
        let mut all = Self { x, parts };
        let needed = |k: usize| (0..classes).any(|l| l != k && all.most_moves(k, l).is_some());
        let needed: Vec<bool> = (0..classes).map(needed).collect();
        let products: usize =
            all.parts.iter().zip(&needed).filter(|(_, n)| **n).map(|(c, _)| c.rows.len().pow(2)).sum();
        all.parts.par_iter_mut().zip(needed).filter(|(_, needed)| *needed).for_each(|(class, _)| {
            let x = x.take_double(&class.rows);
            let gram = (products <= most).then(|| x.gram());
            class.made = Some(Made { x, gram });
        });
        all
    }

    /// The rows of two classes, in the order in which [`Classes::solve`] takes them.
    pub(crate) fn rows(&self, k: usize, l: usize) -> impl Iterator<Item = usize> {
        self.parts[k].rows.iter().chain(&self.parts[l].rows).map(|i| *i as usize)
    }

    /// Class k against class l; `None` where Newton steps are the better way. It may end without a proof.
    pub(crate) fn solve(&self, k: usize, l: usize, terms: &Terms<'_>, tol: f64) -> Option<Solution> {
        let mut left = self.most_moves(k, l)?;
        let (mine, theirs) = (self.parts[k].made.as_ref()?, self.parts[l].made.as_ref()?);
        let (own, others) = (&mine.x, &theirs.x);
        let (first, rows) = (own.rows(), own.rows() + others.rows());
        let products = PairGram::new(terms, |stride, out| {
            write_square(&mine.gram(), 0, stride, out);
            write_square(&theirs.gram(), first, stride, &mut out[first * stride..]);
            own.cross(others, stride, first, out);
            for i in first..rows {
                (0..first).for_each(|j| out[i * stride + j] = out[j * stride + i]);
            }
        });
        let signs: Vec<f64> = (0..rows).map(|i| if i < first { 1.0 } else { -1.0 }).collect();
        let mut dual = Smo::new(terms, &products, &signs);
        let mut found = None;
        for share in PAIRS.goals {
            left -= dual.climb(share * tol, left);
            let point = prove(terms, &products.lengths(), dual.beta(), dual.intercept(), &[own, others], &signs);
            let proven = point.0.relative_gap().is_some_and(|gap| gap <= tol);
            found = Some((point, if proven { Stop::Converged } else { Stop::NoProgress }));
            if proven || left == 0 {
                break;
            }
        }
        let ((certificate, theta), stop) = found?;
        Some(Solution { theta, certificate, stop, iterations: 1, evaluations: 1 })
    }

    /// How many moves a pair may take; `None` where Newton steps are the better way from the beginning.
    fn most_moves(&self, k: usize, l: usize) -> Option<usize> {
        let rows = self.parts[k].rows.len() + self.parts[l].rows.len();
        let (m, d) = (rows as f64, self.x.cols().max(1) as f64);
        let entries = self.x.stored() as f64 / self.x.rows().max(1) as f64;
        // Through features or through rows.
        let system = (PAIRS.features.0 * m * d * d + PAIRS.features.1 * d.powi(3)).min(PAIRS.rows * m.powi(3));
        let newton = PAIRS.steps * (PAIRS.step.0 + PAIRS.step.1 * m + PAIRS.step.2 * m * entries + system);
        // Products with rows of the same class are made once for all its pairs.
        let made = PAIRS.gram_shared * m * m * (1.0 + 1.0 / (self.parts.len() as f64 - 1.0).max(1.0));
        let gram = if self.x.is_sparse() { PAIRS.gram.1 } else { PAIRS.gram.0 };
        let products = made * entries * gram + PAIRS.copied * m * m;
        let (moves, move_cost) = ((PAIRS.moves.0 + PAIRS.moves.1 * m / d) * m, PAIRS.move_overhead + m);
        let pays = rows <= PAIRS.most_rows && products + moves * move_cost < newton;
        pays.then_some((PAIRS.patience * newton / move_cost) as usize)
    }
}

/// Writes a square matrix into the columns from `first` of one with rows of `stride`.
fn write_square(matrix: &[f64], first: usize, stride: usize, out: &mut [f64]) {
    let n = matrix.len().isqrt();
    for (out, row) in out.chunks_exact_mut(stride).zip(matrix.chunks_exact(n.max(1))) {
        out[first..first + n].copy_from_slice(row);
    }
}
