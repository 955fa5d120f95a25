//! `m3svm tune`.

mod outcome;

use std::io::{self, Write};
use std::time::Instant;

use anyhow::bail;
use m3svm::select::{Journal, Nested, Search, SearchResult};
use m3svm::{Dataset, Error, Model, Stop};

use crate::args::TuneArgs;
use crate::commands::train::title;
use crate::files::{check_output, is_stdout, same_output};
use crate::print;
use crate::progress::{SearchWatcher, Watcher};
use crate::report::{self, plural, tell};

/// All that a search has brought to light.
pub(crate) struct Tuned<'a> {
    search: &'a Search,
    found: SearchResult,
    nested: Option<Nested>,
    model: Option<Model>,
    seconds: f64,
}

pub(crate) fn run(args: &TuneArgs) -> anyhow::Result<()> {
    let search = args.search.search(&args.spec)?;
    check_outputs(args)?;
    if search.grid.settings().iter().any(|s| !s.apply(&search.spec).penalty.as_dyn().convex()) {
        tell("note", "p < 1 is not convex: results there are local optima without a certificate");
    }
    let mut read = args.data.read_grouped(&args.file, &args.features, args.groups.as_deref())?;
    let groups = read.groups.take().map(|groups| numbered(&groups));
    let (title, rows, features) = (title(&read), read.rows(), read.x.cols());
    let data = read.into_dataset()?;
    let tuned = tune(args, &search, &data, groups.as_deref())?;
    if let (Some(path), Some(model)) = (&args.output, &tuned.model) {
        model.save(path)?;
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
    match &args.output {
        // The model is there already. Nobody is there to be told if this fails.
        Some(path) if tuned.model.is_some() && is_stdout(path) => drop(io::stderr().write_all(text.as_bytes())),
        _ => print(&text)?,
    }
    if tuned.model.is_none() {
        match &args.search.resume {
            Some(path) => bail!("interrupted; the same command goes on from {}", report::file(path)),
            None => bail!("interrupted; what is shown is not the whole search, and no model was trained"),
        }
    }
    Ok(())
}

/// The search, its cross-validation if asked for, and the final model.
fn tune<'s>(
    args: &TuneArgs,
    search: &'s Search,
    data: &Dataset<'_>,
    groups: Option<&[u32]>,
) -> anyhow::Result<Tuned<'s>> {
    let started = Instant::now();
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
    let mut tuned = Tuned { search, found, nested: None, model: None, seconds: 0.0 };
    if args.search.nested && !tuned.found.interrupted {
        let watcher = SearchWatcher::start("tuning without each outer fold")?;
        tuned.nested = match search.nested(data, groups, &journal, &|at| watcher.step(at)) {
            Err(Error::Interrupted) => None,
            nested => Some(nested?),
        };
    }
    let nested_done = tuned.nested.as_ref().is_some_and(|nested| !nested.interrupted);
    if !tuned.found.interrupted && (nested_done || !args.search.nested) {
        let mut watcher = Watcher::start()?;
        let model = tuned.found.spec(search).fit_watched(data, None, &mut |at| watcher.step(at))?;
        if model.training().stop == Stop::Interrupted {
            tell("note", "interrupted; the final model is the best one so far");
        }
        tuned.model = Some(model);
    }
    tuned.seconds = started.elapsed().as_secs_f64();
    Ok(tuned)
}

fn check_outputs(args: &TuneArgs) -> anyhow::Result<()> {
    let journal = args.search.resume.as_ref();
    if let Some(journal) = journal.filter(|journal| same_output(journal, &args.file)) {
        bail!("{}: the journal would replace the input", journal.display());
    }
    let Some(output) = &args.output else { return Ok(()) };
    check_output(output, &[&args.file])?;
    if journal.is_some_and(|journal| same_output(journal, output)) {
        bail!("{}: the model and the journal cannot be the same file", output.display());
    }
    if args.json && is_stdout(output) {
        bail!("`--json` and the model cannot both go to standard output");
    }
    Ok(())
}

/// Groups as numbers, in order of appearance.
fn numbered(groups: &[String]) -> Vec<u32> {
    let mut known = std::collections::HashMap::new();
    let number = |group| {
        let next = known.len() as u32;
        *known.entry(group).or_insert(next)
    };
    groups.iter().map(number).collect()
}
