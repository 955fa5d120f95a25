//! One part of the rows, wherever it is: it answers messages, and knows nothing of other parts.

use std::borrow::Cow;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::super::entries::sum;
use super::super::in_memory::{Curved, damp};
use super::super::written_out::WrittenOut;
use super::super::{InMemory, LossSums, Moments, Rows, WriteOut};
use super::message::{
    DualMove, PackedNumbers, PartAnswer, PartBlocks, PartMessage, PartQuestion, PartReply, PartSample, PartSetup,
    PartSums, decode, encode,
};
use crate::error::{Error, Result};
use crate::features::{Features, RawRows};
use crate::linalg::axpy;
use crate::loss::Shape;
use crate::model::{argmax, raw_scores};
use crate::risk::Risk;
use crate::scale::Scaler;
use crate::spec::Spec;
use crate::support::SupportCounts;

/// What a part keeps between two messages of a fit. All of it can be made again, from the rows and a message.
#[derive(Debug, Default)]
pub struct RowPart {
    setup: Option<PartView>,
    state: PartState,
}

/// How a fit sees the rows.
#[derive(Debug)]
struct PartView {
    spec: Spec,
    classes: usize,
    /// Scaled rows, where scaling changes anything; weights with those of classes.
    x: Option<Features<'static>>,
    weights: Option<Vec<f64>>,
}

#[derive(Debug, Default)]
struct PartState {
    /// How many moves dual variables have followed.
    followed: Option<u64>,
    duals: Vec<f64>,
    promised: Vec<f64>,
    /// Scores of points and steps that were asked about last.
    scores: Vec<KnownScores>,
    curvature: Option<(BentAt, Vec<f64>)>,
}

#[derive(Debug)]
struct KnownScores {
    theta: Vec<f64>,
    z: Vec<f64>,
}

/// What curvature was made for.
#[derive(Clone, Debug, PartialEq)]
struct BentAt {
    at: u64,
    theta: Vec<f64>,
    bent: Option<f64>,
    damping: f64,
}

/// The end of the last step, its beginning, and the step.
const KNOWN_SCORES: usize = 3;

impl RowPart {
    /// Answers a message about these rows, which must be the same ones every time.
    pub fn answer(&mut self, x: &Features<'_>, y: &[u32], weights: Option<&[f64]>, message: &[u8]) -> Result<Vec<u8>> {
        let message: PartMessage = decode(message)?;
        let view = match self.setup.take() {
            Some(view) => view,
            None => PartView::new(&message.setup, x, y, weights)?,
        };
        let PartView { spec, classes, .. } = &view;
        let x = view.x.as_ref().unwrap_or(x);
        let own = view.weights.as_deref().or(weights).map(Cow::Borrowed);
        let (loss, penalty) = (spec.loss.as_dyn(), spec.penalty.as_dyn());
        let risk = Risk::from_parts(x, y, *classes, own, loss, penalty, spec.epsilon, spec.intercept);
        let reply = self.state.reply(&risk, spec, weights, &message);
        self.setup = Some(view);
        encode(&reply?)
    }
}

impl PartView {
    fn new(setup: &PartSetup, x: &Features<'_>, y: &[u32], weights: Option<&[f64]>) -> Result<Self> {
        let damaged = |e: serde_json::Error| Error::Engine { what: format!("a message is damaged: {e}") };
        let spec: Spec = serde_json::from_str(&setup.spec).map_err(damaged)?;
        for (what, expected, found) in [
            ("features of a part of the rows", setup.features, x.cols()),
            ("labels of a part of the rows", x.rows(), y.len()),
            ("weights of a part of the rows", x.rows(), weights.map_or(x.rows(), <[f64]>::len)),
        ] {
            if expected != found {
                return Err(Error::Shape { what, expected, found });
            }
        }
        if let Some(y) = y.iter().find(|y| **y as usize >= setup.classes) {
            return Err(Error::Shape { what: "classes", expected: setup.classes, found: *y as usize + 1 });
        }
        let scaler = Scaler { shift: setup.shift.0.clone(), factor: setup.factor.0.clone() };
        let scaled = (!scaler.factor.is_empty()).then(|| {
            let mut rows = RawRows::new(x.storage(), x.cols());
            rows.append(x, 0..x.rows());
            rows.scale(&scaler);
            rows.into_features()
        });
        let each = &setup.class_weights.0;
        let weigh = |(i, y): (usize, &u32)| weights.map_or(1.0, |w| w[i]) * each[*y as usize];
        let weights = (!each.is_empty()).then(|| y.iter().enumerate().map(weigh).collect());
        Ok(Self { spec, classes: setup.classes, x: scaled, weights })
    }
}

/// Scores of all rows, made now or before. They depend on nothing but the rows and the point, so that whoever makes them gets the same bits.
fn scores<'s>(known: &'s mut Vec<KnownScores>, risk: &Risk<'_>, theta: &[f64]) -> &'s [f64] {
    let found = known.iter().position(|known| known.theta == theta);
    let scores = match found {
        Some(place) => known.remove(place),
        None => {
            let old = if known.len() < KNOWN_SCORES { None } else { known.pop() };
            let mut z = old.map(|old| old.z).unwrap_or_default();
            z.resize(risk.y.len() * risk.problem.classes, 0.0);
            risk.scores(theta, &mut z);
            KnownScores { theta: theta.to_vec(), z }
        }
    };
    known.insert(0, scores);
    &known[0].z
}

impl PartState {
    fn reply(
        &mut self,
        risk: &Risk<'_>,
        spec: &Spec,
        weights: Option<&[f64]>,
        message: &PartMessage,
    ) -> Result<PartReply> {
        let mut theta = message.base.0.clone();
        let dim = risk.problem.dim();
        if theta.len() != dim {
            return Err(Error::Shape { what: "parameters", expected: dim, found: theta.len() });
        }
        if !self.follow(risk, message, &mut theta) {
            return Ok(PartReply::Lost);
        }
        let answer = |question: &PartQuestion| match question {
            PartQuestion::Outcome => outcome(risk, spec, weights, &theta),
            PartQuestion::Support(top) => support(risk, spec, *top, &theta),
            PartQuestion::Sample { share, seed } => Ok(PartAnswer::Sample(sample(risk, *share, *seed))),
            other => self.answer(risk, message, &theta, other),
        };
        Ok(PartReply::Answers(message.questions.iter().map(answer).collect::<Result<_>>()?))
    }

    /// Makes the moves that dual variables have not made yet; `false` if it is not known which these are.
    fn follow(&mut self, risk: &Risk<'_>, message: &PartMessage, theta: &mut [f64]) -> bool {
        let (c, loss) = (risk.problem.classes, risk.problem.loss);
        let (n, m) = (risk.y.len(), risk.problem.weights_len());
        let first = message.at - message.moves.len() as u64;
        let done = match self.followed {
            Some(at) if (first..=message.at).contains(&at) => (at - first) as usize,
            _ if message.complete || loss.dual_len(c) == 0 => {
                self.duals = vec![0.0; n * loss.dual_len(c)];
                self.promised.clear();
                0
            }
            _ => return false,
        };
        for (k, step) in message.moves.iter().enumerate() {
            let is_new = k >= done;
            match step {
                DualMove::Begin if is_new => {
                    self.duals.fill(0.0);
                    self.promised.clear();
                }
                DualMove::Begin => {}
                DualMove::Place(at) => theta.copy_from_slice(&at.0),
                DualMove::Shift(shift) => axpy(1.0, &shift.0, &mut theta[m..]),
                DualMove::Step(length, mu, with_slopes, step) => {
                    if is_new {
                        self.step(risk, theta, &step.0, (*length, *mu, *with_slopes));
                    }
                    axpy(*length, &step.0, theta);
                }
                DualMove::Settle(mu) if is_new => {
                    let smooth = mu.and_then(|mu| loss.relaxed(mu));
                    let z = scores(&mut self.scores, risk, theta);
                    risk.move_dual(smooth.as_deref().unwrap_or(loss), z, &vec![0.0; n * c], 1.0, &mut self.duals);
                }
                DualMove::Settle(_) => {}
            }
        }
        self.followed = Some(message.at);
        true
    }

    fn step(&mut self, risk: &Risk<'_>, theta: &[f64], step: &[f64], (length, mu, slopes): (f64, Option<f64>, bool)) {
        let (c, loss) = (risk.problem.classes, risk.problem.loss);
        let smooth = mu.and_then(|mu| loss.relaxed(mu));
        let smooth = smooth.as_deref().unwrap_or(loss);
        self.promised.clear();
        if loss.dual_len(c) == 0 {
            return;
        }
        // Scores of the step first: those of the point are then the last that were asked for.
        let dz = scores(&mut self.scores, risk, step).to_vec();
        let z = scores(&mut self.scores, risk, theta);
        if slopes && loss.shape() == Shape::SimplexAndLine && loss.has_dual_slopes() {
            let mut h = vec![0.0; risk.y.len() * loss.shape().len(c)];
            risk.curvature(smooth, z, &self.duals, &mut h);
            self.promised = risk.promised_slopes(smooth, z, &h, &dz);
        }
        risk.move_dual(smooth, z, &dz, length, &mut self.duals);
    }

    fn answer(
        &mut self,
        risk: &Risk<'_>,
        message: &PartMessage,
        theta: &[f64],
        question: &PartQuestion,
    ) -> Result<PartAnswer> {
        let own = risk.problem.loss;
        let smooth = message.mu.and_then(|mu| own.relaxed(mu));
        let loss = smooth.as_deref().unwrap_or(own);
        let numbers = |numbers| Ok(PartAnswer::Numbers(PackedNumbers(numbers)));
        let place = |ahead: bool| {
            let mut place = theta.to_vec();
            if ahead {
                axpy(1.0, &message.step.0, &mut place);
            }
            place
        };
        Ok(match question {
            PartQuestion::Evaluate { with_dual, ahead } => {
                let smooth = ahead.or(message.mu).and_then(|mu| own.relaxed(mu));
                let loss = smooth.as_deref().unwrap_or(own);
                let z = scores(&mut self.scores, risk, &place(ahead.is_some()));
                let mut grad = vec![0.0; risk.problem.dim()];
                let sums = risk.loss_pass(loss, z, *with_dual, &mut grad);
                let exact = if smooth.is_some() { risk.loss_at(own, z, None) } else { sums.value };
                sums_of(risk, sums, exact, grad)
            }
            PartQuestion::ValueAhead => {
                let z = scores(&mut self.scores, risk, &place(true));
                return numbers(vec![risk.loss_at(loss, z, None)]);
            }
            PartQuestion::Values => {
                let z = scores(&mut self.scores, risk, theta);
                let exact = risk.loss_at(own, z, None);
                return numbers(vec![if smooth.is_some() { risk.loss_at(loss, z, None) } else { exact }, exact]);
            }
            PartQuestion::ValueAt(at) => {
                let z = scores(&mut self.scores, risk, &at.0);
                return numbers(vec![risk.loss_at(own, z, None)]);
            }
            PartQuestion::Shift { shift, ahead } => {
                let smooth = ahead.or(message.mu).and_then(|mu| own.relaxed(mu));
                let loss = smooth.as_deref().unwrap_or(own);
                let z = scores(&mut self.scores, risk, &place(ahead.is_some()));
                let at = risk.shifted(loss, z, &shift.0);
                let pairs = risk.shifted_curvature(loss, z, &shift.0);
                return numbers([at.value].into_iter().chain(at.grad).chain(pairs).collect());
            }
            PartQuestion::ValuesAlong(lengths) => {
                let dz = scores(&mut self.scores, risk, &message.step.0).to_vec();
                let z = scores(&mut self.scores, risk, theta);
                return numbers(lengths.iter().map(|t| risk.loss_at(loss, z, Some((*t, &dz)))).collect());
            }
            PartQuestion::SlopesAlong(lengths) => {
                let dz = scores(&mut self.scores, risk, &message.step.0).to_vec();
                let z = scores(&mut self.scores, risk, theta);
                let each = lengths.iter().map(|t| risk.loss_along(loss, z, &dz, *t));
                return numbers(each.flat_map(|(value, slope)| [value, slope]).collect());
            }
            PartQuestion::DualSums => {
                let mut grad = vec![0.0; risk.problem.dim()];
                match risk.promised_pass(&self.duals, &self.promised, &mut grad) {
                    Some(sums) => sums_of(risk, sums, 0.0, grad),
                    None => PartAnswer::NoSums,
                }
            }
            PartQuestion::Product(v) => {
                let mut out = vec![0.0; risk.problem.dim()];
                risk.curvature_product(own.shape(), self.curvature(risk, message, theta), &v.0, &mut out);
                return numbers(out);
            }
            PartQuestion::Blocks { heaviest, roughly } => {
                let how = WriteOut { heaviest: *heaviest, lumps: true, roughly: *roughly };
                let h = self.curvature(risk, message, theta);
                PartAnswer::Blocks(blocks(&Curved { risk, shape: own.shape(), h }, how))
            }
            PartQuestion::ClassCurvature => {
                let h = self.curvature(risk, message, theta);
                return numbers(sum(&Curved { risk, shape: own.shape(), h }));
            }
            PartQuestion::Moments => {
                let h = self.curvature(risk, message, theta);
                let Moments { matrix, weight } = Moments::of(&Curved { risk, shape: own.shape(), h });
                PartAnswer::Moments(PackedNumbers(matrix), PackedNumbers(vec![weight]))
            }
            PartQuestion::StoredIn(coordinates) => {
                return numbers(vec![InMemory::new(risk).stored_in(coordinates) as f64]);
            }
            PartQuestion::CoordinateGram(coordinates) => {
                let h = self.curvature(risk, message, theta);
                return numbers(InMemory::bent(risk, h).coordinate_gram(coordinates));
            }
            PartQuestion::Sample { .. } | PartQuestion::Outcome | PartQuestion::Support(_) => PartAnswer::NoSums,
        })
    }

    fn curvature(&mut self, risk: &Risk<'_>, message: &PartMessage, theta: &[f64]) -> &[f64] {
        let (c, own) = (risk.problem.classes, risk.problem.loss);
        let PartMessage { at, bent, damping, .. } = *message;
        let key = BentAt { at, theta: theta.to_vec(), bent, damping };
        let mut h = match self.curvature.take() {
            Some((old, h)) if old == key => return &self.curvature.insert((key, h)).1,
            old => old.map(|(_, h)| h).unwrap_or_default(),
        };
        h.resize(risk.y.len() * own.shape().len(c), 0.0);
        let smooth = bent.and_then(|mu| own.relaxed(mu));
        let z = scores(&mut self.scores, risk, theta);
        risk.curvature(smooth.as_deref().unwrap_or(own), z, &self.duals, &mut h);
        if damping > 0.0 {
            damp(risk, own.shape(), damping, &mut h);
        }
        &self.curvature.insert((key, h)).1
    }
}

fn raw(risk: &Risk<'_>, theta: &[f64]) -> Result<Vec<f64>> {
    let (weights, intercept) = theta.split_at(risk.problem.weights_len());
    let mut intercept = intercept.to_vec();
    intercept.resize(risk.problem.classes, 0.0);
    raw_scores(risk.x, weights, &intercept)
}

/// How much weight is classified rightly, of how much, and the steepest slope. Class weights are for training alone.
fn outcome(risk: &Risk<'_>, spec: &Spec, weights: Option<&[f64]>, theta: &[f64]) -> Result<PartAnswer> {
    let (raw, c) = (raw(risk, theta)?, risk.problem.classes);
    let (mut right, mut total) = (0.0, 0.0);
    for (i, (z, y)) in raw.chunks_exact(c).zip(risk.y).enumerate() {
        let weight = weights.map_or(1.0, |w| w[i]);
        total += weight;
        right += if argmax(z) == *y { weight } else { 0.0 };
    }
    let top = SupportCounts::new(spec, c).map_or(0.0, |counts| counts.largest(&raw, risk.y));
    Ok(PartAnswer::Outcome(PackedNumbers(vec![right, total, top])))
}

fn support(risk: &Risk<'_>, spec: &Spec, top: f64, theta: &[f64]) -> Result<PartAnswer> {
    let Some(mut counts) = SupportCounts::new(spec, risk.problem.classes) else {
        return Ok(PartAnswer::Numbers(PackedNumbers::default()));
    };
    counts.add(&raw(risk, theta)?, risk.y, top);
    let (pairs, rows) = counts.counts();
    let all = pairs.into_iter().chain([rows]).map(|count| count as f64);
    Ok(PartAnswer::Numbers(PackedNumbers(all.collect())))
}

fn sums_of(risk: &Risk<'_>, sums: LossSums, exact: f64, grad: Vec<f64>) -> PartAnswer {
    PartAnswer::Sums(PartSums::new(sums, exact, risk.rounding(), grad))
}

fn blocks(curved: &Curved<'_>, how: WriteOut) -> PartBlocks {
    let (mut all, width) = (PartBlocks::default(), curved.risk.problem.width());
    let mut written = WrittenOut::once(curved.risk, how.heaviest.is_some());
    all.is_rough = written.blocks(curved, how, &mut |pair, block, stride| {
        let columns = block.chunks(stride).take(width).enumerate();
        all.pairs.push((pair.number as u32, pair.first as u32, pair.second as u32));
        all.triangles.push(PackedNumbers(columns.flat_map(|(j, column)| &column[j..width]).copied().collect()));
    });
    all
}

/// Rows that stand for all of a part: at least one, each as likely as any other.
fn sample(risk: &Risk<'_>, share: f64, seed: u64) -> PartSample {
    let (x, n) = (risk.x, risk.y.len());
    let wanted = ((share * n as f64).ceil() as usize).min(n);
    // Parts are to be drawn from in different ways, and the same part always in the same way.
    let own = u64::from(crc32fast::hash(bytemuck::cast_slice(risk.y))) ^ n as u64;
    let mut random = ChaCha8Rng::seed_from_u64(seed ^ (own << 20));
    let (mut rows, mut left) = (Vec::with_capacity(wanted), wanted);
    for i in 0..n {
        if random.random_range(0..n - i) < left {
            left -= 1;
            rows.push(i as u32);
        }
    }
    let mut sample = PartSample::default();
    let stands_for = n as f64 / wanted.max(1) as f64;
    x.take_rows(&rows).for_each_row(|_, row| {
        let mut length = 0;
        row.for_each(|j, v| {
            sample.values.0.push(v);
            if x.is_sparse() {
                sample.indices.0.push(j as u32);
                length += 1;
            }
        });
        sample.lengths.0.push(length);
    });
    sample.y.0 = rows.iter().map(|i| risk.y[*i as usize]).collect();
    sample.weights.0 = rows.iter().map(|i| stands_for * risk.weight(*i as usize)).collect();
    sample
}
