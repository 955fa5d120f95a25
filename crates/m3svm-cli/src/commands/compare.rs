//! `m3svm compare`.

use anyhow::bail;
use m3svm::select::{CLEAR, Compared, Comparison, Journal};
use m3svm::text::{p_value, seconds};
use m3svm::{Dataset, Method};
use m3svm_report::{Report, comparison_sections};
use serde_json::{Value, json};

use crate::args::CompareArgs;
use crate::commands::train::title;
use crate::files::{check_outputs, print_beside};
use crate::progress::SearchWatcher;
use crate::report::{self, digits, plural, tell, upper};
use crate::{print, table};

pub(crate) fn run(args: &CompareArgs) -> anyhow::Result<()> {
    check_outputs(&[("report", &args.report), ("journal", &args.resume)], &args.file, args.json)?;
    let (read, groups) = args.data.read_grouped(&args.file, &args.features, args.groups.as_deref())?;
    let title = title(&read);
    let data = read.into_dataset()?;
    let (methods, comparison) = args.comparison(data.classes().len())?;
    let journal = match &args.resume {
        Some(path) => Journal::open_comparison(path, &comparison, &data, groups.as_deref())?,
        None => Journal::none(),
    };
    if journal.fits() > 0 {
        tell("note", &format!("{} are taken from the journal", plural(journal.fits(), "fit")));
    }
    let watcher = SearchWatcher::start("comparing")?;
    let all = comparison.run(&data, groups.as_deref(), &journal, &|at| watcher.step(at));
    drop(watcher);
    let whole = methods.len();
    let found: Vec<(Method, Compared)> = methods.into_iter().zip(all?).collect();
    if let Some(path) = args.report.as_ref().filter(|_| found.len() == whole) {
        page(title.trim_end(), args, &data, &comparison, &found).write(path)?;
    }
    let text = match args.json {
        true => format!("{}\n", as_json(&found)),
        false => format!("{title}{}", summary(&comparison, &found)),
    };
    if found.len() == whole {
        return print_beside(&[&args.report], &text);
    }
    if !found.is_empty() {
        print(&text)?;
    }
    let done = format!("interrupted; {} of {} are compared", found.len(), plural(whole, "method"));
    match &args.resume {
        Some(path) => bail!("{done}, and the same command goes on from {}", report::file(path)),
        None => bail!("{done}"),
    }
}

/// The report: the settings in our words, then what the library of reports has to say.
fn page(
    title: &str,
    args: &CompareArgs,
    data: &Dataset<'_>,
    comparison: &Comparison,
    found: &[(Method, Compared)],
) -> Report {
    let spec = comparison.searches.first().map(|search| &search.spec);
    let mut facts = vec![
        ("classes", format!("{}: {}", data.classes().len(), report::names(data.classes(), 56))),
        ("methods", found.iter().map(|(method, _)| method.name()).collect::<Vec<_>>().join(", ")),
        ("folds", comparison.folds.to_string()),
        ("repeats", comparison.repeats.to_string()),
        ("inner folds", comparison.searches.first().map_or_else(String::new, |search| search.folds.to_string())),
        ("seed", comparison.seed.to_string()),
        ("scaling", spec.map_or("", |spec| spec.scaling.name()).into()),
    ];
    facts.extend(args.groups.as_ref().map(|groups| ("groups", groups.clone())));
    facts.extend(spec.and_then(|spec| report::class_weights(&spec.class_weight)).map(|w| ("class weights", w)));
    let report = Report::new(title).section("Settings").facts(&facts);
    let found: Vec<(&str, &Compared)> = found.iter().map(|(method, it)| (method.name(), it)).collect();
    comparison_sections(report, comparison, &found)
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
            it.usual.to_string(),
        ]);
    }
    let mut text = table::table(&rows, 1);
    let clear = order.iter().filter(|(_, it)| it.p_value.is_some_and(|p| p < CLEAR)).count();
    let (folds, repeats) = (comparison.folds, plural(comparison.repeats, "repeat"));
    let gap = found.iter().filter_map(|(_, it)| it.model.certificate().relative_gap()).fold(0.0, f64::max);
    text += &format!(
        "\n  Accuracy: mean ± standard deviation over {folds} folds and {repeats}, each method\n  \
         tuned on the training part only. p-value: corrected paired t-test against the\n  \
         best; {clear} of {} clearly behind it (below {CLEAR}).\n  \
         Fit, predict, margin: on all rows with the settings chosen most often;\n  \
         relative duality gaps at most {}.\n",
        plural(order.len().saturating_sub(1), "method"),
        upper(gap)
    );
    text
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
