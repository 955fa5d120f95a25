//! Models and results in words.

use std::io::{self, Write};
use std::path::Path;

use m3svm::text::plain;
pub(crate) use m3svm::text::{count, digits, percent, plural, upper};
use m3svm::{AnyPenalty, AnySolver, Certificate, ClassWeight, Method, Model, Scaling, Spec, Stop};

use crate::table::{shown, width};

/// Says something on standard error. Names in messages come from files: none of them may steer the terminal.
pub(crate) fn tell(kind: &str, message: &str) {
    let clean: String = message.chars().map(|c| if c.is_control() && c != '\n' { '\u{fffd}' } else { c }).collect();
    // Nobody is there to be told if this fails.
    let _ = writeln!(io::stderr(), "{kind}: {clean}");
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
    let penalty = spec.penalty.as_dyn().describe();
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
    let run =
        format!("{}, {}, {} s", training.solver, plural(training.iterations, "iteration"), digits(training.seconds, 2));
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
    if matches!(model.spec().penalty, AnyPenalty::Lasso(_)) {
        lines.push(("features in use", survivors(model)));
    }
    if let Some(rows) = model.support_rows() {
        lines.push(("support vectors", format!("{rows} of {}", plural(training.rows, "row"))));
    }
    lines
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
