//! SVG elements, one function each. Looks come from classes, so that a page can restyle figures for the dark.

use std::fmt::Write;

use crate::palette::{colour, dash};
use crate::text::escaped;

/// Size of ordinary text.
pub(crate) const TEXT: f64 = 13.0;
/// Size of text that has to be small.
pub(crate) const SMALL: f64 = 11.0;

/// Where the text is relative to its position.
#[derive(Clone, Copy)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// A growing list of SVG elements.
#[derive(Default)]
pub(crate) struct Canvas {
    pub(crate) body: String,
}

impl Canvas {
    pub(crate) fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        let ((x1, y1), (x2, y2)) = (from, to);
        self.add(format_args!(
            r#"<line class="{class}" x1="{}" y1="{}" x2="{}" y2="{}"/>"#,
            short(x1),
            short(y1),
            short(x2),
            short(y2)
        ));
    }

    /// A line through points; closed paths are areas.
    pub(crate) fn path(&mut self, class: &str, points: &[(f64, f64)], closed: bool) {
        if points.len() < 2 {
            return;
        }
        let mut d = String::new();
        for (i, (x, y)) in points.iter().enumerate() {
            // Writing to a string cannot fail.
            let _ = write!(d, "{}{} {}", if i == 0 { 'M' } else { 'L' }, short(*x), short(*y));
        }
        let end = if closed { "Z" } else { "" };
        self.add(format_args!(r#"<path class="{class}" d="{d}{end}"/>"#));
    }

    pub(crate) fn rect(&mut self, class: &str, at: (f64, f64), size: (f64, f64)) {
        self.add(format_args!(r#"<rect class="{class}"{}/>"#, place(at, size)));
    }

    /// A rectangle in a colour of its own; what it says is shown under the pointer.
    pub(crate) fn cell(&mut self, fill: &str, at: (f64, f64), size: (f64, f64), says: Option<&str>) {
        let place = place(at, size);
        match says {
            None => self.add(format_args!(r#"<rect fill="{fill}"{place}/>"#)),
            Some(says) => {
                self.add(format_args!(r#"<rect fill="{fill}"{place}><title>{}</title></rect>"#, escaped(says)))
            }
        }
    }

    pub(crate) fn text(&mut self, class: &str, size: f64, anchor: Anchor, at: (f64, f64), text: &str) {
        self.turned(class, size, anchor, at, 0.0, text);
    }

    /// Text, turned around its position by an angle in degrees.
    pub(crate) fn turned(&mut self, class: &str, size: f64, anchor: Anchor, at: (f64, f64), angle: f64, text: &str) {
        let (x, y) = (short(at.0), short(at.1));
        let class = if class.is_empty() { String::new() } else { format!(r#" class="{class}""#) };
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => r#" text-anchor="middle""#,
            Anchor::End => r#" text-anchor="end""#,
        };
        // The usual size is set for the whole figure.
        let size = if size == TEXT { String::new() } else { format!(r#" font-size="{}""#, short(size)) };
        let turn = if angle == 0.0 { String::new() } else { format!(r#" transform="rotate({angle} {x} {y})""#) };
        let text = escaped(text);
        self.add(format_args!(r#"<text{class}{size}{anchor} x="{x}" y="{y}"{turn}>{text}</text>"#));
    }

    /// The marker of the n-th series: shapes differ, not only colours.
    pub(crate) fn marker(&mut self, n: usize, (x, y): (f64, f64), radius: f64) {
        let class = format!("{} fill", colour(n));
        let corners = |corners: &[(f64, f64)]| -> Vec<(f64, f64)> {
            corners.iter().map(|(u, v)| (x + u * radius, y + v * radius)).collect()
        };
        match n % 5 {
            0 => {
                let (x, y, r) = (short(x), short(y), short(radius));
                self.add(format_args!(r#"<circle class="{class}" cx="{x}" cy="{y}" r="{r}"/>"#));
            }
            1 => self.path(&class, &corners(&[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)]), true),
            2 => self.path(&class, &corners(&[(0.0, -1.2), (1.1, 0.9), (-1.1, 0.9)]), true),
            3 => self.path(&class, &corners(&[(0.0, -1.3), (1.3, 0.0), (0.0, 1.3), (-1.3, 0.0)]), true),
            _ => self.path(&class, &corners(&[(0.0, 1.2), (1.1, -0.9), (-1.1, -0.9)]), true),
        }
    }

    /// The line of the n-th series.
    pub(crate) fn series(&mut self, n: usize, points: &[(f64, f64)]) {
        self.path(&format!("{} stroke{}", colour(n), dash(n)), points, false);
    }

    /// An error bar with caps, along x or along y.
    pub(crate) fn error_bar(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        const CAP: f64 = 4.0;
        let (dx, dy) = if from.0 == to.0 { (CAP, 0.0) } else { (0.0, CAP) };
        self.line(class, from, to);
        for (x, y) in [from, to] {
            self.line(class, (x - dx, y - dy), (x + dx, y + dy));
        }
    }

    /// Everything that `draw` adds, cut off at a rectangle. (A clip path would need a name that is unique on the page.)
    pub(crate) fn clipped(&mut self, at: (f64, f64), size: (f64, f64), draw: impl FnOnce(&mut Self)) {
        let ((x, y), (w, h)) = ((short(at.0), short(at.1)), (short(size.0), short(size.1)));
        self.add(format_args!(
            r#"<svg x="{x}" y="{y}" width="{w}" height="{h}" viewBox="{x} {y} {w} {h}" overflow="hidden">"#
        ));
        draw(self);
        self.add(format_args!("</svg>"));
    }

    fn add(&mut self, element: std::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = self.body.write_fmt(element);
        self.body.push('\n');
    }
}

fn place((x, y): (f64, f64), (width, height): (f64, f64)) -> String {
    let (x, y, width, height) = (short(x), short(y), short(width.max(0.0)), short(height.max(0.0)));
    format!(r#" x="{x}" y="{y}" width="{width}" height="{height}""#)
}

/// A coordinate to a hundredth of a pixel. What is no number at all must not reach the file: it would hide the whole element.
fn short(value: f64) -> f64 {
    if value.is_finite() { (value * 100.0).round() / 100.0 + 0.0 } else { 0.0 }
}
