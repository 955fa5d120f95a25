//! The trace of a training: one line per iteration, written as it happens.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use m3svm::{Model, Progress};

/// An open trace. A write that fails ends the trace, not the training.
pub(crate) struct Trace {
    path: PathBuf,
    started: Instant,
    file: io::Result<File>,
    /// Iteration and gap of the last line.
    last: Option<(usize, Option<f64>)>,
}

impl Trace {
    /// Opens the file and writes the header.
    pub(crate) fn start(path: &Path) -> m3svm::Result<Self> {
        let file = Ok(m3svm::open_log(path)?);
        let mut trace = Self { path: path.to_path_buf(), started: Instant::now(), file, last: None };
        trace.write("iteration,seconds,objective,relative_gap\n");
        Ok(trace)
    }

    /// Adds the line of an iteration.
    pub(crate) fn step(&mut self, at: &Progress) {
        if at.inner {
            return;
        }
        self.line(at.iteration, at.objective, at.relative_gap);
    }

    fn line(&mut self, iteration: usize, objective: f64, relative_gap: Option<f64>) {
        self.last = Some((iteration, relative_gap));
        let gap = relative_gap.map(|gap| format!("{gap:e}")).unwrap_or_default();
        let seconds = self.started.elapsed().as_secs_f64();
        self.write(&format!("{iteration},{seconds:.6},{objective},{gap}\n"));
    }

    /// The whole line at once and without a buffer: whoever follows the file never sees half of one.
    fn write(&mut self, line: &str) {
        if let Ok(file) = &mut self.file
            && let Err(e) = file.write_all(line.as_bytes())
        {
            self.file = Err(e);
        }
    }

    /// Adds the point that the training ended at, unless it is the last line already: solvers report a step before they know how good it is.
    /// Says what went wrong, if anything did; a reader that has left has seen enough.
    pub(crate) fn finish(mut self, model: &Model) -> m3svm::Result<()> {
        let (iterations, certificate) = (model.training().iterations, model.certificate());
        if self.last != Some((iterations, certificate.relative_gap())) {
            self.line(iterations, certificate.objective, certificate.relative_gap());
        }
        match self.file {
            Err(source) if source.kind() != io::ErrorKind::BrokenPipe => {
                Err(m3svm::Error::Io { path: self.path, source })
            }
            _ => Ok(()),
        }
    }
}
