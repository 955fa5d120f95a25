//! Options that become a [`Search`].

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use m3svm::metrics::Criterion;
use m3svm::select::{Grid, GridValues, Rule, Search};
use m3svm::text::plain;
use m3svm::{Method, Spec};

use super::count;
use super::spec::{SpecArgs, named, or};

/// How to search. Options that are not given keep the value of [`Search::new`].
#[derive(Debug, Args)]
#[command(next_help_heading = "Search")]
pub(crate) struct SearchArgs {
    #[arg(long, value_name = "N", allow_negative_numbers = true, help = or("Parts into which the rows are divided, each tested once", usual().folds))]
    folds: Option<i128>,
    #[arg(long, value_name = "N", allow_negative_numbers = true, help = or("How often the rows are divided anew", usual().repeats))]
    repeats: Option<i128>,
    /// Which setting is chosen
    #[arg(long, value_name = "NAME", default_value = "best")]
    rule: RuleName,
    #[arg(long, value_name = "NAME", value_parser = named(Criterion::ALL.map(|by| (by.name(), by))),
        help = or("What settings are judged by", Criterion::default().name()))]
    metric: Option<Criterion>,
    /// Cross-validate the search itself, for an accuracy that is not too good to be true; takes as many times as long
    /// as there are folds
    #[arg(long)]
    pub(crate) nested: bool,
    /// Keep trying settings that are clearly behind after some of the repeats
    #[arg(long)]
    no_discard: bool,
    #[arg(long, value_name = "T", allow_negative_numbers = true,
        help = or("Relative distance from the optimum at which the fits of the search stop", plain(usual().tol)))]
    search_tol: Option<f64>,
    /// Write down here what is finished, and go on from there if the file exists
    #[arg(long, value_name = "JOURNAL")]
    pub(crate) resume: Option<PathBuf>,
}

/// The rules as they are typed.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum RuleName {
    /// The highest mean
    Best,
    /// The largest lambda within one standard error of it
    OneSe,
}

impl SearchArgs {
    /// The search, checked.
    pub(crate) fn search(&self, spec: &SpecArgs) -> anyhow::Result<Search> {
        let (spec, grid) = spec.searched()?;
        let usual = Search::new(spec);
        let search = Search {
            grid,
            folds: self.folds.map_or(Ok(usual.folds), |folds| count("folds", folds))?,
            repeats: self.repeats.map_or(Ok(usual.repeats), |repeats| count("repeats", repeats))?,
            rule: match self.rule {
                RuleName::Best => Rule::BestMean,
                RuleName::OneSe => Rule::OneStandardError,
            },
            criterion: self.metric.unwrap_or(usual.criterion),
            discard: !self.no_discard,
            tol: self.search_tol.unwrap_or(usual.tol),
            ..usual
        };
        search.check()?;
        Ok(search)
    }
}

fn usual() -> Search {
    Search::new(Spec::default())
}

/// Says of the options that are single numbers elsewhere that they are ranges here.
pub(super) fn with_ranges(tune: clap::Command) -> clap::Command {
    let grid = |method: Method| Grid::for_spec(&method.spec());
    let (paper, ridge) = (grid(Method::M3svm), grid(Method::Ww));
    let lambdas = format!("{}, {} for a ridge", ends(&paper.lambdas), ends(&ridge.lambdas));
    let p_help = or("Powers of the penalty to try; large P lifts the smallest margin", ends(&paper.ps));
    let lambda_help = or("Strengths of the penalty to try", lambdas);
    tune.mut_arg("p", |p| p.value_name("RANGE").help(p_help))
        .mut_arg("lambda", |lambda| lambda.value_name("RANGE").help(lambda_help))
        .mut_arg("gamma", |gamma| {
            gamma
                .value_name("RANGE")
                .help("Gammas of the kernel to try, such as 0.01:1:5, or `scale` or `auto` [default: scale]")
        })
        .mut_arg("seed", |seed| seed.help(or("Seed of the folds, and of the order of rows in adam", usual().spec.seed)))
        .mut_arg("tol", |tol| tol.help(or("Relative duality gap of the final model", plain(usual().spec.tol))))
}

/// A range as one types it.
fn ends(values: &Option<GridValues>) -> String {
    let values = values.as_ref().map_or(&[][..], GridValues::as_slice);
    match values {
        [] => String::new(),
        [one] => plain(*one),
        [from, .., to] if values.windows(2).all(|w| w[1] - w[0] == 1.0) => format!("{}:{}", plain(*from), plain(*to)),
        [from, .., to] => format!("{}:{}:{}", plain(*from), plain(*to), values.len()),
    }
}
