//! The objective: the chain rule between data, loss and penalty, written once.
//!
//! ```text
//! F(W, b) = Σᵢ ωᵢ ℓ(Wᵀxᵢ + b, yᵢ) + R(W) + ε(‖W‖² + ‖b‖²)
//! ```
//!
//! A *sum* over samples and over unordered class pairs, as in the paper. Conversions to other scalings of λ are in the crate
//! documentation. Parameters are flat: d rows of W (d×c, row-major), then the row b if there is an intercept.

use std::borrow::Cow;
use std::sync::OnceLock;

use crate::certificate::{Certificate, certify};
use crate::dataset::Dataset;
use crate::design::Design;
use crate::engine::{InMemory, Rows, SharedProducts};
use crate::features::Features;
use crate::interrupt::Heed;
use crate::loss::Loss;
use crate::objective::Objective;
use crate::partition::Partition;
use crate::penalty::Penalty;
use crate::problem::Problem;
use crate::rounding::of_sum;

/// The function that a fit minimises, over rows in memory.
#[derive(Clone, Debug)]
pub struct Risk<'a> {
    pub(crate) problem: Problem<'a>,
    pub(crate) x: &'a Features<'a>,
    pub(crate) y: &'a [u32],
    pub(crate) weights: Option<Cow<'a, [f64]>>,
    pub(crate) design: Design<'a>,
    partition: Partition<'a>,
    /// ‖xᵢ‖ of every row.
    lengths: OnceLock<Vec<f64>>,
    /// How exact the rows are, relative to their lengths: 0 unless they stand for others.
    inexact: f64,
    /// What other fits on the same rows have made already.
    pub(crate) shared: Option<&'a SharedProducts>,
}

impl<'a> Risk<'a> {
    /// The objective of a data set with any loss and penalty, also your own.
    pub fn new(
        data: &'a Dataset<'a>,
        loss: &'a dyn Loss,
        penalty: &'a dyn Penalty,
        epsilon: f64,
        intercept: bool,
    ) -> Self {
        let weights = data.weights().map(Cow::Borrowed);
        Self::from_parts(data.x(), data.y(), data.classes().len(), weights, loss, penalty, epsilon, intercept)
    }

    pub(crate) fn from_parts(
        x: &'a Features<'a>,
        y: &'a [u32],
        classes: usize,
        weights: Option<Cow<'a, [f64]>>,
        loss: &'a dyn Loss,
        penalty: &'a dyn Penalty,
        epsilon: f64,
        intercept: bool,
    ) -> Self {
        let design = Design::new(x, intercept);
        let partition = design.partition(classes);
        let (features, heed) = (x.cols(), Heed::default());
        let problem = Problem { loss, penalty, epsilon, intercept, classes, features, heed };
        Self { problem, x, y, weights, design, partition, lengths: OnceLock::new(), inexact: 0.0, shared: None }
    }

    /// The same risk, for a fit that may be interrupted.
    pub(crate) fn heeding(self, heed: Heed<'a>) -> Self {
        let design = self.design.heeding(heed);
        let problem = Problem { heed, ..self.problem };
        Self { problem, partition: self.partition.heeding(heed), design, ..self }
    }

    /// The same risk, whose passes are whole whatever has happened. Its first passes may cost a little more.
    pub(crate) fn deaf(&self) -> Risk<'a> {
        let heed = Heed::default();
        Self {
            problem: Problem { heed, ..self.problem },
            weights: self.weights.clone(),
            design: Design::used_once(self.x, self.problem.intercept),
            partition: self.partition.clone().heeding(heed),
            lengths: OnceLock::new(),
            ..*self
        }
    }

    /// The same risk, whose rows stand for others and are as exact as this, relative to their lengths.
    pub(crate) fn inexact(self, inexact: f64) -> Self {
        Self { inexact, ..self }
    }

    /// The same risk, for one of many fits on its rows.
    pub(crate) fn sharing(self, shared: Option<&'a SharedProducts>) -> Self {
        Self { shared, ..self }
    }

    pub(crate) fn partition(&self) -> &Partition<'a> {
        &self.partition
    }

    /// The largest error of a sum over all rows, relative to the sum of absolute values.
    pub(crate) fn rounding(&self) -> f64 {
        of_sum(self.design.depth(&self.partition, self.problem.classes) + self.problem.classes) + self.inexact
    }

    /// ‖xᵢ‖ of every row.
    pub(crate) fn lengths(&self) -> &[f64] {
        self.lengths.get_or_init(|| self.x.lengths())
    }

    /// Weight of row `i`.
    pub(crate) fn weight(&self, i: usize) -> f64 {
        self.weights.as_ref().map_or(1.0, |w| w[i])
    }

    /// F at a point.
    pub(crate) fn value(&self, theta: &[f64]) -> f64 {
        InMemory::new(self).exact_value_at(theta) + self.problem.penalty_value(self.problem.penalty, theta)
    }
}

impl Objective for Risk<'_> {
    fn dim(&self) -> usize {
        self.problem.dim()
    }

    fn terms(&self) -> usize {
        self.x.rows()
    }

    fn eval(&self, theta: &[f64], grad: &mut [f64]) -> f64 {
        let c = self.problem.classes;
        grad.fill(0.0);
        // Scores, loss and gradient share one pass: a block of rows is multiplied, scored and pulled back while in cache.
        let sums = self.pull_back(grad, |block, x, scratch, g| {
            scratch.scores.resize(block.len() * c, 0.0);
            self.block_scores(x, theta, &mut scratch.scores);
            self.block_loss(self.problem.loss, block, &scratch.scores, false, &mut scratch.values, g)
        });
        sums.value + self.problem.penalty_grad(self.problem.penalty, theta, grad)
    }

    fn eval_rows(&self, rows: &[u32], theta: &[f64], grad: &mut [f64]) -> f64 {
        let scale = self.x.rows() as f64 / rows.len().max(1) as f64;
        let x = self.x.take_rows(rows);
        let y: Vec<u32> = rows.iter().map(|&i| self.y[i as usize]).collect();
        let weights: Vec<f64> = rows.iter().map(|&i| scale * self.weight(i as usize)).collect();
        let weights = Some(Cow::Owned(weights));
        let Problem { loss, penalty, epsilon, intercept, classes, .. } = self.problem;
        let mut part = Risk::from_parts(&x, &y, classes, weights, loss, penalty, epsilon, intercept);
        part.design = Design::used_once(&x, intercept);
        part.eval(theta, grad)
    }

    fn is_interrupted(&self) -> bool {
        self.problem.heed.is_stopped()
    }

    fn certify(&self, theta: &mut [f64]) -> Certificate {
        certify(&self.problem, &mut InMemory::new(self), theta)
    }
}
