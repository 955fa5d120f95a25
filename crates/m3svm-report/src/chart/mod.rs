//! Charts over plain numbers. What has no place on the axes is counted and said, never drawn wrongly, and never a panic.

mod bars;
mod heat_map;
mod line;
mod points;
mod scatter;

pub use bars::{BarChart, BarGroup};
pub use heat_map::{Block, HeatMap};
pub use line::{LineChart, Series, Spread};
pub use points::{Measured, PointChart};
pub use scatter::{Group, Regions, ScatterChart, Separator};
