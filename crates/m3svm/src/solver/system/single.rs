//! Products with the Newton matrix in single precision, for conjugate gradients on dense data.
//!
//! A step need not be exact: a few digits are asked for, and the gradient that it answers to is always computed in double precision.
//! Single precision moves and multiplies twice as many numbers at a time. Where it does not suffice, [`super::System`] notices.

use std::ops::Range;

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};

use super::Matrix;
use super::chosen::Narrow;
use crate::kernel::{add_rows, axpy, vectorised};
use crate::risk::Risk;

/// X in single precision.
pub(super) struct Single {
    x: Narrow,
}

impl Single {
    /// Fewer numbers are not worth the detour, more would cost too much memory (32 MB).
    const WORTH: Range<usize> = 1 << 17..1 << 23;

    /// Of so few (2 MB) there is room for a copy, however many rows they are.
    const FEW: usize = 1 << 19;

    /// The rounded features, where they are dense and this pays.
    pub(super) fn of(risk: &Risk<'_>) -> Option<Self> {
        let numbers = risk.x.stored();
        let no_room = numbers > Self::FEW && super::many_rows(risk);
        if risk.x.is_sparse() || no_room || !Self::WORTH.contains(&numbers) {
            return None;
        }
        let mut x = Vec::with_capacity(risk.x.stored());
        risk.x.for_each_row(|_, row| row.for_each(|_, v| x.push(v as f32)));
        Some(Self { x: Narrow::new(x, risk.x.cols()) })
    }

    /// All rows.
    pub(super) fn rows(&self) -> &Narrow {
        &self.x
    }

    /// `out = A·v`, to about six digits.
    pub(super) fn apply(&self, a: &Matrix<'_>, v: &[f64], out: &mut [f64]) {
        let (risk, m) = (a.risk, a.risk.weights_len());
        // A step of any size fits into single precision. What else does not makes products that are no numbers, and a step that is dropped.
        let scale = v.iter().fold(0.0f64, |top, v| top.max(v.abs())).max(f64::MIN_POSITIVE);
        let narrow: Vec<f32> = v.iter().map(|v| (v / scale) as f32).collect();
        out.fill(0.0);
        for part in risk.partition().map(|rows| self.group(a, rows, &narrow)) {
            out.iter_mut().zip(&part).for_each(|(o, p)| *o += scale * f64::from(*p));
        }
        a.penalty.apply(&v[..m], &mut out[..m]);
        axpy(2.0 * risk.epsilon, v, out);
    }

    /// X̃ᵀHX̃·v over some rows.
    fn group(&self, a: &Matrix<'_>, rows: Range<usize>, v: &[f32]) -> Vec<f32> {
        let (risk, c, d) = (a.risk, a.risk.classes, a.risk.x.cols());
        let (len, m) = (a.shape.len(c), risk.weights_len());
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
