//! Curves, with bands or bars for their spread.

use crate::canvas::Canvas;
use crate::figure::Figure;
use crate::frame::{Frame, Mark, WIDTH, hidden_note};
use crate::palette::colour;
use crate::scale::{Axis, Scale};
use m3svm::text::plural;

/// Up to so many points of a series are marked one by one.
const MOST_MARKERS: usize = 40;

/// How the spread around a curve is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Spread {
    /// An area along the curve.
    #[default]
    Band,
    /// A bar at every point.
    Bars,
}

/// One curve.
#[derive(Clone, Debug, Default)]
pub struct Series {
    /// Its name in the legend.
    pub name: String,
    /// Its points, by x.
    pub points: Vec<(f64, f64)>,
    /// Half the height of band or bar at every point, e.g. a standard deviation; empty without.
    pub spread: Vec<f64>,
}

/// A chart of curves over a common x.
#[derive(Clone, Debug, Default)]
pub struct LineChart {
    /// The title.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The curves.
    pub series: Vec<Series>,
    /// How spreads are drawn.
    pub spread: Spread,
}

impl LineChart {
    /// Draws it. Points with no place on the axes (not finite, or not positive on a logarithmic axis) interrupt their curve.
    pub fn figure(&self) -> Figure {
        let shown = |p: &&(f64, f64)| self.shows(**p);
        let all = || self.series.iter().flat_map(|s| s.points.iter()).filter(shown);
        let reach = self.series.iter().flat_map(|s| {
            s.points.iter().enumerate().filter(|(_, p)| self.shows(**p)).flat_map(|(i, p)| self.ends(s, i, *p))
        });
        let x = Scale::over(&self.x, all().map(|p| p.0));
        let y = Scale::over(&self.y, all().map(|p| p.1).chain(reach));
        let mut canvas = Canvas::default();
        let frame = Frame::draw(&mut canvas, (&self.x, &self.y), x, y, false);
        frame.inside(&mut canvas, |canvas| {
            for (n, series) in self.series.iter().enumerate() {
                for run in self.runs(series) {
                    self.draw(canvas, &frame, n, series, &run);
                }
            }
        });
        if all().next().is_none() {
            frame.nothing(&mut canvas);
        }
        let names: Vec<(&str, Mark)> = self.series.iter().map(|s| (s.name.as_str(), mark(s))).collect();
        let height = frame.legend(&mut canvas, &names);
        let hidden = self.series.iter().map(|s| s.points.len()).sum::<usize>() - all().count();
        let height = hidden_note(&mut canvas, height, hidden);
        Figure::new(&self.title, self.description(), WIDTH, height, canvas)
    }

    fn shows(&self, (x, y): (f64, f64)) -> bool {
        self.x.shows(x) && self.y.shows(y)
    }

    /// Upper and lower end of the spread at a point, as far as the axis shows them.
    fn ends(&self, series: &Series, i: usize, (_, y): (f64, f64)) -> Vec<f64> {
        let spread = series.spread.get(i).copied().filter(|s| *s > 0.0).unwrap_or(0.0);
        [y - spread, y + spread].into_iter().filter(|v| self.y.shows(*v)).collect()
    }

    /// Numbers of the points of a curve, one list for each of its uninterrupted parts.
    fn runs(&self, series: &Series) -> Vec<Vec<usize>> {
        let mut runs = vec![Vec::new()];
        for (i, point) in series.points.iter().enumerate() {
            match (self.shows(*point), runs.last_mut()) {
                (true, Some(run)) => run.push(i),
                _ => runs.push(Vec::new()),
            }
        }
        runs.retain(|run| !run.is_empty());
        runs
    }

    fn draw(&self, canvas: &mut Canvas, frame: &Frame, n: usize, series: &Series, run: &[usize]) {
        let points: Vec<(f64, f64)> = run.iter().map(|&i| frame.place(series.points[i])).collect();
        if !series.spread.is_empty() {
            let floor = frame.bottom();
            let bars = run.iter().map(|&i| {
                let (x, y) = series.points[i];
                let spread = series.spread.get(i).copied().filter(|s| *s > 0.0 && s.is_finite()).unwrap_or(0.0);
                // On a logarithmic axis a bar can reach below everything that has a place.
                let place = |v: f64| if self.y.shows(v) { frame.y.place(v) } else { floor };
                (frame.x.place(x), place(y - spread), place(y + spread))
            });
            self.draw_spread(canvas, n, &bars.collect::<Vec<_>>());
        }
        canvas.series(n, &points);
        // A single point is no line.
        if mark(series) == Mark::LineAndPoint || points.len() == 1 {
            points.iter().for_each(|p| canvas.marker(n, *p, 3.5));
        }
    }

    /// `bars`: x, lower and upper end.
    fn draw_spread(&self, canvas: &mut Canvas, n: usize, bars: &[(f64, f64, f64)]) {
        if self.spread == Spread::Bars {
            let class = format!("{} thin", colour(n));
            bars.iter().for_each(|&(x, low, high)| canvas.error_bar(&class, (x, low), (x, high)));
            return;
        }
        let there = bars.iter().map(|&(x, low, _)| (x, low));
        let back = bars.iter().rev().map(|&(x, _, high)| (x, high));
        canvas.path(&format!("{} band", colour(n)), &there.chain(back).collect::<Vec<_>>(), true);
    }

    fn description(&self) -> String {
        let curves = plural(self.series.len(), "curve");
        let names: Vec<&str> = self.series.iter().map(|s| s.name.as_str()).filter(|n| !n.is_empty()).collect();
        let names = if names.is_empty() { String::new() } else { format!(": {}", names.join(", ")) };
        format!("{curves} of {} against {}{names}", self.y.label, self.x.label)
    }
}

fn mark(series: &Series) -> Mark {
    if series.points.len() <= MOST_MARKERS { Mark::LineAndPoint } else { Mark::Line }
}
