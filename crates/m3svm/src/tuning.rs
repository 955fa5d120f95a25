//! How numbers are written down that nobody sets but who works on a solver: one struct per solver, with the unit of every number and where its value
//! comes from.
//!
//! *By hand* is a value that was set once, with which everything has been measured since, and of which no comparison with others is kept.

/// A struct of such numbers and the one constant that has it: `name: type = value, its unit, where it comes from;` after what it is.
macro_rules! tuning {
    ($(#[$meta:meta])* $all:ident: $name:ident {
        $($(#[$doc:meta])* $field:ident: $kind:ty = $value:expr, $unit:literal, $origin:literal;)*
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug)]
        pub(crate) struct $name {
            $($(#[$doc])* #[doc = concat!("\n\nIn ", $unit, "; ", $origin, ".")] pub(crate) $field: $kind,)*
        }

        #[doc = concat!("The values of [`", stringify!($name), "`].")]
        pub(crate) const $all: $name = $name { $($field: $value),* };
    };
}

pub(crate) use tuning;
