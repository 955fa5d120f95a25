//! What the path of joint problems is tuned by, beside what all paths have in common.

use crate::tuning::tuning;

tuning! {
    /// Where a path is, and when it has been lost.
    NEWTON: NewtonTuning {
        /// A warm start with such a gap, as that of a model of other rows, may be anywhere. It joins the path where that is widest: with
        /// narrow smoothing a point off the path makes hard systems and short steps. (Without a proof no gap is known. The starts of
        /// searches are neighbours.)
        vain: f64 = 0.9, "shares of the objective", "by hand";
        /// Where bounds of the dual state are tried one step earlier than those of the scores, see `near` of all paths.
        hopeful: f64 = 0.05, "shares of the value", "by hand";
        /// Where the slopes that a step promises are kept for a bound.
        promising: f64 = 0.03, "shares of the value", "by hand";
        /// Smoothing below which systems are solved in double precision throughout: weights of rows go up to one over it.
        precise: f64 = 1e-3, "scores", "weights beyond have more digits than single precision";
        /// A tolerance for which matrices from sums in single precision are good enough. Who asks for a tighter one wants weights of more
        /// digits than a last step from such a matrix leaves.
        loose: f64 = 1e-7, "shares of the objective", "the digits of single precision";
        /// A step that was cut to less has lost the path, ...
        lost: f64 = 0.05, "lengths of the whole step", "by hand";
        /// ... which is then looked for where it is so much wider, ...
        wider: f64 = 3.0, "widths of the smoothing", "by hand";
        /// ... and not left again in cuts that leave less than this.
        careful: f64 = 0.3, "shares of the smoothing", "by hand";
        /// How many times what smoothing costs a step may promise before the next cut is held back.
        far: f64 = 2.0, "costs of the smoothing", "docs/decisions/006";
        /// What a rank-one term of the penalty must leave of itself, or its step is rounding.
        singular: f64 = 1e-12, "shares of its strength", "the digits of double precision";
        /// Without a proof: what a step that did all that its model said is taken to have left, at least.
        surprise: f64 = 0.1, "shares of what it promised", "by hand";
    }
}
