//! A step of many dual numbers at once, for duals that are climbed a number or two at a time.

use crate::interrupt::Heed;
use crate::solver::system::{factor, solve_factored};
use crate::tuning::tuning;

tuning! {
    /// Steps of free sets.
    FREE_SET: FreeSetTuning {
        /// A step that ends so near a bound ends at it.
        rounding: f64 = 1e-12, "ways to the bound", "the digits of double precision";
    }
}

/// How far numbers may go, and whether that is all the way.
pub(super) struct FreeSetStep {
    /// Where a bound ends a step, it is that of [`Slack`] to the last digit.
    pub(super) steps: Vec<f64>,
    pub(super) is_whole: bool,
}

/// How far a number may rise and fall.
#[derive(Clone, Copy)]
pub(super) struct Slack {
    pub(super) above: f64,
    pub(super) below: f64,
}

/// The way to the best place with all other numbers fixed, or as much of it as the slacks allow. `matrix` says how the slopes fall.
pub(super) fn free_set_step(mut matrix: Vec<f64>, slopes: Vec<f64>, slacks: &[Slack]) -> Option<FreeSetStep> {
    let mut steps = slopes;
    if steps.is_empty() || !factor(&mut matrix, steps.len(), Heed::default()) {
        return None;
    }
    solve_factored(&matrix, steps.len(), &mut steps);
    if !steps.iter().all(|s| s.is_finite()) {
        return None;
    }
    let share = |(step, slack): (&f64, &Slack)| match *step {
        step if step > 0.0 => slack.above / step,
        step if step < 0.0 => slack.below / -step,
        _ => 1.0,
    };
    let whole = steps.iter().zip(slacks).map(share).fold(1.0, f64::min);
    for (step, slack) in steps.iter_mut().zip(slacks) {
        let cut = (whole * *step).clamp(-slack.below, slack.above);
        let end = if cut > 0.0 { slack.above } else { slack.below };
        // Exactly to the bound where that is what ended it.
        *step = if cut.abs() >= (1.0 - FREE_SET.rounding) * end { end.copysign(cut) } else { cut };
    }
    Some(FreeSetStep { steps, is_whole: whole == 1.0 })
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn goes_all_the_way_or_exactly_to_the_first_bound() {
        let (matrix, slopes) = (vec![9.0, 0.0, 0.0, 36.0], vec![1.0, -1.0]);
        let slack = |above, below| Slack { above, below };
        let free = free_set_step(matrix.clone(), slopes.clone(), &[slack(1.0, 1.0); 2]).unwrap();
        assert!(free.is_whole && (free.steps[0] - 1.0 / 9.0).abs() < 1e-16, "{:?}", free.steps);
        for above in (1..50).map(|n| f64::from(n) / 500.0) {
            let cut = free_set_step(matrix.clone(), slopes.clone(), &[slack(above, 1.0), slack(1.0, 1.0)]).unwrap();
            assert!(!cut.is_whole && cut.steps[0] == above, "{above} {:?}", cut.steps);
            assert!((cut.steps[1] + 0.25 * above).abs() < 1e-15, "{above} {:?}", cut.steps);
        }
        assert!(free_set_step(vec![f64::NAN; 4], slopes, &[slack(1.0, 1.0); 2]).is_none());
        assert!(free_set_step(Vec::new(), Vec::new(), &[]).is_none());
    }
}
