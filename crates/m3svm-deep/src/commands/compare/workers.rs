//! Trainings side by side. Every thread has its own images on the device and its own queue of work there.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result};
use burn_core::tensor::backend::AutodiffBackend;
use m3svm_burn::head_margins;

use crate::data::ImageSet;
use crate::journal::{Journal, Run, finite};
use crate::progress::Bars;
use crate::settings::Settings;
use crate::training::{Loaded, Training};

/// A training to do.
pub(super) struct Task {
    pub(super) name: &'static str,
    pub(super) settings: Settings,
    pub(super) seed: u64,
}

/// Does all tasks that the journal does not know, on the data of a checksum; results come in the order of tasks.
pub(super) fn train_all<B: AutodiffBackend>(
    tasks: Vec<Task>,
    set: &ImageSet,
    sum: &str,
    jobs: usize,
    journal: &Journal,
    device: &B::Device,
) -> Result<Vec<Run>> {
    let (next, bars) = (AtomicUsize::new(0), Bars::default());
    let results: Mutex<Vec<Option<Result<Run>>>> = Mutex::new(tasks.iter().map(|_| None).collect());
    let worker = || {
        let mut loaded: Option<(f64, Loaded<B>)> = None;
        loop {
            let n = next.fetch_add(1, Ordering::Relaxed);
            let Some(task) = tasks.get(n) else { return };
            let share = task.settings.validation;
            if loaded.as_ref().is_none_or(|(held, _)| *held != share) {
                loaded = Some((share, Loaded::new(set, share, device)));
            }
            let Some((_, data)) = &loaded else { return };
            let result = train(task, data, sum, journal, &bars, device);
            let failed = result.is_err();
            if let Ok(mut results) = results.lock() {
                results[n] = Some(result);
            }
            if failed {
                // Nobody begins anything new.
                next.store(tasks.len(), Ordering::Relaxed);
                return;
            }
        }
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..jobs.min(tasks.len())).map(|_| scope.spawn(worker)).collect();
        for thread in threads {
            thread.join().map_err(|_| anyhow::anyhow!("a training broke off"))?;
        }
        anyhow::Ok(())
    })?;
    let results = results.into_inner().map_err(|_| anyhow::anyhow!("a training broke off"))?;
    if let Some(n) = results.iter().position(|r| matches!(r, Some(Err(_)))) {
        let failed = results.into_iter().nth(n).flatten().context("a training broke off")?;
        return failed.map(|run| vec![run]);
    }
    results.into_iter().map(|r| r.context("a training is missing")?).collect()
}

fn train<B: AutodiffBackend>(
    task: &Task,
    data: &Loaded<B>,
    sum: &str,
    journal: &Journal,
    bars: &Bars,
    device: &B::Device,
) -> Result<Run> {
    let Task { settings, seed, .. } = task;
    if let Some(known) = journal.find(settings, *seed, data.train_len()) {
        return Ok(known);
    }
    let mut training = Training::new(settings, *seed, data, device);
    let bar = bars.images(settings.epochs * data.train_len(), 0, &format!("{}, seed {seed}", task.name));
    while !training.finished() {
        training.epoch(data, device, &|images| bar.inc(images as u64))?;
    }
    bar.finish_and_clear();
    let run = Run {
        settings: settings.clone(),
        seed: *seed,
        data: sum.into(),
        images: data.train_len(),
        first_margins: finite(&training.first_margins),
        last_margins: finite(&head_margins(&training.network.head)),
        history: training.history,
    };
    journal.add(&run)?;
    if let Some(e) = run.last() {
        let validation = e.validation_accuracy.map(|v| format!(", validation {v:.4}")).unwrap_or_default();
        bars.tell(&format!(
            "{}, decay {}, smoothing {}, lambda {}, seed {seed}: training {:.4}{validation}, test {:.4}, {:.0} images/s",
            task.name, settings.decay, settings.smoothing, settings.lambda, e.train_accuracy, e.test_accuracy, e.images_per_second
        ));
    }
    Ok(run)
}
