//! Which classes are taken for which: confusion matrices with the classes in an order that brings the difficult ones together.
//!
//! As in the paper they are those of one-vs-one logistic regression.

use m3svm::loss::Softmax;
use m3svm::metrics::Metrics;
use m3svm::select::{Fold, folds};
use m3svm::{AnyLoss, Method, Spec};
use m3svm_report::{Axis, Block, HeatMap};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::data::Loaded;
use crate::difficult::Difficult;
use crate::error::Result;
use crate::output::Output;
use crate::parts::Parts;
use crate::plan::{Listener, Plan, available};
use crate::sets::{IRIS, OPTDIGITS, SETS};

/// Parts of the rows; each is predicted by a model of the others.
const FOLDS: usize = 5;

/// Rows by true and predicted class.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Matrix {
    classes: Vec<String>,
    counts: Vec<Vec<f64>>,
}

pub(crate) fn run(plan: &Plan, output: &Output, parts: &Parts, listener: &Listener<'_>) -> Result<usize> {
    let dermatology = SETS.map(|it| it.set).into_iter().filter(|set| set.name == "Dermatology");
    let sets: Vec<_> = std::iter::once(IRIS).chain(dermatology).chain([OPTDIGITS]).collect();
    let (mut records, mut settings, mut shown) = (Vec::new(), Vec::new(), 0);
    for found in available(plan, listener, sets) {
        let (set, loaded) = found?;
        let spec =
            Spec { loss: AnyLoss::Softmax(Softmax {}), seed: plan.seed, ..Method::Ovo.spec().with_usual_lambda() };
        let made_with = json!({"spec": spec, "folds": FOLDS, "seed": plan.seed, "file": loaded.checksum});
        let part = format!("confusion-{}", set.key());
        let made = parts.part(&part, &made_with, listener, || predict(&spec, &loaded, plan.seed, listener))?;
        let Some(matrix) = made else { continue };
        let difficult = Difficult::of(&matrix.counts);
        let title = format!("{}, one-vs-one logistic regression", set.name);
        output.figure(&part, &figure(&title, &matrix, &difficult).figure())?;
        records.extend(matrix.records(set.name, &difficult));
        settings.push(json!({"set": set.name, "made_with": made_with, "mistakes": difficult.mistakes,
            "mistakes_in_block": difficult.inside, "classes_in_block": difficult.size}));
        shown += 1;
    }
    if shown > 0 {
        output.csv("confusion", records)?;
        output.settings("confusion", settings.into())?;
    }
    Ok(shown)
}

/// Predicts every row once, by a model that has not seen it.
fn predict(spec: &Spec, loaded: &Loaded, seed: u64, listener: &Listener<'_>) -> Result<Matrix> {
    let data = &loaded.data;
    let classes = data.classes().len();
    let watch = listener.watch;
    let one = |fold: &Fold| -> Result<Metrics> {
        let train = data.take_rows(&fold.train)?;
        let model = spec.fit_watched(&train, None, &mut |_| Listener::go_on(watch))?;
        if model.training().stop == m3svm::Stop::Interrupted {
            return Err(m3svm::Error::Interrupted.into());
        }
        let truth: Vec<u32> = fold.test.iter().map(|&i| data.y()[i as usize]).collect();
        Ok(Metrics::new(&truth, &model.predict(&data.x().take_rows(&fold.test))?, None, classes)?)
    };
    let all: Vec<Metrics> = folds(data.y(), None, FOLDS, seed, 0)?.par_iter().map(one).collect::<Result<_>>()?;
    let sum = |k: usize, l: usize| all.iter().map(|metrics| metrics.confusion[k][l]).sum();
    let counts = (0..classes).map(|k| (0..classes).map(|l| sum(k, l)).collect()).collect();
    Ok(Matrix { classes: data.classes().to_vec(), counts })
}

/// A line of the CSV file.
#[derive(Serialize)]
struct Record {
    set: &'static str,
    truth: String,
    predicted: String,
    rows: f64,
    in_block: bool,
}

impl Matrix {
    fn records(&self, set: &'static str, difficult: &Difficult) -> Vec<Record> {
        let places = difficult.order.iter().enumerate();
        let pairs = places.clone().flat_map(|row| places.clone().map(move |column| (row, column)));
        let record = |((i, &k), (j, &l)): ((usize, &usize), (usize, &usize))| Record {
            set,
            truth: self.classes[k].clone(),
            predicted: self.classes[l].clone(),
            rows: self.counts[k][l],
            in_block: i.max(j) < difficult.size,
        };
        pairs.map(record).collect()
    }
}

fn figure(title: &str, matrix: &Matrix, difficult: &Difficult) -> HeatMap {
    let names: Vec<String> = difficult.order.iter().map(|&k| matrix.classes[k].clone()).collect();
    let row = |k: &usize| -> Vec<f64> { difficult.order.iter().map(|&l| matrix.counts[*k][l]).collect() };
    let values: Vec<Vec<f64>> = difficult.order.iter().map(row).collect();
    let says = |v: &f64| if *v == 0.0 { "·".into() } else { m3svm::text::count(*v) };
    let marked = (difficult.size > 0).then_some(Block { rows: 0..difficult.size, columns: 0..difficult.size });
    HeatMap {
        title: title.into(),
        row_title: "true class".into(),
        column_title: "predicted class".into(),
        rows: names.clone(),
        columns: names,
        says: values.iter().map(|row| row.iter().map(says).collect()).collect(),
        values,
        // One mistake beside hundreds of hits is what these figures are about.
        scale: Axis::new("rows").log(),
        marked,
    }
}
