//! What the pages of a Parquet file say of their sizes, held against the bytes that are there: the decoder allocates what they say.

use std::io::{self, Read};
use std::sync::Arc;

use ::parquet::arrow::arrow_reader::RowGroups;
use ::parquet::basic::{Compression, Encoding};
use ::parquet::column::page::{Page, PageIterator, PageMetadata, PageReader};
use ::parquet::errors::{ParquetError, Result as Decoded};
use ::parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, RowGroupMetaData};
use ::parquet::file::reader::ChunkReader;
use ::parquet::file::serialized_reader::SerializedPageReader;
use flate2::read::MultiGzDecoder;
use m3svm::memory::Meter;

use super::header::{PageHeader, read_header, skip_differences};
use crate::error::Problem;
use crate::options::Format;

/// From here on, what a gzip page may unpack to is counted before it is unpacked: that decoder does not stop by itself.
const COUNTED: u64 = 1 << 30;

fn broken(what: &str) -> Problem {
    Problem::Broken { format: Format::Parquet, what: what.into() }
}

/// How many times as long as its compressed bytes a page can be.
fn most(compression: Compression) -> u64 {
    match compression {
        Compression::UNCOMPRESSED => 1,
        // A copy of 64 bytes takes three.
        Compression::SNAPPY => 22,
        Compression::GZIP(_) => 1032,
        Compression::LZ4 | Compression::LZ4_RAW => 255,
        Compression::ZSTD(_) => 1 << 15,
        _ => u64::MAX,
    }
}

/// Walks over the page headers of a column in one row group.
pub(super) fn check<R: ChunkReader>(
    source: &R,
    column: &ColumnChunkMetaData,
    meter: &mut Meter,
) -> Result<(), Problem> {
    let damaged = || broken("a page header is damaged");
    let place = |n: i64| u64::try_from(n).ok();
    let start = place(column.dictionary_page_offset().unwrap_or(column.data_page_offset())).ok_or_else(damaged)?;
    let end = place(column.compressed_size()).and_then(|n| n.checked_add(start)).ok_or_else(damaged)?;
    if end > source.len() {
        return Err(broken("a column lies outside the file"));
    }
    let mut at = start;
    while at < end {
        let mut reader = source.get_read(at).map_err(|e| broken(&e.to_string()))?.take(end - at);
        let header = read_header(&mut reader).map_err(|_| damaged())?;
        let PageHeader { compressed, uncompressed, dictionary } = header;
        let body = end - reader.limit();
        at = body.checked_add(compressed).filter(|at| *at <= end).ok_or_else(damaged)?;
        if uncompressed > compressed.saturating_mul(most(column.compression())) {
            return Err(broken("a page claims more data than it has"));
        }
        // A value of a dictionary takes a bit at least.
        if dictionary.is_some_and(|values| values > uncompressed.saturating_mul(8)) {
            return Err(broken("a dictionary claims more values than it has"));
        }
        let gzip = matches!(column.compression(), Compression::GZIP(_));
        if gzip && compressed.saturating_mul(most(column.compression())) > COUNTED {
            let page = source.get_read(body).map_err(|e| broken(&e.to_string()))?.take(compressed);
            let counted = io::copy(&mut MultiGzDecoder::new(page).take(uncompressed + 1), &mut io::sink());
            if counted.is_ok_and(|found| found > uncompressed) {
                return Err(broken("a page has more data than it claims"));
            }
        }
        meter.foresee(compressed.saturating_add(uncompressed))?;
    }
    Ok(())
}

/// The row groups of a file, whose pages are looked at once more when they are unpacked.
pub(super) struct Checked<R> {
    pub(super) source: Arc<R>,
    pub(super) metadata: Arc<ParquetMetaData>,
}

impl<R: ChunkReader + 'static> RowGroups for Checked<R> {
    fn num_rows(&self) -> usize {
        self.metadata.row_groups().iter().map(|group| usize::try_from(group.num_rows()).unwrap_or(0)).sum()
    }

    fn column_chunks(&self, column: usize) -> Decoded<Box<dyn PageIterator>> {
        let (source, metadata) = (self.source.clone(), self.metadata.clone());
        Ok(Box::new(Chunks { source, metadata, column, next: 0 }))
    }

    fn row_groups(&self) -> Box<dyn Iterator<Item = &RowGroupMetaData> + '_> {
        Box::new(self.metadata.row_groups().iter())
    }

    fn metadata(&self) -> &ParquetMetaData {
        &self.metadata
    }
}

/// One column through all row groups.
struct Chunks<R> {
    source: Arc<R>,
    metadata: Arc<ParquetMetaData>,
    column: usize,
    next: usize,
}

impl<R: ChunkReader + 'static> Iterator for Chunks<R> {
    type Item = Decoded<Box<dyn PageReader>>;

    fn next(&mut self) -> Option<Self::Item> {
        let group = self.metadata.row_groups().get(self.next)?;
        self.next += 1;
        let column = group.column(self.column);
        let levels = (column.column_descr().max_rep_level(), column.column_descr().max_def_level());
        let open = || {
            let rows = usize::try_from(group.num_rows())?;
            let inner = SerializedPageReader::new(self.source.clone(), column, rows, None)?;
            Ok(Box::new(Pages { inner, levels }) as Box<dyn PageReader>)
        };
        Some(open())
    }
}

impl<R: ChunkReader + 'static> PageIterator for Chunks<R> {}

/// Pages as they are unpacked.
struct Pages<R: ChunkReader> {
    inner: SerializedPageReader<R>,
    /// The largest levels of repetition and of definition.
    levels: (i16, i16),
}

impl<R: ChunkReader> Iterator for Pages<R> {
    type Item = Decoded<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl<R: ChunkReader> PageReader for Pages<R> {
    fn get_next_page(&mut self) -> Decoded<Option<Page>> {
        let page = self.inner.get_next_page()?;
        match page.as_ref().is_none_or(|page| lengths_fit(page, self.levels)) {
            true => Ok(page),
            false => Err(ParquetError::General("a page claims more texts than it has values".into())),
        }
    }

    fn peek_next_page(&mut self) -> Decoded<Option<PageMetadata>> {
        self.inner.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Decoded<()> {
        self.inner.skip_next_page()
    }

    fn at_record_boundary(&mut self) -> Decoded<bool> {
        self.inner.at_record_boundary()
    }
}

/// Whether the lengths of texts, which are stored as differences, are no more than the values of the page: the decoder makes room for
/// as many as they say.
fn lengths_fit(page: &Page, (repetition, definition): (i16, i16)) -> bool {
    let runs = match page.encoding() {
        Encoding::DELTA_LENGTH_BYTE_ARRAY => 1,
        // Lengths of what is shared with the text before, and of what is not.
        Encoding::DELTA_BYTE_ARRAY => 2,
        _ => return true,
    };
    let data = page.buffer().as_ref();
    let data = match page {
        Page::DataPageV2 { def_levels_byte_len, rep_levels_byte_len, .. } => {
            data.get((u64::from(*def_levels_byte_len) + u64::from(*rep_levels_byte_len)) as usize..)
        }
        // The table has no columns of lists.
        _ if repetition > 0 => None,
        Page::DataPage { def_level_encoding: Encoding::RLE, .. } if definition > 0 => {
            data.split_first_chunk().and_then(|(size, rest)| rest.get(u32::from_le_bytes(*size) as usize..))
        }
        _ if definition > 0 => None,
        _ => Some(data),
    };
    let Some(mut data) = data else { return false };
    let most = u64::from(page.num_values());
    (0..runs).all(|_| skip_differences(&mut data, most).is_ok_and(|count| count <= most))
}
