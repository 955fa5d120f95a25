//! The header of a page: of its fields, those that say how large things are. Thrift's compact protocol, as far as headers need it, and
//! the differences in which lengths of texts are stored.

use std::io::{self, ErrorKind, Read};

/// What a header says of sizes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PageHeader {
    /// Bytes of the page in the file.
    pub(super) compressed: u64,
    /// Bytes of the page when it is unpacked.
    pub(super) uncompressed: u64,
    /// Values, if the page is a dictionary.
    pub(super) dictionary: Option<u64>,
}

/// How deep structures may be nested.
const DEPTH: usize = 16;

/// Types of fields.
const STOP: u8 = 0;
const I32: u8 = 5;
const STRUCT: u8 = 12;

pub(super) fn read_header(source: &mut impl Read) -> io::Result<PageHeader> {
    let (mut compressed, mut uncompressed, mut dictionary) = (None, None, None);
    fields(source, |id, kind, source| {
        match (id, kind) {
            (2, I32) => uncompressed = Some(natural(source)?),
            (3, I32) => compressed = Some(natural(source)?),
            (7, STRUCT) => fields(source, |id, kind, source| {
                match (id, kind) {
                    (1, I32) => dictionary = Some(natural(source)?),
                    _ => skip(source, kind, DEPTH)?,
                }
                Ok(())
            })?,
            _ => skip(source, kind, DEPTH)?,
        }
        Ok(())
    })?;
    let (compressed, uncompressed) = compressed.zip(uncompressed).ok_or_else(damaged)?;
    Ok(PageHeader { compressed, uncompressed, dictionary })
}

/// Goes over numbers that are stored as differences, and says how many they are; it gives up where they are more than `most`.
pub(super) fn skip_differences(data: &mut &[u8], most: u64) -> io::Result<u64> {
    let (block, parts, count) = (number(data)?, number(data)?, number(data)?);
    signed(data)?;
    let size = block.checked_div(parts).unwrap_or(0);
    if count > most || size == 0 || block > u64::from(u32::MAX) {
        return Err(damaged());
    }
    // The first number stands in the head.
    let mut left = count.saturating_sub(1);
    while left > 0 {
        signed(data)?;
        let widths = usize::try_from(parts).ok().and_then(|n| data.split_at_checked(n));
        let (widths, mut rest) = widths.ok_or_else(damaged)?;
        for width in widths {
            // Parts behind the last number have widths, but are not there.
            let bytes = if left > 0 { u64::from(*width) * size / 8 } else { 0 };
            rest = rest.get(bytes as usize..).ok_or_else(damaged)?;
            left = left.saturating_sub(size);
        }
        *data = rest;
    }
    Ok(count)
}

fn damaged() -> io::Error {
    ErrorKind::InvalidData.into()
}

/// The fields of a structure one after the other: what is done with one must read it to its end.
fn fields<R: Read>(source: &mut R, mut take: impl FnMut(i64, u8, &mut R) -> io::Result<()>) -> io::Result<()> {
    let mut id = 0i64;
    loop {
        let head = byte(source)?;
        let (step, kind) = (head >> 4, head & 15);
        if kind == STOP {
            return Ok(());
        }
        id = if step == 0 { signed(source)? } else { id.saturating_add(i64::from(step)) };
        take(id, kind, source)?;
    }
}

fn skip(source: &mut impl Read, kind: u8, depth: usize) -> io::Result<()> {
    let deeper = depth.checked_sub(1).ok_or_else(damaged)?;
    match kind {
        // The type of a field says already which truth it holds.
        1 | 2 => {}
        3 => drop(byte(source)?),
        4..=6 => drop(number(source)?),
        7 => skip_bytes(source, 8)?,
        8 => {
            let length = number(source)?;
            skip_bytes(source, length)?;
        }
        9 | 10 => {
            let head = byte(source)?;
            let count = if head >> 4 == 15 { number(source)? } else { u64::from(head >> 4) };
            for _ in 0..count {
                // In a list, a truth has a byte of its own.
                skip(source, if matches!(head & 15, 1 | 2) { 3 } else { head & 15 }, deeper)?;
            }
        }
        STRUCT => fields(source, |_, kind, source| skip(source, kind, deeper))?,
        _ => return Err(damaged()),
    }
    Ok(())
}

fn skip_bytes(source: &mut impl Read, count: u64) -> io::Result<()> {
    match io::copy(&mut source.take(count), &mut io::sink())? == count {
        true => Ok(()),
        false => Err(damaged()),
    }
}

fn byte(source: &mut impl Read) -> io::Result<u8> {
    let mut byte = [0];
    source.read_exact(&mut byte)?;
    Ok(byte[0])
}

/// Seven bits a byte, the lowest first.
fn number(source: &mut impl Read) -> io::Result<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let byte = byte(source)?;
        value |= u64::from(byte & 127) << shift;
        if byte < 128 {
            return Ok(value);
        }
    }
    Err(damaged())
}

/// Signs alternate: 0, −1, 1, −2, …
fn signed(source: &mut impl Read) -> io::Result<i64> {
    let value = number(source)?;
    Ok((value >> 1) as i64 ^ -((value & 1) as i64))
}

fn natural(source: &mut impl Read) -> io::Result<u64> {
    u64::try_from(signed(source)?).map_err(|_| damaged())
}
