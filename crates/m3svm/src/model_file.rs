//! The model file: safetensors with the numbers as tensors and everything else as JSON in its metadata.
//!
//! ```text
//! weights [d, m]   intercept [m]   scaler.factor [d]   scaler.shift [d]      all f64
//! __metadata__.m3svm   format_version, spec, classes, feature_names, certificate, training, ...
//! ```
//!
//! The metadata ends with a CRC-32 of itself and of the numbers: a bit that a disk or a network has flipped is found on loading.
//!
//! Nothing in a file is trusted: sizes are checked against each other before anything is allocated for them.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use safetensors::tensor::{Metadata, TensorView};
use safetensors::{Dtype, serialize};
use serde::{Deserialize, Serialize};

use crate::certificate::Certificate;
use crate::error::{Error, Result};
use crate::model::{Model, Training};
use crate::output_file::write_file;
use crate::scale::Scaler;
use crate::spec::Spec;

/// The version that is written, and the newest that can be read.
const FORMAT_VERSION: u64 = 1;
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
    feature_names: Option<Vec<String>>,
    certificate: Certificate,
    training: Training,
    train_accuracy: f64,
    support: Option<Vec<usize>>,
    support_rows: Option<usize>,
    /// CRC-32 of the numbers and of all of this text before the field, which therefore comes last; none in files of old.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    checksum: Option<u32>,
}

/// How the checksum begins in the text of the header.
const CHECKSUM: &str = ",\"checksum\":";

/// The part of the header that every version has.
#[derive(Deserialize)]
struct Version {
    format_version: u64,
}

/// Why a model cannot be read.
enum Problem {
    Io(io::Error),
    Content(String),
}

impl From<io::Error> for Problem {
    fn from(e: io::Error) -> Self {
        Self::Io(e)
    }
}

impl From<String> for Problem {
    fn from(what: String) -> Self {
        Self::Content(what)
    }
}

impl From<&str> for Problem {
    fn from(what: &str) -> Self {
        Self::Content(what.into())
    }
}

impl Problem {
    fn at(self, path: &Path) -> Error {
        let path = path.to_path_buf();
        match self {
            Self::Io(source) => Error::Io { path, source },
            Self::Content(what) => Error::Model { path, what },
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

    /// Reads a model file. Any file that [`Model::save`] did not write is refused with a reason.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let read = || {
            let file = File::open(path)?;
            let found = file.metadata()?;
            decode(file, found.is_file().then_some(found.len()))
        };
        read().map_err(|problem: Problem| problem.at(path))
    }

    /// The content of the model file. The same model always gives the same bytes.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        self.encode().map_err(|problem| problem.at(Path::new(MEMORY)))
    }

    /// The model in the content of a model file.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        decode(bytes, Some(bytes.len() as u64)).map_err(|problem| problem.at(Path::new(MEMORY)))
    }

    fn encode(&self) -> std::result::Result<Vec<u8>, Problem> {
        let header = Header {
            format_version: FORMAT_VERSION,
            spec: self.spec.clone(),
            classes: self.classes.clone(),
            feature_names: self.feature_names.clone(),
            certificate: self.certificate,
            training: self.training.clone(),
            train_accuracy: self.train_accuracy,
            support: self.support.clone(),
            support_rows: self.support_rows,
            checksum: None,
        };
        all_finite("certificate", &[self.certificate.objective, self.certificate.lower_bound.unwrap_or(0.0)])?;
        let mut json = serde_json::to_string(&header).map_err(|e| e.to_string())?;
        json.pop(); // The brace, which comes back after the checksum.
        let mut checksum = crc32fast::Hasher::new();
        let (d, m) = (self.features(), self.scorers());
        let mut tensors = Vec::new();
        for (name, values, shape) in [
            ("weights", &self.weights, vec![d, m]),
            ("intercept", &self.intercept, vec![m]),
            ("scaler.shift", &self.scaler.shift, vec![d]),
            ("scaler.factor", &self.scaler.factor, vec![d]),
        ] {
            // A model that could not be read back must not replace one that can.
            all_finite(name, values)?;
            let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
            checksum.update(&bytes);
            tensors.push((name, shape, bytes));
        }
        checksum.update(json.as_bytes());
        json += &format!("{CHECKSUM}{}}}", checksum.finalize());
        let views = tensors
            .iter()
            .map(|(name, shape, bytes)| Ok((*name, TensorView::new(Dtype::F64, shape.clone(), bytes)?)))
            .collect::<std::result::Result<Vec<_>, safetensors::SafeTensorError>>();
        views
            // A single key: the order of several would not be fixed.
            .and_then(|views| serialize(views, Some(HashMap::from([(KEY.to_string(), json)]))))
            .map_err(|e| e.to_string().into())
    }
}

/// What errors call a model that is not in a file.
const MEMORY: &str = "(bytes)";

/// Reads a model from a source whose length may be known.
fn decode(mut source: impl Read, length: Option<u64>) -> std::result::Result<Model, Problem> {
    const NOT_ONE: &str = "it does not begin like one";
    let mut size = [0; 8];
    source.read_exact(&mut size).map_err(|e| match e.kind() {
        io::ErrorKind::UnexpectedEof if length == Some(0) => Problem::from("it is empty"),
        io::ErrorKind::UnexpectedEof => NOT_ONE.into(),
        _ => e.into(),
    })?;
    let header_len = u64::from_le_bytes(size);
    if !(2..=MAX_HEADER).contains(&header_len) {
        return Err(NOT_ONE.into());
    }
    if length.is_some_and(|n| n.saturating_sub(8) < header_len) {
        return Err("it is cut off, or no model at all".into());
    }
    let json = exactly(&mut source, header_len)?;
    let metadata: Metadata = serde_json::from_slice(&json).map_err(|_| NOT_ONE)?;
    let header = parse_header(&metadata)?;
    check_header(&header)?;
    let layout = Layout::of(&metadata, &header)?;
    match length {
        Some(found) if found != 8 + header_len + layout.bytes => {
            let expected = 8 + header_len + layout.bytes;
            return Err(format!("it should have {expected} bytes and has {found}").into());
        }
        None if layout.bytes > MAX_STREAM => {
            return Err("it is too large to be read from a stream".into());
        }
        _ => {}
    }
    let data = exactly(&mut source, layout.bytes)?;
    if length.is_none() && source.read(&mut [0])? > 0 {
        return Err("there are bytes after its end".into());
    }
    layout.check_sum(&data, &metadata, &header)?;
    layout.model(&data, header)
}

/// Reads so many bytes. Memory grows with what arrives, not with what was promised.
fn exactly(source: &mut impl Read, count: u64) -> std::result::Result<Vec<u8>, Problem> {
    let mut bytes = Vec::new();
    source.by_ref().take(count).read_to_end(&mut bytes)?;
    if bytes.len() as u64 != count {
        return Err("it is cut off".into());
    }
    Ok(bytes)
}

fn parse_header(metadata: &Metadata) -> std::result::Result<Header, Problem> {
    let json = header_text(metadata).ok_or("it is a safetensors file, but not of m3svm")?;
    let version: Version = serde_json::from_str(json).map_err(|_| "its header has no format version")?;
    match version.format_version {
        FORMAT_VERSION => {}
        newer if newer > FORMAT_VERSION => {
            return Err(format!(
                "it has format version {newer}, this program reads up to {FORMAT_VERSION}; use a newer m3svm"
            )
            .into());
        }
        other => return Err(format!("there is no format version {other}").into()),
    }
    serde_json::from_str(json).map_err(|e| format!("its header is broken ({e})").into())
}

fn header_text(metadata: &Metadata) -> Option<&str> {
    metadata.metadata().as_ref()?.get(KEY).map(String::as_str)
}

fn check_header(header: &Header) -> std::result::Result<(), Problem> {
    let c = header.classes.len();
    if c < 2 {
        return Err(format!("it has {c} classes, expected at least 2").into());
    }
    let distinct: HashSet<&String> = header.classes.iter().collect();
    if distinct.len() != c {
        return Err("two of its classes have the same name".into());
    }
    header.spec.check().map_err(|e| format!("its settings are broken ({e})"))?;
    let support = header.support.as_ref();
    if support.is_some_and(|s| Some(s.len()) != c.checked_mul(c)) {
        return Err("its support vectors do not fit its classes".into());
    }
    if !(0.0..=1.0).contains(&header.train_accuracy) {
        return Err("its training accuracy is not between 0 and 1".into());
    }
    Ok(())
}

fn all_finite(name: &str, values: &[f64]) -> std::result::Result<(), Problem> {
    match values.iter().position(|v| !v.is_finite()) {
        Some(i) => Err(format!("number {} of `{name}` is {}", i + 1, values[i]).into()),
        None => Ok(()),
    }
}

/// Where the tensors are.
struct Layout {
    /// Start of weights, intercept, shift and factor, and their lengths in numbers.
    parts: [(&'static str, usize, usize); 4],
    bytes: u64,
}

impl Layout {
    fn of(metadata: &Metadata, header: &Header) -> std::result::Result<Self, Problem> {
        let m = header.spec.scheme.scorers(header.classes.len());
        let shape = |name: &str| metadata.info(name).map(|info| info.shape.as_slice());
        let d = match shape("weights") {
            Some(&[d, columns]) if d > 0 && columns == m => d,
            _ => return Err("its weights do not fit its classes".into()),
        };
        if header.feature_names.as_ref().is_some_and(|n| n.len() != d) {
            return Err("its feature names do not fit its weights".into());
        }
        let part = |name: &'static str, expected: &[usize]| match metadata.info(name) {
            Some(info) if info.dtype == Dtype::F64 && info.shape == expected => {
                // `Metadata` has checked that the offsets match the shape.
                let (from, to) = info.data_offsets;
                Ok((name, from, (to - from) / 8))
            }
            _ => Err(format!("its `{name}` is missing or does not fit its weights")),
        };
        let parts = [
            part("weights", &[d, m])?,
            part("intercept", &[m])?,
            part("scaler.shift", &[d])?,
            part("scaler.factor", &[d])?,
        ];
        if metadata.tensors().len() != parts.len() {
            return Err("it has tensors that are none of m3svm's".into());
        }
        Ok(Self { parts, bytes: metadata.data_len() as u64 })
    }

    /// Compares the checksum, if the file has one.
    fn check_sum(&self, data: &[u8], metadata: &Metadata, header: &Header) -> std::result::Result<(), Problem> {
        let Some(expected) = header.checksum else { return Ok(()) };
        let mut found = crc32fast::Hasher::new();
        self.parts.iter().for_each(|(_, from, count)| found.update(&data[*from..from + 8 * count]));
        let before = header_text(metadata).and_then(|text| text.rsplit_once(CHECKSUM));
        found.update(before.map_or("", |(before, _)| before).as_bytes());
        if found.finalize() != expected {
            return Err("it is damaged, its checksum does not fit".into());
        }
        Ok(())
    }

    fn model(&self, data: &[u8], header: Header) -> std::result::Result<Model, Problem> {
        let numbers = |part: usize| {
            let (name, from, count) = self.parts[part];
            let bytes = &data[from..from + 8 * count];
            let values: Vec<f64> = bytes.as_chunks().0.iter().map(|b| f64::from_le_bytes(*b)).collect();
            all_finite(name, &values).map(|()| values)
        };
        let scaler = Scaler { shift: numbers(2)?, factor: numbers(3)? };
        if scaler.factor.contains(&0.0) {
            return Err("it scales a feature by 0".into());
        }
        Ok(Model {
            weights: numbers(0)?,
            intercept: numbers(1)?,
            scaler,
            spec: header.spec,
            classes: header.classes,
            feature_names: header.feature_names,
            certificate: header.certificate,
            training: header.training,
            train_accuracy: header.train_accuracy,
            support: header.support,
            support_rows: header.support_rows,
        })
    }
}

#[cfg(test)]
#[path = "model_file_tests.rs"]
mod tests;
