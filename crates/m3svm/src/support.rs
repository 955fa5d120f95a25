//! Which rows hold up the margin of which class pair.

use crate::loss::{AnyLoss, Loss};
use crate::penalty::pairs;
use crate::scheme::Scheme;
use crate::spec::Spec;

/// Rounding of an exact hinge in scores: rows this near to the margin are on it.
const ROUNDING: f64 = 1e-3;

/// Support vectors per pair of classes: rows of either class on the margin, on the wrong side of it or nearest to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SupportVectors {
    classes: usize,
    rows: Vec<Vec<u32>>,
}

impl SupportVectors {
    /// From what the scorers say of rows with known classes. A row counts for (y, k) if its slope g′(γ) is at least a hundredth of the
    /// largest slope of all: the share with which it pulls at the class vectors. `None` for losses without a margin.
    pub(crate) fn from_scores(spec: &Spec, raw: &[f64], y: &[u32], classes: usize) -> Option<Self> {
        // The exact hinge has no slope on the margin itself, where its support vectors lie.
        let rounded = spec.loss.as_dyn().relaxed(ROUNDING);
        let loss: &dyn Loss = match (&rounded, spec.loss) {
            (Some(rounded), _) => rounded.as_ref(),
            (None, AnyLoss::SmoothHinge(_) | AnyLoss::TopKHinge(_)) => spec.loss.as_dyn(),
            _ => return None,
        };
        let slopes = slopes(spec.scheme, loss, raw, y, classes);
        let top = slopes.iter().copied().fold(0.0, f64::max);
        let mut rows = vec![Vec::new(); classes * (classes - 1) / 2];
        for (i, &y) in y.iter().enumerate() {
            for k in (0..classes).filter(|&k| k != y as usize) {
                if top > 0.0 && slopes[i * classes + k] >= 0.01 * top {
                    rows[pair_number(classes, y as usize, k)].push(i as u32);
                }
            }
        }
        Some(Self { classes, rows })
    }

    /// The rows that support the margin between two classes, ascending.
    pub fn rows(&self, k: usize, l: usize) -> &[u32] {
        if k == l { &[] } else { &self.rows[pair_number(self.classes, k, l)] }
    }

    /// How many there are for each pair (c×c, symmetric, 0 on the diagonal).
    pub fn counts(&self) -> Vec<usize> {
        let c = self.classes;
        let mut out = vec![0; c * c];
        pairs(c, |pair, k, l| {
            (out[k * c + l], out[l * c + k]) = (self.rows[pair].len(), self.rows[pair].len());
        });
        out
    }

    /// Rows that support at least one margin, ascending.
    pub fn all(&self) -> Vec<u32> {
        let mut all: Vec<u32> = self.rows.concat();
        all.sort_unstable();
        all.dedup();
        all
    }
}

/// How strongly every row pulls at the margin between its class and each other one (n×c; 0 for its own).
fn slopes(scheme: Scheme, loss: &dyn Loss, raw: &[f64], y: &[u32], classes: usize) -> Vec<f64> {
    let mut slopes = vec![0.0; y.len() * classes];
    if scheme == Scheme::Joint {
        loss.value_grad_rows(raw, y, &mut slopes, &mut vec![0.0; y.len()]);
        slopes.chunks_exact_mut(classes).zip(y).for_each(|(row, y)| row[*y as usize] = 0.0);
        return slopes;
    }
    let scorers = scheme.scorers(classes);
    for (i, &y) in y.iter().enumerate() {
        let y = y as usize;
        for k in (0..classes).filter(|&k| k != y) {
            // The score that speaks for class k, against y or against all.
            let score = match scheme {
                Scheme::OneVsOne => {
                    let said = raw[i * scorers + pair_number(classes, y, k)];
                    if k < y { said } else { -said }
                }
                _ => raw[i * scorers + k],
            };
            let mut slope = [0.0; 2];
            loss.value_grad(&[0.0, score], 0, &mut slope);
            slopes[i * classes + k] = slope[1];
        }
    }
    slopes
}

/// Number of the pair {k, l} in the order of [`pairs`].
pub(crate) fn pair_number(classes: usize, k: usize, l: usize) -> usize {
    let (k, l) = (k.min(l), k.max(l));
    k * (2 * classes - k - 1) / 2 + l - k - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pair_numbers_follow_the_order_of_the_pairs() {
        pairs(5, |pair, k, l| assert_eq!((pair_number(5, k, l), pair_number(5, l, k)), (pair, pair)));
    }
}
