//! `m3svm inspect`.

use m3svm::Model;
use serde_json::{Value, json};

use crate::args::InspectArgs;
use crate::report::{self, digits, names, plural};
use crate::{print, table};

/// Up to so many classes all margins are shown, else the smallest ones.
const MOST_CLASSES: usize = 12;
/// Up to so many classes JSON has all margins, else the smallest ones: of ten thousand classes they would be a gigabyte of text.
const MOST_MARGINS: usize = 1000;
/// Classes whose weights are listed.
const MOST_LISTED: usize = 200;
/// Smallest margins that are listed.
const PAIRS: usize = 20;
/// Weights below this share of the largest one of the class are not worth a word.
const NEGLIGIBLE: f64 = 1e-3;
/// Largest weights of a class that are listed.
const WEIGHTS: usize = 5;
/// Signs of the longest bar.
const BAR: f64 = 30.0;

pub(crate) fn run(args: &InspectArgs) -> anyhow::Result<()> {
    let model = Model::load(&args.model)?;
    let top = args.top()?;
    if args.json {
        return print(&format!("{}\n", as_json(&model, top.unwrap_or(WEIGHTS))));
    }
    let title = report::file(&args.model);
    let weights = match top.filter(|_| model.expansion().is_none()) {
        Some(top) => largest_weights(&model, top),
        None => weights(&model),
    };
    print(&format!("{title}\n{}{}{weights}", facts(&model), margins(&model)))
}

/// The largest weights of every class, one per line, with bars beside them.
fn largest_weights(model: &Model, top: usize) -> String {
    let mut text = format!("\nLargest weights per class (of {}, scaled)\n", plural(model.features(), "feature"));
    for (k, class) in model.classes().iter().enumerate().take(MOST_LISTED) {
        let all: Vec<(usize, f64)> = model.largest_weights(k, top).into_iter().filter(|(_, w)| *w != 0.0).collect();
        let largest = all.first().map_or(1.0, |(_, w)| w.abs());
        text += &format!("\n  {}\n", table::shown(class, 70));
        let line = |(j, weight): (usize, f64)| {
            let sign = if weight < 0.0 { '-' } else { '+' };
            let bar = "#".repeat((BAR * weight.abs() / largest).round() as usize);
            vec![feature(model, j), format!("{sign}{}", digits(weight.abs(), 3)), bar]
        };
        let lines: Vec<Vec<String>> = all.into_iter().map(line).collect();
        let widest = lines.iter().map(|line| line[1].len()).max().unwrap_or(0);
        let lines: Vec<Vec<String>> = lines
            .into_iter()
            .map(|line| vec![line[0].clone(), format!("{:>widest$}", line[1]), line[2].clone()])
            .collect();
        text += &table::table(&lines, 3);
    }
    match model.classes().len().saturating_sub(MOST_LISTED) {
        0 => text,
        more => text + &format!("\n  and {} more; --json has all\n", plural(more, "class")),
    }
}

fn facts(model: &Model) -> String {
    let classes = model.classes();
    let mut lines = vec![
        ("classes", format!("{}: {}", classes.len(), names(classes, 56))),
        (
            "features",
            match model.feature_names() {
                Some(all) => format!("{}: {}", all.len(), names(all, 56)),
                None => model.features().to_string(),
            },
        ),
    ];
    lines.extend(report::settings(model));
    lines.extend(report::outcome(model));
    lines.push(("ended because", model.training().stop.name().into()));
    table::list(&lines)
}

fn margins(model: &Model) -> String {
    let classes = model.classes();
    if classes.len() <= MOST_CLASSES {
        let all = model.margins();
        let cell = |k: usize, l: usize| match k == l {
            true => "·".into(),
            false => digits(all[k * classes.len() + l], 4),
        };
        return format!("\nMargins between classes\n{}", table::matrix(classes, cell));
    }
    let mut rows = vec![["class", "class", "margin"].map(String::from).to_vec()];
    for (margin, k, l) in model.smallest_margins(PAIRS) {
        let name = |k: usize| table::shown(&classes[k], 24);
        rows.push(vec![name(k), name(l), digits(margin, 4)]);
    }
    let pairs = classes.len() * (classes.len() - 1) / 2;
    format!("\nSmallest of the {pairs} margins between classes\n{}", table::table(&rows, 2))
}

fn weights(model: &Model) -> String {
    if let Some(expansion) = model.expansion() {
        let counts = expansion.class_counts(model.classes().len());
        let listed = model.classes().iter().zip(&counts).take(MOST_LISTED);
        let shown: Vec<(String, String)> = listed.map(|(c, n)| (table::shown(c, 20), n.to_string())).collect();
        let lines: Vec<(&str, String)> = shown.iter().map(|(class, n)| (class.as_str(), n.clone())).collect();
        return format!("\nTraining rows that the scores are made of, per class\n{}", table::list(&lines));
    }
    let listed = model.classes().iter().take(MOST_LISTED);
    let class_names: Vec<String> = listed.map(|c| table::shown(c, 20)).collect();
    let room = table::room_beside(&class_names);
    let mut lines = Vec::new();
    for (k, class) in class_names.iter().enumerate() {
        let mut line = String::new();
        let largest = model.largest_weights(k, WEIGHTS);
        let bound = largest.first().map_or(0.0, |(_, w)| NEGLIGIBLE * w.abs());
        for (j, weight) in largest.into_iter().filter(|(_, w)| w.abs() > bound) {
            let comma = if line.is_empty() { "" } else { ", " };
            let sign = if weight < 0.0 { '-' } else { '+' };
            let part = format!("{comma}{} {sign}{}", feature(model, j), digits(weight.abs(), 3));
            if table::width(&line) + table::width(&part) > room {
                break;
            }
            line += &part;
        }
        lines.push((class.as_str(), line));
    }
    let features = plural(model.features(), "feature");
    let more = match model.classes().len() - lines.len() {
        0 => String::new(),
        more => format!("  and {} more; --json has all\n", plural(more, "class")),
    };
    format!("\nLargest weights per class (of {features}, scaled)\n{}{more}", table::list(&lines))
}

fn feature(model: &Model, j: usize) -> String {
    match model.feature_names() {
        Some(names) => table::shown(&names[j], 24),
        None => format!("feature {j}"),
    }
}

fn as_json(model: &Model, top: usize) -> Value {
    let classes = model.classes();
    let c = classes.len();
    let square = |value: &dyn Fn(usize) -> Value| -> Value {
        (0..c).map(|k| (0..c).map(|l| value(k * c + l)).collect::<Value>()).collect()
    };
    let (margin, k, l) = model.min_margin();
    let all = (c <= MOST_MARGINS).then(|| model.margins());
    let pair = |(margin, k, l): (f64, usize, usize)| json!({"margin": margin, "classes": [classes[k], classes[l]]});
    let largest = |k: usize| -> Value {
        let all = model.largest_weights(k, top).into_iter();
        all.map(|(j, weight)| json!({"feature": j, "name": model.feature_names().map(|n| &n[j]), "weight": weight}))
            .collect()
    };
    json!({
        "method": report::method(model.spec()),
        "spec": model.spec(),
        "classes": c,
        "class_names": classes,
        "features": model.features(),
        "feature_names": model.feature_names(),
        "certificate": {
            "objective": model.certificate().objective,
            "lower_bound": model.certificate().lower_bound,
            "relative_gap": model.certificate().relative_gap(),
        },
        "training": model.training(),
        "train_accuracy": model.train_accuracy(),
        "min_margin": margin,
        "min_margin_classes": [classes[k], classes[l]],
        "margins": all.map(|margins| square(&|i| json!(margins[i]))),
        "smallest_margins": model.smallest_margins(PAIRS).into_iter().map(pair).collect::<Value>(),
        "kernel": report::kernel(model),
        "support_vectors": model.support_rows(),
        "support_counts": model.support_counts().filter(|_| c <= MOST_MARGINS).map(|s| square(&|i| json!(s[i]))),
        "largest_weights": (0..c).map(|k| json!({"class": classes[k], "weights": largest(k)})).collect::<Value>(),
    })
}
