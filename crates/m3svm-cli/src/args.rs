//! The command line as it is typed. Defaults come from the core; nothing here decides anything.

mod compare;
mod data;
mod export;
mod parameters;
mod reproduce;
mod search;
mod spec;

use std::path::PathBuf;

use clap::builder::{PathBufValueParser, TypedValueParser};
use clap::error::{ContextKind, ContextValue};
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use m3svm::select::Validation;
use m3svm::{Model, memory};

pub(crate) use compare::CompareArgs;
pub(crate) use data::{ColumnArgs, DataArgs, prepared};
pub(crate) use export::ExportArgs;
pub(crate) use reproduce::ReproduceArgs;
pub(crate) use search::SearchArgs;
pub(crate) use spec::SpecArgs;

/// Multi-class classification with the largest minimum margin, solved to a certified optimum.
#[derive(Debug, Parser)]
#[command(name = "m3svm", version, propagate_version = true, max_term_width = 100)]
#[command(after_help = "Start with `m3svm demo`.\n\n\
    Exit status: 0 if all went well (also if Ctrl-C ended a training whose best model was kept),\n\
    1 if something failed (a setting outside its range, too), 2 if the command line cannot be\n\
    understood.")]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
    /// Threads to use [default: all cores]
    #[arg(long, value_name = "N", global = true, allow_negative_numbers = true)]
    pub(crate) threads: Option<i128>,
    /// Most memory to take, such as 2GB or 512MiB [default: 80 % of what is free]
    #[arg(long, value_name = "SIZE", global = true, value_parser = memory::parse)]
    pub(crate) memory: Option<u64>,
    /// Say nothing but results and errors: no notes, no warnings, no progress
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Train on a small built-in data set and show what this program is for
    Demo,
    /// Train a model on a data file
    Train(Box<TrainArgs>),
    /// Choose lambda and p by cross-validation, and train with them
    Tune(Box<TuneArgs>),
    /// Tune all methods on a data file and see which is best
    Compare(Box<CompareArgs>),
    /// Run the tables and figures of the paper again
    Reproduce(ReproduceArgs),
    /// Show what each column of a data file is taken for, and what looks wrong
    Describe(DescribeArgs),
    /// Say whether linear scores can tell all classes apart, and prove it
    Separable(SeparableArgs),
    /// Predict the classes of a data file
    Predict(PredictArgs),
    /// Measure how well a model does on a data file with labels
    Evaluate(EvaluateArgs),
    /// Show what is in a model file
    Inspect(InspectArgs),
    /// Turn a model into a form that other programs use
    Export(ExportArgs),
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print a manual page
    Man {
        /// A command; without it the page of the program
        command: Option<String>,
    },
}

/// `m3svm train`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    m3svm train data.csv -o data.m3svm\n  \
    m3svm train data.csv --label kind --p 8 --lambda 1e-2 --json\n  \
    m3svm train data.csv --report data.html\n  \
    m3svm train 'data/*.parquet' --memory 2GB --cache /big/disk -o data.m3svm\n\n\
    Data that does not fit into memory is decoded once and then read from a cache on disk.\n\
    Ctrl-C ends the training and keeps the best model so far; a second Ctrl-C aborts.")]
pub(crate) struct TrainArgs {
    /// Data with labels: CSV, LIBSVM, Parquet, Arrow, JSON lines, NumPy or MATLAB; `-` is standard input. Several files with the
    /// same columns, folders and patterns such as 'data/*.parquet' are one table
    #[arg(required = true)]
    pub(crate) file: Vec<PathBuf>,
    /// Keep the rows of data larger than memory in this folder, for this training and later ones [default: the folder
    /// for temporary files, where nothing stays]
    #[arg(long, value_name = "DIR", help_heading = "Data")]
    pub(crate) cache: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) data: DataArgs,
    #[command(flatten)]
    pub(crate) columns: ColumnArgs,
    #[command(flatten)]
    pub(crate) spec: SpecArgs,
    /// Measure the accuracy on the rows of this file, which take no part in the training
    #[arg(long, value_name = "FILE", help_heading = "Validation")]
    pub(crate) test: Option<PathBuf>,
    /// Rows of the data that are held out to measure the accuracy of models that have not seen them: a share such as 0.2, a number of
    /// folds such as 10, or none. The model itself is trained on all rows [default: 5 folds; 0.2 of large data, none of huge data]
    #[arg(long, value_name = "HOW", value_parser = validation, default_value = "auto", hide_default_value = true,
        allow_negative_numbers = true, help_heading = "Validation")]
    pub(crate) validation: Validation,
    /// Column whose equal values mark rows that belong together, such as recordings of one person: they are never
    /// divided between training and held-out rows
    #[arg(long, value_name = "COLUMN", allow_negative_numbers = true, help_heading = "Validation")]
    pub(crate) groups: Option<String>,
    /// Start from the weights of this model
    #[arg(long, value_name = "MODEL", help_heading = "Solver")]
    pub(crate) warm_start: Option<PathBuf>,
    /// Write the model to this file; `-` is standard output
    #[arg(short, long, value_name = "MODEL", value_parser = output(), help_heading = "Output")]
    pub(crate) output: Option<PathBuf>,
    /// Show which solver would run and why, and train nothing
    #[arg(long, help_heading = "Solver", conflicts_with_all = ["output", "trace", "report"])]
    pub(crate) explain: bool,
    /// Print the result as JSON
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    /// Write one CSV line per iteration as it ends: iteration, seconds, objective, relative_gap; `-` is standard output
    #[arg(long, value_name = "FILE", value_parser = output(), help_heading = "Output")]
    pub(crate) trace: Option<PathBuf>,
    /// Write a report with figures: one HTML file that needs no network
    #[arg(long, value_name = "HTML", value_parser = output(), help_heading = "Output")]
    pub(crate) report: Option<PathBuf>,
}

/// `m3svm tune`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    m3svm tune data.csv -o data.m3svm\n  \
    m3svm tune data.csv --p 1,2,4,8 --lambda 1e-4:1:9 --folds 10 --repeats 5 --resume data.journal\n  \
    m3svm tune data.csv --method lr --report data.html\n\n\
    Ranges: 1,2,4 is a list, 1:8 all whole numbers from 1 to 8, 1e-4:1e-1:10 ten values evenly spaced on a\n\
    logarithmic scale. Ctrl-C ends the search; with --resume it goes on there the next time.")]
pub(crate) struct TuneArgs {
    /// Data with labels: CSV, LIBSVM, Parquet, Arrow, JSON lines, NumPy or MATLAB; `-` is standard input. Several files with the
    /// same columns, folders and patterns such as 'data/*.parquet' are one table
    #[arg(required = true)]
    pub(crate) file: Vec<PathBuf>,
    /// Keep the rows of data larger than memory in this folder, for this search and later ones [default: the folder
    /// for temporary files, where nothing stays]
    #[arg(long, value_name = "DIR", help_heading = "Data")]
    pub(crate) cache: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) data: DataArgs,
    #[command(flatten)]
    pub(crate) columns: ColumnArgs,
    /// Column whose equal values mark rows that belong together, such as recordings of one person: they are never
    /// divided between training and test
    #[arg(long, value_name = "COLUMN", allow_negative_numbers = true, help_heading = "Data")]
    pub(crate) groups: Option<String>,
    #[command(flatten)]
    pub(crate) search: SearchArgs,
    #[command(flatten)]
    pub(crate) spec: SpecArgs,
    /// Write the final model, trained on all rows, to this file; `-` is standard output
    #[arg(short, long, value_name = "MODEL", value_parser = output(), help_heading = "Output")]
    pub(crate) output: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    /// Write a report with figures: one HTML file that needs no network
    #[arg(long, value_name = "HTML", value_parser = output(), help_heading = "Output")]
    pub(crate) report: Option<PathBuf>,
}

/// `m3svm describe`.
#[derive(Debug, Args)]
pub(crate) struct DescribeArgs {
    /// The data file, with or without labels; `-` is standard input
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) data: DataArgs,
    #[command(flatten)]
    pub(crate) columns: ColumnArgs,
    /// Print the result as JSON
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

/// `m3svm separable`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    m3svm separable data.csv\n  \
    m3svm separable data.csv --label kind --json\n\n\
    The answer is for all classes at once (one linear score each) and for every two of them. It is proven: by scores\n\
    without a mistake, or by rows whose weighted demands contradict each other. Where neither can be proven in floating\n\
    point, that is the answer, with the largest margin that is still possible.")]
pub(crate) struct SeparableArgs {
    /// Data with labels: CSV, LIBSVM, Parquet, Arrow, JSON lines, NumPy or MATLAB; `-` is standard input
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) data: DataArgs,
    #[command(flatten)]
    pub(crate) columns: ColumnArgs,
    /// Ask for scores without intercepts
    #[arg(long)]
    pub(crate) no_intercept: bool,
    /// Print the result as JSON
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

/// `m3svm predict`.
#[derive(Debug, Args)]
pub(crate) struct PredictArgs {
    /// The model file
    pub(crate) model: PathBuf,
    /// Data with or without labels; `-` is standard input. Several files, folders and patterns such as 'data/*.parquet' are predicted one
    /// after the other, some rows at a time
    #[arg(required = true)]
    pub(crate) file: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) data: DataArgs,
    /// Columns of the data to hand on before the prediction, by name, position from 0 or range such as 3-7
    #[arg(long, value_name = "A,B,3-7", value_delimiter = ',', help_heading = "Output")]
    pub(crate) keep: Vec<String>,
    /// Write to this file: CSV, or what its name says by .tsv, .jsonl, .parquet or .arrow; text also with .gz [default: CSV to
    /// standard output]
    #[arg(short, long, value_name = "OUT", value_parser = output(), help_heading = "Output")]
    pub(crate) output: Option<PathBuf>,
    /// Add a column with the score of every class
    #[arg(long, help_heading = "Output")]
    pub(crate) scores: bool,
    /// Add a column with the probability of every class
    #[arg(long, help_heading = "Output")]
    pub(crate) proba: bool,
}

/// `m3svm evaluate`.
#[derive(Debug, Args)]
pub(crate) struct EvaluateArgs {
    /// The model file
    pub(crate) model: PathBuf,
    /// Data with labels; `-` is standard input. Several files, folders and patterns such as 'data/*.parquet' are one table
    #[arg(required = true)]
    pub(crate) file: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) data: DataArgs,
    /// Also count rows whose class is among the K best scores [default: the k of a topk model]
    #[arg(long, value_name = "K", allow_negative_numbers = true)]
    top_k: Option<i128>,
    /// Print the result as JSON
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    /// Write a report with figures: one HTML file that needs no network
    #[arg(long, value_name = "HTML", value_parser = output(), help_heading = "Output")]
    pub(crate) report: Option<PathBuf>,
}

impl EvaluateArgs {
    /// How many of the best classes count, if more than one shall.
    pub(crate) fn top_k(&self, model: &Model) -> m3svm::Result<Option<usize>> {
        let Some(typed) = self.top_k else {
            return Ok(model.spec().loss.top_k().filter(|k| *k > 1));
        };
        let k = usize::try_from(typed).ok().filter(|k| (1..model.classes().len()).contains(k));
        let must = "be at least 1 and less than the number of classes";
        k.map(Some).ok_or_else(|| m3svm::Error::Param { name: "top-k", value: typed.to_string(), must })
    }
}

/// `m3svm inspect`.
#[derive(Debug, Args)]
pub(crate) struct InspectArgs {
    /// The model file
    pub(crate) model: PathBuf,
    /// List so many of the largest weights per class, one per line
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    top: Option<i128>,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

impl InspectArgs {
    /// How many of the largest weights of a class are listed, if that was said.
    pub(crate) fn top(&self) -> m3svm::Result<Option<usize>> {
        self.top.map(|n| count("top", n)).transpose()
    }
}

/// A count as it was typed. Anything that is a whole number can be understood; one out of range is a wrong setting like any other.
pub(crate) fn count(name: &'static str, typed: i128) -> m3svm::Result<usize> {
    let must = "be a whole number from 0 to 2^64 - 1";
    usize::try_from(typed).map_err(|_| m3svm::Error::Param { name, value: typed.to_string(), must })
}

/// The definitions with what differs between commands that share options.
pub(crate) fn command() -> clap::Command {
    Cli::command().mut_subcommand("tune", search::with_ranges)
}

impl Cli {
    /// Reads the command line; ends the program where it cannot be understood.
    pub(crate) fn read() -> Self {
        let mut command = command();
        let matches =
            command.try_get_matches_from_mut(std::env::args_os()).unwrap_or_else(|error| without_tip(error).exit());
        let found = Self::from_arg_matches(&matches);
        found.unwrap_or_else(|error| without_tip(error.format(&mut command)).exit())
    }
}

/// An error without the tip to pass what looks like an option as a value, behind `--`: there is no file of that name.
fn without_tip(mut error: clap::Error) -> clap::Error {
    if let Some(ContextValue::StyledStrs(tips)) = error.remove(ContextKind::Suggested) {
        let useful: Vec<_> = tips.into_iter().filter(|tip| !tip.to_string().contains("as a value, use")).collect();
        if !useful.is_empty() {
            error.insert(ContextKind::Suggested, ContextValue::StyledStrs(useful));
        }
    }
    error
}

/// How rows are held out.
fn validation(typed: &str) -> Result<Validation, String> {
    let share = || typed.parse::<f64>().ok().filter(|share| *share > 0.0 && *share < 1.0).map(Validation::Share);
    let folds = || typed.parse::<usize>().ok().filter(|folds| *folds >= 2).map(Validation::Folds);
    match typed {
        "auto" => Ok(Validation::Auto),
        "none" | "0" => Ok(Validation::None),
        _ => {
            share().or_else(folds).ok_or_else(|| "expected a share between 0 and 1, a number of folds, or none".into())
        }
    }
}

/// A path to write to, where `-` is standard output.
fn output() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().map(|path| match path.to_str() {
        Some("-") if cfg!(unix) => "/dev/stdout".into(),
        _ => path,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definitions_are_consistent() {
        command().debug_assert();
    }
}
