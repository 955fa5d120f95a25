//! Verdicts as sentences.

use super::{CrossingRow, Verdict};
use crate::text::{digits, plural};

/// Most rows that a sentence names of one kind.
const NAMED: usize = 3;

/// Of all classes at once.
pub(super) fn of_all(verdict: &Verdict, names: &[String], y: &[u32]) -> String {
    match verdict {
        Verdict::Separable => "all classes can be told apart without a mistake by one linear score each".into(),
        Verdict::NotSeparable { combination } => match two(combination, y) {
            Some((k, l)) => of_pair(verdict, k, l, names, y),
            None => {
                let mut kinds: Vec<(u32, u32, usize)> = Vec::new();
                for row in combination {
                    let (own, rival) = (y[row.row as usize], row.rival);
                    match kinds.iter_mut().find(|kind| (kind.0, kind.1) == (own, rival)) {
                        Some(kind) => kind.2 += 1,
                        None => kinds.push((own, rival, 1)),
                    }
                }
                kinds.sort_by_key(|kind| std::cmp::Reverse(kind.2));
                let listed: Vec<String> = kinds
                    .iter()
                    .take(NAMED)
                    .map(|(own, rival, count)| {
                        let (own, rival) = (&names[*own as usize], &names[*rival as usize]);
                        format!("{} of {own} against {rival}", plural(*count, "row"))
                    })
                    .collect();
                let more = if kinds.len() > NAMED { " and others" } else { "" };
                format!(
                    "the classes cannot be told apart all at once by one linear score each: the demands of {}{more}, \
                     weighted, cancel to nothing",
                    listed.join(", ")
                )
            }
        },
        Verdict::Undecided { margin_at_most } => format!(
            "whether all classes can be told apart cannot be decided to the tolerance: {}",
            at_most(*margin_at_most)
        ),
    }
}

/// Of two classes.
pub(super) fn of_pair(verdict: &Verdict, k: u32, l: u32, names: &[String], y: &[u32]) -> String {
    let (first, second) = (&names[k as usize], &names[l as usize]);
    match verdict {
        Verdict::Separable => format!("{first} and {second} can be told apart"),
        Verdict::NotSeparable { combination } => {
            let of = |class: u32| {
                let mut rows: Vec<&CrossingRow> =
                    combination.iter().filter(|row| y[row.row as usize] == class).collect();
                rows.sort_by(|a, b| b.weight.total_cmp(&a.weight));
                rows
            };
            let (own, others) = (of(k), of(l));
            if let ([a], [b]) = (own.as_slice(), others.as_slice()) {
                return format!(
                    "{first} and {second} cannot be told apart: row {} ({first}) and row {} ({second}) are equal",
                    a.row + 1,
                    b.row + 1
                );
            }
            let mean = |rows: &[&CrossingRow], name: &str| {
                let most: Vec<String> = rows.iter().take(NAMED).map(|row| (row.row + 1).to_string()).collect();
                let word = if rows.len() == 1 {
                    "row"
                } else if rows.len() <= NAMED {
                    "rows"
                } else {
                    "most of all rows"
                };
                format!("{} of {name} ({word} {})", plural(rows.len(), "row"), most.join(", "))
            };
            format!(
                "{first} and {second} cannot be told apart: a weighted mean of {} is the same point as one of {}",
                mean(&own, first),
                mean(&others, second)
            )
        }
        Verdict::Undecided { margin_at_most } => format!(
            "whether {first} and {second} can be told apart cannot be decided to the tolerance: {}",
            at_most(*margin_at_most)
        ),
    }
}

fn at_most(margin: f64) -> String {
    if margin.is_finite() {
        format!("if they can, then with a margin of at most {} on standardised features", digits(margin, 3))
    } else {
        "neither a separation nor its impossibility could be proven".into()
    }
}

/// The two classes that a combination is about, if it is about two.
fn two(combination: &[CrossingRow], y: &[u32]) -> Option<(u32, u32)> {
    let first = combination.first()?;
    let (k, l) = (y[first.row as usize].min(first.rival), y[first.row as usize].max(first.rival));
    let all = combination.iter().all(|row| {
        let own = y[row.row as usize];
        (own.min(row.rival), own.max(row.rival)) == (k, l)
    });
    all.then_some((k, l))
}
