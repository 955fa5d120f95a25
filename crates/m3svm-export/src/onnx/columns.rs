//! Columns of a table as features, by standard operators.
//!
//! A text becomes 1 at its place in the list of all texts that mean something, missing ones among them, and a matrix says which features
//! each of these sets.

use m3svm::{Encoding, Preprocessor, TimePart};

use super::builder::Builder;
use super::messages::Element;
use crate::Precision;

/// How people write that a text is missing; one of these that is a value of the column is that value.
const NOTHING: [&str; 14] = ["", "NA", "na", "Na", "N/A", "n/a", "NaN", "nan", "NAN", "null", "NULL", "Null", "?", " "];

/// The features [N, d] in double precision.
pub(super) fn features(
    graph: &mut Builder,
    preprocessor: &Preprocessor,
    precision: Precision,
    outside: Element,
) -> String {
    let mut parts: Vec<String> = Vec::new();
    for (i, column) in preprocessor.columns().iter().enumerate() {
        let name = input_name(&column.shown(i));
        match &column.encoding {
            Encoding::Unused {} | Encoding::Words { .. } => {}
            Encoding::Number { fill, shift, parts: time_parts, indicator } => {
                graph.input(&name, outside, 1);
                let wide = match precision {
                    Precision::Single => graph.cast(&name, Element::Double, &format!("double_{i}")),
                    Precision::Double => name.clone(),
                };
                let missing = graph.node("IsNaN", &[&wide], &format!("missing_{i}"), &[]);
                let filled = match fill {
                    Some(fill) => {
                        let fill = graph.numbers(&format!("fill_{i}"), &[], std::iter::once(*fill));
                        graph.node("Where", &[&missing, &fill, &wide], &format!("filled_{i}"), &[])
                    }
                    None => wide.clone(),
                };
                let shift = graph.numbers(&format!("shift_{i}"), &[], std::iter::once(*shift));
                parts.push(graph.node("Sub", &[&filled, &shift], &format!("number_{i}"), &[]));
                let times =
                    time_parts.iter().map(|part| time_part(graph, &wide, *part, &format!("{}_{i}", part.name())));
                parts.extend(times.collect::<Vec<_>>());
                if *indicator {
                    parts.push(graph.cast(&missing, Element::Double, &format!("indicator_{i}")));
                }
            }
            Encoding::Values { values, others, fill, indicator } => {
                graph.input(&name, Element::Text, 1);
                let width = column.encoding.width();
                let mut texts: Vec<String> = values.iter().chain(others).cloned().collect();
                let mut sets: Vec<Vec<usize>> = (0..values.len()).map(|k| vec![k]).collect();
                sets.extend(others.iter().map(|_| vec![values.len()]));
                let words =
                    NOTHING.iter().map(|word| word.to_string()).chain(preprocessor.missing_words().iter().cloned());
                let mut unknown: Vec<String> = Vec::new();
                for word in words {
                    if !texts.contains(&word) && !unknown.contains(&word) {
                        unknown.push(word);
                    }
                }
                for word in unknown {
                    texts.push(word);
                    sets.push(fill.iter().copied().chain(indicator.then_some(width - 1)).collect());
                }
                let hot = graph.one_hot(&name, &texts, &format!("hot_{i}"));
                // The encoder adds a dimension to [N, 1].
                let shape = graph.integers(&format!("shape_{i}"), &[-1, texts.len() as i64]);
                let hot = graph.node("Reshape", &[&hot, &shape], &format!("flat_{i}"), &[]);
                let hot = graph.cast(&hot, Element::Double, &format!("double_hot_{i}"));
                let entry = |(k, j): (usize, usize)| f64::from(u8::from(sets[k].contains(&j)));
                let places = (0..texts.len()).flat_map(|k| (0..width).map(move |j| (k, j)));
                let matrix = graph.numbers(&format!("matrix_{i}"), &[texts.len(), width], places.map(entry));
                parts.push(graph.node("MatMul", &[&hot, &matrix], &format!("text_{i}"), &[]));
            }
        }
    }
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    graph.node("Concat", &parts, "features", &[("axis", 1)])
}

/// A feature per value of a part of times in days since 1970; none of them is 1 where the time is missing.
fn time_part(graph: &mut Builder, days: &str, part: TimePart, name: &str) -> String {
    let mut steps = Steps { graph, name, count: 0 };
    let whole = steps.node("Floor", &[days]);
    let value = match part {
        TimePart::Weekday => {
            let from_monday = steps.add(&whole, 3.0);
            steps.remainder(&from_monday, 7.0)
        }
        TimePart::Hour => {
            let of_day = steps.node("Sub", &[days, &whole]);
            let hours = steps.times(&of_day, 24.0);
            // Half a millisecond, since hours are no exact parts of a day.
            let hours = steps.add(&hours, 12.0 / 86_400_000.0);
            let last = steps.number(23.0);
            let hours = steps.node("Floor", &[&hours]);
            steps.node("Min", &[&hours, &last])
        }
        // Years begin in March, so that leap days come last; the calendar repeats after 400 of them.
        TimePart::Month => {
            let day = steps.add(&whole, 719_468.0);
            let day = steps.remainder(&day, 146_097.0);
            let [fours, hundreds, four_hundreds] = [1_460.0, 36_524.0, 146_096.0].map(|d| steps.quotient(&day, d));
            let years = steps.node("Sub", &[&day, &fours]);
            let years = steps.node("Add", &[&years, &hundreds]);
            let years = steps.node("Sub", &[&years, &four_hundreds]);
            let year = steps.quotient(&years, 365.0);
            let [leaps, no_leaps] = [4.0, 100.0].map(|d| steps.quotient(&year, d));
            let before = steps.times(&year, 365.0);
            let before = steps.node("Add", &[&before, &leaps]);
            let before = steps.node("Sub", &[&before, &no_leaps]);
            let day = steps.node("Sub", &[&day, &before]);
            let five = steps.times(&day, 5.0);
            let five = steps.add(&five, 2.0);
            let month = steps.quotient(&five, 153.0);
            let month = steps.add(&month, 2.0);
            steps.remainder(&month, 12.0)
        }
    };
    let values = graph.numbers(&format!("{name}_values"), &[1, part.width()], (0..part.width()).map(|v| v as f64));
    let hit = graph.node("Equal", &[&value, &values], &format!("{name}_hit"), &[]);
    graph.cast(&hit, Element::Double, name)
}

/// Arithmetic, one operator after the other.
struct Steps<'a> {
    graph: &'a mut Builder,
    name: &'a str,
    count: usize,
}

impl Steps<'_> {
    fn next(&mut self) -> String {
        self.count += 1;
        format!("{}_{}", self.name, self.count)
    }

    fn node(&mut self, operator: &str, inputs: &[&str]) -> String {
        let result = self.next();
        self.graph.node(operator, inputs, &result, &[])
    }

    fn number(&mut self, value: f64) -> String {
        let name = self.next();
        self.graph.numbers(&name, &[], std::iter::once(value))
    }

    fn add(&mut self, to: &str, value: f64) -> String {
        let value = self.number(value);
        self.node("Add", &[to, &value])
    }

    fn times(&mut self, of: &str, value: f64) -> String {
        let value = self.number(value);
        self.node("Mul", &[of, &value])
    }

    /// The whole part of a quotient, rounded down.
    fn quotient(&mut self, of: &str, by: f64) -> String {
        let by = self.number(by);
        let quotient = self.node("Div", &[of, &by]);
        self.node("Floor", &[&quotient])
    }

    fn remainder(&mut self, of: &str, by: f64) -> String {
        let whole = self.quotient(of, by);
        let whole = self.times(&whole, by);
        self.node("Sub", &[of, &whole])
    }
}

/// The name of a column, unless something of ours is called like that.
fn input_name(name: &str) -> String {
    const OURS: [&str; 10] = [
        "label",
        "scores",
        "probabilities",
        "features",
        "weights",
        "intercept",
        "classes",
        "best",
        "products",
        "scorers",
    ];
    if OURS.contains(&name) { format!("{name}_column") } else { name.into() }
}
