//! `m3svm reproduce`.

use m3svm_reproduce::Listener;

use crate::args::ReproduceArgs;
use crate::print;
use crate::progress::SearchWatcher;
use crate::report::tell;

pub(crate) fn run(args: &ReproduceArgs) -> anyhow::Result<()> {
    let plan = args.plan()?;
    let watcher = SearchWatcher::start("reproducing")?;
    let listener = Listener { note: &|text| tell("note", text), watch: &|at| watcher.step(at) };
    let done = m3svm_reproduce::run(&plan, &args.artefacts(), &listener);
    drop(watcher);
    match done {
        Err(error) if error.is_interruption() => {
            tell("note", "interrupted; the same command with --resume goes on from here");
            Ok(())
        }
        Err(error) => Err(error.into()),
        Ok(()) => print(&format!("The results are in {}.\n", plan.output.display())),
    }
}
