//! Arrow IPC files and streams; a Feather v2 file is an Arrow IPC file.

use std::io::{BufReader, Cursor, Read, Seek, SeekFrom};

use arrow_ipc::reader::{FileReader, StreamReader, read_footer_length};
use arrow_schema::ArrowError;

use crate::batches::Plan;
use crate::compression::{Input, Seekable};
use crate::error::Problem;
use crate::options::{Format, ReadOptions};
use crate::table::Table;

pub(crate) fn read(input: Input, format: Format, options: &ReadOptions) -> Result<Table, Problem> {
    if format == Format::ArrowStream {
        return read_stream(input, options);
    }
    match input.seekable()? {
        Seekable::File(file) => read_file(BufReader::new(file), options),
        Seekable::Bytes(bytes) => read_file(Cursor::new(bytes), options),
    }
}

fn broken(format: Format) -> impl Fn(ArrowError) -> Problem {
    move |e| Problem::Broken { format, what: e.to_string() }
}

fn read_stream(input: Input, options: &ReadOptions) -> Result<Table, Problem> {
    let bytes = input.bytes()?;
    check_stream(&bytes)?;
    let broken = broken(Format::ArrowStream);
    // Twice over the same bytes, since the columns to read are known only after the schema.
    let schema = StreamReader::try_new(bytes.as_slice(), None).map_err(&broken)?.schema();
    let plan = Plan::new(&schema, options)?;
    let reader = StreamReader::try_new(bytes.as_slice(), Some(plan.projection.clone())).map_err(&broken)?;
    plan.read(Format::ArrowStream, reader)
}

fn read_file(mut source: impl Read + Seek, options: &ReadOptions) -> Result<Table, Problem> {
    check_blocks(&mut source)?;
    let broken = broken(Format::ArrowFile);
    source.rewind()?;
    let schema = FileReader::try_new(&mut source, None).map_err(&broken)?.schema();
    let plan = Plan::new(&schema, options)?;
    source.rewind()?;
    let reader = FileReader::try_new(&mut source, Some(plan.projection.clone())).map_err(&broken)?;
    plan.read(Format::ArrowFile, reader)
}

/// The decoder allocates what the footer says: nothing there may lie outside the file.
fn check_blocks(source: &mut (impl Read + Seek)) -> Result<(), Problem> {
    let bad = |what: &str| Problem::Broken { format: Format::ArrowFile, what: what.into() };
    let size = source.seek(SeekFrom::End(0))?;
    let tail = source.seek(SeekFrom::End(-10)).map_err(|_| bad("the data ends early"))?;
    let mut end = [0; 10];
    source.read_exact(&mut end)?;
    let length = read_footer_length(end).map_err(|_| bad("the end of the file is missing"))? as u64;
    let start = tail.checked_sub(length).ok_or_else(|| bad("the footer is damaged"))?;
    source.seek(SeekFrom::Start(start))?;
    let mut footer = Vec::new();
    source.take(length).read_to_end(&mut footer)?;
    let footer = arrow_ipc::root_as_footer(&footer).map_err(|_| bad("the footer is damaged"))?;
    let inside = |b: &arrow_ipc::Block| {
        let part = |n: i64| u64::try_from(n).ok();
        let end =
            part(b.offset())?.checked_add(part(i64::from(b.metaDataLength()))?)?.checked_add(part(b.bodyLength())?)?;
        (end <= size).then_some(())
    };
    let blocks = [footer.recordBatches(), footer.dictionaries()];
    match blocks.into_iter().flatten().flatten().all(|b| inside(b).is_some()) {
        true => Ok(()),
        false => Err(bad("the footer points outside the file")),
    }
}

/// Walks over the messages of a stream: the decoder allocates what they say.
fn check_stream(bytes: &[u8]) -> Result<(), Problem> {
    let bad = |what: &str| Problem::Broken { format: Format::ArrowStream, what: what.into() };
    let early = || bad("the data ends early");
    let mut rest = bytes;
    while !rest.is_empty() {
        let word = |at: usize| rest.get(at..at + 4).map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]]) as usize);
        let mut start = 4usize;
        let mut length = word(0).ok_or_else(early)?;
        if length == u32::MAX as usize {
            (start, length) = (8, word(4).ok_or_else(early)?);
        }
        if length == 0 {
            break;
        }
        let message = rest.get(start..start.saturating_add(length)).ok_or_else(early)?;
        let message = arrow_ipc::root_as_message(message).map_err(|_| bad("a message is damaged"))?;
        let body = usize::try_from(message.bodyLength()).map_err(|_| bad("a message is damaged"))?;
        rest = rest.get((start + length).saturating_add(body)..).ok_or_else(early)?;
    }
    Ok(())
}

#[cfg(test)]
#[path = "arrow_tests.rs"]
mod tests;
