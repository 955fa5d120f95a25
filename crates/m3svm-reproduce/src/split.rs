//! The 80/20 split of the authors' script: that of scikit-learn's `train_test_split`, row for row.

use m3svm::select::Fold;
use rand_mt::Mt;

/// Training and test rows for a test share of one fifth (rounded up), in the order of scikit-learn. Not stratified: a rare class may be
/// missing on either side.
pub fn train_test_split(rows: usize, seed: u32) -> Fold {
    let mut order: Vec<u32> = (0..rows as u32).collect();
    let mut random = Mt::new(seed);
    // Fisher-Yates from the end; a draw is masked to the bits of its limit and repeated until it is small enough.
    for i in (1..rows as u32).rev() {
        let mask = u32::MAX >> i.leading_zeros();
        let j = loop {
            let draw = random.next_u32() & mask;
            if draw <= i {
                break draw;
            }
        };
        order.swap(i as usize, j as usize);
    }
    let train = order.split_off(rows.div_ceil(5));
    Fold { train, test: order }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_that_of_scikit_learn() {
        // tests/fixtures/make_split.py prints these lines.
        let table = include_str!("../tests/fixtures/split.txt");
        let lines: Vec<&str> = table.lines().filter(|line| !line.starts_with('#')).collect();
        assert_eq!(lines.len(), 4);
        for line in lines {
            let numbers: Vec<u32> = line.split_whitespace().flat_map(str::parse).collect();
            let (rows, seed, test) = (numbers[0] as usize, numbers[1], &numbers[2..]);
            let found = train_test_split(rows, seed);
            let head: Vec<u32> = found.test.iter().take(8).chain(found.train.iter().take(8)).copied().collect();
            let checksum =
                found.test.iter().chain(&found.train).zip(1u64..).map(|(v, i)| u64::from(*v) * i).sum::<u64>();
            assert_eq!(head, test[..16], "{rows} rows, seed {seed}");
            assert_eq!(checksum.to_string(), line.split_whitespace().last().unwrap_or_default());
        }
    }
}
