//! One C99 source: tables of numbers, and the few lines of code that use them. It includes nothing but `math.h`, and that only for
//! probabilities.

use std::fmt::Write;

use m3svm::{Encoding, Kernel, Preprocessor};

use crate::error::{Error, Result};
use crate::portable::{Portable, PortableKernel};

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What stands for the prefix in the templates; no number and no string literal contains it.
const PREFIX: char = '@';

/// The source. `prefix` begins all names, so that several models fit into one program.
pub(crate) fn source(model: &Portable<'_>, prefix: &str) -> Result<String> {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if !(prefix.starts_with(|c: char| c.is_ascii_alphabetic()) && prefix.chars().all(word)) {
        return Err(Error::Prefix { found: prefix.into() });
    }
    model.no_words("C")?;
    let mut out = head(model);
    prepare(model, &mut out);
    tables(model, &mut out);
    let (begin, sum) = match &model.kernel {
        None => ("", LINEAR_SUM),
        Some(kernel) => {
            out.push_str(&SCORERS.replace("KERNEL", &kernel_of(kernel)));
            ("    double said[@_SCORER_COUNT];\n    @_scorers(x, said);\n", "double sum = said[NUMBER];\n")
        }
    };
    let (scores, number) = if model.votes() { (VOTES, "pair") } else { (SCORES, "k") };
    // Within one loop, or within two.
    let indent = if model.votes() { "            " } else { "        " };
    let sum = sum.replace("NUMBER", number).replace('\n', &format!("\n{indent}"));
    out.push_str(&scores.replace("BEGIN", begin).replace("SUM\n", sum.trim_end_matches(' ')));
    out.push_str(PREDICT);
    if model.preprocessor.is_some() {
        out.push_str(PREDICT_ROW);
    }
    if let Some(temperature) = model.temperature {
        out.push_str(&PROBABILITIES.replace("TEMPERATURE", &format!("{temperature:?}")));
    }
    Ok(out.replace(PREFIX, prefix))
}

fn head(model: &Portable<'_>) -> String {
    let (classes, features) = (model.classes.len(), model.features);
    let rows = match model.preprocessor.map(Preprocessor::columns) {
        None => String::new(),
        Some(columns) => {
            let mut text = format!(
                "\n *\n * The features are made of {} columns of a table:\n \
                 *   typedef struct {{ double number; const char *text; }} @_cell;\n \
                 *   void @_prepare(const @_cell *row, double *x);\n \
                 *   int @_predict_row(const @_cell *row);  the position of the class in @_classes\n \
                 * A missing number is NAN, a missing text NULL or \"\"; times are days since 1970. The columns are:",
                columns.len()
            );
            for (i, column) in columns.iter().enumerate() {
                let _ = write!(text, "\n *   {i}: {} ({})", harmless(&column.shown(i)), column.kind.name());
            }
            text
        }
    };
    let strings = if model.preprocessor.is_some() { "#include <string.h>\n\n" } else { "" };
    let needs_math = model.temperature.is_some()
        || model.kernel.as_ref().is_some_and(|kernel| !matches!(kernel.kernel, Kernel::Polynomial { .. }));
    let (math, library) = if needs_math { ("#include <math.h>\n\n", " -lm") } else { ("", "") };
    let kind = if model.kernel.is_some() { "A classifier with a kernel, of" } else { "A linear classifier of" };
    let declared = match model.temperature {
        Some(_) => "\n *   void @_probabilities(const double *x, double *probabilities);  one per class",
        None => "",
    };
    format!(
        "/* {kind} {classes} classes and {features} features (method {}), written by m3svm {VERSION}.
 *
 * C99, nothing is allocated. Compile it with your program:
 *   cc -std=c99 -O2 program.c this_file.c{library}
 * and declare what you use; x are the {features} features as they were before any scaling:
 *   extern const char *const @_classes[{classes}];
 *   int @_predict(const double *x);  the position of the class in @_classes
 *   void @_scores(const double *x, double *scores);  one per class, the highest wins{declared}{rows}
 */
{math}{strings}enum {{ @_CLASS_COUNT = {classes}, @_FEATURE_COUNT = {features}, @_SCORER_COUNT = {} }};

",
        model.method_name(),
        model.scorers(),
    )
}

/// A name inside a comment.
fn harmless(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_ascii_alphanumeric() || matches!(c, ' ' | '_' | '-' | '.' | '(' | ')') { c } else { '?' })
        .collect()
}

/// The code that makes features of a row.
fn prepare(model: &Portable<'_>, out: &mut String) {
    let Some(preprocessor) = model.preprocessor else { return };
    let mut code = String::new();
    let mut first = 0;
    for (i, column) in preprocessor.columns().iter().enumerate() {
        match &column.encoding {
            Encoding::Unused {} | Encoding::Words { .. } => {}
            Encoding::Number { fill, shift, parts, indicator } => {
                let gap = fill.map_or_else(|| format!("row[{i}].number"), |fill| format!("{fill:?}"));
                let _ = writeln!(code, "    missing = row[{i}].number != row[{i}].number;");
                let _ = writeln!(code, "    x[{first}] = (missing ? {gap} : row[{i}].number) - ({shift:?});");
                let mut at = first + 1;
                for part in parts {
                    let _ =
                        writeln!(code, "    if (!missing)\n        x[{at} + @_{}(row[{i}].number)] = 1;", part.name());
                    at += part.width();
                }
                if *indicator {
                    let _ = writeln!(code, "    x[{at}] = missing;");
                }
            }
            Encoding::Values { values, others, fill, indicator } => {
                let all = values.iter().chain(others);
                let list: String = all.map(|text| format!("        {},\n", literal(text))).collect();
                let count = values.len() + others.len();
                let _ = writeln!(out, "static const char *const @_values_{i}[{}] = {{\n{list}    }};\n", count.max(1));
                let _ = writeln!(code, "    missing = !row[{i}].text || !*row[{i}].text;");
                let fill = fill.map_or(-1, |k| k as i64);
                let _ = writeln!(code, "    k = missing ? {fill} : @_find(row[{i}].text, @_values_{i}, {count});");
                // All rarer values have the one feature behind the others.
                let most = if others.is_empty() { values.len().saturating_sub(1) } else { values.len() };
                let _ = writeln!(code, "    if (k >= 0)\n        x[{first} + (k < {most} ? k : {most})] = 1;");
                if *indicator {
                    let _ = writeln!(code, "    x[{}] = missing;", first + column.encoding.width() - 1);
                }
            }
        }
        first += column.encoding.width();
    }
    out.push_str(FIND);
    let columns = preprocessor.columns().iter();
    if columns.into_iter().any(|c| matches!(&c.encoding, Encoding::Number { parts, .. } if !parts.is_empty())) {
        out.push_str(TIMES);
    }
    out.push_str(&PREPARE.replace("CODE", &code));
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
    if let Some(kernel) = &model.kernel {
        out.push_str("};\n");
        return kernel_tables(model, kernel, out);
    }
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

const FIND: &str = r"typedef struct { double number; const char *text; } @_cell;

int @_find(const char *text, const char *const *values, int count);
int @_find(const char *text, const char *const *values, int count)
{
    for (int k = 0; k < count; k++)
        if (strcmp(text, values[k]) == 0)
            return k;
    return -1;
}
";

const TIMES: &str = r"
/* Parts of times in days since 1970: from Monday, from January, from midnight. */
long long @_day(double days);
long long @_day(double days)
{
    long long day;
    if (!(days > -1e12 && days < 1e12))
        return 0;
    day = (long long)days;
    return (double)day > days ? day - 1 : day;
}

int @_weekday(double days);
int @_weekday(double days)
{
    return (int)(((@_day(days) + 3) % 7 + 7) % 7);
}

int @_month(double days);
int @_month(double days)
{
    long long day = ((@_day(days) + 719468) % 146097 + 146097) % 146097;
    long long year = (day - day / 1460 + day / 36524 - day / 146096) / 365;
    day -= 365 * year + year / 4 - year / 100;
    return (int)(((5 * day + 2) / 153 + 2) % 12);
}

int @_hour(double days);
int @_hour(double days)
{
    int hour = (int)(24 * (days - (double)@_day(days)) + 12.0 / 86400000.0);
    return hour < 0 || hour > 23 ? 23 : hour;
}
";

const PREPARE: &str = r"
/* Makes the features of a row. */
void @_prepare(const @_cell *row, double *x);
void @_prepare(const @_cell *row, double *x)
{
    int missing = 0, k = 0;
    for (int j = 0; j < @_FEATURE_COUNT; j++)
        x[j] = 0;
CODE    (void)missing;
    (void)k;
}

";

const PREDICT_ROW: &str = r"
int @_predict_row(const @_cell *row);
int @_predict_row(const @_cell *row)
{
    double x[@_FEATURE_COUNT];
    @_prepare(row, x);
    return @_predict(x);
}
";

/// What a linear scorer says, and by NUMBER which one.
const LINEAR_SUM: &str = "double sum = @_intercept[NUMBER];
for (int j = 0; j < @_FEATURE_COUNT; j++)
    sum += @_weights[NUMBER][j] * x[j];
";

/// What all scorers say: sums over rows. KERNEL makes `sum` the value of the kernel for `scaled` and `row`.
const SCORERS: &str = r"
static void @_scorers(const double *x, double *said)
{
    double scaled[@_FEATURE_COUNT];
    for (int j = 0; j < @_FEATURE_COUNT; j++)
        scaled[j] = (x[j] - @_shift[j]) * @_factor[j];
    for (int k = 0; k < @_SCORER_COUNT; k++)
        said[k] = @_intercept[k];
    for (int i = 0; i < @_ROW_COUNT; i++) {
        const double *row = @_rows[i];
        double sum = 0;
KERNEL
        for (int k = 0; k < @_SCORER_COUNT; k++)
            said[k] += sum * @_coefficients[i][k];
    }
}
";

/// The lines that compute the value of a kernel.
fn kernel_of(kernel: &PortableKernel) -> String {
    let over = |body: &str| format!("        for (int j = 0; j < @_FEATURE_COUNT; j++)\n            {body}\n");
    let gamma = kernel.gamma;
    match kernel.kernel {
        Kernel::Rbf { .. } => {
            over("sum += (scaled[j] - row[j]) * (scaled[j] - row[j]);")
                + &format!("        sum = exp(-{gamma:?} * sum);")
        }
        Kernel::Laplacian { .. } => {
            over("sum += fabs(scaled[j] - row[j]);") + &format!("        sum = exp(-{gamma:?} * sum);")
        }
        Kernel::Polynomial { degree, coef0, .. } => {
            over("sum += scaled[j] * row[j];")
                + &format!("        const double base = {gamma:?} * sum + {coef0:?};\n        sum = 1;\n")
                + &format!("        for (int times = 0; times < {degree}; times++)\n            sum *= base;")
        }
        Kernel::Cosine => {
            "        double own = 0, other = 0;\n        for (int j = 0; j < @_FEATURE_COUNT; j++) {\n".to_string()
                + "            sum += scaled[j] * row[j];\n            own += scaled[j] * scaled[j];\n"
                + "            other += row[j] * row[j];\n        }\n"
                + "        sum = own > 0 && other > 0 ? sum / (sqrt(own) * sqrt(other)) : 0;"
        }
        Kernel::Linear | Kernel::Precomputed => over("sum += scaled[j] * row[j];"),
    }
}

fn kernel_tables(model: &Portable<'_>, kernel: &PortableKernel, out: &mut String) {
    let _ = write!(out, "\nenum {{ @_ROW_COUNT = {} }};\n", kernel.count);
    for (name, values) in [("shift", &kernel.shift), ("factor", &kernel.factor)] {
        let _ = write!(out, "\nstatic const double @_{name}[@_FEATURE_COUNT] = {{\n    ");
        numbers(out, values);
        out.push_str("};\n");
    }
    let tables = [
        ("rows", "FEATURE", &kernel.rows, model.features),
        ("coefficients", "SCORER", &kernel.coefficients, model.scorers()),
    ];
    for (name, columns, values, width) in tables {
        let _ = write!(out, "\nstatic const double @_{name}[@_ROW_COUNT][@_{columns}_COUNT] = {{\n");
        for row in values.chunks_exact(width) {
            out.push_str("    { ");
            numbers(out, row);
            out.push_str("},\n");
        }
        out.push_str("};\n");
    }
}

const SCORES: &str = r"
void @_scores(const double *x, double *scores);
void @_scores(const double *x, double *scores)
{
BEGIN    for (int k = 0; k < @_CLASS_COUNT; k++) {
        SUM
        scores[k] = sum;
    }
}
";

const VOTES: &str = r"
/* Votes of all pairs of classes, plus less than a third that decides among equal votes. */
void @_scores(const double *x, double *scores);
void @_scores(const double *x, double *scores)
{
BEGIN    double sums[@_CLASS_COUNT];
    for (int k = 0; k < @_CLASS_COUNT; k++)
        scores[k] = sums[k] = 0;
    int pair = 0;
    for (int k = 0; k < @_CLASS_COUNT; k++) {
        for (int l = k + 1; l < @_CLASS_COUNT; l++) {
            SUM
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
