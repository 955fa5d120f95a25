//! What the weights pay. A penalty never sees labels, samples or the intercept.
//!
//! One file per penalty; weights are d×c row-major. Methods that fill gradients and products *add* to them.

mod curvature;
mod elastic_net;
mod largest;
mod lasso;
mod none;
mod pairwise;
mod pairwise_bound;
mod pairwise_ridge;
mod ridge;

use serde::{Deserialize, Serialize};

pub use curvature::Curvature;
pub use elastic_net::ElasticNet;
pub use lasso::Lasso;
pub use none::NoPenalty;
pub use pairwise::{Norm, Pairwise};
pub use pairwise_ridge::PairwiseRidge;
pub use ridge::Ridge;

use crate::certificate::pay;
use crate::parameter::{Parameters, any};

/// A λ that stands for "to be chosen from the data": [`Spec::fit`](crate::Spec::fit) puts a number in its place, and says which. It is the
/// largest number there is, so that whoever looks at a penalty before that sees one with a strength.
pub const AUTO: f64 = f64::MAX;

/// The λ of a squared norm that other programs call C = 1.
const LAMBDA_OF_C_ONE: f64 = 0.5;

/// The same for a sum of absolute values, which nobody halves.
const LASSO_OF_C_ONE: f64 = 1.0;

/// What a penalty contributes to the Fenchel lower bound when the loss gradient is scaled by t ∈ [0, `limit`]:
/// `min_U t⟨S, U⟩ + R(U) + ε‖U‖² ≥ −conjugate·t^power − quadratic·t² − Σₛ (t·s − kink)₊²/(4(ε + ridge))` with s in `beyond`.
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
    /// Whether what is taken off grows with t².
    pub(crate) fn is_quadratic(&self) -> bool {
        self.beyond.is_empty() && (self.conjugate == 0.0 || self.power == 2.0)
    }

    /// What is taken off the lower bound at t, where S is off by at most `error` in Euclidean length.
    pub(crate) fn cost(&self, t: f64, epsilon: f64, error: f64) -> f64 {
        let strength = epsilon + self.ridge;
        let over = |unit: f64| self.beyond.iter().map(|s| ((t * s - self.kink).max(0.0) / unit).powi(2)).sum::<f64>();
        let (square, top) = (over(1.0), self.beyond.iter().fold(0.0f64, |top, s| top.max(t * s - self.kink)));
        let beyond = match top > 0.0 {
            false => 0.0,
            true if square.is_normal() => square / (4.0 * strength),
            true => pay(top * over(top).sqrt(), 0.0, strength),
        };
        // Without any quadratic term there is nothing to pay with, and nothing but rounding to pay for.
        let error = if strength > 0.0 { t * (error + self.rounding) / (2.0 * strength.sqrt()) } else { 0.0 };
        let root = (self.quadratic * t * t + beyond).sqrt() + error;
        self.conjugate * t.powf(self.power) + root * root
    }
}

/// Absolute values and squares, entry by entry: see [`Penalty::separable`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Separable {
    /// λ₁, what soft thresholding subtracts; greater than 0 unless all of R is 0.
    pub threshold: f64,
    /// λ₂.
    pub ridge: f64,
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

    /// Whether R is convex, so that an optimum is global and can be certified.
    fn convex(&self) -> bool {
        true
    }

    /// Whether R has no kinks.
    fn is_smooth(&self) -> bool {
        self.separable().is_none()
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

    /// The numbers of `R(W) = threshold·‖W‖₁ + ridge·‖W‖²`, if it is that and has the kinks. Solvers that need a gradient leave such a
    /// penalty alone.
    fn separable(&self) -> Option<Separable> {
        None
    }

    /// The penalty of two columns ±w/2 that charges what this one charges for the single column w. `None` where nobody has worked it out;
    /// such a penalty is refused under one-vs-rest and one-vs-one.
    fn for_scorer(&self) -> Option<Box<dyn Penalty>> {
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

    /// The same where S has a part in directions that are not here, whose Euclidean length is at most `lost`. Only for penalties that are
    /// invariant to rotations.
    fn dual_terms_beside(
        &self,
        w: &[f64],
        classes: usize,
        loss_grad: &[f64],
        epsilon: f64,
        dual: &[f64],
        lost: f64,
    ) -> DualTerms {
        let terms = self.dual_terms(w, classes, loss_grad, epsilon, dual);
        // R is no less with weights there than without, and what charges all squares is charged for them as well.
        match lost > 0.0 {
            true => DualTerms { quadratic: terms.quadratic + pay(lost, 0.0, epsilon + terms.ridge), ..terms },
            false => terms,
        }
    }
}

any!(
    /// The penalties that have a name in the command line, in Python and in model files.
    #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(tag = "name", rename_all = "kebab-case", deny_unknown_fields)]
    AnyPenalty: Penalty {
        /// See [`Pairwise`].
        Pairwise(Pairwise),
        /// See [`PairwiseRidge`].
        PairwiseRidge(PairwiseRidge),
        /// See [`Ridge`].
        Ridge(Ridge),
        /// See [`Lasso`].
        Lasso(Lasso),
        /// See [`ElasticNet`].
        ElasticNet(ElasticNet),
        /// See [`NoPenalty`].
        None(NoPenalty),
    }
);

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
            pair(Norm::L2, f64::INFINITY),
            pair(Norm::L1, 2.0),
            pair(Norm::L1, 1.0),
            Self::PairwiseRidge(PairwiseRidge { lambda: 0.3 }),
            Self::Ridge(Ridge { lambda: 0.3 }),
            Self::Lasso(Lasso { lambda: 0.3 }),
            Self::ElasticNet(ElasticNet { lambda: 0.6, l1_ratio: 0.5 }),
            Self::None(NoPenalty {}),
        ]
    }

    /// The penalties by the names that users type, with default settings; the pairwise one goes by its norm.
    pub const NAMED: [(&str, Self); 7] = [
        ("l2", Self::Pairwise(Pairwise::of(Norm::L2))),
        ("l1", Self::Pairwise(Pairwise::of(Norm::L1))),
        ("pairwise-ridge", Self::PairwiseRidge(PairwiseRidge { lambda: Pairwise::USUAL.0 })),
        ("ridge", Self::Ridge(Ridge { lambda: Pairwise::USUAL.0 })),
        ("lasso", Self::Lasso(Lasso { lambda: Pairwise::USUAL.0 })),
        ("elastic-net", Self::ElasticNet(ElasticNet::USUAL)),
        ("none", Self::None(NoPenalty {})),
    ];

    /// The name users type.
    pub fn name(&self) -> &'static str {
        let norm = |it: &Self| if let Self::Pairwise(pairwise) = it { Some(pairwise.norm) } else { None };
        let is_own = |it: &Self| std::mem::discriminant(it) == std::mem::discriminant(self) && norm(it) == norm(self);
        Self::NAMED.iter().find(|(_, it)| is_own(it)).map_or("", |(name, _)| name)
    }

    /// λ, if the penalty has one.
    pub fn lambda(&self) -> Option<f64> {
        self.get("lambda")
    }

    /// The λ that the paper takes for distances of class vectors, and elsewhere the one that other programs call C = 1.
    pub fn usual_lambda(&self) -> f64 {
        match self {
            Self::Pairwise(_) => Pairwise::USUAL.0,
            Self::Lasso(_) | Self::ElasticNet(_) => LASSO_OF_C_ONE,
            Self::PairwiseRidge(_) | Self::Ridge(_) | Self::None(_) => LAMBDA_OF_C_ONE,
        }
    }

    /// Whether λ is to be chosen from the data.
    pub fn is_auto(&self) -> bool {
        self.lambda() == Some(AUTO)
    }

    /// The same penalty with another λ, where it has one.
    pub fn with_lambda(mut self, lambda: f64) -> Self {
        self.set("lambda", lambda);
        self
    }

    /// The share of absolute values, if the penalty is made of those and of squares.
    pub fn l1_ratio(&self) -> Option<f64> {
        if let Self::Lasso(_) = self { Some(1.0) } else { self.get("l1_ratio") }
    }

    /// The same penalty with another such share, where it has one.
    pub fn with_l1_ratio(self, l1_ratio: f64) -> Self {
        match (self.l1_ratio(), self.lambda()) {
            (Some(_), Some(lambda)) if l1_ratio == 1.0 => Self::Lasso(Lasso { lambda }),
            (Some(_), Some(lambda)) => Self::ElasticNet(ElasticNet { lambda, l1_ratio }),
            _ => self,
        }
    }

    /// The power p, if the penalty has one.
    pub fn p(&self) -> Option<f64> {
        self.get("p")
    }

    /// The same penalty with another power, where it has one.
    pub fn with_p(mut self, p: f64) -> Self {
        self.set("p", p);
        self
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
