//! Which rows hold up the margin of which class pair.

use crate::loss::AnyLoss;
use crate::penalty::pairs;

/// Support vectors per pair of classes: rows of either class on the margin or on the wrong side of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SupportVectors {
    classes: usize,
    rows: Vec<Vec<u32>>,
}

impl SupportVectors {
    /// From the scores of rows with known classes. A row counts for (y, k) if γ = 1 − (z_y − zₖ) ≥ −δ: its slope is then not
    /// negligible. `None` for losses without a margin.
    pub(crate) fn from_scores(loss: &AnyLoss, z: &[f64], y: &[u32], classes: usize) -> Option<Self> {
        let AnyLoss::SmoothHinge(hinge) = loss else {
            return None;
        };
        let slack = hinge.delta.max(1e-6);
        let mut rows = vec![Vec::new(); classes * (classes - 1) / 2];
        for (i, (z, &y)) in z.chunks_exact(classes).zip(y).enumerate() {
            for k in (0..classes).filter(|&k| k != y as usize) {
                if 1.0 - z[y as usize] + z[k] >= -slack {
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
