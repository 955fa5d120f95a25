//! What the solver of the lasso and the elastic net is tuned by, beside what all paths have in common.

use crate::tuning::tuning;

tuning! {
    /// The way of λ down to its value, and how its models are solved.
    PROXIMAL: ProximalTuning {
        /// The first λ.
        first: f64 = 0.5, "the least λ with no weights", "by hand";
        /// What a step that failed leaves of λ.
        down: f64 = 0.4, "shares of λ", "by hand";
        /// Steps in a row that have failed after which nothing moves any more, once there is nothing left to refine.
        failures: usize = 4, "steps in a row", "by hand";
        /// What each of them leaves of the violation that its model may keep.
        tighter: f64 = 0.1, "violations", "by hand";
        /// Promises of the last step below which the intercept is polished: farther away the next step corrects it as well.
        polish: f64 = 0.1, "shares of the value", "by hand";
        /// The largest violation that a model may keep, between these: loose while far from the optimum, then ever tighter, so that
        /// convergence stays quadratic.
        target: (f64, f64) = (1e-4, 0.1), "violations of the objective", "by hand";
        /// How much tighter where a matrix was dear to write out: it is made the most of.
        dear: f64 = 0.3, "violations", "by hand";
        /// Coordinates up to which the matrix of a model is cheap.
        few: usize = 300, "coordinates", "by hand";
        /// Coordinates beyond which it does not fit.
        most: usize = 8000, "coordinates", "memory: half a gigabyte";
        /// What writing it out may cost: some two hundred sweeps.
        written: usize = 8000, "multiply-adds per stored number", "forming it runs forty times as fast";
        /// Sweeps of a model that does not hold over a whole step: it is not worth more.
        doubted: usize = 10, "sweeps", "by hand";
        /// Sweeps between two tries of all coordinates at once, and such tries, where the matrix is not written out.
        sweeps: (usize, usize) = (20, 8), "sweeps, and tries", "by hand";
        /// Tries where it is.
        tries: usize = 20, "tries", "by hand";
        /// Coordinates per sweep more, where the matrix will be written out next, and where it is.
        per_sweep: (usize, usize) = (100, 60), "coordinates per sweep", "by hand";
        /// Sweeps over the non-zeros between two over all.
        inner: usize = 8, "sweeps", "by hand";
        /// The violation that those may keep.
        inner_target: f64 = 0.3, "violations", "by hand";
        /// Pins after which a walk ends where it is: the next one starts with fewer coordinates.
        pins: usize = 60, "coordinates", "by hand";
        /// At least so many zero weights may join at a time.
        join: usize = 500, "weights", "by hand";
        /// A zero weight joins if its slope reaches this: it may be about to leave zero.
        pressing: f64 = 0.95, "λ", "by hand";
        /// Curvature that is lent to every row after a step of less than `damped` of its length: at least so much, and more
        /// after each such step.
        damping: f64 = 1e-3, "the largest curvature of a row", "by hand";
        /// See `damping`.
        damped: f64 = 0.1, "lengths of the whole step", "by hand";
        /// What a step that short, and any other part of a step, multiplies it by, ...
        more_damping: (f64, f64) = (10.0, 2.0), "times as much", "by hand";
        /// ... and what a whole step leaves of it.
        less_damping: f64 = 0.25, "shares of it", "by hand";
        /// Gains below this are rounding.
        rounding: f64 = 1e-12, "changes of the slopes times the step", "the digits of double precision";
        /// Coordinates between two looks at the clock.
        ask_every: usize = 64, "coordinates", "microseconds each";
    }
}
