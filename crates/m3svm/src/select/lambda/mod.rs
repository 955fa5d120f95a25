//! λ where nobody has set one: chosen from the data, as a part of the fit.
//!
//! A few folds, and on each a short path of warm-started fits that begins at a λ which depends on the scale of the data alone and goes on for
//! as long as the best value is the last one. What it costs, and what was tried, is in [`LambdaChoice`].

mod content;
mod path;

use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use super::search::Control;
use crate::dataset::Dataset;
use crate::error::Result;
use crate::penalty::AUTO;
use crate::scale::Scaler;
use crate::solver::{AnySolver, Progress, Watch};
use crate::spec::Spec;
use crate::tuning::tuning;
use content::Units;
pub(crate) use content::hashes;
use path::{LambdaPath, LambdaScale};

tuning! {
    /// Of the choice of λ.
    LAMBDA: LambdaTuning {
        /// Folds.
        folds: usize = 4, "parts of the rows", "docs/decisions/022";
        /// Units that the choice rests on at most.
        most_rows: usize = 5000, "rows", "docs/decisions/022";
        /// Numbers in them at most: there are as many copies as folds.
        most_numbers: usize = 1 << 22, "numbers", "32 MB, 200 in all folds";
        /// Of every class at least so many, if it has them.
        least_of_class: usize = 20, "rows", "five in every fold";
        /// How near to the optimum the fits come.
        tol: f64 = 1e-3, "the objective", "that of searches";
        /// Steps of a fit at most.
        most_steps: usize = 200, "steps", "by hand";
        /// Folds of the first, wide search.
        few_folds: usize = 1, "folds", "docs/decisions/022";
        /// Values on one decade of λ where p is 1; p times as few otherwise.
        per_decade: f64 = 8.0, "values", "docs/decisions/022";
        /// Powers beyond which values do not come nearer to each other, and not farther apart.
        least_power: f64 = 2.0, "p", "half a decade is a step";
        most_power: f64 = 8.0, "p", "two decades are a step";
        /// The step of the wide search.
        stride: i32 = 2, "values", "one decade with p = 4";
        /// Values of the wide search at most, and of the close one.
        most_wide: usize = 6, "values", "with the close ones at most 17 fits";
        most_close: usize = 3, "values", "the best and its neighbours";
        /// Where the search begins: the length of a row times the distance of two classes whose penalty is 1.
        natural: f64 = 5.6, "a product", "docs/decisions/022";
        /// No value is farther than this from 1.
        most_decades: f64 = 30.0, "decades", "by hand";
        /// Accuracies that differ by less are told apart by the log-loss.
        near: f64 = 1.0, "standard errors", "docs/decisions/022";
        /// Optima that are kept to start from.
        kept: usize = 3, "optima", "a close search needs its neighbours";
    }
}

impl LambdaTuning {
    /// Rows to use at most where each has so many numbers.
    pub(crate) fn rows_for(&self, numbers: usize) -> usize {
        self.most_rows.min(self.most_numbers / numbers.max(1)).max(self.least_of_class)
    }
}

/// How λ was chosen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LambdaChoice {
    /// What was chosen.
    pub lambda: f64,
    /// Parts that the rows were divided into; 0 where there were too few for any, and the scale of the data decided.
    pub folds: usize,
    /// Rows of the data.
    pub rows: usize,
    /// Those that took part: a sample of many.
    pub used: usize,
    /// What was tried, ascending.
    pub tried: Vec<TriedLambda>,
    /// Fits that were made.
    pub fits: usize,
    /// Evaluations of the loss in all of them, in units of all rows of the data.
    pub evaluations: f64,
    /// Whether the watcher put an end to it before all was done.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
}

/// One value of λ, judged by rows that the fits have not seen.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TriedLambda {
    /// The value.
    pub lambda: f64,
    /// Share of the held-out rows (by weight) that were classified correctly.
    pub accuracy: f64,
    /// Parts that were held out one after the other: all, or a few where the value was not near the best.
    pub folds: usize,
    /// Mean −ln of the probability of the true class, with the temperature that suits the held-out scores best.
    pub log_loss: f64,
}

impl LambdaChoice {
    /// One that was not chosen.
    pub(crate) fn given(lambda: f64, rows: usize) -> Self {
        let (folds, used, tried, fits, evaluations, interrupted) = (0, 0, Vec::new(), 0, 0.0, false);
        Self { lambda, folds, rows, used, tried, fits, evaluations, interrupted }
    }
}

impl Spec {
    /// Whether λ is to be chosen from the data: it is [`AUTO`], and there is slack to weigh.
    pub fn chooses_lambda(&self) -> bool {
        self.penalty.is_auto() && !self.hard_margin
    }

    /// The same settings with λ to be chosen from the data by every fit, which is the default.
    ///
    /// ```
    /// # use m3svm::{Dataset, Features, Spec};
    /// # let x: Vec<f64> = (0..40).map(|i| f64::from(i % 4) + 0.3 * f64::from(i % 7)).collect();
    /// # let labels: Vec<String> = (0..40).map(|i| (i % 2).to_string()).collect();
    /// # let data = Dataset::from_labels(Features::dense(x, 40, 1)?, &labels)?;
    /// let model = Spec::default().fit(&data)?;
    /// let choice = model.training().lambda.as_ref().expect("nobody has set λ");
    /// assert_eq!(model.spec().penalty.lambda(), Some(choice.lambda));
    /// # Ok::<(), m3svm::Error>(())
    /// ```
    pub fn with_auto_lambda(&self) -> Self {
        self.with_lambda(AUTO)
    }

    /// The same settings with the λ that [`Spec::fit`] would choose on such data, and how; as they are, where λ is a number. For those who
    /// fit parts of the data themselves: every part chooses by what its own rows say.
    pub fn with_chosen_lambda(
        &self,
        data: &Dataset<'_>,
        watch: &mut Watch<'_>,
    ) -> Result<(Self, Option<LambdaChoice>)> {
        if !self.chooses_lambda() {
            return Ok((self.clone(), None));
        }
        self.check_for(data.classes().len())?;
        let asked = Mutex::new(watch);
        let at = Progress::BEGIN;
        let control = |_: &_| {
            let mut watch = asked.lock().unwrap_or_else(PoisonError::into_inner);
            (*watch)(&at)
        };
        let choice = self.choose(data, &Control::new(&control))?;
        Ok((self.with_lambda(choice.lambda), Some(choice)))
    }

    /// The same settings with another λ, where the penalty has one.
    pub fn with_lambda(&self, lambda: f64) -> Self {
        Self { penalty: self.penalty.with_lambda(lambda), ..self.clone() }
    }

    /// The same settings with one λ for all data: [`AnyPenalty::usual_lambda`](crate::AnyPenalty::usual_lambda).
    pub fn with_usual_lambda(&self) -> Self {
        self.with_lambda(self.penalty.usual_lambda())
    }

    pub(crate) fn choose(&self, data: &Dataset<'_>, control: &Control<'_>) -> Result<LambdaChoice> {
        // Optima do not depend on the way to them, and on folds there is one way that is quick. With a limit of steps it is one that does
        // not go row by row: the order of rows would show in results so far from the optimum.
        let max_iter = Some(LAMBDA.most_steps);
        let spec = Spec { tol: LAMBDA.tol, solver: AnySolver::Auto, max_iter, ..self.clone() };
        let weights = self.row_weights(data)?;
        let mut units = Units::of(data, self.kernel, weights.as_deref());
        units.thin_out(LAMBDA.rows_for(data.x().stored() / data.rows().max(1)), LAMBDA.least_of_class);
        let folds = units.folds(LAMBDA.folds);
        // Parts of the rows may be fewer than what a kernel is approximated by.
        let least = folds.iter().map(|fold| fold.train.len()).min();
        let spec = Spec { rank: spec.rank.map(|rank| least.map_or(rank, |least| rank.min(least))), ..spec };
        let found = match LambdaPath::new(&spec, data, &folds, control)? {
            Some(path) => path.follow(control)?,
            None => None,
        };
        match found {
            Some(found) => Ok(LambdaChoice { used: units.rows(), ..found }),
            None => self.by_scale(data, units.rows(), control.stopped()),
        }
    }

    /// Without folds.
    fn by_scale(&self, data: &Dataset<'_>, used: usize, interrupted: bool) -> Result<LambdaChoice> {
        let scaler = Scaler::of_data(self.scaling(), data);
        let x = scaler.apply(data.x().view())?;
        let scale = LambdaScale::of(self);
        let lambda = scale.value(scale.start(self, &x, data.weights(), data.classes().len()));
        Ok(LambdaChoice {
            lambda,
            folds: 0,
            rows: data.rows(),
            used,
            tried: Vec::new(),
            fits: 0,
            evaluations: 0.0,
            interrupted,
        })
    }
}
