//! The dual of one problem with few rows and the exact hinge, two numbers at a time.
//!
//! With βᵢ = ωᵢsᵢαᵢ, c = 2(λ + ε) and the products K = XXᵀ the weights are w = Xᵀβ/c, and the dual problem is
//!
//! ```text
//! max Σᵢ sᵢβᵢ − βᵀKβ/2c − β₀²/4ε        where 0 ≤ sᵢβᵢ ≤ ωᵢ and β₀ + Σᵢ βᵢ = 0
//! ```
//!
//! β₀ stands for the intercept and is like the dual number of one more row, with K₀₀ = c/2ε and free of bounds. Without an intercept its
//! K₀₀ is 0: then it costs nothing, and the sum may be anything.
//!
//! A move raises one number and lowers another by as much. It takes the one with the steepest slope, and with it the one that promises
//! the largest gain (Fan, Chen and Lin, JMLR 6, 2005). A move costs a few passes over numbers of the length of β, while a Newton
//! step solves a system; so where hardly any rows have 0 < α < 1, a few hundred moves cost less than a dozen steps.

use super::Terms;
use super::free_set::{Slack, free_set_step};
use super::tuning::PAIRS;
use crate::linalg::vectorised;

/// Numbers that loops take at a time; vectors are filled up to a multiple with rows that cannot move.
const LANES: usize = 8;

pub(super) struct Smo<'p> {
    products: &'p PairGram,
    /// 1/c.
    scale: f64,
    epsilon: f64,
    intercept: bool,
    weights: Vec<f64>,
    signs: Vec<f64>,
    beta: Vec<f64>,
    /// The slope of the dual along every β with the others fixed, sᵢ − wᵀxᵢ; that of β₀ is the intercept.
    slopes: Vec<f64>,
    /// How far every β may rise and fall.
    above: Vec<f64>,
    below: Vec<f64>,
}

/// The products of rows, with one more row for the intercept, in rows of a multiple of [`LANES`].
pub(super) struct PairGram {
    rows: usize,
    stride: usize,
    values: Vec<f64>,
    diagonal: Vec<f64>,
}

impl PairGram {
    /// Of as many rows as there are weights; `fill` writes all of them, into rows of the given stride.
    pub(super) fn new(terms: &Terms<'_>, fill: impl FnOnce(usize, &mut [f64])) -> Self {
        let rows = terms.weights.len();
        let stride = (rows + 1).next_multiple_of(LANES);
        let mut values = vec![0.0; (rows + 1) * stride];
        fill(stride, &mut values[..rows * stride]);
        if terms.intercept {
            values[rows * stride + rows] = (terms.lambda + terms.epsilon) / terms.epsilon;
        }
        let mut diagonal = vec![0.0; stride];
        (0..=rows).for_each(|i| diagonal[i] = values[i * stride + i]);
        Self { rows, stride, values, diagonal }
    }

    /// ‖xᵢ‖ of every row.
    pub(super) fn lengths(&self) -> Vec<f64> {
        self.diagonal[..self.rows].iter().map(|square| square.max(0.0).sqrt()).collect()
    }

    fn row(&self, i: usize) -> &[f64] {
        &self.values[i * self.stride..(i + 1) * self.stride]
    }
}

impl<'p> Smo<'p> {
    pub(super) fn new(terms: &Terms<'_>, products: &'p PairGram, signs: &[f64]) -> Self {
        let padded = |values: &mut dyn Iterator<Item = f64>| {
            let mut out: Vec<f64> = values.collect();
            out.resize(products.stride, 0.0);
            out
        };
        let rooms =
            |sign: f64| signs.iter().zip(terms.weights.iter()).map(move |(s, w)| if *s == sign { *w } else { 0.0 });
        let free = || std::iter::once(f64::INFINITY);
        Self {
            scale: 0.5 / (terms.lambda + terms.epsilon),
            epsilon: terms.epsilon,
            intercept: terms.intercept,
            weights: padded(&mut terms.weights.iter().copied()),
            signs: padded(&mut signs.iter().copied()),
            beta: vec![0.0; products.stride],
            slopes: padded(&mut signs.iter().copied()),
            above: padded(&mut rooms(1.0).chain(free())),
            below: padded(&mut rooms(-1.0).chain(free())),
            products,
        }
    }

    /// Moves until the gap is at most such a share of the value, nothing can move, or as much work is done as `most` moves are; returns how
    /// many that was.
    pub(super) fn climb(&mut self, share: f64, most: usize) -> usize {
        let first = (self.products.rows / PAIRS.free_set_after).max(PAIRS.round);
        let (mut work, mut next) = (0, first);
        while work < most && !self.is_within(share) {
            if work >= next {
                work += self.step_free_set();
                next = work + (work / 2).max(first);
            }
            let some = PAIRS.round.min(most.saturating_sub(work));
            let mut done = 0;
            vectorised(
                #[inline(always)]
                || done = self.moves(some),
            );
            work += done;
            if done < some {
                break;
            }
        }
        work.min(most)
    }

    /// Moves all that are between their bounds at once, to the best place with the others fixed, or on the way there as far as the bounds
    /// allow; again without those that have met theirs. Rows that are much alike would take many moves. Returns the work, in moves.
    fn step_free_set(&mut self) -> usize {
        let (rows, stride) = (self.products.rows, self.products.stride);
        let mut work = 0;
        for _ in 0..PAIRS.free_set_steps {
            let free: Vec<usize> = (0..rows).filter(|&i| self.above[i] > 0.0 && self.below[i] > 0.0).collect();
            let size = free.len();
            if size == 0 || size > PAIRS.largest_free_set {
                break;
            }
            work += (size.pow(3) / PAIRS.factor + 2 * size * stride) / (PAIRS.move_overhead as usize + stride);
            // What β₀ takes up of their sum bends it like one more product of all with all.
            let tie = self.products.diagonal[rows];
            let mut matrix = vec![0.0; size * size];
            for (column, &i) in matrix.chunks_exact_mut(size).zip(&free) {
                let row = self.products.row(i);
                column.iter_mut().zip(&free).for_each(|(out, &j)| *out = row[j] + tie);
            }
            let slopes = free.iter().map(|&i| (self.slopes[i] - self.slopes[rows]) / self.scale).collect();
            let slacks: Vec<Slack> =
                free.iter().map(|&i| Slack { above: self.above[i], below: self.below[i] }).collect();
            let Some(found) = free_set_step(matrix, slopes, &slacks) else { break };
            free.iter().zip(&found.steps).for_each(|(&i, step)| self.shift(i, *step));
            if found.is_whole {
                break;
            }
        }
        work
    }

    /// Moves one number, and β₀ by as much the other way.
    fn shift(&mut self, i: usize, step: f64) {
        let (rows, scaled) = (self.products.rows, step * self.scale);
        self.beta[i] += step;
        self.above[i] -= step;
        self.below[i] += step;
        self.beta[rows] -= step;
        let row = self.products.row(i);
        self.slopes.iter_mut().zip(row).for_each(|(v, k)| *v -= scaled * k);
        self.slopes[rows] += scaled * self.products.diagonal[rows];
    }

    /// β of every row.
    pub(super) fn beta(&self) -> &[f64] {
        &self.beta[..self.products.rows]
    }

    /// An intercept in the middle of those that fit the slopes.
    pub(super) fn intercept(&self) -> f64 {
        if !self.intercept {
            return 0.0;
        }
        let (mut low, mut high) = (f64::NEG_INFINITY, f64::INFINITY);
        for (v, (above, below)) in self.slopes.iter().zip(self.above.iter().zip(&self.below)) {
            low = if *above > 0.0 { low.max(*v) } else { low };
            high = if *below > 0.0 { high.min(*v) } else { high };
        }
        0.5 * (low + high)
    }

    /// Whether the value at the weights of this point is at most such a share of itself above the dual value.
    fn is_within(&self, share: f64) -> bool {
        let b = self.intercept();
        let (mut loss, mut lost, mut square, mut sum) = (0.0, 0.0, 0.0, 0.0);
        let rows = self.slopes.iter().zip(&self.signs).zip(self.beta.iter().zip(&self.weights));
        for ((v, s), (beta, weight)) in rows.take(self.products.rows) {
            let (gamma, size) = (s * (v - b), s * beta);
            loss += weight * gamma.max(0.0);
            // ωγ₊ − ωαγ without cancellation.
            lost += if gamma > 0.0 { (weight - size) * gamma } else { -size * gamma };
            square += beta * (s - v);
            sum += beta;
        }
        // β₀ stands for an intercept of its own.
        let off = if self.intercept { b - 0.5 * sum / self.epsilon } else { 0.0 };
        lost + self.epsilon * off * off <= share * (loss + 0.5 * square + self.epsilon * b * b)
    }

    /// Some moves; returns how many were possible.
    #[inline(always)]
    fn moves(&mut self, some: usize) -> usize {
        let diagonal = &self.products.diagonal;
        let mut next = highest(&self.slopes, &self.above);
        for done in 0..some {
            let Some(up) = next else { return done };
            let raised = self.products.row(up);
            let Some(down) = partner(up, &self.slopes, &self.below, raised, diagonal) else { return done };
            let lowered = self.products.row(down);
            let curvature = self.scale * curvature(diagonal[up], diagonal[down], raised[down]);
            let whole = (self.slopes[up] - self.slopes[down]) / curvature;
            let step = whole.min(self.above[up]).min(self.below[down]);
            self.beta[up] += step;
            self.above[up] -= step;
            self.below[up] += step;
            self.beta[down] -= step;
            self.above[down] += step;
            self.below[down] -= step;
            next = exchange(step * self.scale, raised, lowered, &mut self.slopes, &self.above);
        }
        some
    }
}

/// ‖xᵢ − xⱼ‖² from products. Between copies of a row it is rounding, and a slope that is rounding, too, must not seem to promise a gain.
#[inline(always)]
fn curvature(own: f64, other: f64, product: f64) -> f64 {
    let sum = own + other;
    (sum - 2.0 * product).max(PAIRS.rounding * sum).max(f64::MIN_POSITIVE)
}

/// Where the number that may rise is largest.
#[inline(always)]
fn highest(values: &[f64], rooms: &[f64]) -> Option<usize> {
    let mut top = BestOffer::new();
    for (at, (values, rooms)) in values.chunks_exact(LANES).zip(rooms.chunks_exact(LANES)).enumerate() {
        let mut offers = [f64::NEG_INFINITY; LANES];
        for l in 0..LANES {
            offers[l] = if rooms[l] > 0.0 { values[l] } else { f64::NEG_INFINITY };
        }
        top.offer(at, offers);
    }
    top.place()
}

/// Takes `step` times the difference of two rows off the slopes, and says where one that may rise is highest then.
#[inline(always)]
fn exchange(step: f64, raised: &[f64], lowered: &[f64], slopes: &mut [f64], rooms: &[f64]) -> Option<usize> {
    let mut top = BestOffer::new();
    let rows = raised.chunks_exact(LANES).zip(lowered.chunks_exact(LANES));
    let all = slopes.chunks_exact_mut(LANES).zip(rooms.chunks_exact(LANES)).zip(rows);
    for (at, ((slopes, rooms), (raised, lowered))) in all.enumerate() {
        let mut offers = [f64::NEG_INFINITY; LANES];
        for l in 0..LANES {
            slopes[l] -= step * (raised[l] - lowered[l]);
            offers[l] = if rooms[l] > 0.0 { slopes[l] } else { f64::NEG_INFINITY };
        }
        top.offer(at, offers);
    }
    top.place()
}

/// The row that gains most if it is lowered while `up` is raised.
#[inline(always)]
fn partner(up: usize, slopes: &[f64], rooms: &[f64], row: &[f64], diagonal: &[f64]) -> Option<usize> {
    let (slope, own) = (slopes[up], diagonal[up]);
    let mut top = BestOffer::new();
    let rows = row.chunks_exact(LANES).zip(diagonal.chunks_exact(LANES));
    let all = slopes.chunks_exact(LANES).zip(rooms.chunks_exact(LANES)).zip(rows);
    for (at, ((slopes, rooms), (row, diagonal))) in all.enumerate() {
        let mut offers = [f64::NEG_INFINITY; LANES];
        for l in 0..LANES {
            let fall = slope - slopes[l];
            let gain = fall * fall / curvature(own, diagonal[l], row[l]);
            offers[l] = if rooms[l] > 0.0 && fall > 0.0 { gain } else { f64::NEG_INFINITY };
        }
        top.offer(at, offers);
    }
    top.place()
}

/// The largest of all offers, with its place.
struct BestOffer {
    values: [f64; LANES],
    places: [f64; LANES],
}

impl BestOffer {
    #[inline(always)]
    fn new() -> Self {
        Self { values: [f64::NEG_INFINITY; LANES], places: [0.0; LANES] }
    }

    #[inline(always)]
    fn offer(&mut self, at: usize, offers: [f64; LANES]) {
        let at = at as f64;
        for l in 0..LANES {
            let better = offers[l] > self.values[l];
            self.values[l] = if better { offers[l] } else { self.values[l] };
            self.places[l] = if better { at } else { self.places[l] };
        }
    }

    #[inline(always)]
    fn place(&self) -> Option<usize> {
        let mut best = 0;
        for l in 1..LANES {
            let (one, other) = (self.values[l], self.values[best]);
            if one > other {
                best = l;
            }
        }
        (self.values[best] > f64::NEG_INFINITY).then_some(self.places[best] as usize * LANES + best)
    }
}
