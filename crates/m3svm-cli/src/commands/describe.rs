//! `m3svm describe`.

use std::collections::HashMap;
use std::path::Path;

use m3svm::{ColumnStatistics, Kind};
use m3svm_io::{LabelUse, Problem, ReadError, Table};
use serde_json::{Value, json};

use crate::args::DescribeArgs;
use crate::report::{self, digits, percent, plural};
use crate::{print, table};

/// Most columns that are listed.
const MOST_COLUMNS: usize = 200;
/// Most classes that are listed.
const MOST_CLASSES: usize = 30;
/// Most frequent texts that JSON names.
const FREQUENT: usize = 10;
/// A share of missing cells that is worth a word.
const MANY_MISSING: f64 = 0.5;

pub(crate) fn run(args: &DescribeArgs) -> anyhow::Result<()> {
    let (read, doubt) = read(args)?;
    let classes = classes(&read);
    let problems: Vec<String> = doubt.into_iter().chain(problems(&read, &classes)).collect();
    if args.json {
        return print(&format!("{}\n", as_json(&read, &classes, &problems)));
    }
    let label = match (&read.label_name, read.label_guessed) {
        (Some(name), true) => format!(", label {} (guessed, --label chooses another)", table::shown(name, 24)),
        (Some(name), false) => format!(", label {}", table::shown(name, 24)),
        (None, _) => ", no label".into(),
    };
    let (rows, features) = (plural(read.rows() + read.dropped, "row"), plural(read.x.cols(), "feature"));
    let mut text = format!("{}: {rows}{label}, {features} in all\n\n", report::file(&read.file));
    text += &columns(&read);
    if !classes.is_empty() {
        let mut rows = vec![["class", "rows", ""].map(String::from).to_vec()];
        for (name, count) in classes.iter().take(MOST_CLASSES) {
            let share = percent(*count as f64 / read.rows() as f64);
            rows.push(vec![table::shown(name, 30), count.to_string(), share]);
        }
        text += &format!("\n{}", table::table(&rows, 1));
        if classes.len() > MOST_CLASSES {
            text += &format!("  and {} more; --json has all\n", plural(classes.len() - MOST_CLASSES, "class"));
        }
    }
    for problem in &problems {
        text += &format!("\n  {problem}\n");
    }
    print(&text)
}

/// Reads the file as for training, or without a label if it is the label that is in doubt, and says why.
fn read(args: &DescribeArgs) -> anyhow::Result<(Table, Option<String>)> {
    let error = match args.data.read_to_describe(&args.file, &args.columns, LabelUse::Required) {
        Ok(read) => return Ok((read, None)),
        Err(error) => error,
    };
    let doubt = error.downcast_ref::<ReadError>().map(|e| &e.problem).filter(|problem| {
        matches!(
            problem,
            Problem::DoubtfulLabel { .. }
                | Problem::NoLabelColumn { .. }
                | Problem::NoLabels { .. }
                | Problem::NoFeatures
        )
    });
    match doubt.map(ToString::to_string) {
        // Standard input can be read once.
        Some(doubt) if args.file != Path::new("-") => {
            let read = args.data.read_to_describe(&args.file, &args.columns, LabelUse::Optional)?;
            Ok((read, Some(doubt)))
        }
        _ => Err(error),
    }
}

/// The classes with their rows, the largest first.
fn classes(read: &Table) -> Vec<(String, usize)> {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    read.labels.iter().flatten().for_each(|label| *counts.entry(label).or_default() += 1);
    let mut all: Vec<(String, usize)> = counts.into_iter().map(|(name, count)| (name.to_string(), count)).collect();
    all.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    all
}

/// One line per column.
fn columns(read: &Table) -> String {
    let Some(statistics) = &read.statistics else {
        return format!("  {} of numbers without gaps\n", plural(read.x.cols(), "column"));
    };
    let mut rows = vec![["column", "type", "missing", "different", "values"].map(String::from).to_vec()];
    for column in statistics.columns().iter().take(MOST_COLUMNS) {
        let mut values = values(column);
        if let Some(out) = read.left_out.iter().find(|out| out.column == column.name) {
            values = format!("left out: {}", out.reason);
        }
        let distinct = column.distinct().map_or_else(|| "> 1000".into(), |n| n.to_string());
        rows.push(vec![
            table::shown(&column.name, 24),
            kind(column).into(),
            column.missing.to_string(),
            distinct,
            values,
        ]);
    }
    let more = match statistics.columns().len().saturating_sub(MOST_COLUMNS) {
        0 => String::new(),
        more => format!("  and {} more; --json has all\n", plural(more, "column")),
    };
    table::table(&rows, 2) + &more
}

fn kind(column: &ColumnStatistics) -> &'static str {
    match column.kind {
        Kind::Number if column.whole() => "whole number",
        kind => kind.name(),
    }
}

/// The range of numbers, or the most frequent texts.
fn values(column: &ColumnStatistics) -> String {
    match column.range() {
        Some((min, max)) if column.kind == Kind::Time => {
            format!("{} to {} (days since 1970)", digits(min, 5), digits(max, 5))
        }
        Some((min, max)) => format!("{} to {}", digits(min, 4), digits(max, 4)),
        None => {
            let texts: Vec<String> = column.frequent(4).into_iter().map(|(text, _)| text.to_string()).collect();
            report::names(&texts, 32)
        }
    }
}

/// What may be wrong, all at once.
fn problems(read: &Table, classes: &[(String, usize)]) -> Vec<String> {
    let mut all = Vec::new();
    if let Some(statistics) = &read.statistics {
        for column in statistics.columns() {
            let cells = column.present + column.missing;
            if column.present > 0 && column.missing as f64 > MANY_MISSING * cells as f64 {
                let share = percent(column.missing as f64 / cells as f64);
                all.push(format!("{}: {share} of the cells are missing", table::shown(&column.name, 40)));
            }
        }
    }
    let rows: usize = classes.iter().map(|(_, count)| count).sum();
    match classes {
        // Why is said already.
        [] => {}
        [(only, _)] => all.push(format!("all rows are of class {}: training needs two", table::shown(only, 40))),
        _ if rows >= 20 && 10 * classes.len() > rows => {
            all.push(format!("{} classes in {rows} rows: is this the label?", classes.len()));
        }
        _ => {}
    }
    let single = classes.iter().filter(|(_, count)| *count == 1).count();
    if single > 0 && classes.len() > 1 {
        let which = if single == 1 { "1 class has".into() } else { format!("{single} classes have") };
        all.push(format!("{which} one row only: it cannot be both trained on and tested"));
    }
    if let [(largest, most), .., (smallest, least)] = classes
        && *most > 20 * least
    {
        let names = (table::shown(largest, 30), table::shown(smallest, 30));
        all.push(format!(
            "{} has {most} rows and {} has {least}: --class-weight balanced makes them count alike",
            names.0, names.1
        ));
    }
    all
}

fn as_json(read: &Table, classes: &[(String, usize)], problems: &[String]) -> Value {
    let column = |column: &ColumnStatistics| {
        let left_out = read.left_out.iter().find(|out| out.column == column.name).map(|out| out.reason.to_string());
        let frequent = column.frequent(FREQUENT).into_iter().map(|(text, rows)| json!({"value": text, "rows": rows}));
        json!({
            "name": column.name,
            "type": kind(column),
            "missing": column.missing,
            "distinct": column.distinct(),
            "min": column.range().map(|r| r.0),
            "max": column.range().map(|r| r.1),
            "frequent": frequent.collect::<Vec<_>>(),
            "left_out": left_out,
        })
    };
    json!({
        "file": read.file,
        "format": read.format.to_string(),
        "rows": read.rows() + read.dropped,
        "features": read.x.cols(),
        "label": read.label_name,
        "label_guessed": read.label_guessed,
        "columns": read.statistics.as_ref().map(|s| s.columns().iter().map(column).collect::<Vec<_>>()),
        "classes": classes.iter().map(|(name, rows)| json!({"name": name, "rows": rows})).collect::<Vec<_>>(),
        "problems": problems,
    })
}
