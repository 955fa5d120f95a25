//! Passes over rows in memory: the chain rule between scores and loss, block by block.

use std::ops::Range;

use super::LossSums;
use crate::features::{Block, Window};
use crate::linalg::{add_scaled, axpy, dot, unrolled, vectorised};
use crate::loss::{Loss, Shape};
use crate::risk::Risk;
use crate::tile::Tile;

impl Risk<'_> {
    /// `z = X·W + 1bᵀ` for a block of rows.
    pub(crate) fn block_scores(&self, x: &Block<'_>, theta: &[f64], z: &mut [f64]) {
        self.design.block_scores(x, theta, self.problem.classes, z);
    }

    /// All scores, n×c.
    pub(crate) fn scores(&self, theta: &[f64], z: &mut [f64]) {
        self.design.scores(self.partition(), theta, self.problem.classes, z);
    }

    /// Adds X̃ᵀ·G to `out`, where `fill` writes the rows of G block by block and returns what it sums up on the way. Its second argument
    /// is the block of X, its third room for one block of n×c numbers.
    pub(crate) fn pull_back(
        &self,
        out: &mut [f64],
        fill: impl Fn(Range<usize>, &Block<'_>, &mut Scratch, &mut [f64]) -> LossSums + Sync,
    ) -> LossSums {
        let fill = |block: Range<usize>, x: &Block<'_>, (sums, scratch): &mut (LossSums, Scratch), g: &mut [f64]| {
            sums.add(fill(block, x, scratch, g));
        };
        let mut sums = LossSums::default();
        let parts = self.design.pull_back(self.partition(), self.problem.classes, out, fill);
        parts.into_iter().for_each(|(part, _)| sums.add(part));
        sums.lost = self.x.lost() * sums.mass;
        sums
    }

    /// Sums the loss over given scores and adds its gradient to `grad`. The dual value, if asked for, is that of the risk's own loss.
    pub(crate) fn loss_pass(&self, loss: &dyn Loss, z: &[f64], with_dual: bool, grad: &mut [f64]) -> LossSums {
        self.pull_back(grad, |block, _, scratch, g| {
            let z = &z[block.start * self.problem.classes..block.end * self.problem.classes];
            self.block_loss(loss, block, z, with_dual, &mut scratch.values, g)
        })
    }

    /// Whether [`Risk::newton_pass`] is for this one: without weights, and so small that keeping slopes and curvature is cheaper than
    /// another pass.
    pub(crate) fn is_small(&self) -> bool {
        self.partition().is_single() && self.weights.is_none()
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
        let (c, per, len) =
            (self.problem.classes, loss.dual_len(self.problem.classes), loss.shape().len(self.problem.classes));
        let mut value = 0.0;
        for start in (0..self.y.len()).step_by(Tile::rows(c)) {
            let end = (start + Tile::rows(c)).min(self.y.len());
            let (row, dual) = (start * c..end * c, &dual[start * per..end * per]);
            let (dz, h) = (&mut slopes[row.clone()], &mut h[start * len..end * len]);
            value += loss.newton_rows(&z[row], &self.y[start..end], dual, dz, h);
        }
        self.design.pull_back_alone(self.partition(), self.problem.classes, slopes, grad);
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
            let (c, few) = (self.problem.classes, Tile::rows(self.problem.classes));
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
        self.problem.loss.dual_values(z, &self.y[block.clone()], g, values);
        if self.weights.is_none() {
            return sums.add_duals(values, g, &self.lengths()[block]);
        }
        let rows = block.zip(values.iter().zip(g.chunks_exact(self.problem.classes)));
        rows.for_each(|(i, (pays, g))| sums.add_dual(self.weight(i), *pays, dot(g, g).sqrt(), self.lengths()[i]));
    }

    /// Multiplies the slopes of rows with their weights.
    fn weigh(&self, block: Range<usize>, g: &mut [f64]) {
        let Some(weights) = &self.weights else { return };
        for (weight, g) in weights[block].iter().zip(g.chunks_exact_mut(self.problem.classes)) {
            g.iter_mut().for_each(|g| *g *= weight);
        }
    }

    /// The slopes that the quadratic model of a step promises for its end, of rows that began it with scores `z` and the curvature `h`.
    pub(crate) fn promised_slopes(&self, loss: &dyn Loss, z: &[f64], h: &[f64], step: &[f64]) -> Vec<f64> {
        let (c, shape) = (self.problem.classes, loss.shape());
        let len = shape.len(c);
        let mut slopes = vec![0.0; z.len()];
        self.partition().map_mut(&mut slopes, c, |range, slopes| {
            let (mut values, mut more) = (Vec::new(), Vec::new());
            for block in self.partition().blocks(range.clone()) {
                let (rows, at) = (block.start * c..block.end * c, (block.start - range.start) * c);
                let (slopes, y) = (&mut slopes[at..at + rows.len()], &self.y[block.clone()]);
                values.resize(block.len(), 0.0);
                loss.value_grad_rows(&z[rows.clone()], y, slopes, &mut values);
                more.resize(rows.len(), 0.0);
                shape.apply_rows(&h[block.start * len..block.end * len], y, &step[rows], &mut more);
                for ((slopes, more), i) in slopes.chunks_exact_mut(c).zip(more.chunks_exact(c)).zip(block) {
                    // Curvature has weights, slopes have none yet.
                    let weight = self.weight(i);
                    let share = if weight > 0.0 { 1.0 / weight } else { 0.0 };
                    axpy(share, more, slopes);
                }
            }
        });
        slopes
    }

    /// Dual value and gradient of the slopes that the dual state stands for; `None` if it stands for none.
    pub(crate) fn dual_pass(&self, dual: &[f64], grad: &mut [f64]) -> Option<LossSums> {
        let per = self.problem.loss.dual_len(self.problem.classes);
        let slopes = |i: usize, g: &mut [f64]| {
            self.problem.loss.dual_slopes(&dual[i * per..(i + 1) * per], self.y[i] as usize, g);
        };
        self.problem.loss.has_dual_slopes().then(|| self.pull_back_slopes(grad, slopes))
    }

    /// The same of a dual state whose slopes a step has promised, if it has.
    pub(crate) fn promised_pass(&self, dual: &[f64], promised: &[f64], grad: &mut [f64]) -> Option<LossSums> {
        if promised.is_empty() {
            return self.dual_pass(dual, grad);
        }
        let (c, loss) = (self.problem.classes, self.problem.loss);
        let mut state = dual.to_vec();
        let rows = state.chunks_exact_mut(loss.dual_len(c)).zip(promised.chunks_exact(c)).zip(self.y);
        rows.for_each(|((dual, slopes), y)| loss.dual_of_slopes(slopes, *y as usize, dual));
        self.dual_pass(&state, grad)
    }

    /// The same of given slopes.
    pub(crate) fn slopes_pass(&self, slopes: &[f64], grad: &mut [f64]) -> LossSums {
        let c = self.problem.classes;
        self.pull_back_slopes(grad, |i, g| g.copy_from_slice(&slopes[i * c..(i + 1) * c]))
    }

    fn pull_back_slopes(&self, grad: &mut [f64], slopes: impl Fn(usize, &mut [f64]) + Sync) -> LossSums {
        self.pull_back(grad, |block, _, scratch, g| {
            block.clone().zip(g.chunks_exact_mut(self.problem.classes)).for_each(|(i, g)| slopes(i, g));
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
        let c = self.problem.classes;
        let parts = self.partition().map(|range| {
            let (mut value, mut slope, mut values) = (0.0, 0.0, Vec::new());
            let mut moved = Tile::new(c);
            Tile::new(c).each_wanted(range, self.problem.heed, |rows, g| {
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
        let c = self.problem.classes;
        let parts = self.partition().map(|range| {
            let (mut value, mut values) = (0.0, Vec::new());
            let mut moved = Tile::new(c);
            Tile::new(c).each_wanted(range, self.problem.heed, |rows, g| {
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

    /// Fills the curvature of every row, sample weights included.
    pub(crate) fn curvature(&self, loss: &dyn Loss, z: &[f64], dual: &[f64], h: &mut [f64]) {
        let (c, len) = (self.problem.classes, loss.shape().len(self.problem.classes));
        let per = loss.dual_len(c);
        self.partition().map_mut(h, len, |range, h| {
            for block in self.partition().blocks(range.clone()) {
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
        let c = self.problem.classes;
        let per = loss.dual_len(c);
        if per == 0 {
            return;
        }
        self.partition().map_mut(dual, per, |range, dual| {
            if !self.problem.heed.go_on() {
                return;
            }
            let span = range.start * c..range.end * c;
            loss.dual_rows(&z[span.clone()], &self.y[range], &step[span], taken, dual);
        });
    }

    /// `out += X̃ᵀ H X̃ v` for the stored curvature `h` of every row.
    pub(crate) fn curvature_product(&self, shape: Shape, h: &[f64], v: &[f64], out: &mut [f64]) {
        let (c, len) = (self.problem.classes, shape.len(self.problem.classes));
        self.pull_back(out, |block, x, scratch, g| {
            scratch.scores.resize(block.len() * c, 0.0);
            self.block_scores(x, v, &mut scratch.scores);
            shape.apply_rows(&h[block.start * len..block.end * len], &self.y[block], &scratch.scores, g);
            LossSums::default()
        });
    }

    /// Writes rows of X̃ (with the 1 of the intercept) into `out`, the i-th of them from i·stride on. `x` must hold them.
    pub(crate) fn write_rows(&self, x: &Window<'_>, rows: &[u32], stride: usize, out: &mut [f64]) {
        x.write_rows(rows, stride, out);
        if self.problem.intercept {
            out.chunks_exact_mut(stride).take(rows.len()).for_each(|row| row[self.x.cols()] = 1.0);
        }
    }
}

/// Room for the numbers of one block of rows.
#[derive(Default)]
pub(crate) struct Scratch {
    pub(crate) values: Vec<f64>,
    pub(crate) scores: Vec<f64>,
}

impl LossSums {
    pub(crate) fn add(&mut self, other: Self) {
        self.value += other.value;
        self.dual += other.dual;
        self.size += other.size;
        self.mass += other.mass;
        self.reach += other.reach;
        self.lost += other.lost;
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
        self.add(Self { value: 0.0, dual, size, mass, reach, lost: 0.0 });
    }

    /// Adds a row of a given length whose slope has the length `steep` and whose −ℓ* is `pays`.
    pub(crate) fn add_dual(&mut self, weight: f64, pays: f64, steep: f64, length: f64) {
        self.dual += weight * pays;
        self.size += weight * pays.abs();
        self.mass += weight * steep;
        self.reach += weight * steep * length;
    }
}
