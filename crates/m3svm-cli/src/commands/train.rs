//! `m3svm train`.

use std::path::{Path, PathBuf};

use anyhow::bail;
use m3svm::metrics::{Metrics, Quality};
use m3svm::select::Validation;
use m3svm::{CachePlace, Dataset, Error, Model, Plan, Progress, Spec, Stop};
use m3svm_io::Table;
use m3svm_report::{Report, Step, convergence_section, model_sections, overview_section, quality_sections};
use serde_json::{Value, json};

use super::held_out::{self, Unseen};
use super::streamed;
use crate::args::TrainArgs;
use crate::files::{all_files, all_written, check_outputs, print_beside};
use crate::interrupt::interrupted;
use crate::progress::Watcher;
use crate::report::{self, names, plural, tell};
use crate::trace::Trace;
use crate::{print, quality, table};

pub(crate) fn run(args: &TrainArgs) -> anyhow::Result<()> {
    let spec = args.spec.spec()?;
    let outputs =
        [("model", args.output.as_deref()), ("trace", args.trace.as_deref()), ("report", args.report.as_deref())];
    let files = all_files(&args.file)?;
    // What an earlier training has left there is an input like any other.
    let cache = args.cache.as_ref().map(|folder| CachePlace { folder: folder.clone(), kept_as: None }.file());
    let others = args.warm_start.as_deref().into_iter().chain(args.test.as_deref()).chain(cache.as_deref());
    let inputs: Vec<&Path> = files.iter().map(PathBuf::as_path).chain(others).collect();
    // A wrong name shows before the training, and not after it.
    if let Some(test) = args.test.as_ref().filter(|test| !test.exists()) {
        bail!("{}: the file does not exist", report::file(test));
    }
    check_outputs(&outputs, &inputs, args.json)?;
    if !spec.penalty.as_dyn().convex() {
        tell("note", "p < 1 is not convex: the result is a local optimum without a certificate");
    }
    match files.as_slice() {
        [file] if args.explain => in_memory(args, &spec, file),
        _ => in_memory_if_it_fits(
            &files,
            |file| in_memory(args, &spec, file),
            || streamed::run(args, &spec, files.clone()),
        ),
    }
}

/// One file at once if there is room for it, and everything else in parts.
pub(super) fn in_memory_if_it_fits(
    files: &[PathBuf],
    at_once: impl Fn(&Path) -> anyhow::Result<()>,
    in_parts: impl Fn() -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    match files {
        [file] if is_beyond_budget(file) => match in_parts() {
            // Not even its columns fit.
            Err(error) if crate::is_over_budget(&error) => at_once(file),
            done => done,
        },
        [file] => match at_once(file) {
            // What comes from a pipe is gone.
            Err(error) if crate::is_over_budget(&error) && file.is_file() => match in_parts() {
                // Not even its columns fit.
                Err(other) if crate::is_over_budget(&other) => Err(error),
                done => done,
            },
            done => done,
        },
        _ => in_parts(),
    }
}

/// Whether a file takes more than the budget as it lies on disk: as many rows as fit would be read in vain first.
fn is_beyond_budget(file: &Path) -> bool {
    file.metadata().is_ok_and(|found| found.is_file() && found.len() > m3svm::memory::budget())
}

/// Trains on a file whose rows are held at once.
fn in_memory(args: &TrainArgs, spec: &Spec, file: &Path) -> anyhow::Result<()> {
    let warm = args.warm_start.as_ref().map(Model::load).transpose()?;
    let (read, groups) = args.data.read_grouped(file, &args.columns, args.groups.as_deref())?;
    let title = title(&read);
    let (guessed, name) = (read.label_guessed, read.label_name.clone());
    let alone = args.explain || args.validation == Validation::None;
    // If no rows are prepared anew, the table itself is not needed any more.
    let data = if alone { read.without_columns() } else { read }.into_dataset()?;
    many_classes(data.rows(), data.classes().len(), name.as_deref(), guessed);
    let plan = Plan::of(spec, &data, warm.is_some())?;
    if args.explain {
        return print(&if args.json {
            format!("{}\n", json!({ "plan": plan.decisions }))
        } else {
            title + &explained(&plan)
        });
    }
    let (splits, mut why_not) = held_out::splits(args.validation, spec, &data, groups.as_deref())?;
    let counts = class_counts(&data);
    let mut watcher = Watcher::start()?;
    let mut trace = args.trace.as_deref().map(Trace::start).transpose()?;
    let mut steps = Vec::new();
    let mut watch = |at: &Progress| {
        trace.iter_mut().for_each(|trace| trace.step(at));
        if args.report.is_some() {
            steps.extend(step(at));
        }
        watcher.step(at)
    };
    // Rows are needed again, so the fit works on a copy; if there is no room for one, they are not held out.
    let of_copy = match splits.as_slice() {
        [] => None,
        _ => match spec.fit_watched(&data, warm.as_ref(), &mut watch) {
            Err(Error::Memory { .. }) if args.validation == Validation::Auto => {
                why_not = Some(held_out::TOO_LARGE);
                None
            }
            fitted => Some(fitted?),
        },
    };
    let (mut model, seen, data) = match of_copy {
        Some(model) => {
            let seen = args.report.as_ref().map(|_| seen_as_is(&model, &data)).transpose()?;
            (model, seen, Some(data))
        }
        None => {
            let (model, scaled) = spec.fit_owned(data, warm.as_ref(), &mut watch)?;
            let seen = args.report.as_ref().map(|_| seen(&model, &scaled)).transpose()?;
            (model, seen, None)
        }
    };
    drop(watcher);
    why_not.into_iter().for_each(|why| tell("note", why));
    let mut unseen = Unseen::default();
    if let Some(data) = data.as_ref().filter(|_| !interrupted()) {
        let groups = groups.as_deref();
        let held = held_out::hold_out(spec, data, groups, &splits)?;
        model = held_out::with_probabilities(model, held.as_ref())?;
        if let Some(held) = &held {
            let quality = held.quality()?;
            unseen.balanced = held_out::try_balanced(spec, data, groups, &splits, &quality)?;
            unseen.held = Some((held_out::how(&splits, data.rows()), quality));
        }
    }
    let test = tested(args, &model, &mut unseen);
    all_written([
        args.output.as_ref().map_or(Ok(()), |path| Ok(model.save_or_keep(path)?)),
        trace.map_or(Ok(()), |trace| Ok(trace.finish(&model)?)),
        args.report.as_ref().zip(seen).map_or(Ok(()), |(path, seen)| {
            Ok(page(&title, &model, &plan, &seen, &unseen, &steps).write_or_keep(path)?)
        }),
        test,
    ])?;
    finish(args, &title, &model, Some(&plan), &Learnt { counts: Some(counts), unseen })
}

/// What is known of a training besides its model.
#[derive(Default)]
pub(super) struct Learnt {
    /// Rows by class.
    pub(super) counts: Option<Vec<usize>>,
    pub(super) unseen: Unseen,
}

/// Measures on the test file, if there is one.
pub(super) fn tested(args: &TrainArgs, model: &Model, unseen: &mut Unseen) -> anyhow::Result<()> {
    if let Some(file) = &args.test {
        unseen.test = Some((file.clone(), held_out::on_file(model, &args.data, file)?));
    }
    Ok(())
}

fn class_counts(data: &Dataset<'_>) -> Vec<usize> {
    let mut counts = vec![0; data.classes().len()];
    data.y().iter().for_each(|&k| counts[k as usize] += 1);
    counts
}

/// How well a model does on its training rows, which are scaled.
fn seen(model: &Model, scaled: &Dataset<'_>) -> anyhow::Result<Metrics> {
    let predicted = model.predict_scaled(scaled.x())?;
    Ok(Metrics::new(scaled.y(), &predicted, scaled.weights(), model.classes().len())?)
}

/// The same for rows as they came.
fn seen_as_is(model: &Model, data: &Dataset<'_>) -> anyhow::Result<Metrics> {
    let predicted = model.predict(data.x())?;
    Ok(Metrics::new(data.y(), &predicted, data.weights(), model.classes().len())?)
}

/// Says how a training went.
pub(super) fn finish(
    args: &TrainArgs,
    title: &str,
    model: &Model,
    plan: Option<&Plan>,
    learnt: &Learnt,
) -> anyhow::Result<()> {
    if model.training().stop == Stop::Interrupted {
        let kept = if args.output.is_some() { "written" } else { "shown" };
        tell("note", &format!("interrupted; the best model so far is {kept}"));
    }
    if let Some(warning) = report::warning(model) {
        tell("warning", &warning);
    }
    if args.json {
        return print(&format!("{}\n", as_json(model, plan, learnt)));
    }
    print_beside(&[&args.output, &args.report, &args.trace], &summary(args, title, model, learnt))
}

/// Warns of a label that may be none.
pub(crate) fn many_classes(rows: usize, classes: usize, label: Option<&str>, guessed: bool) {
    if rows >= 20 && 10 * classes > rows {
        let name = table::shown(label.unwrap_or("the column"), 40);
        let guessed = if guessed { ", which was guessed," } else { "" };
        tell(
            "warning",
            &format!("{classes} classes in {rows} rows: is {name}{guessed} the label? --label chooses another column"),
        );
    }
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

/// The decisions of a plan, with their reasons beside and below them.
fn explained(plan: &Plan) -> String {
    let names: Vec<String> = plan.decisions.iter().map(|made| made.about.to_string()).collect();
    let room = table::room_beside(&names);
    let lines = plan.decisions.iter().flat_map(|made| {
        let text = format!("{}: {}", made.choice, made.reason);
        let lines = table::folded(&text, room);
        lines
            .into_iter()
            .enumerate()
            .map(|(at, line)| (if at == 0 { made.about } else { "" }, line))
            .collect::<Vec<_>>()
    });
    table::list(&lines.collect::<Vec<_>>())
}

fn summary(args: &TrainArgs, title: &str, model: &Model, learnt: &Learnt) -> String {
    let classes = model.classes();
    let named = match &learnt.counts {
        Some(counts) => quality::class_counts(classes, counts, 56),
        None => format!("{}: {}", classes.len(), names(classes, 56)),
    };
    let mut lines = vec![("classes", named)];
    lines.extend(report::settings(model));
    lines.extend(args.data.weight_column().map(|column| ("row weights", column)));
    let mut outcome = report::outcome(model);
    let seen = outcome.iter().position(|(name, _)| *name == "train accuracy").unwrap_or(outcome.len());
    drop(outcome.splice(seen..seen, learnt.unseen.lines()));
    lines.extend(outcome);
    lines.push(match args.output.as_deref() {
        Some(path) => ("model", report::file(path)),
        None => ("model", "not written (no -o)".into()),
    });
    format!("{title}{}", table::list(&lines))
}

/// The report: the settings in our words, then what the library of reports has to say.
fn page(title: &str, model: &Model, plan: &Plan, seen: &Metrics, unseen: &Unseen, steps: &[Step]) -> Report {
    let report = Report::new(title.trim_end()).made_by(&report::made_by());
    let held = unseen.held.as_ref().map(|(how, quality)| (format!("rows held out ({how})"), quality));
    let test = unseen.test.as_ref().map(|(file, quality)| (format!("rows of {}", report::file(file)), quality));
    let others: Vec<(String, &Quality)> = held.into_iter().chain(test).collect();
    let report = overview_section(report, model, seen, &others).section("Settings").facts(&report::settings(model));
    let mut report = model_sections(report, model);
    for (rows, quality) in &others {
        report = quality_sections(report, model.classes(), &quality.metrics, rows);
        report = report.facts(&quality::measures(quality, None));
    }
    let report = quality_sections(report, model.classes(), seen, "training rows");
    let report = convergence_section(report, model, steps);
    let facts: Vec<(&str, String)> =
        plan.decisions.iter().map(|made| (made.about, format!("{}: {}", made.choice, made.reason))).collect();
    report.section("Plan of the fit").facts(&facts)
}

fn as_json(model: &Model, plan: Option<&Plan>, learnt: &Learnt) -> Value {
    let [held, balanced, test] = learnt.unseen.as_json();
    let (spec, training, certificate) = (model.spec(), model.training(), model.certificate());
    let (margin, k, l) = model.min_margin();
    let mut all = json!({
        "method": report::method(spec),
        "penalty": spec.penalty.name(),
        "hard_margin": spec.hard_margin,
        "epsilon": spec.epsilon,
        "kernel": report::kernel(model),
        "rows": training.rows,
        "features": model.features(),
        "classes": model.classes().len(),
        "class_names": model.classes(),
        "solver": training.solver,
        "plan": plan.map(|plan| &plan.decisions),
        "problems": training.problems,
        "stop": training.stop.name(),
        "iterations": training.iterations,
        "evaluations": training.evaluations,
        "passes": training.passes,
        "lambda_choice": training.lambda,
        "seconds": training.seconds,
        "objective": certificate.objective,
        "lower_bound": certificate.lower_bound,
        "relative_gap": certificate.relative_gap(),
        "min_margin": margin,
        "min_margin_classes": [model.classes()[k], model.classes()[l]],
        "pairs_of_smallest_margin": report::longest_pairs(model),
        "class_counts": learnt.counts,
        "held_out": held,
        "held_out_if_balanced": balanced,
        "test": test,
        "train_accuracy": model.train_accuracy(),
        "temperature": model.temperature(),
        "support_vectors": model.support_rows(),
        "surviving_features": model.surviving_features(),
        "nonzero_weights": model.nonzero_weights(),
    });
    all.as_object_mut().into_iter().for_each(|all| all.extend(report::numbers(spec)));
    all
}
