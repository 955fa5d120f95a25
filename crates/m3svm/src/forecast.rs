//! How long a fit will still take, by how fast its gap has closed.

use std::time::Instant;

use crate::solver::Progress;

/// Guesses the seconds that are left. To be shown every step of one fit.
#[derive(Clone, Debug)]
pub struct Forecast {
    tol: f64,
    /// When a gap was known for the first time, and which.
    first: Option<(Instant, f64)>,
}

impl Forecast {
    /// For a fit that ends at such a relative gap.
    pub fn new(tol: f64) -> Self {
        Self { tol, first: None }
    }

    /// The seconds that are left if the gap goes on closing by the same factor per second; `None` as long as nothing has closed.
    pub fn seconds_left(&mut self, at: &Progress) -> Option<f64> {
        self.left_at(at.relative_gap?, Instant::now())
    }

    fn left_at(&mut self, gap: f64, now: Instant) -> Option<f64> {
        let (since, first) = *self.first.get_or_insert((now, gap));
        let closed = (first / gap).ln();
        let left = (gap / self.tol).ln().max(0.0);
        let seconds = now.duration_since(since).as_secs_f64() * left / closed;
        (closed > 0.0 && seconds.is_finite()).then_some(seconds)
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn half_of_the_digits_take_half_of_the_time() {
        let (mut forecast, start) = (Forecast::new(1e-8), Instant::now());
        assert_eq!(forecast.left_at(1.0, start), None);
        assert_eq!(forecast.left_at(1.0, start + Duration::from_secs(1)), None);
        let left = forecast.left_at(1e-4, start + Duration::from_secs(6)).unwrap();
        assert!((left - 6.0).abs() < 1e-9);
        assert_eq!(forecast.left_at(1e-9, start + Duration::from_secs(9)), Some(0.0));
        assert_eq!(Forecast::new(1e-8).left_at(f64::NAN, start), None);
    }
}
