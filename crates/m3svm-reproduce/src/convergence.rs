//! Objective and test accuracy against iterations: the authors' Adam beside Newton, on the objective and the split of their script.

use std::ops::ControlFlow;

use m3svm::loss::Softmax;
use m3svm::metrics::Metrics;
use m3svm::solver::Newton;
use m3svm::{AnyLoss, AnyPenalty, AnySolver, Dataset, Scaling, Spec, Stop};
use m3svm_report::{Axis, LineChart, Series};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::SIX_SETS;
use crate::data::{Loaded, scaled};
use crate::error::Result;
use crate::output::Output;
use crate::parts::Parts;
use crate::plan::{Listener, Plan, available};
use crate::script::{AUTHORS_SEED, EPOCHS, penalty, train};
use crate::sets::{PaperSet, paper_set};
use crate::split::train_test_split;

/// ε of both solvers: they shall minimise the same function.
const EPSILON: f64 = 1e-6;
/// Relative gap at which Newton stops.
const TOLERANCE: f64 = 1e-8;
/// Excess over the optimum below this is rounding.
const LEAST_EXCESS: f64 = 1e-12;

/// A point of a curve.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Step {
    iteration: usize,
    objective: f64,
    accuracy: f64,
}

/// The curves of one data set.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Curves {
    adam: Vec<Step>,
    newton: Vec<Step>,
    /// A value that no point can go below.
    lower_bound: Option<f64>,
}

pub(crate) fn run(plan: &Plan, output: &Output, parts: &Parts, listener: &Listener<'_>) -> Result<usize> {
    let mut all = Vec::new();
    for found in available(plan, listener, SIX_SETS) {
        let (set, loaded) = found?;
        let Some(paper) = paper_set(set.name) else { continue };
        let settings = json!({"script": paper.script, "epochs": EPOCHS, "epsilon": EPSILON, "tol": TOLERANCE,
            "seed": AUTHORS_SEED, "file": loaded.checksum});
        let name = format!("convergence-{}", set.key());
        if let Some(curves) = parts.part(&name, &settings, listener, || curves(paper, &loaded, listener))? {
            draw(output, set.name, &name, &curves)?;
            all.push((set.name, settings, curves));
        }
    }
    write(output, &all)?;
    Ok(all.len())
}

fn curves(paper: &PaperSet, loaded: &Loaded, listener: &Listener<'_>) -> Result<Curves> {
    let scaling = if paper.script.scaled { Scaling::Standard } else { Scaling::None };
    let data = scaled(&loaded.data, scaling)?;
    let split = train_test_split(data.rows(), AUTHORS_SEED);
    let course = train(&data, &split, &paper.script, EPSILON, listener.watch)?;
    let adam = course.objective.iter().zip(&course.accuracy).enumerate();
    let adam =
        adam.map(|(iteration, (objective, accuracy))| Step { iteration, objective: *objective, accuracy: *accuracy });
    let (train, test) = (data.take_rows(&split.train)?, data.take_rows(&split.test)?);
    let share = split.train.len() as f64 / data.rows() as f64;
    let spec = Spec {
        loss: AnyLoss::Softmax(Softmax {}),
        penalty: AnyPenalty::Pairwise(penalty(&paper.script, data.classes().len(), share)),
        epsilon: EPSILON,
        scaling: Scaling::None,
        solver: AnySolver::Newton(Newton {}),
        tol: TOLERANCE,
        ..Spec::default().with_usual_lambda()
    };
    let (newton, lower_bound) = newton(&spec, &train, &test, listener)?;
    Ok(Curves { adam: adam.collect(), newton, lower_bound })
}

/// Newton ended after 1, 2, 3, … steps. A run does not depend on where it will be ended, so these are the points of one run.
fn newton(
    spec: &Spec,
    train: &Dataset<'_>,
    test: &Dataset<'_>,
    listener: &Listener<'_>,
) -> Result<(Vec<Step>, Option<f64>)> {
    let mut steps = Vec::new();
    let mut limit = 1;
    loop {
        let mut watch = |_: &_| -> ControlFlow<()> { Listener::go_on(listener.watch) };
        let spec = Spec { max_iter: Some(limit), ..spec.clone() };
        let model = spec.fit_watched(train, None, &mut watch)?;
        if model.training().stop == Stop::Interrupted {
            return Err(m3svm::Error::Interrupted.into());
        }
        let found = Metrics::new(test.y(), &model.predict(test.x())?, None, test.classes().len())?;
        let objective = model.certificate().objective;
        steps.push(Step { iteration: model.training().iterations, objective, accuracy: found.accuracy });
        if model.training().stop != Stop::IterationLimit || limit >= EPOCHS {
            return Ok((steps, model.certificate().lower_bound));
        }
        // Every step at first, then every fourth or so: all of them would cost the square of their number.
        limit += (limit / 8).max(1);
    }
}

/// A line of the CSV file.
#[derive(Serialize)]
struct Record {
    set: &'static str,
    solver: &'static str,
    iteration: usize,
    objective: f64,
    relative_excess: f64,
    test_accuracy: f64,
}

fn write(output: &Output, all: &[(&'static str, serde_json::Value, Curves)]) -> Result<()> {
    if all.is_empty() {
        return Ok(());
    }
    let records = all.iter().flat_map(|(set, _, curves)| {
        let lowest = curves.lowest();
        let each = move |solver, steps: &[Step]| -> Vec<Record> {
            let record = |step: &Step| Record {
                set,
                solver,
                iteration: step.iteration,
                objective: step.objective,
                relative_excess: excess(step, lowest),
                test_accuracy: step.accuracy,
            };
            steps.iter().map(record).collect()
        };
        each("adam", &curves.adam).into_iter().chain(each("newton", &curves.newton))
    });
    output.csv("convergence", records)?;
    let settings = all.iter().map(|(set, settings, curves)| {
        json!({"set": set, "made_with": settings, "lowest": curves.lowest(), "lower_bound": curves.lower_bound})
    });
    output.settings("convergence", settings.collect())
}

impl Curves {
    /// The lowest value that either solver has found.
    fn lowest(&self) -> f64 {
        self.adam.iter().chain(&self.newton).map(|step| step.objective).fold(f64::INFINITY, f64::min)
    }
}

fn excess(step: &Step, lowest: f64) -> f64 {
    (step.objective - lowest) / lowest
}

fn draw(output: &Output, set: &str, name: &str, curves: &Curves) -> Result<()> {
    let lowest = curves.lowest();
    let series = |label: &str, steps: &[Step], y: &dyn Fn(&Step) -> f64| Series {
        name: label.into(),
        // The start is the same for both, and 0 has no place on a logarithmic axis.
        points: steps.iter().filter(|step| step.iteration > 0).map(|step| (step.iteration as f64, y(step))).collect(),
        spread: vec![],
    };
    let chart = |title: String, y: Axis, value: &dyn Fn(&Step) -> f64| LineChart {
        title,
        x: Axis::new("iteration").log(),
        y,
        series: vec![
            series("Adam, as the authors run it", &curves.adam, value),
            series("Newton", &curves.newton, value),
        ],
        ..LineChart::default()
    };
    let objective = chart(
        format!("{set}: objective above its optimum"),
        Axis::new("relative excess of the objective").log(),
        &|step| excess(step, lowest).max(LEAST_EXCESS),
    );
    let accuracy = chart(format!("{set}: test accuracy"), Axis::new("test accuracy"), &|step| step.accuracy);
    output.figure(&format!("{name}-objective"), &objective.figure())?;
    output.figure(&format!("{name}-accuracy"), &accuracy.figure())
}
