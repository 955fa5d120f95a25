//! `m3svm train` on rows that need not fit into memory, and what other commands need for that.

use std::path::{Path, PathBuf};

use m3svm::select::Validation;
use m3svm::{CachePlace, Fit, Model, Spec};
use m3svm_io::RowFiles;
use m3svm_report::{Report, convergence_section, model_sections};

use super::held_out;
use super::train::{Learnt, finish, many_classes, step, tested};
use crate::args::{TrainArgs, prepared};
use crate::files::all_written;
use crate::progress::Watcher;
use crate::report::{self, plural, tell};
use crate::table;
use crate::trace::Trace;

/// How rows of a source are to be had, which stay in a folder if there is one.
pub(super) fn with_cache(folder: Option<&Path>, source: &RowFiles) -> anyhow::Result<Fit> {
    let place = match folder {
        Some(folder) => CachePlace { folder: folder.to_path_buf(), kept_as: Some(source.made_of()?) },
        None => CachePlace::default(),
    };
    Ok(Fit { place, ..Fit::default() })
}

/// What was read, in one line.
pub(super) fn title(files: &[PathBuf], rows: usize, features: usize, label: Option<&str>) -> String {
    let of = match files {
        [one] => report::file(one),
        several => plural(several.len(), "file"),
    };
    let label = label.map(|name| format!(", labels from {}", table::shown(name, 24))).unwrap_or_default();
    format!("{of}: {}, {}{label}\n", plural(rows, "row"), plural(features, "feature"))
}

pub(crate) fn run(args: &TrainArgs, spec: &Spec, files: Vec<PathBuf>) -> anyhow::Result<()> {
    if args.groups.is_some() {
        anyhow::bail!("`--groups` needs one file that fits into memory");
    }
    if args.explain {
        anyhow::bail!("`--explain` needs one file that fits into memory");
    }
    let warm = args.warm_start.as_ref().map(Model::load).transpose()?;
    let mut source = RowFiles::new(files, args.data.for_training(&args.columns)?);
    let fit = with_cache(args.cache.as_deref(), &source)?;
    let mut watcher = Watcher::start()?.until(spec.tol);
    let mut trace = args.trace.as_deref().map(Trace::start).transpose()?;
    let mut steps = Vec::new();
    let fitted = fit.of_source_watched(spec, &mut source, warm.as_ref(), &mut |at| {
        trace.iter_mut().for_each(|trace| trace.step(at));
        if args.report.is_some() {
            steps.extend(step(at));
        }
        watcher.step(at)
    });
    drop(watcher);
    let model = fitted?;
    let label = source.label_name();
    if let Some((name, guessed)) = label {
        many_classes(model.training().rows, model.classes().len(), Some(name), guessed);
    }
    prepared(source.left_out(), source.dropped(), label);
    if let Some(passes) = model.training().passes {
        tell("note", &format!("the rows did not fit into memory and were read {passes} times"));
    }
    let title = title(&args.file, model.training().rows, model.features(), label.map(|(name, _)| name));
    if args.test.is_none() && args.validation != Validation::None {
        tell("note", held_out::TOO_LARGE);
    }
    let mut learnt = Learnt::default();
    let test = tested(args, &model, &mut learnt.unseen);
    let page = || {
        let report = Report::new(title.trim_end())
            .made_by(&report::made_by())
            .section("Settings")
            .facts(&report::settings(&model));
        convergence_section(model_sections(report, &model), &model, &steps)
    };
    all_written([
        args.output.as_ref().map_or(Ok(()), |path| Ok(model.save_or_keep(path)?)),
        trace.map_or(Ok(()), |trace| Ok(trace.finish(&model)?)),
        args.report.as_ref().map_or(Ok(()), |path| Ok(page().write_or_keep(path)?)),
        test,
    ])?;
    finish(args, &title, &model, None, &learnt)
}
