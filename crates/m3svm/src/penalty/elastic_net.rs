//! The elastic net: the zeros of the lasso, and squares that spread the weights of features that say the same.

use serde::{Deserialize, Serialize};

use super::{Curvature, DualTerms, Lasso, Penalty, Ridge, Separable};
use crate::parameter::{STRENGTH, parameters};
use crate::text::plain;

/// ```text
/// R(W) = λ (ρ Σⱼₖ |wⱼₖ| + (1 − ρ) Σⱼₖ wⱼₖ²)
/// ```
///
/// ρ = 1 is the [`Lasso`], ρ = 0 the [`Ridge`]. Of features that are nearly the same the lasso picks one, by chance; here they share. Squares are not
/// halved: scikit-learn's `LogisticRegression(penalty="elasticnet", C, l1_ratio=r)` is λρ = r/C, λ(1 − ρ) = (1 − r)/(2C).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ElasticNet {
    /// Strength, at least 0.
    pub lambda: f64,
    /// ρ, from 0 to 1.
    pub l1_ratio: f64,
}

impl ElasticNet {
    /// As strong as C = 1 elsewhere, and half of each.
    pub(super) const USUAL: Self = Self { lambda: 1.0, l1_ratio: 0.5 };

    fn lasso(&self) -> Lasso {
        Lasso { lambda: self.lambda * self.l1_ratio }
    }

    fn squares(&self) -> Ridge {
        Ridge { lambda: self.lambda * (1.0 - self.l1_ratio) }
    }

    /// Without absolute values there is nothing that Newton could not do.
    fn is_ridge(&self) -> bool {
        self.lasso().lambda == 0.0
    }
}

impl Default for ElasticNet {
    fn default() -> Self {
        Self::USUAL
    }
}

parameters!(ElasticNet {
    lambda: f64, STRENGTH.0, STRENGTH.1, STRENGTH.2;
    l1_ratio: f64, "Share of absolute values in the elastic net, the rest are squares", "be from 0 to 1", |share| (0.0..=1.0).contains(&share);
});

impl Penalty for ElasticNet {
    fn value_grad(&self, w: &[f64], classes: usize, grad: &mut [f64]) -> f64 {
        self.lasso().value_grad(w, classes, grad) + self.squares().value_grad(w, classes, grad)
    }

    fn value(&self, w: &[f64], classes: usize) -> f64 {
        self.lasso().value(w, classes) + self.squares().value(w, classes)
    }

    fn hess_vec(&self, w: &[f64], classes: usize, v: &[f64], out: &mut [f64]) {
        self.squares().hess_vec(w, classes, v, out);
    }

    fn describe(&self) -> String {
        format!("elastic net, lambda {}, l1 ratio {}", plain(self.lambda), plain(self.l1_ratio))
    }

    fn rotation_invariant(&self) -> bool {
        self.is_ridge()
    }

    fn centre(&self, row: &[f64], epsilon: f64) -> f64 {
        if self.is_ridge() {
            self.squares().centre(row, epsilon)
        } else {
            self.lasso().centre(row, epsilon + self.squares().lambda)
        }
    }

    fn centre_is_mean(&self) -> bool {
        self.is_ridge()
    }

    fn separable(&self) -> Option<Separable> {
        (!self.is_ridge()).then(|| Separable { threshold: self.lasso().lambda, ridge: self.squares().lambda })
    }

    fn ridge(&self, _classes: usize) -> Option<f64> {
        self.is_ridge().then(|| self.squares().lambda)
    }

    fn for_scorer(&self) -> Option<Box<dyn Penalty>> {
        // ±w/2: the same sum of absolute values, half the sum of squares.
        let (lasso, ridge) = (self.lasso().lambda, 2.0 * self.squares().lambda);
        let lambda = lasso + ridge;
        let l1_ratio = if lambda > 0.0 { lasso / lambda } else { self.l1_ratio };
        Some(Box::new(Self { lambda, l1_ratio }))
    }

    fn curvature(&self, w: &[f64], classes: usize, dual: &[f64]) -> Curvature {
        self.squares().curvature(w, classes, dual)
    }

    /// `min_u s·u + λ₁|u| + (λ₂ + ε)u² = −(|s| − λ₁)₊²/(4(λ₂ + ε))`, entry by entry.
    fn dual_terms(&self, w: &[f64], classes: usize, loss_grad: &[f64], epsilon: f64, dual: &[f64]) -> DualTerms {
        if self.is_ridge() {
            return self.squares().dual_terms(w, classes, loss_grad, epsilon, dual);
        }
        DualTerms { ridge: self.squares().lambda, ..self.lasso().dual_terms(w, classes, loss_grad, epsilon, dual) }
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::parameter::Parameters;

    #[test]
    fn by_hand() {
        let (w, mut grad) = ([1.5, 0.0, -2.0, 0.5], [1.0; 4]);
        // λ₁ = 0.5, λ₂ = 1.5: 0.5·4 + 1.5·6.5.
        let value = ElasticNet { lambda: 2.0, l1_ratio: 0.25 }.value_grad(&w, 2, &mut grad);
        assert_eq!((value, grad), (11.75, [6.0, 1.0, -5.5, 3.0]));
    }

    #[test]
    fn the_dual_terms_are_the_minimum_of_a_scalar_problem() {
        let (epsilon, t) = (0.05, 0.9);
        for l1_ratio in [0.0, 0.3, 0.9, 1.0] {
            let net = ElasticNet { lambda: 0.7, l1_ratio };
            for slope in [-3.0, -0.71, -0.2, 0.0, 0.5, 0.9, 2.0] {
                let terms = net.dual_terms(&[0.0], 1, &[slope], epsilon, &[]);
                let value = |u: f64| t * slope * u + net.value(&[u], 1) + epsilon * u * u;
                let least = (-40_000..=40_000).map(|i| value(f64::from(i) * 1e-3)).fold(f64::INFINITY, f64::min);
                assert!((-terms.cost(t, epsilon, 0.0) - least).abs() < 1e-6, "{l1_ratio} {slope}: {least}");
            }
        }
    }

    #[test]
    fn one_vector_pays_in_two_columns_what_it_pays_alone() {
        let net = ElasticNet { lambda: 0.7, l1_ratio: 0.3 };
        for w in [-2.0, 0.0, 0.4] {
            let two = net.for_scorer().unwrap().value(&[-0.5 * w, 0.5 * w], 2);
            assert!((two - net.value(&[w], 1)).abs() < 1e-12, "{w}");
        }
    }

    #[test]
    fn a_ratio_outside_its_range_is_refused() {
        for l1_ratio in [-0.1, 1.1, f64::NAN] {
            let error = ElasticNet { lambda: 1.0, l1_ratio }.check_parameters().unwrap_err().to_string();
            assert!(error.contains("l1-ratio"), "{error}");
        }
    }
}
