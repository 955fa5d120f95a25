//! Models as the start of other fits.

use super::Model;
use crate::error::{Error, Result};
use crate::features::Features;
use crate::prepare::Preprocessor;
use crate::scale::Scaler;
use crate::scheme::Scheme;
use crate::spec::Spec;
use crate::support::pair_number;

impl Model {
    /// Refuses to be where a fit starts whose features are made of other columns.
    pub(crate) fn check_columns(&self, other: Option<&Preprocessor>) -> Result<()> {
        let made = |p: Option<&Preprocessor>| p.map(Preprocessor::feature_names);
        if made(self.preprocessor()) == made(other) {
            return Ok(());
        }
        let must = "be a model of the same features, made of the same columns";
        Err(Error::param("warm-start", "other ones", must))
    }

    /// Refuses to be where a fit starts that has other features, other scorers or other classes.
    fn check_start(&self, d: usize, classes: &[String], spec: &Spec) -> Result<()> {
        if d != self.features() {
            return Err(Error::Shape { what: "features of the warm start", expected: d, found: self.features() });
        }
        if (self.spec.scheme == Scheme::OneVsOne) != (spec.scheme == Scheme::OneVsOne) {
            let must = "come from a model with as many scorers (one-vs-one has one per pair, all others one per class)";
            return Err(Error::param("warm-start", self.scorers(), must));
        }
        if !classes.iter().any(|name| self.classes.contains(name)) {
            // Zeros would do as well, and no one means that.
            let must = "be a model of at least one class of the data";
            return Err(Error::param("warm-start", format!("one of {}", self.classes.join(", ")), must));
        }
        Ok(())
    }

    /// The scores from which a fit with a kernel can start, of rows that its scaler has scaled: those of its scorers without intercepts, and
    /// these. Scorers that this model does not know start at 0.
    pub(crate) fn start_scores(
        &self,
        scaled: &Features<'_>,
        scaler: &Scaler,
        spec: &Spec,
        classes: &[String],
    ) -> Result<(Vec<f64>, Vec<f64>)> {
        self.check_start(scaled.cols(), classes, spec)?;
        let x = scaled.view().map_columns(|j, v| v / scaler.factor[j] + scaler.shift[j]);
        let (raw, old) = (self.raw_scores(&x)?, self.scorers());
        let sides = spec.scheme.sides(classes.len());
        let m = sides.len();
        let (mut scores, mut intercept) = (vec![0.0; scaled.rows() * m], vec![0.0; m]);
        for (new, (k, against)) in sides.into_iter().enumerate() {
            let Some((from, sign)) = self.scorer_of(&classes[k], against.map(|l| classes[l].as_str())) else {
                continue;
            };
            intercept[new] = sign * self.intercept[from];
            for (to, raw) in scores.chunks_exact_mut(m).zip(raw.chunks_exact(old)) {
                to[new] = sign * (raw[from] - self.intercept[from]);
            }
        }
        Ok((scores, intercept))
    }

    /// Parameters from which a fit on (scaled) data can start. Scorers that this model does not know start at 0.
    pub(crate) fn start_for(&self, d: usize, classes: &[String], scaler: &Scaler, spec: &Spec) -> Result<Vec<f64>> {
        self.check_start(d, classes, spec)?;
        if self.expansion.is_some() {
            return Err(Error::param(
                "warm-start",
                "a model with a kernel",
                "be a linear model where scores are linear",
            ));
        }
        let (weights, mut intercept) = self.unscaled();
        // Back from raw features into the new scaling: w = w_raw/f, b = b_raw + s·w_raw.
        for (j, row) in weights.chunks_exact(self.scorers()).enumerate() {
            row.iter().zip(&mut intercept).for_each(|(w, b)| *b += w * scaler.shift[j]);
        }
        let sides = spec.scheme.sides(classes.len());
        let m = sides.len();
        let mut theta = vec![0.0; (d + usize::from(spec.intercept)) * m];
        for (new, (k, against)) in sides.into_iter().enumerate() {
            let against = against.map(|l| classes[l].as_str());
            let Some((old, sign)) = self.scorer_of(&classes[k], against) else { continue };
            for j in 0..d {
                theta[j * m + new] = sign * weights[j * self.scorers() + old] / scaler.factor[j];
            }
            if spec.intercept {
                theta[d * m + new] = sign * intercept[old];
            }
        }
        Ok(theta)
    }

    /// The scorer that speaks for a class (and against another), with −1 if it does so with the opposite sign.
    fn scorer_of(&self, class: &str, against: Option<&str>) -> Option<(usize, f64)> {
        let number = |name: &str| self.classes.iter().position(|c| c == name);
        let k = number(class)?;
        match against {
            None => Some((k, 1.0)),
            Some(other) => {
                let l = number(other)?;
                Some((pair_number(self.classes.len(), k, l), if k < l { 1.0 } else { -1.0 }))
            }
        }
    }
}
