//! The tables and figures of the M³SVM paper, run again from the data.
//!
//! ```no_run
//! use m3svm_reproduce::{Artefact, Listener, Plan, Protocol, run};
//! use std::ops::ControlFlow;
//!
//! let plan = Plan {
//!     data: "data".into(),
//!     output: "experiments".into(),
//!     protocol: Protocol::Both,
//!     resume: true,
//!     finished: false,
//!     repeats: None,
//!     sets: vec!["glass".into()],
//!     seed: 0,
//! };
//! run(&plan, &[Artefact::Table1], &Listener { note: &|_| {}, watch: &|_| ControlFlow::Continue(()) })?;
//! # Ok::<(), m3svm_reproduce::Error>(())
//! ```
//!
//! Everything is measured by one of two protocols. `paper` does what the authors' public script does, `fair` what the paper's text says,
//! with everything learnt from training rows alone. Same data, same plan: same files, for any number of threads, and whether or not the run was interrupted and resumed.

mod confusion;
mod convergence;
mod curves;
mod data;
mod difficult;
mod embedding;
mod error;
mod fair;
mod illustrations;
mod output;
mod parts;
mod plan;
mod projection;
mod ranks;
mod script;
pub mod sets;
mod split;
mod table1;
mod table1_figures;
mod table1_text;
mod verdict;

use output::Output;
use parts::Parts;

pub use error::{Error, Result};
pub use plan::{Listener, Plan, Protocol};
pub use split::train_test_split;

/// The data sets of the paper's figures of convergence and of p, in their order.
const SIX_SETS: [sets::Set; 6] =
    [sets::SETS[1].set, sets::SETS[2].set, sets::SETS[0].set, sets::SETS[3].set, sets::SETS[7].set, sets::SETS[6].set];

/// A table or figure of the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Artefact {
    /// Accuracies of eight methods on eight data sets.
    Table1,
    /// Objective and test accuracy against iterations.
    Convergence,
    /// Test accuracy by the power of the penalty.
    P,
    /// Test accuracy by the strength of the penalty.
    Lambda,
    /// Confusion matrices with the difficult classes together.
    Confusion,
    /// Data in the plane.
    Illustrations,
}

impl Artefact {
    /// All of them, in the order of the paper.
    pub const ALL: [Self; 6] =
        [Self::Table1, Self::Convergence, Self::P, Self::Lambda, Self::Confusion, Self::Illustrations];
}

/// Runs artefacts and writes their files. Data sets whose file is not there are left out with a note; it is an error if that leaves
/// nothing at all. After an interruption the files have what was finished until then.
pub fn run(plan: &Plan, artefacts: &[Artefact], listener: &Listener<'_>) -> Result<()> {
    plan.check()?;
    let (output, parts) = (Output::open(plan)?, Parts::open(plan)?);
    let _claimed = m3svm::claim_folder(&plan.output)?;
    let mut sets = 0;
    for artefact in artefacts {
        sets += match artefact {
            Artefact::Table1 => table1::run(plan, &output, &parts, listener)?,
            Artefact::Convergence => convergence::run(plan, &output, &parts, listener)?,
            Artefact::P => curves::powers(plan, &output, &parts, listener)?,
            Artefact::Lambda => curves::strengths(plan, &output, &parts, listener)?,
            Artefact::Confusion => confusion::run(plan, &output, &parts, listener)?,
            Artefact::Illustrations => illustrations::run(plan, &output, &parts, listener)?,
        };
    }
    if parts.interrupted() {
        return Err(m3svm::Error::Interrupted.into());
    }
    if plan.finished && sets == 0 {
        return Err(Error::NothingFinished { folder: plan.output.clone() });
    }
    if sets == 0 { Err(Error::NothingRan { folder: plan.data.clone() }) } else { Ok(()) }
}
