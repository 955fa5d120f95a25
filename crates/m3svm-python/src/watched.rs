//! Long work: on threads of its own, while the calling thread looks for Ctrl-C and reports progress.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use rayon::ThreadPool;

use crate::error::{exception, internal};

/// How often the calling thread takes the interpreter to look for signals.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// What `work` calls with its progress; `Break` asks it to end.
pub(crate) type Watch<'a, P> = &'a (dyn Fn(P) -> ControlFlow<()> + Sync);

/// What came of the work, and what was raised meanwhile: `KeyboardInterrupt`, or an exception of `report`.
pub(crate) struct Outcome<T> {
    pub(crate) result: PyResult<T>,
    pub(crate) raised: Option<PyErr>,
}

/// Runs `work` on the pool. To be called without the interpreter, which the calling thread takes now and then: signals are delivered
/// to the main thread alone. Whatever is raised there asks the work to end.
pub(crate) fn run<T: Send, P: Copy + Send>(
    pool: &ThreadPool,
    report: impl Fn(Python<'_>, P) -> PyResult<()>,
    work: impl FnOnce(Watch<'_, P>) -> m3svm::Result<T> + Send,
) -> Outcome<T> {
    let (stop, latest) = (AtomicBool::new(false), Mutex::new(None));
    let watch = |at: P| {
        *latest.lock().unwrap_or_else(PoisonError::into_inner) = Some(at);
        if stop.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let mut raised = None;
    let result = std::thread::scope(|scope| {
        let (done, finished) = mpsc::channel::<()>();
        let watch = &watch;
        let worker = scope.spawn(move || {
            // Dropped at the end, whatever the end is; that wakes the calling thread.
            let _done = done;
            pool.install(|| work(watch))
        });
        while finished.recv_timeout(LOOK_EVERY) == Err(RecvTimeoutError::Timeout) {
            let at = latest.lock().unwrap_or_else(PoisonError::into_inner).take();
            let look = |py: Python<'_>| {
                py.check_signals()?;
                at.map_or(Ok(()), |at| report(py, at))
            };
            if raised.is_none()
                && let Err(problem) = Python::attach(look)
            {
                stop.store(true, Ordering::Relaxed);
                raised = Some(problem);
            }
        }
        worker.join()
    });
    let result = match result {
        Ok(result) => result.map_err(exception),
        Err(_) => Err(internal("the work ended without a result")),
    };
    Outcome { result, raised }
}

/// Whether what was raised leaves the model so far to be kept: Ctrl-C does, if that was asked for.
pub(crate) fn kept(py: Python<'_>, problem: &PyErr, keep_interrupted: bool) -> bool {
    keep_interrupted && problem.is_instance_of::<PyKeyboardInterrupt>(py)
}
