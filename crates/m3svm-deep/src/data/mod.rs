//! Images with labels, from whatever a folder holds.

mod checksum;
mod cifar;
mod folder;
mod idx;
mod jpeg;
mod npz;
#[cfg(test)]
pub(crate) mod samples;

use std::fs;
use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use flate2::read::MultiGzDecoder;

use crate::random::{permutation, stream};

/// Some images of one size.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Images {
    /// Image by image, channel by channel, row by row.
    pub(crate) pixels: Vec<u8>,
    /// Class numbers.
    pub(crate) labels: Vec<u32>,
    /// Channels, height and width.
    pub(crate) shape: [usize; 3],
}

/// A data set with its published or chosen split.
#[derive(Clone, Debug)]
pub(crate) struct ImageSet {
    pub(crate) train: Images,
    pub(crate) test: Images,
    pub(crate) classes: Vec<String>,
    /// Checksums of the files of training and test images, where every image is a file.
    pub(crate) files: Option<[Vec<u32>; 2]>,
}

/// What to do with the files of image folders, which have any size and colour.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FolderOptions {
    /// Height and width that images are resized to.
    pub(crate) size: usize,
    /// 1 for grey, 3 for colour; `None` if all images must agree.
    pub(crate) channels: Option<usize>,
}

/// The smallest image that the networks take; smaller ones get a black frame.
pub(crate) const LEAST_SIDE: usize = 32;

impl ImageSet {
    /// Reads the data set in a folder; what kind it is, its files say.
    pub(crate) fn read(folder: &Path, options: FolderOptions) -> Result<Self> {
        ensure!(folder.is_dir(), "{} is not a folder", folder.display());
        let set = if folder.join("train").is_dir() {
            folder::read(folder, options)?
        } else if folder.join("data_batch_1.bin").is_file() {
            cifar::read(folder)?
        } else if let Some(files) = idx::files(folder)? {
            idx::read(&files)?
        } else if let Some(files) = npz::files(folder)? {
            npz::read(&files)?
        } else {
            bail!(
                "{} holds no images that are known: expected train/<class>/*.jpg|png, data_batch_1.bin, \
                 train-images-idx3-ubyte[.gz] or *train.npz",
                folder.display()
            );
        };
        set.named(folder)?.checked().with_context(|| folder.display().to_string()).map(Self::framed)
    }

    /// Class names from `classes.txt`, if there is one.
    fn named(mut self, folder: &Path) -> Result<Self> {
        let path = folder.join("classes.txt");
        if let (true, Ok(text)) = (self.classes_are_numbers(), fs::read_to_string(&path)) {
            let names: Vec<String> = text.lines().map(str::trim).filter(|l| !l.is_empty()).map(String::from).collect();
            ensure!(
                names.len() == self.classes.len(),
                "{}: {} names, but there are {} classes",
                path.display(),
                names.len(),
                self.classes.len()
            );
            self.classes = names;
        }
        Ok(self)
    }

    fn classes_are_numbers(&self) -> bool {
        self.classes.iter().enumerate().all(|(k, name)| *name == k.to_string())
    }

    fn checked(self) -> Result<Self> {
        for (part, images) in [("training", &self.train), ("test", &self.test)] {
            ensure!(!images.labels.is_empty(), "there are no {part} images");
            let [c, h, w] = images.shape;
            ensure!(c == 1 || c == 3, "images have {c} channels, expected 1 or 3");
            ensure!(h > 0 && w > 0 && h <= 4096 && w <= 4096, "images are {h}x{w} pixels, expected 1 to 4096");
            ensure!(images.pixels.len() == images.labels.len() * c * h * w, "images and labels differ in number");
        }
        let (a, b) = (self.train.shape, self.test.shape);
        ensure!(a == b, "training images are {}, test images {}", shape(a), shape(b));
        let known = present(&self.train.labels, self.classes.len());
        ensure!(known.iter().filter(|k| **k).count() >= 2, "training images are all of one class");
        if let Some(strange) = self.test.labels.iter().find(|k| !known.get(**k as usize).copied().unwrap_or(false)) {
            let name = self.classes.get(*strange as usize).cloned().unwrap_or_else(|| strange.to_string());
            bail!("class `{name}` occurs in the test images only");
        }
        Ok(self)
    }

    /// Images of at least [`LEAST_SIDE`] pixels a side.
    fn framed(mut self) -> Self {
        self.train = self.train.framed();
        self.test = self.test.framed();
        self
    }
}

impl Images {
    pub(crate) fn len(&self) -> usize {
        self.labels.len()
    }

    /// Numbers in one image.
    pub(crate) fn size(&self) -> usize {
        self.shape.iter().product()
    }

    /// The rest, and a share drawn at random, each in the order of the data.
    pub(crate) fn split(&self, share: f64, seed: u64) -> (Self, Self) {
        let mut order = permutation(self.len(), &mut stream(seed, 0x7a11));
        let count = ((self.len() as f64 * share) as usize).clamp(1, self.len().saturating_sub(1).max(1));
        let mut held = order.split_off(self.len() - count);
        order.sort_unstable();
        held.sort_unstable();
        (self.take(&order), self.take(&held))
    }

    fn take(&self, rows: &[u32]) -> Self {
        let size = self.size();
        let pixels = rows.iter().flat_map(|i| &self.pixels[*i as usize * size..(*i as usize + 1) * size]);
        Self {
            pixels: pixels.copied().collect(),
            labels: rows.iter().map(|i| self.labels[*i as usize]).collect(),
            shape: self.shape,
        }
    }

    fn framed(self) -> Self {
        let [c, h, w] = self.shape;
        let (tall, wide) = (h.max(LEAST_SIDE), w.max(LEAST_SIDE));
        if (tall, wide) == (h, w) {
            return self;
        }
        let (top, left) = ((tall - h) / 2, (wide - w) / 2);
        let mut pixels = vec![0; self.len() * c * tall * wide];
        for (plane, from) in pixels.chunks_exact_mut(tall * wide).zip(self.pixels.chunks_exact(h * w)) {
            for (y, row) in from.chunks_exact(w).enumerate() {
                plane[(top + y) * wide + left..][..w].copy_from_slice(row);
            }
        }
        Self { pixels, shape: [c, tall, wide], ..self }
    }
}

/// Which classes occur.
fn present(labels: &[u32], classes: usize) -> Vec<bool> {
    let mut known = vec![false; classes];
    labels.iter().for_each(|k| {
        if let Some(known) = known.get_mut(*k as usize) {
            *known = true;
        }
    });
    known
}

pub(crate) fn shape([c, h, w]: [usize; 3]) -> String {
    format!("{c}x{h}x{w}")
}

/// As many classes as the largest label says, named by their numbers.
fn numbered(train: &Images, test: &Images) -> Result<Vec<String>> {
    let most = train.labels.iter().chain(&test.labels).copied().max().unwrap_or(0);
    ensure!(most < 100_000, "the largest label is {most}, expected less than 100000");
    Ok((0..=most).map(|k| k.to_string()).collect())
}

/// The bytes of a file, decompressed if it is gzip.
fn bytes(path: &Path) -> Result<Vec<u8>> {
    let raw = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    if !raw.starts_with(&[0x1f, 0x8b]) {
        return Ok(raw);
    }
    let mut out = Vec::new();
    MultiGzDecoder::new(&raw[..]).read_to_end(&mut out).with_context(|| format!("{}: broken gzip", path.display()))?;
    Ok(out)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::samples::*;
    use super::*;

    #[test]
    fn a_frame_keeps_every_pixel_in_its_place() {
        let images = Images {
            pixels: (0..2 * 28 * 28).map(|i| (i % 251) as u8).collect(),
            labels: vec![0, 1],
            shape: [1, 28, 28],
        };
        let framed = images.clone().framed();
        assert_eq!(framed.shape, [1, 32, 32]);
        assert_eq!(framed.pixels[32 * 32 + 2 * 32 + 2..][..28], images.pixels[28 * 28..][..28]);
        assert!(framed.pixels[..64].iter().all(|p| *p == 0));
        assert_eq!(framed.clone().framed(), framed);
    }

    #[test]
    fn a_validation_part_shares_no_image_with_the_rest() {
        let whole = small_set(3, 8).train;
        let (rest, part) = whole.split(0.25, 5);
        assert_eq!((rest.len(), part.len()), (18, 6));
        let size = whole.size();
        let mut all: Vec<&[u8]> = rest.pixels.chunks(size).chain(part.pixels.chunks(size)).collect();
        let mut before: Vec<&[u8]> = whole.pixels.chunks(size).collect();
        all.sort();
        before.sort();
        assert_eq!(all, before);
        assert_ne!(whole.split(0.25, 6).1, part);
    }

    #[test]
    fn what_does_not_fit_together_is_refused() {
        let message = |set: ImageSet| format!("{:#}", set.checked().unwrap_err());
        let good = small_set(3, 4);
        let mut set = good.clone();
        set.train.labels.iter_mut().for_each(|k| *k %= 2);
        assert_eq!(message(set), "class `bar 2` occurs in the test images only");
        let mut set = good.clone();
        set.test.shape = [1, 16, 64];
        assert_eq!(message(set), "training images are 1x32x32, test images 1x16x64");
        let mut set = good.clone();
        set.test = Images { pixels: vec![], labels: vec![], shape: good.train.shape };
        assert_eq!(message(set), "there are no test images");
        let mut set = good;
        set.train.labels.pop();
        assert_eq!(message(set), "images and labels differ in number");
    }
}
