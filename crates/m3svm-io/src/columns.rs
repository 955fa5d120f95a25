//! Which columns of a table are features, and which are the label, the weight and the group.

use std::collections::HashMap;

use crate::error::{ColumnRef, Problem};
use crate::options::{Column, Expected, LabelUse, ReadOptions};

/// Names that a label column usually has.
pub(crate) const LABEL_NAMES: [&str; 5] = ["label", "class", "target", "y", "species"];

/// The columns of a file.
pub(crate) struct Columns<'a> {
    names: Option<&'a [String]>,
    count: usize,
    /// Position by name; none where two columns share the name.
    by_name: HashMap<&'a str, Option<usize>>,
}

/// The columns to read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Selection {
    pub(crate) features: Vec<usize>,
    pub(crate) label: Option<usize>,
    pub(crate) weight: Option<usize>,
    pub(crate) group: Option<usize>,
    pub(crate) label_guessed: bool,
}

impl<'a> Columns<'a> {
    pub(crate) fn new(names: Option<&'a [String]>, count: usize) -> Self {
        let mut by_name = HashMap::new();
        for (i, name) in names.into_iter().flatten().enumerate() {
            by_name.entry(name.as_str()).and_modify(|at| *at = None).or_insert(Some(i));
        }
        Self { names, count, by_name }
    }

    /// The column as messages name it.
    pub(crate) fn reference(&self, index: usize) -> ColumnRef {
        ColumnRef { index, name: self.names.and_then(|n| n.get(index).cloned()) }
    }

    /// The column as [`Table::label_name`](crate::Table::label_name) gives it.
    pub(crate) fn label_name(&self, index: usize) -> String {
        self.names.map_or_else(|| format!("column {}", index + 1), |n| n[index].clone())
    }

    /// Names of the chosen features.
    pub(crate) fn names_of(&self, features: &[usize]) -> Option<Vec<String>> {
        self.names.map(|names| features.iter().map(|&i| names[i].clone()).collect())
    }

    fn find(&self, column: &Column, role: &'static str) -> Result<usize, Problem> {
        match column.name().and_then(|name| self.by_name.get(name)) {
            Some(Some(i)) => return Ok(*i),
            Some(None) => {
                return Err(Problem::DuplicateColumn { name: column.to_string() });
            }
            None => {}
        }
        column.position(self.count).ok_or_else(|| Problem::UnknownColumn {
            role,
            wanted: column.to_string(),
            names: self.names.unwrap_or_default().to_vec(),
            count: self.count,
        })
    }

    /// The features of a model by name, if both sides have names that tell columns apart.
    fn of_model(&self, expected: &Expected) -> Result<Option<Vec<usize>>, Problem> {
        let (Some(wanted), true) = (&expected.names, self.names.is_some()) else {
            return Ok(None);
        };
        let distinct: std::collections::HashSet<&String> = wanted.iter().collect();
        if distinct.len() != wanted.len() {
            return Ok(None);
        }
        let missing: Vec<String> = wanted.iter().filter(|n| !self.by_name.contains_key(n.as_str())).cloned().collect();
        if !missing.is_empty() {
            return Err(Problem::MissingFeatures { missing });
        }
        wanted.iter().map(|n| self.find(&Column::Name(n.clone()), "feature column")).collect::<Result<_, _>>().map(Some)
    }

    /// The only free column with a name that labels usually have.
    fn usual_label(&self, free: &[usize]) -> Option<usize> {
        let names = self.names?;
        let usual = |i: usize| LABEL_NAMES.iter().any(|l| l.eq_ignore_ascii_case(&names[i]));
        let mut found = free.iter().copied().filter(|&i| usual(i));
        found.next().filter(|_| found.next().is_none())
    }

    /// Chooses the columns to read.
    pub(crate) fn select(&self, options: &ReadOptions) -> Result<Selection, Problem> {
        let required = options.labels == LabelUse::Required;
        let mut taken = vec![false; self.count];
        let mut take = |i: usize| match std::mem::replace(&mut taken[i], true) {
            true => Err(Problem::ColumnUsedTwice { column: self.reference(i) }),
            false => Ok(i),
        };
        let weight = options.weight.as_ref().map(|c| self.find(c, "weight column").and_then(&mut take)).transpose()?;
        let group = options.group.as_ref().map(|c| self.find(c, "group column").and_then(&mut take)).transpose()?;
        let chosen = match (&options.features, &options.expected) {
            (Some(list), _) => {
                Some(list.iter().map(|c| self.find(c, "feature column")).collect::<Result<Vec<_>, _>>()?)
            }
            (None, Some(expected)) => self.of_model(expected)?,
            (None, None) => None,
        };
        for &i in chosen.iter().flatten() {
            take(i)?;
        }
        let free: Vec<usize> = (0..self.count).filter(|&i| !taken[i]).collect();
        let asked = match options.label.as_ref().map(|c| self.find(c, "label column")) {
            Some(Ok(i)) if taken[i] => {
                return Err(Problem::ColumnUsedTwice { column: self.reference(i) });
            }
            Some(Ok(i)) => Some(i),
            Some(Err(Problem::UnknownColumn { .. })) if !required => None,
            Some(Err(e)) => return Err(e),
            None => None,
        };
        // A file without labels for a model has exactly the model's columns, wherever the label would be.
        let count = options.expected.as_ref().map(|e| e.count);
        let by_name = options.label.as_ref().and_then(Column::name).is_some_and(|n| self.by_name.contains_key(n));
        let bare = chosen.is_none() && !required && !by_name && count == Some(free.len());
        let usual = || self.usual_label(&free).filter(|_| options.labels != LabelUse::Ignore || count.is_some());
        let last = || match (&chosen, count) {
            _ if required => free.last().copied(),
            (Some(_), Some(_)) => free.first().copied().filter(|&i| free.len() == 1 && i + 1 == self.count),
            (None, Some(d)) => free.last().copied().filter(|_| free.len() == d + 1),
            (_, None) => None,
        };
        let label = if bare { None } else { asked.or_else(usual).or_else(last) };
        let features = chosen.unwrap_or_else(|| free.iter().copied().filter(|&i| Some(i) != label).collect());
        match count {
            Some(expected) if required && expected == free.len() && features.len() + 1 == expected => {
                return Err(Problem::NoLabels { hint: "all columns are features of the model" });
            }
            Some(expected) if expected != features.len() => {
                return Err(Problem::FeatureCount { expected, found: features.len() });
            }
            _ if required && label.is_none() => {
                return Err(Problem::NoLabels { hint: "all columns are features" });
            }
            _ if features.is_empty() => return Err(Problem::NoFeatures),
            _ => {}
        }
        let label = label.filter(|_| options.labels != LabelUse::Ignore);
        Ok(Selection { features, label, weight, group, label_guessed: label.is_some() && asked.is_none() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn select(names: &str, options: &ReadOptions) -> Result<(Vec<usize>, Option<usize>), String> {
        let names: Vec<String> = names.split(',').map(String::from).collect();
        let found = Columns::new(Some(&names), names.len()).select(options).map_err(|e| e.to_string())?;
        Ok((found.features, found.label))
    }

    fn bare(count: usize, options: &ReadOptions) -> Result<(Vec<usize>, Option<usize>), String> {
        let found = Columns::new(None, count).select(options).map_err(|e| e.to_string())?;
        Ok((found.features, found.label))
    }

    fn typed(s: &str) -> Column {
        s.into()
    }

    #[test]
    fn the_label_is_guessed_or_given() {
        let plain = ReadOptions::default();
        assert_eq!(select("a,Class,b", &plain), Ok((vec![0, 2], Some(1))));
        assert_eq!(select("y,class,b", &plain), Ok((vec![0, 1], Some(2))));
        assert_eq!(bare(3, &plain), Ok((vec![0, 1], Some(2))));
        let given = |s: &str| ReadOptions { label: Some(typed(s)), ..Default::default() };
        assert_eq!(select("a,b,c", &given("a")), Ok((vec![1, 2], Some(0))));
        assert_eq!(select("a,b,c", &given("1")), Ok((vec![0, 2], Some(1))));
        assert_eq!(select("1,b,c", &given("1")), Ok((vec![1, 2], Some(0))));
        assert_eq!(select("a,b,c", &given("-3")), Ok((vec![1, 2], Some(0))));
        assert_eq!(
            select("a,b,c", &given("kind")),
            Err("there is no label column `kind`; there are `a`, `b`, `c`".into())
        );
        assert_eq!(
            bare(2, &given("9")),
            Err("there is no label column `9`; there are 2 columns without names (0 to 1)".into())
        );
        assert_eq!(select("a,a,c", &given("a")), Err("two columns are called `a`; use a position".into()));
        assert_eq!(select("a", &plain), Err("there is no feature column besides the label".into()));
    }

    #[test]
    fn features_and_weight_are_chosen() {
        let features = Some(vec![typed("c"), typed("0")]);
        let options = ReadOptions { features, weight: Some(typed("d")), ..Default::default() };
        assert_eq!(select("a,b,c,d", &options), Ok((vec![2, 0], Some(1))));
        let features = Some(vec![typed("a"), typed("0")]);
        let twice = ReadOptions { features, ..Default::default() };
        assert_eq!(select("a,b", &twice), Err("column \"a\" is used twice".into()));
    }

    #[test]
    fn the_group_is_no_feature() {
        let by = |name: &str| ReadOptions { group: Some(typed(name)), ..Default::default() };
        assert_eq!(select("a,person,label", &by("person")), Ok((vec![0], Some(2))));
        assert_eq!(bare(4, &by("0")), Ok((vec![1, 2], Some(3))));
        let none = "there is no group column `who`; there are `a`, `label`";
        assert_eq!(select("a,label", &by("who")), Err(none.into()));
    }

    #[test]
    fn columns_of_a_model_are_found_by_name_or_count() {
        let expected = |names: Option<&str>, count, labels| ReadOptions {
            expected: Some(Expected { count, names: names.map(|n| n.split(',').map(String::from).collect()) }),
            labels,
            ..Default::default()
        };
        let optional = expected(Some("a,b"), 2, LabelUse::Optional);
        assert_eq!(select("id,b,x,a", &optional), Ok((vec![3, 1], None)));
        assert_eq!(select("id,b,label,a", &optional), Ok((vec![3, 1], Some(2))));
        assert_eq!(select("b,a,kind", &optional), Ok((vec![1, 0], Some(2))));
        assert_eq!(select("b,c", &optional), Err("the model needs 1 more column: `a`".into()));
        assert_eq!(bare(2, &optional), Ok((vec![0, 1], None)));
        assert_eq!(bare(3, &optional), Ok((vec![0, 1], Some(2))));
        assert_eq!(bare(4, &optional), Err("expected 2 features, found 4".into()));
        let ignore = expected(None, 2, LabelUse::Ignore);
        assert_eq!(select("p,q,kind", &ignore), Ok((vec![0, 1], None)));
        let required = expected(None, 2, LabelUse::Required);
        assert_eq!(bare(2, &required), Err("there are no labels; all columns are features of the model".into()));
        let first = ReadOptions { label: Some(typed("0")), ..optional };
        assert_eq!(bare(2, &first), Ok((vec![0, 1], None)));
        assert_eq!(bare(3, &first), Ok((vec![1, 2], Some(0))));
    }
}
