//! A training from top to bottom: epochs, evaluation, early stopping.

use std::time::Instant;

use anyhow::{Result, ensure};
use burn_core::module::AutodiffModule;
use burn_core::tensor::Tensor;
use burn_core::tensor::backend::{AutodiffBackend, Backend};
use burn_nn::loss::CrossEntropyLossConfig;
use burn_optim::adaptor::OptimizerAdaptor;
use burn_optim::{AdamW, AdamWConfig, GradientsParams, Optimizer};
use m3svm_burn::head_margins;
use serde::{Deserialize, Serialize};

use crate::batches::{DeviceImages, Order, Tone};
use crate::criterion::Criterion;
use crate::data::ImageSet;
use crate::network::Network;
use crate::settings::Settings;

/// Images per step of an evaluation.
const EVALUATION_BATCH: usize = 1000;

/// What is known after an epoch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Epoch {
    /// Counted from 1.
    pub(crate) epoch: usize,
    /// Mean of the whole loss over the steps, and share of right classes, both while weights were changing.
    pub(crate) train_loss: f64,
    pub(crate) train_accuracy: f64,
    pub(crate) validation_accuracy: Option<f64>,
    /// Mean cross-entropy, whatever was trained.
    pub(crate) test_loss: f64,
    pub(crate) test_accuracy: f64,
    /// The smallest margin 2/‖wₖ − wₗ‖ of the last layer.
    pub(crate) min_margin: f64,
    pub(crate) images_per_second: f64,
}

/// The images of a training on a device.
#[derive(Clone, Debug)]
pub(crate) struct Loaded<B: AutodiffBackend> {
    train: DeviceImages<B>,
    validation: Option<DeviceImages<B::InnerBackend>>,
    test: DeviceImages<B::InnerBackend>,
    pub(crate) shape: [usize; 3],
    pub(crate) classes: usize,
}

impl<B: AutodiffBackend> Loaded<B> {
    /// `validation`: the share held out, drawn by a seed of its own, so that all trainings hold out the same images.
    pub(crate) fn new(set: &ImageSet, validation: f64, device: &B::Device) -> Self {
        let held;
        let (train, part) = if validation > 0.0 {
            held = set.train.split(validation, 0);
            (&held.0, Some(&held.1))
        } else {
            (&set.train, None)
        };
        let tone = Tone::of(train);
        Self {
            train: DeviceImages::new(train, &tone, device),
            validation: part.map(|images| DeviceImages::new(images, &tone, device)),
            test: DeviceImages::new(&set.test, &tone, device),
            shape: set.train.shape,
            classes: set.classes.len(),
        }
    }

    pub(crate) fn test(&self) -> &DeviceImages<B::InnerBackend> {
        &self.test
    }

    pub(crate) fn train_len(&self) -> usize {
        self.train.len()
    }
}

pub(crate) type Adam<B> = OptimizerAdaptor<AdamW, Network<B>, B>;

/// A network with everything that its training needs to go on.
pub(crate) struct Training<B: AutodiffBackend> {
    pub(crate) settings: Settings,
    pub(crate) seed: u64,
    pub(crate) network: Network<B>,
    pub(crate) optimizer: Adam<B>,
    pub(crate) history: Vec<Epoch>,
    /// The weights of the best epoch, where early stopping watches.
    pub(crate) best: Option<Network<B>>,
    /// Margins of the last layer before the first step.
    pub(crate) first_margins: Vec<f64>,
}

impl<B: AutodiffBackend> Training<B> {
    pub(crate) fn new(settings: &Settings, seed: u64, data: &Loaded<B>, device: &B::Device) -> Self {
        let network = Network::new(settings.network, data.shape, data.classes, seed, device);
        Self {
            first_margins: head_margins(&network.head),
            network,
            optimizer: adam(settings),
            settings: settings.clone(),
            seed,
            history: Vec::new(),
            best: None,
        }
    }

    /// Whether all epochs are done, or the validation accuracy has not risen for long enough.
    pub(crate) fn finished(&self) -> bool {
        let waited = self.best_epoch().map_or(0, |best| self.history.len() - best);
        self.history.len() >= self.settings.epochs || (self.settings.patience > 0 && waited >= self.settings.patience)
    }

    /// The epoch (counted from 1) with the best validation accuracy, the first of equals.
    fn best_epoch(&self) -> Option<usize> {
        let score = |e: &Epoch| e.validation_accuracy.unwrap_or(f64::NEG_INFINITY);
        let first = self.history.iter().rev().max_by(|a, b| score(a).total_cmp(&score(b)))?;
        Some(first.epoch)
    }

    /// What was reached: the best epoch under early stopping, else the last one.
    pub(crate) fn outcome(&self) -> Option<&Epoch> {
        match self.best {
            Some(_) => self.best_epoch().map(|n| &self.history[n - 1]),
            None => self.history.last(),
        }
    }

    /// The network of [`Training::outcome`].
    pub(crate) fn chosen(&self) -> &Network<B> {
        self.best.as_ref().unwrap_or(&self.network)
    }

    /// One pass over the training images; `tick` hears how many are done.
    pub(crate) fn epoch(&mut self, data: &Loaded<B>, device: &B::Device, tick: &dyn Fn(usize)) -> Result<()> {
        let started = Instant::now();
        let epoch = self.history.len();
        let criterion = Criterion::new(&self.settings, device);
        let order = Order::new(data.train.len(), self.seed, epoch, self.settings.augment, device);
        // A smaller last batch would only be another shape to compile for; its images come up in other epochs.
        let batch = self.settings.batch.min(data.train.len());
        let steps = data.train.len() / batch;
        let zero = || Tensor::<B::InnerBackend, 1>::zeros([1], device);
        let (mut loss_sum, mut hits) = (zero(), zero());
        for step in 0..steps {
            let (images, targets) = order.batch(&data.train, step * batch, batch);
            let logits = self.network.forward(images);
            let loss = criterion.forward(&self.network.head, logits.clone(), targets.clone());
            // Sums stay on the device: reading them would wait for every step.
            loss_sum = loss_sum + loss.clone().inner();
            hits = hits + right(logits.inner(), targets.inner(), batch);
            let gradients = GradientsParams::from_grads(loss.backward(), &self.network);
            let rate = self.settings.rate_at(epoch * steps + step, self.settings.epochs * steps);
            self.network = self.optimizer.step(rate, self.network.clone(), gradients);
            tick(batch);
        }
        let train_loss = number(loss_sum) / steps as f64;
        ensure!(train_loss.is_finite(), "training diverged in epoch {}: the loss is {train_loss}", epoch + 1);
        let train_accuracy = number(hits) / (steps * batch) as f64;
        let images_per_second = (steps * batch) as f64 / started.elapsed().as_secs_f64();
        self.close(data, device, train_loss, train_accuracy, images_per_second);
        Ok(())
    }

    /// Evaluates and notes the epoch.
    fn close(&mut self, data: &Loaded<B>, device: &B::Device, train_loss: f64, train_accuracy: f64, speed: f64) {
        let network = self.network.valid();
        let validation = data.validation.as_ref().map(|images| evaluate(&network, images, device).1);
        let (test_loss, test_accuracy) = evaluate(&network, &data.test, device);
        let before = self.history.iter().filter_map(|e| e.validation_accuracy).fold(f64::NEG_INFINITY, f64::max);
        self.history.push(Epoch {
            epoch: self.history.len() + 1,
            train_loss,
            train_accuracy,
            validation_accuracy: validation,
            test_loss,
            test_accuracy,
            min_margin: head_margins(&network.head).into_iter().fold(f64::INFINITY, f64::min),
            images_per_second: speed,
        });
        if self.settings.patience > 0 && validation.is_some_and(|v| v > before) {
            self.best = Some(self.network.clone());
        }
    }
}

/// Adam with decoupled decay.
pub(crate) fn adam<B: AutodiffBackend>(settings: &Settings) -> Adam<B> {
    AdamWConfig::new().with_epsilon(1e-8).with_weight_decay(settings.decay as f32).init()
}

/// Mean cross-entropy and share of right classes.
pub(crate) fn evaluate<B: Backend>(network: &Network<B>, images: &DeviceImages<B>, device: &B::Device) -> (f64, f64) {
    let batch = EVALUATION_BATCH.min(images.len());
    let batches = images.len().div_ceil(batch);
    // Every batch has the same shape; what repeats at the end is cut off again.
    let order = Order::plain(images.len(), batches * batch, device);
    let entropy = CrossEntropyLossConfig::new().init(device);
    let (mut losses, mut hits) = (Tensor::<B, 1>::zeros([1], device), Tensor::<B, 1>::zeros([1], device));
    for n in 0..batches {
        let (x, targets) = order.batch(images, n * batch, batch);
        let real = batch.min(images.len() - n * batch);
        let logits = network.forward(x);
        let [_, classes] = logits.dims();
        let kept = logits.clone().slice([0..real, 0..classes]);
        losses = losses + entropy.forward(kept, targets.clone().slice(0..real)) * real as f64;
        hits = hits + right(logits, targets, real);
    }
    (number(losses) / images.len() as f64, number(hits) / images.len() as f64)
}

/// How many of the first `count` have their highest score at their class.
fn right<B: Backend>(
    logits: Tensor<B, 2>,
    targets: Tensor<B, 1, burn_core::tensor::Int>,
    count: usize,
) -> Tensor<B, 1> {
    let [batch, _] = logits.dims();
    logits.argmax(1).reshape([batch]).equal(targets).float().slice(0..count).sum()
}

fn number<B: Backend>(tensor: Tensor<B, 1>) -> f64 {
    tensor.into_data().iter::<f64>().next().unwrap_or(f64::NAN)
}
