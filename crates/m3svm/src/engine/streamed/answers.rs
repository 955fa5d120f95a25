//! What rows on disk answer: every question one pass, or a move that waits for the next one.

use super::*;

impl Rows for Streamed<'_> {
    fn sizes(&self) -> Sizes {
        Sizes {
            rows: self.cache.rows(),
            features: self.problem.features,
            stored: self.cache.stored(),
            is_sparse: self.cache.is_sparse(),
            is_small: false,
            keeps_gram: false,
            matrix_room: self.room.matrix as f64,
            gives_rows: false,
            pass: STREAMED.pass * self.cache.stored() as f64,
            keeps_f32: false,
        }
    }

    fn rounding(&self) -> f64 {
        self.state.borrow().rounding + of_sum(self.cache.blocks())
    }

    fn ignore_interrupts(&mut self) {
        self.heed.set(Heed::default());
    }

    fn place(&mut self, theta: &[f64]) {
        self.settle_moves();
        let mut state = self.state.borrow_mut();
        state.theta.copy_from_slice(theta);
        state.base.copy_from_slice(theta);
        state.waiting.clear();
        state.scores.iter_mut().for_each(ScratchFile::clear);
        state.forget();
    }

    fn begin(&mut self) {
        let mut state = self.state.borrow_mut();
        let BlockState { duals, promised, .. } = &mut *state;
        duals.iter_mut().chain(promised).for_each(ScratchFile::clear);
    }

    fn relax(&mut self, mu: Option<f64>) {
        let mut state = self.state.borrow_mut();
        (state.mu, state.value) = (mu, None);
    }

    fn evaluate(&mut self, with_dual: bool, grad: &mut [f64]) -> LossSums {
        let smooth = self.relaxed(self.state.borrow().mu);
        let ahead = self.state.get_mut().ahead.take().filter(|ahead| self.is_smoothed_by(ahead.mu));
        let state = self.state.get_mut();
        state.ahead = ahead.filter(|ahead| ahead.theta == state.theta);
        if let Some(ahead) = &state.ahead {
            axpy(1.0, &ahead.grad, grad);
            (state.value, state.exact) = (Some(ahead.sums.value), Some(ahead.exact));
            return ahead.sums;
        }
        let (own, mut sums, mut exact, mut rounding) = (self.problem.loss, LossSums::default(), 0.0, 0.0f64);
        self.pass(Wanted { x: true, scores: true, ..Wanted::default() }, |at| {
            sums.add(at.risk.loss_pass(smooth.as_deref().unwrap_or(own), at.z, with_dual, grad));
            if smooth.is_some() {
                exact += at.risk.loss_at(own, at.z, None);
            }
            rounding = rounding.max(at.risk.rounding());
        });
        let mut state = self.state.borrow_mut();
        state.rounding = state.rounding.max(rounding);
        state.value = Some(sums.value);
        state.exact = Some(if smooth.is_some() { exact } else { sums.value });
        sums
    }

    fn value(&self) -> f64 {
        if let Some(value) = self.state.borrow().value {
            return value;
        }
        let smooth = self.relaxed(self.state.borrow().mu);
        let Some(loss) = smooth.as_deref() else { return self.exact_value() };
        let mut value = 0.0;
        self.pass(Wanted { scores: true, ..Wanted::default() }, |at| value += at.risk.loss_at(loss, at.z, None));
        self.state.borrow_mut().value = Some(value);
        value
    }

    fn exact_value(&self) -> f64 {
        if let Some(value) = self.state.borrow().exact {
            return value;
        }
        let mut value = 0.0;
        self.pass(Wanted { scores: true, ..Wanted::default() }, |at| {
            value += at.risk.loss_at(self.problem.loss, at.z, None);
        });
        self.state.borrow_mut().exact = Some(value);
        value
    }

    fn exact_value_at(&self, theta: &[f64]) -> f64 {
        let (mut value, mut z) = (0.0, Vec::new());
        self.pass(Wanted { x: true, ..Wanted::default() }, |at| {
            z.resize(at.risk.y.len() * self.problem.classes, 0.0);
            at.risk.scores(theta, &mut z);
            value += at.risk.loss_at(self.problem.loss, &z, None);
        });
        value
    }

    fn shifted(&self, shift: &[f64]) -> Shifted {
        let c = self.problem.classes;
        let smooth = self.relaxed(self.state.borrow().mu);
        let loss = smooth.as_deref().unwrap_or(self.problem.loss);
        let mut sum = Shifted { value: 0.0, grad: vec![0.0; c] };
        let mut pairs = vec![0.0; c * c];
        self.pass(Wanted { scores: true, ..Wanted::default() }, |at| {
            let part = at.risk.shifted(loss, at.z, shift);
            sum.value += part.value;
            axpy(1.0, &part.grad, &mut sum.grad);
            // Asked for next, most of the time.
            axpy(1.0, &at.risk.shifted_curvature(loss, at.z, shift), &mut pairs);
        });
        self.state.borrow_mut().shifted = Some((shift.to_vec(), pairs));
        sum
    }

    fn shifted_curvature(&self, shift: &[f64]) -> Vec<f64> {
        if let Some((at, pairs)) = &self.state.borrow().shifted
            && at == shift
        {
            return pairs.clone();
        }
        self.shifted(shift);
        self.state.borrow().shifted.as_ref().map(|(_, pairs)| pairs.clone()).unwrap_or_default()
    }

    fn shift(&mut self, shift: &[f64]) {
        let mut state = self.state.borrow_mut();
        if shift.iter().all(|s| *s == 0.0) {
            return;
        }
        let m = self.problem.weights_len();
        state.theta[m..].iter_mut().zip(shift).for_each(|(b, s)| *b += s);
        state.waiting.push(RowMove::Shift(shift.to_vec()));
        state.forget();
    }

    fn direct(&mut self, step: &[f64]) {
        self.settle_moves();
        let mut state = self.state.borrow_mut();
        state.step.copy_from_slice(step);
        state.step_scores.iter_mut().for_each(ScratchFile::clear);
    }

    fn foresee(&mut self, mu: f64) {
        self.state.get_mut().foreseen = Some(mu);
    }

    fn values_along(&self, lengths: &[f64]) -> Vec<f64> {
        let smooth = self.relaxed(self.state.borrow().mu);
        let loss = smooth.as_deref().unwrap_or(self.problem.loss);
        // Most steps are whole. Where it is known what smoothing will be at their end, all that is wanted there comes at once.
        let foreseen = self.state.borrow_mut().foreseen.take().or(if smooth.is_none() { Some(0.0) } else { None });
        if let Some(mu) = foreseen.filter(|_| lengths == [1.0]) {
            return vec![self.look_ahead(mu)];
        }
        let mut values = vec![0.0; lengths.len()];
        self.pass(Wanted { scores: true, step: true, ..Wanted::default() }, |at| {
            let along = values.iter_mut().zip(lengths);
            along.for_each(|(value, t)| *value += at.risk.loss_at(loss, at.z, Some((*t, at.step))));
        });
        values
    }

    fn slopes_along(&self, lengths: &[f64]) -> Vec<(f64, f64)> {
        let smooth = self.relaxed(self.state.borrow().mu);
        let loss = smooth.as_deref().unwrap_or(self.problem.loss);
        let mut sums = vec![(0.0, 0.0); lengths.len()];
        self.pass(Wanted { scores: true, step: true, ..Wanted::default() }, |at| {
            for (sum, t) in sums.iter_mut().zip(lengths) {
                let (value, slope) = at.risk.loss_along(loss, at.z, at.step, *t);
                *sum = (sum.0 + value, sum.1 + slope);
            }
        });
        sums
    }

    fn advance(&mut self, length: f64, with_slopes: bool) {
        let mut state = self.state.borrow_mut();
        let BlockState { theta, step, promised, mu, .. } = &mut *state;
        axpy(length, step, theta);
        promised.iter_mut().for_each(ScratchFile::clear);
        let step = RowMove::Step(length, *mu, with_slopes);
        state.waiting.push(step);
        state.forget();
    }

    fn has_duals(&self) -> bool {
        self.state.borrow().duals.is_some()
    }

    fn settle_duals(&mut self) {
        let mut state = self.state.borrow_mut();
        let settle = RowMove::Settle(state.mu);
        state.waiting.push(settle);
    }

    fn dual_sums(&mut self, grad: &mut [f64]) -> Option<LossSums> {
        self.state.borrow().duals.as_ref()?;
        let (c, loss) = (self.problem.classes, self.problem.loss);
        let (mut sums, mut rounding) = (Some(LossSums::default()), 0.0f64);
        self.pass(Wanted { x: true, duals: true, ..Wanted::default() }, |at| {
            let mut state = Vec::new();
            if !at.promised.is_empty() {
                state = at.dual.to_vec();
                let rows = state.chunks_exact_mut(loss.dual_len(c)).zip(at.promised.chunks_exact(c)).zip(at.risk.y);
                rows.for_each(|((dual, slopes), y)| loss.dual_of_slopes(slopes, *y as usize, dual));
            }
            let part = at.risk.dual_pass(if state.is_empty() { at.dual } else { &state }, grad);
            sums = sums.take().zip(part).map(|(mut sums, part)| {
                sums.add(part);
                sums
            });
            rounding = rounding.max(at.risk.rounding());
        });
        let mut state = self.state.borrow_mut();
        state.rounding = state.rounding.max(rounding);
        sums
    }

    fn update_curvature(&mut self) {
        let mut state = self.state.borrow_mut();
        (state.bent, state.damping) = (state.mu, 0.0);
        state.curvature.iter_mut().for_each(ScratchFile::clear);
    }

    fn multiply(&self, v: &[f64], out: &mut [f64]) {
        let shape = self.problem.loss.shape();
        self.pass(Wanted { x: true, curvature: true, ..Wanted::default() }, |at| {
            at.risk.curvature_product(shape, at.h, v, out);
        });
    }

    fn blocks(&mut self, how: WriteOut, add: &mut AddBlock<'_>) -> bool {
        let (width, storage) = (self.problem.width(), self.cache.storage());
        // What is but a preconditioner has no more digits than it needs.
        let storage = RawStorage { is_single: storage.is_single || (how.roughly && how.heaviest.is_some()), ..storage };
        let per_row = self.cache.stored() as u64 * (storage.value() + 4) as u64 / self.cache.rows().max(1) as u64;
        let enough = (self.room.forming / 2 / per_row.max(1)).min((STREAMED.heap * width) as u64) as usize;
        let at_once = (self.room.forming / 2 / WrittenOut::bytes_of_block(width).max(1)) as usize;
        let all = self.cache.rows();
        let mut is_rough = false;
        let mut write = |curved: &Curved<'_>| {
            let share = |most: usize| (most as u128 * curved.risk.y.len() as u128).div_ceil(all as u128) as usize;
            let how = WriteOut { heaviest: how.heaviest.map(share), lumps: false, ..how };
            is_rough |= WrittenOut::once(curved.risk, false).at_once(at_once).blocks(curved, how, add);
        };
        let mut heap = Heap { x: RawRows::new(storage, self.problem.features), y: Vec::new(), h: Vec::new() };
        self.pass(Wanted { x: true, curvature: true, ..Wanted::default() }, |at| {
            if heap.y.is_empty() && at.risk.y.len() >= enough {
                return write(&at.curved());
            }
            heap.x.append(at.risk.x, 0..at.risk.y.len());
            heap.y.extend_from_slice(at.risk.y);
            heap.h.extend_from_slice(at.h);
            if heap.y.len() >= enough {
                heap.give(&at.risk.problem, &mut write);
            }
        });
        if !heap.y.is_empty() {
            heap.give(&Problem { heed: self.heed.get(), ..self.problem }, &mut write);
        }
        is_rough
    }

    fn class_curvature(&self) -> Vec<f64> {
        let mut all = vec![0.0; self.problem.classes * self.problem.classes];
        self.pass(Wanted { curvature: true, ..Wanted::default() }, |at| axpy(1.0, &sum(&at.curved()), &mut all));
        all
    }

    fn moments(&self) -> Option<Moments> {
        let mut all: Option<Moments> = None;
        self.pass(Wanted { x: true, curvature: true, ..Wanted::default() }, |at| {
            let part = Moments::of(&at.curved());
            match &mut all {
                None => all = Some(part),
                Some(all) => all.add(&part),
            }
        });
        all
    }

    fn mean_squares(&self) -> Vec<f64> {
        let (stats, scaler) = (self.cache.stats(), self.view.scaler);
        let square = |j: usize| {
            let (mean, deviation) = (stats.mean[j] - scaler.shift[j], stats.deviation[j]);
            (mean * mean + deviation * deviation) * scaler.factor[j] * scaler.factor[j]
        };
        (0..stats.mean.len()).map(square).collect()
    }

    fn damp(&mut self, share: f64) {
        let mut state = self.state.borrow_mut();
        state.damping = share;
        state.curvature.iter_mut().for_each(ScratchFile::clear);
    }

    fn stored_in(&mut self, coordinates: &[Coordinate]) -> usize {
        let mut stored = 0;
        self.pass(Wanted { x: true, ..Wanted::default() }, |at| {
            stored += InMemory::new(at.risk).stored_in(coordinates)
        });
        stored
    }

    fn coordinate_gram(&mut self, coordinates: &[Coordinate]) -> Vec<f64> {
        let mut all = vec![0.0; coordinates.len().pow(2)];
        self.pass(Wanted { x: true, curvature: true, ..Wanted::default() }, |at| {
            axpy(1.0, &InMemory::bent(at.risk, at.h).coordinate_gram(coordinates), &mut all);
        });
        all
    }
}

impl Streamed<'_> {
    /// Loss and gradient at the end of the step, where the loss will be rounded off by `mu`, with what a bound needs; the loss there as it is
    /// rounded off now.
    fn look_ahead(&self, mu: f64) -> f64 {
        let (own, same) = (self.problem.loss, self.is_smoothed_by(mu));
        let (now, next) = (self.relaxed(self.state.borrow().mu), self.relaxed(Some(mu)));
        let (mut sums, mut grad, mut rounding) = (LossSums::default(), vec![0.0; self.problem.dim()], 0.0f64);
        let (mut value, mut exact, mut end) = (0.0, 0.0, Vec::new());
        self.pass(Wanted { x: true, scores: true, step: true, ..Wanted::default() }, |at| {
            end.clear();
            end.extend_from_slice(at.z);
            axpy(1.0, at.step, &mut end);
            sums.add(at.risk.loss_pass(next.as_deref().unwrap_or(own), &end, true, &mut grad));
            if next.is_some() {
                exact += at.risk.loss_at(own, &end, None);
            }
            if !same {
                value += at.risk.loss_at(now.as_deref().unwrap_or(own), &end, None);
            }
            rounding = rounding.max(at.risk.rounding());
        });
        let mut state = self.state.borrow_mut();
        state.rounding = state.rounding.max(rounding);
        let mut theta = state.theta.clone();
        axpy(1.0, &state.step, &mut theta);
        let exact = if next.is_some() { exact } else { sums.value };
        state.ahead = Some(Ahead { theta, mu, sums, exact, grad });
        if same { sums.value } else { value }
    }
}

impl Heap {
    /// Hands the rows on and forgets them.
    fn give(&mut self, problem: &Problem<'_>, write: &mut dyn FnMut(&Curved<'_>)) {
        let Problem { loss, penalty, epsilon, intercept, classes, heed, .. } = *problem;
        let x = self.x.features();
        // Curvature has the weights of rows.
        let risk = Risk::from_parts(&x, &self.y, classes, None, loss, penalty, epsilon, intercept).heeding(heed);
        write(&Curved { risk: &risk, shape: loss.shape(), h: &self.h });
        self.x.clear();
        self.y.clear();
        self.h.clear();
    }
}
