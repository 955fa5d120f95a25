//! What any point and any slopes say of the hard margin, whoever found them.
//!
//! ```text
//! N(W) = (Σ_{k<l} ‖wₖ − wₗ‖ᵖ)^(1/p) is to be small where every row leads by 1: z_y − zₖ ≥ 1 for all k ≠ y
//! above:  N(W)/m for any W whose rows lead by m at least
//! below:  Σα/N*(S) for any α ≥ 0 with S = Σ αᵢₖ xᵢ(e_y − eₖ)ᵀ and Σ αᵢₖ(e_y − eₖ) = 0
//! N*(S) = min (Σ ‖ζₖₗ‖^q)^(1/q) over all splits Σₗ ζₖₗ = Sₖ, 1/p + 1/q = 1
//! ```
//!
//! Both are functions of degree 1, so that their quotient is that of two margins. What rounding may have added is taken off either.

use faer::linalg::solvers::Solve;
use faer::{Mat, Side};

use crate::features::Features;
use crate::linalg::{axpy, dot};
use crate::penalty::{by_class, pairs};
use crate::rounding::{length, of_sum};

/// Rows that all have to lead.
#[derive(Clone, Copy)]
pub(crate) struct LeadingRows<'a> {
    pub(crate) x: &'a Features<'a>,
    pub(crate) y: &'a [u32],
    pub(crate) classes: usize,
    pub(crate) intercept: bool,
}

impl LeadingRows<'_> {
    /// z_y − zₖ of the other class that comes nearest, for every row, and what rounding cannot take away from it.
    pub(crate) fn leads(&self, theta: &[f64]) -> Vec<f64> {
        let (c, d) = (self.classes, self.x.cols());
        let (w, b) = theta.split_at(d * c);
        let vectors = by_class(w, c);
        let norms: Vec<f64> = (0..c).map(|k| length(&vectors[k * d..(k + 1) * d])).collect();
        let shift = |k: usize| b.get(k).copied().unwrap_or(0.0);
        let mut z: Vec<f64> = (0..self.y.len()).flat_map(|_| (0..c).map(shift)).collect();
        self.x.for_each_block(|rows, block| block.mul_add(w, c, &mut z[rows.start * c..rows.end * c]));
        let unit = of_sum(d + 4);
        let rows = z.chunks_exact(c).zip(self.y).zip(self.x.lengths());
        rows.map(|((z, y), long)| {
            let y = *y as usize;
            let lead = |k: usize| {
                let size = long * (norms[y] + norms[k]) + shift(y).abs() + shift(k).abs();
                z[y] - z[k] - unit * size
            };
            // What is no number leads by nothing.
            let least = (0..c)
                .filter(|k| *k != y)
                .map(lead)
                .fold(f64::INFINITY, |least, lead| if lead < least || lead.is_nan() { lead } else { least });
            if least.is_nan() { f64::NEG_INFINITY } else { least }
        })
        .collect()
    }

    /// N(W) where the rows lead by 1, and by how much they lead at θ; `None` if some do not lead at all.
    pub(crate) fn above(&self, theta: &[f64], p: f64) -> Option<(f64, f64)> {
        let least = self.leads(theta).into_iter().fold(f64::INFINITY, f64::min);
        let (c, d) = (self.classes, self.x.cols());
        let found = norm(&distances(&theta[..d * c], c), p) * (1.0 + 4.0 * of_sum(d + c * c)) / least;
        (least > 0.0 && found.is_finite()).then_some((found, least))
    }

    /// The lower bound of slopes: n×c, those of other classes negated or not, the own one ignored. `near` is a point whose distances say how
    /// the pairs share.
    pub(crate) fn below(&self, slopes: &[f64], near: &[f64], p: f64) -> f64 {
        let c = self.classes;
        let Some(whole) = balanced(slopes, self.y, c, self.intercept) else { return 0.0 };
        let active: Vec<u32> =
            (0..self.y.len() as u32).filter(|i| whole[*i as usize * c..][..c].iter().any(|a| *a > 0)).collect();
        let x = self.x.take_rows(&active);
        let mut g = Vec::with_capacity(active.len() * c);
        let mut total = 0i128;
        for i in &active {
            let (own, y) = (&whole[*i as usize * c..][..c], self.y[*i as usize] as usize);
            let sum: i64 = own.iter().sum();
            total += i128::from(sum);
            g.extend(own.iter().enumerate().map(|(k, a)| if k == y { sum as f64 } else { -(*a as f64) }));
        }
        let mut s = vec![0.0; x.cols() * c];
        x.t_mul_add(0..active.len(), &g, c, &mut s);
        let lengths = g.chunks_exact(c).map(length);
        let reach: f64 = lengths.clone().zip(x.lengths()).map(|(g, x)| g * x).sum();
        let beside: f64 = lengths.sum::<f64>() * self.x.lost();
        let error = of_sum(active.len() + 4) * reach;
        // What the rows have lost is at right angles to all that they have.
        let off = Off { error, beside: (1.0 + of_sum(active.len())) * beside };
        let least = total as f64 * (1.0 - 4.0 * f64::EPSILON);
        let found = least / dual_norm(&s, c, off, &distances(&near[..x.cols() * c], c), p);
        if found.is_finite() { found.max(0.0) } else { 0.0 }
    }
}

/// Slopes as whole numbers, so that sums over rows are exact, which cancel over the classes where there is an intercept.
fn balanced(slopes: &[f64], y: &[u32], c: usize, intercept: bool) -> Option<Vec<i64>> {
    const UNITS: f64 = 1_099_511_627_776.0;
    let size = |at: usize| if y[at / c] as usize == at % c { 0.0 } else { slopes[at].abs() };
    let top = (0..slopes.len()).map(size).fold(0.0, f64::max);
    if !(top > 0.0 && top.is_finite()) {
        return None;
    }
    let mut whole: Vec<i64> = (0..slopes.len()).map(|at| (size(at) / top * UNITS).round() as i64).collect();
    if !intercept {
        return Some(whole);
    }
    let mut net = vec![0i64; c];
    for (row, y) in whole.chunks_exact(c).zip(y) {
        row.iter().enumerate().for_each(|(k, a)| {
            net[*y as usize] += a;
            net[k] -= a;
        });
    }
    // Too much of k and too little of l: a row of l that has to lead k takes the difference, the one that does most of it already.
    while let (Some(k), Some(l)) = (net.iter().position(|n| *n > 0), net.iter().position(|n| *n < 0)) {
        let more = net[k].min(-net[l]);
        let rows = (0..y.len()).filter(|i| y[*i] as usize == l);
        let row = rows.max_by_key(|i| whole[i * c + k])?;
        whole[row * c + k] += more;
        net[k] -= more;
        net[l] += more;
    }
    Some(whole)
}

/// ‖wₖ − wₗ‖ of every pair.
fn distances(w: &[f64], classes: usize) -> Vec<f64> {
    let vectors = by_class(w, classes);
    between(&vectors, classes)
}

fn between(vectors: &[f64], classes: usize) -> Vec<f64> {
    let d = vectors.len() / classes;
    let (mut out, mut u) = (Vec::new(), vec![0.0; d]);
    pairs(classes, |_, k, l| {
        u.copy_from_slice(&vectors[k * d..(k + 1) * d]);
        axpy(-1.0, &vectors[l * d..(l + 1) * d], &mut u);
        out.push(length(&u));
    });
    out
}

/// (Σ rᵖ)^(1/p), the largest for p = ∞.
fn norm(r: &[f64], p: f64) -> f64 {
    let top = r.iter().copied().fold(0.0, f64::max);
    if p.is_infinite() || top == 0.0 {
        return top;
    }
    top * r.iter().map(|r| (r / top).powf(p)).sum::<f64>().powf(1.0 / p)
}

/// How far a gradient can be off, in length.
#[derive(Clone, Copy)]
struct Off {
    /// In any direction.
    error: f64,
    /// At right angles to all of it.
    beside: f64,
}

/// No less than N*(S) of the S that s (d×c) stands for, but for what it is off by. Splits are those of potentials, ζₖₗ = aₖₗ(vₖ − vₗ); the
/// a of the optimum are ‖wₖ − wₗ‖^(p−2), and where the p of the distances is large they are found by reweighting.
fn dual_norm(s: &[f64], c: usize, off: Off, near: &[f64], p: f64) -> f64 {
    const ROUNDS: usize = 300;
    const LEAST: f64 = 1e-13;
    let d = s.len() / c;
    let q = if p == 1.0 {
        f64::INFINITY
    } else if p.is_infinite() {
        1.0
    } else {
        p / (p - 1.0)
    };
    let vectors = by_class(s, c);
    let mut gram = vec![0.0; c * c];
    for k in 0..c {
        for l in 0..=k {
            let product = dot(&vectors[k * d..(k + 1) * d], &vectors[l * d..(l + 1) * d]);
            (gram[k * c + l], gram[l * c + k]) = (product, product);
        }
    }
    let floored = |a: Vec<f64>| {
        let top = a.iter().copied().filter(|a| a.is_finite()).fold(0.0, f64::max);
        a.into_iter().map(|a| if top > 0.0 && a.is_finite() { (a / top).max(LEAST) } else { 1.0 }).collect::<Vec<f64>>()
    };
    let top = near.iter().copied().fold(0.0, f64::max);
    let power = if p.is_infinite() { 40.0 } else { p - 2.0 };
    let mut a = floored(near.iter().map(|r| if top > 0.0 { (r / top).powf(power) } else { 1.0 }).collect());
    let mut best = (f64::INFINITY, a.clone());
    // Below p = 2 the split of the point is as good as it gets.
    let rounds = if p > 2.0 { ROUNDS.min(1 + (3e9 / (c as f64).powi(3)) as usize) } else { 1 };
    for _ in 0..rounds {
        let Some(inverse) = potentials(&a, c) else { break };
        let spread = &inverse * Mat::from_fn(c, c, |k, l| gram[k * c + l]) * inverse.transpose();
        let mut lengths = Vec::with_capacity(a.len());
        pairs(c, |pair, k, l| {
            let square = spread[(k, k)] + spread[(l, l)] - spread[(k, l)] - spread[(l, k)];
            lengths.push(a[pair] * square.max(0.0).sqrt());
        });
        let value = norm(&lengths, q);
        let gained = 1.0 - value / best.0;
        if value < best.0 {
            best = (value, a);
        }
        if gained.is_nan() || gained < 1e-12 {
            break;
        }
        a = floored(lengths.iter().map(|r| r.powf(2.0 - q)).collect());
    }
    let Some(inverse) = potentials(&best.1, c) else { return f64::INFINITY };
    // Once more with all digits, and what the split leaves over is spread evenly.
    let mut v = vec![0.0; c * d];
    for k in 0..c {
        for l in 0..c {
            axpy(inverse[(k, l)], &vectors[l * d..(l + 1) * d], &mut v[k * d..(k + 1) * d]);
        }
    }
    let (mut lengths, mut rest, mut u) = (Vec::new(), vectors.clone(), vec![0.0; d]);
    pairs(c, |pair, k, l| {
        u.copy_from_slice(&v[k * d..(k + 1) * d]);
        axpy(-1.0, &v[l * d..(l + 1) * d], &mut u);
        u.iter_mut().for_each(|u| *u *= best.1[pair]);
        axpy(-1.0, &u, &mut rest[k * d..(k + 1) * d]);
        axpy(1.0, &u, &mut rest[l * d..(l + 1) * d]);
        lengths.push(length(&u));
    });
    let size = length(&vectors) + 2.0 * lengths.iter().sum::<f64>();
    let left = off.error + length(&rest) + of_sum(2 * c + d) * size;
    let share = |length: f64| std::f64::consts::SQRT_2 * length / c as f64;
    lengths.iter_mut().for_each(|r| *r = (*r + share(left)).hypot(share(off.beside)));
    norm(&lengths, q) * (1.0 + 4.0 * of_sum(d + lengths.len()))
}

/// From what flows out of every class to their potentials, where pairs conduct by a.
fn potentials(a: &[f64], c: usize) -> Option<Mat<f64>> {
    let mean = a.iter().sum::<f64>() / a.len().max(1) as f64;
    let mut laplacian = Mat::from_fn(c, c, |_, _| mean);
    pairs(c, |pair, k, l| {
        laplacian[(k, k)] += a[pair];
        laplacian[(l, l)] += a[pair];
        laplacian[(k, l)] -= a[pair];
        laplacian[(l, k)] -= a[pair];
    });
    let own = |k: usize, l: usize| f64::from(u8::from(k == l)) - 1.0 / c as f64;
    Some(laplacian.llt(Side::Lower).ok()?.solve(Mat::from_fn(c, c, own)))
}
