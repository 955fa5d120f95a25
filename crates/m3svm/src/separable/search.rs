//! Looks for scores without a mistake, and for the proof that there are none, along weaker and weaker penalties.

use super::proof::{self, same_rows};
use super::{CrossingRow, Verdict};
use crate::error::Result;
use crate::hard_margin::{LeadingRows, Soft};
use crate::interrupt::Heed;
use crate::linalg::dot;
use crate::penalty::{Norm, Pairwise};
use crate::scale::{Scaler, Scaling};
use crate::solver::{Stop, Watch};

/// What a search has come to.
pub(crate) enum Decided {
    /// Scores without a mistake.
    Apart(Vec<f64>),
    /// There are none.
    Crossed(Failed),
    /// Neither could be proven.
    Open {
        /// Nothing separates with a larger margin.
        margin_at_most: f64,
        /// Rows without which the rest is told apart, the fewest that were found.
        misled: Option<Vec<u32>>,
    },
    Interrupted,
}

/// Why there are no scores without a mistake.
pub(crate) struct Failed {
    combination: Vec<CrossingRow>,
    /// Rows without which the rest is told apart, the fewest that were found.
    pub(super) misled: Option<Vec<u32>>,
}

impl Decided {
    pub(super) fn verdict(&self) -> Verdict {
        match self {
            Self::Apart(_) => Verdict::Separable,
            Self::Crossed(failed) => Verdict::NotSeparable { combination: failed.combination.clone() },
            Self::Open { margin_at_most, .. } => Verdict::Undecided { margin_at_most: *margin_at_most },
            Self::Interrupted => Verdict::Undecided { margin_at_most: f64::INFINITY },
        }
    }
}

/// Searches.
pub(crate) fn search(rows: LeadingRows<'_>, heed: Heed<'_>, watch: &mut Watch<'_>) -> Result<Decided> {
    // From hardly any pull to one at which rounding is all that is left.
    const STRENGTHS: [f64; 5] = [1e-2, 1e-5, 1e-8, 1e-11, 1e-14];
    const STEPS: usize = 200;
    let LeadingRows { x, y, classes: c, intercept } = rows;
    let scaling = if intercept { Scaling::Standard } else { Scaling::MaxAbs };
    let scaler = Scaler::fit(scaling, x, None);
    let standard = scaler.apply(x.view())?;
    let scaled = LeadingRows { x: &standard, ..rows };
    let m = x.cols() * c;
    let mut theta = vec![0.0; m + if intercept { c } else { 0 }];
    let mut bound = 0.0f64;
    let mut misled: Option<Vec<u32>> = None;
    let mut combination = same_rows(x, y);
    for strength in STRENGTHS {
        let penalty = Pairwise::new(Norm::L2, strength, 2.0);
        let epsilon = (1e-7 * strength / (1.0 + dot(&theta, &theta)).min(1e6)).max(1e-18);
        let soft = Soft { rows: scaled, penalty, epsilon, tol: 1e-6, max_iter: STEPS, heed };
        let (found, slopes) = soft.solve(theta, watch)?;
        if found.stop == Stop::Interrupted || heed.is_stopped() {
            return Ok(Decided::Interrupted);
        }
        theta = found.theta;
        let mut whole = theta.clone();
        let (w, b) = whole.split_at_mut(m);
        let mut none = vec![0.0; c];
        scaler.fold_into(w, if intercept { b } else { &mut none });
        let leads = rows.leads(&whole);
        let behind: Vec<u32> = (0..y.len() as u32).filter(|i| !(leads[*i as usize] > 0.0)).collect();
        if behind.is_empty() {
            return Ok(Decided::Apart(whole));
        }
        if behind.len() < y.len() && misled.as_ref().is_none_or(|known| behind.len() < known.len()) {
            misled = Some(behind);
        }
        for slopes in slopes.iter().filter(|slopes| slopes.len() == y.len() * c) {
            bound = bound.max(scaled.below(slopes, &theta, f64::INFINITY));
            if combination.is_none() {
                combination = proof::farkas(rows, &scaler, &standard, slopes);
            }
        }
        // Weaker penalties find fewer rows that have to go, if any.
        if combination.is_some() && strength <= 1e-5 {
            break;
        }
    }
    Ok(match combination {
        Some(combination) => Decided::Crossed(Failed { combination, misled }),
        None => Decided::Open { margin_at_most: if bound > 0.0 { 2.0 / bound } else { f64::INFINITY }, misled },
    })
}
