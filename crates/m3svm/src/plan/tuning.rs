//! What decisions are made by. Costs are in multiply-adds, and only their ratios count; they were measured on the data sets of `bench/`.

use crate::tuning::tuning;

tuning! {
    /// Bounds between one way and another.
    PLAN: PlanTuning {
        /// Columns that are worth a reduction to the row space.
        clearly_more: f64 = 1.2, "rows", "by hand";
        /// Numbers in the dual state of a penalty beyond which there is no room for it.
        most_duals: usize = 100_000_000, "numbers", "memory: 800 MB";
        /// The largest share of entries that rows may store for ascent row by row. With more of them a pass is no longer cheap, and rows are
        /// alike.
        sparse: f64 = 0.1, "entries", "by hand";
        /// So many classes, and ascent among the few that count in a row is cheaper than Newton steps, which look at all of them.
        crowded: usize = 64, "classes", "4,000 × 512 of 100 classes: 1.4 s and more than 20; ISOLET's 26 classes: 1.5 s and 0.9 s";
        /// A matrix that costs less is written out at once.
        at_once: f64 = 18.0, "products with the matrix", "measured";
        /// The same where single rows cannot be had, and with them no preconditioner for hard systems.
        blindly: f64 = 120.0, "products with the matrix", "at_once times written_price, and a little more";
        /// What a packed matrix takes per entry of a whole one.
        packed: f64 = 2.1, "bytes", "half of the entries, in single precision, and what is above the diagonal in panels";
        /// What a matrix may take.
        largest: f64 = 2e9, "bytes", "memory";
        /// Multiply-adds of forming and factoring that take as long as one of a product, with its share of the preconditioner: they run about
        /// three times as fast, and applying the preconditioner doubles the price of a product.
        written_price: f64 = 6.0, "multiply-adds", "measured";
        /// The same with softmax goes up with the length of rows, by this: without heavy entries there is little to apply, and each pair of
        /// classes takes all rows, weighted anew.
        softmax_length: f64 = 40.0, "features", "1.1 times with the 34 features of dermatology, 1.5 with the 64 of optdigits";
        /// Only the heaviest parts of a matrix are written out if it has more parameters than this, and all of them would cost this much.
        lumped: (f64, f64) = (500.0, 0.5), "parameters, and factorisations", "by hand";
        /// The Kronecker preconditioner is cheap up to so many rows per square of the features, and features per class: its factors are then as
        /// dear as two products, which take three times as long flop for flop, and its moments, in single precision, as six.
        kronecker: (f64, f64) = (72.0, 144.0), "rows, and classes", "counted";
        /// Most classes of it: their matrix is diagonalised in one piece, on one thread, which takes a quarter of a second for so many.
        most_classes: f64 = 400.0, "classes", "measured";
        /// Products up to which a system is easy. After a harder one its moments are made anew.
        easy: usize = 12, "products with the matrix", "by hand";
        /// Entries that the Woodbury preconditioner begins with, and where products with large sparse data are slow next to a factorisation, so
        /// that more pay, at most: more save products but cost more to factor.
        entries: (usize, usize) = (450, 1400), "entries", "300 to 2,600 tried on ORL and ISOLET: 450 was fastest or nearly so on both";
        /// Most entries that hard systems are given: the small one then takes 100 MB, and as much again while it is made.
        most_entries: usize = 3600, "entries", "memory";
        /// What the small system takes per entry of its matrix.
        entry: f64 = 16.0, "bytes", "the same";
        /// Multiply-adds of a factorisation that take as long as one of a product with sparse rows.
        sparse_price: f64 = 30.0, "multiply-adds", "measured";
        /// So many more rows than weights, and room beside the data would be missed.
        many_rows: usize = 8, "weights", "by hand";
    }
}
