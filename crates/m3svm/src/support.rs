//! Which rows hold up the margin of which class pair.

use crate::loss::{AnyLoss, Loss};
use crate::penalty::pairs;
use crate::scheme::Scheme;
use crate::spec::Spec;

/// Rounding of an exact hinge in scores: rows this near to the margin are on it.
const ON_THE_MARGIN: f64 = 1e-3;

/// Support vectors per pair of classes: rows of either class on the margin, on the wrong side of it or nearest to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SupportVectors {
    classes: usize,
    /// Where the rows of every pair end, and all of them, pair by pair: with thousands of classes most pairs have none.
    ends: Vec<usize>,
    rows: Vec<u32>,
}

impl SupportVectors {
    /// From what the scorers say of rows with known classes. A row counts for (y, k) if its slope g′(γ) is at least a hundredth of the
    /// largest slope of all: the share with which it pulls at the class vectors. `None` for losses without a margin.
    pub(crate) fn from_scores(spec: &Spec, raw: &[f64], y: &[u32], classes: usize) -> Option<Self> {
        margin_slopes(spec, raw, y, classes).map(|slopes| Self::from_slopes(&slopes, y, classes))
    }

    /// From what [`margin_slopes`] has found.
    pub(crate) fn from_slopes(slopes: &[f64], y: &[u32], classes: usize) -> Self {
        let top = slopes.iter().copied().fold(0.0, f64::max);
        let each = |f: &mut dyn FnMut(u32, usize)| {
            for ((i, &y), slopes) in y.iter().enumerate().zip(slopes.chunks_exact(classes)) {
                pulling(slopes, y, top).for_each(|k| f(i as u32, pair_number(classes, y as usize, k)));
            }
        };
        let mut ends = vec![0; classes * (classes - 1) / 2];
        each(&mut |_, pair| ends[pair] += 1);
        // From how many there are to where they begin, and on to where they end.
        let mut all = 0;
        for end in &mut ends {
            (*end, all) = (all, all + *end);
        }
        let mut rows = vec![0; all];
        each(&mut |row, pair| {
            rows[ends[pair]] = row;
            ends[pair] += 1;
        });
        Self { classes, ends, rows }
    }

    fn of_pair(&self, pair: usize) -> &[u32] {
        let first = if pair == 0 { 0 } else { self.ends[pair - 1] };
        &self.rows[first..self.ends[pair]]
    }

    /// The rows that support the margin between two classes, ascending.
    pub fn rows(&self, k: usize, l: usize) -> &[u32] {
        if k == l { &[] } else { self.of_pair(pair_number(self.classes, k, l)) }
    }

    /// How many there are for each pair (c×c, symmetric, 0 on the diagonal).
    pub fn counts(&self) -> Vec<usize> {
        let c = self.classes;
        let mut out = vec![0; c * c];
        pairs(c, |pair, k, l| {
            let count = self.of_pair(pair).len();
            (out[k * c + l], out[l * c + k]) = (count, count);
        });
        out
    }

    /// Rows that support at least one margin, ascending.
    pub fn all(&self) -> Vec<u32> {
        let mut supports = vec![false; self.rows.iter().max().map_or(0, |last| *last as usize + 1)];
        self.rows.iter().for_each(|i| supports[*i as usize] = true);
        (0..supports.len() as u32).filter(|i| supports[*i as usize]).collect()
    }
}

/// How strongly every row pulls at the margin between its class and each other one (n×c); `None` for losses without a margin.
pub(crate) fn margin_slopes(spec: &Spec, raw: &[f64], y: &[u32], classes: usize) -> Option<Vec<f64>> {
    Margin::of(spec).map(|margin| slopes(spec.scheme, margin.loss(), raw, y, classes))
}

/// The same of what scorers say for each class, against the row's own where pairs have one (n×c).
pub(crate) fn slopes_of_rivals(spec: &Spec, rivals: &[f64], y: &[u32], classes: usize) -> Option<Vec<f64>> {
    Margin::of(spec).map(|margin| rival_slopes(margin.loss(), rivals, y, classes))
}

/// How strongly every row pulls at the scorer that it pulls at most, where exact hinges are rounded off.
pub(crate) fn pulls(spec: &Spec, raw: &[f64], y: &[u32], classes: usize) -> Vec<f64> {
    let rounded = spec.loss.as_dyn().relaxed(ON_THE_MARGIN);
    let loss: &dyn Loss = rounded.as_deref().unwrap_or(spec.loss.as_dyn());
    let mut slopes = slopes(spec.scheme, loss, raw, y, classes);
    if spec.scheme == Scheme::OneVsRest {
        // A row pulls at the scorer of its own class, too.
        for (i, &y) in y.iter().enumerate() {
            let (at, mut slope) = (i * classes + y as usize, [0.0; 2]);
            loss.value_grad(&[0.0, -raw[at]], 0, &mut slope);
            slopes[at] = slope[1];
        }
    }
    slopes.chunks_exact(classes).map(|row| row.iter().fold(0.0f64, |top, s| top.max(s.abs()))).collect()
}

/// The loss whose slopes say what supports a margin.
struct Margin<'s> {
    spec: &'s Spec,
    rounded: Option<Box<dyn Loss>>,
}

impl<'s> Margin<'s> {
    /// `None` for losses without a margin.
    fn of(spec: &'s Spec) -> Option<Self> {
        // The exact hinge has no slope on the margin itself, where its support vectors lie.
        let rounded = spec.loss.as_dyn().relaxed(ON_THE_MARGIN);
        let has_margin = matches!(spec.loss, AnyLoss::SmoothHinge(_) | AnyLoss::TopKHinge(_));
        (rounded.is_some() || has_margin).then_some(Self { spec, rounded })
    }

    fn loss(&self) -> &dyn Loss {
        self.rounded.as_deref().unwrap_or(self.spec.loss.as_dyn())
    }
}

/// The classes that a row with these slopes supports the margin against, where the largest slope of all rows is `top`.
fn pulling(slopes: &[f64], y: u32, top: f64) -> impl Iterator<Item = usize> {
    let strong = move |(k, s): &(usize, &f64)| *k != y as usize && top > 0.0 && **s >= 0.01 * top;
    slopes.iter().enumerate().filter(strong).map(|(k, _)| k)
}

/// Support vectors counted part by part, without a list of them.
pub(crate) struct SupportCounts<'s> {
    margin: Margin<'s>,
    classes: usize,
    /// c×c, symmetric, and rows that support any margin.
    counts: Vec<usize>,
    rows: usize,
}

impl<'s> SupportCounts<'s> {
    /// `None` for losses without a margin.
    pub(crate) fn new(spec: &'s Spec, classes: usize) -> Option<Self> {
        let counts = vec![0; classes * classes];
        Some(Self { margin: Margin::of(spec)?, classes, counts, rows: 0 })
    }

    /// The largest slope of some rows.
    pub(crate) fn largest(&self, raw: &[f64], y: &[u32]) -> f64 {
        let slopes = slopes(self.margin.spec.scheme, self.margin.loss(), raw, y, self.classes);
        slopes.into_iter().fold(0.0, f64::max)
    }

    /// Counts some rows, where the largest slope of all is known.
    pub(crate) fn add(&mut self, raw: &[f64], y: &[u32], top: f64) {
        let c = self.classes;
        let slopes = slopes(self.margin.spec.scheme, self.margin.loss(), raw, y, c);
        for (&y, slopes) in y.iter().zip(slopes.chunks_exact(c)) {
            let mut supports = false;
            for k in pulling(slopes, y, top) {
                supports = true;
                self.counts[y as usize * c + k] += 1;
                self.counts[k * c + y as usize] += 1;
            }
            self.rows += usize::from(supports);
        }
    }

    /// Rows per pair of classes (c×c), and those of any.
    pub(crate) fn counts(&self) -> (Vec<usize>, usize) {
        (self.counts.clone(), self.rows)
    }
}

/// How strongly every row pulls at the margin between its class and each other one (n×c; 0 for its own).
fn slopes(scheme: Scheme, loss: &dyn Loss, raw: &[f64], y: &[u32], classes: usize) -> Vec<f64> {
    if scheme == Scheme::Joint {
        let mut slopes = vec![0.0; y.len() * classes];
        loss.value_grad_rows(raw, y, &mut slopes, &mut vec![0.0; y.len()]);
        slopes.chunks_exact_mut(classes).zip(y).for_each(|(row, y)| row[*y as usize] = 0.0);
        return slopes;
    }
    if scheme == Scheme::OneVsOne {
        return rival_slopes(loss, &rivals(raw, y, classes), y, classes);
    }
    rival_slopes(loss, raw, y, classes)
}

/// What pairs say for each class against the row's own (n×c, 0 for that).
fn rivals(raw: &[f64], y: &[u32], classes: usize) -> Vec<f64> {
    let (mut out, pairs) = (vec![0.0; y.len() * classes], Scheme::OneVsOne.scorers(classes));
    for ((out, raw), &y) in out.chunks_exact_mut(classes).zip(raw.chunks_exact(pairs)).zip(y) {
        let y = y as usize;
        for k in (0..classes).filter(|&k| k != y) {
            let said = raw[pair_number(classes, y, k)];
            out[k] = if k < y { said } else { -said };
        }
    }
    out
}

/// How strongly rows pull where scorers say so much for each class (n×c; 0 for their own).
fn rival_slopes(loss: &dyn Loss, rivals: &[f64], y: &[u32], classes: usize) -> Vec<f64> {
    let mut slopes = vec![0.0; y.len() * classes];
    for ((slopes, rivals), &y) in slopes.chunks_exact_mut(classes).zip(rivals.chunks_exact(classes)).zip(y) {
        for k in (0..classes).filter(|&k| k != y as usize) {
            let mut slope = [0.0; 2];
            loss.value_grad(&[0.0, rivals[k]], 0, &mut slope);
            slopes[k] = slope[1];
        }
    }
    slopes
}

/// Number of the pair {k, l} in the order of [`pairs`].
pub(crate) fn pair_number(classes: usize, k: usize, l: usize) -> usize {
    let (k, l) = (k.min(l), k.max(l));
    k * (2 * classes - k - 1) / 2 + l - k - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pair_numbers_follow_the_order_of_the_pairs() {
        pairs(5, |pair, k, l| assert_eq!((pair_number(5, k, l), pair_number(5, l, k)), (pair, pair)));
    }
}
