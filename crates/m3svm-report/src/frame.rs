//! The rectangle that data is drawn in, with its axes, labels and legend.

use crate::canvas::{Anchor, Canvas, SMALL, TEXT};
use crate::palette::{colour, dash};
use crate::scale::{Axis, Scale};
use crate::text::{fitted, width};

/// Width of figures with axes. Narrow, so that text stays readable on a phone.
pub(crate) const WIDTH: f64 = 480.0;
/// Height of the rectangle.
const HEIGHT: f64 = 250.0;
/// Length of ticks.
const TICK: f64 = 5.0;

/// How an entry of the legend is marked.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Mark {
    Line,
    LineAndPoint,
    Point,
}

/// The rectangle with its two scales.
pub(crate) struct Frame {
    pub(crate) x: Scale,
    pub(crate) y: Scale,
    left: f64,
    top: f64,
    width: f64,
    height: f64,
}

impl Frame {
    /// Draws grid and axes for data in these ranges. `square` makes the rectangle as high as wide.
    pub(crate) fn draw(canvas: &mut Canvas, axes: (&Axis, &Axis), x: Scale, y: Scale, square: bool) -> Self {
        let top = 10.0;
        // The labels of y need not know the position, only the range.
        let widest = y.ticks(6).iter().map(|(_, label)| width(label, SMALL)).fold(0.0, f64::max);
        let left = 22.0 + widest + TICK + 4.0;
        let (width, height) = (WIDTH - left - 14.0, if square { WIDTH - left - 14.0 } else { HEIGHT });
        let frame =
            Self { x: x.between(left, left + width), y: y.between(top + height, top), left, top, width, height };
        frame.y_axis(canvas, axes.1);
        frame.x_axis(canvas, axes.0);
        canvas.rect("axis", (left, top), (width, height));
        frame
    }

    fn y_axis(&self, canvas: &mut Canvas, axis: &Axis) {
        for (y, label) in self.y.ticks(6) {
            canvas.line("grid", (self.left, y), (self.right(), y));
            canvas.line("axis", (self.left - TICK, y), (self.left, y));
            canvas.text("quiet", SMALL, Anchor::End, (self.left - TICK - 4.0, y + 4.0), &label);
        }
        let label = fitted(&axis.label, TEXT, self.height);
        canvas.turned("", TEXT, Anchor::Middle, (14.0, self.top + self.height / 2.0), -90.0, &label);
    }

    fn x_axis(&self, canvas: &mut Canvas, axis: &Axis) {
        for (x, label) in roomy_ticks(&self.x, self.width) {
            canvas.line("grid", (x, self.top), (x, self.bottom()));
            canvas.line("axis", (x, self.bottom()), (x, self.bottom() + TICK));
            canvas.text("quiet", SMALL, Anchor::Middle, (x, self.bottom() + TICK + 13.0), &label);
        }
        let label = fitted(&axis.label, TEXT, self.width);
        canvas.text("", TEXT, Anchor::Middle, (self.left + self.width / 2.0, self.bottom() + 38.0), &label);
    }

    /// Draws inside the rectangle and nowhere else.
    pub(crate) fn inside(&self, canvas: &mut Canvas, draw: impl FnOnce(&mut Canvas)) {
        canvas.clipped((self.left, self.top), (self.width, self.height), draw);
    }

    /// Where a point is.
    pub(crate) fn place(&self, (x, y): (f64, f64)) -> (f64, f64) {
        (self.x.place(x), self.y.place(y))
    }

    /// Left and right, bottom and top.
    pub(crate) fn sides(&self) -> ((f64, f64), (f64, f64)) {
        ((self.left, self.right()), (self.bottom(), self.top))
    }

    /// Says in the middle that there is nothing to see.
    pub(crate) fn nothing(&self, canvas: &mut Canvas) {
        let middle = (self.left + self.width / 2.0, self.top + self.height / 2.0);
        canvas.text("quiet", TEXT, Anchor::Middle, middle, "no data");
    }

    /// The legend below the axis labels, in as many lines as it takes; returns the height of the figure.
    pub(crate) fn legend(&self, canvas: &mut Canvas, names: &[(&str, Mark)]) -> f64 {
        const SWATCH: f64 = 26.0;
        let (mut x, mut y) = (self.left, self.bottom() + 62.0);
        // One series needs no legend: the axis says what it is.
        if names.len() < 2 {
            return self.bottom() + 48.0;
        }
        for (n, (name, mark)) in names.iter().enumerate() {
            let name = fitted(name, TEXT, WIDTH - self.left - SWATCH - 10.0);
            let room = SWATCH + width(&name, TEXT) + 14.0;
            if x > self.left && x + room > WIDTH {
                (x, y) = (self.left, y + 20.0);
            }
            if *mark != Mark::Point {
                let class = format!("{} stroke{}", colour(n), dash(n));
                canvas.line(&class, (x, y - 4.0), (x + 20.0, y - 4.0));
            }
            if *mark != Mark::Line {
                canvas.marker(n, (x + 10.0, y - 4.0), 4.0);
            }
            canvas.text("", TEXT, Anchor::Start, (x + SWATCH, y), &name);
            x += room;
        }
        y + 12.0
    }

    fn right(&self) -> f64 {
        self.left + self.width
    }

    pub(crate) fn bottom(&self) -> f64 {
        self.top + self.height
    }
}

/// As many ticks as have room for their labels.
pub(crate) fn roomy_ticks(scale: &Scale, room: f64) -> Vec<(f64, String)> {
    let mut ticks = Vec::new();
    for count in (2..=8).rev() {
        ticks = scale.ticks(count);
        let widest = ticks.iter().map(|(_, label)| width(label, SMALL)).fold(0.0, f64::max);
        if ticks.len() as f64 * (widest + 12.0) <= room {
            return ticks;
        }
    }
    ticks
}

/// Says below the figure how many values it could not show; returns the new height.
pub(crate) fn hidden_note(canvas: &mut Canvas, height: f64, hidden: usize) -> f64 {
    if hidden == 0 {
        return height;
    }
    let what = if hidden == 1 { "1 value has".into() } else { format!("{hidden} values have") };
    canvas.text("quiet", SMALL, Anchor::Start, (8.0, height + 10.0), &format!("{what} no place on these axes"));
    height + 18.0
}
