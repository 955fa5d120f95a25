//! Numbers that belong to rows, block by block: in memory, or in a file without a name that is gone with the process.

use std::fs::File;
use std::io;
use std::path::Path;

use super::positioned::{read_at, write_at};

/// As many numbers for every row as `width` says.
#[derive(Debug)]
pub(crate) struct ScratchFile {
    /// Where the numbers of each block begin.
    starts: Vec<usize>,
    kept: Kept,
    /// Of the blocks that are there: their checksums.
    there: Vec<Option<u32>>,
}

#[derive(Debug)]
enum Kept {
    Memory(Vec<Vec<f64>>),
    File(File),
}

impl ScratchFile {
    /// For blocks of so many rows.
    pub(crate) fn in_memory(rows: impl Iterator<Item = usize>, width: usize) -> Self {
        let starts = starts(rows, width);
        let blocks = starts.len() - 1;
        Self { starts, kept: Kept::Memory(vec![Vec::new(); blocks]), there: vec![None; blocks] }
    }

    pub(crate) fn in_file(rows: impl Iterator<Item = usize>, width: usize, folder: &Path) -> io::Result<Self> {
        let starts = starts(rows, width);
        let blocks = starts.len() - 1;
        Ok(Self { starts, kept: Kept::File(tempfile::tempfile_in(folder)?), there: vec![None; blocks] })
    }

    /// Whether the numbers of a block are there.
    pub(crate) fn has(&self, block: usize) -> bool {
        self.there[block].is_some()
    }

    /// Forgets all numbers.
    pub(crate) fn clear(&mut self) {
        self.there.fill(None);
    }

    /// Takes the numbers of a block out, to be put back. `room` is for those that come from a file.
    pub(crate) fn take(&mut self, block: usize, mut room: Vec<f64>) -> io::Result<Vec<f64>> {
        match &mut self.kept {
            Kept::Memory(blocks) => Ok(std::mem::take(&mut blocks[block])),
            Kept::File(file) => {
                room.resize(self.starts[block + 1] - self.starts[block], 0.0);
                let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut room);
                read_at(file, bytes, 8 * self.starts[block] as u64)?;
                if self.there[block] != Some(crc32fast::hash(bytes)) {
                    return Err(io::Error::new(io::ErrorKind::InvalidData, "what was written has changed"));
                }
                Ok(room)
            }
        }
    }

    /// Puts the numbers of a block back; those in memory are kept as they are, of others the vector is handed back.
    pub(crate) fn put(&mut self, block: usize, numbers: Vec<f64>, changed: bool) -> io::Result<Vec<f64>> {
        match &mut self.kept {
            Kept::Memory(blocks) => {
                blocks[block] = numbers;
                self.there[block] = Some(0);
                Ok(Vec::new())
            }
            Kept::File(file) => {
                if changed || self.there[block].is_none() {
                    let bytes: &[u8] = bytemuck::cast_slice(&numbers);
                    self.there[block] = None;
                    write_at(file, bytes, 8 * self.starts[block] as u64)?;
                    self.there[block] = Some(crc32fast::hash(bytes));
                }
                Ok(numbers)
            }
        }
    }
}

fn starts(rows: impl Iterator<Item = usize>, width: usize) -> Vec<usize> {
    let mut starts = vec![0];
    let mut end = 0;
    starts.extend(rows.map(|rows| {
        end += rows * width;
        end
    }));
    starts
}
