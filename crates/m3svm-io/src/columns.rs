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
    /// Columns that the file says are the index of its rows: never a label.
    index: Vec<usize>,
}

/// The columns to read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Selection {
    pub(crate) features: Vec<usize>,
    pub(crate) label: Option<usize>,
    pub(crate) weight: Option<usize>,
    pub(crate) group: Option<usize>,
    /// Columns to hand on as they are; they may be something else besides.
    pub(crate) keep: Vec<usize>,
    pub(crate) label_guessed: bool,
    /// Whether it was guessed for no better reason than that it is the last one.
    pub(crate) label_last: bool,
}

impl<'a> Columns<'a> {
    pub(crate) fn new(names: Option<&'a [String]>, count: usize) -> Self {
        let mut by_name = HashMap::new();
        for (i, name) in names.into_iter().flatten().enumerate() {
            by_name.entry(name.as_str()).and_modify(|at| *at = None).or_insert(Some(i));
        }
        Self { names, count, by_name, index: Vec::new() }
    }

    /// Says which columns are the index of the rows.
    pub(crate) fn with_index(mut self, index: &[String]) -> Self {
        let names = self.names.into_iter().flatten().enumerate();
        self.index = names.filter(|(_, name)| index.contains(name)).map(|(i, _)| i).collect();
        self
    }

    /// The column as messages name it.
    pub(crate) fn reference(&self, index: usize) -> ColumnRef {
        ColumnRef { index, name: self.names.and_then(|n| n.get(index).cloned()) }
    }

    /// The column as [`Table::label_name`](crate::Table::label_name) gives it.
    pub(crate) fn label_name(&self, index: usize) -> String {
        self.names.map_or_else(|| format!("column {}", index + 1), |n| n[index].clone())
    }

    /// Whether the columns have names that tell them apart.
    pub(crate) fn named(&self) -> bool {
        self.names.is_some() && self.by_name.len() == self.count
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

    /// The same for lists, in which `3-7` is a range of positions where no column has that name.
    pub(crate) fn find_all(&self, list: &[Column], role: &'static str) -> Result<Vec<usize>, Problem> {
        let mut found = Vec::new();
        for column in list {
            let named = column.name().is_some_and(|name| self.by_name.contains_key(name));
            match column.range().filter(|_| !named) {
                Some((from, to)) if from <= to && to < self.count => found.extend(from..=to),
                Some(_) => {
                    let what = format!(
                        "the range `{column}` is not within the {} columns (0 to {})",
                        self.count,
                        self.count.saturating_sub(1)
                    );
                    return Err(Problem::Arrays { what });
                }
                None => found.push(self.find(column, role)?),
            }
        }
        Ok(found)
    }

    /// The features of a model by name, if both sides have names that tell columns apart.
    fn of_model(&self, expected: &Expected, options: &ReadOptions) -> Result<Option<Vec<usize>>, Problem> {
        let (Some(wanted), true) = (&expected.names, self.names.is_some()) else {
            return Ok(None);
        };
        let distinct: std::collections::HashSet<&String> = wanted.iter().collect();
        if distinct.len() != wanted.len() {
            return Ok(None);
        }
        let missing: Vec<String> = wanted.iter().filter(|n| !self.by_name.contains_key(n.as_str())).cloned().collect();
        if !missing.is_empty() {
            return Err(Problem::MissingFeatures { missing, new: self.unknown_to(&distinct, options) });
        }
        wanted.iter().map(|n| self.find(&Column::Name(n.clone()), "feature column")).collect::<Result<_, _>>().map(Some)
    }

    /// The columns that are no features of a model and have no other part either: perhaps features by another name.
    fn unknown_to(&self, wanted: &std::collections::HashSet<&String>, options: &ReadOptions) -> Vec<String> {
        let named = [&options.label, &options.weight, &options.group].into_iter().flatten().chain(&options.keep);
        let parts: Vec<usize> = named.filter_map(|column| self.find(column, "column").ok()).collect();
        let all: Vec<usize> = (0..self.count).collect();
        let labels = self.usual_labels(&all);
        let names = self.names.unwrap_or_default();
        let others = all.into_iter().filter(|i| !parts.contains(i) && !labels.contains(i) && !self.index.contains(i));
        others.filter_map(|i| names.get(i)).filter(|name| !wanted.contains(name)).cloned().collect()
    }

    /// The free columns with names that labels usually have.
    fn usual_labels(&self, free: &[usize]) -> Vec<usize> {
        let Some(names) = self.names else { return Vec::new() };
        // Beside an x, a y is a coordinate.
        let coordinate = names.iter().any(|n| n.trim().eq_ignore_ascii_case("x"));
        let is = |i: usize, name: &str| name.eq_ignore_ascii_case(&names[i]);
        let usual = |i: usize| LABEL_NAMES.iter().any(|l| is(i, l)) && !(coordinate && is(i, "y"));
        free.iter().copied().filter(|&i| usual(i)).collect()
    }

    /// Refuses a label that was guessed for its place and has too many values for a label.
    pub(crate) fn check_label(&self, label: Option<usize>, labels: &[String]) -> Result<(), Problem> {
        const FEWEST_ROWS: usize = 20;
        let Some(label) = label.filter(|_| labels.len() >= FEWEST_ROWS) else { return Ok(()) };
        let distinct = labels.iter().collect::<std::collections::HashSet<_>>().len();
        let numbers = labels.iter().all(|label| label.parse::<f64>().is_ok());
        // Names repeat less often than numbers do where they are classes.
        let most = if numbers { labels.len() / 10 } else { labels.len() / 2 };
        if distinct <= most {
            return Ok(());
        }
        let what = if numbers { "numbers" } else { "texts" };
        let found = format!("{distinct} different {what} in {} rows", labels.len());
        Err(Problem::NoLabelColumn { column: self.reference(label), found })
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
        for i in self.find_all(&options.drop, "column to drop")? {
            // One may be named twice, and a range may include the weights.
            taken[i] = true;
        }
        let mut take = |i: usize| match std::mem::replace(&mut taken[i], true) {
            true => Err(Problem::ColumnUsedTwice { column: self.reference(i) }),
            false => Ok(i),
        };
        let chosen = match (&options.features, &options.expected) {
            (Some(list), _) => Some(self.find_all(list, "feature column")?),
            (None, Some(expected)) => self.of_model(expected, options)?,
            (None, None) => None,
        };
        for &i in chosen.iter().flatten() {
            take(i)?;
        }
        let keep = self.find_all(&options.keep, "column to keep")?;
        if chosen.is_none() {
            keep.iter().for_each(|&i| taken[i] = true);
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
        let usual = self.usual_labels(&free);
        // To choose one of two would make a feature of the other, which may be the same labels once more.
        let doubtful = options.preparation.is_some() && required && asked.is_none() && usual.len() > 1;
        if doubtful {
            let names = usual.iter().map(|&i| self.label_name(i)).collect();
            return Err(Problem::DoubtfulLabel { names });
        }
        let usual = || match usual[..] {
            [only] => Some(only).filter(|_| options.labels != LabelUse::Ignore || count.is_some()),
            _ => None,
        };
        let last = || match (&chosen, count) {
            _ if required => free.iter().rev().copied().find(|i| !self.index.contains(i)),
            (Some(_), Some(_)) => free.first().copied().filter(|&i| free.len() == 1 && i + 1 == self.count),
            (None, Some(d)) => free.last().copied().filter(|_| free.len() == d + 1),
            (_, None) => None,
        };
        let named = if bare { None } else { asked.or_else(usual) };
        let label = if bare { None } else { named.or_else(last) };
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
        let label_last = label.is_some() && named.is_none();
        let label_guessed = label.is_some() && asked.is_none();
        Ok(Selection { features, label, weight, group, keep, label_guessed, label_last })
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
        assert_eq!(select("b,c", &optional), Err("the model needs 1 more column: `a`; new to it: `c`".into()));
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
