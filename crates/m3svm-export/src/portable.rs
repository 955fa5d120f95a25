//! What every format needs of a model.

use m3svm::{Method, Model, Scheme};

use crate::error::{Error, Result};

/// A model without its past: scorers for unscaled features, and how they become classes.
pub(crate) struct Portable<'a> {
    pub(crate) method: Option<Method>,
    pub(crate) scheme: Scheme,
    pub(crate) classes: &'a [String],
    pub(crate) feature_names: Option<&'a [String]>,
    pub(crate) features: usize,
    /// One row of d numbers per scorer.
    pub(crate) weights: Vec<f64>,
    pub(crate) intercept: Vec<f64>,
    /// Probabilities are softmax(scores/T); `None` if there are none.
    pub(crate) temperature: Option<f64>,
}

impl<'a> Portable<'a> {
    pub(crate) fn of(model: &'a Model, temperature: Option<f64>) -> Result<Self> {
        let (by_feature, intercept) = model.unscaled();
        if by_feature.iter().chain(&intercept).any(|w| !w.is_finite()) {
            return Err(Error::NotFinite);
        }
        let (features, scorers) = (model.features(), model.scorers());
        let weights =
            (0..scorers).flat_map(|k| by_feature.iter().skip(k).step_by(scorers).copied().take(features)).collect();
        Ok(Self {
            method: Method::of(model.spec()),
            scheme: model.spec().scheme,
            classes: model.classes(),
            feature_names: model.feature_names(),
            features,
            weights,
            intercept,
            temperature: probabilities(model, temperature)?,
        })
    }

    pub(crate) fn scorers(&self) -> usize {
        self.intercept.len()
    }

    pub(crate) fn votes(&self) -> bool {
        self.scheme == Scheme::OneVsOne
    }

    /// The two classes of every scorer of one-vs-one, in its order.
    pub(crate) fn pairs(&self) -> Vec<(usize, usize)> {
        let c = self.classes.len();
        (0..c).flat_map(|k| (k + 1..c).map(move |l| (k, l))).collect()
    }

    /// The vector of a scorer.
    pub(crate) fn scorer(&self, k: usize) -> &[f64] {
        &self.weights[k * self.features..(k + 1) * self.features]
    }

    /// The name of the method, for people.
    pub(crate) fn method_name(&self) -> &'static str {
        self.method.map_or("without a name", Method::name)
    }
}

/// The temperature of the probabilities: 1 where the loss defines them (they are softmax for all losses that do).
fn probabilities(model: &Model, temperature: Option<f64>) -> Result<Option<f64>> {
    match temperature {
        Some(_) if model.has_probabilities() => Err(Error::HasProbabilities),
        Some(t) if !(t.is_finite() && t > 0.0) => Err(Error::Temperature { found: t }),
        Some(t) => Ok(Some(t)),
        None => Ok(model.has_probabilities().then_some(1.0)),
    }
}
