//! The command line `m3svm-deep`: image classifiers trained with the margin penalty. Results go to standard output, everything else to
//! standard error.

mod args;
mod backend;
mod batches;
mod checkpoint;
mod commands;
mod criterion;
mod data;
mod journal;
mod network;
mod output;
mod ownership;
mod progress;
mod random;
mod settings;
mod training;
#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod training_tests;

use std::process::ExitCode;

use args::{Cli, Command};
use clap::Parser;

fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Train(args) => commands::train::run(args),
        Command::Compare(args) => commands::compare::run(args),
        Command::Evaluate(args) => commands::evaluate::run(args),
        Command::Refit(args) => commands::refit::run(args),
        Command::Speed(args) => commands::speed::run(args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            progress::tell(&format!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}
