//! The settings that are tried: values of λ and of p, as users type them and by default.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

use crate::error::{Error, Result};
use crate::kernel::Gamma;
use crate::penalty::AnyPenalty;
use crate::spec::Spec;
use crate::text::short;

/// Most values that a range may have.
const MOST_VALUES: usize = 10_000;

/// Values to try, ascending and without repetition.
///
/// Typed as a list of numbers and ranges: `1,2,4`, whole numbers `1:8`, or `1e-4:1e-1:10`, ten values evenly spaced on a logarithmic scale.
///
/// ```
/// let values: m3svm::select::GridValues = "1e-3:10:5,0".parse()?;
/// assert_eq!(values.as_slice(), [0.0, 0.001, 0.01, 0.1, 1.0, 10.0]);
/// # Ok::<(), m3svm::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GridValues(Vec<f64>);

impl GridValues {
    /// These values; at least one. Whether the penalty takes them is for the search to say.
    pub fn new(mut values: Vec<f64>) -> Result<Self> {
        if values.is_empty() {
            return Err(Error::param("values", 0, "be at least one"));
        }
        values.sort_by(f64::total_cmp);
        values.dedup();
        Ok(Self(values))
    }

    /// Evenly spaced on a logarithmic scale, both ends included.
    fn logarithmic(from: f64, to: f64, count: usize) -> Vec<f64> {
        let (low, high) = (from.log10(), to.log10());
        // Twelve digits: 0.05 and not 0.049999999999999996.
        let tidy = |v: f64| format!("{v:.11e}").parse().unwrap_or(v);
        let inner = |i: usize| tidy(10f64.powf(low + (high - low) * i as f64 / (count - 1) as f64));
        (0..count)
            .map(|i| {
                if i == 0 {
                    from
                } else if i + 1 == count {
                    to
                } else {
                    inner(i)
                }
            })
            .collect()
    }

    /// The values.
    pub fn as_slice(&self) -> &[f64] {
        &self.0
    }
}

impl FromStr for GridValues {
    type Err = Error;

    fn from_str(typed: &str) -> Result<Self> {
        let mut values = Vec::new();
        for part in typed.split(',') {
            values.extend(range(part)?);
        }
        Self::new(values)
    }
}

/// One number or range.
fn range(part: &str) -> Result<Vec<f64>> {
    let wrong = |must| Error::param("range", format!("`{part}`"), must);
    let number =
        |text: &str| text.trim().parse::<f64>().map_err(|_| wrong("be a number, or numbers as in 1:8 or 1e-4:1e-1:10"));
    let fields: Vec<&str> = part.split(':').collect();
    match fields[..] {
        [one] => Ok(vec![number(one)?]),
        [from, to] => {
            let (from, to) = (number(from)?, number(to)?);
            if from.fract() != 0.0 || to.fract() != 0.0 {
                return Err(wrong("have whole numbers as ends, or a number of values as in 0.5:8:5"));
            }
            if from > to || to - from >= MOST_VALUES as f64 {
                return Err(wrong("rise, by less than 10000"));
            }
            Ok((0..=(to - from) as usize).map(|i| from + i as f64).collect())
        }
        [from, to, count] => {
            let (from, to) = (number(from)?, number(to)?);
            let count = count.trim().parse::<usize>().ok().filter(|n| (2..=MOST_VALUES).contains(n));
            let count = count.ok_or_else(|| wrong("end with the number of values, from 2 to 10000"))?;
            if !(from > 0.0 && from < to && to.is_finite()) {
                return Err(wrong("rise from a number greater than 0, because values are spaced logarithmically"));
            }
            Ok(GridValues::logarithmic(from, to, count))
        }
        _ => Err(wrong("have at most three parts, as in 1e-4:1e-1:10")),
    }
}

/// One combination of λ, p and γ; `None` where the penalty has no such parameter, or where the kernel's own γ is meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Setting {
    /// Strength of the penalty.
    pub lambda: Option<f64>,
    /// Its power.
    pub p: Option<f64>,
    /// γ of the kernel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gamma: Option<f64>,
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [("λ", self.lambda), ("p", self.p), ("gamma", self.gamma)];
        let parts = parts.into_iter().filter_map(|(name, value)| Some(format!("{name} {}", short(value?))));
        match parts.collect::<Vec<String>>() {
            none if none.is_empty() => f.write_str("the one setting"),
            parts => f.write_str(&parts.join(", ")),
        }
    }
}

impl Setting {
    /// An error of a fit on a fold, with the setting that it comes from.
    pub(super) fn blamed(&self, error: Error) -> Error {
        match error {
            Error::Diverged { .. } | Error::Score { .. } => {
                Error::Setting { setting: self.to_string(), source: Box::new(error) }
            }
            other => other,
        }
    }

    /// The settings `spec` with this λ, p and γ.
    pub fn apply(&self, spec: &Spec) -> Spec {
        let mut penalty = spec.penalty;
        penalty = self.lambda.map_or(penalty, |lambda| penalty.with_lambda(lambda));
        penalty = self.p.map_or(penalty, |p| penalty.with_p(p));
        let kernel = self.gamma.map_or(spec.kernel, |gamma| spec.kernel.with_gamma(Gamma::Value(gamma)));
        Spec { penalty, kernel, ..spec.clone() }
    }
}

/// All values of λ with all values of p and of γ.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Grid {
    /// Values of λ; `None` if the penalty has none.
    pub lambdas: Option<GridValues>,
    /// Values of p; `None` if the penalty has none.
    pub ps: Option<GridValues>,
    /// Values of γ; `None` for the kernel's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gammas: Option<GridValues>,
    /// Whether a search tries further values of λ for as long as the best one is the first or the last.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub extends: bool,
}

impl Grid {
    /// The usual values: six decades of λ by halves, and p from 1 to 8 by doubling. The search goes on where the best λ is at an end.
    pub fn for_spec(spec: &Spec) -> Self {
        Self::with_steps(spec, 13)
    }

    /// Fewer values in the same range, whole decades: for comparisons of methods, which repeat the search many times, and for large data.
    pub fn coarse(spec: &Spec) -> Self {
        Self::with_steps(spec, 7)
    }

    /// Three decades to either side of what other programs call C = 1; with the powers of distances, from a tenth of what the paper takes.
    fn with_steps(spec: &Spec, count: usize) -> Self {
        let usual = spec.penalty.usual_lambda();
        let from = match spec.penalty {
            AnyPenalty::None(_) => None,
            AnyPenalty::Pairwise(_) => Some(0.1 * usual),
            _ => Some(1e-3 * usual),
        };
        let lambdas = from.map(|from| GridValues(GridValues::logarithmic(from, 1e6 * from, count)));
        let ps = spec.penalty.p().map(|_| GridValues(vec![1.0, 2.0, 4.0, 8.0]));
        Self { lambdas, ps, gammas: None, extends: true }
    }

    /// All settings: γ by γ, p by p, and for each p from the strongest λ to the weakest.
    pub fn settings(&self) -> Vec<Setting> {
        let each = |values: &Option<GridValues>| match values {
            Some(values) => values.0.iter().map(|v| Some(*v)).collect(),
            None => vec![None],
        };
        let (lambdas, ps, gammas) = (each(&self.lambdas), each(&self.ps), each(&self.gammas));
        let mut settings = Vec::with_capacity(gammas.len() * ps.len() * lambdas.len());
        for gamma in gammas {
            for &p in &ps {
                settings.extend(lambdas.iter().rev().map(|&lambda| Setting { lambda, p, gamma }));
            }
        }
        settings
    }

    /// Refuses values that the penalty does not take, and parameters that it does not have.
    pub(super) fn check(&self, spec: &Spec) -> Result<()> {
        let lacks = |name, wanted: bool, has: bool| match wanted && !has {
            true => Err(Error::param(name, "a range", "not be searched where the penalty has none")),
            false => Ok(()),
        };
        lacks("lambda", self.lambdas.is_some(), spec.penalty.lambda().is_some())?;
        lacks("p", self.ps.is_some(), spec.penalty.p().is_some())?;
        if self.gammas.is_some() && spec.kernel.gamma().is_none() {
            return Err(Error::param("gamma", "a range", "not be searched where the kernel has none"));
        }
        if self.lambdas.is_none() && spec.chooses_lambda() {
            return Err(Error::param("lambda", "auto", "be a number, or values to search"));
        }
        self.settings().iter().try_for_each(|setting| setting.apply(spec).check())
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::method::Method;

    fn values(typed: &str) -> Vec<f64> {
        typed.parse::<GridValues>().unwrap().0
    }

    #[test]
    fn ranges_by_hand() {
        assert_eq!(values("1:8"), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
        assert_eq!(values("4, 1,2,4"), [1.0, 2.0, 4.0]);
        assert_eq!(values("0.5"), [0.5]);
        let ten = values("1e-4:1e-1:10");
        assert_eq!((ten.len(), ten[0], ten[3], ten[9]), (10, 1e-4, 1e-3, 1e-1));
        assert!(ten.windows(2).all(|w| (w[1] / w[0] - 10f64.cbrt()).abs() < 1e-10));
        assert_eq!(values("1:3,8,1e1:1e3:3"), [1.0, 2.0, 3.0, 8.0, 10.0, 100.0, 1000.0]);
    }

    #[test]
    fn ill_formed_ranges_are_named() {
        let refused = |typed: &str| typed.parse::<GridValues>().unwrap_err().to_string();
        for (typed, part) in [("", ""), ("a", "a"), ("1,,2", ""), ("1:", "1:")] {
            let expected = format!("`range` must be a number, or numbers as in 1:8 or 1e-4:1e-1:10, found `{part}`");
            assert_eq!(refused(typed), expected);
        }
        assert_eq!(refused("8:1"), "`range` must rise, by less than 10000, found `8:1`");
        let whole = "`range` must have whole numbers as ends, or a number of values as in 0.5:8:5, found `0.5:2`";
        assert_eq!(refused("0.5:2"), whole);
        assert_eq!(refused("nan:2").replace("nan:2", "0.5:2"), whole);
        assert_eq!(refused("1:inf").replace("1:inf", "0.5:2"), whole);
        assert!(refused("0:1:5").contains("greater than 0"));
        assert!(refused("1:inf:5").contains("greater than 0"));
        assert!(refused("1e-4:1e-1:1").contains("number of values"));
        assert!(refused("1e-4:1e-1:2.5").contains("number of values"));
        assert!(refused("1:2:3:4").contains("at most three parts"));
        assert!(refused("0:1e300").contains("less than 10000"));
    }

    #[test]
    fn every_method_has_usual_values_that_it_takes() {
        for method in Method::ALL {
            let (spec, grid) = (method.spec(), Grid::for_spec(&method.spec()));
            grid.check(&spec).unwrap();
            assert_eq!(grid.settings().len(), if spec.penalty.p().is_some() { 52 } else { 13 }, "{}", method.name());
        }
        let ridge = Grid::for_spec(&Method::Lr.spec()).lambdas.unwrap();
        assert_eq!((ridge.0[0], ridge.0[12]), (5e-4, 500.0));
        assert!((ridge.0[6] - 0.5).abs() < 1e-15);
    }
}
