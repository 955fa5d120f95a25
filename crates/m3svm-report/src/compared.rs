//! What a report says about a comparison of methods.

use m3svm::metrics::Criterion;
use m3svm::select::{CLEAR, Compared, Comparison, Grid, GridValues, Search};
use m3svm::text::{digits, p_value, plural, seconds, short, upper};

use crate::page::{Report, Table};
use crate::tuning::{self, capitalised, comparison};

/// Everything that a comparison has brought to light. `found` has a name for every method of the comparison that was finished, in its order.
pub fn comparison_sections(report: Report, about: &Comparison, found: &[(&str, &Compared)]) -> Report {
    let mut order: Vec<(&str, &Compared, &Search)> =
        found.iter().zip(&about.searches).map(|((name, it), search)| (*name, *it, search)).collect();
    order.sort_by(|a, b| b.1.mean.total_cmp(&a.1.mean));
    let by = about.searches.first().map(|search| search.criterion).unwrap_or_default();
    let points: Vec<tuning::Compared> = order
        .iter()
        .map(|(name, it, _)| tuning::Compared { name: (*name).into(), mean: it.mean, deviation: Some(it.sd) })
        .collect();
    let report = report
        .section(&capitalised(by.title()))
        .text(&protocol(about))
        .figure(&comparison(by, &points))
        .text(&verdict(&order));
    let report = report.table(results(by, &order)).text(
        "Fit and predict are the times for all rows with the setting that was chosen most often; the smallest margin and the relative \
         duality gap are those of that fit.",
    );
    report.section("Tuning").text("What was tried, and what was chosen in the folds.").table(tuned(&order))
}

fn protocol(about: &Comparison) -> String {
    let folds = match about.repeats {
        1 => format!("{} folds", about.folds),
        repeats => format!("{} folds, repeated {repeats} times", about.folds),
    };
    format!(
        "Every method was tuned on the training part of each of {folds}, and judged on the rest. All methods see the same folds. Error \
         bars are one standard deviation over the folds to either side."
    )
}

fn verdict(order: &[(&str, &Compared, &Search)]) -> String {
    let [(best, ..), others @ ..] = order else { return "No method was finished.".into() };
    if others.is_empty() {
        return format!("Only {best} was compared.");
    }
    let level = |it: &Compared| it.p_value.is_some_and(|p| p < CLEAR);
    let (clear, near): (Vec<_>, Vec<_>) = others.iter().partition(|(_, it, _)| level(it));
    let names = |some: Vec<&(&str, &Compared, &Search)>| match &some[..] {
        [] => "none".to_string(),
        some => some.iter().map(|(name, ..)| *name).collect::<Vec<_>>().join(", "),
    };
    format!(
        "The best mean is that of {best}. Clearly behind it (p-value below {CLEAR}, corrected paired t-test): {}. Not to be told apart \
         from it on these folds: {}.",
        names(clear),
        names(near)
    )
}

fn results(by: Criterion, order: &[(&str, &Compared, &Search)]) -> Table {
    let row = |(name, it, _): &(&str, &Compared, &Search)| {
        vec![
            (*name).to_string(),
            by.spread(it.mean, it.sd).replace(" %", ""),
            it.p_value.map_or_else(|| "best".into(), p_value),
            it.model.training().seconds.map_or_else(String::new, seconds),
            seconds(it.predict_seconds),
            digits(it.model.min_margin().0, 3),
            it.model.certificate().relative_gap().map_or_else(|| "none".into(), upper),
        ]
    };
    let title = by.titled();
    let header = ["method", title.as_str(), "p-value", "fit", "predict", "smallest margin", "gap"];
    Table {
        caption: "Methods, the best first".into(),
        header: header.map(String::from).to_vec(),
        text_columns: 1,
        rows: order.iter().map(row).collect(),
    }
}

fn tuned(order: &[(&str, &Compared, &Search)]) -> Table {
    let row = |(name, it, search): &(&str, &Compared, &Search)| {
        let often = it.settings.iter().filter(|s| **s == it.usual).count();
        let often = format!("{often} of {}", plural(it.settings.len(), "fold"));
        vec![(*name).to_string(), tried(&search.grid), format!("{} in {often}", it.usual)]
    };
    Table {
        caption: "Settings".into(),
        header: ["method", "tried", "chosen most often"].map(String::from).to_vec(),
        text_columns: 3,
        rows: order.iter().map(row).collect(),
    }
}

/// "λ 0.01 to 100 (5 values), p 1, 2".
fn tried(grid: &Grid) -> String {
    let range = |name: &str, values: &Option<GridValues>| {
        let values = values.as_ref()?.as_slice();
        let listed = match values {
            [from, .., to] if values.len() > 4 => {
                format!("{} to {} ({} values)", short(*from), short(*to), values.len())
            }
            few => few.iter().map(|v| short(*v)).collect::<Vec<_>>().join(", "),
        };
        Some(format!("{name} {listed}"))
    };
    let parts: Vec<String> =
        [range("λ", &grid.lambdas), range("p", &grid.ps), range("γ", &grid.gammas)].into_iter().flatten().collect();
    if parts.is_empty() { "the one setting".into() } else { parts.join("; ") }
}
