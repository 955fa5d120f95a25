//! IDX files, as MNIST and its relatives are published: four files with usual names, gzip or not.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};

use super::{ImageSet, Images, bytes, numbered};

/// Images and labels for training, images and labels for tests.
pub(super) type Files = [PathBuf; 4];

/// The files, if the folder has the first of them.
pub(super) fn files(folder: &Path) -> Result<Option<Files>> {
    let names = ["train-images-idx3", "train-labels-idx1", "t10k-images-idx3", "t10k-labels-idx1"];
    let found = names.map(|name| {
        let at = |end: &str| folder.join(format!("{name}-ubyte{end}"));
        [at(".gz"), at("")].into_iter().find(|p| p.is_file())
    });
    if found[0].is_none() {
        return Ok(None);
    }
    for (name, path) in names.iter().zip(&found) {
        ensure!(path.is_some(), "{} has no {name}-ubyte[.gz]", folder.display());
    }
    Ok(Some(found.map(Option::unwrap_or_default)))
}

pub(super) fn read(files: &Files) -> Result<ImageSet> {
    let train = part(&files[0], &files[1])?;
    let test = part(&files[2], &files[3])?;
    let classes = numbered(&train, &test)?;
    Ok(ImageSet { train, test, classes, files: None })
}

fn part(images: &Path, labels: &Path) -> Result<Images> {
    let (sizes, pixels) = array(images, 3)?;
    let (counts, labels) = array(labels, 1)?;
    ensure!(counts[0] == sizes[0], "{} holds {} images for {} labels", images.display(), sizes[0], counts[0]);
    Ok(Images { pixels, labels: labels.into_iter().map(u32::from).collect(), shape: [1, sizes[1], sizes[2]] })
}

/// Sizes and bytes of an array of `dimensions` dimensions.
fn array(path: &Path, dimensions: usize) -> Result<(Vec<usize>, Vec<u8>)> {
    let mut all = bytes(path)?;
    let head = 4 + 4 * dimensions;
    // Two zeros, the type "unsigned byte", the number of dimensions.
    ensure!(
        all.len() >= head && all[..4] == [0, 0, 8, dimensions as u8],
        "{} is not an IDX file of bytes with {dimensions} dimension{}",
        path.display(),
        if dimensions == 1 { "" } else { "s" }
    );
    let number = |b: &[u8]| b.iter().fold(0usize, |n, b| n << 8 | *b as usize);
    let sizes: Vec<usize> = all[4..head].chunks_exact(4).map(number).collect();
    let expected = sizes.iter().try_fold(1usize, |n, s| n.checked_mul(*s));
    ensure!(
        expected == Some(all.len() - head),
        "{}: its sizes {sizes:?} do not match its {} bytes",
        path.display(),
        all.len() - head
    );
    Ok((sizes, all.split_off(head)))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use std::fs;
    use std::io::Write;

    fn idx(sizes: &[u32], content: &[u8]) -> Vec<u8> {
        let mut all = vec![0, 0, 8, sizes.len() as u8];
        sizes.iter().for_each(|s| all.extend(s.to_be_bytes()));
        all.extend(content);
        all
    }

    #[test]
    fn plain_and_gzip_files_are_read_and_broken_ones_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, content: &[u8]| fs::write(folder.path().join(name), content).unwrap();
        assert!(files(folder.path()).unwrap().is_none());
        write("train-images-idx3-ubyte", &idx(&[2, 1, 3], &[1, 2, 3, 4, 5, 6]));
        assert!(files(folder.path()).unwrap_err().to_string().ends_with("has no train-labels-idx1-ubyte[.gz]"));
        write("train-labels-idx1-ubyte", &idx(&[2], &[0, 1]));
        write("t10k-images-idx3-ubyte", &idx(&[1, 1, 3], &[7, 8, 9]));
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gz.write_all(&idx(&[1], &[1])).unwrap();
        write("t10k-labels-idx1-ubyte.gz", &gz.finish().unwrap());
        let set = read(&files(folder.path()).unwrap().unwrap()).unwrap();
        assert_eq!(
            (set.train.shape, set.train.labels.clone(), set.test.pixels.clone()),
            ([1, 1, 3], vec![0, 1], vec![7, 8, 9])
        );
        write("train-images-idx3-ubyte", &idx(&[2, 1, 3], &[1, 2, 3, 4, 5]));
        let error = read(&files(folder.path()).unwrap().unwrap()).unwrap_err().to_string();
        assert!(error.ends_with("its sizes [2, 1, 3] do not match its 5 bytes"), "{error}");
        write("train-images-idx3-ubyte", &[0xff; 40]);
        let error = read(&files(folder.path()).unwrap().unwrap()).unwrap_err().to_string();
        assert!(error.ends_with("is not an IDX file of bytes with 3 dimensions"), "{error}");
    }
}
