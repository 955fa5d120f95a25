//! What a model file has of a kernel: the training rows that scores are sums over.
//!
//! ```text
//! coefficients [s, m] f64   lengths [c(c−1)/2] f64   support.rows [s] u32   support.classes [s] u32
//! support.values [s, d] f64,                                            where rows are dense
//! support.ends [s] u32   support.columns [e] u32   support.values [e] f64   where they are sparse
//! ```
//!
//! A precomputed kernel has no rows; `support.rows` says which columns of its values count.

use safetensors::Dtype;
use serde::{Deserialize, Serialize};

use super::read::Layout;
use super::{FileDefect, Tensor, TensorShape};
use crate::features::Features;
use crate::kernel::{Centres, Expansion, Kernel};
use crate::spec::Spec;

/// How the rows are stored.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum ExpansionStorage {
    Dense,
    Sparse,
    Columns,
}

/// Everything but tensors.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ExpansionHeader {
    /// With the number that γ stands for.
    kernel: Kernel,
    storage: ExpansionStorage,
    rank: usize,
    approximate: bool,
    trace_left: f64,
    length_lost: f64,
}

impl ExpansionHeader {
    pub(super) fn of(expansion: &Expansion) -> Self {
        let storage = match expansion.features() {
            None => ExpansionStorage::Columns,
            Some(x) if x.is_sparse() => ExpansionStorage::Sparse,
            Some(_) => ExpansionStorage::Dense,
        };
        Self {
            kernel: expansion.kernel(),
            storage,
            rank: expansion.rank,
            approximate: expansion.cut,
            trace_left: expansion.left,
            length_lost: expansion.lost,
        }
    }

    pub(super) fn check(&self, spec: &Spec) -> Result<(), FileDefect> {
        self.kernel.check().map_err(|e| format!("its kernel is broken ({e})"))?;
        let asked = spec.kernel;
        let same = asked.gamma().map_or(asked, |_| asked.with_gamma(self.kernel.gamma().unwrap_or_default()));
        let resolved = self.kernel.gamma().is_none_or(|gamma| matches!(gamma, crate::Gamma::Value(_)));
        let columns = self.storage == ExpansionStorage::Columns;
        if same != self.kernel || !resolved || columns != (asked == Kernel::Precomputed) {
            return Err("its kernel does not fit its settings".into());
        }
        if !(0.0..=1.0).contains(&self.trace_left) || !(self.length_lost >= 0.0) {
            return Err("what its kernel has lost is not possible".into());
        }
        Ok(())
    }

    /// The tensors that there must be.
    pub(super) fn shapes<'s>(
        &self,
        shape: &dyn Fn(&str) -> Option<&'s [usize]>,
        d: usize,
        m: usize,
        c: usize,
    ) -> Result<Vec<TensorShape>, FileDefect> {
        let Some(&[s, _]) = shape("coefficients") else { return Err("its `coefficients` are missing".into()) };
        let mut all = vec![
            ("coefficients", Dtype::F64, vec![s, m]),
            ("lengths", Dtype::F64, vec![c * (c - 1) / 2]),
            ("support.rows", Dtype::U32, vec![s]),
            ("support.classes", Dtype::U32, vec![s]),
        ];
        match self.storage {
            ExpansionStorage::Columns => {}
            ExpansionStorage::Dense => all.push(("support.values", Dtype::F64, vec![s, d])),
            ExpansionStorage::Sparse => {
                let Some(&[e]) = shape("support.columns") else {
                    return Err("its `support.columns` are missing".into());
                };
                all.push(("support.ends", Dtype::U32, vec![s]));
                all.push(("support.columns", Dtype::U32, vec![e]));
                all.push(("support.values", Dtype::F64, vec![e]));
            }
        }
        Ok(all)
    }

    pub(super) fn read(&self, layout: &Layout, data: &[u8], header: &super::Header) -> Result<Expansion, FileDefect> {
        let (rows, classes) = (layout.integers(data, "support.rows"), layout.integers(data, "support.classes"));
        let (lengths, d) = (layout.numbers(data, "lengths")?, layout.bytes_of(data, "scaler.shift").len() / 8);
        if classes.iter().any(|k| *k as usize >= header.classes.len()) {
            return Err("a row of its kernel is of no class".into());
        }
        let most = if self.storage == ExpansionStorage::Columns { d } else { header.training.rows };
        if rows.iter().any(|i| *i as usize >= most) {
            return Err("a row of its kernel is none that it was trained on".into());
        }
        if lengths.iter().any(|length| *length < 0.0) {
            return Err("a distance of its classes is below 0".into());
        }
        let values = layout.numbers(data, "support.values")?;
        let centres = match self.storage {
            ExpansionStorage::Columns => Centres::columns(d, rows.clone()),
            ExpansionStorage::Dense => Centres::new(self.kernel, &features(Features::dense(values, rows.len(), d))?),
            ExpansionStorage::Sparse => {
                let ends = layout.integers(data, "support.ends").into_iter().map(|end| end as usize);
                let pointers: Vec<usize> = std::iter::once(0).chain(ends).collect();
                let columns = layout.integers(data, "support.columns");
                Centres::new(self.kernel, &features(Features::csr(pointers, columns, values, d))?)
            }
        };
        Ok(Expansion {
            centres,
            rows,
            classes,
            coefficients: layout.numbers(data, "coefficients")?,
            lengths,
            rank: self.rank,
            cut: self.approximate,
            left: self.trace_left,
            lost: self.length_lost,
        })
    }
}

fn features(read: crate::Result<Features<'static>>) -> Result<Features<'static>, FileDefect> {
    read.map_err(|e| format!("the rows of its kernel are broken ({e})").into())
}

/// The tensors of a kernel, in the order of [`ExpansionHeader::shapes`].
pub(super) fn tensors(expansion: &Expansion, scorers: usize) -> Result<Vec<Tensor>, FileDefect> {
    let s = expansion.len();
    let mut all = vec![
        Tensor::of_numbers("coefficients", vec![s, scorers], &expansion.coefficients)?,
        Tensor::of_numbers("lengths", vec![expansion.lengths.len()], &expansion.lengths)?,
        Tensor::of_integers("support.rows", &expansion.rows),
        Tensor::of_integers("support.classes", &expansion.classes),
    ];
    let Some(x) = expansion.features() else { return Ok(all) };
    let (mut ends, mut columns, mut values) = (Vec::new(), Vec::new(), Vec::new());
    x.for_each_row(|_, row| {
        row.for_each(|j, v| {
            columns.push(j as u32);
            values.push(v);
        });
        ends.push(values.len());
    });
    if x.is_sparse() {
        let ends: Result<Vec<u32>, _> = ends.into_iter().map(u32::try_from).collect();
        let ends = ends.map_err(|_| "the rows of its kernel have more values than a file can hold")?;
        all.push(Tensor::of_integers("support.ends", &ends));
        all.push(Tensor::of_integers("support.columns", &columns));
        all.push(Tensor::of_numbers("support.values", vec![values.len()], &values)?);
    } else {
        all.push(Tensor::of_numbers("support.values", vec![s, x.cols()], &values)?);
    }
    Ok(all)
}
