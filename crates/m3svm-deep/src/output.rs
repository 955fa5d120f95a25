//! Tables and figures of trainings.

use std::path::Path;

use anyhow::Result;
use m3svm_report::{Axis, HeatMap, LineChart, Series};

use crate::training::Epoch;

/// Trainings that differ in their seed only.
#[derive(Clone, Debug)]
pub(crate) struct Group<'a> {
    pub(crate) name: String,
    /// Seed and epochs.
    pub(crate) runs: Vec<(u64, &'a [Epoch])>,
}

impl Group<'_> {
    /// Mean and standard deviation over seeds of a number, epoch by epoch, as far as all seeds went.
    fn series(&self, name: String, number: impl Fn(&Epoch) -> f64) -> Series {
        let epochs = self.runs.iter().map(|(_, history)| history.len()).min().unwrap_or(0);
        let at = |n: usize| mean_and_deviation(self.runs.iter().map(|(_, history)| number(&history[n])));
        Series {
            name,
            points: (0..epochs).map(|n| (n as f64 + 1.0, at(n).0)).collect(),
            spread: if self.runs.len() > 1 { (0..epochs).map(|n| at(n).1).collect() } else { vec![] },
        }
    }
}

/// Mean and standard deviation (with n − 1); the latter is 0 for a single number.
pub(crate) fn mean_and_deviation(numbers: impl Iterator<Item = f64>) -> (f64, f64) {
    let numbers: Vec<f64> = numbers.collect();
    let n = numbers.len() as f64;
    let mean = numbers.iter().sum::<f64>() / n;
    let square: f64 = numbers.iter().map(|x| (x - mean) * (x - mean)).sum();
    (mean, if numbers.len() > 1 { (square / (n - 1.0)).sqrt() } else { 0.0 })
}

/// "0.9123 ± 0.0012".
pub(crate) fn shown((mean, deviation): (f64, f64)) -> String {
    format!("{mean:.4} ± {deviation:.4}")
}

/// One row per training and epoch.
pub(crate) fn write_curves(groups: &[Group<'_>], path: &Path) -> Result<()> {
    let mut text = String::from(
        "method,seed,epoch,train_loss,train_accuracy,validation_accuracy,test_loss,test_accuracy,min_margin,images_per_second\n",
    );
    for group in groups {
        for (seed, history) in &group.runs {
            for e in *history {
                let validation = e.validation_accuracy.map(|v| v.to_string()).unwrap_or_default();
                text.push_str(&format!(
                    "{},{seed},{},{:.6},{},{validation},{:.6},{},{:.6},{:.0}\n",
                    group.name,
                    e.epoch,
                    e.train_loss,
                    e.train_accuracy,
                    e.test_loss,
                    e.test_accuracy,
                    e.min_margin,
                    e.images_per_second
                ));
            }
        }
    }
    Ok(m3svm::write_file(path, |out| out.write_all(text.as_bytes()))?)
}

/// Training and test accuracy of a single method in one figure.
pub(crate) fn accuracy_figure(title: &str, group: &Group<'_>, path: &Path) -> Result<()> {
    let series =
        vec![group.series("training".into(), |e| e.train_accuracy), group.series("test".into(), |e| e.test_accuracy)];
    save(title, "accuracy", series, path)
}

/// One curve per method of a number.
pub(crate) fn comparison_figure(
    title: &str,
    label: &str,
    groups: &[Group<'_>],
    number: impl Fn(&Epoch) -> f64,
    path: &Path,
) -> Result<()> {
    save(title, label, groups.iter().map(|g| g.series(g.name.clone(), &number)).collect(), path)
}

fn save(title: &str, label: &str, series: Vec<Series>, path: &Path) -> Result<()> {
    let chart = LineChart {
        title: title.into(),
        x: Axis::new("epoch").whole(),
        y: Axis::new(label),
        series,
        ..LineChart::default()
    };
    Ok(chart.figure().save(path)?)
}

/// The smallest and the largest of the finite numbers, if they differ.
pub(crate) fn finite_ends<'a>(numbers: impl Iterator<Item = &'a f64>) -> Option<(f64, f64)> {
    let finite = numbers.copied().filter(|m| m.is_finite());
    let (low, high) = finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), m| (l.min(m), h.max(m)));
    (low < high).then_some((low, high))
}

/// The matrix of margins between classes. Colours go from end to end of a range, or of the matrix itself.
pub(crate) fn margin_figure(
    title: &str,
    margins: &[f64],
    classes: &[String],
    range: Option<(f64, f64)>,
    path: &Path,
) -> Result<()> {
    let map = HeatMap {
        title: title.into(),
        rows: classes.to_vec(),
        columns: classes.to_vec(),
        values: margins.chunks(classes.len()).map(<[f64]>::to_vec).collect(),
        scale: Axis { range, ..Axis::new("margin 2/|w - w'|") },
        ..HeatMap::default()
    };
    Ok(map.figure().save(path)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deviations_are_those_of_samples() {
        assert_eq!(mean_and_deviation([1.0, 3.0].into_iter()), (2.0, 2f64.sqrt()));
        assert_eq!(finite_ends([3.0, f64::INFINITY, 1.0].iter()), Some((1.0, 3.0)));
        assert_eq!(finite_ends([f64::INFINITY, 1.0].iter()), None);
        assert_eq!(shown(mean_and_deviation([0.5].into_iter())), "0.5000 ± 0.0000");
    }
}
