//! What the weights pay. A penalty never sees labels, samples or the intercept.
//!
//! One file per penalty; weights are d×c row-major. Methods that fill gradients and products *add* to them.

mod curvature;
mod lasso;
mod none;
mod pairwise;
mod pairwise_bound;
mod pairwise_ridge;
mod ridge;

use serde::{Deserialize, Serialize};

pub use curvature::Curvature;
pub use lasso::Lasso;
pub use none::NoPenalty;
pub use pairwise::{Norm, Pairwise};
pub use pairwise_ridge::PairwiseRidge;
pub use ridge::Ridge;

use crate::error::Result;

/// What a penalty contributes to the Fenchel lower bound when the loss gradient is scaled by t ∈ [0, `limit`]:
/// `min_U t⟨S, U⟩ + R(U) + ε‖U‖² ≥ −conjugate·t^power − quadratic·t² − Σₛ (t·s − kink)₊²/(4ε)` with s in `beyond`.
///
/// `quadratic` must be a square over 4(ε + `ridge`) at least: rounding of S and of what the penalty makes of it is charged as a part of it.
#[derive(Clone, Debug)]
pub struct DualTerms {
    /// Σ R*(ζ) at t = 1.
    pub conjugate: f64,
    /// Degree of homogeneity of R*; irrelevant where `conjugate` is 0.
    pub power: f64,
    /// What the ε-term pays at t = 1.
    pub quadratic: f64,
    /// How much more than ε the squares of all weights cost in R.
    pub ridge: f64,
    /// How far (in Euclidean length) rounding has taken the slope behind `quadratic` from what it should be at t = 1, that of S apart.
    pub rounding: f64,
    /// Largest feasible t, at most 1.
    pub limit: f64,
    /// Slopes that exceed the kink of their entry, where the kinks of R are all alike; empty for other penalties.
    pub beyond: Vec<f64>,
    /// Half the jump of the slope of R at such a kink.
    pub kink: f64,
}

impl Default for DualTerms {
    /// The terms of a penalty that costs the bound nothing.
    fn default() -> Self {
        let (conjugate, quadratic, ridge, rounding, kink) = (0.0, 0.0, 0.0, 0.0, 0.0);
        Self { conjugate, power: 1.0, quadratic, ridge, rounding, limit: 1.0, beyond: Vec::new(), kink }
    }
}

impl DualTerms {
    /// What is taken off the lower bound at t, where S is off by at most `error` in Euclidean length.
    pub(crate) fn cost(&self, t: f64, epsilon: f64, error: f64) -> f64 {
        let square: f64 = self.beyond.iter().map(|s| (t * s - self.kink).max(0.0).powi(2)).sum();
        let beyond = if square > 0.0 { square / (4.0 * epsilon) } else { 0.0 };
        let strength = epsilon + self.ridge;
        // Without any quadratic term there is nothing to pay with, and nothing but rounding to pay for.
        let error = if strength > 0.0 { t * (error + self.rounding) / (2.0 * strength.sqrt()) } else { 0.0 };
        let root = (self.quadratic * t * t + beyond).sqrt() + error;
        self.conjugate * t.powf(self.power) + root * root
    }
}

/// R(W), convex unless it says otherwise.
pub trait Penalty: Send + Sync + std::fmt::Debug {
    /// Returns R(W) and adds ∇R(W) to `grad`.
    fn value_grad(&self, w: &[f64], classes: usize, grad: &mut [f64]) -> f64;

    /// R(W) alone.
    fn value(&self, w: &[f64], classes: usize) -> f64;

    /// Adds ∇²R(W)·v to `out`, where ∇² exists.
    fn hess_vec(&self, w: &[f64], classes: usize, v: &[f64], out: &mut [f64]);

    /// What it is and its settings, in a few words for reports.
    fn describe(&self) -> String {
        format!("{self:?}")
    }

    /// Refuses parameters outside their range.
    fn check(&self) -> Result<()> {
        Ok(())
    }

    /// Whether R is convex, so that an optimum is global and can be certified.
    fn convex(&self) -> bool {
        true
    }

    /// Whether R(QW) = R(W) for every rotation Q of feature space, so that the optimum lies in the span of the rows.
    fn rotation_invariant(&self) -> bool {
        true
    }

    /// The t for which `R + ε‖·‖²` is smallest after t has been subtracted from all weights of one feature.
    fn centre(&self, row: &[f64], _epsilon: f64) -> f64 {
        row.iter().sum::<f64>() / row.len() as f64
    }

    /// Whether [`Penalty::centre`] is the class mean. Solvers then leave that direction out of their systems.
    fn centre_is_mean(&self) -> bool {
        true
    }

    /// λ, if R(W) = λ‖W‖₁: what soft thresholding subtracts. Solvers that need a gradient leave such a penalty alone.
    fn threshold(&self) -> Option<f64> {
        None
    }

    /// The number t, if R(W) = t‖W‖² for all class vectors that sum to zero.
    fn ridge(&self, _classes: usize) -> Option<f64> {
        None
    }

    /// R with its kinks rounded off at radius τ; `None` if R has none.
    fn relaxed(&self, _tau: f64) -> Option<Box<dyn Penalty>> {
        None
    }

    /// Numbers of dual state that [`Penalty::curvature`] wants to be kept for it (started at 0).
    fn dual_len(&self, _features: usize, _classes: usize) -> usize {
        0
    }

    /// The curvature for a Newton step; positive semidefinite whatever the dual state.
    fn curvature(&self, w: &[f64], classes: usize, dual: &[f64]) -> Curvature;

    /// Moves the dual state along with a full Newton step.
    fn move_dual(&self, _w: &[f64], _classes: usize, _step: &[f64], _dual: &mut [f64]) {}

    /// Lower bound of `⟨S, U⟩ + R(U) + ε‖U‖²` over all U, from the point `w` at which the loss has gradient S. Also valid for
    /// the exact penalty when `self` is a relaxed one. `dual` is its dual state, or empty to go by the gradient.
    fn dual_terms(&self, w: &[f64], classes: usize, loss_grad: &[f64], epsilon: f64, dual: &[f64]) -> DualTerms;
}

/// The penalties that have a name in the command line, in Python and in model files.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "kebab-case", deny_unknown_fields)]
pub enum AnyPenalty {
    /// See [`Pairwise`].
    Pairwise(Pairwise),
    /// See [`PairwiseRidge`].
    PairwiseRidge(PairwiseRidge),
    /// See [`Ridge`].
    Ridge(Ridge),
    /// See [`Lasso`].
    Lasso(Lasso),
    /// See [`NoPenalty`].
    None(NoPenalty),
}

impl AnyPenalty {
    /// A representative of every kind, for test tables and docs.
    pub fn examples() -> Vec<Self> {
        let pair = |norm, p| Self::Pairwise(Pairwise::new(norm, 0.3, p));
        vec![
            pair(Norm::L2, 4.0),
            pair(Norm::L2, 2.0),
            pair(Norm::L2, 1.5),
            pair(Norm::L2, 1.0),
            pair(Norm::L2, 0.5),
            pair(Norm::L1, 2.0),
            pair(Norm::L1, 1.0),
            Self::PairwiseRidge(PairwiseRidge { lambda: 0.3 }),
            Self::Ridge(Ridge { lambda: 0.3 }),
            Self::Lasso(Lasso { lambda: 0.3 }),
            Self::None(NoPenalty {}),
        ]
    }

    /// The name users type; the pairwise penalty goes by its norm.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Pairwise(p) if p.norm == Norm::L1 => "l1",
            Self::Pairwise(_) => "l2",
            Self::PairwiseRidge(_) => "pairwise-ridge",
            Self::Ridge(_) => "ridge",
            Self::Lasso(_) => "lasso",
            Self::None(_) => "none",
        }
    }

    /// λ, if the penalty has one.
    pub fn lambda(&self) -> Option<f64> {
        match self {
            Self::Pairwise(p) => Some(p.lambda),
            Self::PairwiseRidge(p) => Some(p.lambda),
            Self::Ridge(p) => Some(p.lambda),
            Self::Lasso(p) => Some(p.lambda),
            Self::None(_) => None,
        }
    }

    /// The same penalty with another λ, where it has one.
    pub fn with_lambda(mut self, lambda: f64) -> Self {
        match &mut self {
            Self::Pairwise(p) => p.lambda = lambda,
            Self::PairwiseRidge(p) => p.lambda = lambda,
            Self::Ridge(p) => p.lambda = lambda,
            Self::Lasso(p) => p.lambda = lambda,
            Self::None(_) => {}
        }
        self
    }

    /// The power p, if the penalty has one.
    pub fn p(&self) -> Option<f64> {
        match self {
            Self::Pairwise(pairwise) => Some(pairwise.p),
            _ => None,
        }
    }

    /// The same penalty with another power, where it has one.
    pub fn with_p(mut self, p: f64) -> Self {
        if let Self::Pairwise(pairwise) = &mut self {
            pairwise.p = p;
        }
        self
    }

    /// The penalty behind the name.
    pub fn as_dyn(&self) -> &dyn Penalty {
        match self {
            Self::Pairwise(p) => p,
            Self::PairwiseRidge(p) => p,
            Self::Ridge(p) => p,
            Self::Lasso(p) => p,
            Self::None(p) => p,
        }
    }
}

impl Default for AnyPenalty {
    fn default() -> Self {
        Self::Pairwise(Pairwise::default())
    }
}

/// The d×c matrix as c×d: class vectors become contiguous.
pub(crate) fn by_class(w: &[f64], classes: usize) -> Vec<f64> {
    let d = w.len() / classes;
    let mut out = vec![0.0; w.len()];
    for (j, row) in w.chunks_exact(classes).enumerate() {
        row.iter().enumerate().for_each(|(k, v)| out[k * d + j] = *v);
    }
    out
}

/// Adds `w(eₖ − eₗ)(eₖ − eₗ)ᵀ` to a c×c matrix.
pub(crate) fn add_pair(m: &mut [f64], c: usize, k: usize, l: usize, w: f64) {
    m[k * c + k] += w;
    m[l * c + l] += w;
    m[k * c + l] -= w;
    m[l * c + k] -= w;
}

/// Calls `f(number, k, l)` for the pairs k < l in a fixed order.
pub(crate) fn pairs(classes: usize, mut f: impl FnMut(usize, usize, usize)) {
    let mut number = 0;
    for k in 0..classes {
        for l in k + 1..classes {
            f(number, k, l);
            number += 1;
        }
    }
}
