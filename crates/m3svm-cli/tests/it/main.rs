//! The program as a user meets it. One binary for all tests: linking is the slow part.

#![expect(clippy::unwrap_used, clippy::print_stderr, reason = "tests")]
#![allow(missing_docs, unreachable_pub)]

#[cfg(unix)]
mod browser;
mod compare;
mod errors;
mod export;
mod held_out;
mod help;
mod memory;
mod outputs;
mod reproduce;
mod separable;
mod settings;
mod streaming;
mod tables;
mod tune;
#[cfg(unix)]
mod unix;

use std::path::PathBuf;
use std::process::{Command, Output};

use tempfile::TempDir;

/// A folder with data in which the program runs.
pub struct Lab {
    folder: TempDir,
}

impl Lab {
    /// With `iris.csv`.
    pub fn iris() -> Self {
        let lab = Self { folder: tempfile::tempdir().unwrap() };
        lab.write("iris.csv", include_str!("../../data/iris.csv"));
        lab
    }

    /// With `iris.csv` and a model of it in `iris.m3svm`.
    pub fn trained() -> Self {
        let lab = Self::iris();
        lab.text("train iris.csv --lambda 0.001 -o iris.m3svm");
        lab
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    /// Names of all files.
    pub fn files(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.folder.path()).unwrap();
        let mut names: Vec<String> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// The program, about to run in the folder with these arguments.
    pub fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("m3svm"));
        command.args(arguments.split_whitespace()).current_dir(self.folder.path());
        command
    }

    pub fn run(&self, arguments: &str) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Standard output of a run that must succeed, without what differs from run to run.
    pub fn text(&self, arguments: &str) -> String {
        let output = self.run(arguments);
        assert_eq!(output.status.code(), Some(0), "{arguments}: {}", stderr(&output));
        masked(&stdout(&output))
    }

    pub fn json(&self, arguments: &str) -> serde_json::Value {
        serde_json::from_str(&self.text(arguments)).unwrap()
    }

    /// Standard error of a run that must fail with exit code 1 and print nothing.
    pub fn error(&self, arguments: &str) -> String {
        let output = self.run(arguments);
        assert_eq!(output.status.code(), Some(1), "{arguments}: {output:?}");
        assert_eq!(stdout(&output), "", "{arguments}");
        stderr(&output)
    }
}

pub fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// Replaces what depends on the machine and on the path that the solver takes.
pub fn masked(text: &str) -> String {
    let mut lines: Vec<String> = text.lines().map(String::from).collect();
    for line in &mut lines {
        if line.starts_with("  solver ") {
            *line = "  solver [...]".into();
        }
        if let Some((before, _)) = line.rsplit_once(", ").filter(|_| line.starts_with("  work ")) {
            *line = format!("{before}, [...] s");
        }
        if let Some((before, after)) = line.split_once("optimal to within ") {
            let rest = after.split_once(' ').map_or("", |(_, rest)| rest);
            *line = format!("{before}optimal to within [...] {rest}").trim_end().into();
        }
    }
    lines.join("\n") + "\n"
}
