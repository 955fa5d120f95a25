//! What is asked of parts of the rows and what they answer: plain data, as bytes.

use std::cell::RefCell;
use std::marker::PhantomData;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::super::{Coordinate, LossSums, Moments};
use crate::error::{Error, Result};

/// Numbers as they lie in memory, which is what most bytes are: JSON says where they are behind it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct PackedNumbers<T>(pub(crate) Vec<T>);

thread_local! {
    /// The numbers of the message that is being written or read on this thread; only [`encode`] and [`decode`] use it.
    static BEHIND: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

impl<T: bytemuck::Pod> Serialize for PackedNumbers<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let bytes: &[u8] = bytemuck::cast_slice(&self.0);
        let start = BEHIND.with_borrow_mut(|behind| {
            behind.extend_from_slice(bytes);
            behind.len() - bytes.len()
        });
        (start, bytes.len(), PhantomData::<T>).serialize(serializer)
    }
}

impl<'de, T: bytemuck::Pod> Deserialize<'de> for PackedNumbers<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let (start, len, _) = <(usize, usize, PhantomData<T>)>::deserialize(deserializer)?;
        BEHIND.with_borrow(|behind| {
            let bytes = start.checked_add(len).and_then(|end| behind.get(start..end));
            match bytes.filter(|bytes| bytes.len() % size_of::<T>() == 0) {
                Some(bytes) => {
                    let mut numbers = vec![T::zeroed(); bytes.len() / size_of::<T>()];
                    bytemuck::cast_slice_mut(&mut numbers).copy_from_slice(bytes);
                    Ok(Self(numbers))
                }
                None => Err(serde::de::Error::custom("numbers are missing")),
            }
        })
    }
}

/// What a fit is about, which never changes on its way.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct PartSetup {
    /// A [`crate::Spec`] as JSON, as it is in model files.
    pub(crate) spec: String,
    pub(crate) classes: usize,
    pub(crate) features: usize,
    /// Those of the scaler; empty where it changes nothing.
    pub(crate) shift: PackedNumbers<f64>,
    pub(crate) factor: PackedNumbers<f64>,
    /// What every row of a class weighs besides its own weight; empty if all weigh 1.
    pub(crate) class_weights: PackedNumbers<f64>,
}

/// What happens to all rows and leaves a trace in their dual variables.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum DualMove {
    Begin,
    Place(PackedNumbers<f64>),
    Shift(PackedNumbers<f64>),
    /// So far along the step, with this smoothing; with the slopes that it promises to be kept.
    Step(f64, Option<f64>, bool, PackedNumbers<f64>),
    Settle(Option<f64>),
}

/// Where rows are to be, and what is asked of them there.
///
/// Whoever gets it needs nothing but its rows: scores follow from θ, and what follows from the way (dual variables) is kept by number. Who has lost
/// that says so, and gets the way from its beginning.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct PartMessage {
    pub(super) setup: PartSetup,
    /// How many moves all rows will have made after these.
    pub(super) at: u64,
    /// Whether these moves are all that there have been.
    pub(super) complete: bool,
    /// θ before the moves.
    pub(super) base: PackedNumbers<f64>,
    pub(super) moves: Vec<DualMove>,
    /// Smoothing of the loss, and what it was when curvature was made, with its damping.
    pub(super) mu: Option<f64>,
    pub(super) bent: Option<f64>,
    pub(super) damping: f64,
    /// The direction, where a question is about it.
    pub(super) step: PackedNumbers<f64>,
    pub(super) questions: Vec<PartQuestion>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum PartQuestion {
    /// The loss, without smoothing too, and its gradient; at the end of the step with such a smoothing, or where rows are.
    Evaluate {
        with_dual: bool,
        ahead: Option<f64>,
    },
    /// The loss at the end of the step.
    ValueAhead,
    /// The loss with and without smoothing.
    Values,
    /// The loss without smoothing at another point.
    ValueAt(PackedNumbers<f64>),
    /// Loss, gradient and curvature in a shift of all scores; at the end of the step with such a smoothing, or where rows are.
    Shift {
        shift: PackedNumbers<f64>,
        ahead: Option<f64>,
    },
    ValuesAlong(Vec<f64>),
    SlopesAlong(Vec<f64>),
    DualSums,
    Product(PackedNumbers<f64>),
    Blocks {
        heaviest: Option<usize>,
        roughly: bool,
    },
    ClassCurvature,
    Moments,
    StoredIn(Vec<Coordinate>),
    CoordinateGram(Vec<Coordinate>),
    /// About such a share of the rows.
    Sample {
        share: f64,
        seed: u64,
    },
    /// How much weight is classified rightly, of how much, and the steepest slope.
    Outcome,
    /// Which margins are supported, where the steepest slope is known.
    Support(f64),
}

/// Sums that a pass over the loss gives.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct PartSums {
    sums: PackedNumbers<f64>,
    pub(super) grad: PackedNumbers<f64>,
}

/// Lower triangles, column by column, of pairs of classes.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct PartBlocks {
    pub(super) pairs: Vec<(u32, u32, u32)>,
    pub(super) triangles: Vec<PackedNumbers<f64>>,
    pub(super) is_rough: bool,
}

/// Some rows, scaled and weighed.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct PartSample {
    /// Dense values by rows, or those of compressed rows.
    pub(crate) values: PackedNumbers<f64>,
    pub(crate) lengths: PackedNumbers<u32>,
    pub(crate) indices: PackedNumbers<u32>,
    pub(crate) y: PackedNumbers<u32>,
    pub(crate) weights: PackedNumbers<f64>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum PartAnswer {
    Sums(PartSums),
    /// Rows stand for no slopes.
    NoSums,
    /// Whatever is added up entry by entry.
    Numbers(PackedNumbers<f64>),
    Blocks(PartBlocks),
    /// With their weight.
    Moments(PackedNumbers<f32>, PackedNumbers<f64>),
    Sample(PartSample),
    /// Weight that is classified rightly, all weight, and the steepest slope.
    Outcome(PackedNumbers<f64>),
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum PartReply {
    Answers(Vec<PartAnswer>),
    /// The part does not know the way that its rows have come.
    Lost,
}

/// Both ends must be of one version: what the bytes mean may change with any.
const GREETING: &str = concat!("m3svm ", env!("CARGO_PKG_VERSION"), "\n");

pub(super) fn encode<T: Serialize>(value: &T) -> Result<Vec<u8>> {
    BEHIND.with_borrow_mut(Vec::clear);
    let text = serde_json::to_vec(value).map_err(|e| Error::Engine { what: e.to_string() })?;
    let behind = BEHIND.take();
    Ok([GREETING.as_bytes(), &(text.len() as u64).to_le_bytes(), &text, &behind].concat())
}

pub(super) fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T> {
    let Some(body) = bytes.strip_prefix(GREETING.as_bytes()) else {
        let other = bytes.split(|b| *b == b'\n').next().unwrap_or_default();
        let (other, own) = (String::from_utf8_lossy(&other[..other.len().min(40)]).into_owned(), GREETING.trim_end());
        let what = format!("workers must have the version of the client, found {own} and {other:?}");
        return Err(Error::Engine { what });
    };
    let damaged = |what: String| Error::Engine { what: format!("a message is damaged: {what}") };
    let parts = body.split_first_chunk().and_then(|(len, rest)| {
        let len = usize::try_from(u64::from_le_bytes(*len)).ok()?;
        rest.split_at_checked(len)
    });
    let (text, behind) = parts.ok_or_else(|| damaged("it ends too soon".into()))?;
    BEHIND.set(behind.to_vec());
    let value = serde_json::from_slice(text).map_err(|e| damaged(e.to_string()));
    BEHIND.set(Vec::new());
    value
}

impl PartSums {
    pub(super) fn new(sums: LossSums, exact: f64, rounding: f64, grad: Vec<f64>) -> Self {
        let LossSums { value, dual, size, mass, reach, lost } = sums;
        Self {
            sums: PackedNumbers(vec![value, dual, size, mass, reach, lost, exact, rounding]),
            grad: PackedNumbers(grad),
        }
    }

    /// Those of the loss, the loss without smoothing, and the largest rounding of a part.
    pub(super) fn read(&self) -> (LossSums, f64, f64) {
        match self.sums.0[..] {
            [value, dual, size, mass, reach, lost, exact, rounding] => {
                (LossSums { value, dual, size, mass, reach, lost }, exact, rounding)
            }
            _ => (LossSums { value: f64::NAN, ..LossSums::default() }, f64::NAN, f64::NAN),
        }
    }
}

impl PartAnswer {
    /// Adds what the next part has answered to the same question.
    pub(super) fn add(&mut self, other: Self) -> Result<()> {
        match (self, other) {
            (Self::Sums(own), Self::Sums(more)) => {
                let ((mut sums, exact, rounding), (other, also, rough)) = (own.read(), more.read());
                sums.add(other);
                let mut grad = std::mem::take(&mut own.grad.0);
                add_all(&mut grad, &more.grad.0)?;
                *own = PartSums::new(sums, exact + also, rounding.max(rough), grad);
                Ok(())
            }
            (Self::NoSums, Self::NoSums) => Ok(()),
            (Self::Numbers(own), Self::Numbers(more)) => add_all(&mut own.0, &more.0),
            (Self::Blocks(own), Self::Blocks(more)) => {
                own.is_rough |= more.is_rough;
                if own.pairs != more.pairs {
                    return Err(mismatch());
                }
                own.triangles.iter_mut().zip(&more.triangles).try_for_each(|(a, b)| add_all(&mut a.0, &b.0))
            }
            (Self::Moments(own, weight), Self::Moments(more, other)) => {
                let mut sum = Moments { matrix: std::mem::take(&mut own.0), weight: weight.0[0] };
                sum.add(&Moments { matrix: more.0, weight: other.0[0] });
                (own.0, weight.0[0]) = (sum.matrix, sum.weight);
                Ok(())
            }
            (Self::Outcome(own), Self::Outcome(more)) => {
                let top = own.0[2].max(more.0[2]);
                add_all(&mut own.0, &more.0)?;
                own.0[2] = top;
                Ok(())
            }
            (Self::Sample(own), Self::Sample(more)) => {
                own.values.0.extend(more.values.0);
                own.lengths.0.extend(more.lengths.0);
                own.indices.0.extend(more.indices.0);
                own.y.0.extend(more.y.0);
                own.weights.0.extend(more.weights.0);
                Ok(())
            }
            _ => Err(mismatch()),
        }
    }
}

fn add_all(own: &mut [f64], more: &[f64]) -> Result<()> {
    if own.len() != more.len() {
        return Err(mismatch());
    }
    own.iter_mut().zip(more).for_each(|(a, b)| *a += b);
    Ok(())
}

fn mismatch() -> Error {
    Error::Engine { what: "parts of the rows have answered different questions".into() }
}
