//! A finished figure: SVG text that can stand alone, be part of a page, or become a PNG.

use std::path::Path;

use crate::canvas::{Anchor, Canvas, TEXT};
use crate::error::{Error, Result};
use crate::palette::STYLE;
use crate::text::{escaped, fitted};

/// Fonts in the order of preference; the first is the one of our PNG files.
const FONTS: &str = "DejaVu Sans, Verdana, Helvetica, Arial, sans-serif";
/// Room for the title above a figure that stands alone. In a page, the caption has it.
const TITLE: f64 = 30.0;

/// A figure, made by one of the charts.
#[derive(Clone, Debug)]
pub struct Figure {
    title: String,
    description: String,
    width: f64,
    height: f64,
    body: String,
}

impl Figure {
    /// Joins what a chart has drawn with what it says to readers who cannot see it.
    pub(crate) fn new(title: &str, description: String, width: f64, height: f64, canvas: Canvas) -> Self {
        Self { title: title.into(), description, width, height, body: canvas.body }
    }

    /// The title.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// What is to be seen, in words.
    pub fn description(&self) -> &str {
        &self.description
    }

    /// The figure as an SVG file, with its title and on white.
    pub fn to_svg(&self) -> String {
        let (width, height) = (self.width, self.height + TITLE);
        let mut canvas = Canvas::default();
        canvas.rect("paper", (0.0, 0.0), (width, height));
        let title = fitted(&self.title, TEXT + 2.0, width - 16.0);
        canvas.text("heading", TEXT + 1.0, Anchor::Middle, (width / 2.0, 20.0), &title);
        format!(
            "{}\n<title>{}</title>\n<desc>{}</desc>\n<style>\n{STYLE}</style>\n{}<g transform=\"translate(0 {TITLE})\">\n{}</g>\n</svg>\n",
            self.open(height, &format!(r#" width="{width}" height="{height}""#)),
            escaped(&self.title),
            escaped(&self.description),
            canvas.body,
            self.body
        )
    }

    /// The figure as an element of an HTML page that has the rules of [`STYLE`]: no title, no background, as wide as there is room.
    pub(crate) fn to_inline(&self) -> String {
        // Text below two thirds of its size cannot be read; the page lets wider figures scroll.
        let least = (0.7 * self.width).max(self.width.min(340.0)).round();
        let most = (1.25 * self.width).round();
        let label = escaped(&format!("{}. {}", self.title, self.description));
        let attributes = format!(r#" role="img" aria-label="{label}" style="min-width:{least}px;max-width:{most}px""#);
        format!("{}\n{}</svg>\n", self.open(self.height, &attributes), self.body)
    }

    /// The figure as a PNG file of `scale` pixels per unit of the SVG.
    #[cfg(feature = "png")]
    pub fn to_png(&self, scale: f64) -> Result<Vec<u8>> {
        crate::png::render(&self.to_svg(), scale)
    }

    /// Writes an SVG or PNG file (with two pixels per unit), depending on the extension, in one step.
    pub fn save(&self, path: &Path) -> Result<()> {
        let extension = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
        let bytes = match extension.as_str() {
            "svg" => self.to_svg().into_bytes(),
            #[cfg(feature = "png")]
            "png" => self.to_png(2.0)?,
            _ => return Err(Error::Extension { path: path.into() }),
        };
        Ok(m3svm::write_file(path, |out| out.write_all(&bytes))?)
    }

    fn open(&self, height: f64, attributes: &str) -> String {
        format!(
            r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {} {height}" font-family="{FONTS}" font-size="{TEXT}"{attributes}>"#,
            self.width
        )
    }
}
