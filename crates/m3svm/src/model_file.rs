//! The model file: safetensors with the numbers as tensors and everything else as JSON in its metadata.
//!
//! ```text
//! weights [d, m]   intercept [m]   scaler.factor [d]   scaler.shift [d]      all f64
//! __metadata__.m3svm   format_version, spec, classes, feature_names, certificate, training, ...
//! ```
//!
//! With a kernel there are, instead of weights, the rows that scores are sums over, and what they weigh ([`kernel_part`]).
//!
//! The metadata ends with a CRC-32 of itself and of the numbers: a bit that a disk or a network has flipped is found on loading.
//!
//! Nothing in a file is trusted: sizes are checked against each other before anything is allocated for them.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::Path;

use safetensors::tensor::TensorView;
use safetensors::{Dtype, serialize};
use serde::{Deserialize, Serialize};

use crate::certificate::Certificate;
use crate::error::{Error, Result};
use crate::label_kind::LabelKind;
use crate::memory;
use crate::model::{Model, Training};
use crate::output_file::{write_file, write_or_keep};
use crate::prepare::Preprocessor;
use crate::spec::Spec;

mod kernel_part;
mod read;

use read::{all_finite, check_header, decode};

/// The version that is written for linear models of numbers, which older programs can read.
const PLAIN_VERSION: u64 = 1;
/// The version that is written for models with a preprocessor or a kernel, and the newest that can be read.
const FORMAT_VERSION: u64 = 2;
/// The key of the metadata.
const KEY: &str = "m3svm";
/// Longest header that safetensors allows.
const MAX_HEADER: u64 = 100_000_000;
/// Most bytes that are read from something whose size is not known beforehand.
const MAX_STREAM: u64 = 1 << 30;

/// Everything that is not a matrix of numbers.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    format_version: u64,
    spec: Spec,
    classes: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    labels: Option<LabelKind>,
    feature_names: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    preprocessor: Option<Preprocessor>,
    certificate: Certificate,
    training: Training,
    train_accuracy: f64,
    support: Option<Vec<usize>>,
    support_rows: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expansion: Option<kernel_part::ExpansionHeader>,
    /// CRC-32 of the numbers and of all of this text before the field, which therefore comes last; none in files of old.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    checksum: Option<u32>,
}

/// What errors call a model that is not in a file.
const MEMORY: &str = "(bytes)";

/// How the checksum begins in the text of the header.
const CHECKSUM: &str = ",\"checksum\":";

/// The part of the header that every version has.
#[derive(Deserialize)]
struct Version {
    format_version: u64,
}

/// Why a model cannot be read.
enum FileDefect {
    Io(io::Error),
    Content(String),
    /// Bytes that the memory budget has no room for.
    Memory(u64),
}

impl From<io::Error> for FileDefect {
    fn from(e: io::Error) -> Self {
        Self::Io(e)
    }
}

impl From<String> for FileDefect {
    fn from(what: String) -> Self {
        Self::Content(what)
    }
}

impl From<&str> for FileDefect {
    fn from(what: &str) -> Self {
        Self::Content(what.into())
    }
}

impl FileDefect {
    fn at(self, path: &Path) -> Error {
        let path = path.to_path_buf();
        match self {
            Self::Io(source) => Error::Io { path, source },
            Self::Content(what) => Error::Model { path, what },
            Self::Memory(bytes) => {
                let what = format!("reading the model {}", path.display());
                Error::Memory { what, needed: Some(bytes), budget: memory::budget() }
            }
        }
    }
}

impl Model {
    /// Writes the model file in one step: a crash or a full disk leaves the old one intact.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        let bytes = self.encode().map_err(|problem| problem.at(path))?;
        write_file(path, |out| out.write_all(&bytes))
    }

    /// The same; where the file cannot be written after all, the model is kept where temporary files are, and the error says where.
    pub fn save_or_keep(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        write_or_keep(path, &self.encode().map_err(|problem| problem.at(path))?)
    }

    /// Reads a model file. Any file that [`Model::save`] did not write is refused with a reason.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let read = || {
            let file = File::open(path)?;
            let found = file.metadata()?;
            decode(file, found.is_file().then_some(found.len()))
        };
        read().map_err(|problem: FileDefect| problem.at(path))
    }

    /// The content of the model file. The same fit always gives the same bytes.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        self.encode().map_err(|problem| problem.at(Path::new(MEMORY)))
    }

    /// The model in the content of a model file.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        decode(bytes, Some(bytes.len() as u64)).map_err(|problem| problem.at(Path::new(MEMORY)))
    }

    fn encode(&self) -> std::result::Result<Vec<u8>, FileDefect> {
        let header = Header {
            format_version: if self.preprocessor.is_some() || self.expansion.is_some() {
                FORMAT_VERSION
            } else {
                PLAIN_VERSION
            },
            spec: self.spec.clone(),
            classes: self.classes.clone(),
            labels: self.label_kind,
            feature_names: self.feature_names.clone(),
            preprocessor: self.preprocessor.clone(),
            certificate: self.certificate,
            training: self.training.clone(),
            train_accuracy: self.train_accuracy,
            support: self.support.clone(),
            support_rows: self.support_rows,
            temperature: self.temperature,
            expansion: self.expansion.as_ref().map(kernel_part::ExpansionHeader::of),
            checksum: None,
        };
        check_header(&header)?;
        let mut json = serde_json::to_string(&header).map_err(|e| e.to_string())?;
        json.pop(); // The brace, which comes back after the checksum.
        let mut checksum = crc32fast::Hasher::new();
        let (d, m) = (self.features(), self.scorers());
        let mut tensors = match &self.expansion {
            Some(_) => Vec::new(),
            None => vec![Tensor::of_numbers("weights", vec![d, m], &self.weights)?],
        };
        tensors.push(Tensor::of_numbers("intercept", vec![m], &self.intercept)?);
        tensors.push(Tensor::of_numbers("scaler.shift", vec![d], &self.scaler.shift)?);
        tensors.push(Tensor::of_numbers("scaler.factor", vec![d], &self.scaler.factor)?);
        if let Some(expansion) = &self.expansion {
            tensors.extend(kernel_part::tensors(expansion, m)?);
        }
        tensors.iter().for_each(|tensor| checksum.update(&tensor.bytes));
        checksum.update(json.as_bytes());
        json += &format!("{CHECKSUM}{}}}", checksum.finalize());
        let views = tensors
            .iter()
            .map(|tensor| Ok((tensor.name, TensorView::new(tensor.kind, tensor.shape.clone(), &tensor.bytes)?)))
            .collect::<std::result::Result<Vec<_>, safetensors::SafeTensorError>>();
        views
            // A single key: the order of several would not be fixed.
            .and_then(|views| serialize(views, Some(HashMap::from([(KEY.to_string(), json)]))))
            .map_err(|e| e.to_string().into())
    }
}

/// The name, kind and shape of a tensor.
type TensorShape = (&'static str, Dtype, Vec<usize>);

/// A tensor on its way into a file.
struct Tensor {
    name: &'static str,
    kind: Dtype,
    shape: Vec<usize>,
    bytes: Vec<u8>,
}

impl Tensor {
    /// A model that could not be read back must not replace one that can.
    fn of_numbers(name: &'static str, shape: Vec<usize>, values: &[f64]) -> std::result::Result<Self, FileDefect> {
        all_finite(name, values)?;
        let bytes = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        Ok(Self { name, kind: Dtype::F64, shape, bytes })
    }

    fn of_integers(name: &'static str, values: &[u32]) -> Self {
        let bytes = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        Self { name, kind: Dtype::U32, shape: vec![values.len()], bytes }
    }
}

#[cfg(test)]
#[path = "model_file_tests.rs"]
mod tests;
