//! Training on data that comes in batches, by Adam on the same objective.
//!
//! # λ and batches
//!
//! Every batch is treated as if it were all the data: its losses are summed and λ is weighed against their sum. For the balance that a
//! fit of N rows has, batches of n rows need λ·n/N (and ε·n/N, which rarely matters).

use std::ops::ControlFlow;
use std::sync::Mutex;
use std::time::Instant;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use crate::certificate::Certificate;
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::memory;
use crate::model::{Model, Training};
use crate::objective::Objective;
use crate::scale::Scaler;
use crate::scheme::Scheme;
use crate::select::{Control, LambdaChoice};
use crate::solver::{Adam, AdamState, AnySolver, Solution, Stop, diverged};
use crate::spec::{ClassWeight, Spec};

/// Rows per step where the solver does not say: with 16, twenty passes over Iris get nine of ten rows right, with 64 they do not.
const ROWS_PER_STEP: usize = 16;

impl Spec {
    /// Whether [`Spec::fit_batch`] can train this: one joint problem without kinks at zero weights.
    pub fn takes_batches(&self) -> bool {
        self.scheme == Scheme::Joint && self.penalty.as_dyn().separable().is_none() && self.kernel.is_linear()
    }

    /// Goes over a batch once, in steps of Adam from where `before` and `state` have left off; without `before` from zero.
    ///
    /// The scaling of the first batch (or of the model it starts from) stays. Settings may change from call to call, λ for example.
    /// The result has no certificate: there is no data set for which it would be optimal. Its objective is that of the batch.
    ///
    /// ```
    /// use m3svm::solver::AdamState;
    /// use m3svm::{Dataset, Features, Spec};
    ///
    /// let (spec, classes) = (Spec::default(), vec!["low".to_string(), "high".to_string()]);
    /// let (mut model, mut state) = (None, AdamState::default());
    /// for rows in [[0.0, 1.0, 5.0], [0.5, 4.0, 4.5]] {
    ///     let y: Vec<u32> = rows.iter().map(|x| u32::from(*x > 2.0)).collect();
    ///     let batch = Dataset::batch(Features::dense(rows.to_vec(), 3, 1)?, y, classes.clone())?;
    ///     model = Some(spec.fit_batch(&batch, model.as_ref(), &mut state)?);
    /// }
    /// assert_eq!((model.map(|m| m.training().rows), state.steps), (Some(6), 2));
    /// # Ok::<(), m3svm::Error>(())
    /// ```
    pub fn fit_batch(&self, batch: &Dataset<'_>, before: Option<&Model>, state: &mut AdamState) -> Result<Model> {
        self.fit_batch_watched(batch, before, state, &mut || ControlFlow::Continue(()))
    }

    /// As [`Spec::fit_batch`], with a question between steps whether to go on. `Break` is [`Error::Interrupted`], and `state` stays
    /// as it was.
    pub fn fit_batch_watched(
        &self,
        batch: &Dataset<'_>,
        before: Option<&Model>,
        state: &mut AdamState,
        ask: &mut (dyn FnMut() -> ControlFlow<()> + Send),
    ) -> Result<Model> {
        let started = Instant::now();
        if self.chooses_lambda() {
            self.check_for_batches(batch, before)?;
            let choice = self.lambda_of_batches(batch, before, ask)?;
            let spec = self.with_lambda(choice.lambda * (batch.rows() as f64 / choice.rows.max(1) as f64));
            let mut model = spec.fit_batch_watched(batch, before, state, ask)?;
            model.training.lambda = Some(choice);
            return Ok(model);
        }
        self.check_for_batches(batch, before)?;
        let scaler = before.map_or_else(|| Scaler::fit(self.scaling, batch.x(), batch.weights()), |m| m.scaler.clone());
        let scaled = batch.borrow_with_x(scaler.apply(batch.x().view())?);
        let mut theta = before.map_or_else(|| self.origin(batch), |model| self.continued(model));
        let mut now = state.clone();
        for known in [&now.first, &now.second] {
            if !known.is_empty() && known.len() != theta.len() {
                let (expected, found) = (theta.len(), known.len());
                return Err(Error::Shape { what: "parameters that Adam remembers", expected, found });
            }
        }
        let task = self.joint_task(&scaled)?;
        let risk = self.risk(&task, task.x);
        let mut rows: Vec<u32> = (0..batch.rows() as u32).collect();
        // Another order for every batch, the same ones every time.
        let mut random = ChaCha8Rng::seed_from_u64(self.seed);
        random.set_stream(now.steps);
        let mut grad = vec![0.0; theta.len()];
        let pass = self.adam().pass(&risk, &mut rows, &mut random, &mut now, &mut theta, &mut grad, ask);
        if pass.is_break() {
            return Err(Error::Interrupted);
        }
        let objective = risk.eval(&theta, &mut grad);
        if !(objective.is_finite() && theta.iter().all(|t| t.is_finite())) {
            return Err(diverged(objective, now.steps as usize));
        }
        *state = now;
        let past = before.map(Model::training);
        let training = Training {
            rows: batch.rows() + past.map_or(0, |t| t.rows),
            problems: 1,
            solver: AnySolver::Adam(self.adam()).name().into(),
            stop: Stop::IterationLimit,
            iterations: state.steps as usize,
            evaluations: 2 + past.map_or(0, |t| t.evaluations),
            passes: None,
            lambda: None,
            // What a model from a file took is not known.
            seconds: past.map_or(Some(0.0), |t| t.seconds).map(|before| before + started.elapsed().as_secs_f64()),
        };
        let certificate = Certificate { objective, lower_bound: None };
        let (iterations, evaluations) = (training.iterations, training.evaluations);
        let solution = Solution { theta, certificate, stop: training.stop, iterations, evaluations };
        Model::new(self.clone(), &scaled, scaler, solution, training)
    }

    fn check_for_batches(&self, batch: &Dataset<'_>, before: Option<&Model>) -> Result<()> {
        self.check()?;
        self.loss.as_dyn().check_classes(batch.classes().len())?;
        memory::check_fit(self, batch)?;
        if self.scheme != Scheme::Joint {
            return Err(Error::param("method", "many problems of two classes", "be one joint problem to take batches"));
        }
        if !self.kernel.is_linear() || before.is_some_and(|model| model.expansion().is_some()) {
            let must = "be linear where data comes in batches: a kernel compares all rows with each other";
            return Err(Error::param("kernel", self.kernel.name(), must));
        }
        if self.hard_margin {
            let must = "be left out where data comes in batches: no batch knows which rows of others have to lead";
            return Err(Error::param("hard-margin", true, must));
        }
        if self.penalty.as_dyn().separable().is_some() {
            let must = "have no absolute values of weights where data comes in batches: their zeros want all rows";
            return Err(Error::param("penalty", self.penalty.name(), must));
        }
        if self.class_weight == ClassWeight::Balanced {
            let must = "name the weights of classes where data comes in batches: the balance of a batch is not that of all data";
            return Err(Error::param("class-weight", "balanced", must));
        }
        if batch.rows() == 0 {
            return Err(Error::param("rows of a batch", 0, "be at least 1"));
        }
        let Some(before) = before else { return Ok(()) };
        if before.features() != batch.x().cols() {
            let (expected, found) = (before.features(), batch.x().cols());
            return Err(Error::Shape { what: "features", expected, found });
        }
        if batch.x().is_sparse() && before.scaler.shifts() {
            let must = "be stored as dense numbers like those before, which the scaling moves";
            return Err(Error::param("batch", "a sparse matrix", must));
        }
        if before.classes != batch.classes() || before.spec.scheme != Scheme::Joint {
            let must = "be those of the model that goes on learning, which is one joint problem";
            return Err(Error::param("classes", batch.classes().join(", "), must));
        }
        Ok(())
    }

    /// What λ goes by: what was chosen for the model before, or its λ for its rows, or else what suits this batch.
    fn lambda_of_batches(
        &self,
        batch: &Dataset<'_>,
        before: Option<&Model>,
        ask: &mut (dyn FnMut() -> ControlFlow<()> + Send),
    ) -> Result<LambdaChoice> {
        if let Some(model) = before {
            let known = model.training.lambda.clone();
            let rows = model.training.rows;
            let as_it_was = || model.spec.penalty.lambda().map(|lambda| LambdaChoice::given(lambda, rows));
            if let Some(choice) = known.or_else(as_it_was) {
                return Ok(choice);
            }
        }
        let asked = Mutex::new(ask);
        let watch = |_: &_| asked.lock().map_or(ControlFlow::Break(()), |mut ask| (*ask)());
        let choice = self.choose(batch, &Control::new(&watch))?;
        if choice.interrupted { Err(Error::Interrupted) } else { Ok(choice) }
    }

    /// The parameters of a model, with intercepts if these settings have them.
    fn continued(&self, model: &Model) -> Vec<f64> {
        let intercept: &[f64] = if self.intercept { &model.intercept } else { &[] };
        [&model.weights, intercept].concat()
    }

    fn adam(&self) -> Adam {
        let adam = match self.solver {
            AnySolver::Adam(adam) => adam,
            _ => Adam::default(),
        };
        Adam { batch: Some(adam.batch.unwrap_or(ROWS_PER_STEP)), ..adam }
    }
}
