//! How well scores rank rows: areas under the curve.

use rayon::prelude::*;
use serde::Serialize;

use super::check_scores;
use crate::error::Result;
use crate::memory;

/// Areas under the receiver operating characteristic: the chance that a row of a class has a higher score for it than a row of another class
/// (ties count half, rows by weight). 0.5 is guessing, 1 is perfect.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RankingAreas {
    /// Each class against all others, with the scores of that class; `None` where rows of it, or of others, are missing.
    pub per_class: Vec<Option<f64>>,
    /// Mean over the classes that have one.
    pub one_vs_rest: Option<f64>,
    /// Mean over all pairs of classes, each by the scores of either class (D. J. Hand and R. J. Till, 2001). Unlike the other it does not depend
    /// on how frequent classes are.
    pub pairwise: Option<f64>,
}

impl RankingAreas {
    /// From the scores of rows (n×c, any scale) and their classes.
    ///
    /// ```
    /// use m3svm::metrics::RankingAreas;
    ///
    /// let areas = RankingAreas::new(&[0.9, 0.1, 0.4, 0.6, 0.5, 0.5], &[0, 1, 0], None, 2)?;
    /// assert_eq!(areas.one_vs_rest, Some(1.0));
    /// # Ok::<(), m3svm::Error>(())
    /// ```
    pub fn new(scores: &[f64], truth: &[u32], weights: Option<&[f64]>, classes: usize) -> Result<Self> {
        check_scores(scores, truth, weights, classes)?;
        memory::check(&format!("areas of {classes} by {classes} classes"), memory::numbers(classes, classes))?;
        let weight = |i: usize| weights.map_or(1.0, |w| w[i]);
        let mut mass = vec![0.0; classes];
        truth.iter().enumerate().for_each(|(i, &y)| mass[y as usize] += weight(i));
        // Wins of class k against each other class, by the scores of k. One pass over the rows in order of these.
        let wins = |k: usize| -> Vec<f64> {
            let mut order: Vec<u32> = (0..truth.len() as u32).collect();
            let score = |i: u32| scores[i as usize * classes + k];
            order.sort_by(|&a, &b| score(a).total_cmp(&score(b)));
            let (mut won, mut below) = (vec![0.0; classes], 0.0);
            for ties in order.chunk_by(|&a, &b| score(a) == score(b)) {
                let own: f64 =
                    ties.iter().filter(|&&i| truth[i as usize] as usize == k).map(|&i| weight(i as usize)).sum();
                for &i in ties {
                    let y = truth[i as usize] as usize;
                    if y != k {
                        won[y] += weight(i as usize) * (mass[k] - below - 0.5 * own);
                    }
                }
                below += own;
            }
            won
        };
        let mut won: Vec<Vec<f64>> = (0..classes).into_par_iter().map(wins).collect();
        // Of two classes one score says it all, and where it is close to 0 the other one is rounded.
        if let [first, second] = &mut won[..] {
            first[1] = second[0];
        }
        let total: f64 = mass.iter().sum();
        let area = |k: usize| {
            let chances = mass[k] * (total - mass[k]);
            (chances > 0.0).then(|| won[k].iter().sum::<f64>() / chances)
        };
        let per_class: Vec<Option<f64>> = (0..classes).map(area).collect();
        let occurs: Vec<usize> = (0..classes).filter(|&k| mass[k] > 0.0).collect();
        let (mut sum, mut pairs) = (0.0, 0.0);
        for (at, &k) in occurs.iter().enumerate() {
            for &l in &occurs[at + 1..] {
                sum += 0.5 * (won[k][l] + won[l][k]) / (mass[k] * mass[l]);
                pairs += 1.0;
            }
        }
        let known: Vec<f64> = per_class.iter().flatten().copied().collect();
        Ok(Self {
            one_vs_rest: (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64),
            pairwise: (pairs > 0.0).then(|| sum / pairs),
            per_class,
        })
    }
}
