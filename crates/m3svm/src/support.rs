//! Which rows hold up the margin of which class pair.

use crate::loss::{AnyLoss, Loss};
use crate::penalty::pairs;

/// Support vectors per pair of classes: rows of either class on the margin, on the wrong side of it or nearest to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SupportVectors {
    classes: usize,
    rows: Vec<Vec<u32>>,
}

impl SupportVectors {
    /// From the scores of rows with known classes. A row counts for (y, k) if its slope g′(γ) is at least a hundredth of the largest
    /// slope of all: the share with which it pulls at the class vectors. `None` for losses without a margin.
    pub(crate) fn from_scores(loss: &AnyLoss, z: &[f64], y: &[u32], classes: usize) -> Option<Self> {
        let AnyLoss::SmoothHinge(hinge) = loss else { return None };
        let mut slopes = vec![0.0; z.len()];
        hinge.value_grad_rows(z, y, &mut slopes, &mut vec![0.0; y.len()]);
        let pulls = |i: usize, k: usize| if k == y[i] as usize { 0.0 } else { slopes[i * classes + k] };
        let top =
            (0..y.len()).flat_map(|i| (0..classes).map(move |k| (i, k))).fold(0.0f64, |m, (i, k)| m.max(pulls(i, k)));
        let mut rows = vec![Vec::new(); classes * (classes - 1) / 2];
        for (i, &y) in y.iter().enumerate() {
            for k in (0..classes).filter(|&k| k != y as usize) {
                if top > 0.0 && pulls(i, k) >= 0.01 * top {
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

/// Number of the pair {k, l} in the order of [`pairs`].
fn pair_number(classes: usize, k: usize, l: usize) -> usize {
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
