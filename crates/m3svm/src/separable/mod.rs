//! Whether classes can be told apart by linear scores without a mistake, with a proof either way.
//!
//! Either some W and b give every row the highest score at its own class, or some weights α ≥ 0, not all zero, have
//! `Σ αᵢₖ (xᵢ, 1)(e_y − eₖ)ᵀ = 0` (Farkas; Gordan): for two classes, a weighted mean of rows of the one is the same point as one of the other.
//! Which of the two it is, is proven in floating point (`leads` of `hard_margin/sides.rs`; `proof.rs`); where neither can be, that is what is said.

mod proof;
mod search;
mod words;

use serde::Serialize;

pub(crate) use search::{Decided, search};

use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::hard_margin::{LeadingRows, counting};
use crate::interrupt::{Heed, Interrupt};
use crate::memory;
use crate::solver::Watch;
use crate::spec::Spec;

/// A row that has to lead another class, and how much it counts in a combination that is zero.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CrossingRow {
    /// The row, from 0.
    pub row: u32,
    /// The class it has to lead.
    pub rival: u32,
    /// Its weight; those of a combination sum to 1.
    pub weight: f64,
}

/// What is known of some classes.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "verdict", rename_all = "kebab-case")]
pub enum Verdict {
    /// There are scores without a mistake.
    Separable,
    /// There are none, and this is why.
    NotSeparable {
        /// Rows whose demands on the scores contradict each other.
        combination: Vec<CrossingRow>,
    },
    /// It cannot be decided in floating point.
    Undecided {
        /// Nothing separates with a larger margin, in units of the standardised features.
        margin_at_most: f64,
    },
}

impl Verdict {
    /// `None` where it is open.
    pub fn is_separable(&self) -> Option<bool> {
        match self {
            Self::Separable => Some(true),
            Self::NotSeparable { .. } => Some(false),
            Self::Undecided { .. } => None,
        }
    }
}

/// What is known of two classes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PairVerdict {
    /// The first class, by number.
    pub first: u32,
    /// The second.
    pub second: u32,
    /// The answer.
    #[serde(flatten)]
    pub verdict: Verdict,
}

/// Whether the classes of a data set can be told apart by one linear score each, all at once and two by two.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Separability {
    /// All at once.
    pub all: Verdict,
    /// Two by two, first class before second.
    pub pairs: Vec<PairVerdict>,
    /// So few rows that have to go until all can be told apart, as far as was found; empty where none has to, and `None` where none were found.
    pub removal: Option<Vec<u32>>,
}

impl Separability {
    /// Asks it of the rows of a data set that weigh anything.
    pub fn of(data: &Dataset<'_>, intercept: bool, watch: &mut Watch<'_>) -> Result<Self> {
        // It takes about as much as a fit.
        memory::check_fit(&Spec { intercept, ..Spec::default() }, data)?;
        let interrupt = Interrupt::new(watch);
        let heed = interrupt.heed();
        let mut watch = |at: &crate::Progress| interrupt.report(at);
        let watch: &mut Watch<'_> = &mut watch;
        let (weights, c) = (data.weights(), data.classes().len());
        let all: Vec<u32> = (0..data.rows() as u32).filter(|i| weights.is_none_or(|w| w[*i as usize] > 0.0)).collect();
        let kept = weights.and_then(|w| counting(data.x(), data.y(), w));
        let (x, y) = kept.as_ref().map_or((data.x(), data.y()), |(x, y)| (x, y.as_slice()));
        let rows = LeadingRows { x, y, classes: c, intercept };
        let found = search(rows, heed, watch)?;
        if matches!(found, Decided::Interrupted) {
            return Err(Error::Interrupted);
        }
        let mut pairs = Vec::new();
        for k in 0..c as u32 {
            for l in k + 1..c as u32 {
                let verdict = match &found {
                    // What tells all apart tells two apart.
                    Decided::Apart(_) => Verdict::Separable,
                    _ => of_two(rows, k, l, heed, watch)?,
                };
                pairs.push(PairVerdict { first: k, second: l, verdict });
            }
        }
        let removal = match &found {
            Decided::Apart(_) => Some(Vec::new()),
            Decided::Crossed(failed) => failed.misled.clone(),
            Decided::Open { misled, .. } => misled.clone(),
            Decided::Interrupted => None,
        };
        // What cannot be told apart by two cannot be by more, and is easier to see.
        let of_pair = pairs.iter().map(|pair| &pair.verdict).find(|verdict| verdict.is_separable() == Some(false));
        let verdict = of_pair.cloned().unwrap_or_else(|| found.verdict());
        let mut out = Self { all: verdict, pairs, removal };
        out.renumber(&all);
        Ok(out)
    }

    /// Rows were numbered among those that count.
    fn renumber(&mut self, all: &[u32]) {
        let verdicts = self.pairs.iter_mut().map(|pair| &mut pair.verdict).chain(std::iter::once(&mut self.all));
        for verdict in verdicts {
            if let Verdict::NotSeparable { combination } = verdict {
                combination.iter_mut().for_each(|row| row.row = all[row.row as usize]);
            }
        }
        self.removal.iter_mut().flatten().for_each(|row| *row = all[*row as usize]);
    }
}

/// What is known of two classes of some rows; rows and classes as they are numbered there.
fn of_two(rows: LeadingRows<'_>, k: u32, l: u32, heed: Heed<'_>, watch: &mut Watch<'_>) -> Result<Verdict> {
    let own: Vec<u32> = (0..rows.y.len() as u32).filter(|i| [k, l].contains(&rows.y[*i as usize])).collect();
    let (x, y) =
        (rows.x.take_rows(&own), own.iter().map(|i| u32::from(rows.y[*i as usize] == l)).collect::<Vec<u32>>());
    let found = search(LeadingRows { x: &x, y: &y, classes: 2, intercept: rows.intercept }, heed, watch)?;
    if matches!(found, Decided::Interrupted) {
        return Err(Error::Interrupted);
    }
    let mut verdict = found.verdict();
    if let Verdict::NotSeparable { combination } = &mut verdict {
        for row in combination {
            row.row = own[row.row as usize];
            row.rival = if row.rival == 0 { k } else { l };
        }
    }
    Ok(verdict)
}

/// Why there is no hard margin.
pub(crate) struct Crossing;

impl Crossing {
    /// The first pair of classes that cannot be told apart, or what else is known, as a sentence.
    pub(crate) fn first(
        rows: LeadingRows<'_>,
        names: &[String],
        heed: Heed<'_>,
        watch: &mut Watch<'_>,
    ) -> Result<String> {
        let c = rows.classes as u32;
        for (k, l) in (0..c).flat_map(|k| (k + 1..c).map(move |l| (k, l))) {
            let verdict = of_two(rows, k, l, heed, watch)?;
            if verdict.is_separable() == Some(false) {
                return Ok(words::of_pair(&verdict, k, l, names, rows.y));
            }
        }
        match search(rows, heed, watch)? {
            Decided::Interrupted => Err(Error::Interrupted),
            found => Ok(words::of_all(&found.verdict(), names, rows.y)),
        }
    }
}

impl Separability {
    /// The answer for all classes at once, as a sentence.
    pub fn sentence(&self, data: &Dataset<'_>) -> String {
        words::of_all(&self.all, data.classes(), data.y())
    }
}

impl PairVerdict {
    /// The answer as a sentence.
    pub fn sentence(&self, data: &Dataset<'_>) -> String {
        words::of_pair(&self.verdict, self.first, self.second, data.classes(), data.y())
    }
}
