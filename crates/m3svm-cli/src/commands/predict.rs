//! `m3svm predict`.

use std::cell::RefCell;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};

use anyhow::{Context, bail};
use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use m3svm::{Method, Model};
use m3svm_io::{LabelUse, OutputFormat, Table, write_batches};

use crate::args::PredictArgs;
use crate::files::{all_files, called, check_outputs};
use crate::report;

/// Rows that are written at once.
const BATCH: usize = 8192;

pub(crate) fn run(args: &PredictArgs) -> anyhow::Result<()> {
    let files = all_files(&args.file)?;
    let inputs: Vec<&Path> = files.iter().chain([&args.model]).map(PathBuf::as_path).collect();
    check_outputs(&[("prediction", args.output.as_deref())], &inputs, false)?;
    let format = match &args.output {
        Some(path) => OutputFormat::of_path(path).with_context(|| {
            format!("{}: this cannot be written, expected .csv, .tsv, .jsonl, .parquet or .arrow, the first three also with .gz", report::file(path))
        })?,
        None => OutputFormat::default(),
    };
    let model = Model::load(&args.model)?;
    if args.proba && !model.has_probabilities() {
        bail!("{}", no_probabilities(&model));
    }
    let table = match files.as_slice() {
        [file] => args.data.read_for(file, &model, LabelUse::Ignore, &args.keep),
        _ => return in_parts(args, &model, &files, format),
    };
    let table = match table {
        // What comes from a pipe is gone.
        Err(error) if crate::is_over_budget(&error) && files[0].is_file() => {
            return in_parts(args, &model, &files, format);
        }
        table => table?,
    };
    let said = said(args, &model, &table)?;
    let schema = said.schema()?;
    written(args, &mut |out| write_batches(out, format, &schema, said.batches(&schema)))
}

/// The same for rows that pass by: one thread reads them and says what is said of them, the other one writes.
fn in_parts(args: &PredictArgs, model: &Model, files: &[PathBuf], format: OutputFormat) -> anyhow::Result<()> {
    let (sender, receiver) = mpsc::sync_channel::<RecordBatch>(2);
    std::thread::scope(|scope| {
        let reading = scope.spawn(move || {
            args.data.read_parts_for(files, model, LabelUse::Ignore, &args.keep, &mut |table| {
                let said = said(args, model, &table)?;
                let schema = said.schema()?;
                for batch in said.batches(&schema) {
                    // Nobody takes it where writing has failed, which is said there.
                    if sender.send(batch?).is_err() {
                        bail!("nobody takes what was read");
                    }
                }
                Ok(())
            })
        });
        // What went wrong while reading is said instead of what became of the writing, and leaves no file behind.
        let failed = RefCell::new(None);
        let mut reading = Some(reading);
        let mut joined = || {
            let done = reading.take().map(|reading| reading.join().unwrap_or_else(|_| bail!("reading failed")));
            match done {
                Some(Err(error)) => {
                    *failed.borrow_mut() = Some(error);
                    Some(Err(io::Error::other("the data could not be read")))
                }
                _ => None,
            }
        };
        let first = receiver.recv().ok();
        let written = match &first {
            None => {
                joined();
                Ok(())
            }
            Some(batch) => {
                let schema = batch.schema();
                written(args, &mut |out| {
                    let rest = std::iter::from_fn(|| receiver.recv().ok().map(Ok).or_else(&mut joined));
                    write_batches(out, format, &schema, std::iter::once(Ok(batch.clone())).chain(rest))
                })
            }
        };
        drop(receiver);
        match failed.into_inner() {
            Some(error) => Err(error),
            None if first.is_none() => bail!("{}: the table has no rows", called(&args.file)),
            None => written,
        }
    })
}

/// Writes to where it was asked for.
fn written(args: &PredictArgs, write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>) -> anyhow::Result<()> {
    match &args.output {
        Some(path) => Ok(m3svm::write_file(path, write)?),
        None => {
            let mut out = io::BufWriter::new(io::stdout().lock());
            write(&mut out).and_then(|()| out.flush()).context("standard output")
        }
    }
}

/// What is said of the rows of a table.
fn said<'a>(args: &PredictArgs, model: &'a Model, table: &'a Table) -> anyhow::Result<Said<'a>> {
    // A row without finite scores is one of this file.
    let (x, file) = (&table.x, || report::file(&table.file));
    let mut numbers: Vec<(&str, Vec<f64>)> = Vec::new();
    if args.scores {
        numbers.push(("score", model.scores(x).with_context(file)?));
    }
    if args.proba {
        let probabilities = model.probabilities(x).with_context(file)?;
        numbers.push(("proba", probabilities.with_context(|| no_probabilities(model))?));
    }
    let predicted = model.predict(x).with_context(file)?;
    Ok(Said { model, kept: table.kept.as_ref(), predicted, numbers })
}

/// What is said of rows: columns that are handed on, the class, then the asked-for numbers of every class.
struct Said<'a> {
    model: &'a Model,
    kept: Option<&'a RecordBatch>,
    predicted: Vec<u32>,
    numbers: Vec<(&'static str, Vec<f64>)>,
}

impl Said<'_> {
    fn schema(&self) -> anyhow::Result<SchemaRef> {
        let field = |name: String, kind| Arc::new(Field::new(name, kind, false));
        let mut fields: Vec<_> = self.kept.iter().flat_map(|kept| kept.schema_ref().fields().iter().cloned()).collect();
        let own = fields.len();
        fields.push(field("prediction".into(), DataType::Utf8));
        for (kind, _) in &self.numbers {
            let classes = self.model.classes().iter();
            fields.extend(classes.map(|class| field(format!("{kind}_{class}"), DataType::Float64)));
        }
        let (kept, said) = fields.split_at(own);
        if let Some(twice) = kept.iter().find(|kept| said.iter().any(|said| said.name() == kept.name())) {
            bail!("`--keep`: the column {} would stand there twice", crate::table::shown(twice.name(), 40));
        }
        Ok(Arc::new(Schema::new(fields)))
    }

    fn batches(&self, schema: &SchemaRef) -> impl Iterator<Item = io::Result<RecordBatch>> {
        let starts = (0..self.predicted.len()).step_by(BATCH);
        starts
            .map(move |from| self.batch(schema, from, BATCH.min(self.predicted.len() - from)).map_err(io::Error::other))
    }

    fn batch(&self, schema: &SchemaRef, from: usize, count: usize) -> Result<RecordBatch, arrow_schema::ArrowError> {
        let classes = self.model.classes();
        let mut columns: Vec<ArrayRef> =
            self.kept.iter().flat_map(|kept| kept.slice(from, count).columns().to_vec()).collect();
        let names = self.predicted[from..from + count].iter().map(|&k| &classes[k as usize]);
        columns.push(Arc::new(StringArray::from_iter_values(names)));
        for (_, values) in &self.numbers {
            let rows = &values[from * classes.len()..(from + count) * classes.len()];
            for k in 0..classes.len() {
                let of_class = rows.iter().skip(k).step_by(classes.len()).copied();
                columns.push(Arc::new(Float64Array::from_iter_values(of_class)));
            }
        }
        RecordBatch::try_new(schema.clone(), columns)
    }
}

fn no_probabilities(model: &Model) -> String {
    let defines = |m: &Method| m.spec().loss.as_dyn().has_probabilities();
    let able: Vec<&str> = Method::ALL.into_iter().filter(defines).map(Method::name).collect();
    format!(
        "the method {} defines no probabilities, and no rows were held out in the training to learn them from; train with --validation 5, \
         or with --method {}",
        report::method(model.spec()),
        able.join(" or ")
    )
}
