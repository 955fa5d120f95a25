//! From numbers to positions on an axis.

use crate::ticks;

/// An axis as a caller describes it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Axis {
    /// What it measures, with the unit.
    pub label: String,
    /// Equal factors take equal room; values that are not positive are left out.
    pub log: bool,
    /// Fixed ends; else those of the data with some air.
    pub range: Option<(f64, f64)>,
    /// Ticks at whole numbers only, for what is counted.
    pub whole: bool,
}

impl Axis {
    /// A linear axis.
    pub fn new(label: impl Into<String>) -> Self {
        Self { label: label.into(), ..Self::default() }
    }

    /// The same axis, logarithmic.
    pub fn log(self) -> Self {
        Self { log: true, ..self }
    }

    /// The same axis with ticks at whole numbers only.
    pub fn whole(self) -> Self {
        Self { whole: true, ..self }
    }

    /// The same axis with fixed ends.
    pub fn range(self, low: f64, high: f64) -> Self {
        Self { range: Some((low, high)), ..self }
    }

    /// Whether a value has a place on this axis.
    pub(crate) fn shows(&self, value: f64) -> bool {
        // Differences of larger numbers overflow, and so do axes with some air around them.
        if self.log { value > 1e-200 && value < 1e200 } else { value.abs() < 1e300 }
    }
}

/// An axis with its data range, laid out between two pixel positions.
#[derive(Clone, Debug)]
pub(crate) struct Scale {
    log: bool,
    whole: bool,
    /// Ends of the data range, as logarithms if logarithmic.
    low: f64,
    high: f64,
    /// Pixels at the ends.
    start: f64,
    end: f64,
}

/// Share of the range that is left free at either end.
const AIR: f64 = 0.04;

impl Scale {
    /// Covers the values that the axis can show.
    pub(crate) fn over(axis: &Axis, values: impl Iterator<Item = f64>) -> Self {
        let inner = |v: f64| if axis.log { v.log10() } else { v };
        let fixed = axis.range.filter(|(a, b)| axis.shows(*a) && axis.shows(*b) && a < b);
        let (low, high) = match fixed {
            Some((low, high)) => (inner(low), inner(high)),
            None => {
                let shown = values.filter(|v| axis.shows(*v)).map(inner);
                let (low, high) = shown.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
                with_air(low, high, axis.log)
            }
        };
        Self { log: axis.log, whole: axis.whole, low, high, start: 0.0, end: 1.0 }
    }

    /// The same scale between two pixel positions.
    pub(crate) fn between(self, start: f64, end: f64) -> Self {
        Self { start, end, ..self }
    }

    /// Where a value is.
    pub(crate) fn place(&self, value: f64) -> f64 {
        let inner = if self.log { value.log10() } else { value };
        self.start + (inner - self.low) / (self.high - self.low) * (self.end - self.start)
    }

    /// About `count` ticks: where and what they say.
    pub(crate) fn ticks(&self, count: usize) -> Vec<(f64, String)> {
        let (values, labels) = if self.log {
            let values = ticks::logarithmic(10f64.powf(self.low), 10f64.powf(self.high), count);
            let labels = ticks::logarithmic_labels(&values);
            (values, labels)
        } else {
            let mut values = ticks::linear(self.low, self.high, count);
            // Steps below 1 are those of 1 divided, so that all whole numbers are among them.
            if self.whole {
                values.retain(|v| (v - v.round()).abs() < 1e-6);
                values.iter_mut().for_each(|v| *v = v.round());
            }
            let labels = match values[..] {
                // A tick alone has no step that says how many places it needs.
                [one] if self.whole => vec![format!("{one:.0}")],
                _ => ticks::linear_labels(&values),
            };
            (values, labels)
        };
        values.into_iter().map(|v| self.place(v)).zip(labels).collect()
    }

    /// Ends of the range as values.
    pub(crate) fn ends(&self) -> (f64, f64) {
        let outer = |v: f64| if self.log { 10f64.powf(v) } else { v };
        (outer(self.low), outer(self.high))
    }
}

/// A range (of logarithms, if `log`) with some air at both ends; never empty.
fn with_air(low: f64, high: f64, log: bool) -> (f64, f64) {
    if low > high {
        return (0.0, 1.0);
    }
    let (span, size) = (high - low, low.abs().max(high.abs()));
    // One value, or several that differ by rounding only.
    let one = if log { span < 1e-9 } else { span <= 1e-12 * size || size < 1e-300 };
    if one {
        let air = if log || size < 1e-300 { 1.0 } else { 0.1 * size };
        return (low - air, high + air);
    }
    (low - AIR * span, high + AIR * span)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scale(axis: Axis, values: &[f64]) -> Scale {
        Scale::over(&axis, values.iter().copied()).between(0.0, 100.0)
    }

    #[test]
    fn equal_factors_take_equal_room_on_a_logarithmic_axis() {
        let s = scale(Axis::new("x").log().range(1.0, 1e4), &[]);
        assert_eq!([1.0, 10.0, 100.0, 1e4].map(|v| s.place(v)), [0.0, 25.0, 50.0, 100.0]);
        let s = scale(Axis::new("x").range(0.0, 4.0), &[]);
        assert_eq!([0.0, 1.0, 4.0].map(|v| s.place(v)), [0.0, 25.0, 100.0]);
    }

    #[test]
    fn what_is_counted_has_no_ticks_between_whole_numbers() {
        let labels = |most: usize| {
            let values: Vec<f64> = (1..=most).map(|n| n as f64).collect();
            let ticks = scale(Axis::new("epoch").whole(), &values).ticks(6);
            ticks.into_iter().map(|(_, label)| label).collect::<Vec<_>>()
        };
        assert_eq!(labels(1), ["1"]);
        assert_eq!(labels(2), ["1", "2"]);
        assert_eq!(labels(3), ["1", "2", "3"]);
        assert_eq!(labels(30), ["0", "10", "20", "30"]);
        assert!((1..=40).all(|most| labels(most).iter().all(|label| label.parse::<usize>().is_ok())));
    }

    #[test]
    fn no_data_makes_a_bad_scale() {
        let axes =
            [Axis::new("x"), Axis::new("x").log(), Axis::new("x").range(f64::NAN, 1.0), Axis::new("x").range(2.0, 1.0)];
        let sets: [&[f64]; 6] = [
            &[],
            &[3.0, 3.0],
            &[f64::NAN, f64::INFINITY],
            &[0.0, -1.0],
            &[1e308, -1e308, 5e-324],
            &[1.0, 1.0 + f64::EPSILON],
        ];
        for axis in &axes {
            for values in sets {
                let s = scale(axis.clone(), values);
                let (low, high) = s.ends();
                assert!(low < high && low.is_finite() && high.is_finite(), "{axis:?} {values:?}: {s:?}");
                let ticks = s.ticks(5);
                assert!(ticks.len() <= 12 && !ticks.is_empty(), "{axis:?} {values:?}: {ticks:?}");
                assert!(ticks.iter().all(|(at, _)| (-0.1..=100.1).contains(at)), "{ticks:?}");
            }
        }
    }
}
