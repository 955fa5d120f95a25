//! Splits of rows into training and test parts.
//!
//! Every class keeps its share in every part. A class that would be missing in a training part stays in training for good: what
//! was never seen cannot be predicted, and would only measure the luck of the split.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use super::group_folds;
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::features::Features;
use crate::kernel::{Kernel, columns_of};

/// One split: row numbers, ascending. Together the parts are all rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fold {
    /// Rows to train on.
    pub train: Vec<u32>,
    /// Rows to test on; never empty.
    pub test: Vec<u32>,
}

impl Fold {
    /// Refuses a split that does not fit so many rows.
    pub(super) fn check(&self, rows: usize) -> Result<()> {
        if self.train.is_empty() || self.test.is_empty() {
            return Err(Error::param("split", "an empty part", "have rows to train on and rows to test on"));
        }
        match self.train.iter().chain(&self.test).find(|row| **row as usize >= rows) {
            Some(row) => Err(Error::param("split", format!("row {row} of {rows}"), "name rows of the data")),
            None => Ok(()),
        }
    }

    /// The rows to train on. Of a precomputed kernel they have the values with each other alone.
    pub(super) fn train_rows(&self, kernel: Kernel, data: &Dataset<'_>) -> Result<Dataset<'static>> {
        let train = data.take_rows(&self.train)?;
        if kernel != Kernel::Precomputed {
            return Ok(train);
        }
        let own = columns_of(data.x(), train.x(), &self.train)?;
        Ok(train.with_x(own))
    }

    /// The features of the rows to test on, as a model of the rows to train on wants them.
    pub(super) fn test_features(
        &self,
        kernel: Kernel,
        data: &Dataset<'_>,
        train: &Dataset<'_>,
    ) -> Result<Features<'static>> {
        let x = data.features_for(train, &self.test)?;
        if kernel == Kernel::Precomputed { columns_of(data.x(), &x, &self.train) } else { Ok(x) }
    }
}

/// Splits rows into `folds` test parts that do not overlap, the same way for the same seed and `repeat`. Rows of one group (if given, one number
/// per row) are never divided between training and test.
///
/// ```
/// let folds = m3svm::select::folds(&[0, 0, 0, 0, 1, 1], None, 2, 0, 0)?;
/// assert_eq!(folds.len(), 2);
/// assert_eq!(folds[0].test.len(), 3);
/// # Ok::<(), m3svm::Error>(())
/// ```
pub fn folds(y: &[u32], groups: Option<&[u32]>, folds: usize, seed: u64, repeat: usize) -> Result<Vec<Fold>> {
    let mut random = random(folds, seed, repeat)?;
    let tested_in = match groups {
        Some(groups) => group_folds::assign(y, groups, folds, &mut random)?,
        None => assign(y, folds, &mut random)?,
    };
    let part = |fold: usize| {
        let (test, train): (Vec<u32>, Vec<u32>) =
            (0..y.len() as u32).partition(|&i| tested_in[i as usize] == Some(fold));
        Fold { train, test }
    };
    Ok((0..folds).map(part).collect())
}

/// What folds are drawn by.
fn random(folds: usize, seed: u64, repeat: usize) -> Result<ChaCha8Rng> {
    if folds < 2 {
        return Err(Error::param("folds", folds, "be at least 2"));
    }
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    random.set_stream(repeat as u64);
    Ok(random)
}

/// The same folds in less room: the one in which each row is tested, or a number beyond all of them for rows that are always trained on.
pub(super) fn tested_in(y: &[u32], folds: usize, seed: u64, repeat: usize) -> Result<Vec<u16>> {
    if folds >= usize::from(u16::MAX) {
        return Err(Error::param("folds", folds, "be less than 65535 for rows on disk"));
    }
    let assigned = assign(y, folds, &mut random(folds, seed, repeat)?)?;
    Ok(assigned.into_iter().map(|fold| fold.map_or(u16::MAX, |fold| fold as u16)).collect())
}

/// Refuses inner folds that the training part of some outer fold has too few rows for: before any work, and not in the middle of it.
pub(super) fn check_inner(outer: &[Fold], y: &[u32], groups: Option<&[u32]>, inner: usize, seed: u64) -> Result<()> {
    for fold in outer {
        let pick = |all: &[u32]| fold.train.iter().map(|&i| all[i as usize]).collect::<Vec<u32>>();
        match folds(&pick(y), groups.map(pick).as_deref(), inner, seed, 0) {
            Err(Error::Folds { folds, most, what }) => return Err(Error::InnerFolds { folds, most, what }),
            other => other?,
        };
    }
    Ok(())
}

/// The fold in which each row is tested; `None` for rows that are always trained on.
fn assign(y: &[u32], folds: usize, random: &mut ChaCha8Rng) -> Result<Vec<Option<usize>>> {
    let mut members: Vec<Vec<u32>> = vec![Vec::new(); y.iter().max().map_or(0, |k| *k as usize + 1)];
    (0..).zip(y).for_each(|(i, &k)| members[k as usize].push(i));
    let most = members.iter().map(Vec::len).max().unwrap_or(0);
    if folds > most {
        return Err(Error::Folds { folds, most, what: "rows of the largest class" });
    }
    let mut tested_in = vec![None; y.len()];
    // Dealt out like cards, each class where the last one ended: classes and parts differ by one row at most.
    let mut next = 0;
    for class in members.iter_mut().filter(|class| class.len() > 1) {
        class.shuffle(random);
        for &i in class.iter() {
            tested_in[i as usize] = Some(next);
            next = (next + 1) % folds;
        }
    }
    Ok(tested_in)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn impossible_folds_are_refused() {
        let refused = |y: &[u32], groups: Option<&[u32]>, k| folds(y, groups, k, 0, 0).unwrap_err().to_string();
        assert_eq!(refused(&[0, 0, 1, 1], None, 1), "`folds` must be at least 2, found 1");
        let many = refused(&[0, 0, 0, 1, 1], None, 4);
        assert_eq!(many, "`folds` must be at most the number of rows of the largest class (3), found 4");
        let groups = refused(&[0, 1, 0, 1], Some(&[7, 7, 9, 9]), 3);
        assert_eq!(groups, "`folds` must be at most the number of groups that can be tested (2), found 3");
    }

    #[test]
    fn inner_folds_are_checked_in_every_training_part() {
        let y = [0, 0, 0, 1, 1, 1];
        let outer = folds(&y, None, 3, 0, 0).unwrap();
        assert!(check_inner(&outer, &y, None, 2, 0).is_ok());
        let refused = check_inner(&outer, &y, None, 3, 0).unwrap_err().to_string();
        let expected = "the training part of a fold has 2 rows of the largest class, too few for the 3 folds of the search inside it";
        assert_eq!(refused, expected);
        let groups = [0, 1, 2, 0, 1, 2];
        let outer = folds(&y, Some(&groups), 3, 0, 0).unwrap();
        assert!(check_inner(&outer, &y, Some(&groups), 3, 0).unwrap_err().to_string().contains("2 groups"));
    }

    #[test]
    fn rare_classes_are_spread_and_single_rows_stay_in_training() {
        let y = [0, 0, 0, 0, 0, 0, 1, 1, 2];
        for fold in folds(&y, None, 5, 3, 0).unwrap() {
            let tested = |k| fold.test.iter().filter(|&&i| y[i as usize] == k).count();
            assert!(tested(1) <= 1 && tested(2) == 0);
        }
    }
}
