//! Numbers as people write them.

/// A setting: 0.001, but 1e-6.
pub fn plain(value: f64) -> String {
    if value == 0.0 || (1e-3..1e6).contains(&value.abs()) { value.to_string() } else { format!("{value:e}") }
}
