//! Table 1: accuracies of eight methods on eight data sets.

use m3svm::Scaling;
use m3svm::select::SearchWatch;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::data::{Loaded, scaled};
use crate::error::Result;
use crate::fair::Fair;
use crate::output::Output;
use crate::parts::Parts;
use crate::plan::{Listener, Plan, available};
use crate::script::{AUTHORS_SEED, EPOCHS, EPSILON, train};
use crate::sets::{PaperSet, SETS, paper_set};
use crate::split::train_test_split;
use crate::{table1_figures, table1_text};

/// The authors' script on one data set.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Scripted {
    /// Seeds of the splits, the authors' own first.
    pub(crate) seeds: Vec<u32>,
    /// Test accuracy after the last epoch, by split.
    pub(crate) accuracies: Vec<f64>,
    /// The highest test accuracy after any epoch, by split: what one finds who looks at the test rows.
    pub(crate) peaks: Vec<f64>,
    /// Test rows of a split.
    pub(crate) test_rows: usize,
}

/// What was measured on one data set.
pub(crate) struct Row {
    pub(crate) paper: &'static PaperSet,
    pub(crate) rows: usize,
    pub(crate) features: usize,
    pub(crate) classes: usize,
    pub(crate) scripted: Option<Scripted>,
    pub(crate) fair: Option<Fair>,
}

/// Runs it and writes the table; the number of data sets in it.
pub(crate) fn run(plan: &Plan, output: &Output, parts: &Parts, listener: &Listener<'_>) -> Result<usize> {
    let mut rows: Vec<Row> = Vec::new();
    for found in available(plan, listener, SETS.map(|it| it.set)) {
        let (set, loaded) = found?;
        let Some(paper) = paper_set(set.name) else { continue };
        rows.push(row(plan, parts, paper, &loaded, listener)?);
    }
    rows.retain(|row| row.scripted.is_some() || row.fair.is_some());
    if !rows.is_empty() {
        table1_text::write(output, &rows)?;
        table1_figures::write(output, &rows)?;
    }
    Ok(rows.len())
}

fn row(plan: &Plan, parts: &Parts, paper: &'static PaperSet, loaded: &Loaded, listener: &Listener<'_>) -> Result<Row> {
    let key = paper.set.key();
    let scripted = plan.protocol.paper().then(|| {
        let seeds = seeds(plan.repeats.unwrap_or(10), plan.seed);
        let settings = json!({"script": paper.script, "epochs": EPOCHS, "epsilon": EPSILON, "seeds": seeds,
            "file": loaded.checksum});
        let watch = listener.watch;
        parts.part(&format!("table1-paper-{key}"), &settings, listener, || scripted(paper, loaded, &seeds, watch))
    });
    let repeats = plan.repeats.unwrap_or(paper.repeats);
    let fair =
        plan.protocol.fair().then(|| Fair::table1(parts, (&key, loaded), (repeats, plan.seed, paper.tol), listener));
    let data = &loaded.data;
    Ok(Row {
        paper,
        rows: data.rows(),
        features: data.x().cols(),
        classes: data.classes().len(),
        scripted: scripted.transpose()?.flatten(),
        fair: fair.transpose()?.flatten(),
    })
}

/// The authors' seed, then others from `first` on.
pub(crate) fn seeds(count: usize, first: u64) -> Vec<u32> {
    let others = (first as u32..).filter(|seed| *seed != AUTHORS_SEED);
    std::iter::once(AUTHORS_SEED).chain(others).take(count).collect()
}

fn scripted(paper: &PaperSet, loaded: &Loaded, seeds: &[u32], watch: &SearchWatch<'_>) -> Result<Scripted> {
    let scaling = if paper.script.scaled { Scaling::Standard } else { Scaling::None };
    let data = scaled(&loaded.data, scaling)?;
    let one = |seed: &u32| {
        let split = train_test_split(data.rows(), *seed);
        let course = train(&data, &split, &paper.script, EPSILON, watch)?;
        let peak = course.accuracy.iter().copied().fold(0.0, f64::max);
        Ok((course.accuracy.last().copied().unwrap_or(0.0), peak))
    };
    let all: Vec<(f64, f64)> = seeds.par_iter().map(one).collect::<Result<_>>()?;
    let (accuracies, peaks) = all.into_iter().unzip();
    Ok(Scripted { seeds: seeds.to_vec(), accuracies, peaks, test_rows: data.rows().div_ceil(5) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_split_is_the_authors_and_no_seed_comes_twice() {
        assert_eq!(seeds(4, 0), [42, 0, 1, 2]);
        assert_eq!(seeds(4, 41), [42, 41, 43, 44]);
    }
}
