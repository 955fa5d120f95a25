//! Whether M³SVM is the best method on a data set.

use m3svm::Method;

use crate::fair::{Fair, Judged, LEVEL};
use crate::ranks::Contest;
use crate::sets::COLUMNS;

/// M³SVM against the best of the paper's rivals.
pub(crate) struct Verdict {
    own: f64,
    rival: f64,
    /// The rival's name in the paper.
    name: &'static str,
    /// Of this comparison alone, and corrected for the number of all.
    p_values: Option<(f64, f64)>,
}

impl Verdict {
    /// `None` if M³SVM or all rivals are missing. Of the contests, those on other sets are ignored.
    pub(crate) fn of(set: &str, fair: &Fair, contests: &[Contest]) -> Option<Self> {
        let own = fair.of(Method::M3svm.name())?;
        let title = |it: &Judged| COLUMNS.iter().find(|(_, method)| method.name() == it.name).map(|(title, _)| *title);
        let rivals = fair.judged.iter().filter(|it| it.name != own.name && title(it).is_some());
        let rival = Fair::best(rivals)?;
        let contest = contests.iter().find(|it| it.set == set && it.rival.name() == rival.name);
        let p_values = contest.map(|it| (it.p_value, it.corrected));
        Some(Self { own: own.mean, rival: rival.mean, name: title(rival)?, p_values })
    }

    fn is_clear(&self) -> bool {
        self.p_values.is_some_and(|(_, corrected)| corrected < LEVEL)
    }

    /// Clearly better than all rivals.
    pub(crate) fn holds(&self) -> bool {
        self.own > self.rival && self.is_clear()
    }

    /// The best mean (perhaps shared), but it may be luck.
    pub(crate) fn leads(&self) -> bool {
        self.own >= self.rival && !self.is_clear()
    }

    /// A lower mean, which may be luck.
    pub(crate) fn follows(&self) -> bool {
        self.own < self.rival && !self.is_clear()
    }

    /// Clearly worse than a rival.
    pub(crate) fn fails(&self) -> bool {
        self.own < self.rival && self.is_clear()
    }

    pub(crate) fn sentence(&self) -> String {
        let Self { own, rival, name, .. } = self;
        let shown = |p: f64| if p < 0.001 { "< 0.001".into() } else { format!("= {p:.3}") };
        let p = self.p_values.map_or(String::new(), |(alone, corrected)| {
            format!(" (p {}, corrected {})", shown(alone), shown(corrected))
        });
        if self.holds() {
            format!("holds. {own:.3} is clearly better than the best rival, {name} with {rival:.3}{p}.")
        } else if own == rival {
            format!("not shown. {own:.3} is also reached by {name}{p}.")
        } else if self.leads() {
            format!("not shown. {own:.3} is the best mean, but not clearly better than {name} with {rival:.3}{p}.")
        } else if self.follows() {
            format!("not shown. {name} has a better mean, {rival:.3} against {own:.3}, but not clearly{p}.")
        } else {
            format!("does not hold. {name} with {rival:.3} is clearly better than {own:.3}{p}.")
        }
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    /// Ten accuracies around a mean; `wobble` moves them against those of the other method.
    fn judged(name: &str, mean: f64, wobble: f64) -> Judged {
        let accuracies: Vec<f64> = (0..10).map(|i| mean + if i % 2 == 0 { wobble } else { -wobble }).collect();
        Judged { name: name.into(), mean, sd: wobble, accuracies, usual: [None, None], relative_gap: None }
    }

    fn verdict(own: Judged, rival: Judged) -> Verdict {
        // ISM3 is no rival of the paper: its perfect score must not count.
        let judged = vec![own, rival, judged("lr", 0.1, 0.0), judged("ism3", 1.0, 0.0)];
        let fair = Fair { folds: 5, repeats: 2, judged };
        let p_value = fair.p_value(&fair.judged[0], &fair.judged[1]).unwrap();
        let contest = |set, p_value| Contest { set, rival: Method::Ovo, better: false, p_value, corrected: p_value };
        Verdict::of("Glass", &fair, &[contest("Iris", 1.0), contest("Glass", p_value)]).unwrap()
    }

    #[test]
    fn every_case_is_exactly_one_of_four() {
        let cases = [
            (verdict(judged("m3svm", 0.9, 0.001), judged("ovo", 0.8, 0.0)), [true, false, false, false], "holds."),
            (verdict(judged("m3svm", 0.81, 0.1), judged("ovo", 0.8, 0.0)), [false, true, false, false], "not shown."),
            (verdict(judged("m3svm", 0.8, 0.0), judged("ovo", 0.8, 0.0)), [false, true, false, false], "not shown."),
            (verdict(judged("m3svm", 0.79, 0.1), judged("ovo", 0.8, 0.0)), [false, false, true, false], "not shown."),
            (
                verdict(judged("m3svm", 0.7, 0.001), judged("ovo", 0.8, 0.0)),
                [false, false, false, true],
                "does not hold.",
            ),
        ];
        for (verdict, expected, start) in cases {
            assert_eq!([verdict.holds(), verdict.leads(), verdict.follows(), verdict.fails()], expected);
            assert!(verdict.sentence().starts_with(start), "{}", verdict.sentence());
            assert!(verdict.sentence().contains("OvO"), "{}", verdict.sentence());
        }
    }
}
