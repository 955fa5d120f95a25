//! Figures of searches and comparisons, from plain numbers.

use crate::chart::{Block, HeatMap, Measured, PointChart};
use crate::figure::Figure;
use crate::scale::Axis;
use m3svm::text::short;

/// Accuracy over a grid of λ (columns) and p (rows). `accuracies[i][j]` belongs to `ps[i]` and `lambdas[j]` and is a share of 1, or NaN where
/// nothing was tried; `best` is the cell (i, j) that was chosen.
///
/// ```
/// let figure = m3svm_report::accuracy_map(&[1e-3, 1e-2], &[2.0, 4.0], &[vec![0.95, 0.96], vec![0.97, 0.94]], Some((1, 0)));
/// assert!(figure.to_svg().contains("97.00"));
/// ```
pub fn accuracy_map(lambdas: &[f64], ps: &[f64], accuracies: &[Vec<f64>], best: Option<(usize, usize)>) -> Figure {
    let grid = ps.iter().enumerate().map(|(i, _)| {
        let row = accuracies.get(i).map_or(&[][..], Vec::as_slice);
        lambdas.iter().enumerate().map(|(j, _)| row.get(j).map_or(f64::NAN, |v| 100.0 * v)).collect()
    });
    let values: Vec<Vec<f64>> = grid.collect();
    let says = |v: &f64| if v.is_finite() { format!("{v:.2}") } else { String::new() };
    HeatMap {
        title: "Accuracy by λ and p".into(),
        row_title: "p".into(),
        column_title: "λ".into(),
        rows: ps.iter().map(|p| short(*p)).collect(),
        columns: lambdas.iter().map(|l| short(*l)).collect(),
        says: values.iter().map(|row| row.iter().map(says).collect()).collect(),
        values,
        scale: Axis::new("accuracy in %"),
        marked: best.map(|(i, j)| Block { rows: i..i.saturating_add(1), columns: j..j.saturating_add(1) }),
    }
    .figure()
}

/// A method in a comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    /// Its name.
    pub name: String,
    /// Mean accuracy, a share of 1.
    pub mean: f64,
    /// Standard deviation of the accuracy, if it was measured more than once.
    pub deviation: Option<f64>,
}

/// The accuracies of methods, in the given order, with a standard deviation to either side.
pub fn comparison(methods: &[Compared]) -> Figure {
    let points = methods.iter().map(|m| Measured {
        name: m.name.clone(),
        value: 100.0 * m.mean,
        deviation: m.deviation.map(|d| 100.0 * d),
        says: match m.deviation {
            _ if !m.mean.is_finite() => "–".into(),
            Some(d) => format!("{:.2} ± {:.2}", 100.0 * m.mean, 100.0 * d),
            None => format!("{:.2}", 100.0 * m.mean),
        },
    });
    PointChart {
        title: "Accuracy of the methods".into(),
        axis: Axis::new("accuracy in %, mean ± standard deviation"),
        points: points.collect(),
    }
    .figure()
}
