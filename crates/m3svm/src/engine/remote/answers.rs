//! What rows elsewhere answer: every question one round of messages, or a move that waits for the next one.

use super::super::{AddBlock, ClassPair, Coordinate, Moments, Rows, Shifted, WriteOut};
use super::*;

impl Rows for RemoteRows<'_> {
    fn sizes(&self) -> Sizes {
        self.sizes
    }

    fn rounding(&self) -> f64 {
        self.state.borrow().rounding + of_sum(self.carrier.parts())
    }

    fn ignore_interrupts(&mut self) {
        self.heed.set(Heed::default());
    }

    fn place(&mut self, theta: &[f64]) {
        let state = self.state.get_mut();
        if state.theta == theta {
            return;
        }
        state.theta.copy_from_slice(theta);
        state.push(DualMove::Place(PackedNumbers(theta.to_vec())));
    }

    fn begin(&mut self) {
        let state = self.state.get_mut();
        state.before += state.moves.len() as u64 + 1;
        state.moves.clear();
        (state.made, state.origin, state.base) = (0, state.theta.clone(), state.theta.clone());
        state.push(DualMove::Begin);
    }

    fn relax(&mut self, mu: Option<f64>) {
        let state = self.state.get_mut();
        (state.mu, state.value, state.shifted) = (mu, None, None);
    }

    fn evaluate(&mut self, with_dual: bool, grad: &mut [f64]) -> LossSums {
        let ahead = self.state.get_mut().ahead.take().filter(|ahead| self.is_smoothed_by(ahead.mu));
        let state = self.state.get_mut();
        state.ahead = ahead.filter(|ahead| ahead.theta == state.theta);
        if let Some(sums) = state.ahead.as_ref().map(|ahead| ahead.sums.clone()) {
            state.learn(&sums);
            axpy(1.0, &sums.grad.0, grad);
            return sums.read().0;
        }
        let mut questions = vec![PartQuestion::Evaluate { with_dual, ahead: None }];
        let has_slopes = self.problem.loss.has_dual_slopes() && state.keeps_moves;
        let duals = has_slopes && (with_dual || std::mem::take(&mut state.wants_duals));
        if duals {
            questions.push(PartQuestion::DualSums);
        }
        let Some(mut answers) = self.ask(questions, false) else { return LossSums::default() };
        let state = self.state.get_mut();
        if duals && let Some(PartAnswer::Sums(sums)) = answers.pop() {
            state.duals = Some((sums.read().0, sums.grad.0));
        }
        let Some(PartAnswer::Sums(sums)) = answers.pop() else { return LossSums::default() };
        state.learn(&sums);
        axpy(1.0, &sums.grad.0, grad);
        sums.read().0
    }

    fn value(&self) -> f64 {
        if let Some(value) = self.state.borrow().value {
            return value;
        }
        let both = self.numbers(PartQuestion::Values, false, 2);
        let mut state = self.state.borrow_mut();
        (state.value, state.exact) = (Some(both[0]), Some(both[1]));
        both[0]
    }

    fn exact_value(&self) -> f64 {
        if let Some(value) = self.state.borrow().exact {
            return value;
        }
        self.value();
        self.state.borrow().exact.unwrap_or_default()
    }

    fn exact_value_at(&self, theta: &[f64]) -> f64 {
        self.numbers(PartQuestion::ValueAt(PackedNumbers(theta.to_vec())), false, 1)[0]
    }

    fn shifted(&self, shift: &[f64]) -> Shifted {
        let c = self.problem.classes;
        let numbers = {
            let state = self.state.borrow();
            let here = state.ahead.as_ref().filter(|ahead| ahead.theta == state.theta && self.is_smoothed_by(ahead.mu));
            here.filter(|_| shift.iter().all(|s| *s == 0.0)).and_then(|ahead| ahead.shifted.clone())
        };
        let mut numbers = numbers.unwrap_or_else(|| {
            let shift = PackedNumbers(shift.to_vec());
            self.numbers(PartQuestion::Shift { shift, ahead: None }, false, 1 + c + c * c)
        });
        let pairs = numbers.split_off(1 + c);
        self.state.borrow_mut().shifted = Some((shift.to_vec(), pairs));
        let grad = numbers.split_off(1);
        Shifted { value: numbers[0], grad }
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
        if shift.iter().all(|s| *s == 0.0) {
            return;
        }
        let m = self.problem.weights_len();
        let state = self.state.get_mut();
        axpy(1.0, shift, &mut state.theta[m..]);
        state.push(DualMove::Shift(PackedNumbers(shift.to_vec())));
    }

    fn direct(&mut self, step: &[f64]) {
        self.state.get_mut().step = step.to_vec();
    }

    fn foresee(&mut self, mu: f64) {
        self.state.get_mut().foreseen = Some(mu);
    }

    fn values_along(&self, lengths: &[f64]) -> Vec<f64> {
        // Most steps are whole. Where it is known what smoothing will be at their end, all that is wanted there comes at once.
        let foreseen = self.state.borrow_mut().foreseen.take();
        let foreseen = foreseen.or(if self.is_relaxed() { None } else { Some(0.0) });
        if let Some(mu) = foreseen.filter(|_| lengths == [1.0]) {
            return vec![self.look_ahead(mu).unwrap_or_default()];
        }
        self.numbers(PartQuestion::ValuesAlong(lengths.to_vec()), true, lengths.len())
    }

    fn slopes_along(&self, lengths: &[f64]) -> Vec<(f64, f64)> {
        let both = self.numbers(PartQuestion::SlopesAlong(lengths.to_vec()), true, 2 * lengths.len());
        both.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect()
    }

    fn advance(&mut self, length: f64, with_slopes: bool) {
        let state = self.state.get_mut();
        let step = PackedNumbers(state.step.clone());
        axpy(length, &step.0, &mut state.theta);
        let mu = state.mu;
        state.push(DualMove::Step(length, mu, with_slopes, step));
    }

    fn has_duals(&self) -> bool {
        self.dual_len() > 0
    }

    fn settle_duals(&mut self) {
        let state = self.state.get_mut();
        let mu = state.mu;
        state.push(DualMove::Settle(mu));
    }

    fn dual_sums(&mut self, grad: &mut [f64]) -> Option<LossSums> {
        if !self.problem.loss.has_dual_slopes() || self.dual_len() == 0 {
            return None;
        }
        let state = self.state.get_mut();
        state.wants_duals = true;
        if state.duals.is_none()
            && let Some(PartAnswer::Sums(sums)) = self.ask(vec![PartQuestion::DualSums], false)?.pop()
        {
            let state = self.state.get_mut();
            let (loss, _, rounding) = sums.read();
            state.rounding = state.rounding.max(rounding);
            state.duals = Some((loss, sums.grad.0));
        }
        let (sums, own) = self.state.get_mut().duals.as_ref()?;
        axpy(1.0, own, grad);
        Some(*sums)
    }

    fn update_curvature(&mut self) {
        let state = self.state.get_mut();
        (state.bent, state.damping) = (state.mu, 0.0);
    }

    fn multiply(&self, v: &[f64], out: &mut [f64]) {
        let product = self.numbers(PartQuestion::Product(PackedNumbers(v.to_vec())), false, out.len());
        axpy(1.0, &product, out);
    }

    fn blocks(&mut self, how: WriteOut, add: &mut AddBlock<'_>) -> bool {
        let heaviest = how.heaviest.map(|most| most.div_ceil(self.carrier.parts()));
        let question = PartQuestion::Blocks { heaviest, roughly: how.roughly };
        let Some(PartAnswer::Blocks(blocks)) = self.ask(vec![question], false).and_then(|mut all| all.pop()) else {
            return false;
        };
        let width = self.problem.width();
        let mut square = vec![0.0; width * width];
        for ((number, first, second), triangle) in blocks.pairs.iter().zip(&blocks.triangles) {
            let mut rest = triangle.0.as_slice();
            for (j, column) in square.chunks_exact_mut(width).enumerate() {
                let Some((own, more)) = rest.split_at_checked(width - j) else { return false };
                column[..j].fill(0.0);
                column[j..].copy_from_slice(own);
                rest = more;
            }
            let pair = ClassPair { number: *number as usize, first: *first as usize, second: *second as usize };
            add(pair, &mut square, width);
        }
        blocks.is_rough
    }

    fn class_curvature(&self) -> Vec<f64> {
        self.numbers(PartQuestion::ClassCurvature, false, self.problem.classes * self.problem.classes)
    }

    fn moments(&self) -> Option<Moments> {
        match self.ask(vec![PartQuestion::Moments], false)?.pop()? {
            PartAnswer::Moments(matrix, weight) => Some(Moments { matrix: matrix.0, weight: *weight.0.first()? }),
            _ => None,
        }
    }

    fn mean_squares(&self) -> Vec<f64> {
        let (shift, factor) = (&self.setup.shift.0, &self.setup.factor.0);
        let square = |j: usize| {
            let (mean, deviation) = (self.stats.mean[j], self.stats.deviation[j]);
            let (mean, factor) = if factor.is_empty() { (mean, 1.0) } else { (mean - shift[j], factor[j]) };
            (mean * mean + deviation * deviation) * factor * factor
        };
        (0..self.stats.mean.len()).map(square).collect()
    }

    fn damp(&mut self, share: f64) {
        self.state.get_mut().damping = share;
    }

    fn stored_in(&mut self, coordinates: &[Coordinate]) -> usize {
        self.numbers(PartQuestion::StoredIn(coordinates.to_vec()), false, 1)[0] as usize
    }

    fn coordinate_gram(&mut self, coordinates: &[Coordinate]) -> Vec<f64> {
        let len = coordinates.len().pow(2);
        self.numbers(PartQuestion::CoordinateGram(coordinates.to_vec()), false, len)
    }
}
