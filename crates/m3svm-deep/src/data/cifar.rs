//! CIFAR-10 in its binary form: `data_batch_1.bin` to `data_batch_5.bin` (as many as there are) and `test_batch.bin`.

use std::path::Path;

use anyhow::{Result, ensure};

use super::{ImageSet, Images, bytes};

const SHAPE: [usize; 3] = [3, 32, 32];
/// A label and an image.
const RECORD: usize = 1 + 3 * 32 * 32;
const CLASSES: [&str; 10] = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"];

pub(super) fn read(folder: &Path) -> Result<ImageSet> {
    let mut train = Images { pixels: Vec::new(), labels: Vec::new(), shape: SHAPE };
    for path in (1..).map(|n| folder.join(format!("data_batch_{n}.bin"))).take_while(|p| p.is_file()) {
        append(&mut train, &path)?;
    }
    let mut test = Images { pixels: Vec::new(), labels: Vec::new(), shape: SHAPE };
    append(&mut test, &folder.join("test_batch.bin"))?;
    Ok(ImageSet { train, test, classes: CLASSES.map(String::from).to_vec(), files: None })
}

fn append(images: &mut Images, path: &Path) -> Result<()> {
    let all = bytes(path)?;
    ensure!(
        !all.is_empty() && all.len() % RECORD == 0,
        "{}: {} bytes are not a whole number of records of {RECORD} bytes",
        path.display(),
        all.len()
    );
    for (n, record) in all.chunks_exact(RECORD).enumerate() {
        ensure!(record[0] < 10, "{}: record {} has the label {}, expected 0 to 9", path.display(), n + 1, record[0]);
        images.labels.push(record[0].into());
        images.pixels.extend(&record[1..]);
    }
    Ok(())
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn records_are_labels_and_images() {
        let folder = tempfile::tempdir().unwrap();
        let record = |label: u8| [vec![label], vec![label * 2; RECORD - 1]].concat();
        let write = |name: &str, content: &[u8]| fs::write(folder.path().join(name), content).unwrap();
        write("data_batch_1.bin", &[record(3), record(9)].concat());
        write("data_batch_2.bin", &record(0));
        let error = read(folder.path()).unwrap_err().to_string();
        assert!(error.starts_with("cannot read") && error.ends_with("test_batch.bin"), "{error}");
        write("test_batch.bin", &record(9));
        let set = read(folder.path()).unwrap();
        assert_eq!(
            (set.train.labels.clone(), set.train.pixels[3072], set.test.labels.clone()),
            (vec![3, 9, 0], 18, vec![9])
        );
        write("test_batch.bin", &record(10));
        assert!(read(folder.path()).unwrap_err().to_string().ends_with("record 1 has the label 10, expected 0 to 9"));
        write("test_batch.bin", &record(1)[1..]);
        assert!(read(folder.path()).unwrap_err().to_string().contains("not a whole number of records"));
    }
}
