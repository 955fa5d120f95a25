//! What a report says about a search for λ and p.

use m3svm::metrics::Criterion;
use m3svm::select::{Nested, Outcome, Rule, Search, SearchResult, Setting};
use m3svm::text::{plural, short};

use crate::chart::{LineChart, Series, Spread};
use crate::figure::Figure;
use crate::page::{Report, Table};
use crate::scale::Axis;
use crate::tuning::{capitalised, score_map};

/// Settings that are listed.
const MOST_SETTINGS: usize = 20;

/// Everything that a search has brought to light: what either rule chooses, and how the settings did.
pub fn search_sections(report: Report, search: &Search, found: &SearchResult, nested: Option<&Nested>) -> Report {
    let report = report.section("Choice").text(&verdict(search, found)).facts(&choice(search, found, nested));
    if found.outcomes.len() < 2 {
        return report;
    }
    let report = report
        .section(&capitalised(search.criterion.title()))
        .text(&about(search, found))
        .figure(&picture(search, found));
    report.table(settings(search.criterion, found))
}

fn verdict(search: &Search, found: &SearchResult) -> String {
    let chosen = found.chosen(search.rule).setting;
    let tried = plural(found.outcomes.len(), "setting");
    let warning = match found.outcomes.len() {
        1 => "",
        _ => {
            " The best mean of many is a little too good to be true; a nested search measures what to expect of new rows."
        }
    };
    format!("Of {tried}, the model is trained with {chosen}.{warning}")
}

fn choice(search: &Search, found: &SearchResult, nested: Option<&Nested>) -> Vec<(&'static str, String)> {
    let said = |rule: Rule| {
        let Outcome { setting, mean, sd, .. } = found.chosen(rule);
        let taken = if rule == search.rule { " (chosen)" } else { "" };
        format!("{setting}: {}{taken}", spread(search.criterion, *mean, *sd))
    };
    let mut facts = vec![("best mean", said(Rule::BestMean)), ("one standard error", said(Rule::OneStandardError))];
    if let Some(nested) = nested {
        let folds = plural(nested.outer.len(), "outer fold");
        facts.push(("nested search", format!("{} over {folds}", spread(search.criterion, nested.mean, nested.sd))));
    }
    facts
}

fn about(search: &Search, found: &SearchResult) -> String {
    let folds = match search.repeats {
        1 => format!("{} folds", search.folds),
        repeats => format!("{} folds, repeated {repeats} times", search.folds),
    };
    let dropped = found.outcomes.iter().filter(|o| o.discarded_after.is_some()).count();
    let dropped = match dropped {
        0 => String::new(),
        n => format!(" {} clearly behind and dropped early: the mean there is over fewer folds.", were(n)),
    };
    let bars = match distinct(found, |s| s.p).len().min(distinct(found, |s| s.lambda).len()) {
        0 | 1 => " Error bars are one standard error to either side.",
        _ => " The chosen setting is outlined.",
    };
    let by = capitalised(search.criterion.title());
    format!("{by} is the mean over {folds}, measured on the rows that each leaves out.{bars}{dropped}")
}

fn were(settings: usize) -> String {
    format!("{} {}", plural(settings, "setting"), if settings == 1 { "was" } else { "were" })
}

/// A map of λ and p, or a curve if only one of them varies.
fn picture(search: &Search, found: &SearchResult) -> Figure {
    let (lambdas, ps, by) = (distinct(found, |s| s.lambda), distinct(found, |s| s.p), search.criterion);
    let chosen = found.chosen(search.rule).setting;
    if ps.len() < 2 {
        let gamma = chosen.gamma;
        let axis = if gamma.is_some() { Axis::new("λ (at the chosen γ)") } else { Axis::new("λ") };
        return curve(by, found, axis.log(), gamma, |s| s.lambda);
    }
    if lambdas.len() < 2 {
        return curve(by, found, Axis::new("p"), chosen.gamma, |s| s.p);
    }
    let mean = |p: f64, lambda: f64| {
        let setting = Setting { lambda: Some(lambda), p: Some(p), gamma: chosen.gamma };
        found.outcomes.iter().find(|o| o.setting == setting).map_or(f64::NAN, |o| o.mean)
    };
    let values: Vec<Vec<f64>> = ps.iter().map(|p| lambdas.iter().map(|l| mean(*p, *l)).collect()).collect();
    let place = |values: &[f64], wanted: Option<f64>| values.iter().position(|v| Some(*v) == wanted);
    score_map(by, &lambdas, &ps, &values, place(&ps, chosen.p).zip(place(&lambdas, chosen.lambda)))
}

/// The values that occur, ascending.
fn distinct(found: &SearchResult, of: fn(&Setting) -> Option<f64>) -> Vec<f64> {
    let mut values: Vec<f64> = found.outcomes.iter().filter_map(|o| of(&o.setting)).collect();
    values.sort_by(f64::total_cmp);
    values.dedup();
    values
}

fn curve(by: Criterion, found: &SearchResult, x: Axis, gamma: Option<f64>, of: fn(&Setting) -> Option<f64>) -> Figure {
    let alike = found.outcomes.iter().filter(|o| o.setting.gamma == gamma);
    let mut outcomes: Vec<(f64, &Outcome)> = alike.filter_map(|o| Some((of(&o.setting)?, o))).collect();
    outcomes.sort_by(|a, b| a.0.total_cmp(&b.0));
    LineChart {
        title: format!("{} by {}", capitalised(by.title()), x.label),
        x,
        y: Axis::new(by.titled()),
        series: vec![Series {
            name: "mean".into(),
            points: outcomes.iter().map(|(x, o)| (*x, by.readable(o.mean))).collect(),
            spread: outcomes.iter().map(|(_, o)| by.readable(o.standard_error()).abs()).collect(),
        }],
        spread: Spread::Bars,
    }
    .figure()
}

/// The best settings; those with fewer folds come last, because their mean is from another exam.
fn settings(by: Criterion, found: &SearchResult) -> Table {
    let mut order: Vec<&Outcome> = found.outcomes.iter().collect();
    order.sort_by(|a, b| (b.scores.len().cmp(&a.scores.len())).then(b.mean.total_cmp(&a.mean)));
    let row = |o: &&Outcome| {
        let digits = if by.is_share() { 2 } else { 4 };
        let share = |v: f64| format!("{:.digits$}", by.readable(v).abs());
        let parameters = [o.setting.lambda, o.setting.p, o.setting.gamma].into_iter().flatten().map(short);
        let cells = [share(o.mean), share(o.sd), share(o.standard_error()), o.scores.len().to_string()];
        parameters.chain(cells).collect()
    };
    // A penalty has a parameter in all settings or in none.
    let setting = order.first().map_or(Setting::default(), |o| o.setting);
    let parameters =
        [setting.lambda.map(|_| "λ"), setting.p.map(|_| "p"), setting.gamma.map(|_| "γ")].into_iter().flatten();
    let mean = format!("mean {}", by.titled());
    let header = parameters.chain([mean.as_str(), "deviation", "standard error", "folds"]);
    Table {
        caption: match order.len() {
            0..=MOST_SETTINGS => "All settings, the best first".into(),
            all => format!("The best {MOST_SETTINGS} of {all} settings"),
        },
        header: header.map(String::from).collect(),
        text_columns: 0,
        rows: order.iter().take(MOST_SETTINGS).map(row).collect(),
    }
}

fn spread(by: Criterion, mean: f64, sd: f64) -> String {
    format!("{} (mean ± standard deviation)", by.spread(mean, sd))
}
