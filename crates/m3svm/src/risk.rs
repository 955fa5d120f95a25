//! The objective: the chain rule between data, loss and penalty, written once.
//!
//! ```text
//! F(W, b) = Σᵢ ωᵢ ℓ(Wᵀxᵢ + b, yᵢ) + R(W) + ε(‖W‖² + ‖b‖²)
//! ```
//!
//! A *sum* over samples and over unordered class pairs, as in the paper. Conversions to other scalings of λ are in the crate
//! documentation. Parameters are flat: d rows of W (d×c, row-major), then the row b if there is an intercept.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::OnceLock;

use crate::certificate::Certificate;
use crate::dataset::Dataset;
use crate::design::Design;
use crate::features::{Block, Features, Window};
use crate::kernel::{add_scaled, axpy, dot, unrolled, vectorised};
use crate::loss::{Loss, Shape};
use crate::objective::Objective;
use crate::partition::Partition;
use crate::penalty::Penalty;
use crate::rounding::of_sum;
use crate::solver::Shared;
use crate::tile::Tile;

/// The function that a fit minimises.
#[derive(Clone, Debug)]
pub struct Risk<'a> {
    pub(crate) x: &'a Features<'a>,
    pub(crate) y: &'a [u32],
    pub(crate) classes: usize,
    pub(crate) weights: Option<Cow<'a, [f64]>>,
    pub(crate) loss: &'a dyn Loss,
    pub(crate) penalty: &'a dyn Penalty,
    pub(crate) epsilon: f64,
    pub(crate) intercept: bool,
    design: Design<'a>,
    partition: Partition,
    /// ‖xᵢ‖ of every row.
    lengths: OnceLock<Vec<f64>>,
    /// How exact the rows are, relative to their lengths: 0 unless they stand for others.
    inexact: f64,
    /// What other fits on the same rows have made already.
    pub(crate) shared: Option<&'a Shared>,
}

/// What one pass over the loss of all rows gives.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LossSums {
    /// Σ ω ℓ.
    pub(crate) value: f64,
    /// Σ −ω ℓ*(∇ℓ), for the lower bound.
    pub(crate) dual: f64,
    /// The same of absolute values; Σ ω‖∇ℓ‖; Σ ω‖∇ℓ‖‖x‖. They say how large the rounding of `dual` and of the gradient can be.
    pub(crate) size: f64,
    pub(crate) mass: f64,
    pub(crate) reach: f64,
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
        let (lengths, inexact, shared) = (OnceLock::new(), 0.0, None);
        Self { x, y, classes, weights, loss, penalty, epsilon, intercept, design, partition, lengths, inexact, shared }
    }

    /// The same risk, whose rows stand for others and are as exact as this, relative to their lengths.
    pub(crate) fn inexact(self, inexact: f64) -> Self {
        Self { inexact, ..self }
    }

    /// The same risk, for one of many fits on its rows.
    pub(crate) fn sharing(self, shared: Option<&'a Shared>) -> Self {
        Self { shared, ..self }
    }

    pub(crate) fn partition(&self) -> &Partition {
        &self.partition
    }

    /// The largest error of a sum over all rows, relative to the sum of absolute values.
    pub(crate) fn rounding(&self) -> f64 {
        of_sum(self.design.depth(&self.partition, self.classes) + self.classes) + self.inexact
    }

    fn lengths(&self) -> &[f64] {
        self.lengths.get_or_init(|| self.x.lengths())
    }

    /// Numbers in W.
    pub(crate) fn weights_len(&self) -> usize {
        self.x.cols() * self.classes
    }

    /// Weight of row `i`.
    pub(crate) fn weight(&self, i: usize) -> f64 {
        self.weights.as_ref().map_or(1.0, |w| w[i])
    }

    /// `z = X·W + 1bᵀ` for a block of rows.
    fn block_scores(&self, x: &Block<'_>, theta: &[f64], z: &mut [f64]) {
        self.design.block_scores(x, theta, self.classes, z);
    }

    /// All scores, n×c.
    pub(crate) fn scores(&self, theta: &[f64], z: &mut [f64]) {
        self.design.scores(&self.partition, theta, self.classes, z);
    }

    /// Adds X̃ᵀ·G to `out`, where `fill` writes the rows of G block by block and returns what it sums up on the way. Its second argument
    /// is the block of X, its third room for one block of n×c numbers.
    fn pull_back(
        &self,
        out: &mut [f64],
        fill: impl Fn(Range<usize>, &Block<'_>, &mut Scratch, &mut [f64]) -> LossSums + Sync,
    ) -> LossSums {
        let fill = |block: Range<usize>, x: &Block<'_>, (sums, scratch): &mut (LossSums, Scratch), g: &mut [f64]| {
            sums.add(fill(block, x, scratch, g));
        };
        let mut sums = LossSums::default();
        let parts = self.design.pull_back(&self.partition, self.classes, out, fill);
        parts.into_iter().for_each(|(part, _)| sums.add(part));
        sums
    }

    /// Sums the loss over given scores and adds its gradient to `grad`. The dual value, if asked for, is that of the risk's own loss.
    pub(crate) fn loss_pass(&self, loss: &dyn Loss, z: &[f64], with_dual: bool, grad: &mut [f64]) -> LossSums {
        self.pull_back(grad, |block, _, scratch, g| {
            let z = &z[block.start * self.classes..block.end * self.classes];
            self.block_loss(loss, block, z, with_dual, &mut scratch.values, g)
        })
    }

    /// Whether [`Risk::newton_pass`] is for this one: without weights, and so small that keeping slopes and curvature is cheaper than
    /// another pass.
    pub(crate) fn is_small(&self) -> bool {
        self.partition.is_single() && self.weights.is_none()
    }

    /// The sum of the loss; its gradient is added to `grad`, slopes and curvature of all rows are kept.
    pub(crate) fn newton_pass(
        &self,
        loss: &dyn Loss,
        z: &[f64],
        dual: &[f64],
        grad: &mut [f64],
        slopes: &mut [f64],
        h: &mut [f64],
    ) -> f64 {
        let (c, per, len) = (self.classes, loss.dual_len(self.classes), loss.shape().len(self.classes));
        let mut value = 0.0;
        for start in (0..self.y.len()).step_by(Tile::rows(c)) {
            let end = (start + Tile::rows(c)).min(self.y.len());
            let (row, dual) = (start * c..end * c, &dual[start * per..end * per]);
            let (dz, h) = (&mut slopes[row.clone()], &mut h[start * len..end * len]);
            value += loss.newton_rows(&z[row], &self.y[start..end], dual, dz, h);
        }
        self.design.pull_back_alone(&self.partition, self.classes, slopes, grad);
        value
    }

    pub(crate) fn block_loss(
        &self,
        loss: &dyn Loss,
        block: Range<usize>,
        z: &[f64],
        with_dual: bool,
        values: &mut Vec<f64>,
        g: &mut [f64],
    ) -> LossSums {
        let mut sums = LossSums::default();
        if self.weights.is_none() && !with_dual {
            let (c, few) = (self.classes, Tile::rows(self.classes));
            let tiles = z.chunks(few * c).zip(g.chunks_mut(few * c)).zip(self.y[block].chunks(few));
            sums.value = tiles.map(|((z, g), y)| loss.sum_grad_rows(z, y, g)).sum();
            return sums;
        }
        values.resize(block.len(), 0.0);
        loss.value_grad_rows(z, &self.y[block.clone()], g, values);
        sums.value = match &self.weights {
            Some(weights) => dot(&weights[block.clone()], values),
            None => values.iter().sum(),
        };
        if with_dual {
            self.add_dual(block.clone(), z, values, g, &mut sums);
        }
        self.weigh(block, g);
        sums
    }

    /// Adds what rows of given slopes pay in the dual. `values` comes with their values.
    fn add_dual(&self, block: Range<usize>, z: &[f64], values: &mut [f64], g: &[f64], sums: &mut LossSums) {
        self.loss.dual_values(z, &self.y[block.clone()], g, values);
        if self.weights.is_none() {
            return sums.add_duals(values, g, &self.lengths()[block]);
        }
        let rows = block.zip(values.iter().zip(g.chunks_exact(self.classes)));
        rows.for_each(|(i, (pays, g))| sums.add_dual(self.weight(i), *pays, dot(g, g).sqrt(), self.lengths()[i]));
    }

    /// Multiplies the slopes of rows with their weights.
    fn weigh(&self, block: Range<usize>, g: &mut [f64]) {
        let Some(weights) = &self.weights else { return };
        for (weight, g) in weights[block].iter().zip(g.chunks_exact_mut(self.classes)) {
            g.iter_mut().for_each(|g| *g *= weight);
        }
    }

    /// Dual value and gradient of the slopes that the dual state stands for; `None` if it stands for none.
    pub(crate) fn dual_pass(&self, dual: &[f64], grad: &mut [f64]) -> Option<LossSums> {
        let per = self.loss.dual_len(self.classes);
        let slopes =
            |i: usize, g: &mut [f64]| self.loss.dual_slopes(&dual[i * per..(i + 1) * per], self.y[i] as usize, g);
        // A state stands for slopes in all rows or in none.
        if per == 0 || self.y.is_empty() || !slopes(0, &mut vec![0.0; self.classes]) {
            return None;
        }
        Some(self.pull_back_slopes(grad, |i, g| {
            slopes(i, g);
        }))
    }

    /// The same of given slopes.
    pub(crate) fn slopes_pass(&self, slopes: &[f64], grad: &mut [f64]) -> LossSums {
        let c = self.classes;
        self.pull_back_slopes(grad, |i, g| g.copy_from_slice(&slopes[i * c..(i + 1) * c]))
    }

    fn pull_back_slopes(&self, grad: &mut [f64], slopes: impl Fn(usize, &mut [f64]) + Sync) -> LossSums {
        self.pull_back(grad, |block, _, scratch, g| {
            block.clone().zip(g.chunks_exact_mut(self.classes)).for_each(|(i, g)| slopes(i, g));
            let mut sums = LossSums::default();
            scratch.values.clear();
            scratch.values.resize(block.len(), 0.0);
            self.add_dual(block.clone(), &[], &mut scratch.values, g, &mut sums);
            self.weigh(block, g);
            sums
        })
    }

    /// φ(t) = Σ ω ℓ(z + t·dz) and φ′(t).
    pub(crate) fn loss_along(&self, loss: &dyn Loss, z: &[f64], dz: &[f64], t: f64) -> (f64, f64) {
        let c = self.classes;
        let parts = self.partition.map(|range| {
            let (mut value, mut slope, mut values) = (0.0, 0.0, Vec::new());
            let mut moved = Tile::new(c);
            Tile::new(c).each(range, |rows, g| {
                let span = rows.start * c..rows.end * c;
                let (z, dz) = (&z[span.clone()], &dz[span]);
                let at = moved.first(rows.len());
                add_scaled(z, t, dz, at);
                value += self.block_loss(loss, rows, at, false, &mut values, g).value;
                slope += dot(g, dz);
            });
            (value, slope)
        });
        parts.iter().fold((0.0, 0.0), |(a, b), (v, s)| (a + v, b + s))
    }

    /// Σ ω ℓ(z), or Σ ω ℓ(z + t·dz) for a step (t, dz).
    pub(crate) fn loss_at(&self, loss: &dyn Loss, z: &[f64], step: Option<(f64, &[f64])>) -> f64 {
        let c = self.classes;
        let parts = self.partition.map(|range| {
            let (mut value, mut values) = (0.0, Vec::new());
            let mut moved = Tile::new(c);
            Tile::new(c).each(range, |rows, g| {
                let span = rows.start * c..rows.end * c;
                let mut z = &z[span.clone()];
                if let Some((t, dz)) = step {
                    let at = moved.first(rows.len());
                    add_scaled(z, t, &dz[span], at);
                    z = at;
                }
                value += match &self.weights {
                    Some(_) => self.block_loss(loss, rows, z, false, &mut values, g).value,
                    None => loss.sum_rows(z, &self.y[rows], g),
                };
            });
            value
        });
        parts.iter().sum()
    }

    /// F, from scores made for it.
    pub(crate) fn value(&self, theta: &[f64]) -> f64 {
        let mut z = vec![0.0; self.terms() * self.classes];
        self.scores(theta, &mut z);
        self.value_at(self.loss, self.penalty, theta, &z)
    }

    /// F with another loss and penalty at a point with given scores.
    pub(crate) fn value_at(&self, loss: &dyn Loss, penalty: &dyn Penalty, theta: &[f64], z: &[f64]) -> f64 {
        self.loss_at(loss, z, None) + self.penalty_value(penalty, theta)
    }

    /// Fills the curvature of every row, sample weights included.
    pub(crate) fn curvature(&self, loss: &dyn Loss, z: &[f64], dual: &[f64], h: &mut [f64]) {
        let (c, len) = (self.classes, loss.shape().len(self.classes));
        let per = loss.dual_len(c);
        self.partition.map_mut(h, len, |range, h| {
            for block in self.partition.blocks(range.clone()) {
                let at = (block.start - range.start) * len;
                let z = &z[block.start * c..block.end * c];
                let dual = &dual[block.start * per..block.end * per];
                loss.curvature_rows(z, &self.y[block.clone()], dual, &mut h[at..at + block.len() * len]);
            }
            if self.weights.is_some() {
                for (i, h) in range.zip(h.chunks_exact_mut(len)) {
                    let weight = self.weight(i);
                    h.iter_mut().for_each(|h| *h *= weight);
                }
            }
        });
    }

    /// Moves the dual state along a full step.
    pub(crate) fn move_dual(&self, loss: &dyn Loss, z: &[f64], step: &[f64], taken: f64, dual: &mut [f64]) {
        let c = self.classes;
        let per = loss.dual_len(c);
        if per == 0 {
            return;
        }
        self.partition.map_mut(dual, per, |range, dual| {
            let span = range.start * c..range.end * c;
            loss.dual_rows(&z[span.clone()], &self.y[range], &step[span], taken, dual);
        });
    }

    /// `out += X̃ᵀ H X̃ v` for the stored curvature `h` of every row.
    pub(crate) fn curvature_product(&self, shape: Shape, h: &[f64], v: &[f64], out: &mut [f64]) {
        let (c, len) = (self.classes, shape.len(self.classes));
        self.pull_back(out, |block, x, scratch, g| {
            scratch.scores.resize(block.len() * c, 0.0);
            self.block_scores(x, v, &mut scratch.scores);
            shape.apply_rows(&h[block.start * len..block.end * len], &self.y[block], &scratch.scores, g);
            LossSums::default()
        });
    }

    /// R(W) + ε‖θ‖².
    pub(crate) fn penalty_value(&self, penalty: &dyn Penalty, theta: &[f64]) -> f64 {
        penalty.value(&theta[..self.weights_len()], self.classes) + self.epsilon * dot(theta, theta)
    }

    /// The same, adding the gradient.
    pub(crate) fn penalty_grad(&self, penalty: &dyn Penalty, theta: &[f64], grad: &mut [f64]) -> f64 {
        let m = self.weights_len();
        axpy(2.0 * self.epsilon, theta, grad);
        penalty.value_grad(&theta[..m], self.classes, &mut grad[..m]) + self.epsilon * dot(theta, theta)
    }

    /// Writes rows of X̃ (with the 1 of the intercept) into `out`, the i-th of them from i·stride on. `x` must hold them.
    pub(crate) fn write_rows(&self, x: &Window<'_>, rows: &[u32], stride: usize, out: &mut [f64]) {
        x.write_rows(rows, stride, out);
        if self.intercept {
            out.chunks_exact_mut(stride).take(rows.len()).for_each(|row| row[self.x.cols()] = 1.0);
        }
    }

    /// Subtracts the class mean from every row of parameters. It changes neither loss nor pair distances, only lowers the
    /// ε-term (Theorem 2 of the paper: class vectors and intercepts sum to zero at the optimum). Penalties that see more of the weights
    /// than their distances choose another centre for them; the intercept is never penalised.
    pub(crate) fn centre(&self, theta: &mut [f64]) {
        if self.loss.shift_invariant() {
            let (weights, intercept) = theta.split_at_mut(self.weights_len());
            for row in weights.chunks_exact_mut(self.classes) {
                let centre = self.penalty.centre(row, self.epsilon);
                row.iter_mut().for_each(|v| *v -= centre);
            }
            let mean = intercept.iter().sum::<f64>() / self.classes as f64;
            intercept.iter_mut().for_each(|v| *v -= mean);
        }
    }
}

/// Room for the numbers of one block of rows.
#[derive(Default)]
struct Scratch {
    values: Vec<f64>,
    scores: Vec<f64>,
    more: Vec<f64>,
}

impl LossSums {
    fn add(&mut self, other: Self) {
        self.value += other.value;
        self.dual += other.dual;
        self.size += other.size;
        self.mass += other.mass;
        self.reach += other.reach;
    }

    /// Adds rows of weight 1 with what they pay, their slopes and their lengths.
    fn add_duals(&mut self, pays: &[f64], slopes: &[f64], lengths: &[f64]) {
        const ROWS: usize = 16;
        let c = slopes.len() / pays.len().max(1);
        // One of each per lane: a single sum would wait for itself at every row.
        let mut lanes = [[0.0; ROWS]; 4];
        vectorised(
            #[inline(always)]
            || {
                let rows = pays.chunks(ROWS).zip(lengths.chunks(ROWS)).zip(slopes.chunks(ROWS * c));
                for ((pays, lengths), slopes) in rows {
                    let mut row = [[0.0; ROWS]; 3];
                    row[0][..pays.len()].copy_from_slice(pays);
                    row[1][..pays.len()].copy_from_slice(lengths);
                    unrolled(
                        c,
                        #[inline(always)]
                        |c| {
                            for (square, g) in row[2].iter_mut().zip(slopes.chunks_exact(c)) {
                                *square = g.iter().map(|g| g * g).sum();
                            }
                        },
                    );
                    for l in 0..ROWS {
                        let steep = row[2][l].sqrt();
                        lanes[0][l] += row[0][l];
                        lanes[1][l] += row[0][l].abs();
                        lanes[2][l] += steep;
                        lanes[3][l] += steep * row[1][l];
                    }
                }
            },
        );
        let [dual, size, mass, reach] = lanes.map(|lanes| lanes.iter().sum::<f64>());
        self.add(Self { value: 0.0, dual, size, mass, reach });
    }

    /// Adds a row of a given length whose slope has the length `steep` and whose −ℓ* is `pays`.
    pub(crate) fn add_dual(&mut self, weight: f64, pays: f64, steep: f64, length: f64) {
        self.dual += weight * pays;
        self.size += weight * pays.abs();
        self.mass += weight * steep;
        self.reach += weight * steep * length;
    }
}

impl Objective for Risk<'_> {
    fn dim(&self) -> usize {
        (self.x.cols() + usize::from(self.intercept)) * self.classes
    }

    fn terms(&self) -> usize {
        self.x.rows()
    }

    fn eval(&self, theta: &[f64], grad: &mut [f64]) -> f64 {
        let c = self.classes;
        grad.fill(0.0);
        // Scores, loss and gradient share one pass: a block of rows is multiplied, scored and pulled back while in cache.
        let sums = self.pull_back(grad, |block, x, scratch, g| {
            scratch.scores.resize(block.len() * c, 0.0);
            self.block_scores(x, theta, &mut scratch.scores);
            self.block_loss(self.loss, block, &scratch.scores, false, &mut scratch.values, g)
        });
        sums.value + self.penalty_grad(self.penalty, theta, grad)
    }

    fn eval_rows(&self, rows: &[u32], theta: &[f64], grad: &mut [f64]) -> f64 {
        let scale = self.x.rows() as f64 / rows.len().max(1) as f64;
        let x = self.x.take_rows(rows);
        let y: Vec<u32> = rows.iter().map(|&i| self.y[i as usize]).collect();
        let weights: Vec<f64> = rows.iter().map(|&i| scale * self.weight(i as usize)).collect();
        let weights = Some(Cow::Owned(weights));
        let (loss, penalty) = (self.loss, self.penalty);
        let mut part = Risk::from_parts(&x, &y, self.classes, weights, loss, penalty, self.epsilon, self.intercept);
        part.design = Design::used_once(&x, self.intercept);
        part.eval(theta, grad)
    }

    fn hess_vec(&self, theta: &[f64], v: &[f64], out: &mut [f64]) {
        let (c, m) = (self.classes, self.weights_len());
        out.fill(0.0);
        self.pull_back(out, |block, x, scratch, g| {
            let Scratch { scores: z, more: s, .. } = scratch;
            z.resize(block.len() * c, 0.0);
            s.resize(block.len() * c, 0.0);
            self.block_scores(x, theta, z);
            self.block_scores(x, v, s);
            for (at, i) in block.enumerate() {
                let row = at * c..(at + 1) * c;
                self.loss.hess_vec(&z[row.clone()], self.y[i] as usize, &s[row.clone()], &mut g[row.clone()]);
                let weight = self.weight(i);
                g[row].iter_mut().for_each(|g| *g *= weight);
            }
            LossSums::default()
        });
        self.penalty.hess_vec(&theta[..m], c, &v[..m], &mut out[..m]);
        axpy(2.0 * self.epsilon, v, out);
    }

    fn certify(&self, theta: &mut [f64]) -> Certificate {
        self.centre(theta);
        let mut z = vec![0.0; self.terms() * self.classes];
        self.scores(theta, &mut z);
        self.polish_intercept(self.loss, 0.0, theta, &mut z);
        let mut grad = vec![0.0; theta.len()];
        let sums = self.loss_pass(self.loss, &z, true, &mut grad);
        let loss_grad = grad.clone();
        let objective = sums.value + self.penalty_grad(self.penalty, theta, &mut grad);
        Certificate::at(self, objective, sums, self.penalty, theta, &loss_grad, &[])
    }
}
