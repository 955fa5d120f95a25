//! Opens files and standard input, plain or compressed; compression is known by its first bytes.

use std::fs::File;
use std::io::{self, BufReader, Chain, Cursor, Read, Seek};
use std::path::Path;

use encoding_rs::{Encoding, UTF_8};
use encoding_rs_io::DecodeReaderBytesBuilder;
use flate2::read::MultiGzDecoder;
use m3svm::memory::Meter;

use crate::error::Problem;

/// How much of the content is looked at to find out the format.
pub(crate) const HEAD: usize = 1 << 16;
/// How much is read before memory is asked about again.
const PART: u64 = 1 << 20;

/// An open file, decompressed.
pub(crate) struct Input {
    /// The first bytes; [`Input::reader`] gives them again.
    pub(crate) head: Vec<u8>,
    /// The extension in lower case, without the one of the compression.
    pub(crate) extension: String,
    rest: Box<dyn Read>,
    /// The file itself if it is plain: some formats are read from the end.
    plain: Option<File>,
}

/// What has been looked at already, and the rest.
pub(crate) type Content = Chain<Cursor<Vec<u8>>, Box<dyn Read>>;

/// A plain file, or the content of anything else.
pub(crate) enum Seekable {
    File(File),
    Bytes(Vec<u8>),
}

impl Input {
    /// The content from its start.
    pub(crate) fn reader(self) -> BufReader<Content> {
        BufReader::with_capacity(HEAD, Cursor::new(self.head).chain(self.rest))
    }

    /// The same of text.
    pub(crate) fn rows(self) -> BufReader<Rows> {
        let inner = Box::new(Cursor::new(self.head).chain(self.rest));
        BufReader::with_capacity(HEAD, Rows { inner, total: 0, row: 0, next: HEAD as u64, ended: false })
    }

    /// The content as UTF-8, if a byte-order mark or the caller says that it is something else. Bytes that are no text in that encoding
    /// are an error of whoever reads them.
    pub(crate) fn decoded(self, asked: Option<&'static Encoding>) -> Result<Self, Problem> {
        let found = Encoding::for_bom(&self.head).map(|(encoding, _)| encoding);
        let Some(encoding) = found.or(asked).filter(|encoding| *encoding != UTF_8) else { return Ok(self) };
        let extension = self.extension.clone();
        let decoded = DecodeReaderBytesBuilder::new().encoding(Some(encoding)).bom_override(true).build(self.reader());
        Self::of(Box::new(decoded), extension)
    }

    /// The content with tabs for spaces between words, outside quotes, and without those at the ends of lines.
    pub(crate) fn squeezed(self) -> Result<Self, Problem> {
        let extension = self.extension.clone();
        Self::of(Box::new(Squeezed::new(self.reader())), extension)
    }

    /// What comes of a stream that was made of another one.
    fn of(mut rest: Box<dyn Read>, extension: String) -> Result<Self, Problem> {
        let head = read_head(&mut rest)?;
        Ok(Self { head, extension, rest, plain: None })
    }

    /// The content for formats that need to seek; only what is not a plain file is held in memory.
    pub(crate) fn seekable(mut self, meter: &mut Meter) -> Result<Seekable, Problem> {
        if let Some(mut file) = self.plain.take() {
            file.rewind()?;
            return Ok(Seekable::File(file));
        }
        self.bytes(meter).map(Seekable::Bytes)
    }

    /// The whole content.
    pub(crate) fn bytes(self, meter: &mut Meter) -> Result<Vec<u8>, Problem> {
        let mut bytes = self.head;
        meter.add(bytes.len() as u64)?;
        read_to_end(self.rest, &mut bytes, meter)?;
        Ok(bytes)
    }
}

/// Reads all that comes, as far as memory allows: how much it is may show only as it comes.
pub(crate) fn read_to_end(mut source: impl Read, bytes: &mut Vec<u8>, meter: &mut Meter) -> Result<(), Problem> {
    loop {
        // With room for the few bytes by which the end is found.
        if bytes.len() as u64 >= PART {
            meter.reserve(bytes, PART as usize + 64)?;
        }
        let count = source.by_ref().take(PART).read_to_end(bytes)? as u64;
        meter.add(count)?;
        if count < PART {
            return Ok(());
        }
    }
}

/// Text by rows, none of which may be larger than memory: a file of a few megabytes can unpack to one line of many gigabytes.
pub(crate) struct Rows {
    inner: Box<dyn Read>,
    /// Bytes given so far.
    total: u64,
    /// Bytes since the last row ended.
    row: u64,
    /// How many of them there may be before memory is asked about.
    next: u64,
    ended: bool,
}

impl Rows {
    /// A row has ended.
    pub(crate) fn row_ended(&mut self) {
        self.row = 0;
        self.next = HEAD as u64;
    }

    /// How many bytes there are, once all have been read.
    pub(crate) fn length(&self) -> Option<u64> {
        self.ended.then_some(self.total)
    }
}

impl Read for Rows {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.ended |= count == 0 && !buffer.is_empty();
        self.total += count as u64;
        self.row += count as u64;
        if self.row > self.next {
            self.next = 2 * self.row;
            // The text itself, and the room in which it grows.
            m3svm::memory::check("one of its rows", self.next).map_err(io::Error::other)?;
        }
        Ok(count)
    }
}

/// Opens a path; `-` is standard input.
pub(crate) fn open(path: &Path) -> Result<Input, Problem> {
    if path == Path::new("-") {
        return wrap(Box::new(io::stdin().lock()), None, path);
    }
    let file = File::open(path)?;
    let again = if file.metadata()?.is_file() { Some(file.try_clone()?) } else { None };
    wrap(Box::new(file), again, path)
}

/// Looks at the start of a stream and decompresses it if need be.
pub(crate) fn wrap(mut source: Box<dyn Read>, plain: Option<File>, path: &Path) -> Result<Input, Problem> {
    let head = read_head(&mut source)?;
    let kind = match head.as_slice() {
        [0x1f, 0x8b, ..] => Some("gzip"),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Some("Zstandard"),
        _ => None,
    };
    let extension = extension(path);
    let Some(kind) = kind else {
        return Ok(Input { head, extension, rest: source, plain });
    };
    let source = Cursor::new(head).chain(source);
    let inner: Box<dyn Read> = if kind == "gzip" {
        Box::new(MultiGzDecoder::new(BufReader::with_capacity(HEAD, source)))
    } else {
        Box::new(zstd::stream::read::Decoder::new(source)?)
    };
    let mut rest: Box<dyn Read> = Box::new(Decoded { inner, kind });
    let head = read_head(&mut rest)?;
    Ok(Input { head, extension, rest, plain: None })
}

fn read_head(source: &mut dyn Read) -> io::Result<Vec<u8>> {
    let mut head = Vec::with_capacity(HEAD);
    source.take(HEAD as u64).read_to_end(&mut head)?;
    Ok(head)
}

fn extension(path: &Path) -> String {
    let name = path.file_name().map(|n| n.to_string_lossy().to_lowercase()).unwrap_or_default();
    let name = [".gz", ".zst", ".zstd"].iter().find_map(|e| name.strip_suffix(e)).unwrap_or(&name);
    name.rsplit_once('.').map(|(_, e)| e.to_string()).unwrap_or_default()
}

/// Makes tabs of spaces between words.
struct Squeezed<R> {
    inner: R,
    /// What is read at once.
    part: Vec<u8>,
    /// What came of it, and how much of that is given already.
    out: Vec<u8>,
    given: usize,
    quoted: bool,
    /// Whether the line has a word already.
    begun: bool,
    /// Whether there were spaces since the last word.
    space: bool,
}

impl<R: Read> Squeezed<R> {
    fn new(inner: R) -> Self {
        Self { inner, part: vec![0; HEAD], out: Vec::new(), given: 0, quoted: false, begun: false, space: false }
    }

    fn take(&mut self, byte: u8) {
        self.quoted ^= byte == b'"';
        match byte {
            b' ' | b'\t' if !self.quoted => {
                self.space = true;
                return;
            }
            b'\n' | b'\r' if !self.quoted => (self.begun, self.space) = (false, false),
            _ => {
                if self.space && self.begun {
                    self.out.push(b'\t');
                }
                (self.begun, self.space) = (true, false);
            }
        }
        self.out.push(byte);
    }
}

impl<R: Read> Read for Squeezed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // What was all spaces leaves nothing, which is not the end.
        while self.given == self.out.len() {
            let count = self.inner.read(&mut self.part)?;
            if count == 0 {
                return Ok(0);
            }
            self.out.clear();
            self.given = 0;
            (0..count).for_each(|i| self.take(self.part[i]));
        }
        let count = buffer.len().min(self.out.len() - self.given);
        buffer[..count].copy_from_slice(&self.out[self.given..self.given + count]);
        self.given += count;
        Ok(count)
    }
}

/// Says in plain words what is wrong with compressed data.
struct Decoded {
    inner: Box<dyn Read>,
    kind: &'static str,
}

impl Read for Decoded {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.inner.read(buffer).map_err(|e| match e.kind() {
            io::ErrorKind::Interrupted => e,
            io::ErrorKind::UnexpectedEof => {
                io::Error::new(e.kind(), format!("the {} data ends early, the file is truncated", self.kind))
            }
            _ => io::Error::new(e.kind(), format!("the {} data is damaged ({e})", self.kind)),
        })
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
pub(crate) mod tests {
    use super::*;
    use std::io::Write;

    pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn content(bytes: Vec<u8>) -> Result<Vec<u8>, String> {
        let input = wrap(Box::new(Cursor::new(bytes)), None, Path::new("a.csv.gz")).map_err(|e| e.to_string())?;
        assert_eq!(input.extension, "csv");
        let mut out = Vec::new();
        input.reader().read_to_end(&mut out).map_err(|e| e.to_string())?;
        Ok(out)
    }

    #[test]
    fn compression_is_known_by_content() {
        let text = b"a,b\n1,2\n".repeat(50_000);
        assert_eq!(content(text.clone()).unwrap(), text);
        assert_eq!(content(gzip(&text)).unwrap(), text);
        assert_eq!(content([gzip(&text), gzip(b"3,4\n")].concat()).unwrap(), [text.as_slice(), b"3,4\n"].concat());
        assert_eq!(content(zstd::encode_all(text.as_slice(), 1).unwrap()).unwrap(), text);
    }

    #[test]
    fn damaged_data_is_named() {
        let text = b"a,b\n1,2\n".repeat(50_000);
        let gz = gzip(&text);
        let cut = content(gz[..gz.len() / 2].to_vec()).unwrap_err();
        assert_eq!(cut, "the gzip data ends early, the file is truncated");
        let zst = zstd::encode_all(text.as_slice(), 1).unwrap();
        let cut = content(zst[..zst.len() / 2].to_vec()).unwrap_err();
        assert_eq!(cut, "the Zstandard data ends early, the file is truncated");
    }
}
