//! Small images that tests learn from.

use rand::RngExt;

use super::{ImageSet, Images};
use crate::random::stream;

/// Class k is a bright bar at height 4 + 6k on noise; `each` images per class in either part.
pub(crate) fn small_set(classes: usize, each: usize) -> ImageSet {
    let part = |seed: u64| {
        let mut random = stream(seed, 1);
        let mut images = Images { pixels: Vec::new(), labels: Vec::new(), shape: [1, 32, 32] };
        for i in 0..each * classes {
            let k = i % classes;
            images.labels.push(k as u32);
            images.pixels.extend((0..32 * 32).map(|at| {
                let bar = usize::abs_diff(at / 32, 4 + 6 * k) < 2;
                (random.random_range(0..100) + if bar { 120 } else { 0 }) as u8
            }));
        }
        images
    };
    let classes = (0..classes).map(|k| format!("bar {k}")).collect();
    ImageSet { train: part(1), test: part(2), classes, files: None }
}
