//! What to train: the plain settings that the command line parses, Python passes and the model file stores.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::certificate::Certificate;
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::features::Features;
use crate::loss::AnyLoss;
use crate::model::{Model, Training};
use crate::objective::Objective;
use crate::penalty::{AnyPenalty, Penalty};
use crate::reduce::Reduction;
use crate::risk::Risk;
use crate::scale::{Scaler, Scaling};
use crate::scheme::{self, Scheme};
use crate::solver::{AnySolver, DESCENT, Limits, Shared, Solution, Stop, Watch, rows};

/// Most numbers in W: a dozen vectors of that size are needed at once.
const MOST_WEIGHTS: usize = 50_000_000;

/// Weights of whole classes, multiplied onto the sample weights.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClassWeight {
    /// Every class counts by its rows.
    #[default]
    None,
    /// Every class counts the same: n/(c·nₖ).
    Balanced,
    /// By class name; classes that are not named get 1.
    Each(BTreeMap<String, f64>),
}

/// Everything that decides the result of a fit, apart from the data. Checked by [`Spec::fit`], not before.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// One joint problem, or many of two classes.
    #[serde(default)]
    pub scheme: Scheme,
    /// What a sample pays.
    pub loss: AnyLoss,
    /// What the weights pay.
    pub penalty: AnyPenalty,
    /// ε > 0, the tiny quadratic term on W and b that makes the optimum unique.
    pub epsilon: f64,
    /// Whether there is a vector b of intercepts (free but for ε).
    pub intercept: bool,
    /// How features are scaled.
    pub scaling: Scaling,
    /// Weights of classes.
    pub class_weight: ClassWeight,
    /// How the objective is minimised.
    pub solver: AnySolver,
    /// Relative duality gap at which the fit has converged.
    pub tol: f64,
    /// Most iterations; the solver's own default if `None`.
    pub max_iter: Option<usize>,
    /// Seed of everything random.
    pub seed: u64,
}

impl Default for Spec {
    /// The paper's choices: smooth hinge, p = 4, λ = 1e-3, ε = 1e-6.
    fn default() -> Self {
        Self {
            scheme: Scheme::default(),
            loss: AnyLoss::default(),
            penalty: AnyPenalty::default(),
            epsilon: 1e-6,
            intercept: true,
            scaling: Scaling::default(),
            class_weight: ClassWeight::default(),
            solver: AnySolver::default(),
            tol: 1e-8,
            max_iter: None,
            seed: 0,
        }
    }
}

impl Spec {
    /// Refuses settings outside their range.
    pub fn check(&self) -> Result<()> {
        self.loss.as_dyn().check()?;
        self.penalty.as_dyn().check()?;
        self.solver.check()?;
        self.solver.suits(self.loss.as_dyn(), self.penalty.as_dyn())?;
        if !(self.epsilon.is_finite() && self.epsilon > 0.0) {
            return Err(Error::param("epsilon", self.epsilon, "be a finite number greater than 0"));
        }
        if !(self.tol.is_finite() && self.tol > 0.0) {
            return Err(Error::param("tol", self.tol, "be a finite number greater than 0"));
        }
        if self.max_iter == Some(0) {
            return Err(Error::param("max-iter", 0, "be at least 1"));
        }
        Ok(())
    }

    /// The same, and refuses data with so many classes if the loss cannot tell them apart.
    pub fn check_for(&self, classes: usize) -> Result<()> {
        self.check()?;
        let told_apart = if self.scheme == Scheme::Joint { classes } else { 2 };
        self.loss.as_dyn().check_classes(told_apart)
    }

    /// Whether loss and penalty have no kinks. L-BFGS rarely reaches the optimum of a problem that has some.
    pub fn smooth(&self) -> bool {
        let finest = f64::MIN_POSITIVE;
        let penalty = self.penalty.as_dyn();
        self.loss.as_dyn().relaxed(finest).is_none()
            && penalty.relaxed(finest).is_none()
            && penalty.threshold().is_none()
    }

    /// Trains on a data set.
    pub fn fit(&self, data: &Dataset<'_>) -> Result<Model> {
        self.fit_watched(data, None, &mut |_| ControlFlow::Continue(()))
    }

    /// Trains with a warm start and a watcher (progress, Ctrl-C).
    pub fn fit_watched(&self, data: &Dataset<'_>, warm: Option<&Model>, watch: &mut Watch<'_>) -> Result<Model> {
        // Scaling copies borrowed features; `fit_owned` scales in place.
        let view = data.borrow_with_x(data.x().view());
        self.fit_owned(view, warm, watch).map(|(model, _)| model)
    }

    /// Trains on data that it may scale in place, and hands the (scaled) data back.
    pub fn fit_owned<'a>(
        &self,
        mut data: Dataset<'a>,
        warm: Option<&Model>,
        watch: &mut Watch<'_>,
    ) -> Result<(Model, Dataset<'a>)> {
        self.check_for(data.classes().len())?;
        let started = Instant::now();
        self.check_size(&data)?;
        let scaler = Scaler::fit(self.scaling, data.x(), data.weights());
        let x = scaler.apply(data.take_x())?;
        let data = data.with_x(x);
        let start = match warm {
            Some(model) => model.start_for(&data, &scaler, self)?,
            None => self.origin(&data),
        };
        let (solution, solver) = self.solve(&data, start, watch)?;
        let training = Training {
            rows: data.rows(),
            problems: self.scheme.problems(data.classes().len()),
            solver: solver.to_string(),
            stop: solution.stop,
            iterations: solution.iterations,
            evaluations: solution.evaluations,
            seconds: started.elapsed().as_secs_f64(),
        };
        Ok((Model::new(self.clone(), &data, scaler, solution, training), data))
    }

    /// Refuses more weights than fit.
    pub(crate) fn check_size(&self, data: &Dataset<'_>) -> Result<()> {
        let weights = data.x().cols().saturating_mul(self.scheme.scorers(data.classes().len()));
        if weights > MOST_WEIGHTS {
            return Err(Error::param("features times scorers", weights, "be at most 50 million"));
        }
        Ok(())
    }

    /// The model of weights that came from elsewhere (d×c row-major, and one intercept per class), such as the last layer of a network:
    /// nothing is trained, and the certificate says how far from the optimum on `data` the weights are.
    ///
    /// Weights belong to features as they are, so [`Scaling::None`] is asked for, and [`Scheme::Joint`] as well.
    pub fn model_at(&self, data: &Dataset<'_>, weights: &[f64], intercept: &[f64]) -> Result<Model> {
        self.check()?;
        let classes = data.classes().len();
        self.loss.as_dyn().check_classes(classes)?;
        if self.scaling != Scaling::None {
            return Err(Error::param("scaling", format!("{:?}", self.scaling), "be none for weights from elsewhere"));
        }
        if self.scheme != Scheme::Joint {
            return Err(Error::param("scheme", format!("{:?}", self.scheme), "be joint for weights from elsewhere"));
        }
        for (what, expected, found) in [
            ("weights", data.x().cols() * classes, weights.len()),
            ("intercepts", if self.intercept { classes } else { 0 }, intercept.len()),
        ] {
            if expected != found {
                return Err(Error::Shape { what, expected, found });
            }
        }
        if let Some(bad) = weights.iter().chain(intercept).find(|w| !w.is_finite()) {
            return Err(Error::param("weights", bad, "be finite"));
        }
        let started = Instant::now();
        let theta = [weights, intercept].concat();
        let task = self.joint_task(data)?;
        let risk = self.risk(&task, task.x);
        // The bound may be taken at a better intercept; the objective is that of the weights as they are.
        let bound = risk.certify(&mut theta.clone()).lower_bound;
        let certificate = Certificate::new(risk.value(&theta), bound);
        let solution = Solution { theta, certificate, stop: Stop::NoProgress, iterations: 0, evaluations: 0 };
        let training = Training {
            rows: data.rows(),
            problems: 1,
            solver: "none".into(),
            stop: solution.stop,
            iterations: 0,
            evaluations: 0,
            seconds: started.elapsed().as_secs_f64(),
        };
        let scaler = Scaler::fit(Scaling::None, data.x(), data.weights());
        Ok(Model::new(self.clone(), data, scaler, solution, training))
    }

    /// Parameters that are all 0.
    pub(crate) fn origin(&self, data: &Dataset<'_>) -> Vec<f64> {
        vec![0.0; (data.x().cols() + usize::from(self.intercept)) * self.scheme.scorers(data.classes().len())]
    }

    /// Minimises the objective of (scaled) data; also says which solver ran.
    pub(crate) fn solve(
        &self,
        data: &Dataset<'_>,
        start: Vec<f64>,
        watch: &mut Watch<'_>,
    ) -> Result<(Solution, &'static str)> {
        self.solve_with(data, start, None, watch)
    }

    /// The same for one of many fits on the same rows. An estimate of the distance to the optimum suffices there: it is what is compared
    /// that must be near enough, and a proof may cost as many steps again.
    pub(crate) fn solve_one_of_many(
        &self,
        data: &Dataset<'_>,
        start: Vec<f64>,
        shared: &Shared,
        watch: &mut Watch<'_>,
    ) -> Result<(Solution, &'static str)> {
        self.solve_with(data, start, Some(shared), watch)
    }

    fn solve_with(
        &self,
        data: &Dataset<'_>,
        start: Vec<f64>,
        shared: Option<&Shared>,
        watch: &mut Watch<'_>,
    ) -> Result<(Solution, &'static str)> {
        let proof = shared.is_none();
        if self.scheme != Scheme::Joint {
            let weights = self.row_weights(data)?;
            return scheme::solve(self, data, weights.as_deref(), &start, proof, watch);
        }
        self.solve_task(&Task { shared, proof, ..self.joint_task(data)? }, start, watch)
    }

    /// The reduction of (scaled) data to its row space, where that pays.
    pub(crate) fn reduction(&self, data: &Dataset<'_>) -> Result<Option<Reduction>> {
        let task = self.joint_task(data)?;
        let risk = self.risk(&task, task.x);
        Ok(Reduction::of(&risk, &self.solver.resolve(&risk)))
    }

    pub(crate) fn joint_task<'a>(&'a self, data: &'a Dataset<'_>) -> Result<Task<'a>> {
        let (classes, penalty, weights) = (data.classes().len(), self.penalty.as_dyn(), self.row_weights(data)?);
        let (epsilon, shared, proof) = (self.epsilon, None, true);
        Ok(Task { x: data.x(), y: data.y(), classes, weights, penalty, epsilon, shared, proof })
    }

    /// Minimises one objective, in the row space of its features where that pays.
    pub(crate) fn solve_task(
        &self,
        task: &Task<'_>,
        start: Vec<f64>,
        watch: &mut Watch<'_>,
    ) -> Result<(Solution, &'static str)> {
        let full = self.risk(task, task.x);
        let solver = self.solver.resolve(&full);
        let max_iter = self.max_iter.unwrap_or(solver.default_max_iter());
        let limits = Limits { tol: self.tol, max_iter, seed: self.seed, proof: task.proof };
        if self.solver == AnySolver::Auto && self.max_iter.is_none() && rows::suits(&full) {
            // It cannot begin where others have ended, and what it gives up begins as if it had not been.
            if let Some(found) = rows::minimize(&full, start.clone(), &limits, watch) {
                return Ok((found, DESCENT));
            }
        }
        let Some(reduction) = Reduction::of(&full, &solver) else {
            return Ok((solver.minimize(&full, start, &limits, watch)?, solver.name()));
        };
        let reduced = self.risk(task, reduction.features()).inexact(reduction.rounding());
        let start = reduction.project(&start, task.classes);
        // A little to spare, for what rounding costs on the way back.
        let limits = Limits { tol: 0.999 * self.tol, ..limits };
        let mut found = solver.minimize(&reduced, start, &limits, watch)?;
        found.theta = reduction.lift(&found.theta, task.classes);
        if task.proof {
            found.certificate = Certificate::new(full.value(&found.theta), found.certificate.lower_bound);
        }
        Ok((found, solver.name()))
    }

    pub(crate) fn risk<'r>(&'r self, task: &'r Task<'r>, x: &'r Features<'r>) -> Risk<'r> {
        let loss = self.loss.as_dyn();
        let weights = task.weights.as_deref().map(Cow::Borrowed);
        let risk = Risk::from_parts(x, task.y, task.classes, weights, loss, task.penalty, task.epsilon, self.intercept);
        // What is shared was made from the features as they are.
        risk.sharing(task.shared.filter(|_| std::ptr::eq(x, task.x)))
    }

    /// Sample weights times class weights; `None` if all are 1.
    fn row_weights<'a>(&self, data: &'a Dataset<'_>) -> Result<Option<Cow<'a, [f64]>>> {
        let classes = data.classes();
        let each: Vec<f64> = match &self.class_weight {
            ClassWeight::None => return Ok(data.weights().map(Cow::Borrowed)),
            ClassWeight::Each(map) => {
                if let Some((name, _)) = map.iter().find(|(name, _)| !classes.contains(name)) {
                    return Err(Error::param("class-weight", name, "name classes of the data"));
                }
                classes.iter().map(|c| map.get(c).copied().unwrap_or(1.0)).collect()
            }
            ClassWeight::Balanced => {
                let mut mass = vec![0.0; classes.len()];
                for (i, &k) in data.y().iter().enumerate() {
                    mass[k as usize] += data.weights().map_or(1.0, |w| w[i]);
                }
                let present = mass.iter().filter(|m| **m > 0.0).count() as f64;
                let total: f64 = mass.iter().sum();
                mass.iter().map(|m| if *m > 0.0 { total / (present * m) } else { 1.0 }).collect()
            }
        };
        if let Some(k) = each.iter().position(|w| !(w.is_finite() && *w >= 0.0)) {
            return Err(Error::Weight { place: format!("class `{}`", classes[k]), value: each[k] });
        }
        let rows = data.y().iter().enumerate().map(|(i, &k)| each[k as usize] * data.weights().map_or(1.0, |w| w[i]));
        Ok(Some(Cow::Owned(rows.collect())))
    }
}

/// One optimisation problem: data with labels, and what its weights pay.
pub(crate) struct Task<'a> {
    pub(crate) x: &'a Features<'a>,
    pub(crate) y: &'a [u32],
    pub(crate) classes: usize,
    pub(crate) weights: Option<Cow<'a, [f64]>>,
    pub(crate) penalty: &'a dyn Penalty,
    pub(crate) epsilon: f64,
    /// What fits on the same rows have in common.
    pub(crate) shared: Option<&'a Shared>,
    /// Whether the optimum is to be proven.
    pub(crate) proof: bool,
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn weights_from_elsewhere_make_the_model_they_are() {
        let x = vec![1.4, 0.2, 1.3, 0.3, 4.5, 1.5, 4.1, 1.3, 5.9, 2.1, 5.6, 2.4];
        let data = Dataset::from_labels(Features::dense(x, 6, 2).unwrap(), &["a", "a", "b", "b", "c", "c"]).unwrap();
        let spec = Spec { scaling: Scaling::None, ..Spec::default() };
        let fitted = spec.fit(&data).unwrap();
        let same = spec.model_at(&data, fitted.weights(), fitted.intercept()).unwrap();
        assert_eq!(same.scores(data.x()).unwrap(), fitted.scores(data.x()).unwrap());
        let (there, here) = (fitted.certificate().objective, same.certificate().objective);
        assert!((there - here).abs() <= 1e-12 * there, "{there} {here}");
        assert!(same.certificate().relative_gap().unwrap() < 1e-3);
        // Other weights are worse by more than the gap of the optimum.
        let half: Vec<f64> = fitted.weights().iter().map(|w| 0.5 * w).collect();
        let worse = spec.model_at(&data, &half, fitted.intercept()).unwrap();
        assert!(worse.certificate().objective > there && worse.certificate().lower_bound.unwrap() <= there);
        let error = spec.model_at(&data, &half[1..], fitted.intercept()).unwrap_err().to_string();
        assert_eq!(error, "weights: expected 6, found 5");
        let error = spec.model_at(&data, &half, &[0.0, f64::NAN, 0.0]).unwrap_err().to_string();
        assert_eq!(error, "`weights` must be finite, found NaN");
        let error = Spec::default().model_at(&data, &half, &[0.0; 3]).unwrap_err().to_string();
        assert!(error.starts_with("`scaling` must be none"), "{error}");
    }

    #[test]
    fn more_weights_than_fit_are_refused_before_anything_is_allocated() {
        let x = Features::csr(vec![0, 1, 2], vec![0, 4_000_000_000], vec![1.0, 1.0], 4_000_000_001).unwrap();
        let data = Dataset::from_labels(x, &["a", "b"]).unwrap();
        let error = Spec::default().fit(&data).unwrap_err().to_string();
        assert_eq!(error, "`features times scorers` must be at most 50 million, found 8000000002");
    }
}
