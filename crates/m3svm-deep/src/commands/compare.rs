//! `m3svm-deep compare`: does the margin penalty do more than weight decay or label smoothing? Each is tuned on a validation part cut
//! from the training images, then trained on all of them with several seeds and judged on the test images.

mod report;
mod workers;

use std::fs;

use anyhow::{Context, Result, ensure};
use burn_core::tensor::backend::AutodiffBackend;

use crate::args::CompareArgs;
use crate::backend::{self, Work};
use crate::data::{ImageSet, shape};
use crate::journal::{Journal, Run};
use crate::output::mean_and_deviation;
use crate::ownership;
use crate::progress::tell;
use crate::settings::{LossName, Settings};
use workers::Task;

pub(crate) fn run(args: CompareArgs) -> Result<()> {
    ensure!((1..=100).contains(&args.seeds), "`seeds` must be from 1 to 100, found {}", args.seeds);
    ensure!((1..=100).contains(&args.tune_seeds), "`tune-seeds` must be from 1 to 100, found {}", args.tune_seeds);
    ensure!((1..=64).contains(&args.jobs), "`jobs` must be from 1 to 64, found {}", args.jobs);
    ensure!(args.tune_share > 0.0 && args.tune_share < 0.9, "`tune-share` must be above 0 and below 0.9");
    ensure!(args.settings.patience == 0, "`patience` is for `train`: compared trainings are equally long");
    for method in methods(&args) {
        ensure!(!method.candidates.is_empty(), "there is no candidate for {}", method.name);
        method.candidates.iter().try_for_each(Settings::check)?;
    }
    ownership::claim_for_comparison(&args.out)?;
    ownership::check_apart(&args.out, &args.data.data)?;
    let set = args.data.read()?;
    backend::with(args.backend, Comparison { args: &args, set: &set })
}

/// One side of the comparison.
struct Method {
    name: &'static str,
    /// The setting that is searched.
    searched: &'static str,
    value: fn(&Settings) -> f64,
    candidates: Vec<Settings>,
}

fn methods(args: &CompareArgs) -> Vec<Method> {
    // Without a penalty, so that trainings in a journal are known again under any default.
    let plain = Settings {
        loss: LossName::Softmax,
        lambda: 0.0,
        decay: 0.0,
        smoothing: 0.0,
        validation: 0.0,
        ..args.settings.clone()
    };
    let each = |values: &[f64], set: fn(Settings, f64) -> Settings| {
        values.iter().map(|v| set(plain.clone(), *v)).collect::<Vec<_>>()
    };
    vec![
        Method { name: "softmax", searched: "", value: |_| 0.0, candidates: vec![plain.clone()] },
        Method {
            name: "softmax + weight decay",
            searched: "decay",
            value: |s| s.decay,
            candidates: each(&args.decays, |s, decay| Settings { decay, ..s }),
        },
        Method {
            name: "softmax + label smoothing",
            searched: "smoothing",
            value: |s| s.smoothing,
            candidates: each(&args.smoothings, |s, smoothing| Settings { smoothing, ..s }),
        },
        Method {
            name: "ism3",
            searched: "lambda",
            value: |s| s.lambda,
            candidates: each(&args.lambdas, |s, lambda| Settings { loss: LossName::Ism3, lambda, ..s }),
        },
    ]
}

struct Comparison<'a> {
    args: &'a CompareArgs,
    set: &'a ImageSet,
}

/// A candidate with its trainings on a part of the training images.
struct Tried {
    method: &'static str,
    searched: &'static str,
    value: f64,
    runs: Vec<Run>,
}

impl Tried {
    /// Mean and deviation of the validation accuracy after the last epoch.
    fn accuracy(&self) -> (f64, f64) {
        mean_and_deviation(self.runs.iter().filter_map(|r| r.last()?.validation_accuracy))
    }
}

/// A method with its chosen setting, trained on all training images.
struct Judged {
    method: &'static str,
    searched: &'static str,
    value: f64,
    runs: Vec<Run>,
}

impl Work for Comparison<'_> {
    fn run<B: AutodiffBackend>(self, device: B::Device) -> Result<()> {
        let Self { args, set } = self;
        fs::create_dir_all(&args.out).with_context(|| format!("cannot make {}", args.out.display()))?;
        let _claimed = m3svm::claim_folder(&args.out)?;
        tell(&format!(
            "{}: {} training and {} test images of {}, {} classes",
            args.data.name(),
            set.train.len(),
            set.test.len(),
            shape(set.train.shape),
            set.classes.len()
        ));
        let sum = set.checksum();
        let journal = Journal::open(&args.out.join(ownership::JOURNAL), &sum)?;
        let methods = methods(args);
        let train = |tasks: Vec<Task>| workers::train_all::<B>(tasks, set, &sum, args.jobs, &journal, &device);

        // Where there is one candidate, there is nothing to search, but its validation accuracy is worth knowing.
        let part = |s: &Settings| Settings { validation: args.tune_share, ..s.clone() };
        let tasks = methods.iter().flat_map(|m| {
            m.candidates.iter().flat_map(|s| {
                // Other seeds than those of the judgement.
                (0..args.tune_seeds).map(|seed| Task { name: m.name, settings: part(s), seed: 1000 + seed })
            })
        });
        let mut found = train(tasks.collect())?.into_iter();
        let mut tried = Vec::new();
        for m in &methods {
            for s in &m.candidates {
                let runs = found.by_ref().take(args.tune_seeds as usize).collect();
                tried.push(Tried { method: m.name, searched: m.searched, value: (m.value)(s), runs });
            }
        }
        report::tuning(&tried, &args.out)?;

        let chosen: Vec<(&Method, &Settings)> = methods.iter().filter_map(|m| Some((m, best(m, &tried)?))).collect();
        let tasks = chosen
            .iter()
            .flat_map(|(m, s)| (0..args.seeds).map(|seed| Task { name: m.name, settings: (*s).clone(), seed }));
        let mut found = train(tasks.collect())?.into_iter();
        let judged: Vec<Judged> = chosen
            .iter()
            .map(|(m, s)| {
                let runs = found.by_ref().take(args.seeds as usize).collect();
                Judged { method: m.name, searched: m.searched, value: (m.value)(s), runs }
            })
            .collect();
        report::results(&judged, &args.data.name(), &set.classes, &args.out)
    }
}

/// The candidate with the highest mean validation accuracy, the first of equals.
fn best<'m>(method: &'m Method, tried: &[Tried]) -> Option<&'m Settings> {
    let score = |s: &&Settings| {
        let same = |t: &&Tried| t.method == method.name && t.value == (method.value)(s);
        tried.iter().find(same).map_or(f64::NEG_INFINITY, |t| t.accuracy().0)
    };
    method.candidates.iter().rev().max_by(|a, b| score(a).total_cmp(&score(b)))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::path::Path;

    use clap::Parser;

    use super::*;
    use crate::args::{Cli, Command};

    /// The command that RESULTS.md gives for `svhn-burn`, whose journal is published: what it trains must be found there, whatever
    /// becomes of defaults, or nobody could draw published comparisons again. `compare.py` is tested against the same journal.
    #[test]
    fn published_trainings_are_known_again() -> Result<()> {
        let line = "m3svm-deep compare svhn --out o --epochs 10 --lambdas 1e-3 --decays 1 --smoothings 0.1";
        let Command::Compare(args) = Cli::parse_from(line.split(' ')).command else { anyhow::bail!("another command") };
        let journal = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments/deep/svhn-burn/runs.jsonl");
        let text = fs::read_to_string(journal)?;
        let runs: Vec<Run> = text.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
        let mut seen = HashSet::new();
        for settings in methods(&args).into_iter().flat_map(|m| m.candidates) {
            for (validation, seeds) in [(args.tune_share, 1000..1000 + args.tune_seeds), (0.0, 0..args.seeds)] {
                let settings = Settings { validation, ..settings.clone() };
                for seed in seeds {
                    let found = runs.iter().position(|r| r.settings == settings && r.seed == seed);
                    seen.insert(found.with_context(|| format!("no training of {settings:?} with seed {seed}"))?);
                }
            }
        }
        assert_eq!(seen.len(), runs.len());
        Ok(())
    }
}
