//! What the slopes of rows have been over the last passes.

use super::ASCENT;
use super::contenders::Contenders;
use crate::linalg::axpy;

/// The mean of the slopes over the last passes: between a third and a half of all.
pub(super) struct Mean {
    /// Sums over the passes before and after the last beginning.
    before: Vec<f64>,
    after: Vec<f64>,
    counts: [usize; 2],
    /// The pass after which the next sum begins.
    end: f64,
}

impl Mean {
    pub(super) fn new(slopes: usize) -> Self {
        Self { before: vec![0.0; slopes], after: vec![0.0; slopes], counts: [0, 0], end: 4.0 }
    }

    /// Slopes of rows that have contenders are 0 for all other classes.
    pub(super) fn add(&mut self, slopes: &[f64], contenders: Option<&Contenders>, pass: usize) {
        if pass as f64 > self.end {
            std::mem::swap(&mut self.before, &mut self.after);
            self.after.fill(0.0);
            self.counts = [self.counts[1], 0];
            self.end *= ASCENT.longer;
        }
        match contenders {
            Some(contenders) => contenders.add(slopes, &mut self.after),
            None => axpy(1.0, slopes, &mut self.after),
        }
        self.counts[1] += 1;
    }

    pub(super) fn slopes(&self) -> Vec<f64> {
        let share = 1.0 / (self.counts[0] + self.counts[1]).max(1) as f64;
        self.before.iter().zip(&self.after).map(|(before, after)| share * (before + after)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_is_that_of_the_last_third_to_half_of_the_passes() {
        let mut mean = Mean::new(1);
        for pass in 1..=1000 {
            mean.add(&[pass as f64], None, pass);
            if pass >= 20 {
                // The mean of the numbers from first to pass is halfway between them.
                let first = 2.0 * mean.slopes()[0] - pass as f64;
                assert!((0.45..0.73).contains(&(first / pass as f64)), "{first} {pass}");
                assert!((first - first.round()).abs() < 1e-6, "{first} {pass}");
            }
        }
    }
}
