//! Free text as its words: how often they occur in a text, weighed by how rare they are (TF-IDF), texts at length 1.

use std::collections::{BTreeMap, HashMap};

/// What is known of the words of a column.
#[derive(Clone, Debug, Default)]
pub(super) struct WordStatistics {
    counts: HashMap<String, WordCount>,
    /// The weight of all rows.
    mass: f64,
    /// Different words, summed over rows.
    entries: u64,
}

/// How often a word occurs, by weight: in how many texts, and in all.
#[derive(Clone, Copy, Debug, Default)]
struct WordCount {
    texts: f64,
    times: f64,
}

impl WordStatistics {
    /// Adds a text that some rows have.
    pub(super) fn add(&mut self, text: &str, rows: u64, mass: f64) {
        let lower = text.to_lowercase();
        let mut times: HashMap<&str, f64> = HashMap::new();
        words(&lower).for_each(|word| *times.entry(word).or_default() += 1.0);
        self.entries += times.len() as u64 * rows;
        for (word, times) in times {
            let known = match self.counts.get_mut(word) {
                Some(known) => known,
                None => self.counts.entry(word.to_string()).or_default(),
            };
            known.texts += mass;
            known.times += mass * times;
        }
    }

    /// Adds rows, whatever they hold.
    pub(super) fn add_rows(&mut self, mass: f64) {
        self.mass += mass;
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.mass += other.mass;
        self.entries += other.entries;
        for (word, count) in other.counts {
            let known = self.counts.entry(word).or_default();
            known.texts += count.texts;
            known.times += count.times;
        }
    }

    /// Different words, summed over rows.
    pub(super) fn entries(&self) -> u64 {
        self.entries
    }

    /// The most frequent words in the order of the alphabet, each with its weight: ln((1 + n)/(1 + texts with it)) + 1.
    pub(super) fn weighed(&self, most: usize) -> (Vec<String>, Vec<f64>) {
        let mut all: Vec<(&String, &WordCount)> = self.counts.iter().collect();
        all.sort_by(|a, b| b.1.times.total_cmp(&a.1.times).then_with(|| a.0.cmp(b.0)));
        all.truncate(most);
        all.sort_by(|a, b| a.0.cmp(b.0));
        let weight = |count: &WordCount| ((1.0 + self.mass) / (1.0 + count.texts)).ln() + 1.0;
        all.into_iter().map(|(word, count)| (word.clone(), weight(count))).unzip()
    }
}

/// Words in lower case: two or more letters, digits and underscores in a row.
fn words(lower: &str) -> impl Iterator<Item = &str> {
    let between = |c: char| !(c.is_alphanumeric() || c == '_');
    lower.split(between).filter(|word| word.chars().nth(1).is_some())
}

/// Calls `put(position, value)` for the known words of a text, in their order. A text without any has no entries.
pub(super) fn encode(text: &str, known: &HashMap<&str, usize>, weights: &[f64], mut put: impl FnMut(usize, f64)) {
    let lower = text.to_lowercase();
    let mut entries: BTreeMap<usize, f64> = BTreeMap::new();
    for at in words(&lower).filter_map(|word| known.get(word)) {
        *entries.entry(*at).or_default() += 1.0;
    }
    entries.iter_mut().for_each(|(at, value)| *value *= weights[*at]);
    let length = entries.values().map(|v| v * v).sum::<f64>().sqrt();
    entries.into_iter().for_each(|(at, value)| put(at, value / length));
}
