//! The lasso: weights that do not pay for themselves become exactly zero.

use serde::{Deserialize, Serialize};

use super::{Curvature, DualTerms, Penalty, Separable};
use crate::parameter::{STRENGTH, parameters};
use crate::text::plain;

/// ```text
/// R(W) = λ Σⱼₖ |wⱼₖ|
/// ```
///
/// With [`Softmax`](crate::loss::Softmax) this is sparse multinomial logistic regression. A feature whose weights are all zero can be
/// left out of the data. The kinks at zero are the point, so nothing rounds them off: [`Proximal`](crate::solver::Proximal) minimises it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lasso {
    /// Strength, at least 0.
    pub lambda: f64,
}

parameters!(Lasso {
    lambda: f64, STRENGTH.0, STRENGTH.1, STRENGTH.2;
});

impl Penalty for Lasso {
    fn value_grad(&self, w: &[f64], classes: usize, grad: &mut [f64]) -> f64 {
        let slope = |w: f64| if w == 0.0 { 0.0 } else { self.lambda * w.signum() };
        grad.iter_mut().zip(w).for_each(|(g, w)| *g += slope(*w));
        self.value(w, classes)
    }

    fn value(&self, w: &[f64], _classes: usize) -> f64 {
        self.lambda * w.iter().map(|w| w.abs()).sum::<f64>()
    }

    fn hess_vec(&self, _w: &[f64], _classes: usize, _v: &[f64], _out: &mut [f64]) {}

    fn describe(&self) -> String {
        format!("lasso, lambda {}", plain(self.lambda))
    }

    fn rotation_invariant(&self) -> bool {
        false
    }

    /// A median that ε pulls towards the mean, and 0 wherever there are zeros enough.
    fn centre(&self, row: &[f64], epsilon: f64) -> f64 {
        let mut sorted = row.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let (sum, count) = (row.iter().sum::<f64>(), row.len());
        let mut last = sorted[0];
        for (below, next) in sorted.iter().copied().chain([f64::INFINITY]).enumerate() {
            // The slope λ(2·below − c) + 2ε(ct − Σw) grows with t: this is the first stretch in which it reaches 0.
            let kinks = self.lambda * (2.0 * below as f64 - count as f64);
            let root =
                if epsilon > 0.0 { (sum - kinks / (2.0 * epsilon)) / count as f64 } else { -kinks * f64::INFINITY };
            if root <= next || (epsilon == 0.0 && kinks >= 0.0) {
                return root.max(last);
            }
            last = next;
        }
        0.0
    }

    fn centre_is_mean(&self) -> bool {
        false
    }

    fn separable(&self) -> Option<Separable> {
        Some(Separable { threshold: self.lambda, ridge: 0.0 })
    }

    fn for_scorer(&self) -> Option<Box<dyn Penalty>> {
        // |w/2| + |w/2| = |w|.
        Some(Box::new(*self))
    }

    fn curvature(&self, w: &[f64], classes: usize, _dual: &[f64]) -> Curvature {
        Curvature::ridge(0.0, w.len() / classes, classes)
    }

    /// `min_u s·u + λ|u| + εu² = −(|s| − λ)₊²/(4ε)`, entry by entry.
    fn dual_terms(&self, _w: &[f64], _classes: usize, loss_grad: &[f64], _epsilon: f64, _dual: &[f64]) -> DualTerms {
        let beyond = loss_grad.iter().map(|s| s.abs()).filter(|s| *s > self.lambda).collect();
        DualTerms { beyond, kink: self.lambda, ..DualTerms::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        let (w, mut grad) = ([1.5, 0.0, -2.0, 0.25], [1.0; 4]);
        let value = Lasso { lambda: 2.0 }.value_grad(&w, 2, &mut grad);
        assert_eq!((value, grad), (7.5, [3.0, 1.0, -1.0, 3.0]));
    }

    #[test]
    fn the_centre_minimises_the_penalty() {
        let rows: [&[f64]; 6] = [
            &[3.0, 1.0, -2.0],
            &[1.0, 2.0, 4.0, 7.0],
            &[0.0, 0.0, 5.0, -1.0],
            &[2.0, 2.0],
            &[-3.0],
            &[0.0, 9.0, 9.5, 0.0],
        ];
        for (lambda, epsilon) in [(1.0, 1e-3), (0.1, 0.1), (0.0, 1.0), (1.0, 0.0)] {
            let lasso = Lasso { lambda };
            for row in rows {
                let value = |t: f64| {
                    let moved: Vec<f64> = row.iter().map(|w| w - t).collect();
                    lasso.value(&moved, row.len()) + epsilon * moved.iter().map(|w| w * w).sum::<f64>()
                };
                let least = (-10_000..=10_000).map(|i| value(f64::from(i) * 1e-3)).fold(f64::INFINITY, f64::min);
                let centre = lasso.centre(row, epsilon);
                assert!(value(centre) <= least + 1e-12, "{row:?} λ {lambda} ε {epsilon}: {centre}");
            }
        }
        assert_eq!(Lasso { lambda: 1.0 }.centre(&[0.0, 0.0, 5.0, -1.0], 1e-6), 0.0);
    }

    #[test]
    fn the_dual_terms_are_the_minimum_of_a_scalar_problem() {
        let (lambda, epsilon, t) = (0.7, 0.05, 0.9);
        for slope in [-3.0, -0.71, -0.7, 0.0, 0.5, 0.9, 2.0] {
            let terms = Lasso { lambda }.dual_terms(&[0.0], 1, &[slope], epsilon, &[]);
            let value = |u: f64| t * slope * u + lambda * u.abs() + epsilon * u * u;
            let least = (-40_000..=40_000).map(|i| value(f64::from(i) * 1e-3)).fold(f64::INFINITY, f64::min);
            assert!((-terms.cost(t, epsilon, 0.0) - least).abs() < 1e-7, "{slope}: {least}");
        }
    }
}
