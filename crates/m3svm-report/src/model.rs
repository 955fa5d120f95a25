//! What a report says about a model and its training.

use m3svm::metrics::{Metrics, Quality};
use m3svm::{Expansion, Model, Scheme, Stop};

use crate::chart::{BarChart, BarGroup, Block, HeatMap, LineChart, Series};
use crate::coarse::coarse;
use crate::figure::Figure;
use crate::page::{Report, Table};
use crate::scale::Axis;
use m3svm::text::{count, digits, percent, plural, upper};

/// Up to so many classes rows and columns of maps are named.
const MOST_NAMES: usize = 40;
/// Larger maps are drawn in blocks of classes: a million cells help nobody.
const MOST_CELLS: usize = 100;
/// Smallest margins and most frequent mistakes that are listed.
const PAIRS: usize = 20;
/// Classes whose weights are listed.
const MOST_CLASSES: usize = 100;
/// Classes whose weights are drawn.
const MOST_GROUPS: usize = 12;
/// Largest weights of a class that are listed.
const WEIGHTS: usize = 5;
/// Points of a curve that are drawn; more cannot be told apart.
const MOST_POINTS: usize = 500;

/// Where a solver stood after an iteration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// Iterations done.
    pub iteration: usize,
    /// Lowest value of the objective so far.
    pub objective: f64,
    /// Relative duality gap, where it was computed.
    pub relative_gap: Option<f64>,
}

/// What is looked for first: how well a model does on rows that it has not seen (`unseen`, with which ones they are) and on its training rows, how
/// many of which class there are, and what speaks for each.
pub fn overview_section(report: Report, model: &Model, metrics: &Metrics, unseen: &[(String, &Quality)]) -> Report {
    let (classes, accuracy) = (model.classes(), percent(metrics.accuracy));
    let total: f64 = metrics.per_class.iter().map(|class| class.support).sum();
    let largest = metrics.per_class.iter().map(|class| class.support).fold(0.0, f64::max);
    let always = percent(largest / total.max(f64::MIN_POSITIVE));
    let mut report = report.section("Overview");
    for (rows, quality) in unseen {
        let (low, high) = quality.interval;
        report = report.text(&format!(
            "Of the {rows}, which the models that predict them have not seen, {} are classified correctly (95\u{a0}% interval {} to {}).",
            percent(quality.metrics.accuracy),
            percent(low),
            percent(high)
        ));
    }
    let report = report.text(&format!(
        "{accuracy} of the training rows (by weight) are classified correctly; always guessing the largest class would be right in \
         {always}."
    ));
    let mut lines: Vec<(usize, f64)> = metrics.per_class.iter().map(|class| class.support).enumerate().collect();
    lines.sort_by(|a, b| b.1.total_cmp(&a.1));
    let row = |(k, rows): &(usize, f64)| {
        vec![classes[*k].clone(), count(*rows), percent(rows / total.max(f64::MIN_POSITIVE))]
    };
    let report = report.table(Table {
        caption: match classes.len() {
            0..=MOST_NAMES => "Rows per class".into(),
            c => format!("Rows per class, the largest {MOST_NAMES} of {c}"),
        },
        header: strings(&["class", "rows", "share"]),
        text_columns: 1,
        rows: lines.iter().take(MOST_NAMES).map(row).collect(),
    });
    if model.expansion().is_some() {
        return report;
    }
    let group = |k: usize| {
        let largest = model.largest_weights(k, WEIGHTS).into_iter().filter(|(_, w)| *w != 0.0);
        BarGroup { name: classes[k].clone(), bars: largest.map(|(j, w)| (feature(model, j), w)).collect() }
    };
    let chart = BarChart {
        title: match classes.len() {
            0..=MOST_GROUPS => "Largest weights per class".into(),
            c => format!("Largest weights of the first {MOST_GROUPS} of {c} classes"),
        },
        axis: Axis::new("weight of the scaled feature"),
        groups: (0..classes.len().min(MOST_GROUPS)).map(group).collect(),
    };
    report.figure(&chart.figure())
}

/// Everything that a model says about itself: certificate, margins, weights.
pub fn model_sections(report: Report, model: &Model) -> Report {
    let report = report.section("Certificate").text(&verdict(model)).facts(&certificate(model));
    weights(margins(report, model), model)
}

/// How well a model does on rows with known classes; `rows` says which ones, e.g. "training rows".
pub fn quality_sections(report: Report, classes: &[String], metrics: &Metrics, rows: &str) -> Report {
    let accuracy = format!("{} of the {rows} (by weight) are classified correctly.", percent(metrics.accuracy));
    let report = report.section(&format!("Quality on the {rows}")).text(&accuracy);
    let report = report.figure(&confusion(classes, metrics, rows));
    let report = report.table(class_table(classes, metrics, rows));
    let worst = metrics.most_confused(PAIRS);
    if worst.is_empty() {
        return report.text("There are no mistakes.");
    }
    let lines = worst.iter().map(|pair| {
        vec![classes[pair.truth].clone(), classes[pair.predicted].clone(), count(pair.count), percent(pair.share)]
    });
    report.table(Table {
        caption: format!("Most frequent mistakes on the {rows}"),
        header: strings(&["true class", "predicted class", "rows", "of the class"]),
        text_columns: 2,
        rows: lines.collect(),
    })
}

/// How a solver got to the optimum, from the steps on its way.
pub fn convergence_section(report: Report, model: &Model, steps: &[Step]) -> Report {
    let report = report.section("Convergence");
    // Solvers report a step before they know that it was the last one.
    let (end, certificate) = (model.training().iterations, model.certificate());
    let before = steps.iter().filter(|s| s.iteration < end);
    let last = Step { iteration: end, objective: certificate.objective, relative_gap: certificate.relative_gap() };
    let steps: Vec<Step> = before.copied().chain([last]).collect();
    let stride = steps.len().div_ceil(MOST_POINTS).max(1);
    let mut drawn: Vec<Step> = steps.iter().rev().step_by(stride).copied().collect();
    drawn.reverse();
    let report = match model.certificate().lower_bound {
        Some(bound) => report
            .text(
                "The duality gap bounds the distance to the optimum from what is known at that step. The other curve is known only \
                 afterwards: how far the objective was above the final lower bound. Both are relative to the objective.",
            )
            .figure(&gaps(&drawn, bound)),
        None => report.text("For p < 1 there is no lower bound to compare with.").figure(&objectives(&drawn)),
    };
    match stride {
        1 => report,
        _ => report.text(&format!("One in {stride} of {} is drawn.", plural(steps.len(), "iteration"))),
    }
}

/// What the certificate means, in a sentence.
fn verdict(model: &Model) -> String {
    match model.certificate().relative_gap() {
        None => "For p < 1 the problem is not convex. This is a local optimum, and nothing bounds its distance to the best one.".into(),
        Some(gap) => format!(
            "Whatever W and b are chosen, the objective cannot go below the lower bound. So the objective reached is at most {} of its \
             value above the optimum.",
            upper(gap.max(f64::EPSILON))
        ),
    }
}

fn certificate(model: &Model) -> Vec<(&'static str, String)> {
    let (certificate, training) = (model.certificate(), model.training());
    let stop = match training.stop {
        Stop::Converged => "converged",
        Stop::IterationLimit => "not converged: the iteration limit came first",
        Stop::NoProgress => "not converged: no step improved the objective any more within rounding",
        Stop::Interrupted => "not converged: interrupted",
    };
    let mut facts = vec![("objective", digits(certificate.objective, 10))];
    if let (Some(bound), Some(gap)) = (certificate.lower_bound, certificate.relative_gap()) {
        facts.push(("lower bound", digits(bound, 10)));
        facts.push(("relative gap", digits(gap, 2)));
    }
    facts.push(("solver", training.solver.clone()));
    if training.problems > 1 {
        facts.push(("problems", format!("{} of two classes; numbers are their sums", training.problems)));
    }
    facts.push(("iterations", training.iterations.to_string()));
    facts.extend(training.passes.map(|passes| ("passes over all rows", passes.to_string())));
    facts.push(("evaluations of the loss", training.evaluations.to_string()));
    facts.extend(training.seconds.map(|seconds| ("seconds", digits(seconds, 2))));
    facts.push(("ended", stop.into()));
    facts
}

/// The map of all margins; with many classes the smallest ones as a table as well.
fn margins(report: Report, model: &Model) -> Report {
    let (classes, (smallest, k, l)) = (model.classes(), model.min_margin());
    let c = classes.len();
    let formula = match model.spec().scheme {
        Scheme::Joint => "2/‖wₖ\u{a0}−\u{a0}wₗ‖",
        Scheme::OneVsRest => "4/‖wₖ\u{a0}−\u{a0}wₗ‖ (scores of 1 against −1)",
        Scheme::OneVsOne => "2/‖wₖₗ‖",
    };
    let report = report.section("Margins").text(&format!(
        "The margin between two classes is {formula}, in {}: the width of the strip between them. The smallest one is \
         {}, between {} and {}.",
        if model.expansion().is_some() { "the space of the kernel" } else { "scaled features" },
        digits(smallest, 4),
        classes[k],
        classes[l]
    ));
    let all = model.margins();
    let values: Vec<Vec<f64>> = all.chunks_exact(c).map(<[f64]>::to_vec).collect();
    let (values, block) = coarse(&values, MOST_CELLS, f64::INFINITY, f64::min);
    let finite = || values.iter().flatten().copied().filter(|v| v.is_finite());
    let (low, high) = (finite().fold(f64::INFINITY, f64::min), finite().fold(0.0, f64::max));
    let axis = Axis::new("margin");
    let named = if c <= MOST_NAMES { classes } else { &[] };
    let map = HeatMap {
        title: "Margins between classes".into(),
        row_title: "class".into(),
        column_title: "class".into(),
        rows: named.to_vec(),
        columns: named.to_vec(),
        values,
        says: Vec::new(),
        // Margins that differ by orders of magnitude would all have one colour but for the largest.
        scale: if high > 30.0 * low { axis.log() } else { axis },
        marked: (c > 2 && c <= MOST_NAMES).then_some(Block { rows: k..k + 1, columns: l..l + 1 }),
    };
    let report = report.figure(&map.figure());
    let report = match (c, block) {
        (3..=MOST_NAMES, _) => report.text("The smallest margin is outlined."),
        (_, 1) => report,
        (_, block) => {
            report.text(&format!("Each cell is the smallest margin between {block} classes and {block} others."))
        }
    };
    if c <= MOST_NAMES {
        return report;
    }
    let rows = model.smallest_margins(PAIRS).into_iter();
    report.table(Table {
        caption: format!("Smallest of the {} margins", c * (c - 1) / 2),
        header: strings(&["class", "class", "margin"]),
        text_columns: 2,
        rows: rows.map(|(margin, k, l)| vec![classes[k].clone(), classes[l].clone(), digits(margin, 4)]).collect(),
    })
}

/// With a kernel: the rows that the scores are made of, and what a low rank leaves out.
fn kernel(report: Report, model: &Model, expansion: &Expansion) -> Report {
    let (rows, of) = (plural(expansion.len(), "training row"), plural(model.training().rows, "row"));
    let about = match expansion.is_approximate() {
        false => format!(
            "Scores are sums over {rows} of {of}: with the kernel {}, those that pull at the class vectors. The certificate is that of \
             the whole problem.",
            expansion.kernel().describe()
        ),
        true => format!(
            "Scores are sums over {rows} of {of}, by which the kernel {} is approximated. {} of the trace of its matrix is left out; \
             a difference of two scores can be off by {}. The certificate is that of the approximated problem.",
            expansion.kernel().describe(),
            percent(expansion.trace_left()),
            upper(expansion.score_error(model.min_margin().0))
        ),
    };
    let counts = expansion.class_counts(model.classes().len());
    let lines = model.classes().iter().zip(counts).take(MOST_CLASSES);
    report.section("Kernel").text(&about).table(Table {
        caption: "Rows per class that the scores are made of".into(),
        header: strings(&["class", "rows"]),
        text_columns: 1,
        rows: lines.map(|(class, rows)| vec![class.clone(), rows.to_string()]).collect(),
    })
}

fn weights(report: Report, model: &Model) -> Report {
    if let Some(expansion) = model.expansion() {
        return kernel(report, model, expansion);
    }
    let signed = |w: f64| format!("{}{}", if w < 0.0 { '−' } else { '+' }, digits(w.abs(), 3));
    let rows = model.classes().iter().enumerate().take(MOST_CLASSES).map(|(k, class)| {
        let largest = model.largest_weights(k, WEIGHTS).into_iter().filter(|(_, w)| *w != 0.0);
        let words: Vec<String> = largest.map(|(j, w)| format!("{}\u{a0}{}", feature(model, j), signed(w))).collect();
        vec![class.clone(), words.join(", ")]
    });
    let table = Table {
        caption: format!("Largest weights per class, of {}", plural(model.features(), "feature")),
        header: strings(&["class", "largest weights"]),
        text_columns: 2,
        rows: rows.collect(),
    };
    let about = match model.spec().scheme {
        Scheme::OneVsOne => {
            "Means over the pairs of a class, for scaled features, so that their sizes can be compared."
        }
        _ => "Weights are for scaled features, so their sizes can be compared.",
    };
    let report = report.section("Weights").text(about).table(table);
    match model.classes().len() {
        0..=MOST_CLASSES => report,
        c => report.text(&format!("The first {MOST_CLASSES} of {c} classes.")),
    }
}

fn feature(model: &Model, j: usize) -> String {
    model.feature_names().map_or_else(|| format!("feature {j}"), |names| names[j].clone())
}

/// Rows by true and predicted class. The colour is the share of the true class, so that rare classes count as much as frequent ones.
fn confusion(classes: &[String], metrics: &Metrics, rows: &str) -> Figure {
    let (counts, _) = coarse(&metrics.confusion, MOST_CELLS, 0.0, |a, b| a + b);
    let share = |row: &Vec<f64>| -> Vec<f64> {
        let total: f64 = row.iter().sum();
        // Blank instead of a share of zero: what is left are hits and mistakes.
        row.iter().map(|v| if *v > 0.0 { 100.0 * v / total } else { f64::NAN }).collect()
    };
    let says = |v: &f64| if *v > 0.0 { count(*v) } else { String::new() };
    let named = if classes.len() <= MOST_NAMES { classes } else { &[] };
    HeatMap {
        title: format!("Confusion matrix on the {rows}"),
        row_title: "true class".into(),
        column_title: "predicted class".into(),
        rows: named.to_vec(),
        columns: named.to_vec(),
        values: counts.iter().map(share).collect(),
        says: counts.iter().map(|row| row.iter().map(says).collect()).collect(),
        scale: Axis::new("% of class").range(0.0, 100.0),
        marked: None,
    }
    .figure()
}

fn class_table(classes: &[String], metrics: &Metrics, rows: &str) -> Table {
    let share = |v: f64| format!("{v:.4}");
    let lines = classes.iter().zip(&metrics.per_class);
    Table {
        caption: format!("Classes on the {rows}"),
        header: strings(&["class", "rows", "precision", "recall", "F1"]),
        text_columns: 1,
        rows: lines
            .map(|(name, s)| vec![name.clone(), count(s.support), share(s.precision), share(s.recall), share(s.f1)])
            .collect(),
    }
}

fn gaps(steps: &[Step], bound: f64) -> Figure {
    let gap = steps.iter().filter_map(|s| Some((s.iteration as f64, s.relative_gap?)));
    // (F − D)/F of every step, with the final bound D.
    let above = steps.iter().map(|s| (s.iteration as f64, (s.objective - bound) / s.objective));
    let series = |name: &str, points: Vec<(f64, f64)>| Series { name: name.into(), points, spread: Vec::new() };
    let gap: Vec<(f64, f64)> = gap.collect();
    // A step that needs no proof has none: the legend promises what is there.
    let name = if gap.len() < 2 { "duality gap (at the end)" } else { "duality gap" };
    LineChart {
        title: "Convergence".into(),
        x: Axis::new("iteration"),
        y: Axis::new("relative distance").log(),
        series: vec![series(name, gap), series("objective above the final bound", above.collect())],
        ..LineChart::default()
    }
    .figure()
}

fn objectives(steps: &[Step]) -> Figure {
    let points = steps.iter().map(|s| (s.iteration as f64, s.objective)).collect();
    LineChart {
        title: "Convergence".into(),
        x: Axis::new("iteration"),
        y: Axis::new("objective").log(),
        series: vec![Series { name: "objective".into(), points, spread: Vec::new() }],
        ..LineChart::default()
    }
    .figure()
}

fn strings(names: &[&str]) -> Vec<String> {
    names.iter().map(|n| (*n).to_string()).collect()
}
