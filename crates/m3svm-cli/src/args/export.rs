//! Options of `m3svm export`.

use std::path::PathBuf;

use anyhow::bail;
use clap::Args;
use m3svm_export::{Format, Options, Precision};

use super::output;
use super::spec::{named, or};

/// `m3svm export`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    m3svm export iris.m3svm --format onnx -o iris.onnx\n  \
    m3svm export iris.m3svm --format c --name iris -o iris.c\n\n\
    Scaling is folded into the weights: all formats take features as they are in the data.")]
pub(crate) struct ExportArgs {
    /// The model file
    pub(crate) model: PathBuf,
    #[arg(long, value_name = "NAME", value_parser = named(Format::ALL.map(|f| (f.name(), f))),
        help = format_help(), hide_possible_values = true)]
    pub(crate) format: Format,
    /// Write to this file [default: standard output]
    #[arg(short, long, value_name = "FILE", value_parser = output())]
    pub(crate) output: Option<PathBuf>,
    #[arg(long, value_name = "NAME", value_parser = named(PRECISIONS),
        help = or("Type of features and scores in an ONNX graph", PRECISIONS[0].0))]
    precision: Option<Precision>,
    #[arg(long, value_name = "NAME", help = or("What names in C begin with", Options::default().prefix))]
    name: Option<String>,
}

impl ExportArgs {
    /// The choices that the format leaves.
    pub(crate) fn options(&self) -> anyhow::Result<Options> {
        let own = [("precision", Format::Onnx, self.precision.is_some()), ("name", Format::C, self.name.is_some())];
        if let Some((option, format, _)) = own.into_iter().find(|(_, format, given)| *given && *format != self.format) {
            bail!("`--{option}` belongs to the format {}, the format is {}", format.name(), self.format.name());
        }
        let usual = Options::default();
        let precision = self.precision.unwrap_or(usual.precision);
        Ok(Options { precision, prefix: self.name.clone().unwrap_or(usual.prefix), ..usual })
    }
}

/// The default comes first.
const PRECISIONS: [(&str, Precision); 2] = [("single", Precision::Single), ("double", Precision::Double)];

fn format_help() -> String {
    let each: Vec<String> = Format::ALL.iter().map(|f| format!("{}: {}", f.name(), f.summary())).collect();
    format!("What to turn the model into\n{}", each.join("\n"))
}
