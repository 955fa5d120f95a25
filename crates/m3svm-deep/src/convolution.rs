//! Convolutions with a weight gradient that keeps a GPU busy.
//!
//! burn computes it as one product with an inner dimension of all pixels of all images, which its kernels for CUDA do not
//! divide: few processors work and the rest waits. Where there are many pixels, it is a product per image here, and then a sum.

use burn_core as burn;

use burn::tensor::Tensor;
use burn::tensor::backend::Backend;
use burn::tensor::module::conv2d;
use burn::tensor::ops::{ConvOptions, PadMode};
use burn_nn::PaddingConfig2d;
use burn_nn::conv::Conv2d;

/// Fewest pixels of an output for which it pays.
const MANY_PIXELS: usize = 64;

/// What `layer.forward` gives, with the same gradients.
///
/// # Shapes
///
/// - images: `[batch_size, channels_in, height_in, width_in]`
/// - output: `[batch_size, channels_out, height_out, width_out]`
pub(crate) fn convolve<B: Backend>(layer: &Conv2d<B>, images: Tensor<B, 4>) -> Tensor<B, 4> {
    let device = images.device();
    let [_, _, height, width] = images.dims();
    let pixels = height * width / (layer.stride[0] * layer.stride[1]);
    // On the CPU, burn's own way is the faster one.
    let pays = pixels >= MANY_PIXELS && B::ad_enabled(&device) && B::name(&device).contains("cuda");
    match layer.padding {
        PaddingConfig2d::Explicit(top, left, bottom, right)
            if pays && (top, left) == (bottom, right) && layer.groups == 1 && layer.dilation == [1, 1] =>
        {
            image_by_image(layer, [top, left], images)
        }
        _ => layer.forward(images),
    }
}

fn image_by_image<B: Backend>(layer: &Conv2d<B>, padding: [usize; 2], images: Tensor<B, 4>) -> Tensor<B, 4> {
    let weight = layer.weight.val();
    let fixed = constant(weight.clone());
    let options = ConvOptions::new(layer.stride, padding, [1, 1], 1);
    let bias = layer.bias.as_ref().map(|bias| bias.val());
    let output = conv2d(images.clone(), fixed.clone(), bias, options);
    // Exactly 0, and linear in the weight: it adds nothing but the gradient.
    let [filters, channels, rows, columns] = weight.dims();
    let change = (weight - fixed).reshape([1, filters, channels * rows * columns]);
    let nothing = change.matmul(patches(constant(images), layer, padding));
    let shape = output.dims();
    output + nothing.reshape(shape)
}

/// What the filters see at every place.
///
/// # Shapes
///
/// - images: `[batch_size, channels, height_in, width_in]`
/// - output: `[batch_size, channels * rows * columns, height_out * width_out]`
fn patches<B: Backend>(images: Tensor<B, 4>, layer: &Conv2d<B>, [top, left]: [usize; 2]) -> Tensor<B, 3> {
    let [rows, columns] = layer.kernel_size;
    let padded = images.pad([(top, top), (left, left)], PadMode::Constant(0.0));
    let by_rows: Tensor<B, 5> = padded.unfold(2, rows, layer.stride[0]);
    let windows: Tensor<B, 6> = by_rows.unfold(3, columns, layer.stride[1]);
    let [batch, channels, height, width, _, _] = windows.dims();
    windows.permute([0, 1, 4, 5, 2, 3]).reshape([batch, channels * rows * columns, height * width])
}

/// Cut off from the graph. (`detach` alone keeps parameters as leaves that want a gradient.)
fn constant<B: Backend>(tensor: Tensor<B, 4>) -> Tensor<B, 4> {
    tensor.detach().set_require_grad(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use burn::tensor::Distribution;
    use burn_autodiff::Autodiff;
    use burn_flex::{Flex, FlexDevice};
    use burn_nn::conv::Conv2dConfig;

    type Graph = Autodiff<Flex>;

    fn check(channels: [usize; 2], side: [usize; 2], stride: usize, pad: usize, image: [usize; 2], bias: bool) {
        let device = FlexDevice;
        let layer: Conv2d<Graph> = Conv2dConfig::new(channels, side)
            .with_stride([stride, stride])
            .with_padding(PaddingConfig2d::Explicit(pad, pad, pad, pad))
            .with_bias(bias)
            .init(&device);
        let random = |shape| Tensor::<Graph, 4>::random(shape, Distribution::Normal(0.0, 1.0), &device);
        let images = random([3, channels[0], image[0], image[1]]).require_grad();
        let (plain, ours) = (layer.forward(images.clone()), image_by_image(&layer, [pad, pad], images.clone()));
        ours.to_data().assert_eq(&plain.to_data(), true);
        let weights = constant(random(plain.dims()));
        let (plain, ours) = ((plain * weights.clone()).sum().backward(), (ours * weights).sum().backward());
        let near = |a: Option<Tensor<Flex, 4>>, b: Option<Tensor<Flex, 4>>| {
            let (a, b) = (a.unwrap(), b.unwrap());
            let size = b.clone().abs().max().into_scalar();
            let apart = (a - b).abs().max().into_scalar();
            assert!(apart <= 1e-5 * size, "{apart} of {size}");
        };
        near(images.grad(&ours), images.grad(&plain));
        near(layer.weight.grad(&ours), layer.weight.grad(&plain));
        if let Some(bias) = &layer.bias {
            let (a, b) = (bias.grad(&ours).unwrap(), bias.grad(&plain).unwrap());
            let apart = (a - b.clone()).abs().max().into_scalar();
            assert!(apart <= 1e-5 * b.abs().max().into_scalar());
        }
    }

    #[test]
    fn values_and_gradients_are_those_of_the_layer() {
        check([1, 4], [5, 5], 1, 2, [16, 16], true);
        check([3, 4], [3, 3], 1, 1, [9, 12], false);
        check([2, 5], [3, 3], 2, 1, [17, 16], true);
        check([4, 2], [1, 1], 2, 0, [18, 18], true);
        check([2, 3], [5, 3], 1, 2, [10, 11], true);
    }
}
