//! Ctrl-C, and the signals that ask a program to end: all of them ask the work to stop and keep what there is.

use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::report::tell;

/// Requests that come closer together are one: `timeout`, service managers and terminals that close send two at once, and the
/// second one must not cost the model that the first one saves.
const ONE_REQUEST: Duration = Duration::from_millis(250);

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// From here on the first request asks the work to stop, the second one ends the program. Asked again it does nothing.
pub(crate) fn heed() -> anyhow::Result<()> {
    static HEEDED: AtomicBool = AtomicBool::new(false);
    if !HEEDED.swap(true, Ordering::SeqCst) {
        listen()?;
    }
    Ok(())
}

/// Whether the work is to stop.
pub(crate) fn interrupted() -> bool {
    INTERRUPTED.load(Ordering::SeqCst)
}

/// The same as watchers say it.
pub(crate) fn go_on() -> ControlFlow<()> {
    if interrupted() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}

/// Somebody has asked; `again` is what would end the program at once.
fn asked(again: &str) {
    static FIRST: Mutex<Option<Instant>> = Mutex::new(None);
    let Ok(mut first) = FIRST.lock() else { return };
    match *first {
        None => {
            *first = Some(Instant::now());
            INTERRUPTED.store(true, Ordering::SeqCst);
            tell("note", &format!("stopping; {again} to abort"));
        }
        Some(first) if first.elapsed() < ONE_REQUEST => {}
        Some(_) => std::process::exit(1),
    }
}

/// A file that reaches the limit of its size (`ulimit -f`) is an error of the writing, which keeps what it can; by default
/// the signal that comes with it would end the program first.
#[cfg(unix)]
pub(crate) fn survive_limits() -> anyhow::Result<()> {
    signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Default::default())?;
    Ok(())
}

#[cfg(not(unix))]
pub(crate) fn survive_limits() -> anyhow::Result<()> {
    Ok(())
}

#[cfg(unix)]
fn listen() -> anyhow::Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

    let mut signals = vec![SIGINT, SIGTERM];
    // `nohup` means that closing a terminal is not to end the work.
    signals.extend((is_ignored(SIGHUP) == Some(false)).then_some(SIGHUP));
    let mut signals = signal_hook::iterator::Signals::new(signals)?;
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        for signal in signals.forever() {
            asked(if signal == SIGINT { "press Ctrl-C again" } else { "send another signal" });
        }
    })?;
    Ok(())
}

/// Whether we were started with this signal ignored; `None` if the system does not say.
#[cfg(unix)]
fn is_ignored(signal: i32) -> Option<bool> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"))?;
    Some(u64::from_str_radix(mask.trim(), 16).ok()? >> (signal - 1) & 1 == 1)
}

#[cfg(not(unix))]
fn listen() -> anyhow::Result<()> {
    Ok(ctrlc::set_handler(|| asked("press Ctrl-C again"))?)
}
