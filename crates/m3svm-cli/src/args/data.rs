//! Options that say how a data file is read.

use std::collections::HashMap;
use std::path::Path;

use clap::Args;
use m3svm::Model;
use m3svm_io::{Column, Expected, Format, LabelUse, ReadOptions, Table};

use crate::progress::Spinner;

/// How to read the data file.
#[derive(Debug, Args)]
#[command(next_help_heading = "Data")]
pub(crate) struct DataArgs {
    /// Label column by name or position from 0, -1 the last [default: a column called label, class,
    /// target, y or species, else the last]
    #[arg(long, value_name = "NAME|INDEX", allow_negative_numbers = true)]
    pub(crate) label: Option<String>,
    /// Column with a weight for every row, by name or position
    #[arg(long, value_name = "NAME", allow_negative_numbers = true)]
    pub(crate) weight_column: Option<String>,
    /// File format, e.g. csv, libsvm, parquet, arrow, npy, npz, mat [default: found out]
    #[arg(long, value_name = "NAME")]
    pub(crate) format: Option<Format>,
    /// The first line of a CSV file has column names [default: found out]
    #[arg(long, conflicts_with = "no_header")]
    pub(crate) header: bool,
    /// The first line of a CSV file is data
    #[arg(long)]
    pub(crate) no_header: bool,
}

impl DataArgs {
    /// Reads data with labels for training.
    pub(crate) fn read(&self, file: &Path, features: &[String]) -> anyhow::Result<Table> {
        self.read_with(file, ReadOptions { features: chosen(features), ..self.options() })
    }

    /// Reads data with labels for a search, and perhaps a column of groups, as numbers in order of appearance.
    pub(crate) fn read_grouped(
        &self,
        file: &Path,
        features: &[String],
        group: Option<&str>,
    ) -> anyhow::Result<(Table, Option<Vec<u32>>)> {
        let options = ReadOptions { features: chosen(features), group: group.map(column), ..self.options() };
        let mut table = self.read_with(file, options)?;
        let groups = table.groups.take().map(numbered);
        Ok((table, groups))
    }

    /// Reads data for a model.
    pub(crate) fn read_for(&self, file: &Path, model: &Model, labels: LabelUse) -> anyhow::Result<Table> {
        let expected = Some(Expected { count: model.features(), names: model.feature_names().map(<[String]>::to_vec) });
        self.read_with(file, ReadOptions { expected, labels, ..self.options() })
    }

    fn options(&self) -> ReadOptions {
        ReadOptions {
            format: self.format,
            label: self.label.as_deref().map(column),
            weight: self.weight_column.as_deref().map(column),
            header: match (self.header, self.no_header) {
                (true, _) => Some(true),
                (_, true) => Some(false),
                _ => None,
            },
            ..ReadOptions::default()
        }
    }

    fn read_with(&self, file: &Path, options: ReadOptions) -> anyhow::Result<Table> {
        let _spinner = Spinner::start(format!("reading {}", file.display()));
        Ok(m3svm_io::read(file, &options)?)
    }
}

fn chosen(features: &[String]) -> Option<Vec<Column>> {
    (!features.is_empty()).then(|| features.iter().map(|f| column(f)).collect())
}

fn numbered(groups: Vec<String>) -> Vec<u32> {
    let mut known = HashMap::new();
    let number = |group| {
        let next = known.len() as u32;
        *known.entry(group).or_insert(next)
    };
    groups.into_iter().map(number).collect()
}

fn column(typed: &str) -> Column {
    Column::Typed(typed.into())
}
