//! What a comparison leaves behind: tables, curves, margins.

use std::path::Path;

use anyhow::Result;
use m3svm::text::plain;
use m3svm_report::{Axis, Group as Cloud, ScatterChart};

use super::{Judged, Tried};
use crate::output::{Group, comparison_figure, margin_figure, mean_and_deviation, shown, write_curves};
use crate::progress::say;

/// `tuning.csv`: how every candidate did on the validation part.
pub(super) fn tuning(tried: &[Tried], out: &Path) -> Result<()> {
    let mut text = String::from("method,setting,value,seeds,validation_accuracy,deviation,min_margin\n");
    for t in tried {
        let (mean, deviation) = t.accuracy();
        let margin = mean_and_deviation(t.runs.iter().filter_map(|r| Some(r.last()?.min_margin))).0;
        let (value, seeds) = (plain(t.value), t.runs.len());
        text.push_str(&format!("{},{},{value},{seeds},{mean:.6},{deviation:.6},{margin:.6}\n", t.method, t.searched));
    }
    Ok(m3svm::write_file(&out.join("tuning.csv"), |file| file.write_all(text.as_bytes()))?)
}

/// `results.csv`, `curves.csv` and the figures.
pub(super) fn results(judged: &[Judged], data: &str, classes: &[String], out: &Path) -> Result<()> {
    let mut text = String::from(
        "method,setting,value,epochs,seeds,train_accuracy,train_deviation,test_accuracy,test_deviation,best_test_accuracy,min_margin,min_margin_deviation\n",
    );
    for j in judged {
        let last = |f: fn(&crate::training::Epoch) -> f64| {
            mean_and_deviation(j.runs.iter().filter_map(|r| Some(f(r.last()?))))
        };
        let (train, test, margin) = (last(|e| e.train_accuracy), last(|e| e.test_accuracy), last(|e| e.min_margin));
        // The best epoch of every seed, chosen on the test images: an optimist's number, for comparison with others who report it.
        let best =
            mean_and_deviation(j.runs.iter().map(|r| r.history.iter().map(|e| e.test_accuracy).fold(0.0, f64::max))).0;
        let epochs = j.runs.first().map_or(0, |r| r.history.len());
        text.push_str(&format!(
            "{},{},{},{epochs},{},{:.6},{:.6},{:.6},{:.6},{best:.6},{:.6},{:.6}\n",
            j.method,
            j.searched,
            plain(j.value),
            j.runs.len(),
            train.0,
            train.1,
            test.0,
            test.1,
            margin.0,
            margin.1
        ));
        let chosen =
            if j.searched.is_empty() { String::new() } else { format!(" ({} {})", j.searched, plain(j.value)) };
        say(&format!("{:<44} test accuracy {}", format!("{}{chosen}", j.method), shown(test)));
    }
    m3svm::write_file(&out.join("results.csv"), |file| file.write_all(text.as_bytes()))?;
    figures(judged, data, classes, out)
}

fn figures(judged: &[Judged], data: &str, classes: &[String], out: &Path) -> Result<()> {
    let groups: Vec<Group<'_>> = judged
        .iter()
        .map(|j| Group { name: j.method.into(), runs: j.runs.iter().map(|r| (r.seed, &r.history[..])).collect() })
        .collect();
    write_curves(&groups, &out.join("curves.csv"))?;
    let figure = |part: &str, label: &str, file: &str, number: fn(&crate::training::Epoch) -> f64| {
        comparison_figure(&format!("{data}: {part}"), label, &groups, number, &out.join(file))
    };
    figure("accuracy on training images", "accuracy", "train-accuracy.svg", |e| e.train_accuracy)?;
    figure("accuracy on test images", "accuracy", "test-accuracy.svg", |e| e.test_accuracy)?;
    figure("smallest margin of the last layer", "margin", "min-margin.svg", |e| e.min_margin)?;
    margin_against_accuracy(judged, data, out)?;
    let picture = |when: &str, margins: &[Option<f64>], file: &str| {
        let margins: Vec<f64> = margins.iter().map(|m| m.unwrap_or(f64::INFINITY)).collect();
        margin_figure(&format!("{data}: margins {when}"), &margins, classes, None, &out.join(file))
    };
    for run in judged.iter().take(1).filter_map(|j| j.runs.first()) {
        // Weights of a seed begin alike, whatever the method.
        picture("before training", &run.first_margins, "margins-before.svg")?;
    }
    for j in judged.iter().filter(|j| ["softmax", "ism3"].contains(&j.method)) {
        let Some(run) = j.runs.first() else { continue };
        picture(&format!("after {}", j.method), &run.last_margins, &format!("margins-after-{}.svg", j.method))?;
    }
    Ok(())
}

/// Every training as a point.
fn margin_against_accuracy(judged: &[Judged], data: &str, out: &Path) -> Result<()> {
    let cloud = |j: &Judged| Cloud {
        name: j.method.into(),
        points: j.runs.iter().filter_map(|r| r.last().map(|e| (e.min_margin, e.test_accuracy))).collect(),
    };
    let chart = ScatterChart {
        title: format!("{data}: smallest margin and test accuracy"),
        x: Axis::new("smallest margin of the last layer"),
        y: Axis::new("test accuracy"),
        groups: judged.iter().map(cloud).collect(),
        ..ScatterChart::default()
    };
    Ok(chart.figure().save(&out.join("margin-and-accuracy.svg"))?)
}
