//! How well a model does on rows, in words and as JSON.

use m3svm::metrics::{Metrics, Quality};
use m3svm::text::{digits, percent};
use serde_json::{Value, json};

use crate::table::{shown, width};

/// An accuracy with its interval.
pub(crate) fn accuracy(quality: &Quality) -> String {
    let (low, high) = quality.interval;
    format!("{} (95 % interval {:.1} to {:.1} %)", percent(quality.metrics.accuracy), 100.0 * low, 100.0 * high)
}

/// What always guessing would do.
pub(crate) fn guessing(quality: &Quality) -> String {
    format!("{} right by always guessing the largest class", percent(quality.majority))
}

/// Everything measured, one per line; `top`: how often the true class is among the best k.
pub(crate) fn measures(quality: &Quality, top: Option<(usize, f64)>) -> Vec<(String, String)> {
    let number = |value: f64| digits(value, 4);
    let mut lines = vec![
        ("accuracy".to_string(), accuracy(quality)),
        ("largest class".into(), guessing(quality)),
        ("balanced accuracy".into(), percent(quality.metrics.balanced_accuracy())),
    ];
    lines.extend(top.map(|(k, share)| (format!("among the best {k}"), percent(share))));
    lines.extend(quality.areas.one_vs_rest.map(|area| ("AUC, one against rest".into(), number(area))));
    lines.extend(quality.areas.pairwise.map(|area| ("AUC, pairs of classes".into(), number(area))));
    lines.extend(quality.log_loss.map(|loss| ("log-loss".into(), number(loss))));
    lines.extend(quality.calibration_error.map(|error| ("calibration error".into(), number(error))));
    lines
}

/// Classes with their rows, as many as fit.
pub(crate) fn class_counts(classes: &[String], counts: &[usize], room: usize) -> String {
    let mut text = format!("{}: ", classes.len());
    for (i, (name, rows)) in classes.iter().zip(counts).enumerate() {
        let part = format!("{}{} {rows}", if i > 0 { ", " } else { "" }, shown(name, 24));
        let more = if i + 1 < classes.len() { width(", …") } else { 0 };
        if i > 0 && width(&text) + width(&part) + more > room {
            return text + ", …";
        }
        text += &part;
    }
    text
}

/// The same for JSON.
pub(crate) fn as_json(quality: &Quality) -> Value {
    let Quality { metrics, interval, majority, areas, log_loss, calibration_error } = quality;
    json!({
        "rows": metrics.rows,
        "accuracy": metrics.accuracy,
        "accuracy_interval": [interval.0, interval.1],
        "largest_class": majority,
        "balanced_accuracy": metrics.balanced_accuracy(),
        "macro_f1": metrics.macro_average.f1,
        "log_loss": log_loss,
        "calibration_error": calibration_error,
        "auc_one_vs_rest": areas.one_vs_rest,
        "auc_pairwise": areas.pairwise,
    })
}

/// Whether rare classes are found clearly less often than frequent ones.
pub(crate) fn is_uneven(metrics: &Metrics) -> bool {
    metrics.accuracy - metrics.balanced_accuracy() > 0.1
}

/// What weights of classes would change, in a sentence.
pub(crate) fn balance(plain: &Metrics, balanced: &Metrics) -> String {
    let both = |metrics: &Metrics| (percent(metrics.accuracy), percent(metrics.balanced_accuracy()));
    let ((accuracy, mean), (other, other_mean)) = (both(plain), both(balanced));
    format!(
        "rare classes are found less often than frequent ones: the accuracy of held-out rows is {accuracy}, the mean over classes {mean}; \
         with --class-weight balanced they would be {other} and {other_mean}"
    )
}
