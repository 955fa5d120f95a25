//! What models say of rows that they have not been trained on: for accuracies that flatter nobody, and for probabilities.

use std::ops::ControlFlow;

use rayon::prelude::*;

use super::folds::{Fold, folds};
use super::lambda::LAMBDA;
use super::search::{Control, SearchWatch};
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::memory;
use crate::metrics::{Judged, Quality};
use crate::scheme::Scheme;
use crate::solver::Stop;
use crate::spec::Spec;
use crate::temperature::{temperature, tempered};

/// Relative distance from the optimum that suffices to judge by: accuracy hardly depends on more.
const TOL: f64 = 1e-3;
/// Folds where nobody has said how many.
const FOLDS: usize = 5;
/// Most work of a fit, as numbers in the data times scorers, whose like is done once for every fold unasked: some seconds.
const MOST_FOR_FOLDS: f64 = 1e8;
/// The same for one more fit, on four fifths of the rows.
const MOST_FOR_ONE: f64 = 4e9;
/// Steps of a factorisation of a kernel that take about as long as one step of a fit per number and scorer: all of its iterations are in that.
const KERNEL_STEPS: f64 = 1e3;
/// Fits that a choice of λ costs at most.
const FITS_OF_CHOICE: f64 = 10.0;
/// Most parts that the rows are cut into to make a share of them.
const MOST_PARTS: usize = 20;

/// Which rows are held out, to be predicted by models that have not seen them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Validation {
    /// Five folds where that takes seconds, a fifth of the rows once where it takes longer, none where the data is huge. It depends on sizes
    /// alone, and so not on how busy the machine is.
    #[default]
    Auto,
    /// None.
    None,
    /// Every row once: so many parts, each predicted by a model of the others.
    Folds(usize),
    /// A share of the rows, between 0 and 1.
    Share(f64),
}

impl Validation {
    /// The same with a number or nothing in the place of [`Validation::Auto`].
    pub fn resolved(self, spec: &Spec, data: &Dataset<'_>) -> Self {
        if self != Self::Auto {
            return self;
        }
        let c = data.classes().len();
        let passes = if spec.scheme == Scheme::OneVsOne { c.saturating_sub(1) } else { spec.scheme.scorers(c) };
        let mut work = data.x().stored() as f64 * passes as f64;
        if !spec.kernel.is_linear() {
            let rank = spec.rank.unwrap_or(data.rows()).min(data.rows()) as f64;
            work += data.rows() as f64 * rank * (rank / KERNEL_STEPS + passes as f64);
        }
        if spec.chooses_lambda() {
            // Every fold chooses anew, on a sample of many rows.
            let rows = data.rows().max(1);
            let used = LAMBDA.rows_for(data.x().stored() / rows).min(rows);
            work *= 1.0 + FITS_OF_CHOICE * used as f64 / rows as f64;
        }
        match work {
            work if work > MOST_FOR_ONE => Self::None,
            work if work > MOST_FOR_FOLDS => Self::Share(1.0 / FOLDS as f64),
            _ => Self::Folds(FOLDS),
        }
    }

    /// The splits of rows. Where nobody has asked for a number of folds, there are fewer if the rows do not suffice, or none.
    pub fn splits(self, spec: &Spec, data: &Dataset<'_>, groups: Option<&[u32]>) -> Result<Vec<Fold>> {
        let splits = self.cut(spec, data, groups)?;
        let counts = |row: &u32| data.weights().is_none_or(|weights| weights[*row as usize] > 0.0);
        match splits.is_empty() || splits.iter().flat_map(|split| &split.test).any(counts) {
            true => Ok(splits),
            // Nothing could be said of rows that count nothing.
            false if self == Self::Auto => Ok(Vec::new()),
            false => Err(Error::NoWeight { of: "the rows held out" }),
        }
    }

    fn cut(self, spec: &Spec, data: &Dataset<'_>, groups: Option<&[u32]>) -> Result<Vec<Fold>> {
        let cut = |parts: usize| folds(data.y(), groups, parts, spec.seed, 0);
        match (self, self.resolved(spec, data)) {
            (_, Self::None | Self::Auto) => Ok(Vec::new()),
            (Self::Auto, Self::Folds(parts)) => match cut(parts) {
                Err(Error::Folds { most, .. }) if most >= 2 => cut(most),
                Err(Error::Folds { .. }) => Ok(Vec::new()),
                other => other,
            },
            (_, Self::Folds(parts)) => cut(parts),
            (_, Self::Share(share)) => {
                if !(share > 0.0 && share < 1.0) {
                    return Err(Error::param("validation", share, "be a share between 0 and 1, or a number of folds"));
                }
                // The fewest equal parts some of which are about that share.
                let tested = |parts: usize| ((share * parts as f64).round() as usize).clamp(1, parts - 1);
                let off = |parts: usize| (tested(parts) as f64 / parts as f64 - share).abs();
                let parts =
                    (2..=MOST_PARTS).fold(2, |best, parts| if off(parts) < off(best) - 1e-9 { parts } else { best });
                let all = cut(parts)?;
                let mut test: Vec<u32> = all.iter().take(tested(parts)).flat_map(|fold| fold.test.clone()).collect();
                test.sort_unstable();
                let is_tested = |row: &u32| test.binary_search(row).is_ok();
                let train = (0..data.rows() as u32).filter(|row| !is_tested(row)).collect();
                Ok(vec![Fold { train, test }])
            }
        }
    }
}

/// Scores of rows by models that have not seen them.
#[derive(Clone, Debug, PartialEq)]
pub struct HeldOut {
    /// The rows, ascending. Those that are never tested, such as the only one of a class, are left out.
    pub rows: Vec<u32>,
    /// Scores, n×c.
    pub scores: Vec<f64>,
    /// Probabilities, n×c: the loss's own, or those of the temperature.
    pub probabilities: Vec<f64>,
    /// The temperature that makes the classes of these rows most likely, where the loss defines no probabilities: one number for all rows.
    pub temperature: Option<f64>,
    /// Models that were trained for it.
    pub fits: usize,
    truth: Vec<u32>,
    weights: Option<Vec<f64>>,
    groups: Option<Vec<u32>>,
    classes: usize,
}

impl HeldOut {
    /// Trains once per split on its training rows, from the preparation of columns to whatever is chosen from the data, and scores its test
    /// rows, at a tolerance of 1e-3 if that of the settings is less.
    pub fn new(
        spec: &Spec,
        data: &Dataset<'_>,
        groups: Option<&[u32]>,
        splits: &[Fold],
        watch: &SearchWatch<'_>,
    ) -> Result<Self> {
        let Some(first) = splits.first() else { return Err(Error::param("splits", 0, "be at least 1")) };
        splits.iter().try_for_each(|split| split.check(data.rows()))?;
        let classes = data.classes().len();
        let spec = Spec { tol: spec.tol.max(TOL), ..spec.clone() };
        let control = Control::new(watch);
        control.plan(splits.len());
        let (fit, what) = memory::bytes_of_fit(&spec, data);
        let share = first.train.len() as f64 / data.rows() as f64;
        // The rows of a part are held besides those of the whole.
        let one = (fit as f64 * share) as u64;
        memory::check(&format!("holding rows out, with {what}"), one)?;
        let all = one.saturating_mul(splits.len() as u64);
        let one_fold = |fold: &Fold| scored(&spec, data, fold, &control);
        let parts: Vec<Result<Part>> = match memory::check("all folds at once", all) {
            Ok(()) => splits.par_iter().map(one_fold).collect(),
            Err(_) => splits.iter().map(one_fold).collect(),
        };
        let mut order: Vec<(u32, usize, usize)> = Vec::new();
        let parts: Vec<Part> = parts.into_iter().collect::<Result<_>>()?;
        for (number, fold) in splits.iter().enumerate() {
            order.extend(fold.test.iter().enumerate().map(|(at, row)| (*row, number, at)));
        }
        order.sort_unstable();
        let gather = |of: &dyn Fn(&Part) -> Option<&[f64]>| -> Option<Vec<f64>> {
            let mut all = Vec::with_capacity(order.len() * classes);
            for (_, number, at) in &order {
                all.extend_from_slice(&of(&parts[*number])?[at * classes..(at + 1) * classes]);
            }
            Some(all)
        };
        let scores = gather(&|part| Some(&part.scores)).unwrap_or_default();
        let own = gather(&|part| part.probabilities.as_deref());
        let rows: Vec<u32> = order.iter().map(|(row, ..)| *row).collect();
        let truth: Vec<u32> = rows.iter().map(|&i| data.y()[i as usize]).collect();
        let weights: Option<Vec<f64>> = data.weights().map(|w| rows.iter().map(|&i| w[i as usize]).collect());
        let groups = groups.map(|g| rows.iter().map(|&i| g[i as usize]).collect());
        let (temperature, probabilities) = match own {
            Some(own) => (None, own),
            None => {
                let t = temperature(&scores, &truth, classes, weights.as_deref())?;
                (Some(t), tempered(scores.clone(), t, classes))
            }
        };
        let fits = splits.len();
        Ok(Self { rows, scores, probabilities, temperature, fits, truth, weights, groups, classes })
    }

    /// The rows with what is known of them.
    pub fn judged(&self) -> Judged<'_> {
        Judged {
            scores: &self.scores,
            probabilities: Some(&self.probabilities),
            truth: &self.truth,
            weights: self.weights.as_deref(),
            groups: self.groups.as_deref(),
            classes: self.classes,
        }
    }

    /// How good the predictions are.
    pub fn quality(&self) -> Result<Quality> {
        Quality::new(&self.judged())
    }
}

/// What the model of one split says of its test rows.
struct Part {
    scores: Vec<f64>,
    probabilities: Option<Vec<f64>>,
}

fn scored(spec: &Spec, data: &Dataset<'_>, fold: &Fold, control: &Control<'_>) -> Result<Part> {
    if !control.go_on() {
        return Err(Error::Interrupted);
    }
    let train = fold.train_rows(spec.kernel, data)?;
    let x = fold.test_features(spec.kernel, data, &train)?;
    let mut watch = |_: &_| if control.go_on() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) };
    let (model, _) = spec.fit_owned(train, None, &mut watch)?;
    if model.training().stop == Stop::Interrupted {
        return Err(Error::Interrupted);
    }
    let scores = model.scores(&x).map_err(|error| match error {
        Error::Score { row, value } => Error::Score { row: fold.test[row] as usize, value },
        other => other,
    })?;
    let probabilities = model.probabilities(&x)?;
    control.finish(1);
    Ok(Part { scores, probabilities })
}
