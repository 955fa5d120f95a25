//! Table 1 as numbers, as text, and what it says about the paper's claim.

use m3svm::Method;
use m3svm::text::{plain, plural};
use serde::Serialize;
use serde_json::{Value, json};

use crate::error::Result;
use crate::fair::{Fair, Judged, settings_text};
use crate::output::{Output, mean_sd};
use crate::ranks::{self, Contest};
use crate::script::EPOCHS;
use crate::sets::COLUMNS;
use crate::table1::Row;
use crate::verdict::Verdict;

pub(crate) fn write(output: &Output, rows: &[Row]) -> Result<()> {
    output.csv("table1", rows.iter().flat_map(records))?;
    output.text("table1.md", &text(rows))?;
    output.settings("table1", settings(rows))
}

/// A line of the CSV file.
#[derive(Serialize)]
struct Record {
    set: &'static str,
    rows: usize,
    features: usize,
    classes: usize,
    method: String,
    protocol: &'static str,
    mean: f64,
    sd: Option<f64>,
    repeats: Option<usize>,
    folds: Option<usize>,
    /// Of the difference to `m3svm`.
    p_value: Option<f64>,
    settings: String,
    relative_gap: Option<f64>,
}

fn records(row: &Row) -> Vec<Record> {
    let base = |method: &str, protocol, mean, sd| Record {
        set: row.paper.set.name,
        rows: row.rows,
        features: row.features,
        classes: row.classes,
        method: method.into(),
        protocol,
        mean,
        sd,
        repeats: None,
        folds: None,
        p_value: None,
        settings: String::new(),
        relative_gap: None,
    };
    let printed = COLUMNS.iter().zip(row.paper.printed);
    let mut all: Vec<Record> =
        printed.map(|((_, method), (mean, sd))| base(method.name(), "printed in the paper", mean, Some(sd))).collect();
    if let Some(scripted) = &row.scripted {
        let (mean, sd) = mean_sd(&scripted.accuracies);
        let repeats = Some(scripted.accuracies.len());
        all.push(base("script", "paper, authors' split", scripted.accuracies[0], None));
        all.push(Record { repeats, ..base("script", "paper, all splits", mean, Some(sd)) });
        let (mean, sd) = mean_sd(&scripted.peaks);
        all.push(Record { repeats, ..base("script", "paper, best epoch by test rows", mean, Some(sd)) });
    }
    if let Some(fair) = &row.fair {
        let own = fair.of(Method::M3svm.name());
        all.extend(fair.judged.iter().map(|it| Record {
            repeats: Some(fair.repeats),
            folds: Some(fair.folds),
            p_value: own.filter(|own| own.name != it.name).and_then(|own| fair.p_value(own, it)),
            settings: settings_text(&it.usual),
            relative_gap: it.relative_gap,
            ..base(&it.name, "fair", it.mean, Some(it.sd))
        }));
    }
    all
}

fn settings(rows: &[Row]) -> Value {
    let each = rows.iter().map(|row| {
        let fair =
            row.fair.as_ref().map(|fair| json!({"repeats": fair.repeats, "folds": fair.folds, "inner_folds": 3}));
        let script =
            row.scripted.as_ref().map(|it| json!({"script": row.paper.script, "seeds": it.seeds, "epochs": EPOCHS}));
        json!({"set": row.paper.set.name, "file": row.paper.set.file, "fair": fair, "paper": script})
    });
    each.collect()
}

fn text(rows: &[Row]) -> String {
    let mut text = String::from(INTRODUCTION);
    text += &own_table(rows);
    if rows.iter().any(|row| row.fair.is_some()) {
        text += &method_table(rows);
        let contests = ranks::contests(rows);
        text += &ranks::text(rows, &contests);
        text += &claims(rows, &contests);
    }
    let caveats = rows.iter().filter_map(|row| row.paper.caveat.map(|text| (row.paper.set.name, text)));
    let caveats: String = caveats.map(|(name, text)| format!("- **{name}**: {text}\n")).collect();
    if !caveats.is_empty() {
        text += &format!("\n## What to know about the data\n\n{caveats}");
    }
    text
}

const INTRODUCTION: &str = "\
# Table 1 of the paper, run again

Accuracies on test rows, mean ± standard deviation. Three ways to come by them:

- **printed**: the number in the paper.
- **script**: what the authors' public script does: softmax loss (not the hinge of the paper), ordered pairs, features scaled by all rows
  including the test rows where the script scales, one 80/20 split, 500 epochs of Adam with its settings. *Their split* is that of the
  script; the other splits show how much depends on it.
- **fair**: the paper's text with the same care for every method: scaling and hyper-parameters are learnt from the training rows of each outer
  fold alone, by inner folds. What a file had learnt from all of its rows before we got it is named at the end. Fits on inner folds stop at three
  digits, judged ones at a relative gap of 1e-6 or 1e-8; the fit on all rows has a certificate.

";

/// The paper's method alone: printed, script, fair.
fn own_table(rows: &[Row]) -> String {
    let mut text = String::from("## M³SVM\n\n");
    text += "| Data | rows × features, classes | printed | script, their split | script, all splits | fair M³SVM | fair ISM3 |\n";
    text += "|---|---|---|---|---|---|---|\n";
    for row in rows {
        let (printed, spread) = row.paper.printed[COLUMNS.len() - 1];
        let (theirs, all) = row.scripted.as_ref().map_or((none(), none()), |it| {
            let right = (it.accuracies[0] * it.test_rows as f64).round();
            let (mean, sd) = mean_sd(&it.accuracies);
            let splits = plural(it.accuracies.len(), "split");
            (format!("{:.3} ({right} of {})", it.accuracies[0], it.test_rows), format!("{mean:.3} ± {sd:.3}, {splits}"))
        });
        let fair = |method: Method| row.fair.as_ref().and_then(|it| it.of(method.name())).map_or(none(), spread_of);
        text += &format!(
            "| {} | {} × {}, {} | {printed:.3} ± {spread:.3} | {theirs} | {all} | {} | {} |\n",
            row.paper.set.name,
            row.rows,
            row.features,
            row.classes,
            fair(Method::M3svm),
            fair(Method::Ism3)
        );
    }
    text
}

/// All methods, printed and fair under each other.
fn method_table(rows: &[Row]) -> String {
    let heads: Vec<&str> = COLUMNS.iter().map(|(name, _)| *name).collect();
    let mut text = format!("\n## All methods\n\n| Data | | {} | ISM3 |\n|---|---|", heads.join(" | "));
    text += &"---|".repeat(COLUMNS.len() + 1);
    text += "\n";
    for row in rows.iter() {
        let Some(fair) = &row.fair else { continue };
        let best = row.paper.printed.iter().map(|it| it.0).fold(0.0, f64::max);
        let printed = row.paper.printed.iter().map(|(mean, sd)| bold(format!("{mean:.3} ± {sd:.3}"), *mean == best));
        let printed: Vec<String> = printed.collect();
        text += &format!("| {} | printed | {} | |\n", row.paper.set.name, printed.join(" | "));
        let best = Fair::best(fair.judged.iter()).map_or(0.0, |it| it.mean);
        let fairs = fair.judged.iter().map(|it| bold(spread_of(it), it.mean == best));
        let fairs: Vec<String> = fairs.collect();
        text += &format!("| | fair, {} × {} folds | {} |\n", fair.repeats, fair.folds, fairs.join(" | "));
    }
    let missing: Vec<&str> = rows.iter().filter(|row| row.fair.is_none()).map(|row| row.paper.set.name).collect();
    if !missing.is_empty() {
        text += &format!("\nThe fair protocol was not run on {}.\n", missing.join(", "));
    }
    text + "\nBold: the highest mean of the line. Standard deviations are over folds, so they include the luck of single folds.\n"
}

/// Whether the paper's claim holds, data set by data set.
fn claims(rows: &[Row], contests: &[Contest]) -> String {
    let verdict = |row: &Row| Verdict::of(row.paper.set.name, row.fair.as_ref()?, contests);
    let verdicts: Vec<Verdict> = rows.iter().filter_map(verdict).collect();
    let count = |wanted: fn(&Verdict) -> bool| verdicts.iter().filter(|it| wanted(it)).count();
    let (clear, tied, open, lost) =
        (count(Verdict::holds), count(Verdict::leads), count(Verdict::follows), count(Verdict::fails));
    let mut text = format!(
        "\n## Is M³SVM the best?\n\nThe paper says: on all data sets. By the corrected paired t-test against the best of the seven rivals, in the \
         fair protocol and corrected for the number of all comparisons (level {}), M³SVM is clearly better on {clear} of {}, has the best mean but not clearly so on {tied}, a lower mean but not \
         clearly so on {open}, and is clearly worse on {lost}.\n\n",
        plain(crate::fair::LEVEL),
        plural(verdicts.len(), "data set"),
    );
    for row in rows {
        if let Some(verdict) = verdict(row) {
            text += &format!("- **{}**: {}\n", row.paper.set.name, verdict.sentence());
        }
    }
    text
}

fn spread_of(it: &Judged) -> String {
    format!("{:.3} ± {:.3}", it.mean, it.sd)
}

fn bold(text: String, is_best: bool) -> String {
    if is_best { format!("**{text}**") } else { text }
}

fn none() -> String {
    "–".into()
}
