//! `m3svm predict`.

use std::io::{self, Write};

use anyhow::{Context, bail};
use m3svm::{Method, Model};
use m3svm_io::LabelUse;

use crate::args::PredictArgs;
use crate::files::check_output;
use crate::report;

pub(crate) fn run(args: &PredictArgs) -> anyhow::Result<()> {
    if let Some(output) = &args.output {
        check_output(output, &[&args.file, &args.model])?;
    }
    let model = Model::load(&args.model)?;
    if args.proba && !model.has_probabilities() {
        bail!("{}", no_probabilities(&model));
    }
    let table = args.data.read_for(&args.file, &model, LabelUse::Ignore)?;
    let x = &table.x;
    let mut columns: Vec<(&str, Vec<f64>)> = Vec::new();
    if args.scores {
        columns.push(("score", model.scores(x)?));
    }
    if args.proba {
        let probabilities = model.probabilities(x)?;
        columns.push(("proba", probabilities.with_context(|| no_probabilities(&model))?));
    }
    let predicted = model.predict(x)?;
    let write = |out: &mut dyn Write| write_csv(out, &model, &predicted, &columns);
    match &args.output {
        Some(path) => Ok(m3svm::write_file(path, write)?),
        None => {
            let mut out = io::BufWriter::new(io::stdout().lock());
            write(&mut out).and_then(|()| out.flush()).context("standard output")
        }
    }
}

/// One line per row: the class, then the asked-for numbers of every class.
fn write_csv(out: &mut dyn Write, model: &Model, predicted: &[u32], columns: &[(&str, Vec<f64>)]) -> io::Result<()> {
    let classes = model.classes();
    let mut csv = csv::Writer::from_writer(out);
    let mut lines = || -> csv::Result<()> {
        csv.write_field("prediction")?;
        for (kind, _) in columns {
            for class in classes {
                csv.write_field(format!("{kind}_{class}"))?;
            }
        }
        csv.write_record(None::<&[u8]>)?;
        for (i, &k) in predicted.iter().enumerate() {
            csv.write_field(&classes[k as usize])?;
            for (_, values) in columns {
                for value in &values[i * classes.len()..(i + 1) * classes.len()] {
                    csv.write_field(value.to_string())?;
                }
            }
            csv.write_record(None::<&[u8]>)?;
        }
        Ok(())
    };
    lines().map_err(|e| match e.into_kind() {
        // As it is, or a broken pipe could not be told from other failures.
        csv::ErrorKind::Io(e) => e,
        other => io::Error::other(format!("{other:?}")),
    })?;
    csv.flush()
}

fn no_probabilities(model: &Model) -> String {
    let defines = |m: &Method| m.spec().loss.as_dyn().probabilities(&mut [0.0, 0.0]);
    let able: Vec<&str> = Method::ALL.into_iter().filter(defines).map(Method::name).collect();
    format!(
        "the method {} defines no probabilities; train with --method {}",
        report::method(model.spec()),
        able.join(" or ")
    )
}
