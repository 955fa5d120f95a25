//! What came out of a search, in words and as JSON.

use std::path::Path;

use m3svm::metrics::Criterion;
use m3svm::select::{Outcome, Rule, Setting};
use m3svm::text::short;
use serde_json::{Value, json};

use super::Tuned;
use crate::args::TuneArgs;
use crate::report::{self, digits, plural};
use crate::{quality, table};

impl Tuned<'_> {
    pub(super) fn text(&self, output: Option<&Path>) -> String {
        let Self { search, found, nested, model, seconds, unseen, .. } = self;
        let (best, by) = (found.chosen(Rule::BestMean), search.criterion);
        let mut lines = match model {
            Some(model) => report::settings(model),
            None => vec![("method", report::method(&search.spec))],
        };
        lines.push(("folds", self.folds()));
        lines.extend(self.extended().map(|text| ("range", text)));
        lines.push(("best", format!("{}: {}", named(&best.setting), spread(by, best.mean, best.sd))));
        if search.rule == Rule::OneStandardError {
            let chosen = found.chosen(search.rule);
            let text = format!("{}: {}, one-se", named(&chosen.setting), spread(by, chosen.mean, chosen.sd));
            lines.push(("chosen", text));
        }
        if let Some(unseen) = unseen {
            lines.push(("held-out accuracy", format!("{}, same folds", quality::accuracy(unseen))));
            lines.push(("largest class", quality::guessing(unseen)));
        }
        if let Some(nested) = nested {
            let folds = plural(nested.outer.len(), "outer fold");
            lines.push(("nested", format!("{} over {folds}", spread(by, nested.mean, nested.sd))));
        }
        lines.push(("work", self.work(*seconds)));
        if let Some(model) = model {
            lines.push(("certificate", report::certificate(model.certificate())));
        }
        lines.push(match (output, model) {
            (Some(path), Some(_)) => ("model", report::file(path)),
            (None, Some(_)) => ("model", "not written (no -o)".into()),
            (_, None) => ("model", "none".into()),
        });
        format!("{}{}", table::list(&lines), self.map())
    }

    /// How far the search went beyond the usual values.
    fn extended(&self) -> Option<String> {
        let Self { search, found, .. } = self;
        let usual = search.grid.lambdas.as_ref().filter(|_| found.steps > 0)?.as_slice();
        let beyond = |end: &f64, outcome: &Outcome| outcome.setting.lambda.is_some_and(|lambda| lambda > *end);
        let last = found.outcomes.iter().filter_map(|o| o.setting.lambda);
        let (low, high) = (last.clone().fold(f64::INFINITY, f64::min), last.fold(0.0, f64::max));
        let above = found.outcomes.iter().any(|o| usual.last().is_some_and(|end| beyond(end, o)));
        let end = if above { "largest" } else { "smallest" };
        let by = plural(found.steps, "value");
        Some(format!("lambda from {} to {}: the best was the {end}, so {by} were added", short(low), short(high)))
    }

    /// What the model of an interrupted search is worth.
    pub(super) fn rests_on(&self, args: &TuneArgs) -> String {
        let best = self.found.chosen(self.search.rule);
        let all = plural(self.search.folds * self.search.repeats, "fold");
        let next = match &args.search.resume {
            Some(path) => format!("; the same command goes on from {}", report::file(path)),
            None => String::new(),
        };
        let kept = if args.output.is_some() { "written" } else { "shown" };
        format!(
            "interrupted; the model of the best setting so far is {kept} ({}), which rests on {} of {all}{next}",
            named(&best.setting),
            best.scores.len()
        )
    }

    pub(super) fn folds(&self) -> String {
        let folds = self.search.folds;
        match self.search.repeats {
            1 => folds.to_string(),
            repeats => format!("{folds}, repeated {repeats} times"),
        }
    }

    pub(super) fn work(&self, seconds: f64) -> String {
        let dropped = self.discarded();
        let dropped = if dropped > 0 { format!(", {} discarded", plural(dropped, "setting")) } else { String::new() };
        let fits = match &self.nested {
            Some(nested) => {
                let all = plural(self.found.fits + nested.fits, "fit");
                format!("{all} ({} of the search, {} nested)", self.found.fits, nested.fits)
            }
            None => plural(self.found.fits, "fit"),
        };
        format!("{fits}{dropped}, {} s", digits(seconds, 2))
    }

    fn discarded(&self) -> usize {
        self.found.outcomes.iter().filter(|o| o.discarded_after.is_some()).count()
    }

    /// Mean accuracies: a map of λ and p, or a list of λ where there is no p.
    fn map(&self) -> String {
        let outcomes = &self.found.outcomes;
        let distinct = |of: fn(&Setting) -> Option<f64>| {
            let mut values: Vec<f64> = outcomes.iter().filter_map(|o| of(&o.setting)).collect();
            values.sort_by(f64::total_cmp);
            values.dedup();
            values
        };
        let (lambdas, ps) = (distinct(|s| s.lambda), distinct(|s| s.p));
        let gamma = self.found.chosen(self.search.rule).setting.gamma;
        if outcomes.len() < 2 {
            return String::new();
        }
        let by = self.search.criterion;
        let mut text = format!("\nMean {} by lambda", by.titled().replace('%', "per cent"));
        text += if ps.is_empty() { "" } else { " (lines) and p (columns)" };
        if let Some(gamma) = gamma {
            text += &format!(" at gamma {}", short(gamma));
        }
        text += "; * best";
        text += if self.discarded() > 0 { ", - discarded\n" } else { "\n" };
        let rows: Vec<String> = lambdas.iter().map(|v| short(*v)).collect();
        let columns = if ps.is_empty() { vec!["mean".into()] } else { ps.iter().map(|p| short(*p)).collect() };
        let cell = |row: usize, column: usize| {
            let setting = Setting { lambda: lambdas.get(row).copied(), p: ps.get(column).copied(), gamma };
            let at = outcomes.iter().position(|o| o.setting == setting);
            at.map(|at| self.cell(at)).unwrap_or_default()
        };
        text + &table::rectangle("lambda", &rows, &columns, cell)
    }

    fn cell(&self, at: usize) -> String {
        let outcome = &self.found.outcomes[at];
        let mark = match outcome.discarded_after {
            Some(_) => "-",
            None if at == self.found.best_mean => "*",
            None => " ",
        };
        let by = self.search.criterion;
        format!("{:.*}{mark}", if by.is_share() { 2 } else { 4 }, by.readable(outcome.mean))
    }

    pub(super) fn as_json(&self, rows: usize, features: usize, classes: usize) -> Value {
        let Self { search, found, nested, model, seconds, .. } = self;
        let chosen = |rule| {
            let Outcome { setting, mean, sd, .. } = found.chosen(rule);
            json!({"lambda": setting.lambda, "p": setting.p, "gamma": setting.gamma, "mean": mean, "sd": sd})
        };
        let settings = found.outcomes.iter().map(|o| {
            json!({
                "lambda": o.setting.lambda, "p": o.setting.p, "gamma": o.setting.gamma, "mean": o.mean, "sd": o.sd,
                "scores": o.scores, "accuracy": o.accuracy, "log_loss": o.log_loss, "discarded_after": o.discarded_after,
            })
        });
        let nested = nested.as_ref().map(|nested| {
            let outer = nested.outer.iter().map(|o| {
                let (setting, score) = (o.setting, o.score);
                json!({"lambda": setting.lambda, "p": setting.p, "gamma": setting.gamma, "accuracy": score.accuracy, "log_loss": score.log_loss})
            });
            json!({"mean": nested.mean, "sd": nested.sd, "outer": outer.collect::<Vec<_>>(), "fits": nested.fits, "interrupted": nested.interrupted})
        });
        let model = model.as_ref().map(|model| {
            let certificate = model.certificate();
            json!({
                "objective": certificate.objective, "lower_bound": certificate.lower_bound,
                "relative_gap": certificate.relative_gap(), "stop": model.training().stop.name(),
                "min_margin": model.min_margin().0, "train_accuracy": model.train_accuracy(),
                "temperature": model.temperature(),
            })
        });
        json!({
            "method": report::method(&search.spec),
            "metric": search.criterion.name(),
            "held_out": self.unseen.as_ref().map(quality::as_json),
            "held_out_if_balanced": self.balanced.as_ref().map(quality::as_json),
            "penalty": search.spec.penalty.name(),
            "rows": rows,
            "features": features,
            "classes": classes,
            "folds": search.folds,
            "repeats": search.repeats,
            "seed": search.spec.seed,
            "rule": search.rule,
            "best": chosen(Rule::BestMean),
            "one_standard_error": chosen(Rule::OneStandardError),
            "chosen": chosen(search.rule),
            "nested": nested,
            "model": model,
            "settings": settings.collect::<Vec<_>>(),
            "fits": found.fits,
            "lambdas_added": found.steps,
            "discarded": self.discarded(),
            "unconverged": found.unconverged,
            "iterations": found.iterations,
            "interrupted": found.interrupted,
            "seconds": seconds,
        })
    }
}

/// "lambda 0.01, p 4".
fn named(setting: &Setting) -> String {
    let parts = [("lambda", setting.lambda), ("p", setting.p), ("gamma", setting.gamma)];
    let parts: Vec<String> = parts.iter().filter_map(|(name, v)| v.map(|v| format!("{name} {}", short(v)))).collect();
    if parts.is_empty() { "the one setting".into() } else { parts.join(", ") }
}

fn spread(by: Criterion, mean: f64, sd: f64) -> String {
    format!("{} {} (sd)", by.title(), by.spread(mean, sd))
}
