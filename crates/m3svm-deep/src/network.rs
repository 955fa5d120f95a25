//! The networks. Their first weights come from the seed alone, not from the backend.

use burn_core as burn;

use burn::module::{Module, Param};
use burn::tensor::activation::relu;
use burn::tensor::backend::Backend;
use burn::tensor::module::max_pool2d;
use burn::tensor::{Tensor, TensorData};
use burn_nn::conv::{Conv2d, Conv2dConfig};
use burn_nn::{BatchNorm, BatchNormConfig, Linear, LinearConfig, PaddingConfig2d};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use crate::random::stream;
use crate::settings::NetworkName;

/// Images in, scores of classes out.
#[derive(Module, Debug)]
pub(crate) struct Network<B: Backend> {
    body: Body<B>,
    /// The last layer, whose columns are the class vectors.
    pub(crate) head: Linear<B>,
}

#[derive(Module, Debug)]
#[allow(clippy::large_enum_variant, reason = "there is one of it per training")]
pub(crate) enum Body<B: Backend> {
    Cnn(Cnn<B>),
    Resnet(Resnet<B>),
}

/// The paper's network: 5×5 convolutions with 16, 32, 64, 64 and 64 filters, each followed by ReLU and 2×2 pooling.
#[derive(Module, Debug)]
pub(crate) struct Cnn<B: Backend> {
    layers: Vec<Conv2d<B>>,
}

/// A convolution, then residual blocks with 32, 64 and 128 filters, then the mean over the image.
#[derive(Module, Debug)]
pub(crate) struct Resnet<B: Backend> {
    stem: Normed<B>,
    blocks: Vec<Block<B>>,
}

#[derive(Module, Debug)]
pub(crate) struct Block<B: Backend> {
    first: Normed<B>,
    second: Normed<B>,
    shortcut: Option<Normed<B>>,
}

/// A convolution with batch normalisation.
#[derive(Module, Debug)]
pub(crate) struct Normed<B: Backend> {
    conv: Conv2d<B>,
    norm: BatchNorm<B>,
}

impl<B: Backend> Network<B> {
    /// Fresh weights for images of a shape (channels, height, width).
    pub(crate) fn new(name: NetworkName, shape: [usize; 3], classes: usize, seed: u64, device: &B::Device) -> Self {
        let mut random = stream(seed, 0x1417);
        let [channels, height, width] = shape;
        let (body, features) = match name {
            NetworkName::Cnn => {
                let filters = [channels, 16, 32, 64, 64, 64];
                let layer = |io: &[usize]| conv(io[0], io[1], 5, 1, true, &mut random, device);
                let layers = filters.windows(2).map(layer).collect();
                (Body::Cnn(Cnn { layers }), 64 * (height / 32) * (width / 32))
            }
            NetworkName::Resnet => {
                let stem = Normed::new(channels, 32, 3, 1, &mut random, device);
                let block = |(from, to, stride)| Block::new(from, to, stride, &mut random, device);
                let blocks = [(32, 32, 1), (32, 64, 2), (64, 128, 2)].map(block).into();
                (Body::Resnet(Resnet { stem, blocks }), 128)
            }
        };
        Self { body, head: linear(features, classes, &mut random, device) }
    }

    /// What the last layer sees.
    ///
    /// # Shapes
    ///
    /// - images: `[batch_size, channels, height, width]`
    /// - output: `[batch_size, num_features]`
    pub(crate) fn features(&self, images: Tensor<B, 4>) -> Tensor<B, 2> {
        match &self.body {
            Body::Cnn(cnn) => cnn.forward(images),
            Body::Resnet(resnet) => resnet.forward(images),
        }
    }

    /// # Shapes
    ///
    /// - images: `[batch_size, channels, height, width]`
    /// - output: `[batch_size, num_classes]`
    pub(crate) fn forward(&self, images: Tensor<B, 4>) -> Tensor<B, 2> {
        self.head.forward(self.features(images))
    }
}

impl<B: Backend> Cnn<B> {
    fn forward(&self, images: Tensor<B, 4>) -> Tensor<B, 2> {
        let step = |x, layer: &Conv2d<B>| max_pool2d(relu(layer.forward(x)), [2, 2], [2, 2], [0, 0], [1, 1], false);
        self.layers.iter().fold(images, step).flatten(1, 3)
    }
}

impl<B: Backend> Resnet<B> {
    fn forward(&self, images: Tensor<B, 4>) -> Tensor<B, 2> {
        let x = relu(self.stem.forward(images));
        let x = self.blocks.iter().fold(x, |x, block| block.forward(x));
        let [n, c, h, w] = x.dims();
        x.reshape([n, c, h * w]).mean_dim(2).reshape([n, c])
    }
}

impl<B: Backend> Block<B> {
    fn new(from: usize, to: usize, stride: usize, random: &mut ChaCha8Rng, device: &B::Device) -> Self {
        Self {
            first: Normed::new(from, to, 3, stride, random, device),
            second: Normed::new(to, to, 3, 1, random, device),
            shortcut: (from != to || stride != 1).then(|| Normed::new(from, to, 1, stride, random, device)),
        }
    }

    fn forward(&self, x: Tensor<B, 4>) -> Tensor<B, 4> {
        let inner = self.second.forward(relu(self.first.forward(x.clone())));
        relu(inner + self.shortcut.as_ref().map_or_else(|| x.clone(), |s| s.forward(x.clone())))
    }
}

impl<B: Backend> Normed<B> {
    fn new(from: usize, to: usize, side: usize, stride: usize, random: &mut ChaCha8Rng, device: &B::Device) -> Self {
        Self { conv: conv(from, to, side, stride, false, random, device), norm: BatchNormConfig::new(to).init(device) }
    }

    fn forward(&self, x: Tensor<B, 4>) -> Tensor<B, 4> {
        self.norm.forward(self.conv.forward(x))
    }
}

/// A square convolution that keeps the size of images (but for its stride).
fn conv<B: Backend>(
    from: usize,
    to: usize,
    side: usize,
    stride: usize,
    bias: bool,
    random: &mut ChaCha8Rng,
    device: &B::Device,
) -> Conv2d<B> {
    let (inputs, pad) = (from * side * side, side / 2);
    let mut layer: Conv2d<B> = Conv2dConfig::new([from, to], [side, side])
        .with_stride([stride, stride])
        .with_padding(PaddingConfig2d::Explicit(pad, pad, pad, pad))
        .with_bias(bias)
        .init(device);
    layer.weight = weights([to, from, side, side], inputs, random, device);
    layer.bias = bias.then(|| weights([to], inputs, random, device));
    layer
}

fn linear<B: Backend>(inputs: usize, outputs: usize, random: &mut ChaCha8Rng, device: &B::Device) -> Linear<B> {
    let mut layer: Linear<B> = LinearConfig::new(inputs, outputs).init(device);
    layer.weight = weights([inputs, outputs], inputs, random, device);
    layer.bias = Some(weights([outputs], inputs, random, device));
    layer
}

/// Uniform from ±1/√inputs, the usual start of networks with ReLU in burn and PyTorch.
fn weights<B: Backend, const D: usize>(
    shape: [usize; D],
    inputs: usize,
    random: &mut ChaCha8Rng,
    device: &B::Device,
) -> Param<Tensor<B, D>> {
    let bound = 1.0 / (inputs as f64).sqrt();
    let values: Vec<f32> =
        (0..shape.iter().product()).map(|_| ((2.0 * random.random::<f64>() - 1.0) * bound) as f32).collect();
    Param::from_tensor(Tensor::from_data(TensorData::new(values, shape), device))
}
