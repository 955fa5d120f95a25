//! How a search goes on where the best λ is the first or the last that was tried.

use super::grid::{Grid, Setting};
use super::result::{EQUAL, Outcome, Rule};

/// The first and the last λ that a search comes to by itself.
const LEAST: f64 = 1e-15;
const MOST: f64 = 1e15;

/// How often it goes on: by ten decades, where values are half a decade apart.
pub(super) const MOST_STEPS: usize = 20;

impl Grid {
    /// What to try next, given all that has been tried: where the best setting has the first or the last λ, and is better than its
    /// neighbour, the value beyond with everything else; nothing, where the best is inside, or nobody can say in which direction it is.
    pub fn further(&self, outcomes: &[Outcome]) -> Vec<Setting> {
        let Some(best) = Rule::BestMean.choose(outcomes).filter(|_| self.extends).map(|best| &outcomes[best]) else {
            return Vec::new();
        };
        let mut lambdas: Vec<f64> = outcomes.iter().filter_map(|o| o.setting.lambda).collect();
        lambdas.sort_by(f64::total_cmp);
        lambdas.dedup();
        let (end, neighbour) = match lambdas[..] {
            [first, second, _, ..] if best.setting.lambda == Some(first) => (first, second),
            [_, .., second, last] if best.setting.lambda == Some(last) => (last, second),
            _ => return Vec::new(),
        };
        let beside = Setting { lambda: Some(neighbour), ..best.setting };
        let Some(next) = beyond(end, neighbour) else { return Vec::new() };
        if !outcomes.iter().any(|o| o.setting == beside && o.mean < best.mean - EQUAL) {
            return Vec::new();
        }
        let mut settings: Vec<Setting> = Vec::new();
        for setting in outcomes.iter().map(|o| Setting { lambda: Some(next), ..o.setting }) {
            if !settings.contains(&setting) {
                settings.push(setting);
            }
        }
        settings
    }
}

/// The value as far beyond the end as its neighbour is on the other side.
fn beyond(end: f64, neighbour: f64) -> Option<f64> {
    let next = end * (end / neighbour);
    // Twelve digits, as in all ranges: 1000 and not 999.9999999999999.
    let next = format!("{next:.11e}").parse().unwrap_or(next);
    (neighbour > 0.0 && (LEAST..=MOST).contains(&next)).then_some(next)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::method::Method;

    fn outcomes(values: &[(f64, f64, f64)]) -> Vec<Outcome> {
        let of = |(lambda, p, mean): &(f64, f64, f64)| {
            Outcome::of_scores(Setting { lambda: Some(*lambda), p: Some(*p), gamma: None }, vec![*mean; 3])
        };
        values.iter().map(of).collect()
    }

    fn next(values: &[(f64, f64, f64)]) -> Vec<(f64, f64)> {
        let further = Grid::for_spec(&Method::M3svm.spec()).further(&outcomes(values));
        further.iter().map(|s| (s.lambda.unwrap(), s.p.unwrap())).collect()
    }

    #[test]
    fn a_search_goes_on_where_the_best_value_is_at_an_end() {
        let rising =
            [(0.1, 2.0, 0.5), (1.0, 2.0, 0.6), (10.0, 2.0, 0.7), (0.1, 4.0, 0.6), (1.0, 4.0, 0.6), (10.0, 4.0, 0.6)];
        assert_eq!(next(&rising), [(100.0, 2.0), (100.0, 4.0)]);
        let falling = rising.map(|(lambda, p, mean)| (1.0 / lambda, p, mean));
        assert_eq!(next(&falling), [(0.01, 2.0), (0.01, 4.0)]);
        // Inside, or as good as its neighbour: the larger λ of equals is the best, and the next one would be as good again.
        assert!(next(&[(0.1, 2.0, 0.5), (1.0, 2.0, 0.7), (10.0, 2.0, 0.6)]).is_empty());
        assert!(next(&[(0.1, 2.0, 0.5), (1.0, 2.0, 0.7), (10.0, 2.0, 0.7)]).is_empty());
        // Nothing is beyond 0, and two values have no inside.
        assert!(next(&[(0.0, 2.0, 0.7), (1.0, 2.0, 0.6), (10.0, 2.0, 0.5)]).is_empty());
        assert!(next(&[(0.1, 2.0, 0.5), (1.0, 2.0, 0.7)]).is_empty());
        let given = Grid { extends: false, ..Grid::for_spec(&Method::M3svm.spec()) };
        assert!(given.further(&outcomes(&rising)).is_empty());
    }

    #[test]
    fn steps_have_an_end() {
        let (mut values, mut steps) = (vec![(1e13, 2.0, 0.1), (1e14, 2.0, 0.2), (1e15, 2.0, 0.3)], 0);
        assert!(next(&values).is_empty());
        values.iter_mut().for_each(|(lambda, ..)| *lambda *= 1e-2);
        while let [(lambda, p)] = next(&values)[..] {
            steps += 1;
            values.push((lambda, p, 0.3 + 0.1 * f64::from(steps)));
        }
        assert_eq!(steps, 2);
    }
}
