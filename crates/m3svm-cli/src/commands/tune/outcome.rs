//! What came out of a search, in words and as JSON.

use std::path::Path;

use m3svm::select::{Outcome, Rule, Setting};
use m3svm::text::short;
use serde_json::{Value, json};

use super::Tuned;
use crate::report::{self, digits, percent, plural};
use crate::table;

impl Tuned<'_> {
    pub(super) fn text(&self, output: Option<&Path>) -> String {
        let Self { search, found, nested, model, seconds, .. } = self;
        let best = found.chosen(Rule::BestMean);
        let mut lines = match model {
            Some(model) => report::settings(model),
            None => vec![("method", report::method(&search.spec))],
        };
        lines.push(("folds", self.folds()));
        lines.push(("best", format!("{}: {}", named(&best.setting), spread(best.mean, best.sd))));
        if search.rule == Rule::OneStandardError {
            let chosen = found.chosen(search.rule);
            let text = format!("{}: {} (one standard error)", named(&chosen.setting), spread(chosen.mean, chosen.sd));
            lines.push(("chosen", text));
        }
        if let Some(nested) = nested {
            let folds = plural(nested.outer.len(), "outer fold");
            lines.push(("nested", format!("{} over {folds}", spread(nested.mean, nested.sd))));
        }
        lines.push(("work", self.work(*seconds)));
        if let Some(model) = model {
            lines.push(("certificate", report::certificate(model.certificate())));
        }
        lines.push(match (output, model) {
            (Some(path), Some(_)) => ("model", report::file(path)),
            (None, Some(_)) => ("model", "not written (no -o)".into()),
            (_, None) => ("model", "none (interrupted)".into()),
        });
        format!("{}{}", table::list(&lines), self.map())
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
        format!("{}{dropped}, {} s", plural(self.found.fits, "fit"), digits(seconds, 2))
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
        if outcomes.len() < 2 {
            return String::new();
        }
        let mut text = "\nMean accuracy in per cent by lambda".to_string();
        text += if ps.is_empty() { "" } else { " (lines) and p (columns)" };
        text += "; * best";
        text += if self.discarded() > 0 { ", - discarded\n" } else { "\n" };
        let rows: Vec<String> = lambdas.iter().map(|v| short(*v)).collect();
        let columns = if ps.is_empty() { vec!["mean".into()] } else { ps.iter().map(|p| short(*p)).collect() };
        let cell = |row: usize, column: usize| {
            let setting = Setting { lambda: lambdas.get(row).copied(), p: ps.get(column).copied() };
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
        format!("{:.2}{mark}", 100.0 * outcome.mean)
    }

    pub(super) fn as_json(&self, rows: usize, features: usize, classes: usize) -> Value {
        let Self { search, found, nested, model, seconds, .. } = self;
        let chosen = |rule| {
            let Outcome { setting, mean, sd, .. } = found.chosen(rule);
            json!({"lambda": setting.lambda, "p": setting.p, "mean": mean, "sd": sd})
        };
        let settings = found.outcomes.iter().map(|o| {
            json!({
                "lambda": o.setting.lambda, "p": o.setting.p, "mean": o.mean, "sd": o.sd,
                "accuracies": o.accuracies, "log_loss": o.log_loss, "discarded_after": o.discarded_after,
            })
        });
        let nested = nested.as_ref().map(|nested| {
            let outer = nested.outer.iter().map(|o| {
                let (setting, score) = (o.setting, o.score);
                json!({"lambda": setting.lambda, "p": setting.p, "accuracy": score.accuracy, "log_loss": score.log_loss})
            });
            json!({"mean": nested.mean, "sd": nested.sd, "outer": outer.collect::<Vec<_>>(), "interrupted": nested.interrupted})
        });
        let model = model.as_ref().map(|model| {
            let certificate = model.certificate();
            json!({
                "objective": certificate.objective, "lower_bound": certificate.lower_bound,
                "relative_gap": certificate.relative_gap(), "stop": model.training().stop.name(),
                "min_margin": model.min_margin().0, "train_accuracy": model.train_accuracy(),
            })
        });
        json!({
            "method": report::method(&search.spec),
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
    let parts = [("lambda", setting.lambda), ("p", setting.p)];
    let parts: Vec<String> = parts.iter().filter_map(|(name, v)| v.map(|v| format!("{name} {}", short(v)))).collect();
    if parts.is_empty() { "the one setting".into() } else { parts.join(", ") }
}

fn spread(mean: f64, sd: f64) -> String {
    format!("accuracy {} ± {:.2}", percent(mean), 100.0 * sd)
}
