//! Which line of a text file a row came from.

/// Lines of consecutive rows. Most rows are one line below the one before; only the others are written down.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lines {
    rows: usize,
    /// A row and its line, wherever the line is not the one after that of the row before.
    jumps: Vec<(usize, u64)>,
}

impl Lines {
    /// The line of the next row.
    pub(crate) fn push(&mut self, line: u64) {
        if self.rows == 0 || self.of(self.rows) != line {
            self.jumps.push((self.rows, line));
        }
        self.rows += 1;
    }

    /// Those of some of the rows.
    pub(crate) fn of_rows(&self, rows: &[u32]) -> Self {
        let mut lines = Self::default();
        rows.iter().for_each(|row| lines.push(self.of(*row as usize)));
        lines
    }

    /// The line of a row, both counted from where they start: rows from 0, lines from 1.
    pub(crate) fn of(&self, row: usize) -> u64 {
        let after = self.jumps.partition_point(|(first, _)| *first <= row);
        match after.checked_sub(1).map(|at| self.jumps[at]) {
            Some((first, line)) => line + (row - first) as u64,
            None => row as u64 + 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_knows_its_line_and_only_jumps_are_kept() {
        let all = [2, 3, 4, 9, 10, 12, 13, 14];
        let mut lines = Lines::default();
        all.iter().for_each(|line| lines.push(*line));
        assert_eq!((0..all.len()).map(|row| lines.of(row)).collect::<Vec<_>>(), all);
        assert_eq!(lines.jumps.len(), 3);
    }
}
