//! How features vary together over rows that weigh something.

use rayon::prelude::*;

use super::in_memory::Curved;
use super::outer::OuterProducts;
use super::tuning::ENGINE;
use crate::loss::Shape;

/// Sums over rows that are made side by side.
const PARTS: usize = 4;

/// `G = Σᵢ τᵢ x̃ᵢx̃ᵢᵀ / Σᵢ τᵢ`, where τᵢ is what the curvature of row i weighs.
pub(crate) struct Moments {
    /// The lower triangle of G, d̃×d̃.
    pub(crate) matrix: Vec<f32>,
    /// Σᵢ τᵢ, by which those of parts of the rows are added up.
    pub(crate) weight: f64,
}

impl Moments {
    /// Adds those of other rows.
    pub(crate) fn add(&mut self, other: &Self) {
        let weight = self.weight + other.weight;
        let share = |part: f64| (part / weight.max(f64::MIN_POSITIVE)) as f32;
        let (own, more) = (share(self.weight), share(other.weight));
        self.matrix.iter_mut().zip(&other.matrix).for_each(|(m, p)| *m = own * *m + more * p);
        self.weight = weight;
    }

    pub(super) fn of(a: &Curved<'_>) -> Self {
        let (n, width, len) = (a.risk.x.rows(), a.risk.problem.width(), a.shape.len(a.risk.problem.classes));
        let weights: Vec<f64> = a.h.chunks_exact(len).map(|h| weight(a.shape, h)).collect();
        let weight = weights.iter().sum::<f64>();
        let total = weight.max(f64::MIN_POSITIVE);
        let heavy: Vec<u32> =
            (0..n as u32).filter(|i| weights[*i as usize] * n as f64 > ENGINE.light * total).collect();
        let heavy_weight: f64 = heavy.iter().map(|i| weights[*i as usize]).sum();
        // Every fourth row each: in all windows there are rows of all parts.
        let part = |first: usize| heavy.iter().copied().skip(first).step_by(PARTS).collect();
        let parts: Vec<Vec<u32>> = (0..PARTS).map(part).collect();
        let mut sums: Vec<OuterProducts<f32>> = parts.iter().map(|_| OuterProducts::new(width)).collect();
        a.risk.x.for_each_window(|x| {
            sums.par_iter_mut().zip(&parts).for_each(|(sum, rows)| {
                x.of(rows).iter().for_each(|&i| sum.push(a.risk, x, i as usize, (weights[i as usize] / total).sqrt()));
                sum.settle(a.risk, x);
            });
        });
        let mut matrix = vec![0.0; width * width];
        for part in sums.into_iter().map(OuterProducts::into_block) {
            matrix.iter_mut().zip(&part).for_each(|(m, p)| *m += p);
        }
        let more = if heavy_weight > 0.0 { total / heavy_weight } else { 1.0 };
        (0..width).for_each(|j| matrix[j * width + j] *= more as f32);
        Self { matrix, weight }
    }
}

/// The weights of all pairs of classes of a row together.
fn weight(shape: Shape, h: &[f64]) -> f64 {
    let sum: f64 = h.iter().sum();
    match shape {
        Shape::Star => sum,
        _ => 0.5 * (sum - h.iter().map(|h| h * h).sum::<f64>() / sum.max(f64::MIN_POSITIVE)),
    }
}
