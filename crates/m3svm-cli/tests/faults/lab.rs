//! The folder that faults happen in, what an undisturbed run comes to, and what must hold after a fault.

use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use m3svm::Model;
use serde_json::Value;
use tempfile::TempDir;

use crate::Random;

/// A search, and a comparison, of a moment's work in many lines of a journal.
const TUNE: &str = "tune iris.csv --method lr --lambda 0.01,0.1,1,10 --folds 3 --repeats 3 --no-discard --json";
const COMPARE: &str = "compare iris.csv --methods lr,ww --folds 2 --repeats 2 --json";
const REPRODUCE: &str = "reproduce lambda --protocol fair --sets glass --repeats 1 --data data -o results";

/// Data and the model of it: one that is written in a moment, and one of half a megabyte.
pub(crate) const MODELS: [(&str, &str); 2] = [("iris.csv", "model.m3svm"), ("wide.svm", "wide.m3svm")];

pub(crate) struct Lab {
    folder: TempDir,
    /// Results without faults.
    pub(crate) tuned: Value,
    pub(crate) compared: Value,
    /// Files by name.
    reproduced: BTreeMap<String, Vec<u8>>,
    /// How long they take.
    pub(crate) train_takes: Duration,
    pub(crate) tune_takes: Duration,
    pub(crate) compare_takes: Duration,
    pub(crate) reproduce_takes: Duration,
}

impl Lab {
    pub(crate) fn new() -> Self {
        let none = Duration::ZERO;
        let mut lab = Self {
            folder: tempfile::tempdir().unwrap(),
            tuned: Value::Null,
            compared: Value::Null,
            train_takes: none,
            tune_takes: none,
            compare_takes: none,
            reproduce_takes: none,
            reproduced: BTreeMap::new(),
        };
        let iris = include_str!("../../data/iris.csv");
        std::fs::write(lab.path("iris.csv"), iris).unwrap();
        std::fs::write(lab.path("wide.svm"), wide()).unwrap();
        std::fs::create_dir(lab.path("temporary")).unwrap();
        std::fs::create_dir(lab.path("data")).unwrap();
        std::fs::write(lab.path("data/glass.csv"), iris.replacen("species", "label", 1)).unwrap();
        lab.succeed("train wide.svm --p 2 --max-iter 3 -o wide.m3svm");
        let started = Instant::now();
        lab.succeed("train iris.csv --p 2 -o model.m3svm");
        lab.train_takes = started.elapsed();
        (lab.tuned, lab.tune_takes) = lab.timed(TUNE);
        (lab.compared, lab.compare_takes) = lab.timed(COMPARE);
        let started = Instant::now();
        lab.succeed(REPRODUCE);
        lab.reproduce_takes = started.elapsed();
        lab.reproduced = lab.results();
        lab
    }

    fn timed(&self, arguments: &str) -> (Value, Duration) {
        let started = Instant::now();
        (answer(&self.succeed(arguments)), started.elapsed())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The program with these arguments in the folder; what it keeps elsewhere goes to `temporary`.
    pub(crate) fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("m3svm"));
        self.prepare(command.args(arguments.split_whitespace()));
        command
    }

    /// The same through a shell that does something first.
    pub(crate) fn after(&self, first: &str, arguments: &str) -> Command {
        let mut command = Command::new("sh");
        command.arg("-c").arg(format!("{first}; exec \"$0\" \"$@\"")).arg(assert_cmd::cargo::cargo_bin!("m3svm"));
        self.prepare(command.args(arguments.split_whitespace()));
        command
    }

    fn prepare(&self, command: &mut Command) {
        command.current_dir(self.folder.path()).env("TMPDIR", self.path("temporary"));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    }

    pub(crate) fn start(&self, arguments: &str) -> Child {
        self.command(arguments).spawn().unwrap()
    }

    pub(crate) fn succeed(&self, arguments: &str) -> Output {
        let output = self.command(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{arguments}: {}", said(&output));
        output
    }

    /// A search or a comparison that goes on from a journal.
    pub(crate) fn resumed(&self, tune: bool) -> String {
        format!("{} --resume journal", if tune { TUNE } else { COMPARE })
    }

    /// Goes on to the end, which must be that of a run without faults, and takes the journal away.
    pub(crate) fn finish(&self, tune: bool) {
        let found = answer(&self.succeed(&self.resumed(tune)));
        assert_eq!(&found, if tune { &self.tuned } else { &self.compared });
        std::fs::remove_file(self.path("journal")).unwrap();
    }

    pub(crate) fn reproducing(&self) -> String {
        format!("{REPRODUCE} --resume")
    }

    /// The same for the paper's figures.
    pub(crate) fn finish_reproducing(&self) {
        self.succeed(&self.reproducing());
        assert!(self.results() == self.reproduced);
    }

    /// The files of results, taken away.
    fn results(&self) -> BTreeMap<String, Vec<u8>> {
        let mut files = BTreeMap::new();
        for folder in ["results/parts", "results"] {
            for name in names(&self.path(folder)).into_iter().map(|name| format!("{folder}/{name}")) {
                if self.path(&name).is_file() {
                    files.insert(name.clone(), self.bytes(&name));
                }
            }
        }
        std::fs::remove_dir_all(self.path("results")).unwrap();
        files
    }

    /// A p that tells a new model from the old one.
    pub(crate) fn other_p(&self, name: &str, random: &mut Random) -> f64 {
        let old = self.model(name).spec().penalty.p().unwrap();
        random.one_of(&[1.5, 2.0, 3.0, 4.0].map(|p| if p == old { 5.0 } else { p }))
    }

    pub(crate) fn model(&self, name: &str) -> Model {
        Model::load(self.path(name)).unwrap()
    }

    /// What the file of the model is after a fault: byte by byte the old one, or whole and with this p.
    pub(crate) fn model_is(&self, name: &str, old: &[u8], p: f64) -> &'static str {
        if std::fs::read(self.path(name)).unwrap() == old {
            return "old model";
        }
        assert_eq!(self.model(name).spec().penalty.p(), Some(p));
        "new model"
    }

    pub(crate) fn bytes(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }

    /// What must hold of every run that ended by itself: a promised exit code, and one sentence if it failed.
    pub(crate) fn check_end(&self, output: &Output) {
        let told = said(output);
        assert!(!told.contains("panicked"), "{told}");
        match output.status.code() {
            Some(0) => assert!(!told.contains("error: "), "{told}"),
            Some(1) => assert_eq!(told.matches("error: ").count(), 1, "{told}"),
            _ => assert!(output.status.signal().is_some(), "{:?}: {told}", output.status),
        }
    }

    /// Another run in the folder leaves nothing behind but results.
    pub(crate) fn check_next_run(&self, fault: &str) {
        self.succeed("predict model.m3svm iris.csv -o predicted.csv");
        let names = names(self.folder.path());
        let expected = ["data", "iris.csv", "model.m3svm", "predicted.csv", "temporary", "wide.m3svm", "wide.svm"];
        assert_eq!(names, expected, "after: {fault}");
        std::fs::remove_file(self.path("predicted.csv")).unwrap();
        assert_eq!(std::fs::read_dir(self.path("temporary")).unwrap().count(), 0, "after: {fault}");
    }
}

/// A few rows of many features.
fn wide() -> String {
    let mut random = Random(0);
    let row = |class: usize| {
        let cells = (0..5000).map(|j| format!(" {}:{}", j + 1, random.below(1000)));
        format!("{class}{}\n", cells.collect::<String>())
    };
    (0..36).map(|i| i % 12).map(row).collect()
}

/// Everything but times.
fn answer(output: &Output) -> Value {
    let mut answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    let timeless = |value: &mut Value| {
        let Some(map) = value.as_object_mut() else { return };
        map.retain(|name, _| !name.ends_with("seconds"));
    };
    timeless(&mut answer);
    answer["methods"].as_array_mut().into_iter().flatten().for_each(timeless);
    answer
}

pub(crate) fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

pub(crate) fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Sends a signal to a process of ours so many times at once.
pub(crate) fn send(signal: &str, times: usize, child: &Child) {
    let ids = std::iter::repeat_n(child.id().to_string(), times);
    // It may be gone already.
    Command::new("kill").arg(signal).args(ids).stderr(Stdio::null()).status().unwrap();
}
