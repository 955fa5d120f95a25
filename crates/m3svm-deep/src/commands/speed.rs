//! `m3svm-deep speed`: what a training step costs with softmax and with ISM3, on random images.

use std::time::Instant;

use anyhow::{Result, ensure};
use burn_core::tensor::backend::{AutodiffBackend, Backend};
use burn_core::tensor::{Int, Tensor, TensorData};
use burn_nn::{Linear, LinearConfig};
use burn_optim::{AdamWConfig, GradientsParams, Optimizer};
use rand::RngExt;

use crate::args::SpeedArgs;
use crate::backend::{self, Work};
use crate::criterion::Criterion;
use crate::network::Network;
use crate::progress::say;
use crate::random::stream;
use crate::settings::{LossName, NetworkName, Settings};

/// Steps that are not measured: kernels are compiled and chosen then.
const WARM_UP: usize = 10;
/// Measurements of every kind, in turns; the median counts.
const ROUNDS: usize = 5;
/// The head of a large network.
const WIDE: (usize, usize) = (2048, 1000);
/// Images of which the paper's network makes as many features.
const LARGE: [usize; 3] = [1, 256, 128];

pub(crate) fn run(args: SpeedArgs) -> Result<()> {
    ensure!(
        args.steps > 0 && args.batches.iter().all(|b| (1..=65_536).contains(b)),
        "steps and batches must be positive"
    );
    backend::with(args.backend, Speed(args))
}

struct Speed(SpeedArgs);

impl Work for Speed {
    fn run<B: AutodiffBackend>(self, device: B::Device) -> Result<()> {
        say("network,classes,features,batch,softmax_ms,ism3_ms,overhead_percent,softmax_images_per_second");
        for batch in &self.0.batches {
            report_network::<B>([1, 32, 32], (64, 10), *batch, self.0.steps, &device);
        }
        if self.0.wide {
            for batch in &self.0.batches {
                report_network::<B>(LARGE, WIDE, *batch, self.0.steps, &device);
                let inputs = numbers([*batch, WIDE.0], &device);
                let step = |loss: LossName, steps: usize| steps_of_head::<B>(&inputs, *batch, loss, steps, &device);
                report::<B>("head alone", WIDE, *batch, self.0.steps, &device, step);
            }
        }
        Ok(())
    }
}

/// Measures the paper's network on random images.
fn report_network<B: AutodiffBackend>(
    shape: [usize; 3],
    (features, classes): (usize, usize),
    batch: usize,
    steps: usize,
    device: &B::Device,
) {
    let [channels, height, width] = shape;
    let network = Network::<B>::new(NetworkName::Cnn, shape, classes, 0, device);
    let images = numbers([batch, channels * height * width], device).reshape([batch, channels, height, width]);
    let step = |loss: LossName, steps: usize| steps_of_network(&network, &images, classes, loss, steps, device);
    report::<B>("cnn", (features, classes), batch, steps, device, step);
}

/// Measures both losses in turns and says a line.
fn report<B: AutodiffBackend>(
    name: &str,
    (features, classes): (usize, usize),
    batch: usize,
    steps: usize,
    device: &B::Device,
    run: impl Fn(LossName, usize),
) {
    let timed = |loss: LossName, steps: usize| {
        let started = Instant::now();
        run(loss, steps);
        // A failed wait would show in the next call; there is no result to lose.
        let _ = B::sync(device);
        1e3 * started.elapsed().as_secs_f64() / steps as f64
    };
    for loss in [LossName::Softmax, LossName::Ism3] {
        timed(loss, WARM_UP);
    }
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        times[0].push(timed(LossName::Softmax, steps));
        times[1].push(timed(LossName::Ism3, steps));
    }
    let [softmax, ism3] = times.map(|mut t| {
        t.sort_by(f64::total_cmp);
        t[ROUNDS / 2]
    });
    let overhead = 100.0 * (ism3 / softmax - 1.0);
    let speed = 1e3 * batch as f64 / softmax;
    say(&format!("{name},{classes},{features},{batch},{softmax:.4},{ism3:.4},{overhead:.1},{speed:.0}"));
}

/// The steps of a training of the paper's network.
fn steps_of_network<B: AutodiffBackend>(
    network: &Network<B>,
    images: &Tensor<B, 4>,
    classes: usize,
    loss: LossName,
    steps: usize,
    device: &B::Device,
) {
    let mut network = network.clone();
    let mut optimizer = AdamWConfig::new().init();
    let criterion = criterion(loss, device);
    let targets = labels(images.dims()[0], classes, device);
    for _ in 0..steps {
        let logits = network.forward(images.clone());
        let value = criterion.forward(&network.head, logits, targets.clone());
        let gradients = GradientsParams::from_grads(value.backward(), &network);
        network = optimizer.step(1e-3, network, gradients);
    }
}

/// The steps of a wide last layer on its own, with its optimiser: what the penalty is compared with is as small as it can be.
fn steps_of_head<B: AutodiffBackend>(
    inputs: &Tensor<B, 2>,
    batch: usize,
    loss: LossName,
    steps: usize,
    device: &B::Device,
) {
    let mut head: Linear<B> = LinearConfig::new(WIDE.0, WIDE.1).init(device);
    let mut optimizer = AdamWConfig::new().init();
    let criterion = criterion(loss, device);
    let targets = labels(batch, WIDE.1, device);
    for _ in 0..steps {
        let value = criterion.forward(&head, head.forward(inputs.clone()), targets.clone());
        let gradients = GradientsParams::from_grads(value.backward(), &head);
        head = optimizer.step(1e-3, head, gradients);
    }
}

fn criterion<B: Backend>(loss: LossName, device: &B::Device) -> Criterion<B> {
    let settings = Settings { loss, ..Settings::default() };
    Criterion::new(&settings, device)
}

fn numbers<B: Backend>(shape: [usize; 2], device: &B::Device) -> Tensor<B, 2> {
    let mut random = stream(1, 2);
    let values: Vec<f32> = (0..shape[0] * shape[1]).map(|_| random.random_range(-1.0..1.0)).collect();
    Tensor::from_data(TensorData::new(values, shape), device)
}

fn labels<B: Backend>(batch: usize, classes: usize, device: &B::Device) -> Tensor<B, 1, Int> {
    let values: Vec<i32> = (0..batch).map(|i| (i * 7 % classes) as i32).collect();
    Tensor::from_data(TensorData::new(values, [batch]), device)
}
