//! Points of several classes in the plane, with the lines or regions that separate them.

use crate::canvas::Canvas;
use crate::figure::Figure;
use crate::frame::{Frame, Mark, WIDTH, hidden_note};
use crate::palette::colour;
use crate::scale::{Axis, Scale};
use m3svm::text::plural;

/// The points of one class.
#[derive(Clone, Debug, Default)]
pub struct Group {
    /// Its name in the legend.
    pub name: String,
    /// Its points.
    pub points: Vec<(f64, f64)>,
}

/// The straight line `a·x + b·y = c`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Separator {
    /// Factor of x.
    pub a: f64,
    /// Factor of y.
    pub b: f64,
    /// The right-hand side.
    pub c: f64,
}

/// The class of every cell of a grid that covers the chart, by rows from the lowest y.
#[derive(Clone, Debug, Default)]
pub struct Regions {
    /// Cells per row.
    pub columns: usize,
    /// Numbers of groups, row by row.
    pub classes: Vec<usize>,
}

/// A chart of classes in the plane.
#[derive(Clone, Debug, Default)]
pub struct ScatterChart {
    /// The title.
    pub title: String,
    /// The horizontal axis. Give both axes a range if there are regions: they cover it.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The classes.
    pub groups: Vec<Group>,
    /// Lines between classes.
    pub separators: Vec<Separator>,
    /// Areas of the classes.
    pub regions: Option<Regions>,
}

impl ScatterChart {
    /// Draws it.
    pub fn figure(&self) -> Figure {
        let all = || self.groups.iter().flat_map(|g| &g.points).filter(|p| self.x.shows(p.0) && self.y.shows(p.1));
        let x = Scale::over(&self.x, all().map(|p| p.0));
        let y = Scale::over(&self.y, all().map(|p| p.1));
        let mut canvas = Canvas::default();
        let frame = Frame::draw(&mut canvas, (&self.x, &self.y), x, y, true);
        frame.inside(&mut canvas, |canvas| {
            self.draw_regions(canvas, &frame);
            for line in &self.separators {
                self.draw_separator(canvas, &frame, line);
            }
            for (n, group) in self.groups.iter().enumerate() {
                let shown = group.points.iter().filter(|p| self.x.shows(p.0) && self.y.shows(p.1));
                shown.for_each(|p| canvas.marker(n, frame.place(*p), 3.2));
            }
        });
        if all().next().is_none() {
            frame.nothing(&mut canvas);
        }
        let names: Vec<(&str, Mark)> = self.groups.iter().map(|g| (g.name.as_str(), Mark::Point)).collect();
        let height = frame.legend(&mut canvas, &names);
        let hidden = self.groups.iter().map(|g| g.points.len()).sum::<usize>() - all().count();
        let height = hidden_note(&mut canvas, height, hidden);
        let points = plural(all().count(), "point");
        let classes = plural(self.groups.len(), "class");
        let description = format!("{points} of {classes}, {} against {}", self.y.label, self.x.label);
        Figure::new(&self.title, description, WIDTH, height, canvas)
    }

    fn draw_regions(&self, canvas: &mut Canvas, frame: &Frame) {
        let Some(regions) = self.regions.as_ref().filter(|r| r.columns > 0) else { return };
        let rows = regions.classes.chunks_exact(regions.columns);
        let (count, ((left, right), (bottom, top))) = (rows.len() as f64, frame.sides());
        let (width, height) = ((right - left) / regions.columns as f64, (bottom - top) / count);
        for (i, row) in rows.enumerate() {
            let y = bottom - height * (i as f64 + 1.0);
            let mut j = 0;
            // Neighbours of one class are one rectangle.
            for same in row.chunk_by(|a, b| a == b) {
                let class = format!("{} band", colour(same[0]));
                // A little overlap hides the seams.
                canvas.rect(&class, (left + width * j as f64, y), (width * same.len() as f64, height));
                j += same.len();
            }
        }
    }

    /// The part of a line that is inside the frame. Straight lines stay straight on linear axes only.
    fn draw_separator(&self, canvas: &mut Canvas, frame: &Frame, line: &Separator) {
        if self.x.log || self.y.log {
            return;
        }
        let ((x0, x1), (y0, y1)) = (frame.x.ends(), frame.y.ends());
        if let Some((from, to)) = line.within((x0, x1), (y0, y1)) {
            canvas.path("c6 thin", &[frame.place(from), frame.place(to)], false);
        }
    }
}

impl Separator {
    /// Both ends of the line inside a rectangle; `None` if it passes by or is no line.
    fn within(&self, (x0, x1): (f64, f64), (y0, y1): (f64, f64)) -> Option<((f64, f64), (f64, f64))> {
        let Self { a, b, c } = *self;
        let inside = |v: f64, low: f64, high: f64| v >= low && v <= high;
        let mut ends: Vec<(f64, f64)> = Vec::new();
        for x in [x0, x1] {
            let y = (c - a * x) / b;
            ends.extend(Some((x, y)).filter(|_| inside(y, y0, y1)));
        }
        for y in [y0, y1] {
            let x = (c - b * y) / a;
            ends.extend(Some((x, y)).filter(|_| inside(x, x0, x1)));
        }
        // A line through a corner meets two sides there; the first and the farthest point are its ends.
        let first = *ends.first()?;
        let distance = |p: &(f64, f64)| ((p.0 - first.0) / (x1 - x0)).abs() + ((p.1 - first.1) / (y1 - y0)).abs();
        let last = ends.into_iter().max_by(|p, q| distance(p).total_cmp(&distance(q)))?;
        (distance(&last) > 1e-9).then_some((first, last))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separators_end_at_the_frame() {
        let within = |a, b, c| Separator { a, b, c }.within((0.0, 2.0), (0.0, 1.0));
        assert_eq!(within(1.0, 0.0, 1.0), Some(((1.0, 0.0), (1.0, 1.0))));
        assert_eq!(within(0.0, 1.0, 0.5), Some(((0.0, 0.5), (2.0, 0.5))));
        assert_eq!(within(1.0, -2.0, 0.0), Some(((0.0, 0.0), (2.0, 1.0))));
        assert_eq!(within(1.0, 1.0, 9.0), None);
        assert_eq!(within(1.0, 1.0, 0.0), None);
        assert_eq!(within(0.0, 0.0, 1.0), None);
        assert_eq!(within(f64::NAN, 1.0, 1.0), None);
    }
}
