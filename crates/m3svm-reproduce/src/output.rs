//! Files of results: every one is replaced whole, and has its settings beside it.

use std::path::PathBuf;

use m3svm::write_file;
use m3svm_report::Figure;
use serde::Serialize;
use serde_json::{Value, json};

use crate::data::folder;
use crate::error::{Error, Result};
use crate::plan::{Plan, Protocol};

/// The folder of results, and the settings that all of them share.
pub(crate) struct Output {
    folder: PathBuf,
    inputs: Vec<PathBuf>,
    common: Value,
}

impl Output {
    pub(crate) fn open(plan: &Plan) -> Result<Self> {
        let protocol = match plan.protocol {
            Protocol::Paper => "paper",
            Protocol::Fair => "fair",
            Protocol::Both => "both",
        };
        let common = json!({
            "version": env!("CARGO_PKG_VERSION"), "protocol": protocol, "seed": plan.seed, "repeats": plan.repeats,
            "sets": plan.sets,
        });
        Ok(Self { folder: folder(plan.output.clone())?, inputs: plan.inputs(), common })
    }

    /// Where a file goes.
    fn place(&self, name: &str) -> Result<PathBuf> {
        let path = self.folder.join(name);
        m3svm::check_apart(&path, &self.inputs)?;
        Ok(path)
    }

    /// A table of records.
    pub(crate) fn csv<T: Serialize>(&self, name: &str, records: impl IntoIterator<Item = T>) -> Result<()> {
        let path = self.place(&format!("{name}.csv"))?;
        let mut writer = csv::Writer::from_writer(Vec::new());
        let failed = |source: std::io::Error| Error::Io { path: path.clone(), source };
        for record in records {
            writer.serialize(record).map_err(|e| failed(std::io::Error::other(e)))?;
        }
        let bytes = writer.into_inner().map_err(|e| failed(std::io::Error::other(e.to_string())))?;
        Ok(write_file(&path, |out| out.write_all(&bytes))?)
    }

    /// A text.
    pub(crate) fn text(&self, name: &str, text: &str) -> Result<()> {
        Ok(write_file(&self.place(name)?, |out| out.write_all(text.as_bytes()))?)
    }

    /// The settings behind a result, with those that all results share.
    pub(crate) fn settings(&self, name: &str, own: Value) -> Result<()> {
        let both = json!({"run": self.common, "settings": own});
        self.text(&format!("{name}.json"), &format!("{both:#}\n"))
    }

    /// A figure as SVG and, where that is built in, as PNG.
    pub(crate) fn figure(&self, name: &str, figure: &Figure) -> Result<()> {
        figure.save(&self.place(&format!("{name}.svg"))?)?;
        #[cfg(feature = "png")]
        figure.save(&self.place(&format!("{name}.png"))?)?;
        Ok(())
    }
}

/// Mean and standard deviation.
pub(crate) fn mean_sd(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (mean, if values.len() > 1 { variance.sqrt() } else { 0.0 })
}
