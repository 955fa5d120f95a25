//! One C99 source: tables of numbers, and the few lines of code that use them. It includes nothing but `math.h`, and that only for
//! probabilities.

use std::fmt::Write;

use crate::error::{Error, Result};
use crate::portable::Portable;

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What stands for the prefix in the templates; no number and no string literal contains it.
const PREFIX: char = '@';

/// The source. `prefix` begins all names, so that several models fit into one program.
pub(crate) fn source(model: &Portable<'_>, prefix: &str) -> Result<String> {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if !(prefix.starts_with(|c: char| c.is_ascii_alphabetic()) && prefix.chars().all(word)) {
        return Err(Error::Prefix { found: prefix.into() });
    }
    let mut out = head(model);
    tables(model, &mut out);
    out.push_str(if model.votes() { VOTES } else { SCORES });
    out.push_str(PREDICT);
    if let Some(temperature) = model.temperature {
        out.push_str(&PROBABILITIES.replace("TEMPERATURE", &format!("{temperature:?}")));
    }
    Ok(out.replace(PREFIX, prefix))
}

fn head(model: &Portable<'_>) -> String {
    let (classes, features) = (model.classes.len(), model.features);
    let (math, library, declared) = match model.temperature {
        Some(_) => (
            "#include <math.h>\n\n",
            " -lm",
            "\n *   void @_probabilities(const double *x, double *probabilities);  one per class",
        ),
        None => ("", "", ""),
    };
    format!(
        "/* A linear classifier of {classes} classes and {features} features (method {}), written by m3svm {VERSION}.
 *
 * C99, nothing is allocated. Compile it with your program:
 *   cc -std=c99 -O2 program.c this_file.c{library}
 * and declare what you use; x are the {features} features as they were before any scaling:
 *   extern const char *const @_classes[{classes}];
 *   int @_predict(const double *x);  the position of the class in @_classes
 *   void @_scores(const double *x, double *scores);  one per class, the highest wins{declared}
 */
{math}enum {{ @_CLASS_COUNT = {classes}, @_FEATURE_COUNT = {features}, @_SCORER_COUNT = {} }};

",
        model.method_name(),
        model.scorers(),
    )
}

fn tables(model: &Portable<'_>, out: &mut String) {
    let quoted = |names: &[String]| names.iter().map(|name| format!("    {},\n", literal(name))).collect::<String>();
    out.push_str(
        "extern const char *const @_classes[@_CLASS_COUNT];\nconst char *const @_classes[@_CLASS_COUNT] = {\n",
    );
    out.push_str(&quoted(model.classes));
    out.push_str("};\n\n");
    out.push_str("static const double @_intercept[@_SCORER_COUNT] = {\n    ");
    numbers(out, &model.intercept);
    out.push_str("};\n\nstatic const double @_weights[@_SCORER_COUNT][@_FEATURE_COUNT] = {\n");
    for k in 0..model.scorers() {
        out.push_str("    { ");
        numbers(out, model.scorer(k));
        out.push_str("},\n");
    }
    out.push_str("};\n");
}

/// Every number as the shortest text that reads back as itself.
fn numbers(out: &mut String, all: &[f64]) {
    const PER_LINE: usize = 6;
    for (i, number) in all.iter().enumerate() {
        let end = if i % PER_LINE == PER_LINE - 1 && i + 1 < all.len() { ",\n    " } else { ", " };
        let _ = write!(out, "{number:?}{end}");
    }
}

/// A string literal. Everything but letters, digits and harmless signs is written as octal numbers of its bytes, which end after three digits.
fn literal(text: &str) -> String {
    let mut out = String::from("\"");
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b' ' | b'_' | b'-' | b'+' | b'.' | b',' | b':' => {
                out.push(char::from(byte));
            }
            other => {
                let _ = write!(out, "\\{other:03o}");
            }
        }
    }
    out.push('"');
    out
}

const SCORES: &str = r"
void @_scores(const double *x, double *scores);
void @_scores(const double *x, double *scores)
{
    for (int k = 0; k < @_CLASS_COUNT; k++) {
        double sum = @_intercept[k];
        for (int j = 0; j < @_FEATURE_COUNT; j++)
            sum += @_weights[k][j] * x[j];
        scores[k] = sum;
    }
}
";

const VOTES: &str = r"
/* Votes of all pairs of classes, plus less than a third that decides among equal votes. */
void @_scores(const double *x, double *scores);
void @_scores(const double *x, double *scores)
{
    double sums[@_CLASS_COUNT];
    for (int k = 0; k < @_CLASS_COUNT; k++)
        scores[k] = sums[k] = 0;
    int pair = 0;
    for (int k = 0; k < @_CLASS_COUNT; k++) {
        for (int l = k + 1; l < @_CLASS_COUNT; l++) {
            double sum = @_intercept[pair];
            for (int j = 0; j < @_FEATURE_COUNT; j++)
                sum += @_weights[pair][j] * x[j];
            scores[sum >= 0 ? k : l] += 1;
            sums[k] += sum;
            sums[l] -= sum;
            pair++;
        }
    }
    for (int k = 0; k < @_CLASS_COUNT; k++)
        scores[k] += sums[k] / (3 * ((sums[k] < 0 ? -sums[k] : sums[k]) + 1));
}
";

const PREDICT: &str = r"
int @_predict(const double *x);
int @_predict(const double *x)
{
    double scores[@_CLASS_COUNT];
    int best = 0;
    @_scores(x, scores);
    for (int k = 1; k < @_CLASS_COUNT; k++)
        if (scores[k] > scores[best])
            best = k;
    return best;
}
";

const PROBABILITIES: &str = r"
void @_probabilities(const double *x, double *probabilities);
void @_probabilities(const double *x, double *probabilities)
{
    @_scores(x, probabilities);
    double highest = probabilities[0], sum = 0;
    for (int k = 1; k < @_CLASS_COUNT; k++)
        if (probabilities[k] > highest)
            highest = probabilities[k];
    for (int k = 0; k < @_CLASS_COUNT; k++)
        sum += probabilities[k] = exp((probabilities[k] - highest) / TEMPERATURE);
    for (int k = 0; k < @_CLASS_COUNT; k++)
        probabilities[k] /= sum;
}
";
