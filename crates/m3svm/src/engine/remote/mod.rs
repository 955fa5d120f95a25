//! Rows in parts that are elsewhere: in other processes or on other machines, with an engine (Dask, Spark) that carries messages to them.
//!
//! A question to all rows is one round of messages, and the answers are added in the order of parts, so that the same parts give the same bits. Rounds
//! are what is dear, not what is asked in one: moves of rows wait for the next question, and answers that will be wanted next come along. A part
//! keeps scores, dual variables and curvature as long as it can; what it has lost it makes again, to the same bits, from θ and the moves.

mod answers;
mod message;
mod part;
#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests;

use std::cell::{Cell, RefCell};

use message::{DualMove, PartAnswer, PartMessage, PartQuestion, PartReply, PartSums, decode, encode};
pub(crate) use message::{PackedNumbers, PartSample, PartSetup};
pub use part::RowPart;

use super::{LossSums, Sizes};
use crate::error::{Error, Result};
use crate::interrupt::Heed;
use crate::linalg::axpy;
use crate::problem::Problem;
use crate::rounding::of_sum;
use crate::scale::Stats;

/// Who brings messages to the parts of all rows.
pub trait PartCarrier: Sync {
    /// How many parts there are.
    fn parts(&self) -> usize;

    /// What [`RowPart::answer`] of these parts says to a message, in the order of `parts`. `go_on` says whether the answers are still wanted.
    fn ask(&self, parts: &[usize], message: &[u8], go_on: &dyn Fn() -> bool) -> Result<Vec<Vec<u8>>>;
}

/// Rows that support the margin of each pair of classes, and those that support any.
type SupportingRows = (Vec<usize>, usize);

/// All rows, by way of a carrier.
pub(crate) struct RemoteRows<'a> {
    problem: Problem<'a>,
    carrier: &'a dyn PartCarrier,
    setup: PartSetup,
    sizes: Sizes,
    stats: &'a Stats,
    heed: Cell<Heed<'a>>,
    state: RefCell<RemoteState>,
}

/// Where rows stand, and what is known of the point.
#[derive(Default)]
struct RemoteState {
    mu: Option<f64>,
    bent: Option<f64>,
    damping: f64,
    theta: Vec<f64>,
    step: Vec<f64>,
    /// θ when dual variables began, all their moves since, how many of these all parts have made, and θ then.
    origin: Vec<f64>,
    /// None where rows have no dual variables.
    moves: Vec<DualMove>,
    keeps_moves: bool,
    made: usize,
    base: Vec<f64>,
    /// Moves before the beginning, so that every move of a fit has a number of its own.
    before: u64,
    value: Option<f64>,
    exact: Option<f64>,
    shifted: Option<(Vec<f64>, Vec<f64>)>,
    duals: Option<(LossSums, Vec<f64>)>,
    /// Whether the sums of dual variables were asked for at the last point.
    wants_duals: bool,
    ahead: Option<AnsweredAhead>,
    /// What will round the loss off where the step ends.
    foreseen: Option<f64>,
    rounding: f64,
    rounds: usize,
    failure: Option<Error>,
}

/// With more classes, the curvature in a shift of scores takes longer than a gradient.
const SHIFTED_CLASSES: usize = 64;

/// What is known of the end of a step that has not been taken yet.
struct AnsweredAhead {
    theta: Vec<f64>,
    mu: f64,
    sums: PartSums,
    /// Loss, gradient and curvature in a shift of all scores, where there are few classes.
    shifted: Option<Vec<f64>>,
}

impl<'a> RemoteRows<'a> {
    pub(crate) fn new(
        problem: &Problem<'a>,
        carrier: &'a dyn PartCarrier,
        setup: PartSetup,
        sizes: Sizes,
        stats: &'a Stats,
    ) -> Self {
        let origin = vec![0.0; problem.dim()];
        let keeps_moves = problem.loss.dual_len(problem.classes) > 0;
        let (base, theta) = (origin.clone(), origin.clone());
        let state = RemoteState { base, theta, origin, keeps_moves, ..RemoteState::default() };
        Self { problem: *problem, carrier, setup, sizes, stats, heed: Cell::new(problem.heed), state: state.into() }
    }

    /// How often all parts were asked.
    pub(crate) fn rounds(&self) -> usize {
        self.state.borrow().rounds
    }

    /// What kept parts from answering. Nothing that was answered since is to be believed.
    pub(crate) fn failure(&self) -> Option<Error> {
        self.state.borrow_mut().failure.take()
    }

    fn dual_len(&self) -> usize {
        self.problem.loss.dual_len(self.problem.classes)
    }

    /// Whether the loss is rounded off now.
    fn is_relaxed(&self) -> bool {
        self.state.borrow().mu.is_some_and(|mu| self.problem.loss.relaxed(mu).is_some())
    }

    /// Whether it is rounded off now as it is by `mu`.
    fn is_smoothed_by(&self, mu: f64) -> bool {
        self.state.borrow().mu == Some(mu) || !(self.is_relaxed() || self.problem.loss.relaxed(mu).is_some())
    }

    /// One round: the sums of what all parts answer to each question. `None` if it has failed or is not wanted any more.
    fn ask(&self, questions: Vec<PartQuestion>, with_step: bool) -> Option<Vec<PartAnswer>> {
        let mut state = self.state.borrow_mut();
        // Rounds that are quickly answered ask nobody on their way, and a step may take dozens.
        if state.failure.is_some() || !self.heed.get().go_on() {
            return None;
        }
        state.rounds += 1;
        self.problem.heed.passed();
        match self.round(&state, questions, with_step) {
            Ok(answers) => {
                state.made = state.moves.len();
                let theta = state.theta.clone();
                state.base = theta;
                Some(answers)
            }
            Err(error) => {
                // Who was told to stop has no failure to speak of.
                if !self.heed.get().is_stopped() {
                    state.failure = Some(error);
                    self.problem.heed.stop();
                }
                None
            }
        }
    }

    fn round(&self, state: &RemoteState, questions: Vec<PartQuestion>, with_step: bool) -> Result<Vec<PartAnswer>> {
        let message = PartMessage {
            setup: self.setup.clone(),
            at: state.before + state.moves.len() as u64,
            complete: state.made == 0,
            base: PackedNumbers(if state.keeps_moves { state.base.clone() } else { state.theta.clone() }),
            moves: state.moves[state.made..].to_vec(),
            mu: state.mu,
            bent: state.bent,
            damping: state.damping,
            step: PackedNumbers(if with_step { state.step.clone() } else { Vec::new() }),
            questions,
        };
        let all: Vec<usize> = (0..self.carrier.parts()).collect();
        let mut replies = self.send(&all, &message)?;
        let lost: Vec<usize> = all.into_iter().filter(|part| matches!(replies[*part], PartReply::Lost)).collect();
        if !lost.is_empty() {
            let base = PackedNumbers(state.origin.clone());
            let message = PartMessage { complete: true, base, moves: state.moves.clone(), ..message };
            for (part, reply) in lost.iter().zip(self.send(&lost, &message)?) {
                replies[*part] = reply;
            }
        }
        let mut sums: Option<Vec<PartAnswer>> = None;
        for reply in replies {
            let PartReply::Answers(answers) = reply else {
                return Err(Error::Engine { what: "a part of the rows has lost its way for good".into() });
            };
            match &mut sums {
                None => sums = Some(answers),
                Some(sums) => sums.iter_mut().zip(answers).try_for_each(|(sum, answer)| sum.add(answer))?,
            }
        }
        sums.ok_or_else(|| Error::Engine { what: "there are no rows".into() })
    }

    fn send(&self, parts: &[usize], message: &PartMessage) -> Result<Vec<PartReply>> {
        let heed = self.heed.get();
        let answers = self.carrier.ask(parts, &encode(message)?, &|| heed.go_on())?;
        if answers.len() != parts.len() {
            return Err(Error::Shape { what: "answers", expected: parts.len(), found: answers.len() });
        }
        answers.iter().map(|bytes| decode(bytes)).collect()
    }

    /// The numbers that one question sums up to; zeros if there is no answer, and nobody is to believe them.
    fn numbers(&self, question: PartQuestion, with_step: bool, len: usize) -> Vec<f64> {
        match self.ask(vec![question], with_step).as_deref_mut() {
            Some([PartAnswer::Numbers(numbers)]) if numbers.0.len() == len => std::mem::take(&mut numbers.0),
            _ => vec![0.0; len],
        }
    }

    /// Asks for all that is wanted where the step ends, where the loss will be rounded off by `mu`; the loss there as it is rounded off now.
    fn look_ahead(&self, mu: f64) -> Option<f64> {
        let (c, same) = (self.problem.classes, self.is_smoothed_by(mu));
        let mut questions = vec![PartQuestion::Evaluate { with_dual: true, ahead: Some(mu) }];
        if !same {
            questions.push(PartQuestion::ValueAhead);
        }
        if self.problem.intercept && c <= SHIFTED_CLASSES {
            questions.push(PartQuestion::Shift { shift: PackedNumbers(vec![0.0; c]), ahead: Some(mu) });
        }
        let mut answers = self.ask(questions, true)?.into_iter();
        let Some(PartAnswer::Sums(sums)) = answers.next() else { return None };
        let value = match same {
            true => sums.read().0.value,
            false => match answers.next() {
                Some(PartAnswer::Numbers(numbers)) if numbers.0.len() == 1 => numbers.0[0],
                _ => return None,
            },
        };
        let shifted = match answers.next() {
            Some(PartAnswer::Numbers(numbers)) if numbers.0.len() == 1 + c + c * c => Some(numbers.0),
            _ => None,
        };
        let mut state = self.state.borrow_mut();
        let mut theta = state.theta.clone();
        axpy(1.0, &state.step, &mut theta);
        state.ahead = Some(AnsweredAhead { theta, mu, sums, shifted });
        Some(value)
    }

    /// Rows of all parts, about such a share of them; nothing if there is no answer.
    pub(crate) fn sample(&self, share: f64, seed: u64) -> Option<PartSample> {
        match self.ask(vec![PartQuestion::Sample { share, seed }], false)?.pop()? {
            PartAnswer::Sample(sample) => Some(sample),
            _ => None,
        }
    }

    /// The share of the weight that is classified rightly at a point; the rows per pair of classes that support its margin, and of any.
    pub(crate) fn outcome(&mut self, theta: &[f64], has_margins: bool) -> Option<(f64, Option<SupportingRows>)> {
        let state = self.state.get_mut();
        state.theta.copy_from_slice(theta);
        state.moves.clear();
        (state.made, state.base, state.origin) = (0, theta.to_vec(), theta.to_vec());
        self.heed.set(Heed::default());
        let Some(PartAnswer::Outcome(numbers)) = self.ask(vec![PartQuestion::Outcome], false)?.pop() else {
            return None;
        };
        let [right, total, top] = numbers.0[..] else { return None };
        if !has_margins {
            return Some((right / total, None));
        }
        let Some(PartAnswer::Numbers(counts)) = self.ask(vec![PartQuestion::Support(top)], false)?.pop() else {
            return None;
        };
        let mut counts: Vec<usize> = counts.0.into_iter().map(|count| count as usize).collect();
        let rows = counts.pop()?;
        Some((right / total, Some((counts, rows))))
    }
}

impl RemoteState {
    /// Rows have moved.
    fn forget(&mut self) {
        (self.value, self.exact, self.shifted, self.duals) = (None, None, None, None);
    }

    fn push(&mut self, step: DualMove) {
        match self.keeps_moves {
            true => self.moves.push(step),
            false => self.before += 1,
        }
        self.forget();
    }

    /// Keeps what sums say.
    fn learn(&mut self, sums: &PartSums) {
        let (sums, exact, rounding) = sums.read();
        self.rounding = self.rounding.max(rounding);
        (self.value, self.exact) = (Some(sums.value), Some(exact));
    }
}
