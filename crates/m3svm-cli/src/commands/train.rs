//! `m3svm train`.

use std::path::Path;

use m3svm::metrics::Metrics;
use m3svm::{AnyLoss, Dataset, Model, Progress, Stop};
use m3svm_io::Table;
use m3svm_report::{Report, Step, convergence_section, model_sections, quality_sections};
use serde_json::{Value, json};

use crate::args::TrainArgs;
use crate::files::{check_outputs, print_beside};
use crate::progress::Watcher;
use crate::report::{self, names, plural, tell};
use crate::trace::Trace;
use crate::{print, table};

pub(crate) fn run(args: &TrainArgs) -> anyhow::Result<()> {
    let spec = args.spec.spec()?;
    let outputs = [("model", &args.output), ("trace", &args.trace), ("report", &args.report)];
    check_outputs(&outputs, &args.file, args.json)?;
    let warm = args.warm_start.as_ref().map(Model::load).transpose()?;
    if !spec.penalty.as_dyn().convex() {
        tell("note", "p < 1 is not convex: the result is a local optimum without a certificate");
    }
    let read = args.data.read(&args.file, &args.features)?;
    let title = title(&read);
    let guessed = read.label_name.clone().filter(|_| read.label_guessed);
    let data = read.into_dataset()?;
    let (rows, classes) = (data.rows(), data.classes().len());
    if let Some(name) = guessed.filter(|_| rows >= 20 && 2 * classes > rows) {
        tell(
            "warning",
            &format!("{classes} classes in {rows} rows: is {name} the label? --label chooses another column"),
        );
    }
    let mut watcher = Watcher::start()?;
    let mut trace = args.trace.as_deref().map(Trace::start).transpose()?;
    let mut steps = Vec::new();
    let fitted = spec.fit_owned(data, warm.as_ref(), &mut |at| {
        trace.iter_mut().for_each(|trace| trace.step(at));
        if args.report.is_some() {
            steps.extend(step(at));
        }
        watcher.step(at)
    });
    drop(watcher);
    let (model, scaled) = fitted?;
    if let Some(path) = &args.output {
        model.save(path)?;
    }
    // Only now: the model must not be lost to a full disk of the trace.
    trace.map_or(Ok(()), Trace::finish)?;
    if let Some(path) = &args.report {
        page(&title, &model, &scaled, &steps)?.write(path)?;
    }
    if model.training().stop == Stop::Interrupted {
        let kept = if args.output.is_some() { "written" } else { "shown" };
        tell("note", &format!("interrupted; the best model so far is {kept}"));
    }
    if let Some(warning) = report::warning(&model) {
        tell("warning", &warning);
    }
    if args.json {
        return print(&format!("{}\n", as_json(&model)));
    }
    print_beside(&[&args.output, &args.report], &summary(&title, &model, args.output.as_deref()))
}

/// What was read, in one line.
pub(crate) fn title(read: &Table) -> String {
    let label = match &read.label_name {
        Some(name) => format!(", labels from {}", table::shown(name, 24)),
        None => String::new(),
    };
    let (rows, features) = (plural(read.rows(), "row"), plural(read.x.cols(), "feature"));
    format!("{}: {rows}, {features}{label}\n", report::file(&read.file))
}

/// What the curve of a report needs of an iteration.
pub(crate) fn step(at: &Progress) -> Option<Step> {
    (!at.inner).then_some(Step { iteration: at.iteration, objective: at.objective, relative_gap: at.relative_gap })
}

fn summary(title: &str, model: &Model, output: Option<&Path>) -> String {
    let classes = model.classes();
    let mut lines = vec![("classes", format!("{}: {}", classes.len(), names(classes, 56)))];
    lines.extend(report::settings(model));
    lines.extend(report::outcome(model));
    lines.push(match output {
        Some(path) => ("model", report::file(path)),
        None => ("model", "not written (no -o)".into()),
    });
    format!("{title}{}", table::list(&lines))
}

/// The report: the settings in our words, then what the library of reports has to say.
fn page(title: &str, model: &Model, scaled: &Dataset<'_>, steps: &[Step]) -> anyhow::Result<Report> {
    let predicted = model.predict_scaled(scaled.x())?;
    let metrics = Metrics::new(scaled.y(), &predicted, scaled.weights(), model.classes().len())?;
    let report = Report::new(title.trim_end()).section("Settings").facts(&report::settings(model));
    let report = model_sections(report, model);
    let report = quality_sections(report, model.classes(), &metrics, "training rows");
    Ok(convergence_section(report, model, steps))
}

fn as_json(model: &Model) -> Value {
    let (spec, training, certificate) = (model.spec(), model.training(), model.certificate());
    let (margin, k, l) = model.min_margin();
    let delta = match spec.loss {
        AnyLoss::SmoothHinge(hinge) => Some(hinge.delta),
        AnyLoss::TopKHinge(hinge) => Some(hinge.delta),
        _ => None,
    };
    json!({
        "method": report::method(spec),
        "penalty": spec.penalty.name(),
        "p": spec.penalty.p(),
        "lambda": spec.penalty.lambda(),
        "delta": delta,
        "k": spec.loss.top_k(),
        "epsilon": spec.epsilon,
        "rows": training.rows,
        "features": model.features(),
        "classes": model.classes().len(),
        "class_names": model.classes(),
        "solver": training.solver,
        "problems": training.problems,
        "stop": training.stop.name(),
        "iterations": training.iterations,
        "evaluations": training.evaluations,
        "seconds": training.seconds,
        "objective": certificate.objective,
        "lower_bound": certificate.lower_bound,
        "relative_gap": certificate.relative_gap(),
        "min_margin": margin,
        "min_margin_classes": [model.classes()[k], model.classes()[l]],
        "train_accuracy": model.train_accuracy(),
        "support_vectors": model.support_rows(),
        "surviving_features": model.surviving_features(),
        "nonzero_weights": model.nonzero_weights(),
    })
}
