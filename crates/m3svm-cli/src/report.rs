//! Models and results in words.

use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

pub(crate) use m3svm::text::{count, digits, percent, plural, upper};
use m3svm::text::{plain, visible};
use m3svm::{
    AnyLoss, AnyPenalty, AnySolver, Certificate, ClassWeight, Expansion, Gamma, Method, Model, Parameter, Parameters,
    Scaling, Spec, Stop,
};

use m3svm::select::{LambdaChoice, TriedLambda};
use serde_json::{Value, json};

use crate::table::{shown, width};

/// Whether nothing but errors is said on standard error.
static QUIET: AtomicBool = AtomicBool::new(false);

/// From now on only errors are said.
pub(crate) fn be_quiet() {
    QUIET.store(true, Ordering::Relaxed);
}

/// Whether only errors are said.
pub(crate) fn is_quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

/// Says something on standard error. Names in messages come from files: none of them may steer the terminal.
pub(crate) fn tell(kind: &str, message: &str) {
    if is_quiet() && kind != "error" {
        return;
    }
    // Nobody is there to be told if this fails.
    let _ = writeln!(io::stderr(), "{kind}: {}", visible(message));
}

/// The command that is running, and when.
pub(crate) fn made_by() -> String {
    let word = |word: std::ffi::OsString| {
        let word = word.to_string_lossy().into_owned();
        let plain = |c: char| c.is_alphanumeric() || "-_=+:,./@%".contains(c);
        if !word.is_empty() && word.chars().all(plain) { word } else { format!("'{}'", word.replace('\'', r"'\''")) }
    };
    let words: Vec<String> = std::env::args_os().skip(1).map(word).collect();
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let date = i64::try_from(since.as_secs()).ok().and_then(arrow_array::temporal_conversions::timestamp_s_to_datetime);
    let date = date.map(|date| format!(", {date} UTC")).unwrap_or_default();
    format!("Command: m3svm {}{date}.", words.join(" "))
}

/// A path, fit to be shown.
pub(crate) fn file(path: &Path) -> String {
    shown(&path.display().to_string(), usize::MAX)
}

/// The first names of a list, as many as fit.
pub(crate) fn names(all: &[String], room: usize) -> String {
    let mut text = String::new();
    for (i, name) in all.iter().enumerate() {
        let part = format!("{}{}", if i > 0 { ", " } else { "" }, shown(name, 24));
        let more = if i + 1 < all.len() { width(", …") } else { 0 };
        if i > 0 && width(&text) + width(&part) + more > room {
            return text + ", …";
        }
        text += &part;
    }
    text
}

/// How good the solution is, as a clause.
pub(crate) fn certificate(certificate: &Certificate) -> String {
    match certificate.relative_gap() {
        None => "none (p < 1: a local optimum)".into(),
        Some(gap) if gap < f64::EPSILON => "optimal to within rounding".into(),
        Some(gap) if gap > 0.01 => format!("not optimal yet (relative duality gap {})", upper(gap)),
        Some(gap) => format!("optimal to within {} (relative duality gap)", upper(gap)),
    }
}

/// The smallest margin and between which classes it is.
pub(crate) fn min_margin(model: &Model) -> String {
    let (margin, k, l) = model.min_margin();
    let name = |k: usize| shown(&model.classes()[k], 20);
    format!("{} between {} and {}", digits(margin, 4), name(k), name(l))
}

/// The name of the method, or what it consists of where it has none.
pub(crate) fn method(spec: &Spec) -> String {
    match Method::of(spec) {
        Some(method) => method.name().into(),
        None => spec.loss.as_dyn().describe(),
    }
}

/// How λ was chosen, and what that cost.
pub(crate) fn lambda_choice(choice: &LambdaChoice) -> String {
    if choice.folds == 0 {
        return "by the scale of the features: too few rows to try values".into();
    }
    let of = |it: Option<&TriedLambda>| it.map_or_else(String::new, |it| plain(it.lambda));
    let (first, last) = (of(choice.tried.first()), of(choice.tried.last()));
    let sample = if choice.used < choice.rows { format!("{} of ", choice.used) } else { String::new() };
    let (rows, fits) = (plural(choice.rows, "row"), plural(choice.fits, "fit"));
    let cut = if choice.interrupted { ", cut short" } else { "" };
    format!("chosen by {fits} on {sample}{rows}, {first} to {last}{cut}")
}

/// What the lasso has left over.
fn survivors(model: &Model) -> String {
    let (features, weights) = (model.surviving_features(), model.nonzero_weights());
    let all = (plural(model.features(), "feature"), plural(model.weights().len(), "weight"));
    format!("{features} of {}, {weights} of {}", all.0, all.1)
}

/// The objective with its settings.
pub(crate) fn settings(model: &Model) -> Vec<(&'static str, String)> {
    let spec = model.spec();
    let loss = spec.loss.as_dyn().describe();
    let loss = match Method::of(spec) {
        Some(method) => format!("{} ({loss})", method.name()),
        None => loss,
    };
    let (loss, penalty) = match spec.penalty.p() {
        Some(p) if spec.hard_margin && p.is_infinite() => {
            ("m3svm, hard margin".into(), "the largest distance of two class vectors".into())
        }
        Some(p) if spec.hard_margin => {
            ("m3svm, hard margin".into(), format!("distances of class vectors to the power {}, and its root", plain(p)))
        }
        _ => (loss, spec.penalty.as_dyn().describe()),
    };
    // Sparse features are divided only: a shift would fill them.
    let scaling = match (spec.scaling, model.scaler().shifts()) {
        (Scaling::Standard, true) => "standard (mean 0, deviation 1)",
        (Scaling::Standard, false) => "standard (deviation 1, means left as they are)",
        (Scaling::MaxAbs, _) => "maxabs (largest absolute value 1)",
        (Scaling::MinMax, true) => "minmax (range 0 to 1)",
        (Scaling::MinMax, false) => "minmax (range of width 1, not shifted)",
        (Scaling::None, _) => "none",
    };
    let mut lines =
        vec![("method", loss), ("penalty", penalty), ("epsilon", plain(spec.epsilon)), ("scaling", scaling.into())];
    lines.splice(2..2, model.training().lambda.as_ref().map(|choice| ("lambda", lambda_choice(choice))));
    if spec.hard_margin {
        lines.retain(|(name, _)| *name != "epsilon");
    }
    if let Some(expansion) = model.expansion() {
        let used = expansion.kernel();
        let kernel = match (spec.kernel.gamma(), used.gamma()) {
            (Some(Gamma::Value(_)) | None, _) | (_, None) => used.describe(),
            (Some(asked), Some(_)) => format!("{} ({asked})", used.describe()),
        };
        lines.insert(2, ("kernel", kernel));
    }
    if !spec.intercept {
        lines.push(("intercept", "none".into()));
    }
    lines.extend(class_weights(&spec.class_weight).map(|weights| ("class weights", weights)));
    lines
}

/// Weights of classes, if there are any.
pub(crate) fn class_weights(weights: &ClassWeight) -> Option<String> {
    match weights {
        ClassWeight::None => None,
        ClassWeight::Balanced => Some("balanced".into()),
        ClassWeight::Each(map) => {
            let each: Vec<String> = map.iter().map(|(name, w)| format!("{name}={}", plain(*w))).collect();
            Some(names(&each, 60))
        }
    }
}

/// What came out of a training.
pub(crate) fn outcome(model: &Model) -> Vec<(&'static str, String)> {
    let training = model.training();
    let seconds = training.seconds.map(|seconds| format!(", {} s", digits(seconds, 2))).unwrap_or_default();
    let run = format!("{}, {}{seconds}", training.solver, plural(training.iterations, "iteration"));
    let run = match training.problems {
        1 => run,
        problems => format!("{run} for {} of two classes", plural(problems, "problem")),
    };
    let mut lines = vec![
        ("solver", run),
        ("objective", digits(model.certificate().objective, 8)),
        ("certificate", certificate(model.certificate())),
        ("minimum margin", min_margin(model)),
        ("train accuracy", percent(model.train_accuracy())),
    ];
    if model.spec().penalty.p() == Some(f64::INFINITY) {
        lines.push(("pairs with it", longest(model)));
    }
    if model.spec().penalty.as_dyn().separable().is_some() {
        lines.push(("features in use", survivors(model)));
    }
    lines.extend(model.expansion().map(|expansion| ("kept rows", kept(model, expansion))));
    if let Some(rows) = model.support_rows() {
        lines.push(("support vectors", format!("{rows} of {}", plural(training.rows, "row"))));
    }
    lines
}

/// The numbers of all losses and penalties for JSON, as the library describes them; null where the model has none of them.
pub(crate) fn numbers(spec: &Spec) -> Vec<(String, Value)> {
    let losses = AnyLoss::examples().into_iter().flat_map(|it| it.parameters());
    let penalties = AnyPenalty::examples().into_iter().flat_map(|it| it.parameters());
    let number = |it: &Parameter| match spec.loss.get(it.name).or(spec.penalty.get(it.name)) {
        Some(number) if number.is_infinite() => json!("inf"),
        Some(count) if it.is_whole => json!(count as u64),
        number => json!(number),
    };
    losses.chain(penalties).map(|it| (it.name.to_string(), number(it))).collect()
}

/// The pairs that attain the maximum of the penalty by name, for JSON; null where the penalty is none.
pub(crate) fn longest_pairs(model: &Model) -> Value {
    if model.spec().penalty.p() != Some(f64::INFINITY) {
        return Value::Null;
    }
    let (pairs, classes) = (model.pairs_of_smallest_margin(), model.classes());
    pairs.into_iter().map(|(k, l)| json!([classes[k], classes[l]])).collect()
}

/// The kernel of a model and what it keeps, for JSON; null for linear scores.
pub(crate) fn kernel(model: &Model) -> Value {
    let Some(expansion) = model.expansion() else { return Value::Null };
    json!({
        "kernel": expansion.kernel(),
        "kept_rows": expansion.len(),
        "kept_rows_of_classes": expansion.class_counts(model.classes().len()),
        "rank": expansion.rank(),
        "approximate": expansion.is_approximate(),
        "trace_left": expansion.trace_left(),
        "score_error": expansion.score_error(model.min_margin().0),
    })
}

/// The pairs of classes that attain the maximum of the penalty.
fn longest(model: &Model) -> String {
    let pairs = model.pairs_of_smallest_margin();
    let name = |k: usize| shown(&model.classes()[k], 20);
    let each: Vec<String> = pairs.iter().map(|(k, l)| format!("{} and {}", name(*k), name(*l))).collect();
    let c = model.classes().len();
    format!("{} of {}: {}", pairs.len(), c * (c - 1) / 2, names(&each, 60))
}

/// What a model with a kernel keeps, and what it does without.
fn kept(model: &Model, expansion: &Expansion) -> String {
    let all = plural(model.training().rows, "row");
    if !expansion.is_approximate() {
        return format!("{} of {all}, exact (rank {})", expansion.len(), expansion.rank());
    }
    let off = expansion.score_error(model.min_margin().0);
    format!(
        "{} of {all}, low rank: {} of the trace is left out, a difference of two scores can be off by {}",
        expansion.len(),
        percent(expansion.trace_left()),
        upper(off)
    )
}

/// Why a solution is not the optimum, and the one thing to change; `None` if it is.
pub(crate) fn warning(model: &Model) -> Option<String> {
    let training = model.training();
    let gap = match model.certificate().relative_gap() {
        Some(gap) => format!("the relative duality gap is {gap:.1e}"),
        None => "the steps are not negligible yet".into(),
    };
    let spec = model.spec();
    match training.stop {
        Stop::Converged | Stop::Interrupted => None,
        Stop::IterationLimit => {
            let change = match spec.solver {
                AnySolver::Adam(_) => "use --solver auto",
                AnySolver::Lbfgs(_) if !spec.smooth() => "use --solver newton",
                _ => "raise --max-iter",
            };
            let iterations = plural(training.iterations, "iteration");
            Some(format!("not converged after {iterations}, {gap}; {change}"))
        }
        Stop::NoProgress => {
            let change = match spec.solver {
                AnySolver::Lbfgs(_) => "use --solver newton",
                _ => "raise --tol",
            };
            let tol = plain(spec.tol);
            Some(format!("no step improves the objective any more within rounding, {gap}, not {tol}; {change}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lists_end_with_dots() {
        let all: Vec<String> = (0..5).map(|i| format!("class {i}")).collect();
        assert_eq!(names(&all, 25), "class 0, class 1, …");
        assert_eq!(names(&all[..2], 16), "class 0, class 1");
    }
}
