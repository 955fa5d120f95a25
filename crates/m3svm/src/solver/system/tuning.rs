//! What the linear systems of a step are tuned by.

use crate::tuning::tuning;

tuning! {
    /// Conjugate gradients, factors, and the two preconditioners. Which of them comes first is said by the plan.
    SYSTEM: SystemTuning {
        /// Most products per solve; a step from a truncated solve is still a descent direction.
        products: usize = 250, "products with the matrix", "by hand";
        /// What of ⟨r, M⁻¹r⟩ is rounding.
        rounding: f64 = 1e-18, "shares of its first value", "the digits of double precision, squared and a little to spare";
        /// What rounding is made up for by, on the diagonal of a matrix that is not positive definite: one after the other.
        lifts: [f64; 5] = [0.0, 1e-15, 1e-14, 1e-13, 1e-12], "shares of its largest entry", "from the digits of double precision up";
        /// Where a solve in single precision is mended in double: it need not meet its goal to the last digit.
        slack: f64 = 4.0, "goals", "by hand";
        /// Systems that went well in single precision, after which one that asks for two digits is not checked: a bad step would only be a
        /// short one.
        usual: usize = 2, "systems in a row", "by hand";
        /// Such a system.
        two_digits: f64 = 1e-2, "shares of the gradient", "by hand";
        /// What products in single precision cost.
        single: f64 = 0.5, "products in double precision", "half the bytes";
        /// Pivots of sums in single precision below this are rounding.
        rounded: f64 = 32.0 * f32::EPSILON as f64, "shares of the diagonal entry", "the digits of single precision";
        /// Share of the factorisation that writing out single rows may cost where the matrix is a preconditioner: one in so many.
        lumped: usize = 9, "cubes of the size", "a third of the factorisation, which takes a third of the cube";
        /// The same where the other rows are thinned out, so that more of them make it better.
        thinned: usize = 3, "cubes of the size", "as much as the factorisation";
        /// What a packed matrix gets on its diagonal of ones: one after the other, until it is positive definite.
        packed_lifts: [f32; 3] = [4.0 * f32::EPSILON, 64.0 * f32::EPSILON, 1024.0 * f32::EPSILON], "ones",
            "a little above the rounding of a large factorisation, and more where sums were rounded";
        /// Sizes from which on, and up to which, a factorisation is made in pieces of `pieces`, smaller ones than usual: at 57 it takes 5.4
        /// instead of 8 µs.
        short: (usize, usize) = (40, 96), "rows of the matrix", "measured";
        /// See `short`.
        pieces: usize = 24, "rows of the matrix", "measured";
        /// Size from which on a factorisation has several threads.
        threads: usize = 256, "rows of the matrix", "by hand";
        /// The same for its two triangular solves: they are bound by memory and short, threads would spend their time waiting.
        solve_threads: usize = 4096, "rows of the matrix", "by hand";
        /// Size from which on a factorisation is made of panels, ...
        large: usize = 2048, "rows of the matrix", "below, it ends within a look at the clock";
        /// ... so wide, between which it can be interrupted.
        panel: usize = 256, "columns", "by hand";
        /// What is added to a diagonal of ones in single precision, and what a pivot below its rounding becomes.
        lift: f32 = 4.0 * f32::EPSILON, "ones", "a little above the rounding of a large factorisation";
        /// Kronecker: products from which on a system with new moments is too hard, ...
        hard: usize = 20, "products with the matrix", "by hand";
        /// ... and after which it is left to others in the middle. Far along the path, where warm starts join it, they can be hundreds, and
        /// other preconditioners need a few.
        hopeless: usize = 32, "products with the matrix", "docs/decisions/005";
        /// Kronecker: added to the diagonal of each of its systems. Moments have the digits of single precision only. And a first step must
        /// not go far where features hardly vary together: nothing holds it back there as long as the penalty is flat at 0 (p > 2), and steps
        /// are not exact enough to go there on purpose.
        soft: f32 = 2.5e-4, "diagonal entries", "by hand";
        /// Woodbury: size from which on its factor is made in single precision: smaller ones cost little either way.
        wide: usize = 256, "entries", "by hand";
        /// What the entries must leave of the inverse without them, along the gradient, or it is the rounding of single precision. They take
        /// nearly all of it away where the penalty is small.
        left: f64 = f32::EPSILON as f64, "shares of the inverse", "the digits of single precision";
        /// Products in one system that put the precision of the preconditioner in doubt.
        doubtful: usize = 40, "products with the matrix", "by hand";
        /// What a row that counts as light adds to the matrix, where all digits are wanted.
        light: f64 = 0.01, "curvatures of the penalty", "by hand";
        /// Work of the products of a system below which it gets fewer entries, where harder ones are to come and where not: those that were
        /// let go are missed then.
        fewer: (f64, f64) = (0.025, 0.2), "factorisations", "by hand";
        /// What caches hold of features.
        cached: usize = 8 << 20, "bytes", "usual caches";
        /// Multiply-adds of a factorisation that take as long as one of a product, and products that are no reason for more entries. They run
        /// some three times as fast as those of products that wait for memory; products with data that stay in the caches, or in single
        /// precision, are as fast, and entries must save more of them than they cost; with sparse rows they are slow everywhere.
        price: (f64, usize) = (3.0, 5), "multiply-adds, and products", "ORL and ISOLET";
        /// The same in caches.
        cached_price: (f64, usize) = (0.5, 12), "multiply-adds, and products", "by hand";
        /// The same in single precision.
        single_price: (f64, usize) = (1.0, 12), "multiply-adds, and products", "by hand";
        /// The same with sparse rows.
        sparse_price: (f64, usize) = (10.0, 5), "multiply-adds, and products", "news20";
        /// Features whose mean squares differ by less count as equal.
        alike: f64 = 10.0, "mean squares", "by hand";
        /// Vectors that are worth two threads.
        parallel: usize = 1 << 17, "numbers", "by hand";
    }
}
