//! `m3svm-deep refit`: the last layer trained again on frozen features, to the certified optimum of the linear model.

use anyhow::Result;
use burn_core::tensor::backend::{AutodiffBackend, Backend};
use burn_nn::Linear;
use m3svm::penalty::{Norm, Pairwise};
use m3svm::text::upper;
use m3svm::{AnyLoss, AnyPenalty, Dataset, Features, Scaling, Spec};
use m3svm_burn::{linear_of_model, model_of_linear};

use super::evaluate::suits;
use crate::args::RefitArgs;
use crate::backend::{self, Work};
use crate::batches::{DeviceImages, Order, Tone};
use crate::checkpoint;
use crate::data::{ImageSet, Images};
use crate::network::Network;
use crate::progress::say;
use crate::settings::{LossName, Settings};
use crate::training::evaluate;

/// Images per step.
const BATCH: usize = 1000;

pub(crate) fn run(args: RefitArgs) -> Result<()> {
    let set = args.data.read()?;
    backend::with(args.backend, Refit { args: &args, set: &set })
}

struct Refit<'a> {
    args: &'a RefitArgs,
    set: &'a ImageSet,
}

impl Work for Refit<'_> {
    fn run<B: AutodiffBackend>(self, device: B::Device) -> Result<()> {
        let (header, mut network) = checkpoint::load_network::<B::InnerBackend>(&self.args.checkpoint, &device)?;
        suits(&header, self.set)?;
        let (train, _) = match header.settings.validation {
            0.0 => (self.set.train.clone(), None),
            share => {
                let (train, held) = self.set.train.split(share, 0);
                (train, Some(held))
            }
        };
        let tone = Tone::of(&train);
        let test = DeviceImages::<B::InnerBackend>::new(&self.set.test, &tone, &device);
        let data = features(&network, &train, &tone, &self.set.classes, &device)?;
        let settings = Settings { lambda: self.args.lambda.unwrap_or(header.settings.lambda), ..header.settings };
        let spec = spec(&settings, train.len());
        let before = model_of_linear(&network.head, &spec, &data)?;
        let accuracy = evaluate(&network, &test, &device).1;
        say(&format!("as trained: objective {:.6}, test accuracy {accuracy:.4}", before.certificate().objective));
        let fitted = spec.fit(&data)?;
        network.head = head(&fitted, &device)?;
        let accuracy = evaluate(&network, &test, &device).1;
        let gap = fitted.certificate().relative_gap().map_or_else(|| "unknown".into(), upper);
        say(&format!(
            "refitted:   objective {:.6} (gap {gap}), test accuracy {accuracy:.4}",
            fitted.certificate().objective
        ));
        Ok(())
    }
}

fn head<B: Backend>(model: &m3svm::Model, device: &B::Device) -> Result<Linear<B>> {
    Ok(linear_of_model(model, device)?)
}

/// The linear model that the last layer is. Strengths belong to sums there.
fn spec(settings: &Settings, images: usize) -> Spec {
    let loss = match settings.loss {
        LossName::Softmax | LossName::Ism3 => AnyLoss::Softmax(Default::default()),
        LossName::M3svm => AnyLoss::SmoothHinge(m3svm::loss::SmoothHinge { delta: settings.delta }),
    };
    let n = images as f64;
    Spec {
        loss,
        penalty: AnyPenalty::Pairwise(Pairwise::new(Norm::L2, settings.lambda * n, settings.p)),
        epsilon: settings.epsilon.max(1e-12) * n,
        scaling: Scaling::None,
        ..Spec::default()
    }
}

/// What the last layer sees of some images.
fn features<B: Backend>(
    network: &Network<B>,
    images: &Images,
    tone: &Tone,
    classes: &[String],
    device: &B::Device,
) -> Result<Dataset<'static>> {
    let held = DeviceImages::<B>::new(images, tone, device);
    let order = Order::plain(images.len(), images.len(), device);
    let mut values: Vec<f32> = Vec::new();
    for start in (0..images.len()).step_by(BATCH) {
        let (x, _) = order.batch(&held, start, BATCH.min(images.len() - start));
        values.extend(network.features(x).into_data().iter::<f32>());
    }
    let columns = values.len() / images.len();
    let x = Features::dense(values, images.len(), columns)?;
    Ok(Dataset::new(x, images.labels.clone(), classes.to_vec())?)
}
