//! Whether a fit is still wanted: asked from its inner loops, on whatever thread they run.
//!
//! Once the answer has been no, it stays no, and loops over rows end where they are ([`crate::partition::Partition`]). What they leave is no
//! result: whoever is about to believe one (a value, a bound, a step) asks [`Heed::is_stopped`] first.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError, TryLockError};
use std::time::Instant;

use crate::solver::{Progress, Watch};

/// Milliseconds between two questions of inner loops.
const EVERY: u64 = 50;

/// The watcher of a fit, to be asked by many.
pub(crate) struct Interrupt<'w> {
    listener: Mutex<Listener<'w>>,
    stopped: AtomicBool,
    started: Instant,
    /// Milliseconds after the start at which inner loops ask again, and how many they then let pass.
    due: AtomicU64,
    every: u64,
    /// Passes over rows that are not in memory.
    passes: AtomicUsize,
}

struct Listener<'w> {
    watch: &'w mut Watch<'w>,
    /// Where the fit stood when it last said so.
    last: Progress,
}

impl<'w> Interrupt<'w> {
    pub(crate) fn new(watch: &'w mut Watch<'w>) -> Self {
        let last = Progress::BEGIN;
        Self {
            listener: Mutex::new(Listener { watch, last }),
            stopped: AtomicBool::new(false),
            started: Instant::now(),
            due: AtomicU64::new(EVERY),
            every: EVERY,
            passes: AtomicUsize::new(0),
        }
    }

    /// One whose watcher is asked as often as anyone asks.
    #[cfg(test)]
    pub(crate) fn eager(watch: &'w mut Watch<'w>) -> Self {
        Self { due: AtomicU64::new(0), every: 0, ..Self::new(watch) }
    }

    /// Says where the fit stands. The watcher that has said `Break` is not called again.
    pub(crate) fn report(&self, at: &Progress) -> ControlFlow<()> {
        let mut listener = self.listener.lock().unwrap_or_else(PoisonError::into_inner);
        listener.last = *at;
        self.ask(&mut listener, at);
        if self.is_stopped() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn ask(&self, listener: &mut Listener<'_>, at: &Progress) {
        let passes = Some(self.passes.load(Ordering::Relaxed)).filter(|passes| *passes > 0);
        if !self.is_stopped() && (listener.watch)(&Progress { passes, ..*at }).is_break() {
            self.stopped.store(true, Ordering::SeqCst);
        }
        self.due.store(self.now() + self.every, Ordering::Relaxed);
    }

    fn now(&self) -> u64 {
        self.started.elapsed().as_millis() as u64
    }

    fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::SeqCst)
    }

    pub(crate) fn heed(&self) -> Heed<'_> {
        Heed(Some(self))
    }
}

/// What [`Heed`] needs of an [`Interrupt`], whatever lifetime its watcher has.
trait Ask: Sync {
    fn go_on(&self) -> bool;
    fn is_stopped(&self) -> bool;
    fn stop(&self);
    fn passed(&self);
}

impl Ask for Interrupt<'_> {
    fn go_on(&self) -> bool {
        if !self.is_stopped() && self.now() >= self.due.load(Ordering::Relaxed) {
            // One thread asks, the others need not wait for the answer.
            let mut listener = match self.listener.try_lock() {
                Ok(listener) => listener,
                Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
                Err(TryLockError::WouldBlock) => return !self.is_stopped(),
            };
            let at = Progress { inner: true, ..listener.last };
            self.ask(&mut listener, &at);
        }
        !self.is_stopped()
    }

    fn is_stopped(&self) -> bool {
        Interrupt::is_stopped(self)
    }

    fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
    }

    fn passed(&self) {
        self.passes.fetch_add(1, Ordering::Relaxed);
    }
}

/// What inner loops hold of an [`Interrupt`]; nothing where nobody can interrupt.
#[derive(Clone, Copy, Default)]
pub(crate) struct Heed<'a>(Option<&'a (dyn Ask + 'a)>);

impl Heed<'_> {
    /// Whether to go on. Costs a look at the clock: to be asked every few microseconds at most.
    #[inline]
    pub(crate) fn go_on(self) -> bool {
        self.0.is_none_or(Ask::go_on)
    }

    /// Whether the answer has been no. What was computed since the last such question may then be in pieces.
    #[inline]
    pub(crate) fn is_stopped(self) -> bool {
        self.0.is_some_and(Ask::is_stopped)
    }

    /// The answer is no from now on: something has happened that makes all further work vain.
    pub(crate) fn stop(self) {
        if let Some(ask) = self.0 {
            ask.stop();
        }
    }

    /// Rows that are not in memory have been gone through once more.
    pub(crate) fn passed(self) {
        if let Some(ask) = self.0 {
            ask.passed();
        }
    }

    /// Whether anyone is listening.
    pub(crate) fn is_some(self) -> bool {
        self.0.is_some()
    }
}

impl std::fmt::Debug for Heed<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Heed({})", self.is_some())
    }
}

#[cfg(test)]
#[path = "interrupt_tests.rs"]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests;
