//! Trainings in files: everything that is needed to go on as if nothing had happened.
//!
//! ```text
//! m3svm-deep checkpoint 3 <length of the header>\n  header as JSON  network, optimiser, best network (MessagePack)
//! ```

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use burn_core::module::Module;
use burn_core::record::{FullPrecisionSettings, NamedMpkBytesRecorder, Record, Recorder};
use burn_core::tensor::backend::{AutodiffBackend, Backend};
use burn_optim::Optimizer;
use serde::{Deserialize, Serialize};

use crate::data::shape;
use crate::network::Network;
use crate::settings::Settings;
use crate::training::{Epoch, Training, adam};

const MAGIC: &str = "m3svm-deep checkpoint 3 ";
/// 1 did not say which images it belonged to; 2 drew orders of images with other random numbers.
const OLD: [&str; 2] = ["m3svm-deep checkpoint 1 ", "m3svm-deep checkpoint 2 "];

/// Everything but weights.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Header {
    pub(crate) settings: Settings,
    pub(crate) seed: u64,
    pub(crate) shape: [usize; 3],
    pub(crate) classes: Vec<String>,
    /// Checksum of images, labels and classes.
    pub(crate) data: String,
    /// Training images: orders of another number of images are other orders.
    pub(crate) images: usize,
    pub(crate) history: Vec<Epoch>,
    /// Infinite where class vectors coincide, which JSON calls null.
    first_margins: Vec<Option<f64>>,
    /// Bytes of the three parts; the last is 0 without early stopping.
    parts: [usize; 3],
}

/// What a training must agree with to go on from a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'a> {
    pub(crate) shape: [usize; 3],
    pub(crate) classes: &'a [String],
    pub(crate) data: &'a str,
    pub(crate) images: usize,
}

pub(crate) fn save<B: AutodiffBackend>(training: &Training<B>, place: Place<'_>, path: &Path) -> Result<()> {
    let network = encode::<B, _>(training.network.clone().into_record())?;
    let optimizer = encode::<B, _>(training.optimizer.to_record())?;
    let best = match &training.best {
        Some(best) => encode::<B, _>(best.clone().into_record())?,
        None => Vec::new(),
    };
    let header = Header {
        settings: training.settings.clone(),
        seed: training.seed,
        shape: place.shape,
        classes: place.classes.to_vec(),
        data: place.data.into(),
        images: place.images,
        history: training.history.clone(),
        first_margins: training.first_margins.iter().map(|m| m.is_finite().then_some(*m)).collect(),
        parts: [network.len(), optimizer.len(), best.len()],
    };
    let header = serde_json::to_vec(&header)?;
    m3svm::write_file(path, |out| {
        out.write_all(format!("{MAGIC}{}\n", header.len()).as_bytes())?;
        [&header, &network, &optimizer, &best].into_iter().try_for_each(|part| out.write_all(part))
    })?;
    Ok(())
}

/// The header of a file, and its parts.
pub(crate) fn read(path: &Path) -> Result<(Header, [Vec<u8>; 3])> {
    let all = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    parse(&all).with_context(|| format!("{} is not a usable checkpoint", path.display()))
}

fn parse(all: &[u8]) -> Result<(Header, [Vec<u8>; 3])> {
    let end = all.iter().take(80).position(|b| *b == b'\n').context("its first line is missing")?;
    let line = std::str::from_utf8(&all[..end])?;
    ensure!(
        !OLD.iter().any(|old| line.starts_with(old)),
        "it is of an older version, whose training cannot be continued exactly; train again"
    );
    let length: usize = line.strip_prefix(MAGIC).context("it is of another kind or version")?.parse()?;
    let rest = &all[end + 1..];
    ensure!(length <= rest.len(), "it ends early");
    let header: Header = serde_json::from_slice(&rest[..length])?;
    let mut rest = &rest[length..];
    let mut parts = [const { Vec::new() }; 3];
    for (part, size) in parts.iter_mut().zip(header.parts) {
        ensure!(size <= rest.len(), "it ends early");
        let (this, after) = rest.split_at(size);
        *part = this.to_vec();
        rest = after;
    }
    ensure!(rest.is_empty(), "it is longer than it says");
    Ok((header, parts))
}

/// The network of a file, and its header.
pub(crate) fn load_network<B: Backend>(path: &Path, device: &B::Device) -> Result<(Header, Network<B>)> {
    let (header, [last, _, best]) = read(path)?;
    let network = network(&header, if best.is_empty() { last } else { best }, device)
        .with_context(|| format!("{} is not a usable checkpoint", path.display()))?;
    Ok((header, network))
}

/// The training of a file, to go on with it. Settings and data must be those it was started with.
pub(crate) fn resume<B: AutodiffBackend>(
    path: &Path,
    settings: &Settings,
    seed: u64,
    place: Place<'_>,
    device: &B::Device,
) -> Result<Training<B>> {
    let (header, [last, optimizer, best]) = read(path)?;
    agree(&header, settings, seed, place).with_context(|| format!("cannot go on from {}", path.display()))?;
    let unusable = || format!("{} is not a usable checkpoint", path.display());
    let best = (!best.is_empty()).then(|| network(&header, best, device)).transpose().with_context(unusable)?;
    let record = decode::<B, _>(optimizer, device).with_context(unusable)?;
    Ok(Training {
        settings: settings.clone(),
        seed,
        network: network(&header, last, device).with_context(unusable)?,
        optimizer: adam(settings).load_record(record),
        first_margins: header.first_margins.iter().map(|m| m.unwrap_or(f64::INFINITY)).collect(),
        history: header.history,
        best,
    })
}

fn agree(header: &Header, settings: &Settings, seed: u64, place: Place<'_>) -> Result<()> {
    if header.settings.network != settings.network {
        bail!("it holds another network ({:?}, not {:?})", header.settings.network, settings.network);
    }
    ensure!(
        header.shape == place.shape,
        "it was trained on images of {}, not {}",
        shape(header.shape),
        shape(place.shape)
    );
    ensure!(header.classes == place.classes, "it was trained on other classes");
    ensure!(header.images == place.images, "it was trained on {} images, not {}", header.images, place.images);
    ensure!(header.data == place.data, "it was trained on other images");
    ensure!(header.seed == seed, "it has the seed {}, not {seed}", header.seed);
    match settings.difference(&header.settings)? {
        Some((name, now, before)) => bail!("it was trained with `{name}` {before}, not {now}"),
        None => Ok(()),
    }
}

fn network<B: Backend>(header: &Header, bytes: Vec<u8>, device: &B::Device) -> Result<Network<B>> {
    let record = decode::<B, _>(bytes, device)?;
    Ok(Network::new(header.settings.network, header.shape, header.classes.len(), 0, device).load_record(record))
}

fn encode<B: Backend, R: Record<B>>(record: R) -> Result<Vec<u8>> {
    Ok(Recorder::<B>::record(&NamedMpkBytesRecorder::<FullPrecisionSettings>::default(), record, ())?)
}

fn decode<B: Backend, R: Record<B>>(bytes: Vec<u8>, device: &B::Device) -> Result<R> {
    Ok(Recorder::<B>::load(&NamedMpkBytesRecorder::<FullPrecisionSettings>::default(), bytes, device)?)
}
