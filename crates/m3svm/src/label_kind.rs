//! What class names stand for: files store them as text, and a caller who trained on numbers wants numbers back.

use serde::{Deserialize, Serialize};

/// The type that labels had before they became class names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LabelKind {
    /// Text, whatever it looks like.
    Text,
    /// Whole numbers, written as such: `-3`, not `-3.0` or `-03`.
    Integer,
    /// Finite real numbers, all of them different.
    Real,
    /// `false` and `true`, or as Python writes them.
    Boolean,
}

impl LabelKind {
    /// All kinds, for help texts and tests.
    pub const ALL: [Self; 4] = [Self::Text, Self::Integer, Self::Real, Self::Boolean];

    /// The name in model files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Integer => "integer",
            Self::Real => "real",
            Self::Boolean => "boolean",
        }
    }

    /// The first of some class names that does not stand for a label of this kind of its own.
    pub(crate) fn misfit(self, classes: &[String]) -> Option<&String> {
        let mut seen = std::collections::HashSet::new();
        let mut fits = |name: &String| match self {
            Self::Text => true,
            Self::Integer => name.parse::<i128>().is_ok_and(|n| n.to_string() == *name),
            Self::Real => {
                let value = name.parse::<f64>().ok().filter(|v| v.is_finite());
                // Both zeros are the same label.
                value.is_some_and(|v| seen.insert((v + 0.0).to_bits()))
            }
            Self::Boolean => {
                let value = ["false", "true"].iter().position(|word| name.eq_ignore_ascii_case(word));
                value.is_some_and(|v| seen.insert(v as u64))
            }
        };
        classes.iter().find(|name| !fits(name))
    }

    /// The rest of the sentence "a class name must ...".
    pub(crate) fn must(self) -> &'static str {
        match self {
            Self::Text => "be text",
            Self::Integer => "be a whole number without superfluous signs and zeros",
            Self::Real => "be a finite number that no other class has",
            Self::Boolean => "be false or true, and no other class the same",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_a_kind_if_each_stands_for_another_label_of_it() {
        let misfit = |kind: LabelKind, names: &[&str]| {
            let names: Vec<String> = names.iter().map(ToString::to_string).collect();
            kind.misfit(&names).cloned()
        };
        assert_eq!(misfit(LabelKind::Text, &["1", "01", ""]), None);
        assert_eq!(misfit(LabelKind::Integer, &["-1", "0", "18446744073709551615"]), None);
        for bad in ["01", "+1", "1.0", "", "x", "-0"] {
            assert_eq!(misfit(LabelKind::Integer, &["5", bad]).as_deref(), Some(bad));
        }
        assert_eq!(misfit(LabelKind::Real, &["1", "1.5", "-2e300"]), None);
        for bad in ["nan", "inf", "1e999", "1.50", "x"] {
            assert_eq!(misfit(LabelKind::Real, &["1.5", bad]).as_deref(), Some(bad));
        }
        assert_eq!(misfit(LabelKind::Real, &["0.0", "-0.0"]).as_deref(), Some("-0.0"));
        assert_eq!(misfit(LabelKind::Boolean, &["False", "True"]), None);
        assert_eq!(misfit(LabelKind::Boolean, &["true", "True"]).as_deref(), Some("True"));
        assert_eq!(misfit(LabelKind::Boolean, &["true", "0"]).as_deref(), Some("0"));
    }

    #[test]
    fn a_kind_is_written_by_its_name() {
        for kind in LabelKind::ALL {
            assert_eq!(serde_json::to_value(kind).ok(), Some(kind.name().into()));
        }
    }
}
