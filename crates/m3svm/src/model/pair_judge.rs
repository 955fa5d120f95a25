//! One-vs-one on rows whose classes are known: what pairs say against a row's class, and whether that wins, without asking all pairs.
//!
//! Of c classes each pair is asked in a product with all of W, c²/2 scores per row. But a class that has lost more often than the class
//! in question is out, whatever its other pairs say, and most classes lose every other time: some c scores decide.

use crate::error::{Error, Result};
use crate::features::{BlockRoom, Features, Row};
use crate::linalg::dot;
use crate::partition::Partition;
use crate::scheme::{Scheme, Standing};
use crate::spec::Spec;
use crate::support::pair_number;

/// Scores of single pairs that cost as much as one of all pairs: those read rows of features in turn, these read weights once for each.
const PRICE: usize = 8;
/// Scores of single pairs that a row and class need, roughly: one against the class in question, and a few until the other is out.
const ASKED: usize = 4;

/// The scorers of all pairs, one after another.
pub(super) struct PairJudge<'a> {
    weights: Vec<f64>,
    intercept: &'a [f64],
    classes: usize,
}

/// What pairs say of some rows.
pub(super) struct PairVerdicts {
    /// How strongly each class is spoken for against the row's own (n×c, 0 for that).
    pub(super) rivals: Vec<f64>,
    /// Whether the row's class wins.
    pub(super) won: Vec<bool>,
}

impl<'a> PairJudge<'a> {
    /// The same of the weights and intercepts of a model, whatever its scheme.
    pub(super) fn for_model(spec: &Spec, weights: &[f64], intercept: &'a [f64], classes: usize) -> Option<Self> {
        if spec.scheme == Scheme::OneVsOne { Self::of(weights, intercept, classes) } else { None }
    }

    /// Of weights d×m; `None` where all pairs are asked sooner.
    pub(super) fn of(weights: &[f64], intercept: &'a [f64], classes: usize) -> Option<Self> {
        let m = intercept.len();
        if m < PRICE * ASKED * classes {
            return None;
        }
        let d = weights.len() / m;
        let mut apart = vec![0.0; weights.len()];
        for (j, row) in weights.chunks_exact(m).enumerate() {
            row.iter().enumerate().for_each(|(pair, w)| apart[pair * d + j] = *w);
        }
        Some(Self { weights: apart, intercept, classes })
    }

    /// How strongly each class is spoken for against the row's own (n×c, 0 for that).
    pub(super) fn rivals(&self, x: &Features<'_>, y: &[u32]) -> Result<Vec<f64>> {
        Ok(self.map(x, y, |row, y, out| self.against(row, y, out).map(|_| ()))?.0)
    }

    /// Rivals, and which rows' classes win.
    pub(super) fn judge(&self, x: &Features<'_>, y: &[u32]) -> Result<PairVerdicts> {
        let (rivals, won) = self.map(x, y, |row, y, out| self.wins(row, y, out))?;
        Ok(PairVerdicts { rivals, won })
    }

    /// What `f` finds in every row; it writes c numbers.
    fn map<T: Send>(
        &self,
        x: &Features<'_>,
        y: &[u32],
        f: impl Fn(&Row<'_>, usize, &mut [f64]) -> std::result::Result<T, f64> + Sync,
    ) -> Result<(Vec<f64>, Vec<T>)> {
        let c = self.classes;
        let mut out = vec![0.0; y.len() * c];
        let partition = Partition::new(y.len(), x.stored() / x.rows().max(1) * c, 1);
        let found = partition.map_mut(&mut out, c, |range, out| {
            let mut room = BlockRoom::default();
            let rows = range.zip(out.chunks_exact_mut(c));
            rows.map(|(i, out)| {
                let block = x.block(i..i + 1, &mut room);
                f(&block.row(0), y[i] as usize, out).map_err(|value| Error::Score { row: i, value })
            })
            .collect::<Result<Vec<T>>>()
        });
        let found = found.into_iter().collect::<Result<Vec<_>>>()?;
        Ok((out, found.into_iter().flatten().collect()))
    }

    /// What the pair of k and l says for k.
    fn score(&self, row: &Row<'_>, k: usize, l: usize) -> std::result::Result<f64, f64> {
        let (d, pair) = (self.weights.len() / self.intercept.len(), pair_number(self.classes, k, l));
        let (w, mut z) = (&self.weights[pair * d..(pair + 1) * d], self.intercept[pair]);
        match *row {
            Row::Double(x) => z += dot(x, w),
            _ => row.for_each(|j, x| z += x * w[j]),
        }
        let said = if k < l { z } else { -z };
        if said.is_finite() { Ok(said) } else { Err(z) }
    }

    /// What others are spoken for against class `y`, and how that does. `Err`: a score that is no number.
    fn against(&self, row: &Row<'_>, y: usize, rivals: &mut [f64]) -> std::result::Result<Standing, f64> {
        let mut own = Standing::of(y);
        for k in (0..self.classes).filter(|k| *k != y) {
            let said = self.score(row, y, k)?;
            rivals[k] = -said;
            own.hear(k, said);
        }
        Ok(own)
    }

    /// The same, and whether class `y` wins.
    fn wins(&self, row: &Row<'_>, y: usize, rivals: &mut [f64]) -> std::result::Result<bool, f64> {
        let (c, own) = (self.classes, self.against(row, y, rivals)?);
        for k in (0..c).filter(|k| *k != y) {
            let mut other = Standing::of(k);
            for l in (0..c).filter(|l| *l != k) {
                other.hear(l, if l == y { rivals[k] } else { self.score(row, k, l)? });
                if other.lost() > own.lost() {
                    break;
                }
            }
            if other.is_above(&own) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::model::{argmax, class_scores, raw_scores};

    /// Small whole numbers, so that scores are exact and often equal, and sums of them as well.
    #[test]
    fn judges_as_all_votes_do() {
        let (n, d) = (60, 3);
        for (c, size) in [(65, 1.0), (70, 5.0)] {
            let mut state = 1u64;
            let mut whole = || {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                (((state >> 33) as f64 / 2f64.powi(31) - 0.5) * 2.0 * size).round()
            };
            let m = c * (c - 1) / 2;
            let weights: Vec<f64> = (0..d * m).map(|_| whole()).collect();
            let intercept: Vec<f64> = (0..m).map(|_| whole()).collect();
            let x = Features::dense((0..n * d).map(|_| whole()).collect::<Vec<_>>(), n, d).unwrap();
            let raw = raw_scores(&x, &weights, &intercept).unwrap();
            let votes = class_scores(Scheme::OneVsOne, raw.clone(), c);
            let best: Vec<u32> = votes.chunks_exact(c).map(argmax).collect();
            let judge = PairJudge::of(&weights, &intercept, c).unwrap();
            for away in 0..3 {
                let y: Vec<u32> = best.iter().map(|k| (k + away) % c as u32).collect();
                let found = judge.judge(&x, &y).unwrap();
                assert!(found.won.iter().all(|won| *won == (away == 0)), "{c} {away}");
                for (i, rivals) in found.rivals.chunks_exact(c).enumerate() {
                    for (k, rival) in rivals.iter().enumerate().filter(|(k, _)| *k != y[i] as usize) {
                        let said = raw[i * m + pair_number(c, y[i] as usize, k)];
                        assert_eq!(*rival, if k < y[i] as usize { said } else { -said });
                    }
                }
            }
        }
        assert!(PairJudge::of(&[0.0; 45], &[0.0; 45], 10).is_none());
    }
}
