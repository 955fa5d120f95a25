//! Rows that are held out in a training, or come from another file: the accuracy that counts.

use std::path::{Path, PathBuf};

use m3svm::metrics::{Judged, Quality};
use m3svm::select::{Fold, HeldOut, Validation};
use m3svm::{ClassWeight, Dataset, Error, Model, Spec};
use m3svm_io::LabelUse;
use serde_json::{Value, json};

use crate::args::DataArgs;
use crate::progress::SearchWatcher;
use crate::quality;
use crate::report::{self, plural, tell};

/// How well rows are predicted that the training did not see.
#[derive(Default)]
pub(crate) struct Unseen {
    /// Rows of the training file that were held out, and how.
    pub(crate) held: Option<(String, Quality)>,
    /// What class weights would make of them, where that was tried.
    pub(crate) balanced: Option<Quality>,
    /// Rows of another file.
    pub(crate) test: Option<(PathBuf, Quality)>,
}

impl Unseen {
    /// For the summary of a training.
    pub(crate) fn lines(&self) -> Vec<(&'static str, String)> {
        let mut lines = Vec::new();
        if let Some((how, quality)) = &self.held {
            lines.push(("held-out accuracy", format!("{}, {how}", quality::accuracy(quality))));
        }
        if let Some((file, quality)) = &self.test {
            let rows = plural(quality.metrics.rows, "row");
            lines.push(("test accuracy", format!("{}, {rows} of {}", quality::accuracy(quality), report::file(file))));
        }
        let guessed = self.held.as_ref().map(|(_, held)| held).or(self.test.as_ref().map(|(_, test)| test));
        lines.extend(guessed.map(|quality| ("largest class", quality::guessing(quality))));
        lines
    }

    /// For JSON.
    pub(crate) fn as_json(&self) -> [Value; 3] {
        let held = self.held.as_ref().map(|(how, quality)| {
            let mut all = quality::as_json(quality);
            all["how"] = json!(how);
            all
        });
        let test = self.test.as_ref().map(|(file, quality)| {
            let mut all = quality::as_json(quality);
            all["file"] = json!(report::file(file));
            all
        });
        [json!(held), json!(self.balanced.as_ref().map(quality::as_json)), json!(test)]
    }
}

/// How rows were held out, in words.
pub(crate) fn how(splits: &[Fold], rows: usize) -> String {
    match splits {
        [one] => format!("{} of {}", one.test.len(), plural(rows, "row")),
        several => format!("{} folds", several.len()),
    }
}

/// Predicts the held-out rows of every split; says why where that fails, because the model is there whatever becomes of this.
pub(crate) fn hold_out(
    spec: &Spec,
    data: &Dataset<'_>,
    groups: Option<&[u32]>,
    splits: &[Fold],
) -> anyhow::Result<Option<HeldOut>> {
    let watcher = SearchWatcher::start("predicting rows held out")?;
    let found = HeldOut::new(spec, data, groups, splits, &|at| watcher.step(at));
    drop(watcher);
    Ok(match found {
        Ok(found) => Some(found),
        Err(Error::Interrupted) => {
            tell("note", "interrupted; how well rows are predicted that the training did not see is not known");
            None
        }
        Err(error) => {
            tell("warning", &format!("no rows were held out: {error}"));
            None
        }
    })
}

/// The same with balanced classes, and a note, where rare classes come off badly.
pub(crate) fn try_balanced(
    spec: &Spec,
    data: &Dataset<'_>,
    groups: Option<&[u32]>,
    splits: &[Fold],
    plain: &Quality,
) -> anyhow::Result<Option<Quality>> {
    if spec.class_weight != ClassWeight::None || !quality::is_uneven(&plain.metrics) {
        return Ok(None);
    }
    let spec = Spec { class_weight: ClassWeight::Balanced, ..spec.clone() };
    let Some(held) = hold_out(&spec, data, groups, splits)? else { return Ok(None) };
    let found = held.quality()?;
    tell("note", &quality::balance(&plain.metrics, &found.metrics));
    Ok(Some(found))
}

/// A model with probabilities: where its loss defines none, those of the temperature that held-out rows ask for.
pub(crate) fn with_probabilities(model: Model, held: Option<&HeldOut>) -> m3svm::Result<Model> {
    match held.and_then(|held| held.temperature) {
        Some(temperature) if !model.has_probabilities() => model.with_temperature(temperature),
        _ => Ok(model),
    }
}

/// How well a model does on another file.
pub(crate) fn on_file(model: &Model, data: &DataArgs, file: &Path) -> anyhow::Result<Quality> {
    let read = data.read_for(file, model, LabelUse::Required, &[])?;
    let truth = read.class_numbers(model)?;
    let scores = model.scores(&read.x)?;
    let probabilities = model.probabilities(&read.x)?;
    Ok(Quality::new(&Judged {
        scores: &scores,
        probabilities: probabilities.as_deref(),
        truth: &truth,
        weights: read.weights.as_deref(),
        groups: None,
        classes: model.classes().len(),
    })?)
}

/// Why nothing was held out of data that is large.
pub(crate) const TOO_LARGE: &str = "the accuracy of rows that the training did not see was not measured, because of the size of the data; \
                                    --validation 0.2 holds rows out, and --test FILE takes other rows";

/// What was asked for, and why it is nothing where nobody has asked for that.
pub(crate) fn splits(
    validation: Validation,
    spec: &Spec,
    data: &Dataset<'_>,
    groups: Option<&[u32]>,
) -> anyhow::Result<(Vec<Fold>, Option<&'static str>)> {
    let splits = validation.splits(spec, data, groups)?;
    let why = (splits.is_empty() && validation == Validation::Auto).then(|| match validation.resolved(spec, data) {
        Validation::None => TOO_LARGE,
        _ => "no class has two rows: none could be held out",
    });
    Ok((splits, why))
}
