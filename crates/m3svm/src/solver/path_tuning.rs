//! What all paths of smoothing have in common: those of joint problems, of problems of two classes, and of the lasso.

use crate::tuning::tuning;

tuning! {
    /// When smoothing changes, how exactly systems are solved on the way, and when bounds are worth their price.
    PATH: PathTuning {
        /// Smoothing is never taken below this.
        finest: f64 = 1e-14, "scores", "squares of it must keep their digits";
        /// Steps that lower nothing before a path is refined all the same.
        patience: usize = 5, "steps in a row", "by hand";
        /// What such a refinement, or one after a step that failed, leaves of the smoothing.
        refinement: f64 = 0.1, "shares of the smoothing", "by hand";
        /// Promises of the last step, and what a cut of the smoothing leaves after them: the nearer to the path, the bolder. Beyond the last
        /// nothing is cut.
        cuts: [(f64, f64); 4] = [(0.02, 0.1), (0.1, 0.2), (0.3, 0.4), (1.0, 0.6)],
            "shares of the value, and of the smoothing", "docs/decisions/006";
        /// After shorter steps nothing is cut: they have not come back to the path yet.
        back: f64 = 0.3, "lengths of the whole step", "docs/decisions/006";
        /// Where a warm start joins: smoothing may cost so much there.
        little: f64 = 0.1, "shares of the objective", "docs/decisions/006";
        /// Halvings that are tried for that: as good as none is left of the smoothing after them.
        halvings: i32 = 32, "halvings of the widest smoothing", "2⁻³² of it is nothing";
        /// Passes that take dual variables to those of the point; each leaves little of the distance.
        settling: usize = 4, "passes over the dual variables", "by hand";
        /// How exactly systems are solved: the root of the promise, within these.
        forcing: (f64, f64) = (1e-3, 0.1), "shares of the gradient", "tight at the end: an inexact step costs a whole one later";
        /// The next step squares the distance to the optimum, roughly: bounds are asked for where the last one promised this times the root of
        /// the tolerance, and no more than this.
        near: f64 = 0.03, "shares of the value", "by hand";
        /// The same on the way, where the smoothing itself may be what keeps the gap open.
        on_the_way: f64 = 1e-3, "shares of the value", "by hand";
        /// How exactly an intercept is polished: more digits would be worth nothing.
        polish: f64 = 0.01, "shares of the gap that ends the path", "by hand";
        /// What systems may leave over for a bound to pay once bounds are asked for.
        left_over: f64 = 0.02, "shares of the gap that ends the path", "docs/decisions/006";
        /// Once smoothing costs less it is not refined further.
        end: f64 = 0.05, "shares of the gap that ends the path", "by hand";
        /// Without a proof to follow, the promise of the last step at which a path ends.
        safe: f64 = 0.3, "shares of the gap that ends the path", "docs/decisions/007";
    }
}
