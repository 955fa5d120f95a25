//! Folds are fair, whatever the labels and groups.

use m3svm::select::{Fold, folds};
use proptest::prelude::*;

/// Labels of up to five classes of very different sizes.
fn labels() -> impl Strategy<Value = Vec<u32>> {
    let counts = prop::collection::vec(1usize..30, 2..6);
    counts.prop_flat_map(|counts| {
        let all: Vec<u32> = (0..).zip(counts).flat_map(|(k, n)| vec![k; n]).collect();
        Just(all).prop_shuffle()
    })
}

fn most(y: &[u32]) -> usize {
    (0..6).map(|k| members(y, k)).max().unwrap()
}

fn members(y: &[u32], class: u32) -> usize {
    y.iter().filter(|&&k| k == class).count()
}

fn count(y: &[u32], rows: &[u32], class: u32) -> usize {
    rows.iter().filter(|&&i| y[i as usize] == class).count()
}

/// Every row is in one of the parts, in order, and tested at most once.
fn is_partition(all: &[Fold], rows: usize) -> bool {
    let whole = all.iter().all(|fold| {
        let mut both = [fold.train.clone(), fold.test.clone()].concat();
        both.sort_unstable();
        both.iter().copied().eq(0..rows as u32) && fold.train.is_sorted() && fold.test.is_sorted()
    });
    let mut tested: Vec<u32> = all.iter().flat_map(|fold| fold.test.clone()).collect();
    tested.sort_unstable();
    whole && tested.windows(2).all(|w| w[0] < w[1]) && all.iter().all(|fold| !fold.test.is_empty())
}

proptest! {
    #[test]
    fn classes_are_spread_evenly_and_never_missing_in_training(y in labels(), k in 2usize..9, seed: u64) {
        prop_assume!(k <= most(&y));
        let all = folds(&y, None, k, seed, 0).unwrap();
        prop_assert!(all.len() == k && is_partition(&all, y.len()));
        for class in 0..6 {
            let total = members(&y, class);
            let tested: Vec<usize> = all.iter().map(|fold| count(&y, &fold.test, class)).collect();
            match total {
                0 | 1 => prop_assert!(tested.iter().all(|n| *n == 0)),
                _ => prop_assert!(tested.iter().all(|n| (total / k..=total.div_ceil(k)).contains(n))),
            }
            prop_assert!(total == 0 || all.iter().all(|fold| count(&y, &fold.train, class) > 0));
        }
        let sizes = || all.iter().map(|fold| fold.test.len());
        prop_assert!(sizes().max().unwrap() - sizes().min().unwrap() <= 1);
    }

    #[test]
    fn groups_stay_together_and_classes_stay_in_training(y in labels(), sizes in 1usize..6, k in 2usize..6, seed: u64) {
        let groups: Vec<u32> = (0..y.len()).map(|i| (i / sizes) as u32 * 7).collect();
        let Ok(all) = folds(&y, Some(&groups), k, seed, 0) else {
            // Only too few groups are an excuse.
            let count = y.len().div_ceil(sizes);
            prop_assert!(count < 4 * k, "{count} groups");
            return Ok(());
        };
        prop_assert!(all.len() == k && is_partition(&all, y.len()));
        for fold in &all {
            let group = |rows: &[u32]| -> Vec<u32> { rows.iter().map(|&i| groups[i as usize]).collect() };
            let (train, test) = (group(&fold.train), group(&fold.test));
            prop_assert!(test.iter().all(|g| !train.contains(g)));
            for class in 0..6 {
                prop_assert!(members(&y, class) == 0 || count(&y, &fold.train, class) > 0);
            }
        }
    }

    #[test]
    fn the_seed_and_the_repeat_decide(y in labels(), seed: u64) {
        prop_assume!(most(&y) >= 10);
        prop_assert_eq!(folds(&y, None, 2, seed, 3).unwrap(), folds(&y, None, 2, seed, 3).unwrap());
        // Two divisions of ten rows can be alike by chance, eight cannot.
        let usual = folds(&y, None, 2, seed, 3).unwrap();
        prop_assert!((4..12).any(|repeat| folds(&y, None, 2, seed, repeat).unwrap() != usual));
        prop_assert!((1..9).any(|other| folds(&y, None, 2, seed ^ other, 3).unwrap() != usual));
    }
}

#[test]
fn groups_of_all_classes_are_spread_as_evenly_as_rows() {
    // Twelve people with four rows of each of three classes.
    let y: Vec<u32> = (0..144).map(|i| i % 3).collect();
    let people: Vec<u32> = (0..144).map(|i| i / 12).collect();
    for seed in 0..5 {
        for fold in folds(&y, Some(&people), 4, seed, 0).unwrap() {
            assert_eq!([0, 1, 2].map(|k| count(&y, &fold.test, k)), [12, 12, 12]);
        }
    }
}

#[test]
fn one_group_number_per_row_is_needed() {
    let error = folds(&[0, 1, 0, 1], Some(&[1, 2]), 2, 0, 0).unwrap_err().to_string();
    assert_eq!(error, "groups (one per row): expected 4, found 2");
}
