//! One file per command.

pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod demo;
pub(crate) mod describe;
pub(crate) mod evaluate;
pub(crate) mod export;
pub(crate) mod held_out;
pub(crate) mod inspect;
pub(crate) mod man;
pub(crate) mod predict;
pub(crate) mod reproduce;
pub(crate) mod separable;
pub(crate) mod streamed;
pub(crate) mod train;
pub(crate) mod tune;
