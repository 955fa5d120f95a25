//! Whole runs on a small stand-in: iris under the names of other data sets.

#![expect(clippy::unwrap_used, reason = "tests")]
#![allow(missing_docs)]

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use m3svm_reproduce::{Artefact, Error, Listener, Plan, Protocol, run};
use tempfile::TempDir;

const IRIS: &str = include_str!("../../m3svm-cli/data/iris.csv");

/// A folder with `data` and room for results.
struct Lab {
    folder: TempDir,
}

impl Lab {
    /// Iris with the label column that the files have, under these names.
    fn with(files: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("data")).unwrap();
        let (header, rows) = IRIS.split_once('\n').unwrap();
        let names = header.rsplit_once(',').unwrap().0;
        for file in files {
            std::fs::write(folder.path().join("data").join(file), format!("{names},label\n{rows}")).unwrap();
        }
        Self { folder }
    }

    fn plan(&self, output: &str) -> Plan {
        Plan {
            data: self.folder.path().join("data"),
            output: self.folder.path().join(output),
            protocol: Protocol::Both,
            resume: false,
            finished: false,
            repeats: Some(1),
            sets: vec![],
            seed: 0,
        }
    }

    /// All files of a folder of results, finished pieces included.
    fn files(&self, output: &str) -> BTreeMap<String, Vec<u8>> {
        let mut all = BTreeMap::new();
        collect(&self.folder.path().join(output), "", &mut all);
        all
    }
}

fn collect(folder: &Path, before: &str, all: &mut BTreeMap<String, Vec<u8>>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = format!("{before}{}", entry.file_name().to_str().unwrap());
        if entry.path().is_dir() {
            collect(&entry.path(), &format!("{name}/"), all);
        } else {
            all.insert(name, std::fs::read(entry.path()).unwrap());
        }
    }
}

/// Runs to the end; what was noted.
fn notes(plan: &Plan, artefacts: &[Artefact]) -> (Result<(), Error>, Vec<String>) {
    let noted = RefCell::new(Vec::new());
    let note = |text: &str| noted.borrow_mut().push(text.to_string());
    let done = run(plan, artefacts, &Listener { note: &note, watch: &|_| ControlFlow::Continue(()) });
    (done, noted.into_inner())
}

#[test]
fn table1_has_the_printed_number_both_protocols_and_a_verdict() {
    let lab = Lab::with(&["glass.csv"]);
    let (done, noted) = notes(&lab.plan("out"), &[Artefact::Table1]);
    done.unwrap();
    let data = lab.folder.path().join("data");
    let left_out = format!("Cornell left out: {} is not there", data.join("cornell.svm.gz").display());
    assert!(noted.contains(&left_out), "{noted:?}");
    let files = lab.files("out");
    let csv = String::from_utf8(files["table1.csv"].clone()).unwrap();
    assert!(csv.contains("Glass,150,4,3,m3svm,printed in the paper,0.744,0.007,"), "{csv}");
    // Eight printed numbers, three of the script, nine methods.
    assert_eq!(csv.lines().count(), 1 + 8 + 3 + 9);
    let text = String::from_utf8(files["table1.md"].clone()).unwrap();
    for expected in
        ["| Glass | 150 × 4, 3 | 0.744 ± 0.007 |", "fair, 1 × 5 folds", "- **Glass**: ", "32 of the 43 test rows"]
    {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    let settings: serde_json::Value = serde_json::from_slice(&files["table1.json"]).unwrap();
    assert_eq!(settings["settings"][0]["paper"]["seeds"], serde_json::json!([42]));
    assert!(files.contains_key("table1-glass.svg") && !files.keys().any(|name| name.ends_with(".journal")));
}

#[test]
fn an_interrupted_run_resumes_to_the_same_files() {
    let lab = Lab::with(&["glass.csv"]);
    let whole = Plan { protocol: Protocol::Fair, ..lab.plan("whole") };
    notes(&whole, &[Artefact::Table1]).0.unwrap();
    let plan = Plan { resume: true, output: lab.folder.path().join("parts"), ..whole.clone() };
    let mut rounds = 0;
    // Ends the run again and again, a little later every time.
    loop {
        rounds += 1;
        let asked = AtomicUsize::new(0);
        let watch = |_: &_| match asked.fetch_add(1, Ordering::Relaxed) < 2000 * rounds {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        };
        match run(&plan, &[Artefact::Table1], &Listener { note: &|_| {}, watch: &watch }) {
            Err(error) if error.is_interruption() => assert!(!lab.files("parts").contains_key("table1.csv")),
            other => break other.unwrap(),
        }
    }
    assert!(rounds > 2, "{rounds}");
    assert_eq!(lab.files("parts"), lab.files("whole"));
    // Everything is there: nothing is made again.
    let (done, noted) = notes(&plan, &[Artefact::Table1]);
    done.unwrap();
    assert!(!noted.iter().any(|note| note.ends_with("done")), "{noted:?}");
}

#[test]
fn figures_come_with_numbers_and_settings() {
    let lab = Lab::with(&["iris.csv", "glass.csv", "dermatology.csv"]);
    let figures = [Artefact::Convergence, Artefact::P, Artefact::Lambda, Artefact::Confusion, Artefact::Illustrations];
    notes(&lab.plan("out"), &figures).0.unwrap();
    let files = lab.files("out");
    for name in ["convergence", "p", "lambda", "confusion", "illustrations"] {
        assert!(files[&format!("{name}.csv")].len() > 100 && files.contains_key(&format!("{name}.json")), "{name}");
    }
    for figure in [
        "convergence-glass-objective",
        "convergence-glass-accuracy",
        "p-glass",
        "lambda-glass",
        "confusion-iris",
        "illustration-iris-lda",
        "illustration-iris-pca",
        "illustration-dermatology-tsne",
    ] {
        assert!(files[&format!("{figure}.svg")].starts_with(b"<svg"), "{figure}");
        assert_eq!(files.contains_key(&format!("{figure}.png")), cfg!(feature = "png"), "{figure}");
    }
    let curve = String::from_utf8(files["convergence.csv"].clone()).unwrap();
    let last = |solver: &str| -> f64 {
        let line = curve.lines().rfind(|line| line.contains(solver)).unwrap();
        line.split(',').nth(4).unwrap().parse().unwrap()
    };
    // Newton reaches the optimum; 500 epochs of Adam do not go below it.
    assert!(last(",newton,") < 1e-7 && last(",adam,") >= last(",newton,"), "{}", last(",adam,"));
}

#[test]
fn without_any_data_nothing_can_run() {
    let lab = Lab::with(&[]);
    let (done, noted) = notes(&lab.plan("out"), &[Artefact::Confusion]);
    let data = lab.folder.path().join("data");
    let expected = format!("nothing could be run: none of the data files is in {}", data.display());
    assert_eq!((done.unwrap_err().to_string(), noted.len()), (expected, 3));
}

#[test]
fn unknown_sets_and_no_repeats_are_refused() {
    let lab = Lab::with(&[]);
    let refused = |plan: &Plan| notes(plan, &[Artefact::P]).0.unwrap_err().to_string();
    let sets = vec!["glas".into()];
    let unknown = refused(&Plan { sets, ..lab.plan("out") });
    assert!(unknown.starts_with("there is no data set `glas`; there are cornell, isolet, hhar,"), "{unknown}");
    let none = refused(&Plan { repeats: Some(0), ..lab.plan("out") });
    assert_eq!(none, "`repeats` must be at least 1, found 0");
}
