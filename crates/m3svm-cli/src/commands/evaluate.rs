//! `m3svm evaluate`.

use std::path::{Path, PathBuf};

use anyhow::Context;
use m3svm::Model;
use m3svm::memory::Meter;
use m3svm::metrics::{Judged, Metrics, Quality, Scores, top_k_accuracy};
use m3svm_io::{LabelUse, Table};
use m3svm_report::{Report, quality_sections};
use serde_json::json;

use crate::args::EvaluateArgs;
use crate::files::{all_files, called, check_outputs, print_beside};
use crate::report::{self, count, percent, plural};
use crate::{print, quality, table};

/// Beyond this many classes a confusion matrix is a wall of numbers; the most confused pairs say more.
const MOST_CLASSES: usize = 30;
/// Mistakes that are listed.
const PAIRS: usize = 10;

pub(crate) fn run(args: &EvaluateArgs) -> anyhow::Result<()> {
    let files = all_files(&args.file)?;
    let inputs: Vec<&Path> = files.iter().chain([&args.model]).map(PathBuf::as_path).collect();
    check_outputs(&[("report", args.report.as_deref())], &inputs, args.json)?;
    let model = Model::load(&args.model)?;
    let (classes, k) = (model.classes().len(), args.top_k(&model)?);
    // Of rows that pass by, only what measures need of each is kept.
    let (mut truth, mut weights): (Vec<u32>, Option<Vec<f64>>) = Default::default();
    let (mut scores, mut probabilities): (Vec<f64>, Option<Vec<f64>>) = Default::default();
    let mut meter = Meter::new("the scores of all rows");
    let mut take = |read: Table| -> anyhow::Result<()> {
        let file = || report::file(&read.file);
        let own = model.scores(&read.x).with_context(file)?;
        meter.add(16 * own.len() as u64)?;
        if let Some(more) = model.probabilities(&read.x).with_context(file)? {
            probabilities.get_or_insert_default().extend(more);
        }
        scores.extend(own);
        if let Some(more) = &read.weights {
            weights.get_or_insert_default().extend(more);
        }
        truth.extend(read.class_numbers(&model)?);
        Ok(())
    };
    match files.as_slice() {
        [file] => match args.data.read_for(file, &model, LabelUse::Required, &[]) {
            // What comes from a pipe is gone.
            Err(error) if crate::is_over_budget(&error) && file.is_file() => {
                args.data.read_parts_for(&files, &model, LabelUse::Required, &[], &mut take)?;
            }
            read => take(read?)?,
        },
        _ => args.data.read_parts_for(&files, &model, LabelUse::Required, &[], &mut take)?,
    }
    let (probabilities, weights) = (probabilities.as_deref(), weights.as_deref());
    let judged = Judged { scores: &scores, probabilities, truth: &truth, weights, groups: None, classes };
    let found = Quality::new(&judged)?;
    let top = match k {
        Some(k) => Some((k, top_k_accuracy(&scores, &truth, weights, classes, k)?)),
        None => None,
    };
    let title = format!("{}: {}", called(&args.file), plural(found.metrics.rows, "row"));
    if let Some(path) = &args.report {
        page(&title, args, &model, &found, top).write_or_keep(path)?;
    }
    if args.json {
        return print(&format!("{}\n", as_json(&model, &found, top)));
    }
    print_beside(&[&args.report], &text(&title, model.classes(), &found, top))
}

fn page(title: &str, args: &EvaluateArgs, model: &Model, found: &Quality, top: Option<(usize, f64)>) -> Report {
    let report = Report::new(title).made_by(&report::made_by());
    let report = report.section("Measures").facts(&quality::measures(found, top));
    let report = quality_sections(report, model.classes(), &found.metrics, &format!("rows of {}", called(&args.file)));
    report.section("Model").facts(&[("file", report::file(&args.model))]).facts(&report::settings(model))
}

/// The whole outcome.
fn text(title: &str, classes: &[String], found: &Quality, top: Option<(usize, f64)>) -> String {
    let (metrics, measures) = (&found.metrics, quality::measures(found, top));
    let lines: Vec<(&str, String)> = measures.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
    let mut text = format!("{title}\n{}\n", table::list(&lines));
    let header = ["class", "precision", "recall", "F1", "rows"].map(String::from).to_vec();
    let mut rows = vec![header];
    for (name, scores) in classes.iter().zip(&metrics.per_class) {
        rows.push(line(name, scores));
    }
    rows.push(line("macro average", &metrics.macro_average));
    rows.push(line("weighted average", &metrics.weighted_average));
    text += &table::table(&rows, 1);
    text += &confusion(classes, metrics);
    text + &mistakes(classes, metrics)
}

fn line(name: &str, scores: &Scores) -> Vec<String> {
    let share = |v: f64| format!("{v:.4}");
    let Scores { precision, recall, f1, support } = *scores;
    vec![table::shown(name, 30), share(precision), share(recall), share(f1), count(support)]
}

/// The confusion matrix.
pub(crate) fn confusion(classes: &[String], metrics: &Metrics) -> String {
    if classes.len() > MOST_CLASSES {
        let c = classes.len();
        return format!("\nThe confusion matrix of {c} classes is in the output of --json.\n");
    }
    let cell = |k: usize, l: usize| match metrics.confusion[k][l] {
        0.0 => "·".into(),
        rows => count(rows),
    };
    let matrix = table::matrix(classes, cell);
    format!("\nConfusion matrix (lines: true class, columns: predicted class)\n{matrix}")
}

fn mistakes(classes: &[String], metrics: &Metrics) -> String {
    let worst = metrics.most_confused(PAIRS);
    if worst.is_empty() {
        return "\nNo mistakes.\n".into();
    }
    let header = ["true", "predicted", "rows", "of the class"].map(String::from).to_vec();
    let lines = worst.iter().map(|pair| {
        let name = |k: usize| table::shown(&classes[k], 24);
        vec![name(pair.truth), name(pair.predicted), count(pair.count), percent(pair.share)]
    });
    let rows: Vec<Vec<String>> = std::iter::once(header).chain(lines).collect();
    format!("\nMost confused\n{}", table::table(&rows, 2))
}

fn as_json(model: &Model, found: &Quality, top: Option<(usize, f64)>) -> serde_json::Value {
    let (classes, metrics) = (model.classes(), &found.metrics);
    let per_class = classes.iter().zip(&metrics.per_class).zip(&found.areas.per_class).map(|((name, s), auc)| {
        json!({
            "class": name, "precision": s.precision, "recall": s.recall, "f1": s.f1, "support": s.support, "auc": auc,
        })
    });
    let confused = metrics.most_confused(PAIRS).into_iter().map(|pair| {
        let (truth, predicted) = (&classes[pair.truth], &classes[pair.predicted]);
        json!({"true": truth, "predicted": predicted, "count": pair.count, "share": pair.share})
    });
    let mut all = quality::as_json(found);
    let more = json!({
        "top_k": top.map(|(k, _)| k),
        "top_k_accuracy": top.map(|(_, accuracy)| accuracy),
        "macro_average": metrics.macro_average,
        "weighted_average": metrics.weighted_average,
        "per_class": per_class.collect::<Vec<_>>(),
        "class_names": classes,
        "confusion": metrics.confusion,
        "most_confused": confused.collect::<Vec<_>>(),
    });
    if let (Some(all), serde_json::Value::Object(more)) = (all.as_object_mut(), more) {
        all.extend(more);
    }
    all
}
