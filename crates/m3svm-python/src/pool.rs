//! The threads that do the work: a pool of our own, because rayon's global one does not survive a fork.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::PyOverflowError;
use pyo3::inspect::PyStaticExpr;
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::error::{internal, invalid};

/// Nobody means more than this.
const MOST_THREADS: usize = 1024;

struct Kept {
    process: u32,
    threads: usize,
    pool: Arc<ThreadPool>,
}

/// The pool that was used last.
static KEPT: Mutex<Option<Kept>> = Mutex::new(None);

/// How many threads somebody wants, which [`pool`] judges: the number, if it is one that computers count with, and as it was written.
pub(crate) struct Threads(Option<i64>, String);

impl<'a, 'py> FromPyObject<'a, 'py> for Threads {
    type Error = PyErr;

    const INPUT_TYPE: PyStaticExpr = i64::INPUT_TYPE;

    fn extract(number: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        match number.extract::<i64>() {
            Err(problem) if !problem.is_instance_of::<PyOverflowError>(number.py()) => Err(problem),
            known => Ok(Self(known.ok(), number.to_string())),
        }
    }
}

/// A pool with so many threads; `None` for what the environment allows, and so is -1, as everywhere in scikit-learn.
pub(crate) fn pool(threads: Option<Threads>) -> PyResult<Arc<ThreadPool>> {
    let threads = match threads {
        None | Some(Threads(Some(-1), _)) => default_threads(),
        Some(Threads(asked, typed)) => {
            let threads =
                asked.and_then(|asked| usize::try_from(asked).ok()).filter(|n| (1..=MOST_THREADS).contains(n));
            threads.ok_or_else(|| {
                invalid(format!("`n_threads` must be between 1 and {MOST_THREADS}, or -1 for all cores, found {typed}"))
            })?
        }
    };
    let process = std::process::id();
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(kept) = kept.as_ref().filter(|kept| kept.process == process && kept.threads == threads) {
        return Ok(kept.pool.clone());
    }
    let pool = ThreadPoolBuilder::new().num_threads(threads).thread_name(|i| format!("m3svm-{i}")).build();
    let pool = Arc::new(pool.map_err(|e| internal(&format!("no threads could be started ({e})")))?);
    let old = kept.replace(Kept { process, threads, pool: pool.clone() });
    if let Some(old) = old.filter(|old| old.process != process) {
        // Its threads stayed in the parent process; waiting for them here would never end.
        std::mem::forget(old);
    }
    Ok(pool)
}

/// All cores, unless `RAYON_NUM_THREADS` or `OMP_NUM_THREADS` asks for fewer. The latter is what joblib sets in its workers, so
/// that parallel searches do not run more threads than there are cores.
fn default_threads() -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let asked = ["RAYON_NUM_THREADS", "OMP_NUM_THREADS"].into_iter().find_map(|name| {
        let threads = std::env::var(name).ok()?.trim().parse::<usize>().ok()?;
        (threads > 0).then_some(threads)
    });
    asked.map_or(cores, |asked| asked.min(cores))
}
