//! One-dimensional search along a descent direction, with derivatives.

use crate::tuning::tuning;

/// What a search found: the step length and the value there.
pub(crate) struct Found {
    pub(crate) step: f64,
    pub(crate) value: f64,
    pub(crate) evaluations: usize,
}

tuning! {
    /// What a search along a line is tuned by.
    LINE: LineTuning {
        /// A decrease that is enough.
        enough: f64 = 1e-4, "decreases that the slope promises", "Armijo's usual constant";
        /// A line that still falls by so much at the end of a step goes on falling.
        steep: f64 = 0.7, "slopes at the start", "by hand";
        /// How much farther it is tried then, and how far at most.
        longer: (f64, f64) = (4.0, 1e6), "steps, and first steps", "by hand";
        /// A shortened step must have used up all but this of the slope: evaluations along the line are cheap, new directions are not.
        rest: f64 = 0.3, "slopes at the start", "by hand";
        /// Where a decrease drowns in rounding, the slope must be below this to be taken for the end.
        flat: f64 = 0.9, "slopes at the start", "by hand";
        /// Trials after which any decrease will do, and after which there is none.
        trials: (usize, usize) = (12, 60), "evaluations", "by hand";
        /// Sums over thousands of rows are exact to about this.
        rounding: f64 = 1e-13, "values", "the digits of double precision";
        /// Interpolation keeps so far off the ends.
        margin: f64 = 0.1, "lengths of the bracket", "by hand";
        /// Shorter steps move nothing.
        shortest: f64 = 1e-18, "steps", "below the digits of double precision";
    }
}

/// Whether [`search`] along a convex function would take its first step, where the value is `at`, without a look at the slope there: that
/// is at least the slope of the chord. Decreases that may be rounding are left to the search.
pub(crate) fn takes_first(value: f64, slope: f64, first: f64, at: f64) -> bool {
    at - value <= LINE.enough * first * slope - rounding(value) && at - value >= LINE.steep * first * slope
}

fn rounding(value: f64) -> f64 {
    LINE.rounding * value.abs()
}

/// Looks for a step along which `f(t) → (value, slope)` decreases enough (Armijo); starts at `t = first`. Along convex functions the
/// slopes bracket the minimiser, and interpolation finds it in a few trials. `None` if no step lowers the value within rounding.
pub(crate) fn search(value: f64, slope: f64, first: f64, mut f: impl FnMut(f64) -> (f64, f64)) -> Option<Found> {
    let rounding = rounding(value);
    let (mut low, mut low_value, mut low_slope) = (0.0, value, slope);
    let mut high: Option<(f64, f64, f64)> = None;
    let mut t = first;
    for evaluations in 1..=LINE.trials.1 {
        let (at, dt) = f(t);
        let usable = at.is_finite() && dt.is_finite();
        // Near the optimum the decrease drowns in rounding; the slope still tells.
        let flat = usable && (at - value).abs() <= rounding && dt.abs() <= LINE.flat * slope.abs();
        let lower = usable && at <= value + LINE.enough * t * slope;
        // The line still falls steeply: the model was too stiff, go on.
        if lower && high.is_none() && dt < -LINE.steep * slope.abs() && t < LINE.longer.1 * first {
            (low, low_value, low_slope) = (t, at, dt);
            t *= LINE.longer.0;
            continue;
        }
        // A full step is taken as it is.
        let settled = high.is_none() || dt.abs() <= LINE.rest * slope.abs() || evaluations >= LINE.trials.0;
        if flat || (lower && settled) {
            return Some(Found { step: t, value: at, evaluations });
        }
        if usable && dt < 0.0 && at <= low_value + rounding {
            (low, low_value, low_slope) = (t, at, dt);
        } else {
            high = Some((t, at, dt));
        }
        let (top, top_value, top_slope) = high?;
        t = interpolate(low, low_value, low_slope, top, top_value, top_slope);
        if t <= LINE.shortest {
            return None;
        }
    }
    None
}

/// Minimiser of the cubic through both ends, kept off the ends.
fn interpolate(a: f64, fa: f64, ga: f64, b: f64, fb: f64, gb: f64) -> f64 {
    let width = b - a;
    if !(fb.is_finite() && gb.is_finite()) {
        return a + LINE.margin * width;
    }
    let d1 = ga + gb - 3.0 * (fa - fb) / (a - b);
    let square = d1 * d1 - ga * gb;
    let guess = if square >= 0.0 {
        let d2 = square.sqrt();
        b - width * (gb + d2 - d1) / (gb - ga + 2.0 * d2)
    } else {
        a + 0.5 * width
    };
    if guess.is_finite() { guess.clamp(a + LINE.margin * width, b - LINE.margin * width) } else { a + 0.5 * width }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn steep_walls_are_survived() {
        // f(t) = (1000t)^16 − t: the full step is absurd, the search must come down to ~1e-3.
        let f = |t: f64| ((1e3 * t).powi(16) - t, 16e3 * (1e3 * t).powi(15) - 1.0);
        let found = search(0.0, -1.0, 1.0, f).unwrap();
        assert!(found.value < 0.0 && found.evaluations < 30, "{}", found.evaluations);
        assert!(search(0.0, -1.0, 1.0, |t| (t, 1.0)).is_none());
    }

    #[test]
    fn a_first_step_that_the_value_accepts_is_the_one_that_search_takes() {
        // f(t) = a t² − t, steps of 1: too far, well, and too short.
        let mut taken = 0;
        for at in 0..=60 {
            let a = 0.02 * f64::from(at);
            let found = search(0.0, -1.0, 1.0, |t| (a * t * t - t, 2.0 * a * t - 1.0)).unwrap();
            if takes_first(0.0, -1.0, 1.0, a - 1.0) {
                taken += 1;
                assert_eq!((found.step, found.evaluations), (1.0, 1), "{a}");
            }
        }
        assert!(taken > 20);
    }
}
