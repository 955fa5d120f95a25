//! One file per command.

pub(crate) mod compare;
pub(crate) mod evaluate;
pub(crate) mod refit;
pub(crate) mod speed;
pub(crate) mod train;
