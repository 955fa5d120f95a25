//! `m3svm evaluate`.

use m3svm::Model;
use m3svm::metrics::{Metrics, Scores, top_k_accuracy};
use m3svm_io::LabelUse;
use serde_json::json;

use crate::args::EvaluateArgs;
use crate::report::{self, count, percent, plural};
use crate::{print, table};

/// Beyond this many classes a confusion matrix is a wall of numbers; the most confused pairs say more.
const MOST_CLASSES: usize = 30;
/// Mistakes that are listed.
const PAIRS: usize = 10;

pub(crate) fn run(args: &EvaluateArgs) -> anyhow::Result<()> {
    let model = Model::load(&args.model)?;
    let read = args.data.read_for(&args.file, &model, LabelUse::Required)?;
    let truth = read.class_numbers(&model)?;
    let predicted = model.predict(&read.x)?;
    let (classes, weights) = (model.classes().len(), read.weights.as_deref());
    let metrics = Metrics::new(&truth, &predicted, weights, classes)?;
    let top = match args.top_k(&model)? {
        Some(k) => Some((k, top_k_accuracy(&model.scores(&read.x)?, &truth, weights, classes, k)?)),
        None => None,
    };
    if args.json {
        return print(&format!("{}\n", as_json(&model, &metrics, top)));
    }
    let mut title = format!("{}: {}", report::file(&read.file), plural(metrics.rows, "row"));
    if let Some((k, accuracy)) = top {
        title += &format!(", among the best {k} {}", percent(accuracy));
    }
    print(&text(&title, model.classes(), &metrics))
}

/// The whole report; also used by the demo.
pub(crate) fn text(title: &str, classes: &[String], metrics: &Metrics) -> String {
    let mut text = format!("{title}, accuracy {}\n\n", percent(metrics.accuracy));
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

fn as_json(model: &Model, metrics: &Metrics, top: Option<(usize, f64)>) -> serde_json::Value {
    let classes = model.classes();
    let per_class = classes.iter().zip(&metrics.per_class).map(|(name, s)| {
        json!({"class": name, "precision": s.precision, "recall": s.recall, "f1": s.f1, "support": s.support})
    });
    let confused = metrics.most_confused(PAIRS).into_iter().map(|pair| {
        let (truth, predicted) = (&classes[pair.truth], &classes[pair.predicted]);
        json!({"true": truth, "predicted": predicted, "count": pair.count, "share": pair.share})
    });
    json!({
        "rows": metrics.rows,
        "accuracy": metrics.accuracy,
        "top_k": top.map(|(k, _)| k),
        "top_k_accuracy": top.map(|(_, accuracy)| accuracy),
        "macro_average": metrics.macro_average,
        "weighted_average": metrics.weighted_average,
        "per_class": per_class.collect::<Vec<_>>(),
        "class_names": classes,
        "confusion": metrics.confusion,
        "most_confused": confused.collect::<Vec<_>>(),
    })
}
