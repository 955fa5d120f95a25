//! The first byte of an input: what is asked of a reader.

use m3svm::{Preparation, TimePart};
use m3svm_io::{Expected, Format, LabelUse, ReadOptions};

/// Options, packed into a byte.
///
/// | Bits | Meaning                                                                  |
/// |------|--------------------------------------------------------------------------|
/// | 0, 1 | labels are required, optional, ignored; 3: required, in the first column |
/// | 2    | a model expects two features called a and b                              |
/// | 3    | columns, header, delimiter or first index are given                      |
/// | 4    | checksums are put right, so that damage gets past them                   |
/// | 5    | the content comes in pieces of a few bytes                               |
/// | 6, 7 | the extension of the file                                                |
#[derive(Clone, Copy, Debug)]
pub struct Control(pub u8);

impl Control {
    /// The byte that puts checksums right.
    pub const REPAIR: u8 = 1 << 4;

    /// The bits of the third extension of the target.
    pub const THIRD_NAME: u8 = 2 << 6;

    /// The label in the first column, then the columns called a and the last one, of whatever kind they are.
    pub const KINDS: u8 = 3 | 1 << 3 | 1 << 6;

    /// The same, with words, parts of times and names that are numbers.
    pub const WORDS: u8 = Self::KINDS | 1 << 5;

    /// Splits an input into options and content.
    pub(crate) fn of(input: &[u8]) -> Option<(Self, &[u8])> {
        input.split_first().map(|(byte, content)| (Self(*byte), content))
    }

    pub(crate) fn repairs(self) -> bool {
        self.bit(4)
    }

    pub(crate) fn trickles(self) -> bool {
        self.bit(5)
    }

    pub(crate) fn chooses(self) -> bool {
        self.bit(3)
    }

    /// One of four.
    pub(crate) fn pick<T: Copy>(self, from: [T; 4]) -> T {
        from[usize::from(self.0 >> 6)]
    }

    pub(crate) fn bit(self, number: u8) -> bool {
        self.0 >> number & 1 == 1
    }

    /// Where the content comes in pieces, texts are taken for words and times for their parts as well.
    fn preparation(self) -> Preparation {
        match self.trickles() {
            false => Preparation::default(),
            true => Preparation {
                text: vec!["a".into()],
                time_parts: TimePart::ALL.to_vec(),
                categories: vec!["b".into()],
                ..Preparation::default()
            },
        }
    }

    /// What is asked of a reader of this format.
    pub(crate) fn options(self, format: Option<Format>) -> ReadOptions {
        let text = matches!(format, Some(Format::Csv | Format::Libsvm) | None);
        let columns = format != Some(Format::Libsvm);
        let chosen = self.chooses();
        ReadOptions {
            format,
            label: (self.0 & 3 == 3).then(|| "0".into()),
            features: (chosen && columns && self.bit(6)).then(|| vec!["-1".into(), "a".into()]),
            weight: (chosen && columns && self.bit(7)).then(|| "1".into()),
            group: (chosen && columns && !self.bit(6)).then(|| "b".into()),
            header: (chosen && text).then_some(self.bit(6)),
            delimiter: (chosen && text && self.bit(7)).then_some(b';'),
            zero_based: (chosen && text).then_some(self.bit(7)),
            labels: [LabelUse::Required, LabelUse::Optional, LabelUse::Ignore, LabelUse::Required]
                [usize::from(self.0 & 3)],
            expected: self.bit(2).then(|| Expected { count: 2, names: Some(vec!["a".into(), "b".into()]) }),
            // Columns of every kind where nothing is expected of them.
            preparation: (self.bit(3) && !self.bit(2)).then(|| self.preparation()),
            ..ReadOptions::default()
        }
    }
}
