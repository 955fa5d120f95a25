//! `m3svm demo`.

use std::path::Path;

use m3svm::metrics::Metrics;
use m3svm::penalty::Pairwise;
use m3svm::{AnyPenalty, Model, Spec};
use m3svm_io::{ReadOptions, read_from};

use super::evaluate;
use crate::report::{certificate, digits, percent, settings, upper};
use crate::{print, table};
use m3svm::text::plain;

/// The iris data of E. Anderson and R. A. Fisher (1936).
const IRIS: &[u8] = include_bytes!("../../data/iris.csv");

/// Powers of the penalty that are compared.
const POWERS: [f64; 4] = [1.0, 2.0, 4.0, 8.0];

pub(crate) fn run() -> anyhow::Result<()> {
    let read = read_from(IRIS, Path::new("iris.csv"), &ReadOptions::default())?;
    let data = read.into_dataset()?;
    let mut models: Vec<Model> = Vec::new();
    for p in POWERS {
        let Pairwise { norm, lambda, .. } = Pairwise::default();
        let penalty = AnyPenalty::Pairwise(Pairwise::new(norm, lambda, p));
        models.push(Spec { penalty, ..Spec::default() }.fit(&data)?);
    }
    let mut text = format!("{INTRODUCTION}\n{}", powers(&models));
    let default = AnyPenalty::default();
    if let Some(model) = models.iter().find(|m| m.spec().penalty == default) {
        let predicted = model.predict(data.x())?;
        let metrics = Metrics::new(data.y(), &predicted, None, model.classes().len())?;
        let proof = certificate(model.certificate());
        let mut lines = settings(model);
        lines.push(("certificate", proof));
        text += &format!("\nThe model with p = 4:\n{}", table::list(&lines));
        text += &evaluate::confusion(model.classes(), &metrics);
    }
    print(&format!("{text}\n{NEXT}"))
}

const INTRODUCTION: &str = "\
150 iris flowers of three species, four measurements each. M³SVM separates all
pairs of species at once; the margin of a pair is the width of the strip between
them. With the same lambda, a larger power p lifts the smallest margin and lets a
few more flowers fall on the wrong side. Most of that is a stronger penalty: where
lambda keeps the training loss equal, p adds one or two per cent on these flowers.
";

const NEXT: &str = "\
Your own data next (CSV, LIBSVM, Parquet, Arrow, NumPy or MATLAB):
  m3svm train data.csv --label NAME -o data.m3svm
  m3svm evaluate data.m3svm test.csv
  m3svm predict data.m3svm new.csv -o classes.csv
  m3svm inspect data.m3svm
";

fn powers(models: &[Model]) -> String {
    let header = ["p", "closest classes", "minimum margin", "train accuracy", "relative gap"];
    let mut rows = vec![header.map(String::from).to_vec()];
    for model in models {
        let AnyPenalty::Pairwise(Pairwise { p, .. }) = model.spec().penalty else {
            continue;
        };
        let (margin, k, l) = model.min_margin();
        let classes = model.classes();
        let gap = model.certificate().relative_gap();
        rows.push(vec![
            plain(p),
            format!("{}, {}", classes[k], classes[l]),
            digits(margin, 3),
            percent(model.train_accuracy()),
            gap.map(upper).unwrap_or_default(),
        ]);
    }
    table::table(&rows, 2)
}
