//! Messages and progress bars, on standard error.

use std::fmt::Write;

use indicatif::{MultiProgress, ProgressBar, ProgressState, ProgressStyle};

/// Bars of trainings that run side by side.
#[derive(Debug, Default)]
pub(crate) struct Bars(MultiProgress);

impl Bars {
    /// A bar over a number of images.
    pub(crate) fn images(&self, count: usize, done: usize, name: &str) -> ProgressBar {
        let style =
            ProgressStyle::with_template("{prefix}  {bar:24} {percent:>3} %  {speed} images/s, {eta} left  {msg}")
                .map(|style| style.with_key("speed", whole_speed));
        let bar = ProgressBar::new(count as u64).with_position(done as u64).with_prefix(name.to_string());
        let bar = self.0.add(bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar())));
        bar.reset_eta();
        bar
    }

    /// A line above the bars.
    pub(crate) fn tell(&self, line: &str) {
        self.0.suspend(|| tell(line));
    }
}

fn whole_speed(state: &ProgressState, out: &mut dyn Write) {
    // Nobody hears of a bar that cannot be drawn.
    let _ = write!(out, "{:.0}", state.per_sec());
}

/// A line on standard error.
#[expect(clippy::print_stderr, reason = "the one place for messages")]
pub(crate) fn tell(line: &str) {
    eprintln!("{line}");
}

/// A line on standard output.
#[expect(clippy::print_stdout, reason = "the one place for results")]
pub(crate) fn say(line: &str) {
    println!("{line}");
}
