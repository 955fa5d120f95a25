//! `m3svm tune`.

mod outcome;
mod page;

use std::time::Instant;

use anyhow::bail;
use m3svm::metrics::Metrics;
use m3svm::select::{Journal, Nested, Search, SearchResult};
use m3svm::{Dataset, Error, Model, Stop};
use m3svm_report::Step;

use crate::args::TuneArgs;
use crate::commands::train::{step, title};
use crate::files::{check_outputs, print_beside};
use crate::print;
use crate::progress::{SearchWatcher, Watcher, interrupted};
use crate::report::{self, plural, tell};

/// All that a search has brought to light.
pub(crate) struct Tuned<'a> {
    search: &'a Search,
    found: SearchResult,
    nested: Option<Nested>,
    /// How well rows are predicted that the training did not see; asked for by a report only.
    unseen: Option<Metrics>,
    model: Option<Model>,
    /// The way to it.
    steps: Vec<Step>,
    seconds: f64,
}

pub(crate) fn run(args: &TuneArgs) -> anyhow::Result<()> {
    let search = args.search.search(&args.spec)?;
    let outputs = [("model", &args.output), ("report", &args.report), ("journal", &args.search.resume)];
    check_outputs(&outputs, &args.file, args.json)?;
    if search.grid.settings().iter().any(|s| !s.apply(&search.spec).penalty.as_dyn().convex()) {
        tell("note", "p < 1 is not convex: results there are local optima without a certificate");
    }
    let (read, groups) = args.data.read_grouped(&args.file, &args.features, args.groups.as_deref())?;
    let (title, rows, features) = (title(&read), read.rows(), read.x.cols());
    let data = read.into_dataset()?;
    let tuned = tune(args, &search, &data, groups.as_deref())?;
    if let (Some(path), Some(model)) = (&args.output, &tuned.model) {
        model.save(path)?;
    }
    if let (Some(path), Some(model)) = (&args.report, &tuned.model) {
        tuned.page(title.trim_end(), model).write(path)?;
    }
    if let Some(warning) = tuned.model.as_ref().and_then(report::warning) {
        tell("warning", &warning);
    }
    if tuned.found.unconverged > 0 {
        let fits = plural(tuned.found.unconverged, "fit");
        tell("warning", &format!("{fits} of the search did not converge; raise --search-tol or --max-iter"));
    }
    let text = match args.json {
        true => format!("{}\n", tuned.as_json(rows, features, data.classes().len())),
        false => format!("{title}{}", tuned.text(args.output.as_deref())),
    };
    if tuned.model.is_some() {
        return print_beside(&[&args.output, &args.report], &text);
    }
    print(&text)?;
    match &args.search.resume {
        Some(path) => bail!("interrupted; the same command goes on from {}", report::file(path)),
        None => bail!("interrupted; what is shown is not the whole search, and no model was trained"),
    }
}

/// The search, its cross-validation if asked for, and the final model.
fn tune<'s>(
    args: &TuneArgs,
    search: &'s Search,
    data: &Dataset<'_>,
    groups: Option<&[u32]>,
) -> anyhow::Result<Tuned<'s>> {
    let started = Instant::now();
    if args.search.nested {
        search.check_nested(data, groups)?;
    }
    let journal = match &args.search.resume {
        Some(path) => Journal::open(path, search, data, groups)?,
        None => Journal::none(),
    };
    if journal.fits() > 0 {
        tell("note", &format!("{} are taken from the journal", plural(journal.fits(), "fit")));
    }
    let watcher = SearchWatcher::start("tuning")?;
    let found = search.run(data, groups, &journal, &|at| watcher.step(at))?;
    drop(watcher);
    let mut tuned = Tuned { search, found, nested: None, unseen: None, model: None, steps: Vec::new(), seconds: 0.0 };
    if args.search.nested && !interrupted() {
        let watcher = SearchWatcher::start("tuning without each outer fold")?;
        tuned.nested = match search.nested(data, groups, &journal, &|at| watcher.step(at)) {
            Err(Error::Interrupted) => None,
            nested => Some(nested?),
        };
    }
    if args.report.is_some() && !interrupted() {
        let watcher = SearchWatcher::start("predicting each fold")?;
        let setting = tuned.found.chosen(search.rule).setting;
        tuned.unseen = match search.out_of_fold(setting, data, groups, &|at| watcher.step(at)) {
            Err(Error::Interrupted) => None,
            unseen => Some(unseen?.metrics(data)?),
        };
    }
    if !interrupted() {
        let mut watcher = Watcher::start()?;
        let model = tuned.found.spec(search).fit_watched(data, None, &mut |at| {
            tuned.steps.extend(step(at));
            watcher.step(at)
        })?;
        if model.training().stop == Stop::Interrupted {
            tell("note", "interrupted; the final model is the best one so far");
        }
        tuned.model = Some(model);
    }
    tuned.seconds = started.elapsed().as_secs_f64();
    Ok(tuned)
}
