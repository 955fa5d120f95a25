//! One look for all figures: colours that colour-blind readers can tell apart, and never colour alone.
//!
//! Lines and points use the palette of Okabe and Ito without its yellow, which is lost on white, and with the colour of text for its
//! black, which is lost on a dark page. Markers and dashes differ as well. Maps use viridis, whose lightness grows evenly.

/// The rules behind the classes in our SVG, for a light background.
pub(crate) const STYLE: &str = include_str!("figure.css");

/// Colours in [`STYLE`].
const COLOURS: usize = 7;
/// Ways to dash a line in [`STYLE`], the solid one included.
const DASHES: usize = 4;

/// The class with the colour of the n-th series.
pub(crate) fn colour(n: usize) -> String {
    format!("c{}", n % COLOURS)
}

/// The class with the dashes of the n-th series: solid until the colours repeat.
pub(crate) fn dash(n: usize) -> &'static str {
    ["", " d1", " d2", " d3"][n / COLOURS % DASHES]
}

/// A colour of the map for a share in [0, 1], and the class of text that is readable on it.
pub(crate) fn map(share: f64) -> (String, &'static str) {
    let colour = colorous::VIRIDIS.eval_continuous(share.clamp(0.0, 1.0));
    let on = if luminance(colour) > 0.18 { "on-light" } else { "on-dark" };
    (format!("#{colour:x}"), on)
}

/// Relative luminance. Black and white text contrast equally well with 0.18.
fn luminance(colour: colorous::Color) -> f64 {
    let linear = |channel: u8| {
        let v = f64::from(channel) / 255.0;
        if v <= 0.04045 { v / 12.92 } else { ((v + 0.055) / 1.055).powf(2.4) }
    };
    0.2126 * linear(colour.r) + 0.7152 * linear(colour.g) + 0.0722 * linear(colour.b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_on_the_map_has_a_contrast_of_at_least_four_and_a_half() {
        for i in 0..=100 {
            let share = f64::from(i) / 100.0;
            let light = luminance(colorous::VIRIDIS.eval_continuous(share));
            let contrast = match map(share).1 {
                "on-dark" => 1.05 / (light + 0.05),
                _ => (light + 0.05) / 0.05,
            };
            assert!(contrast >= 4.5, "{share}: {contrast}");
        }
    }

    #[test]
    fn series_differ_beyond_the_colours() {
        let looks: Vec<(String, &str)> = (0..28).map(|n| (colour(n), dash(n))).collect();
        assert!((0..28).all(|n| looks[..n].iter().all(|look| *look != looks[n])));
        let named = |class: &str| STYLE.contains(&format!("svg .{} ", class.trim()));
        assert!(looks.iter().all(|(colour, dash)| named(colour) && (dash.is_empty() || named(dash))));
        assert_eq!(map(f64::NAN).0.len(), 7);
    }
}
