//! Model files on their way in.

use std::collections::HashSet;
use std::io::{self, Read};
use std::ops::Range;

use safetensors::Dtype;
use safetensors::tensor::Metadata;

use super::{
    CHECKSUM, FORMAT_VERSION, FileDefect, Header, KEY, MAX_HEADER, MAX_STREAM, PLAIN_VERSION, TensorShape, Version,
};
use crate::certificate::Certificate;
use crate::memory;
use crate::model::Model;
use crate::prepare::Preprocessor;
use crate::scale::Scaler;

/// Reads a model from a source whose length may be known.
pub(super) fn decode(mut source: impl Read, length: Option<u64>) -> std::result::Result<Model, FileDefect> {
    const NOT_ONE: &str = "it does not begin like one";
    let mut size = [0; 8];
    source.read_exact(&mut size).map_err(|e| match e.kind() {
        io::ErrorKind::UnexpectedEof if length == Some(0) => FileDefect::from("it is empty"),
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
    has_room(header_len)?;
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
    has_room(layout.bytes)?;
    let data = exactly(&mut source, layout.bytes)?;
    if length.is_none() && source.read(&mut [0])? > 0 {
        return Err("there are bytes after its end".into());
    }
    layout.check_sum(&data, &metadata, &header)?;
    layout.model(&data, header)
}

/// Asks for the memory of so many bytes and of what is made of them. Files can be longer than what of them is on the disk.
fn has_room(bytes: u64) -> std::result::Result<(), FileDefect> {
    let bytes = bytes.saturating_mul(2);
    memory::check("the model", bytes).map_err(|_| FileDefect::Memory(bytes))
}

/// Reads so many bytes. Memory grows with what arrives, not with what was promised.
fn exactly(source: &mut impl Read, count: u64) -> std::result::Result<Vec<u8>, FileDefect> {
    let mut bytes = Vec::new();
    source.by_ref().take(count).read_to_end(&mut bytes)?;
    if bytes.len() as u64 != count {
        return Err("it is cut off".into());
    }
    Ok(bytes)
}

fn parse_header(metadata: &Metadata) -> std::result::Result<Header, FileDefect> {
    let json = header_text(metadata).ok_or("it is a safetensors file, but not of m3svm")?;
    let version: Version = serde_json::from_str(json).map_err(|_| "its header has no format version")?;
    match version.format_version {
        PLAIN_VERSION | FORMAT_VERSION => {}
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

pub(super) fn check_header(header: &Header) -> std::result::Result<(), FileDefect> {
    let c = header.classes.len();
    if c < 2 {
        return Err(format!("it has {c} classes, expected at least 2").into());
    }
    let distinct: HashSet<&String> = header.classes.iter().collect();
    if distinct.len() != c {
        return Err("two of its classes have the same name".into());
    }
    if let Some((name, kind)) = header.labels.and_then(|kind| Some((kind.misfit(&header.classes)?, kind))) {
        return Err(format!("its class `{name}` must {}", kind.must()).into());
    }
    header.spec.check().map_err(|e| format!("its settings are broken ({e})"))?;
    let Certificate { objective, lower_bound } = header.certificate;
    if !(objective.is_finite() && objective >= 0.0) {
        return Err(format!("its objective is {objective}, expected a finite number of at least 0").into());
    }
    match lower_bound {
        Some(bound) if bound > objective => {
            return Err(format!("its lower bound {bound} is above its objective {objective}").into());
        }
        Some(bound) if !(bound >= 0.0) => {
            return Err(format!("its lower bound is {bound}, expected a number of at least 0").into());
        }
        _ => {}
    }
    if header.expansion.is_some() == header.spec.kernel.is_linear() {
        return Err("its kernel does not fit its settings".into());
    }
    if let Some(expansion) = &header.expansion {
        expansion.check(&header.spec)?;
    }
    let support = header.support.as_ref();
    if support.is_some_and(|s| Some(s.len()) != c.checked_mul(c)) {
        return Err("its support vectors do not fit its classes".into());
    }
    if let Some(defect) = header.preprocessor.as_ref().and_then(Preprocessor::defect) {
        return Err(format!("its preparation of columns is broken ({defect})").into());
    }
    if !(0.0..=1.0).contains(&header.train_accuracy) {
        return Err("its training accuracy is not between 0 and 1".into());
    }
    Ok(())
}

pub(super) fn all_finite(name: &str, values: &[f64]) -> std::result::Result<(), FileDefect> {
    match values.iter().position(|v| !v.is_finite()) {
        Some(i) => Err(format!("number {} of `{name}` is {}", i + 1, values[i]).into()),
        None => Ok(()),
    }
}

/// Where the tensors are.
pub(super) struct Layout {
    /// Their names, kinds and places, in the order that the checksum takes them in.
    parts: Vec<(&'static str, Dtype, Range<usize>)>,
    bytes: u64,
}

impl Layout {
    fn of(metadata: &Metadata, header: &Header) -> std::result::Result<Self, FileDefect> {
        let c = header.classes.len();
        let m = header.spec.scheme.scorers(c);
        let shape = |name: &str| metadata.info(name).map(|info| info.shape.as_slice());
        let d = match (&header.expansion, shape("weights"), shape("scaler.shift")) {
            (None, Some(&[d, columns]), _) if d > 0 && columns == m => d,
            (Some(_), _, Some(&[d])) if d > 0 => d,
            _ => return Err("its weights do not fit its classes".into()),
        };
        if header.feature_names.as_ref().is_some_and(|n| n.len() != d) {
            return Err("its feature names do not fit its weights".into());
        }
        if header.preprocessor.as_ref().is_some_and(|p| p.width() != d) {
            return Err("its preparation of columns does not fit its weights".into());
        }
        let mut expected = match &header.expansion {
            Some(_) => Vec::new(),
            None => vec![("weights", Dtype::F64, vec![d, m])],
        };
        expected.push(("intercept", Dtype::F64, vec![m]));
        expected.push(("scaler.shift", Dtype::F64, vec![d]));
        expected.push(("scaler.factor", Dtype::F64, vec![d]));
        if let Some(expansion) = &header.expansion {
            expected.extend(expansion.shapes(&shape, d, m, c)?);
        }
        let part = |(name, kind, shape): TensorShape| match metadata.info(name) {
            // `Metadata` has checked that the offsets match the shape.
            Some(info) if info.dtype == kind && info.shape == shape => {
                Ok((name, kind, info.data_offsets.0..info.data_offsets.1))
            }
            _ => Err(format!("its `{name}` is missing or does not fit its weights")),
        };
        let parts = expected.into_iter().map(part).collect::<std::result::Result<Vec<_>, String>>()?;
        if metadata.tensors().len() != parts.len() {
            return Err("it has tensors that are none of m3svm's".into());
        }
        Ok(Self { parts, bytes: metadata.data_len() as u64 })
    }

    pub(super) fn bytes_of<'d>(&self, data: &'d [u8], name: &str) -> &'d [u8] {
        let part = self.parts.iter().find(|(known, ..)| *known == name);
        part.map_or(&[], |(_, _, range)| &data[range.clone()])
    }

    /// The numbers of a tensor; none if there is no such tensor.
    pub(super) fn numbers(&self, data: &[u8], name: &str) -> std::result::Result<Vec<f64>, FileDefect> {
        let bytes = self.bytes_of(data, name);
        let values: Vec<f64> = bytes.as_chunks().0.iter().map(|b| f64::from_le_bytes(*b)).collect();
        all_finite(name, &values).map(|()| values)
    }

    pub(super) fn integers(&self, data: &[u8], name: &str) -> Vec<u32> {
        self.bytes_of(data, name).as_chunks().0.iter().map(|b| u32::from_le_bytes(*b)).collect()
    }

    /// Compares the checksum, if the file has one.
    fn check_sum(&self, data: &[u8], metadata: &Metadata, header: &Header) -> std::result::Result<(), FileDefect> {
        let Some(expected) = header.checksum else { return Ok(()) };
        let mut found = crc32fast::Hasher::new();
        self.parts.iter().for_each(|(_, _, range)| found.update(&data[range.clone()]));
        let before = header_text(metadata).and_then(|text| text.rsplit_once(CHECKSUM));
        found.update(before.map_or("", |(before, _)| before).as_bytes());
        if found.finalize() != expected {
            return Err("it is damaged, its checksum does not fit".into());
        }
        Ok(())
    }

    fn model(&self, data: &[u8], header: Header) -> std::result::Result<Model, FileDefect> {
        let numbers = |name: &str| self.numbers(data, name);
        let scaler = Scaler { shift: numbers("scaler.shift")?, factor: numbers("scaler.factor")? };
        if scaler.factor.contains(&0.0) {
            return Err("it scales a feature by 0".into());
        }
        let expansion = header.expansion.as_ref();
        let expansion = expansion.map(|expansion| expansion.read(self, data, &header)).transpose()?;
        let model = Model {
            weights: numbers("weights")?,
            expansion,
            intercept: numbers("intercept")?,
            scaler,
            spec: header.spec,
            classes: header.classes,
            feature_names: header.feature_names,
            preprocessor: header.preprocessor,
            certificate: header.certificate,
            training: header.training,
            train_accuracy: header.train_accuracy,
            support: header.support,
            support_rows: header.support_rows,
            label_kind: header.labels,
            temperature: None,
        };
        if let Some(feature) = model.overflowing() {
            return Err(format!("its weights for feature {} are not finite without the scaling", feature + 1).into());
        }
        match header.temperature {
            Some(temperature) => {
                model.with_temperature(temperature).map_err(|e| format!("its temperature is broken ({e})").into())
            }
            None => Ok(model),
        }
    }
}
