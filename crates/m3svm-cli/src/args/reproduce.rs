//! `m3svm reproduce` as it is typed.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use m3svm_reproduce::{Artefact, Plan, Protocol};

use super::count;
use super::spec::or;

/// Where the data files are unless users or the environment say so.
const DATA: &str = "../shared/data";
/// Where the results go.
const OUTPUT: &str = "experiments";

/// `m3svm reproduce`.
#[derive(Debug, Args)]
#[command(
    after_help = "Data sets whose file is not there are left out. Results are tables, figures (SVG, PNG) and the\n\
    settings behind them (JSON). Ctrl-C ends the run; with --resume it goes on there the next time.\n\n\
    Example:\n  m3svm reproduce table1 --sets glass,vehicle --repeats 2 -o results"
)]
pub(crate) struct ReproduceArgs {
    /// The table or figure
    what: What,
    /// Folder of the data files [default: $M3SVM_DATA, else ../shared/data]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// How accuracies are measured
    #[arg(long, value_name = "NAME", default_value = "both")]
    protocol: ProtocolName,
    /// Data sets, such as glass,vehicle [default: all]
    #[arg(long, value_name = "A,B,C", value_delimiter = ',')]
    sets: Vec<String>,
    /// How often the rows are divided anew [default: 10, fewer for large data sets]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    repeats: Option<i128>,
    #[arg(long, value_name = "N", allow_negative_numbers = true, help = or("Seed of the folds and splits", 0))]
    seed: Option<i128>,
    /// Folder of the results
    #[arg(short, long, value_name = "DIR", default_value = OUTPUT)]
    output: PathBuf,
    /// Go on from what an earlier run has finished
    #[arg(long)]
    resume: bool,
    /// Begin nothing new, only put together what earlier runs have finished
    #[arg(long)]
    finished: bool,
}

/// Tables and figures as they are typed.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum What {
    /// Accuracies of all methods on eight data sets
    Table1,
    /// Objective and test accuracy against iterations, for Adam and for Newton
    Convergence,
    /// Test accuracy for p from 1 to 8
    P,
    /// Test accuracy for lambda from 1e-4 to 1 at p = 4
    Lambda,
    /// Confusion matrices with the difficult classes together
    Confusion,
    /// Data in the plane, with separating lines
    Illustrations,
    /// All of them
    All,
}

/// Protocols as they are typed.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum ProtocolName {
    /// As the authors' public script does it
    Paper,
    /// Tuned by inner folds and judged on outer ones, all methods alike
    Fair,
    /// Both
    Both,
}

impl ReproduceArgs {
    /// What to make.
    pub(crate) fn artefacts(&self) -> Vec<Artefact> {
        match self.what {
            What::Table1 => vec![Artefact::Table1],
            What::Convergence => vec![Artefact::Convergence],
            What::P => vec![Artefact::P],
            What::Lambda => vec![Artefact::Lambda],
            What::Confusion => vec![Artefact::Confusion],
            What::Illustrations => vec![Artefact::Illustrations],
            What::All => Artefact::ALL.to_vec(),
        }
    }

    /// And how.
    pub(crate) fn plan(&self) -> m3svm::Result<Plan> {
        let from_environment = || std::env::var_os("M3SVM_DATA").map(PathBuf::from);
        Ok(Plan {
            data: self.data.clone().or_else(from_environment).unwrap_or_else(|| DATA.into()),
            output: self.output.clone(),
            protocol: match self.protocol {
                ProtocolName::Paper => Protocol::Paper,
                ProtocolName::Fair => Protocol::Fair,
                ProtocolName::Both => Protocol::Both,
            },
            resume: self.resume,
            finished: self.finished,
            repeats: self.repeats.map(|repeats| count("repeats", repeats)).transpose()?,
            sets: self.sets.clone(),
            seed: self.seed.map_or(Ok(0), |seed| count("seed", seed))? as u64,
        })
    }
}
