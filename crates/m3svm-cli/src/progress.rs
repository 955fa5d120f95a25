//! What happens on standard error while long work is under way.

use std::io::IsTerminal;
use std::ops::ControlFlow;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use m3svm::select::SearchProgress;
use m3svm::{Forecast, Progress};

use crate::{interrupt, report};

/// Work that ends sooner shows nothing.
const PATIENCE: Duration = Duration::from_millis(500);

/// A line that shows that work goes on. Only on a terminal, only after a while; gone when dropped.
pub(crate) struct Spinner {
    bar: ProgressBar,
    /// Ends the thread when dropped.
    stop: Option<mpsc::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Spinner {
    pub(crate) fn start(message: String) -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg} {elapsed}") {
            bar.set_style(style);
        }
        bar.set_message(message);
        if !std::io::stderr().is_terminal() || report::is_quiet() {
            return Self { bar, stop: None, thread: None };
        }
        let (stop, stopped) = mpsc::channel();
        let shown = bar.clone();
        let thread = std::thread::spawn(move || {
            if stopped.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                shown.set_draw_target(ProgressDrawTarget::stderr());
                shown.enable_steady_tick(Duration::from_millis(100));
                // Returns when the sender is gone.
                let _ = stopped.recv();
            }
            shown.finish_and_clear();
        });
        Self { bar, stop: Some(stop), thread: Some(thread) }
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Follows a training: progress and Ctrl-C.
pub(crate) struct Watcher {
    spinner: Spinner,
    /// Of fits that pass over rows on disk.
    forecast: Option<Forecast>,
}

/// Follows a search over many fits: progress and Ctrl-C.
pub(crate) struct SearchWatcher {
    spinner: Spinner,
    what: &'static str,
    started: Instant,
}

impl SearchWatcher {
    pub(crate) fn start(what: &'static str) -> anyhow::Result<Self> {
        interrupt::heed()?;
        Ok(Self { spinner: Spinner::start(what.into()), what, started: Instant::now() })
    }

    /// Called during every fit, from many threads.
    pub(crate) fn step(&self, at: &SearchProgress) -> ControlFlow<()> {
        let SearchProgress { done, planned } = at;
        let seconds = self.started.elapsed().as_secs_f64();
        let left = match done {
            0 => String::new(),
            _ => format!(", about {:.0} s left", seconds * (planned.saturating_sub(*done)) as f64 / *done as f64),
        };
        self.spinner.bar.set_message(format!("{}: {done} of {planned} fits{left}", self.what));
        interrupt::go_on()
    }
}

impl Watcher {
    pub(crate) fn start() -> anyhow::Result<Self> {
        interrupt::heed()?;
        Ok(Self { spinner: Spinner::start("training".into()), forecast: None })
    }

    /// Shows how long it may take to such a gap where a fit passes over rows on disk.
    pub(crate) fn until(self, tol: f64) -> Self {
        Self { forecast: Some(Forecast::new(tol)), ..self }
    }

    /// Called by the solver.
    pub(crate) fn step(&mut self, at: &Progress) -> ControlFlow<()> {
        let Progress { iteration, objective, relative_gap, passes, .. } = at;
        if objective.is_infinite() {
            self.spinner.bar.set_message("training: reading rows");
            return interrupt::go_on();
        }
        let gap = relative_gap.map(|gap| format!(", gap {gap:.1e}")).unwrap_or_default();
        let passed = passes.map(|passes| format!(", pass {passes}")).unwrap_or_default();
        let left = self.forecast.as_mut().and_then(|forecast| forecast.seconds_left(at));
        let left = left.map(|left| format!(", about {left:.0} s left")).unwrap_or_default();
        let objective = report::digits(*objective, 8);
        self.spinner
            .bar
            .set_message(format!("training: iteration {iteration}{passed}, objective {objective}{gap}{left}"));
        interrupt::go_on()
    }
}
