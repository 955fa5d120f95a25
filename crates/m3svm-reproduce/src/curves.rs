//! Accuracy against p, and against λ.

use m3svm::penalty::{Norm, Pairwise};
use m3svm::select::{Comparison, Grid, GridValues, Journal, Search};
use m3svm::{AnyPenalty, Method, Scaling, Spec};
use m3svm_report::{Axis, LineChart, Series};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::SIX_SETS;
use crate::data::{Loaded, scaled};
use crate::error::Result;
use crate::fair::Fair;
use crate::output::{Output, mean_sd};
use crate::parts::Parts;
use crate::plan::{Listener, Plan, available};
use crate::script::{EPOCHS, EPSILON, train};
use crate::sets::{PaperSet, SETS, Script, Set, paper_set};
use crate::split::train_test_split;
use crate::table1::seeds;

/// Values of p in the paper's figure.
const POWERS: [f64; 8] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0];
/// Values of λ in the paper's figure: its ends, and two values to the decade.
const STRENGTHS: [f64; 9] = [1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3, 1.0];
/// The p of that figure.
const POWER: f64 = 4.0;
/// Parts of the rows, each the test part once.
const FOLDS: usize = 5;

/// Accuracy by one parameter.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Curve {
    /// Value of the parameter, mean and standard deviation of the accuracy.
    points: Vec<(f64, f64, f64)>,
    /// How often each was measured, in words.
    runs: String,
}

/// Test accuracy for p = 1, …, 8.
pub(crate) fn powers(plan: &Plan, output: &Output, parts: &Parts, listener: &Listener<'_>) -> Result<usize> {
    let kind = Kind { name: "p", symbol: "p", axis: Axis::new("p"), paper: scripted_powers, fair: fair_powers };
    kind.run(plan, &SIX_SETS, output, parts, listener)
}

/// Test accuracy for λ from 1e-4 to 1 at p = 4.
pub(crate) fn strengths(plan: &Plan, output: &Output, parts: &Parts, listener: &Listener<'_>) -> Result<usize> {
    let kind = Kind {
        name: "lambda",
        symbol: "λ",
        axis: Axis::new("λ (that of the script is on another scale)").log(),
        paper: scripted_strengths,
        fair: fair_strengths,
    };
    kind.run(plan, &SETS.map(|it| it.set), output, parts, listener)
}

/// What a curve is made from.
struct Job<'a> {
    plan: &'a Plan,
    parts: &'a Parts,
    listener: &'a Listener<'a>,
    paper: &'static PaperSet,
    loaded: &'a Loaded,
}

struct Kind {
    name: &'static str,
    symbol: &'static str,
    axis: Axis,
    paper: fn(&Job<'_>) -> Result<Option<Curve>>,
    fair: fn(&Job<'_>) -> Result<Option<Curve>>,
}

impl Kind {
    fn run(&self, plan: &Plan, sets: &[Set], output: &Output, parts: &Parts, listener: &Listener<'_>) -> Result<usize> {
        let (mut all, mut drawn) = (Vec::new(), 0);
        for found in available(plan, listener, sets.to_vec()) {
            let (set, loaded) = found?;
            let Some(paper) = paper_set(set.name) else { continue };
            let job = Job { plan, parts, listener, paper, loaded: &loaded };
            let mut curves = Vec::new();
            let protocol = plan.protocol;
            let wanted = [("paper", protocol.paper(), self.paper), ("fair", protocol.fair(), self.fair)];
            for (protocol, _, make) in wanted.into_iter().filter(|(_, wanted, _)| *wanted) {
                curves.extend(make(&job)?.map(|curve| (protocol, curve)));
            }
            if !curves.is_empty() {
                self.draw(output, &set, &curves)?;
                drawn += 1;
            }
            all.extend(curves.into_iter().map(|(protocol, curve)| (set.name, protocol, curve)));
        }
        if !all.is_empty() {
            self.write(plan, output, &all)?;
        }
        Ok(drawn)
    }

    fn draw(&self, output: &Output, set: &Set, curves: &[(&str, Curve)]) -> Result<()> {
        let name = |(protocol, curve): &(&str, Curve)| match *protocol {
            "paper" => format!("authors' script, {}", curve.runs),
            _ => format!("M³SVM, fair, {}", curve.runs),
        };
        let series = curves.iter().map(|both| Series {
            name: name(both),
            points: both.1.points.iter().map(|(x, mean, _)| (*x, *mean)).collect(),
            spread: both.1.points.iter().map(|(_, _, sd)| *sd).collect(),
        });
        // A single curve has no legend to say whose it is.
        let x = match curves {
            [one] => Axis { label: format!("{} ({})", self.symbol, name(one)), ..self.axis.clone() },
            _ => self.axis.clone(),
        };
        let chart = LineChart {
            title: format!("{}: test accuracy by {}", set.name, self.symbol),
            x,
            y: Axis::new("test accuracy, mean ± sd"),
            series: series.collect(),
            ..LineChart::default()
        };
        output.figure(&format!("{}-{}", self.name, set.key()), &chart.figure())
    }

    fn write(&self, plan: &Plan, output: &Output, all: &[(&'static str, &'static str, Curve)]) -> Result<()> {
        let records = all.iter().flat_map(|(set, protocol, curve)| {
            let record = move |(value, mean, sd): &(f64, f64, f64)| Record {
                set,
                protocol,
                parameter: self.name,
                value: *value,
                mean: *mean,
                sd: *sd,
                runs: curve.runs.clone(),
            };
            curve.points.iter().map(record)
        });
        output.csv(self.name, records)?;
        let made = all.iter().map(|(set, protocol, curve)| {
            let script = paper_set(set).map(|it| it.script).filter(|_| *protocol == "paper");
            json!({"set": set, "protocol": protocol, "runs": curve.runs, "script": script})
        });
        let made: Value = made.collect();
        output.settings(self.name, json!({"curves": made, "first_seed": plan.seed, "epochs": EPOCHS, "folds": FOLDS}))
    }
}

/// A line of the CSV file.
#[derive(Serialize)]
struct Record {
    set: &'static str,
    protocol: &'static str,
    parameter: &'static str,
    value: f64,
    mean: f64,
    sd: f64,
    runs: String,
}

fn scripted_powers(job: &Job<'_>) -> Result<Option<Curve>> {
    let with = |p: f64| Script { p, ..job.paper.script };
    scripted(job, "p", &POWERS, &with)
}

fn scripted_strengths(job: &Job<'_>) -> Result<Option<Curve>> {
    let with = |lambda: f64| Script { lambda, p: POWER, ..job.paper.script };
    scripted(job, "lambda", &STRENGTHS, &with)
}

/// The script with one setting replaced, on the authors' split and further ones.
fn scripted(job: &Job<'_>, name: &str, values: &[f64], with: &(dyn Fn(f64) -> Script + Sync)) -> Result<Option<Curve>> {
    let seeds = seeds(job.plan.repeats.unwrap_or(job.paper.repeats), job.plan.seed);
    let settings = json!({"script": job.paper.script, name: values, "epochs": EPOCHS, "epsilon": EPSILON, "seeds": seeds,
        "file": job.loaded.checksum});
    let part = format!("{name}-paper-{}", job.paper.set.key());
    let watch = job.listener.watch;
    job.parts.part(&part, &settings, job.listener, || {
        let scaling = if job.paper.script.scaled { Scaling::Standard } else { Scaling::None };
        let data = scaled(&job.loaded.data, scaling)?;
        let points = values.iter().map(|&value| {
            let one = |seed: &u32| -> Result<f64> {
                let split = train_test_split(data.rows(), *seed);
                let course = train(&data, &split, &with(value), EPSILON, watch)?;
                Ok(course.accuracy.last().copied().unwrap_or(0.0))
            };
            let accuracies: Vec<f64> = seeds.par_iter().map(one).collect::<Result<_>>()?;
            let (mean, sd) = mean_sd(&accuracies);
            Ok((value, mean, sd))
        });
        Ok(Curve { points: points.collect::<Result<_>>()?, runs: m3svm::text::plural(seeds.len(), "split") })
    })
}

/// Every p as a method of its own: λ is chosen for it by inner folds, because λ changes its unit with p.
fn fair_powers(job: &Job<'_>) -> Result<Option<Curve>> {
    let repeats = job.plan.repeats.unwrap_or(job.paper.repeats);
    let spec = |p: &f64| {
        let penalty = AnyPenalty::Pairwise(Pairwise::new(Norm::L2, 1e-3, *p));
        Spec { penalty, seed: job.plan.seed, tol: job.paper.tol, ..Method::M3svm.spec().with_usual_lambda() }
    };
    let mut comparison = Comparison { repeats, seed: job.plan.seed, ..Comparison::new(POWERS.iter().map(spec)) };
    for (search, p) in comparison.searches.iter_mut().zip(POWERS) {
        search.grid.ps = Some(GridValues::new(vec![p])?);
    }
    let names = POWERS.iter().map(|p| format!("p{p}")).collect();
    let part = format!("p-fair-{}", job.paper.set.key());
    let fair = Fair::compare(job.parts, (&part, job.loaded), names, &comparison, job.listener)?;
    let Some(fair) = fair else { return Ok(None) };
    let points = POWERS.iter().zip(&fair.judged).map(|(p, it)| (*p, it.mean, it.sd));
    Ok(Some(Curve { points: points.collect(), runs: format!("{} × {} folds", fair.repeats, fair.folds) }))
}

/// Nothing is chosen here, so plain folds are fair.
fn fair_strengths(job: &Job<'_>) -> Result<Option<Curve>> {
    let repeats = job.plan.repeats.unwrap_or(job.paper.repeats);
    let spec = Spec { seed: job.plan.seed, ..Method::M3svm.spec().with_usual_lambda() };
    let grid = Grid {
        extends: false,
        lambdas: Some(GridValues::new(STRENGTHS.to_vec())?),
        ps: Some(GridValues::new(vec![POWER])?),
        ..Grid::default()
    };
    let search = Search { grid, folds: FOLDS, repeats, discard: false, ..Search::new(spec) };
    let settings = json!({"search": search, "file": job.loaded.checksum});
    let part = format!("lambda-fair-{}", job.paper.set.key());
    job.parts.part(&part, &settings, job.listener, || {
        let found = search.run(&job.loaded.data, None, &Journal::none(), job.listener.watch)?;
        if found.interrupted {
            return Err(m3svm::Error::Interrupted.into());
        }
        let mut points: Vec<(f64, f64, f64)> =
            found.outcomes.iter().filter_map(|it| Some((it.setting.lambda?, it.mean, it.sd))).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        Ok(Curve { points, runs: format!("{repeats} × {FOLDS} folds") })
    })
}
