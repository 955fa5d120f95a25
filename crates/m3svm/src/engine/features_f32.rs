//! Products with the Newton matrix in single precision, for conjugate gradients on dense data.
//!
//! A step need not be exact: a few digits are asked for, and the gradient that it answers to is always computed in double precision.
//! Single precision moves and multiplies twice as many numbers at a time. Where it does not suffice, the solver of the systems notices.

use std::ops::Range;

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};

use super::Sizes;
use super::entry_rows::RowsF32;
use super::in_memory::Curved;
use super::tuning::ENGINE;
use crate::linalg::{add_rows, vectorised};
use crate::plan::many_rows;
use crate::problem::Problem;
use crate::risk::Risk;

/// X in single precision.
pub(super) struct FeaturesF32<'x> {
    x: RowsF32<'x>,
}

impl<'x> FeaturesF32<'x> {
    /// Whether features are dense, many enough and not too many for a copy. Where there need not be one the answer is the same: how rows are stored changes no result.
    pub(super) fn pays(problem: &Problem<'_>, sizes: &Sizes) -> bool {
        let room = sizes.stored <= ENGINE.always_copied || !many_rows(problem, sizes);
        !sizes.is_sparse && room && (ENGINE.copied.0..ENGINE.copied.1).contains(&sizes.stored)
    }

    /// The rounded features, where this pays.
    pub(super) fn of(risk: &Risk<'x>) -> Option<Self> {
        if !Self::pays(&risk.problem, &Sizes::of(risk.x)) {
            return None;
        }
        if let Some(singles) = risk.x.singles() {
            return Some(Self { x: RowsF32::new(singles, risk.x.cols()) });
        }
        let mut x = Vec::with_capacity(risk.x.stored());
        risk.x.for_each_row(|_, row| row.for_each(|_, v| x.push(v as f32)));
        Some(Self { x: RowsF32::new(x, risk.x.cols()) })
    }

    /// All rows.
    pub(super) fn rows(&self) -> &RowsF32<'x> {
        &self.x
    }

    /// `out += X̃ᵀHX̃·v`, to about six digits.
    pub(super) fn multiply(&self, a: &Curved<'_>, v: &[f64], out: &mut [f64]) {
        // A step of any size fits into single precision. What else does not makes products that are no numbers, and a step that is dropped.
        let scale = v.iter().fold(0.0f64, |top, v| top.max(v.abs())).max(f64::MIN_POSITIVE);
        let narrow: Vec<f32> = v.iter().map(|v| (v / scale) as f32).collect();
        for part in a.risk.partition().map(|rows| self.group(a, rows, &narrow)) {
            out.iter_mut().zip(&part).for_each(|(o, p)| *o += scale * f64::from(*p));
        }
    }

    /// X̃ᵀHX̃·v over some rows.
    fn group(&self, a: &Curved<'_>, rows: Range<usize>, v: &[f32]) -> Vec<f32> {
        let (risk, c, d) = (a.risk, a.risk.problem.classes, a.risk.x.cols());
        let (len, m) = (a.shape.len(c), risk.problem.weights_len());
        let (w, b) = v.split_at(m);
        let mut out = vec![0.0f32; v.len()];
        let (room, mut bias) = (risk.partition().block() * c, vec![0.0f64; b.len()]);
        let (mut scores, mut slopes) = (vec![0.0f32; room], vec![0.0f32; room]);
        let (mut wide, mut bent) = (vec![0.0f64; room], vec![0.0f64; room]);
        for block in risk.partition().blocks(rows) {
            let n = block.len();
            let (z, g) = (&mut scores[..n * c], &mut slopes[..n * c]);
            let x = self.x.view(block.clone());
            let weights = MatRef::from_row_major_slice(w, d, c);
            matmul(MatMut::from_row_major_slice_mut(z, n, c), Accum::Replace, x, weights, 1.0f32, Par::Seq);
            let (wide, bent) = (&mut wide[..n * c], &mut bent[..n * c]);
            widen(z, b, wide);
            a.shape.apply_rows(&a.h[block.start * len..block.end * len], &risk.y[block], wide, bent);
            narrow(bent, g);
            add_rows(bent, &mut bias);
            let slopes = MatRef::from_row_major_slice(g, n, c);
            let w = &mut out[..m];
            matmul(MatMut::from_row_major_slice_mut(w, d, c), Accum::Add, x.transpose(), slopes, 1.0f32, Par::Seq);
        }
        narrow(&bias, &mut out[m..]);
        out
    }
}

/// Scores with their intercepts, if there are any.
fn widen(z: &[f32], b: &[f32], out: &mut [f64]) {
    vectorised(
        #[inline(always)]
        || {
            if b.is_empty() {
                for (out, z) in out.iter_mut().zip(z) {
                    *out = f64::from(*z);
                }
                return;
            }
            for (out, z) in out.chunks_exact_mut(b.len()).zip(z.chunks_exact(b.len())) {
                for k in 0..b.len() {
                    out[k] = f64::from(z[k] + b[k]);
                }
            }
        },
    );
}

fn narrow(numbers: &[f64], out: &mut [f32]) {
    vectorised(
        #[inline(always)]
        || {
            for (out, number) in out.iter_mut().zip(numbers) {
                *out = *number as f32;
            }
        },
    );
}
