//! Puts right what would give damage away at once: checksums are good against accidents, and an attacker computes them.

use std::io::{Read, Write};

use flate2::{Compression, Decompress, FlushDecompress, read::DeflateDecoder, write::ZlibEncoder};

/// Most bytes that are inflated for a checksum.
const MOST: u64 = 1 << 20;

fn number(bytes: &[u8], at: usize, width: usize) -> Option<usize> {
    let digits = bytes.get(at..at.checked_add(width)?)?;
    Some(digits.iter().rev().fold(0, |sum, byte| sum << 8 | usize::from(*byte)))
}

fn put(bytes: &mut [u8], at: usize, value: u32) -> Option<()> {
    bytes.get_mut(at..at.checked_add(4)?)?.copy_from_slice(&value.to_le_bytes());
    Some(())
}

/// The checksums of the members of an archive.
pub(crate) fn zip(bytes: &mut [u8]) {
    let Some(end) = bytes.windows(4).rposition(|w| w == b"PK\x05\x06") else { return };
    let Some(mut at) = number(bytes, end + 16, 4) else { return };
    while bytes.get(at..).is_some_and(|rest| rest.starts_with(b"PK\x01\x02")) {
        match zip_member(bytes, at) {
            Some(next) => at = next,
            None => return,
        }
    }
}

/// The member at this place of the directory; gives the place of the next one.
fn zip_member(bytes: &mut [u8], at: usize) -> Option<usize> {
    let lengths = [28, 30, 32].into_iter().map(|field| number(bytes, at + field, 2)).sum::<Option<usize>>()?;
    let (method, size, local) = (number(bytes, at + 10, 2)?, number(bytes, at + 20, 4)?, number(bytes, at + 42, 4)?);
    let start = local + 30 + number(bytes, local + 26, 2)? + number(bytes, local + 28, 2)?;
    if let Some(content) = bytes.get(start..start + size) {
        let sum = match method {
            0 => crc32fast::hash(content),
            _ => {
                let mut plain = Vec::new();
                // What can be read of it counts: the reader comes no further.
                let _ = DeflateDecoder::new(content).take(MOST).read_to_end(&mut plain);
                crc32fast::hash(&plain)
            }
        };
        put(bytes, at + 16, sum)?;
        put(bytes, local + 14, sum)?;
    }
    Some(at + 46 + lengths)
}

/// Checksum and length at the end of the first member.
pub(crate) fn gzip(bytes: &mut Vec<u8>) {
    const PLAIN_HEADER: usize = 10;
    let Some(content) = bytes.get(PLAIN_HEADER..) else { return };
    let mut plain = vec![0; 1 << 16];
    let mut inflate = Decompress::new(false);
    let _ = inflate.decompress(content, &mut plain, FlushDecompress::Finish);
    let end = PLAIN_HEADER + inflate.total_in() as usize;
    let length = inflate.total_out() as usize;
    bytes.resize(bytes.len().max(end + 8), 0);
    put(bytes, end, crc32fast::hash(&plain[..length]));
    put(bytes, end + 4, length as u32);
}

/// Wraps the variables of a MATLAB file, so that what is damaged is the content and not its compression.
pub(crate) fn compress_variables(bytes: &mut Vec<u8>) {
    const HEADER: usize = 128;
    let Some(elements) = bytes.get(HEADER..) else { return };
    let mut out = bytes[..HEADER].to_vec();
    let mut rest = elements;
    while let Some(length) = number(rest, 4, 4) {
        let (element, after) = rest.split_at((8 + length.next_multiple_of(8)).min(rest.len()));
        let mut zlib = ZlibEncoder::new(Vec::new(), Compression::fast());
        let Ok(packed) = zlib.write_all(element).and_then(|()| zlib.finish()) else { return };
        out.extend([15u32.to_le_bytes(), (packed.len() as u32).to_le_bytes()].concat());
        out.extend(packed);
        rest = after;
    }
    *bytes = out;
}

/// The checksums of the lines of a journal.
pub(crate) fn lines(bytes: &mut Vec<u8>) {
    const CHECKSUM: &[u8] = b",\"checksum\":";
    let sealed = bytes.split_inclusive(|byte| *byte == b'\n').flat_map(|line| {
        match line.windows(CHECKSUM.len()).rposition(|w| w == CHECKSUM) {
            Some(at) if line.ends_with(b"}\n") => {
                let sum = crc32fast::hash(&[&line[..at], b"}"].concat()).to_string();
                [&line[..at], CHECKSUM, sum.as_bytes(), b"}\n"].concat()
            }
            _ => line.to_vec(),
        }
    });
    *bytes = sealed.collect();
}

/// The checksum of a model file, and the length of its header with it.
pub(crate) fn model(bytes: &mut Vec<u8>) {
    if let Some(repaired) = repaired_model(bytes) {
        *bytes = repaired;
    }
}

fn repaired_model(bytes: &[u8]) -> Option<Vec<u8>> {
    const CHECKSUM: &str = ",\"checksum\":";
    const ESCAPED: &[u8] = b",\\\"checksum\\\":";
    let length = number(bytes, 0, 8)?;
    let (header, data) = bytes.get(8..)?.split_at_checked(length)?;
    let json: serde_json::Value = serde_json::from_slice(header).ok()?;
    let (before, _) = json["__metadata__"]["m3svm"].as_str()?.rsplit_once(CHECKSUM)?;
    let mut sum = crc32fast::Hasher::new();
    const TENSORS: [&str; 11] = [
        "weights",
        "intercept",
        "scaler.shift",
        "scaler.factor",
        "coefficients",
        "lengths",
        "support.rows",
        "support.classes",
        "support.ends",
        "support.columns",
        "support.values",
    ];
    for name in TENSORS.into_iter().filter(|name| json.get(name).is_some()) {
        let offset = |i: usize| usize::try_from(json[name]["data_offsets"][i].as_u64()?).ok();
        sum.update(data.get(offset(0)?..offset(1)?)?);
    }
    sum.update(before.as_bytes());
    let at = header.windows(ESCAPED.len()).rposition(|w| w == ESCAPED)? + ESCAPED.len();
    let digits = header[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let sum = sum.finalize().to_string();
    let header = [&header[..at], sum.as_bytes(), &header[at + digits..]].concat();
    Some([(header.len() as u64).to_le_bytes().as_slice(), &header, data].concat())
}

/// The checksums of a cache of rows: those of its blocks and that of what is said of them.
pub(crate) fn rows(bytes: &mut Vec<u8>) {
    const TAIL: usize = 20;
    const BEGIN: &[u8] = b"{\"format_version\"";
    let Some(end) = bytes.len().checked_sub(TAIL) else { return };
    let Some(start) = bytes[..end].windows(BEGIN.len()).rposition(|w| w == BEGIN) else { return };
    let mut text = bytes[start..end].to_vec();
    if let Ok(mut index) = serde_json::from_slice::<serde_json::Value>(&text) {
        let is = |value: &serde_json::Value| value.as_bool() == Some(true);
        let (sparse, single) = (is(&index["storage"]["is_sparse"]), is(&index["storage"]["is_single"]));
        let (of_row, of_length) = (if is(&index["weighted"]) { 12 } else { 4 }, if sparse { 4 } else { 0 });
        let of_entry = if single { 4 } else { 8 } + of_length;
        for block in index["blocks"].as_array_mut().into_iter().flatten() {
            let of = |name: &str| block[name].as_u64().and_then(|value| usize::try_from(value).ok()).unwrap_or(0);
            let (from, rows, entries) = (of("offset"), of("rows"), of("entries"));
            let middle = from.saturating_add(rows.saturating_mul(of_row));
            let after =
                middle.saturating_add(rows.saturating_mul(of_length)).saturating_add(entries.saturating_mul(of_entry));
            let sum = |from: usize, to: usize| bytes.get(from..to).map(crc32fast::hash);
            let sums = (sum(from, middle), sum(middle, after));
            if let (Some(labels), Some(values), Some(block)) = (sums.0, sums.1, block.as_object_mut()) {
                block.insert("labels_crc".into(), labels.into());
                block.insert("values_crc".into(), values.into());
            }
        }
        text = index.to_string().into_bytes();
    }
    bytes.truncate(start);
    bytes.extend_from_slice(&text);
    bytes.extend_from_slice(&crc32fast::hash(&text).to_le_bytes());
    bytes.extend_from_slice(&(text.len() as u64).to_le_bytes());
    bytes.extend_from_slice(b"m3svmrow");
}
