//! How far kinks are rounded off on the way to the optimum, and when that changes: the schedule of every path.

use super::path_tuning::PATH;

/// The smoothing μ of a path.
#[derive(Clone, Copy, Debug)]
pub(super) struct Continuation {
    mu: f64,
    /// Steps in a row that have not lowered the value.
    stalled: usize,
}

impl Continuation {
    /// As wide as it gets.
    pub(super) fn new() -> Self {
        Self { mu: 1.0, stalled: 0 }
    }

    pub(super) fn mu(&self) -> f64 {
        self.mu
    }

    pub(super) fn set(&mut self, mu: f64) {
        self.mu = mu.max(PATH.finest);
    }

    pub(super) fn is_finest(&self) -> bool {
        self.mu <= PATH.finest
    }

    /// Whether the last step lowered the value.
    pub(super) fn is_moving(&self) -> bool {
        self.stalled == 0
    }

    /// After a step that no length of lowers the value. Rounding blocks this level; the next one may still gain: its μ, or `None` if there
    /// is nothing left to try.
    pub(super) fn after_failure(&mut self, is_finest: bool) -> Option<f64> {
        self.stalled += 1;
        (!is_finest && self.stalled <= PATH.patience).then_some(PATH.refinement * self.mu)
    }

    /// After a step. What has stalled for too long goes on with a finer μ, the last resort where rounding off still hides the gap.
    pub(super) fn after_step(&mut self, lowered: bool, is_finest: bool) -> Stalled {
        self.stalled = if lowered { 0 } else { self.stalled + 1 };
        if self.stalled <= PATH.patience {
            return Stalled::No;
        }
        if is_finest {
            return Stalled::ForGood;
        }
        self.stalled = 0;
        Stalled::Refine(PATH.refinement * self.mu)
    }

    /// The next μ after a step that went `length` of its way and had promised such a share of the value; never less than `floor` of it. `None`
    /// if the step has not come far enough.
    pub(super) fn cut(&self, promised: f64, length: f64, floor: f64) -> Option<f64> {
        cut(self.mu, promised, length, floor)
    }

    /// Steps in a row that have not lowered the value.
    pub(super) fn stalled(&self) -> usize {
        self.stalled
    }
}

/// The same for anything that comes down along a path, from `now`.
pub(super) fn cut(now: f64, promised: f64, length: f64, floor: f64) -> Option<f64> {
    (length > PATH.back).then(|| now * shrink(promised).max(1.0 - length).max(floor))
}

/// Whether a path moves on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Stalled {
    No,
    /// Not at this level: the next μ.
    Refine(f64),
    ForGood,
}

/// By how much to cut the smoothing, given the Newton decrement relative to the value.
fn shrink(decrement: f64) -> f64 {
    PATH.cuts.iter().find(|(promise, _)| decrement < *promise).map_or(1.0, |(_, left)| *left)
}

/// How exactly the next system is to be solved, given what the last step promised relative to the value: loosely while far from the path.
pub(super) fn forcing(promised: f64) -> f64 {
    promised.abs().sqrt().clamp(PATH.forcing.0, PATH.forcing.1)
}

/// Where a warm start joins a path: the widest of the halved widths from 1 down that are cheap enough there. Wider would throw away what the
/// point knows. (What is as wide as a level costs no more than the levels above.)
pub(super) fn join(mut is_cheap: impl FnMut(f64) -> bool) -> f64 {
    let (mut wide, mut narrow) = (-1, PATH.halvings);
    while narrow - wide > 1 {
        let middle = (wide + narrow) / 2;
        if is_cheap(0.5f64.powi(middle)) { narrow = middle } else { wide = middle }
    }
    0.5f64.powi(narrow)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_joins_at_the_widest_level_that_is_cheap() {
        for level in 0..=32 {
            let limit = 0.5f64.powi(level);
            assert_eq!(join(|mu| mu <= limit), limit);
        }
        assert_eq!(join(|_| false), 0.5f64.powi(32));
    }

    #[test]
    fn what_stalls_is_refined_until_there_is_nothing_finer() {
        let mut path = Continuation::new();
        for _ in 0..PATH.patience {
            assert_eq!(path.after_step(false, false), Stalled::No);
        }
        assert!(!path.is_moving());
        assert_eq!(path.after_step(false, false), Stalled::Refine(0.1));
        path.set(0.1);
        assert_eq!((path.after_step(true, false), path.is_moving()), (Stalled::No, true));
        for _ in 0..PATH.patience {
            path.after_step(false, true);
        }
        assert_eq!(path.after_step(false, true), Stalled::ForGood);
        // A failure ends what is as fine as it gets, and what has failed too often.
        assert_eq!(Continuation::new().after_failure(true), None);
        let mut path = Continuation::new();
        let tries = std::iter::from_fn(|| path.after_failure(false)).count();
        assert_eq!(tries, PATH.patience);
    }
}
