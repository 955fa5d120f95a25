//! What rows in memory are tuned by. How many rows or numbers make a block of some loop is said beside the loop.

use crate::tuning::tuning;

tuning! {
    /// What is kept of rows, and what is worth its price in their sums.
    ENGINE: EngineTuning {
        /// Up to so many rows the Gram matrix of all is made once and kept; beyond, that of the rows that are asked for is made each time.
        kept_gram: usize = 2000, "rows", "memory: 32 MB";
        /// A copy in single precision is not worth the detour for fewer numbers, and costs too much memory (32 MB) for more. Where they are stored
        /// so anyway, more gain nothing.
        copied: (usize, usize) = (1 << 17, 1 << 23), "numbers", "mnist (20,000 rows of 784) took as long per product in either precision";
        /// Of so few there is room for a copy, however many rows they are.
        always_copied: usize = 1 << 19, "numbers", "memory: 2 MB";
        /// Products of features that are kept for all classes together, at most.
        packed: usize = 1 << 19, "numbers", "memory: 4 MB";
        /// Widest rows whose products are summed class by class.
        by_class: usize = 72, "numbers per row", "by hand";
        /// Rows with less weight are left out of an exact matrix. It must be far below what looks negligible: where λ and ε are small, the tails of
        /// thousands of far rows are all that holds the flat directions, and cutting at 1e-6 stalls the path.
        negligible: f64 = 1e-14, "weights of the heaviest row", "docs/decisions/004";
        /// Entries that are lighter are not taken out, however few there are.
        lightest: f64 = 1e-8, "weights of the heaviest entry", "by hand";
        /// Rows that weigh less count in moments as if their features varied as those of the others do, but each on its own.
        light: f64 = 0.1, "mean weights of a row", "by hand";
        /// Products of a solve for many coordinates of the lasso at once, at most.
        products: usize = 60, "products with the matrix", "by hand";
        /// How exact it is to be.
        solved: f64 = 1e-3, "shares of the gradient", "by hand";
    }
}

tuning! {
    /// Rows that pass by.
    STREAMED: StreamedTuning {
        /// What is free may go into the matrix of Newton's systems up to this share, ...
        matrix: f64 = 0.6, "shares of what is free", "by hand";
        /// ... which is made from so many rows at a time per row of its blocks.
        heap: usize = 4, "widths", "by hand";
        /// What a number of a row costs on its way from the disk: reading, its checksum, its scaling.
        pass: f64 = 40.0, "multiply-adds", "by hand";
    }
}
