//! What to train: the plain settings that the command line parses, Python passes and the model file stores.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::certificate::Certificate;
use crate::dataset::{Dataset, check_sum};
use crate::engine::{InMemory, Rows, SharedProducts};
use crate::error::{Error, Result};
use crate::features::Features;
use crate::hard_margin::{self, LeadingRows};
use crate::interrupt::{Heed, Interrupt};
use crate::kernel::{self, Kernel};
use crate::loss::AnyLoss;
use crate::memory;
use crate::model::{Model, Training};
use crate::objective::Objective;
use crate::parameter::Parameters;
use crate::penalty::{AUTO, AnyPenalty, Norm, Penalty};
use crate::plan;
use crate::reduce::Reduction;
use crate::risk::Risk;
use crate::scale::{Scaler, Scaling};
use crate::scheme::{self, Scheme};
use crate::solver::{AnySolver, DualCoordinate, Limits, Newton, Solution, Stop, Watch, dual_coordinate};

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
    /// Which inner product scores are linear in.
    #[serde(default, skip_serializing_if = "Kernel::is_linear")]
    pub kernel: Kernel,
    /// Most rows that a kernel is approximated by; `None` for all that it takes, as long as the memory budget has room for them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<usize>,
    /// Whether every row has to lead every other class: no slack, and class vectors as near to each other as that allows. What a sample
    /// pays and λ do not matter then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hard_margin: bool,
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
    /// The paper's choices: smooth hinge, p = 4, ε = 1e-6; but λ is chosen from the data. [`Spec::with_lambda`] sets it.
    fn default() -> Self {
        Self {
            scheme: Scheme::default(),
            loss: AnyLoss::default(),
            penalty: AnyPenalty::default().with_lambda(AUTO),
            kernel: Kernel::default(),
            rank: None,
            hard_margin: false,
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
        self.loss.check_parameters()?;
        self.penalty.check_parameters()?;
        self.solver.check_parameters()?;
        self.solver.suits(self.loss.as_dyn(), self.penalty.as_dyn())?;
        self.check_kernel()?;
        self.check_hard_margin()?;
        if !(self.epsilon.is_finite() && self.epsilon > 0.0) {
            return Err(Error::param("epsilon", self.epsilon, "be a finite number greater than 0"));
        }
        if !(self.tol.is_finite() && self.tol > 0.0) {
            return Err(Error::param("tol", self.tol, "be a finite number greater than 0"));
        }
        if self.max_iter == Some(0) {
            return Err(Error::param("max-iter", 0, "be at least 1"));
        }
        plan::check_dual(self)
    }

    fn check_kernel(&self) -> Result<()> {
        if self.penalty.p() == Some(f64::INFINITY) && !self.penalty.as_dyn().rotation_invariant() {
            return Err(Error::param("p", "inf", "be at most 1000 in the norm l1"));
        }
        self.kernel.check()?;
        if self.rank == Some(0) {
            return Err(Error::param("rank", 0, "be at least 1"));
        }
        if self.kernel.is_linear() {
            return match self.rank {
                Some(rank) => Err(Error::param("rank", rank, "be left out without a kernel")),
                None => Ok(()),
            };
        }
        if !self.penalty.as_dyn().rotation_invariant() {
            let must =
                "be linear for penalties of absolute values: they see features one by one, and a kernel has none";
            return Err(Error::param("kernel", self.kernel.name(), must));
        }
        Ok(())
    }

    fn check_hard_margin(&self) -> Result<()> {
        if !self.hard_margin {
            return Ok(());
        }
        let refuse = |value: &str, must| Err(Error::param("hard-margin", value, must));
        let pairwise = matches!(&self.penalty, AnyPenalty::Pairwise(pairwise) if pairwise.norm == Norm::L2);
        if !pairwise || self.penalty.p().is_none_or(|p| p < 1.0) {
            return refuse(
                "another penalty",
                "go with distances of class vectors in the norm l2 to a power p of at least 1",
            );
        }
        if self.scheme != Scheme::Joint || !self.loss.as_dyn().is_hinge() || self.loss.top_k().is_some() {
            return refuse("another method", "go with the method m3svm");
        }
        if !matches!(self.solver, AnySolver::Auto | AnySolver::Newton(_)) {
            return refuse(self.solver.name(), "go with the solver auto or newton");
        }
        Ok(())
    }

    /// How features are scaled in fact: the values of a precomputed kernel are left alone.
    pub(crate) fn scaling(&self) -> Scaling {
        if self.kernel == Kernel::Precomputed { Scaling::None } else { self.scaling }
    }

    /// The same, and refuses data with so many classes if the loss cannot tell them apart.
    pub fn check_for(&self, classes: usize) -> Result<()> {
        self.check()?;
        let told_apart = if self.scheme == Scheme::Joint { classes } else { 2 };
        self.loss.as_dyn().check_classes(told_apart)
    }

    /// Whether loss and penalty have no kinks. L-BFGS rarely reaches the optimum of a problem that has some.
    pub fn smooth(&self) -> bool {
        self.loss.as_dyn().is_smooth() && self.penalty.as_dyn().is_smooth()
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
        memory::check_fit(self, &data)?;
        if let Some(model) = warm {
            model.check_columns(data.preprocessor())?;
        }
        if self.chooses_lambda() {
            let (spec, choice) = self.with_chosen_lambda(&data, watch)?;
            let (mut model, data) = spec.fit_owned(data, warm, watch)?;
            model.training.lambda = choice;
            model.training.seconds = Some(started.elapsed().as_secs_f64());
            return Ok((model, data));
        }
        let scaler = Scaler::of_data(self.scaling(), &data);
        let x = scaler.apply(data.take_x())?;
        let data = data.with_x(x);
        let done = |solution: &Solution, solver: &str| Training {
            rows: data.rows(),
            problems: self.scheme.problems(data.classes().len()),
            solver: solver.to_string(),
            stop: solution.stop,
            iterations: solution.iterations,
            evaluations: solution.evaluations,
            passes: None,
            lambda: None,
            seconds: Some(started.elapsed().as_secs_f64()),
        };
        if !self.kernel.is_linear() {
            let start = warm.map(|model| {
                let classes = data.classes();
                let scaler = &scaler;
                move |x: &Features<'_>| model.start_scores(x, scaler, self, classes)
            });
            let start = start.as_ref().map(|start| start as &kernel::StartScores<'_>);
            let fitted = kernel::fit(self, &data, start, watch)?;
            let training = done(&fitted.solution, fitted.solver);
            return Ok((Model::with_kernel(self.clone(), &data, scaler.clone(), fitted, training)?, data));
        }
        let start = match warm {
            Some(model) => model.start_for(data.x().cols(), data.classes(), &scaler, self)?,
            None => self.origin(&data),
        };
        let (solution, solver) = self.solve(&data, start, watch)?;
        let training = done(&solution, solver);
        Ok((Model::new(self.clone(), &data, scaler, solution, training)?, data))
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
        if self.hard_margin {
            return Err(Error::param("hard-margin", true, "be left out for weights from elsewhere"));
        }
        if self.chooses_lambda() {
            return Err(Error::param("lambda", "auto", "be a number for weights from elsewhere"));
        }
        if !self.kernel.is_linear() {
            return Err(Error::param("kernel", self.kernel.name(), "be linear for weights from elsewhere"));
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
        let found = Solution { theta, certificate, stop: Stop::NoProgress, iterations: 0, evaluations: 0 };
        let solution = found.settled(self.tol, true)?;
        let training = Training {
            rows: data.rows(),
            problems: 1,
            solver: "none".into(),
            stop: solution.stop,
            iterations: 0,
            evaluations: 0,
            passes: None,
            lambda: None,
            seconds: Some(started.elapsed().as_secs_f64()),
        };
        let scaler = Scaler::fit(Scaling::None, data.x(), data.weights());
        Model::new(self.clone(), data, scaler, solution, training)
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
        shared: &SharedProducts,
        watch: &mut Watch<'_>,
    ) -> Result<(Solution, &'static str)> {
        self.solve_with(data, start, Some(shared), watch)
    }

    fn solve_with(
        &self,
        data: &Dataset<'_>,
        start: Vec<f64>,
        shared: Option<&SharedProducts>,
        watch: &mut Watch<'_>,
    ) -> Result<(Solution, &'static str)> {
        self.solve_heeding(data, start, shared, &Interrupt::new(watch))
    }

    /// The same for who may interrupt it anywhere.
    pub(crate) fn solve_heeding(
        &self,
        data: &Dataset<'_>,
        start: Vec<f64>,
        shared: Option<&SharedProducts>,
        interrupt: &Interrupt<'_>,
    ) -> Result<(Solution, &'static str)> {
        let proof = shared.is_none();
        let (found, solver) = if self.scheme == Scheme::Joint {
            let task = Task { shared, proof, heed: interrupt.heed(), ..self.joint_task(data)? };
            self.solve_task(&task, start, &mut |at| interrupt.report(at))?
        } else {
            let weights = self.row_weights(data)?;
            scheme::solve(self, data, weights.as_deref(), &start, proof, interrupt)?
        };
        // For many problems, what is asked for is a proof for the sum; a part may fall a little short of its own.
        Ok((found.settled(self.tol, proof)?, solver))
    }

    /// The reduction of (scaled) data to its row space, where that pays.
    pub(crate) fn reduction(&self, data: &Dataset<'_>) -> Result<Option<Reduction>> {
        let task = self.joint_task(data)?;
        let risk = self.risk(&task, task.x);
        let sizes = InMemory::new(&risk).sizes();
        let solver = plan::solver(&self.solver, &risk.problem).pick;
        Ok(if plan::reduces(task.penalty, &sizes, &solver).pick { Reduction::of(&risk) } else { None })
    }

    pub(crate) fn joint_task<'a>(&'a self, data: &'a Dataset<'_>) -> Result<Task<'a>> {
        let (classes, penalty, weights) = (data.classes().len(), self.penalty.as_dyn(), self.row_weights(data)?);
        let (epsilon, shared, proof, heed) = (self.epsilon, None, true, Heed::default());
        let names = data.classes();
        Ok(Task { x: data.x(), y: data.y(), classes, names, weights, penalty, epsilon, shared, proof, heed })
    }

    /// Minimises one objective, in the row space of its features where that pays.
    pub(crate) fn solve_task(
        &self,
        task: &Task<'_>,
        start: Vec<f64>,
        watch: &mut Watch<'_>,
    ) -> Result<(Solution, &'static str)> {
        if self.hard_margin {
            return self.solve_hard(task, watch);
        }
        let full = self.risk(task, task.x);
        let sizes = InMemory::new(&full).sizes();
        let solver = plan::solver(&self.solver, &full.problem).pick;
        let max_iter = self.max_iter.unwrap_or(solver.default_max_iter());
        let limits = Limits { tol: self.tol, max_iter, seed: self.seed, proof: task.proof };
        // What ascent gives up begins as if it had not been: it cannot begin where others have ended.
        if plan::ascends(&self.solver, self.max_iter.is_some(), &full.problem, &sizes).pick
            && let Some(found) = dual_coordinate::attempt(&full, start.clone(), &limits, watch)?
        {
            return Ok((found, AnySolver::Dual(DualCoordinate {}).name()));
        }
        let reduces = plan::reduces(task.penalty, &sizes, &solver).pick;
        let Some(reduction) = reduces.then(|| Reduction::of(&full)).flatten() else {
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

    /// The same without slack.
    fn solve_hard(&self, task: &Task<'_>, watch: &mut Watch<'_>) -> Result<(Solution, &'static str)> {
        let newton = AnySolver::Newton(Newton {});
        let max_iter = self.max_iter.unwrap_or(newton.default_max_iter());
        let kept = task.weights.as_deref().and_then(|weights| hard_margin::counting(task.x, task.y, weights));
        let (x, y) = kept.as_ref().map_or((task.x, task.y), |(x, y)| (x, y.as_slice()));
        let rows = LeadingRows { x, y, classes: task.classes, intercept: self.intercept };
        let p = self.penalty.p().unwrap_or(f64::INFINITY);
        let found = hard_margin::solve(rows, task.names, p, self.tol, max_iter, task.heed, watch)?;
        Ok((found, newton.name()))
    }

    /// What the parameters of a hard margin are worth: see [`crate::hard_margin`].
    pub(crate) fn hard_value(&self, data: &Dataset<'_>, weights: Option<&[f64]>, theta: &[f64]) -> f64 {
        let kept = weights.and_then(|weights| hard_margin::counting(data.x(), data.y(), weights));
        let (x, y) = kept.as_ref().map_or((data.x(), data.y()), |(x, y)| (x, y.as_slice()));
        let rows = LeadingRows { x, y, classes: data.classes().len(), intercept: self.intercept };
        hard_margin::value(&rows, theta, self.penalty.p().unwrap_or(f64::INFINITY))
    }

    pub(crate) fn risk<'r>(&'r self, task: &'r Task<'r>, x: &'r Features<'r>) -> Risk<'r> {
        let loss = self.loss.as_dyn();
        let weights = task.weights.as_deref().map(Cow::Borrowed);
        let risk = Risk::from_parts(x, task.y, task.classes, weights, loss, task.penalty, task.epsilon, self.intercept);
        // What is shared was made from the features as they are.
        risk.sharing(task.shared.filter(|_| std::ptr::eq(x, task.x))).heeding(task.heed)
    }

    /// What every class counts among these rows; `None` if all count 1.
    pub(crate) fn class_weights_of(&self, data: &Dataset<'_>) -> Result<Option<Vec<f64>>> {
        self.each_class(data.classes(), || {
            let mut mass = vec![0.0; data.classes().len()];
            for (i, &k) in data.y().iter().enumerate() {
                mass[k as usize] += data.weights().map_or(1.0, |w| w[i]);
            }
            mass
        })
    }

    /// Sample weights times class weights; `None` if all are 1.
    pub(crate) fn row_weights<'a>(&self, data: &'a Dataset<'_>) -> Result<Option<Cow<'a, [f64]>>> {
        let Some(each) = self.class_weights_of(data)? else {
            return Ok(data.weights().map(Cow::Borrowed));
        };
        let rows = data.y().iter().enumerate().map(|(i, &k)| each[k as usize] * data.weights().map_or(1.0, |w| w[i]));
        let rows: Vec<f64> = rows.collect();
        let of = "the rows, with those of their classes,";
        if rows.iter().all(|weight| *weight == 0.0) {
            return Err(Error::NoWeight { of });
        }
        check_sum(of, &rows)?;
        Ok(Some(Cow::Owned(rows)))
    }
}

impl Spec {
    /// What every class counts, where `mass` says how much its rows weigh; `None` if all count 1.
    pub(crate) fn each_class(&self, classes: &[String], mass: impl FnOnce() -> Vec<f64>) -> Result<Option<Vec<f64>>> {
        let each: Vec<f64> = match &self.class_weight {
            ClassWeight::None => return Ok(None),
            ClassWeight::Each(map) => {
                if let Some((name, _)) = map.iter().find(|(name, _)| !classes.contains(name)) {
                    return Err(Error::param("class-weight", name, "name classes of the data"));
                }
                classes.iter().map(|c| map.get(c).copied().unwrap_or(1.0)).collect()
            }
            ClassWeight::Balanced => {
                let mass = mass();
                let present = mass.iter().filter(|m| **m > 0.0).count() as f64;
                let total: f64 = mass.iter().sum();
                mass.iter().map(|m| if *m > 0.0 { total / (present * m) } else { 1.0 }).collect()
            }
        };
        match each.iter().position(|w| !(w.is_finite() && *w >= 0.0)) {
            Some(k) => Err(Error::Weight { place: format!("class `{}`", classes[k]), value: each[k] }),
            None => Ok(Some(each)),
        }
    }
}

/// One optimisation problem: data with labels, and what its weights pay.
pub(crate) struct Task<'a> {
    pub(crate) x: &'a Features<'a>,
    pub(crate) y: &'a [u32],
    pub(crate) classes: usize,
    /// How the classes are called; nothing where that is not needed.
    pub(crate) names: &'a [String],
    pub(crate) weights: Option<Cow<'a, [f64]>>,
    pub(crate) penalty: &'a dyn Penalty,
    pub(crate) epsilon: f64,
    /// What fits on the same rows have in common.
    pub(crate) shared: Option<&'a SharedProducts>,
    /// Whether the optimum is to be proven.
    pub(crate) proof: bool,
    /// Who may interrupt it.
    pub(crate) heed: Heed<'a>,
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn weights_from_elsewhere_make_the_model_they_are() {
        let x = vec![1.4, 0.2, 1.3, 0.3, 4.5, 1.5, 4.1, 1.3, 5.9, 2.1, 5.6, 2.4];
        let data = Dataset::from_labels(Features::dense(x, 6, 2).unwrap(), &["a", "a", "b", "b", "c", "c"]).unwrap();
        let spec = Spec { scaling: Scaling::None, ..Spec::default().with_usual_lambda() };
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
        let error = Spec::default().with_usual_lambda().model_at(&data, &half, &[0.0; 3]).unwrap_err().to_string();
        assert!(error.starts_with("`scaling` must be none"), "{error}");
    }

    #[test]
    fn more_weights_than_fit_are_refused_before_anything_is_allocated() {
        let x = Features::csr(vec![0, 1, 2], vec![0, 4_000_000_000], vec![1.0, 1.0], 4_000_000_001).unwrap();
        let data = Dataset::from_labels(x, &["a", "b"]).unwrap();
        let error = Spec::default().with_usual_lambda().fit(&data).unwrap_err().to_string();
        let expected = "the fit of 4000000001 features for 2 scorers needs about 832 GB, and the memory budget is ";
        assert!(error.starts_with(expected), "{error}");
    }
}
