//! Rows on disk, in blocks that pass by.
//!
//! A question to all rows is one pass over the blocks, the next of them being read meanwhile. What belongs to single rows (scores, dual
//! variables, curvature) is kept in memory as far as there is room; dual variables go to a file beside the rows otherwise, and scores as
//! well where that is less to read than the rows are. All else is made anew: scores from θ, the curvature from scores and duals.
//!
//! Moves of rows wait for the next pass that needs them, so that a step, the loss at its end and its gradient are one pass. So are the loss
//! with and without smoothing, and a shift of all scores with its curvature.

mod answers;

use std::cell::{Cell, RefCell};
use std::ops::ControlFlow;

use super::entries::sum;
use super::in_memory::{Curved, damp};
use super::tuning::STREAMED;
use super::written_out::WrittenOut;
use super::{AddBlock, Coordinate, InMemory, LossSums, Moments, Rows, Shifted, Sizes, WriteOut};
use crate::error::{Error, Result};
use crate::features::{Features, RawRows, RawStorage};
use crate::interrupt::Heed;
use crate::linalg::axpy;
use crate::loss::{Loss, Shape};
use crate::problem::Problem;
use crate::risk::Risk;
use crate::rounding::of_sum;
use crate::row_cache::{RowCache, ScratchFile, View, blocks_at_once};

/// What may be held beside the blocks that pass by, in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StreamedRoom {
    /// Scores, dual variables and curvature.
    rows: u64,
    matrix: u64,
    /// What a matrix is made from: rows of several blocks, and sums over them.
    forming: u64,
}

impl StreamedRoom {
    /// Shares out what a fit may take.
    pub(crate) fn of(memory: u64, problem: &Problem<'_>, cache: &RowCache) -> Self {
        let blocks = (blocks_at_once() * cache.largest_block()) as u64;
        let free = memory.saturating_sub(blocks + crate::memory::numbers(problem.dim(), VECTORS));
        // The matrix decides how many passes there are, the others what a pass costs.
        let matrix = (STREAMED.matrix * free as f64) as u64;
        let forming = (free - matrix) / 2;
        Self { rows: free - matrix - forming, matrix, forming }
    }
}

/// All rows of a cache.
pub(crate) struct Streamed<'a> {
    problem: Problem<'a>,
    cache: &'a RowCache,
    view: View<'a>,
    room: StreamedRoom,
    heed: Cell<Heed<'a>>,
    state: RefCell<BlockState>,
}

struct BlockState {
    /// Smoothing of the loss, if it has any, and what it was when curvature was last asked for.
    mu: Option<f64>,
    bent: Option<f64>,
    damping: f64,
    /// Where rows stand, and where they stand whose moves still wait.
    theta: Vec<f64>,
    base: Vec<f64>,
    step: Vec<f64>,
    waiting: Vec<RowMove>,
    scores: Option<ScratchFile>,
    step_scores: Option<ScratchFile>,
    duals: Option<ScratchFile>,
    curvature: Option<ScratchFile>,
    /// The slopes that the last step promised, where duals do not follow it as exactly.
    promised: Option<ScratchFile>,
    /// Answers that the last pass has given on the way.
    value: Option<f64>,
    exact: Option<f64>,
    shifted: Option<(Vec<f64>, Vec<f64>)>,
    ahead: Option<Ahead>,
    foreseen: Option<f64>,
    /// The largest rounding of a sum over a block.
    rounding: f64,
    passes: usize,
    failure: Option<Error>,
}

/// Vectors as long as W that are held at once.
const VECTORS: usize = 20;

/// Rows of several blocks with their curvature: each block would add to all of a large matrix for the sake of few rows.
struct Heap {
    x: RawRows,
    y: Vec<u32>,
    h: Vec<f64>,
}

/// What is known of the end of a step that has not been taken yet.
struct Ahead {
    theta: Vec<f64>,
    /// What rounds the loss off there.
    mu: f64,
    sums: LossSums,
    exact: f64,
    grad: Vec<f64>,
}

/// What is still to be done to every row.
enum RowMove {
    Shift(Vec<f64>),
    /// So far along the direction, with this smoothing; with the promised slopes to be kept.
    Step(f64, Option<f64>, bool),
    Settle(Option<f64>),
}

impl RowMove {
    fn moves_duals(&self) -> bool {
        !matches!(self, Self::Shift(_))
    }
}

/// What a pass asks for.
#[derive(Clone, Copy, Default)]
struct Wanted {
    x: bool,
    scores: bool,
    step: bool,
    duals: bool,
    curvature: bool,
}

/// One block of rows on a pass; what was not wanted is empty.
struct Visit<'b> {
    risk: &'b Risk<'b>,
    z: &'b [f64],
    step: &'b [f64],
    dual: &'b [f64],
    h: &'b [f64],
    promised: &'b [f64],
}

impl Visit<'_> {
    fn curved(&self) -> Curved<'_> {
        Curved { risk: self.risk, shape: self.risk.problem.loss.shape(), h: self.h }
    }
}

impl<'a> Streamed<'a> {
    /// Keeps what belongs to rows in at most so many bytes.
    pub(crate) fn new(problem: &Problem<'a>, cache: &'a RowCache, view: View<'a>, room: StreamedRoom) -> Result<Self> {
        let mut left = room.rows;
        let (c, rows, loss) = (problem.classes, cache.rows().max(1), problem.loss);
        let each = || (0..cache.blocks()).map(|block| cache.rows_of(block));
        let mut fits = |width: usize| {
            let bytes = crate::memory::numbers(rows, width);
            let fits = bytes <= left;
            left -= if fits { bytes } else { 0 };
            fits
        };
        let in_file = |width| {
            ScratchFile::in_file(each(), width, cache.folder())
                .map_err(|source| Error::Io { path: cache.folder().to_path_buf(), source })
        };
        let (duals, shape) = (loss.dual_len(c), loss.shape().len(c));
        let duals = match duals {
            0 => None,
            width if fits(width) => Some(ScratchFile::in_memory(each(), width)),
            width => Some(in_file(width)?),
        };
        let stored = cache.stored() / rows;
        let scores = match c {
            width if fits(width) => Some(ScratchFile::in_memory(each(), width)),
            width if stored > 4 * width => Some(in_file(width)?),
            _ => None,
        };
        let mut kept = |width| fits(width).then(|| ScratchFile::in_memory(each(), width));
        let (step_scores, curvature) = (kept(c), kept(shape));
        let promised = if loss.shape() == Shape::SimplexAndLine { Some(in_file(c)?) } else { None };
        let state = BlockState {
            mu: None,
            bent: None,
            damping: 0.0,
            theta: vec![0.0; problem.dim()],
            base: vec![0.0; problem.dim()],
            step: vec![0.0; problem.dim()],
            waiting: Vec::new(),
            scores,
            step_scores,
            duals,
            curvature,
            promised,
            value: None,
            exact: None,
            shifted: None,
            ahead: None,
            foreseen: None,
            rounding: 0.0,
            passes: 0,
            failure: None,
        };
        let heed = Cell::new(problem.heed);
        Ok(Self { problem: *problem, cache, view, room, heed, state: RefCell::new(state) })
    }

    /// How often all rows were read.
    pub(crate) fn passes(&self) -> usize {
        self.state.borrow().passes
    }

    /// What kept rows from being read or written. Nothing that was answered since is to be believed.
    pub(crate) fn failure(&self) -> Option<Error> {
        self.state.borrow_mut().failure.take()
    }

    fn relaxed(&self, mu: Option<f64>) -> Option<Box<dyn Loss>> {
        mu.and_then(|mu| self.problem.loss.relaxed(mu))
    }

    /// Whether the loss is rounded off now as it is by `mu`.
    fn is_smoothed_by(&self, mu: f64) -> bool {
        let now = self.state.borrow().mu;
        now == Some(mu) || (self.relaxed(now).is_none() && self.relaxed(Some(mu)).is_none())
    }

    /// Goes over all rows, moves those whose moves are waiting, and shows each block to `f`.
    fn pass(&self, wanted: Wanted, mut f: impl FnMut(&Visit<'_>)) {
        let mut state = self.state.borrow_mut();
        if state.failure.is_some() {
            return;
        }
        let complete = state.go_over(self, wanted, &mut f);
        if let Err(error) = complete {
            state.failure = Some(error);
            self.problem.heed.stop();
        }
    }

    /// Does what is waiting.
    fn settle_moves(&self) {
        if self.state.borrow().waiting.iter().any(RowMove::moves_duals) {
            self.pass(Wanted { scores: true, ..Wanted::default() }, |_| {});
        }
    }
}

/// Whether all blocks are there.
fn is_complete(scratch: Option<&ScratchFile>, blocks: usize) -> bool {
    scratch.is_some_and(|scratch| (0..blocks).all(|block| scratch.has(block)))
}

impl BlockState {
    fn go_over(&mut self, rows: &Streamed<'_>, wanted: Wanted, f: &mut dyn FnMut(&Visit<'_>)) -> Result<()> {
        let (cache, problem, blocks) = (rows.cache, rows.problem, rows.cache.blocks());
        let (c, shape, per) = (problem.classes, problem.loss.shape(), problem.loss.dual_len(problem.classes));
        let makes_curvature = wanted.curvature && !is_complete(self.curvature.as_ref(), blocks);
        let moves = self.waiting.iter().any(RowMove::moves_duals) || (wanted.scores || makes_curvature);
        let waiting = if moves { std::mem::take(&mut self.waiting) } else { Vec::new() };
        let with_duals = wanted.duals || makes_curvature || waiting.iter().any(RowMove::moves_duals);
        let steps = wanted.step || waiting.iter().any(|m| matches!(m, RowMove::Step(..)));
        let with_values = wanted.x
            || (moves && !is_complete(self.scores.as_ref(), blocks))
            || (steps && !is_complete(self.step_scores.as_ref(), blocks));
        if with_values {
            self.passes += 1;
            rows.problem.heed.passed();
        }
        let io = |source| Error::Io { path: cache.folder().to_path_buf(), source };
        let heed = rows.heed.get();
        let (mut z, mut step, mut dual, mut h) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut promised = Vec::new();
        let mut failed = None;
        let mut stopped = false;
        cache.for_each_block(&rows.view, with_values, |block| {
            stopped = !heed.go_on();
            if stopped {
                return ControlFlow::Break(());
            }
            let (b, n) = (block.number, block.y.len());
            let x = if with_values { block.x.features() } else { Features::absent(n, cache.cols()) };
            let weights = (!block.weights.is_empty()).then(|| block.weights.as_slice().into());
            let Problem { loss, penalty, epsilon, intercept, .. } = problem;
            let risk = Risk::from_parts(&x, &block.y, c, weights, loss, penalty, epsilon, intercept).heeding(heed);
            let mut visit = || -> std::io::Result<()> {
                z = take(self.scores.as_mut().filter(|_| moves), b, std::mem::take(&mut z))?;
                if moves && !has(self.scores.as_ref(), b) {
                    z.resize(n * c, 0.0);
                    risk.scores(&self.base, &mut z);
                }
                dual = take(self.duals.as_mut().filter(|_| with_duals), b, std::mem::take(&mut dual))?;
                if with_duals && !has(self.duals.as_ref(), b) {
                    dual.clear();
                    dual.resize(n * per, 0.0);
                }
                step = take(self.step_scores.as_mut().filter(|_| steps), b, std::mem::take(&mut step))?;
                if steps && !has(self.step_scores.as_ref(), b) {
                    step.resize(n * c, 0.0);
                    risk.scores(&self.step, &mut step);
                }
                for wait in &waiting {
                    match wait {
                        RowMove::Shift(shift) => {
                            z.chunks_exact_mut(c).for_each(|row| row.iter_mut().zip(shift).for_each(|(z, s)| *z += s))
                        }
                        RowMove::Step(length, mu, with_slopes) => {
                            let smooth = rows.relaxed(*mu);
                            let loss = smooth.as_deref().unwrap_or(loss);
                            if *with_slopes && let Some(scratch) = &mut self.promised {
                                h.resize(n * shape.len(c), 0.0);
                                risk.curvature(loss, &z, &dual, &mut h);
                                scratch.put(b, risk.promised_slopes(loss, &z, &h, &step), true)?;
                            }
                            risk.move_dual(loss, &z, &step, *length, &mut dual);
                            axpy(*length, &step, &mut z);
                        }
                        RowMove::Settle(mu) => {
                            let smooth = rows.relaxed(*mu);
                            let still = vec![0.0; n * c];
                            risk.move_dual(smooth.as_deref().unwrap_or(loss), &z, &still, 1.0, &mut dual);
                        }
                    }
                }
                if wanted.curvature {
                    h = take(self.curvature.as_mut(), b, std::mem::take(&mut h))?;
                    if !has(self.curvature.as_ref(), b) {
                        let smooth = rows.relaxed(self.bent);
                        h.resize(n * shape.len(c), 0.0);
                        risk.curvature(smooth.as_deref().unwrap_or(loss), &z, &dual, &mut h);
                        if self.damping > 0.0 {
                            damp(&risk, shape, self.damping, &mut h);
                        }
                    }
                }
                promised.clear();
                if wanted.duals && has(self.promised.as_ref(), b) {
                    promised = take(self.promised.as_mut(), b, std::mem::take(&mut promised))?;
                }
                f(&Visit { risk: &risk, z: &z, step: &step, dual: &dual, h: &h, promised: &promised });
                let moved = !waiting.is_empty();
                let moved_duals = waiting.iter().any(RowMove::moves_duals);
                z = put(self.scores.as_mut().filter(|_| moves), b, std::mem::take(&mut z), moved)?;
                dual = put(self.duals.as_mut().filter(|_| with_duals), b, std::mem::take(&mut dual), moved_duals)?;
                step = put(self.step_scores.as_mut().filter(|_| steps), b, std::mem::take(&mut step), false)?;
                h = put(self.curvature.as_mut().filter(|_| wanted.curvature), b, std::mem::take(&mut h), false)?;
                Ok(())
            };
            failed = visit().err();
            if failed.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        if let Some(source) = failed {
            return Err(io(source));
        }
        if moves && !stopped {
            self.base.copy_from_slice(&self.theta);
        }
        Ok(())
    }

    /// Rows have moved.
    fn forget(&mut self) {
        (self.value, self.exact, self.shifted) = (None, None, None);
    }
}

fn has(scratch: Option<&ScratchFile>, block: usize) -> bool {
    scratch.is_some_and(|scratch| scratch.has(block))
}

fn take(scratch: Option<&mut ScratchFile>, block: usize, room: Vec<f64>) -> std::io::Result<Vec<f64>> {
    match scratch {
        Some(scratch) if scratch.has(block) => scratch.take(block, room),
        _ => Ok(room),
    }
}

fn put(scratch: Option<&mut ScratchFile>, block: usize, numbers: Vec<f64>, changed: bool) -> std::io::Result<Vec<f64>> {
    match scratch {
        Some(scratch) => scratch.put(block, numbers, changed),
        None => Ok(numbers),
    }
}
