//! Seeds with random damage, the same in every run; `M3SVM_FUZZ_RUNS` says how many inputs per target, `M3SVM_FUZZ_SEED` which.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "tests")]

use m3svm_fuzz::{MOST_BYTES, Mutator, TARGETS, Watched, target, throw};
use std::fs::{self, File};
use std::io::{Seek, Write};
use std::path::Path;

#[global_allocator]
static ALLOCATOR: Watched = Watched;

/// The seeds of a target, in the order of their names.
fn seeds(name: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds").join(name);
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    files.into_iter().map(|file| fs::read(file).unwrap()).collect()
}

/// A number from the environment.
fn chosen(name: &str, usual: u64) -> u64 {
    std::env::var(name).map_or(usual, |typed| typed.parse().unwrap())
}

fn survives(name: &str) {
    let target = target(name).unwrap();
    let (seeds, mut mutator) = (seeds(name), Mutator::new(chosen("M3SVM_FUZZ_SEED", 1), MOST_BYTES));
    // Files take their time.
    let runs = chosen("M3SVM_FUZZ_RUNS", 1000) / if ["journal", "rows"].contains(&name) { 10 } else { 1 };
    // What ends the program leaves its input there. One open file: to truncate it anew each time would take longer than the inputs.
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("fuzz-{name}"));
    let mut last = File::create(&path).unwrap();
    println!("the last input is in {}", path.display());
    let mut accepted = 0;
    for _ in 0..runs {
        let input = mutator.next(&seeds);
        last.rewind().and_then(|()| last.write_all(&input)).and_then(|()| last.set_len(input.len() as u64)).unwrap();
        accepted += u64::from(throw(target, &input));
    }
    println!("{name}: {accepted} of {runs} inputs accepted");
    // Where nothing is accepted, nothing is tested.
    assert!(accepted > runs / 200);
}

macro_rules! targets {
    ($($test:ident $name:literal)*) => {
        $(#[test]
        fn $test() {
            survives($name);
        })*

        #[test]
        fn every_target_is_tested() {
            assert_eq!(TARGETS.map(|(name, _)| name), [$($name),*]);
        }
    };
}

targets! {
    csv_survives_damage "csv"
    libsvm_survives_damage "libsvm"
    parquet_survives_damage "parquet"
    arrow_survives_damage "arrow"
    arrow_stream_survives_damage "arrow-stream"
    npy_survives_damage "npy"
    npz_survives_damage "npz"
    mat_survives_damage "mat"
    jsonl_survives_damage "jsonl"
    gzip_survives_damage "gzip"
    zstd_survives_damage "zstd"
    detect_survives_damage "detect"
    model_survives_damage "model"
    journal_survives_damage "journal"
    rows_survive_damage "rows"
    settings_survive_damage "settings"
}

#[test]
fn seeds_are_small_and_accepted() {
    let mut refused = Vec::new();
    for (name, target) in TARGETS {
        let seeds = seeds(name);
        assert!(!seeds.is_empty() && seeds.iter().all(|seed| seed.len() <= MOST_BYTES), "{name}");
        refused.extend((0..seeds.len()).filter(|i| !throw(target, &seeds[*i])).map(|i| (name, i)));
    }
    assert_eq!(refused, []);
}
