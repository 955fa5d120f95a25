//! What every format needs of a model.

use m3svm::{Encoding, Expansion, Gamma, Kernel, Method, Model, Preprocessor, Scheme, memory};

use crate::error::{Error, Result};

/// A model without its past: scorers for unscaled features, and how they become classes.
pub(crate) struct Portable<'a> {
    pub(crate) method: Option<Method>,
    pub(crate) scheme: Scheme,
    pub(crate) classes: &'a [String],
    pub(crate) feature_names: Option<&'a [String]>,
    pub(crate) features: usize,
    /// What makes the features of columns of every kind.
    pub(crate) preprocessor: Option<&'a Preprocessor>,
    /// One row of d numbers per scorer; empty with a kernel.
    pub(crate) weights: Vec<f64>,
    pub(crate) kernel: Option<PortableKernel>,
    pub(crate) intercept: Vec<f64>,
    /// Probabilities are softmax(scores/T); `None` if there are none.
    pub(crate) temperature: Option<f64>,
}

/// Rows that scores are sums over: f(x) = Σⱼ k((x − shift)·factor, rowⱼ)·coefficientsⱼ + intercept.
pub(crate) struct PortableKernel {
    pub(crate) kernel: Kernel,
    pub(crate) gamma: f64,
    pub(crate) shift: Vec<f64>,
    pub(crate) factor: Vec<f64>,
    pub(crate) count: usize,
    /// One row of d numbers after the other.
    pub(crate) rows: Vec<f64>,
    /// One number per scorer for each row.
    pub(crate) coefficients: Vec<f64>,
}

impl PortableKernel {
    fn of(model: &Model, expansion: &Expansion) -> Result<Self> {
        let (count, d) = (expansion.len(), model.features());
        // Sparse rows are written out.
        memory::check(
            &format!("the export of {count} rows with {d} features"),
            memory::numbers(count, d).saturating_mul(3),
        )?;
        let rows = expansion.dense_rows().unwrap_or_default();
        let gamma = match expansion.kernel().gamma() {
            Some(Gamma::Value(gamma)) => gamma,
            _ => 1.0,
        };
        let (shift, factor) = (model.scaler().shift().to_vec(), model.scaler().factor().to_vec());
        let coefficients = expansion.coefficients().to_vec();
        Ok(Self { kernel: expansion.kernel(), gamma, shift, factor, count, rows, coefficients })
    }
}

impl<'a> Portable<'a> {
    pub(crate) fn of(model: &'a Model, temperature: Option<f64>) -> Result<Self> {
        let (by_feature, intercept) = model.unscaled();
        if by_feature.iter().chain(&intercept).any(|w| !w.is_finite()) {
            return Err(Error::NotFinite);
        }
        if let Some(feature) = model.scaler().far_feature().filter(|_| model.expansion().is_none()) {
            return Err(Error::Far { feature });
        }
        let (features, scorers) = (model.features(), model.scorers());
        let (by_feature, kernel) = match model.expansion() {
            None => (by_feature, None),
            // Linear in the values of the kernel, of which only some columns count.
            Some(expansion) if expansion.kernel() == Kernel::Precomputed => {
                let mut weights = vec![0.0; features * scorers];
                for (j, row) in expansion.rows().iter().zip(expansion.coefficients().chunks_exact(scorers)) {
                    weights[*j as usize * scorers..][..scorers].copy_from_slice(row);
                }
                (weights, None)
            }
            Some(expansion) => (Vec::new(), Some(PortableKernel::of(model, expansion)?)),
        };
        let weights = match kernel {
            Some(_) => Vec::new(),
            None => {
                (0..scorers).flat_map(|k| by_feature.iter().skip(k).step_by(scorers).copied().take(features)).collect()
            }
        };
        Ok(Self {
            method: Method::of(model.spec()),
            scheme: model.spec().scheme,
            classes: model.classes(),
            feature_names: model.feature_names(),
            features,
            preprocessor: model.preprocessor(),
            weights,
            kernel,
            intercept,
            temperature: probabilities(model, temperature)?,
        })
    }

    pub(crate) fn scorers(&self) -> usize {
        self.intercept.len()
    }

    /// Refuses a model of other columns than numbers.
    pub(crate) fn only_numbers(&self, format: &'static str) -> Result<()> {
        let columns = self.preprocessor.map_or(&[][..], Preprocessor::columns).iter().enumerate();
        let prepared = |(i, column): (usize, &m3svm::PreparedColumn)| {
            let what = match column.encoding {
                Encoding::Values { .. } => "is of text",
                Encoding::Words { .. } => "is of free text",
                Encoding::Number { ref parts, .. } if !parts.is_empty() => "is taken apart into parts of times",
                Encoding::Number { indicator: true, .. } => "has missing cells",
                Encoding::Number { shift, .. } if shift != 0.0 => "is moved to its mean",
                Encoding::Unused {} => "is no feature",
                Encoding::Number { .. } => return None,
            };
            Some(Error::Columns { format, column: column.shown(i), what })
        };
        columns.into_iter().find_map(prepared).map_or(Ok(()), Err)
    }

    /// Refuses a model that uses the words of texts.
    pub(crate) fn no_words(&self, format: &'static str) -> Result<()> {
        let mut columns = self.preprocessor.map_or(&[][..], Preprocessor::columns).iter().enumerate();
        match columns.find(|(_, column)| matches!(column.encoding, Encoding::Words { .. })) {
            Some((i, column)) => Err(Error::Words { format, column: column.shown(i) }),
            None => Ok(()),
        }
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

/// The temperature of the probabilities: the one that is asked for, that of the model, or 1 where the loss defines them (they are softmax
/// for all losses that do).
fn probabilities(model: &Model, temperature: Option<f64>) -> Result<Option<f64>> {
    match temperature {
        Some(_) if model.has_probabilities() && model.temperature().is_none() => Err(Error::HasProbabilities),
        Some(t) if !(t.is_finite() && t > 0.0) => Err(Error::Temperature { found: t }),
        Some(t) => Ok(Some(t)),
        None => Ok(model.temperature().or(model.has_probabilities().then_some(1.0))),
    }
}
