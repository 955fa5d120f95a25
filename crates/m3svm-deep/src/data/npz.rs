//! NumPy archives: `*train.npz` and `*test.npz` with `x` (uint8, N×C×H×W) and `y` (whole numbers, N).

use std::fs::{self, File};
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use npyz::{DType, NpyFile, Order, TypeChar};
use zip::ZipArchive;

use super::{ImageSet, Images, numbered};

/// The archives for training and tests.
pub(super) type Files = [PathBuf; 2];

pub(super) fn files(folder: &Path) -> Result<Option<Files>> {
    let mut names: Vec<PathBuf> = fs::read_dir(folder)?.filter_map(|entry| Some(entry.ok()?.path())).collect();
    names.sort();
    let ending = |end: &str| names.iter().filter(|p| p.to_string_lossy().ends_with(end)).cloned().collect::<Vec<_>>();
    match (&ending("train.npz")[..], &ending("test.npz")[..]) {
        ([], _) => Ok(None),
        ([train], [test]) => Ok(Some([train.clone(), test.clone()])),
        (train, test) => bail!(
            "{} holds {} archives *train.npz and {} *test.npz, expected one of each",
            folder.display(),
            train.len(),
            test.len()
        ),
    }
}

pub(super) fn read(files: &Files) -> Result<ImageSet> {
    let [train, test] = [part(&files[0])?, part(&files[1])?];
    let classes = numbered(&train, &test)?;
    Ok(ImageSet { train, test, classes, files: None })
}

fn part(path: &Path) -> Result<Images> {
    read_part(path).with_context(|| format!("{} is not usable", path.display()))
}

fn read_part(path: &Path) -> Result<Images> {
    let mut zip = ZipArchive::new(BufReader::new(File::open(path)?))?;
    let (shape, pixels) = array(&mut zip, "x")?;
    let [n, c, h, w] = shape[..] else {
        bail!("`x` has {} dimensions, expected 4: images, channels, height, width", shape.len());
    };
    ensure!(
        [1, 3].contains(&c) || ![1, 3].contains(&w),
        "`x` has the shape {shape:?} with channels last, expected images, channels, height, width: `x.transpose(0, 3, 1, 2)`"
    );
    let pixels = match pixels {
        Content::Bytes(pixels) => pixels,
        Content::Numbers(_) => bail!("`x` does not hold bytes (uint8)"),
    };
    let (count, labels) = array(&mut zip, "y")?;
    ensure!(count == [n], "`y` has the shape {count:?}, expected [{n}] like the images of `x`");
    let labels = match labels {
        Content::Bytes(labels) => labels.into_iter().map(u32::from).collect(),
        Content::Numbers(labels) => labels
            .into_iter()
            .map(|k| u32::try_from(k).with_context(|| format!("`y` holds the label {k}, expected 0 or more")))
            .collect::<Result<_>>()?,
    };
    Ok(Images { pixels, labels, shape: [c, h, w] })
}

enum Content {
    Bytes(Vec<u8>),
    Numbers(Vec<i64>),
}

/// Shape and content of one array.
fn array(zip: &mut ZipArchive<BufReader<File>>, name: &str) -> Result<(Vec<usize>, Content)> {
    let entry = zip.by_name(&format!("{name}.npy")).with_context(|| format!("there is no array `{name}`"))?;
    let file = NpyFile::new(BufReader::new(entry)).with_context(|| format!("`{name}` is broken"))?;
    ensure!(file.order() == Order::C || file.shape().len() == 1, "`{name}` is in Fortran order, expected C order");
    let shape: Vec<usize> = file.shape().iter().map(|s| *s as usize).collect();
    let DType::Plain(kind) = file.dtype() else { bail!("`{name}` holds records, expected numbers") };
    let content = match (kind.type_char(), kind.size_field()) {
        (TypeChar::Uint, 1) => Content::Bytes(values(file, name)?),
        (TypeChar::Int, 1) => Content::Numbers(wide(values::<i8, _>(file, name)?)),
        (TypeChar::Int, 2) => Content::Numbers(wide(values::<i16, _>(file, name)?)),
        (TypeChar::Int, 4) => Content::Numbers(wide(values::<i32, _>(file, name)?)),
        (TypeChar::Int, 8) => Content::Numbers(values(file, name)?),
        (TypeChar::Uint, 2) => Content::Numbers(wide(values::<u16, _>(file, name)?)),
        (TypeChar::Uint, 4) => Content::Numbers(wide(values::<u32, _>(file, name)?)),
        _ => bail!("`{name}` holds {}, expected whole numbers", file.dtype().descr()),
    };
    Ok((shape, content))
}

fn wide<T: Into<i64>>(values: Vec<T>) -> Vec<i64> {
    values.into_iter().map(Into::into).collect()
}

fn values<T: npyz::Deserialize, R: Read>(file: NpyFile<R>, name: &str) -> Result<Vec<T>> {
    // One by one: a header that promises too much ends in an error, not in an allocation.
    let values: std::io::Result<Vec<T>> = file.data()?.collect();
    values.with_context(|| format!("`{name}` ends early"))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use std::io::Write;

    fn npy(descr: &str, shape: &str, content: &[u8]) -> Vec<u8> {
        let mut head = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
        head.push_str(&" ".repeat(64 - (10 + head.len() + 1) % 64));
        head.push('\n');
        let mut all = b"\x93NUMPY\x01\x00".to_vec();
        all.extend((head.len() as u16).to_le_bytes());
        all.extend(head.as_bytes());
        all.extend(content);
        all
    }

    fn archive(path: &Path, arrays: &[(&str, Vec<u8>)]) {
        let mut zip = zip::ZipWriter::new(File::create(path).unwrap());
        for (name, content) in arrays {
            zip.start_file(format!("{name}.npy"), zip::write::SimpleFileOptions::default()).unwrap();
            zip.write_all(content).unwrap();
        }
        zip.finish().unwrap();
    }

    #[test]
    fn images_are_four_dimensional_bytes_and_labels_whole_numbers() {
        let folder = tempfile::tempdir().unwrap();
        let [train, test] = ["a-train.npz", "a-test.npz"].map(|n| folder.path().join(n));
        assert!(files(folder.path()).unwrap().is_none());
        let x = ("x", npy("|u1", "(2, 1, 1, 2)", &[1, 2, 3, 4]));
        archive(&train, &[x.clone(), ("y", npy("|u1", "(2,)", &[0, 2]))]);
        assert!(
            files(folder.path())
                .unwrap_err()
                .to_string()
                .ends_with("1 archives *train.npz and 0 *test.npz, expected one of each")
        );
        archive(&test, &[x.clone(), ("y", npy("<i8", "(2,)", &[1i64, 0].map(i64::to_le_bytes).concat()))]);
        let set = read(&files(folder.path()).unwrap().unwrap()).unwrap();
        assert_eq!(
            (set.train.labels.clone(), set.test.labels.clone(), set.train.shape),
            (vec![0, 2], vec![1, 0], [1, 1, 2])
        );
        assert_eq!(set.classes, ["0", "1", "2"]);

        let broken = |arrays: &[(&str, Vec<u8>)]| {
            archive(&test, arrays);
            format!("{:#}", read(&[train.clone(), test.clone()]).unwrap_err())
        };
        let y = ("y", npy("|u1", "(2,)", &[0, 1]));
        assert!(broken(std::slice::from_ref(&x)).contains("there is no array `y`"));
        assert!(broken(&[x.clone(), ("y", npy("|u1", "(3,)", &[0, 1, 0]))]).contains("expected [2]"));
        assert!(
            broken(&[x.clone(), ("y", npy("<i8", "(2,)", &[1i64, -1].map(i64::to_le_bytes).concat()))])
                .contains("label -1")
        );
        assert!(broken(&[("x", npy("<f4", "(2, 1, 1, 1)", &[0; 8])), y.clone()]).contains("expected whole numbers"));
        assert!(broken(&[("x", npy("|u1", "(2, 2)", &[0; 4])), y.clone()]).contains("2 dimensions, expected 4"));
        let last = broken(&[("x", npy("|u1", "(2, 2, 2, 3)", &[0; 24])), y.clone()]);
        assert!(last.contains("[2, 2, 2, 3] with channels last") && last.contains("x.transpose(0, 3, 1, 2)"), "{last}");
        assert!(broken(&[("x", npy("|u1", "(2, 1, 1, 2000000000000)", &[0; 4])), y]).contains("ends early"));
        std::fs::write(&test, "no archive").unwrap();
        assert!(read(&[train.clone(), test.clone()]).is_err());
    }
}
