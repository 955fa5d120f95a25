//! What the solvers of problems of two classes are tuned by.

use crate::tuning::tuning;

tuning! {
    /// Paths that walk in step, beside what all paths have in common. Costs are multiply-adds that stay in the caches.
    IN_STEP: InStepTuning {
        /// A start at which one of twice its length is so much worse at most is that of a far larger λ, and not begun with. One-vs-rest on
        /// Vehicle: optima of the same λ were 15 % better than twice themselves, or more. Those of a λ a hundred times larger were from 12 %
        /// better to 14 % worse.
        too_short: f64 = 1.05, "objectives", "one-vs-rest on Vehicle";
        /// Rows that jump over their kink in a shorter step get the curvature of the secant.
        short: f64 = 0.2, "lengths of the whole step", "docs/decisions/006";
        /// Rows times problems below which a second thread would cost more than it saves.
        parallel: usize = 1 << 13, "numbers", "by hand";
        /// What may be left out of a matrix before conjugate gradients are needed.
        negligible: f64 = 1e-3, "curvatures of the penalty", "by hand";
        /// Most rows in a system.
        most_rows: usize = 2000, "rows", "memory: 32 MB";
        /// Widest matrix that is written out.
        widest: usize = 3000, "columns", "memory: 72 MB";
        /// What the factors of all problems may take.
        room: usize = 1 << 24, "numbers", "memory: 128 MB";
        /// Systems per problem that a Gram matrix of all rows may serve, times the square of the share of rows that one of them has.
        gram_serves: usize = 4, "Gram matrices of one problem", "16 systems of half as many rows as features";
        /// Problems whose factors are made at a time all the same.
        at_a_time: usize = 4, "problems", "by hand";
        /// The smallest number of rows but none that is weighed as the size of a system.
        least_rows: usize = 32, "rows", "by hand";
        /// Rows between two looks at the clock.
        ask_every: usize = 64, "rows", "microseconds each";
        /// Newton steps that move dual variables until the intercept has no gradient.
        balances: usize = 20, "steps", "by hand";
        /// Looks at the slope in the intercept, until that is polished.
        polishes: usize = 60, "looks", "halving leaves nothing of a bracket";
        /// What a step of conjugate gradients costs: two products that wait for memory.
        step: f64 = 6.0, "multiply-adds per stored number", "by hand";
        /// What an entry of a system costs where inner products of rows are kept.
        kept: f64 = 4.0, "multiply-adds", "by hand";
        /// What a proof after an interruption may cost for whoever waits to hardly notice: each reads all that is stored, and looks at the
        /// intercept alone up to sixty times.
        soon: usize = 300_000_000, "multiply-adds", "a few tenths of a second";
        /// Such looks.
        looks: usize = 200, "multiply-adds per row", "60 looks of three or so";
    }
}

tuning! {
    /// Pairs of classes by moves of two numbers at a time. The unit of costs is one entry of a pass of a move over its numbers. They were fitted
    /// to one-vs-one of eleven data sets with 20 to 1,900 rows per pair and 9 to 1,024 features, and are right within a factor of two for most.
    PAIRS: PairTuning {
        /// Most rows of a pair: with more, moves wait for memory.
        most_rows: usize = 1000, "rows", "by hand";
        /// Most inner products that are kept for all pairs of their class. Beyond, every pair makes its own.
        most_kept: usize = 1 << 26, "numbers", "memory: half a gigabyte";
        /// A move, beside its entries.
        move_overhead: f64 = 60.0, "entries of a move", "fitted";
        /// A multiply-add of inner products of dense rows, and of sparse ones.
        gram: (f64, f64) = (0.1, 2.0), "entries of a move", "fitted";
        /// The share of them that belongs to two classes, which other pairs use as well; the rest is the pair's own.
        gram_shared: f64 = 0.25, "all inner products of a pair", "half of them, half as many by symmetry";
        /// Putting inner products together, for each.
        copied: f64 = 3.0, "entries of a move", "fitted";
        /// Moves that are to be expected: so many per row, and more with more rows than features, where classes overlap and more rows end
        /// between the bounds.
        moves: (f64, f64) = (3.0, 0.5), "moves per row, and per row and rows per feature", "fitted";
        /// Newton steps that would be taken instead.
        steps: f64 = 14.0, "steps", "fitted";
        /// What one of them costs: alone, per row, and per stored number.
        step: (f64, f64, f64) = (5e3, 100.0, 1.5), "entries of a move", "fitted";
        /// Its system through features: per row and square of the features, and per cube of them.
        features: (f64, f64) = (0.015, 0.017), "entries of a move", "fitted";
        /// Its system through rows: per cube of them.
        rows: f64 = 0.05, "entries of a move", "fitted";
        /// Moves are given up once they have cost so much.
        patience: f64 = 0.5, "all Newton steps", "they must follow then";
        /// Where steps of the free set begin to be tried. By then most rows are where they stay.
        free_set_after: usize = 2, "one in so many of the rows, in moves", "tried from a third to twice as many: half was fastest or nearly so";
        /// Moves between two looks at the gap.
        round: usize = 16, "moves", "by hand";
        /// Most bounds that one such step may meet.
        free_set_steps: usize = 8, "systems", "by hand";
        /// Cubes of the size of their system that cost as much as an entry.
        factor: usize = 20, "multiply-adds per entry of a move", "fitted";
        /// Most numbers of a free set that move together.
        largest_free_set: usize = 300, "rows", "by hand";
        /// Squared distances of rows below this are rounding of their inner products.
        rounding: f64 = 1e-12, "sums of their squared lengths", "the digits of double precision";
        /// Gaps to go for, one after the other: rounding that a bound takes off may leave it a little short of the gap that the moves have
        /// seen.
        goals: [f64; 2] = [0.5, 0.05], "tolerances", "by hand";
    }
}

tuning! {
    /// Descent in the dual, row by row.
    DESCENT: DescentTuning {
        /// Most work of a first attempt. Where this fails, it has cost a fraction of the Newton steps that must follow.
        most_passes: usize = 400, "passes over all rows", "docs/decisions/009";
        /// Passes between two looks at the gap: at least the first, at most the second, and in between until they cost as much as the look.
        round: (usize, usize) = (3, 40), "passes", "by hand";
        /// A round that leaves more of the gap is slow, and may be followed by a step of the free set.
        slow: f64 = 0.7, "gaps", "by hand";
        /// Most rows of a free set that move together.
        largest_free_set: usize = 2500, "rows", "memory: 50 MB";
        /// Most bounds that one such step may meet.
        free_set_steps: usize = 6, "systems", "by hand";
        /// Cubes of the size of a system that cost as much as a row, with a hundred entries.
        factor: usize = 5000, "multiply-adds per row", "measured";
        /// What such a step may cost of the rows that were read since the last one.
        free_set_share: usize = 2, "one in so many rows", "by hand";
        /// A number so near its bound goes there: it would cut the next step of the free set short.
        near: f64 = 1e-12, "weights of the row", "the digits of double precision";
        /// Rows between two looks at the clock.
        ask_every: usize = 64, "rows", "microseconds";
        /// Gaps to go for, one after the other, as with pairs.
        goals: [f64; 2] = [0.5, 0.05], "tolerances", "by hand";
    }
}
