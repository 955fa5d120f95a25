//! Figures and reports of m3svm: SVG, PNG, and one HTML page that needs nothing but itself.
//!
//! ```
//! use m3svm_report::{Axis, LineChart, Report, Series};
//!
//! let chart = LineChart {
//!     title: "Margin and power".into(),
//!     x: Axis::new("p"),
//!     y: Axis::new("smallest margin").log(),
//!     series: vec![Series { name: "iris".into(), points: vec![(1.0, 0.1), (4.0, 0.35), (8.0, 0.71)], spread: vec![] }],
//!     ..LineChart::default()
//! };
//! let figure = chart.figure();
//! assert!(figure.to_svg().starts_with("<svg"));
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("report.html");
//! Report::new("A study of iris").section("Margins").figure(&figure).write(&path)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Charts take plain numbers: [`LineChart`], [`HeatMap`], [`BarChart`], [`PointChart`], [`ScatterChart`]. [`score_map`] and [`comparison`] are
//! charts of searches, [`model_sections`] and its neighbours the parts of a report that a trained model fills, [`search_sections`] and
//! [`comparison_sections`] those of a search and of a comparison.
//!
//! # Why the charts are drawn here
//!
//! We wanted SVG that is part of a page: its colours follow the page into the dark, it shrinks to a phone and describes itself to
//! screen readers. No crate that was tried does all of this without scripts.
//!
//! * `charming` and `plotly` need JavaScript, in the page or to make the SVG.
//! * `plotters` 0.3 writes a fixed colour into every element.
//! * `kuva` 0.6 is light and has every kind of chart, but its SVG has no view box. Its logarithmic axes end at 1e-10 and draw smaller
//!   values there, where our gaps are 1e-14. It panics on empty data, and takes dollar signs in names for formulas.
//!
//! Five charts with one look are a few hundred lines. The rest comes from crates: `colorous` has the colours of maps, `resvg` makes PNG from
//! our SVG, `dejavu` brings the font for it (feature `png`, on by default; the program does without).

mod canvas;
mod chart;
mod coarse;
mod compared;
mod error;
mod figure;
mod frame;
mod model;
mod page;
mod palette;
#[cfg(feature = "png")]
mod png;
mod scale;
mod search;
mod text;
mod ticks;
mod tuning;

pub use chart::*;
pub use compared::comparison_sections;
pub use error::{Error, Result};
pub use figure::Figure;
pub use model::{Step, convergence_section, model_sections, overview_section, quality_sections};
pub use page::{Report, Table};
pub use scale::Axis;
pub use search::search_sections;
pub use tuning::{Compared, comparison, score_map};
