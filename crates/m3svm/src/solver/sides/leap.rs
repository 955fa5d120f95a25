//! A step of many dual numbers at once, for duals that are climbed a number or two at a time.

use crate::solver::system::{factor, solve_factored};

/// How far numbers may go, and whether that is all the way.
pub(super) struct Leap {
    /// Where a bound ends a step, it is that of [`Room`] to the last digit.
    pub(super) steps: Vec<f64>,
    pub(super) whole: bool,
}

/// How far a number may rise and fall.
#[derive(Clone, Copy)]
pub(super) struct Room {
    pub(super) above: f64,
    pub(super) below: f64,
}

/// The way to the best place with all other numbers fixed, or as much of it as the rooms allow. `matrix` says how the slopes fall.
pub(super) fn leap(mut matrix: Vec<f64>, slopes: Vec<f64>, rooms: &[Room]) -> Option<Leap> {
    let mut steps = slopes;
    if steps.is_empty() || !factor(&mut matrix, steps.len()) {
        return None;
    }
    solve_factored(&matrix, steps.len(), &mut steps);
    if !steps.iter().all(|s| s.is_finite()) {
        return None;
    }
    let share = |(step, room): (&f64, &Room)| match *step {
        step if step > 0.0 => room.above / step,
        step if step < 0.0 => room.below / -step,
        _ => 1.0,
    };
    let whole = steps.iter().zip(rooms).map(share).fold(1.0, f64::min);
    for (step, room) in steps.iter_mut().zip(rooms) {
        let cut = (whole * *step).clamp(-room.below, room.above);
        let end = if cut > 0.0 { room.above } else { room.below };
        // Exactly to the bound where that is what ended it.
        *step = if cut.abs() >= (1.0 - 1e-12) * end { end.copysign(cut) } else { cut };
    }
    Some(Leap { steps, whole: whole == 1.0 })
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn goes_all_the_way_or_exactly_to_the_first_bound() {
        let (matrix, slopes) = (vec![9.0, 0.0, 0.0, 36.0], vec![1.0, -1.0]);
        let room = |above, below| Room { above, below };
        let free = leap(matrix.clone(), slopes.clone(), &[room(1.0, 1.0); 2]).unwrap();
        assert!(free.whole && (free.steps[0] - 1.0 / 9.0).abs() < 1e-16, "{:?}", free.steps);
        for above in (1..50).map(|n| f64::from(n) / 500.0) {
            let cut = leap(matrix.clone(), slopes.clone(), &[room(above, 1.0), room(1.0, 1.0)]).unwrap();
            assert!(!cut.whole && cut.steps[0] == above, "{above} {:?}", cut.steps);
            assert!((cut.steps[1] + 0.25 * above).abs() < 1e-15, "{above} {:?}", cut.steps);
        }
        assert!(leap(vec![f64::NAN; 4], slopes, &[room(1.0, 1.0); 2]).is_none());
        assert!(leap(Vec::new(), Vec::new(), &[]).is_none());
    }
}
