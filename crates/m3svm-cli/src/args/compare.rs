//! `m3svm compare` as it is typed.

use std::path::PathBuf;

use anyhow::bail;
use clap::Args;
use m3svm::metrics::Criterion;
use m3svm::select::Comparison;
use m3svm::{Method, Scaling, Spec};

use super::spec::{class_weight, named, or};
use super::{ColumnArgs, DataArgs, count, output};

/// `m3svm compare`.
#[derive(Debug, Args)]
#[command(after_help = "Every method is tuned by itself on the training part of each fold (7 values of lambda, and\n\
    p 1, 2, 4, 8 where it has one) and judged on the rest. All methods see the same folds.\n\n\
    Examples:\n  m3svm compare data.csv --label kind --repeats 2 --methods m3svm,lr,ovr\n  \
    m3svm compare data.csv --metric balanced -o best.m3svm")]
pub(crate) struct CompareArgs {
    /// Data with labels: CSV, LIBSVM, Parquet, Arrow, JSON lines, NumPy or MATLAB; `-` is standard input
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) data: DataArgs,
    #[command(flatten)]
    pub(crate) columns: ColumnArgs,
    /// Column whose equal values mark rows that belong together, such as recordings of one person: they are never
    /// divided between training and test
    #[arg(long, value_name = "COLUMN", allow_negative_numbers = true, help_heading = "Data")]
    pub(crate) groups: Option<String>,
    #[arg(long, value_name = "A,B,C", value_delimiter = ',', help = methods_help(), help_heading = "Comparison")]
    methods: Vec<String>,
    #[arg(long, value_name = "N", allow_negative_numbers = true, help = or("Parts of the rows, each the test part once", 5), help_heading = "Comparison")]
    folds: Option<i128>,
    #[arg(long, value_name = "N", allow_negative_numbers = true, help = or("How often the rows are divided anew", 10), help_heading = "Comparison")]
    repeats: Option<i128>,
    #[arg(long, value_name = "NAME", value_parser = named(Criterion::ALL.map(|by| (by.name(), by))),
        help = or("What settings and methods are judged by", Criterion::default().name()), help_heading = "Comparison")]
    metric: Option<Criterion>,
    #[arg(long, value_name = "NAME", value_parser = named(Scaling::ALL.map(|s| (s.name(), s))),
        help = or("Scaling of the features", Scaling::default().name()), help_heading = "Comparison")]
    scale: Option<Scaling>,
    /// Weights of classes: `balanced`, or NAME=W,NAME=W where the others count 1
    #[arg(long, value_name = "W", value_parser = class_weight, help_heading = "Comparison")]
    class_weight: Option<m3svm::ClassWeight>,
    #[arg(long, value_name = "N", allow_negative_numbers = true, help = or("Seed of the folds", 0), help_heading = "Comparison")]
    seed: Option<i128>,
    /// Note finished work in this file, and go on from what it has
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) resume: Option<PathBuf>,
    /// Write the model of the best method, trained on all rows, to this file; `-` is standard output
    #[arg(short, long, value_name = "MODEL", value_parser = output(), help_heading = "Output")]
    pub(crate) output: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    /// Write a report with figures: one HTML file that needs no network
    #[arg(long, value_name = "HTML", value_parser = output(), help_heading = "Output")]
    pub(crate) report: Option<PathBuf>,
}

impl CompareArgs {
    /// The methods, and how they are compared on data with so many classes.
    pub(crate) fn comparison(&self, classes: usize) -> anyhow::Result<(Vec<Method>, Comparison)> {
        let methods = self.methods(classes)?;
        let seed = self.seed.map(|seed| count("seed", seed)).transpose()?.unwrap_or(0) as u64;
        let specs = methods.iter().map(|method| {
            let base = method.spec().with_usual_lambda();
            Spec {
                scaling: self.scale.unwrap_or(base.scaling),
                class_weight: self.class_weight.clone().unwrap_or_default(),
                seed,
                ..base
            }
        });
        let mut comparison = Comparison { seed, ..Comparison::new(specs) };
        if let Some(folds) = self.folds {
            comparison.folds = count("folds", folds)?;
        }
        if let Some(repeats) = self.repeats {
            comparison.repeats = count("repeats", repeats)?;
        }
        let by = self.metric.unwrap_or_default();
        comparison.searches.iter_mut().for_each(|search| search.criterion = by);
        Ok((methods, comparison))
    }

    fn methods(&self, classes: usize) -> anyhow::Result<Vec<Method>> {
        let all = || Method::ALL.into_iter().filter(|m| m.spec().check_for(classes).is_ok());
        if self.methods.is_empty() || self.methods == ["all"] {
            return Ok(all().collect());
        }
        let find = |name: &String| {
            let found = Method::ALL.into_iter().find(|m| m.name() == name);
            found.ok_or_else(|| anyhow::anyhow!("there is no method `{name}`; there are {}", names().join(", ")))
        };
        if let Some(twice) = (1..self.methods.len()).find(|&i| self.methods[..i].contains(&self.methods[i])) {
            bail!("the method `{}` is named twice", self.methods[twice]);
        }
        self.methods.iter().map(find).collect()
    }
}

fn names() -> Vec<&'static str> {
    Method::ALL.iter().map(|m| m.name()).collect()
}

fn methods_help() -> String {
    format!("Methods: all, or some of {} [default: all]", names().join(", "))
}
