//! Random damage to inputs, the same for the same seed.

/// Texts that parsers and binary formats react to.
const TOKENS: &str = include_str!("../tokens.dict");
/// Numbers in text that are put in place of others.
const NUMBERS: [&str; 14] = [
    "0",
    "-1",
    "1e308",
    "-1e308",
    "1e-320",
    "1e999",
    "nan",
    "inf",
    "255",
    "65536",
    "2147483648",
    "4294967295",
    "9223372036854775807",
    "18446744073709551616",
];
/// Numbers in bytes that are put in place of others.
const WORDS: [u64; 10] = [0, 1, 0x7f, 0xff, 0x8000, 0xffff_ffff, 0x7fff_ffff, 1 << 31, 1 << 61, 0x7fff_ffff_ffff_ffff];

/// Makes inputs out of seeds.
pub struct Mutator {
    state: u64,
    tokens: Vec<Vec<u8>>,
    most: usize,
}

impl Mutator {
    /// Inputs of at most so many bytes.
    pub fn new(seed: u64, most: usize) -> Self {
        Self { state: seed, tokens: TOKENS.lines().filter_map(token).collect(), most }
    }

    /// One of the seeds with a few changes.
    pub fn next(&mut self, seeds: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = seeds[self.below(seeds.len())].clone();
        let other = &seeds[self.below(seeds.len())];
        for _ in 0..=self.below(4) {
            self.change(&mut bytes, other);
        }
        bytes.truncate(self.most);
        bytes
    }

    /// SplitMix64.
    fn random(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.random() % bound.max(1) as u64) as usize
    }

    /// A short stretch.
    fn range(&mut self, length: usize) -> std::ops::Range<usize> {
        let from = self.below(length);
        from..(from + 1 + self.below(16)).min(length)
    }

    fn change(&mut self, bytes: &mut Vec<u8>, other: &[u8]) {
        if bytes.is_empty() {
            bytes.push(self.random() as u8);
        }
        let at = self.below(bytes.len());
        match self.below(12) {
            0 => bytes[at] ^= 1 << self.below(8),
            1 => bytes[at] = self.random() as u8,
            2 => bytes[0] = self.random() as u8,
            3 => drop(bytes.drain(self.range(bytes.len()))),
            4 => {
                let copy = bytes[self.range(bytes.len())].to_vec();
                bytes.splice(at..at, copy);
            }
            5 if !other.is_empty() => {
                let copy = other[self.range(other.len())].to_vec();
                let end = (at + copy.len()).min(bytes.len());
                bytes.splice(at..end, copy);
            }
            6 => bytes.truncate(at),
            7 => {
                let token = self.below(self.tokens.len());
                bytes.splice(at..at, self.tokens[token].iter().copied());
            }
            8 => {
                let word = WORDS[self.below(WORDS.len())].wrapping_add(self.random() % 3).wrapping_sub(1);
                let width = [1, 2, 4, 8][self.below(4)].min(bytes.len() - at);
                bytes[at..at + width].copy_from_slice(&word.to_le_bytes()[..width]);
            }
            9 => {
                let swap = self.below(bytes.len());
                bytes.swap(at, swap);
            }
            10 => bytes[at] = bytes[at].wrapping_add([1, 255, 16, 240][self.below(4)]),
            _ => self.change_number(bytes, at),
        }
    }

    /// Replaces the digits that begin at this place or after it.
    fn change_number(&mut self, bytes: &mut Vec<u8>, at: usize) {
        let Some(skipped) = bytes[at..].iter().position(u8::is_ascii_digit) else { return };
        let from = at + skipped;
        let digits = bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let number = NUMBERS[self.below(NUMBERS.len())];
        bytes.splice(from..from + digits, number.bytes());
    }
}

/// A line of the dictionary: bytes in quotes, those that are no signs as `\x00`.
fn token(line: &str) -> Option<Vec<u8>> {
    let mut text = line.strip_prefix('"')?.strip_suffix('"')?;
    let mut bytes = Vec::new();
    while let Some(first) = text.chars().next() {
        let hex = text.strip_prefix("\\x").and_then(|rest| u8::from_str_radix(rest.get(..2)?, 16).ok());
        match hex {
            Some(byte) => {
                bytes.push(byte);
                text = &text[4..];
            }
            None => {
                bytes.extend(first.to_string().bytes());
                text = &text[first.len_utf8()..];
            }
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_read_as_libfuzzer_reads_them() {
        assert_eq!(token(r#""a\x00\xffb""#), Some(b"a\x00\xffb".to_vec()));
        assert_eq!(token("# a comment"), None);
        assert!(TOKENS.lines().all(|l| l.is_empty() || l.starts_with('#') || token(l).is_some_and(|t| !t.is_empty())));
    }

    #[test]
    fn the_same_seed_makes_the_same_inputs() {
        let seeds = [b"one 1".to_vec(), vec![0; 100]];
        let inputs = |seed| {
            let mut mutator = Mutator::new(seed, 50);
            (0..1000).map(|_| mutator.next(&seeds)).collect::<Vec<_>>()
        };
        assert_eq!(inputs(1), inputs(1));
        assert_ne!(inputs(1), inputs(2));
        assert!(inputs(3).iter().all(|input| input.len() <= 50));
    }
}
