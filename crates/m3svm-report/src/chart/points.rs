//! Measurements side by side, each with its error bar: for comparing methods.

use crate::canvas::{Anchor, Canvas, SMALL, TEXT};
use crate::figure::Figure;
use crate::frame::{WIDTH, hidden_note, roomy_ticks};
use crate::palette::colour;
use crate::scale::{Axis, Scale};
use crate::text::{fitted, width};
use m3svm::text::plural;

/// Height of a line.
const LINE: f64 = 28.0;
/// Names get at most this much room.
const MOST_NAME: f64 = 240.0;
/// The axis gets at least this much.
const LEAST_AXIS: f64 = 180.0;

/// A named value.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measured {
    /// Whose value it is.
    pub name: String,
    /// The value, usually a mean.
    pub value: f64,
    /// Its standard deviation, if there is one.
    pub deviation: Option<f64>,
    /// How the value is written at the end of its line.
    pub says: String,
}

/// One line per value, in the given order. Points and not bars: bars would have to begin at zero.
#[derive(Clone, Debug, Default)]
pub struct PointChart {
    /// The title.
    pub title: String,
    /// The axis of the values.
    pub axis: Axis,
    /// The values.
    pub points: Vec<Measured>,
}

impl PointChart {
    /// Draws it. Values with no place on the axis keep their line and what it says.
    pub fn figure(&self) -> Figure {
        let mut canvas = Canvas::default();
        let widest = |text: fn(&Measured) -> &str| self.points.iter().map(|p| width(text(p), TEXT)).fold(0.0, f64::max);
        let left = 16.0 + widest(|p| &p.name).min(MOST_NAME);
        let beside = 16.0 + widest(|p| &p.says).min(MOST_NAME);
        let full = (left + LEAST_AXIS + beside).max(WIDTH);
        let right = full - beside;
        let bottom = 8.0 + LINE * self.points.len().max(1) as f64;
        let shown = |p: &&Measured| self.axis.shows(p.value);
        let ends = self.points.iter().filter(shown).flat_map(|p| self.ends(p));
        let scale = Scale::over(&self.axis, ends).between(left, right);
        for (x, label) in roomy_ticks(&scale, right - left) {
            canvas.line("grid", (x, 8.0), (x, bottom));
            canvas.text("quiet", SMALL, Anchor::Middle, (x, bottom + 16.0), &label);
        }
        canvas.line("axis", (left, bottom), (right, bottom));
        for (i, point) in self.points.iter().enumerate() {
            let y = 8.0 + LINE * (i as f64 + 0.5);
            canvas.text("", TEXT, Anchor::End, (left - 8.0, y + 4.5), &fitted(&point.name, TEXT, MOST_NAME));
            canvas.text("", TEXT, Anchor::Start, (right + 8.0, y + 4.5), &fitted(&point.says, TEXT, MOST_NAME));
            if self.axis.shows(point.value) {
                if let &[low, high] = self.ends(point).as_slice() {
                    canvas.error_bar(&format!("{} thin", colour(0)), (scale.place(low), y), (scale.place(high), y));
                }
                canvas.marker(0, (scale.place(point.value), y), 4.5);
            }
        }
        if self.points.is_empty() {
            canvas.text("quiet", TEXT, Anchor::Middle, ((left + right) / 2.0, 8.0 + LINE / 2.0 + 4.5), "no data");
        }
        let label = fitted(&self.axis.label, TEXT, full - 16.0);
        // In the middle of the axis, unless that is too near to an edge.
        let half = width(&label, TEXT) / 2.0 + 8.0;
        let middle = ((left + right) / 2.0).clamp(half.min(full / 2.0), (full - half).max(full / 2.0));
        canvas.text("", TEXT, Anchor::Middle, (middle, bottom + 38.0), &label);
        let hidden = self.points.len() - self.points.iter().filter(shown).count();
        let height = hidden_note(&mut canvas, bottom + 48.0, hidden);
        let description = format!("{} of {}", plural(self.points.len(), "value"), self.axis.label);
        Figure::new(&self.title, description, full, height, canvas)
    }

    /// The value alone, or both ends of its error bar where the axis shows both.
    fn ends(&self, point: &Measured) -> Vec<f64> {
        let deviation = point.deviation.filter(|d| *d > 0.0);
        let ends = deviation.map(|d| vec![point.value - d, point.value + d]);
        ends.filter(|ends| ends.iter().all(|v| self.axis.shows(*v))).unwrap_or_else(|| vec![point.value])
    }
}
