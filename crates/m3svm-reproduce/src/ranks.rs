//! The methods over all data sets together: average ranks, and which differences survive that one has looked for many.

use m3svm::Method;
use m3svm::select::{friedman, holm};
use m3svm::text::plural;

use crate::fair::{Fair, LEVEL, methods};
use crate::sets::{COLUMNS, title};
use crate::table1::Row;

/// M³SVM and one rival of the paper on one data set, in the fair protocol.
pub(crate) struct Contest {
    pub(crate) set: &'static str,
    pub(crate) rival: Method,
    /// Whether the rival's mean is higher.
    pub(crate) better: bool,
    /// Of this comparison alone.
    pub(crate) p_value: f64,
    /// Corrected for the number of contests.
    pub(crate) corrected: f64,
}

/// The data sets where M³SVM was judged.
fn judged(rows: &[Row]) -> impl Iterator<Item = (&'static str, &Fair)> {
    rows.iter().filter_map(|row| Some((row.paper.set.name, row.fair.as_ref()?)))
}

/// All contests that there were.
pub(crate) fn contests(rows: &[Row]) -> Vec<Contest> {
    let mut contests = Vec::new();
    for (set, fair) in judged(rows) {
        let Some(own) = fair.of(Method::M3svm.name()) else { continue };
        for (_, rival) in COLUMNS.into_iter().filter(|(_, method)| *method != Method::M3svm) {
            let Some(other) = fair.of(rival.name()) else { continue };
            let Some(p_value) = fair.p_value(own, other) else { continue };
            contests.push(Contest { set, rival, better: other.mean > own.mean, p_value, corrected: 1.0 });
        }
    }
    let p_values: Vec<f64> = contests.iter().map(|it| it.p_value).collect();
    contests.iter_mut().zip(holm(&p_values)).for_each(|(it, corrected)| it.corrected = corrected);
    contests
}

/// Nothing unless all methods were judged on two data sets.
pub(crate) fn text(rows: &[Row], contests: &[Contest]) -> String {
    let means = judged(rows).map(|(_, fair)| methods().iter().map(|it| Some(fair.of(it.name())?.mean)).collect());
    let Some(means): Option<Vec<Vec<f64>>> = means.collect() else { return String::new() };
    let Some(found) = friedman(&means) else { return String::new() };
    let mut ranked: Vec<(f64, Method)> = found.average_ranks.iter().copied().zip(methods()).collect();
    ranked.sort_by(|a, b| a.0.total_cmp(&b.0));
    let ranks: Vec<String> =
        ranked.iter().map(|(rank, method)| format!("{} {rank:.1}", title(method.name()))).collect();
    format!(
        "\n## All data sets together\n\nAverage ranks by the fair means over {} (1 is the best; equals share their ranks): {}. Friedman's test \
         gives p = {:.2}{}\n\n{}\n",
        plural(means.len(), "data set"),
        ranks.join(", "),
        found.p_value,
        if found.p_value < LEVEL { "." } else { ": ranks so different come about by chance as well." },
        survivors(contests)
    )
}

/// How many differences are clear, one by one and corrected.
fn survivors(contests: &[Contest]) -> String {
    let alone = contests.iter().filter(|it| it.p_value < LEVEL).count();
    let corrected: Vec<String> = contests
        .iter()
        .filter(|it| it.corrected < LEVEL)
        .map(|it| {
            let verdict = if it.better { "better" } else { "worse" };
            format!("{} on {} ({verdict} than M3SVM)", title(it.rival.name()), it.set)
        })
        .collect();
    let left =
        if corrected.is_empty() { "none is left".into() } else { format!("these are left: {}", corrected.join(", ")) };
    format!(
        "M³SVM was compared with its rivals {}. Taken one by one, {alone} of the p-values are below {LEVEL}; corrected for their number by Holm's \
         method, {left}.",
        match contests.len() {
            1 => "once".into(),
            n => format!("{n} times"),
        }
    )
}
