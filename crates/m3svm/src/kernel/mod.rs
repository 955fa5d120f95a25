//! Scores that are not linear: kernels, and how a problem with one becomes a linear one.
//!
//! Every penalty that is invariant to rotations has its optimum in the span of the rows (representer theorem), whatever space the kernel
//! maps them to. With K = FFᵀ the rows of F stand for the rows in that space: all solvers run on F as they are ([`factor`]), and what they
//! find becomes coefficients of training rows ([`expansion`]). One file says what the value of a kernel is ([`centres`]).

mod centres;
mod expansion;
mod factor;
mod fit;
mod precomputed;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::features::Features;

pub(crate) use centres::Centres;
pub use expansion::Expansion;
pub(crate) use factor::Factor;
pub(crate) use fit::{Fitted, KernelRows, StartScores, fit};
pub(crate) use precomputed::columns_of;

/// Which inner product of two rows the scores are linear in. Names and meanings are those of scikit-learn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Kernel {
    /// ⟨x, y⟩.
    #[default]
    Linear,
    /// exp(−γ‖x − y‖²).
    Rbf {
        /// γ.
        gamma: Gamma,
    },
    /// (γ⟨x, y⟩ + c)ᵈ.
    Polynomial {
        /// d, at least 1.
        degree: u32,
        /// γ.
        gamma: Gamma,
        /// c, at least 0.
        coef0: f64,
    },
    /// exp(−γ‖x − y‖₁).
    Laplacian {
        /// γ.
        gamma: Gamma,
    },
    /// ⟨x, y⟩/(‖x‖‖y‖), 0 for rows of length 0.
    Cosine,
    /// The features are the values of a kernel: those of every row with all training rows.
    Precomputed,
}

/// γ of a kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Gamma {
    /// 1/(d·v) for d features whose values, all of them together, have the variance v.
    #[default]
    Scale,
    /// 1/d.
    Auto,
    /// This number.
    #[serde(untagged)]
    Value(f64),
}

impl Gamma {
    /// As it is typed: `scale`, `auto` or a number.
    pub fn parse(typed: &str) -> Option<Self> {
        match typed {
            "scale" => Some(Self::Scale),
            "auto" => Some(Self::Auto),
            number => number.trim().parse().ok().map(Self::Value),
        }
    }
}

impl std::fmt::Display for Gamma {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Scale => f.write_str("scale"),
            Self::Auto => f.write_str("auto"),
            Self::Value(value) => f.write_str(&crate::text::short(*value)),
        }
    }
}

impl Kernel {
    /// Every kernel with its default settings.
    pub const ALL: [Self; 6] = [
        Self::Linear,
        Self::Rbf { gamma: Gamma::Scale },
        Self::Polynomial { degree: 3, gamma: Gamma::Scale, coef0: 0.0 },
        Self::Laplacian { gamma: Gamma::Scale },
        Self::Cosine,
        Self::Precomputed,
    ];

    /// The name users type.
    pub fn name(self) -> &'static str {
        match self {
            Self::Linear => "linear",
            Self::Rbf { .. } => "rbf",
            Self::Polynomial { .. } => "polynomial",
            Self::Laplacian { .. } => "laplacian",
            Self::Cosine => "cosine",
            Self::Precomputed => "precomputed",
        }
    }

    /// The kernel of a name, with its default settings. What scikit-learn's `SVC` calls `poly` is known by that name, too.
    pub fn of_name(name: &str) -> Option<Self> {
        let name = if name == "poly" { "polynomial" } else { name };
        Self::ALL.into_iter().find(|kernel| kernel.name() == name)
    }

    /// Whether scores are linear in the features, as without any kernel.
    pub fn is_linear(&self) -> bool {
        *self == Self::Linear
    }

    /// γ, if the kernel has one.
    pub fn gamma(self) -> Option<Gamma> {
        match self {
            Self::Rbf { gamma } | Self::Polynomial { gamma, .. } | Self::Laplacian { gamma } => Some(gamma),
            Self::Linear | Self::Cosine | Self::Precomputed => None,
        }
    }

    /// The same kernel with another γ, where it has one.
    pub fn with_gamma(mut self, new: Gamma) -> Self {
        match &mut self {
            Self::Rbf { gamma } | Self::Polynomial { gamma, .. } | Self::Laplacian { gamma } => *gamma = new,
            Self::Linear | Self::Cosine | Self::Precomputed => {}
        }
        self
    }

    /// What it is and its settings, in a few words for reports.
    pub fn describe(self) -> String {
        match self {
            Self::Rbf { gamma } | Self::Laplacian { gamma } => format!("{}, gamma {gamma}", self.name()),
            Self::Polynomial { degree, gamma, coef0 } => {
                format!("polynomial, degree {degree}, gamma {gamma}, coef0 {}", crate::text::plain(coef0))
            }
            Self::Linear | Self::Cosine | Self::Precomputed => self.name().into(),
        }
    }

    /// Refuses parameters outside their range.
    pub(crate) fn check(self) -> Result<()> {
        if let Some(Gamma::Value(gamma)) = self.gamma()
            && !(gamma.is_finite() && gamma > 0.0)
        {
            return Err(Error::param("gamma", gamma, "be `scale`, `auto` or a finite number greater than 0"));
        }
        if let Self::Polynomial { degree, coef0, .. } = self {
            if !(1..=100).contains(&degree) {
                return Err(Error::param("degree", degree, "be between 1 and 100"));
            }
            if !(coef0.is_finite() && coef0 >= 0.0) {
                return Err(Error::param("coef0", coef0, "be a finite number of at least 0"));
            }
        }
        Ok(())
    }

    /// The same kernel with the number that its γ stands for on given rows.
    pub(crate) fn resolved(self, x: &Features<'_>, weights: Option<&[f64]>) -> Result<Self> {
        let d = x.cols() as f64;
        let value = match self.gamma() {
            None => return Ok(self),
            Some(Gamma::Value(value)) => value,
            Some(Gamma::Auto) => 1.0 / d,
            // Where no value differs from another there is nothing to measure by, and any number will do.
            Some(Gamma::Scale) => match variance(x, weights) {
                0.0 => 1.0,
                variance => 1.0 / (d * variance),
            },
        };
        if value.is_finite() && value > 0.0 {
            return Ok(self.with_gamma(Gamma::Value(value)));
        }
        Err(Error::param("gamma", value, "be a finite number greater than 0; scale the features"))
    }

    /// γ as a number, once it is resolved.
    pub(crate) fn gamma_value(self) -> f64 {
        match self.gamma() {
            Some(Gamma::Value(value)) => value,
            _ => 1.0,
        }
    }
}

/// The variance of all values of a matrix together, those that are not stored included. Rows count by their weights.
fn variance(x: &Features<'_>, weights: Option<&[f64]>) -> f64 {
    let weight = |i: usize| weights.map_or(1.0, |w| w[i]);
    let total: f64 = (0..x.rows()).map(weight).sum::<f64>() * x.cols() as f64;
    let mut unit = 0.0f64;
    x.for_each_row(|i, row| row.for_each(|_, v| unit = unit.max(if weight(i) > 0.0 { v.abs() } else { 0.0 })));
    if unit == 0.0 || total == 0.0 {
        return 0.0;
    }
    // Relative to the largest value, so that squares neither overflow nor vanish.
    let (mut mean, mut stored) = (0.0, 0.0);
    x.for_each_row(|i, row| {
        row.for_each(|_, v| {
            mean += weight(i) * (v / unit) / total;
            stored += weight(i);
        });
    });
    let mut square = (total - stored).max(0.0) * mean * mean;
    x.for_each_row(|i, row| row.for_each(|_, v| square += weight(i) * (v / unit - mean).powi(2)));
    let found = square / total;
    // What is left of a constant by rounding is no spread.
    if found <= 1e-26 * (1.0 + mean * mean) { 0.0 } else { found * unit * unit }
}
