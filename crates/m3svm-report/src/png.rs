//! SVG to PNG, with a font of our own: the picture does not depend on what is installed.

use std::sync::{Arc, LazyLock};

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::fontdb::Database;
use resvg::usvg::{Options, Tree};

use crate::error::{Error, Result};

/// A picture larger than this in either direction is a mistake.
const MOST_PIXELS: f64 = 20_000.0;

/// DejaVu Sans, whose licence lets anyone embed it. Loading it takes longer than drawing.
static FONTS: LazyLock<Arc<Database>> = LazyLock::new(|| {
    let mut fonts = Database::new();
    fonts.load_font_data(dejavu::sans::regular().to_vec());
    fonts.load_font_data(dejavu::sans::bold().to_vec());
    Arc::new(fonts)
});

/// For class names in scripts that DejaVu lacks: whatever this machine has.
static ALL_FONTS: LazyLock<Arc<Database>> = LazyLock::new(|| {
    let mut fonts = Database::clone(&FONTS);
    fonts.load_system_fonts();
    Arc::new(fonts)
});

pub(crate) fn render(svg: &str, scale: f64) -> Result<Vec<u8>> {
    let failed = |what: String| Error::Png { what };
    // Syriac to Vedic, and Chinese with what follows.
    let foreign = svg.chars().any(|c| matches!(c, '\u{700}'..='\u{1cff}' | '\u{2e80}'..));
    let fontdb = if foreign { Arc::clone(&ALL_FONTS) } else { Arc::clone(&FONTS) };
    let options = Options { fontdb, font_family: "DejaVu Sans".into(), ..Options::default() };
    let tree = Tree::from_str(svg, &options).map_err(|e| failed(e.to_string()))?;
    let size = |side: f32| (f64::from(side) * scale).ceil();
    let (width, height) = (size(tree.size().width()), size(tree.size().height()));
    if !(width.min(height) >= 1.0 && width.max(height) <= MOST_PIXELS) {
        return Err(failed(format!("a scale of {scale} gives {width} times {height} pixels")));
    }
    let mut pixels =
        Pixmap::new(width as u32, height as u32).ok_or_else(|| failed("there is not enough memory".into()))?;
    resvg::render(&tree, Transform::from_scale(scale as f32, scale as f32), &mut pixels.as_mut());
    pixels.encode_png().map_err(|e| failed(e.to_string()))
}
