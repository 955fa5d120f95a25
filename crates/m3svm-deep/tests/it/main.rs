//! The program seen from outside.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::fs;
use std::path::{Path, PathBuf};

use assert_cmd::Command;
use tempfile::TempDir;

fn program(arguments: &[&str]) -> (bool, String, String) {
    let out = Command::cargo_bin("m3svm-deep").unwrap().args(arguments).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (out.status.success(), text(out.stdout), text(out.stderr))
}

fn idx(sizes: &[u32], content: &[u8]) -> Vec<u8> {
    let mut all = vec![0, 0, 8, sizes.len() as u8];
    sizes.iter().for_each(|s| all.extend(s.to_be_bytes()));
    all.extend(content);
    all
}

/// A folder that goes with the test, and in it an empty one for data and the place of one for results.
fn folders() -> (TempDir, PathBuf, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let (data, out) = (folder.path().join("bars"), folder.path().join("out"));
    fs::create_dir(&data).unwrap();
    (folder, data, out)
}

/// Two classes of 28×28 images: bright above or bright below, on something like noise.
fn bars(folder: &Path) {
    noisy_bars(folder, 31);
}

/// The same with other noise.
fn noisy_bars(folder: &Path, noise: usize) {
    let part = |name: &str, count: usize| {
        let labels: Vec<u8> = (0..count).map(|i| (i % 2) as u8).collect();
        let pixel = |i: usize, at: usize| {
            let bright = (at / 28 < 14) == (i.is_multiple_of(2));
            ((i * noise + at * 17) % 60) as u8 + if bright { 150 } else { 0 }
        };
        let pixels: Vec<u8> = (0..count).flat_map(|i| (0..784).map(move |at| pixel(i, at))).collect();
        fs::write(folder.join(format!("{name}-images-idx3-ubyte")), idx(&[count as u32, 28, 28], &pixels)).unwrap();
        fs::write(folder.join(format!("{name}-labels-idx1-ubyte")), idx(&[count as u32], &labels)).unwrap();
    };
    part("train", 48);
    part("t10k", 16);
    fs::write(folder.join("classes.txt"), "above\nbelow\n").unwrap();
}

#[test]
fn a_training_leaves_checkpoints_curves_and_figures() {
    let (_folder, data, out) = folders();
    bars(&data);
    let (data, place) = (data.to_str().unwrap(), out.to_str().unwrap());
    let train = ["train", data, "--out", place, "--epochs", "4", "--batch", "8", "--rate", "0.004", "--seeds", "2"];
    let (fine, stdout, stderr) = program(&train);
    assert!(fine, "{stderr}");
    assert!(stdout.starts_with("test accuracy 1.0000 ± 0.0000"), "{stdout}");
    assert!(stderr.contains("bars: 48 training and 16 test images of 1x32x32, 2 classes"), "{stderr}");
    // Without a terminal there is a line per epoch.
    for words in ["seed 0, epoch 1 of 4: loss ", "seed 1, epoch 4 of 4: loss "] {
        assert_eq!(stderr.matches(words).count(), 1, "{stderr}");
    }
    for file in ["seed-0.checkpoint", "seed-1.checkpoint", "curves.svg", "margins-before.svg", "margins-after.svg"] {
        assert!(out.join(file).is_file(), "{file}");
    }
    let curves = fs::read_to_string(out.join("curves.csv")).unwrap();
    assert_eq!(curves.lines().count(), 1 + 2 * 4);
    let summary: serde_json::Value = serde_json::from_slice(&fs::read(out.join("summary.json")).unwrap()).unwrap();
    assert_eq!(summary["settings"]["loss"], "ism3");
    assert_eq!(summary["trainings"].as_array().unwrap().len(), 2);
    assert!(
        (summary["lambda_of_sums"].as_f64().unwrap() / summary["settings"]["lambda"].as_f64().unwrap() - 48.0).abs()
            < 1e-9
    );

    // Nothing is overwritten, and a finished training has nothing left to do.
    let (fine, _, stderr) = program(&train);
    assert!(!fine && stderr.contains("seed-0.checkpoint exists; add `--resume`"), "{stderr}");
    let (fine, again, stderr) = program(&[&train[..], &["--resume"]].concat());
    assert!(fine && again == stdout, "{stderr}");

    // Another seed would replace the curves of these, a comparison too.
    let kept = fs::read(out.join("curves.csv")).unwrap();
    for resume in [&[][..], &["--resume"]] {
        let (fine, _, stderr) = program(&[&["train", data, "--out", place, "--seed", "2"], resume].concat());
        assert!(!fine && stderr.contains("seed-0.checkpoint is of a seed that is not asked for"), "{stderr}");
    }
    let (fine, _, stderr) = program(&["compare", data, "--out", place]);
    assert!(!fine && stderr.contains("seed-0.checkpoint is of a training"), "{stderr}");
    assert_eq!(fs::read(out.join("curves.csv")).unwrap(), kept);
    let other = [&train[..], &["--resume", "--lambda", "0.5"]].concat();
    let (fine, _, stderr) = program(&other);
    assert!(!fine && stderr.ends_with("it was trained with `lambda` 0.0001, not 0.5\n"), "{stderr}");

    // Nor does it go on with other images of the same number and size.
    noisy_bars(Path::new(data), 29);
    let (fine, _, stderr) = program(&[&train[..], &["--resume"]].concat());
    assert!(!fine && stderr.ends_with("seed-0.checkpoint: it was trained on other images\n"), "{stderr}");
    bars(Path::new(data));

    let checkpoint = out.join("seed-0.checkpoint");
    let (fine, stdout, stderr) = program(&["evaluate", checkpoint.to_str().unwrap(), data]);
    assert!(fine && stdout.starts_with("test accuracy      1.0000"), "{stdout}{stderr}");
    assert!(stdout.contains("between above and below"), "{stdout}");

    // The exact optimum is not above what Adam found.
    let (fine, stdout, stderr) = program(&["refit", checkpoint.to_str().unwrap(), data]);
    assert!(fine, "{stderr}");
    let objectives: Vec<f64> = stdout
        .lines()
        .map(|l| l.split_once("objective ").unwrap().1.split([',', ' ']).next().unwrap().parse().unwrap())
        .collect();
    assert!(objectives[1] < objectives[0] && stdout.lines().all(|l| l.ends_with("test accuracy 1.0000")), "{stdout}");
}

#[test]
fn curves_can_be_looked_at_while_a_training_goes_on() {
    let (_folder, data, out) = folders();
    bars(&data);
    let mut training = std::process::Command::new(assert_cmd::cargo::cargo_bin!("m3svm-deep"))
        .args(["train", data.to_str().unwrap(), "--out", out.to_str().unwrap(), "--epochs", "100000"])
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    // Long enough for the busiest machine; the training itself would take hours.
    let there = (0..600).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(100));
        out.join("curves.csv").exists()
    });
    training.kill().unwrap();
    training.wait().unwrap();
    assert!(there && out.join("seed-0.checkpoint").exists() && out.join("curves.svg").exists());
    assert!(fs::read_to_string(out.join("curves.csv")).unwrap().lines().count() > 1);
    assert!(!out.join("summary.json").exists());
}

#[test]
fn a_comparison_tunes_judges_and_goes_on() {
    let (_folder, data, out) = folders();
    bars(&data);
    let arguments = [
        "compare",
        data.to_str().unwrap(),
        "--out",
        out.to_str().unwrap(),
        "--epochs",
        "2",
        "--batch",
        "8",
        "--seeds",
        "2",
        "--tune-seeds",
        "1",
        "--lambdas",
        "1e-3,1e-2",
        "--decays",
        "0.1",
        "--smoothings",
        "0.1",
        "--jobs",
        "2",
    ];
    let (fine, stdout, stderr) = program(&arguments);
    assert!(fine, "{stderr}");
    assert_eq!(stdout.lines().count(), 4, "{stdout}");
    assert_eq!(fs::read_to_string(out.join("tuning.csv")).unwrap().lines().count(), 1 + 5);
    assert_eq!(fs::read_to_string(out.join("runs.jsonl")).unwrap().lines().count(), 5 + 8);
    assert_eq!(fs::read_to_string(out.join("curves.csv")).unwrap().lines().count(), 1 + 4 * 2 * 2);
    for file in [
        "test-accuracy.svg",
        "train-accuracy.svg",
        "min-margin.svg",
        "margin-and-accuracy.svg",
        "margins-after-ism3.svg",
    ] {
        assert!(out.join(file).is_file(), "{file}");
    }
    // All is known: the same results without a training.
    let (fine, again, _) = program(&arguments);
    assert!(fine && again == stdout);
    let runs = fs::read_to_string(out.join("runs.jsonl")).unwrap();
    assert_eq!(runs.lines().count(), 5 + 8);
    // Of other images of the same number and size nothing is known.
    noisy_bars(&data, 29);
    let (fine, stdout, stderr) = program(&arguments);
    assert!(!fine && stdout.is_empty(), "{stdout}");
    assert!(
        stderr.ends_with(
            "runs.jsonl: not a usable journal: line 1 was trained on other images; choose another folder for these\n"
        ),
        "{stderr}"
    );
    assert_eq!(fs::read_to_string(out.join("runs.jsonl")).unwrap(), runs);
}

#[test]
fn bad_input_is_said_in_one_line() {
    let (_folder, data, out) = folders();
    let refused = |more: &[&str]| {
        let line = [&["train", data.to_str().unwrap(), "--out", out.to_str().unwrap()], more].concat();
        let (fine, stdout, stderr) = program(&line);
        assert!(!fine && stdout.is_empty() && stderr.lines().count() == 1, "{stderr}");
        stderr
    };
    assert!(refused(&[]).contains("holds no images that are known"));
    bars(&data);
    assert!(refused(&["-p", "0.5"]).contains("`p` must be at least 1"));
    assert!(refused(&["--size", "0"]).contains("`size` must be"));
    fs::write(data.join("classes.txt"), "above\n").unwrap();
    assert!(refused(&[]).contains("1 names, but there are 2 classes"));
    bars(&data);
    if !cfg!(feature = "cuda") {
        assert!(refused(&["--backend", "cuda"]).contains("built without CUDA"));
    }
    assert!(!out.exists());
    // Where nothing is, a training begins.
    let (fine, _, stderr) =
        program(&["train", data.to_str().unwrap(), "--out", out.to_str().unwrap(), "--resume", "--epochs", "1"]);
    assert!(fine && stderr.contains("there is nothing to resume in"), "{stderr}");
    let (fine, _, stderr) = program(&["evaluate", data.join("classes.txt").to_str().unwrap(), data.to_str().unwrap()]);
    assert!(
        !fine && stderr.contains("is not a usable checkpoint: its first line is missing")
            || stderr.contains("another kind"),
        "{stderr}"
    );
}
