//! What a search has found.

use serde::{Deserialize, Serialize};

use super::early_discard::{deviation, mean};
use super::grid::Setting;
use super::path::Score;
use super::search::Search;
use crate::spec::Spec;

/// Means that differ by less are equal: they are sums of the same shares in another order.
pub(super) const EQUAL: f64 = 1e-12;

/// Which setting is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// The highest mean; among equals the largest λ, then the smallest p.
    #[default]
    BestMean,
    /// The largest λ whose mean is at most one standard error below the best one, with the p of the best. (Across different p
    /// there is no "stronger": λ changes its unit with p.)
    OneStandardError,
}

impl Rule {
    /// The position of the outcome that the rule chooses; `None` if there is none.
    pub fn choose(self, outcomes: &[Outcome]) -> Option<usize> {
        let best = best(outcomes)?;
        Some(match self {
            Self::BestMean => best,
            Self::OneStandardError => strongest_near(outcomes, best),
        })
    }
}

/// How one setting did.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outcome {
    /// λ and p.
    pub setting: Setting,
    /// Mean over all folds that were run of what the search goes by; more is better.
    pub mean: f64,
    /// Standard deviation over the folds.
    pub sd: f64,
    /// What the search goes by, by fold, repeat after repeat.
    pub scores: Vec<f64>,
    /// Mean accuracy.
    pub accuracy: f64,
    /// Mean log-loss, where the method has probabilities.
    pub log_loss: Option<f64>,
    /// The number of repeats after which the setting was dropped, if it was.
    pub discarded_after: Option<usize>,
}

impl Outcome {
    pub(super) fn new(setting: Setting, scores: &[Score], discarded_after: Option<usize>) -> Self {
        let values = scores.iter().map(Score::value).collect();
        let accuracy = mean(&scores.iter().map(|s| s.accuracy).collect::<Vec<f64>>());
        let losses: Option<Vec<f64>> = scores.iter().map(|s| s.log_loss).collect();
        let log_loss = losses.filter(|l| !l.is_empty()).map(|l| mean(&l));
        Self { accuracy, log_loss, discarded_after, ..Self::of_scores(setting, values) }
    }

    /// A setting with its scores by fold, whatever they measure.
    pub fn of_scores(setting: Setting, scores: Vec<f64>) -> Self {
        let (mean, sd) = (mean(&scores), deviation(&scores));
        Self { setting, mean, sd, scores, accuracy: mean, log_loss: None, discarded_after: None }
    }

    /// Standard error of the mean.
    pub fn standard_error(&self) -> f64 {
        self.sd / (self.scores.len().max(1) as f64).sqrt()
    }
}

/// The outcome of a search.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SearchResult {
    /// Every setting, p by p and from the largest λ to the smallest. Those without a finished fold are left out.
    pub outcomes: Vec<Outcome>,
    /// The position of the setting with the best mean.
    pub best_mean: usize,
    /// The position of the setting by the one-standard-error rule.
    pub one_standard_error: usize,
    /// Fits that were made.
    pub fits: usize,
    /// Fits among them that did not reach the tolerance.
    pub unconverged: usize,
    /// Iterations of all fits.
    pub iterations: usize,
    /// How many values of λ were tried beyond those of the grid, because the best one was at its end.
    pub steps: usize,
    /// Whether the watcher put an end to it before all was done.
    pub interrupted: bool,
}

impl SearchResult {
    /// Ranks the outcomes; `None` if there is none.
    pub(super) fn new(outcomes: Vec<Outcome>, scores: &[Score], interrupted: bool) -> Option<Self> {
        Some(Self {
            one_standard_error: Rule::OneStandardError.choose(&outcomes)?,
            best_mean: Rule::BestMean.choose(&outcomes)?,
            fits: scores.len(),
            unconverged: scores.iter().filter(|s| !s.converged).count(),
            iterations: scores.iter().map(|s| s.iterations).sum(),
            steps: 0,
            outcomes,
            interrupted,
        })
    }

    /// The outcome that a rule chooses.
    pub fn chosen(&self, rule: Rule) -> &Outcome {
        match rule {
            Rule::BestMean => &self.outcomes[self.best_mean],
            Rule::OneStandardError => &self.outcomes[self.one_standard_error],
        }
    }

    /// The settings to train the final model with.
    pub fn spec(&self, search: &Search) -> Spec {
        self.chosen(search.rule).setting.apply(&search.spec)
    }
}

/// Only settings with as many folds as any can be the best: fewer folds are another, perhaps easier, exam.
fn best(outcomes: &[Outcome]) -> Option<usize> {
    let folds = outcomes.iter().map(|o| o.scores.len()).max()?;
    let complete = || (0..outcomes.len()).filter(|&i| outcomes[i].scores.len() == folds);
    let top = complete().map(|i| outcomes[i].mean).reduce(f64::max)?;
    let order = |i: usize| (outcomes[i].setting.lambda.unwrap_or(0.0), -outcomes[i].setting.p.unwrap_or(0.0));
    complete()
        .filter(|&i| outcomes[i].mean >= top - EQUAL)
        .max_by(|&a, &b| order(a).0.total_cmp(&order(b).0).then(order(a).1.total_cmp(&order(b).1)))
}

fn strongest_near(outcomes: &[Outcome], best: usize) -> usize {
    let reference = &outcomes[best];
    let least = reference.mean - reference.standard_error() - EQUAL;
    let near = (0..outcomes.len()).filter(|&i| {
        let other = &outcomes[i];
        let comparable = other.scores.len() == reference.scores.len();
        let (a, b) = (other.setting, reference.setting);
        comparable && (a.p, a.gamma) == (b.p, b.gamma) && other.mean >= least
    });
    let lambda = |i: usize| outcomes[i].setting.lambda.unwrap_or(0.0);
    near.max_by(|&a, &b| lambda(a).total_cmp(&lambda(b))).unwrap_or(best)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    fn outcome(lambda: f64, p: f64, accuracies: &[f64]) -> Outcome {
        let score = |a: &f64| Score { accuracy: *a, log_loss: None, value: None, iterations: 1, converged: true };
        let scores: Vec<Score> = accuracies.iter().map(score).collect();
        Outcome::new(Setting { lambda: Some(lambda), p: Some(p), gamma: None }, &scores, None)
    }

    fn chosen(outcomes: Vec<Outcome>) -> [(f64, f64); 2] {
        let result = SearchResult::new(outcomes, &[], false).unwrap();
        [Rule::BestMean, Rule::OneStandardError].map(|rule| {
            let setting = result.chosen(rule).setting;
            (setting.lambda.unwrap(), setting.p.unwrap())
        })
    }

    #[test]
    fn both_rules_by_hand() {
        // Mean 0.8, deviation 0.1, standard error 0.1/√4 = 0.05: 0.76 is near, 0.74 is not, whatever p 2 does.
        let best = outcome(0.1, 4.0, &[0.7, 0.7 + 0.2 / 3.0, 0.9 - 0.2 / 3.0, 0.9]);
        assert!((best.mean - 0.8).abs() < 1e-12);
        let se = best.standard_error();
        let at = |gap: f64| [0.8 - gap * se; 4];
        let all = vec![outcome(10.0, 4.0, &at(1.1)), outcome(1.0, 4.0, &at(0.9)), best, outcome(9.0, 2.0, &at(0.5))];
        assert_eq!(chosen(all), [(0.1, 4.0), (1.0, 4.0)]);
    }

    #[test]
    fn equals_are_decided_by_the_larger_lambda_then_the_smaller_p() {
        let all = vec![
            outcome(0.1, 1.0, &[0.3, 0.1, 0.2]),
            outcome(0.2, 3.0, &[0.2, 0.3, 0.1]),
            outcome(0.2, 2.0, &[0.1, 0.2, 0.3]),
        ];
        assert_eq!(chosen(all)[0], (0.2, 2.0));
    }

    #[test]
    fn a_setting_with_fewer_folds_is_never_chosen() {
        let all = vec![outcome(9.0, 4.0, &[0.99]), outcome(0.1, 4.0, &[0.6, 0.7])];
        assert_eq!(chosen(all), [(0.1, 4.0); 2]);
        assert!(SearchResult::new(Vec::new(), &[], true).is_none());
    }
}
