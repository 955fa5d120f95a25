//! What goes into a cache comes out of it, and nothing else does.

use std::fs;

use super::*;
use crate::features::Features;
use crate::row_source::RowBatch;
use crate::scale::Scaler;
use std::ops::ControlFlow;

/// Batches of 3 columns, some of them empty.
fn batches(sizes: &[usize], sparse: bool) -> Vec<RowBatch<'static>> {
    let mut row = 0;
    let mut batch = |rows: &usize| {
        let of = row..row + rows;
        row += rows;
        let x = if sparse {
            let starts: Vec<usize> = (0..=*rows).map(|i| 2 * i).collect();
            let (indices, values) =
                of.clone().flat_map(|i| [(0, i as f64), (2, 0.5)]).unzip::<u32, f64, Vec<_>, Vec<_>>();
            Features::csr(starts, indices, values, 3).unwrap()
        } else {
            let values: Vec<f32> = of.clone().flat_map(|i| [i as f32, -1.0, 0.5]).collect();
            Features::dense(values, *rows, 3).unwrap()
        };
        let labels = of.clone().map(|i| ["b", "10", "a"][i % 3].to_string()).collect();
        RowBatch { x, labels, weights: Some(of.map(|i| (i % 2) as f64 + 1.0).collect()) }
    };
    sizes.iter().map(&mut batch).collect()
}

fn cached(place: &CachePlace, sizes: &[usize], sparse: bool, block: usize) -> Result<RowCache> {
    let mut source = batches(sizes, sparse).into_iter().map(Ok::<_, Error>);
    match gather(&mut source, RowGatherer::new(place.clone(), block, 0), &mut || true)?.0 {
        Gathered::Disk(cache) => Ok(cache),
        Gathered::Memory(_) => panic!("nothing may be held"),
    }
}

/// First value, class name and weight of every row.
fn rows(cache: &RowCache) -> Result<Vec<(f64, String, f64)>> {
    let scaler = Scaler { shift: vec![0.0; 3], factor: vec![1.0; 3] };
    let (mut found, mut last) = (Vec::new(), None);
    cache.for_each_block(
        &View { scaler: &scaler, class_weights: None, speaks_for: None, fold: None },
        true,
        |block| {
            assert_eq!(block.number, last.map_or(0, |last: usize| last + 1));
            last = Some(block.number);
            let x = block.x.features();
            for i in 0..block.y.len() {
                assert_eq!(x.get(i, 2), 0.5);
                found.push((x.get(i, 0), cache.classes()[block.y[i] as usize].clone(), block.weights[i]));
            }
            ControlFlow::Continue(())
        },
    )?;
    Ok(found)
}

#[test]
fn rows_come_back_as_they_were_whatever_the_batches_and_blocks() {
    let folder = tempfile::tempdir().unwrap();
    let place = CachePlace { folder: folder.path().to_path_buf(), kept_as: None };
    for sparse in [false, true] {
        for block in [1, 100, 1 << 20] {
            let one = cached(&place, &[40], sparse, block).unwrap();
            let many = cached(&place, &[0, 1, 0, 7, 30, 2], sparse, block).unwrap();
            let found = rows(&one).unwrap();
            assert_eq!((found.len(), one.rows(), one.cols()), (40, 40, 3));
            assert_eq!(found[4], (4.0, "10".to_string(), 1.0));
            assert_eq!(found, rows(&many).unwrap());
            // Blocks are cut the same way, however rows come.
            assert_eq!(one.blocks(), many.blocks());
            assert_eq!(one.blocks() == 40, block == 1);
            assert_eq!(one.classes(), ["10", "a", "b"]);
            assert_eq!(one.mass().iter().sum::<f64>(), 60.0);
            assert_eq!(one.stats().max, many.stats().max);
        }
    }
    // Nothing has a name.
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_cache_that_stays_is_found_again_and_one_of_other_data_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let place = |made_of: &str| CachePlace { folder: folder.path().join("rows"), kept_as: Some(made_of.into()) };
    assert!(RowCache::open(&place("a.csv")).unwrap().is_none());
    let first = rows(&cached(&place("a.csv"), &[9], false, 50).unwrap()).unwrap();
    let again = RowCache::open(&place("a.csv")).unwrap().unwrap();
    assert_eq!(rows(&again).unwrap(), first);
    let error = RowCache::open(&place("b.csv")).unwrap_err().to_string();
    assert!(error.ends_with("it holds other data or other columns; remove it or choose another folder"), "{error}");
    let names: Vec<_> = fs::read_dir(folder.path().join("rows")).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names, ["rows.m3svm-cache"]);
}

#[test]
fn every_flipped_bit_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let place = CachePlace { folder: folder.path().to_path_buf(), kept_as: Some("it".into()) };
    drop(cached(&place, &[9], true, 50).unwrap());
    let path = folder.path().join(CACHE_NAME);
    let good = fs::read(&path).unwrap();
    for at in (0..good.len()).step_by(3) {
        let mut bytes = good.clone();
        bytes[at] ^= 4;
        fs::write(&path, &bytes).unwrap();
        let found = RowCache::open(&place).and_then(|cache| rows(&cache.unwrap()));
        let error = found.unwrap_err().to_string();
        assert!(error.contains("rows.m3svm-cache: the cache of rows cannot be used: "), "{at}: {error}");
    }
    for length in [0, 5, good.len() / 2, good.len() - 1] {
        fs::write(&path, &good[..length]).unwrap();
        assert!(RowCache::open(&place).is_err(), "{length}");
    }
}

/// A cache with something else said of its rows, and all checksums right.
fn forged(good: &[u8], change: impl FnOnce(&mut Index, &mut [u8])) -> Vec<u8> {
    let length = u64::from_le_bytes(good[good.len() - 16..good.len() - 8].try_into().unwrap()) as usize;
    let start = good.len() - TAIL - length;
    let mut index: Index = serde_json::from_slice(&good[start..good.len() - TAIL]).unwrap();
    let mut blocks = good[..start].to_vec();
    change(&mut index, &mut blocks);
    let text = serde_json::to_vec(&index).unwrap();
    let tail = [&crc32fast::hash(&text).to_le_bytes()[..], &(text.len() as u64).to_le_bytes(), MAGIC].concat();
    [blocks, text, tail].concat()
}

#[test]
fn lies_with_right_checksums_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let place = CachePlace { folder: folder.path().to_path_buf(), kept_as: Some("it".into()) };
    let path = folder.path().join(CACHE_NAME);
    type Lie = fn(&mut Index, &mut [u8]);
    let lies: [Lie; 18] = [
        |index, _| index.blocks[0].rows = usize::MAX,
        |index, _| index.blocks[0].rows = 0,
        |index, _| index.blocks[0].entries = 1 << 40,
        |index, _| index.blocks[0].entries += 1,
        |index, _| index.blocks[1].offset -= 1,
        |index, _| index.blocks[1].offset = u64::MAX,
        |index, _| index.blocks.truncate(1),
        |index, _| index.blocks.clear(),
        |index, _| index.cols += 1,
        |index, _| index.cols = 0,
        |index, _| index.unused_columns = 7,
        |index, _| index.weighted = false,
        |index, _| index.storage.is_single = !index.storage.is_single,
        |index, _| index.labels.truncate(1),
        |index, _| index.mass[0] = -1.0,
        |index, _| index.stats.mean.clear(),
        |index, _| index.feature_names = Some(vec!["one".into()]),
        // The number of a class, one that there is none of.
        |index, blocks| {
            blocks[0] = 9;
            let end = index.blocks[0].rows * 12;
            index.blocks[0].labels_crc = crc32fast::hash(&blocks[..end]);
        },
    ];
    for sparse in [false, true] {
        drop(cached(&place, &[9], sparse, 50).unwrap());
        let good = fs::read(&path).unwrap();
        let look = |bytes: Vec<u8>| {
            fs::write(&path, bytes).unwrap();
            RowCache::open(&place).and_then(|cache| rows(&cache.unwrap()))
        };
        assert_eq!(look(forged(&good, |_, _| ())).unwrap().len(), 9);
        for (number, lie) in lies.iter().enumerate() {
            let error = look(forged(&good, lie)).unwrap_err().to_string();
            assert!(error.contains("rows.m3svm-cache: the cache of rows cannot be used: "), "{number}: {error}");
        }
        // A value that is no number.
        let error = look(forged(&good, |index, blocks| {
            let BlockIndex { rows, entries, .. } = index.blocks[0];
            let end = 12 * rows + if sparse { 4 * rows + 12 * entries } else { 4 * entries };
            let value = if sparse { f64::NAN.to_le_bytes().to_vec() } else { f32::NAN.to_le_bytes().to_vec() };
            blocks[end - value.len()..end].copy_from_slice(&value);
            index.blocks[0].values_crc = crc32fast::hash(&blocks[12 * rows..end]);
        }));
        assert!(error.unwrap_err().to_string().contains("block 1 of "));
        fs::remove_file(&path).unwrap();
    }
}

#[test]
fn batches_that_are_not_alike_are_refused() {
    let place = CachePlace::default();
    let gathered = |parts: Vec<RowBatch<'static>>| {
        let mut source = parts.into_iter().map(Ok::<_, Error>);
        gather(&mut source, RowGatherer::new(place.clone(), 100, 0), &mut || true).map(|_| ()).unwrap_err().to_string()
    };
    let dense = || batches(&[4], false).remove(0);
    let sparse = batches(&[4], true).remove(0);
    let error = gathered(vec![dense(), sparse]);
    assert_eq!(
        error,
        "`rows of a batch` must be dense and as precise as those before, found sparse and in double precision"
    );
    let wide = RowBatch { x: Features::dense(vec![0f32; 8], 2, 4).unwrap(), ..dense() };
    let wide = RowBatch { labels: vec!["a".into(); 2], weights: Some(vec![1.0; 2]), ..wide };
    assert_eq!(gathered(vec![dense(), wide]), "features of a batch: expected 3, found 4");
    let error = gathered(vec![dense(), RowBatch { weights: None, ..dense() }]);
    assert_eq!(error, "`rows of a batch` must have weights in all batches or in none, found no weights");
    let error = gathered(vec![RowBatch { weights: Some(vec![1.0, 1.0, -1.0, 1.0]), ..dense() }]);
    assert_eq!(error, "weight of row 3 of a batch must be a finite number of at least 0, found -1");
    let error = gathered(vec![RowBatch { labels: vec!["a".into(); 4], ..dense() }]);
    assert_eq!(error, "at least two classes are needed, found 1 (`a`)");
    assert_eq!(gathered(vec![]), "at least two classes are needed, found 0");
}

#[test]
fn numbers_of_rows_are_kept_in_memory_and_in_files() {
    let folder = tempfile::tempdir().unwrap();
    let rows = [2usize, 0, 3];
    let places = [
        ScratchFile::in_memory(rows.into_iter(), 2),
        ScratchFile::in_file(rows.into_iter(), 2, folder.path()).unwrap(),
    ];
    for mut scratch in places {
        assert!((0..3).all(|block| !scratch.has(block)));
        for block in [2, 0, 1] {
            scratch.put(block, vec![block as f64; 2 * rows[block]], true).unwrap();
        }
        let numbers = scratch.take(0, Vec::new()).unwrap();
        assert_eq!(numbers, [0.0; 4]);
        scratch.put(0, vec![7.0; 4], true).unwrap();
        assert_eq!(scratch.take(2, vec![1.0]).unwrap(), [2.0; 6]);
        assert_eq!(scratch.take(0, Vec::new()).unwrap(), [7.0; 4]);
        scratch.clear();
        assert!(!scratch.has(2));
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}
