//! `m3svm tune`.

mod outcome;
mod page;
mod streamed;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Instant;

use m3svm::metrics::Quality;
use m3svm::select::{Journal, Nested, Search, SearchResult, folds};
use m3svm::{CachePlace, Dataset, Error, Model, Spec, Stop, Watch};
use m3svm_io::files_of;
use m3svm_report::Step;

use crate::args::TuneArgs;
use crate::commands::held_out;
use crate::commands::train::{in_memory_if_it_fits, many_classes, step, title};
use crate::files::{all_written, check_outputs, print_beside};
use crate::interrupt::interrupted;
use crate::progress::{SearchWatcher, Watcher};
use crate::report::{self, plural, tell};

/// All that a search has brought to light.
pub(crate) struct Tuned<'a> {
    search: &'a Search,
    found: SearchResult,
    nested: Option<Nested>,
    /// How well rows are predicted that the training did not see, with the chosen setting.
    unseen: Option<Quality>,
    /// The same with balanced classes, where that was tried.
    balanced: Option<Quality>,
    model: Option<Model>,
    /// The way to it.
    steps: Vec<Step>,
    seconds: f64,
}

impl<'a> Tuned<'a> {
    fn new(search: &'a Search, found: SearchResult) -> Self {
        let (nested, unseen, balanced, model) = (None, None, None, None);
        Self { search, found, nested, unseen, balanced, model, steps: Vec::new(), seconds: 0.0 }
    }

    /// Trains the final model, and says what it rests on.
    fn trained(
        &mut self,
        args: &TuneArgs,
        fit: impl FnOnce(&mut Watch<'_>) -> anyhow::Result<Model>,
    ) -> anyhow::Result<Model> {
        let mut watcher = Watcher::start()?.until(self.search.spec.tol);
        // After an interruption the best so far is trained all the same; who does not want that asks again.
        let stopped = interrupted();
        let model = fit(&mut |at| {
            self.steps.extend(step(at));
            let go_on = watcher.step(at);
            if stopped { ControlFlow::Continue(()) } else { go_on }
        })?;
        drop(watcher);
        match (stopped, model.training().stop) {
            (true, _) => tell("note", &self.rests_on(args)),
            (_, Stop::Interrupted) => tell("note", "interrupted; the final model is the best one so far"),
            _ => {}
        }
        Ok(model)
    }
}

pub(crate) fn run(args: &TuneArgs) -> anyhow::Result<()> {
    let search = args.search.search(&args.spec)?;
    let outputs = [
        ("model", args.output.as_deref()),
        ("report", args.report.as_deref()),
        ("journal", args.search.resume.as_deref()),
    ];
    let mut files = Vec::new();
    for path in &args.file {
        files.extend(files_of(path)?);
    }
    // What an earlier command has left there is an input like any other.
    let cache = args.cache.as_ref().map(|folder| CachePlace { folder: folder.clone(), kept_as: None }.file());
    let inputs: Vec<&Path> = files.iter().map(PathBuf::as_path).chain(cache.as_deref()).collect();
    check_outputs(&outputs, &inputs, args.json)?;
    if search.grid.settings().iter().any(|s| !s.apply(&search.spec).penalty.as_dyn().convex()) {
        tell("note", "p < 1 is not convex: results there are local optima without a certificate");
    }
    in_memory_if_it_fits(&files, |file| in_memory(args, &search, file), || streamed::run(args, &search, files.clone()))
}

/// Searches rows that are held at once.
fn in_memory(args: &TuneArgs, search: &Search, file: &Path) -> anyhow::Result<()> {
    let (read, groups) = args.data.read_grouped(file, &args.columns, args.groups.as_deref())?;
    let (title, rows, features) = (title(&read), read.rows(), read.x.cols());
    let (guessed, name) = (read.label_guessed, read.label_name.clone());
    let data = read.into_dataset()?;
    many_classes(data.rows(), data.classes().len(), name.as_deref(), guessed);
    let usual = search.grid.settings().len();
    let search = search.clone().suited_to(&data);
    if search.grid.settings().len() < usual {
        tell(
            "note",
            "the data is large, so values of lambda are a decade apart; --lambda LOW:HIGH:N says which to try",
        );
    }
    let tuned = tune(args, &search, &data, groups.as_deref())?;
    finish(args, &title, (rows, features, data.classes().len()), &tuned)
}

/// Writes and says what came out, for so many rows, features and classes.
fn finish(
    args: &TuneArgs,
    title: &str,
    (rows, features, classes): (usize, usize, usize),
    tuned: &Tuned<'_>,
) -> anyhow::Result<()> {
    if let Some(model) = &tuned.model {
        all_written([
            args.output.as_ref().map_or(Ok(()), |path| Ok(model.save_or_keep(path)?)),
            args.report.as_ref().map_or(Ok(()), |path| Ok(tuned.page(title.trim_end(), model).write_or_keep(path)?)),
        ])?;
    }
    if let Some(warning) = tuned.model.as_ref().and_then(report::warning) {
        tell("warning", &warning);
    }
    if tuned.found.unconverged > 0 {
        let fits = plural(tuned.found.unconverged, "fit");
        tell("warning", &format!("{fits} of the search did not converge; raise --search-tol or --max-iter"));
    }
    let text = match args.json {
        true => format!("{}\n", tuned.as_json(rows, features, classes)),
        false => format!("{title}{}", tuned.text(args.output.as_deref())),
    };
    print_beside(&[&args.output, &args.report], &text)
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
    let mut tuned = Tuned::new(search, found);
    if args.search.nested && !interrupted() {
        let watcher = SearchWatcher::start("tuning without each outer fold")?;
        tuned.nested = match search.nested(data, groups, &journal, &|at| watcher.step(at)) {
            Err(Error::Interrupted) => None,
            nested => Some(nested?),
        };
    }
    let spec = tuned.found.spec(search);
    let mut held = None;
    if !interrupted() {
        // Predictions of rows left out: for probabilities, for the report, and to see whether rare classes come off badly.
        let splits = folds(data.y(), groups, search.folds, search.spec.seed, 0)?;
        let coarse = Spec { tol: search.tol, ..spec.clone() };
        held = held_out::hold_out(&coarse, data, groups, &splits)?;
        if let Some(held) = &held {
            let quality = held.quality()?;
            tuned.balanced = held_out::try_balanced(&coarse, data, groups, &splits, &quality)?;
            tuned.unseen = Some(quality);
        }
    }
    let model = tuned.trained(args, |watch| Ok(spec.fit_watched(data, None, watch)?))?;
    tuned.model = Some(held_out::with_probabilities(model, held.as_ref())?);
    tuned.seconds = started.elapsed().as_secs_f64();
    Ok(tuned)
}
