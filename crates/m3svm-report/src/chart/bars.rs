//! Bars from zero to both sides, in groups: for weights.

use crate::canvas::{Anchor, Canvas, SMALL, TEXT};
use crate::figure::Figure;
use crate::frame::{WIDTH, hidden_note, roomy_ticks};
use crate::palette::colour;
use crate::scale::{Axis, Scale};
use crate::text::{fitted, width};
use m3svm::text::{digits, plural};

/// Height of a line.
const LINE: f64 = 20.0;
/// Height of a bar.
const BAR: f64 = 12.0;
/// Names get at most this much room.
const MOST_NAME: f64 = 200.0;
/// The axis gets at least this much.
const LEAST_AXIS: f64 = 180.0;
/// Room for what is written behind bars.
const SAYS: f64 = 44.0;

/// Bars that belong together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BarGroup {
    /// What they are about.
    pub name: String,
    /// Names and values, from top to bottom.
    pub bars: Vec<(String, f64)>,
}

/// One line per bar, in groups with a heading each. All groups share the axis.
#[derive(Clone, Debug, Default)]
pub struct BarChart {
    /// The title.
    pub title: String,
    /// The axis of the values.
    pub axis: Axis,
    /// The bars.
    pub groups: Vec<BarGroup>,
}

impl BarChart {
    /// Draws it. Values with no place on the axis keep their line.
    pub fn figure(&self) -> Figure {
        let mut canvas = Canvas::default();
        let bars = || self.groups.iter().flat_map(|group| &group.bars);
        let left = 16.0 + bars().map(|(name, _)| width(name, TEXT)).fold(0.0, f64::max).min(MOST_NAME);
        let full = (left + LEAST_AXIS + 2.0 * SAYS + 8.0).max(WIDTH);
        let (from, to) = (left + SAYS, full - SAYS - 8.0);
        let shown = |value: &f64| self.axis.shows(*value);
        let values = bars().map(|(_, value)| *value).filter(shown).chain([0.0]);
        let scale = Scale::over(&self.axis, values).between(from, to);
        let lines = self.groups.iter().map(|group| group.bars.len() + 1).sum::<usize>().max(1);
        let bottom = 8.0 + LINE * lines as f64 + 6.0;
        for (x, label) in roomy_ticks(&scale, to - from) {
            canvas.line("grid", (x, 8.0), (x, bottom));
            canvas.text("quiet", SMALL, Anchor::Middle, (x, bottom + 16.0), &label);
        }
        let mut y = 8.0;
        for (n, group) in self.groups.iter().enumerate() {
            canvas.text("", TEXT, Anchor::Start, (8.0, y + 15.0), &fitted(&group.name, TEXT, full - 16.0));
            y += LINE;
            for (name, value) in &group.bars {
                canvas.text("quiet", TEXT, Anchor::End, (left - 8.0, y + 14.5), &fitted(name, TEXT, MOST_NAME));
                if self.axis.shows(*value) {
                    let (zero, end) = (scale.place(0.0), scale.place(*value));
                    let at = (zero.min(end), y + (LINE - BAR) / 2.0);
                    canvas.rect(&format!("{} fill", colour(n)), at, ((end - zero).abs(), BAR));
                    let (anchor, x) = if *value < 0.0 { (Anchor::End, end - 5.0) } else { (Anchor::Start, end + 5.0) };
                    canvas.text("", SMALL, anchor, (x, y + 14.0), &digits(*value, 3).replace('-', "−"));
                }
                y += LINE;
            }
        }
        canvas.line("axis", (scale.place(0.0), 8.0), (scale.place(0.0), bottom));
        canvas.line("axis", (from, bottom), (to, bottom));
        if bars().next().is_none() {
            canvas.text("quiet", TEXT, Anchor::Middle, ((from + to) / 2.0, 8.0 + LINE / 2.0 + 4.5), "no data");
        }
        let label = fitted(&self.axis.label, TEXT, full - 16.0);
        let half = width(&label, TEXT) / 2.0 + 8.0;
        let middle = ((from + to) / 2.0).clamp(half.min(full / 2.0), (full - half).max(full / 2.0));
        canvas.text("", TEXT, Anchor::Middle, (middle, bottom + 38.0), &label);
        let hidden = bars().filter(|(_, value)| !self.axis.shows(*value)).count();
        let height = hidden_note(&mut canvas, bottom + 48.0, hidden);
        let description = format!("{} in {}", plural(bars().count(), "bar"), plural(self.groups.len(), "group"));
        Figure::new(&self.title, description, full, height, canvas)
    }
}
