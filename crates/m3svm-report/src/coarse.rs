//! Large square matrices, made small enough to draw.

/// Joins blocks of so many neighbouring rows and columns that at most `most` are left; also says how many a block has. Cells of a
/// block are combined from `start` on.
pub(crate) fn coarse(
    values: &[Vec<f64>],
    most: usize,
    start: f64,
    combine: impl Fn(f64, f64) -> f64,
) -> (Vec<Vec<f64>>, usize) {
    let block = values.len().div_ceil(most.max(1)).max(1);
    let size = values.len().div_ceil(block);
    let mut out = vec![vec![start; size]; size];
    for (i, row) in values.iter().enumerate() {
        for (j, &value) in row.iter().enumerate().take(values.len()) {
            let cell = &mut out[i / block][j / block];
            *cell = combine(*cell, value);
        }
    }
    (out, block)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_cover_every_cell_once() {
        let square =
            |n: usize| -> Vec<Vec<f64>> { (0..n).map(|i| (0..n).map(|j| (i * n + j) as f64).collect()).collect() };
        let sum = |m: &[Vec<f64>]| m.iter().flatten().sum::<f64>();
        for n in [0, 1, 4, 5, 9, 10, 11] {
            let (small, block) = coarse(&square(n), 5, 0.0, |a, b| a + b);
            assert!(small.len() <= 5 && small.len() * block >= n);
            assert_eq!(sum(&small), sum(&square(n)));
        }
        assert_eq!(coarse(&square(4), 2, f64::INFINITY, f64::min).0, [[0.0, 2.0], [8.0, 10.0]]);
        assert_eq!(coarse(&square(4), 4, f64::INFINITY, f64::min), (square(4), 1));
    }
}
