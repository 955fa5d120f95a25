//! Opens files and standard input, plain or compressed; compression is known by its first bytes.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read, Seek};
use std::path::Path;

use flate2::read::MultiGzDecoder;

use crate::error::Problem;

/// How much of the content is looked at to find out the format.
const HEAD: usize = 1 << 16;

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

/// A plain file, or the content of anything else.
pub(crate) enum Seekable {
    File(File),
    Bytes(Vec<u8>),
}

impl Input {
    /// The content from its start.
    pub(crate) fn reader(self) -> impl BufRead {
        BufReader::with_capacity(HEAD, Cursor::new(self.head).chain(self.rest))
    }

    /// The content for formats that need to seek; only what is not a plain file is held in memory.
    pub(crate) fn seekable(mut self) -> io::Result<Seekable> {
        if let Some(mut file) = self.plain.take() {
            file.rewind()?;
            return Ok(Seekable::File(file));
        }
        self.bytes().map(Seekable::Bytes)
    }

    /// The whole content.
    pub(crate) fn bytes(self) -> io::Result<Vec<u8>> {
        let mut bytes = self.head;
        let mut rest = self.rest;
        rest.read_to_end(&mut bytes)?;
        Ok(bytes)
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
