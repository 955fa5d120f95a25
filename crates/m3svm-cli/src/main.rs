//! The command line `m3svm`: a thin layer over the library. Results go to standard output, everything else to standard error.

mod args;
mod commands;
mod files;
mod interrupt;
mod progress;
mod quality;
mod report;
mod table;
mod trace;

use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::Context;
use args::{Cli, Command};
use m3svm_io::{Problem, ReadError, SourceError};

fn main() -> ExitCode {
    match run(Cli::read()) {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever read our output has seen enough.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            let hint = if is_over_budget(&error) { " (--memory)" } else { "" };
            report::tell("error", &format!("{}{hint}", sentence(&error)));
            ExitCode::FAILURE
        }
    }
}

fn run(cli: Cli) -> anyhow::Result<()> {
    if cli.quiet {
        report::be_quiet();
    }
    interrupt::survive_limits()?;
    m3svm::memory::set_budget(cli.memory);
    let command = || match &cli.command {
        Command::Demo => commands::demo::run(),
        Command::Train(args) => commands::train::run(args),
        Command::Tune(args) => commands::tune::run(args),
        Command::Compare(args) => commands::compare::run(args),
        Command::Reproduce(args) => commands::reproduce::run(args),
        Command::Describe(args) => commands::describe::run(args),
        Command::Separable(args) => commands::separable::run(args),
        Command::Predict(args) => commands::predict::run(args),
        Command::Evaluate(args) => commands::evaluate::run(args),
        Command::Inspect(args) => commands::inspect::run(args),
        Command::Export(args) => commands::export::run(args),
        Command::Completions { shell } => commands::completions::run(*shell),
        Command::Man { command } => commands::man::run(command.as_deref()),
    };
    match cli.threads {
        None => command(),
        Some(threads) => rayon::ThreadPoolBuilder::new()
            .num_threads(checked_threads(threads)?)
            .build()
            .context("cannot start the threads")?
            .install(command),
    }
}

/// The number of threads; more than this do not start on every machine, and none at all would mean "all cores" to rayon.
fn checked_threads(typed: i128) -> m3svm::Result<usize> {
    let must = "be from 1 to 1024";
    let wrong = || m3svm::Error::Param { name: "threads", value: typed.to_string(), must };
    usize::try_from(typed).ok().filter(|n| (1..=1024).contains(n)).ok_or_else(wrong)
}

/// The chain of causes as one sentence. Some errors already speak for their cause; what was said is not said again.
fn sentence(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if text.is_empty() {
            text = cause;
        } else if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text
}

/// Whether the memory budget was too small, which is an option of ours.
pub(crate) fn is_over_budget(error: &anyhow::Error) -> bool {
    let own = |error: &m3svm::Error| matches!(error, m3svm::Error::Memory { .. });
    let of_file = |error: &ReadError| matches!(&error.problem, Problem::Data(error) if own(error));
    error.chain().any(|cause| {
        cause.downcast_ref::<m3svm::Error>().is_some_and(own)
            || cause.downcast_ref::<ReadError>().is_some_and(of_file)
            || cause.downcast_ref::<SourceError>().is_some_and(|error| match error {
                SourceError::Fit(error) => own(error),
                SourceError::Read(error) => of_file(error),
                _ => false,
            })
    })
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().filter_map(|cause| cause.downcast_ref::<io::Error>()).any(|e| e.kind() == io::ErrorKind::BrokenPipe)
}

/// Prints a result.
fn print(text: &str) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).context("standard output")
}
