//! Figures of searches and comparisons, from plain numbers.

use crate::chart::{Block, HeatMap, Measured, PointChart};
use crate::figure::Figure;
use crate::scale::Axis;
use m3svm::metrics::Criterion;
use m3svm::text::short;

/// What a search goes by over a grid of λ (columns) and p (rows). `values[i][j]` belongs to `ps[i]` and `lambdas[j]`, or is NaN where
/// nothing was tried; `best` is the cell (i, j) that was chosen.
///
/// ```
/// use m3svm::metrics::Criterion;
///
/// let figure = m3svm_report::score_map(Criterion::Accuracy, &[1e-3, 1e-2], &[2.0, 4.0], &[vec![0.95, 0.96], vec![0.97, 0.94]], Some((1, 0)));
/// assert!(figure.to_svg().contains("97.00"));
/// ```
pub fn score_map(
    by: Criterion,
    lambdas: &[f64],
    ps: &[f64],
    values: &[Vec<f64>],
    best: Option<(usize, usize)>,
) -> Figure {
    let grid = ps.iter().enumerate().map(|(i, _)| {
        let row = values.get(i).map_or(&[][..], Vec::as_slice);
        lambdas.iter().enumerate().map(|(j, _)| row.get(j).map_or(f64::NAN, |v| by.readable(*v))).collect()
    });
    let values: Vec<Vec<f64>> = grid.collect();
    let says =
        |v: &f64| if v.is_finite() { format!("{v:.*}", if by.is_share() { 2 } else { 4 }) } else { String::new() };
    HeatMap {
        title: format!("{} by λ and p", capitalised(by.title())),
        row_title: "p".into(),
        column_title: "λ".into(),
        rows: ps.iter().map(|p| short(*p)).collect(),
        columns: lambdas.iter().map(|l| short(*l)).collect(),
        says: values.iter().map(|row| row.iter().map(says).collect()).collect(),
        values,
        scale: Axis::new(by.titled()),
        marked: best.map(|(i, j)| Block { rows: i..i.saturating_add(1), columns: j..j.saturating_add(1) }),
    }
    .figure()
}

/// A method in a comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    /// Its name.
    pub name: String,
    /// The mean of what methods are judged by.
    pub mean: f64,
    /// Its standard deviation, if it was measured more than once.
    pub deviation: Option<f64>,
}

/// How methods did, in the given order, with a standard deviation to either side.
pub fn comparison(by: Criterion, methods: &[Compared]) -> Figure {
    let points = methods.iter().map(|m| Measured {
        name: m.name.clone(),
        value: by.readable(m.mean),
        deviation: m.deviation.map(|d| by.readable(d).abs()),
        says: match m.deviation {
            _ if !m.mean.is_finite() => "–".into(),
            Some(d) => by.spread(m.mean, d).replace(" %", ""),
            None => format!("{:.*}", if by.is_share() { 2 } else { 4 }, by.readable(m.mean)),
        },
    });
    PointChart {
        title: format!("{} of the methods", capitalised(by.title())),
        axis: Axis::new(format!("{}, mean ± standard deviation", by.titled())),
        points: points.collect(),
    }
    .figure()
}

/// A word at the begin of a title.
pub(crate) fn capitalised(title: &str) -> String {
    let mut signs = title.chars();
    signs.next().map(|first| first.to_uppercase().chain(signs).collect()).unwrap_or_default()
}
