//! `m3svm compare`.

use m3svm::Method;
use m3svm::select::{Compared, Comparison, Journal, Setting};
use m3svm::text::plain;
use serde_json::{Value, json};

use crate::args::CompareArgs;
use crate::files::check_output;
use crate::progress::SearchWatcher;
use crate::report::{self, digits, plural, tell, upper};
use crate::{print, table};

/// Differences with a p-value below this are called clear.
const LEVEL: f64 = 0.05;

pub(crate) fn run(args: &CompareArgs) -> anyhow::Result<()> {
    if let Some(journal) = &args.resume {
        check_output(journal, &[&args.file])?;
    }
    let read = args.data.read(&args.file, &args.features)?;
    let file = report::file(&read.file);
    let data = read.into_dataset()?;
    let (methods, comparison) = args.comparison(data.classes().len())?;
    let journal = match &args.resume {
        Some(path) => Journal::open_comparison(path, &comparison, &data, None)?,
        None => Journal::none(),
    };
    if journal.fits() > 0 {
        tell("note", &format!("{} taken from the journal", plural(journal.fits(), "fit")));
    }
    let watcher = SearchWatcher::start("comparing")?;
    let all = comparison.run(&data, None, &journal, &|at| watcher.step(at));
    drop(watcher);
    let all = all?;
    if all.len() < methods.len() {
        let kept = if args.resume.is_some() { "; the same command goes on from here" } else { "" };
        tell("note", &format!("interrupted; {} of {} are compared{kept}", all.len(), plural(methods.len(), "method")));
    }
    let found: Vec<(Method, Compared)> = methods.into_iter().zip(all).collect();
    if args.json {
        return print(&format!("{}\n", as_json(&found)));
    }
    let (rows, classes) = (plural(data.rows(), "row"), plural(data.classes().len(), "class"));
    let title = format!("{file}: {rows}, {}, {classes}\n", plural(data.x().cols(), "feature"));
    print(&format!("{title}{}", summary(&comparison, &found)))
}

fn summary(comparison: &Comparison, found: &[(Method, Compared)]) -> String {
    let header = ["method", "accuracy %", "p-value", "fit", "predict", "min margin", "settings"];
    let mut rows: Vec<Vec<String>> = vec![header.map(String::from).to_vec()];
    let mut order: Vec<&(Method, Compared)> = found.iter().collect();
    order.sort_by(|a, b| b.1.mean.total_cmp(&a.1.mean));
    for (method, it) in &order {
        rows.push(vec![
            method.name().into(),
            format!("{:.2} ± {:.2}", 100.0 * it.mean, 100.0 * it.sd),
            it.p_value.map_or("best".into(), p_value),
            seconds(it.model.training().seconds),
            seconds(it.predict_seconds),
            digits(it.model.min_margin().0, 3),
            settings(&it.usual),
        ]);
    }
    let mut text = table::table(&rows, 1);
    let clear = order.iter().filter(|(_, it)| it.p_value.is_some_and(|p| p < LEVEL)).count();
    let (folds, repeats) = (comparison.folds, plural(comparison.repeats, "repeat"));
    let gap = found.iter().filter_map(|(_, it)| it.model.certificate().relative_gap()).fold(0.0, f64::max);
    text += &format!(
        "\n  Accuracy: mean ± standard deviation over {folds} folds and {repeats}, each method\n  \
         tuned on the training part only. p-value: corrected paired t-test against the\n  \
         best; {clear} of {} clearly behind it (below {LEVEL}). Fit, predict, margin: on all\n  \
         rows with the settings chosen most often; relative duality gaps at most {}.\n",
        plural(order.len().saturating_sub(1), "method"),
        upper(gap)
    );
    text
}

/// A p-value with two digits.
fn p_value(p: f64) -> String {
    if p < 0.001 { "<0.001".into() } else { format!("{p:.3}") }
}

/// A time for people.
fn seconds(value: f64) -> String {
    if value < 1.0 { format!("{} ms", digits(1e3 * value, 2)) } else { format!("{} s", digits(value, 3)) }
}

fn settings(setting: &Setting) -> String {
    let parts = [("λ", setting.lambda), ("p", setting.p)];
    let parts: Vec<String> = parts.iter().filter_map(|(name, v)| v.map(|v| format!("{name} {}", plain(v)))).collect();
    parts.join(", ")
}

fn as_json(found: &[(Method, Compared)]) -> Value {
    let methods: Vec<Value> = found.iter().map(|(method, it)| one_as_json(*method, it)).collect();
    json!({ "methods": methods })
}

fn one_as_json(method: Method, it: &Compared) -> Value {
    json!({
        "method": method.name(),
        "accuracy_mean": it.mean,
        "accuracy_sd": it.sd,
        "accuracies": it.accuracies,
        "fit_seconds": it.model.training().seconds,
        "predict_seconds": it.predict_seconds,
        "relative_gap": it.model.certificate().relative_gap(),
        "min_margin": it.model.min_margin().0,
        "settings": it.usual,
        "settings_by_fold": it.settings,
        "p_value": it.p_value,
    })
}
