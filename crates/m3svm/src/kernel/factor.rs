//! K ≈ FFᵀ by a Cholesky factorisation that picks its pivots as it goes, many at a time, and never holds K.
//!
//! To full numerical rank it is exact: what is left of the diagonal is rounding, and the certificate pays for it (`Features::lost`). Cut
//! short at a rank, the rows that were picked are landmarks, and the trace that is left says how much of the kernel is missing. Then pivots
//! are drawn in proportion to what is left of the diagonal (randomly pivoted Cholesky), which is as good as the best rank up to a small
//! factor and is not misled by outliers, as the greedy choice is.

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::Kernel;
use super::centres::{Centres, diagonal};
use crate::error::{Error, Result};
use crate::features::Features;
use crate::interrupt::Heed;
use crate::linalg::dot;
use crate::memory;

/// Pivots that are tried at a time.
const PIVOT_BLOCK: usize = 96;
/// A pivot of a block is put off if those before it have taken more than this share of what it had left.
const TAKEN: f64 = 0.95;
/// Where the memory budget decides on the rank, no more than this share of the trace need be left.
const COMPLETE: f64 = 1e-4;

/// How much of a kernel a factorisation is to keep.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Extent {
    /// All but rounding.
    Full,
    /// So many pivots at most, fewer once no more than this share of the trace is left.
    Cut { rank: usize, enough: f64 },
}

impl Extent {
    /// Full, unless a rank is asked for or the memory budget has no room for it.
    pub(crate) fn of(rank: Option<usize>, rows: usize) -> Result<Self> {
        if let Some(rank) = rank {
            if rank > rows {
                return Err(Error::param("rank", rank, "be at most the number of training rows"));
            }
            memory::check(&format!("a kernel of {rows} rows cut at rank {rank}"), bytes(rows, rank))?;
            return Ok(Self::Cut { rank, enough: 0.0 });
        }
        let full = bytes(rows, rows);
        if memory::check("a kernel", full).is_ok() {
            return Ok(Self::Full);
        }
        let rank = (memory::budget() / bytes(rows, 1).max(1)) as usize;
        if rank < PIVOT_BLOCK.min(rows) {
            memory::check(
                &format!("a kernel of {rows} rows cut at rank {}", PIVOT_BLOCK.min(rows)),
                bytes(rows, PIVOT_BLOCK),
            )?;
        }
        Ok(Self::Cut { rank: rank.clamp(1, rows), enough: COMPLETE })
    }
}

/// The factor, what its solver makes of it, and blocks of both.
fn bytes(rows: usize, rank: usize) -> u64 {
    memory::numbers(rows, rank).saturating_mul(3)
}

/// K ≈ FFᵀ.
pub(crate) struct Factor {
    /// F, n×r.
    pub(crate) features: Features<'static>,
    /// The rows that were picked, in order.
    pub(crate) pivots: Vec<u32>,
    /// F at these rows: lower triangular, r×r row-major.
    pub(crate) lower: Vec<f64>,
    /// The share of the trace that is left.
    pub(crate) left: f64,
    /// The largest length that a row has lost.
    pub(crate) lost: f64,
    /// Whether all but rounding was kept.
    pub(crate) full: bool,
}

impl Factor {
    /// Factorises the kernel of all rows of a matrix. Rows of weight 0 are no pivots, and nothing is asked of them. `None` if the fit is
    /// interrupted.
    pub(crate) fn of(
        kernel: Kernel,
        x: &Features<'_>,
        weights: Option<&[f64]>,
        extent: Extent,
        seed: u64,
        heed: Heed<'_>,
    ) -> Result<Option<Self>> {
        let n = x.rows();
        let own = diagonal(kernel, x);
        let counts = |i: usize| weights.is_none_or(|w| w[i] > 0.0);
        // A row of weight 0 may be as long as it likes: what is rounding to the others is not for it to say.
        let top = (0..n).filter(|i| counts(*i)).map(|i| own[i]).fold(0.0, f64::max);
        if let Some(bad) = own.iter().find(|v| !v.is_finite()) {
            return Err(Error::param("kernel", bad, "have finite values; scale the features"));
        }
        if top == 0.0 {
            return Err(Error::param("kernel", "0 for every row", "tell rows apart"));
        }
        let mut left: Vec<f64> = own.iter().enumerate().map(|(i, v)| if counts(i) { *v } else { 0.0 }).collect();
        let trace: f64 = left.iter().sum();
        let (most, enough, full) = match extent {
            Extent::Full => (n, 0.0, true),
            Extent::Cut { rank, enough } => (rank, enough * trace, false),
        };
        // n units, and some for what goes into a value of the kernel: rows that are there twice differ by so much.
        let rounding = (n as f64 + 100.0) * 0.5 * f64::EPSILON * top;
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut f = vec![0.0; n * most];
        let mut pivots: Vec<u32> = Vec::new();
        while pivots.len() < most {
            if !heed.go_on() {
                return Ok(None);
            }
            let largest = left.iter().copied().fold(0.0, f64::max);
            if largest <= rounding || left.iter().sum::<f64>() <= enough {
                break;
            }
            let count = PIVOT_BLOCK.min(most - pivots.len());
            let tried = if full { greedy(&left, count, rounding) } else { drawn(&left, count, rounding, &mut random) };
            let (kept, lower) = block_of(kernel, x, &f, most, pivots.len(), &tried, rounding);
            if kept.is_empty() {
                // Nothing but rounding was left of them.
                tried.iter().for_each(|i| left[*i as usize] = 0.0);
                continue;
            }
            add_columns(&Centres::of(kernel, x, &kept), &lower, x, &mut f, most, &pivots, &kept);
            let first = pivots.len();
            for (row, left) in f.chunks_exact(most).zip(&mut left) {
                let new = &row[first..first + kept.len()];
                *left = (*left - dot(new, new)).max(0.0);
            }
            pivots.extend(&kept);
            pivots.iter().for_each(|i| left[*i as usize] = 0.0);
        }
        let rank = pivots.len();
        for i in 1..n {
            f.copy_within(i * most..i * most + rank, i * rank);
        }
        f.truncate(n * rank);
        f.shrink_to_fit();
        let mut lower = vec![0.0; rank * rank];
        for (j, i) in pivots.iter().enumerate() {
            let from = *i as usize * rank;
            lower[j * rank..=j * rank + j].copy_from_slice(&f[from..=from + j]);
        }
        // What rounding may have taken from the diagonal, row by row, and from what is off it.
        let error = (rank as f64 + 16.0) * f64::EPSILON * top;
        let worst = left.iter().copied().fold(0.0, f64::max);
        let features = Features::dense(f, n, rank)?.losing(if full { (worst + error).sqrt() } else { 0.0 });
        let (share, lost) = (left.iter().sum::<f64>() / trace, worst.sqrt());
        Ok(Some(Self { features, pivots, lower, left: share, lost, full }))
    }

    /// Whether all rows are the same to the kernel.
    pub(crate) fn is_constant(&self) -> bool {
        if self.pivots.len() != 1 {
            return false;
        }
        let first = self.features.get(0, 0);
        (1..self.features.rows()).all(|i| (self.features.get(i, 0) - first).abs() <= 1e-12 * first.abs())
    }

    /// Solves Lᵀ·A = W in place: from weights of features (r×m) to coefficients of pivots.
    pub(crate) fn coefficients(&self, weights: &[f64], scorers: usize) -> Vec<f64> {
        let (r, mut out) = (self.pivots.len(), weights.to_vec());
        for j in (0..r).rev() {
            let (before, row) = out.split_at_mut(j * scorers);
            let row = &mut row[..scorers];
            row.iter_mut().for_each(|v| *v /= self.lower[j * r + j]);
            for (l, before) in self.lower[j * r..j * r + j].iter().zip(before.chunks_exact_mut(scorers)) {
                before.iter_mut().zip(&*row).for_each(|(b, v)| *b -= l * v);
            }
        }
        out
    }

    /// Solves L·W = Z in place: from scores of pivots (r×m) to weights of features.
    pub(crate) fn weights_of_scores(&self, scores: &mut [f64], scorers: usize) {
        let r = self.pivots.len();
        for j in 0..r {
            let (before, row) = scores.split_at_mut(j * scorers);
            let row = &mut row[..scorers];
            for (l, before) in self.lower[j * r..j * r + j].iter().zip(before.chunks_exact(scorers)) {
                row.iter_mut().zip(before).for_each(|(v, b)| *v -= l * b);
            }
            row.iter_mut().for_each(|v| *v /= self.lower[j * r + j]);
        }
    }

    /// Other rows in these features: F of theirs, as if they had been there.
    pub(crate) fn project(&self, centres: &Centres, x: &Features<'_>) -> Result<Features<'static>> {
        let r = self.pivots.len();
        let mut out = vec![0.0; x.rows() * r];
        centres.for_each_part(x, &mut out, r, |_, values, out| {
            out.copy_from_slice(values);
            out.chunks_exact_mut(r).for_each(|row| substitute(&self.lower, r, row));
        });
        Features::dense(out, x.rows(), r)
    }
}

/// The rows with most left.
fn greedy(left: &[f64], count: usize, rounding: f64) -> Vec<u32> {
    let mut all: Vec<u32> = (0..left.len() as u32).filter(|i| left[*i as usize] > rounding).collect();
    let order = |a: &u32, b: &u32| left[*b as usize].total_cmp(&left[*a as usize]).then(a.cmp(b));
    if all.len() > count {
        all.select_nth_unstable_by(count, order);
        all.truncate(count);
    }
    all.sort_unstable_by(order);
    all
}

/// Rows drawn in proportion to what they have left, no row twice: those with the first arrivals of processes of these rates.
fn drawn(left: &[f64], count: usize, rounding: f64, random: &mut ChaCha8Rng) -> Vec<u32> {
    let mut arrivals: Vec<(f64, u32)> = Vec::new();
    for (i, left) in (0..).zip(left) {
        let uniform: f64 = random.random();
        if *left > rounding {
            arrivals.push((-(1.0 - uniform).ln() / left, i));
        }
    }
    let order = |a: &(f64, u32), b: &(f64, u32)| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1));
    if arrivals.len() > count {
        arrivals.select_nth_unstable_by(count, order);
        arrivals.truncate(count);
    }
    arrivals.sort_unstable_by(order);
    arrivals.into_iter().map(|(_, i)| i).collect()
}

/// What is left of the kernel between the tried rows, factorised with the largest first. Returns the rows that are worth a column, and
/// their triangle.
fn block_of(
    kernel: Kernel,
    x: &Features<'_>,
    f: &[f64],
    stride: usize,
    rank: usize,
    tried: &[u32],
    rounding: f64,
) -> (Vec<u32>, Vec<f64>) {
    let b = tried.len();
    let mut left = vec![0.0; b * b];
    let rows = x.take_double(tried);
    let centres = Centres::of(kernel, x, tried);
    centres.for_each_part(&rows, &mut left, b, |_, values, out| out.copy_from_slice(values));
    let mut known = vec![0.0; b * rank];
    for (row, i) in known.chunks_exact_mut(rank.max(1)).zip(tried) {
        row.copy_from_slice(&f[*i as usize * stride..*i as usize * stride + rank]);
    }
    subtract(&known, rank, &known, rank, &mut left, b);
    let before: Vec<f64> = (0..b).map(|i| left[i * b + i]).collect();
    let (mut kept, mut columns): (Vec<usize>, Vec<Vec<f64>>) = (Vec::new(), Vec::new());
    loop {
        let open = (0..b).filter(|i| !kept.contains(i));
        let worth = open.filter(|&i| left[i * b + i] > rounding.max((1.0 - TAKEN) * before[i]));
        let Some(next) = worth.max_by(|&i, &j| left[i * b + i].total_cmp(&left[j * b + j]).then(j.cmp(&i))) else {
            break;
        };
        let root = left[next * b + next].sqrt();
        let column: Vec<f64> = (0..b).map(|i| left[i * b + next] / root).collect();
        for i in 0..b {
            (0..b).for_each(|j| left[i * b + j] -= column[i] * column[j]);
        }
        kept.push(next);
        columns.push(column);
    }
    let k = kept.len();
    let mut lower = vec![0.0; k * k];
    for (i, at) in kept.iter().enumerate() {
        (0..=i).for_each(|j| lower[i * k + j] = columns[j][*at]);
    }
    (kept.into_iter().map(|i| tried[i]).collect(), lower)
}

/// The columns of new pivots: what is left of the kernel of all rows with them, times L⁻ᵀ.
fn add_columns(
    centres: &Centres,
    lower: &[f64],
    x: &Features<'_>,
    f: &mut [f64],
    stride: usize,
    before: &[u32],
    new: &[u32],
) {
    let (rank, k) = (before.len(), new.len());
    let mut known = vec![0.0; k * rank];
    for (row, i) in known.chunks_exact_mut(rank.max(1)).zip(new) {
        row.copy_from_slice(&f[*i as usize * stride..*i as usize * stride + rank]);
    }
    centres.for_each_part(x, f, stride, |_, values, f| {
        let mut left = values.to_vec();
        let rows = left.len() / k;
        if rank > 0 {
            matmul(
                MatMut::from_row_major_slice_mut(&mut left, rows, k),
                Accum::Add,
                MatRef::from_row_major_slice_with_stride(f, rows, rank, stride),
                MatRef::from_row_major_slice(&known, k, rank).transpose(),
                -1.0,
                Par::Seq,
            );
        }
        for (left, f) in left.chunks_exact_mut(k).zip(f.chunks_exact_mut(stride)) {
            substitute(lower, k, left);
            f[rank..rank + k].copy_from_slice(left);
        }
    });
    // Where nothing is left but rounding.
    for i in before {
        f[*i as usize * stride + rank..*i as usize * stride + rank + k].fill(0.0);
    }
    for (j, i) in new.iter().enumerate() {
        f[*i as usize * stride + rank..][..k].copy_from_slice(&lower[j * k..(j + 1) * k]);
    }
}

/// Solves L·x = b in place for a lower triangle (k×k row-major).
fn substitute(lower: &[f64], k: usize, b: &mut [f64]) {
    for j in 0..k {
        let row = &lower[j * k..=j * k + j];
        b[j] = (b[j] - dot(&row[..j], &b[..j])) / row[j];
    }
}

/// `out −= A·Bᵀ`.
fn subtract(a: &[f64], inner: usize, b: &[f64], rows: usize, out: &mut [f64], columns: usize) {
    let _ = rows;
    if inner == 0 || out.is_empty() {
        return;
    }
    let m = out.len() / columns;
    matmul(
        MatMut::from_row_major_slice_mut(out, m, columns),
        Accum::Add,
        MatRef::from_row_major_slice(a, m, inner),
        MatRef::from_row_major_slice(b, columns, inner).transpose(),
        -1.0,
        Par::Seq,
    );
}
