//! `m3svm-deep train`: one network, or several that differ in their seed.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use burn_core::tensor::backend::AutodiffBackend;
use m3svm_burn::head_margins;
use serde::Serialize;

use crate::args::TrainArgs;
use crate::backend::{self, Work};
use crate::checkpoint::{self, Place};
use crate::data::{ImageSet, shape};
use crate::output::{Group, accuracy_figure, finite_ends, margin_figure, mean_and_deviation, shown, write_curves};
use crate::ownership;
use crate::progress::{Bars, say, tell};
use crate::settings::Settings;
use crate::training::{Epoch, Loaded, Training};

pub(crate) fn run(args: TrainArgs) -> Result<()> {
    args.settings.check()?;
    ensure!((1..=1000).contains(&args.seeds), "`seeds` must be from 1 to 1000, found {}", args.seeds);
    let seeds = args.seed..args.seed.saturating_add(args.seeds);
    let files: Vec<PathBuf> = seeds.map(|seed| ownership::checkpoint(&args.out, seed)).collect();
    let begun = ownership::claim_for_trainings(&args.out, &files, args.resume)?;
    ownership::check_apart(&args.out, &args.data.data)?;
    if args.resume && !begun {
        tell(&format!("there is nothing to resume in {}; a new training begins", args.out.display()));
    }
    let set = args.data.read()?;
    backend::with(args.backend, Trainings { args: &args, set: &set, files })
}

struct Trainings<'a> {
    args: &'a TrainArgs,
    set: &'a ImageSet,
    files: Vec<PathBuf>,
}

/// What one training came to.
#[derive(Serialize)]
struct Outcome {
    seed: u64,
    /// The last epoch, or the best one under early stopping.
    reached: Epoch,
    checkpoint: PathBuf,
}

#[derive(Serialize)]
struct Summary<'a> {
    data: String,
    train_images: usize,
    test_images: usize,
    classes: usize,
    settings: &'a Settings,
    /// The same strength for losses that are summed over images, as the linear model has it.
    lambda_of_sums: f64,
    trainings: Vec<Outcome>,
}

impl Work for Trainings<'_> {
    fn run<B: AutodiffBackend>(self, device: B::Device) -> Result<()> {
        let Self { args, set, files } = self;
        fs::create_dir_all(&args.out).with_context(|| format!("cannot make {}", args.out.display()))?;
        let _claimed = m3svm::claim_folder(&args.out)?;
        let data = Loaded::<B>::new(set, args.settings.validation, &device);
        tell(&format!(
            "{}: {} training and {} test images of {}, {} classes",
            args.data.name(),
            data.train_len(),
            set.test.len(),
            shape(set.train.shape),
            set.classes.len()
        ));
        let sum = set.checksum();
        let place = Place { shape: data.shape, classes: &set.classes, data: &sum, images: data.train_len() };
        let mut outcomes = Vec::new();
        let mut curves = Curves { args, finished: Vec::new() };
        for (seed, file) in (args.seed..).zip(files) {
            let training = self::train(args, place, &data, seed, &file, &curves, &device)?;
            if seed == args.seed {
                margins(args, set, &training)?;
            }
            let reached = training.outcome().context("no epoch was trained")?.clone();
            outcomes.push(Outcome { seed, reached, checkpoint: file });
            curves.finished.push((seed, training.history));
        }
        curves.write(None)?;
        let accuracy = mean_and_deviation(outcomes.iter().map(|o| o.reached.test_accuracy));
        let summary = Summary {
            data: args.data.name(),
            train_images: data.train_len(),
            test_images: set.test.len(),
            classes: set.classes.len(),
            settings: &args.settings,
            lambda_of_sums: args.settings.lambda * data.train_len() as f64,
            trainings: outcomes,
        };
        let text = serde_json::to_vec_pretty(&summary)?;
        m3svm::write_file(&args.out.join("summary.json"), |out| out.write_all(&text))?;
        say(&format!("test accuracy {} ({})", shown(accuracy), args.out.join("curves.svg").display()));
        Ok(())
    }
}

/// The epochs of all seeds, in a table and a figure.
struct Curves<'a> {
    args: &'a TrainArgs,
    finished: Vec<(u64, Vec<Epoch>)>,
}

impl Curves<'_> {
    /// Writes what is finished, and the training that is under way.
    fn write(&self, current: Option<(u64, &[Epoch])>) -> Result<()> {
        let name = format!("{:?}", self.args.settings.loss).to_lowercase();
        let title = format!("{}, {name}", self.args.data.name());
        let finished: Vec<_> = self.finished.iter().map(|(seed, history)| (*seed, &history[..])).collect();
        let all: Vec<_> = finished.iter().copied().chain(current).collect();
        // The figure shows epochs that all seeds have: a seed that has just begun would cut off those before it.
        let shown = if finished.is_empty() { all.clone() } else { finished };
        accuracy_figure(&title, &Group { name: name.clone(), runs: shown }, &self.args.out.join("curves.svg"))?;
        write_curves(&[Group { name, runs: all }], &self.args.out.join("curves.csv"))
    }
}

/// One training, from its checkpoint if there is one; a checkpoint and curves after every epoch.
fn train<B: AutodiffBackend>(
    args: &TrainArgs,
    place: Place<'_>,
    data: &Loaded<B>,
    seed: u64,
    file: &Path,
    curves: &Curves<'_>,
    device: &B::Device,
) -> Result<Training<B>> {
    let mut training = if args.resume && file.exists() {
        checkpoint::resume(file, &args.settings, seed, place, device)?
    } else {
        Training::new(&args.settings, seed, data, device)
    };
    let (all, done) = (args.settings.epochs * data.train_len(), training.history.len() * data.train_len());
    let bar = Bars::default().images(all, done, &format!("seed {seed}"));
    while !training.finished() {
        training.epoch(data, device, &|images| bar.inc(images as u64))?;
        checkpoint::save(&training, place, file)?;
        curves.write(Some((seed, &training.history)))?;
        if let Some(e) = training.history.last() {
            bar.set_message(format!("epoch {}: test {:.4}", e.epoch, e.test_accuracy));
            if bar.is_hidden() {
                tell(&line(seed, e, args.settings.epochs));
            }
        }
    }
    bar.finish();
    Ok(training)
}

/// An epoch in words, for logs.
fn line(seed: u64, e: &Epoch, epochs: usize) -> String {
    let validation = e.validation_accuracy.map(|v| format!(", validation {v:.4}")).unwrap_or_default();
    format!(
        "seed {seed}, epoch {} of {epochs}: loss {:.4}, training {:.4}{validation}, test {:.4}, {:.0} images/s",
        e.epoch, e.train_loss, e.train_accuracy, e.test_accuracy, e.images_per_second
    )
}

/// The margins of the first seed, before and after, in the same colours.
fn margins<B: AutodiffBackend>(args: &TrainArgs, set: &ImageSet, training: &Training<B>) -> Result<()> {
    let after = head_margins(&training.chosen().head);
    let ends = finite_ends(training.first_margins.iter().chain(&after));
    for (when, margins) in [("before", &training.first_margins), ("after", &after)] {
        let title = format!("{}: margins of the last layer {when} training", args.data.name());
        margin_figure(&title, margins, &set.classes, ends, &args.out.join(format!("margins-{when}.svg")))?;
    }
    Ok(())
}
