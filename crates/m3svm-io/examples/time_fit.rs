//! Times fits inside one warm process, as the rivals in `bench/` are timed. One line of JSON.
//!
//! ```text
//! cargo run --release --example time_fit -- data.csv.gz --label label --repeats 5 [--method lr] [--lambda 0.5] [--p 4] [--delta 0.01] [--tol 1e-6] [--adam 0.01]
//! ```
//!
//! Reading is not timed, everything else is: scaling, the fit, and what is derived from it. The first fit is not counted.

use std::error::Error;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Instant;

use m3svm::loss::SmoothHinge;
use m3svm::solver::Adam;
use m3svm::{AnyLoss, AnySolver, Dataset, Method, Model, Spec};
use m3svm_io::{Column, ReadOptions, read};

#[expect(clippy::print_stdout, reason = "that is what it is for")]
fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (file, options) = arguments.split_first().ok_or("which data file?")?;
    let option = |name: &str| options.iter().position(|o| o == name).and_then(|at| options.get(at + 1));
    let number = |name: &str| option(name).map(|text| text.parse::<f64>()).transpose();

    let label = option("--label").map(|name| Column::Typed(name.clone()));
    let data = read(Path::new(file), &ReadOptions { label, ..ReadOptions::default() })?.into_dataset()?;
    let method = match option("--method") {
        Some(name) => Method::ALL.into_iter().find(|method| method.name() == name).ok_or("no such method")?,
        None => Method::default(),
    };
    let mut spec = Spec { tol: number("--tol")?.unwrap_or(1e-6), ..method.spec().with_usual_lambda() };
    if let Some(lambda) = number("--lambda")? {
        spec.penalty = spec.penalty.with_lambda(lambda);
    }
    if let Some(p) = number("--p")? {
        spec.penalty = spec.penalty.with_p(p);
    }
    if let Some(delta) = number("--delta")? {
        spec.loss = AnyLoss::SmoothHinge(SmoothHinge { delta });
    }
    if let Some(learning_rate) = number("--adam")? {
        spec.solver = AnySolver::Adam(Adam { learning_rate, ..Adam::default() });
    }
    let repeats = number("--repeats")?.unwrap_or(3.0) as usize;

    let (_, _, model) = timed(&spec, &data)?;
    let runs: Vec<_> = (0..repeats.max(1)).map(|_| timed(&spec, &data)).collect::<Result<_, _>>()?;
    let seconds: Vec<f64> = runs.iter().map(|run| run.0).collect();
    let traces: Vec<Vec<[f64; 2]>> = runs.iter().map(|run| run.1.clone()).collect();
    let (certificate, training) = (model.certificate(), model.training());
    let bound = certificate.lower_bound.map_or("null".to_string(), |bound| bound.to_string());
    println!(
        "{{\"seconds\": {seconds:?}, \"traces\": {traces:?}, \"objective\": {}, \"lower_bound\": {bound}, \"stop\": \"{}\", \
         \"iterations\": {}}}",
        certificate.objective,
        training.stop.name(),
        training.iterations
    );
    Ok(())
}

/// Seconds of a fit, seconds and objective after each of its iterations, and the model.
fn timed(spec: &Spec, data: &Dataset<'_>) -> m3svm::Result<(f64, Vec<[f64; 2]>, Model)> {
    let mut trace = Vec::new();
    let started = Instant::now();
    let model = spec.fit_watched(data, None, &mut |at| {
        if !at.inner {
            trace.push([started.elapsed().as_secs_f64(), at.objective]);
        }
        ControlFlow::Continue(())
    })?;
    Ok((started.elapsed().as_secs_f64(), trace, model))
}
