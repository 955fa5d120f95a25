//! One number that says which images a result belongs to.

use flate2::Crc;

use super::{ImageSet, Images, shape};

impl ImageSet {
    /// CRC-32 of shape, images, labels and class names, in hexadecimal. An image counts by its file where it has one of its own, since
    /// decoders of JPEG differ by a shade, else by its pixels.
    pub(crate) fn checksum(&self) -> String {
        let mut all = Crc::new();
        all.update(format!("{}\n", shape(self.train.shape)).as_bytes());
        for (n, images) in [&self.train, &self.test].into_iter().enumerate() {
            let sums = match &self.files {
                Some(files) => files[n].clone(),
                None => pixel_sums(images),
            };
            for (sum, label) in sums.iter().zip(&images.labels) {
                all.update(&sum.to_le_bytes());
                all.update(&label.to_le_bytes());
            }
            // Else the first test image could as well be the last one for training.
            all.update(b"\n");
        }
        self.classes.iter().for_each(|name| all.update(format!("{name}\n").as_bytes()));
        format!("{:08x}", all.sum())
    }
}

fn pixel_sums(images: &Images) -> Vec<u32> {
    images.pixels.chunks(images.size()).map(sum).collect()
}

/// CRC-32.
pub(super) fn sum(bytes: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(bytes);
    crc.sum()
}

#[cfg(test)]
mod tests {
    use crate::data::samples::small_set;

    #[test]
    fn whatever_changes_the_data_changes_the_checksum() {
        let set = small_set(3, 4);
        let sum = set.checksum();
        assert_eq!(sum, small_set(3, 4).checksum());
        let mut seen = vec![sum];
        let mut changed = |change: fn(&mut crate::data::ImageSet)| {
            let mut other = set.clone();
            change(&mut other);
            seen.push(other.checksum());
        };
        changed(|s| s.train.pixels[5000] ^= 1);
        changed(|s| s.test.pixels[5000] ^= 1);
        changed(|s| s.train.labels.swap(3, 4));
        changed(|s| s.test.labels.swap(3, 4));
        changed(|s| s.classes[2] = "bar".into());
        changed(|s| {
            s.train.shape = [1, 16, 64];
            s.test.shape = [1, 16, 64];
        });
        changed(|s| s.files = Some([vec![0; 12], vec![0; 12]]));
        changed(|s| s.files = Some([vec![0; 12], vec![1; 12]]));
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), 9);
    }

    /// `experiments/deep/images.py` computes the same: two images of one pixel, one for tests, two classes.
    #[test]
    fn the_checksum_is_the_one_that_is_published() {
        let images = |pixels: &[u8], labels: &[u32]| crate::data::Images {
            pixels: pixels.to_vec(),
            labels: labels.to_vec(),
            shape: [1, 1, 1],
        };
        let set = crate::data::ImageSet {
            train: images(&[1, 2], &[0, 1]),
            test: images(&[3], &[1]),
            classes: vec!["a".into(), "ä".into()],
            files: None,
        };
        assert_eq!(set.checksum(), "eff4d78d");
    }
}
