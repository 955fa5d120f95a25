//! Arrow IPC files and streams; a Feather v2 file is an Arrow IPC file.

mod messages;

use std::io::{BufReader, Cursor, ErrorKind, Read, Seek, SeekFrom};

use arrow_ipc::reader::{FileReader, StreamReader, read_footer_length};
use arrow_schema::ArrowError;
use m3svm::memory::Meter;

use crate::batches::Plan;
use crate::compression::{Input, Seekable};
use crate::error::Problem;
use crate::options::{Format, ReadOptions};
use crate::table::{Table, Take};

pub(crate) fn read(input: Input, format: Format, options: &ReadOptions, meter: &mut Meter) -> Result<Table, Problem> {
    if format == Format::ArrowStream {
        return read_stream(input, options, meter);
    }
    match input.seekable(meter)? {
        Seekable::File(file) => read_file(BufReader::new(file), options, meter),
        Seekable::Bytes(bytes) => read_file(Cursor::new(bytes), options, meter),
    }
}

/// Reads some rows at a time: so many that tables have about `bytes`. Of a stream only the tables are made one by one.
pub(crate) fn read_some(
    input: Input,
    format: Format,
    options: &ReadOptions,
    meter: &mut Meter,
    bytes: u64,
    take: &mut Take<'_>,
) -> Result<(), Problem> {
    let broken = broken(format);
    if format == Format::ArrowStream {
        let content = input.bytes(meter)?;
        check_stream(&content, meter)?;
        let schema = StreamReader::try_new(content.as_slice(), None).map_err(&broken)?.schema();
        let plan = Plan::new(&schema, options)?;
        let reader = StreamReader::try_new(content.as_slice(), Some(plan.projection.clone())).map_err(&broken)?;
        return plan.read_some(format, reader, bytes, take);
    }
    match input.seekable(meter)? {
        Seekable::File(file) => read_some_of_file(BufReader::new(file), options, meter, bytes, take),
        Seekable::Bytes(content) => read_some_of_file(Cursor::new(content), options, meter, bytes, take),
    }
}

fn read_some_of_file(
    mut source: impl Read + Seek,
    options: &ReadOptions,
    meter: &mut Meter,
    bytes: u64,
    take: &mut Take<'_>,
) -> Result<(), Problem> {
    let (plan, reader) = open_file(&mut source, options, meter)?;
    plan.read_some(Format::ArrowFile, reader, bytes, take)
}

fn broken(format: Format) -> impl Fn(ArrowError) -> Problem {
    move |e| Problem::Broken { format, what: e.to_string() }
}

fn read_stream(input: Input, options: &ReadOptions, meter: &mut Meter) -> Result<Table, Problem> {
    let bytes = input.bytes(meter)?;
    check_stream(&bytes, meter)?;
    let broken = broken(Format::ArrowStream);
    // Twice over the same bytes, since the columns to read are known only after the schema.
    let schema = StreamReader::try_new(bytes.as_slice(), None).map_err(&broken)?.schema();
    let plan = Plan::new(&schema, options)?;
    let reader = StreamReader::try_new(bytes.as_slice(), Some(plan.projection.clone())).map_err(&broken)?;
    plan.read(Format::ArrowStream, reader, meter)
}

fn read_file(mut source: impl Read + Seek, options: &ReadOptions, meter: &mut Meter) -> Result<Table, Problem> {
    let (plan, reader) = open_file(&mut source, options, meter)?;
    plan.read(Format::ArrowFile, reader, meter)
}

/// What to read, and the reader of these columns.
fn open_file<R: Read + Seek>(
    mut source: R,
    options: &ReadOptions,
    meter: &mut Meter,
) -> Result<(Plan, FileReader<R>), Problem> {
    check_blocks(&mut source, meter)?;
    let broken = broken(Format::ArrowFile);
    source.rewind()?;
    let schema = FileReader::try_new(&mut source, None).map_err(&broken)?.schema();
    let plan = Plan::new(&schema, options)?;
    source.rewind()?;
    let reader = FileReader::try_new(source, Some(plan.projection.clone())).map_err(&broken)?;
    Ok((plan, reader))
}

/// The decoder allocates what the footer and the messages say: nothing there may lie outside the file.
fn check_blocks(source: &mut (impl Read + Seek), meter: &mut Meter) -> Result<(), Problem> {
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
        let start = part(b.offset())?;
        let body = start.checked_add(part(i64::from(b.metaDataLength()))?)?;
        let end = body.checked_add(part(b.bodyLength())?)?;
        (end <= size).then_some((start, body, end))
    };
    let blocks = [footer.recordBatches(), footer.dictionaries()];
    for block in blocks.into_iter().flatten().flatten() {
        let (start, body, end) = inside(block).ok_or_else(|| bad("the footer points outside the file"))?;
        source.seek(SeekFrom::Start(start))?;
        let mut head = Vec::new();
        source.take(body - start).read_to_end(&mut head)?;
        let skipped = if head.starts_with(&[0xff; 4]) { 8 } else { 4 };
        let message = head.get(skipped..).ok_or_else(|| bad("a message is damaged"))?;
        messages::check(Format::ArrowFile, message, end - body, meter, |at| {
            let mut word = [0; 8];
            source.seek(SeekFrom::Start(body + at))?;
            source.read_exact(&mut word)?;
            Ok(word)
        })?;
    }
    Ok(())
}

/// Walks over the messages of a stream: the decoder allocates what they say.
fn check_stream(bytes: &[u8], meter: &mut Meter) -> Result<(), Problem> {
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
        let size = arrow_ipc::root_as_message(message).map_err(|_| bad("a message is damaged"))?.bodyLength();
        let size = usize::try_from(size).map_err(|_| bad("a message is damaged"))?;
        let body = rest[start + length..].get(..size).ok_or_else(early)?;
        messages::check(Format::ArrowStream, message, size as u64, meter, |at| {
            let word = usize::try_from(at).ok().and_then(|at| body.get(at..)?.first_chunk::<8>());
            word.copied().ok_or_else(|| ErrorKind::UnexpectedEof.into())
        })?;
        rest = &rest[start + length + size..];
    }
    Ok(())
}

#[cfg(test)]
#[path = "arrow_tests.rs"]
mod tests;
