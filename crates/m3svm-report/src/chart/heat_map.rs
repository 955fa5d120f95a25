//! A matrix as colours, with numbers where they have room.

use std::ops::Range;

use crate::canvas::{Anchor, Canvas, SMALL, TEXT};
use crate::figure::Figure;
use crate::palette::map;
use crate::scale::{Axis, Scale};
use crate::text::{fitted, width};
use m3svm::text::digits;

/// Up to so many rows and columns the numbers are written into the cells.
const MOST_NUMBERS: usize = 15;
/// Up to so many rows and columns a cell tells its number under the pointer.
const MOST_TIPS: usize = 40;
/// Names get at most this much room.
const MOST_NAME: f64 = 130.0;
/// Width of the colour bar.
const BAR: f64 = 12.0;
/// Its least height.
const LEAST_BAR: f64 = 90.0;

/// Rows and columns that are outlined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// The rows.
    pub rows: Range<usize>,
    /// The columns.
    pub columns: Range<usize>,
}

/// A matrix with named rows and columns. Without names the cells are drawn alone.
#[derive(Clone, Debug, Default)]
pub struct HeatMap {
    /// The title.
    pub title: String,
    /// What rows are.
    pub row_title: String,
    /// What columns are.
    pub column_title: String,
    /// Names of the rows; as many as there are rows, or none.
    pub rows: Vec<String>,
    /// Names of the columns; as many as there are columns, or none.
    pub columns: Vec<String>,
    /// The matrix, row by row; what is not finite is left blank.
    pub values: Vec<Vec<f64>>,
    /// What cells say, row by row; else their values.
    pub says: Vec<Vec<String>>,
    /// What the values measure; a logarithmic axis gives equal factors equal steps of colour.
    pub scale: Axis,
    /// What is outlined.
    pub marked: Option<Block>,
}

/// Sizes in pixels.
struct Layout {
    left: f64,
    top: f64,
    cell: (f64, f64),
    size: (f64, f64),
    /// Size of row and column names.
    text: f64,
    /// Whether the names of columns have to be slanted.
    slanted: bool,
}

impl HeatMap {
    /// Draws it.
    pub fn figure(&self) -> Figure {
        let (rows, columns) = self.shape();
        if rows * columns == 0 {
            let mut canvas = Canvas::default();
            canvas.text("quiet", TEXT, Anchor::Middle, (120.0, 30.0), "no data");
            return Figure::new(&self.title, "An empty map".into(), 240.0, 60.0, canvas);
        }
        let layout = self.layout(rows, columns);
        let scale = Scale::over(&self.axis(), self.values.iter().flatten().copied()).between(0.0, 1.0);
        let mut canvas = Canvas::default();
        for i in 0..rows {
            for j in 0..columns {
                self.draw_cell(&mut canvas, &layout, &scale, (i, j));
            }
        }
        self.draw_outline(&mut canvas, &layout);
        let bottom = self.draw_names(&mut canvas, &layout);
        let right = self.draw_bar(&mut canvas, &layout, &scale);
        Figure::new(&self.title, self.description(), right, bottom.max(layout.top + self.least_bar() + 4.0), canvas)
    }

    fn shape(&self) -> (usize, usize) {
        (self.values.len(), self.values.iter().map(Vec::len).max().unwrap_or(0))
    }

    fn value(&self, (i, j): (usize, usize)) -> Option<f64> {
        self.values.get(i)?.get(j).copied().filter(|v| self.scale.shows(*v))
    }

    /// Colours cover exactly the values: no air.
    fn axis(&self) -> Axis {
        let all = self.values.iter().flatten().copied().filter(|v| self.scale.shows(*v));
        let (low, high) = all.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
        Axis { range: self.scale.range.or(Some((low, high))), ..self.scale.clone() }
    }

    fn says(&self, (i, j): (usize, usize)) -> String {
        let said = self.says.get(i).and_then(|row| row.get(j)).cloned();
        said.unwrap_or_else(|| self.value((i, j)).map(|v| digits(v, 3)).unwrap_or_default())
    }

    fn has_numbers(&self) -> bool {
        let (rows, columns) = self.shape();
        rows.max(columns) <= MOST_NUMBERS
    }

    fn layout(&self, rows: usize, columns: usize) -> Layout {
        let longest = |names: &[String], size| names.iter().map(|n| width(n, size)).fold(0.0, f64::max).min(MOST_NAME);
        let side = (400.0 / rows.max(columns).max(1) as f64).clamp(4.0, 48.0);
        let named = !(self.rows.is_empty() && self.columns.is_empty());
        // Names need a line of text each.
        let side = if named { side.max(13.5) } else { side };
        let mut cell = (side, if self.has_numbers() { side.min(34.0) } else { side });
        if self.has_numbers() {
            let cells = (0..rows).flat_map(|i| (0..columns).map(move |j| (i, j)));
            cell.0 = cells.map(|at| width(&self.says(at), SMALL) + 8.0).fold(cell.0, f64::max);
        }
        let text = if side < 16.0 { SMALL - 1.0 } else { TEXT - 1.0 };
        // Few columns may be wider for the sake of their names.
        let wish = longest(&self.columns, text) + 8.0;
        if wish * columns as f64 <= 400.0 {
            cell.0 = cell.0.max(wish);
        }
        let slanted = wish - 6.0 > cell.0;
        // The first slanted names reach out to the left.
        let reach = if slanted { longest(&self.columns, text) * 0.72 - cell.0 / 2.0 } else { 0.0 };
        let left = 26.0 + longest(&self.rows, text).max(reach) + 6.0;
        Layout { left, top: 6.0, cell, size: (cell.0 * columns as f64, cell.1 * rows as f64), text, slanted }
    }

    fn draw_cell(&self, canvas: &mut Canvas, layout: &Layout, scale: &Scale, (i, j): (usize, usize)) {
        let (width, height) = layout.cell;
        let at = (layout.left + width * j as f64, layout.top + height * i as f64);
        // Cells without a gap show seams where they meet.
        let gap = if width.min(height) > 8.0 { 1.0 } else { -0.3 };
        let size = (width - gap, height - gap);
        let says = self.says((i, j));
        let Some(value) = self.value((i, j)) else {
            canvas.rect("void", at, size);
            if self.has_numbers() && !says.is_empty() {
                canvas.text("quiet", SMALL, Anchor::Middle, (at.0 + width / 2.0, at.1 + height / 2.0 + 4.0), &says);
            }
            return;
        };
        let (fill, ink) = map(scale.place(value));
        let name = |names: &[String], n: usize| names.get(n).map(|s| format!("{s}, ")).unwrap_or_default();
        let tip = format!("{}{}{says}", name(&self.rows, i), name(&self.columns, j));
        let (rows, columns) = self.shape();
        canvas.cell(&fill, at, size, Some(tip.as_str()).filter(|_| rows.max(columns) <= MOST_TIPS));
        if self.has_numbers() {
            canvas.text(ink, SMALL, Anchor::Middle, (at.0 + width / 2.0, at.1 + height / 2.0 + 4.0), &says);
        }
    }

    fn draw_outline(&self, canvas: &mut Canvas, layout: &Layout) {
        let Some(block) = &self.marked else { return };
        let (rows, columns) = self.shape();
        let (rows, columns) =
            (block.rows.start..block.rows.end.min(rows), block.columns.start..block.columns.end.min(columns));
        if rows.is_empty() || columns.is_empty() {
            return;
        }
        let at = (
            layout.left + layout.cell.0 * columns.start as f64 - 0.5,
            layout.top + layout.cell.1 * rows.start as f64 - 0.5,
        );
        let size = (layout.cell.0 * columns.len() as f64, layout.cell.1 * rows.len() as f64);
        // Black on white is seen on any colour.
        canvas.rect("halo", at, size);
        canvas.rect("mark", at, size);
    }

    /// Names of rows and columns, and what they are; returns the height.
    fn draw_names(&self, canvas: &mut Canvas, layout: &Layout) -> f64 {
        let Layout { left, top, cell, size, text, slanted } = *layout;
        for (i, name) in self.rows.iter().enumerate() {
            let y = top + cell.1 * (i as f64 + 0.5) + text * 0.36;
            canvas.text("", text, Anchor::End, (left - 6.0, y), &fitted(name, text, MOST_NAME));
        }
        let mut bottom = top + size.1 + 6.0;
        for (j, name) in self.columns.iter().enumerate() {
            let (x, name) = (left + cell.0 * (j as f64 + 0.5), fitted(name, text, MOST_NAME));
            if slanted {
                canvas.turned("", text, Anchor::End, (x + 3.0, top + size.1 + 12.0), -45.0, &name);
            } else {
                canvas.text("", text, Anchor::Middle, (x, top + size.1 + 15.0), &name);
            }
        }
        if let Some(longest) = self.columns.iter().map(|n| width(n, text).min(MOST_NAME)).reduce(f64::max) {
            bottom += if slanted { longest * 0.72 + 12.0 } else { 14.0 };
        }
        canvas.turned(
            "quiet",
            TEXT,
            Anchor::Middle,
            (14.0, top + size.1 / 2.0),
            -90.0,
            &fitted(&self.row_title, TEXT, size.1.max(60.0)),
        );
        let (anchor, x) = if width(&self.column_title, TEXT) <= size.0 {
            (Anchor::Middle, left + size.0 / 2.0)
        } else {
            (Anchor::Start, left)
        };
        canvas.text(
            "quiet",
            TEXT,
            anchor,
            (x, bottom + 14.0),
            &fitted(&self.column_title, TEXT, size.0.max(MOST_NAME)),
        );
        if self.column_title.is_empty() { bottom + 4.0 } else { bottom + 24.0 }
    }

    /// The colours and what they mean; returns the width of the figure.
    fn draw_bar(&self, canvas: &mut Canvas, layout: &Layout, scale: &Scale) -> f64 {
        let (x, height) = (layout.left + layout.size.0 + 16.0, layout.size.1.clamp(self.least_bar(), 240.0));
        // The title of the columns may be wider than they are.
        let least = layout.left + width(&self.column_title, TEXT).min(layout.size.0.max(MOST_NAME)) + 8.0;
        if self.values.iter().flatten().all(|v| !self.scale.shows(*v)) {
            return x.max(least);
        }
        let (top, steps) = (layout.top, (height / 2.0) as usize);
        for step in 0..steps {
            let share = (step as f64 + 0.5) / steps as f64;
            let y = top + height * (1.0 - (step as f64 + 1.0) / steps as f64);
            canvas.cell(&map(share).0, (x, y), (BAR, height / steps as f64 + 0.3), None);
        }
        let scale = scale.clone().between(top + height, top);
        let ticks = scale.ticks(((height / 30.0) as usize).max(4));
        for (y, label) in &ticks {
            canvas.line("axis", (x + BAR, *y), (x + BAR + 4.0, *y));
            canvas.text("quiet", SMALL, Anchor::Start, (x + BAR + 7.0, y + 4.0), label);
        }
        let labels = ticks.iter().map(|(_, label)| width(label, SMALL)).fold(0.0, f64::max);
        let right = x + BAR + 7.0 + labels;
        canvas.turned(
            "quiet",
            TEXT,
            Anchor::Middle,
            (right + 14.0, top + height / 2.0),
            -90.0,
            &fitted(&self.scale.label, TEXT, height),
        );
        (right + 22.0).max(least)
    }

    /// The least height of the colour bar: that of its title, which stands along it.
    fn least_bar(&self) -> f64 {
        (width(&self.scale.label, TEXT) + 1.0).clamp(LEAST_BAR, 240.0)
    }

    fn description(&self) -> String {
        let (rows, columns) = self.shape();
        let shown = || self.values.iter().flatten().copied().filter(|v| self.scale.shows(*v));
        let (low, high) = (shown().fold(f64::INFINITY, f64::min), shown().fold(f64::NEG_INFINITY, f64::max));
        let range =
            if low <= high { format!(" from {} to {}", digits(low, 3), digits(high, 3)) } else { String::new() };
        format!("Map of {rows} times {columns} values{range}")
    }
}
