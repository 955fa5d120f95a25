//! Images on the device: all of them as bytes, batches as normalised floats. Nothing but numbers of images travels per epoch.

use burn_core::tensor::backend::Backend;
use burn_core::tensor::{DType, Int, Tensor, TensorData};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use crate::data::Images;
use crate::random::{permutation, stream};

/// Images are moved by up to so many pixels.
const MOST_SHIFT: usize = 4;

/// Mean and deviation of every channel.
#[derive(Clone, Debug)]
pub(crate) struct Tone {
    mean: Vec<f32>,
    deviation: Vec<f32>,
}

impl Tone {
    pub(crate) fn of(images: &Images) -> Self {
        let [channels, height, width] = images.shape;
        let plane = height * width;
        let (mut sums, mut squares) = (vec![0u64; channels], vec![0u64; channels]);
        for (n, pixels) in images.pixels.chunks_exact(plane).enumerate() {
            for p in pixels {
                sums[n % channels] += u64::from(*p);
                squares[n % channels] += u64::from(*p) * u64::from(*p);
            }
        }
        let count = (images.len() * plane) as f64;
        let mean: Vec<f64> = sums.iter().map(|s| *s as f64 / count).collect();
        let deviation = squares.iter().zip(&mean).map(|(s, m)| (*s as f64 / count - m * m).max(1.0).sqrt() as f32);
        Self { deviation: deviation.collect(), mean: mean.into_iter().map(|m| m as f32).collect() }
    }
}

/// A set of images on a device.
#[derive(Clone, Debug)]
pub(crate) struct DeviceImages<B: Backend> {
    /// One image per row, in bytes.
    rows: Tensor<B, 2, Int>,
    labels: Tensor<B, 1, Int>,
    mean: Tensor<B, 4>,
    scale: Tensor<B, 4>,
    shape: [usize; 3],
    len: usize,
}

impl<B: Backend> DeviceImages<B> {
    pub(crate) fn new(images: &Images, tone: &Tone, device: &B::Device) -> Self {
        let channels = images.shape[0];
        let rows = TensorData::new(images.pixels.clone(), [images.len(), images.size()]);
        let labels: Vec<i32> = images.labels.iter().map(|k| *k as i32).collect();
        let per_channel = |values: Vec<f32>| Tensor::from_data(TensorData::new(values, [1, channels, 1, 1]), device);
        Self {
            rows: Tensor::from_data(rows, (device, DType::U8)),
            labels: Tensor::from_data(TensorData::new(labels, [images.len()]), device),
            mean: per_channel(tone.mean.clone()),
            scale: per_channel(tone.deviation.iter().map(|d| 1.0 / d).collect()),
            shape: images.shape,
            len: images.len(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The images of some numbers with their classes, moved if there are moves.
    ///
    /// # Shapes
    ///
    /// - numbers: `[batch_size]`
    /// - moves: `[batch_size, 3]`
    /// - output: `[batch_size, channels, height, width]` and `[batch_size]`
    pub(crate) fn batch(
        &self,
        numbers: Tensor<B, 1, Int>,
        moves: Option<Tensor<B, 2, Int>>,
    ) -> (Tensor<B, 4>, Tensor<B, 1, Int>) {
        let [count] = numbers.dims();
        let [c, h, w] = self.shape;
        let mut rows = self.rows.clone().select(0, numbers.clone());
        if let Some(moves) = moves {
            rows = rows.gather(1, self.moved(moves));
        }
        let images = (rows.float().reshape([count, c, h, w]) - self.mean.clone()) * self.scale.clone();
        (images, self.labels.clone().select(0, numbers))
    }

    /// Where every pixel of moved images comes from. Pixels from outside repeat the edge.
    fn moved(&self, moves: Tensor<B, 2, Int>) -> Tensor<B, 2, Int> {
        let [_, h, w] = self.shape.map(|s| s as i64);
        let size = self.shape.iter().product::<usize>();
        let [count, _] = moves.dims();
        let part = |n: usize| moves.clone().slice([0..count, n..n + 1]);
        let at = Tensor::<B, 1, Int>::arange(0..size as i64, &moves.device()).reshape([1, size]);
        let plane = at.clone() / (h * w);
        let y = (at.clone() / w).remainder_scalar(h);
        let x = at.remainder_scalar(w);
        // Mirrored: w − 1 − x.
        let x = x.clone() + part(2) * (x * -2 + (w - 1));
        let y = (y + part(0)).clamp(0, h - 1);
        let x = (x + part(1)).clamp(0, w - 1);
        plane * (h * w) + y * w + x
    }
}

/// The order of one epoch, and how its images are moved.
#[derive(Debug)]
pub(crate) struct Order<B: Backend> {
    numbers: Tensor<B, 1, Int>,
    moves: Option<Tensor<B, 2, Int>>,
}

impl<B: Backend> Order<B> {
    /// The same for the same seed and epoch, whatever was drawn before.
    pub(crate) fn new(len: usize, seed: u64, epoch: usize, augment: bool, device: &B::Device) -> Self {
        let mut random = stream(seed, 0xe90c + ((epoch as u64) << 16));
        let numbers: Vec<i32> = permutation(len, &mut random).into_iter().map(|i| i as i32).collect();
        let moves = augment.then(|| (0..len).flat_map(|_| a_move(&mut random)).collect::<Vec<i32>>());
        Self {
            numbers: Tensor::from_data(TensorData::new(numbers, [len]), device),
            moves: moves.map(|m| Tensor::from_data(TensorData::new(m, [len, 3]), device)),
        }
    }

    /// Images as they lie, for evaluation; the first ones repeat at the end to fill `len`.
    pub(crate) fn plain(images: usize, len: usize, device: &B::Device) -> Self {
        let numbers: Vec<i32> = (0..len).map(|i| (i % images) as i32).collect();
        Self { numbers: Tensor::from_data(TensorData::new(numbers, [len]), device), moves: None }
    }

    pub(crate) fn batch(
        &self,
        images: &DeviceImages<B>,
        start: usize,
        count: usize,
    ) -> (Tensor<B, 4>, Tensor<B, 1, Int>) {
        let numbers = self.numbers.clone().slice(start..start + count);
        images.batch(numbers, self.moves.clone().map(|m| m.slice([start..start + count, 0..3])))
    }
}

/// Rows down, columns to the left, and whether mirrored.
fn a_move(random: &mut ChaCha8Rng) -> [i32; 3] {
    let most = MOST_SHIFT as i32;
    let mut shift = || random.random_range(-most..=most);
    let [down, left] = [shift(), shift()];
    [down, left, random.random_range(0..2)]
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::data::samples::small_set;
    use burn_flex::{Flex, FlexDevice};

    type Plain = Flex;

    #[test]
    fn batches_are_normalised_by_channel() {
        let images = small_set(2, 6).train;
        let device = FlexDevice;
        let held = DeviceImages::<Plain>::new(&images, &Tone::of(&images), &device);
        let (x, y) = Order::plain(12, 12, &device).batch(&held, 0, 12);
        assert_eq!(x.dims(), [12, 1, 32, 32]);
        let values: Vec<f64> = x.into_data().iter::<f64>().collect();
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let square = values.iter().map(|v| v * v).sum::<f64>() / n;
        assert!(mean.abs() < 1e-4 && (square - 1.0).abs() < 1e-4, "{mean} {square}");
        let labels: Vec<u32> = y.into_data().iter::<u32>().collect();
        assert_eq!(labels, images.labels);
    }

    #[test]
    fn moves_are_those_of_a_loop_over_pixels() {
        let mut images = small_set(2, 1).train;
        // Two channels of 16 rows would do as well; three colours are the real case.
        images.shape = [1, 32, 32];
        let device = FlexDevice;
        let plain = Tone { mean: vec![0.0], deviation: vec![1.0] };
        let held = DeviceImages::<Plain>::new(&images, &plain, &device);
        let moves = [[0, 0, 0], [-3, 4, 1]];
        let flat: Vec<i32> = moves.concat();
        let tensor = Tensor::from_data(TensorData::new(flat, [2, 3]), &device);
        let (x, _) = held.batch(Tensor::from_data(TensorData::new(vec![0i32, 1], [2]), &device), Some(tensor));
        let found: Vec<u8> = x.into_data().iter::<f32>().map(|v| v as u8).collect();
        assert_eq!(found[..1024], images.pixels[..1024]);
        for y in 0..32i32 {
            for x in 0..32i32 {
                let from = ((y - 3).clamp(0, 31), (31 - x + 4).clamp(0, 31));
                assert_eq!(found[1024 + (y * 32 + x) as usize], images.pixels[1024 + (from.0 * 32 + from.1) as usize]);
            }
        }
    }

    #[test]
    fn epochs_differ_and_repeat_with_their_seed() {
        let numbers = |seed: u64, epoch: usize| -> Vec<i64> {
            Order::<Plain>::new(50, seed, epoch, false, &FlexDevice).numbers.into_data().iter::<i64>().collect()
        };
        assert_eq!(numbers(1, 3), numbers(1, 3));
        assert_ne!(numbers(1, 3), numbers(1, 4));
        assert_ne!(numbers(1, 3), numbers(2, 3));
        let mut sorted = numbers(1, 3);
        sorted.sort_unstable();
        assert_eq!(sorted, (0..50).collect::<Vec<i64>>());
        let order = Order::<Plain>::new(500, 1, 0, true, &FlexDevice);
        let moves: Vec<i64> = order.moves.unwrap().into_data().iter::<i64>().collect();
        assert!(moves.chunks(3).all(|m| m[0].abs() <= 4 && m[1].abs() <= 4 && (m[2] == 0 || m[2] == 1)));
        let mirrored = moves.chunks(3).filter(|m| m[2] == 1).count();
        assert!((200..300).contains(&mirrored), "{mirrored}");
    }
}
