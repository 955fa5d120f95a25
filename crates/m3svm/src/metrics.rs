//! How good predictions are.

mod chances;
mod criterion;
mod interval;
mod quality;
mod ranking;

pub use chances::{calibration_error, log_loss};
pub use criterion::Criterion;
pub use interval::accuracy_interval;
pub use quality::{Judged, Quality};
pub use ranking::RankingAreas;

use serde::Serialize;

use crate::dataset::check_weights;
use crate::error::{Error, Result};
use crate::memory;

/// Precision, recall and F1. Where a quotient is 0/0 it counts as 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Scores {
    /// Share of the rows predicted as the class that are of the class.
    pub precision: f64,
    /// Share of the rows of the class that are predicted as the class.
    pub recall: f64,
    /// Harmonic mean of both.
    pub f1: f64,
    /// Rows of the class (by weight).
    pub support: f64,
}

/// Rows of one class that are taken for another.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Confused {
    /// The true class.
    pub truth: usize,
    /// The predicted class.
    pub predicted: usize,
    /// How many rows (by weight).
    pub count: f64,
    /// Share of the rows of the true class.
    pub share: f64,
}

/// Everything that is counted from true and predicted classes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Metrics {
    /// Number of rows.
    pub rows: usize,
    /// Share of right predictions (by weight).
    pub accuracy: f64,
    /// By class.
    pub per_class: Vec<Scores>,
    /// Mean over the classes that occur among true or predicted ones.
    pub macro_average: Scores,
    /// Mean over classes by their support.
    pub weighted_average: Scores,
    /// Rows by true class, and in each by predicted class (by weight).
    pub confusion: Vec<Vec<f64>>,
}

impl Metrics {
    /// Compares class numbers (all less than `classes`), each row with its weight or 1.
    ///
    /// ```
    /// use m3svm::metrics::Metrics;
    ///
    /// let metrics = Metrics::new(&[0, 0, 1, 1], &[0, 1, 1, 1], None, 2)?;
    /// assert_eq!(metrics.accuracy, 0.75);
    /// assert_eq!(metrics.confusion, [[1.0, 1.0], [0.0, 2.0]]);
    /// # Ok::<(), m3svm::Error>(())
    /// ```
    pub fn new(truth: &[u32], predicted: &[u32], weights: Option<&[f64]>, classes: usize) -> Result<Self> {
        for (what, found) in [
            ("predictions (one per label)", predicted.len()),
            ("weights (one per label)", weights.map_or(truth.len(), <[f64]>::len)),
        ] {
            if found != truth.len() {
                let expected = truth.len();
                return Err(Error::Shape { what, expected, found });
            }
        }
        check_weights(weights.unwrap_or_default())?;
        memory::check(&format!("a table of {classes} by {classes} classes"), memory::numbers(classes, classes))?;
        let mut confusion = vec![vec![0.0; classes]; classes];
        for (row, (&k, &l)) in truth.iter().zip(predicted).enumerate() {
            if k.max(l) as usize >= classes {
                let (label, known) = (k.max(l).to_string(), classes);
                return Err(Error::UnknownClass { row, label, known });
            }
            confusion[k as usize][l as usize] += weights.map_or(1.0, |w| w[row]);
        }
        Ok(Self::from_confusion(truth.len(), confusion))
    }

    fn from_confusion(rows: usize, confusion: Vec<Vec<f64>>) -> Self {
        let classes = confusion.len();
        let predicted = |l: usize| confusion.iter().map(|row| row[l]).sum::<f64>();
        let per_class: Vec<Scores> = (0..classes)
            .map(|k| {
                let (hits, support) = (confusion[k][k], confusion[k].iter().sum());
                Scores {
                    precision: ratio(hits, predicted(k)),
                    recall: ratio(hits, support),
                    f1: ratio(2.0 * hits, support + predicted(k)),
                    support,
                }
            })
            .collect();
        let total = per_class.iter().map(|s| s.support).sum();
        let hits = (0..classes).map(|k| confusion[k][k]).sum();
        let occurs: Vec<f64> =
            (0..classes).map(|k| f64::from(u8::from(per_class[k].support + predicted(k) > 0.0))).collect();
        let by_support: Vec<f64> = per_class.iter().map(|s| s.support).collect();
        let mean = |shares: &[f64]| {
            let of = |value: fn(&Scores) -> f64| {
                let sum: f64 = per_class.iter().zip(shares).map(|(s, w)| w * value(s)).sum();
                ratio(sum, shares.iter().sum())
            };
            Scores { precision: of(|s| s.precision), recall: of(|s| s.recall), f1: of(|s| s.f1), support: total }
        };
        Self {
            rows,
            accuracy: ratio(hits, total),
            macro_average: mean(&occurs),
            weighted_average: mean(&by_support),
            per_class,
            confusion,
        }
    }

    /// Mean over the classes that occur of the share of their rows that are found.
    pub fn balanced_accuracy(&self) -> f64 {
        let occurs = || self.per_class.iter().filter(|class| class.support > 0.0);
        ratio(occurs().map(|class| class.recall).sum(), occurs().count() as f64)
    }

    /// The accuracy of always guessing the most frequent class.
    pub fn majority(&self) -> f64 {
        let support = || self.per_class.iter().map(|class| class.support);
        ratio(support().fold(0.0, f64::max), support().sum())
    }

    /// The most frequent mistakes, at most `count` of them.
    pub fn most_confused(&self, count: usize) -> Vec<Confused> {
        let mut pairs = Vec::new();
        for (truth, row) in self.confusion.iter().enumerate() {
            for (predicted, &count) in row.iter().enumerate() {
                if truth != predicted && count > 0.0 {
                    let share = ratio(count, self.per_class[truth].support);
                    pairs.push(Confused { truth, predicted, count, share });
                }
            }
        }
        pairs.sort_by(|a, b| b.count.total_cmp(&a.count).then(b.share.total_cmp(&a.share)));
        pairs.truncate(count);
        pairs
    }
}

/// Share of the rows (by weight) whose true class has one of the k best scores (`scores`: n×c). Of equal scores the first class counts
/// as better, as in a prediction.
///
/// ```
/// use m3svm::metrics::top_k_accuracy;
///
/// let scores = [0.5, 0.3, 0.2, 0.5, 0.3, 0.2];
/// assert_eq!(top_k_accuracy(&scores, &[1, 2], None, 3, 2)?, 0.5);
/// # Ok::<(), m3svm::Error>(())
/// ```
pub fn top_k_accuracy(scores: &[f64], truth: &[u32], weights: Option<&[f64]>, classes: usize, k: usize) -> Result<f64> {
    check_scores(scores, truth, weights, classes)?;
    let (mut right, mut total) = (0.0, 0.0);
    for (row, (z, &y)) in scores.chunks_exact(classes).zip(truth).enumerate() {
        let (y, own) = (y as usize, z[y as usize]);
        let ahead = z.iter().enumerate().filter(|(l, z)| **z > own || (**z == own && *l < y)).count();
        let weight = weights.and_then(|w| w.get(row)).copied().unwrap_or(1.0);
        right += if ahead < k { weight } else { 0.0 };
        total += weight;
    }
    Ok(ratio(right, total))
}

/// Refuses scores of other rows or classes, and numbers that are no class.
fn check_scores(scores: &[f64], truth: &[u32], weights: Option<&[f64]>, classes: usize) -> Result<()> {
    let expected = truth.len().saturating_mul(classes);
    for (what, expected, found) in [
        ("scores (one per row and class)", expected, scores.len()),
        ("weights (one per label)", truth.len(), weights.map_or(truth.len(), <[f64]>::len)),
    ] {
        if expected != found {
            return Err(Error::Shape { what, expected, found });
        }
    }
    check_weights(weights.unwrap_or_default())?;
    match truth.iter().position(|&y| y as usize >= classes) {
        Some(row) => Err(Error::UnknownClass { row, label: truth[row].to_string(), known: classes }),
        None => Ok(()),
    }
}

fn ratio(a: f64, b: f64) -> f64 {
    if b == 0.0 { 0.0 } else { a / b }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    fn scores(precision: f64, recall: f64, f1: f64, support: f64) -> Scores {
        Scores { precision, recall, f1, support }
    }

    #[test]
    fn by_hand() {
        let m = Metrics::new(&[0, 0, 0, 0, 1, 1, 2, 2], &[0, 0, 0, 1, 1, 0, 2, 0], None, 3).unwrap();
        assert_eq!(m.confusion, [[3.0, 1.0, 0.0], [1.0, 1.0, 0.0], [1.0, 0.0, 1.0]]);
        assert_eq!(m.accuracy, 0.625);
        assert_eq!(m.per_class[0], scores(0.6, 0.75, 6.0 / 9.0, 4.0));
        assert_eq!(m.per_class[1], scores(0.5, 0.5, 0.5, 2.0));
        assert_eq!(m.per_class[2], scores(1.0, 0.5, 2.0 / 3.0, 2.0));
        assert!((m.macro_average.precision - 0.7).abs() < 1e-15);
        assert!((m.weighted_average.recall - m.accuracy).abs() < 1e-15);
        let worst = m.most_confused(2);
        // Equal counts: the larger share of its class comes first.
        assert_eq!((worst[0].truth, worst[0].predicted, worst[0].share), (1, 0, 0.5));
        assert_eq!((worst[1].truth, worst[1].predicted, worst[1].share), (2, 0, 0.5));
        assert_eq!(m.most_confused(9).len(), 3);
    }

    #[test]
    fn weights_equal_repetition() {
        let weighted = Metrics::new(&[0, 1, 1], &[1, 1, 0], Some(&[2.0, 3.0, 0.0]), 2).unwrap();
        let repeated = Metrics::new(&[0, 0, 1, 1, 1], &[1, 1, 1, 1, 1], None, 2).unwrap();
        assert_eq!(weighted, Metrics { rows: 3, ..repeated });
    }

    #[test]
    fn classes_that_do_not_occur_count_nothing() {
        let m = Metrics::new(&[0, 0], &[0, 1], None, 3).unwrap();
        assert_eq!(m.per_class[1], scores(0.0, 0.0, 0.0, 0.0));
        assert_eq!(m.per_class[2], Scores::default());
        assert_eq!(m.macro_average.recall, 0.25);
        let empty = Metrics::new(&[], &[], None, 2).unwrap();
        assert_eq!((empty.accuracy, empty.macro_average), (0.0, Scores::default()));
    }

    #[test]
    fn wrong_sizes_are_named() {
        let text = |r: Result<Metrics>| r.unwrap_err().to_string();
        let short = text(Metrics::new(&[0, 1], &[0], None, 2));
        assert_eq!(short, "predictions (one per label): expected 2, found 1");
        let unknown = text(Metrics::new(&[0, 1], &[0, 2], None, 2));
        assert_eq!(unknown, "row 2: label `2` is not one of the 2 classes of the model");
    }
}
