//! The trace of a training: one line per iteration, written as it happens.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use m3svm::Progress;

/// An open trace. A write that fails ends the trace, not the training.
pub(crate) struct Trace {
    path: PathBuf,
    started: Instant,
    file: io::Result<File>,
}

impl Trace {
    /// Opens the file and writes the header.
    pub(crate) fn start(path: &Path) -> m3svm::Result<Self> {
        let file = Ok(m3svm::open_log(path)?);
        let mut trace = Self { path: path.to_path_buf(), started: Instant::now(), file };
        trace.write("iteration,seconds,objective,relative_gap\n");
        Ok(trace)
    }

    /// Adds the line of an iteration.
    pub(crate) fn step(&mut self, at: &Progress) {
        if at.inner {
            return;
        }
        let gap = at.relative_gap.map(|gap| format!("{gap:e}")).unwrap_or_default();
        let seconds = self.started.elapsed().as_secs_f64();
        self.write(&format!("{},{seconds:.6},{},{gap}\n", at.iteration, at.objective));
    }

    /// The whole line at once and without a buffer: whoever follows the file never sees half of one.
    fn write(&mut self, line: &str) {
        if let Ok(file) = &mut self.file
            && let Err(e) = file.write_all(line.as_bytes())
        {
            self.file = Err(e);
        }
    }

    /// What went wrong, if anything did. A reader that has left has seen enough.
    pub(crate) fn finish(self) -> m3svm::Result<()> {
        match self.file {
            Err(source) if source.kind() != io::ErrorKind::BrokenPipe => {
                Err(m3svm::Error::Io { path: self.path, source })
            }
            _ => Ok(()),
        }
    }
}
