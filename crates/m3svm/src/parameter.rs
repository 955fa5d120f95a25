//! The numbers that users set on losses, penalties and solvers, described once.
//!
//! A struct says with [`parameters!`] what each of its numbers is called, what it means and what it may be. Checks, the options of the command
//! line, the settings of the Python package and the JSON of reports all come from that.

use crate::error::{Error, Result};

/// One number.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// As users type it, with `_` between words.
    pub name: &'static str,
    /// What it is, in a line.
    pub help: &'static str,
    /// Whether it is a count.
    pub is_whole: bool,
    /// What it must do to be accepted: "be at least 1".
    pub must: &'static str,
    accepts: fn(f64) -> bool,
}

impl Parameter {
    pub(crate) const fn new(
        name: &'static str,
        help: &'static str,
        is_whole: bool,
        must: &'static str,
        accepts: fn(f64) -> bool,
    ) -> Self {
        Self { name, help, is_whole, must, accepts }
    }
}

/// What has such numbers.
pub trait Parameters {
    /// Their descriptions.
    fn parameters(&self) -> &'static [Parameter];

    /// The number of this name; `None` if there is none, or if it is left open.
    fn get(&self, name: &str) -> Option<f64>;

    /// Changes the number of this name; whether there is one. Ranges are checked by [`Parameters::check_parameters`].
    fn set(&mut self, name: &str, value: f64) -> bool;

    /// Whether there is a number of this name.
    fn has(&self, name: &str) -> bool {
        self.parameters().iter().any(|parameter| parameter.name == name)
    }

    /// Refuses numbers outside their range.
    fn check_parameters(&self) -> Result<()> {
        for Parameter { name, must, accepts, .. } in self.parameters() {
            if let Some(value) = self.get(name).filter(|value| !accepts(*value)) {
                return Err(Error::param(name, value, must));
            }
        }
        Ok(())
    }
}

/// How a field of a struct is read and written as a number.
pub(crate) trait AsNumber: Sized {
    /// Whether it is a count.
    const IS_WHOLE: bool;
    /// The number, unless it is left open.
    fn number(&self) -> Option<f64>;
    /// The field of this number.
    fn of(value: f64) -> Self;
}

impl AsNumber for f64 {
    const IS_WHOLE: bool = false;

    fn number(&self) -> Option<f64> {
        Some(*self)
    }

    fn of(value: f64) -> Self {
        value
    }
}

impl AsNumber for usize {
    const IS_WHOLE: bool = true;

    fn number(&self) -> Option<f64> {
        Some(*self as f64)
    }

    /// Front ends have refused what is no whole number; what is too large ends at the largest there is.
    fn of(value: f64) -> Self {
        value as Self
    }
}

impl AsNumber for Option<usize> {
    const IS_WHOLE: bool = true;

    fn number(&self) -> Option<f64> {
        self.map(|count| count as f64)
    }

    fn of(value: f64) -> Self {
        Some(value as usize)
    }
}

/// Implements [`Parameters`] for a struct: `name: type, what it is, what it must do, when it does.`
macro_rules! parameters {
    ($owner:ty { $($name:ident: $kind:ty, $help:expr, $must:expr, $accepts:expr;)* }) => {
        impl $crate::parameter::Parameters for $owner {
            fn parameters(&self) -> &'static [$crate::parameter::Parameter] {
                const ALL: &[$crate::parameter::Parameter] = &[$($crate::parameter::Parameter::new(
                    stringify!($name),
                    $help,
                    <$kind as $crate::parameter::AsNumber>::IS_WHOLE,
                    $must,
                    $accepts,
                )),*];
                ALL
            }

            #[allow(unused_variables, reason = "some have none")]
            fn get(&self, name: &str) -> Option<f64> {
                match name {
                    $(stringify!($name) => $crate::parameter::AsNumber::number(&self.$name),)*
                    _ => None,
                }
            }

            #[allow(unused_variables, reason = "some have none")]
            fn set(&mut self, name: &str, value: f64) -> bool {
                match name {
                    $(stringify!($name) => {
                        self.$name = <$kind as $crate::parameter::AsNumber>::of(value);
                        true
                    })*
                    _ => false,
                }
            }
        }
    };
}

/// An enum of everything of a kind that has a name: one variant per struct, and the struct behind it.
macro_rules! any {
    ($(#[$meta:meta])* $any:ident: $kind:path { $($(#[$doc:meta])* $variant:ident($held:ty)),* $(,)? }) => {
        $(#[$meta])*
        pub enum $any {
            $($(#[$doc])* $variant($held),)*
        }

        impl $any {
            /// What is behind the name.
            pub fn as_dyn(&self) -> &dyn $kind {
                match self {
                    $(Self::$variant(it) => it,)*
                }
            }
        }

        impl $crate::parameter::Parameters for $any {
            fn parameters(&self) -> &'static [$crate::parameter::Parameter] {
                match self {
                    $(Self::$variant(it) => it.parameters(),)*
                }
            }

            fn get(&self, name: &str) -> Option<f64> {
                match self {
                    $(Self::$variant(it) => it.get(name),)*
                }
            }

            fn set(&mut self, name: &str, value: f64) -> bool {
                match self {
                    $(Self::$variant(it) => it.set(name, value),)*
                }
            }
        }
    };
}

pub(crate) use {any, parameters};

/// What λ of every penalty is, what it must be, and when it is.
pub(crate) const STRENGTH: (&str, &str, fn(f64) -> bool) =
    ("Strength of the penalty", "be a finite number of at least 0", |value| value.is_finite() && value >= 0.0);

/// The same of δ of every hinge.
pub(crate) const SMOOTHING: (&str, &str, fn(f64) -> bool) =
    ("Smoothing of the hinge, 0 for the exact one", "be a number from 0 to 1e6", |value| (0.0..=1e6).contains(&value));

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AnyLoss, AnyPenalty, AnySolver};

    #[test]
    fn what_is_set_is_what_is_got_and_what_is_checked() {
        let all: Vec<Box<dyn Parameters>> =
            (AnyLoss::examples().into_iter().map(|it| Box::new(it) as Box<dyn Parameters>))
                .chain(AnyPenalty::examples().into_iter().map(|it| Box::new(it) as Box<dyn Parameters>))
                .chain(AnySolver::examples().into_iter().map(|it| Box::new(it) as Box<dyn Parameters>))
                .collect();
        let mut seen = 0;
        for mut it in all {
            assert!(it.check_parameters().is_ok());
            for parameter in it.parameters() {
                assert!(it.has(parameter.name) && it.set(parameter.name, 1.0));
                assert_eq!(it.get(parameter.name), Some(1.0), "{parameter:?}");
                assert!(it.set(parameter.name, -1.0));
                // A count below 0 is 0, which none of them may be.
                let refused = it.check_parameters().map_err(|error| error.to_string());
                let expected = format!("`{}` must {}", parameter.name.replace('_', "-"), parameter.must);
                assert!(refused.is_err_and(|error| error.replace('_', "-").starts_with(&expected)), "{parameter:?}");
                it.set(parameter.name, 1.0);
                seen += 1;
            }
            assert!(!it.set("nothing", 1.0) && it.get("nothing").is_none() && !it.has("nothing"));
        }
        assert!(seen > 15, "{seen}");
    }
}
