//! The fair protocol: every method tuned by inner folds and judged on outer ones, everything learnt from training rows alone. It is the
//! comparison of `m3svm compare`.

use std::path::PathBuf;

use m3svm::Method;
use m3svm::select::{CLEAR, Comparison, corrected_t_test};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::data::Loaded;
use crate::error::Result;
use crate::parts::{Parts, remove};
use crate::plan::Listener;
use crate::sets::COLUMNS;

/// Differences with a p-value below this are called clear.
pub(crate) const LEVEL: f64 = CLEAR;

/// How one method (or one setting of it) did.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Judged {
    pub(crate) name: String,
    pub(crate) mean: f64,
    pub(crate) sd: f64,
    /// By outer fold, repeat after repeat.
    pub(crate) accuracies: Vec<f64>,
    /// λ and p that the inner folds chose most often.
    pub(crate) usual: [Option<f64>; 2],
    /// Proof of the fit with them on all rows.
    pub(crate) relative_gap: Option<f64>,
}

/// The outcome on one data set.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Fair {
    pub(crate) folds: usize,
    pub(crate) repeats: usize,
    pub(crate) judged: Vec<Judged>,
}

/// The paper's columns, and the method of the authors' script.
pub(crate) fn methods() -> Vec<Method> {
    COLUMNS.iter().map(|(_, method)| *method).chain([Method::Ism3]).collect()
}

impl Fair {
    /// The methods of Table 1.
    pub(crate) fn table1(
        parts: &Parts,
        (key, loaded): (&str, &Loaded),
        (repeats, seed, tol): (usize, u64, f64),
        listener: &Listener<'_>,
    ) -> Result<Option<Self>> {
        let methods = methods();
        let spec = |method: &Method| m3svm::Spec { seed, tol, ..method.spec().with_usual_lambda() };
        let comparison = Comparison { repeats, seed, ..Comparison::new(methods.iter().map(spec)) };
        let names = methods.iter().map(|method| method.name().into()).collect();
        Self::compare(parts, (&format!("table1-fair-{key}"), loaded), names, &comparison, listener)
    }

    /// Runs a comparison whose searches have these names, or takes it from its file.
    pub(crate) fn compare(
        parts: &Parts,
        (part, loaded): (&str, &Loaded),
        names: Vec<String>,
        comparison: &Comparison,
        listener: &Listener<'_>,
    ) -> Result<Option<Self>> {
        let settings = json!({"comparison": comparison, "names": names, "file": loaded.checksum});
        let make = || -> Result<(Self, PathBuf)> {
            let (path, journal) = parts.journal(part, comparison, &loaded.data)?;
            let all = comparison.run(&loaded.data, None, &journal, listener.watch)?;
            if all.len() < names.len() {
                return Err(m3svm::Error::Interrupted.into());
            }
            let judged = names.into_iter().zip(all).map(|(name, it)| Judged {
                name,
                mean: it.mean,
                sd: it.sd,
                accuracies: it.scores,
                usual: [it.usual.lambda, it.usual.p],
                relative_gap: it.model.certificate().relative_gap(),
            });
            let made = Self { folds: comparison.folds, repeats: comparison.repeats, judged: judged.collect() };
            Ok((made, path))
        };
        // The journal goes when its outcome is safe in a file.
        let mut done = None;
        let fair = parts.part(part, &settings, listener, || {
            let (made, path) = make()?;
            done = Some(path);
            Ok(made)
        })?;
        done.map_or(Ok(()), |path| remove(&path))?;
        Ok(fair)
    }

    pub(crate) fn of(&self, name: &str) -> Option<&Judged> {
        self.judged.iter().find(|judged| judged.name == name)
    }

    /// Two-sided p-value of the difference of two of the entries.
    pub(crate) fn p_value(&self, a: &Judged, b: &Judged) -> Option<f64> {
        corrected_t_test(&a.accuracies, &b.accuracies, 1.0 / self.folds as f64)
    }

    /// The best of some entries by mean; of equals the first.
    pub(crate) fn best<'a>(among: impl Iterator<Item = &'a Judged>) -> Option<&'a Judged> {
        among.reduce(|a, b| if b.mean > a.mean { b } else { a })
    }
}

/// λ and p in words.
pub(crate) fn settings_text(usual: &[Option<f64>; 2]) -> String {
    let named =
        ["λ", "p"].iter().zip(usual).filter_map(|(name, v)| v.map(|v| format!("{name} {}", m3svm::text::plain(v))));
    named.collect::<Vec<_>>().join(", ")
}
