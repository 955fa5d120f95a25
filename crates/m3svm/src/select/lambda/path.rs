//! The path over λ: which values are tried, in which order, and which of them is taken.

use rayon::prelude::*;

use super::{LAMBDA, LambdaChoice, TriedLambda};
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::features::Features;
use crate::model::argmax;
use crate::scheme::Scheme;
use crate::select::Fold;
use crate::select::fold_data::FoldData;
use crate::select::search::Control;
use crate::spec::Spec;
use crate::temperature::calibrated_log_loss;

/// Accuracies that differ by less are equal.
const EQUAL: f64 = 1e-12;

/// A fold with what is known on it.
struct Known {
    rows: FoldData,
    /// The last optima, by number of the value.
    optima: Vec<(i32, Vec<f64>)>,
    /// Scores of the held-out rows, by number.
    scores: Vec<(i32, Vec<f64>)>,
}

/// The folds, and what has been tried on them.
pub(super) struct LambdaPath<'a> {
    spec: &'a Spec,
    scale: LambdaScale,
    classes: usize,
    class_weights: Option<Vec<f64>>,
    /// Rows of all the data.
    rows: usize,
    folds: Vec<Known>,
    start: i32,
    tried: Vec<(i32, TriedLambda)>,
    fits: usize,
    evaluations: f64,
}

/// The values of λ. They are those of one scale for all data, so that what is chosen does not change with the last bits of a sum, and
/// equally far from each other in what they do to the lengths of class vectors: a power p feels λ^(1/p).
#[derive(Clone, Copy, Debug)]
pub(super) struct LambdaScale {
    power: f64,
}

impl LambdaScale {
    pub(super) fn of(spec: &Spec) -> Self {
        let power = match spec.penalty.p() {
            Some(p) if p.is_finite() => p,
            _ => 2.0,
        };
        Self { power: power.clamp(LAMBDA.least_power, LAMBDA.most_power) }
    }

    /// Decades of λ from one number to the next.
    fn step(self) -> f64 {
        self.power / LAMBDA.per_decade
    }

    pub(super) fn value(self, number: i32) -> f64 {
        let exact = 10f64.powf(f64::from(number) * self.step());
        // Three digits: 0.316 and not 0.31622776601683794.
        format!("{exact:.2e}").parse().unwrap_or(exact)
    }

    /// Where to begin: a pair of classes whose margin is about a third of the length of a row pays 1. It follows the scale of the features.
    pub(super) fn start(self, spec: &Spec, x: &Features<'_>, weights: Option<&[f64]>, classes: usize) -> i32 {
        let length = mean_square(x, weights).sqrt() / LAMBDA.natural;
        if !(length.is_finite() && length > 0.0) {
            return 0;
        }
        let power = match (spec.penalty.p(), spec.penalty.as_dyn().separable()) {
            (Some(p), _) if p.is_finite() => p,
            (None, Some(_)) => 1.0,
            _ => 2.0,
        };
        // Squared lengths of all vectors are those of the distances over the number of classes.
        let pairs = if spec.penalty.p().is_none() && spec.scheme == Scheme::Joint { classes as f64 } else { 1.0 };
        let decades = power * length.log10() + pairs.log10();
        let most = (LAMBDA.most_decades / self.step()).floor();
        (decades / self.step()).round().clamp(-most, most) as i32
    }
}

/// The mean square of the distance of rows to their mean.
fn mean_square(x: &Features<'_>, weights: Option<&[f64]>) -> f64 {
    let weight = |i: usize| weights.map_or(1.0, |w| w[i]);
    let total: f64 = (0..x.rows()).map(weight).sum();
    let (mut mean, mut square) = (vec![0.0; x.cols()], 0.0);
    x.for_each_row(|i, row| {
        let share = weight(i) / total;
        row.for_each(|j, v| {
            mean[j] += share * v;
            square += share * v * v;
        });
    });
    (square - mean.iter().map(|m| m * m).sum::<f64>()).max(0.0)
}

impl<'a> LambdaPath<'a> {
    /// `None` without folds, or after an interruption.
    pub(super) fn new(
        spec: &'a Spec,
        data: &Dataset<'_>,
        folds: &[Fold],
        control: &Control<'_>,
    ) -> Result<Option<Self>> {
        if folds.is_empty() {
            return Ok(None);
        }
        let made: Result<Vec<Option<FoldData>>> =
            folds.par_iter().map(|fold| FoldData::new(spec, data, fold, control)).collect();
        let known = |rows: Option<FoldData>| Some(Known { rows: rows?, optima: Vec::new(), scores: Vec::new() });
        let folds: Option<Vec<Known>> = match made {
            Ok(made) => made.into_iter().map(known).collect(),
            // Rows of a part that all count nothing, or are all of one class.
            Err(Error::NoWeight { .. } | Error::TooFewClasses { .. }) => None,
            Err(other) => return Err(other),
        };
        let Some(folds) = folds else { return Ok(None) };
        let (scale, classes, part) = (LambdaScale::of(spec), data.classes().len(), &folds[0].rows.train);
        let start = scale.start(spec, part.x(), part.weights(), classes);
        let class_weights = spec.class_weights_of(data)?;
        let (fits, evaluations, tried, rows) = (0, 0.0, Vec::new(), data.rows());
        Ok(Some(Self { spec, scale, classes, class_weights, rows, folds, start, tried, fits, evaluations }))
    }

    /// Wide steps on a few folds until the best value has worse ones on both sides, then small ones around it on all folds; `None` if
    /// nothing could be tried.
    pub(super) fn follow(mut self, control: &Control<'_>) -> Result<Option<LambdaChoice>> {
        let (few, all, stride) = (LAMBDA.few_folds.min(self.folds.len()), self.folds.len(), LAMBDA.stride);
        let first = [self.start + stride, self.start, self.start - stride];
        self.walk(&first, stride, few, LAMBDA.most_wide, control)?;
        let Some(about) = self.best(few) else { return Ok(None) };
        self.walk(&[about, about + 1, about - 1], 1, all, LAMBDA.most_close, control)?;
        let Some(best) = self.best(all).or(Some(about)) else { return Ok(None) };
        self.tried.sort_by_key(|(number, tried)| (*number, tried.folds));
        Ok(Some(LambdaChoice {
            lambda: self.scale.value(best),
            folds: self.folds.len(),
            rows: self.rows,
            used: 0,
            tried: self.tried.into_iter().map(|(_, tried)| tried).collect(),
            fits: self.fits,
            evaluations: self.evaluations,
            interrupted: control.stopped(),
        }))
    }

    /// Tries values on so many folds, and goes on for as long as the best is the last on its side.
    fn walk(&mut self, first: &[i32], stride: i32, folds: usize, most: usize, control: &Control<'_>) -> Result<()> {
        let mut numbers = Vec::new();
        for number in first {
            if self.attempt(*number, folds, control)? {
                numbers.push(*number);
            }
        }
        let reach = (LAMBDA.most_decades / self.scale.step()) as i32 + self.start.abs();
        while numbers.len() < most {
            let (Some(low), Some(high), Some(best)) =
                (numbers.iter().min().copied(), numbers.iter().max().copied(), self.best(folds))
            else {
                return Ok(());
            };
            let next = match best {
                best if best == high => high + stride,
                best if best == low => low - stride,
                _ => return Ok(()),
            };
            if next.abs() > reach || !self.attempt(next, folds, control)? {
                return Ok(());
            }
            numbers.push(next);
        }
        Ok(())
    }

    /// The number of the best value on so many folds. Accuracies that are nearly as good as the best one are told apart by the log-loss,
    /// which a few rows do not change as much.
    fn best(&self, folds: usize) -> Option<i32> {
        let judged = || self.tried.iter().filter(|(_, tried)| tried.folds == folds);
        let top = judged().map(|(_, tried)| tried.accuracy).reduce(f64::max)?;
        // A weight of 2 is two rows here, too.
        let tested: f64 = self.folds[..folds].iter().flat_map(|fold| self.weights(fold)).sum();
        let near = top - LAMBDA.near * (top * (1.0 - top) / tested).max(0.0).sqrt() - EQUAL;
        let order = |(number, tried): &&(i32, TriedLambda)| (tried.log_loss, -number);
        let best = judged().filter(|(_, tried)| tried.accuracy >= near).min_by(|a, b| {
            let (a, b) = (order(a), order(b));
            a.0.total_cmp(&b.0).then(a.1.cmp(&b.1))
        });
        best.map(|(number, _)| *number)
    }

    /// Fits and tests one value on the first folds; whether that could be done.
    fn attempt(&mut self, number: i32, folds: usize, control: &Control<'_>) -> Result<bool> {
        if self.tried.iter().any(|(known, tried)| *known == number && tried.folds == folds) {
            return Ok(true);
        }
        let lambda = self.scale.value(number);
        let spec = self.spec.with_lambda(lambda);
        let fitted: Result<Vec<Option<usize>>> =
            self.folds[..folds].par_iter_mut().map(|fold| fold.attempt(&spec, number, control)).collect();
        let fitted = match fitted {
            Ok(fitted) => fitted,
            // So weak a penalty, or so strong, is none to choose.
            Err(Error::Diverged { .. } | Error::Score { .. }) => return Ok(false),
            Err(other) => return Err(other),
        };
        let Some(fitted) = fitted.into_iter().collect::<Option<Vec<usize>>>() else { return Ok(false) };
        for (fold, evaluations) in self.folds.iter().zip(fitted).filter(|(_, evaluations)| *evaluations > 0) {
            self.fits += 1;
            self.evaluations += evaluations as f64 * fold.rows.train.rows() as f64 / self.rows as f64;
        }
        let judged = self.judge(number, lambda, folds);
        self.tried.push((number, judged));
        Ok(true)
    }

    /// What the held-out rows of a fold count, with the weights of their classes.
    fn weights<'f>(&'f self, fold: &'f Known) -> impl Iterator<Item = f64> + 'f {
        let (own, each) = (fold.rows.weights(), self.class_weights.as_deref());
        let class = move |k: &u32| each.map_or(1.0, |each| each[*k as usize]);
        fold.rows.y().iter().enumerate().map(move |(i, k)| own.map_or(1.0, |w| w[i]) * class(k))
    }

    /// All held-out rows of the first folds together.
    fn judge(&self, number: i32, lambda: f64, folds: usize) -> TriedLambda {
        let (mut scores, mut y, mut weights) = (Vec::new(), Vec::new(), Vec::new());
        for fold in &self.folds[..folds] {
            let Known { rows, scores: known, .. } = fold;
            scores.extend(known.iter().filter(|(known, _)| *known == number).flat_map(|(_, scores)| scores));
            y.extend_from_slice(rows.y());
            weights.extend(self.weights(fold));
        }
        let total: f64 = weights.iter().sum();
        let rows = scores.chunks_exact(self.classes).zip(&y).zip(&weights);
        let right: f64 = rows.map(|((z, y), w)| if argmax(z) == *y { *w } else { 0.0 }).sum();
        let log_loss = calibrated_log_loss(&scores, &y, self.classes, &weights);
        TriedLambda { lambda, accuracy: right / total, log_loss, folds }
    }
}

impl Known {
    /// Evaluations that a fit took, 0 where it is known; `None` after an interruption.
    fn attempt(&mut self, spec: &Spec, number: i32, control: &Control<'_>) -> Result<Option<usize>> {
        if self.scores.iter().any(|(known, _)| *known == number) {
            return Ok(Some(0));
        }
        if control.stopped() {
            return Ok(None);
        }
        let nearest = self.optima.iter().min_by_key(|(known, _)| (known - number).abs());
        let start = nearest.map_or_else(|| spec.origin(&self.rows.train), |(_, theta)| theta.clone());
        let Some(found) = self.rows.fit(spec, start, control)? else { return Ok(None) };
        self.scores.push((number, self.rows.scores(spec, &found.theta)?));
        if self.optima.len() == LAMBDA.kept {
            self.optima.remove(0);
        }
        self.optima.push((number, found.theta));
        Ok(Some(found.evaluations.max(1)))
    }
}
