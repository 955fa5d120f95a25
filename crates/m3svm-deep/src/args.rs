//! Options.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use clap::{Args, Parser, Subcommand};

use crate::backend::BackendName;
use crate::data::{FolderOptions, ImageSet};
use crate::settings::Settings;

/// Train image classifiers whose last layer has wide margins
#[derive(Parser, Debug)]
#[command(version, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Train a network
    Train(TrainArgs),
    /// Compare softmax with weight decay, label smoothing and ISM3, each tuned on a validation part
    Compare(CompareArgs),
    /// Accuracy and margins of a trained network
    Evaluate(EvaluateArgs),
    /// Train the last layer of a network again, to the exact optimum of a linear model
    Refit(RefitArgs),
    /// Measure what a step costs with and without the margin penalty
    Speed(SpeedArgs),
}

#[derive(Args, Debug)]
pub(crate) struct DataArgs {
    /// Folder with images: `train/<class>/*.jpg|png`, CIFAR-10 batches, IDX files (.gz), or *train.npz and *test.npz
    pub(crate) data: PathBuf,
    /// Height and width that the files of image folders are resized to
    #[arg(long, default_value_t = 32)]
    size: usize,
    /// Channels of image folders, 1 (grey) or 3 (colour) [default: what all files have]
    #[arg(long)]
    channels: Option<usize>,
}

impl DataArgs {
    pub(crate) fn read(&self) -> Result<ImageSet> {
        ensure!((1..=1024).contains(&self.size), "`size` must be from 1 to 1024, found {}", self.size);
        ensure!(matches!(self.channels, None | Some(1 | 3)), "`channels` must be 1 or 3");
        ImageSet::read(&self.data, FolderOptions { size: self.size, channels: self.channels })
    }

    /// The name of the data set in titles.
    pub(crate) fn name(&self) -> String {
        name_of(&self.data)
    }
}

fn name_of(path: &Path) -> String {
    let whole = path.canonicalize().unwrap_or_else(|_| path.into());
    whole.file_name().map_or_else(|| "images".into(), |n| n.to_string_lossy().into_owned())
}

#[derive(Args, Debug)]
pub(crate) struct TrainArgs {
    #[command(flatten)]
    pub(crate) data: DataArgs,
    /// Folder for checkpoints, curves and figures
    #[arg(long, short)]
    pub(crate) out: PathBuf,
    /// Go on with the trainings in the folder
    #[arg(long)]
    pub(crate) resume: bool,
    /// The first seed
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
    /// Number of trainings, with seeds counted up
    #[arg(long, default_value_t = 1)]
    pub(crate) seeds: u64,
    /// Where to compute
    #[arg(long, value_enum, default_value = "cpu")]
    pub(crate) backend: BackendName,
    #[command(flatten)]
    pub(crate) settings: Settings,
}

#[derive(Args, Debug)]
pub(crate) struct CompareArgs {
    #[command(flatten)]
    pub(crate) data: DataArgs,
    /// Folder for results and figures; trainings that it holds are not done again
    #[arg(long, short)]
    pub(crate) out: PathBuf,
    /// Trainings per method
    #[arg(long, default_value_t = 5)]
    pub(crate) seeds: u64,
    /// Trainings per candidate in the search
    #[arg(long, default_value_t = 2)]
    pub(crate) tune_seeds: u64,
    /// Share of the training images that the search is judged on
    #[arg(long, default_value_t = 0.1)]
    pub(crate) tune_share: f64,
    /// Candidates for the strength of the margin penalty
    #[arg(long, value_delimiter = ',', default_value = "1e-7,1e-6,1e-5,1e-4,1e-3,1e-2,1e-1,1,10,100")]
    pub(crate) lambdas: Vec<f64>,
    /// Candidates for weight decay
    #[arg(long, value_delimiter = ',', default_value = "0.001,0.003,0.01,0.03,0.1,0.3,1,3")]
    pub(crate) decays: Vec<f64>,
    /// Candidates for label smoothing
    #[arg(long, value_delimiter = ',', default_value = "0.05,0.1,0.2,0.3,0.4,0.5,0.6")]
    pub(crate) smoothings: Vec<f64>,
    /// Trainings side by side
    #[arg(long, default_value_t = 1)]
    pub(crate) jobs: usize,
    /// Where to compute
    #[arg(long, value_enum, default_value = "cpu")]
    pub(crate) backend: BackendName,
    #[command(flatten)]
    pub(crate) settings: Settings,
}

#[derive(Args, Debug)]
pub(crate) struct EvaluateArgs {
    /// Checkpoint of a training
    pub(crate) checkpoint: PathBuf,
    #[command(flatten)]
    pub(crate) data: DataArgs,
    /// Where to compute
    #[arg(long, value_enum, default_value = "cpu")]
    pub(crate) backend: BackendName,
}

#[derive(Args, Debug)]
pub(crate) struct RefitArgs {
    /// Checkpoint of a training
    pub(crate) checkpoint: PathBuf,
    #[command(flatten)]
    pub(crate) data: DataArgs,
    /// Strength of the margin penalty, for losses averaged over samples [default: that of the training]
    #[arg(long)]
    pub(crate) lambda: Option<f64>,
    /// Where to compute features
    #[arg(long, value_enum, default_value = "cpu")]
    pub(crate) backend: BackendName,
}

#[derive(Args, Debug)]
pub(crate) struct SpeedArgs {
    /// Steps per measurement
    #[arg(long, default_value_t = 200)]
    pub(crate) steps: usize,
    /// Images per step
    #[arg(long, value_delimiter = ',', default_value = "128,1024")]
    pub(crate) batches: Vec<usize>,
    /// Also a last layer with 1000 classes and 2048 features
    #[arg(long)]
    pub(crate) wide: bool,
    /// Where to compute
    #[arg(long, value_enum, default_value = "cpu")]
    pub(crate) backend: BackendName,
}
