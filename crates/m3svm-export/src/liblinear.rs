//! The model file of LIBLINEAR, a text.
//!
//! Whatever the method, the file claims to come from Crammer and Singer's: LIBLINEAR uses such models as ours are meant, with one
//! vector per class (also for two classes) and the highest score wins, the first one of equals. Its other kinds of models would have
//! one vector for two classes, and probabilities that are not ours.

use std::fmt::Write;

use crate::error::{Error, Result};
use crate::portable::Portable;

pub(crate) fn text(model: &Portable<'_>) -> Result<String> {
    model.only_numbers("LIBLINEAR")?;
    if model.kernel.is_some() {
        return Err(Error::Kernel);
    }
    if model.votes() {
        return Err(Error::Votes);
    }
    let labels = model.classes.iter().map(|class| label(class)).collect::<Result<Vec<String>>>()?;
    let mut out = format!(
        "solver_type MCSVM_CS\nnr_class {}\nlabel {}\nnr_feature {}\nbias 1\nw\n",
        labels.len(),
        labels.join(" "),
        model.features,
    );
    // One line per feature with the weights of all classes; the bias is a last feature that is always 1.
    for j in 0..model.features {
        line(&mut out, (0..model.scorers()).map(|k| model.scorer(k)[j]));
    }
    line(&mut out, model.intercept.iter().copied());
    Ok(out)
}

fn line(out: &mut String, numbers: impl Iterator<Item = f64>) {
    for number in numbers {
        // The shortest text that reads back as the same number. LIBLINEAR ends every number with a space.
        let _ = write!(out, "{number:?} ");
    }
    out.push('\n');
}

/// A class as LIBLINEAR will print it. What would come back as another text is refused.
fn label(class: &str) -> Result<String> {
    let number: Option<i32> = class.parse().ok();
    number.map(|n| n.to_string()).filter(|n| n == class).ok_or_else(|| Error::Label { class: class.into() })
}
