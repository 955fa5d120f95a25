//! Folders of image files: `train/<class>/*.jpg|png` and `test/<class>/*.jpg|png`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use image::imageops::FilterType;
use image::{DynamicImage, ImageFormat};
use rayon::prelude::*;

use super::{FolderOptions, ImageSet, Images, checksum, jpeg};

pub(super) fn read(folder: &Path, options: FolderOptions) -> Result<ImageSet> {
    let train = folder.join("train");
    let test = folder.join("test");
    ensure!(test.is_dir(), "{} has a folder train, but none of the name test", folder.display());
    let (classes, others) = (subfolders(&train)?, subfolders(&test)?);
    ensure!(!classes.is_empty(), "{} holds no folders of classes", train.display());
    for (here, there, place) in [(&classes, &others, &test), (&others, &classes, &train)] {
        if let Some(missing) = here.iter().find(|name| !there.contains(name)) {
            bail!("class `{missing}` has no folder in {}", place.display());
        }
    }
    let channels = match options.channels {
        Some(channels) => channels,
        None => common_channels(&[files(&train, &classes)?, files(&test, &classes)?].concat())?,
    };
    let part = |place: &Path| load(&files(place, &classes)?, options.size, channels);
    let ((train, a), (test, b)) = (part(&train)?, part(&test)?);
    Ok(ImageSet { train, test, classes, files: Some([a, b]) })
}

fn subfolders(place: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(place).with_context(|| format!("cannot read {}", place.display()))? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        // Hidden folders are those of other programs, such as .ipynb_checkpoints.
        if entry.path().is_dir() && !name.starts_with('.') {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

/// Every image file with its class, in the order of names.
fn files(place: &Path, classes: &[String]) -> Result<Vec<(PathBuf, u32)>> {
    let mut all = Vec::new();
    for (k, class) in classes.iter().enumerate() {
        let inside = place.join(class);
        let mut found = Vec::new();
        for entry in fs::read_dir(&inside).with_context(|| format!("cannot read {}", inside.display()))? {
            let path = entry?.path();
            let extension = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
            if ["jpg", "jpeg", "png"].contains(&extension.as_str()) {
                found.push(path);
            }
        }
        ensure!(!found.is_empty(), "{} holds no jpg or png files", inside.display());
        found.sort();
        all.extend(found.into_iter().map(|path| (path, k as u32)));
    }
    Ok(all)
}

/// 1 if all files are grey, 3 if all are in colour.
fn common_channels(files: &[(PathBuf, u32)]) -> Result<usize> {
    let colours: Vec<bool> =
        files.par_iter().map(|(path, _)| Ok(decode(path)?.0.color().has_color())).collect::<Result<_>>()?;
    match (colours.iter().position(|c| *c), colours.iter().position(|c| !*c)) {
        (Some(colour), Some(grey)) => bail!(
            "{} is grey and {} is in colour; choose `--channels 1` or `--channels 3` for all",
            files[grey].0.display(),
            files[colour].0.display()
        ),
        (None, _) => Ok(1),
        _ => Ok(3),
    }
}

/// The images, and the checksums of their files.
fn load(files: &[(PathBuf, u32)], size: usize, channels: usize) -> Result<(Images, Vec<u32>)> {
    let images = files.par_iter().map(|(path, _)| pixels(path, size, channels)).collect::<Result<Vec<_>>>()?;
    let (pixels, sums): (Vec<_>, Vec<_>) = images.into_iter().unzip();
    let labels = files.iter().map(|(_, k)| *k).collect();
    Ok((Images { pixels: pixels.concat(), labels, shape: [channels, size, size] }, sums))
}

/// The image resized, channel by channel, and the checksum of its file.
fn pixels(path: &Path, size: usize, channels: usize) -> Result<(Vec<u8>, u32)> {
    let (mut image, sum) = decode(path)?;
    if (image.width() as usize, image.height() as usize) != (size, size) {
        image = image.resize_exact(size as u32, size as u32, FilterType::Triangle);
    }
    if channels == 1 {
        return Ok((image.into_luma8().into_raw(), sum));
    }
    let together = image.into_rgb8().into_raw();
    Ok(((0..3).flat_map(|c| together.iter().skip(c).step_by(3).copied()).collect(), sum))
}

/// The image of a file, and the checksum of the file.
fn decode(path: &Path) -> Result<(DynamicImage, u32)> {
    let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    let unusable = || format!("{} is not a usable image", path.display());
    let format = image::guess_format(&bytes).with_context(unusable)?;
    ensure!(format != ImageFormat::Jpeg || jpeg::is_whole(&bytes), "{}: it ends early", unusable());
    let image = image::load_from_memory_with_format(&bytes, format).with_context(unusable)?;
    Ok((image, checksum::sum(&bytes)))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use image::{GrayImage, Luma, Rgb, RgbImage};

    const OPTIONS: FolderOptions = FolderOptions { size: 32, channels: None };

    /// Two classes with one coloured image each in both parts.
    fn folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (part, class, red) in [("train", "a", 10), ("train", "b", 200), ("test", "a", 20), ("test", "b", 210)] {
            let inside = folder.path().join(part).join(class);
            fs::create_dir_all(&inside).unwrap();
            RgbImage::from_pixel(40, 20, Rgb([red, 7, 9])).save(inside.join("1.png")).unwrap();
        }
        folder
    }

    fn message(folder: &Path, options: FolderOptions) -> String {
        format!("{:#}", read(folder, options).unwrap_err())
    }

    #[test]
    fn images_of_any_size_become_planes_of_one_size() {
        let folder = folder();
        let set = read(folder.path(), OPTIONS).unwrap();
        assert_eq!(
            (set.train.shape, set.classes.clone(), set.train.labels.clone()),
            ([3, 32, 32], vec!["a".into(), "b".into()], vec![0, 1])
        );
        assert_eq!((set.train.pixels[0], set.train.pixels[1024], set.train.pixels[2048]), (10, 7, 9));
        let grey = read(folder.path(), FolderOptions { channels: Some(1), ..OPTIONS }).unwrap();
        assert_eq!(grey.train.shape, [1, 32, 32]);
    }

    #[test]
    fn a_broken_file_is_named() {
        let folder = folder();
        let path = folder.path().join("test/b/2.jpg");
        fs::write(&path, "no image").unwrap();
        assert!(message(folder.path(), OPTIONS).starts_with(&format!("{} is not a usable image", path.display())));
        let whole = fs::read(folder.path().join("test/b/1.png")).unwrap();
        fs::write(folder.path().join("test/b/2.jpg"), &whole[..whole.len() / 2]).unwrap();
        assert!(message(folder.path(), OPTIONS).contains("2.jpg is not a usable image"));
    }

    /// Decoders fill the rest with grey.
    #[test]
    fn a_jpeg_that_was_cut_off_is_refused() {
        let folder = folder();
        let path = folder.path().join("test/b/2.jpg");
        RgbImage::from_fn(48, 48, |x, y| Rgb([(x * 37) as u8, (y * 91) as u8, (x * y) as u8])).save(&path).unwrap();
        assert!(read(folder.path(), OPTIONS).is_ok());
        let whole = fs::read(&path).unwrap();
        for share in [50, 80, 90, 97] {
            fs::write(&path, &whole[..whole.len() * share / 100]).unwrap();
            let found = message(folder.path(), OPTIONS);
            assert_eq!(found, format!("{} is not a usable image: it ends early", path.display()));
        }
    }

    #[test]
    fn a_set_is_known_by_its_files() {
        let folder = folder();
        let sum = || read(folder.path(), OPTIONS).unwrap().checksum();
        let before = sum();
        assert_eq!(before, sum());
        RgbImage::from_pixel(40, 20, Rgb([11, 7, 9])).save(folder.path().join("train/a/1.png")).unwrap();
        assert_ne!(before, sum());
    }

    #[test]
    fn hidden_folders_are_no_classes() {
        let folder = folder();
        fs::create_dir(folder.path().join("train/.ipynb_checkpoints")).unwrap();
        assert_eq!(read(folder.path(), OPTIONS).unwrap().classes, ["a", "b"]);
    }

    #[test]
    fn grey_images_among_coloured_ones_ask_for_a_choice() {
        let folder = folder();
        GrayImage::from_pixel(32, 32, Luma([5])).save(folder.path().join("train/a/grey.png")).unwrap();
        let found = message(folder.path(), OPTIONS);
        assert!(found.contains("grey.png is grey and") && found.contains("--channels 3"), "{found}");
        let set = read(folder.path(), FolderOptions { channels: Some(3), ..OPTIONS }).unwrap();
        assert_eq!(set.train.pixels[set.train.size()], 5);
    }

    #[test]
    fn classes_of_training_and_tests_must_agree() {
        let folder = folder();
        fs::create_dir(folder.path().join("train/c")).unwrap();
        assert!(message(folder.path(), OPTIONS).starts_with("class `c` has no folder in"));
        fs::create_dir(folder.path().join("test/c")).unwrap();
        assert!(message(folder.path(), OPTIONS).ends_with("holds no jpg or png files"));
        fs::remove_dir(folder.path().join("train/c")).unwrap();
        assert!(message(folder.path(), OPTIONS).contains("class `c` has no folder in"));
        fs::remove_dir_all(folder.path().join("test")).unwrap();
        assert!(message(folder.path(), OPTIONS).ends_with("but none of the name test"));
    }
}
