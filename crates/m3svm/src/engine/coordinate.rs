//! Single parameters, for solvers that move a few of them at a time.

use serde::{Deserialize, Serialize};

/// One parameter: feature (their number for the intercept) and class. Ordered by class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Coordinate {
    class: u32,
    feature: u32,
}

impl Coordinate {
    /// That of a place in θ.
    pub(crate) fn at(place: usize, classes: usize) -> Self {
        Self { feature: (place / classes) as u32, class: (place % classes) as u32 }
    }

    pub(crate) fn class(self) -> usize {
        self.class as usize
    }

    pub(crate) fn feature(self) -> usize {
        self.feature as usize
    }

    /// Its place in θ.
    pub(crate) fn place(self, classes: usize) -> usize {
        self.feature() * classes + self.class()
    }
}
