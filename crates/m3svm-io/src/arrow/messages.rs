//! What the messages of Arrow say of their sizes, held against the bytes that are there: the decoder allocates what they say.

use std::io;

use arrow_ipc::{CompressionType, MessageHeader, RecordBatch};
use m3svm::memory::Meter;

use crate::error::Problem;
use crate::options::Format;

/// How many times as long as its compressed bytes LZ4 data can be: each byte of a length stands for at most 255.
const LZ4: u64 = 255;
/// The same for Zstandard, whose shortest block has four bytes and stands for at most 128 KiB.
const ZSTANDARD: u64 = 1 << 15;

/// Checks one message with a body of so many bytes; `word` reads eight of them.
pub(super) fn check(
    format: Format,
    message: &[u8],
    body: u64,
    meter: &mut Meter,
    word: impl FnMut(u64) -> io::Result<[u8; 8]>,
) -> Result<(), Problem> {
    let bad = |what: &str| Problem::Broken { format, what: what.into() };
    let message = arrow_ipc::root_as_message(message).map_err(|_| bad("a message is damaged"))?;
    let batch = match message.header_type() {
        MessageHeader::RecordBatch => message.header_as_record_batch(),
        MessageHeader::DictionaryBatch => message.header_as_dictionary_batch().and_then(|d| d.data()),
        _ => return Ok(()),
    };
    let size = decoded(batch.ok_or_else(|| bad("a message is damaged"))?, body, word);
    let size = size?.ok_or_else(|| bad("a message claims more data than it has"))?;
    // The body as it is read, and what it is decoded to.
    meter.foresee(body.saturating_add(size)).map_err(Problem::Data)
}

/// The bytes that the buffers of a batch have when they are decompressed; `None` if they cannot be what the batch says.
fn decoded(
    batch: RecordBatch<'_>,
    body: u64,
    mut word: impl FnMut(u64) -> io::Result<[u8; 8]>,
) -> io::Result<Option<u64>> {
    let most = batch.compression().map(|c| if c.codec() == CompressionType::LZ4_FRAME { LZ4 } else { ZSTANDARD });
    let natural = |n: i64| u64::try_from(n).ok();
    if natural(batch.length()).is_none() {
        return Ok(None);
    }
    let mut total = 0u64;
    for buffer in batch.buffers().into_iter().flatten() {
        let place = natural(buffer.offset()).zip(natural(buffer.length()));
        let Some((from, length)) = place.filter(|(from, n)| from.checked_add(*n).is_some_and(|end| end <= body)) else {
            return Ok(None);
        };
        let Some((most, compressed)) = most.zip(length.checked_sub(8)) else { continue };
        // Before compressed data stands its length; -1 says that it is not compressed after all.
        if let Some(claimed) = natural(i64::from_le_bytes(word(from)?)) {
            if claimed > compressed.saturating_mul(most) {
                return Ok(None);
            }
            total = total.saturating_add(claimed);
        }
    }
    Ok(Some(total))
}
