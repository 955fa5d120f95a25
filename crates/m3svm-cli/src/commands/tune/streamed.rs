//! `m3svm tune` on rows that need not fit into memory.

use std::path::PathBuf;
use std::time::Instant;

use anyhow::bail;
use m3svm::select::Search;
use m3svm_io::RowFiles;

use super::{Tuned, finish};
use crate::args::{TuneArgs, prepared};
use crate::commands::streamed::{title, with_cache};
use crate::commands::train::many_classes;
use crate::interrupt::go_on;
use crate::progress::{SearchWatcher, Watcher};
use crate::report::tell;

pub(super) fn run(args: &TuneArgs, search: &Search, files: Vec<PathBuf>) -> anyhow::Result<()> {
    let given =
        [("groups", args.groups.is_some()), ("nested", args.search.nested), ("resume", args.search.resume.is_some())];
    if let Some((name, _)) = given.iter().find(|(_, given)| *given) {
        bail!("`--{name}` needs one file that fits into memory");
    }
    let started = Instant::now();
    let mut source = RowFiles::new(files, args.data.for_training(&args.columns)?);
    let fit = with_cache(args.cache.as_deref(), &source)?;
    let watcher = Watcher::start()?;
    let rows = fit.gather(&mut source, &mut || go_on().is_continue())?;
    drop(watcher);
    let label = source.label_name();
    if let Some((name, guessed)) = label {
        many_classes(rows.rows(), rows.classes().len(), Some(name), guessed);
    }
    prepared(source.left_out(), source.dropped(), label);
    if rows.is_on_disk() {
        tell("note", "the rows do not fit into memory: every fit of the search reads them from disk, fold after fold");
    }
    let title = title(&args.file, rows.rows(), rows.features(), label.map(|(name, _)| name));
    let sizes = (rows.rows(), rows.features(), rows.classes().len());
    let watcher = SearchWatcher::start("tuning")?;
    let found = search.run_gathered(&fit, &rows, &|at| watcher.step(at))?;
    drop(watcher);
    let mut tuned = Tuned::new(search, found);
    let spec = tuned.found.spec(search);
    let model = tuned.trained(args, |watch| Ok(fit.of_rows(&spec, rows, None, watch)?))?;
    tuned.model = Some(model);
    tuned.seconds = started.elapsed().as_secs_f64();
    finish(args, &title, sizes, &tuned)
}
