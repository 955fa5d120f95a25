//! Distances between the two sides of margins.

use super::Model;
use crate::scheme::Scheme;
use crate::support::pair_number;

impl Model {
    /// The distance between the two sides of the margin of a pair, in scaled features (or in the space of the kernel); ∞ where its vector is 0.
    ///
    /// It is 2/‖wₖ − wₗ‖ where the scores of the two classes shall differ by 1, 4/‖wₖ − wₗ‖ for one-vs-rest, where they shall differ
    /// by 2 (1 and −1), and 2/‖wₖₗ‖ for one-vs-one.
    pub fn margin(&self, k: usize, l: usize) -> f64 {
        let columns = self.weights.chunks_exact(self.scorers());
        let (k, l) = (k.min(l), k.max(l));
        let pair = if k == l { 0 } else { pair_number(self.classes.len(), k, l) };
        if let Some(expansion) = self.expansion.as_ref().filter(|_| k != l) {
            return 2.0 / expansion.lengths[pair];
        }
        // Squares of very small and very large weights would vanish or overflow.
        let length = |entries: &mut dyn Iterator<Item = f64>| {
            let entries: Vec<f64> = entries.collect();
            let square: f64 = entries.iter().map(|w| w * w).sum();
            let top = entries.iter().fold(0.0f64, |top, w| top.max(w.abs()));
            match square.is_normal() || top == 0.0 {
                true => square.sqrt(),
                false => top * entries.iter().map(|w| (w / top).powi(2)).sum::<f64>().sqrt(),
            }
        };
        2.0 / match self.spec.scheme {
            _ if k == l => 0.0,
            Scheme::Joint => length(&mut columns.map(|w| w[k] - w[l])),
            Scheme::OneVsRest => length(&mut columns.map(|w| 0.5 * (w[k] - w[l]))),
            Scheme::OneVsOne => length(&mut columns.map(|w| w[pair])),
        }
    }

    /// All margins, c×c; ∞ on the diagonal.
    pub fn margins(&self) -> Vec<f64> {
        let c = self.classes.len();
        let mut out = vec![f64::INFINITY; c * c];
        crate::penalty::pairs(c, |_, k, l| {
            let margin = self.margin(k, l);
            (out[k * c + l], out[l * c + k]) = (margin, margin);
        });
        out
    }

    /// The smallest margin and its pair of classes.
    pub fn min_margin(&self) -> (f64, usize, usize) {
        let mut best = (f64::INFINITY, 0, 1);
        crate::penalty::pairs(self.classes.len(), |_, k, l| {
            let margin = self.margin(k, l);
            if margin < best.0 {
                best = (margin, k, l);
            }
        });
        best
    }

    /// The pairs of classes whose margin is the smallest, or so near to it that nobody can tell: those that attain the maximum where p = ∞.
    pub fn pairs_of_smallest_margin(&self) -> Vec<(usize, usize)> {
        const NEAR: f64 = 1.0 + 1e-3;
        let (least, mut found) = (self.min_margin().0, Vec::new());
        crate::penalty::pairs(self.classes.len(), |_, k, l| {
            if self.margin(k, l) <= NEAR * least {
                found.push((k, l));
            }
        });
        found
    }

    /// The pairs of classes by ascending margin, at most `count` of them.
    pub fn smallest_margins(&self, count: usize) -> Vec<(f64, usize, usize)> {
        // Sorted and cut now and then: the pairs of many classes are too many to be kept.
        let most = count.saturating_mul(2).max(1024);
        let mut all: Vec<(f64, usize, usize)> = Vec::new();
        let cut = |all: &mut Vec<(f64, usize, usize)>| {
            all.sort_by(|a, b| a.0.total_cmp(&b.0));
            all.truncate(count);
        };
        crate::penalty::pairs(self.classes.len(), |_, k, l| {
            if all.len() == most {
                cut(&mut all);
            }
            all.push((self.margin(k, l), k, l));
        });
        cut(&mut all);
        all
    }
}
