//! Options that say how a data file is read.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::Args;
use m3svm::{LeftOut, Missing, Model, Preparation, Preprocessor, TimePart};
use m3svm_io::{Applied, Column, DateOrder, Encoding, Expected, Format, LabelUse, ReadOptions, Table};

use super::count;
use super::spec::or;
use crate::progress::Spinner;
use crate::report::{plural, tell};
use crate::table::shown;

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
    /// What separates the columns of a text file: a sign, or comma, semicolon, tab, pipe, space (any number of them)
    /// [default: found out]
    #[arg(long, value_name = "SIGN", value_parser = sign)]
    pub(crate) delimiter: Option<u8>,
    /// What stands before the fraction of numbers in a text file: `.` or `,` [default: found out]
    #[arg(long, value_name = "SIGN", value_parser = decimal)]
    pub(crate) decimal: Option<u8>,
    /// What stands between groups of three digits, such as `.` in 1.234,5 [default: found out]
    #[arg(long, value_name = "SIGN", value_parser = sign)]
    pub(crate) thousands: Option<u8>,
    #[arg(long, value_name = "ORDER", value_parser = date_order, help = dates_help())]
    pub(crate) dates: Option<DateOrder>,
    /// Leave out lines of a text file that begin with this sign, such as '#'
    #[arg(long, value_name = "SIGN", value_parser = sign)]
    pub(crate) comment: Option<u8>,
    /// Encoding of a text file, such as latin1 [default: UTF-8, or what a byte-order mark says]
    #[arg(long, value_name = "NAME", value_parser = encoding)]
    pub(crate) encoding: Option<&'static Encoding>,
    /// The first line of a CSV file has column names [default: found out]
    #[arg(long, conflicts_with = "no_header")]
    pub(crate) header: bool,
    /// The first line of a CSV file is data
    #[arg(long)]
    pub(crate) no_header: bool,
}

/// Which columns are features, and how they are prepared.
#[derive(Debug, Args)]
#[command(next_help_heading = "Columns")]
pub(crate) struct ColumnArgs {
    /// Feature columns by name, position from 0 or range such as 3-7 [default: all others]
    #[arg(long, value_name = "A,B,3-7", value_delimiter = ',')]
    pub(crate) features: Vec<String>,
    /// Columns to leave out, likewise
    #[arg(long, value_name = "A,B,3-7", value_delimiter = ',')]
    drop: Vec<String>,
    /// Columns to use although they look like no features (constant, all different, counting the rows), likewise
    #[arg(long, value_name = "A,B,3-7", value_delimiter = ',')]
    keep: Vec<String>,
    /// Columns of numbers that are names, such as codes: a feature per value, as for text
    #[arg(long, value_name = "A,B,3-7", value_delimiter = ',')]
    categories: Vec<String>,
    #[arg(long, value_name = "WAY", value_delimiter = ',', allow_hyphen_values = true, help = missing_help())]
    missing: Vec<String>,
    #[arg(long, value_name = "N", allow_negative_numbers = true, help = or(
        "Most values of a text column that get a feature each; rarer ones share one", Preparation::default().most_values))]
    most_values: Option<i128>,
    /// Columns of free text, likewise: a feature per word, weighed by how rare it is (TF-IDF)
    #[arg(long, value_name = "A,B,3-7", value_delimiter = ',')]
    text: Vec<String>,
    #[arg(long, value_name = "N", allow_negative_numbers = true, help = or(
        "Most words of such a column that get a feature", Preparation::default().most_words))]
    most_words: Option<i128>,
    #[arg(long, value_name = "PARTS", value_delimiter = ',', value_parser = time_part, help = time_parts_help())]
    time_parts: Vec<TimePart>,
}

impl ColumnArgs {
    fn preparation(&self) -> anyhow::Result<Preparation> {
        let usual = Preparation::default();
        let (mut ways, mut missing_words) = (Vec::new(), Vec::new());
        for typed in &self.missing {
            match Missing::ALL.into_iter().find(|way| way.name() == typed) {
                Some(way) => ways.push(way),
                None => missing_words.push(typed.trim().to_string()),
            }
        }
        if let [first, second, ..] = ways[..] {
            bail!("`--missing` can be {} or {}, not both", first.name(), second.name());
        }
        let most_values = self.most_values.map_or(Ok(usual.most_values), |n| count("most-values", n))?;
        if most_values == 0 {
            bail!("`most-values` must be at least 1, found 0");
        }
        let most_words = self.most_words.map_or(Ok(usual.most_words), |n| count("most-words", n))?;
        if most_words == 0 {
            bail!("`most-words` must be at least 1, found 0");
        }
        Ok(Preparation {
            missing: ways.first().copied().unwrap_or_default(),
            missing_words,
            most_values,
            keep: self.keep.clone(),
            categories: self.categories.clone(),
            text: self.text.clone(),
            most_words,
            time_parts: self.time_parts.clone(),
            ..usual
        })
    }

    /// Adds this to what is asked of a reader.
    fn options(&self, options: ReadOptions) -> anyhow::Result<ReadOptions> {
        let all = |list: &[String]| list.iter().map(|f| column(f)).collect::<Vec<Column>>();
        let features = (!self.features.is_empty()).then(|| all(&self.features));
        Ok(ReadOptions { features, drop: all(&self.drop), preparation: Some(self.preparation()?), ..options })
    }
}

fn dates_help() -> String {
    let orders = DateOrder::ALL.map(DateOrder::name).join(" or ");
    format!("Order of day, month and year in dates such as 3/4/2021: {orders} [default: found out]")
}

fn date_order(typed: &str) -> Result<DateOrder, String> {
    let found = DateOrder::ALL.into_iter().find(|order| order.name() == typed);
    found.ok_or_else(|| format!("expected {}", DateOrder::ALL.map(DateOrder::name).join(" or ")))
}

fn time_parts_help() -> String {
    let parts = TimePart::ALL.map(TimePart::name).join(", ");
    format!("Parts of dates and times that get a feature per value besides the time itself: {parts}")
}

fn time_part(typed: &str) -> Result<TimePart, String> {
    let found = TimePart::ALL.into_iter().find(|part| part.name() == typed);
    found.ok_or_else(|| format!("expected one of {}", TimePart::ALL.map(TimePart::name).join(", ")))
}

fn missing_help() -> String {
    let ways = Missing::ALL.map(Missing::name).join(", ");
    format!(
        "What becomes of missing cells: one of {ways}; other words and numbers stand for a missing cell, besides an empty one, NA, N/A, \
         NaN, null and ? [default: {}]",
        Missing::default().name()
    )
}

impl DataArgs {
    /// Reads data with labels for training.
    pub(crate) fn read(&self, file: &Path, columns: &ColumnArgs) -> anyhow::Result<Table> {
        let table = self.read_with(file, columns.options(self.options())?)?;
        notes(&table);
        Ok(table)
    }

    /// How data with labels is read for training.
    pub(crate) fn for_training(&self, columns: &ColumnArgs) -> anyhow::Result<ReadOptions> {
        columns.options(self.options())
    }

    /// Reads data with labels for a search, and perhaps a column of groups, as numbers in order of appearance.
    pub(crate) fn read_grouped(
        &self,
        file: &Path,
        columns: &ColumnArgs,
        group: Option<&str>,
    ) -> anyhow::Result<(Table, Option<Vec<u32>>)> {
        let options = ReadOptions { group: group.map(column), ..columns.options(self.options())? };
        let mut table = self.read_with(file, options)?;
        notes(&table);
        let groups = table.groups.take().map(numbered);
        Ok((table, groups))
    }

    /// Reads all there is to be described.
    pub(crate) fn read_to_describe(
        &self,
        file: &Path,
        columns: &ColumnArgs,
        labels: LabelUse,
    ) -> anyhow::Result<Table> {
        self.read_with(file, ReadOptions { labels, ..columns.options(self.options())? })
    }

    /// Reads data for a model, and columns to hand on.
    pub(crate) fn read_for(
        &self,
        file: &Path,
        model: &Model,
        labels: LabelUse,
        keep: &[String],
    ) -> anyhow::Result<Table> {
        let expected = Some(expected(model));
        let preprocessor = model.column_preprocessor();
        let keep = keep.iter().map(|name| column(name)).collect();
        let table = self.read_with(file, ReadOptions { expected, preprocessor, labels, keep, ..self.options() })?;
        applied(&table.applied);
        Ok(table)
    }

    /// The same of files that need not fit into memory, some rows at a time.
    pub(crate) fn read_parts_for(
        &self,
        files: &[PathBuf],
        model: &Model,
        labels: LabelUse,
        keep: &[String],
        take: &mut dyn FnMut(Table) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let expected = Some(expected(model));
        let preprocessor = model.column_preprocessor();
        let keep = keep.iter().map(|name| column(name)).collect();
        let options = ReadOptions { expected, preprocessor, labels, keep, ..self.options() };
        let mut all: Vec<Applied> = Vec::new();
        m3svm_io::read_parts(files, &options, &mut |mut table| {
            for one in std::mem::take(&mut table.applied) {
                match all.iter_mut().find(|known| known.column == one.column) {
                    Some(known) => {
                        known.filled += one.filled;
                        known.unseen += one.unseen;
                        known.example = known.example.take().or(one.example);
                    }
                    None => all.push(one),
                }
            }
            take(table)
        })?;
        applied(&all);
        Ok(())
    }

    /// Where the weights of rows come from, if they have any.
    pub(crate) fn weight_column(&self) -> Option<String> {
        self.weight_column.as_ref().map(|name| format!("from {}", shown(name, 40)))
    }

    fn options(&self) -> ReadOptions {
        ReadOptions {
            format: self.format,
            label: self.label.as_deref().map(column),
            weight: self.weight_column.as_deref().map(column),
            delimiter: self.delimiter,
            decimal: self.decimal,
            thousands: self.thousands,
            comment: self.comment,
            dates: self.dates,
            encoding: self.encoding,
            header: match (self.header, self.no_header) {
                (true, _) => Some(true),
                (_, true) => Some(false),
                _ => None,
            },
            ..ReadOptions::default()
        }
    }

    fn read_with(&self, file: &Path, options: ReadOptions) -> anyhow::Result<Table> {
        let spinner = Spinner::start(format!("reading {}", file.display()));
        let table = m3svm_io::read(file, &options)?;
        drop(spinner);
        if let Some(encoding) = table.assumed_encoding {
            tell(
                "note",
                &format!("the text is not UTF-8 and was read as {encoding}; --encoding names another encoding"),
            );
        }
        if !table.signs.is_empty() {
            let each: Vec<String> = table.signs.iter().map(|(name, sign)| format!("`{name}` without {sign}")).collect();
            tell("note", &format!("read as numbers: {}; --categories takes a column for names", each.join(", ")));
        }
        Ok(table)
    }
}

/// The columns of a file that a model takes.
fn expected(model: &Model) -> Expected {
    match model.preprocessor().map(Preprocessor::columns) {
        Some(columns) => {
            let names = columns.iter().map(|c| c.name.clone()).collect();
            Expected { count: columns.len(), names }
        }
        None => Expected { count: model.features(), names: model.feature_names().map(<[String]>::to_vec) },
    }
}

/// Says what was done with columns before training, and how to have it otherwise.
fn notes(table: &Table) {
    let label = table.label_name.as_deref().map(|name| (name, table.label_guessed));
    prepared(&table.left_out, table.dropped, label);
}

/// The same of columns that passed by.
pub(crate) fn prepared(left_out: &[LeftOut], dropped: usize, label: Option<(&str, bool)>) {
    let guessed = match label {
        Some((name, true)) => format!("; the label was guessed to be {}, --label chooses another", quoted(name)),
        _ => String::new(),
    };
    if !left_out.is_empty() {
        let each = left_out.iter().map(|out| format!("{} ({})", quoted(&out.column), out.reason));
        let each: Vec<String> = each.collect();
        tell("note", &format!("left out: {}; --keep uses a column all the same{guessed}", each.join(", ")));
    }
    if dropped > 0 {
        tell("note", &format!("{} with gaps left out", plural(dropped, "row")));
    }
}

/// Says what a model has made of cells that its training has not prepared it for.
fn applied(all: &[Applied]) {
    for Applied { column, filled, unseen, example, .. } in all {
        if *unseen > 0 {
            let example = example.as_deref().map_or_else(String::new, |e| format!(" (such as {})", quoted(e)));
            let cells = plural(*unseen, "cell");
            tell(
                "note",
                &format!(
                    "{}: {cells} with values that training has not seen{example}, which count as none of them",
                    quoted(column)
                ),
            );
        }
        if *filled > 0 {
            tell("note", &format!("{}: {} missing, filled as in training", quoted(column), plural(*filled, "cell")));
        }
    }
}

fn quoted(name: &str) -> String {
    if name.is_empty() { "the column without a name".into() } else { format!("`{}`", shown(name, 40)) }
}

/// One sign, as it is or by name.
fn sign(typed: &str) -> Result<u8, String> {
    match typed {
        "comma" => Ok(b','),
        "semicolon" => Ok(b';'),
        "tab" | "\\t" => Ok(b'\t'),
        "pipe" => Ok(b'|'),
        "space" | "spaces" => Ok(b' '),
        "point" | "dot" => Ok(b'.'),
        _ => match typed.as_bytes() {
            [one] if one.is_ascii() && !matches!(one, b'\n' | b'\r' | b'"') => Ok(*one),
            _ => Err("expected one sign, or comma, semicolon, tab, pipe or space".into()),
        },
    }
}

fn decimal(typed: &str) -> Result<u8, String> {
    sign(typed).ok().filter(|sign| matches!(sign, b'.' | b',')).ok_or_else(|| "expected `.` or `,`".into())
}

fn encoding(typed: &str) -> Result<&'static Encoding, String> {
    Encoding::for_label(typed.as_bytes())
        .ok_or_else(|| "expected the name of an encoding, such as latin1 or utf-16".into())
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
