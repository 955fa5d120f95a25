//! `m3svm compare`.

use anyhow::bail;
use m3svm::metrics::Criterion;
use m3svm::select::{CLEAR, Compared, Comparison, Journal, folds};
use m3svm::text::{p_value, seconds};
use m3svm::{Dataset, Method, Model};
use m3svm_report::{Report, comparison_sections};
use serde_json::{Value, json};

use crate::args::CompareArgs;
use crate::commands::held_out;
use crate::commands::train::{many_classes, title};
use crate::files::{all_written, check_outputs, print_beside};
use crate::progress::SearchWatcher;
use crate::report::{self, digits, plural, tell, upper};
use crate::{print, table};

pub(crate) fn run(args: &CompareArgs) -> anyhow::Result<()> {
    let outputs =
        [("model", args.output.as_deref()), ("report", args.report.as_deref()), ("journal", args.resume.as_deref())];
    check_outputs(&outputs, &[&args.file], args.json)?;
    let (read, groups) = args.data.read_grouped(&args.file, &args.columns, args.groups.as_deref())?;
    let title = title(&read);
    let (guessed, name) = (read.label_guessed, read.label_name.clone());
    let data = read.into_dataset()?;
    many_classes(data.rows(), data.classes().len(), name.as_deref(), guessed);
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
    let all_done = found.len() == whole;
    all_written([
        args.report
            .as_ref()
            .filter(|_| all_done)
            .map_or(Ok(()), |path| Ok(page(title.trim_end(), args, &data, &comparison, &found).write_or_keep(path)?)),
        args.output
            .as_ref()
            .filter(|_| all_done)
            .map_or(Ok(()), |path| Ok(winner(&comparison, &data, groups.as_deref(), &found)?.save_or_keep(path)?)),
    ])?;
    let by = comparison.searches.first().map(|search| search.criterion).unwrap_or_default();
    let text = match args.json {
        true => format!("{}\n", as_json(by, &found)),
        false => format!("{title}{}", summary(by, &comparison, &found)),
    };
    if all_done {
        let next = match (&args.output, best(&found), args.json) {
            (Some(path), Some((method, it)), false) => format!(
                "\n  The model of {1} ({2}) is in {0}. Next:\n    m3svm predict {0} new.csv -o classes.csv\n",
                report::file(path),
                method.name(),
                it.usual
            ),
            _ => String::new(),
        };
        return print_beside(&[&args.report, &args.output], &(text + &next));
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

/// The method with the best mean.
fn best(found: &[(Method, Compared)]) -> Option<&(Method, Compared)> {
    found.iter().reduce(|a, b| if b.1.mean > a.1.mean { b } else { a })
}

/// Its model, with probabilities.
fn winner(
    comparison: &Comparison,
    data: &Dataset<'_>,
    groups: Option<&[u32]>,
    found: &[(Method, Compared)],
) -> anyhow::Result<Model> {
    let Some((_, it)) = best(found) else { bail!("no method was compared") };
    let model = it.model.clone();
    if model.has_probabilities() {
        return Ok(model);
    }
    let splits = folds(data.y(), groups, comparison.folds, comparison.seed, 0)?;
    let held = held_out::hold_out(model.spec(), data, groups, &splits)?;
    Ok(held_out::with_probabilities(model, held.as_ref())?)
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
    let report = Report::new(title).made_by(&report::made_by()).section("Settings").facts(&facts);
    let found: Vec<(&str, &Compared)> = found.iter().map(|(method, it)| (method.name(), it)).collect();
    comparison_sections(report, comparison, &found)
}

fn summary(by: Criterion, comparison: &Comparison, found: &[(Method, Compared)]) -> String {
    let title = if by.is_share() { format!("{} %", by.title()) } else { by.title().into() };
    let header = ["method", title.as_str(), "p-value", "fit", "predict", "min margin", "settings"];
    let mut rows: Vec<Vec<String>> = vec![header.map(String::from).to_vec()];
    let mut order: Vec<&(Method, Compared)> = found.iter().collect();
    order.sort_by(|a, b| b.1.mean.total_cmp(&a.1.mean));
    for (method, it) in &order {
        rows.push(vec![
            method.name().into(),
            by.spread(it.mean, it.sd).replace(" %", ""),
            it.p_value.map_or("best".into(), p_value),
            it.model.training().seconds.map_or_else(String::new, seconds),
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
        "\n  {}: mean ± standard deviation over {folds} folds and {repeats}, each method\n  \
         tuned on the training part only. p-value: corrected paired t-test against the\n  \
         best; {clear} of {} clearly behind it (below {CLEAR}).\n  \
         Fit, predict, margin: on all rows with the settings chosen most often;\n  \
         relative duality gaps at most {}.\n",
        capitalised(by.title()),
        plural(order.len().saturating_sub(1), "method"),
        upper(gap)
    );
    text
}

fn capitalised(title: &str) -> String {
    let mut signs = title.chars();
    signs.next().map(|first| first.to_uppercase().chain(signs).collect()).unwrap_or_default()
}

fn as_json(by: Criterion, found: &[(Method, Compared)]) -> Value {
    let methods: Vec<Value> = found.iter().map(|(method, it)| one_as_json(*method, it)).collect();
    json!({ "metric": by.name(), "methods": methods })
}

fn one_as_json(method: Method, it: &Compared) -> Value {
    json!({
        "method": method.name(),
        "mean": it.mean,
        "sd": it.sd,
        "scores": it.scores,
        "fit_seconds": it.model.training().seconds,
        "predict_seconds": it.predict_seconds,
        "relative_gap": it.model.certificate().relative_gap(),
        "min_margin": it.model.min_margin().0,
        "settings": it.usual,
        "settings_by_fold": it.settings,
        "p_value": it.p_value,
    })
}
